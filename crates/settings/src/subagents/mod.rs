//! Sub-agents: the files that define them, by name, and what settings say about them. Running one is the agent's work.

mod agent_servers;
mod definition_reader;
mod tool_list;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_hooks::{Diagnostic, Severity, Source};
use serde_json::{Map, Value};

use crate::extensions::Extension;
use crate::file::{read_text, read_text_up_to, resolves_inside};
use crate::load::{LoadedConfig, ProjectFolder, SettingsFile, SettingsFileState};
use crate::mcp::McpServer;
use crate::paths::{ConfigPaths, GEMINI_DIR};
pub use tool_list::ToolList;

/// A definition is a page or two; a larger file is a mistake or an attack.
const MAX_DEFINITION_BYTES: u64 = 256 << 10;
/// More of them nobody chooses from.
const MAX_DEFINITION_FILES: usize = 200;
/// How many requests an agent may make where nobody says otherwise.
const DEFAULT_MAX_TURNS: u32 = 30;
/// How long it may take where nobody says otherwise.
const DEFAULT_AGENT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// An agent that others can give an objective to.
#[derive(Clone, Debug, PartialEq)]
pub struct SubAgentDefinition {
    /// What it is called by.
    pub name: String,
    /// What people read instead.
    pub display_name: Option<String>,
    /// What it is for.
    pub description: String,
    /// Which of the session's tools it has.
    pub tools: ToolList,
    /// The model that it asks; the session's if not set.
    pub model: Option<String>,
    /// How free its answers are; the provider's default if not set.
    pub temperature: Option<f64>,
    /// How many requests it may make.
    pub max_turns: u32,
    /// How long it may take.
    pub timeout: Duration,
    /// MCP servers that it alone has, as its file names them, in the words of settings.
    pub named_servers: Map<String, Value>,
    /// Those of them that count here; [`discover`] decides.
    pub servers: Vec<McpServer>,
    /// Its system prompt.
    pub prompt: String,
    /// Whether it can be called.
    pub enabled: bool,
    /// Whose it is.
    pub source: Source,
    /// Its file.
    pub path: PathBuf,
}

impl SubAgentDefinition {
    /// Its name for people.
    pub fn title(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }
}

/// All sub-agents, by name, and what is wrong with those that are missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubAgents {
    /// The agents, by name; those that are switched off too.
    pub list: Vec<SubAgentDefinition>,
    /// What is wrong, and which of two with one name counts.
    pub diagnostics: Vec<Diagnostic>,
}

impl SubAgents {
    /// The agent of this name, if it can be called.
    pub fn get(&self, name: &str) -> Option<&SubAgentDefinition> {
        self.enabled().find(|agent| agent.name == name)
    }

    /// Those that can be called.
    pub fn enabled(&self) -> impl Iterator<Item = &SubAgentDefinition> {
        self.list.iter().filter(|agent| agent.enabled)
    }

    /// Adds those of a directory. Names that are taken stay with whom they are.
    fn add_directory(&mut self, source: &Source, directory: &Path) {
        for path in self.limited_definition_files(directory) {
            let Some(agent) = self.read_definition(source, directory, &path) else { continue };
            match self.list.iter().find(|known| known.name == agent.name) {
                None => self.list.push(agent),
                Some(first) => {
                    let text = format!(
                        "agent `{}` ({source}) is left out: {} ({}) has that name and goes before it",
                        agent.name,
                        first.path.display(),
                        first.source
                    );
                    let wrong = Diagnostic::about_file(Severity::Warning, &path, text);
                    self.diagnostics.push(wrong.help("give one of them another name"));
                }
            }
        }
    }

