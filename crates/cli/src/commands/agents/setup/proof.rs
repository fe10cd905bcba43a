//! The live proof at the end of setup, and its table: which guard held in which agent, and the next step for every "no".

use std::io::Write;
use std::path::Path;

use hookwright_settings::{ConfigPaths, ProcessEnv};
use hookwright_trial::live::TrialVerdict;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::super::doctor::{AgentProof, prove_agent};
use super::super::guard_chain::{ChainLink, ChainVerdict, LinkState, armed_guards};
use super::super::trial_record;
use super::SetupPlan;
use super::undo_journal::{FileRole, UndoJournal};
use crate::args::SetupArgs;
use crate::commands::hooks::LoadedProject;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTE, TextTable, WARN, paint};

/// Tries the guards in each agent, one after the other.
pub(super) fn prove_agents(
    plan: &SetupPlan,
    args: &SetupArgs,
    world: &ProcessEnv,
    journal: &UndoJournal,
) -> anyhow::Result<Vec<AgentProof>> {
    let toolbox = LoadedProject::open(&args.place, world)?;
    if args.no_live {
        return plan.agents.iter().map(|agent| prove_agent(&toolbox, world, &agent.agent, None)).collect();
    }
    let results = [trial_record::record_path(world), ConfigPaths::new(world).known_guards];
    let files: Vec<&Path> = results.iter().map(AsRef::as_ref).collect();
    let count = plan.agents.len();
    journal.record_step(&FileRole::Results, &files, || {
        let prove = |(at, agent): (usize, &super::AgentPlan)| {
            let agent = &agent.agent;
            if !args.json {
                write_progress(&format!("Trying {} ({} of {count}) ", agent.host.title(), at + 1));
            }
            let on_trial_end = || {
                if !args.json {
                    write_progress(".");
                }
            };
            let proof = prove_agent(&toolbox, world, agent, Some(&on_trial_end))?;
            if !args.json {
                write_progress(&format!(" {}\n", result_text(&proof)));
            }
            Ok(proof)
        };
        plan.agents.iter().enumerate().map(prove).collect()
    })
}

/// Writes progress to stderr; a closed stderr means that the user wants none.
fn write_progress(text: &str) {
    let mut stderr = output::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

fn result_text(proof: &AgentProof) -> String {
    let held = proof.guards.iter().filter(|guard| guard.verdict == TrialVerdict::Holds).count();
    match (&proof.obeyed, &proof.error) {
        (Some((obeyed, all)), _) if proof.guards.is_empty() => format!("trial hooks {obeyed} of {all}, no guards"),
        (Some((obeyed, all)), _) => format!("trial hooks {obeyed} of {all}, guards {held} of {}", proof.guards.len()),
        (None, Some(error)) => format!("not tried: {}", output::one_line(error)),
        (None, None) => "not tried".to_owned(),
    }
}

/// Prints which guard held in which agent, and what to do next.
pub(super) fn print_table(proofs: &[AgentProof], toolbox: &LoadedProject, args: &SetupArgs) -> anyhow::Result<()> {
    let guards: Vec<String> = armed_guards(toolbox).iter().map(|entry| entry.hook.id().to_owned()).collect();
    let mut rest = proofs;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(agents_that_fit(rest, &guards, args));
        rest = later;
        let headings: Vec<&'static str> =
            std::iter::once("GUARD").chain(now.iter().map(|proof| proof.agent.host.title())).collect();
        let mut table = TextTable::new(&headings);
        for guard in &guards {
            let name = output::truncate_columns(guard, MAX_GUARD_COLUMNS);
            table.add_row(
                std::iter::once((BOLD, name)).chain(now.iter().map(|proof| guard_cell(proof, guard))).collect(),
            );
        }
        let verdicts = now.iter().map(|proof| verdict_cell(proof, args));
        table.add_row(std::iter::once((BOLD, "all in all".to_owned())).chain(verdicts).collect());
        let mut stdout = output::stdout();
        writeln!(stdout)?;
        table.print(&mut stdout)?;
    }
    print_next_steps(proofs, args)
}

/// The width limit of a guard's name in the table.
const MAX_GUARD_COLUMNS: usize = 32;

/// Returns how many agents a table can have side by side; at least one.
fn agents_that_fit(proofs: &[AgentProof], guards: &[String], args: &SetupArgs) -> usize {
    let Some(columns) = output::terminal_columns() else { return proofs.len() };
    let names = guards.iter().map(|name| name.width().min(MAX_GUARD_COLUMNS)).max().unwrap_or(0);
    let mut used = names.max("all in all".len());
    let mut fits = |proof: &&AgentProof| {
        let cells = guards.iter().map(|guard| guard_cell(proof, guard)).chain([verdict_cell(proof, args)]);
        let widest = cells.map(|(_, text)| text.width()).max().unwrap_or(0);
        used += 2 + widest.max(proof.agent.host.title().width());
        used <= columns
    };
    proofs.iter().take_while(|proof| fits(proof)).count().max(1)
}

