//! Runs one hook to its end under a deadline and a cancellation token. `answers.rs` parses the result.

pub(crate) mod command;
pub(crate) mod disk_timeout;
pub(crate) mod dispatch;
pub(crate) mod env_redaction;
#[cfg_attr(not(feature = "http"), path = "no_http.rs")]
mod http;
pub(crate) mod invocation;
pub(crate) mod observer;
pub(crate) mod plan;
mod queue;
pub(crate) mod readiness;
mod rule;
pub(crate) mod session_dir;
pub(crate) mod worker;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hookwright_process::ProcessGroups;
use tokio_util::sync::CancellationToken;

use crate::answers::{Answer, CapturedStream, HookExit};
use crate::confinement::ConfinementLauncher;
use crate::event::input::HookInput;
use crate::hook::{Action, Hook, HookFunction, Source};
use crate::matching::effect_filter::MatchReason;
use crate::running::session_dir::SessionSnapshot;
use queue::RunQueue;
use readiness::ReadinessError;
use worker::{WaitStrategy, WorkerPool};

/// The limits of every run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// The number of bytes that are kept of stdout and of stderr, each.
    pub max_output_bytes: usize,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace_period: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits { max_output_bytes: 1 << 20, kill_grace_period: Duration::from_secs(2) }
    }
}

/// The environment in which commands of hooks run.
#[derive(Clone, Default)]
pub struct ExecEnv {
    /// The environment variables, `PATH` included, without the session's own variables.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory, if it is not the session's; the `Arc` keeps it alive while it is in use.
    pub directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
}

/// The environments in which commands run, by the source of the hook.
#[derive(Clone, Default)]
pub struct ExecEnvs {
    /// The environment of the project's hooks and of hooks in code.
    pub project: ExecEnv,
    /// The environment of extensions' hooks.
    pub extensions: ExecEnv,
    /// The environment of the user's and the system's hooks.
    pub user_and_system: ExecEnv,
}

impl ExecEnvs {
    /// The same environment for all sources.
    pub fn uniform(exec_env: ExecEnv) -> Self {
        ExecEnvs { project: exec_env.clone(), extensions: exec_env.clone(), user_and_system: exec_env }
    }
}

/// The runners for the hooks of each source. They share their processes, queue and workers.
pub(crate) struct HookRunners {
    project: HookRunner,
    extensions: HookRunner,
    user_and_system: HookRunner,
}

impl HookRunners {
    pub(crate) fn new(places: ExecEnvs, limits: RunLimits, launcher: Option<Arc<dyn ConfinementLauncher>>) -> Self {
        HookRunners::with_shared(places, limits, &SharedRunState { launcher, ..SharedRunState::default() })
    }

    /// The same runners with other environments; they keep the processes that are already running.
    pub(crate) fn with_exec_envs(&self, places: ExecEnvs) -> Self {
        let moved = HookRunners::with_shared(places, self.project.limits, &self.project.shared);
        HookRunners {
            project: moved.project.reusing(&self.project),
            extensions: moved.extensions.reusing(&self.extensions),
            user_and_system: moved.user_and_system.reusing(&self.user_and_system),
        }
    }

    fn with_shared(places: ExecEnvs, limits: RunLimits, shared: &SharedRunState) -> Self {
        let runner = |exec_env| HookRunner::new(exec_env, limits, shared.clone());
        let ExecEnvs { project, extensions, user_and_system: own } = places;
        HookRunners { project: runner(project), extensions: runner(extensions), user_and_system: runner(own) }
    }

    /// The runner for the hooks of a source.
    pub(crate) fn for_source(&self, source: &Source) -> &HookRunner {
        match source {
            Source::Project | Source::Runtime => &self.project,
            Source::Extension(_) => &self.extensions,
            Source::User | Source::System => &self.user_and_system,
        }
    }

