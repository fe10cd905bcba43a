//! The one reader of shell text: a command line → the simple commands in it, with their words taken apart.
//!
//! It finds what a shell would run, for those who must judge a command before it runs. It runs nothing and expands
//! nothing. What it does not understand it says: a [`Script`] that is not certain may hold more than it tells.

use std::sync::{Arc, OnceLock};

mod budget;
mod free;
mod hidden;
mod inside;
mod parse;
mod parts;
mod sed;
mod wrap;

pub(crate) use budget::Budget;
pub use free::free_variables;
pub use hookwright_analysis::paths::normalized;
pub(crate) use parts::begins;
pub use parts::{Fit, Naming, Part, Parts, parts};
pub(crate) use wrap::{Language, Wrapped};

/// One word after expansion; `None` where nobody can know it beforehand.
pub(crate) type Field = Option<String>;

/// A text as a shell reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// What runs, in order.
    pub nodes: Vec<Node>,
    /// Whether that is all of it.
    pub certain: bool,
}

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// One simple command.
    Simple(SimpleCommand),
    /// `{ … }`: runs in this shell.
    Group(Vec<Node>),
    /// `( … )` or `… &`: runs in a shell of its own, whose variables and directory nobody else sees.
    Apart(Vec<Node>),
    /// `a | b`.
    Pipeline(Vec<Node>),
    /// What follows `then`, `else` or a pattern of `case`: it runs or it does not.
    Maybe(Vec<Node>),
    /// What follows `&&`: each runs if all before it succeeded.
    And(Vec<Node>),
    /// What follows `||`: it runs if what stands before it failed; the rest of it, joined by `&&`, if all before it succeeded.
    Or(Vec<Node>),
    /// `for`, `select`, `while` and `until`: runs any number of times, the condition included.
    Loop {
        /// The variable that `for` sets, and the words it goes through.
        variable: Option<(String, Vec<Word>)>,
        /// What is repeated.
        body: Vec<Node>,
    },
    /// `name() { … }`: runs where `name` is called.
    Function {
        /// Its name.
        name: String,
        /// What it runs.
        body: Vec<Node>,
    },
}

/// A command without operators: `A=1 program argument <file`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Variables set for it, or for the shell where there are no words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// What it reads from and writes to.
    pub redirections: Vec<Redirection>,
    /// The text of the here-document that it reads, which stands below it: the last one's, once that has been read.
    pub document: Option<Arc<OnceLock<Word>>>,
}

/// `NAME=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What it is set to.
    pub value: Word,
}

/// `<file`, `2>file` and the like; copies of descriptors (`2>&1`) are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What happens to the file.
    pub kind: RedirectionKind,
    /// The file; for a here-document its text, if that is a word.
    pub target: Word,
}

/// What a redirection does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionKind {
    /// `<`: it is read.
    Read,
    /// `>`, `>>`, `>|`, `&>`, `<>`: it is written.
    Write,
    /// `<<`, `<<<`: text, no file.
    Text,
}

