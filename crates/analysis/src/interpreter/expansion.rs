//! What words come to: braces, `~`, parameters, substitutions, splitting and patterns, in the order of bash.

use std::rc::Rc;

use super::arithmetic::is_name;
use super::pattern::{self, Marked};
use super::{FlowSource, Interpreter, Stream, UNITS_PER_STEP};
use crate::observer::Fact;
use crate::programs::credentials;
use crate::programs::spec::Verb;
use crate::state::State;
use crate::syntax::{Dialect, Operation, Parameter, Piece, Word};
use crate::value::{Argument, Taint, Text, Value};

/// A pattern or braces that come to more words are not followed.
const MAX_WORDS: usize = 512;
/// The units that a character of a value costs.
const UNITS_PER_CHAR: usize = 8;

/// Variables that the shell itself sets, whatever a script assigns to them.
const DYNAMIC: [&str; 22] = [
    "_",
    "REPLY",
    "MAPFILE",
    "OPTARG",
    "BASH_COMMAND",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_SUBSHELL",
    "COMP_WORDS",
    "COPROC",
    "DIRSTACK",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "OLDPWD",
    "PIPESTATUS",
    "READLINE_LINE",
    "SHELLOPTS",
    "BASHOPTS",
    "HOSTNAME",
];
/// Variables that the shell sets where the environment does not.
const OWN: [&str; 6] = ["BASH", "BASH_VERSION", "HOSTTYPE", "IFS", "MACHTYPE", "OSTYPE"];
/// Variables of the shell that are numbers.
const NUMBERS: [&str; 11] =
    ["RANDOM", "SRANDOM", "SECONDS", "LINENO", "OPTIND", "BASHPID", "PPID", "UID", "EUID", "SHLVL", "EPOCHSECONDS"];

/// A word while it is put together.
#[derive(Default)]
struct Builder {
    chars: Vec<Marked>,
    /// How much of `chars` stands before the first thing that is not known.
    known_length: Option<usize>,
    /// What all of it is, where that is one value.
    whole: Option<Text>,
    many: bool,
    taint: Taint,
    /// Whether there is a word, even an empty one.
    started: bool,
}

impl Builder {
    fn push(&mut self, text: &str, quoted: bool) {
        self.started |= quoted || !text.is_empty();
        self.chars.extend(text.chars().map(|char| (char, quoted)));
    }

    fn push_unknown(&mut self, text: &Text, quoted: bool) {
        let is_whole = self.chars.is_empty() && self.known_length.is_none();
        self.whole = is_whole.then(|| text.clone());
        self.known_length.get_or_insert(self.chars.len());
        self.many |= !quoted && *text != Text::Number;
        self.started = true;
    }
}

