//! The variables that a text reads and sets nowhere itself: its environment must have set them.

use std::collections::BTreeSet;

use crate::budget::Budget;
use crate::syntax::{
    AssignedValue, Assignment, Command, CommandKind, Dialect, List, Operation, Parameter, Piece, Pipeline, Script, Word,
};

/// Variables that shells set by themselves.
const SET_BY_SHELL: [&str; 40] = [
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
/// Builtins that set the variables they name.
const SETTERS: [&str; 11] =
    ["read", "export", "local", "declare", "typeset", "readonly", "mapfile", "readarray", "getopts", "printf", "unset"];
/// Builtins after which anything may be set.
const SET_ANYTHING: [&str; 4] = ["eval", "source", ".", "let"];

/// The variables that a text reads without a default and sets nowhere, in order. Empty where that can't be told.
pub fn free_variables(text: &str) -> Vec<String> {
    let script = Script::parse(text, Dialect::Bash, &Budget::default());
    let mut uses = Uses::default();
    uses.script(&script);
    if uses.unsure {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let is_free = |name: &String| {
        !uses.set.contains(name) && !SET_BY_SHELL.contains(&name.as_str()) && crate::interpreter::is_name(name)
    };
    uses.read.iter().filter(|name| is_free(name) && seen.insert((*name).clone())).cloned().collect()
}

#[derive(Default)]
struct Uses {
    read: Vec<String>,
    set: BTreeSet<String>,
    unsure: bool,
}

impl Uses {
    fn script(&mut self, script: &Script) {
        self.unsure |= !script.problems.is_empty();
        self.list(&script.list);
    }

    fn list(&mut self, list: &List) {
        for statement in list {
            self.pipeline(&statement.first);
            statement.rest.iter().for_each(|(_, pipeline)| self.pipeline(pipeline));
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        pipeline.commands.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        command.redirections.iter().for_each(|redirection| self.word(&redirection.target));
        match &command.kind {
            CommandKind::Simple { assignments, words } => self.simple(assignments, words),
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
            CommandKind::If { branches, otherwise } => {
                branches.iter().for_each(|(condition, body)| {
                    self.list(condition);
                    self.list(body);
                });
                self.list(otherwise);
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::For { variable, words, body } => {
                self.set.insert(variable.clone());
                words.iter().flatten().for_each(|word| self.word(word));
                self.list(body);
            }
            // What arithmetic reads and sets stands in its text.
            CommandKind::ArithmeticFor { .. } | CommandKind::Arithmetic(_) => self.unsure = true,
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    arm.patterns.iter().for_each(|pattern| self.word(pattern));
                    self.list(&arm.body);
                }
            }
            CommandKind::Test(words) => words.iter().for_each(|word| self.word(word)),
            CommandKind::Function { body, .. } => self.command(body),
        }
    }

    fn simple(&mut self, assignments: &[Assignment], words: &[Word]) {
        for assignment in assignments {
            self.set.insert(assignment.name.clone());
            match &assignment.value {
                AssignedValue::Scalar(word) => self.word(word),
                AssignedValue::Array(words) => words.iter().for_each(|word| self.word(word)),
            }
        }
        words.iter().for_each(|word| self.word(word));
        let Some(program) = words.first().and_then(Word::literal) else { return };
        self.unsure |= SET_ANYTHING.contains(&program.as_str());
        if SETTERS.contains(&program.as_str()) {
            self.set.extend(words.iter().skip(1).filter_map(leading_name));
        }
    }

    fn word(&mut self, word: &Word) {
        for piece in &word.pieces {
            match piece {
                Piece::Literal(_) | Piece::Quoted(_) => {}
                Piece::Parameter { parameter, .. } => self.parameter(parameter),
                Piece::CommandSubstitution { script, .. } | Piece::ProcessSubstitution { script, .. } => {
                    self.script(script);
                }
                Piece::Arithmetic { expression, .. } => self.word(expression),
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter) {
        let words: Vec<&Word> = match &parameter.operation {
            Operation::Default { word, .. } | Operation::AssignDefault { word, .. } => {
                return self.word(word);
            }
            Operation::Alternative { word, .. } => return self.word(word),
            Operation::Plain | Operation::Length | Operation::Indirect => Vec::new(),
            Operation::Error { word, .. } | Operation::Substring(word) => vec![word],
            Operation::RemovePrefix { pattern, .. } | Operation::RemoveSuffix { pattern, .. } => vec![pattern],
            Operation::Other { words } => words.iter().collect(),
        };
        self.read.push(parameter.name.clone());
        words.into_iter().for_each(|word| self.word(word));
    }
}

/// `NAME` of `NAME` and `NAME=…`.
fn leading_name(word: &Word) -> Option<String> {
    let text = match word.pieces.first()? {
        Piece::Literal(text) | Piece::Quoted(text) => text,
        _ => return None,
    };
    Some(text.split('=').next().unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_environment_are_told_from_those_that_the_text_sets() {
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
