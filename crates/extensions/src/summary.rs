//! Lists what an extension contains, for a person to review before installing it: hooks with their scripts, servers,
//! excluded tools, policies, context, commands, skills, agents and settings. Placeholders are shown as written,
//! without the user's values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{ConfinementOrigin, Diagnostic, Hook, Severity};
use hookwright_settings::{Extension, LoadedConfig};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::contents::ExtensionContents;
use crate::error::ExtensionError;
use crate::inspection::list_files;

/// Largest file that is shown or compared as text.
const MAX_TEXT_FILE_BYTES: u64 = 1 << 20;

/// Files that the installer writes and that are no part of the extension; `.env` holds the user's secrets.
pub(crate) const INSTALLER_FILES: [&str; 2] = [".gemini-extension-install.json", ".env"];

/// Items of one kind in a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummarySection {
    pub title: &'static str,
    pub items: Vec<SummaryItem>,
}

/// One item that an extension contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryItem {
    /// The item on one line.
    pub text: String,
    /// More lines about the item.
    pub details: Vec<String>,
}

impl From<String> for SummaryItem {
    fn from(text: String) -> Self {
        SummaryItem { text, details: Vec::new() }
    }
}

/// Everything that an extension contains, for review.
#[derive(Clone, Debug)]
pub struct ExtensionSummary {
    pub name: String,
    pub version: String,
    pub description: Option<String>,
    /// The contents by kind, without empty sections.
    pub sections: Vec<SummarySection>,
    /// Files that run or make a decision, by path relative to the extension: hook declarations and their scripts,
    /// policies, and the files that servers are started with.
    pub reviewed_files: BTreeMap<String, ReviewedContent>,
    /// Whether a hook may run any file of the extension.
    pub may_run_any_file: bool,
    /// The commands, skills and agents of the extension.
    pub contents: ExtensionContents,
    /// Problems with the extension's files.
    pub diagnostics: Vec<Diagnostic>,
}

/// Content of a reviewed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewedContent {
    /// Content that is valid text.
    Text(String),
    /// Other content, described by its size and hash.
    Opaque(String),
}

impl ExtensionSummary {
    /// Reads the extension in a folder as a session with this configuration would load it.
    ///
    /// # Errors
    /// If the folder holds no extension.
    pub fn read(folder: &Path, loaded: &LoadedConfig) -> Result<ExtensionSummary, ExtensionError> {
        let mut diagnostics = Vec::new();
        let Some(extension) = Extension::read_raw(folder, &loaded.project.root, &mut diagnostics) else {
            return Err(ExtensionError::NoManifest(diagnostics));
        };
        let declared = extension.declared_hooks();
        diagnostics.extend(declared.diagnostics.iter().cloned());
        let mut reviewed = BTreeMap::new();
        for file in extension.hooks_files() {
            add_reviewed_file(&mut reviewed, &extension.path, &file);
        }
        let (hooks, any_may_run) = hook_items(&extension, &declared.hooks, loaded, &mut reviewed);
        let contents = ExtensionContents::read(&extension, loaded);
        // The file of an agent with MCP servers starts programs, as the manifest does.
        let serving = contents.agents.iter().filter(|agent| !agent.named_servers.is_empty());
        serving.for_each(|agent| add_reviewed_file(&mut reviewed, &extension.path, &agent.path));
        server_files(&extension, &contents)
            .iter()
            .for_each(|file| add_reviewed_file(&mut reviewed, &extension.path, file));
        let policies = files_with_extension(&extension.policies_dir(), "toml");
        policies.iter().for_each(|file| add_reviewed_file(&mut reviewed, &extension.path, file));
        diagnostics.extend(contents.diagnostics.iter().cloned());
        let names = |paths: Vec<PathBuf>| {
            paths.iter().map(|path| SummaryItem::from(relative_name(&extension.path, path))).collect()
        };
        let counts =
            |folder: PathBuf, what: Vec<SummaryItem>| with_rejected_items(&extension, &contents, &folder, what);
        let commands = contents.commands.iter().map(|name| SummaryItem::from(format!("/{name}"))).collect();
        let skills = contents.skills.iter().map(|skill| skill.folder.clone()).collect();
        let agents = contents.agents.iter().map(|agent| agent.path.clone()).collect();
        let sections = [
            ("hooks", hooks),
            ("MCP servers", server_items(&extension, &contents)),
            ("tools excluded", extension.exclude_tools.iter().cloned().map(SummaryItem::from).collect()),
            ("policies", names(policies)),
            ("context", names(extension.context_files.clone())),
            ("commands", counts(extension.commands_dir(), commands)),
            ("skills", counts(extension.skills_dir(), names(skills))),
            ("agents", counts(extension.agents_dir(), names(agents))),
            ("settings", extension.settings.iter().map(setting_item).collect()),
        ];
        let sections = sections.map(|(title, items): (&'static str, Vec<SummaryItem>)| SummarySection { title, items });
        Ok(ExtensionSummary {
            sections: sections.into_iter().filter(|section| !section.items.is_empty()).collect(),
            name: extension.name,
            version: extension.version,
            description: extension.description,
            reviewed_files: reviewed,
            may_run_any_file: any_may_run,
            contents,
            diagnostics,
        })
    }

    /// Replaces paths of the draft folder by the extension's name in the diagnostics.
    pub(crate) fn replace_draft_paths(&mut self, draft: &Path) {
        let real = draft.canonicalize().unwrap_or_else(|_| draft.to_owned());
        let name = &self.name;
        let in_text = |text: &str| {
            let long = text.replace(&*real.to_string_lossy(), name);
            long.replace(&*draft.to_string_lossy(), name)
        };
        for wrong in &mut self.diagnostics {
            wrong.file = Path::new(name).join(relative_name(draft, &wrong.file));
            wrong.message = in_text(&wrong.message);
            wrong.help = wrong.help.as_deref().map(in_text);
        }
        for item in self.sections.iter_mut().flat_map(|section| &mut section.items) {
            item.details.iter_mut().for_each(|line| *line = in_text(line));
        }
    }

    /// Returns all sections as lines of text, for a diff.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            for item in &section.items {
                text.push_str(&format!("{}: {}\n", section.title, item.text));
                item.details.iter().for_each(|line| text.push_str(&format!("{}:   {line}\n", section.title)));
            }
        }
        text
    }
}

