//! One settings file: its text, read once, and the tree that everybody looks into. What its settings say is
//! `settings/read.rs`, what hooks it declares the engine's to read.

use std::path::{Path, PathBuf};

use hookwright_hooks::jsonc::Document;
use hookwright_hooks::{Declared, Diagnostic, Layer, Source, declare_document};

use super::{FileState, SettingsFile};
use crate::file::read_text;
use crate::trust::FolderTrust;

/// A settings file and its text.
pub(super) struct LayerFile {
    pub(super) source: Source,
    pub(super) path: PathBuf,
    content: Content,
}

enum Content {
    Missing,
    Text(String),
    Unreadable(Diagnostic),
    Untrusted,
}

impl LayerFile {
    pub(super) fn read(source: Source, path: &Path) -> Self {
        let content = match read_text(path) {
            Ok(None) => Content::Missing,
            Ok(Some(text)) => Content::Text(text),
            Err(error) => Content::Unreadable(error.diagnostic()),
        };
        LayerFile { source, path: path.to_owned(), content }
    }

    pub(super) fn of_project(path: &Path, trust: &FolderTrust) -> Self {
        // One that is no file at all is reported without being opened.
        if trust.is_trusted() || (path.exists() && !path.is_file()) {
            return LayerFile::read(Source::Project, path);
        }
        let content = if path.exists() { Content::Untrusted } else { Content::Missing };
        LayerFile { source: Source::Project, path: path.to_owned(), content }
    }

    /// The file's content, parsed once for everything that looks into it.
    pub(super) fn tree(&self) -> Tree<'_> {
        let text = if let Content::Text(text) = &self.content { text } else { "" };
        Tree { file: self, text, document: Document::parse(&self.path, text) }
    }
}

/// A settings file as a tree with places.
pub(super) struct Tree<'t> {
    pub(super) file: &'t LayerFile,
    text: &'t str,
    pub(super) document: Document<'t>,
}

impl Tree<'_> {
    pub(super) fn state(&self) -> SettingsFile {
        let state = match (&self.file.content, &self.document.root) {
            (Content::Missing, _) => FileState::Missing,
            (Content::Untrusted, _) => FileState::Untrusted,
            (Content::Unreadable(_), _) | (Content::Text(_), Err(_)) => FileState::Broken,
            (Content::Text(_), Ok(_)) => FileState::Loaded,
        };
        SettingsFile { source: self.file.source.clone(), path: self.file.path.clone(), state }
    }

    pub(super) fn declared(&self) -> Declared {
        let source = self.file.source.clone();
        match &self.file.content {
            Content::Missing | Content::Untrusted => Declared::empty(source, Vec::new()),
            Content::Unreadable(diagnostic) => Declared::empty(source, vec![diagnostic.clone()]),
            Content::Text(_) => declare_document(&Layer::new(source, &self.file.path, self.text), &self.document),
        }
    }
}
