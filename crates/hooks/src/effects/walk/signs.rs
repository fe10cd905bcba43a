//! What commands show of themselves before anybody walks through them: whose program one is, what it reads, and whether
//! commands go elsewhere, set variables or end the shell. What follows from that is up to `walk.rs`.

use super::Input;
use crate::shell::{self, Field, Node, RedirectionKind, SimpleCommand, State, Word, commands_in};

/// Variables that decide nothing about what programs touch.
const HARMLESS: [&str; 14] = [
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBUG",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "COLORTERM",
    "RUST_LOG",
    "RUST_BACKTRACE",
];

/// The text that a command reads, if it is told exactly one.
pub(super) fn input(command: &SimpleCommand, state: &State<'_>) -> Input {
    let reads = |kind: RedirectionKind| matches!(kind, RedirectionKind::Read | RedirectionKind::Text);
    let mut inputs = command.redirections.iter().filter(|one| reads(one.kind));
    match (inputs.next(), inputs.next()) {
        (Some(only), None) if only.kind == RedirectionKind::Text => {
            let document = command.document.as_ref().map(|document| document.get());
            Input::Text(document.unwrap_or(Some(&only.target)).and_then(|word| shell::join(word, state)))
        }
        _ => Input::Any,
    }
}

/// The name of a program, unless it lies where anybody may have put it.
pub(super) fn known_name(program: &str) -> Option<&str> {
    const PLACES: [&str; 8] = [
        "/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/sbin",
        "/usr/sbin",
        "/usr/local/sbin",
        "/opt/homebrew/bin",
        "/opt/local/bin",
    ];
    match program.rsplit_once('/') {
        None => Some(program),
        Some((place, name)) => PLACES.contains(&place).then_some(name),
    }
}

pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// `export NAME=…` of a variable that may say what programs do.
pub(super) fn exports_oddly(words: &[Field]) -> bool {
    let declares = matches!(words.first().and_then(Option::as_deref), Some("export" | "declare" | "typeset"));
    let name = |word: &Field| {
        word.as_deref()
            .and_then(|word| word.split('=').next())
            .is_some_and(|name| !is_harmless(name) && !name.starts_with('-'))
    };
    declares && words[1..].iter().any(name)
}

/// Whether commands go to other directories, or may.
pub(super) fn moves(nodes: &[Node]) -> bool {
    commands_in(nodes).iter().any(|command| {
        let name = command.words.first().map(Word::literal);
        name.is_some_and(|name| {
            name.is_none_or(|name| {
                matches!(name.as_str(), "cd" | "pushd" | "popd" | "eval" | "." | "source" | "command" | "builtin")
            })
        })
    })
}

/// Whether variables are set otherwise than by assignments and what declares them.
pub(super) fn sets_in_other_ways(nodes: &[Node]) -> bool {
    let sets = |name: String| {
        matches!(name.as_str(), "eval" | "." | "source" | "getopts" | "unset" | "let" | "command" | "builtin")
    };
    let acts = |command: &&SimpleCommand| command.words.first().is_some_and(|word| word.literal().is_none_or(sets));
    has_loops(nodes) || commands_in(nodes).iter().any(acts)
}

fn has_loops(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Loop { .. } | Node::Function { .. } => true,
        Node::Group(body) | Node::Maybe(body) | Node::And(body) | Node::Or(body) => has_loops(body),
        Node::Simple(_) | Node::Apart(_) | Node::Pipeline(_) => false,
    })
}

/// Whether a part of a chain ends the shell, so that what follows runs only without it.
pub(super) fn leaves(node: &Node) -> bool {
    let Node::Simple(command) = node else {
        return matches!(node, Node::Group(body) if body.last().is_some_and(leaves));
    };
    let name = command.words.first().and_then(Word::literal);
    name.is_some_and(|name| matches!(name.as_str(), "exit" | "return"))
}

/// `${NAME:=value}` and `${NAME=value}` set a variable while a word is read.
pub(super) fn sets_by_default(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| {
        let rest = text[at + 2..].trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '_');
        rest.starts_with(":=") || rest.starts_with('=')
    })
}
