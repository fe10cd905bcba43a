//! Starts a command hook, directly or in a shell, and waits for its end.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_process::{
    Capture, CaptureLimit, DirectoryLocation, Exit, OutputRouting, Process, ProcessBudget, ProcessEvent, ProcessInput,
    ProgramSpec, TerminationWait,
};
use tokio_util::sync::CancellationToken;

use super::invocation::{Invocation, SESSION_VARIABLES};
use super::{HookRunner, RunOutput, find_env_var};
use crate::answers::{CapturedStream, HookExit};
use crate::confinement::ConfinementRequest;
use crate::dialect::Dialect;
use crate::event::input::{HookInput, Session};
use crate::files::Whereabouts;
use crate::hook::{CommandAction, ConfinementOrigin, ProcessConfinement};
use crate::running::readiness::{self, ProgramSearchPath, ReadinessError};
use crate::running::session_dir::SessionSnapshot;

pub(crate) use hookwright_analysis::loaded_files::DEFAULT_PATH;

/// The signal with which the system kills processes when memory runs out.
const SIGKILL: i32 = 9;
/// The number of processes that a hook's command is assumed to start at the same time.
const SPAWN_PROBE_THREADS: usize = 4;

/// A command to be started: its additional variables, and how its pipes are set up.
pub(super) struct CommandLaunch<'a, T> {
    pub(super) action: &'a CommandAction,
    pub(super) extra_env: &'a [(&'a str, &'a str)],
    pub(super) session: &'a SessionSnapshot,
    pub(super) spawn_with: &'a (dyn Fn(&mut ProgramSpec<'_>) -> std::io::Result<T> + Sync),
}

