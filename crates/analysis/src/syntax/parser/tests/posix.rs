use crate::budget::Budget;
use crate::syntax::{Dialect, Script};

fn has_problems(text: &str) -> bool {
    !Script::parse(text, Dialect::Posix, &Budget::default()).problems.is_empty()
}

#[test]
fn what_shells_read_differently_is_a_problem() {
    let texts = [
        "[[ a ]]",
        "((a))",
        "$'a'",
        "a <<<b",
        "a <(b)",
        "a >(b)",
        "a &>b",
        "a |& b",
        "function f { a; }",
        "a=(b)",
        "a[1]=b",
        "select x in a; do b; done",
        "for ((;;)); do a; done",
        "${x/a/b}",
        "${x:1}",
        "${x^}",
        "{a,b}",
        "a{1..3}",
        "a+=b",
        "case a in b) c;& esac",
        "time a",
        "a {b}>c",
        "a >&b",
        "a 10>b",
        "${!a}",
        "${a[1]}",
        "$\"a\"",
    ];
    for text in texts {
        assert!(has_problems(text), "{text:?}");
    }
}

#[test]
fn common_syntax_is_no_problem() {
    let texts = [
        "a 2>&1 >b <c",
        "for x in a; do b; done",
        "${a:-b} ${a#b} ${#a}",
        "f() { a; }",
        "$((1 + 2)) $(a) `b`",
        "a >&-",
    ];
    for text in texts {
        assert!(!has_problems(text), "{text:?}");
    }
}
