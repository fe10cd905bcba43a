//! Paths of the user's, the system's and a project's files. Nothing is read here but Gemini CLI's table of project
//! names.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::connections;
use crate::file::read_text;
use crate::mcp;
use crate::process_env::ProcessEnv;

/// Settings directory, in a home and in a project.
pub(crate) const GEMINI_DIR: &str = ".gemini";
/// Directory of hooks for any agent.
const HOOKWRIGHT_DIR: &str = ".hookwright";
/// Claude Code's settings directory.
pub(crate) const CLAUDE_DIR: &str = ".claude";
/// Directory that several agents share.
const AGENTS_DIR: &str = ".agents";

/// Paths of the user's and the system's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The home directory: `$GEMINI_CLI_HOME`, else the user's.
    pub home: PathBuf,
    /// The directory `~/.gemini`.
    pub user_dir: PathBuf,
    /// The user's settings file.
    pub user_settings: PathBuf,
    /// The system's settings file.
    pub system_settings: PathBuf,
    /// File of the folders that the user trusts.
    pub trusted_folders: PathBuf,
    /// File of the hooks that the user has seen and trusts.
    pub trusted_hooks: PathBuf,
    /// File of the guards that each settings file declared.
    pub known_guards: PathBuf,
    /// File of the project contents that the user has been told about.
    pub known_project_contents: PathBuf,
    /// File of OAuth tokens for MCP servers.
    pub mcp_tokens: PathBuf,
    /// File of model services that the user connected, with their keys.
    pub connections: PathBuf,
    /// Directory of the installed extensions.
    pub extensions: PathBuf,
    /// Directory of the user's custom commands.
    pub user_commands: PathBuf,
    /// The program's log file, if the user wants one.
    pub log: PathBuf,
    /// Directory of the record of what hooks decide.
    pub journal: PathBuf,
    /// File that lists temporary files of running writes, for cleaning up after a killed process.
    pub drafts: PathBuf,
    /// An empty directory, as working directory for hooks in a folder that is not trusted.
    pub neutral_dir: PathBuf,
}

