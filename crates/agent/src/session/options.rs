//! What a session is started with, beyond what the settings say, and what can keep it from starting.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_hooks::UnarmedGuard;
use hookwright_model::{ModelError, ReplayError, ReplayOrder};
use hookwright_settings::{
    ApprovalMode, ExtensionChoice, LoadOptions, LoadedConfig, ModelConnection, ProcessEnv, TrustOverride, load,
};
use hookwright_tools::{ConsoleHost, WorkspaceError};

use super::guard_readiness;
use crate::policy::PolicyError;
use crate::services::Interaction;
use crate::transcript::{SessionFindError, TranscriptError};

/// What the command line, or whoever embeds the agent, says about a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Whether there is somebody to ask.
    pub interaction: Interaction,
    /// Whether the folder's trust is asked for.
    pub trust: TrustOverride,
    /// Which extensions are active.
    pub extensions: ExtensionChoice,
    /// The only MCP servers that count, if some are named.
    pub mcp_servers: Option<Vec<String>>,
    /// Whether hooks run.
    pub hooks: HookUse,
    /// What happens where a settings file can't be read.
    pub broken_settings: BrokenSettingsPolicy,
    /// What happens where a guard would not do its work.
    pub unarmed_guards: UnarmedGuardsPolicy,
    /// The model to ask.
    pub model: Option<String>,
    /// The service that the user chose in the session itself, before all that is known otherwise.
    pub connection: Option<ModelConnection>,
    /// A file that answers in a model's place.
    pub replay: Option<(PathBuf, ReplayOrder)>,
    /// A file to record the model's answers into.
    pub record: Option<PathBuf>,
    /// Which tool calls run unasked.
    pub approval_mode: Option<ApprovalMode>,
    /// Tools that run unasked.
    pub allowed_tools: Vec<String>,
    /// Files of rules.
    pub policies: Vec<PathBuf>,
    /// More directories that tools may work in.
    pub include_directories: Vec<PathBuf>,
    /// The earlier session to go on with.
    pub resume: Option<String>,
    /// The new session's id.
    pub session_id: Option<String>,
    /// Whether files are kept before tools change them, whatever the settings say.
    pub checkpointing: bool,
    /// Where the program's log is, for whoever asks.
    pub log: Option<PathBuf>,
    /// Who shows what commands draw on a terminal; without it they have none.
    pub consoles: Option<Arc<dyn ConsoleHost>>,
}

/// Whether hooks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookUse {
    /// They do.
    #[default]
    On,
    /// None of them does.
    Off,
}

/// What happens where a settings file can't be read: it could hold guards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenSettingsPolicy {
    /// The session does not start.
    #[default]
    Refuse,
    /// It starts without the file; nothing runs unasked that would not by default.
    Continue,
}

/// What happens where a guard would not do its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnarmedGuardsPolicy {
    /// The session does not start.
    #[default]
    Refuse,
    /// A person wants it to start; nothing runs unasked that would not by default.
    Continue,
}

impl SessionOptions {
    /// The configuration of the project in the working directory.
    ///
    /// # Errors
    /// If the working directory is gone.
    pub fn load(&self, world: &ProcessEnv) -> Result<LoadedConfig, SessionError> {
        let project = world.cwd.canonicalize().map_err(SessionError::NoDirectory)?;
        let (extensions, mcp_servers) = (self.extensions.clone(), self.mcp_servers.clone());
        Ok(load(world, &LoadOptions { project, trust: self.trust, extensions, mcp_servers }))
    }
}

/// A session that cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is nothing to work in.
    #[error("the working directory is gone")]
    NoDirectory(#[source] std::io::Error),
    /// The id is taken.
    #[error("there is a session {0} already")]
    Exists(String),
    /// There is no such session.
    #[error(transparent)]
    Find(#[from] SessionFindError),
    /// Its transcript cannot be read or made.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The file of answers cannot be used.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Nobody said which model.
    #[error("which model?")]
    NoModelName,
    /// A policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The directories for tools cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A settings file could hold guards, and nobody can tell.
    #[error("{} can't be read as settings, so guards in it would be off", .0.display())]
    BrokenSettings(PathBuf),
    /// Guards would not do their work.
    #[error("{}", guard_readiness::unarmed_text(.0))]
    Unguarded(Vec<UnarmedGuard>),
    /// An agent changed what guards are made of, and nobody has trusted it.
    #[error("an agent changed {}, and nobody has trusted that yet", join_paths(.0))]
    GuardsChanged(Vec<PathBuf>),
    /// Nobody can tell what agents changed of the guards, nor could tell what this one changes.
    #[error("{}, where it is kept what agents changed of the guards, can't be used: {why}", .folder.display())]
    NoLedger {
        /// The folder.
        folder: PathBuf,
        /// Why it can't be used.
        why: String,
    },
    /// The settings enforce another way to authenticate.
    #[error(transparent)]
    AuthType(#[from] AuthTypeError),
    /// The settings forbid it.
    #[error("the settings forbid running every tool unasked (security.disableYoloMode)")]
    YoloForbidden,
}

/// An authentication that `security.auth.enforcedType` forbids. Scripts look for the words in quotes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthTypeError {
    /// The connection, or the environment, stands for another type.
    #[error(
        "The enforced authentication type is '{enforced}', but the current type is '{current}'. Authenticate with the enforced type."
    )]
    Mismatch {
        /// The type that the settings enforce.
        enforced: String,
        /// The type that would be used.
        current: &'static str,
    },
    /// There is no connection.
    #[error("The auth type '{enforced}' is enforced, but no authentication is configured.")]
    Missing {
        /// The type that the settings enforce.
        enforced: String,
    },
}

fn join_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl SessionError {
    /// Whether the session did not start because guards could be missing.
    pub fn is_unguarded(&self) -> bool {
        matches!(
            self,
            SessionError::BrokenSettings(_)
                | SessionError::Unguarded(_)
                | SessionError::GuardsChanged(_)
                | SessionError::NoLedger { .. }
                | SessionError::Policy(PolicyError::ConfiguredFile(_))
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SessionError::Exists(id) => Some(format!("go on with it by --resume {id}")),
            SessionError::Find(error) => Some(error.hint()),
            SessionError::Transcript(error) => Some(error.hint().to_owned()),
            SessionError::Model(error) => error.hint(),
            SessionError::Replay(error) => error.hint().map(str::to_owned),
            SessionError::NoModelName => {
                Some("name it with --model, OPENAI_MODEL or `model.name` in the settings".to_owned())
            }
            SessionError::BrokenSettings(_) => {
                Some("correct it, or go on without it by --ignore-broken-settings".to_owned())
            }
            SessionError::Unguarded(unarmed) => Some(guard_readiness::unarmed_advice(unarmed)),
            SessionError::GuardsChanged(_) => Some(
                "look at it with `hookwright hooks trust`, and trust it with `--all`, or put it back as it was"
                    .to_owned(),
            ),
            SessionError::NoLedger { .. } => Some(
                "look at your hooks and settings; then let it be a folder that you can write, without what is damaged in it"
                    .to_owned(),
            ),
            SessionError::NoDirectory(_) => Some("change to a directory that is there".to_owned()),
            SessionError::Policy(error) => Some(error.hint()),
            SessionError::AuthType(_) => Some("`security.auth.enforcedType` in the settings says which".to_owned()),
            SessionError::Workspace(_) | SessionError::YoloForbidden => None,
        }
    }
}
