//! Names of files that stand in words, strings and texts. What is named in passing counts where a command runs it, or
//! where nobody can tell what runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::follower::Kind;
use super::script_sources::is_code;
use super::walk::Walk;
use super::{Follower, Naming};
use crate::state::State;
use crate::syntax::{Operation, Parameter, Piece, Word};

/// What it costs to look for names in a byte of text.
const UNITS_PER_BYTE: usize = 16;

/// How a name is come by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// It is an argument.
    AsAWord,
    /// It is what a command reads.
    AsInput,
    /// It is a part of a word that cannot be told.
    InPart,
    /// It stands somewhere in a text.
    InAText,
}

/// Whether a name has a sign in it that somebody fills in, as `xargs -I{}` does.
fn is_filled_in(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(['{', '}', '@', '%', '?']))
}

impl<'a> Walk<'a> {
    /// A word that may be a file's name, or hold one: too much does no harm.
    pub(super) fn mention(&mut self, word: &str, state: &State) {
        if !self.pay(UNITS_PER_BYTE * word.len()) {
            return;
        }
        let value = word.split_once('=').map(|(_, value)| value);
        let inside = word.split(|char: char| char.is_whitespace() || ";|&()<>`'\"".contains(char));
        let parts = inside.filter(|part| !part.is_empty() && *part != word);
        for name in std::iter::once(word).filter(|word| !word.starts_with('-')).chain(value) {
            let looks_like_one = name.contains('/') && !name.contains("://") && !name.contains(char::is_whitespace);
            for path in self.places(name, state) {
                if !name.is_empty() && (looks_like_one || self.kind(&path) == Kind::File) {
                    self.named(path, Passing::AsAWord, state);
                }
            }
        }
        // `-fx.awk`, `-I./lib`.
        let glued = word.get(2..).filter(|rest| word.starts_with('-') && !word.starts_with("--") && !rest.is_empty());
        for part in parts {
            for path in self.places(part, state) {
                if self.kind(&path) == Kind::File {
                    self.named(path, Passing::AsAWord, state);
                }
            }
        }
        let glued: Vec<PathBuf> = glued.map(|part| self.places(part, state)).unwrap_or_default();
        for path in glued {
            if self.kind(&path) != Kind::Nothing {
                self.named(path, Passing::InPart, state);
            }
        }
    }

    /// Where a name may lead: from the directory it stands in, else from any that was gone to.
    pub(super) fn places(&self, name: &str, state: &State) -> Vec<PathBuf> {
        match state.path(name) {
            Some(path) => vec![path],
            None => {
                let root = self.follower.map(Follower::root);
                root.into_iter().chain(self.went.iter().map(PathBuf::as_path)).map(|from| from.join(name)).collect()
            }
        }
    }

    /// A file or directory that is named in passing. Too many are for all of them to count.
    pub(super) fn named(&mut self, path: PathBuf, passing: Passing, state: &State) {
        let Some(follower) = self.follower else { return self.files(Some(path), Naming::Mentions) };
        let (ours, kind) = (follower.holds(&path), follower.kind(&path));
        let code = ours && kind == Kind::File && is_code(follower.disk, &path);
        if code || (!self.nested && passing != Passing::InAText && passing != Passing::InPart) {
            self.files(Some(path.clone()), Naming::Mentions);
        }
        if ours && kind == Kind::File && self.is_script(&path) {
            self.enter(&path, path.to_str(), &[None], state);
        }
        let counts = match (passing, kind) {
            (Passing::AsAWord, Kind::Directory) | (_, Kind::Nothing) => false,
            (Passing::AsAWord, Kind::File) => code || !self.nested,
            (Passing::InAText, _) => code,
            (Passing::InPart | Passing::AsInput, _) => true,
        };
        if counts {
            self.likely(path);
        } else if kind == Kind::Nothing && is_filled_in(&path) {
            // Its directory is all that is known.
            path.parent().into_iter().for_each(|parent| self.likely(parent.to_owned()));
        }
    }