impl ConfigPaths {
    /// Returns the paths for a process environment.
    pub fn new(world: &ProcessEnv) -> Self {
        let home = world.non_empty_var("GEMINI_CLI_HOME").map(PathBuf::from).or_else(|| world.home.clone());
        // Without a home, a path that does not exist is used: its files are missing, which is no error.
        let home = world.cwd.join(home.unwrap_or_else(|| PathBuf::from("/nonexistent")));
        let user_dir = home.join(GEMINI_DIR);
        let named = |variable: &str| world.non_empty_var(variable).map(|path| world.cwd.join(path));
        ConfigPaths {
            user_settings: user_dir.join("settings.json"),
            system_settings: named("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
                .unwrap_or_else(|| system_dir(world).join("settings.json")),
            trusted_folders: named("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
                .unwrap_or_else(|| user_dir.join("trustedFolders.json")),
            trusted_hooks: user_dir.join("trusted_hooks.json"),
            known_guards: user_dir.join("known_guards.json"),
            known_project_contents: user_dir.join("known_offers.json"),
            mcp_tokens: user_dir.join(mcp::TOKENS_FILE),
            connections: user_dir.join("hookwright").join(connections::CONNECTIONS_FILE),
            extensions: user_dir.join("extensions"),
            user_commands: user_dir.join("commands"),
            log: user_dir.join("hookwright").join("logs").join("hookwright.log"),
            journal: user_dir.join("hookwright").join("journal"),
            drafts: user_dir.join("hookwright").join("drafts"),
            neutral_dir: user_dir.join("hookwright").join("neutral"),
            user_dir,
            home,
        }
    }

    /// Returns the path of a project's settings file.
    pub fn project_settings(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("settings.json")
    }

    /// Returns the path of the hooks file for any agent, in a home or a project.
    pub fn hookwright_hooks_file(&self, base: &Path) -> PathBuf {
        base.join(HOOKWRIGHT_DIR).join("hooks.json")
    }

    /// Returns the path of the machine's hooks for any agent.
    pub fn system_hooks_file(&self) -> PathBuf {
        self.system_settings.with_file_name("hookwright").join("hooks.json")
    }

    /// Returns the paths of Claude Code's settings in a project.
    pub fn project_claude_settings(&self, project: &Path) -> [PathBuf; 2] {
        ["settings.json", "settings.local.json"].map(|file| project.join(CLAUDE_DIR).join(file))
    }

    /// Returns the path of the user's Claude Code settings.
    pub fn user_claude_settings(&self) -> PathBuf {
        self.home.join(CLAUDE_DIR).join("settings.json")
    }

    /// Returns the directory of a project's custom commands.
    pub fn project_commands(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("commands")
    }

    /// Returns the directory of the user's sub-agents.
    pub fn user_agents(&self) -> PathBuf {
        self.user_dir.join("agents")
    }

    /// Returns the directory of a project's sub-agents.
    pub fn project_agents(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("agents")
    }

    /// Returns the path of the rules on where extensions are enabled.
    pub fn extension_enablement_file(&self) -> PathBuf {
        self.extensions.join(crate::extensions::ENABLEMENT_FILE)
    }

    /// Returns the directory of a project's own extensions.
    pub fn project_extensions(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("extensions")
    }

    /// Returns the skill directories of a home or a project; skills in the later one have precedence.
    pub fn skills_dirs(&self, base: &Path) -> [PathBuf; 2] {
        [GEMINI_DIR, AGENTS_DIR].map(|directory| base.join(directory).join("skills"))
    }

    /// Returns the directory of the user's policies.
    pub fn user_policies(&self) -> PathBuf {
        self.user_dir.join("policies")
    }

    /// Returns the directory of the administrator's policies, beside the system's settings.
    pub fn system_policies(&self) -> PathBuf {
        self.system_settings.with_file_name("policies")
    }

    /// Returns the directory of a project's policies.
    pub fn project_policies(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("policies")
    }

    /// Returns the directory of a project's sessions and scratch files, outside of the project.
    ///
    /// Gemini CLI names these directories in a table; a project in the table keeps that name. Any other gets the hash
    /// of its path, which Gemini CLI adopts when it first opens the project.
    pub fn project_temp_dir(&self, project: &Path) -> PathBuf {
        let name = self
            .known_project_name(project)
            .unwrap_or_else(|| hex(&Sha256::digest(project.as_os_str().as_encoded_bytes())));
        self.user_dir.join("tmp").join(name)
    }

    /// Returns the directory of a session's plans.
    pub fn plans_dir(&self, project: &Path, session_id: &str) -> PathBuf {
        self.project_temp_dir(project).join(session_id).join("plans")
    }

    /// Returns the directory of a project's sessions.
    pub fn chats_dir(&self, project: &Path) -> PathBuf {
        self.project_temp_dir(project).join("chats")
    }

    /// Returns the directory of checkpoints, which hold a project's files as they were before tools changed them. It
    /// is not among the scratch files, which tools may change.
    pub fn checkpoints_dir(&self, project: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(project.as_os_str().as_encoded_bytes()));
        self.user_dir.join("hookwright").join("checkpoints").join(name)
    }

    /// Returns the directory of policies for calls that the user allowed permanently.
    pub fn remembered_policies(&self) -> PathBuf {
        self.user_dir.join("hookwright").join("policies")
    }

    fn known_project_name(&self, project: &Path) -> Option<String> {
        let text = read_text(&self.user_dir.join("projects.json")).ok()??;
        let table: serde_json::Value = serde_json::from_str(&text).ok()?;
        let name = table.get("projects")?.get(project.to_str()?)?.as_str()?;
        let plain = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
        plain.then(|| name.to_owned())
    }
}

fn system_dir(world: &ProcessEnv) -> PathBuf {
    if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/GeminiCli")
    } else if cfg!(windows) {
        PathBuf::from(world.non_empty_var("ProgramData").unwrap_or("C:\\ProgramData")).join("gemini-cli")
    } else {
        PathBuf::from("/etc/gemini-cli")
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        text
    })
}
