//! What an extension brings, as a person reads it before saying yes: hooks with the scripts behind them, servers, tools taken
//! away, policies, context, commands, skills, agents, settings. As it is written: no value of anybody's is filled in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Hook, Severity};
use hookwright_settings::{Extension, Loaded};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::contents::Contents;
use crate::error::ExtensionError;
use crate::survey::files;

/// The largest file that is shown or compared as text.
const LARGEST_TEXT: u64 = 1 << 20;

/// Files that an installation makes, and no extension brings; the second holds the user's secrets.
pub(crate) const OURS: [&str; 2] = [".gemini-extension-install.json", ".env"];

/// Things of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What they are.
    pub title: &'static str,
    /// One each.
    pub items: Vec<Item>,
}

/// One thing that an extension brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is, on a line.
    pub text: String,
    /// More about it, a line each.
    pub details: Vec<String>,
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Item { text, details: Vec::new() }
    }
}

/// What an extension brings.
#[derive(Clone, Debug)]
pub struct Brings {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it brings; kinds of which there is nothing are left out.
    pub sections: Vec<Section>,
    /// What runs or decides: the hooks' declarations and scripts, policies, and what servers are started with, by their names from the extension.
    pub reviewed: BTreeMap<String, Content>,
    /// Whether a hook may run any of its files.
    pub any_may_run: bool,
    /// What its files come to.
    pub contents: Contents,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Something else, known by its size and hash.
    Other(String),
}

