//! Runs one shell command with a tool's limits. Its output is limited and forwarded as it arrives; when it is cancelled
//! or takes too long, its whole process group is ended. `hookwright-process` does the process handling.

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

/// After the command has ended, a process that it left behind may hold the pipe open: how long the output must be
/// silent, and how long it is read at most.
const OUTPUT_QUIET_PERIOD: Duration = Duration::from_millis(100);
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The terminal type that is announced to commands.
const TERM_VALUE: &str = "xterm-256color";
/// The number of screen rows that is assumed for commands that draw on a pipe.
const PIPE_SCREEN_ROWS: usize = 24;

/// The search path for shells if the environment has none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that has been started. Dropping it ends its process group.
pub(crate) struct ShellCommand {
    process: Box<Process>,
    /// The permit of the process limit, held for as long as the command is tracked.
    permit: Permit,
    /// The command and the list of background jobs that it joins if it keeps running.
    command_line: String,
    jobs: Arc<BackgroundJobs>,
    terminal: Option<(PseudoTerminal, TerminalSize)>,
}

/// The input and output of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandStdio {
    /// Empty input, and output to a pipe.
    Pipes,
    /// A terminal, if a front end shows it.
    Terminal,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    /// It exited by itself.
    Exited(Exit),
    /// It printed nothing for too long.
    Inactive(Duration),
    /// It ran for too long.
    TimedOut(Duration),
    /// The call was cancelled.
    Cancelled,
}

/// A command that has ended, and the processes that it left running.
pub(crate) struct FinishedCommand {
    pub(crate) end: ShellEnd,
    pub(crate) output: String,
    pub(crate) left_behind: Vec<u32>,
}

/// The outcome of watching a command for a while.
pub(crate) enum WatchOutcome {
    /// It has ended.
    Finished(FinishedCommand),
    /// It still runs.
    Running(ShellCommand),
}

/// Starts `bash -c`, or `sh -c` where there is no bash.
///
/// The number of commands is limited, so that commands left running do not use up the processes that hooks and the
/// program itself need.
pub(crate) fn start_command(
    command: &str,
    directory: &DirectoryHandle,
    on: CommandStdio,
    ctx: &ToolContext,
) -> io::Result<ShellCommand> {
    let budget = ProcessBudget::global();
    // Waiting for a permit could take for ever, because background commands may never end.
    let permit = budget.commands.try_acquire().ok_or_else(|| limit_reached_error(budget.commands.capacity()))?;
    let shell = find_shell(directory.path(), ctx).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no shell"))?;
    let terminal = if on == CommandStdio::Terminal { open_terminal(ctx) } else { None };
    let variables = ctx.environment.get();
    let mut env = command_environment(&variables, &ctx.shell.pager, terminal.is_some()).into_iter();
    let (first, args) = shell_arguments(&shell, command, budget.max_command_processes);
    let (first, args) = match ctx.confinement_words.split_first() {
        Some((launcher, words)) => {
            let shell = std::iter::once(first.as_os_str().to_owned());
            (Path::new(launcher), words.iter().cloned().chain(shell).chain(args).collect())
        }
        None => (first, args),
    };
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
            // The terminal is drawn first, so that it is current when the output sink is called.
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
        permit,
        command_line: command.to_owned(),
        jobs: ctx.jobs.clone(),
        terminal,
    })
}

/// Opens a terminal, if a front end shows it and the system provides one.
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

/// Returns the command's environment.
///
/// Scripts can tell by it that an agent runs them; pagers are replaced because they would wait for a key; a new
/// terminal has its own type and size.
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

/// Returns the program to start and its arguments: the shell with the command.
///
/// Where the system limits a user's processes, `/bin/sh` lowers that limit first. It reads no startup file, so the
/// command's shell reads its own as usual.
fn shell_arguments<'s>(shell: &'s Path, command: &str, processes: Option<usize>) -> (&'s Path, Vec<OsString>) {
    let plain = Path::new("/bin/sh");
    let Some(most) = processes.filter(|_| is_program(plain)) else {
        return (shell, vec![OsString::from("-c"), OsString::from(command)]);
    };
    // Shells differ in which of the two options they support. The error message of the other is discarded by closing
    // stderr, because a redirection to a file could fail and leave the limit unset.
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

/// Returns the file of a command, as a shell would find it.
pub fn find_program(command: &str, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if command.contains(std::path::is_separator) {
        return Some(cwd.join(command)).filter(|file| file.is_file());
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let name = format!("{command}{}", std::env::consts::EXE_SUFFIX);
    let places = std::env::split_paths(path);
    places.flat_map(|place| [cwd.join(&place).join(command), cwd.join(place).join(&name)]).find(|file| is_program(file))
}

impl ShellCommand {
    /// Returns the id of the process, which leads its group.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the output so far.
    pub(crate) fn output(&self) -> String {
        let rows = self.terminal.as_ref().map_or(PIPE_SCREEN_ROWS, |(_, size)| usize::from(size.rows));
        output_text::render_output(self.process.stdout(), rows)
    }

    /// Waits for the end, within the configured time limits.
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
                // This program may have been stopped for a while, so pending events are handled first.
                () = sleep_until(silent_until) => match self.process.try_next_event()? {
                    Some(ProcessEvent::Output) => last_output = Instant::now(),
                    Some(ProcessEvent::Exited(exit)) => break ShellEnd::Exited(exit),
                    // A user at the terminal may be thinking about what to type.
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

    /// Watches the command for this time.
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

    /// Lets the command run in the background until the session ends.
    pub(crate) fn detach(self) {
        self.process.track_group();
        tokio::spawn(async move {
            self.jobs.supervise(self.process, self.command_line).await;
            drop(self.permit);
        });
    }

    /// Collects the results of a command that has ended.
    ///
    /// Processes that it left running continue, as in any shell, and end with the session. They are tracked even if
    /// they have closed the output, because they may still change files.
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
