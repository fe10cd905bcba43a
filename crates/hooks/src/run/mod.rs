//! Runs one hook to its end under one deadline and one cancel. What the end means is `answer.rs`.

pub(crate) mod command;
#[cfg_attr(not(feature = "http"), path = "no_http.rs")]
mod http;
mod queue;
mod rule;
pub(crate) mod words;
pub(crate) mod worker;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hookwright_process::Groups;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Captured, End};
use crate::hook::{Action, Hook, HookFunction, Source};
use crate::input::HookInput;
use crate::ready::{self, NotReady};
use crate::spot::Spot;
use crate::when::Because;
use queue::Queue;
use worker::{Patience, Workers};

/// Bounds on every run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many bytes of stdout, and of stderr, are kept.
    pub output: usize,
    /// How long a hook may take to obey SIGTERM.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { output: 1 << 20, grace: Duration::from_secs(2) }
    }
}

/// What the commands of some hooks run with.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The environment, `PATH` included, without the session's own variables.
    pub env: Vec<(OsString, OsString)>,
    /// The directory that they run in, if it is not the session's; held on to while it is used.
    pub directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
}

/// What commands run with, by whose hooks they are.
#[derive(Clone, Default)]
pub struct Places {
    /// Of the project, and hooks in code.
    pub project: Surroundings,
    /// Of extensions.
    pub extensions: Surroundings,
    /// Of the user and the system.
    pub own: Surroundings,
}

impl Places {
    /// The same for everybody.
    pub fn everywhere(surroundings: Surroundings) -> Self {
        Places { project: surroundings.clone(), extensions: surroundings.clone(), own: surroundings }
    }
}

/// Runners by whose hooks they run. They share what runs, and who waits.
pub(crate) struct Runners {
    project: Runner,
    extensions: Runner,
    own: Runner,
}

impl Runners {
    pub(crate) fn new(places: Places, limits: Limits) -> Self {
        Runners::sharing(places, limits, &Shared::default())
    }

    /// The same runners in other surroundings; what runs already is still theirs.
    pub(crate) fn moved(&self, places: Places) -> Self {
        let moved = Runners::sharing(places, self.project.limits, &self.project.shared);
        Runners {
            project: moved.project.after(&self.project),
            extensions: moved.extensions.after(&self.extensions),
            own: moved.own.after(&self.own),
        }
    }

    fn sharing(places: Places, limits: Limits, shared: &Shared) -> Self {
        let runner = |surroundings| Runner::new(surroundings, limits, shared.clone());
        let Places { project, extensions, own } = places;
        Runners { project: runner(project), extensions: runner(extensions), own: runner(own) }
    }

    /// The one for a layer's hooks.
    pub(crate) fn of(&self, source: &Source) -> &Runner {
        match source {
            Source::Project | Source::Runtime => &self.project,
            Source::Extension(_) => &self.extensions,
            Source::User | Source::System => &self.own,
        }
    }

    /// The user's home directory, as commands know it.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        lookup(&self.own.env, "HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    /// Ends everything that hooks left running.
    pub(crate) async fn end_all(&self) {
        self.project.end_all().await;
    }

    /// The same at once, without asking.
    pub(crate) fn kill_now(&self) {
        self.project.shared.groups.kill_now();
    }

    /// The processes that stay from event to event.
    pub(crate) fn workers(&self) -> &Workers {
        &self.project.shared.workers
    }

    /// Starts a hook's process ahead of its first event, if it is one that stays.
    pub(crate) async fn start_early(&self, hook: &Hook, session: &Spot) {
        if let Action::Worker(action) = &hook.action {
            self.of(&hook.source).start_worker(&hook.source, action, hook.timeout, session).await;
        }
    }
}

/// What all runners of an engine have in common: what runs, who waits, and who stays.
#[derive(Clone, Default)]
struct Shared {
    groups: Arc<Groups>,
    queue: Arc<Queue>,
    workers: Arc<Workers>,
}

/// What commands run with.
pub(crate) struct Runner {
    env: Vec<(OsString, OsString)>,
    directory: Option<Arc<dyn AsRef<Path> + Send + Sync>>,
    /// Looked for when it is first needed.
    shell: OnceLock<PathBuf>,
    /// Whether the environment holds nothing that only a shell would heed.
    direct_is_faithful: bool,
    limits: Limits,
    /// Another one for other surroundings.
    number: u64,
    /// To services; made when they are first needed.
    http: http::Connections,
    shared: Shared,
}

/// With how many others a hook runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Company {
    /// Whether it is the only one that is asked about its event now.
    pub(crate) alone: bool,
    /// How many commands may run at once.
    pub(crate) max_parallel: Option<NonZeroU32>,
}

/// How a hook ended.
pub(crate) struct RunEnd {
    pub(crate) end: End,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) duration: Duration,
    pub(crate) left_behind: bool,
    /// What a hook in code answered; a command's answer is read from its output.
    pub(crate) answer: Option<Answer>,
}

impl RunEnd {
    /// A hook that was never started.
    pub(crate) fn not_run(end: End) -> Self {
        RunEnd {
            end,
            stdout: Captured::default(),
            stderr: Captured::default(),
            duration: Duration::ZERO,
            left_behind: false,
            answer: None,
        }
    }
}

