//! Works with program files without building them in: checks their examples, and measures them on files of commands.
//!
//! ```text
//! programs FILE…                        checks these files and their examples
//! programs --commands F.jsonl…          a table: how many commands are certain, by verdict
//!          [--only NAME] [--list]       only commands that begin with a word; every command
//!          [--programs DIR]             the program files (crates/analysis/programs)
//! ```
//! A line of a file of commands is `{"command": …, "expect": "allow" | "block"}`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a tool for people who write program files"
)]

#[path = "../tests/common/mod.rs"]
mod common;

#[path = "../build/compiler.rs"]
#[allow(unreachable_pub, reason = "shared with the build script")]
mod compiler;

use hookwright_analysis::programs::{Programs, spec};

use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs");
    let (mut files, mut commands) = (Vec::new(), Vec::new());
    let (mut only, mut list, mut measures) = (None, false, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--programs" => directory = args.next().ok_or("--programs: no directory")?.into(),
            "--only" => only = args.next(),
            "--list" => list = true,
            "--commands" => measures = true,
            file if measures => commands.push(PathBuf::from(file)),
            file => files.push(PathBuf::from(file)),
        }
    }
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            texts.push((path.display().to_string(), std::fs::read_to_string(&path)?));
        }
    }
    texts.sort();
    let compiled = match compiler::compile(&texts) {
        Ok(compiled) => compiled,
        Err(errors) => {
            // Files of others may be unfinished: what does not compile is left out.
            errors.iter().for_each(|error| eprintln!("{error}"));
            texts.retain(|file| {
                compiler::compile(std::slice::from_ref(file)).is_ok()
                    || !errors.iter().any(|error| error.starts_with(&file.0))
            });
            compiler::compile(&texts).map_err(|errors| errors.join("\n"))?
        }
    };
    let programs = Programs::from_specs(compiled.programs);
    if measures {
        return measure(&programs, &commands, only.as_deref(), list);
    }
    let wanted =
        |file: &str| files.is_empty() || files.iter().any(|one| Path::new(file).file_name() == one.file_name());
    let mut failed = 0;
    let mut count = 0;
    for (file, example) in compiled.examples.iter().filter(|(file, _)| wanted(file)) {
        count += 1;
        if let Err(difference) = common::check_example(example, &programs) {
            failed += 1;
            println!("{file}: {difference}");
        }
    }
    println!("{count} examples, {failed} failed");
    if failed > 0 { Err("examples failed".into()) } else { Ok(()) }
}

#[derive(Default)]
struct Counts {
    all: usize,
    certain: usize,
    certain_and_empty: usize,
}

fn measure(programs: &Programs, files: &[PathBuf], only: Option<&str>, list: bool) -> Result<(), Failure> {
    println!("{:<14}{:>8}{:>8}{:>9}{:>9}", "corpus", "verdict", "count", "certain", "+ empty");
    for file in files {
        let (mut allow, mut block) = (Counts::default(), Counts::default());
        let mut lines = Vec::new();
        for line in std::fs::read_to_string(file)?.lines() {
            let row: serde_json::Value = serde_json::from_str(line)?;
            let (Some(command), Some(expect)) = (row["command"].as_str(), row["expect"].as_str()) else { continue };
            if only.is_some_and(|only| command.split_whitespace().next() != Some(only)) {
                continue;
            }
            let effects = common::effects(command, programs);
            let counts = if expect == "allow" { &mut allow } else { &mut block };
            counts.all += 1;
            counts.certain += usize::from(effects.is_certain());
            counts.certain_and_empty += usize::from(effects.is_certain() && effects.is_empty());
            if list || only.is_some() {
                let mut told = serde_json::to_value(&effects)?;
                if let Some(told) = told.as_object_mut() {
                    told.retain(|name, value| {
                        name != "commands" && name != "unsure" && value.as_array().is_none_or(|list| !list.is_empty())
                    });
                }
                let why = effects.reasons().join("; ");
                lines.push(format!(
                    "{expect:<6}{:<9}{command:?}\n        {told} {why}",
                    if effects.is_certain() { "certain" } else { "unsure" }
                ));
            }
        }
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        for (verdict, counts) in [("allow", allow), ("block", block)] {
            println!(
                "{name:<14}{verdict:>8}{:>8}{:>8.1}%{:>9}",
                counts.all,
                100.0 * counts.certain as f64 / counts.all.max(1) as f64,
                counts.certain_and_empty
            );
        }
        lines.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}
