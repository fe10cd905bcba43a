//! Where things are on disk: the user's, the machine's and a project's files. Only names; reading them is others' work,
//! save for the table of project names that Gemini CLI keeps.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::connections;
use crate::file::read_text;
use crate::mcp;
use crate::process_env::ProcessEnv;

/// The directory that holds settings, in a home as in a project.
pub(crate) const GEMINI_DIR: &str = ".gemini";
/// The one that holds hooks for any agent.
const HOOKWRIGHT_DIR: &str = ".hookwright";
/// Claude Code's.
pub(crate) const CLAUDE_DIR: &str = ".claude";
/// The one that several agents share.
const AGENTS_DIR: &str = ".agents";

/// The places of the user's and the machine's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The home directory that counts: `$GEMINI_CLI_HOME`, else the user's.
    pub home: PathBuf,
    /// `~/.gemini`.
    pub user_dir: PathBuf,
    /// The user's settings.
    pub user_settings: PathBuf,
    /// The machine's settings.
    pub system_settings: PathBuf,
    /// Which folders the user trusts.
    pub trusted_folders: PathBuf,
    /// Which hooks the user has seen and trusts.
    pub trusted_hooks: PathBuf,
    /// Which guards each settings file held.
    pub known_guards: PathBuf,
    /// What the user has been told that projects bring.
    pub known_project_contents: PathBuf,
    /// What MCP servers gave out to be let in with.
    pub mcp_tokens: PathBuf,
    /// The services that the user connected for the model, with their keys.
    pub connections: PathBuf,
    /// The installed extensions.
    pub extensions: PathBuf,
    /// The user's custom commands.
    pub user_commands: PathBuf,
    /// What the program did, if the user wants that on record.
    pub log: PathBuf,
    /// What the bridge was asked by other agents, and what it answered.
    pub bridge_trace: PathBuf,
    /// Which files are just being written, for whoever clears up after a program that was killed.
    pub drafts: PathBuf,
    /// An empty directory, for hooks to run in that have no business in the folder.
    pub neutral_dir: PathBuf,
}

impl ConfigPaths {
    /// The places in that world.
    pub fn new(world: &ProcessEnv) -> Self {
        let home = world.non_empty_var("GEMINI_CLI_HOME").map(PathBuf::from).or_else(|| world.home.clone());
        // Without any home, one that is nowhere: its files are missing, which is fine.
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
            bridge_trace: user_dir.join("hookwright").join("bridge").join("trace.jsonl"),
            drafts: user_dir.join("hookwright").join("drafts"),
            neutral_dir: user_dir.join("hookwright").join("neutral"),
            user_dir,
            home,
        }
    }

    /// A project's settings.
    pub fn project_settings(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("settings.json")
    }

    /// Hooks for any agent, in a home as in a project.
    pub fn hookwright_hooks_file(&self, base: &Path) -> PathBuf {
        base.join(HOOKWRIGHT_DIR).join("hooks.json")
    }

    /// Claude Code's settings of a project.
    pub fn project_claude_settings(&self, project: &Path) -> [PathBuf; 2] {
        ["settings.json", "settings.local.json"].map(|file| project.join(CLAUDE_DIR).join(file))
    }

    /// Claude Code's settings of the user.
    pub fn user_claude_settings(&self) -> PathBuf {
        self.home.join(CLAUDE_DIR).join("settings.json")
    }

    /// A project's custom commands.
    pub fn project_commands(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("commands")
    }

    /// The user's sub-agents.
    pub fn user_agents(&self) -> PathBuf {
        self.user_dir.join("agents")
    }

    /// A project's sub-agents.
    pub fn project_agents(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("agents")
    }

    /// What says which extensions are switched on where.
    pub fn extension_enablement_file(&self) -> PathBuf {
        self.extensions.join(crate::extensions::ENABLEMENT_FILE)
    }

    /// The extensions that come with a project.
    pub fn project_extensions(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("extensions")
    }

    /// Where skills are, in a home as in a project: the later one's count.
    pub fn skills_dirs(&self, base: &Path) -> [PathBuf; 2] {
        [GEMINI_DIR, AGENTS_DIR].map(|directory| base.join(directory).join("skills"))
    }

    /// The user's policies.
    pub fn user_policies(&self) -> PathBuf {
        self.user_dir.join("policies")
    }

    /// The administrator's policies, beside the machine's settings.
    pub fn system_policies(&self) -> PathBuf {
        self.system_settings.with_file_name("policies")
    }

    /// A project's policies.
    pub fn project_policies(&self, project: &Path) -> PathBuf {
        project.join(GEMINI_DIR).join("policies")
    }

    /// Where a project's sessions and scratch files live, outside the project.
    ///
    /// Gemini CLI names these directories in a table; a project that stands in it keeps that name. Any other gets the
    /// hash of its path, which Gemini CLI takes over when it first meets the project.
    pub fn project_temp_dir(&self, project: &Path) -> PathBuf {
        let name = self
            .known_project_name(project)
            .unwrap_or_else(|| hex(&Sha256::digest(project.as_os_str().as_encoded_bytes())));
        self.user_dir.join("tmp").join(name)
    }

    /// A session's plans.
    pub fn plans_dir(&self, project: &Path, session_id: &str) -> PathBuf {
        self.project_temp_dir(project).join(session_id).join("plans")
    }

    /// A project's sessions.
    pub fn chats_dir(&self, project: &Path) -> PathBuf {
        self.project_temp_dir(project).join("chats")
    }

    /// What files of a project were before tools changed them. Not among the scratch files, which tools may change.
    pub fn checkpoints_dir(&self, project: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(project.as_os_str().as_encoded_bytes()));
        self.user_dir.join("hookwright").join("checkpoints").join(name)
    }

    /// What the user has allowed for good, as policies.
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
