//! Starts a command hook, directly or in a shell, and sees it to its end.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use hookwright_process::{Capture, Exit, Input, Keep, Output, Process, Program, Shares, Standing, Step, Until};
use tokio_util::sync::CancellationToken;

use super::words::{Invocation, SESSION_VARIABLES};
use super::{RunEnd, Runner, lookup};
use crate::answer::{Captured, End};
use crate::dialect::Dialect;
use crate::files::Whereabouts;
use crate::hook::CommandAction;
use crate::input::{HookInput, Session};
use crate::ready::{self, NotReady, Places};
use crate::spot::Spot;

/// Where programs are looked for if the environment does not say.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The signal that the system kills with.
const KILL: i32 = 9;
/// The processes that a hook's own command may well start at once.
const SPARE: usize = 4;

/// A command that is to be started: with which variables beyond its own, and how its pipes are laid.
pub(super) struct Start<'a, T> {
    pub(super) action: &'a CommandAction,
    pub(super) more_env: &'a [(&'a str, &'a str)],
    pub(super) session: &'a Spot,
    pub(super) open: &'a (dyn Fn(&mut Program<'_>) -> std::io::Result<T> + Sync),
}

impl Runner {
    /// Runs a command to its end.
    pub(super) async fn run_command(
        &self,
        action: &CommandAction,
        timeout: Duration,
        input: &HookInput,
        session: &Spot,
        cancel: &CancellationToken,
    ) -> RunEnd {
        // The clock runs from before the start, so that nothing a hook does to its start can stop it.
        let deadline = tokio::time::Instant::now() + timeout;
        if cancel.is_cancelled() {
            return RunEnd::not_run(End::Cancelled);
        }
        if let Err(end) = self.has_its_place(action, session) {
            return RunEnd::not_run(end);
        }
        let open = |program: &mut Program<'_>| {
            let output = Output::Apart(Keep::Head(self.limits.output));
            Process::spawn(program, Input::Pieces(input.pieces().to_vec()), output, &self.shared.groups)
        };
        let start = Start { action, more_env: &[], session, open: &open };
        let mut process = match self.start_when_free(&start, deadline, cancel).await {
            Ok(started) => started,
            Err(end) => return RunEnd::not_run(end),
        };
        tracing::debug!(pid = process.pid(), "its process runs");
        let mut end = tokio::select! {
            biased;
            waited = process.wait() => ended(waited),
            () = cancel.cancelled() => {
                process.end(self.limits.grace, Until::LeaderGone).await;
                End::Cancelled
            }
            // This program may have been stopped for a while: an answer that is there counts, however late it is read.
            () = tokio::time::sleep_until(deadline) => match process.by_now() {
                Ok(Some(Step::Exited(exit))) => ended(Ok(exit)),
                Ok(_) => {
                    process.end(self.limits.grace, Until::LeaderGone).await;
                    End::TimedOut(timeout)
                }
                Err(error) => ended(Err(error)),
            },
        };
        let left = process.finish();
        if let Some(lack) = lack(&end) {
            end = End::NoRoom(lack);
        }
        // A 126 or 127 may be about the hook's own program, or about something that the hook called.
        if matches!(end, End::Exited(126 | 127))
            && let Err(reason) = self.check_command(action, session)
        {
            end = match session.complaint() {
                Some(complaint) => End::NoRoom(format!("{complaint}, and {reason}")),
                None => not_started(reason),
            };
        }
        RunEnd {
            end,
            stdout: captured(&left.stdout),
            stderr: captured(&left.stderr),
            duration: Duration::ZERO,
            left_behind: left.left_behind,
            answer: None,
        }
    }

    /// A hook whose directory is gone, or that looks for something where the directory was, fails by no fault of its own.
    pub(super) fn has_its_place(&self, action: &CommandAction, session: &Spot) -> Result<(), End> {
        let Some(complaint) = session.complaint() else { return Ok(()) };
        // Looked at again: it may have been a while since the event.
        if !matches!(session.directory.standing(), Standing::Moved(_)) {
            return Err(End::NoRoom(complaint));
        }
        let before = session.directory.path().to_string_lossy();
        let mut named = std::iter::once(&action.command).chain(action.env.iter().map(|(_, value)| value));
        if named.any(|text| text.contains(&*before)) {
            return Err(End::NoRoom(format!("{complaint}, and it names the old path")));
        }
        self.check_command(action, session).map_err(|reason| End::NoRoom(format!("{complaint}, and {reason}")))
    }

    /// Starts the command. A program that somebody is still writing cannot be executed for that moment, and neither can
    /// one that has just been written while another thread starts a process; both pass quickly. Where this machine has
    /// no room for one more process, it may have some before the hook's time is over.
    pub(super) async fn start_when_free<T>(
        &self,
        start: &Start<'_, T>,
        deadline: tokio::time::Instant,
        cancel: &CancellationToken,
    ) -> Result<T, End> {
        const LONGEST: Duration = Duration::from_millis(256);
        let mut pause = Duration::from_millis(1);
        loop {
            let failed = match self.start(start) {
                Ok(process) => return Ok(process),
                Err(failed) => failed,
            };
            let in_time = tokio::time::Instant::now() + pause < deadline;
            match failed {
                NotStarted::Busy(_) if in_time && pause <= LONGEST => {}
                NotStarted::NoRoom(_) if in_time => pause = pause.min(LONGEST / 4),
                NotStarted::NoRoom(error) => return Err(End::NoRoom(error.to_string())),
                // The system blames the program even if it is the working directory that is gone.
                NotStarted::Busy(end) | NotStarted::Failed(end) => {
                    return Err(self.complaint(start.session).map_or(end, End::NoRoom));
                }
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(End::Cancelled),
                () = tokio::time::sleep(pause) => pause *= 2,
            }
        }
    }

    /// What is wrong with the directory that its hooks run in.
    fn complaint(&self, session: &Spot) -> Option<String> {
        let own = self.directory(session);
        let gone = self.directory.is_some() && !own.is_dir();
        gone.then(|| format!("the working directory {} does not exist", own.display())).or_else(|| session.complaint())
    }

    /// Starts the command, without a shell in between where it needs none.
    fn start<T>(&self, start: &Start<'_, T>) -> Result<T, NotStarted> {
        let Start { action, session, .. } = *start;
        let words = match &action.invocation {
            Invocation::Direct { words, .. } if self.direct_is_faithful => Some(words),
            Invocation::Program { words, .. } => Some(words),
            Invocation::Direct { .. } | Invocation::Shell(_) => None,
        };
        if let Some(words) = words {
            let words: Vec<OsString> =
                words.iter().map(|word| word.resolve(|name| self.variable(name, action, session))).collect();
            if let Some(process) = self.start_directly(&words, start)? {
                return Ok(process);
            }
        }
        let args = [OsString::from("-c"), OsString::from(action.invocation.shell_text())];
        let name = self.shell().file_name().unwrap_or(OsStr::new("sh"));
        let spawned = self.spawn(self.shell(), name, &args, start);
        spawned.map_err(|error| match is_no_room(&error) {
            true => NotStarted::NoRoom(error),
            false => NotStarted::Failed(cannot_start(self.shell(), &error)),
        })
    }

    /// Starts a program without a shell; `None` if it is a script that only a shell can read.
    fn start_directly<T>(&self, words: &[OsString], start: &Start<'_, T>) -> Result<Option<T>, NotStarted> {
        let Start { action, session, .. } = *start;
        let [name, args @ ..] = words else { return Ok(None) };
        let program = ready::find_program(name, &self.places(action, session))
            .map_err(|reason| NotStarted::Failed(not_started(reason)))?;
        // A script sees the path it was started by: a relative one must stay relative, as a shell leaves it.
        let path = if name.as_encoded_bytes().contains(&b'/') { Path::new(name) } else { program.as_path() };
        match self.spawn(path, name, args, start) {
            Ok(process) => Ok(Some(process)),
            Err(error) if is_exec_format(&error) => Ok(None),
            Err(error) if is_no_room(&error) => Err(NotStarted::NoRoom(error)),
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                Err(NotStarted::Busy(cannot_start(&program, &error)))
            }
            Err(error) => Err(NotStarted::Failed(match self.check_command(action, session) {
                Err(reason) => not_started(reason),
                Ok(()) => cannot_start(&program, &error),
            })),
        }
    }

    fn spawn<T>(&self, path: &Path, name: &OsStr, args: &[OsString], start: &Start<'_, T>) -> std::io::Result<T> {
        let Start { action, more_env, session, open } = *start;
        let session_env = session_environment(session);
        let base = self.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let own = action.env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        // A shell would say where it is.
        let cwd = self.directory(session);
        let place = cwd.is_absolute().then_some((OsStr::new("PWD"), cwd.as_os_str()));
        let of_session = session_env.iter().map(|(name, value)| (OsStr::new(*name), *value));
        let of_dialect =
            dialect_environment(action, session).map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let more = more_env.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let mut env = base.chain(place).chain(of_session).chain(of_dialect).chain(own).chain(more);
        let directory = self.directory.is_none().then_some(&session.directory);
        open(&mut Program { path, name, args, cwd, directory, env: &mut env })
    }

    /// A variable as the hook's process will see it.
    pub(super) fn variable(&self, name: &str, action: &CommandAction, session: &Spot) -> Option<OsString> {
        let own = action.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| OsString::from(value));
        let of_session = || {
            let env = session_environment(session);
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        own.or_else(of_session).or_else(|| lookup(&self.env, name).map(OsStr::to_owned))
    }

    /// Whether the command could start.
    pub(super) fn check_command(&self, action: &CommandAction, session: &Spot) -> Result<(), NotReady> {
        if session.standing == Standing::Gone {
            return Err(NotReady::NoDirectory(session.directory.path().display().to_string()));
        }
        let variable = |name: &str| self.variable(name, action, session);
        ready::check(action, &Whereabouts { cwd: self.directory(session), variable: &variable })
    }

    /// Where its program is looked for; a hook may bring its own search path.
    fn places<'a>(&'a self, action: &'a CommandAction, session: &'a Spot) -> Places<'a> {
        let own = action.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| OsStr::new(path));
        let path = own.or_else(|| lookup(&self.env, "PATH")).unwrap_or(OsStr::new(DEFAULT_PATH));
        Places { path, cwd: self.directory(session) }
    }
}

