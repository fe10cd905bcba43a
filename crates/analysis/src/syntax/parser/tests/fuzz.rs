use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_oneof, proptest};
use proptest::sample::select;
use proptest::strategy::{Just, Strategy};

use super::bash;
use crate::budget::Budget;
use crate::syntax::{Dialect, Script};

const PIECES: [&str; 62] = [
    "a",
    "b=",
    "1",
    " ",
    "\n",
    "\t",
    "\\",
    "\\\n",
    "'",
    "\"",
    "`",
    "$",
    "$(",
    "${",
    "$((",
    "((",
    "))",
    "(",
    ")",
    "{ ",
    "}",
    ";",
    ";;",
    ";&",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "<",
    ">",
    "<<E\n",
    "<<-'E'\n",
    "\nE\n",
    "<<<",
    ">&",
    "&>",
    "<(",
    "#",
    "!",
    "if ",
    "then ",
    "fi ",
    "for x in ",
    "do ",
    "done ",
    "case x in ",
    "esac",
    "function f ",
    "[[ ",
    " ]]",
    "=~",
    "-",
    ":",
    "/",
    "%",
    "@",
    "*",
    "[",
    "]",
    "$'",
    "\u{e9}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        bash(&text);
    }

    #[test]
    fn arbitrary_syntax_never_panics(
        pieces in vec(select(PIECES.as_slice()), 0..40),
        dialect in prop_oneof![Just(Dialect::Bash), Just(Dialect::Posix)].boxed(),
    ) {
        Script::parse(&pieces.concat(), dialect, &Budget::default());
    }
}
