//! Runs one hook to its end under one deadline and one cancel. What the end means is `answer.rs`.

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
use crate::event::input::HookInput;
use crate::hook::{Action, Hook, HookFunction, Source};
use crate::matching::effect_filter::MatchReason;
use crate::running::session_dir::SessionSnapshot;
use queue::RunQueue;
use readiness::ReadinessError;
use worker::{WaitStrategy, WorkerPool};

/// Bounds on every run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// How many bytes of stdout, and of stderr, are kept.
    pub max_output_bytes: usize,
    /// How long a hook may take to obey SIGTERM.
    pub kill_grace_period: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits { max_output_bytes: 1 << 20, kill_grace_period: Duration::from_secs(2) }
    }
}

/// What the commands of some hooks run with.
#[derive(Clone, Default)]
pub struct ExecEnv {
    /// The environment, `PATH` included, without the session's own variables.
    pub env: Vec<(OsString, OsString)>,
    /// The directory that they run in, if it is not the session's; held on to while it is used.
    pub directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
}

/// What commands run with, by whose hooks they are.
#[derive(Clone, Default)]
pub struct ExecEnvs {
    /// Of the project, and hooks in code.
    pub project: ExecEnv,
    /// Of extensions.
    pub extensions: ExecEnv,
    /// Of the user and the system.
    pub user_and_system: ExecEnv,
}

impl ExecEnvs {
    /// The same for everybody.
    pub fn uniform(surroundings: ExecEnv) -> Self {
        ExecEnvs { project: surroundings.clone(), extensions: surroundings.clone(), user_and_system: surroundings }
    }
}

/// Runners by whose hooks they run. They share what runs, and who waits.
pub(crate) struct HookRunners {
    project: HookRunner,
    extensions: HookRunner,
    user_and_system: HookRunner,
}

impl HookRunners {
    pub(crate) fn new(places: ExecEnvs, limits: RunLimits) -> Self {
        HookRunners::with_shared(places, limits, &SharedRunState::default())
    }

    /// The same runners in other surroundings; what runs already is still theirs.
    pub(crate) fn with_exec_envs(&self, places: ExecEnvs) -> Self {
        let moved = HookRunners::with_shared(places, self.project.limits, &self.project.shared);
        HookRunners {
            project: moved.project.reusing(&self.project),
            extensions: moved.extensions.reusing(&self.extensions),
            user_and_system: moved.user_and_system.reusing(&self.user_and_system),
        }
    }

    fn with_shared(places: ExecEnvs, limits: RunLimits, shared: &SharedRunState) -> Self {
        let runner = |surroundings| HookRunner::new(surroundings, limits, shared.clone());
        let ExecEnvs { project, extensions, user_and_system: own } = places;
        HookRunners { project: runner(project), extensions: runner(extensions), user_and_system: runner(own) }
    }

    /// The one for a layer's hooks.
    pub(crate) fn for_source(&self, source: &Source) -> &HookRunner {
        match source {
            Source::Project | Source::Runtime => &self.project,
            Source::Extension(_) => &self.extensions,
            Source::User | Source::System => &self.user_and_system,
        }
    }

