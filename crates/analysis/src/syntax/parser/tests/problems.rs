use super::{bash, printer};
use crate::budget::{Budget, OVER_BUDGET};
use crate::syntax::{Dialect, Script};

#[test]
fn what_is_not_certain_is_a_problem() {
    let texts = [
        "a ?(b)",
        "!(a)",
        "coproc a",
        "declare a=(b)",
        "a[1 2]=x",
        "a=(b)c",
        "$[1]",
        "a\rb",
        "a\u{1}",
        "'a",
        "\"a",
        "`a",
        "$(a",
        "${a",
        "${a b}",
        "${}",
        "a <<E\nb",
        "$(a <<E)\nb\nE",
        "a;;",
        "a & & b",
        "if a; then",
        "fi",
        "( )",
        "{ }",
        "\"${a:-it's}\"",
        "\"${a:-\"\\b\"}\"",
        "\"${a:-\\$'}\"",
        "\"${a:-\"$b\"c}\"",
        "a |&\ntime b",
        "a && || b",
        "[[ a && || b ]]",
        "a | ! b",
        "a (b)",
        "a\\",
        "$'\\xff'",
        "$'\\0'",
        "> 2>f",
        "[[ a b c ]]",
        "[[ a",
        "case x in a",
        "for 1 in a; do b; done",
        "f() a",
        "in a",
        "a=(b; c)",
        "((a",
        "> >",
        "a <<E \"x\ny\"\nE",
        ">&-a",
        "(a) >f fi",
        "a )",
        "\"${a/b/'c'}\"",
    ];
    for text in texts {
        assert!(!bash(text).problems.is_empty(), "{text:?}: {}", printer::print(&bash(text)));
    }
}

#[test]
fn what_was_parsed_before_a_syntax_error_stays() {
    assert_eq!(printer::print(&bash("a; if b c; then d $(e 'f")), "[a]; [b c]; [d]; [e]");
    assert_eq!(printer::print(&bash("case x in a) b;; c) d | e && (f")), "[b]; [d] | [e]; [f]");
    assert_eq!(printer::print(&bash("while a; do b; fi")), "[a]; [b]");
}

#[test]
fn limits_are_problems() {
    assert!(!bash(&"a ".repeat(40_000)).problems.is_empty());
    assert!(!bash(&"(".repeat(5_000)).problems.is_empty());
    assert!(!bash(&"$(".repeat(5_000)).problems.is_empty());
    assert!(!bash(&"$((".repeat(5_000)).problems.is_empty());
    assert!(bash(&"\\\n".repeat(30_000)).problems.is_empty());
    let budget = Budget::default();
    while budget.spend(1 << 10) {}
    assert_eq!(Script::parse("a", Dialect::Bash, &budget).problems, [OVER_BUDGET]);
}
