//! `hookwright man`: manual pages for the program and each of its commands, generated from the same texts as `--help`.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Cli;
use crate::{exit, output};

/// Writes all pages into a directory, or prints the program's own.
pub(crate) fn run(directory: Option<&Path>) -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    let Some(directory) = directory else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        output::stdout().write_all(&page)?;
        return Ok(exit::OK);
    };
    std::fs::create_dir_all(directory).with_context(|| format!("can't create {}", directory.display()))?;
    let count = write_pages(&command, "hookwright", directory)?;
    output::note(format!("wrote {count} pages into {}", directory.display()))?;
    Ok(exit::OK)
}

/// Writes the page of a command and those of its subcommands; returns how many.
fn write_pages(command: &clap::Command, name: &str, directory: &Path) -> anyhow::Result<usize> {
    let mut count = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        count += write_pages(inner, &format!("{name}-{}", inner.get_name()), directory)?;
    }
    let mut page = Vec::new();
    // The page has the name of the command as typed, with a dash for each space.
    let shown: &'static str = Box::leak(name.to_owned().into_boxed_str());
    Man::new(command.clone().name(shown)).render(&mut page)?;
    let file = directory.join(format!("{name}.1"));
    std::fs::write(&file, page).with_context(|| format!("can't write {}", file.display()))?;
    Ok(count)
}
