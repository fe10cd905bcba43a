//! Lists the contents of a project that run a program or open a connection. The trust prompt shows them, and later
//! changes are announced.
//!
//! Hooks are included for the prompt only; `trust/` records which of them the user has seen. The record of announced
//! contents is a file of its own.

use std::collections::BTreeMap;
use std::path::Path;

use hookwright_hooks::{Diagnostic, Hook, Severity, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::commands;
use crate::edit::{self, EditError};
use crate::extensions;
use crate::file::read_text;
use crate::load::{LoadPurpose, LoadedConfig};
use crate::mcp;
use crate::notice::Notice;
use crate::paths::{ConfigPaths, hex};
use crate::settings;
use crate::skills;
use crate::subagents;
use crate::trust::exact_name;

/// The contents of one kind in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectContent {
    /// Kind: `hooks`, a setting's name, `commands`, `policies`, `agents` or `skills`.
    pub kind: &'static str,
    /// The items as shown to the user, each with a digest of its content.
    pub items: BTreeMap<String, String>,
}

/// How an item of a project has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentChange {
    /// The item was added.
    New,
    /// The item has another content.
    Changed,
    /// The item was removed.
    Removed,
}

const HOOKS_KEY: &str = "hooks";
const SERVERS_KEY: &str = "mcpServers";
const EXTENSIONS_KEY: &str = "extensions";
/// Kinds that are files, not settings.
const FILE_KINDS: [&str; 4] = ["commands", "policies", "agents", "skills"];

/// Context file of other agents.
pub(crate) const AGENTS_FILE: &str = "AGENTS.md";

/// Returns all contents of a project, from its settings and folders, whether they are loaded or not.
pub(crate) fn project_contents(
    values: &Map<String, Value>,
    hooks: &[Hook],
    root: &Path,
    paths: &ConfigPaths,
) -> Vec<ProjectContent> {
    let mut contents = vec![ProjectContent { kind: HOOKS_KEY, items: hooks.iter().map(hook_item).collect() }];
    for (what, value) in settings::listed_values(values) {
        contents.push(ProjectContent { kind: what, items: setting_items(value) });
    }
    add_agent_servers(&mut contents, &paths.project_agents(root));
    contents.push(ProjectContent { kind: EXTENSIONS_KEY, items: extension_digests(&paths.project_extensions(root)) });
    let files = [
        ("commands", commands::toml_files(&paths.project_commands(root))),
        ("policies", commands::toml_files(&paths.project_policies(root))),
        ("agents", subagents::definition_files(&paths.project_agents(root))),
    ];
    for (what, files) in files {
        let named = |file: &std::path::PathBuf| {
            let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
            let text = read_text(file).ok().flatten().unwrap_or_default();
            (name, short_digest(&text))
        };
        contents.push(ProjectContent { kind: what, items: files.iter().map(named).collect() });
    }
    contents.push(ProjectContent { kind: "skills", items: skills::skill_digests(&paths.skills_dirs(root), root) });
    contents.retain(|content| !content.items.is_empty());
    for content in &mut contents {
        content.items = std::mem::take(&mut content.items)
            .into_iter()
            .map(|(item, mark)| (escape_control_chars(&item), mark))
            .collect();
    }
    contents
}

/// Adds the servers that agents declare, because they run like those of the settings.
fn add_agent_servers(contents: &mut Vec<ProjectContent>, folder: &Path) {
    let agents = subagents::read_folder(folder, &Source::Project).list;
    let of = |agent: &subagents::SubAgentDefinition| {
        let named = |(name, entry): (&String, &Value)| {
            (format!("{} for agent {}", mcp::describe_entry(name, entry), agent.name), short_digest(&entry.to_string()))
        };
        agent.named_servers.iter().map(named).collect::<Vec<_>>()
    };
    let items: BTreeMap<String, String> = agents.iter().flat_map(of).collect();
    match contents.iter_mut().find(|content| content.kind == SERVERS_KEY) {
        Some(known) => known.items.extend(items),
        None => contents.push(ProjectContent { kind: SERVERS_KEY, items }),
    }
}

/// Escapes control characters, so that a name cannot forge another line.
fn escape_control_chars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() { out.extend(char.escape_default()) } else { out.push(char) }
    }
    out
}

/// Returns the extensions of a project, with a digest of their manifests and hooks.
fn extension_digests(folder: &Path) -> BTreeMap<String, String> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |folder: std::path::PathBuf| {
        let name = extensions::extension_name(&folder)?;
        let text = |file: &str| read_text(&folder.join(file)).ok().flatten().unwrap_or_default();
        Some((name, short_digest(&format!("{}\0{}", text(extensions::MANIFEST_FILE), text("hooks/hooks.json")))))
    };
    folders.filter_map(named).collect()
}

fn hook_item(hook: &Hook) -> (String, String) {
    let command = hook.summary().unwrap_or_default();
    let text = match &hook.name {
        Some(name) => format!("{name} on {}, which runs `{command}`", hook.event),
        None => format!("`{command}` on {}", hook.event),
    };
    (text, String::new())
}

