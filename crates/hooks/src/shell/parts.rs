//! Which simple commands a command line runs: those in chains, pipes, groups and substitutions, and those that others
//! run for it (`env x`, `sudo x`, `xargs x`, `sh -c 'x'`, `find -exec x`). The one answer for whoever allows or denies
//! commands; it judges nothing itself.

use super::{Field, Language, Piece, RedirectionKind, SimpleCommand, Word, Wrapped, parse, unwrap};

/// How deep commands may run each other.
const DEEPEST: usize = 16;

/// Everything that a command line runs, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands. One that runs another stands here, and so does the other.
    pub commands: Vec<Part>,
    /// Whether nothing else runs.
    pub certain: bool,
}

/// One command of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The program and its arguments; nothing where only the running shell knows the word.
    pub words: Vec<Option<String>>,
    /// The same as text, with expansions as they stand.
    pub text: String,
    /// Whether a file is written by `>` and the like.
    pub redirects: bool,
}

/// Whether a command begins with some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It does.
    Yes,
    /// A word that nobody knows stands where it counts.
    Maybe,
    /// It does not.
    No,
}

/// How a program's name is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As it is written.
    Exact,
    /// Wherever it lies: `/bin/rm` is `rm`.
    AnyDirectory,
}

/// Finds what a text runs.
pub fn parts(text: &str) -> Parts {
    let mut parts = Parts { commands: Vec::new(), certain: true };
    parts.read(text, 0);
    parts
}

impl Parts {
    fn read(&mut self, text: &str, depth: usize) {
        let script = parse(text);
        // A carriage return or an escape is nothing that a person sees the same way as a shell does.
        let odd = text.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t'));
        self.certain &= script.certain && !odd && depth <= DEEPEST;
        if depth <= DEEPEST {
            script.commands().into_iter().for_each(|command| self.add(command, depth));
        }
    }

    fn add(&mut self, command: &SimpleCommand, depth: usize) {
        let redirects = command.redirections.iter().any(|one| one.kind == RedirectionKind::Write);
        // A test that the reader made of `[[ … ]]` and `case`: it runs nothing.
        let tests = command.words.first().is_some_and(|word| word.pieces == [Piece::Quoted("[[".to_owned())]);
        // Variables such as PATH and LD_PRELOAD decide what the names behind them mean.
        self.certain &= command.assignments.is_empty() || command.words.is_empty();
        if tests || (command.words.is_empty() && !redirects) {
            return;
        }
        let words: Vec<Field> = command.words.iter().map(argument).collect();
        let text: Vec<String> = command.words.iter().map(shown).collect();
        self.push(&words, &text, redirects, depth);
    }

