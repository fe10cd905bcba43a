//! Which simple commands a command line runs: those in chains, pipes, groups and substitutions, and those that others
//! run for it (`env x`, `sudo x`, `xargs x`, `sh -c 'x'`, `find -exec x`). The one answer for whoever allows or denies
//! commands; it judges nothing itself.

use super::inside::{GIT_VALUES, Inside, inside, is_option};
use super::wrap::{has_odd_option, unwrap};
use super::{Field, Language, Piece, RedirectionKind, SimpleCommand, Word, Wrapped, parse};

/// How deep commands may run each other.
const DEEPEST: usize = 16;

/// Everything that a command line runs, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands. One that runs another stands here, and so does the other.
    pub commands: Vec<Part>,
    /// Whether nothing else runs, as far as the shell is concerned.
    pub certain: bool,
    /// Whether one of them is given code in a language of its own, which may run anything: `perl -e`, `awk`'s `system`.
    pub code: bool,
}

impl Parts {
    /// Whether there is nothing that a list of what may not run could have missed.
    pub fn is_clear(&self) -> bool {
        self.certain && !self.code
    }
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
    let mut parts = Parts { commands: Vec::new(), certain: true, code: false };
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
        // What looks like an option is one of `time`, which some shells have no word of their own for.
        let is_program = |word: &&str| depth < DEEPEST && !word.starts_with('-');
        let Some(program) = first.as_deref().filter(is_program) else {
            self.certain = false;
            return;
        };
        let inner = |at: usize| (&words[at..], &text[at..]);
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            "eval" => return self.read_joined(&words[1..], depth),
            "trap" => return self.read_joined(words.get(1..2).unwrap_or_default(), depth),
            "." | "source" | "alias" => return self.certain = false,
            "busybox" | "toybox" if words.len() > 1 => {
                let (words, text) = inner(1);
                return self.push(words, text, redirects, depth + 1);
            }
            _ => {}
        }
        for inside in inside(name, words) {
            match inside {
                Inside::Command(at) => {
                    let (words, text) = inner(at);
                    self.push(words, text, redirects, depth + 1);
                }
                Inside::Words(words) => {
                    let text: Vec<String> = words.iter().flatten().cloned().collect();
                    self.push(&words, &text, redirects, depth + 1);
                }
                Inside::Text(Some(text)) => self.read(&text, depth + 1),
                Inside::Code => self.code = true,
                Inside::Text(None) | Inside::Unsure => self.certain = false,
            }
        }
        match unwrap(program, words) {
            Wrapped::Command { at, assignments, .. } => {
                self.certain &= assignments.is_empty() && !has_odd_option(program, &words[1..at]);
                let (words, text) = inner(at);
                self.push(words, text, redirects, depth + 1);
            }
            Wrapped::ShellCode { at } => self.read_joined(&words[at..=at], depth),
            Wrapped::Code(Language::Shell) | Wrapped::Unsure => self.certain = false,
            Wrapped::Code(_) => self.code = true,
            Wrapped::Program | Wrapped::Script { .. } | Wrapped::Module(_) => {}
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
    /// Whether it begins with these words. Where only the program's name counts and not its place, options between the
    /// words do not count either: `git -C x push` is `git push`.
    pub fn begins_with(&self, prefix: &str, naming: Naming) -> Fit {
        let expected: Vec<&str> = prefix.split_whitespace().collect();
        let as_written = self.begins_exactly(&expected, naming);
        let [program, rest @ ..] = expected.as_slice() else { return as_written };
        if naming == Naming::Exact || as_written == Fit::Yes || rest.is_empty() {
            return as_written;
        }
        match self.words.split_first() {
            Some((Some(word), words)) if word == program || lies_at(word, program) => {
                either(as_written, past_options(program, words, rest, 0))
            }
            _ => as_written,
        }
    }

    fn begins_exactly(&self, expected: &[&str], naming: Naming) -> Fit {
        let mut fit = Fit::Yes;
        for (at, expected) in expected.iter().enumerate() {
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

fn either(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::No, Fit::No) => Fit::No,
        _ => Fit::Maybe,
    }
}

/// Whether words follow each other, options between them aside. Whether an option takes the next word is known of few
/// programs; where it would decide, nobody can tell.
fn past_options(program: &str, words: &[Field], expected: &[&str], depth: usize) -> Fit {
    const MOST_OPTIONS: usize = 10;
    let [next, later @ ..] = expected else { return Fit::Yes };
    let Some((word, rest)) = words.split_first() else { return Fit::No };
    let Some(word) = word.as_deref() else {
        return if past_options(program, rest, later, depth + 1) == Fit::No { Fit::No } else { Fit::Maybe };
    };
    if depth > MOST_OPTIONS {
        return Fit::Maybe;
    }
    if word == *next {
        return past_options(program, rest, later, depth + 1);
    }
    let skipped = is_option(word) || (program == "cargo" && word.starts_with('+'));
    if !skipped {
        return Fit::No;
    }
    let flag = past_options(program, rest, expected, depth + 1);
    let with_value = || past_options(program, rest.get(1..).unwrap_or_default(), expected, depth + 1);
    match takes_value(program, word) {
        Some(true) => with_value(),
        Some(false) => flag,
        None => match with_value() {
            _ if flag == Fit::Yes => Fit::Yes,
            Fit::No => flag,
            Fit::Yes | Fit::Maybe => Fit::Maybe,
        },
    }
}

/// Whether an option takes the next word, if that is known.
fn takes_value(program: &str, option: &str) -> Option<bool> {
    let values: &[&str] = match program {
        "git" => return Some(GIT_VALUES.contains(&option)),
        _ if option.contains('=') => return Some(false),
        "npm" | "pnpm" | "yarn" => {
            &["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--registry"]
        }
        "cargo" => &["-C", "--config", "-Z", "--color", "--manifest-path", "--target-dir"],
        "docker" | "podman" => &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"],
        "kubectl" | "helm" => {
            &["-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user"]
        }
        "gh" => &["-R", "--repo"],
        "go" | "make" | "gmake" => &["-C", "-f", "-I"],
        _ => &[],
    };
    values.contains(&option).then_some(true)
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
        Piece::Variable { name, .. } | Piece::PathPart { name, .. } => format!("${name}"),
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
            "nice -n 5 rm x",
            "stdbuf -oL rm x",
            "setsid rm x",
            "ionice -c 3 rm x",
            "chrt -f 10 rm x",
            "taskset -c 0 rm x",
            "doas -u me rm x",
            "sudo --user me rm x",
            "sudo -nu me rm x",
            "su me -c 'rm x'",
            "su -c 'rm x' me",
            "ssh host rm x",
            "ssh -p 22 -i key me@host 'cd y && rm x'",
            "watch -n 1 rm x",
            "busybox sh -c 'rm x'",
            "script -qc 'rm x' /dev/null",
            "flock -w 5 file rm x",
            "flock file -c 'rm x'",
            "unshare -r rm x",
            "chroot dir rm x",
            "strace -o out rm x",
            "time -p rm x",
            "find . -name x -exec rm {} \\;",
            "fd x -x rm",
            "git -c alias.x='!rm y' x",
            "git -C y -c alias.x='!rm y' x",
            "systemd-run --user=1 rm x",
            "xargs --max-args 1 rm",
            "timeout -k 1 5 nice sudo rm x",
        ] {
            assert_eq!(runs_rm(text), (true, true), "{text}");
        }
        for text in ["echo rm", "git rm x", "echo 'a; rm x'", "./rmx", "ls # rm x"] {
            assert_eq!(runs_rm(text), (false, true), "{text}");
        }
    }

    #[test]
    fn what_may_run_more_is_found_or_unclear() {
        for text in ["parallel rm ::: x", "coproc rm x", "coproc X { rm x; }", "sudo --odd me rm x", "time -f %e rm x"]
        {
            let parts = parts(text);
            assert!(!parts.certain, "{text}: {parts:?}");
        }
        assert_eq!(runs_rm("parallel -j 2 rm ::: x"), (true, false));
        for text in [
            "awk 'BEGIN{system(\"rm x\")}'",
            "perl -e 'unlink'",
            "perl -pi -e 's/a/b/' x",
            "python3 -c 'import os'",
            "ruby -e x",
            "find . -delete",
            "sed '1e rm x' y",
            "sed 's/a/b/e' y",
            "sed -n 's|a|rm|ge' y",
            "git -c core.pager='rm x' log",
            "git --exec-path=/tmp log",
            "git bisect run ./x",
            "tar --checkpoint-action=exec=sh -cf x y",
            "vim -c '!rm x'",
            "tmux new 'rm x'",
            "ssh -o ProxyCommand='rm x' host",
            "rsync -e 'sh -c x' a b",
            "docker run -v /:/x image rm /x/y",
            "kubectl -n a exec pod -- rm x",
        ] {
            let parts = parts(text);
            assert!(!parts.is_clear(), "{text}: {parts:?}");
        }
        for text in [
            "awk '{print $1}' x",
            "sed -i 's/one/two/g' file",
            "sed -n '1,5p' here",
            "find . -name '*.rs'",
            "git -c color.ui=never log",
            "git -C x status",
            "tar -xzf here.tgz",
            "python3 x.py",
            "ssh host",
            "rsync -a x y",
        ] {
            assert!(parts(text).is_clear(), "{text}: {:?}", parts(text));
        }
    }

    #[test]
    fn options_before_a_sub_command_hide_it_from_nobody() {
        let fit = |text: &str, prefix: &str| parts(text).commands[0].begins_with(prefix, Naming::AnyDirectory);
        for (text, prefix) in [
            ("git -C x push", "git push"),
            ("git -c a=b push -f", "git push"),
            ("git --no-pager push", "git push"),
            ("/usr/bin/git -p -C x --git-dir y push", "git push"),
            ("git push -v --force", "git push --force"),
            ("npm --prefix x run build", "npm run"),
            ("npm --silent run build", "npm run"),
            ("npm run --silent build", "npm run build"),
            ("cargo +nightly publish", "cargo publish"),
            ("docker -H tcp://x run y", "docker run"),
        ] {
            assert_eq!(fit(text, prefix), Fit::Yes, "{text}");
        }
        for (text, prefix) in [
            ("git --no-pager log push", "git push"),
            ("git -C push log", "git push"),
            ("git log --format push", "git push"),
            ("git pushx", "git push"),
            ("npm --prefix run x", "npm run"),
        ] {
            assert_eq!(fit(text, prefix), Fit::No, "{text}");
        }
        // Nobody knows whether it takes the next word.
        assert_eq!(fit("tool --odd value push", "tool push"), Fit::Maybe);
        assert_eq!(fit("tool $X push", "tool push"), Fit::Maybe);
        // Whoever allows means what is written.
        let exact = |text: &str| parts(text).commands[0].begins_with("git push", Naming::Exact);
        assert_eq!((exact("git push"), exact("git -C x push")), (Fit::Yes, Fit::No));
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
