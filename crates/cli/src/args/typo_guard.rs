//! Rejects prompts that look like a mistyped command: a first word that stands where a command would is a command or an
//! error, and is not sent to a model.
//!
//! Several words, or a quoted text, are a prompt as long as they do not begin like a command.

use std::ffi::OsString;

use clap::CommandFactory;

use crate::args::{Cli, SessionArgs, parse_host};
use crate::commands::hooks::example_names;

/// Words that users take for commands, with a hint at the right one. Alone, with one more word, or with the name of an
/// agent or an example, they are not a prompt.
const COMMAND_LIKE_WORDS: &[(&str, &str)] = &[
    ("add", "`hookwright hooks add EXAMPLE`, `hookwright mcp add NAME COMMAND`"),
    ("auth", "`hookwright mcp auth NAME` signs in to a server; a model's key goes into GEMINI_API_KEY"),
    ("chat", "`hookwright` alone starts a session"),
    ("check", "`hookwright hooks validate` and `hookwright doctor` check things"),
    ("commands", "commands are files in .gemini/commands"),
    ("configure", "`hookwright config` shows and changes settings"),
    ("disable", "`hookwright hooks disable NAME`"),
    ("enable", "`hookwright hooks enable NAME`"),
    ("exec", "`hookwright -p TEXT` answers one prompt"),
    ("fire", "`hookwright hooks fire EVENT`"),
    ("init", "`/init` in a session"),
    ("install", "`hookwright extensions install SOURCE`, `hookwright agents install AGENT`"),
    ("link", "`hookwright extensions link PATH`"),
    ("list", "`hookwright hooks list`, `hookwright mcp list`, `hookwright --list-sessions`"),
    ("login", "a model's key goes into GEMINI_API_KEY or OPENAI_API_KEY"),
    ("logout", "keys are in your environment; `hookwright mcp logout NAME` is for servers"),
    ("memory", "`/memory` in a session"),
    ("migrate", "`hookwright hooks migrate --from-claude`"),
    ("model", "`--model NAME` chooses one"),
    ("models", "`--model NAME` chooses one"),
    ("new", "`hookwright hooks new NAME --event EVENT`"),
    ("policies", "`hookwright policy list`"),
    ("remove", "`hookwright hooks remove NAME`, `hookwright mcp remove NAME`"),
    ("restore", "`hookwright checkpoints restore NUMBER`"),
    ("resume", "`--resume` goes on with a session"),
    ("rewind", "`hookwright checkpoints restore NUMBER`"),
    ("serve", "there is no server"),
    ("sessions", "`--list-sessions` lists them"),
    ("settings", "`hookwright config` shows and changes settings"),
    ("show", "`hookwright hooks show NAME`"),
    ("start", "`hookwright` alone starts a session"),
    ("status", "`hookwright doctor` checks your hooks"),
    ("test", "`hookwright hooks test`"),
    ("tools", "`/tools` in a session"),
    (
        "trace",
        "`hookwright agents trace` shows decisions under other agents; telemetry and `--debug` show those of a session",
    ),
    ("trust", "`hookwright hooks trust`"),
    ("uninstall", "`hookwright extensions uninstall NAME`, `hookwright agents uninstall AGENT`"),
    ("update", "the program is updated the way it was installed; `hookwright extensions update` is for extensions"),
    ("upgrade", "the program is updated the way it was installed"),
    ("validate", "`hookwright hooks validate`"),
];

/// The reason why a command line is not taken as a prompt, for the user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptRejection {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Names that users know from other programs, which count as a command even before more words.
const SINGULAR_NOUNS: &[(&str, &str)] = &[
    ("plugin", "plugins are called extensions here: `hookwright extensions`"),
    ("plugins", "plugins are called extensions here: `hookwright extensions`"),
];

/// Returns why the words of the command line are not sent as a prompt, if they are not.
pub(crate) fn check_prompt(args: &SessionArgs) -> Option<PromptRejection> {
    let given = [("-p", &args.prompt), ("-i", &args.prompt_interactive)];
    let given = given.into_iter().find_map(|(flag, text)| Some((flag, text.as_ref()?)));
    if let Some((flag, text)) = given {
        return check_unquoted_prompt(flag, text, &args.query);
    }
    let (first, rest) = args.query.split_first()?;
    // A quoted text is meant as a prompt.
    if first.contains(char::is_whitespace) || first.is_empty() {
        return None;
    }
    let word = first.to_lowercase();
    let as_prompt = "to send it as a prompt, put `-p` before it";
    if let Some(known) = command_names().find(|known| *known == word) {
        let what = format!("`{known}` is a command: it must come first, without session options before it");
        return Some(PromptRejection {
            message: what,
            hint: format!("`hookwright {known} --help` lists its options; {as_prompt}"),
        });
    }
    if let Some(near) = command_names().find(|known| is_typo_of(&word, known)) {
        let what = format!("there is no command `{first}`");
        return Some(PromptRejection { message: what, hint: format!("did you mean `hookwright {near}`? {as_prompt}") });
    }
    let alone = if rest.len() <= 1 || is_command_argument(&rest[0]) { COMMAND_LIKE_WORDS } else { &[] };
    let known = || SINGULAR_NOUNS.iter().chain(alone);
    let found = known().find(|(expected, _)| *expected == word);
    let (_, instead) = found.or_else(|| known().find(|(expected, _)| is_one_edit_apart(&word, expected)))?;
    Some(PromptRejection { message: format!("there is no command `{first}`"), hint: format!("{instead}; {as_prompt}") })
}

