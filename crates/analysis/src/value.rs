//! What is known of a value before the command runs.

use std::fmt;
use std::rc::Rc;

/// What is known of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    Known(Rc<str>),
    /// Some integer.
    Number,
    /// All that a known program prints to set up a shell: variables, functions, hooks.
    ShellSetup,
    Unknown,
}

impl Text {
    pub fn known(&self) -> Option<&str> {
        match self {
            Text::Known(text) => Some(text),
            Text::Number | Text::ShellSetup | Text::Unknown => None,
        }
    }

    /// What is known if it may be either.
    pub fn or(&self, other: &Text) -> Text {
        let is_number = |text: &Text| match text {
            Text::Number => true,
            Text::Known(text) => is_integer(text),
            Text::ShellSetup | Text::Unknown => false,
        };
        match self == other {
            true => self.clone(),
            false if is_number(self) && is_number(other) => Text::Number,
            false => Text::Unknown,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::Known(text.into())
    }
}

/// A decimal integer, which arithmetic evaluates to itself. A leading zero is octal and a sign an option, so neither counts.
pub fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where data comes from: a set of the sources that an analysis has met, by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taint(u64);

impl Taint {
    /// The sources with numbers up to this are told apart; all later ones share the last.
    const MAX_SOURCE: usize = 63;

    pub const NONE: Taint = Taint(0);

    pub fn source(number: usize) -> Taint {
        Taint(1 << number.min(Self::MAX_SOURCE))
    }

    pub fn and(self, other: Taint) -> Taint {
        Taint(self.0 | other.0)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub fn sources(self) -> impl Iterator<Item = usize> {
        (0..=Self::MAX_SOURCE).filter(move |number| self.0 & (1 << number) != 0)
    }
}

/// A value: what is known of its text, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: Text,
    pub taint: Taint,
}

impl Value {
    pub const UNKNOWN: Value = Value { text: Text::Unknown, taint: Taint::NONE };
    pub const NUMBER: Value = Value { text: Text::Number, taint: Taint::NONE };

    pub fn known(text: impl Into<Rc<str>>) -> Self {
        Value { text: Text::Known(text.into()), taint: Taint::NONE }
    }

    pub fn unknown(taint: Taint) -> Self {
        Value { text: Text::Unknown, taint }
    }

    pub fn or(&self, other: &Value) -> Value {
        Value { text: self.text.or(&other.text), taint: self.taint.and(other.taint) }
    }
}

/// A word of a command after expansion.
#[derive(Clone, PartialEq, Eq)]
pub struct Argument {
    pub value: Value,
    /// What the word begins with, where not all of it is known.
    pub prefix: Rc<str>,
    /// Whether it may be no word at all, or several.
    pub many: bool,
    /// Whether every word that it may be begins with the prefix, as those of a pattern do.
    pub same_prefix: bool,
    /// Whether it is what a command substitution prints, or the name of a file that is found.
    pub substituted: bool,
    /// The word as it stands in the script, where it is not known.
    pub shown: Rc<str>,
}

impl Argument {
    pub fn known(text: impl Into<Rc<str>>) -> Self {
        let text = text.into();
        Argument { value: Value::known(text.clone()), shown: text, ..Argument::unknown("") }
    }

    pub fn unknown(shown: &str) -> Self {
        Argument {
            value: Value::UNKNOWN,
            prefix: "".into(),
            many: false,
            same_prefix: false,
            substituted: false,
            shown: shown.into(),
        }
    }

    /// The word, where it is known.
    pub fn text(&self) -> Option<&str> {
        self.value.text.known().filter(|_| !self.many)
    }

    /// Whether it is one word that surely is no option.
    pub fn is_operand(&self) -> bool {
        match self.text() {
            Some(text) => !text.starts_with('-') || text == "-",
            None => (!self.many || self.same_prefix) && !self.prefix.is_empty() && !self.prefix.starts_with('-'),
        }
    }

    /// What is known of it, from its beginning on.
    pub fn beginning(&self) -> &str {
        self.text().unwrap_or(&self.prefix)
    }
}

impl fmt::Debug for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(f, "{text:?}"),
            None => write!(f, "?{:?}", self.shown),
        }
    }
}