    fn push(&mut self, words: &[Field], text: &[String], redirects: bool, depth: usize) {
        self.commands.push(Part { words: words.to_vec(), text: text.join(" "), redirects });
        let Some(first) = words.first() else { return };
        let Some(program) = first.as_deref().filter(|_| depth < DEEPEST) else {
            self.certain = false;
            return;
        };
        let inner = |at: usize| (&words[at..], &text[at..]);
        match program.rsplit('/').next().unwrap_or(program) {
            "eval" => return self.read_joined(&words[1..], depth),
            "trap" => return self.read_joined(words.get(1..2).unwrap_or_default(), depth),
            "." | "source" | "alias" => return self.certain = false,
            "busybox" | "toybox" if words.len() > 1 => {
                let (words, text) = inner(1);
                return self.push(words, text, redirects, depth + 1);
            }
            "find" => {
                let runs = |word: &Field| matches!(word.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
                for at in (1..words.len()).filter(|at| runs(&words[*at])) {
                    let (words, text) = inner(at + 1);
                    self.push(words, text, redirects, depth + 1);
                }
                return;
            }
            _ => {}
        }
        match unwrap(program, words) {
            Wrapped::Command { at, assignments, .. } => {
                self.certain &= assignments.is_empty();
                let (words, text) = inner(at);
                self.push(words, text, redirects, depth + 1);
            }
            Wrapped::ShellCode { at } => self.read_joined(&words[at..=at], depth),
            Wrapped::Code(Language::Shell) | Wrapped::Unsure => self.certain = false,
            Wrapped::Program | Wrapped::Script { .. } | Wrapped::Module(_) | Wrapped::Code(_) => {}
        }
    }

    /// Words that are shell text again.
    fn read_joined(&mut self, words: &[Field], depth: usize) {
        match words.iter().cloned().collect::<Option<Vec<String>>>() {
            Some(words) => self.read(&words.join(" "), depth + 1),
            None => self.certain = false,
        }
    }
}

impl Part {
    /// Whether it begins with these words.
    pub fn begins_with(&self, prefix: &str, naming: Naming) -> Fit {
        let mut fit = Fit::Yes;
        for (at, expected) in prefix.split_whitespace().enumerate() {
            match self.words.get(at) {
                None => return Fit::No,
                Some(None) => fit = Fit::Maybe,
                Some(Some(word)) if word == expected => {}
                Some(Some(word)) if at == 0 && naming == Naming::AnyDirectory && lies_at(word, expected) => {}
                Some(Some(_)) => return Fit::No,
            }
        }
        fit
    }
}

fn lies_at(word: &str, name: &str) -> bool {
    word.strip_suffix(name).is_some_and(|directory| directory.ends_with('/'))
}

/// A word as a program is given it. A pattern comes to names of files, which only the shell knows.
fn argument(word: &Word) -> Field {
    word.literal()
}

fn shown(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.clone(),
        Piece::Variable { name, .. } => format!("${name}"),
        Piece::Output { .. } => "$(…)".to_owned(),
        Piece::Other(_) => "…".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a part of the text begins with `rm`, and whether the text was understood.
    fn runs_rm(text: &str) -> (bool, bool) {
        let parts = parts(text);
        let rm = |part: &Part| part.begins_with("rm", Naming::AnyDirectory) == Fit::Yes;
        (parts.commands.iter().any(rm), parts.certain)
    }

    #[test]
    fn no_spelling_hides_a_command() {
        for text in [
            "rm -rf x;",
            "ls && rm x",
            "ls || rm x",
            "ls | rm",
            "echo $(rm x)",
            "echo `rm x`",
            "env rm x",
            "sudo -u me rm x",
            "ls | xargs rm",
            "sh -c 'rm x'",
            "bash -lc \"ls; rm x\"",
            "/bin/rm x",
            "command rm x",
            "\\rm x",
            "ls\nrm x",
            "{ rm x; }",
            "(rm x)",
            "rm x &",
            "if true; then rm x; fi",
            "r''m x",
            "eval 'rm x'",
            "find . -exec rm {} +",
            "busybox rm x",
            "sudo sh -c 'env rm x'",
            "cat <(rm x)",
            "timeout 5 rm x",
            "f() { rm x; }; f",
            "echo \"$(rm x)\"",
            "trap 'rm x' EXIT",
            "rm x > y",
            "exec rm x",
            "nohup rm x",
        ] {
            assert_eq!(runs_rm(text), (true, true), "{text}");
        }
        for text in ["echo rm", "git rm x", "echo 'a; rm x'", "./rmx", "ls # rm x"] {
            assert_eq!(runs_rm(text), (false, true), "{text}");
        }
    }

    #[test]
    fn what_the_text_does_not_tell_is_uncertain() {
        for text in [
            "$X x",
            "`a` x",
            "eval $X",
            "echo rm | sh",
            "sh -c \"$X\"",
            "ls 'x",
            "env -S 'rm x'",
            "r? x",
            "PATH=. ls",
            "env PATH=. ls",
        ] {
            assert!(!parts(text).certain, "{text}");
        }
        let part = &parts("git $X").commands[0];
        assert_eq!(part.begins_with("git push", Naming::Exact), Fit::Maybe);
        assert_eq!(part.begins_with("git", Naming::Exact), Fit::Yes);
        assert_eq!(part.begins_with("ls", Naming::Exact), Fit::No);
        assert_eq!(parts("/bin/ls").commands[0].begins_with("ls", Naming::Exact), Fit::No);
    }
}
