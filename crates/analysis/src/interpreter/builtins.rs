//! What a shell does by itself.

use std::path::PathBuf;
use std::rc::Rc;

use super::arithmetic::is_name;
use super::run::Lookup;
use super::{Interpreter, Io, Outcome};
use crate::observer::{Fact, SourcedFile};
use crate::paths;
use crate::state::{Function, State};
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
        Some(match name {
            "cd" => return Some(self.change_directory(args, redirected, state)),
            "pushd" => match args {
                [only] if only.is_operand() => return Some(self.change_directory(args, redirected, state)),
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
                for arg in args {
                    let piece = match arg.text() {
                        Some(text) => Piece::Quoted(text.to_owned()),
                        None => {
                            self.unsure_all("arithmetic that is only known when it runs may run commands");
                            continue;
                        }
                    };
                    self.arithmetic(&Word { pieces: vec![piece] }, &mut state);
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
            "unalias" | "wait" | "disown" | "times" | "caller" | "dirs" | "fg" | "bg" | "help" => Outcome::both(state),
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
                let value = echoed(args, state.dialect);
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

    /// Without names, builtins that set variables print all of them.
    fn print_variables(&mut self, args: &[Argument], io: &Io) {
        if args.iter().all(|arg| arg.beginning().starts_with('-') || arg.many)
            || args.iter().any(|arg| arg.text() == Some("-p"))
        {
            let taint = self.environment_printed();
            self.print(&Value::unknown(taint), io);
        }
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
                Some(text) if args.len() > 1 => self.anytime(text, &state),
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

    fn declare(&mut self, name: &str, args: &[Argument], mut state: State) -> Outcome {
        let exports = name == "export";
        let mut exported = exports;
        for arg in args {
            let Some(text) = arg.text() else {
                if arg.many || !arg.prefix.contains('=') {
                    self.unsure_all(format!("what {name} sets is only known then"));
                    self.forget(&mut state);
                    continue;
                }
                let variable = arg.prefix.split('=').next().unwrap_or_default().to_owned();
                self.assign(&variable, Value::unknown(arg.value.taint), &mut state);
                self.declared(name, &variable, exported, &mut state);
                continue;
            };
            if text.starts_with(['-', '+']) {
                let harmless = text[1..].bytes().all(|letter| matches!(letter, b'x' | b'r' | b'g' | b'p'));
                if !harmless || (exports && text.contains('f')) {
                    self.unsure_all(format!("{name} {text} changes what assignments mean"));
                }
                exported |= text.starts_with('-') && text.contains('x');
                continue;
            }
            let (variable, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if variable.ends_with('+') || !is_name(variable) {
                self.unsure_all(format!("what {name} sets is not understood"));
                continue;
            }
            let (variable, value) = (variable.to_owned(), value.map(str::to_owned));
            match value {
                Some(value) => {
                    let value = Value { text: Text::from(value.as_str()), taint: arg.value.taint };
                    self.assign(&variable, value, &mut state);
                }
                None if name == "local" => state.set(&variable, Some(Value::known(""))),
                None => {}
            }
            self.declared(name, &variable, exported, &mut state);
        }
        Outcome::both(state)
    }

    fn declared(&mut self, name: &str, variable: &str, exported: bool, state: &mut State) {
        if exported {
            if super::run::steers_programs(variable) && !super::run::is_harmless(variable) {
                self.unsure_all(format!("it exports {variable}, which changes what programs do"));
            }
            if state.variable(variable).is_none() {
                let value = self.variable(variable, state);
                state.set(variable, Some(value));
            }
            state.export(variable);
        }
        if matches!(name, "local" | "declare" | "typeset") && !self.returns.is_empty() {
            self.locals.push(variable.to_owned());
        }
    }

    fn set_options(&mut self, args: &[Argument], mut state: State) -> Outcome {
        const HARMLESS: [&str; 8] =
            ["errexit", "nounset", "xtrace", "verbose", "pipefail", "errtrace", "functrace", "noclobber"];
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            match arg.text() {
                Some("--" | "-") => {
                    state.parameters = Some(args[at..].into());
                    break;
                }
                Some("-o" | "+o") => match args.get(at).map(Argument::text) {
                    Some(Some(name)) if HARMLESS.contains(&name) => at += 1,
                    None => {}
                    _ => self.unsure_all("set -o changes how commands are read"),
                },
                Some(text) if text.starts_with(['-', '+']) && text.len() > 1 => {
                    let (letters, takes_name) =
                        text[1..].strip_suffix('o').map_or((&text[1..], false), |rest| (rest, true));
                    if !letters.bytes().all(|letter| matches!(letter, b'e' | b'u' | b'x' | b'v' | b'E' | b'T' | b'C')) {
                        self.unsure_all(format!("set {text} changes how commands are read"));
                    }
                    if takes_name {
                        match args.get(at).and_then(Argument::text) {
                            Some(name) if HARMLESS.contains(&name) => at += 1,
                            _ => self.unsure_all("set -o changes how commands are read"),
                        }
                    }
                }
                Some(_) => {
                    state.parameters = Some(args[at - 1..].into());
                    break;
                }
                None => {
                    self.unsure_all("what set changes is only known then");
                    state.parameters = None;
                    break;
                }
            }
        }
        if args.iter().any(|arg| arg.many) {
            state.parameters = None;
        }
        Outcome::both(state)
    }

    fn read(&mut self, args: &[Argument], mut state: State, io: &Io) -> Outcome {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let Some(text) = arg.text() else {
                self.unsure_all("what read sets is only known then");
                self.forget(&mut state);
                return Outcome::both(state);
            };
            if !text.starts_with('-') {
                break;
            }
            at += 1;
            match text.bytes().last() {
                _ if text == "--" => break,
                // These take a value, the next word if none is attached.
                Some(b'd' | b'n' | b'N' | b'p' | b't' | b'u' | b'i' | b'a') if text.len() == 2 => {
                    at += usize::from(text != "-a")
                }
                _ if text[1..].bytes().all(|letter| matches!(letter, b'r' | b's' | b'e')) => {}
                Some(b'd' | b'n' | b'N' | b'p' | b't' | b'u' | b'i')
                    if text[1..text.len() - 1].bytes().all(|letter| matches!(letter, b'r' | b's')) =>
                {
                    at += 1
                }
                _ if matches!(text.as_bytes().get(1), Some(b'd' | b'n' | b'N' | b'p' | b't' | b'u')) => {}
                _ => self.unsure_all("read with options that are not known"),
            }
        }
        self.set_named(args.get(at..).unwrap_or_default(), io.stdin.taint, &mut state);
        Outcome::both(state)
    }

    /// Variables are set to what is only known when it runs.
    fn set_named(&mut self, names: &[Argument], taint: Taint, state: &mut State) {
        for name in names {
            match name.text() {
                Some(text) if is_name(text) => {
                    let text = text.to_owned();
                    self.assign(&text, Value::unknown(taint), state);
                }
                Some(text) if text.starts_with('-') || text.bytes().all(|byte| byte.is_ascii_digit()) => {}
                _ => {
                    self.unsure_all("a variable whose name is only known when it runs");
                    self.forget(state);
                }
            }
        }
    }

    fn unset(&mut self, args: &[Argument], mut state: State) -> Outcome {
        let mut functions = false;
        for arg in args {
            match arg.text() {
                Some("-f") => functions = true,
                Some("-v") => functions = false,
                Some(text) if is_name(text) || functions => {
                    let text = text.to_owned();
                    if functions {
                        state.define(&text, Function::Removed);
                    } else {
                        if super::run::steers_shell(&text) {
                            self.unsure_all(format!("it unsets {text}, which changes what commands mean"));
                        }
                        // Without a variable of that name a function of that name goes.
                        if state.function(&text).is_some() {
                            state.define(&text, Function::Ambiguous);
                        }
                        state.set(&text, None);
                    }
                }
                _ => {
                    self.unsure_all("what unset removes is not understood");
                    self.forget(&mut state);
                }
            }
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

    fn printf(&mut self, args: &[Argument], mut state: State, io: &Io) -> Outcome {
        let Some(first) = args.first() else { return Outcome::both(state) };
        if first.beginning().starts_with("-v") || (first.text().is_none() && !first.is_operand()) {
            match (first.text(), args.get(1).and_then(Argument::text)) {
                (Some("-v"), Some(name)) if is_name(name) => {
                    let name = name.to_owned();
                    let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.and(arg.value.taint));
                    self.assign(&name, Value::unknown(taint), &mut state);
                }
                _ => {
                    self.unsure_all("printf may set a variable");
                    self.forget(&mut state);
                }
            }
            return Outcome::both(state);
        }
        let value = formatted(args);
        self.print(&value, io);
        Outcome::both(state)
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

/// What `echo` prints.
fn echoed(args: &[Argument], dialect: Dialect) -> Value {
    let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.and(arg.value.taint));
    let texts: Option<Vec<&str>> = args.iter().map(Argument::text).collect();
    let Some(texts) = texts else { return Value::unknown(taint) };
    let is_option = |text: &&&str| {
        text.len() > 1 && text.starts_with('-') && text[1..].bytes().all(|letter| matches!(letter, b'n' | b'e' | b'E'))
    };
    let options: Vec<&&str> = texts.iter().take_while(is_option).collect();
    let escapes = options.iter().any(|option| option.contains('e'));
    let line = texts[options.len()..].join(" ");
    if (escapes && line.contains('\\')) || (dialect == Dialect::Posix && (!options.is_empty() || line.contains('\\'))) {
        return Value::unknown(taint);
    }
    let end = if options.iter().any(|option| option.contains('n')) { "" } else { "\n" };
    Value { text: Text::Known(Rc::from(format!("{line}{end}"))), taint }
}

/// What `printf` prints, for the formats that are simple.
fn formatted(args: &[Argument]) -> Value {
    let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.and(arg.value.taint));
    let texts: Option<Vec<&str>> = args.iter().map(Argument::text).collect();
    let text = match texts.as_deref() {
        Some(["%s", only]) => Some((*only).to_owned()),
        Some(["%s\\n", lines @ ..]) if !lines.is_empty() => {
            Some(lines.iter().map(|line| format!("{line}\n")).collect())
        }
        Some([only]) if !only.contains(['%', '\\']) => Some((*only).to_owned()),
        Some([only]) if !only.contains('%') && !only.replace("\\n", "").contains('\\') => {
            Some(only.replace("\\n", "\n"))
        }
        _ => None,
    };
    match text {
        Some(text) => Value { text: Text::from(text.as_str()), taint },
        None => Value::unknown(taint),
    }
}
