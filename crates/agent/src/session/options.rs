//! The options of a session that settings do not hold, and the errors that keep it from starting.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_hooks::UnarmedGuard;
use hookwright_hooks::confinement::ConfinementLauncher;
use hookwright_model::{ModelError, ReplayError, ReplayOrder};
use hookwright_settings::{
    ApprovalMode, ExtensionChoice, LoadOptions, LoadPurpose, LoadedConfig, ModelConnection, ProcessEnv, TrustOverride,
    load,
};
use hookwright_tools::{ConsoleHost, OpenFiles, WorkspaceError};

use super::guard_readiness;
use crate::policy::PolicyError;
use crate::services::Interaction;
use crate::transcript::{SessionFindError, TranscriptError};

/// The options that the command line, or a program that embeds the agent, gives a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Whether there is a user to ask.
    pub interaction: Interaction,
    /// Whether the check of the folder's trust is skipped.
    pub trust: TrustOverride,
    /// Which extensions are active.
    pub extensions: ExtensionChoice,
    /// The only MCP servers to use, if some are named.
    pub mcp_servers: Option<Vec<String>>,
    /// MCP servers that the front end brings, by name, as in the settings.
    pub extra_mcp_servers: serde_json::Map<String, serde_json::Value>,
    /// The files of the user's editor, if the front end is one.
    pub open_files: Option<Arc<dyn OpenFiles>>,
    /// Whether hooks run.
    pub hooks: HookUse,
    /// The policy for a settings file that cannot be parsed.
    pub broken_settings: BrokenSettingsPolicy,
    /// The policy for a guard that would not work.
    pub unarmed_guards: UnarmedGuardsPolicy,
    /// The name of the model.
    pub model: Option<String>,
    /// The connection that the user chose in the session, which counts before all others.
    pub connection: Option<ModelConnection>,
    /// A file whose recorded answers replace the model.
    pub replay: Option<(PathBuf, ReplayOrder)>,
    /// A file to record the model's answers into.
    pub record: Option<PathBuf>,
    /// Which tool calls skip approval.
    pub approval_mode: Option<ApprovalMode>,
    /// Tools that skip approval.
    pub allowed_tools: Vec<String>,
    /// Additional files of policy rules.
    pub policies: Vec<PathBuf>,
    /// Additional directories that tools may work in.
    pub include_directories: Vec<PathBuf>,
    /// The earlier session to resume.
    pub resume: Option<String>,
    /// The id of the new session.
    pub session_id: Option<String>,
    /// Whether files are checkpointed before tools change them, even if the settings do not say so.
    pub checkpointing: bool,
    /// The path of the program's log, which `/about` shows.
    pub log: Option<PathBuf>,
    /// The host of terminals for commands; without one, commands have no terminal.
    pub consoles: Option<Arc<dyn ConsoleHost>>,
    /// The launcher of confined commands; without one, what should run confined needs approval.
    pub confiner: Option<Arc<dyn ConfinementLauncher>>,
}

/// Whether hooks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookUse {
    /// Hooks run as the settings say.
    #[default]
    On,
    /// No hook runs, except those that must not be switched off.
    Off,
}

/// The policy for a settings file that cannot be parsed and could hold guards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenSettingsPolicy {
    /// The session does not start.
    #[default]
    Refuse,
    /// The session starts without the file; no mode skips approval.
    Continue,
}

/// The policy for a guard that would not work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnarmedGuardsPolicy {
    /// The session does not start.
    #[default]
    Refuse,
    /// The session starts because the user wants it; no mode skips approval.
    Continue,
}

impl SessionOptions {
    /// Loads the configuration of the project in the working directory.
    ///
    /// # Errors
    /// If the working directory does not exist.
    pub fn load(&self, world: &ProcessEnv) -> Result<LoadedConfig, SessionError> {
        let project = world.cwd.canonicalize().map_err(SessionError::NoDirectory)?;
        let (extensions, mcp_servers) = (self.extensions.clone(), self.mcp_servers.clone());
        let purpose = LoadPurpose::Session;
        let mut loaded = load(world, &LoadOptions { purpose, project, trust: self.trust, extensions, mcp_servers });
        loaded.settings.mcp_servers.extend(self.extra_mcp_servers.clone());
        Ok(loaded)
    }
}

/// The reason why a session cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The working directory does not exist.
    #[error("the working directory is gone")]
    NoDirectory(#[source] std::io::Error),
    /// A session with this id exists already.
    #[error("there is a session {0} already")]
    Exists(String),
    /// The session to resume cannot be found.
    #[error(transparent)]
    Find(#[from] SessionFindError),
    /// The transcript cannot be read or created.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The file of recorded answers cannot be used.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The connection needs a model name, and none was given.
    #[error("no model is named")]
    NoModelName,
    /// A policy file cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The directories for tools cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A settings file cannot be parsed and could hold guards.
    #[error("{} can't be read as settings, so any guards in it would be off", .0.display())]
    BrokenSettings(PathBuf),
    /// These guards would not work.
    #[error("{}", guard_readiness::unarmed_text(.0))]
    Unguarded(Vec<UnarmedGuard>),
    /// An agent changed files of the guards, and the user has not trusted the changes.
    #[error("an agent changed {}, and you have not trusted the change yet", join_paths(.0))]
    GuardsChanged(Vec<PathBuf>),
    /// The ledger of changes to guards can be neither read nor written.
    #[error("{}, which records changes by agents to guards, can't be used: {why}", .folder.display())]
    NoLedger {
        /// The folder of the ledger.
        folder: PathBuf,
        /// The reason why the folder cannot be used.
        why: String,
    },
    /// The settings enforce another authentication type.
    #[error(transparent)]
    AuthType(#[from] AuthTypeError),
    /// The settings forbid the yolo mode.
    #[error("the settings forbid running every tool unasked (security.disableYoloMode)")]
    YoloForbidden,
}

/// An authentication that `security.auth.enforcedType` forbids. Scripts match the quoted words of its messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthTypeError {
    /// The connection or the environment has another type.
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
    /// Returns whether the session did not start because guards could be missing.
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

    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            SessionError::Exists(id) => Some(format!("resume it with --resume {id}")),
            SessionError::Find(error) => Some(error.hint()),
            SessionError::Transcript(error) => Some(error.hint().to_owned()),
            SessionError::Model(error) => error.hint(),
            SessionError::Replay(error) => error.hint().map(str::to_owned),
            SessionError::NoModelName => {
                Some("name it with --model, OPENAI_MODEL or `model.name` in the settings".to_owned())
            }
            SessionError::BrokenSettings(_) => {
                Some("correct it, or go on without it with --ignore-broken-settings".to_owned())
            }
            SessionError::Unguarded(unarmed) => Some(guard_readiness::unarmed_advice(unarmed)),
            SessionError::GuardsChanged(_) => {
                Some("review it with `hookwright hooks trust`, then trust it with `--all`, or restore it".to_owned())
            }
            SessionError::NoLedger { .. } => Some(
                "review your hooks and settings; then make it a writable folder and remove damaged files from it"
                    .to_owned(),
            ),
            SessionError::NoDirectory(_) => Some("change to an existing directory".to_owned()),
            SessionError::Policy(error) => Some(error.hint()),
            SessionError::AuthType(_) => Some("`security.auth.enforcedType` in the settings says which".to_owned()),
            SessionError::Workspace(_) | SessionError::YoloForbidden => None,
        }
    }
}
