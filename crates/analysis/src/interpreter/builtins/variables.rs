//! Builtins that set, declare and remove variables, and those that change the shell's options.

use super::super::arithmetic::is_name;
use super::super::run::{is_harmless, steers_programs, steers_shell};
use super::super::{Interpreter, Io, Outcome};
use crate::state::{Function, State};
use crate::syntax::Dialect;
use crate::value::{Argument, Taint, Text, Value};

/// What the options of `declare` and its kin say.
#[derive(Clone, Copy)]
struct Declaration {
    readonly: bool,
    global: bool,
}

impl Interpreter<'_> {
    /// Without names, builtins that set variables print all of them.
    pub(super) fn print_variables(&mut self, args: &[Argument], io: &Io) {
        if args.iter().all(|arg| arg.beginning().starts_with('-') || arg.many)
            || args.iter().any(|arg| arg.text() == Some("-p"))
        {
            let taint = self.environment_printed();
            self.print(&Value::unknown(taint), io);
        }
    }

    /// `wait -p NAME` sets or unsets a variable.
    pub(super) fn wait(&mut self, args: &[Argument], mut state: State) -> Outcome {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            match arg.text() {
                Some("-n" | "-f" | "--") => {}
                Some("-p") => {
                    self.set_named(args.get(at..=at).unwrap_or_default(), Taint::NONE, &mut state);
                    at += 1;
                }
                Some(text) if text.starts_with('-') => self.unsure_all("wait with options that are not known"),
                Some(_) => {}
                None if arg.value.text == Text::Number && !arg.many => {}
                None if arg.is_operand() => {}
                None => self.unsure_all("what wait sets is only known then"),
            }
        }
        Outcome::both(state)
    }

    pub(super) fn declare(&mut self, name: &str, args: &[Argument], mut state: State) -> Outcome {
        let exports = name == "export";
        let mut exported = exports;
        let mut declaration = Declaration { readonly: name == "readonly", global: false };
        for arg in args {
            let Some(text) = arg.text() else {
                if arg.many || !arg.prefix.contains('=') {
                    self.unsure_all(format!("what {name} sets is only known then"));
                    self.forget(&mut state);
                    continue;
                }
                let variable = arg.prefix.split('=').next().unwrap_or_default().to_owned();
                self.assign(&variable, Value::unknown(arg.value.taint), &mut state);
                self.declared(name, &variable, exported, declaration, &mut state);
                continue;
            };
            if text.starts_with(['-', '+']) {
                let harmless = text[1..].bytes().all(|letter| matches!(letter, b'x' | b'r' | b'g' | b'p'));
                if !harmless || (exports && text.contains('f')) {
                    self.unsure_all(format!("{name} {text} changes what assignments mean"));
                }
                exported |= text.starts_with('-') && text.contains('x');
                declaration.readonly |= text.starts_with('-') && text.contains('r');
                declaration.global |= text.starts_with('-') && text.contains('g');
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
                    // Not every `sh` takes the word for an assignment, which is not split.
                    if state.dialect == Dialect::Posix && value.contains([' ', '\t', '\n', '*', '?', '[']) {
                        self.unsure_all(format!("what {name} sets differs between shells"));
                    }
                    // Whether a `~` was quoted can't be seen here, nor which variable of a name `-g` sets.
                    let is_home = value.starts_with('~') || value.contains(":~");
                    let is_hidden = declaration.global && !self.returns.is_empty();
                    let text = if is_home || is_hidden { Text::Unknown } else { Text::from(value.as_str()) };
                    self.assign(&variable, Value { text, taint: arg.value.taint }, &mut state);
                }
                None if matches!(name, "local" | "declare" | "typeset")
                    && !declaration.global
                    && (!self.returns.is_empty() || name == "local") =>
                {
                    // It is not set, unless a variable for this call alone, or any in some shells, passes its value on.
                    let inherits = state.variable(&variable).is_none_or(|variable| variable.exported)
                        || state.dialect == Dialect::Posix
                        || self.readonly.contains(&variable);
                    state.set(&variable, inherits.then_some(Value::UNKNOWN));
                }
                None => {}
            }
            self.declared(name, &variable, exported, declaration, &mut state);
        }
        Outcome::both(state)
    }

    fn declared(&mut self, name: &str, variable: &str, exported: bool, declaration: Declaration, state: &mut State) {
        if declaration.readonly {
            self.readonly.insert(variable.to_owned());
        }
        if exported {
            if steers_programs(variable) && !is_harmless(variable) {
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

    pub(super) fn set_options(&mut self, args: &[Argument], mut state: State) -> Outcome {
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

    pub(super) fn read(&mut self, args: &[Argument], mut state: State, io: &Io) -> Outcome {
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
    pub(super) fn set_named(&mut self, names: &[Argument], taint: Taint, state: &mut State) {
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

    pub(super) fn unset(&mut self, args: &[Argument], mut state: State) -> Outcome {
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
                        if steers_shell(&text) {
                            self.unsure_all(format!("it unsets {text}, which changes what commands mean"));
                        }
                        // Without a variable of that name a function of that name goes.
                        if state.function(&text).is_some() {
                            state.define(&text, Function::Ambiguous);
                        }
                        // A variable of a calling function or of the shell may come to light, or it can't be removed.
                        let hides = !self.calls.is_empty()
                            || self.readonly.contains(&text)
                            || state.variable(&text).is_some_and(|variable| variable.exported);
                        state.set(&text, hides.then_some(Value::UNKNOWN));
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
}