fn guard_cell(proof: &AgentProof, guard: &str) -> (anstyle::Style, String) {
    match proof.guards.iter().find(|tried| tried.guard == guard).map(|tried| tried.verdict) {
        Some(TrialVerdict::Holds) => (GOOD, "held".to_owned()),
        Some(TrialVerdict::Fails) => (BAD, "DID NOT HOLD".to_owned()),
        Some(TrialVerdict::Unknown) => (WARN, "not tried".to_owned()),
        None => (WARN, "not proven".to_owned()),
    }
}

fn verdict_cell(proof: &AgentProof, args: &SetupArgs) -> (anstyle::Style, String) {
    match proof.chain.verdict() {
        ChainVerdict::No => (BAD, proof.chain.label()),
        _ if args.no_live => (WARN, "not proven: --no-live".to_owned()),
        _ if proof.obeyed.is_none() => (WARN, "not proven: not tried".to_owned()),
        ChainVerdict::Unproven => (WARN, proof.chain.label()),
        ChainVerdict::Yes => (GOOD, "guarded".to_owned()),
    }
}

/// Prints each open point once, with the agents that it concerns and what to do about it.
fn print_next_steps(proofs: &[AgentProof], args: &SetupArgs) -> anyhow::Result<()> {
    let mut steps: Vec<(String, Option<String>, Vec<&str>)> = Vec::new();
    let mut add = |what: String, todo: Option<String>, agent| match steps
        .iter_mut()
        .find(|step| (&step.0, &step.1) == (&what, &todo))
    {
        Some(step) => step.2.push(agent),
        None => steps.push((what, todo, vec![agent])),
    };
    for proof in proofs {
        let title = proof.agent.host.title();
        for link in proof.chain.links.iter().filter(|link| link.state != LinkState::Holds) {
            // Where no guard was tried, another line says why.
            if link.link != ChainLink::LiveTrial || !proof.guards.is_empty() {
                add(link.summary.clone(), link.hint.clone(), title);
            }
        }
        if let Some(error) = &proof.error {
            add(error.clone(), None, title);
        }
        for guard in proof.guards.iter().filter(|guard| guard.verdict != TrialVerdict::Holds) {
            add(format!("guard `{}`: {}", output::truncate_columns(&guard.guard, 60), guard.outcome), None, title);
        }
    }
    let mut stdout = output::stdout();
    if !steps.is_empty() {
        writeln!(stdout, "\n{}", paint(BOLD, "What is left:"))?;
    }
    for (what, todo, agents) in &steps {
        writeln!(stdout, "  {}: {}", agents.join(", "), output::one_line(what))?;
        if let Some(todo) = todo {
            writeln!(stdout, "    {} {}", paint(NOTE, "next:"), output::one_line(todo))?;
        }
    }
    writeln!(stdout)?;
    let is_proven = proofs.iter().all(AgentProof::is_proven);
    match is_proven {
        true => writeln!(stdout, "{}", paint(GOOD, "Every agent is guarded: every guard was seen to hold."))?,
        false if steps.is_empty() && args.no_live => {
            writeln!(
                stdout,
                "{}",
                paint(WARN, "Nothing is proven: `hookwright setup` without --no-live tries the guards.")
            )?;
        }
        false => {
            let text = "Not every agent is proven to be guarded. `hookwright setup` tries it again.";
            writeln!(stdout, "{}", paint(BAD, text))?;
        }
    }
    let scope = match args.scope().as_str() {
        "user" => String::new(),
        scope => format!(" --{scope}"),
    };
    writeln!(stdout, "{}", paint(DIM, format!("`hookwright setup --undo{scope}` takes all of it back.")))?;
    Ok(())
}

pub(super) fn proof_json(proof: &AgentProof) -> Value {
    let guards: Vec<Value> = proof
        .guards
        .iter()
        .map(|one| json!({"guard": one.guard, "call": one.call, "verdict": one.verdict, "result": one.outcome}))
        .collect();
    let obeyed = proof.obeyed.map(|(held, all)| json!({"held": held, "of": all}));
    json!({
        "agent": proof.agent.host.name(), "version": proof.agent.version, "proven": proof.is_proven(),
        "trial_hooks": obeyed, "guards": guards, "error": proof.error, "chain": proof.chain.to_json(),
    })
}