impl Runner {
    fn new(surroundings: Surroundings, limits: Limits, shared: Shared) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let Surroundings { mut env, directory } = surroundings;
        // Whoever runs this program from within a worker does not make workers of its commands.
        env.retain(|(name, _)| name != worker::VARIABLE.0);
        let direct_is_faithful =
            !env.iter().any(|(name, _)| name == "BASH_ENV" || name.as_encoded_bytes().starts_with(b"BASH_FUNC_"));
        let shell = OnceLock::new();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Runner { env, directory, shell, direct_is_faithful, limits, number, http: http::Connections::default(), shared }
    }

    /// What was there before is used further where nothing is different.
    fn after(self, before: &Runner) -> Self {
        let place = |runner: &Runner| runner.directory.as_ref().map(|directory| (**directory).as_ref().to_owned());
        let is_same = self.env == before.env && place(&self) == place(before);
        match is_same {
            true => Runner { number: before.number, http: before.http.clone(), ..self },
            false => self,
        }
    }

    /// The shell that commands run in.
    fn shell(&self) -> &Path {
        self.shell.get_or_init(|| {
            let path = lookup(&self.env, "PATH").unwrap_or(OsStr::new(command::DEFAULT_PATH));
            let places = ready::Places { path, cwd: Path::new("/") };
            let found = ["bash", "sh"].iter().find_map(|name| ready::find_program(OsStr::new(name), &places).ok());
            found.unwrap_or_else(|| PathBuf::from("/bin/sh"))
        })
    }

    /// Where commands run.
    fn directory<'a>(&'a self, session: &'a Spot) -> &'a Path {
        self.directory.as_ref().map_or(session.cwd.as_path(), |directory| (**directory).as_ref())
    }

    /// Runs a hook. A command waits for its turn first, and its time counts from then on; a hook in code, which may
    /// itself fire events, never waits.
    pub(crate) async fn run(
        &self,
        (hook, because): (&Hook, &Because),
        input: &HookInput,
        session: &Spot,
        company: Company,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let _turn = match &hook.action {
            Action::Command(_) | Action::Http(_) => match self.shared.queue.turn(company.max_parallel, cancel).await {
                Ok(turn) => Some(turn),
                Err(end) => return RunEnd::not_run(end),
            },
            // A worker has a queue of its own.
            Action::Worker(_) | Action::Rule(_) | Action::Function(_) => None,
        };
        let started = Instant::now();
        let mut finished = match &hook.action {
            Action::Command(action) => self.run_command(action, hook.timeout, input, session, cancel).await,
            Action::Worker(action) => {
                let patience = if company.alone { Patience::Awake } else { Patience::Asleep };
                self.ask_worker((&hook.source, action), hook.timeout, (input, patience), session, cancel).await
            }
            Action::Http(action) => self.post(action, hook.timeout, input, cancel).await,
            Action::Rule(action) => rule::run(action, hook.event, because),
            Action::Function(function) => run_function(function, hook.timeout, input, cancel).await,
        };
        finished.duration = started.elapsed();
        finished
    }

    /// Whether a hook's command could start.
    pub(crate) fn check(&self, hook: &Hook, session: &Spot) -> Result<(), NotReady> {
        match &hook.action {
            Action::Command(action) => self.check_command(action, session),
            Action::Worker(action) => {
                let health = self.worker_health(&hook.source, action, session);
                match health.and_then(|health| health.inert) {
                    Some(why) => Err(NotReady::GivenUp(why)),
                    None => self.check_command(&action.command, session).map_err(|why| match (why, &action.package) {
                        (NotReady::Missing(path), Some(package)) => {
                            NotReady::NoPackage { path, package: package.clone() }
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
        self.shared.workers.finish(self.limits.grace.min(Duration::from_millis(500))).await;
        self.shared.groups.end_all(self.limits.grace.min(Duration::from_millis(500))).await;
    }
}

pub(crate) fn lookup<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

/// Runs a hook in code, with a command's deadline and cancel; a panic is a failure like any other.
async fn run_function(
    function: &HookFunction,
    timeout: Duration,
    input: &HookInput,
    cancel: &CancellationToken,
) -> RunEnd {
    let (function, input) = (function.clone(), input.clone());
    let mut task = AbortOnDrop(tokio::spawn(async move { function.call(input).await }));
    let (end, answer, complaint) = tokio::select! {
        biased;
        () = cancel.cancelled() => (End::Cancelled, None, String::new()),
        // An answer that is there counts, however late it is read.
        result = &mut task.0 => match result {
            Ok(Ok(answer)) => (End::Exited(0), Some(answer), String::new()),
            Ok(Err(reason)) => (End::Exited(1), None, reason),
            Err(panic) => (End::Exited(101), None, panic.to_string()),
        },
        () = tokio::time::sleep(timeout) => (End::TimedOut(timeout), None, String::new()),
    };
    let bytes = complaint.len() as u64;
    let stderr = Captured { text: complaint, bytes, truncated: false };
    RunEnd { end, stdout: Captured::default(), stderr, duration: Duration::ZERO, left_behind: false, answer }
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