/// Returns the hooks as items, adds the scripts that they run to the reviewed files, and says whether a hook may run
/// any file.
/// What a hook's own process may do.
fn confinement_detail(hook: &Hook) -> Option<String> {
    let confinement = hook.action.command()?.confinement.as_ref()?;
    Some(match confinement.origin {
        ConfinementOrigin::ExtensionDefault => {
            "may change only the extension's own folder, and reach no network".to_owned()
        }
        ConfinementOrigin::Declared => match confinement.profile.limits() {
            limits if limits.is_empty() => "may change everything and reach every host".to_owned(),
            limits => format!("is kept to: {}", limits.join("; ")),
        },
    })
}

fn hook_items(
    extension: &Extension,
    hooks: &[Hook],
    loaded: &LoadedConfig,
    reviewed: &mut BTreeMap<String, ReviewedContent>,
) -> (Vec<SummaryItem>, bool) {
    // The lookup of a hook's files depends on the extension that the hook belongs to.
    let mut with_it = loaded.clone();
    with_it.extensions.retain(|other| other.name != extension.name);
    with_it.extensions.push(extension.clone());
    let run = with_it.files_run_by_all(hooks);
    let any_may_run = run.iter().any(|run| !run.certain);
    let each = hooks.iter().zip(run).map(|(hook, run)| {
        let matcher = hook.matcher_text.as_deref().map(|text| format!(" ({text})")).unwrap_or_default();
        let name = hook.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let mut details = vec![format!("runs {}", hook.summary().unwrap_or_default())];
        let is_its_own = |path: &&Path| {
            let is_ours = INSTALLER_FILES.contains(&relative_name(&extension.path, path).as_str());
            path.is_file() && is_inside(&extension.path, path) && !is_ours
        };
        let mut scripts: Vec<&Path> = run.paths().filter(is_its_own).collect();
        scripts.sort();
        scripts.dedup();
        for script in scripts {
            details.push(format!("with {}", relative_name(&extension.path, script)));
            add_reviewed_file(reviewed, &extension.path, script);
        }
        if !run.certain {
            details.push("it is not known which files this runs; it may run any file of the extension".to_owned());
        }
        details.extend(confinement_detail(hook));
        SummaryItem { text: format!("{}{matcher}{name}", hook.event), details }
    });
    (each.collect(), any_may_run)
}

