//! Determines how a command line is started: as a program with arguments if it consists of plain words, otherwise by a
//! shell.
//!
//! This is not a shell: a command line that is not certain to be plain is passed to the real one. The rules only have
//! to be right when they classify a command line as plain, because then no shell sees the words.

use std::ffi::OsString;

use hookwright_analysis::loaded_files::SHELL_WORDS;

/// The variables that every hook has. No others are expanded here.
pub const SESSION_VARIABLES: [&str; 5] =
    ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_SESSION_ID", "GEMINI_PLANS_DIR", "CLAUDE_PROJECT_DIR"];

/// How a command is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// A program and its arguments, with the same text for a shell if the program turns out to need one.
    Direct { words: Vec<CommandWord>, shell: String },
    /// The text for a shell.
    Shell(String),
    /// A program and its arguments, never started through a shell; the text is the equivalent command line, for the
    /// analysis of commands.
    Program { words: Vec<CommandWord>, text: String },
}

/// One word of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandWord(Vec<WordPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum WordPiece {
    Text(String),
    Variable(&'static str),
}

impl CommandWord {
    /// The word with its variables replaced by their values.
    pub(crate) fn resolve(&self, variable: impl Fn(&str) -> Option<OsString>) -> OsString {
        self.0.iter().fold(OsString::new(), |mut word, piece| {
            match piece {
                WordPiece::Text(text) => word.push(text),
                WordPiece::Variable(name) => word.push(variable(name).unwrap_or_default()),
            }
            word
        })
    }

    /// A text in which a session variable at the start is replaced.
    fn with_session_variable(text: &str) -> Self {
        match parse_session_variable(text).filter(|_| text.starts_with('$')) {
            Some((length, name)) => {
                CommandWord(vec![WordPiece::Variable(name), WordPiece::Text(text[length..].to_owned())])
            }
            None => CommandWord(vec![WordPiece::Text(text.to_owned())]),
        }
    }

    fn push_char(&mut self, char: char) {
        match self.0.last_mut() {
            Some(WordPiece::Text(text)) => text.push(char),
            _ => self.0.push(WordPiece::Text(char.to_string())),
        }
    }
}

/// Joins a program and its arguments into a command line that a shell splits into exactly these words. Session
/// variables are expanded, as in Claude Code.
pub fn join_command(program: &str, args: &[String]) -> String {
    let words = std::iter::once(program).chain(args.iter().map(String::as_str));
    words.map(quote_word).collect::<Vec<_>>().join(" ")
}

fn quote_word(word: &str) -> String {
    // `A=b program` would set a variable.
    if !word.is_empty() && !word.contains('=') && word.chars().all(is_shell_safe) {
        return word.to_owned();
    }
    let mut out = String::with_capacity(word.len() + 2);
    let mut text = String::new();
    let mut rest = word;
    while let Some(char) = rest.chars().next() {
        if let Some((length, name)) = parse_session_variable(rest).filter(|_| char == '$') {
            if !text.is_empty() {
                out.push_str(&single_quoted(&std::mem::take(&mut text)));
            }
            out.push_str(&format!("\"${{{name}}}\""));
            rest = &rest[length..];
        } else {
            text.push(char);
            rest = &rest[char.len_utf8()..];
        }
    }
    if !text.is_empty() || out.is_empty() {
        out.push_str(&single_quoted(&text));
    }
    out
}

impl Invocation {
    /// Determines how a command is started; done once, when it is declared.
    pub(crate) fn analyse(command: &str, placeholders: &[(String, String)]) -> Self {
        let shell = substitute_placeholders(command, placeholders, PlaceholderForm::AsText);
        match split_plain_words(&shell) {
            Some(words) => Invocation::Direct { words, shell },
            None => Invocation::Shell(assign_placeholders(command, placeholders).unwrap_or(shell)),
        }
    }

    /// A program with exactly these arguments; only a session variable at the start of an argument is replaced.
    pub(crate) fn from_arguments(program: &str, args: &[String], text: &str) -> Self {
        let words =
            std::iter::once(program).chain(args.iter().map(String::as_str)).map(CommandWord::with_session_variable);
        Invocation::Program { words: words.collect(), text: text.to_owned() }
    }

