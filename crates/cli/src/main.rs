//! The binary: read the command line, run one command, print its error, pick the exit code.

mod agents;
mod args;
mod asked;
mod bridge;
mod checkpoints;
mod choices;
mod completions;
mod config;
mod demo;
mod exit;
mod extensions;
mod failure;
mod farewell;
mod first_word;
mod greeting;
mod headless;
mod hooks;
mod hooktest;
mod log;
mod man;
mod mcp;
mod out;
mod past;
mod plain;
mod policy;
mod programs;
mod replies;
mod report;
mod runtime;
mod session;
mod sessions;
mod signals;
mod skills;
mod stats;
mod subagents;
mod telemetry;
mod trace;
mod tui;
mod version;
mod watchdog;

use std::io::Write;
use std::process::ExitCode;

use hookwright_settings::{Paths, World};
use tracing::level_filters::LevelFilter;

fn main() -> ExitCode {
    if let Some(code) = watchdog::asked_for() {
        return code;
    }
    watchdog::keep();
    hookwright_process::share_memory();
    hookwright_process::hear_of_full_files();
    hookwright_process::keep_to_oneself();
    hookwright_process::raise_descriptor_limit();
    hookwright_process::at_abort(aborted);
    // Between an agent and its tools every moment counts: no other commands' options are read.
    if let Some(args) = args::BridgeArgs::at_a_glance(std::env::args_os().skip(1)) {
        let code = bridge::run(&args, || {
            let world = World::from_process();
            log::start(None, &world);
            world
        });
        hookwright_process::end_descendants();
        return ExitCode::from(code);
    }
    let code = runtime::on_large_stack(run).unwrap_or_else(|error| failure::print(&error));
    hookwright_process::end_descendants();
    ExitCode::from(code)
}

/// Memory or stack have run out in the middle of something; which of them has been said.
fn aborted() {
    const HINT: &str = "hint: allow more memory (`ulimit -v`), or end some programs\n";
    hookwright_process::last_words(&tui::abandon(), HINT);
}

fn run() -> u8 {
    let world = World::from_process();
    if let Some(answered) = completions::answer(&world) {
        return answered.unwrap_or_else(|error| failure::print(&error));
    }
    let cli = match args::Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if cli.agent.prompt_interactive.is_some() && !tui::wanted(&cli.agent) {
        return headless::refuse_interactive_prompt();
    }
    if let Some(no_prompt) = first_word::check(&cli.agent) {
        let _ = out::error(no_prompt.what).and_then(|()| out::hint(no_prompt.hint));
        return exit::BAD_INPUT;
    }
    // The demo leaves nothing in anybody's home.
    if !matches!(cli.command, Some(args::Command::Demo { .. } | args::Command::ServeDemoMcp)) {
        hookwright_disk::sweep_drafts(&Paths::new(&world).drafts);
    }
    for warning in log::start(cli.agent.debug.then_some(LevelFilter::DEBUG), &world) {
        // Whoever closed stderr wants no warnings.
        let _ = out::warn(warning);
    }
    let code = command(cli, world).unwrap_or_else(|error| {
        tracing::error!("{error:#}");
        failure::print(&error)
    });
    tracing::info!(code, "ends");
    code
}

fn command(cli: args::Cli, world: World) -> anyhow::Result<u8> {
    match cli.command {
        Some(args::Command::Hooks(hooks)) => hooks::run(hooks, world),
        Some(args::Command::Extensions(extensions)) => extensions::run(extensions, &world),
        Some(args::Command::Bridge(bridge)) => Ok(bridge::run(&bridge, World::from_process)),
        Some(args::Command::Policy(policy)) => policy::run(&policy, &world),
        Some(args::Command::Checkpoints(checkpoints)) => checkpoints::run(&checkpoints, &world),
        Some(args::Command::Mcp(mcp)) => mcp::run(&mcp, &world),
        Some(args::Command::Doctor { json, place }) => hooks::run_doctor(&place, &world, json),
        Some(args::Command::Completions { shell }) => completions::print(shell),
        Some(args::Command::Man { directory }) => man::run(directory.as_deref()),
        Some(args::Command::Config(config)) => config::run(&config, &world),
        Some(args::Command::Version) => {
            writeln!(out::stdout(), "hookwright {}", version::version())?;
            Ok(exit::OK)
        }
        Some(args::Command::Skills(skills)) => skills::run(skills, &world),
        Some(args::Command::Subagents(subagents)) => subagents::run(&subagents, &world),
        Some(args::Command::Agents(agents)) => agents::run(&agents, &world),
        Some(args::Command::ServeDemoMcp) => demo::serve_mcp(),
        Some(args::Command::Demo { which, keep }) => demo::run(which, keep, &world),
        None if cli.agent.list_sessions => sessions::list(&world),
        None => match &cli.agent.delete_session {
            Some(which) => sessions::delete(which, &world),
            None if tui::wanted(&cli.agent) => tui::run(&cli.agent, &world),
            None => headless::run(&cli.agent, &world),
        },
    }
}

/// Help and version are no errors, unless nobody can read them; the rest must not look like a hook's "denied".
fn usage(error: &clap::Error) -> u8 {
    let printed = error.print().and_then(|()| out::stdout().flush());
    match error.exit_code() {
        0 => match printed {
            Err(error) if !out::is_unread(&error) => failure::print(&error.into()),
            _ => exit::OK,
        },
        // An agent's entry that is wrong must not be a yes.
        _ if std::env::args_os().nth(1).is_some_and(|word| word == "bridge") => exit::DENIED,
        _ if first_word::is_command(std::env::args_os().nth(1)) => exit::ERROR,
        _ => exit::BAD_INPUT,
    }
}
