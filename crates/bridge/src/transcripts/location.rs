//! The directories in which agents keep their transcripts, by the user's home and the variables that move them.

use std::path::{Path, PathBuf};

use hookwright_settings::{ConfigPaths, ProcessEnv};

use crate::host::Host;

/// The agents whose transcripts can be read.
pub const TRANSCRIPT_HOSTS: [Host; 6] =
    [Host::ClaudeCode, Host::Codex, Host::Copilot, Host::Qwen, Host::GeminiCli, Host::Opencode];

/// The place of an agent's transcripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptLocation {
    /// The agent.
    pub agent: Host,
    /// The directories that are searched, and for a database the directory that holds it.
    pub directories: Vec<PathBuf>,
    /// A database that a variable names.
    pub database: Option<PathBuf>,
}

/// Returns where an agent keeps its transcripts; `None` for an agent whose transcripts can't be read.
pub fn transcript_location(agent: Host, world: &ProcessEnv) -> Option<TranscriptLocation> {
    let named = |variable: &str| {
        let path = world.var_os(variable).filter(|value| !value.is_empty())?;
        Some(world.cwd.join(expand_home(Path::new(path), world)))
    };
    let in_home = |path: &str| world.home.as_ref().map(|home| home.join(path));
    let below = |root: Option<PathBuf>, names: &[&str]| -> Vec<PathBuf> {
        root.iter().flat_map(|root| names.iter().map(|name| root.join(name))).collect()
    };
    let mut database = None;
    let directories = match agent {
        Host::ClaudeCode => below(named("CLAUDE_CONFIG_DIR").or_else(|| in_home(".claude")), &["projects"]),
        Host::Codex => below(named("CODEX_HOME").or_else(|| in_home(".codex")), &["sessions", "archived_sessions"]),
        Host::Copilot => below(named("COPILOT_HOME").or_else(|| in_home(".copilot")), &["session-state"]),
        Host::Qwen => {
            let home = named("QWEN_HOME").or_else(|| in_home(".qwen"));
            below(named("QWEN_RUNTIME_DIR").or(home), &["projects"])
        }
        Host::GeminiCli => below(Some(ConfigPaths::new(world).user_dir), &["tmp"]),
        Host::Opencode => {
            let data = named("XDG_DATA_HOME").or_else(|| in_home(".local/share")).map(|data| data.join("opencode"));
            let file = world.var_os("OPENCODE_DB").filter(|file| !file.is_empty() && *file != ":memory:");
            database = file.zip(data.as_ref()).map(|(file, data)| data.join(file));
            data.into_iter().collect()
        }
        Host::Cursor | Host::Droid | Host::Grok | Host::Antigravity | Host::Acp => return None,
    };
    Some(TranscriptLocation { agent, directories, database })
}

/// Returns a path with the user's home in the place of a leading `~`.
fn expand_home(path: &Path, world: &ProcessEnv) -> PathBuf {
    match (path.strip_prefix("~"), &world.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Returns how a file is read, by its path below one of the agent's directories; `None` if it is no transcript.
pub(super) fn classify_file(agent: Host, path: &Path) -> Option<TranscriptFileKind> {
    let name = path.file_name()?.to_str()?;
    let folder = |up: usize| path.ancestors().nth(up)?.file_name()?.to_str();
    let is_lines = name.ends_with(".jsonl");
    match agent {
        Host::ClaudeCode => is_lines.then_some(TranscriptFileKind::Lines),
        Host::Codex if name.starts_with("rollout-") && name.ends_with(".jsonl.zst") => {
            Some(TranscriptFileKind::CompressedLines)
        }
        Host::Codex => (is_lines && name.starts_with("rollout-")).then_some(TranscriptFileKind::Lines),
        Host::Copilot => (name == "events.jsonl" || is_lines && folder(1) == Some("session-state"))
            .then_some(TranscriptFileKind::Lines),
        Host::Qwen => (is_lines && (folder(1) == Some("chats") || folder(2) == Some("subagents")))
            .then_some(TranscriptFileKind::Lines),
        Host::GeminiCli if folder(1) != Some("chats") && folder(2) != Some("chats") => None,
        Host::GeminiCli if is_lines => Some(TranscriptFileKind::Lines),
        Host::GeminiCli => {
            (name.starts_with("session-") && name.ends_with(".json")).then_some(TranscriptFileKind::Document)
        }
        Host::Opencode if name.starts_with("opencode") && name.ends_with(".db") => Some(TranscriptFileKind::Database),
        Host::Opencode => {
            (name.ends_with(".json") && folder(2) == Some("part")).then_some(TranscriptFileKind::Document)
        }
        Host::Cursor | Host::Droid | Host::Grok | Host::Antigravity | Host::Acp => None,
    }
}

/// How a transcript is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TranscriptFileKind {
    /// One JSON value per line.
    Lines,
    /// One JSON document.
    Document,
    /// A SQLite database.
    Database,
    /// One JSON value per line, compressed with zstd.
    CompressedLines,
}

/// Returns whether a directory can hold transcripts of an agent. Others can be large: checkpoints, caches, copies of
/// repositories.
pub(super) fn is_searched(agent: Host, root: &Path, directory: &Path) -> bool {
    let Ok(below) = directory.strip_prefix(root) else { return false };
    let names: Vec<&str> = below.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    match (agent, names.as_slice()) {
        (_, []) => true,
        // Results of calls that were too large for a line.
        (Host::ClaudeCode, [_, .., last]) => *last != "tool-results" && *last != "memory",
        (Host::GeminiCli, [_] | [_, "chats"] | [_, "chats", _]) => true,
        (Host::Qwen, [_] | [_, "chats"] | [_, "subagents"] | [_, "subagents", _]) => true,
        (Host::Copilot, [_]) => true,
        (Host::Opencode, ["storage"] | ["storage", "part"] | ["storage", "part", _]) => true,
        (Host::GeminiCli | Host::Qwen | Host::Copilot | Host::Opencode, _) => false,
        _ => true,
    }
}
