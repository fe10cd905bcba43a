//! Does a deny hold? Installs agents, runs every behaviour of a hook under each of them, with and without the bridge, prints
//! the table and writes it down. For developers: the rig itself is `crates/trial`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for developers, whose words are its own")]

mod args;
mod install;
mod net;
mod page;
mod progress;
mod record;
mod table;
mod trial;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use args::Args;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Exit 1 says that with the bridge something did not hold that could have.
fn run() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    if args.again {
        return show(&args, trial::earlier(&args, &[])?);
    }
    let deadline = net::deadline(&args);
    let agents = install::agents(&args, deadline);
    if agents.is_empty() {
        eprintln!("conformance: none of the agents could be installed; nothing is tried");
        return Ok(ExitCode::SUCCESS);
    }
    let hookwright = install::hookwright(&args, deadline)?;
    let fence = match net::enter(&args, deadline)? {
        net::Where::Inside => false,
        net::Where::Outside => true,
        net::Where::Done(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
    if let Some(folder) = &args.record {
        runtime.block_on(record::all(&args, &agents, folder, fence))?;
        return Ok(ExitCode::SUCCESS);
    }
    show(&args, runtime.block_on(trial::all(&args, &agents, &hookwright, fence, deadline))?)
}

/// Prints the table and writes it down where that was asked for.
fn show(args: &Args, results: Vec<trial::Tried>) -> anyhow::Result<ExitCode> {
    print!("{}", table::plain(&results));
    let code = table::verdict(&results);
    if let Some(path) = &args.page {
        std::fs::write(path, page::markdown(&results)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.json {
        let text = table::json(results).context("the results as JSON")?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(code)
}
