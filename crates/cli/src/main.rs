//! The binary: read the command line, run one command, print its error, pick the exit code.

mod args;
mod demo;
mod exit;
mod headless;
mod hooks;
mod hooktest;
mod out;
mod report;
mod session;
mod sessions;
mod signals;
mod stats;
mod telemetry;
mod trace;
mod tui;

use std::process::ExitCode;

use clap::Parser;
use hookwright_settings::World;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let world = World::from_process();
    let result = match cli.command {
        Some(args::Command::Hooks(hooks)) => hooks::run(hooks, world),
        Some(args::Command::Demo { keep }) => demo::run(keep, &world),
        None if cli.agent.list_sessions => sessions::list(&world),
        None => match &cli.agent.delete_session {
            Some(which) => sessions::delete(which, &world),
            None if tui::wanted(&cli.agent) => tui::run(&cli.agent, &world),
            None => headless::run(&cli.agent, &world),
        },
    };
    ExitCode::from(result.unwrap_or_else(|error| failed(&error)))
}

/// Help and version are no errors; the rest must not look like a hook's "denied".
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    match error.exit_code() {
        0 => ExitCode::from(exit::OK),
        _ if std::env::args_os().nth(1).is_some_and(|first| first == "hooks") => ExitCode::from(exit::ERROR),
        _ => ExitCode::from(exit::BAD_INPUT),
    }
}

/// Prints an error with its causes.
fn failed(error: &anyhow::Error) -> u8 {
    let closed_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    // Whoever read our output has seen enough.
    if error.chain().any(closed_pipe) {
        return exit::OK;
    }
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(|cause| cause.to_string().trim_end().to_owned()) {
        // Some errors say their cause themselves.
        if !causes.last().is_some_and(|said| said.contains(&cause)) {
            causes.push(cause);
        }
    }
    let _ = std::io::Write::write_fmt(
        &mut out::stderr(),
        format_args!("{} {}\n", out::paint(out::BAD, "error:"), causes.join(": ")),
    );
    exit::ERROR
}
