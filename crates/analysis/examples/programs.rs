//! Works with program files without building them in: checks their examples, and measures them on files of commands.
//!
//! ```text
//! programs FILE…                        checks these files and their examples
//! programs --commands F.jsonl…          a table: how many commands are certain, by verdict
//!          [--only NAME] [--list]       only commands that begin with a word; every command
//!          [--programs DIR]             the program files (crates/analysis/programs)
//!          [--time]                     how long the analysis of a command takes, with the programs that are built in
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

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs");
    let (mut files, mut commands) = (Vec::new(), Vec::new());
    let (mut only, mut list, mut measures, mut times) = (None, false, false, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--programs" => directory = args.next().ok_or("--programs: no directory")?.into(),
            "--only" => only = args.next(),
            "--list" => list = true,
            "--time" => times = true,
            "--commands" => measures = true,
            file if measures => commands.push(PathBuf::from(file)),
            file => files.push(PathBuf::from(file)),
        }
    }
    if times {
        return measure_time(&commands);
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

/// Times every command, warm: the shortest of several runs, because other processes make a run longer, never shorter.
fn measure_time(files: &[PathBuf]) -> Result<(), Failure> {
    const RUNS: usize = 5;
    let first_use = |name: &'static str| {
        let start = Instant::now();
        black_box(Programs::BUILT_IN.find(name));
        (start.elapsed(), name)
    };
    let mut first_uses: Vec<(Duration, &str)> = hookwright_analysis::programs::names().map(first_use).collect();
    first_uses.sort();
    let mut timed = Vec::new();
    for file in files {
        for line in std::fs::read_to_string(file)?.lines() {
            let row: serde_json::Value = serde_json::from_str(line)?;
            let Some(command) = row["command"].as_str().map(str::to_owned) else { continue };
            let time = || {
                let start = Instant::now();
                black_box(common::effects(&command, &Programs::BUILT_IN));
                start.elapsed()
            };
            time();
            let shortest = (0..RUNS).map(|_| time()).min().unwrap_or_default();
            timed.push((shortest, command));
        }
    }
    timed.sort();
    let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
    let Some((slowest_time, slowest)) = timed.last() else { return Err("no commands".into()) };
    let percentile = |share: usize| micros(timed[(timed.len() - 1) * share / 100].0);
    println!("first use      median {:.1} µs of a program", micros(first_uses[first_uses.len() / 2].0));
    for (time, name) in first_uses.iter().rev().take(5) {
        println!("               {:.1} µs: {name}", micros(*time));
    }
    println!("commands       {}", timed.len());
    println!("median         {:.1} µs, 99 %: {:.1} µs", percentile(50), percentile(99));
    let mut around: Vec<Duration> =
        timed.iter().filter(|(_, command)| (80..=120).contains(&command.len())).map(|(time, _)| *time).collect();
    around.sort();
    if let Some(median) = around.get(around.len() / 2) {
        println!("80 to 120 characters: {} commands, median {:.1} µs", around.len(), micros(*median));
    }
    if let Some((time, longest)) = timed.iter().max_by_key(|(_, command)| command.len()) {
        println!("longest        {:.1} µs, {} characters", micros(*time), longest.len());
    }
    println!("slowest        {:.1} µs: {:.100}", micros(*slowest_time), slowest);
    Ok(())
}
