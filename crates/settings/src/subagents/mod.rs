//! Finds the files that define sub-agents, and applies the settings for them. The agent crate runs them.

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

/// Largest definition file that is read.
const MAX_DEFINITION_BYTES: u64 = 256 << 10;
/// Most definition files that are read from a directory.
const MAX_DEFINITION_FILES: usize = 200;
/// Default limit of requests of an agent.
const DEFAULT_MAX_TURNS: u32 = 30;
/// Default limit of an agent's run time.
const DEFAULT_AGENT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The definition of a sub-agent, to which other agents can delegate.
#[derive(Clone, Debug, PartialEq)]
pub struct SubAgentDefinition {
    /// Name by which it is called.
    pub name: String,
    /// Name for display.
    pub display_name: Option<String>,
    pub description: String,
    /// Which of the session's tools it may use.
    pub tools: ToolList,
    /// Its model; the session's if not set.
    pub model: Option<String>,
    /// Sampling temperature; the provider's default if not set.
    pub temperature: Option<f64>,
    /// Most requests that it may make.
    pub max_turns: u32,
    /// Longest time that it may run.
    pub timeout: Duration,
    /// MCP servers that its file declares, converted to the keys of the settings.
    pub named_servers: Map<String, Value>,
    /// Those of them that are used; [`discover`] decides.
    pub servers: Vec<McpServer>,
    /// Its system prompt.
    pub prompt: String,
    /// Whether it can be called.
    pub enabled: bool,
    /// Layer or extension that defines it.
    pub source: Source,
    pub path: PathBuf,
}

impl SubAgentDefinition {
    /// Returns the name for display.
    pub fn title(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }
}

/// All sub-agents, and the problems of those that were left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubAgents {
    /// The agents, by name, including disabled ones.
    pub list: Vec<SubAgentDefinition>,
    /// Problems, and which of two agents with one name is used.
    pub diagnostics: Vec<Diagnostic>,
}

impl SubAgents {
    /// Returns the agent of this name, if it is enabled.
    pub fn get(&self, name: &str) -> Option<&SubAgentDefinition> {
        self.enabled().find(|agent| agent.name == name)
    }

    /// Returns the agents that can be called.
    pub fn enabled(&self) -> impl Iterator<Item = &SubAgentDefinition> {
        self.list.iter().filter(|agent| agent.enabled)
    }

    /// Adds the agents of a directory; names that are already taken are not replaced.
    fn add_directory(&mut self, source: &Source, directory: &Path) {
        for path in self.limited_definition_files(directory) {
            let Some(agent) = self.read_definition(source, directory, &path) else { continue };
            match self.list.iter().find(|known| known.name == agent.name) {
                None => self.list.push(agent),
                Some(first) => {
                    let text = format!(
                        "agent `{}` ({source}) is left out: {} ({}) has that name and takes precedence",
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

    /// Lists the definition files of a directory, up to the limit.
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

/// Lists the definition files of a directory in a stable order, without a limit.
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
        let text = format!("`agents.overrides.{name}` has no effect: there is no agent of that name");
        agents.diagnostics.push(Diagnostic::about_file(Severity::Warning, settings_file_naming(loaded, name), text));
    }
    agent_servers::resolve_servers(&mut agents, loaded);
    agents
}

/// Returns the settings file that names an agent.
fn settings_file_naming<'l>(loaded: &'l LoadedConfig, name: &str) -> &'l Path {
    let quoted = format!("\"{name}\"");
    let names_it = |file: &&SettingsFile| {
        let text = read_text(&file.path).ok().flatten().unwrap_or_default();
        file.state == SettingsFileState::Loaded && text.contains("overrides") && text.contains(&quoted)
    };
    loaded.files.iter().find(names_it).map_or(&loaded.paths.user_settings, |file| &file.path)
}

/// Finds the agents of the project, the user and active extensions, in this order of precedence.
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

/// Reads one definition file to check it.
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

/// Reads the sub-agents of one folder.
pub fn read_folder(directory: &Path, source: &Source) -> SubAgents {
    let mut agents = SubAgents::default();
    agents.add_directory(source, directory);
    agents
}

/// Reads the definitions of a folder, or a single file, to check them.
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

/// The settings `agents` and `experimental.enableAgents`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Whether sub-agents can be used at all.
    pub enabled: bool,
    /// Overrides by agent name.
    pub overrides: Map<String, Value>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        AgentSettings { enabled: true, overrides: Map::new() }
    }
}

impl AgentSettings {
    /// Applies the settings to a definition. An invalid value changes nothing.
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
        let temperature = at(&["modelConfig", "generateContentConfig", "temperature"]).and_then(Value::as_f64);
        agent.temperature = temperature
            .filter(|temperature| definition_reader::TEMPERATURE_RANGE.contains(temperature))
            .or(agent.temperature);
        if let Some(names) = at(&["tools"]).and_then(Value::as_array) {
            // A project may set this for the user's agents, so it can only remove tools.
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
