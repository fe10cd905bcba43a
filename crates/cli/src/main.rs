//! The binary: parses the command line, runs one command, prints its error and returns the exit code.

mod args;
mod bridge;
mod commands;
mod exit;
mod frontend;
mod log;
mod output;
mod presentation;
mod runtime;
mod signals;
mod telemetry;
mod watchdog;

use std::io::Write;
use std::process::ExitCode;

use hookwright_settings::{ConfigPaths, ProcessEnv};
use tracing::level_filters::LevelFilter;

use args::typo_guard;
use commands::{
    agents, checkpoints, completions, config, effects, extensions, hooks, journal, man, mcp, policy, run, session_list,
    skills, subagents,
};
use frontend::{acp, demo, headless, tui};
use output::error_report;

fn main() -> ExitCode {
    if let Some(code) = watchdog::run_if_requested() {
        return code;
    }
    if let Some(code) = run::run_if_requested() {
        return code;
    }
    watchdog::start();
    hookwright_process::use_single_malloc_arena();
    hookwright_process::ignore_file_size_signal();
    hookwright_process::forbid_memory_inspection();
    hookwright_process::raise_descriptor_limit();
    hookwright_process::set_abort_handler(on_abort);
    // An agent waits for the bridge before each tool call, so the clap tables of the other commands are not built.
    if let Some(args) = args::BridgeArgs::parse_fast(std::env::args_os().skip(1)) {
        let code = bridge::run(&args, || {
            let world = ProcessEnv::from_process();
            log::start(None, &world);
            world
        });
        hookwright_process::kill_descendants();
        return ExitCode::from(code);
    }
    let code = runtime::run_on_large_stack(run_cli).unwrap_or_else(|error| error_report::print(&error));
    hookwright_process::kill_descendants();
    ExitCode::from(code)
}

/// Restores the terminal and prints a hint when the process aborts for want of memory or stack.
///
/// The reason of the abort is already on stderr by then.
fn on_abort() {
    const ABORT_HINT: &str = "hint: allow more memory (`ulimit -v`), or end some programs\n";
    hookwright_process::write_final_output(&tui::restore_modes(), ABORT_HINT);
}

fn run_cli() -> u8 {
    let world = ProcessEnv::from_process();
    if let Some(answered) = completions::complete_if_requested(&world) {
        return answered.unwrap_or_else(|error| error_report::print(&error));
    }
    if let Some(text) = args::short_help::requested(std::env::args_os()) {
        return match write!(output::stdout(), "{text}").and_then(|()| output::stdout().flush()) {
            Err(error) if !output::is_reader_gone(&error) => error_report::print(&error.into()),
            _ => exit::OK,
        };
    }
    let cli = match args::Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error),
    };
    if cli.agent.prompt_interactive.is_some() && !tui::is_interactive(&cli.agent) {
        return headless::refuse_interactive_prompt();
    }
    if let Some(no_prompt) = typo_guard::check_prompt(&cli.agent) {
        let _ = output::error(no_prompt.message).and_then(|()| output::hint(no_prompt.hint));
        return exit::BAD_INPUT;
    }
    // The demo writes nothing into the user's home directory.
    if !matches!(cli.command, Some(args::CliCommand::Demo { .. } | args::CliCommand::ServeDemoMcp)) {
        hookwright_disk::sweep_temp_files(&ConfigPaths::new(&world).drafts);
    }
    for warning in log::start(cli.agent.debug.then_some(LevelFilter::DEBUG), &world) {
        // A closed stderr means that the user wants no warnings.
        let _ = output::warn(warning);
    }
    let code = run_command(cli, world).unwrap_or_else(|error| {
        tracing::error!("{error:#}");
        error_report::print(&error)
    });
    tracing::info!(code, "ends");
    code
}

fn run_command(cli: args::Cli, world: ProcessEnv) -> anyhow::Result<u8> {
    match cli.command {
        Some(args::CliCommand::Hooks(hooks)) => hooks::run(hooks, world),
        Some(args::CliCommand::Extensions(extensions)) => extensions::run(extensions, &world),
        Some(args::CliCommand::Bridge(bridge)) => Ok(bridge::run(&bridge, ProcessEnv::from_process)),
        Some(args::CliCommand::Journal(journal)) => journal::run(&journal, &world),
        Some(args::CliCommand::Policy(policy)) => policy::run(&policy, &world),
        Some(args::CliCommand::Effects(effects)) => effects::run(&effects, &world),
        // Only reached with an option before the command, when threads run already.
        Some(args::CliCommand::Run(args)) => run::run(&args),
        Some(args::CliCommand::Checkpoints(checkpoints)) => checkpoints::run(&checkpoints, &world),
        Some(args::CliCommand::Mcp(mcp)) => mcp::run(&mcp, &world),
        Some(args::CliCommand::Doctor { json, place }) => hooks::run_doctor(&place, &world, json),
        Some(args::CliCommand::Completions { shell }) => completions::print(shell),
        Some(args::CliCommand::Man { directory }) => man::run(directory.as_deref()),
        Some(args::CliCommand::Config(config)) => config::run(&config, &world),
        Some(args::CliCommand::Version) => {
            writeln!(output::stdout(), "hookwright {}", args::version_text())?;
            Ok(exit::OK)
        }
        Some(args::CliCommand::Skills(skills)) => skills::run(skills, &world),
        Some(args::CliCommand::Subagents(subagents)) => subagents::run(&subagents, &world),
        Some(args::CliCommand::Agents(agents)) => agents::run(&agents, &world),
        Some(args::CliCommand::Acp(args)) => match &args.command {
            Some(args::AcpCommand::Guard { words }) => acp::guard::run(words, &world),
            None => acp::run(&(&args).into(), &world),
        },
        Some(args::CliCommand::Setup(setup)) => agents::setup::run(&setup, &world),
        Some(args::CliCommand::ServeDemoMcp) => demo::serve_mcp(),
        Some(args::CliCommand::Demo { which, keep }) => demo::run(which, keep, &world),
        None if cli.agent.list_sessions => session_list::list(&world),
        None => match &cli.agent.delete_session {
            Some(which) => session_list::delete(which, &world),
            None if tui::is_interactive(&cli.agent) => tui::run(&cli.agent, &world),
            None => headless::run(&cli.agent, &world),
        },
    }
}

/// Prints clap's error, help or version text, and returns the exit code.
///
/// Help and version exit 0, unless they can't be printed. No usage error may look like a hook's
/// `DENIED`, except for `bridge`.
fn print_usage_error(error: &clap::Error) -> u8 {
    let printed = error.print().and_then(|()| output::stdout().flush());
    match error.exit_code() {
        0 => match printed {
            Err(error) if !output::is_reader_gone(&error) => error_report::print(&error.into()),
            _ => exit::OK,
        },
        // A wrong entry in an agent's settings must not let the call pass.
        _ if std::env::args_os().nth(1).is_some_and(|word| word == "bridge") => exit::DENIED,
        _ if typo_guard::is_command(std::env::args_os().nth(1)) => exit::ERROR,
        _ => exit::BAD_INPUT,
    }
}