    /// The text that a shell receives.
    pub(crate) fn shell_text(&self) -> &str {
        match self {
            Invocation::Program { text, .. } => text,
            Invocation::Direct { shell, .. } | Invocation::Shell(shell) => shell,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// How the value of a placeholder is inserted into a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceholderForm {
    /// The value is written into the command.
    AsText,
    /// A variable with the placeholder's name holds the value.
    AsVariable,
}

/// The command with variables for its placeholders, if a value could be more than text to a shell.
///
/// Substitutions, comments and here-documents are not parsed here; the value of a variable is plain text in all of
/// them.
fn assign_placeholders(command: &str, placeholders: &[(String, String)]) -> Option<String> {
    let used = placeholders.iter().filter(|(name, _)| command.contains(&format!("${{{name}}}")));
    let strange = used.filter(|(name, value)| needs_quoting(name, value));
    let set: String = strange.map(|(name, value)| format!("{name}={}; ", single_quoted(value))).collect();
    (!set.is_empty()).then(|| set + &substitute_placeholders(command, placeholders, PlaceholderForm::AsVariable))
}

/// Whether a value could be more than text to a shell and can be held in a variable of this name.
fn needs_quoting(name: &str, value: &str) -> bool {
    is_variable_name(name) && !value.chars().all(is_shell_safe)
}

fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Substitutes placeholders with the escapes of the quotes around them, and quotes unquoted session variables, so that
/// a path with spaces stays one word however the author wrote it.
fn substitute_placeholders(command: &str, placeholders: &[(String, String)], placed: PlaceholderForm) -> String {
    // Quotes have no meaning inside a here-document, so none are added there.
    let quote_variables = !command.contains("<<");
    let mut out = String::with_capacity(command.len() + 16);
    let mut quote = Quote::None;
    let mut rest = command;
    while let Some(char) = rest.chars().next() {
        if char == '$' {
            if let Some((length, value)) = parse_placeholder(rest, placeholders) {
                let placed = if needs_quoting(&rest[2..length - 1], value) { placed } else { PlaceholderForm::AsText };
                match (placed, quote) {
                    (PlaceholderForm::AsText, _) => push_quoted(&mut out, value, quote),
                    (PlaceholderForm::AsVariable, Quote::None) => out.extend(["\"", &rest[..length], "\""]),
                    (PlaceholderForm::AsVariable, Quote::Single) => out.extend(["'\"", &rest[..length], "\"'"]),
                    (PlaceholderForm::AsVariable, Quote::Double) => out.push_str(&rest[..length]),
                }
                rest = &rest[length..];
                continue;
            }
            if let Some((length, name)) =
                parse_session_variable(rest).filter(|_| quote == Quote::None && quote_variables)
            {
                out.push_str(&format!("\"${{{name}}}\""));
                rest = &rest[length..];
                continue;
            }
        }
        out.push(char);
        rest = &rest[char.len_utf8()..];
        match (quote, char) {
            (Quote::None, '\'') => quote = Quote::Single,
            (Quote::None, '"') => quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
            (Quote::None | Quote::Double, '\\') => {
                let escaped = rest.chars().next();
                out.extend(escaped);
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            _ => {}
        }
    }
    out
}

/// `${name}` at the start of the text, for a known placeholder: its length and value.
fn parse_placeholder<'p>(text: &str, placeholders: &'p [(String, String)]) -> Option<(usize, &'p str)> {
    let inner = text.strip_prefix("${")?;
    let (name, _) = inner.split_once('}')?;
    let (_, value) = placeholders.iter().find(|(known, _)| known == name)?;
    Some((name.len() + 3, value))
}

/// `$NAME` or `${NAME}` at the start of the text, for a session variable: its length and name.
fn parse_session_variable(text: &str) -> Option<(usize, &'static str)> {
    let inner = text.strip_prefix('$')?;
    SESSION_VARIABLES.iter().find_map(|name| {
        if inner.strip_prefix('{').and_then(|inner| inner.strip_prefix(name)).is_some_and(|rest| rest.starts_with('}'))
        {
            return Some((name.len() + 3, *name));
        }
        let rest = inner.strip_prefix(name)?;
        let longer = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        (!longer).then_some((name.len() + 1, *name))
    })
}

fn push_quoted(out: &mut String, value: &str, quote: Quote) {
    match quote {
        Quote::None if value.chars().all(is_shell_safe) => out.push_str(value),
        Quote::None => out.push_str(&single_quoted(value)),
        Quote::Single => out.push_str(&value.replace('\'', r"'\''")),
        Quote::Double => {
            for char in value.chars() {
                if matches!(char, '"' | '\\' | '$' | '`') {
                    out.push('\\');
                }
                out.push(char);
            }
        }
    }
}

fn single_quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// Whether a character has no special meaning to any shell, except at the start of a word.
fn is_shell_safe(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-./:=@%+,".contains(char) || (!char.is_ascii() && !char.is_whitespace())
}

/// The words of a command without shell syntax, or `None` where a shell is needed.
fn split_plain_words(command: &str) -> Option<Vec<CommandWord>> {
    let mut words: Vec<CommandWord> = Vec::new();
    let mut word: Option<CommandWord> = None;
    // A shell splits at these blanks only, and so does the analysis of the command before it runs.
    let mut rest = command.trim_matches([' ', '\t', '\n']);
    while let Some(char) = rest.chars().next() {
        match char {
            ' ' | '\t' => {
                words.extend(word.take());
                rest = &rest[1..];
            }
            '\'' => {
                let (quoted, after) = rest[1..].split_once('\'')?;
                let word = word.get_or_insert_default();
                quoted.chars().for_each(|char| word.push_char(char));
                rest = after;
            }
            '"' => rest = parse_double_quoted(&rest[1..], word.get_or_insert_default())?,
            char if is_shell_safe(char) => {
                word.get_or_insert_default().push_char(char);
                rest = &rest[char.len_utf8()..];
            }
            _ => return None,
        }
    }
    words.extend(word.take());
    let first = words.first()?;
    names_program(first).then_some(words)
}

/// Parses the inside of a double-quoted string and returns the text after it.
fn parse_double_quoted<'t>(mut rest: &'t str, word: &mut CommandWord) -> Option<&'t str> {
    loop {
        let char = rest.chars().next()?;
        match char {
            '"' => return Some(&rest[1..]),
            '$' => {
                let (length, name) = parse_session_variable(rest)?;
                word.0.push(WordPiece::Variable(name));
                rest = &rest[length..];
            }
            '`' | '\\' | '!' => return None,
            char => {
                word.push_char(char);
                rest = &rest[char.len_utf8()..];
            }
        }
    }
}

/// Whether a first word names a program, rather than a built-in or a keyword of the shell.
fn names_program(word: &CommandWord) -> bool {
    let text = match word.0.first() {
        Some(WordPiece::Text(text)) => text.as_str(),
        Some(WordPiece::Variable(_)) => return true,
        None => return false,
    };
    // `A=1 program` sets a variable; `a/b=c` is a path.
    let assigns = text.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    !assigns && (word.0.len() > 1 || !SHELL_WORDS.contains(&text))
}

#[cfg(test)]
mod tests;
