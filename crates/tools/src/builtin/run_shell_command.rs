//! The tool `run_shell_command`: runs one command in a shell, and waits for it or leaves it running.
//! This file has the tool's arguments and results; `shell` runs and ends the command.

use crate::catalog::{self, BuiltinInfo};
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::{CommandEnd, ResultContent, ToolDisplay, ToolResult, wrap_untrusted};
use crate::shell::{self, CommandStdio, FinishedCommand, ShellCommand, ShellEnd, WatchOutcome};
use crate::tool::{BuiltinTool, lenient_u64};
use hookwright_process::{DirectoryHandle, Exit, signal_name};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The length up to which a command is shown itself; a longer one is shown by its description, if it has one.
const MAX_DESCRIBED_COMMAND_CHARS: usize = 150;

pub(crate) struct RunShellCommand;

#[derive(Deserialize)]
pub(crate) struct RunShellCommandArgs {
    command: String,
    description: Option<String>,
    dir_path: Option<String>,
    #[serde(default)]
    is_background: bool,
    #[serde(default, deserialize_with = "lenient_u64")]
    delay_ms: Option<u64>,
}

impl BuiltinTool for RunShellCommand {
    type Args = RunShellCommandArgs;

    fn info(&self) -> &'static BuiltinInfo {
        &catalog::RUN_SHELL_COMMAND
    }

    fn description(&self) -> String {
        "Runs a command with `bash -c`, in a process group of its own. Nobody types to it, unless the user \
         has a screen and chooses to. Gives its \
         output (both streams together, the middle left out if it is long), and where they apply its exit code if not \
         0, the signal that ended it, the PIDs of processes it left running and the process group (to end it all: \
         `kill -- -PGID`). Use quiet flags and no pagers. For servers and watchers set is_background."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command, as bash is to read it." },
                "description": {
                    "type": "string",
                    "description": "What it does, for the user, in a short sentence without line breaks.",
                },
                "dir_path": {
                    "type": "string",
                    "description": "Directory of the workspace to run it in. Default: the working directory.",
                },
                "is_background": {
                    "type": "boolean",
                    "description": "Start it, watch it for a moment and let it run on.",
                },
                "delay_ms": {
                    "type": "integer", "minimum": 0,
                    "description": "With is_background: how many milliseconds to watch it.",
                },
            },
            "required": ["command"],
        })
    }

    fn describe(&self, args: &RunShellCommandArgs) -> String {
        match args.description.as_deref().map(str::trim) {
            Some(description)
                if !description.is_empty() && args.command.chars().count() > MAX_DESCRIBED_COMMAND_CHARS =>
            {
                description.to_owned()
            }
            _ => args.command.clone(),
        }
    }

    async fn run(&self, args: RunShellCommandArgs, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        if args.command.trim().is_empty() {
            return Err(ToolFailure::invalid_params("Command cannot be empty."));
        }
        let directory = open_directory(&args, ctx)?;
        let failed = |error: std::io::Error| {
            ToolFailure::new(ToolErrorKind::ShellExecuteError, format!("the command could not be run: {error}"))
        };
        // The user cannot type to a background command, so it gets no terminal.
        let on = if args.is_background { CommandStdio::Pipes } else { CommandStdio::Terminal };
        let started = shell::start_command(&args.command, &directory, on, ctx).map_err(failed)?;
        if args.is_background {
            let delay = args.delay_ms.map_or(ctx.shell.background_delay, Duration::from_millis);
            return run_in_background(&args, directory.path(), started, delay, ctx).await.map_err(failed);
        }
        let pid = started.pid();
        let finished = started.finish(ctx).await.map_err(failed)?;
        Ok(format_finished(&args, directory.path(), pid, &finished))
    }
}

/// Opens the directory that the command starts in, so that it stays the one that was checked.
fn open_directory(args: &RunShellCommandArgs, ctx: &ToolContext) -> Result<DirectoryHandle, ToolFailure> {
    let Some(asked) = args.dir_path.as_deref().filter(|path| !path.trim().is_empty()) else {
        return Ok(DirectoryHandle::open(ctx.workspace.directory()));
    };
    let directory = ctx.workspace.resolve(asked)?;
    let kind = ToolErrorKind::PathIsNotADirectory;
    if !directory.is_dir() {
        let words = format!("there is no directory {} to run the command in", directory.display());
        return Err(ToolFailure::new(kind, words));
    }
    DirectoryHandle::open_nofollow(&directory)
        .map_err(|error| ToolFailure::new(kind, format!("the command was not run in {}: {error}", directory.display())))
}

