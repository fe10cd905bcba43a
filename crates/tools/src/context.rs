//! All that a tool call may use, given by the caller. Makes nothing up: no environment, no home, no clock settings.

use crate::builtin::google_web_search::WebSearch;
use crate::console::CallConsole;
use crate::delegate::Delegation;
use crate::diff::FileDiff;
use crate::filter::FileFilter;
use crate::http::{HttpAccess, HttpPolicy};
use crate::shell::BackgroundJobs;
use crate::workspace::Workspace;
use hookwright_process::ProcessGroups;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a tool call may use. Cheap to clone: one per call, with its own cancellation and output.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// Where tools may go.
    pub workspace: Arc<Workspace>,
    /// Which ignore files count.
    pub filter: FileFilter,
    /// Cancelling ends the call, and kills what it started.
    pub cancel: CancellationToken,
    /// The whole environment of child processes.
    pub environment: Environment,
    /// How shell commands run.
    pub shell: ShellCommandOptions,
    /// Commands that run, and those left running, to be ended with the session.
    pub process_groups: Arc<ProcessGroups>,
    /// Those left running, for the user to see.
    pub jobs: Arc<BackgroundJobs>,
    /// The network, and what of it is allowed.
    pub http: Arc<HttpAccess>,
    /// Where output goes while a command runs.
    pub output: OutputSink,
    /// The way to a terminal for this call's command, if anybody shows one.
    pub console: Option<CallConsole>,
    /// Who searches the web for this call.
    pub search: Option<Arc<dyn WebSearch>>,
    /// Who lets other agents work for this call.
    pub delegation: Option<Arc<dyn Delegation>>,
    /// The file that `save_memory` adds to.
    pub memory_file: Option<PathBuf>,
    /// The change that the user was shown and has allowed: this one is made, or none.
    pub approved_diff: Option<Arc<FileDiff>>,
}

impl ToolContext {
    /// A context with defaults: ignore files respected, an empty environment, no private addresses, no memory file.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace: Arc::new(workspace),
            filter: FileFilter::default(),
            cancel: CancellationToken::new(),
            environment: Environment::default(),
            shell: ShellCommandOptions::default(),
            process_groups: Arc::default(),
            jobs: Arc::default(),
            http: Arc::new(HttpAccess::new(HttpPolicy::default())),
            output: OutputSink::none(),
            console: None,
            search: None,
            delegation: None,
            memory_file: None,
            approved_diff: None,
        }
    }
}

/// The environment of child processes. All that share it have another one as soon as it is set.
#[derive(Clone, Default)]
pub struct Environment(Arc<RwLock<EnvironmentVariables>>);

type EnvironmentVariables = Arc<[(OsString, OsString)]>;

impl Environment {
    /// From the next command on.
    pub fn set(&self, variables: Vec<(OsString, OsString)>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = variables.into();
    }

    pub(crate) fn get(&self) -> EnvironmentVariables {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<Vec<(OsString, OsString)>> for Environment {
    fn from(variables: Vec<(OsString, OsString)>) -> Self {
        Self(Arc::new(RwLock::new(variables.into())))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        variables.into_iter().collect::<Vec<_>>().into()
    }
}

/// Its values may be secret.
impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Environment")
    }
}

/// How shell commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommandOptions {
    /// A command silent for this long is ended.
    pub inactivity_timeout: Option<Duration>,
    /// A command that runs this long is ended.
    pub timeout: Option<Duration>,
    /// How long a command may take to end when asked to, before it is forced.
    pub grace_period: Duration,
    /// How many bytes of output are kept; what is between beginning and end is left out.
    pub max_output_bytes: usize,
    /// How long a background command is watched for an early end.
    pub background_delay: Duration,
    /// Whether a command may have a terminal, where somebody shows it.
    pub interactive: bool,
    /// What shows long texts page by page for commands that ask for that.
    pub pager: String,
}

impl Default for ShellCommandOptions {
    fn default() -> Self {
        Self {
            inactivity_timeout: Some(Duration::from_secs(300)),
            timeout: None,
            grace_period: Duration::from_secs(2),
            max_output_bytes: 100_000,
            background_delay: Duration::from_millis(200),
            interactive: true,
            pager: "cat".to_owned(),
        }
    }
}

/// Takes a command's output as it comes, in pieces of text.
#[derive(Clone)]
pub struct OutputSink(Arc<dyn Fn(&str) + Send + Sync>);

impl OutputSink {
    /// A sink that calls `take` with each piece. It is called on the runtime's threads and must not block.
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// A sink that drops everything.
    pub fn none() -> Self {
        Self::new(|_| {})
    }

    pub(crate) fn send(&self, text: &str) {
        if !text.is_empty() {
            (self.0)(text);
        }
    }
}

impl fmt::Debug for OutputSink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("OutputSink")
    }
}