/// Rejects `-p fix the bug`: without quotes the option gets the first word alone, and the rest is most of the prompt.
fn check_unquoted_prompt(flag: &str, text: &str, rest: &[String]) -> Option<PromptRejection> {
    if rest.is_empty() {
        return None;
    }
    let what = format!(
        "`{flag}` takes one argument, but more follow: {}",
        crate::output::truncate_columns(&rest.join(" "), 80)
    );
    let whole = crate::output::one_line(&format!("{text} {}", rest.join(" ")));
    let quoted = format!("'{}'", whole.replace('\'', r"'\''"));
    Some(PromptRejection { message: what, hint: format!("put the whole prompt in quotes: hookwright {flag} {quoted}") })
}

/// Whether a word is an option, a path, an address, an agent or an example, and so no part of a sentence.
fn is_command_argument(word: &str) -> bool {
    let is_place = word == "." || word.contains(['/', ':']);
    let is_name = parse_host(word).is_ok() || example_names().any(|example| example == word);
    word.starts_with('-') || is_place || is_name
}

/// Returns the names and aliases of all commands, from clap.
fn command_names() -> impl Iterator<Item = String> {
    let all = |command: &clap::Command| {
        let names = std::iter::once(command.get_name()).chain(command.get_all_aliases());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let names: Vec<String> = Cli::command().get_subcommands().flat_map(all).collect();
    names.into_iter().chain(["help".to_owned()])
}

/// Whether an argument is a command's name.
pub(crate) fn is_command(word: Option<OsString>) -> bool {
    word.is_some_and(|word| command_names().any(|known| word == *known))
}

/// Whether `word` is most likely a typing error for `known`: two swapped letters, or one edit after the first letter.
///
/// A word of fewer than four letters is often meant as it is, so there only two swapped letters count.
fn is_typo_of(word: &str, known: &str) -> bool {
    let same_start = word.chars().next() == known.chars().next();
    let is_slip = strsim::damerau_levenshtein(word, known) == 1;
    is_slip && (is_transposition(word, known) || same_start && word.len() >= 4 && known.len() >= 4)
}

/// Whether `word` has one letter too many, one too few, or two swapped ones, compared with a `known` word
/// of five or more.
fn is_one_edit_apart(word: &str, known: &str) -> bool {
    known.len() >= 5 && is_typo_of(word, known) && (word.len() != known.len() || is_transposition(word, known))
}

/// Whether both are made of the same letters.
fn is_transposition(word: &str, known: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(word) == sorted(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(words: &[&str]) -> Option<PromptRejection> {
        check_prompt(&SessionArgs {
            query: words.iter().map(|word| (*word).to_owned()).collect(),
            ..SessionArgs::default()
        })
    }

    #[test]
    fn words_that_look_like_a_command_are_rejected() {
        for words in [
            &["hook"][..],
            &["agent", "list"],
            &["agnets"],
            &["hook", "list"],
            &["Hooks"],
            &["hoosk"],
            &["polcy"],
            &["doctr"],
            &["completion", "bash"],
            &["update"],
            &["login"],
            &["test"],
            &["settings"],
            &["demos"],
            &["helpp"],
            &["hooks", "list"],
            &["hokos", "list"],
            &["ohoks"],
            &["mpc"],
            &["mpc", "list"],
            &["instal"],
            &["instal", "./x"],
            &["install", "https://example.org/x"],
            &["uninstall", "x"],
            &["isntall"],
            &["uninstal"],
            &["udpate"],
            &["plugni", "list"],
            &["install", "claude-code"],
            &["install", "claude-code", "codex"],
            &["add", "rule-no-force-push"],
            &["add", "secret-scanner", "to", "this"],
            &["remove", "guard"],
            &["install", "dependencies"],
            &["test", "this"],
        ] {
            assert!(checked(words).is_some(), "{words:?}");
        }
    }

    #[test]
    fn plain_prompts_are_accepted() {
        for words in [
            &["fix the bug"][..],
            &["fix", "the", "bug"],
            &["update", "the", "readme"],
            &["test", "this", "parser"],
            &["add", "tests", "for", "it"],
            &["hi"],
            &["hook up the logger"],
            &["why?"],
            &["memo"],
            &["poem"],
            &["/hooks", "list"],
            &["explain"],
            &["map"],
            &["text"],
            &["chart"],
            &["lint"],
            &["instal", "the", "hooks"],
            &[""],
            &["日本語"],
        ] {
            assert_eq!(checked(words), None, "{words:?}");
        }
    }

    #[test]
    fn no_command_like_word_is_a_command() {
        let known: Vec<String> = command_names().collect();
        for (expected, _) in COMMAND_LIKE_WORDS.iter().chain(SINGULAR_NOUNS) {
            assert!(!known.iter().any(|known| known == expected), "{expected} is a command by now");
        }
        assert!(COMMAND_LIKE_WORDS.is_sorted());
    }
}
