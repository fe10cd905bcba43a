//! Runs one shell command under a tool's limits: its output kept to a bound and passed on as it comes, ended with
//! everything it started when it is cancelled or takes too long. Knows nothing of arguments and results; what a process
//! is, `hookwright-process` knows.

mod text;

use crate::context::ToolContext;
use hookwright_process::{Exit, Input, Keep, Output, Process, Program, Step, Until};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use text::Utf8Stream;
use tokio::time::{Instant, sleep_until};

/// Once the command itself has ended: how long silence must last, and how long output is waited for at most, if
/// something it left behind holds the pipe open.
const QUIET: Duration = Duration::from_millis(100);
const DRAIN: Duration = Duration::from_millis(500);

/// Scripts can tell that an agent runs them; pagers would wait for a key that nobody presses.
const OVERRIDES: &[(&str, &str)] = &[("GEMINI_CLI", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// Where shells are if the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that has been started. Dropping it ends the command and all of its group.
pub(crate) struct Command(Box<Process>);

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    /// By itself.
    Exited(Exit),
    /// It was silent for too long.
    Inactive(Duration),
    /// It ran for too long.
    TimedOut(Duration),
    /// The call was cancelled.
    Cancelled,
}

/// A command that is over, and what it left running.
pub(crate) struct FinishedCommand {
    pub(crate) end: ShellEnd,
    pub(crate) output: String,
    pub(crate) left_behind: Vec<u32>,
}

/// What came of watching a command for a while.
pub(crate) enum Watched {
    /// It is over already.
    Finished(FinishedCommand),
    /// It runs on.
    Running(Command),
}

/// Starts `bash -c`, or `sh -c` where there is no bash.
pub(crate) fn start(command: &str, directory: &Path, ctx: &ToolContext) -> io::Result<Command> {
    let shell = find_shell(directory, ctx).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no shell"))?;
    let overrides = OVERRIDES.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
    let mut env = ctx.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).chain(overrides);
    let mut program = Program {
        path: &shell,
        name: shell.file_name().unwrap_or(OsStr::new("sh")),
        args: &[OsString::from("-c"), OsString::from(command)],
        cwd: directory,
        directory: None,
        env: &mut env,
    };
    let (sink, mut decoder) = (ctx.output.clone(), Utf8Stream::default());
    let live = Box::new(move |piece: &[u8]| sink.send(&decoder.push(piece)));
    let output = Output::Together(Keep::Ends(ctx.shell.max_output_bytes), live);
    let process = Process::spawn(&mut program, Input::Empty, output, &ctx.background)?;
    tracing::debug!(pid = process.pid(), shell = %shell.display(), "a shell command runs");
    Ok(Command(Box::new(process)))
}

fn find_shell(directory: &Path, ctx: &ToolContext) -> Option<PathBuf> {
    let path = ctx.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    ["bash", "sh"].iter().find_map(|name| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(path).map(|place| directory.join(place).join(&name)).find(|file| is_program(file))
    })
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

impl Command {
    /// The process, which leads its group.
    pub(crate) fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// What it has printed so far.
    pub(crate) fn output(&self) -> String {
        text::of(self.0.stdout())
    }

    /// Waits for the end, at most as long as the settings allow.
    pub(crate) async fn finish(mut self, ctx: &ToolContext) -> io::Result<FinishedCommand> {
        let started = Instant::now();
        let far = started + Duration::from_secs(86_400 * 365);
        let deadline = ctx.shell.timeout.map_or(far, |limit| started + limit);
        let mut last_output = started;
        let end = loop {
            let silent_until = ctx.shell.inactivity_timeout.map_or(far, |limit| last_output + limit);
            tokio::select! {
                step = self.0.step() => match step? {
                    Step::Output => last_output = Instant::now(),
                    Step::Exited(exit) => break ShellEnd::Exited(exit),
                },
                () = ctx.cancel.cancelled() => break ShellEnd::Cancelled,
                () = sleep_until(silent_until) => {
                    break ShellEnd::Inactive(ctx.shell.inactivity_timeout.unwrap_or_default());
                }
                () = sleep_until(deadline) => break ShellEnd::TimedOut(ctx.shell.timeout.unwrap_or_default()),
            }
        };
        if !matches!(end, ShellEnd::Exited(_)) {
            self.0.end(ctx.shell.grace, Until::GroupGone).await;
        }
        tracing::debug!(pid = self.pid(), ?end, ms = started.elapsed().as_millis(), "the shell command has ended");
        Ok(self.leave(end).await)
    }

    /// Watches the command for a while.
    pub(crate) async fn watch(mut self, ctx: &ToolContext, delay: Duration) -> io::Result<Watched> {
        let until = Instant::now() + delay;
        loop {
            tokio::select! {
                step = self.0.step() => if let Step::Exited(exit) = step? {
                    return Ok(Watched::Finished(self.leave(ShellEnd::Exited(exit)).await));
                },
                () = sleep_until(until) => return Ok(Watched::Running(self)),
                () = ctx.cancel.cancelled() => return Ok(Watched::Running(self)),
            }
        }
    }

    /// Lets the command run on by itself; the session's end is the end of it.
    pub(crate) fn detach(mut self) {
        tokio::spawn(async move {
            self.0.outlast().await;
            self.0.finish();
        });
    }

    /// What is over is over; what the command started and did not wait for runs on, as in any shell, and ends with the
    /// session. What has let go of the output (a daemon) is on its own.
    async fn leave(mut self, end: ShellEnd) -> FinishedCommand {
        self.0.listen(QUIET, Instant::now() + DRAIN).await;
        let left_behind = if matches!(end, ShellEnd::Exited(_)) { self.0.members() } else { Vec::new() };
        let finished = FinishedCommand { end, output: self.output(), left_behind };
        if self.0.is_silent() {
            self.0.release();
        } else {
            tokio::spawn(async move {
                self.0.outlast().await;
                self.0.release();
            });
        }
        finished
    }
}
