//! Tests whether a deny holds: installs agents, runs every behaviour of a hook under each of them, with and without the
//! bridge, prints the table and writes it to files. It is a tool for developers; the trial itself is in `crates/trial`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers, whose words are its own")]

mod args;
mod install;
mod network_namespace;
mod page;
mod progress;
mod record;
mod table;
mod trial;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use args::ConformanceArgs;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the tool. Exit code 1 means that with the bridge a behaviour failed that could have held.
fn run() -> anyhow::Result<ExitCode> {
    let args = ConformanceArgs::parse();
    if args.again {
        return report_results(&args, trial::load_earlier_results(&args, &[])?);
    }
    let deadline = network_namespace::deadline(&args);
    let agents = install::install_agents(&args, deadline);
    if agents.is_empty() {
        eprintln!("conformance: none of the agents could be installed; nothing is tried");
        return Ok(ExitCode::SUCCESS);
    }
    let hookwright = install::find_or_build_hookwright(&args, deadline)?;
    let fence = match network_namespace::enter_namespace(&args, deadline)? {
        network_namespace::NamespaceState::Inside => false,
        network_namespace::NamespaceState::Outside => true,
        network_namespace::NamespaceState::Finished(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
    if let Some(folder) = &args.record {
        runtime.block_on(record::record_agents(&args, &agents, folder, fence))?;
        return Ok(ExitCode::SUCCESS);
    }
    report_results(&args, runtime.block_on(trial::run_cells(&args, &agents, &hookwright, fence, deadline))?)
}

/// Prints the table, and writes the files that were asked for.
fn report_results(args: &ConformanceArgs, results: Vec<trial::CellResult>) -> anyhow::Result<ExitCode> {
    print!("{}", table::format_table(&results));
    let code = table::exit_code(&results);
    if let Some(path) = &args.page {
        std::fs::write(path, page::markdown(&results)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.json {
        let text = table::to_json(results).context("the results as JSON")?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(code)
}