impl Interpreter<'_> {
    /// The words of a command.
    pub(super) fn words(&mut self, words: &[Word], state: &mut State) -> Vec<Argument> {
        let mut found = Vec::new();
        for word in words {
            for word in self.braces(word) {
                self.expand(&word, state, &mut found);
            }
            if found.len() > MAX_WORDS * 4 {
                self.unsure_all("the command has too many words");
                break;
            }
        }
        found
    }

    /// The words of a builtin that declares variables, if the command is one: `export x=$y` is an assignment, which is
    /// not split.
    pub(super) fn declaration_words(&mut self, words: &[Word], state: &mut State) -> Option<Vec<Argument>> {
        const DECLARES: [&str; 5] = ["export", "readonly", "local", "declare", "typeset"];
        let at = words.iter().position(|word| {
            !word.literal().is_some_and(|text| matches!(text.as_str(), "command" | "builtin" | "--" | "-p"))
        })?;
        let name = words[at].literal().filter(|name| DECLARES.contains(&name.as_str()))?;
        // Written in another way, and in other shells, the words are split.
        let is_assignment =
            at == 0 && state.dialect == Dialect::Bash && words[0].pieces == [Piece::Literal(name.clone())];
        let mut found = self.words(&words[..=at], state);
        for word in &words[at + 1..] {
            match assigned_part(word) {
                Some((variable, value)) => {
                    let value = self.joined(&value, state);
                    let joined = declared_argument(&variable, value, word);
                    let split = if is_assignment { Vec::new() } else { self.words(std::slice::from_ref(word), state) };
                    let is_same = matches!(split.as_slice(), [only] if only.text().is_some() && *only == joined);
                    match is_assignment || is_same {
                        true => found.push(joined),
                        false => found.push(Argument { many: true, ..Argument::unknown(&shown(word)) }),
                    }
                }
                None => found.extend(self.words(std::slice::from_ref(word), state)),
            }
        }
        Some(found)
    }

    /// A word as one text, as in an assignment: not split, no patterns.
    pub(super) fn joined(&mut self, word: &Word, state: &mut State) -> Value {
        let mut text = String::new();
        let mut taint = Taint::NONE;
        let mut number = word.pieces.len() == 1;
        let mut known = true;
        for (at, piece) in word.pieces.iter().enumerate() {
            let value = match piece {
                Piece::Literal(plain) if at == 0 && plain.starts_with('~') => {
                    self.tilde(plain, word.pieces.get(1), state).unwrap_or(Value::UNKNOWN)
                }
                // A `~` behind a colon is expanded in assignments alone.
                Piece::Literal(plain) if plain.contains(":~") => Value::UNKNOWN,
                Piece::Literal(plain) | Piece::Quoted(plain) => Value::known(plain.as_str()),
                other => self.piece(other, state),
            };
            taint = taint.and(value.taint);
            number &= value.text == Text::Number;
            match value.text.known().filter(|text| self.budget.spend(UNITS_PER_STEP + text.len())) {
                Some(value) => text.push_str(value),
                None => known = false,
            }
        }
        let text = match (known, number) {
            (true, _) => Text::Known(text.into()),
            (false, true) => Text::Number,
            (false, false) => Text::Unknown,
        };
        Value { text, taint }
    }

    /// What stands for an expansion, as one value.
    fn piece(&mut self, piece: &Piece, state: &mut State) -> Value {
        match piece {
            Piece::Literal(text) | Piece::Quoted(text) => Value::known(text.as_str()),
            Piece::Parameter { parameter, .. } => self.parameter(parameter, state),
            Piece::CommandSubstitution { script, .. } => {
                let script = Rc::clone(script);
                self.substitution(&script, state, &Stream::default())
            }
            Piece::Arithmetic { expression, .. } => {
                self.arithmetic(expression, state);
                Value::NUMBER
            }
            Piece::ProcessSubstitution { script, writes } => {
                let script = Rc::clone(script);
                if *writes {
                    self.print_beside();
                }
                let taint = self.substitution(&script, state, &Stream::default()).taint;
                // A pipe with a name: reading it touches no file.
                Value { text: Text::from("/dev/fd/63"), taint }
            }
        }
    }

    fn expand(&mut self, word: &Word, state: &mut State, found: &mut Vec<Argument>) {
        // Almost all words are one piece without anything special.
        if let [Piece::Quoted(text)] = word.pieces.as_slice() {
            return found.push(Argument::known(text.as_str()));
        }
        if let [Piece::Literal(text)] = word.pieces.as_slice()
            && !text.contains(['*', '?', '[', '~'])
        {
            return found.push(Argument::known(text.as_str()));
        }
        let mut done: Vec<Builder> = Vec::new();
        let mut current = Builder::default();
        for (at, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Literal(plain) if at == 0 && plain.starts_with('~') => {
                    match self.tilde(plain, word.pieces.get(1), state).map(|value| value.text) {
                        Some(Text::Known(text)) => current.push(&text, true),
                        Some(_) => current.push_unknown(&Text::Unknown, true),
                        None => current.push(plain, false),
                    }
                }
                Piece::Literal(plain) => current.push(plain, false),
                Piece::Quoted(text) => current.push(text, true),
                Piece::Parameter { parameter, quoted } if is_all_parameters(parameter) => {
                    self.all_parameters(&parameter.name, *quoted, state, &mut current, &mut done);
                }
                other => {
                    let quoted = match other {
                        Piece::Parameter { quoted, .. }
                        | Piece::CommandSubstitution { quoted, .. }
                        | Piece::Arithmetic { quoted, .. } => *quoted,
                        _ => true,
                    };
                    let value = self.piece(other, state);
                    self.put(&value, quoted, &mut current, &mut done);
                    current.many |= matches!(other, Piece::Parameter { parameter, .. } if may_be_several(parameter));
                }
            }
        }
        if current.started {
            done.push(current);
        }
        let shown = shown(word);
        let before = found.len();
        for builder in done {
            self.finish_word(builder, &shown, state, found);
        }
        if let [Piece::CommandSubstitution { .. }] = word.pieces.as_slice() {
            found[before..].iter_mut().for_each(|argument| argument.substituted = true);
        }
    }

    /// Adds a value to the word; outside of quotes it is split at blanks.
    fn put(&mut self, value: &Value, quoted: bool, current: &mut Builder, done: &mut Vec<Builder>) {
        current.taint = current.taint.and(value.taint);
        let Some(text) = value.text.known() else { return current.push_unknown(&value.text, quoted) };
        if !self.pay(UNITS_PER_CHAR * text.len()) {
            return current.push_unknown(&Text::Unknown, quoted);
        }
        if quoted {
            return current.push(text, true);
        }
        let is_blank = |char: char| matches!(char, ' ' | '\t' | '\n');
        for char in text.chars() {
            if is_blank(char) {
                if current.started {
                    done.push(std::mem::take(current));
                    current.taint = value.taint;
                }
            } else {
                current.push(char.encode_utf8(&mut [0; 4]), false);
            }
        }
    }

    /// `$@` and `$*`.
    fn all_parameters(
        &mut self,
        name: &str,
        quoted: bool,
        state: &State,
        current: &mut Builder,
        done: &mut Vec<Builder>,
    ) {
        let Some(parameters) = state.parameters.clone() else {
            current.push_unknown(&Text::Unknown, quoted && name == "*");
            current.many |= name == "@";
            return;
        };
        current.started |= quoted && name == "*";
        for (at, parameter) in parameters.iter().enumerate() {
            if at > 0 && quoted && name == "*" {
                current.push(" ", true);
            } else if at > 0 && current.started {
                done.push(std::mem::take(current));
            }
            self.put(&parameter.value, quoted, current, done);
            current.many |= parameter.many;
            current.started |= quoted;
        }
    }

    fn finish_word(&mut self, builder: Builder, shown: &str, state: &State, found: &mut Vec<Argument>) {
        let Builder { chars, known_length, whole, many, taint, .. } = builder;
        let plain = |chars: &[Marked]| chars.iter().map(|(char, _)| *char).collect::<String>();
        let is_pattern = pattern::is_pattern(&chars);
        if let Some(length) = known_length {
            let prefix = if pattern::is_pattern(&chars[..length]) { String::new() } else { plain(&chars[..length]) };
            let text = whole.filter(|_| chars.is_empty()).unwrap_or(Text::Unknown);
            let value = Value { text, taint };
            let many = many || is_pattern;
            found.push(Argument { value, prefix: prefix.into(), many, ..Argument::unknown(shown) });
            return;
        }
        if !is_pattern {
            let text: Rc<str> = plain(&chars).into();
            let value = Value { text: Text::Known(text.clone()), taint };
            found.push(Argument { value, ..Argument::known(text) });
            return;
        }
        match self.matches(&chars, state) {
            Some(names) => {
                for name in names {
                    let mut argument = Argument::known(name);
                    argument.value.taint = taint;
                    found.push(argument);
                }
            }
            None => {
                let fixed = chars.iter().position(|(char, quoted)| !quoted && matches!(char, '*' | '?' | '['));
                let prefix = plain(&chars[..fixed.unwrap_or_default()]);
                let value = Value::unknown(taint);
                found.push(Argument {
                    value,
                    prefix: prefix.into(),
                    many: true,
                    same_prefix: true,
                    ..Argument::unknown(shown)
                });
            }
        }
    }

    /// The names that a pattern comes to: none that are known if the disk has changed since.
    fn matches(&mut self, chars: &[Marked], state: &State) -> Option<Vec<String>> {
        // A backslash that is not quoted comes from a variable and may protect what follows.
        let escapes = chars.contains(&('\\', false));
        if (self.changed && !self.exhaustive) || escapes || !pattern::is_portable(chars, state.dialect) {
            return None;
        }
        let cwd = state.cwd.clone();
        pattern::glob(chars, cwd.as_deref(), self.environment.disk, &self.budget, MAX_WORDS)
    }

    /// `~`, `~/x`; nothing where the `~` means itself, unknown where another user's home is meant.
    fn tilde(&mut self, plain: &str, next: Option<&Piece>, state: &mut State) -> Option<Value> {
        let rest = plain.strip_prefix('~')?;
        let (name, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        // A quoted or expanded part up to the first slash means that there is no tilde prefix.
        if path.is_empty() && next.is_some() {
            return None;
        }
        if !name.is_empty() {
            return Some(Value::UNKNOWN);
        }
        let home = self.variable("HOME", state);
        let text = match home.text.known() {
            Some(home) if !home.is_empty() => Text::from(format!("{}{path}", home.trim_end_matches('/')).as_str()),
            _ => Text::Unknown,
        };
        Some(Value { text, taint: home.taint })
    }

    /// `${…}`.
    fn parameter(&mut self, parameter: &Parameter, state: &mut State) -> Value {
        let Parameter { name, subscript, operation } = parameter;
        let value = match subscript {
            None => self.variable(name, state),
            Some(subscript) if name == "BASH_SOURCE" && subscript.literal().as_deref() == Some("0") => {
                self.variable(name, state)
            }
            Some(subscript) => {
                if !subscript.literal().is_some_and(|text| matches!(text.as_str(), "@" | "*")) {
                    self.arithmetic(subscript, state);
                }
                Value::unknown(self.variable(name, state).taint)
            }
        };
        // Each of the parameters is changed for itself.
        let value = match operation {
            Operation::Plain | Operation::Length => value,
            _ if matches!(name.as_str(), "@" | "*") => Value::unknown(value.taint),
            _ => value,
        };
        let is_set = match (state.variable(name), self.environment.variable) {
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) && name != "0" => {
                let known = state.parameters.as_ref().filter(|all| all.iter().all(|one| !one.many));
                known.and_then(|all| Some(name.parse::<usize>().ok()? <= all.len()))
            }
            (Some(variable), _) => Some(variable.value.is_some()),
            (None, Some(lookup)) if is_name(name) && !state.foreign && value.text.known().is_some() => {
                Some(lookup(name).is_some() || name == "PWD")
            }
            _ => None,
        };
        let is_missing = |or_empty: bool| match (is_set, value.text.known()) {
            (Some(false), _) => Some(true),
            (_, Some(text)) if or_empty => Some(text.is_empty()),
            (_, Some(_)) => Some(false),
            (Some(true), None) if !or_empty => Some(false),
            _ => None,
        };
        match operation {
            Operation::Plain => value,
            Operation::Length if matches!(name.as_str(), "@" | "*") => self.variable("#", state),
            // How many characters other bytes are depends on the locale.
            Operation::Length => match value.text.known().filter(|text| text.is_ascii()) {
                Some(text) => Value::known(text.chars().count().to_string()),
                None => Value::NUMBER,
            },
            Operation::Default { word, or_empty } => {
                let default = self.joined(word, state);
                match is_missing(*or_empty) {
                    Some(true) => default,
                    Some(false) => value,
                    None => value.or(&default),
                }
            }
            Operation::AssignDefault { word, or_empty } => {
                let default = self.joined(word, state);
                let result = match is_missing(*or_empty) {
                    Some(true) => default,
                    Some(false) => return value,
                    None => value.or(&default),
                };
                self.assign(name, result.clone(), state);
                result
            }
            Operation::Alternative { word, or_empty } => {
                let alternative = self.joined(word, state);
                match is_missing(*or_empty) {
                    Some(true) => Value::known(""),
                    Some(false) => alternative,
                    None => alternative.or(&Value::known("")),
                }
            }
            Operation::Error { word, .. } => {
                self.joined(word, state);
                value
            }
            Operation::RemovePrefix { pattern, longest } => self.remove(&value, pattern, *longest, false, state),
            Operation::RemoveSuffix { pattern, longest } => self.remove(&value, pattern, *longest, true, state),
            Operation::Substring(expression) => {
                self.arithmetic(expression, state);
                Value::unknown(value.taint)
            }
            Operation::Other { words } => {
                let taint = words.iter().fold(value.taint, |taint, word| taint.and(self.joined(word, state).taint));
                Value::unknown(taint)
            }
            Operation::Indirect => {
                self.unsure_all("an indirect expansion may run commands");
                Value::unknown(value.taint)
            }
        }
    }

    fn remove(&mut self, value: &Value, word: &Word, longest: bool, suffix: bool, state: &mut State) -> Value {
        let chars: Option<Vec<Marked>> = word
            .pieces
            .iter()
            .map(|piece| match piece {
                // A home directory is no pattern.
                Piece::Literal(text) if text.starts_with('~') => None,
                Piece::Literal(text) => Some(text.chars().map(|char| (char, false)).collect::<Vec<_>>()),
                Piece::Quoted(text) => Some(text.chars().map(|char| (char, true)).collect()),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.concat());
        if chars.is_none() {
            self.joined(word, state);
        }
        // A variable that is not set now may be set when it runs.
        // What a character is outside of ASCII depends on the locale.
        let text = value.text.known().filter(|text| text.is_ascii() && !(self.exhaustive && text.is_empty()));
        let removed = match (text, chars) {
            (Some(text), Some(pattern))
                if pattern::is_portable(&pattern, state.dialect)
                    && self.pay(UNITS_PER_CHAR * text.len() * (1 + pattern.len())) =>
            {
                pattern::remove(text, &pattern, longest, suffix)
            }
            _ => None,
        };
        match removed {
            Some(text) => Value { text: Text::from(text.as_str()), taint: value.taint },
            None => Value::unknown(value.taint),
        }
    }

    /// A variable's or a special parameter's value.
    pub(crate) fn variable(&mut self, name: &str, state: &State) -> Value {
        match name {
            "?" | "$" => return Value::NUMBER,
            "!" => return if state.has_job { Value::NUMBER } else { Value::UNKNOWN },
            "#" => {
                let count =
                    state.parameters.as_ref().filter(|all| all.iter().all(|one| !one.many)).map(|all| all.len());
                return count.map_or(Value::NUMBER, |count| Value::known(count.to_string()));
            }
            "0" => return state.script.as_deref().map_or(Value::UNKNOWN, Value::known),
            "-" => return Value::UNKNOWN,
            "BASH_SOURCE" => return state.source.as_deref().map_or(Value::UNKNOWN, Value::known),
            "@" | "*" => return self.parameters_joined(state),
            _ if DYNAMIC.contains(&name) => return Value::UNKNOWN,
            // A shell without them has variables of these names, as has bash once they are set or unset.
            _ if NUMBERS.contains(&name) => {
                let is_number = state.variable(name).is_none() && state.dialect == Dialect::Bash && !state.foreign;
                return if is_number { Value::NUMBER } else { Value::UNKNOWN };
            }
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            return match &state.parameters {
                Some(all) if all.iter().take(number).all(|one| !one.many) => {
                    all.get(number.wrapping_sub(1)).map_or(Value::known(""), |one| one.value.clone())
                }
                _ => Value::UNKNOWN,
            };
        }
        if let Some(variable) = state.variable(name) {
            return variable.value.clone().unwrap_or(Value::known(""));
        }
        if name != "PWD"
            && let Some(lookup) = self.environment.variable
        {
            return match lookup(name) {
                Some(value) => {
                    let taint = self.source(FlowSource::Environment(name.to_owned()));
                    value.to_str().map_or(Value::unknown(taint), |text| Value { text: Text::from(text), taint })
                }
                None if state.foreign || OWN.contains(&name) => Value::UNKNOWN,
                None => Value::known(""),
            };
        }
        if state.foreign && !(self.exhaustive && name == "PWD") {
            return Value::UNKNOWN;
        }
        match name {
            "PWD" => match state.cwd.as_ref().and_then(|cwd| cwd.to_str()) {
                Some(cwd) => Value::known(cwd),
                None => Value::UNKNOWN,
            },
            "HOME" => match self.environment.home.and_then(|home| home.to_str()) {
                Some(home) => Value::known(home),
                None => Value::UNKNOWN,
            },
            _ => {
                if credentials::is_variable(name) {
                    self.tell(&Fact::Service { name: credentials::SERVICE, verb: Verb::Read });
                }
                let taint = self.source(FlowSource::Environment(name.to_owned()));
                Value::unknown(taint)
            }
        }
    }

    fn parameters_joined(&mut self, state: &State) -> Value {
        let Some(parameters) = &state.parameters else { return Value::UNKNOWN };
        let taint = parameters.iter().fold(Taint::NONE, |taint, one| taint.and(one.value.taint));
        let texts: Option<Vec<&str>> = parameters.iter().map(Argument::text).collect();
        match texts {
            Some(texts) => Value { text: Text::from(texts.join(" ").as_str()), taint },
            None => Value::unknown(taint),
        }
    }

    /// Sets a variable, if it is one that only holds data.
    pub(super) fn assign(&mut self, name: &str, value: Value, state: &mut State) {
        if !is_name(name) {
            return self.unsure_all("a variable whose name is only known when it runs");
        }
        let is_judged = self.observer.assignment(name, &value, self.temporary, state);
        if !is_judged && super::run::steers_shell(name) {
            self.unsure_all(format!("it sets {name}, which changes what commands mean"));
        }
        let value = if self.readonly.contains(name) { Value::unknown(value.taint) } else { value };
        state.set(name, Some(value));
    }

    /// `{a,b}` and `{1..3}` → the words that they come to.
    fn braces<'w>(&mut self, word: &'w Word) -> Vec<std::borrow::Cow<'w, Word>> {
        use std::borrow::Cow;
        let has = |piece: &Piece| matches!(piece, Piece::Literal(text) if text.contains('{'));
        if !word.pieces.iter().any(has) {
            return vec![Cow::Borrowed(word)];
        }
        let Some(words) = super::pattern::braces(&word.pieces, MAX_WORDS) else {
            // Whatever they are, the word is nothing that can be told.
            self.unsure_all("braces that are only known when it runs");
            return vec![Cow::Borrowed(word)];
        };
        // Not every shell expands them.
        if self.exhaustive && words.len() > 1 {
            self.unsure_all("braces that not every shell expands");
        }
        words.into_iter().map(|pieces| Cow::Owned(Word { pieces })).collect()
    }
}