/// A command that was not started, and how that counts.
enum NotStarted {
    /// It may be in a moment.
    Busy(End),
    /// It may be when others have ended.
    NoRoom(std::io::Error),
    /// It will not be.
    Failed(End),
}

/// Why a hook may have failed by no fault of its own: a shell that can't start its programs fails, or tries until its time
/// is over.
fn lack(end: &End) -> Option<String> {
    let how = match end {
        End::Exited(code) if !matches!(code, 0 | 2) => format!("it ended with code {code}"),
        End::TimedOut(after) => format!("it took longer than {after:?}"),
        End::Signaled(KILL) if Shares::of_process().ran_out_of_memory() => {
            return Some("it was killed, and the system has been killing processes for want of memory".to_owned());
        }
        _ => return None,
    };
    let error = hookwright_process::start_threads(SPARE).err()?;
    Some(format!("{how} while nothing more could be started ({error})"))
}

/// The variables that tell a hook where it is.
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

/// The variables that scripts of another dialect look for.
fn dialect_environment<'a>(action: &CommandAction, session: &'a Session) -> Option<(&'static str, &'a str)> {
    (action.dialect == Dialect::Claude).then_some(("CLAUDE_CODE_SESSION_ID", session.id.as_str()))
}

fn ended(waited: std::io::Result<Exit>) -> End {
    match waited {
        Ok(Exit::Code(code)) => End::Exited(code),
        Ok(Exit::Signal(number)) => End::Signaled(number),
        Err(error) => End::NotStarted { code: 126, message: format!("its end could not be seen: {error}") },
    }
}

fn captured(capture: &Capture) -> Captured {
    Captured::decode(capture.head(), capture.bytes())
}

#[cfg(unix)]
fn is_exec_format(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

#[cfg(not(unix))]
fn is_exec_format(_: &std::io::Error) -> bool {
    false
}

/// Whether it was for want of something that may be there in a moment: descriptors, processes, memory, or the places in
/// which the system keeps what a program waits for.
fn is_no_room(error: &std::io::Error) -> bool {
    hookwright_process::is_no_room(error) || error.kind() == std::io::ErrorKind::StorageFull
}

fn not_started(reason: NotReady) -> End {
    End::NotStarted { code: reason.exit_code(), message: reason.to_string() }
}

fn cannot_start(program: &Path, error: &std::io::Error) -> End {
    End::NotStarted { code: 126, message: format!("{}: {error}", program.display()) }
}
