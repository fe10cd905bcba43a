//! Reads the hooks that an extension declares in `hooks/hooks.json`, and those in its manifest, which Gemini CLI
//! ignores. The latter are loaded with a warning, because a guard that is silently dropped is worse than none.

use std::path::{Path, PathBuf};

use hookwright_hooks::{DeclaredLayer, Diagnostic, FileKind, Layer, Severity, Source, parse_layer};

use super::Extension;
use super::manifest::{MANIFEST_FILE, ManifestHooks};
use crate::file::read_text;

impl Extension {
    /// Returns the files that may declare its hooks.
    pub fn hooks_files(&self) -> Vec<PathBuf> {
        let usual = self.path.join("hooks").join("hooks.json");
        let more = match &self.manifest_hooks {
            ManifestHooks::None => None,
            ManifestHooks::Inline => Some(self.path.join(MANIFEST_FILE)),
            ManifestHooks::File(file) => Some(file.clone()).filter(|file| *file != usual),
        };
        std::iter::once(usual).chain(more).collect()
    }

    /// Reads its hooks with their diagnostics.
    pub fn declared_hooks(&self) -> DeclaredLayer {
        let mut all = DeclaredLayer::empty(self.source(), Vec::new());
        for (at, file) in self.hooks_files().iter().enumerate() {
            let declared = self.declared_hooks_in(file);
            if at == 0 {
                all.config = declared.config;
            }
            all.hooks.extend(declared.hooks);
            all.lost_guards.extend(declared.lost_guards);
            all.diagnostics.extend(declared.diagnostics);
        }
        all.diagnostics.extend(self.misplaced_hooks_warning());
        all
    }

    fn declared_hooks_in(&self, file: &Path) -> DeclaredLayer {
        match read_text(file) {
            Ok(Some(text)) => parse_layer(&self.layer(file, &text)),
            Ok(None) => DeclaredLayer::empty(self.source(), Vec::new()),
            Err(error) => DeclaredLayer::empty(self.source(), vec![error.diagnostic()]),
        }
    }

    fn layer<'t>(&self, file: &'t Path, text: &'t str) -> Layer<'t> {
        Layer {
            source: self.source(),
            file,
            kind: FileKind::Settings,
            text,
            placeholders: self.placeholders.clone(),
            env: self.hook_env(),
        }
    }

    /// Returns the variables that all of its hooks see.
    pub(crate) fn hook_env(&self) -> Vec<(String, String)> {
        let root = (PLUGIN_ROOT.to_owned(), self.path.to_string_lossy().into_owned());
        self.env.iter().cloned().chain([root]).collect()
    }

    /// Warns about a `hooks.json` in the extension's root, which is not loaded.
    fn misplaced_hooks_warning(&self) -> Option<Diagnostic> {
        let file = self.path.join("hooks.json");
        if !file.is_file() || self.hooks_files().iter().any(|known| *known == file || known.is_file()) {
            return None;
        }
        let wrong =
            Diagnostic::about_file(Severity::Warning, &file, "hooks here are not read; nothing in this file runs");
        Some(wrong.help("move it to hooks/hooks.json"))
    }

    /// Returns the source of its hooks.
    pub fn source(&self) -> Source {
        Source::Extension(self.name.clone())
    }
}

/// Variable that hooks made for Claude Code's plugins use for the plugin's folder.
pub(super) const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