fn is_all_parameters(parameter: &Parameter) -> bool {
    matches!(parameter.name.as_str(), "@" | "*")
        && parameter.subscript.is_none()
        && parameter.operation == Operation::Plain
}

/// The variable and the value of a word such as `x=$y`, if something in it is expanded.
fn assigned_part(word: &Word) -> Option<(String, Word)> {
    let Some((Piece::Literal(first), rest)) = word.pieces.split_first() else { return None };
    let (name, value) = first.split_once('=').filter(|(name, _)| is_name(name))?;
    let is_plain = rest.is_empty() && !value.contains(['*', '?', '[', '~']);
    let is_odd = |piece: &Piece| matches!(piece, Piece::Literal(text) if text.contains(['{', '(']));
    if is_plain || value.starts_with('(') || word.pieces.iter().any(is_odd) {
        return None;
    }
    let mut pieces = rest.to_vec();
    if !value.is_empty() {
        pieces.insert(0, Piece::Literal(value.to_owned()));
    }
    Some((name.to_owned(), Word { pieces }))
}

/// The word that a declared variable and its value come to.
fn declared_argument(variable: &str, value: Value, word: &Word) -> Argument {
    let taint = value.taint;
    match value.text.known() {
        Some(text) => {
            let mut argument = Argument::known(format!("{variable}={text}"));
            argument.value.taint = taint;
            argument
        }
        None => Argument {
            value: Value::unknown(taint),
            prefix: format!("{variable}=").into(),
            ..Argument::unknown(&shown(word))
        },
    }
}

/// Whether an expansion may come to no word or several even in quotes: `"${@%.c}"`, `"${x[@]}"`.
fn may_be_several(parameter: &Parameter) -> bool {
    let subscript = parameter.subscript.as_ref().map(Word::literal);
    let is_list = parameter.name == "@" || matches!(subscript, Some(Some(text)) if text == "@");
    (is_list && parameter.operation != Operation::Length) || parameter.operation == Operation::Indirect
}

/// A word as it stands in a script, with signs for what is expanded.
pub(crate) fn shown(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) | Piece::Quoted(text) => text.clone(),
        Piece::Parameter { parameter, .. } => match parameter.operation {
            Operation::Plain if parameter.subscript.is_none() => format!("${}", parameter.name),
            _ => format!("${{{}…}}", parameter.name),
        },
        Piece::CommandSubstitution { .. } => "$(…)".to_owned(),
        Piece::Arithmetic { .. } => "$((…))".to_owned(),
        Piece::ProcessSubstitution { writes: false, .. } => "<(…)".to_owned(),
        Piece::ProcessSubstitution { writes: true, .. } => ">(…)".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}