impl HookRunner {
    /// Runs a command to its end.
    pub(super) async fn run_command(
        &self,
        action: &CommandAction,
        timeout: Duration,
        input: &HookInput,
        session: &SessionSnapshot,
        cancel: &CancellationToken,
    ) -> RunOutput {
        // The deadline counts from before the start, so that a hook that delays its start does not delay it.
        let deadline = tokio::time::Instant::now() + timeout;
        if cancel.is_cancelled() {
            return RunOutput::from_exit(HookExit::Cancelled);
        }
        if let Err(end) = self.check_working_directory(action, session) {
            return RunOutput::from_exit(end);
        }
        let open = |program: &mut ProgramSpec<'_>| {
            let output = OutputRouting::Separate(CaptureLimit::Head(self.limits.max_output_bytes));
            Process::spawn(program, ProcessInput::Chunks(input.pieces().to_vec()), output, &self.shared.groups)
        };
        let start = CommandLaunch { action, extra_env: &[], session, spawn_with: &open };
        let mut process = match self.start_with_retry(&start, deadline, cancel).await {
            Ok(started) => started,
            Err(end) => return RunOutput::from_exit(end),
        };
        tracing::debug!(pid = process.pid(), "its process runs");
        let mut end = tokio::select! {
            biased;
            waited = process.wait() => exit_from_wait(waited),
            () = cancel.cancelled() => {
                process.terminate(self.limits.kill_grace_period, TerminationWait::Leader).await;
                HookExit::Cancelled
            }
            // This process may have been stopped for a while: an answer that has arrived counts, however late it is
            // read.
            () = tokio::time::sleep_until(deadline) => match process.try_next_event() {
                Ok(Some(ProcessEvent::Exited(exit))) => exit_from_wait(Ok(exit)),
                Ok(_) => {
                    process.terminate(self.limits.kill_grace_period, TerminationWait::Leader).await;
                    HookExit::TimedOut(timeout)
                }
                Err(error) => exit_from_wait(Err(error)),
            },
        };
        let left = process.finish();
        if let Some(lack) = resource_shortage(&end) {
            end = HookExit::OutOfResources(lack);
        }
        // 126 or 127 may be about the hook's own program, or about a program that the hook called.
        if matches!(end, HookExit::Exited(126 | 127))
            && let Err(reason) = self.check_command(action, session)
        {
            end = match session.directory_problem() {
                Some(dir_problem) => HookExit::OutOfResources(format!("{dir_problem}, and {reason}")),
                None => exit_from_readiness_error(reason),
            };
        }
        RunOutput {
            exit: end,
            stdout: decode_capture(&left.stdout),
            stderr: decode_capture(&left.stderr),
            duration: Duration::ZERO,
            has_survivors: left.has_survivors,
            answer: None,
        }
    }

    /// Checks that the session's directory exists, and that a command does not refer to its former path if it was moved.
    ///
    /// A hook that cannot run for this reason is out of resources: the failure is not its own fault.
    pub(super) fn check_working_directory(
        &self,
        action: &CommandAction,
        session: &SessionSnapshot,
    ) -> Result<(), HookExit> {
        let Some(dir_problem) = session.directory_problem() else { return Ok(()) };
        // The directory is checked again: some time may have passed since the event.
        if !matches!(session.directory.locate(), DirectoryLocation::Moved(_)) {
            return Err(HookExit::OutOfResources(dir_problem));
        }
        let before = session.directory.path().to_string_lossy();
        let mut named = std::iter::once(&action.command).chain(action.env.iter().map(|(_, value)| value));
        if named.any(|text| text.contains(&*before)) {
            return Err(HookExit::OutOfResources(format!(
                "{dir_problem}, and its command or variables name the old path"
            )));
        }
        self.check_command(action, session)
            .map_err(|reason| HookExit::OutOfResources(format!("{dir_problem}, and {reason}")))
    }

    /// Starts the command, with retries.
    ///
    /// A program that is still being written cannot be executed for that moment, and neither can one that has just been
    /// written while another thread starts a process; both pass quickly. Where the machine has no resources for another
    /// process, it may have some before the hook's timeout.
    pub(super) async fn start_with_retry<T>(
        &self,
        start: &CommandLaunch<'_, T>,
        deadline: tokio::time::Instant,
        cancel: &CancellationToken,
    ) -> Result<T, HookExit> {
        const MAX_START_RETRY_DELAY: Duration = Duration::from_millis(256);
        let mut pause = Duration::from_millis(1);
        loop {
            let failed = match self.start_command(start) {
                Ok(process) => return Ok(process),
                Err(failed) => failed,
            };
            let in_time = tokio::time::Instant::now() + pause < deadline;
            match failed {
                StartFailure::Busy(_) if in_time && pause <= MAX_START_RETRY_DELAY => {}
                StartFailure::OutOfResources(_) if in_time => pause = pause.min(MAX_START_RETRY_DELAY / 4),
                StartFailure::OutOfResources(error) => return Err(HookExit::OutOfResources(error.to_string())),
                // The system reports the program as missing even if it is the working directory that is gone.
                StartFailure::Busy(end) | StartFailure::Failed(end) => {
                    return Err(self.directory_problem(start.session).map_or(end, HookExit::OutOfResources));
                }
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(HookExit::Cancelled),
                () = tokio::time::sleep(pause) => pause *= 2,
            }
        }
    }

    /// The problem with the directory in which the hooks run, if there is one.
    fn directory_problem(&self, session: &SessionSnapshot) -> Option<String> {
        let own = self.directory(session);
        let gone = self.directory.is_some() && !own.is_dir();
        gone.then(|| format!("the working directory {} does not exist", own.display()))
            .or_else(|| session.directory_problem())
    }

    /// Starts the command, without a shell where it needs none.
    fn start_command<T>(&self, start: &CommandLaunch<'_, T>) -> Result<T, StartFailure> {
        let CommandLaunch { action, session, .. } = *start;
        let words = match &action.invocation {
            Invocation::Direct { words, .. } if self.can_skip_shell => Some(words),
            Invocation::Program { words, .. } => Some(words),
            Invocation::Direct { .. } | Invocation::Shell(_) => None,
        };
        if let Some(words) = words {
            let words: Vec<OsString> =
                words.iter().map(|word| word.resolve(|name| self.env_variable(name, action, session))).collect();
            if let Some(process) = self.start_directly(&words, start)? {
                return Ok(process);
            }
        }
        let args = [OsString::from("-c"), OsString::from(action.invocation.shell_text())];
        let name = self.shell().file_name().unwrap_or(OsStr::new("sh"));
        let spawned = self.spawn(self.shell(), name, &args, start);
        spawned.map_err(|error| match is_out_of_resources(&error) {
            true => StartFailure::OutOfResources(error),
            false => StartFailure::Failed(exit_from_spawn_error(self.shell(), &error)),
        })
    }

    /// Starts a program without a shell; `None` if it is a script that only a shell can execute.
    fn start_directly<T>(&self, words: &[OsString], start: &CommandLaunch<'_, T>) -> Result<Option<T>, StartFailure> {
        let CommandLaunch { action, session, .. } = *start;
        let [name, args @ ..] = words else { return Ok(None) };
        let program = readiness::find_program(name, &self.program_search_path(action, session))
            .map_err(|reason| StartFailure::Failed(exit_from_readiness_error(reason)))?;
        // A script sees the path by which it was started: a relative path must stay relative, as with a shell.
        let path = if name.as_encoded_bytes().contains(&b'/') { Path::new(name) } else { program.as_path() };
        match self.spawn(path, name, args, start) {
            Ok(process) => Ok(Some(process)),
            Err(error) if is_exec_format(&error) => Ok(None),
            Err(error) if is_out_of_resources(&error) => Err(StartFailure::OutOfResources(error)),
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                Err(StartFailure::Busy(exit_from_spawn_error(&program, &error)))
            }
            Err(error) => Err(StartFailure::Failed(match self.check_command(action, session) {
                Err(reason) => exit_from_readiness_error(reason),
                Ok(()) => exit_from_spawn_error(&program, &error),
            })),
        }
    }

    fn spawn<T>(
        &self,
        path: &Path,
        name: &OsStr,
        args: &[OsString],
        start: &CommandLaunch<'_, T>,
    ) -> std::io::Result<T> {
        let CommandLaunch { action, extra_env: more_env, session, spawn_with: open } = *start;
        let session_env = session_environment(session);
        let base = self.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let own = action.env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        // A shell would set `PWD`.
        let cwd = self.directory(session);
        let place = cwd.is_absolute().then_some((OsStr::new("PWD"), cwd.as_os_str()));
        let of_session = session_env.iter().map(|(name, value)| (OsStr::new(*name), *value));
        let of_dialect =
            dialect_environment(action, session).map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let more = more_env.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let mut env = base.chain(place).chain(of_session).chain(of_dialect).chain(own).chain(more);
        let directory = self.directory.is_none().then_some(&session.directory);
        let words = self.confinement_words(action, session).map_err(std::io::Error::other)?;
        match words.split_first() {
            Some((launcher, words)) => {
                let program = std::iter::once(path.as_os_str().to_owned());
                let args: Vec<OsString> = words.iter().cloned().chain(program).chain(args.iter().cloned()).collect();
                let path = Path::new(launcher);
                open(&mut ProgramSpec { path, name: launcher, args: &args, cwd, cwd_handle: directory, env: &mut env })
            }
            None => open(&mut ProgramSpec { path, name, args, cwd, cwd_handle: directory, env: &mut env }),
        }
    }

    /// The words that start a hook's process so that it is kept to its profile; none if it has none.
    ///
    /// # Errors
    /// Why the machine cannot enforce a profile that the hook's declaration names.
    fn confinement_words(&self, action: &CommandAction, session: &SessionSnapshot) -> Result<Vec<OsString>, String> {
        let Some(ProcessConfinement { profile, origin }) = &action.confinement else { return Ok(Vec::new()) };
        let request = ConfinementRequest {
            project: session.project_dir.clone(),
            home: find_env_var(&self.env, "HOME").map(PathBuf::from),
            profiles: vec![profile.clone()],
            is_quiet: true,
            is_predicted: false,
        };
        let launcher = self.shared.launcher.as_ref();
        let words = launcher.map(|launcher| launcher.launch_words(&request));
        match (words.unwrap_or_else(|| Err("this program has no way to confine hooks".to_owned())), origin) {
            (Ok(words), _) => Ok(words),
            (Err(why), ConfinementOrigin::Declared) => Err(format!("the hook can't be confined: {why}")),
            (Err(why), ConfinementOrigin::ExtensionDefault) => {
                tracing::debug!(%why, "an extension's hook is not confined");
                Ok(Vec::new())
            }
        }
    }

    /// The value of a variable in the environment of the hook's process.
    pub(super) fn env_variable(
        &self,
        name: &str,
        action: &CommandAction,
        session: &SessionSnapshot,
    ) -> Option<OsString> {
        let own = action.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| OsString::from(value));
        let of_session = || {
            let env = session_environment(session);
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        own.or_else(of_session).or_else(|| find_env_var(&self.env, name).map(OsStr::to_owned))
    }

    /// Checks whether the command could start.
    pub(super) fn check_command(
        &self,
        action: &CommandAction,
        session: &SessionSnapshot,
    ) -> Result<(), ReadinessError> {
        if session.directory_location == DirectoryLocation::Gone {
            return Err(ReadinessError::NoWorkingDirectory(session.directory.path().display().to_string()));
        }
        self.confinement_words(action, session).map_err(ReadinessError::NotConfinable)?;
        let variable = |name: &str| self.env_variable(name, action, session);
        readiness::check_command(action, &Whereabouts { cwd: self.directory(session), variable: &variable })
    }

    /// The search path for the hook's program; a hook may set its own `PATH`.
    fn program_search_path<'a>(
        &'a self,
        action: &'a CommandAction,
        session: &'a SessionSnapshot,
    ) -> ProgramSearchPath<'a> {
        let own = action.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| OsStr::new(path));
        let path = own.or_else(|| find_env_var(&self.env, "PATH")).unwrap_or(OsStr::new(DEFAULT_PATH));
        ProgramSearchPath { path, cwd: self.directory(session) }
    }
}

