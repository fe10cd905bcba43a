//! A settings file as the caller passes it in, and the hooks that it declares. `config.rs` parses it.

use std::path::Path;

use super::HooksConfig;
use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::guards::LostGuard;
use crate::hook::{Hook, Source};

/// The kind of a settings file, which decides its keys and its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileKind {
    /// Gemini CLI settings; the hooks stand under `hooks`.
    #[default]
    Settings,
    /// A file of hooks alone, with or without an enclosing `hooks` object.
    Hooks,
    /// Claude Code's settings, with its events, names and timeouts in seconds; only `hooks` is used.
    Claude,
}

impl FileKind {
    /// The kind of a file, by its name and the name of its folder.
    pub fn from_path(file: &Path) -> FileKind {
        let named = |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|own| own == name);
        let is = |folder: &str, name: &str| named(Some(file), name) && named(file.parent(), folder);
        if is(".hookwright", "hooks.json") {
            return FileKind::Hooks;
        }
        let of_claude = is(".claude", "settings.json") || is(".claude", "settings.local.json");
        if of_claude { FileKind::Claude } else { FileKind::Settings }
    }

    /// The dialect of hooks in the file that do not set one.
    pub fn dialect(self) -> Dialect {
        match self {
            FileKind::Settings | FileKind::Hooks => Dialect::Gemini,
            FileKind::Claude => Dialect::Claude,
        }
    }
}

/// The text of a settings file and its origin.
#[derive(Clone, Debug)]
pub struct Layer<'a> {
    /// The source of the settings.
    pub source: Source,
    /// The path of the file, for locations and messages.
    pub file: &'a Path,
    /// The kind of the file.
    pub kind: FileKind,
    /// The text of the file.
    pub text: &'a str,
    /// Placeholders such as `extensionPath` that are substituted in commands; only extensions have them.
    pub placeholders: Vec<(String, String)>,
    /// Environment variables for all hooks of this layer; only extensions have them.
    pub env: Vec<(String, String)>,
}

impl<'a> Layer<'a> {
    /// A layer without placeholders and variables, whose kind follows from the file's name.
    pub fn new(source: Source, file: &'a Path, text: &'a str) -> Self {
        Layer { source, file, kind: FileKind::from_path(file), text, placeholders: Vec::new(), env: Vec::new() }
    }

    /// The same layer with another kind of file.
    #[must_use]
    pub fn with_kind(self, kind: FileKind) -> Self {
        Layer { kind, ..self }
    }
}

/// The hooks and settings that one layer declares.
#[derive(Clone, Debug)]
pub struct DeclaredLayer {
    /// The source of the settings.
    pub source: Source,
    /// The hooks in declared order.
    pub hooks: Vec<Hook>,
    /// The settings that apply to all hooks.
    pub config: HooksConfig,
    /// The problems of the layer, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Hooks that were written as guards and could not be loaded.
    pub lost_guards: Vec<LostGuard>,
}

impl DeclaredLayer {
    /// A layer without hooks, for a file that is missing or could not be read.
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