    /// The user's home directory in the environment of commands.
    pub(crate) fn home_dir(&self) -> Option<PathBuf> {
        find_env_var(&self.user_and_system.env, "HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    /// Ends everything that hooks left running.
    pub(crate) async fn end_all(&self) {
        self.project.end_all().await;
    }

    /// Kills everything that hooks left running, at once.
    pub(crate) fn kill_now(&self) {
        self.project.shared.groups.kill_all();
    }

    /// The pool of worker processes.
    pub(crate) fn workers(&self) -> &WorkerPool {
        &self.project.shared.workers
    }

    /// Starts the worker process of a hook before its first event, if it is a worker.
    pub(crate) async fn prestart_worker(&self, hook: &Hook, session: &SessionSnapshot) {
        if let Action::Worker(action) = &hook.action {
            self.for_source(&hook.source).start_worker(&hook.source, action, hook.timeout, session).await;
        }
    }
}

/// The state that all runners of an engine share.
#[derive(Clone, Default)]
pub(crate) struct SharedRunState {
    /// The launcher of hooks whose own process is confined.
    pub(crate) launcher: Option<Arc<dyn ConfinementLauncher>>,
    groups: Arc<ProcessGroups>,
    queue: Arc<RunQueue>,
    workers: Arc<WorkerPool>,
}

/// Runs the hooks of some sources in their environment.
pub(crate) struct HookRunner {
    env: Vec<(OsString, OsString)>,
    directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
    /// The shell, which is looked up on first use.
    shell: OnceLock<PathBuf>,
    /// Whether the environment contains nothing that only a shell would evaluate.
    can_skip_shell: bool,
    limits: RunLimits,
    /// A number that differs between environments.
    env_generation: u64,
    /// The clients of HTTP hooks, built on first use.
    http: http::HttpClients,
    shared: SharedRunState,
}

/// How many other hooks run at the same time as a hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunConcurrency {
    /// Whether no other hook of the event runs at the same time.
    pub(crate) is_only_hook: bool,
    /// The maximum number of commands that run at the same time.
    pub(crate) max_parallel: Option<NonZeroU32>,
}

/// The result of a hook's run.
pub(crate) struct RunOutput {
    pub(crate) exit: HookExit,
    pub(crate) stdout: CapturedStream,
    pub(crate) stderr: CapturedStream,
    pub(crate) duration: Duration,
    pub(crate) has_survivors: bool,
    /// The answer of a hook in code; a command's answer is parsed from its output.
    pub(crate) answer: Option<Answer>,
}

impl RunOutput {
    /// The result of a hook that was not started or gave no output.
    pub(crate) fn from_exit(end: HookExit) -> Self {
        RunOutput {
            exit: end,
            stdout: CapturedStream::default(),
            stderr: CapturedStream::default(),
            duration: Duration::ZERO,
            has_survivors: false,
            answer: None,
        }
    }
}

impl HookRunner {
    fn new(exec_env: ExecEnv, limits: RunLimits, shared: SharedRunState) -> Self {
        static NEXT_ENV_GENERATION: AtomicU64 = AtomicU64::new(0);
        let ExecEnv { mut env, directory } = exec_env;
        // If this program itself runs inside a worker, its own commands must not act as workers.
        env.retain(|(name, _)| name != worker::WORKER_VARIABLE.0);
        let direct_is_faithful =
            !env.iter().any(|(name, _)| name == "BASH_ENV" || name.as_encoded_bytes().starts_with(b"BASH_FUNC_"));
        let shell = OnceLock::new();
        let number = NEXT_ENV_GENERATION.fetch_add(1, Ordering::Relaxed);
        HookRunner {
            env,
            directory,
            shell,
            can_skip_shell: direct_is_faithful,
            limits,
            env_generation: number,
            http: http::HttpClients::default(),
            shared,
        }
    }

    /// Reuses the generation and the clients of the earlier runner if the environment is the same.
    fn reusing(self, before: &HookRunner) -> Self {
        let place = |runner: &HookRunner| runner.directory.as_ref().map(|directory| (**directory).as_ref().to_owned());
        let is_same = self.env == before.env && place(&self) == place(before);
        match is_same {
            true => HookRunner { env_generation: before.env_generation, http: before.http.clone(), ..self },
            false => self,
        }
    }

    /// The shell in which commands run.
    fn shell(&self) -> &Path {
        self.shell.get_or_init(|| {
            let path = find_env_var(&self.env, "PATH").unwrap_or(OsStr::new(command::DEFAULT_PATH));
            let places = readiness::ProgramSearchPath { path, cwd: Path::new("/") };
            let found = ["bash", "sh"].iter().find_map(|name| readiness::find_program(OsStr::new(name), &places).ok());
            found.unwrap_or_else(|| PathBuf::from("/bin/sh"))
        })
    }

