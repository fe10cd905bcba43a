//! Commands that a command line hides in words which are no commands to the grammar: subscripts that a shell expands even
//! in quotes, variables that decide what later names mean, and programs that it makes before it runs them.

use std::collections::HashSet;

use super::{Field, Part, Piece, Word};

/// The text in a word that a shell expands once more if it takes the word for a variable: what stands behind `name[` or
/// `name=(` and holds a substitution. `test -v`, `printf -v`, `let` and every arithmetic do so, whatever the quotes.
pub(crate) fn subscript(word: &Word) -> Option<String> {
    let text = flat(word);
    let opens = |at: usize| text[..at].ends_with(|char: char| char.is_ascii_alphanumeric() || char == '_');
    let subscript = text.match_indices('[').map(|(at, _)| at).find(|at| opens(*at));
    // `declare -a 'a=(…)'` reads the quoted list.
    let at = subscript.into_iter().chain(text.find("=(")).min()?;
    let inner = &text[at..];
    (inner.contains("$(") || inner.contains('`') || inner.contains("${")).then(|| inner.to_owned())
}

/// The characters of a word that are not expanded where they stand; a control character for each expansion.
fn flat(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.clone(),
        Piece::Variable { default: Some(inner), .. } | Piece::Other(inner) => format!("\u{1}{}", flat(inner)),
        Piece::Variable { .. } | Piece::PathPart { .. } | Piece::Output { .. } => "\u{1}".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}

/// Text for a shell in which everything is expanded as in double quotes.
pub(crate) fn expanded(text: &str) -> String {
    // No line of the text can be this one: it would have to hold its own length.
    let end = format!("END_OF_TEXT_{}", text.len());
    format!(": <<{end}\n{text}\n{end}\n")
}

/// Whether a variable decides what programs are run, or what they run.
pub(crate) fn steers(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "PATH",
        "IFS",
        "ENV",
        "HOME",
        "CDPATH",
        "SHELL",
        "SHELLOPTS",
        "PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "LESSOPEN",
        "LESSCLOSE",
        "PS4",
        "PROMPT_COMMAND",
        "FPATH",
    ];
    const FAMILIES: [&str; 9] = ["LD_", "DYLD_", "BASH", "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "npm_"];
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a builtin sets a variable, by arguments, in a way that decides about others.
pub(crate) fn sets(program: &str, words: &[Field]) -> bool {
    let flag = |letter: char| words[1..].iter().flatten().any(|word| word.starts_with('-') && word.contains(letter));
    let unknown = words[1..].iter().any(Option::is_none);
    let named = || {
        let name = |word: &str| word.split(['=', '+', '[']).next().is_some_and(steers);
        words[1..].iter().flatten().any(|word| name(word))
    };
    match program {
        // Formats and lists of names that nobody knows may be subscripts.
        "let" => unknown,
        "printf" => words.get(1).is_some_and(|word| word.as_deref().is_none_or(|word| word.starts_with("-v"))),
        "read" | "unset" | "mapfile" | "readarray" | "getopts" => unknown || named(),
        "declare" | "typeset" | "local" | "export" | "readonly" => named() || (unknown && flag('i')) || flag('n'),
        "test" | "[" => {
            let at = words.iter().position(|word| matches!(word.as_deref(), Some("-v" | "-R")));
            at.is_some_and(|at| words.get(at + 1).is_some_and(Option::is_none))
        }
        _ => false,
    }
}

/// The names of files that a command line makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    names: HashSet<String>,
    /// Whether one of them can't be told.
    unknown: bool,
}

impl Made {
    /// A file, as it is written; only its name counts, for it may be told by another path.
    pub(super) fn add(&mut self, path: &str) {
        let name = file_name(path);
        match name.contains(['$', '…', '*', '?', '[', '{']) {
            true => self.unknown = true,
            false => drop(self.names.insert(name.to_owned())),
        }
    }

    /// What a command makes by its arguments.
    pub(super) fn by(&mut self, name: &str, text: &[String]) {
        const MAKERS: [&str; 11] = ["cp", "ln", "mv", "install", "tee", "dd", "rsync", "link", "gcp", "gln", "gmv"];
        if MAKERS.contains(&name) {
            text[1..].iter().for_each(|word| self.add(word.rsplit('=').next().unwrap_or(word)));
        }
    }

    /// Whether this is one of them.
    pub(super) fn may_be(&self, program: &str) -> bool {
        self.names.contains(file_name(program)) || (self.unknown && program.contains('/'))
    }

    /// Whether one of these commands is.
    pub(super) fn is_run(&self, parts: &[Part]) -> bool {
        let runs = |part: &Part| part.words.first().and_then(Option::as_deref).is_some_and(|name| self.may_be(name));
        parts.iter().any(runs)
    }
}

fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