/// Why a command was not started.
enum StartFailure {
    /// The program is being written; another attempt may succeed in a moment.
    Busy(HookExit),
    /// The machine has no resources; another attempt may succeed when other processes have ended.
    OutOfResources(std::io::Error),
    /// Another attempt would fail too.
    Failed(HookExit),
}

/// Describes a shortage of resources that may have made a hook fail, if there is one: a shell that cannot start its
/// programs fails, or retries until its timeout.
fn resource_shortage(end: &HookExit) -> Option<String> {
    let how = match end {
        HookExit::Exited(code) if !matches!(code, 0 | 2) => format!("it ended with code {code}"),
        HookExit::TimedOut(after) => format!("it took longer than {after:?}"),
        HookExit::Signaled(SIGKILL) if ProcessBudget::global().ran_out_of_memory() => {
            return Some("it was killed, and the system has been killing processes for lack of memory".to_owned());
        }
        _ => return None,
    };
    let error = hookwright_process::probe_threads(SPAWN_PROBE_THREADS).err()?;
    Some(format!("{how} while no more processes could be started ({error})"))
}

/// The variables that describe the session to a hook.
fn session_environment(session: &Session) -> [(&'static str, &OsStr); 5] {
    let [project_dir, cwd, id, plans_dir, claude_dir] = SESSION_VARIABLES;
    [
        (project_dir, session.project_dir.as_os_str()),
        (cwd, session.cwd.as_os_str()),
        (id, OsStr::new(&session.id)),
        (plans_dir, session.plans_dir.as_os_str()),
        (claude_dir, session.project_dir.as_os_str()),
    ]
}

/// The variables that hooks of another dialect expect.
fn dialect_environment<'a>(action: &CommandAction, session: &'a Session) -> Option<(&'static str, &'a str)> {
    (action.dialect == Dialect::Claude).then_some(("CLAUDE_CODE_SESSION_ID", session.id.as_str()))
}

