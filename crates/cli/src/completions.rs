//! `hookwright completions`: clap's own scripts.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::{exit, out};

pub(crate) fn print(shell: Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "hookwright", &mut script);
    out::stdout().write_all(&script)?;
    Ok(exit::OK)
}
