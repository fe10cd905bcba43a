//! `hookwright setup`: connects the agents on this machine, adds guards, records the user's trust and tries whether the
//! guards hold. `setup --undo` takes all of it back.

mod guard_plan;
mod proof;
mod trust_plan;
mod undo;
mod undo_journal;

use std::io::Write;
use std::path::Path;

use anyhow::{bail, ensure};
use hookwright_bridge::Host;
use hookwright_bridge::install::{InstallPlan, InstallScope, InstallTarget, apply, plan_install};
use hookwright_settings::ProcessEnv;
use hookwright_settings::edit::EditError;
use serde_json::{Value, json};

use super::detection::{self, DetectedAgent};
use super::doctor::AgentProof;
use super::guard_chain::ChainVerdict;
use super::install::{
    InstallVerb, display_path, entry_program, no_machine_place, print_text_diff, summary_line, warn_of_private_program,
};
use crate::args::SetupArgs;
use crate::commands::hooks::LoadedProject;
use crate::commands::hooks::packs::shipped;
use crate::commands::prompt;
use crate::exit;
use crate::output::{self, BOLD, paint};
use guard_plan::{GuardPlan, PackPlan, default_packs, find_packs};
use trust_plan::TrustPlan;
use undo_journal::{FileRole, FileState, UndoEntry, UndoJournal};

/// Everything that setup will change.
struct SetupPlan {
    agents: Vec<AgentPlan>,
    guards: GuardPlan,
    trust: TrustPlan,
}

/// What happens to the settings of one agent.
struct AgentPlan {
    agent: DetectedAgent,
    /// The change, or why the settings can't be changed.
    install: Result<InstallPlan, EditError>,
}

impl SetupPlan {
    fn has_changes(&self) -> bool {
        let changes = |agent: &AgentPlan| agent.install.as_ref().is_ok_and(|plan| !plan.is_noop());
        self.agents.iter().any(changes) || !self.guards.files.is_empty() || self.trust.has_changes()
    }
}

/// Runs `hookwright setup`.
pub(crate) fn run(args: &SetupArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    ensure!(world.home.is_some(), "no home directory is known: HOME is not set");
    ensure!(!args.json || args.yes || args.dry_run, "--json can't ask: add --yes or --dry-run");
    let project = args.place.directory(world)?;
    let journal = UndoJournal::locate(world, args.scope(), &project);
    if args.undo {
        return undo::run(args, &journal, world, &project);
    }
    let result = set_up(args, world, &project, &journal);
    journal.remove_early_folders();
    result
}

fn set_up(args: &SetupArgs, world: &ProcessEnv, project: &Path, journal: &UndoJournal) -> anyhow::Result<u8> {
    let agents = choose_agents(args, world, project)?;
    if agents.is_empty() {
        return report_no_agent(args);
    }
    let toolbox = LoadedProject::open(&args.place, world)?;
    // Nothing is left behind if the user ends the program at a question.
    journal.remove_early_folders();
    if !args.json {
        print_agents(&agents)?;
    }
    let Some(packs) = choose_packs(args, world)? else { return refuse() };
    let guards = GuardPlan::new(&find_packs(&packs, &world.cwd)?, &toolbox.loaded.paths, project, args.scope())?;
    let trust = TrustPlan::new(&toolbox, &guards, args)?;
    let plan = SetupPlan { agents: plan_agents(agents, args, world, project)?, guards, trust };
    if !args.json {
        print_plan(&plan, args, world)?;
    }
    ensure!(
        plan.agents.iter().any(|agent| agent.install.is_ok()),
        "the settings of no agent can be changed; nothing was changed"
    );
    if args.dry_run {
        if args.json {
            output::print_json(&json!({"ok": true, "dry_run": true, "plan": plan_json(&plan)}))?;
        }
        return Ok(exit::OK);
    }
    if plan.has_changes() && !confirm(&plan, args)? {
        return refuse();
    }
    let is_applied = apply_plan(&plan, args, world, journal)?;
    let proofs = proof::prove_agents(&plan, args, world, journal)?;
    let is_proven = is_applied && proofs.iter().all(AgentProof::is_proven);
    if args.json {
        let agents: Vec<Value> = proofs.iter().map(proof::proof_json).collect();
        let value = json!({"ok": is_proven, "dry_run": false, "plan": plan_json(&plan), "agents": agents, "journal": journal.path});
        output::print_json(&value)?;
    } else {
        proof::print_table(&proofs, &LoadedProject::open(&args.place, world)?, args)?;
    }
    let verdict = proofs.iter().map(AgentProof::verdict).max().filter(|_| is_applied).unwrap_or(ChainVerdict::No);
    Ok(verdict.exit_code())
}

