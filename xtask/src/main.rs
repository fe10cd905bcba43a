//! Developer tasks that need the workspace's own code: `cargo run -p xtask -- generate` or `-- dependencies`.

#![expect(clippy::print_stderr, reason = "a tool for developers")]
#![expect(clippy::unwrap_used, reason = "a file of the workspace in an unknown form is a bug to mend here")]
#![expect(clippy::disallowed_methods, reason = "it reads files of the workspace only")]

mod dependencies;
mod generate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;

const USAGE: &str = "usage: cargo run -p xtask -- generate | dependencies

generate      writes schemas/ and the types of the SDKs anew
dependencies  checks licences, bans, doubles and sources against deny.toml";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate"] => generate::write_files(&root()),
        ["dependencies"] => dependencies::check(&root()),
        _ => bail!("{USAGE}"),
    }
}

/// Returns the workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
