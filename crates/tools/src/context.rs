//! Everything that a tool call may use, given by the caller. This crate reads neither environment variables nor the
//! home directory.

use crate::builtin::google_web_search::WebSearch;
use crate::console::CallConsole;
use crate::delegate::Delegation;
use crate::diff::FileDiff;
use crate::filter::FileFilter;
use crate::http::{HttpAccess, HttpPolicy};
use crate::open_files::OpenFiles;
use crate::shell::BackgroundJobs;
use crate::workspace::Workspace;
use hookwright_process::ProcessGroups;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Everything that a tool call may use. Cloning is cheap; each call has a clone with its own cancellation and output.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The directories that tools may access.
    pub workspace: Arc<Workspace>,
    /// The ignore files that apply.
    pub filter: FileFilter,
    /// Ends the call and kills the processes that it started.
    pub cancel: CancellationToken,
    /// The complete environment of child processes.
    pub environment: Environment,
    /// The options of shell commands.
    pub shell: ShellCommandOptions,
    /// The process groups of commands, to be ended with the session.
    pub process_groups: Arc<ProcessGroups>,
    /// The background commands, for the user to see.
    pub jobs: Arc<BackgroundJobs>,
    /// The network access and its policy.
    pub http: Arc<HttpAccess>,
    /// The receiver of a running command's output.
    pub output: OutputSink,
    /// The terminal for this call's command, if a front end shows one.
    pub console: Option<CallConsole>,
    /// The provider of web search.
    pub search: Option<Arc<dyn WebSearch>>,
    /// The runner of sub-agents.
    pub delegation: Option<Arc<dyn Delegation>>,
    /// The files of the user's editor, whose unsaved text counts.
    pub open_files: Option<Arc<dyn OpenFiles>>,
    /// The file that `save_memory` adds to.
    pub memory_file: Option<PathBuf>,
    /// The change that the user has approved; the call makes exactly this change or none.
    pub approved_diff: Option<Arc<FileDiff>>,
    /// The words that stand before a command's own so that it runs confined; empty if it does not.
    pub confinement_words: Arc<[OsString]>,
}

impl ToolContext {
    /// Creates a context with defaults: ignore files respected, an empty environment, no private addresses, no memory
    /// file.
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
            open_files: None,
            memory_file: None,
            approved_diff: None,
            confinement_words: Arc::default(),
        }
    }
}

/// The environment of child processes, shared by its clones: setting it affects all of them.
#[derive(Clone, Default)]
pub struct Environment(Arc<RwLock<EnvironmentVariables>>);

type EnvironmentVariables = Arc<[(OsString, OsString)]>;

impl Environment {
    /// Replaces the variables, from the next command on.
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

/// Leaves out the variables, whose values may be secret.
impl fmt::Debug for Environment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Environment")
    }
}

/// The options of shell commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommandOptions {
    /// The time without output after which a command is ended.
    pub inactivity_timeout: Option<Duration>,
    /// The running time after which a command is ended.
    pub timeout: Option<Duration>,
    /// The time that a command has to end on request before it is killed.
    pub grace_period: Duration,
    /// The largest number of bytes of output that are kept; the middle of longer output is left out.
    pub max_output_bytes: usize,
    /// The time for which a background command is watched for an early end.
    pub background_delay: Duration,
    /// Whether a command may have a terminal, if a front end shows it.
    pub interactive: bool,
    /// The pager that is set for commands.
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

/// Receives a command's output in pieces of text.
#[derive(Clone)]
pub struct OutputSink(Arc<dyn Fn(&str) + Send + Sync>);

impl OutputSink {
    /// Creates a sink that calls `take` with each piece, on the runtime's threads; it must not block.
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Creates a sink that drops everything.
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
