use super::assert_trees;

#[test]
fn quotes_stay_apart_from_literal_text() {
    assert_trees(&[
        ("a 'b c' \"d\"", "[a 'b c' 'd']"),
        ("~\"/x\" {a,\"b\"} \"*\"*", "[~'/x' {a,'b'} '*'*]"),
        ("\"\" ''a a\"\"", "['' ''a a'']"),
        (r#"a\ b "\a\$\"\\" '\'"#, "[a' 'b '\\a$\"\\' '\\']"),
        ("$\"a$b\"", "['a'<$\"b>]"),
        ("a#b # c\nd", "[a#b]; [d]"),
        ("(a)#b", "([a])"),
    ]);
}

#[test]
fn line_continuations_vanish() {
    assert_trees(&[
        ("a\\\nb \\\n c", "[ab c]"),
        ("a &\\\n& b |\\\n| c", "[a] && [b] || [c]"),
        ("$\\\n(a) $\\\n{b} $c\\\nd", "[<([a])> <$b> <$cd>]"),
        ("i\\\nf a; th\\\nen b; f\\\ni", "(if [a] ? [b] : )"),
        ("'a\\\nb'", "['a\\\nb']"),
        ("\"a\\\nb\"", "['ab']"),
        ("cat <<E\\\nF\nx\\\ny\nEF", "[cat] <<'xy\n'"),
        ("# a \\\nb", "[b]"),
    ]);
}

#[test]
fn ansi_c_escapes_are_decoded() {
    assert_trees(&[
        (r"$'a\nb\t\\\'\x41\101\u0041\cA'", "['a\nb\t\\'AAA\u{1}']"),
        (r"$'\#\x\?'", r"['\#\x?']"),
        (r"$'\xc3\xa9'", "['\u{e9}']"),
        (r#""$'a'""#, "['$'a'']"),
    ]);
}

#[test]
fn substitutions_are_parsed() {
    assert_trees(&[
        ("$(a; b)", "[<([a]; [b])>]"),
        ("\"$(a \"b c\")\"", "[<\"([a 'b c'])>]"),
        ("$(case x in a) b;; esac)", "[<((case x <a> [b]))>]"),
        ("$(a # )\n)", "[<([a])>]"),
        ("$(cat <<E\nx )\nE\n)", "[<([cat] <<'x )\n')>]"),
        (r"`a \`b\` \$c`", "[<([a <([b])> <$c>])>]"),
        ("\"`a \\\"b\\\"`\"", "[<\"([a 'b'])>]"),
        ("<(a) >(b) c<(d)", "[<in [a]> <out [b]> c<in [d]>]"),
        ("$(( 1 + $x )) $( (a) ) $((a) ; b)", "[<math  1 + <$\"x> > <(([a]))> <(([a]); [b])>]"),
        ("$()", "[<()>]"),
    ]);
}

#[test]
fn parameters_have_operations() {
    assert_trees(&[
        ("$a$1$@ ${b} ${10} $", "[<$a><$1><$@> <$b> <$10> $]"),
        ("${#a} ${#} ${##} ${#a[@]}", "[<$a length> <$#> <$# length> <$a[@] length>]"),
        ("${a-b} ${a:-b c} ${a:='d}'} ${a+\"}\"} ${a:?}", "[<$a-b> <$a:-b c> <$a:='d}'> <$a+'}'> <$a:?>]"),
        ("\"${a:-\"b $c\"}${a:-\\} d}\"", "[<$\"a:-'b '<$\"c>><$\"a:-'} d'>]"),
        ("${a#*/} ${a##b} ${a%\"$c\"} ${a%%d}", "[<$a#*/> <$a##b> <$a%<$\"c>> <$a%%d>]"),
        ("\"${a%*'}'}\"", "[<$\"a%*'}'>]"),
        (
            "${a/b/c} ${a//d} ${a:1:$b} ${a^^} ${a,[b]}",
            "[<$a other b c> <$a other /d> <$a other 1:<$\"b>> <$a other > <$a other [b]>]",
        ),
        ("${!a} ${!a*} ${!a@} ${a@P} ${!}", "[<$a indirect> <$a indirect> <$a indirect> <$a indirect> <$!>]"),
        ("${a[1]} ${a[$(b)]} ${a:-${b:-{c}}}", "[<$a[1]> <$a[<([b])>]> <$a:-<$b:-{c>>}]"),
    ]);
}