/// Returns the agents to set up: the named ones, or those that are on this machine.
fn choose_agents(args: &SetupArgs, world: &ProcessEnv, project: &Path) -> anyhow::Result<Vec<DetectedAgent>> {
    let named = args.hosts();
    let hosts = named.clone().unwrap_or_else(|| Host::all().collect());
    let mut agents = Vec::new();
    for agent in detection::detect_agents(&hosts, world, project)? {
        let has_place = InstallTarget::locate(agent.host, args.scope(), world, project).is_some();
        match named {
            Some(_) if !has_place => bail!("{}", no_machine_place(agent.host)),
            None if !agent.is_present() => {}
            None if !has_place => {
                output::note(format!("{}: left out: {}", agent.host.title(), no_machine_place(agent.host)))?;
            }
            _ => agents.push(agent),
        }
    }
    Ok(agents)
}

fn report_no_agent(args: &SetupArgs) -> anyhow::Result<u8> {
    let names: Vec<&str> = Host::all().map(Host::name).collect();
    match args.json {
        true => output::print_json(&json!({"ok": false, "agents": [], "error": "no agent was found on this machine"}))?,
        false => {
            output::error("no agent was found on this machine; nothing was changed")?;
            output::hint(format!(
                "known agents: {}; one that is not on PATH is set up by its name: --agents NAME",
                names.join(", ")
            ))?;
        }
    }
    Ok(exit::ERROR)
}

fn print_agents(agents: &[DetectedAgent]) -> anyhow::Result<()> {
    let describe = |agent: &DetectedAgent| {
        let title = agent.host.title();
        match (&agent.version, &agent.program) {
            (Some(version), _) => format!("{title} {version}"),
            (None, Some(_)) => format!("{title} (version unknown)"),
            (None, None) => format!("{title} (no program on PATH)"),
        }
    };
    let agents: Vec<String> = agents.iter().map(describe).collect();
    writeln!(output::stdout(), "{} {}", paint(BOLD, "Agents:"), agents.join(", "))?;
    Ok(())
}

/// Returns the names of the packs to add; `None` if the question was not answered.
fn choose_packs(args: &SetupArgs, world: &ProcessEnv) -> anyhow::Result<Option<Vec<String>>> {
    if let Some(packs) = &args.pack {
        return Ok(Some(packs.clone()));
    }
    if args.no_pack {
        return Ok(Some(Vec::new()));
    }
    if args.yes || args.dry_run || !prompt::is_interactive() {
        return Ok(Some(default_packs()));
    }
    ask_for_packs(&world.cwd)
}

/// Asks which packs to add, until every name is known.
fn ask_for_packs(directory: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", paint(BOLD, "Guards come in packs:"))?;
    for pack in shipped() {
        writeln!(stdout, "  {:<12}{}", pack.name, pack.summary())?;
    }
    drop(stdout);
    let standard = default_packs();
    let shown = if standard.is_empty() { "none".to_owned() } else { standard.join(",") };
    loop {
        let question = format!("Which ones? Names with commas, or `none` [{shown}] ");
        let Some(answer) = prompt::ask(&question)? else { return Ok(None) };
        let names: Vec<String> = match answer.trim() {
            "" => return Ok(Some(standard)),
            "none" | "no" | "n" => return Ok(Some(Vec::new())),
            // A newcomer may take the question for one of yes and no.
            "y" | "yes" => return Ok(Some(standard)),
            text => text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        };
        match find_packs(&names, directory) {
            Ok(_) => return Ok(Some(names)),
            Err(error) => output::error(format!("{error:#}"))?,
        }
    }
}

fn plan_agents(
    agents: Vec<DetectedAgent>,
    args: &SetupArgs,
    world: &ProcessEnv,
    project: &Path,
) -> anyhow::Result<Vec<AgentPlan>> {
    let caller = entry_program(args.scope(), world, project)?;
    if args.scope() == InstallScope::Machine {
        warn_of_private_program(&caller, world)?;
    }
    let mut plans = Vec::new();
    for agent in agents {
        if let Some(target) = InstallTarget::locate(agent.host, args.scope(), world, project) {
            plans.push(AgentPlan { agent, install: plan_install(&target, &caller) });
        }
    }
    Ok(plans)
}