    /// The files of a directory that define agents; of too many, the first.
    fn limited_definition_files(&mut self, directory: &Path) -> Vec<PathBuf> {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                if directory.symlink_metadata().is_ok() {
                    let text = format!("the agents here cannot be read: {error}");
                    self.diagnostics.push(Diagnostic::about_file(Severity::Error, directory, text));
                }
                return Vec::new();
            }
        };
        let mut files = filter_definition_files(entries);
        if files.len() > MAX_DEFINITION_FILES {
            let text = format!("there are {} files here; only the first {MAX_DEFINITION_FILES} are read", files.len());
            self.diagnostics.push(Diagnostic::about_file(Severity::Warning, directory, text));
            files.truncate(MAX_DEFINITION_FILES);
        }
        files
    }

    fn read_definition(&mut self, source: &Source, directory: &Path, path: &Path) -> Option<SubAgentDefinition> {
        let inner = path.strip_prefix(directory).unwrap_or(path);
        if !resolves_inside(directory, inner) {
            let text = "this agent is left out: it is a link that leads out of its folder";
            let wrong = Diagnostic::about_file(Severity::Error, path, text.to_owned());
            self.diagnostics.push(wrong.help("put a copy in its place"));
            return None;
        }
        match read_text_up_to(path, MAX_DEFINITION_BYTES) {
            Ok(text) => definition_reader::parse_definition(source, path, &text?, &mut self.diagnostics),
            Err(error) => {
                self.diagnostics.push(error.diagnostic());
                None
            }
        }
    }
}

/// The files of a directory that define agents, in a stable order, however many there are.
pub(crate) fn definition_files(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).map(filter_definition_files).unwrap_or_default()
}

fn filter_definition_files(entries: std::fs::ReadDir) -> Vec<PathBuf> {
    let is_definition = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".md") && !name.starts_with(['_', '.'])
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_definition).collect();
    files.sort();
    files
}

/// Finds the sub-agents of a configuration.
pub fn discover(loaded: &LoadedConfig) -> SubAgents {
    if !loaded.settings.agents.enabled {
        return SubAgents::default();
    }
    let mut agents = find_agents(&loaded.paths, &loaded.project, &loaded.extensions);
    let SubAgents { list, diagnostics } = &mut agents;
    list.retain(|agent| match loaded.held_instruction(&agent.path) {
        Some(why) => {
            diagnostics.push(Diagnostic::about_file(Severity::Warning, &agent.path, why));
            false
        }
        None => true,
    });
    for agent in &mut agents.list {
        loaded.settings.agents.apply_overrides(agent);
        if loaded.settings.agents.overrides_servers(&agent.name) {
            let text = format!("`agents.overrides.{}.mcpServers` starts no server", agent.name);
            let wrong = Diagnostic::about_file(Severity::Warning, &agent.path, text);
            agents.diagnostics.push(wrong.help("name them under `mcp_servers` in the agent's own file"));
        }
    }
    let missing = loaded.settings.agents.overrides.keys();
    for name in missing.filter(|name| !agents.list.iter().any(|agent| agent.name == **name)) {
        let text = format!("`agents.overrides.{name}` changes nothing: no agent of that name is here");
        agents.diagnostics.push(Diagnostic::about_file(Severity::Warning, settings_file_naming(loaded, name), text));
    }
    agent_servers::resolve_servers(&mut agents, loaded);
    agents
}

/// The settings file that names an agent.
fn settings_file_naming<'l>(loaded: &'l LoadedConfig, name: &str) -> &'l Path {
    let quoted = format!("\"{name}\"");
    let names_it = |file: &&SettingsFile| {
        let text = read_text(&file.path).ok().flatten().unwrap_or_default();
        file.state == SettingsFileState::Loaded && text.contains("overrides") && text.contains(&quoted)
    };
    loaded.files.iter().find(names_it).map_or(&loaded.paths.user_settings, |file| &file.path)
}

/// The project's, the user's and those of active extensions, in this order.
fn find_agents(paths: &ConfigPaths, project: &ProjectFolder, extensions: &[Extension]) -> SubAgents {
    let mut agents = SubAgents::default();
    if project.trust.is_trusted() && project.root.join(GEMINI_DIR) != paths.user_dir {
        agents.add_directory(&Source::Project, &paths.project_agents(&project.root));
    }
    agents.add_directory(&Source::User, &paths.user_agents());
    for extension in extensions.iter().filter(|extension| extension.active) {
        agents.add_directory(&Source::Extension(extension.name.clone()), &extension.agents_dir());
    }
    agents.list.sort_by(|one, other| one.name.cmp(&other.name));
    agents
}

