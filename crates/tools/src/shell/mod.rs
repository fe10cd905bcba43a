//! Runs one shell command under a tool's limits: its output kept to a bound and passed on as it comes, ended with
//! everything it started when it is cancelled or takes too long. Knows nothing of arguments and results; what a process
//! is, `hookwright-process` knows.

mod background_jobs;
mod output_text;
mod terminal_text;

pub use background_jobs::{BackgroundJob, BackgroundJobs};

use crate::context::ToolContext;
use hookwright_process::{
    CaptureLimit, DirectoryHandle, Exit, OutputCallback, OutputRouting, Permit, Process, ProcessBudget, ProcessEvent,
    ProcessInput, ProgramSpec, PseudoTerminal, TerminalSize, TerminationWait,
};
use output_text::Utf8StreamDecoder;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Once the command itself has ended: how long silence must last, and how long output is waited for at most, if
/// something it left behind holds the pipe open.
const OUTPUT_QUIET_PERIOD: Duration = Duration::from_millis(100);
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What a terminal of ours understands.
const TERM_VALUE: &str = "xterm-256color";
/// How many rows a screen has that there is not, for whoever draws on a pipe as if it were one.
const PIPE_SCREEN_ROWS: usize = 24;

/// Where shells are if the environment does not say.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that has been started. Dropping it ends the command and all of its group.
pub(crate) struct ShellCommand {
    process: Box<Process>,
    /// Held for as long as the program holds on to anything of the command.
    permit: Permit,
    /// What is run, and where it is listed if it runs on by itself.
    command_line: String,
    jobs: Arc<BackgroundJobs>,
    terminal: Option<(PseudoTerminal, TerminalSize)>,
}

/// What a command reads from and prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandStdio {
    /// Nothing, and a pipe.
    Pipes,
    /// A terminal, where somebody shows it.
    Terminal,
}

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
pub(crate) enum WatchOutcome {
    /// It is over already.
    Finished(FinishedCommand),
    /// It runs on.
    Running(ShellCommand),
}

/// Starts `bash -c`, or `sh -c` where there is no bash. Commands have a share of this machine's room, and no more: however
/// many are left running, hooks and the program itself have theirs.
pub(crate) fn start_command(
    command: &str,
    directory: &DirectoryHandle,
    on: CommandStdio,
    ctx: &ToolContext,
) -> io::Result<ShellCommand> {
    let shares = ProcessBudget::global();
    // Nobody waits: those that are left running may do so for ever.
    let place = shares.commands.try_acquire().ok_or_else(|| limit_reached_error(shares.commands.capacity()))?;
    let shell = find_shell(directory.path(), ctx).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no shell"))?;
    let terminal = if on == CommandStdio::Terminal { open_terminal(ctx) } else { None };
    let variables = ctx.environment.get();
    let mut env = command_environment(&variables, &ctx.shell.pager, terminal.is_some()).into_iter();
    let (first, args) = shell_arguments(&shell, command, shares.max_command_processes);
    let mut program = ProgramSpec {
        path: first,
        name: first.file_name().unwrap_or(OsStr::new("sh")),
        args: &args,
        cwd: directory.path(),
        cwd_handle: Some(directory),
        env: &mut env,
    };
    let (sink, mut decoder) = (ctx.output.clone(), Utf8StreamDecoder::default());
    let mut live: OutputCallback = Box::new(move |piece: &[u8]| sink.send(&decoder.push(piece)));
    let keep = CaptureLimit::HeadAndTail(ctx.shell.max_output_bytes);
    let output = match (&terminal, &ctx.console) {
        (Some((terminal, _)), Some(console)) => {
            let mut draw = console.host.open(&console.call_id, terminal);
            // Drawn first: whoever hears of output finds it there.
            let both = move |piece: &[u8]| {
                draw(piece);
                live(piece);
            };
            OutputRouting::Terminal(keep, Box::new(both), terminal.clone())
        }
        _ => OutputRouting::Merged(keep, live),
    };
    let process = Process::spawn(&mut program, ProcessInput::Empty, output, &ctx.process_groups)?;
    tracing::debug!(pid = process.pid(), shell = %shell.display(), "a shell command runs");
    Ok(ShellCommand {
        process: Box::new(process),
        permit: place,
        command_line: command.to_owned(),
        jobs: ctx.jobs.clone(),
        terminal,
    })
}

/// A terminal and its size, if somebody shows it and the system has one to give.
fn open_terminal(ctx: &ToolContext) -> Option<(PseudoTerminal, TerminalSize)> {
    let console = ctx.console.as_ref().filter(|_| ctx.shell.interactive)?;
    let size = console.host.size();
    match PseudoTerminal::open(size) {
        Ok(terminal) => Some((terminal, size)),
        Err(error) => {
            tracing::debug!(%error, "there is no terminal to be had; the command has pipes");
            None
        }
    }
}

/// Scripts can tell that an agent runs them; pagers would wait for a key that nobody presses. A terminal of ours is not the
/// one that the program runs on.
fn command_environment<'a>(
    variables: &'a [(OsString, OsString)],
    pager: &'a str,
    on_terminal: bool,
) -> Vec<(&'a OsStr, &'a OsStr)> {
    let overrides = [("GEMINI_CLI", "1"), ("PAGER", pager), ("GIT_PAGER", pager)];
    let of_terminal = on_terminal.then_some(("TERM", TERM_VALUE));
    let is_meant = |name: &OsStr| !(on_terminal && (name == "LINES" || name == "COLUMNS"));
    let given = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let ours = overrides.into_iter().chain(of_terminal).map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    given.filter(|(name, _)| is_meant(name)).chain(ours).collect()
}