fn setting_items(value: &Value) -> BTreeMap<String, String> {
    match value {
        Value::Array(entries) if entries.is_empty() => [("nothing".to_owned(), String::new())].into(),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| (entry.as_str().map_or_else(|| entry.to_string(), str::to_owned), String::new()))
            .collect(),
        Value::Object(servers) => servers
            .iter()
            .map(|(name, server)| (mcp::describe_entry(name, server), short_digest(&server.to_string())))
            .collect(),
        other => [(other.to_string(), String::new())].into(),
    }
}

fn short_digest(text: &str) -> String {
    hex(&Sha256::digest(text))[..16].to_owned()
}

/// The contents that the user has been told about, by project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ContentsRecord {
    #[serde(default)]
    projects: BTreeMap<String, RecordedContents>,
}

type RecordedContents = BTreeMap<String, BTreeMap<String, String>>;

fn project_key(root: &Path) -> String {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    exact_name(real.as_os_str()).into_owned()
}

impl ContentsRecord {
    /// Reads the record. One that can't be read counts as empty and is reported.
    pub(crate) fn read(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> ContentsRecord {
        let text = read_text(file).map(Option::unwrap_or_default).unwrap_or_else(|error| {
            diagnostics.push(error.diagnostic());
            String::new()
        });
        ContentsRecord::parse(&text).unwrap_or_else(|error| {
            let text = format!("this record of project contents can't be read: {error}");
            let wrong = Diagnostic::about_file(Severity::Error, file, text);
            diagnostics.push(wrong.help("remove it; the next session writes a new one"));
            ContentsRecord::default()
        })
    }

    fn parse(text: &str) -> Result<ContentsRecord, serde_json::Error> {
        if text.trim().is_empty() { Ok(ContentsRecord::default()) } else { serde_json::from_str(text) }
    }

    /// Returns what the user has not been told about.
    ///
    /// In a project that is not in the record yet, only settings are reported: commands run when the user types them,
    /// skills ask first, policies only tighten, and agents have no more rights than their caller (their servers count
    /// among the settings).
    pub(crate) fn changes(
        &self,
        root: &Path,
        contents: &[ProjectContent],
    ) -> Vec<(&'static str, Vec<(String, ContentChange)>)> {
        let known = self.projects.get(&project_key(root));
        let now = recordable_contents(contents);
        let mut all = Vec::new();
        for what in settings::listed_names().chain([EXTENSIONS_KEY]).chain(FILE_KINDS) {
            let is_setting = !FILE_KINDS.contains(&what);
            let empty = BTreeMap::new();
            let (old, new) =
                (known.and_then(|known| known.get(what)).unwrap_or(&empty), now.get(what).unwrap_or(&empty));
            if known.is_none() && !is_setting {
                continue;
            }
            let added = new.iter().filter_map(|(item, mark)| match old.get(item) {
                None => Some((item.clone(), ContentChange::New)),
                Some(before) if before != mark => Some((item.clone(), ContentChange::Changed)),
                Some(_) => None,
            });
            let gone =
                old.keys().filter(|item| !new.contains_key(*item)).map(|item| (item.clone(), ContentChange::Removed));
            let news: Vec<_> = added.chain(gone).collect();
            if !news.is_empty() {
                all.push((what, news));
            }
        }
        all
    }

    /// Whether to tell the user, once, that the project's context file for other agents is not read.
    pub(crate) fn has_unread_notes(&self, root: &Path, file_names: &[String]) -> bool {
        let known = self.projects.get(&project_key(root)).is_some_and(|known| known.contains_key(AGENTS_FILE));
        let is_read = file_names.iter().any(|name| name == AGENTS_FILE);
        let own = file_names.iter().any(|name| root.join(name).exists());
        !known && !is_read && !own && root.join(AGENTS_FILE).is_file()
    }

    fn updated(&self, loaded: &LoadedConfig) -> ContentsRecord {
        let mut record = self.clone();
        let mut now = recordable_contents(&loaded.project_contents);
        let known = self.projects.get(&project_key(&loaded.project.root));
        let told = known.is_some_and(|known| known.contains_key(AGENTS_FILE));
        if told || loaded.notices.contains(&Notice::UnreadAgentsFile) {
            now.insert(AGENTS_FILE.to_owned(), BTreeMap::new());
        }
        // A project without contents is not recorded.
        if known.is_some() || !now.is_empty() {
            record.projects.insert(project_key(&loaded.project.root), now);
        }
        record
    }
}

fn recordable_contents(contents: &[ProjectContent]) -> RecordedContents {
    let kept = contents.iter().filter(|content| content.kind != HOOKS_KEY);
    kept.map(|content| (content.kind.to_owned(), content.items.clone())).collect()
}

/// Records the present contents of the project as announced. Writes nothing if the record is up to date, there is
/// nothing to record, or the configuration was loaded for one event and so without them.
///
/// # Errors
/// If the record can't be read or written; it is unchanged then.
pub fn record_project_contents(loaded: &LoadedConfig) -> Result<(), EditError> {
    if loaded.purpose == LoadPurpose::Event {
        return Ok(());
    }
    let file = &loaded.paths.known_project_contents;
    let known = ContentsRecord::read(file, &mut Vec::new());
    if known.updated(loaded) == known {
        return Ok(());
    }
    edit::rewrite_private(file, |text| {
        // A record that can't be read is replaced.
        let record = ContentsRecord::parse(text).unwrap_or_default().updated(loaded);
        let mut text = serde_json::to_string_pretty(&record).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })
    .map(|_| ())
}