    /// The user's home directory, as commands know it.
    pub(crate) fn home_dir(&self) -> Option<PathBuf> {
        find_env_var(&self.user_and_system.env, "HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    /// Ends everything that hooks left running.
    pub(crate) async fn end_all(&self) {
        self.project.end_all().await;
    }

    /// The same at once, without asking.
    pub(crate) fn kill_now(&self) {
        self.project.shared.groups.kill_all();
    }

    /// The processes that stay from event to event.
    pub(crate) fn workers(&self) -> &WorkerPool {
        &self.project.shared.workers
    }

    /// Starts a hook's process ahead of its first event, if it is one that stays.
    pub(crate) async fn prestart_worker(&self, hook: &Hook, session: &SessionSnapshot) {
        if let Action::Worker(action) = &hook.action {
            self.for_source(&hook.source).start_worker(&hook.source, action, hook.timeout, session).await;
        }
    }
}

/// What all runners of an engine have in common: what runs, who waits, and who stays.
#[derive(Clone, Default)]
struct SharedRunState {
    groups: Arc<ProcessGroups>,
    queue: Arc<RunQueue>,
    workers: Arc<WorkerPool>,
}

/// What commands run with.
pub(crate) struct HookRunner {
    env: Vec<(OsString, OsString)>,
    directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
    /// Looked for when it is first needed.
    shell: OnceLock<PathBuf>,
    /// Whether the environment holds nothing that only a shell would heed.
    can_skip_shell: bool,
    limits: RunLimits,
    /// Another one for other surroundings.
    env_generation: u64,
    /// To services; made when they are first needed.
    http: http::HttpClients,
    shared: SharedRunState,
}

/// With how many others a hook runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunConcurrency {
    /// Whether it is the only one that is asked about its event now.
    pub(crate) is_only_hook: bool,
    /// How many commands may run at once.
    pub(crate) max_parallel: Option<NonZeroU32>,
}

/// How a hook ended.
pub(crate) struct RunOutput {
    pub(crate) exit: HookExit,
    pub(crate) stdout: CapturedStream,
    pub(crate) stderr: CapturedStream,
    pub(crate) duration: Duration,
    pub(crate) has_survivors: bool,
    /// What a hook in code answered; a command's answer is read from its output.
    pub(crate) answer: Option<Answer>,
}

impl RunOutput {
    /// A hook that was never started.
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
    fn new(surroundings: ExecEnv, limits: RunLimits, shared: SharedRunState) -> Self {
        static NEXT_ENV_GENERATION: AtomicU64 = AtomicU64::new(0);
        let ExecEnv { mut env, directory } = surroundings;
        // Whoever runs this program from within a worker does not make workers of its commands.
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

    /// What was there before is used further where nothing is different.
    fn reusing(self, before: &HookRunner) -> Self {
        let place = |runner: &HookRunner| runner.directory.as_ref().map(|directory| (**directory).as_ref().to_owned());
        let is_same = self.env == before.env && place(&self) == place(before);
        match is_same {
            true => HookRunner { env_generation: before.env_generation, http: before.http.clone(), ..self },
            false => self,
        }
    }

    /// The shell that commands run in.
    fn shell(&self) -> &Path {
        self.shell.get_or_init(|| {
            let path = find_env_var(&self.env, "PATH").unwrap_or(OsStr::new(command::DEFAULT_PATH));
            let places = readiness::ProgramSearchPath { path, cwd: Path::new("/") };
            let found = ["bash", "sh"].iter().find_map(|name| readiness::find_program(OsStr::new(name), &places).ok());
            found.unwrap_or_else(|| PathBuf::from("/bin/sh"))
        })
    }

    /// Where commands run.
    fn directory<'a>(&'a self, session: &'a SessionSnapshot) -> &'a Path {
        self.directory.as_ref().map_or(session.cwd.as_path(), |directory| (**directory).as_ref())
    }

    /// Runs a hook. A command waits for its turn first, and its time counts from then on; a hook in code, which may
    /// itself fire events, never waits.
    pub(crate) async fn run(
        &self,
        (hook, because): (&Hook, &MatchReason),
        input: &HookInput,
        session: &SessionSnapshot,
        company: RunConcurrency,
        cancel: &CancellationToken,
    ) -> RunOutput {
        let _turn = match &hook.action {
            Action::Command(_) | Action::Http(_) => match self.shared.queue.acquire(company.max_parallel, cancel).await
            {
                Ok(turn) => Some(turn),
                Err(end) => return RunOutput::from_exit(end),
            },
            // A worker has a queue of its own.
            Action::Worker(_) | Action::Rule(_) | Action::Function(_) => None,
        };
        let started = Instant::now();
        let mut finished = match &hook.action {
            Action::Command(action) => self.run_command(action, hook.timeout, input, session, cancel).await,
            Action::Worker(action) => {
                let patience = if company.is_only_hook { WaitStrategy::Spin } else { WaitStrategy::Sleep };
                self.ask_worker((&hook.source, action), hook.timeout, (input, patience), session, cancel).await
            }
            Action::Http(action) => self.run_http(action, hook.timeout, input, cancel).await,
            Action::Rule(action) => rule::run_rule(action, hook.event, because),
            Action::Function(function) => run_function(function, hook.timeout, input, cancel).await,
        };
        finished.duration = started.elapsed();
        finished
    }

    /// Whether a hook's command could start.
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

/// Runs a hook in code, with a command's deadline and cancel; a panic is a failure like any other.
async fn run_function(
    function: &HookFunction,
    timeout: Duration,
    input: &HookInput,
    cancel: &CancellationToken,
) -> RunOutput {
    let (function, input) = (function.clone(), input.clone());
    let mut task = AbortOnDrop(tokio::spawn(async move { function.call(input).await }));
    let (end, answer, complaint) = tokio::select! {
        biased;
        () = cancel.cancelled() => (HookExit::Cancelled, None, String::new()),
        // An answer that is there counts, however late it is read.
        result = &mut task.0 => match result {
            Ok(Ok(answer)) => (HookExit::Exited(0), Some(answer), String::new()),
            Ok(Err(reason)) => (HookExit::Exited(1), None, reason),
            Err(panic) => (HookExit::Exited(101), None, panic.to_string()),
        },
        () = tokio::time::sleep(timeout) => (HookExit::TimedOut(timeout), None, String::new()),
    };
    let bytes = complaint.len() as u64;
    let stderr = CapturedStream { text: complaint, bytes, truncated: false };
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
