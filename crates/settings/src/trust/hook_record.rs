//! The record of trusted hooks on disk: what the user has seen of each hook, by project and by extension.
//!
//! The file is shared with Gemini CLI, which keeps a list of `name:command` for each project and preserves other
//! keys. Everything else is stored under a key of its own.

use std::collections::BTreeMap;
use std::path::Path;

use hookwright_hooks::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fingerprint::{FINGERPRINT_VERSION, Fingerprint, SWITCH_OFF_KEY, ScriptDigest, exact_name};
use crate::edit::{self, EditError};
use crate::file::read_text;
use crate::json::parse_map;

/// Key for data that does not fit into Gemini CLI's list.
const HOOKWRIGHT_KEY: &str = "hookwright";

/// The project or extension that hooks belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrustScope {
    /// A project, by its real path.
    Project(String),
    /// An extension, by its name.
    Extension(String),
}

impl TrustScope {
    pub(crate) fn from_project_path(real: &Path) -> Self {
        TrustScope::Project(exact_name(real.as_os_str()).into_owned())
    }
}

/// All hooks that the user has seen.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct HookTrustRecord {
    #[serde(default)]
    projects: BTreeMap<String, Vec<SeenHook>>,
    #[serde(default)]
    extensions: BTreeMap<String, Vec<SeenHook>>,
}

/// A hook as the user has seen it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct SeenHook {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) command: String,
    pub(super) fingerprint: String,
    /// Version of the fingerprint.
    #[serde(default)]
    pub(super) form: u32,
    /// Whether all files that it ran were known.
    #[serde(default)]
    pub(super) certain: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    declared: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) scripts: BTreeMap<String, SeenScript>,
}

/// A script as the user has seen it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct SeenScript {
    pub(super) sha256: String,
    /// Eight hexadecimal digits for each line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    lines: String,
}

impl SeenScript {
    pub(super) fn lines(&self) -> Vec<u32> {
        let digits = self.lines.as_bytes().chunks(8);
        digits.filter_map(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).collect()
    }
}

impl SeenHook {
    /// Returns a field of the recorded declaration.
    pub(super) fn declared(&self, key: &str) -> Option<&str> {
        match key {
            "name" => self.name.as_deref(),
            // A hook without a command has another action.
            "command" => Some(self.command.as_str()).filter(|command| !command.is_empty()),
            key => self.declared.get(key).map(String::as_str),
        }
    }

    /// Whether this entry is no hook, but a project's setting that disables a hook of another layer.
    pub(super) fn is_switch_off(&self) -> bool {
        self.declared.contains_key(SWITCH_OFF_KEY)
    }

    /// Returns the fields of the recorded declaration.
    pub(super) fn declared_keys(&self) -> impl Iterator<Item = &str> {
        let name = self.name.as_ref().map(|_| "name");
        name.into_iter().chain(["command"]).chain(self.declared.keys().map(String::as_str))
    }

    fn new(fingerprint: &Fingerprint) -> Self {
        // These are stored in fields of their own.
        let own = |key: &str| matches!(key, "name" | "command");
        let script = |script: &ScriptDigest| SeenScript {
            sha256: script.sha256.clone(),
            lines: script.lines.iter().map(|line| format!("{line:08x}")).collect(),
        };
        SeenHook {
            name: fingerprint.name().map(str::to_owned),
            command: fingerprint.command().to_owned(),
            fingerprint: fingerprint.digest(),
            form: FINGERPRINT_VERSION,
            certain: fingerprint.certain,
            declared: fingerprint
                .declared
                .iter()
                .filter(|(key, _)| !own(key))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            variables: fingerprint.variables.clone(),
            scripts: fingerprint.scripts.iter().map(|(path, content)| (path.clone(), script(content))).collect(),
        }
    }
}

impl HookTrustRecord {
    /// Reads the record; one that cannot be read counts as empty and is reported.
    pub(super) fn read(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> HookTrustRecord {
        let text = match read_text(file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                diagnostics.push(error.diagnostic());
                return HookTrustRecord::default();
            }
        };
        HookTrustRecord::parse(file, &text).map(|(record, _)| record).unwrap_or_else(|wrong| {
            diagnostics.push(wrong.help("every hook counts as new until this file is corrected"));
            HookTrustRecord::default()
        })
    }

    fn parse(file: &Path, text: &str) -> Result<(HookTrustRecord, Map<String, Value>), Box<Diagnostic>> {
        let whole = parse_map(file, text)?;
        let own = whole.get(HOOKWRIGHT_KEY).map_or(Ok(HookTrustRecord::default()), HookTrustRecord::deserialize);
        let record = own.map_err(|error| {
            let text = format!("`{HOOKWRIGHT_KEY}` is not a valid record of hooks: {error}");
            Box::new(Diagnostic::about_file(Severity::Error, file, text))
        })?;
        Ok((record, whole))
    }

    /// Returns what the user has seen of these hooks; `None` if they were never reviewed.
    pub(super) fn seen_hooks(&self, scope: &TrustScope) -> Option<&[SeenHook]> {
        let list = match scope {
            TrustScope::Project(root) => self.projects.get(root),
            TrustScope::Extension(name) => self.extensions.get(name),
        };
        list.map(Vec::as_slice)
    }
}

/// A hook to record, and the fingerprint that it replaces.
pub(super) struct TrustEntry<'a> {
    pub(super) scope: &'a TrustScope,
    pub(super) fingerprint: &'a Fingerprint,
    pub(super) replaces: Option<&'a str>,
}

/// Adds hooks to the record under a lock, so that no concurrent change is lost.
pub(super) fn add_entries(file: &Path, entries: &[TrustEntry<'_>]) -> Result<(), EditError> {
    edit::rewrite_private(file, |text| {
        let (mut record, mut whole) = HookTrustRecord::parse(file, text).map_err(EditError::Broken)?;
        for entry in entries {
            add_entry(&mut record, &mut whole, entry);
        }
        whole.insert(HOOKWRIGHT_KEY.to_owned(), serde_json::to_value(&record).unwrap_or_default());
        let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })
    .map(|_| ())
}

fn add_entry(record: &mut HookTrustRecord, whole: &mut Map<String, Value>, entry: &TrustEntry<'_>) {
    let new = SeenHook::new(entry.fingerprint);
    let list = match entry.scope {
        TrustScope::Project(root) => {
            add_to_gemini_list(whole, root, &new);
            record.projects.entry(root.clone()).or_default()
        }
        TrustScope::Extension(name) => record.extensions.entry(name.clone()).or_default(),
    };
    list.retain(|seen| seen.fingerprint != new.fingerprint && Some(seen.fingerprint.as_str()) != entry.replaces);
    list.push(new);
}

/// Updates Gemini CLI's list too, so that it does not announce hooks that the user has seen here.
fn add_to_gemini_list(whole: &mut Map<String, Value>, root: &str, seen: &SeenHook) {
    let key = Value::String(format!("{}:{}", seen.name.as_deref().unwrap_or_default(), seen.command));
    // Gemini CLI identifies a folder by its path as text, and has no record of disabled hooks.
    if Path::new(root).is_relative() || seen.is_switch_off() {
        return;
    }
    if let Value::Array(list) = whole.entry(root).or_insert_with(|| Value::Array(Vec::new()))
        && !list.contains(&key)
    {
        list.push(key);
    }
}
