//! `echo` and `printf`: what they print.

use std::rc::Rc;

use super::super::arithmetic::is_name;
use super::super::{Interpreter, Io, Outcome};
use crate::state::State;
use crate::syntax::Dialect;
use crate::value::{Argument, Taint, Text, Value};

impl Interpreter<'_> {
    pub(super) fn printf(&mut self, args: &[Argument], mut state: State, io: &Io) -> Outcome {
        let args = if args.first().and_then(Argument::text) == Some("--") { &args[1..] } else { args };
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
        // `%n` sets the variable that an argument names.
        if first.text().is_none_or(counts_characters) {
            for arg in &args[1..] {
                match arg.text() {
                    Some(text) if is_name(text) => {
                        let text = text.to_owned();
                        self.assign(&text, Value::UNKNOWN, &mut state);
                    }
                    Some(_) => {}
                    None if first.text().is_some() => self.unsure_all("printf may set a variable"),
                    None => state.forget_values(),
                }
            }
        }
        let value = match first.beginning().starts_with('-') && first.beginning().len() > 1 {
            // It may be an option that printf does not have.
            true => Value::unknown(args.iter().fold(Taint::NONE, |taint, arg| taint.and(arg.value.taint))),
            false => formatted(args),
        };
        self.print(&value, io);
        Outcome::both(state)
    }
}

/// Whether a format of `printf` has the conversion `%n`.
fn counts_characters(format: &str) -> bool {
    format.split('%').skip(1).any(|conversion| {
        conversion
            .trim_start_matches(|char: char| "-+ #'*.hlqLjzt".contains(char) || char.is_ascii_digit())
            .starts_with('n')
    })
}

/// What `echo` prints.
pub(super) fn echoed(args: &[Argument], dialect: Dialect) -> Value {
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