/// Reads one definition wherever it is, for who wants to know whether it would do.
///
/// # Errors
/// If the file cannot be read.
pub fn check_definition(path: &Path) -> Result<(Option<SubAgentDefinition>, Vec<Diagnostic>), crate::FileError> {
    let mut diagnostics = Vec::new();
    let missing = || crate::FileError::Unreadable {
        path: path.to_owned(),
        cause: std::io::Error::from(std::io::ErrorKind::NotFound),
    };
    let text = read_text_up_to(path, MAX_DEFINITION_BYTES)?.ok_or_else(missing)?;
    let agent = definition_reader::parse_definition(&Source::Project, path, &text, &mut diagnostics);
    Ok((agent, diagnostics))
}

/// The sub-agents of one folder.
pub fn read_folder(directory: &Path, source: &Source) -> SubAgents {
    let mut agents = SubAgents::default();
    agents.add_directory(source, directory);
    agents
}

/// Reads the definitions of a folder, or the one that a file is, for who wants to know whether they would do.
pub fn read_path(path: &Path) -> SubAgents {
    if path.is_dir() {
        return read_folder(path, &Source::Project);
    }
    let mut agents = SubAgents::default();
    match check_definition(path) {
        Ok((agent, diagnostics)) => agents = SubAgents { list: agent.into_iter().collect(), diagnostics },
        Err(error) => agents.diagnostics.push(error.diagnostic()),
    }
    agents
}

/// `agents` and `experimental.enableAgents`: what settings say of sub-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Whether there are any.
    pub enabled: bool,
    /// What is changed about each, by name.
    pub overrides: Map<String, Value>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings { enabled: true, overrides: Map::new() }
    }
}

impl AgentSettings {
    /// Lays the settings' word over a definition. A value that makes no sense leaves it as it was.
    fn apply_overrides(&self, agent: &mut SubAgentDefinition) {
        let Some(over) = self.overrides.get(&agent.name) else { return };
        let at = |path: &[&str]| path.iter().try_fold(over, |value, key| value.get(key));
        let count = |path: &[&str]| at(path).and_then(Value::as_u64).filter(|count| *count > 0);
        if let Some(enabled) = at(&["enabled"]).and_then(Value::as_bool) {
            agent.enabled = enabled;
        }
        if let Some(turns) = count(&["runConfig", "maxTurns"]) {
            agent.max_turns = u32::try_from(turns).unwrap_or(u32::MAX);
        }
        if let Some(minutes) = count(&["runConfig", "maxTimeMinutes"]) {
            agent.timeout = definition_reader::clamped_minutes(minutes);
        }
        if let Some(model) = at(&["modelConfig", "model"]).and_then(Value::as_str) {
            agent.model = definition_reader::model_override(model);
        }
        let heat = at(&["modelConfig", "generateContentConfig", "temperature"]).and_then(Value::as_f64);
        agent.temperature =
            heat.filter(|heat| definition_reader::TEMPERATURE_RANGE.contains(heat)).or(agent.temperature);
        if let Some(names) = at(&["tools"]).and_then(Value::as_array) {
            // A project may say this of the user's agents: it takes away, and gives nothing.
            let list = ToolList::from_names(names.iter().filter_map(Value::as_str));
            agent.tools = std::mem::take(&mut agent.tools).intersected_with(list);
        }
    }

    fn overrides_servers(&self, name: &str) -> bool {
        let servers = self.overrides.get(name).and_then(|over| over.get("mcpServers")?.as_object());
        servers.is_some_and(|servers| !servers.is_empty())
    }
}

#[cfg(test)]
mod tests;