async fn run_in_background(
    args: &RunShellCommandArgs,
    directory: &Path,
    started: ShellCommand,
    delay: Duration,
    ctx: &ToolContext,
) -> std::io::Result<ToolResult> {
    let pid = started.pid();
    match started.watch(ctx, delay).await? {
        WatchOutcome::Finished(finished) => Ok(format_finished(args, directory, pid, &finished)),
        // Dropping the command ends it.
        WatchOutcome::Running(command) if ctx.cancel.is_cancelled() => {
            Ok(ToolResult::from(ToolFailure::cancelled()).with_command_end(CommandEnd::Cancelled, command.output()))
        }
        WatchOutcome::Running(command) => {
            let output = command.output();
            command.detach();
            let message = format!("Command is running in background. PID: {pid}. Initial output:\n{output}");
            let shown = format!("Background process started with PID {pid}.");
            Ok(ToolResult::text(wrap_untrusted(&message), shown).with_command_end(CommandEnd::Background, output))
        }
    }
}

fn format_finished(args: &RunShellCommandArgs, directory: &Path, pid: u32, finished: &FinishedCommand) -> ToolResult {
    let output = &finished.output;
    match finished.end {
        ShellEnd::Exited(exit) => exited_result(args, directory, pid, output, exit, &finished.left_behind),
        ShellEnd::Cancelled => {
            let mut result = stopped_result(output, "Command was cancelled by user before it could complete.");
            result.error = Some(ToolFailure::cancelled());
            result.with_command_end(CommandEnd::Cancelled, output)
        }
        ShellEnd::Inactive(limit) => stopped_result(
            output,
            &format!("Command was ended because it gave no output for {}.", format_duration(limit)),
        )
        .with_command_end(CommandEnd::Inactive, output),
        ShellEnd::TimedOut(limit) => {
            stopped_result(output, &format!("Command was ended because it ran longer than {}.", format_duration(limit)))
                .with_command_end(CommandEnd::TimedOut, output)
        }
    }
}

fn format_duration(time: Duration) -> String {
    if time >= Duration::from_secs(60) {
        format!("{:.1} minutes", time.as_secs_f64() / 60.0)
    } else {
        format!("{:.1} seconds", time.as_secs_f64())
    }
}

/// Returns the result for a command that was stopped. A time-out is not a failed call: the model decides what to do.
fn stopped_result(output: &str, why: &str) -> ToolResult {
    let message = if output.trim().is_empty() {
        format!("{why} There was no output before it was cancelled.")
    } else {
        format!("{why} Below is the output before it was cancelled:\n{output}")
    };
    let shown = if output.trim().is_empty() {
        why.to_owned()
    } else {
        format!("{why}\n\nOutput before cancellation:\n{output}")
    };
    ToolResult::text(wrap_untrusted(&message), shown)
}

/// Returns the result for a command that ended by itself. An exit code other than 0 is not a failed call either.
fn exited_result(
    args: &RunShellCommandArgs,
    directory: &Path,
    pid: u32,
    output: &str,
    exit: Exit,
    left_behind: &[u32],
) -> ToolResult {
    let empty = output.trim().is_empty();
    let mut lines = vec![
        format!("Command: {}", args.command),
        format!("Directory: {}", directory.display()),
        format!("Output: {}", if empty { "(empty)" } else { output.trim_end() }),
    ];
    let mut shown = output.to_owned();
    let end = match exit {
        Exit::Code(code) => CommandEnd::Exited(code),
        Exit::Signal(number) => CommandEnd::Signaled(number),
    };
    let why = match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some((format!("Exit Code: {code}"), format!("Command exited with code: {code}"))),
        Exit::Signal(number) => {
            let name = signal_name(number).map_or_else(|| number.to_string(), str::to_owned);
            Some((format!("Signal: {name}"), format!("Command terminated by signal: {name}")))
        }
    };
    if let Some((line, alone)) = why {
        lines.push(line);
        if empty {
            shown = alone;
        }
    }
    if !left_behind.is_empty() {
        let pids: Vec<String> = left_behind.iter().map(u32::to_string).collect();
        lines.push(format!("Background PIDs: {}", pids.join(", ")));
    }
    lines.push(format!("Process Group PGID: {pid}"));
    ToolResult::new(ResultContent::Text(wrap_untrusted(&lines.join("\n"))), ToolDisplay::Text(shown))
        .with_command_end(end, output)
}
