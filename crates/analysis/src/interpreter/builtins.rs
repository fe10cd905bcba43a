//! What a shell does by itself.

mod printing;
mod variables;

use std::path::PathBuf;

use super::arithmetic::{is_definite, is_name};
use super::run::Lookup;
use super::{Interpreter, Io, Outcome};
use crate::observer::{Fact, SourcedFile};
use crate::paths;
use crate::state::State;
use crate::syntax::{Dialect, Piece, Word};
use crate::value::{Argument, Taint, Text, Value};

/// Builtins of bash that `sh` may not have.
const BASH_ONLY: [&str; 18] = [
    "pushd",
    "popd",
    "dirs",
    "source",
    "declare",
    "typeset",
    "let",
    "mapfile",
    "readarray",
    "shopt",
    "enable",
    "builtin",
    "caller",
    "disown",
    "compgen",
    "complete",
    "coproc",
    "suspend",
];

impl Interpreter<'_> {
    /// Runs a builtin; nothing if there is none of that name.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        words: &[Argument],
        redirected: bool,
        state: &State,
        io: &Io,
    ) -> Option<Outcome> {
        let args = &words[1..];
        let mut state = state.clone();
        if state.dialect == Dialect::Posix && BASH_ONLY.contains(&name) {
            self.unsure_all(format!("{name} is no command of every sh"));
        }
        if self.script_is_input && !io.stdin.redirected && matches!(name, "read" | "mapfile" | "readarray") {
            self.unsure_all(format!("{name} may read a part of the commands"));
        }
        Some(match name {
            "cd" => return Some(self.change_directory(args, redirected, state)),
            "pushd" => match args {
                // `pushd +1` goes to a directory that was left before.
                [only] if only.is_operand() && !only.beginning().starts_with('+') => {
                    return Some(self.change_directory(args, redirected, state));
                }
                _ => self.somewhere(state),
            },
            "popd" => self.somewhere(state),
            "eval" => return Some(self.eval(args, state, io)),
            "." | "source" => return Some(self.source_file(words, state, io)),
            "trap" => self.trap(args, state),
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                self.print_variables(args, io);
                self.declare(name, args, state)
            }
            "set" => {
                if args.is_empty() {
                    self.print_variables(args, io);
                }
                self.set_options(args, state)
            }
            "shift" => {
                state.parameters = None;
                Outcome::both(state)
            }
            "read" => self.read(args, state, io),
            "mapfile" | "readarray" => {
                if args.iter().any(|arg| arg.beginning().starts_with('-') && !is_option_of(arg, "tnOsud")) {
                    self.unsure_all(format!("{name} with options that are not known"));
                }
                self.set_named(args, io.stdin.taint, &mut state);
                Outcome::both(state)
            }
            "getopts" => {
                self.set_named(args.get(1..2).unwrap_or_default(), Taint::NONE, &mut state);
                Outcome::both(state)
            }
            "unset" => self.unset(args, state),
            "let" => {
                let before = state.clone();
                let mut skips = false;
                for arg in args {
                    let piece = match arg.text() {
                        Some(text) => {
                            skips |= !is_definite(text);
                            Piece::Quoted(text.to_owned())
                        }
                        None => {
                            self.unsure_all("arithmetic that is only known when it runs may run commands");
                            continue;
                        }
                    };
                    self.arithmetic(&Word { pieces: vec![piece] }, &mut state);
                }
                // An expression that fails ends it.
                if skips {
                    state = state.join(&before);
                }
                Outcome::both(state)
            }
            "alias" if args.is_empty() => Outcome::both(state),
            "shopt" | "alias" | "enable" | "fc" | "history" | "bind" | "complete" | "compopt" | "compgen"
            | "coproc" | "suspend" | "logout" => {
                if !(name == "shopt" && args.is_empty()) {
                    self.unsure_all(format!("{name} changes what later commands do"));
                    self.forget(&mut state);
                }
                Outcome::both(state)
            }
            "wait" => self.wait(args, state),
            "unalias" | "disown" | "times" | "caller" | "dirs" | "fg" | "bg" | "help" => Outcome::both(state),
            "umask" | "ulimit" => Outcome::both(state),
            "type" => {
                self.print(&Value::UNKNOWN, io);
                Outcome::both(state)
            }
            "jobs" => {
                if args.iter().any(|arg| !matches!(arg.text(), Some("-l" | "-p" | "-n" | "-r" | "-s"))) {
                    self.unsure_all("jobs may run a command");
                }
                Outcome::both(state)
            }
            "hash" => {
                if args.iter().any(|arg| !matches!(arg.text(), Some("-r" | "-l" | "-d" | "-t")) && !arg.is_operand()) {
                    self.unsure_all("hash may say where a program is");
                }
                Outcome::both(state)
            }
            "break" | "continue" => {
                let is_count = |arg: &Argument| arg.text().is_some_and(|text| text.parse::<u32>().is_ok_and(|n| n > 0));
                if !(args.is_empty() || matches!(args, [only] if is_count(only))) {
                    self.unsure_all(format!("{name} with a word that is no number"));
                }
                self.jump(&state);
                Outcome::both(state)
            }
            "return" => match self.return_from_function(&state) {
                true => Outcome::NEVER,
                // Outside of a function it only fails.
                false => Outcome::failure(state),
            },
            "exit" => Outcome::NEVER,
            "exec" => return Some(self.exec(args, redirected, state, io)),
            "command" => return Some(self.command_builtin(args, redirected, state, io)),
            "builtin" => match args {
                [] => Outcome::both(state),
                [first, ..] if first.is_operand() => {
                    return Some(self.run(args, Lookup::Builtins, redirected, state, io));
                }
                _ => {
                    self.unsure_all("builtin with options that are not known");
                    Outcome::both(state)
                }
            },
            ":" | "true" => Outcome::success(state),
            "false" => Outcome::failure(state),
            "echo" => {
                let value = printing::echoed(args, state.dialect);
                self.print(&value, io);
                Outcome::both(state)
            }
            "printf" => self.printf(args, state, io),
            "pwd" => {
                let cwd: Option<PathBuf> = match args {
                    [] if state.variable("PWD").is_none() => state.cwd.as_deref().map(Into::into),
                    [only] if only.text() == Some("-P") && (self.exhaustive || !self.changed) => {
                        state.cwd.as_deref().map(|cwd| paths::physical(self.environment.disk, cwd))
                    }
                    _ => None,
                };
                let cwd = cwd.as_deref().and_then(std::path::Path::to_str);
                let value = cwd.map_or(Value::UNKNOWN, |cwd| Value::known(format!("{cwd}\n")));
                self.print(&value, io);
                Outcome::both(state)
            }
            "test" | "[" => {
                let names = args.windows(2).filter(|pair| matches!(pair[0].text(), None | Some("-v" | "-R")));
                let unknown = |pair: &[Argument]| match pair[0].text() {
                    Some(_) => !pair[1].text().is_some_and(is_name),
                    None => {
                        pair[0].many
                            || pair[0].prefix.is_empty() && args.len() < 3 && !pair[1].text().is_some_and(is_name)
                    }
                };
                if names.into_iter().any(unknown) {
                    self.unsure_all("test -v evaluates a subscript");
                }
                Outcome::both(state)
            }
            "kill" => {
                // The first word may be a signal; a number with a sign behind it is a group of processes.
                let skipped = match args.first().and_then(Argument::text) {
                    Some("-s" | "-n") => 2,
                    Some("-l" | "-L") => args.len(),
                    Some(text) if text.starts_with('-') => 1,
                    _ => 0,
                };
                for arg in args.iter().skip(skipped).filter(|arg| arg.text() != Some("--")) {
                    self.tell(&Fact::Process(&arg.shown));
                }
                Outcome::both(state)
            }
            _ => return None,
        })
    }

    fn somewhere(&mut self, state: State) -> Outcome {
        let mut gone = state.clone();
        gone.cwd = None;
        gone.forget_variable("PWD");
        Outcome { success: Some(gone), failure: Some(state) }
    }

    fn change_directory(&mut self, args: &[Argument], redirected: bool, state: State) -> Outcome {
        let mut physical = false;
        let mut operands = args;
        while let [first, rest @ ..] = operands {
            match first.text() {
                Some("-P") => physical = true,
                Some("-L") => physical = false,
                Some("--") => {
                    operands = rest;
                    break;
                }
                Some(option) if option.starts_with('-') && option.len() > 1 => return self.somewhere(state),
                _ => break,
            }
            operands = rest;
        }
        let target = match operands {
            [] => self.variable("HOME", &state).text.known().map(str::to_owned),
            [only] => only.text().map(str::to_owned),
            _ => return self.somewhere(state),
        };
        // `cd -` goes back, and a name without a slash is looked for in CDPATH, which a script that sets it is unsure for.
        let Some(target) = target.filter(|target| !target.is_empty() && target != "-") else {
            return self.somewhere(state);
        };
        let Some(path) = state.path(&target) else { return self.somewhere(state) };
        let disk = self.environment.disk;
        let to: PathBuf = if physical { paths::physical(disk, &path) } else { paths::normalized(&path) };
        let is_known = self.exhaustive || (!self.changed && !redirected);
        let is_there = is_known && paths::is_directory(disk, &to) && !has_links_and_parents(disk, &path);
        let mut moved = state.clone();
        moved.cwd = Some(to.into());
        moved.forget_variable("PWD");
        match is_there {
            true => Outcome::success(moved),
            false => Outcome { success: Some(moved), failure: Some(state) },
        }
    }

    /// `. file`: the commands of a file run in this shell.
    fn source_file(&mut self, words: &[Argument], mut state: State, io: &Io) -> Outcome {
        let args = &words[1..];
        let run = self.command_run(words, &state, io);
        match self.observer.source(&run) {
            Some(SourcedFile::Text { text, name }) => {
                let outer_source = std::mem::replace(&mut state.source, name);
                let outer_parameters = state.parameters.clone();
                if args.len() > 1 {
                    let known = !args.iter().any(|arg| arg.many);
                    state.parameters = known.then(|| args[1..].into());
                }
                self.returns.push(None);
                let outcome = self.script_text(&text, state, io);
                let returned = self.returns.pop().flatten();
                let mut outcome = match returned {
                    Some(state) => outcome.join(Outcome::both(state)),
                    None => outcome,
                };
                for state in [&mut outcome.success, &mut outcome.failure].into_iter().flatten() {
                    state.source.clone_from(&outer_source);
                    if args.len() > 1 {
                        state.parameters.clone_from(&outer_parameters);
                    }
                }
                outcome
            }
            Some(SourcedFile::Opaque) => {
                state.forget_variables();
                Outcome::both(state)
            }
            None => {
                args.iter().take(1).for_each(|file| {
                    self.touch(crate::programs::spec::Access::Read, file, crate::programs::spec::Depth::Itself, &state);
                });
                self.runs_data(self.read_taint, "source");
                self.unsure_all("a file of commands is read");
                self.forget(&mut state);
                Outcome::both(state)
            }
        }
    }

    fn eval(&mut self, args: &[Argument], mut state: State, io: &Io) -> Outcome {
        let args = if args.first().and_then(Argument::text) == Some("--") { &args[1..] } else { args };
        let texts: Option<Vec<&str>> = args.iter().map(Argument::text).collect();
        let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.and(arg.value.taint));
        self.runs_data(taint, "eval");
        let is_setup = |arg: &Argument| arg.value.text == Text::ShellSetup && !arg.many;
        match texts {
            Some(texts) => {
                let text = texts.join(" ");
                self.script_text(&text, state, io)
            }
            // It only changes what later commands mean.
            None if args.iter().all(is_setup) => {
                self.forget(&mut state);
                Outcome::both(state)
            }
            None => {
                self.unsure_all("what eval runs is only known then");
                self.forget(&mut state);
                Outcome::both(state)
            }
        }
    }

    fn trap(&mut self, args: &[Argument], state: State) -> Outcome {
        let args = if args.first().and_then(Argument::text) == Some("--") { &args[1..] } else { args };
        match args {
            [] => {}
            [first, ..] => match first.text() {
                Some("-p" | "-l" | "-P") => {}
                Some("" | "-") => {}
                // One word alone is a signal, whose trap goes.
                Some(text) if args.len() > 1 => {
                    let text = text.to_owned();
                    let ends = |arg: &Argument| matches!(arg.text(), Some("EXIT" | "0"));
                    if !self.anytime(&text, &state) && !args[1..].iter().all(ends) {
                        self.unsure_all("a trap that changes the shell may run between any two commands");
                    }
                }
                Some(_) => {}
                None => self.unsure_all("what trap runs is only known then"),
            },
        }
        // A trap on DEBUG, ERR or RETURN runs between commands and may change their state.
        let harmless = |arg: &Argument| {
            arg.text().is_some_and(|text| {
                matches!(text, "EXIT" | "0" | "INT" | "TERM" | "HUP" | "QUIT" | "SIGINT" | "SIGTERM" | "SIGHUP")
            })
        };
        if args.len() > 1
            && !args[1..].iter().all(harmless)
            && !matches!(args[0].text(), Some("-p" | "-l" | "-P" | "" | "-"))
        {
            self.unsure_all("a trap may run between any two commands");
        }
        Outcome::both(state)
    }

    fn exec(&mut self, args: &[Argument], redirected: bool, state: State, io: &Io) -> Outcome {
        match args {
            [] => {
                self.redirected |= redirected;
                Outcome::both(state)
            }
            [first, ..] if first.is_operand() => self.run(args, Lookup::Programs, redirected, state, io),
            _ => {
                self.unsure_all("exec with options that are not known");
                Outcome::both(state)
            }
        }
    }

    fn command_builtin(&mut self, args: &[Argument], redirected: bool, state: State, io: &Io) -> Outcome {
        match args {
            [] => Outcome::both(state),
            [first, rest @ ..] => match first.text() {
                Some("--help" | "--version") if rest.is_empty() => Outcome::both(state),
                // They only say where the program is.
                Some("-v" | "-V") => {
                    self.print(&Value::UNKNOWN, io);
                    Outcome::both(state)
                }
                Some("-p" | "--") => match rest.first() {
                    Some(next) if next.is_operand() => self.run(rest, Lookup::NoFunctions, redirected, state, io),
                    Some(next) if matches!(next.text(), Some("-v" | "-V")) => Outcome::both(state),
                    None => Outcome::both(state),
                    _ => {
                        self.unsure_all("command with options that are not known");
                        Outcome::both(state)
                    }
                },
                Some(text) if !text.starts_with('-') => self.run(args, Lookup::NoFunctions, redirected, state, io),
                _ => {
                    self.unsure_all("command with options that are not known");
                    Outcome::both(state)
                }
            },
        }
    }
}

/// Whether a path goes through a link and then up: what a shell and the kernel make of that differs.
fn has_links_and_parents(disk: &dyn crate::disk::Disk, path: &std::path::Path) -> bool {
    path.components().any(|part| part == std::path::Component::ParentDir)
        && paths::physical(disk, path) != paths::physical(disk, &paths::normalized(path))
}

fn is_option_of(arg: &Argument, letters: &str) -> bool {
    arg.text().is_some_and(|text| text.len() == 2 && text[1..].chars().all(|letter| letters.contains(letter)))
}