fn print_plan(plan: &SetupPlan, args: &SetupArgs, world: &ProcessEnv) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    if !plan.has_changes() {
        writeln!(stdout, "Nothing to change: all of it is set up already.")?;
    } else {
        writeln!(stdout, "{}", paint(BOLD, "Setup will write:"))?;
    }
    for agent in &plan.agents {
        match &agent.install {
            Ok(install) if install.is_noop() => {
                let file = display_path(&install.target.file, world);
                writeln!(stdout, "  {}: {file} has all entries already", agent.agent.host.title())?;
            }
            Ok(install) => writeln!(stdout, "  {}", summary_line(install, InstallVerb::Install, world))?,
            Err(error) => {
                output::error(format!("{}: left out: {error}", agent.agent.host.title()))?;
                error.hint().map_or(Ok(()), output::hint)?;
            }
        }
    }
    for pack in &plan.guards.packs {
        writeln!(stdout, "  {}", pack_line(pack, world))?;
    }
    for line in plan.trust.summary_lines(world) {
        writeln!(stdout, "  {line}")?;
    }
    if !args.no_live {
        writeln!(stdout, "Then it tries the guards in each agent, offline, for a minute each at most.")?;
    }
    drop(stdout);
    if args.dry_run {
        print_diffs(plan)?;
    }
    Ok(())
}

/// Describes what adding a pack does in a line.
fn pack_line(pack: &PackPlan, world: &ProcessEnv) -> String {
    let (name, file) = (&pack.name, display_path(&pack.settings, world));
    let count =
        |names: &[String]| if names.len() == 1 { "1 guard".to_owned() } else { format!("{} guards", names.len()) };
    let mut line = match pack.added.is_empty() {
        true => format!("Pack {name}: {file} has it already"),
        false => format!("Pack {name}: {} in {file}: {}", count(&pack.added), pack.added.join(", ")),
    };
    if !pack.differing.is_empty() {
        line.push_str(&format!("; yours stay as they are: {}", pack.differing.join(", ")));
    }
    line
}

fn print_diffs(plan: &SetupPlan) -> anyhow::Result<()> {
    for file in &plan.guards.files {
        print_text_diff(&file.path, file.old.as_deref(), Some(&file.new))?;
    }
    for install in plan.agents.iter().filter_map(|agent| agent.install.as_ref().ok()).filter(|plan| !plan.is_noop()) {
        print_text_diff(&install.target.file, install.old.as_deref(), install.new.as_deref())?;
    }
    Ok(())
}

fn confirm(plan: &SetupPlan, args: &SetupArgs) -> anyhow::Result<bool> {
    if args.yes {
        return Ok(true);
    }
    loop {
        let answer = prompt::ask("Go on? [y/N, d shows the diff] ")?.unwrap_or_default();
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "d" | "diff" => print_diffs(plan)?,
            _ => return Ok(false),
        }
    }
}

fn refuse() -> anyhow::Result<u8> {
    output::error("not confirmed; nothing was changed")?;
    output::hint(
        "`hookwright setup --dry-run` shows the change; `--agents` and `--pack` choose; `--yes` is for scripts",
    )?;
    Ok(exit::ERROR)
}

/// Makes the changes, guards first; returns whether all could be made.
fn apply_plan(plan: &SetupPlan, args: &SetupArgs, world: &ProcessEnv, journal: &UndoJournal) -> anyhow::Result<bool> {
    for file in &plan.guards.files {
        let after = FileState::from_text(Some(&file.new));
        let (path, before) = (file.path.clone(), file.old.clone());
        journal.record(vec![UndoEntry { path, role: FileRole::Guards, before, after }])?;
        file.write()?;
    }
    plan.trust.apply(args, world, journal, &plan.guards)?;
    let mut is_applied = true;
    for agent in &plan.agents {
        let Ok(install) = &agent.install else {
            is_applied = false;
            continue;
        };
        if install.is_noop() {
            continue;
        }
        let role = FileRole::Agent(agent.agent.host.name().to_owned());
        let (path, before) = (install.target.file.clone(), install.old.clone());
        let after = FileState::from_text(install.new.as_deref());
        journal.record(vec![UndoEntry { path, role, before, after }])?;
        if let Err(error) = apply(install) {
            is_applied = false;
            output::error(format!("{}: {error}", agent.agent.host.title()))?;
            error.hint().map_or(Ok(()), output::hint)?;
        }
    }
    Ok(is_applied)
}

fn plan_json(plan: &SetupPlan) -> Value {
    let agents: Vec<Value> = plan
        .agents
        .iter()
        .map(|agent| {
            let mut value = json!({"agent": agent.agent.host.name(), "version": agent.agent.version});
            match &agent.install {
                Ok(install) => {
                    value["file"] = json!(install.target.file);
                    value["changes"] = json!(!install.is_noop());
                }
                Err(error) => value["error"] = json!(error.to_string()),
            }
            value
        })
        .collect();
    let packs: Vec<Value> = plan
        .guards
        .packs
        .iter()
        .map(|pack| {
            json!({"pack": pack.name, "file": pack.settings, "added": pack.added, "present": pack.present, "differing": pack.differing})
        })
        .collect();
    json!({"changes": plan.has_changes(), "agents": agents, "packs": packs, "trust": plan.trust.to_json()})
}
