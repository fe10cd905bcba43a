//! `.gemini-extension-install.json`: where an extension came from, as Gemini CLI keeps it. Fetching it from there is others'
//! work.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::file::read_text;
use crate::json::parse_map;

/// The file.
pub(crate) const ORIGIN_FILE: &str = ".gemini-extension-install.json";

/// How an extension came here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// It was copied from a folder.
    Local,
    /// It is in another folder.
    Link,
    /// git cloned it.
    Git,
    /// It was unpacked from an archive, local or not.
    Archive,
    /// Gemini CLI took it from a release of a GitHub repository.
    Release,
}

/// The words of the kinds. Gemini CLI does not know `archive`, and updates none.
const ORIGIN_KIND_NAMES: [(OriginKind, &str); 5] = [
    (OriginKind::Local, "local"),
    (OriginKind::Link, "link"),
    (OriginKind::Git, "git"),
    (OriginKind::Archive, "archive"),
    (OriginKind::Release, "github-release"),
];

impl OriginKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        ORIGIN_KIND_NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

/// Where an extension came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionOrigin {
    /// A path or an address.
    pub source: String,
    /// How it came.
    pub kind: OriginKind,
    /// The branch, tag or commit that was asked for.
    pub reference: Option<String>,
    /// The commit that is here.
    pub commit: Option<String>,
    /// Whether it should be updated without being asked for.
    pub auto_update: bool,
}

impl ExtensionOrigin {
    /// What a folder says of where it came from.
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

    /// The file's text.
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

    /// The directory that a linked extension really lives in.
    pub(super) fn link_target(&self) -> Option<PathBuf> {
        (self.kind == OriginKind::Link).then(|| PathBuf::from(&self.source))
    }
}