fn limit_reached_error(most: usize) -> io::Error {
    let plural = if most == 1 { "command still runs" } else { "commands still run" };
    io::Error::other(format!(
        "{most} {plural} in the background, which is all that there is room for; end some first (kill -- -PGID)"
    ))
}

/// What is started, and what it is given: the shell with the command. Where the system limits a user's processes, a first
/// shell lowers that for the command; one that reads no startup file, which is for the other to do.
fn shell_arguments<'s>(shell: &'s Path, command: &str, processes: Option<usize>) -> (&'s Path, Vec<OsString>) {
    let plain = Path::new("/bin/sh");
    let Some(most) = processes.filter(|_| is_program(plain)) else {
        return (shell, vec![OsString::from("-c"), OsString::from(command)]);
    };
    // One of the two letters is this shell's; its word about the other goes nowhere, with no file to be opened for that: a
    // redirection that fails would leave the limit out.
    let limit = format!("ulimit -u {most} 2>&- || ulimit -p {most} 2>&-; exec \"$0\" -c \"$1\"");
    (plain, vec![OsString::from("-c"), OsString::from(limit), shell.as_os_str().to_owned(), OsString::from(command)])
}

fn find_shell(directory: &Path, ctx: &ToolContext) -> Option<PathBuf> {
    let variables = ctx.environment.get();
    let path = variables.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    ["bash", "sh"].iter().find_map(|name| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(path).map(|place| directory.join(place).join(&name)).find(|file| is_program(file))
    })
}

#[cfg(unix)]
pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_program(file: &Path) -> bool {
    file.is_file()
}

impl ShellCommand {
    /// The process, which leads its group.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has printed so far.
    pub(crate) fn output(&self) -> String {
        let rows = self.terminal.as_ref().map_or(PIPE_SCREEN_ROWS, |(_, size)| usize::from(size.rows));
        output_text::render_output(self.process.stdout(), rows)
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
                step = self.process.next_event() => match step? {
                    ProcessEvent::Output => last_output = Instant::now(),
                    ProcessEvent::Exited(exit) => break ShellEnd::Exited(exit),
                },
                () = ctx.cancel.cancelled() => break ShellEnd::Cancelled,
                // This program may have been stopped for a while: what has happened meanwhile counts.
                () = sleep_until(silent_until) => match self.process.try_next_event()? {
                    Some(ProcessEvent::Output) => last_output = Instant::now(),
                    Some(ProcessEvent::Exited(exit)) => break ShellEnd::Exited(exit),
                    // Somebody thinks about what to type.
                    None if self.is_attended() => last_output = Instant::now(),
                    None => break ShellEnd::Inactive(ctx.shell.inactivity_timeout.unwrap_or_default()),
                },
                () = sleep_until(deadline) => match self.process.try_next_event()? {
                    Some(ProcessEvent::Exited(exit)) => break ShellEnd::Exited(exit),
                    _ => break ShellEnd::TimedOut(ctx.shell.timeout.unwrap_or_default()),
                },
            }
        };
        if !matches!(end, ShellEnd::Exited(_)) {
            self.process.terminate(ctx.shell.grace_period, TerminationWait::Group).await;
        }
        tracing::debug!(pid = self.pid(), ?end, ms = started.elapsed().as_millis(), "the shell command has ended");
        Ok(self.into_finished(end).await)
    }

    fn is_attended(&self) -> bool {
        self.terminal.as_ref().is_some_and(|(terminal, _)| terminal.is_attended())
    }

    /// Watches the command for a while.
    pub(crate) async fn watch(mut self, ctx: &ToolContext, delay: Duration) -> io::Result<WatchOutcome> {
        let until = Instant::now() + delay;
        loop {
            tokio::select! {
                step = self.process.next_event() => if let ProcessEvent::Exited(exit) = step? {
                    return Ok(WatchOutcome::Finished(self.into_finished(ShellEnd::Exited(exit)).await));
                },
                () = sleep_until(until) => return Ok(WatchOutcome::Running(self)),
                () = ctx.cancel.cancelled() => return Ok(WatchOutcome::Running(self)),
            }
        }
    }

    /// Lets the command run on by itself; the session's end is the end of it.
    pub(crate) fn detach(self) {
        self.process.track_group();
        tokio::spawn(async move {
            self.jobs.supervise(self.process, self.command_line).await;
            drop(self.permit);
        });
    }

    /// What is over is over; what the command started and did not wait for runs on, as in any shell, and ends with the
    /// session, whether or not it has let go of the output: whoever may still change something is known.
    async fn into_finished(mut self, end: ShellEnd) -> FinishedCommand {
        self.process.read_until_quiet(OUTPUT_QUIET_PERIOD, Instant::now() + OUTPUT_DRAIN_TIMEOUT).await;
        let left_behind = if matches!(end, ShellEnd::Exited(_)) { self.process.live_pids() } else { Vec::new() };
        let finished = FinishedCommand { end, output: self.output(), left_behind };
        if self.process.is_output_closed() && !self.process.has_survivors() {
            self.process.finish();
        } else {
            self.detach();
        }
        finished
    }
}
