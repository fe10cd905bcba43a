//! Reads and formats `.gemini-extension-install.json`, Gemini CLI's record of where an extension came from.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::file::read_text;
use crate::json::parse_map;

pub(crate) const ORIGIN_FILE: &str = ".gemini-extension-install.json";

/// How an extension was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// Copied from a folder.
    Local,
    /// Linked to another folder.
    Link,
    /// Cloned by git.
    Git,
    /// Unpacked from an archive, local or downloaded.
    Archive,
    /// Installed by Gemini CLI from a release of a GitHub repository.
    Release,
}

/// Names of the kinds in the file. Gemini CLI does not know `archive`, and updates no extension of that kind.
const ORIGIN_KIND_NAMES: [(OriginKind, &str); 5] = [
    (OriginKind::Local, "local"),
    (OriginKind::Link, "link"),
    (OriginKind::Git, "git"),
    (OriginKind::Archive, "archive"),
    (OriginKind::Release, "github-release"),
];

impl OriginKind {
    /// Returns the name of the kind in the file.
    pub fn as_str(self) -> &'static str {
        ORIGIN_KIND_NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

/// Where an extension was installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionOrigin {
    /// A path or an address.
    pub source: String,
    pub kind: OriginKind,
    /// The branch, tag or commit that the user asked for.
    pub reference: Option<String>,
    /// The installed commit.
    pub commit: Option<String>,
    /// Whether it is updated without asking.
    pub auto_update: bool,
}

impl ExtensionOrigin {
    /// Reads the record in a folder, or returns `None` if there is no valid one.
    pub fn read(folder: &Path) -> Option<ExtensionOrigin> {
        let file = folder.join(ORIGIN_FILE);
        let metadata = parse_map(&file, &read_text(&file).ok()??).ok()?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let word = text("type")?;
        let (kind, _) = ORIGIN_KIND_NAMES.into_iter().find(|(_, known)| *known == word)?;
        Some(ExtensionOrigin {
            source: text("source")?,
            kind,
            reference: text("ref"),
            commit: text("commit"),
            auto_update: metadata.get("autoUpdate").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Formats the text of the file.
    pub fn to_json(&self) -> String {
        let mut fields = Map::new();
        fields.insert("source".to_owned(), json!(self.source));
        fields.insert("type".to_owned(), json!(self.kind.as_str()));
        for (key, value) in [("ref", &self.reference), ("commit", &self.commit)] {
            if let Some(value) = value {
                fields.insert(key.to_owned(), json!(value));
            }
        }
        if self.auto_update {
            fields.insert("autoUpdate".to_owned(), json!(true));
        }
        format!("{:#}\n", Value::Object(fields))
    }

    /// Returns the target directory of a linked extension.
    pub(super) fn link_target(&self) -> Option<PathBuf> {
        (self.kind == OriginKind::Link).then(|| PathBuf::from(&self.source))
    }
}
