//! `hookwright effects COMMAND`: shows what is understood of a shell command, step by step, and why something is unsure.

use std::io::Write;

use anyhow::Context;
use hookwright_analysis::disk::RealDisk;
use hookwright_analysis::effects::{CallPlace, Command};
use hookwright_analysis::interpreter::Environment;
use hookwright_analysis::programs::Programs;
use hookwright_analysis::trace::{Trace, TraceStep, trace_command};
use hookwright_settings::ProcessEnv;

use crate::args::EffectsArgs;
use crate::exit;
use crate::output::{self, BOLD, DIM, GOOD, WARN, one_line, paint};

pub(crate) fn run(args: &EffectsArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let given = args.dir.as_deref().unwrap_or_else(|| ".".as_ref());
    let directory = world.cwd.join(given).canonicalize();
    let directory = directory.with_context(|| format!("there is no directory {}", given.display()))?;
    anyhow::ensure!(directory.is_dir(), "{} is not a directory", given.display());
    let place = CallPlace { cwd: &directory, project: &directory, home: world.home.as_deref() };
    let environment = Environment { disk: &RealDisk, programs: &Programs::BUILT_IN, home: place.home, variable: None };
    let trace = trace_command(&args.command, &place, environment);
    if args.json {
        output::print_json(&trace.to_json())?;
    } else {
        print(&trace)?;
    }
    Ok(exit::OK)
}

fn print(trace: &Trace) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    for step in &trace.steps {
        print_step(&mut stdout, step, 0)?;
    }
    if !trace.steps.is_empty() {
        writeln!(stdout)?;
    }
    if trace.effects.is_certain() {
        writeln!(stdout, "{}: this is all that it does", paint(GOOD, "certain"))?;
        return Ok(());
    }
    let lists: Vec<String> = trace.effects.unsure().map(|aspect| format!("{aspect:?}").to_lowercase()).collect();
    writeln!(stdout, "{}: there may be more {}", paint(WARN, "unsure"), lists.join(", "))?;
    for reason in trace.effects.reasons() {
        writeln!(stdout, "  {}", one_line(reason))?;
    }
    Ok(())
}

fn print_step(out: &mut impl Write, step: &TraceStep, depth: usize) -> anyhow::Result<()> {
    let indent = "  ".repeat(depth);
    let text = step.command.as_ref().map_or_else(|| "(no command)".to_owned(), command_line);
    writeln!(out, "{indent}{} {}", paint(DIM, "$"), paint(BOLD, one_line(&text)))?;
    for (aspect, list) in step.lists() {
        let label = format!("{aspect:?}").to_lowercase();
        for text in list {
            writeln!(out, "{indent}  {label}: {}", one_line(&text))?;
        }
    }
    if !step.effects.is_certain() {
        for reason in step.effects.reasons() {
            writeln!(out, "{indent}  {}: {}", paint(WARN, "unsure"), one_line(reason))?;
        }
    }
    step.steps.iter().try_for_each(|inner| print_step(out, inner, depth + 1))
}

/// Formats a command as a shell would read it. A word that only the running shell knows stays as written.
fn command_line(command: &Command) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+:@%=,{}".contains(char);
    let words = command.words.iter().zip(&command.shown).map(|(known, shown)| match known {
        Some(word) if word.is_empty() || !word.chars().all(is_plain) => format!("'{}'", word.replace('\'', r"'\''")),
        _ => shown.clone(),
    });
    words.collect::<Vec<_>>().join(" ")
}
