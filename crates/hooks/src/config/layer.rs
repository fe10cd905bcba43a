//! A settings file as it is handed in, and what comes out of it: what it is for, whose it is, the hooks that it declares. How
//! these are read is `config.rs`.

use std::path::Path;

use super::HooksConfig;
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::guards::LostGuard;
use crate::hook::{Hook, Source};

/// What a file is for, and in whose words it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileKind {
    /// Settings; their hooks stand under `hooks`.
    #[default]
    Settings,
    /// Hooks alone, under `hooks` or without it.
    Hooks,
    /// Claude Code's settings: its events, its words, seconds. Of them only `hooks` counts.
    Claude,
}

impl FileKind {
    /// What a file is for, by its name and its folder's.
    pub fn from_path(file: &Path) -> FileKind {
        let named = |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|own| own == name);
        let is = |folder: &str, name: &str| named(Some(file), name) && named(file.parent(), folder);
        if is(".hookwright", "hooks.json") {
            return FileKind::Hooks;
        }
        let of_claude = is(".claude", "settings.json") || is(".claude", "settings.local.json");
        if of_claude { FileKind::Claude } else { FileKind::Settings }
    }

    /// The dialect of its hooks, where they do not say.
    pub fn dialect(self) -> Dialect {
        match self {
            FileKind::Settings | FileKind::Hooks => Dialect::Gemini,
            FileKind::Claude => Dialect::Claude,
        }
    }
}

/// A settings file's text and where it stands.
#[derive(Clone, Debug)]
pub struct Layer<'a> {
    /// Whose settings these are.
    pub source: Source,
    /// The file, for places and messages.
    pub file: &'a Path,
    /// What it is for.
    pub kind: FileKind,
    /// Its text.
    pub text: &'a str,
    /// Placeholders that are substituted in commands, such as `extensionPath`; extensions have them.
    pub placeholders: Vec<(String, String)>,
    /// Variables for all hooks of this layer; extensions have them.
    pub env: Vec<(String, String)>,
}

impl<'a> Layer<'a> {
    /// A layer without placeholders and variables; what its file is for, the file's name says.
    pub fn new(source: Source, file: &'a Path, text: &'a str) -> Self {
        Layer { source, file, kind: FileKind::from_path(file), text, placeholders: Vec::new(), env: Vec::new() }
    }

    /// The same for a file that is for something else.
    #[must_use]
    pub fn with_kind(self, kind: FileKind) -> Self {
        Layer { kind, ..self }
    }
}

/// What one layer declares.
#[derive(Clone, Debug)]
pub struct DeclaredLayer {
    /// Whose settings these are.
    pub source: Source,
    /// Its hooks, in declared order.
    pub hooks: Vec<Hook>,
    /// Its settings for hooks as a whole.
    pub config: HooksConfig,
    /// What is wrong with it, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// What was written as a guard and is none.
    pub lost_guards: Vec<LostGuard>,
}

impl DeclaredLayer {
    /// A layer without hooks: one whose file is missing, or could not be read.
    pub fn empty(source: Source, diagnostics: Vec<Diagnostic>) -> Self {
        DeclaredLayer {
            source,
            hooks: Vec::new(),
            config: HooksConfig::default(),
            diagnostics,
            lost_guards: Vec::new(),
        }
    }
}