/// One word, in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// What it is put together from.
    pub pieces: Vec<Piece>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Characters as they stand; patterns and `~` in them count.
    Plain(String),
    /// Characters in quotes, which mean themselves.
    Quoted(String),
    /// `$NAME`, `${NAME}`, `${NAME:-word}`.
    Variable {
        /// The variable.
        name: String,
        /// What counts if it is empty or not set.
        default: Option<Word>,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// `${NAME%/*}` or `${NAME##*/}`: a part of the path that the variable holds.
    PathPart {
        /// The variable.
        name: String,
        /// Which part.
        part: PathPart,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// `$( … )` or backquotes: what these commands print.
    Output {
        /// The commands.
        script: Script,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// Any other expansion, and what stands inside it.
    Other(Word),
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// What stands before the last slash.
    Directory,
    /// What stands behind it.
    Name,
}

/// Reads a text. Never fails: what is not understood, or takes too much work, makes the script uncertain.
pub fn parse(text: &str) -> Script {
    parse_within(text, &Budget::new())
}

/// Reads a text as part of an analysis, which pays for it.
pub(crate) fn parse_within(text: &str, budget: &Budget) -> Script {
    parse::script(text, 0, budget)
}

impl Script {
    /// Every simple command, wherever it stands: in groups, branches, functions and substitutions too.
    pub fn commands(&self) -> Vec<&SimpleCommand> {
        commands_in(&self.nodes)
    }
}

/// Every simple command of these nodes, wherever it stands.
pub(crate) fn commands_in(nodes: &[Node]) -> Vec<&SimpleCommand> {
    let mut found = Vec::new();
    nodes.iter().for_each(|node| node.collect(&mut found));
    found
}

impl Node {
    fn collect<'n>(&'n self, found: &mut Vec<&'n SimpleCommand>) {
        match self {
            Node::Simple(command) => {
                command.all_words().for_each(|word| word.collect(found));
                found.push(command);
            }
            Node::Loop { variable, body } => {
                variable.iter().flat_map(|(_, words)| words).for_each(|word| word.collect(found));
                body.iter().for_each(|node| node.collect(found));
            }
            Node::Group(body)
            | Node::Apart(body)
            | Node::Pipeline(body)
            | Node::Maybe(body)
            | Node::And(body)
            | Node::Or(body)
            | Node::Function { body, .. } => body.iter().for_each(|node| node.collect(found)),
        }
    }
}

impl SimpleCommand {
    /// Its words, and those that its assignments and redirections are made of.
    pub fn all_words(&self) -> impl Iterator<Item = &Word> {
        let assigned = self.assignments.iter().map(|assignment| &assignment.value);
        assigned.chain(&self.words).chain(self.redirections.iter().map(|redirection| &redirection.target))
    }
}

impl Word {
    /// The word, where it means the same to everybody: no expansion, no pattern.
    pub fn literal(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Plain(plain) if !is_special(plain) => text.push_str(plain),
                Piece::Quoted(quoted) => text.push_str(quoted),
                _ => return None,
            }
        }
        Some(text)
    }

    /// The scripts in its substitutions, however deep.
    pub fn scripts(&self) -> Vec<&Script> {
        let mut found = Vec::new();
        let mut words = vec![self];
        while let Some(word) = words.pop() {
            for piece in &word.pieces {
                match piece {
                    Piece::Output { script, .. } => found.push(script),
                    Piece::Variable { default, .. } => words.extend(default),
                    Piece::Other(inner) => words.push(inner),
                    Piece::Plain(_) | Piece::Quoted(_) | Piece::PathPart { .. } => {}
                }
            }
        }
        found
    }

    fn collect<'n>(&'n self, found: &mut Vec<&'n SimpleCommand>) {
        self.scripts().into_iter().flat_map(|script| &script.nodes).for_each(|node| node.collect(found));
    }
}

/// Whether something is expanded where no quotes protect it.
fn is_special(plain: &str) -> bool {
    plain.contains(['*', '?', '~', '{']) || (plain.contains('[') && plain.contains(']'))
}

/// The command of a text that is one simple command and nothing else: no chain, no substitution, no redirection, no
/// variables set.
pub fn sole_command(text: &str) -> Option<SimpleCommand> {
    let Script { mut nodes, certain } = parse(text);
    let Some(Node::Simple(command)) = nodes.pop().filter(|_| nodes.is_empty()) else { return None };
    // An expansion may come to anything, an option of the program included; a pattern comes to names of files.
    let expands = |piece: &Piece| !matches!(piece, Piece::Plain(_) | Piece::Quoted(_));
    let plain = certain
        && !text.contains(char::is_control)
        && command.assignments.is_empty()
        && command.redirections.is_empty()
        && !command.words.iter().flat_map(|word| &word.pieces).any(expands);
    plain.then_some(command)
}