    fn kind(&self, path: &Path) -> Kind {
        match self.follower {
            Some(follower) => follower.kind(path),
            None if self.disk().is_file(path) => Kind::File,
            None if self.disk().exists(path) => Kind::Directory,
            None => Kind::Nothing,
        }
    }

    /// The files that a source names in its strings, and the words of commands in them.
    pub(super) fn strings(&mut self, text: &str, directory: &Path, state: &State) {
        if !self.pay(UNITS_PER_BYTE * text.len()) {
            return;
        }
        let mut seen = HashSet::new();
        for (_, inside) in literals(text) {
            for name in std::iter::once(inside).chain(inside.split([' ', ';', '=', ':', ','])) {
                let name = name.trim_start_matches("./");
                if !name.is_empty() && seen.insert(name.to_owned()) {
                    self.known_name(name, directory, Passing::InAText, state);
                }
            }
        }
    }

    /// A name that counts if something of that name is there: beside the file, where the command runs, or in the root.
    pub(super) fn known_name(&mut self, name: &str, directory: &Path, passing: Passing, state: &State) {
        let Some(follower) = self.follower else { return };
        let from = [Some(directory), state.cwd.as_deref(), Some(follower.root())];
        let mut looked_at: Vec<&Path> = Vec::new();
        for from in from.into_iter().flatten() {
            if !looked_at.contains(&from) {
                looked_at.push(from);
                self.known_in(name, from, passing, state);
            }
        }
    }

    /// The same, in one directory alone.
    fn known_in(&mut self, name: &str, from: &Path, passing: Passing, state: &State) {
        let Some(follower) = self.follower else { return };
        let first = name.trim_start_matches('/').split('/').next().unwrap_or_default();
        // A listing is at hand; asking for each name would take much longer.
        if !matches!(first, ".." | "." | "") && !follower.listing(from).names.contains_key(first) {
            return;
        }
        let path = if Path::new(name).is_absolute() && follower.disk.exists(Path::new(name)) {
            PathBuf::from(name)
        } else {
            from.join(name.trim_start_matches('/'))
        };
        if path != from && follower.holds(&path) && follower.kind(&path) != Kind::Nothing {
            self.named(path, passing, state);
        }
    }

    /// A text that was not understood: whatever in it is the name of a file.
    pub(super) fn loose(&mut self, text: &str, passing: Passing, state: &State) {
        let Some(follower) = self.follower else { return };
        if !self.pay(UNITS_PER_BYTE * text.len() * (1 + self.went.len())) {
            return;
        }
        let root = follower.root().to_owned();
        let mut seen = HashSet::new();
        let plain = |char: char| char.is_alphanumeric() || "_-./@+~".contains(char);
        let names =
            text.split(|char: char| !plain(char)).map(|name| name.trim_start_matches("./").trim_end_matches('.'));
        let names: Vec<&str> = names.filter(|name| !name.is_empty() && seen.insert(*name)).collect();
        names.iter().for_each(|name| self.known_name(name, &root, passing, state));
        let mut places = self.went.clone();
        places.retain(|place| *place != root && Some(place.as_path()) != state.cwd.as_deref());
        for place in places {
            names.iter().for_each(|name| self.known_in(name, &place, passing, state));
        }
    }

    /// A word of which only parts can be told: those that are names of files.
    pub(super) fn pieces(&mut self, word: &Word, state: &State) {
        let mut whole = String::new();
        spell_out(word, &mut whole);
        // Each alternative is a text of its own.
        if !self.pay(whole.len() * (1 + whole.matches(',').count())) {
            return;
        }
        for text in alternatives(&whole) {
            self.loose(&text, Passing::InPart, state);
            // A directory in front of a pattern.
            let before = text.split(['*', '?', '[']).next().unwrap_or_default();
            let directory = before.rsplit_once('/').map(|(directory, _)| directory.to_owned());
            directory.into_iter().for_each(|directory| self.loose(&directory, Passing::InPart, state));
        }
    }

