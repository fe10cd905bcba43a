//! One settings file: its text is read once and parsed into a tree. `settings/layer_reader.rs` reads its settings,
//! the engine its hooks.

use std::path::{Path, PathBuf};

use hookwright_hooks::jsonc::Document;
use hookwright_hooks::{DeclaredLayer, Diagnostic, Layer, Source, parse_layer_document};

use super::{SettingsFile, SettingsFileState};
use crate::file::read_text;
use crate::trust::FolderTrust;

/// A settings file and its text.
pub(super) struct LayerFile {
    pub(super) source: Source,
    pub(super) path: PathBuf,
    content: LayerContent,
}

enum LayerContent {
    Missing,
    Text(String),
    Unreadable(Diagnostic),
    Untrusted,
}

impl LayerFile {
    pub(super) fn read(source: Source, path: &Path) -> Self {
        let content = match read_text(path) {
            Ok(None) => LayerContent::Missing,
            Ok(Some(text)) => LayerContent::Text(text),
            Err(error) => LayerContent::Unreadable(error.diagnostic()),
        };
        LayerFile { source, path: path.to_owned(), content }
    }

    pub(super) fn read_project(path: &Path, trust: &FolderTrust) -> Self {
        // A path that is no regular file is reported without being opened.
        if trust.is_trusted() || (path.exists() && !path.is_file()) {
            return LayerFile::read(Source::Project, path);
        }
        let content = if path.exists() { LayerContent::Untrusted } else { LayerContent::Missing };
        LayerFile { source: Source::Project, path: path.to_owned(), content }
    }

    /// Parses the file's content.
    pub(super) fn parse(&self) -> LayerTree<'_> {
        let text = if let LayerContent::Text(text) = &self.content { text } else { "" };
        LayerTree { file: self, text, document: Document::parse(&self.path, text) }
    }
}

/// A settings file as a tree with positions.
pub(super) struct LayerTree<'t> {
    pub(super) file: &'t LayerFile,
    text: &'t str,
    pub(super) document: Document<'t>,
}

impl LayerTree<'_> {
    pub(super) fn to_settings_file(&self) -> SettingsFile {
        let state = match (&self.file.content, &self.document.root) {
            (LayerContent::Missing, _) => SettingsFileState::Missing,
            (LayerContent::Untrusted, _) => SettingsFileState::Untrusted,
            (LayerContent::Unreadable(_), _) | (LayerContent::Text(_), Err(_)) => SettingsFileState::Broken,
            (LayerContent::Text(_), Ok(_)) => SettingsFileState::Loaded,
        };
        SettingsFile { source: self.file.source.clone(), path: self.file.path.clone(), state }
    }

    pub(super) fn declared_hooks(&self) -> DeclaredLayer {
        let source = self.file.source.clone();
        match &self.file.content {
            LayerContent::Missing | LayerContent::Untrusted => DeclaredLayer::empty(source, Vec::new()),
            LayerContent::Unreadable(diagnostic) => DeclaredLayer::empty(source, vec![diagnostic.clone()]),
            LayerContent::Text(_) => {
                parse_layer_document(&Layer::new(source, &self.file.path, self.text), &self.document)
            }
        }
    }
}
