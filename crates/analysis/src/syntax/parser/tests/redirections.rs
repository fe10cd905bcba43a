use super::assert_trees;

#[test]
fn operators() {
    assert_trees(&[
        (">a b <c >>d 2>e <>f >|g 2>&1 <&3 >&- &>h &>>i", "[b] >a <c >>d 2>e <>f >g 2>&1 <&3 >&- &>h &>i"),
        ("a 2 >b a2>c", "[a 2 a2] >b >c"),
        ("a {b}>c {b} >d", "[a {b}] {b}>c >d"),
        ("a <<<\"b $c\" <<< d", "[a] <<<'b '<$\"c> <<<d"),
        ("a >&b 2\\\n>c", "[a] >&b 2>c"),
    ]);
}

#[test]
fn here_documents() {
    assert_trees(&[
        ("cat <<A <<B\na\nA\nb\nB\nc", "[cat] <<'a\n' <<'b\n'; [c]"),
        ("cat <<-A\n\ta\n\t\tA\nb", "[cat] <<'a\n'; [b]"),
        ("cat <<'A'\n$a `b` \\\nA\nb", "[cat] <<'$a `b` \\\n'; [b]"),
        ("cat <<\"A\"B\\C\n$a\nABC", "[cat] <<'$a\n'"),
        ("cat <<$A\nb\n$A", "[cat] <<'b\n'"),
        ("cat <<A\n\"$b\" \\$c \\\" 'd' `e`\nA", "[cat] <<'\"'<$\"b>'\" $c \\\" 'd' '<\"([e])>'\n'"),
        ("cat <<A; b\nc\nA\n", "[cat] <<'c\n'; [b]"),
        ("(cat <<A)\nb\nA", "([cat] <<'b\n')"),
        ("while a; do\ncat <<A\nb\nA\ndone", "(while [a] do [cat] <<'b\n')"),
        ("f() { cat <<A; }\nb\nA", "(function f {[cat] <<'b\n'})"),
        ("cat <<A\nA", "[cat] <<''"),
        ("cat <<A\n A\nAA\nA", "[cat] <<' A\nAA\n'"),
    ]);
}