    /// The working directory of commands.
    fn directory<'a>(&'a self, session: &'a SessionSnapshot) -> &'a Path {
        self.directory.as_ref().map_or(session.cwd.as_path(), |directory| (**directory).as_ref())
    }

    /// Runs a hook. A command waits for its permit first, and its timeout counts from then on; a hook in code, which
    /// may itself fire events, never waits.
    pub(crate) async fn run(
        &self,
        (hook, reason): (&Hook, &MatchReason),
        input: &HookInput,
        session: &SessionSnapshot,
        concurrency: RunConcurrency,
        cancel: &CancellationToken,
    ) -> RunOutput {
        let _turn = match &hook.action {
            Action::Command(_) | Action::Http(_) => {
                match self.shared.queue.acquire(concurrency.max_parallel, cancel).await {
                    Ok(turn) => Some(turn),
                    Err(end) => return RunOutput::from_exit(end),
                }
            }
            // A worker has a limiter of its own.
            Action::Worker(_) | Action::Rule(_) | Action::Function(_) => None,
        };
        let started = Instant::now();
        let mut finished = match &hook.action {
            Action::Command(action) => self.run_command(action, hook.timeout, input, session, cancel).await,
            Action::Worker(action) => {
                let strategy = if concurrency.is_only_hook { WaitStrategy::Spin } else { WaitStrategy::Sleep };
                self.ask_worker((&hook.source, action), hook.timeout, (input, strategy), session, cancel).await
            }
            Action::Http(action) => self.run_http(action, hook.timeout, input, cancel).await,
            Action::Rule(action) => rule::run_rule(action, hook.event, reason),
            Action::Function(function) => run_function(function, hook.timeout, input, cancel).await,
        };
        finished.duration = started.elapsed();
        finished
    }

    /// Checks whether a hook's command could start.
    pub(crate) fn check_readiness(&self, hook: &Hook, session: &SessionSnapshot) -> Result<(), ReadinessError> {
        match &hook.action {
            Action::Command(action) => self.check_command(action, session),
            Action::Worker(action) => {
                let health = self.worker_health(&hook.source, action, session);
                match health.and_then(|health| health.inert) {
                    Some(why) => Err(ReadinessError::WorkerGivenUp(why)),
                    None => self.check_command(&action.command, session).map_err(|why| match (why, &action.package) {
                        (ReadinessError::NoSuchFile(path), Some(package)) => {
                            ReadinessError::NoPackage { path, package: package.clone() }
                        }
                        (why, _) => why,
                    }),
                }
            }
            Action::Http(action) => self.check_http(action),
            Action::Rule(_) | Action::Function(_) => Ok(()),
        }
    }

    async fn end_all(&self) {
        self.shared.workers.shut_down(self.limits.kill_grace_period.min(Duration::from_millis(500))).await;
        self.shared.groups.terminate_all(self.limits.kill_grace_period.min(Duration::from_millis(500))).await;
    }
}

pub(crate) fn find_env_var<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

/// Runs a hook in code, with a command's deadline and cancellation; a panic is a failure like any other.
async fn run_function(
    function: &HookFunction,
    timeout: Duration,
    input: &HookInput,
    cancel: &CancellationToken,
) -> RunOutput {
    let (function, input) = (function.clone(), input.clone());
    let mut task = AbortOnDrop(tokio::spawn(async move { function.call(input).await }));
    let (end, answer, error) = tokio::select! {
        biased;
        () = cancel.cancelled() => (HookExit::Cancelled, None, String::new()),
        // An answer that is ready counts, however late it is read.
        result = &mut task.0 => match result {
            Ok(Ok(answer)) => (HookExit::Exited(0), Some(answer), String::new()),
            Ok(Err(reason)) => (HookExit::Exited(1), None, reason),
            Err(panic) => (HookExit::Exited(101), None, panic.to_string()),
        },
        () = tokio::time::sleep(timeout) => (HookExit::TimedOut(timeout), None, String::new()),
    };
    let bytes = error.len() as u64;
    let stderr = CapturedStream { text: error, bytes, truncated: false };
    RunOutput {
        exit: end,
        stdout: CapturedStream::default(),
        stderr,
        duration: Duration::ZERO,
        has_survivors: false,
        answer,
    }
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