    /// A variable that a command sets. Some say what programs load before they do anything else.
    pub(super) fn variable(&mut self, name: &str, value: Option<&str>, state: &State) {
        let Some(follower) = self.follower else { return };
        if !self.pay(UNITS_PER_BYTE * value.map_or(0, str::len)) {
            return;
        }
        let parts = value.unwrap_or_default().split([':', ';', ',', ' ', '=']).filter(|part| !part.is_empty());
        let there: Vec<PathBuf> = parts
            .flat_map(|part| self.places(part, state))
            .filter(|path| follower.disk.exists(path) && (follower.holds(path) || path == follower.root()))
            .collect();
        if steers(name) && (value.is_none() || !there.is_empty()) {
            self.certain = false;
        }
        // The directories of a search path count where it cannot be told what is looked for.
        there.into_iter().for_each(|path| self.likely(path));
    }
}

/// The words of a text that could be names.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !(char.is_alphanumeric() || char == '_')).filter(|word| !word.is_empty())
}

/// The strings of a text, whatever the language: what stands between two equal quotes on one line.
pub(super) fn literals(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find(['\'', '"', '`']) {
            let quote = &rest[at..=at];
            let Some(length) = rest[at + 1..].find(quote) else {
                rest = &rest[at + 1..];
                continue;
            };
            let inside = &rest[at + 1..at + 1 + length];
            if !inside.is_empty() && inside.len() <= 512 {
                found.push((&rest[..at], inside));
            }
            // Quotes may be unbalanced, as in `don't`: what ends one string may begin the next.
            rest = if inside.is_empty() { &rest[at + 2..] } else { &rest[at + 1..] };
        }
    }
    found
}

/// Variables that steer what loaders, interpreters, shells and version control run.
fn steers(name: &str) -> bool {
    const PREFIXES: [&str; 11] =
        ["LD_", "DYLD_", "PYTHON", "NODE_", "PERL5", "RUBY", "BASH_", "GIT_", "npm_config_", "NPM_CONFIG_", "MAKEF"];
    const NAMES: [&str; 9] = [
        "ENV",
        "HOME",
        "ZDOTDIR",
        "SHELL",
        "SHELLOPTS",
        "CDPATH",
        "XDG_CONFIG_HOME",
        "JAVA_TOOL_OPTIONS",
        "DOCKER_HOST",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// What of a word stands in the text, with spaces for the rest.
fn spell_out(word: &Word, text: &mut String) {
    for piece in &word.pieces {
        match piece {
            Piece::Literal(plain) | Piece::Quoted(plain) => text.push_str(plain),
            Piece::Parameter { parameter, .. } => {
                text.push(' ');
                for word in words_in(parameter) {
                    spell_out(word, text);
                    text.push(' ');
                }
            }
            Piece::Arithmetic { expression, .. } => {
                text.push(' ');
                spell_out(expression, text);
                text.push(' ');
            }
            // Their commands are gone through like all others.
            Piece::CommandSubstitution { .. } | Piece::ProcessSubstitution { .. } => text.push(' '),
        }
    }
}

/// The words in an expansion that its value may come from.
fn words_in(parameter: &Parameter) -> &[Word] {
    match &parameter.operation {
        Operation::Default { word, .. }
        | Operation::AssignDefault { word, .. }
        | Operation::Alternative { word, .. }
        | Operation::Error { word, .. }
        | Operation::Substring(word)
        | Operation::RemovePrefix { pattern: word, .. }
        | Operation::RemoveSuffix { pattern: word, .. } => std::slice::from_ref(word),
        Operation::Other { words } => words,
        Operation::Plain | Operation::Length | Operation::Indirect => &[],
    }
}

/// `a{b,c}d` → `abd`, `acd`; any other text as it is.
fn alternatives(text: &str) -> Vec<String> {
    let parts = text.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (inside, after))) if inside.contains(',') => {
            inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        _ => vec![text.to_owned()],
    }
}
