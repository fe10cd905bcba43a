use super::assert_trees;

#[test]
fn lists_and_pipelines() {
    assert_trees(&[
        ("", ""),
        ("# only a comment", ""),
        ("a && b || c; d & e", "[a] && [b] || [c]; [d] &; [e]"),
        ("a |\n b &&\n c ||\n d", "[a] | [b] && [c] || [d]"),
        ("a <<E |\nx\nE\nb", "[a] <<'x\n' | [b]"),
        ("! a | b", "! [a] | [b]"),
        ("! ! a", "[a]"),
        ("time -p a; time b", "[a]; [b]"),
        ("a | time b", "[a] | [time b]"),
        ("a >f |& b", "[a] >f 2>&1 | [b]"),
    ]);
}

#[test]
fn assignments_stand_before_the_words() {
    assert_trees(&[
        ("A=1 B= c D=2", "[A=1 B= c D=2]"),
        ("A+=x a[1]=y b[$i]+=z", "[A+=x a[1]=y b[<$i>]+=z]"),
        ("a=(b 'c d' [k]=v # x\n $(e)) f", "[a=(b 'c d' [k]=v <([e])>) f]"),
        ("'A'=1 1A=2", "['A'=1 1A=2]"),
        (">f A=1 b", "[A=1 b] >f"),
        ("A=1 if", "[A=1 if]"),
    ]);
}

#[test]
fn compound_commands() {
    assert_trees(&[
        ("if a; then b; elif c; then d; else e; fi", "(if [a] ? [b] elif [c] ? [d] : [e])"),
        ("if (a) then (b) fi", "(if ([a]) ? ([b]) : )"),
        ("while a; do b; done >f; until a\ndo b\ndone", "(while [a] do [b]) >f; (until [a] do [b])"),
        ("for x in a $b; do c; done", "(for x in a <$b> do [c])"),
        (
            "for x do c; done; for x\nin a\ndo c; done; for x; do c; done",
            "(for x do [c]); (for x in a do [c]); (for x do [c])",
        ),
        ("for ((i=0; i<3; i++)); do a; done", "(for i=0  i<3  i++ do [a])"),
        ("{ a; }; { (a) }; (a; b) | c", "{[a]}; {([a])}; ([a]; [b]) | [c]"),
        ("case $x in a|b) c;; (d) e;& *) f;;& g) esac", "(case <$x> <a b> [c] <d> [e] ... <*> [f] ... <g> )"),
        ("case x in\n# c\na) b\nesac", "(case x <a> [b])"),
        (
            "f() { a; } >g; function h { b; }; function i() (c)",
            "(function f {[a]} >g); (function h {[b]}); (function i ([c]))",
        ),
        ("((a + 1)); ((a); b); ( (a))", "(math a + 1); (([a]); [b]); (([a]))"),
        ("if\n[[ a ]] && ((1))\nthen b\nfi", "(if (test a) && (math 1) ? [b] : )"),
        ("echo if then { } [[ !", "[echo if then { } [[ !]"),
        ("'if' a", "['if' a]"),
    ]);
}

#[test]
fn conditions() {
    assert_trees(&[
        ("[[ -f $a && ( b == c* || ! d ) ]]", "(test -f <$a> && ( b == c* || ! d ))"),
        ("[[ a < b ]]", "(test a < b)"),
        ("[[ $a =~ ^(x|y z)+$ ]]", "(test <$a> =~ ^(x|y z)+$)"),
        ("[[ a == @(b|c) ]]", "(test a == @(b|c))"),
        ("[[ a -eq 1 &&\n b ]]", "(test a -eq 1 && b)"),
    ]);
}