/// The program of a [`sole_command`], unless it runs what its arguments say: `sh -c`, `env`, `sudo`.
pub fn sole_program(text: &str) -> Option<String> {
    let program = sole_command(text)?.words.first()?.literal()?;
    (!program.is_empty() && !wrap::runs_others(&program)).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The first words of all simple commands, with `?` for an uncertain end.
    fn programs(text: &str) -> String {
        let script = parse(text);
        let first = |command: &&SimpleCommand| command.words.first().and_then(Word::literal);
        let mut found: Vec<String> = script.commands().iter().filter_map(first).collect();
        found.extend((!script.certain).then(|| "?".to_owned()));
        found.join(" ")
    }

    #[test]
    fn every_simple_command_is_found() {
        let cases = [
            ("a; b & c && d || e | f |& g", "a b c d e f g"),
            ("a\nb # c\n# d\ne", "a b e"),
            ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
            ("while a; do b; done; until c; do d; done", "a b c d"),
            ("for x in $(a) b; do c; done", "a c"),
            ("for ((i=0; i<3; i++)); do c; done", "c"),
            ("case $(a) in x|y) b;; (z) c ;& *) d; esac", "a [[ [[ [[ b [[ c [[ d"),
            ("f() { a; }; function g { b; }; g", "a b g"),
            ("{ a; (b; c) >f; } 2>&1 | d", "a b c d"),
            ("a \"$(b \"$(c)\")\" `d \\`e\\``", "c b e d a"),
            ("X=$(a) Y=${Z:-$(b)} c ${D%$(e)}", "a b e c"),
            ("a <(b) >(c) < $(d)", "b c d a"),
            ("[[ -f a && $(b) =~ (x|y) ]] && c", "b [[ c"),
            ("a <<E; b\n$(c)\nE\nd", "a b c d"),
            ("a <<'E'\n$(c)\nE\nd", "a d"),
            ("a <<-E && b\n\tx\n\tE\nd", "a b d"),
            ("echo $((1 + $(a))) $(( 2 ))", "a echo"),
            ("(( x = $(a) )) && b", "a [[ b"),
            ("! a; time -p b", "a b"),
            ("a=(x $(b)); c", "b c"),
            ("a 'b; c' \"d; e\" \\; f", "a"),
            ("a &>f 2>>g <h >|i", "a"),
            ("a\\\nb c", "ab"),
            ("a )", "a ?"),
            ("a; (b", "a ?"),
            ("a; fi", "a ?"),
            ("a ;; b", "a ?"),
            ("a; 'b", "a ?"),
            ("coproc a", "?"),
        ];
        for (text, expected) in cases {
            assert_eq!(programs(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        for piece in ["(", "$(", "{ ", "\"$(", "`", "if ", "((", "$((", "${x:-", "a|", "f()", "<(", "[[ "] {
            let script = parse(&piece.repeat(20_001));
            assert!(!script.certain, "{piece}");
        }
        assert!(!parse(&"a ".repeat(40_000)).certain);
        assert!(parse(&"a; ".repeat(20_000)).certain);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[ -~\n\t\u{e4}]{0,60}") {
            let _ = parse(&text).commands();
            let _ = sole_program(&text);
        }

        #[test]
        fn no_syntax_is_too_strange(parts in prop::collection::vec(prop::sample::select(SYNTAX), 0..24)) {
            let _ = parse(&parts.concat()).commands();
        }
    }

    const SYNTAX: &[&str] = &[
        "if ",
        "then ",
        "fi",
        "for ",
        "in ",
        "do ",
        "done",
        "case ",
        "esac",
        "{ ",
        "}",
        "(",
        ")",
        "((",
        "))",
        "$(",
        "${",
        "$((",
        "`",
        "\"",
        "'",
        "$'",
        "\\",
        ";",
        ";;",
        "&",
        "&&",
        "|",
        "<",
        "<<E",
        "\nE\n",
        ">",
        "<(",
        "\n",
        "a",
        "B=",
        "[[ ",
        " ]]",
        "#",
        " ",
        "*",
        "~",
        "function ",
        "x()",
        "é",
        "${x:-",
        "\\x",
        "2>&1",
    ];

    #[test]
    fn the_sole_program_of_a_command() {
        let cases = [
            ("cargo test", Some("cargo")),
            ("  git commit -m 'a; b & c'", Some("git")),
            ("'my prog' x", Some("my prog")),
            ("ls *.rs", Some("ls")),
            ("[ -f x ]", Some("[")),
            ("git status; rm x", None),
            ("git status &", None),
            ("A=1 git", None),
            ("git $(x)", None),
            ("git \"`x`\"", None),
            ("git $X", None),
            ("cat <x", None),
            ("cat > x", None),
            ("env rm x", None),
            ("sudo rm x", None),
            ("sh -c 'rm x'", None),
            ("/bin/bash x", None),
            ("git status\nrm x", None),
            ("! git", None),
            ("(git)", None),
            ("git 'x", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(sole_program(text).as_deref(), expected, "{text}");
        }
    }
}