impl Brings {
    /// Looks at the extension in a folder, as a session with this configuration would have it.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(folder: &Path, loaded: &Loaded) -> Result<Brings, ExtensionError> {
        let mut diagnostics = Vec::new();
        let Some(extension) = Extension::as_written(folder, &loaded.project.root, &mut diagnostics) else {
            return Err(ExtensionError::NoManifest(diagnostics));
        };
        let declared = extension.declared();
        diagnostics.extend(declared.diagnostics.iter().cloned());
        let mut reviewed = BTreeMap::new();
        for file in extension.hooks_files() {
            add(&mut reviewed, &extension.path, &file);
        }
        let (hooks, any_may_run) = hooks(&extension, &declared.hooks, loaded, &mut reviewed);
        let contents = Contents::of(&extension, loaded);
        // Where an agent starts programs, its file is as much of a server as the manifest is.
        let serving = contents.agents.iter().filter(|agent| !agent.named_servers.is_empty());
        serving.for_each(|agent| add(&mut reviewed, &extension.path, &agent.path));
        servers_files(&extension, &contents).iter().for_each(|file| add(&mut reviewed, &extension.path, file));
        let policies = below(&extension.policies(), "toml");
        policies.iter().for_each(|file| add(&mut reviewed, &extension.path, file));
        diagnostics.extend(contents.diagnostics.iter().cloned());
        let names = |paths: Vec<PathBuf>| paths.iter().map(|path| Item::from(from(&extension.path, path))).collect();
        let counts = |folder: PathBuf, what: Vec<Item>| with_left_out(&extension, &contents, &folder, what);
        let commands = contents.commands.iter().map(|name| Item::from(format!("/{name}"))).collect();
        let skills = contents.skills.iter().map(|skill| skill.folder.clone()).collect();
        let agents = contents.agents.iter().map(|agent| agent.path.clone()).collect();
        let sections = [
            ("hooks", hooks),
            ("MCP servers", servers(&extension, &contents)),
            ("tools taken away", extension.exclude_tools.iter().cloned().map(Item::from).collect()),
            ("policies", names(policies)),
            ("context", names(extension.context_files.clone())),
            ("commands", counts(extension.commands(), commands)),
            ("skills", counts(extension.skills(), names(skills))),
            ("agents", counts(extension.agents(), names(agents))),
            ("settings", extension.settings.iter().map(setting).collect()),
        ];
        let sections = sections.map(|(title, items): (&'static str, Vec<Item>)| Section { title, items });
        Ok(Brings {
            sections: sections.into_iter().filter(|section| !section.items.is_empty()).collect(),
            name: extension.name,
            version: extension.version,
            description: extension.description,
            reviewed,
            any_may_run,
            contents,
            diagnostics,
        })
    }

    /// Says where things are by the extension's name, and not by the draft that it is in.
    pub(crate) fn by_name(&mut self, draft: &Path) {
        let real = draft.canonicalize().unwrap_or_else(|_| draft.to_owned());
        let name = &self.name;
        let in_text = |text: &str| {
            let long = text.replace(&*real.to_string_lossy(), name);
            long.replace(&*draft.to_string_lossy(), name)
        };
        for wrong in &mut self.diagnostics {
            wrong.file = Path::new(name).join(from(draft, &wrong.file));
            wrong.message = in_text(&wrong.message);
            wrong.help = wrong.help.as_deref().map(in_text);
        }
        for item in self.sections.iter_mut().flat_map(|section| &mut section.items) {
            item.details.iter_mut().for_each(|line| *line = in_text(line));
        }
    }

    /// Everything on lines, for comparing.
    pub(crate) fn sheet(&self) -> String {
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

/// The hooks, and the scripts that they run.
fn hooks(
    extension: &Extension,
    hooks: &[Hook],
    loaded: &Loaded,
    reviewed: &mut BTreeMap<String, Content>,
) -> (Vec<Item>, bool) {
    // Where its hooks' own files are looked for depends on whose they are.
    let mut with_it = loaded.clone();
    with_it.extensions.retain(|other| other.name != extension.name);
    with_it.extensions.push(extension.clone());
    let run = with_it.files_of_all(hooks);
    let any_may_run = run.iter().any(|run| !run.certain);
    let each = hooks.iter().zip(run).map(|(hook, run)| {
        let matcher = hook.matcher_text.as_deref().map(|text| format!(" ({text})")).unwrap_or_default();
        let name = hook.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let mut details = vec![format!("runs {}", hook.deed().unwrap_or_default())];
        let is_its_own = |path: &&Path| {
            let is_ours = OURS.contains(&from(&extension.path, path).as_str());
            path.is_file() && is_inside(&extension.path, path) && !is_ours
        };
        let mut scripts: Vec<&Path> = run.paths().filter(is_its_own).collect();
        scripts.sort();
        scripts.dedup();
        for script in scripts {
            details.push(format!("with {}", from(&extension.path, script)));
            add(reviewed, &extension.path, script);
        }
        if !run.certain {
            details.push("which files that runs can't be told; all of the extension's may be among them".to_owned());
        }
        Item { text: format!("{}{matcher}{name}", hook.event), details }
    });
    (each.collect(), any_may_run)
}

/// The files of its own that its servers are started with.
fn servers_files(extension: &Extension, contents: &Contents) -> Vec<PathBuf> {
    let words = |server: &Value| -> Vec<String> {
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        args.chain(server.get("command")).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let of_agents = contents.agents.iter().flat_map(|agent| agent.named_servers.values());
    let all = extension.mcp_servers.values().chain(of_agents).flat_map(words);
    let all = all.map(|word| extension.path.join(extension.filled(&word)));
    all.filter(|file| file.is_file() && is_inside(&extension.path, file)).collect()
}

/// Its servers, and those that its agents have for themselves.
fn servers(extension: &Extension, contents: &Contents) -> Vec<Item> {
    let own = extension.mcp_servers.iter().map(|(name, entry)| server(extension, name, entry));
    let of_agents = contents.agents.iter().flat_map(|agent| {
        agent.named_servers.iter().map(|(name, entry)| {
            let Item { text, mut details } = server(extension, name, entry);
            details.push(format!("for agent {} alone", agent.name));
            Item { text, details }
        })
    });
    own.chain(of_agents).collect()
}

fn server(extension: &Extension, name: &str, server: &Value) -> Item {
    let path = extension.path.to_string_lossy();
    let plain = |value: &Value| {
        value.as_str().map_or_else(|| value.to_string(), |text| text.replace(&*path, "${extensionPath}"))
    };
    let text = |key: &str| server.get(key).map(&plain);
    let args: Vec<String> = server.get("args").and_then(Value::as_array).into_iter().flatten().map(&plain).collect();
    let what = match text("command") {
        Some(command) => std::iter::once(command).chain(args).collect::<Vec<_>>().join(" "),
        None => text("httpUrl").or(text("url")).unwrap_or_else(|| "nothing that could be started".to_owned()),
    };
    let shown = ["command", "args", "httpUrl", "url", "description"];
    let rest = server.as_object().into_iter().flatten().filter(|(key, _)| !shown.contains(&key.as_str()));
    Item {
        text: format!("{name}: {what}"),
        details: rest.map(|(key, value)| format!("{key}: {}", plain(value))).collect(),
    }
}

fn setting(setting: &hookwright_settings::OwnSetting) -> Item {
    let secret = if setting.sensitive { ", a secret" } else { "" };
    Item::from(format!("{} ({}{secret})", setting.name, setting.variable))
}

/// What counts of a kind, and what is left out of it, with the reason.
fn with_left_out(extension: &Extension, contents: &Contents, folder: &Path, what: Vec<Item>) -> Vec<Item> {
    let wrong = contents.diagnostics.iter().filter(|wrong| wrong.severity == Severity::Error);
    let here = wrong.filter(|wrong| wrong.file.starts_with(folder));
    let left_out = here.map(|wrong| Item {
        text: format!("{} does not count", from(&extension.path, &wrong.file)),
        details: vec![wrong.message.clone()],
    });
    what.into_iter().chain(left_out).collect()
}

/// The files of a kind below a folder.
fn below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let all = files(folder).into_iter();
    all.filter(|file| file.extension().is_some_and(|end| end == ending)).map(|file| folder.join(file)).collect()
}

fn add(reviewed: &mut BTreeMap<String, Content>, root: &Path, file: &Path) {
    let name = from(root, file);
    if file.is_file() && !OURS.contains(&name.as_str()) {
        reviewed.insert(name, content(file));
    }
}

pub(crate) fn content(file: &Path) -> Content {
    match hookwright_disk::read(file, LARGEST_TEXT, hookwright_disk::Links::Follow) {
        Ok(bytes) => String::from_utf8(bytes).map_or_else(|error| other(error.as_bytes()), Content::Text),
        Err(error) => large(file).unwrap_or_else(|_| Content::Other(error.to_string())),
    }
}

/// A file that is too large to be shown is still told from another.
fn large(file: &Path) -> std::io::Result<Content> {
    let mut hash = Sha256::new();
    let size = std::io::copy(&mut std::fs::File::open(file)?, &mut Hashing(&mut hash))?;
    Ok(known_by(size, hash))
}

fn other(bytes: &[u8]) -> Content {
    known_by(bytes.len() as u64, Sha256::new_with_prefix(bytes))
}

fn known_by(size: u64, hash: Sha256) -> Content {
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Content::Other(format!("{size} bytes, sha256 {hash}"))
}

struct Hashing<'h>(&'h mut Sha256);

impl std::io::Write for Hashing<'_> {
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

/// A file's name from a folder, with slashes.
fn from(root: &Path, path: &Path) -> String {
    let real = root.canonicalize();
    let short = path.strip_prefix(root).ok().or_else(|| path.strip_prefix(real.as_ref().ok()?).ok());
    short.unwrap_or(path).to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}