fn exit_from_wait(waited: std::io::Result<Exit>) -> HookExit {
    match waited {
        Ok(Exit::Code(code)) => HookExit::Exited(code),
        Ok(Exit::Signal(number)) => HookExit::Signaled(number),
        Err(error) => {
            HookExit::NotStarted { code: 126, message: format!("its exit status could not be read: {error}") }
        }
    }
}

fn decode_capture(capture: &Capture) -> CapturedStream {
    CapturedStream::decode(capture.head(), capture.total_bytes())
}

#[cfg(unix)]
fn is_exec_format(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

#[cfg(not(unix))]
fn is_exec_format(_: &std::io::Error) -> bool {
    false
}

/// Whether a start failed for want of a resource that may be free in a moment: file descriptors, processes, memory, or
/// the kernel's limits of watched objects.
fn is_out_of_resources(error: &std::io::Error) -> bool {
    hookwright_process::is_resource_exhausted(error) || error.kind() == std::io::ErrorKind::StorageFull
}

fn exit_from_readiness_error(reason: ReadinessError) -> HookExit {
    HookExit::NotStarted { code: reason.exit_code(), message: reason.to_string() }
}

fn exit_from_spawn_error(program: &Path, error: &std::io::Error) -> HookExit {
    HookExit::NotStarted { code: 126, message: format!("{}: {error}", program.display()) }
}
