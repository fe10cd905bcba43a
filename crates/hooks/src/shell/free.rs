//! Which variables a text reads and sets nowhere itself: whoever runs it must have set them. Pure.

use std::collections::BTreeSet;

use super::{Node, Piece, Script, SimpleCommand, Word, parse};

/// What shells set by themselves.
const BY_SHELL: [&str; 40] = [
    "BASH",
    "BASHPID",
    "BASH_SOURCE",
    "BASH_VERSION",
    "BASH_REMATCH",
    "BASH_LINENO",
    "BASH_COMMAND",
    "COLUMNS",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOME",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PATH",
    "PIPESTATUS",
    "PPID",
    "PS4",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "_",
];

/// Built-ins that set the variables they name.
const SETTERS: [&str; 11] =
    ["read", "export", "local", "declare", "typeset", "readonly", "mapfile", "readarray", "getopts", "printf", "unset"];

/// Programs after which nobody can tell what is set.
const ANYTHING: [&str; 4] = ["eval", "source", ".", "let"];

/// The variables that a text reads without a default and sets nowhere, in order. Empty where that can't be told.
pub fn free_variables(text: &str) -> Vec<String> {
    let script = parse(text);
    let mut found = Found::default();
    found.script(&script);
    if found.unsure || !script.certain {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let is_free = |name: &String| !found.set.contains(name) && !BY_SHELL.contains(&name.as_str()) && is_name(name);
    found.read.iter().filter(|name| is_free(name) && seen.insert((*name).clone())).cloned().collect()
}

#[derive(Default)]
struct Found {
    read: Vec<String>,
    set: BTreeSet<String>,
    unsure: bool,
}

impl Found {
    fn script(&mut self, script: &Script) {
        self.unsure |= !script.certain;
        self.nodes(&script.nodes);
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Simple(command) => self.command(command),
                Node::Group(nodes)
                | Node::Apart(nodes)
                | Node::Pipeline(nodes)
                | Node::Maybe(nodes)
                | Node::And(nodes)
                | Node::Or(nodes) => self.nodes(nodes),
                Node::Function { body, .. } => self.nodes(body),
                Node::Loop { variable, body } => {
                    if let Some((name, words)) = variable {
                        self.set.insert(name.clone());
                        words.iter().for_each(|word| self.word(word));
                    }
                    self.nodes(body);
                }
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand) {
        for assignment in &command.assignments {
            self.set.insert(assignment.name.clone());
            self.word(&assignment.value);
        }
        command.words.iter().for_each(|word| self.word(word));
        command.redirections.iter().for_each(|redirection| self.word(&redirection.target));
        let Some(program) = command.words.first().and_then(Word::literal) else { return };
        self.unsure |= ANYTHING.contains(&program.as_str());
        if SETTERS.contains(&program.as_str()) {
            let words = command.words.iter().skip(1).filter_map(leading);
            self.set.extend(words);
        }
    }

    fn word(&mut self, word: &Word) {
        for piece in &word.pieces {
            match piece {
                Piece::Plain(_) | Piece::Quoted(_) => {}
                Piece::Variable { name, default: None, .. } | Piece::PathPart { name, .. } => {
                    self.read.push(name.clone())
                }
                Piece::Variable { default: Some(default), .. } => self.word(default),
                Piece::Output { script, .. } => self.script(script),
                Piece::Other(inside) => self.word(inside),
            }
        }
    }
}

/// `NAME` of `NAME` and `NAME=…`.
fn leading(word: &Word) -> Option<String> {
    let text = match word.pieces.first()? {
        Piece::Plain(text) | Piece::Quoted(text) => text,
        _ => return None,
    };
    Some(text.split('=').next().unwrap_or(text).to_owned())
}

fn is_name(name: &str) -> bool {
    let fine = |char: char| char.is_ascii_alphanumeric() || char == '_';
    !name.is_empty() && name.chars().all(fine) && !name.starts_with(|char: char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sets_is_told_from_what_the_text_sets_itself() {
        let cases: [(&str, &[&str]); 19] = [
            ("sh x.sh", &[]),
            ("\"$A/x.sh\" ${B} $A", &["A", "B"]),
            ("${A:-x} ${B-y}", &[]),
            ("${A:-$B}", &["B"]),
            ("A=1; echo $A", &[]),
            ("A=$B sh -c x", &["B"]),
            ("export A=1 && echo $A", &[]),
            ("read -r A B; echo \"$A$B\"", &[]),
            ("for f in $FILES; do echo $f; done", &["FILES"]),
            ("echo '$A' \\$B", &[]),
            ("echo \"$(cat $A)\"", &["A"]),
            ("echo $1 $@ $# $? $$ $! $0", &[]),
            ("echo $PWD $HOME $RANDOM $PATH", &[]),
            ("eval \"$A\"; echo $B", &[]),
            (". ./env; echo $A", &[]),
            ("cat <<< $A", &["A"]),
            ("if [ -n \"$A\" ]; then x; fi", &["A"]),
            ("f() { local a=$1; echo $a; }; f", &[]),
            ("awk '{print $NF}'", &[]),
        ];
        for (text, free) in cases {
            assert_eq!(free_variables(text), free, "{text}");
        }
    }
}