/// Returns the extension's files that are named in commands and arguments of its servers.
fn server_files(extension: &Extension, contents: &ExtensionContents) -> Vec<PathBuf> {
    let words = |server: &Value| -> Vec<String> {
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        args.chain(server.get("command")).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let of_agents = contents.agents.iter().flat_map(|agent| agent.named_servers.values());
    let all = extension.mcp_servers.values().chain(of_agents).flat_map(words);
    let all = all.map(|word| extension.path.join(extension.fill_placeholders(&word)));
    all.filter(|file| file.is_file() && is_inside(&extension.path, file)).collect()
}

/// Returns the servers of the extension and of its agents as items.
fn server_items(extension: &Extension, contents: &ExtensionContents) -> Vec<SummaryItem> {
    let own = extension.mcp_servers.iter().map(|(name, entry)| server_item(extension, name, entry));
    let of_agents = contents.agents.iter().flat_map(|agent| {
        agent.named_servers.iter().map(|(name, entry)| {
            let SummaryItem { text, mut details } = server_item(extension, name, entry);
            details.push(format!("only for agent {}", agent.name));
            SummaryItem { text, details }
        })
    });
    own.chain(of_agents).collect()
}

fn server_item(extension: &Extension, name: &str, server: &Value) -> SummaryItem {
    let path = extension.path.to_string_lossy();
    let plain = |value: &Value| {
        value.as_str().map_or_else(|| value.to_string(), |text| text.replace(&*path, "${extensionPath}"))
    };
    let text = |key: &str| server.get(key).map(&plain);
    let args: Vec<String> = server.get("args").and_then(Value::as_array).into_iter().flatten().map(&plain).collect();
    let what = match text("command") {
        Some(command) => std::iter::once(command).chain(args).collect::<Vec<_>>().join(" "),
        None => text("httpUrl").or(text("url")).unwrap_or_else(|| "neither a command nor an address".to_owned()),
    };
    let shown = ["command", "args", "httpUrl", "url", "description"];
    let rest = server.as_object().into_iter().flatten().filter(|(key, _)| !shown.contains(&key.as_str()));
    SummaryItem {
        text: format!("{name}: {what}"),
        details: rest.map(|(key, value)| format!("{key}: {}", plain(value))).collect(),
    }
}

fn setting_item(setting: &hookwright_settings::ExtensionSetting) -> SummaryItem {
    let secret = if setting.sensitive { ", a secret" } else { "" };
    SummaryItem::from(format!("{} ({}{secret})", setting.name, setting.variable))
}

/// Adds to the items of one kind those that are left out, with the reason.
fn with_rejected_items(
    extension: &Extension,
    contents: &ExtensionContents,
    folder: &Path,
    what: Vec<SummaryItem>,
) -> Vec<SummaryItem> {
    let wrong = contents.diagnostics.iter().filter(|wrong| wrong.severity == Severity::Error);
    let here = wrong.filter(|wrong| wrong.file.starts_with(folder));
    let left_out = here.map(|wrong| SummaryItem {
        text: format!("{} is left out", relative_name(&extension.path, &wrong.file)),
        details: vec![wrong.message.clone()],
    });
    what.into_iter().chain(left_out).collect()
}

/// Lists the files below a folder that have this file extension.
fn files_with_extension(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let all = list_files(folder).into_iter();
    all.filter(|file| file.extension().is_some_and(|end| end == ending)).map(|file| folder.join(file)).collect()
}

fn add_reviewed_file(reviewed: &mut BTreeMap<String, ReviewedContent>, root: &Path, file: &Path) {
    let name = relative_name(root, file);
    if file.is_file() && !INSTALLER_FILES.contains(&name.as_str()) {
        reviewed.insert(name, read_content(file));
    }
}

pub(crate) fn read_content(file: &Path) -> ReviewedContent {
    match hookwright_disk::read(file, MAX_TEXT_FILE_BYTES, hookwright_disk::SymlinkPolicy::Follow) {
        Ok(bytes) => String::from_utf8(bytes).map_or_else(|error| hash_bytes(error.as_bytes()), ReviewedContent::Text),
        Err(error) => hash_large_file(file).unwrap_or_else(|_| ReviewedContent::Opaque(error.to_string())),
    }
}

/// Hashes a file that is too large to show, so that changes are still noticed.
fn hash_large_file(file: &Path) -> std::io::Result<ReviewedContent> {
    let mut hash = Sha256::new();
    let size = std::io::copy(&mut std::fs::File::open(file)?, &mut HashWriter(&mut hash))?;
    Ok(opaque_content(size, hash))
}

fn hash_bytes(bytes: &[u8]) -> ReviewedContent {
    opaque_content(bytes.len() as u64, Sha256::new_with_prefix(bytes))
}

fn opaque_content(size: u64, hash: Sha256) -> ReviewedContent {
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    ReviewedContent::Opaque(format!("{size} bytes, sha256 {hash}"))
}

struct HashWriter<'h>(&'h mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn is_inside(root: &Path, path: &Path) -> bool {
    path.starts_with(root) || root.canonicalize().is_ok_and(|real| path.starts_with(real))
}

/// Returns a path relative to a folder, with slashes.
fn relative_name(root: &Path, path: &Path) -> String {
    let real = root.canonicalize();
    let short = path.strip_prefix(root).ok().or_else(|| path.strip_prefix(real.as_ref().ok()?).ok());
    short.unwrap_or(path).to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}
