//! `agents doctor --live`: tries whether a deny holds on this machine. It runs the agent's own program against a fake
//! model, in temporary homes and projects: first with hooks that behave in different ways, then with the user's own
//! guards.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use hookwright_agent::session::HookListEntry;
use hookwright_settings::ProcessEnv;
use hookwright_trial::live::{LiveReport, LiveRow, LiveTrial, TrialVerdict, run_live_trial};
use hookwright_trial::mock_model::ScriptedAction;
use hookwright_trial::{GuardObservation, GuardTrial, run_guard_trial};
use serde_json::{Value, json};

use super::super::detection::DetectedAgent;
use super::super::guard_chain::{armed_guards, guards_digest};
use super::super::trial_record::{self, GuardTrialRecord, TrialRecord};
use super::guard_calls::{RefusedCall, find_refused_call, read_test_cases};
use crate::commands::hooks::LoadedProject;
use crate::output::{self, BAD, BOLD, DIM, GOOD, TextTable, WARN};

/// The time limit of the trials with hooks of its own, from the command's start on; the rest of half a minute is for
/// ending runs and for printing.
const LIVE_TRIAL_TIMEOUT: Duration = Duration::from_secs(27);
/// The time limit of the trial of the user's guards.
const GUARD_TRIAL_TIMEOUT: Duration = Duration::from_secs(27);

/// The result of all trials.
pub(super) struct LiveTrialResult {
    pub(super) record: TrialRecord,
    pub(super) guards: Vec<GuardTrialResult>,
    pub(super) json: Value,
}

/// The result of the trial of one guard.
#[derive(Clone, Debug)]
pub(in super::super) struct GuardTrialResult {
    pub(in super::super) guard: String,
    /// The call that was made; `None` if none was.
    pub(in super::super) call: Option<String>,
    pub(in super::super) verdict: TrialVerdict,
    /// What happened to the call.
    pub(in super::super) outcome: String,
}

/// What a live trial prints.
#[derive(Clone, Copy)]
pub(super) enum LiveOutput<'a> {
    Silent,
    /// Every trial as it ends, and tables at the end.
    Report,
    /// Nothing but calls of this function, whenever a trial has ended.
    Progress(&'a dyn Fn()),
}

impl LiveOutput<'_> {
    fn is_report(self) -> bool {
        matches!(self, LiveOutput::Report)
    }
}

/// A guard with the call that was made and what was seen.
struct GuardRow {
    entry: HookListEntry,
    /// The call, or why none could be made.
    call: Result<RefusedCall, String>,
    observation: Option<GuardObservation>,
}

impl GuardRow {
    fn verdict(&self) -> TrialVerdict {
        match (&self.call, &self.observation) {
            (Ok(_), Some(seen)) if seen.decisions.is_empty() => TrialVerdict::Unknown,
            (Ok(_), Some(seen)) if self.refused_by().is_some() => {
                if seen.answered {
                    TrialVerdict::Holds
                } else {
                    TrialVerdict::Unknown
                }
            }
            (Ok(_), Some(_)) => TrialVerdict::Fails,
            _ => TrialVerdict::Unknown,
        }
    }

    /// Returns the hook that refused the call: this guard, or another one before it.
    fn refused_by(&self) -> Option<String> {
        let decisions = &self.observation.as_ref()?.decisions;
        let refused = decisions.iter().find(|one| matches!(one["verdict"].as_str(), Some("deny" | "stop")))?;
        let runs = refused["hooks"].as_array().into_iter().flatten();
        let denied = |run: &&Value| matches!(run["decision"].as_str(), Some("deny" | "block" | "stop"));
        let names: Vec<&str> = runs.filter(denied).filter_map(|run| run["hook"].as_str()).collect();
        let own = self.entry.hook.id();
        let name = names.iter().find(|name| **name == own).or(names.first()).copied();
        Some(name.unwrap_or(own).to_owned())
    }

    fn result(&self) -> GuardTrialResult {
        GuardTrialResult {
            guard: self.entry.hook.id().to_owned(),
            call: self.call.as_ref().ok().map(|call| call.text.clone()),
            verdict: self.verdict(),
            outcome: self.outcome(),
        }
    }

    /// Describes what happened to the call.
    fn outcome(&self) -> String {
        match (&self.call, &self.observation, self.verdict()) {
            (Err(why), ..) => format!("not tried: {why}"),
            (_, None, _) => "not tried".to_owned(),
            (_, _, TrialVerdict::Holds) => match self.refused_by() {
                Some(name) if name != self.entry.hook.id() => format!("refused by `{name}`"),
                _ => "refused".to_owned(),
            },
            (_, _, TrialVerdict::Fails) => "was NOT refused by a guard".to_owned(),
            (_, Some(seen), TrialVerdict::Unknown) if seen.decisions.is_empty() => {
                "not tried: the agent sent no event for it".to_owned()
            }
            (_, _, TrialVerdict::Unknown) => "refused, but the agent ended before it went on".to_owned(),
        }
    }
}

pub(super) fn run(
    agent: &DetectedAgent,
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    hookwright: &Path,
    started: Instant,
    shown: LiveOutput<'_>,
) -> anyhow::Result<LiveTrialResult> {
    let host = agent.host;
    let Some(program) = &agent.program else {
        bail!("no program `{}` is on the search path, so nothing can be tested", host.info().program);
    };
    let path = world.var_os("PATH").unwrap_or_default().to_owned();
    let cache = hookwright_trial::cache_dir(|name| world.var_os(name).map(OsString::from));
    let wanted = LiveTrial {
        host,
        program,
        hookwright,
        path: &path,
        cache: cache.as_deref(),
        deadline: started + LIVE_TRIAL_TIMEOUT,
    };
    if shown.is_report() {
        output::note(format!(
            "running {} with hooks that behave in different ways, then with your own guards; this takes a minute at most",
            host.title()
        ))?;
    }
    let report = crate::runtime::start(2)?.block_on(run_behaviours(wanted, shown))?;
    let mut record = TrialRecord {
        time: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        version: agent.version.clone(),
        held: count(report.rows.iter().map(LiveRow::verdict), TrialVerdict::Holds),
        failed: count(report.rows.iter().map(LiveRow::verdict), TrialVerdict::Fails),
        total: report.rows.len() as u64,
        guards: None,
    };
    let guards = armed_guards(toolbox);
    let mut rows = Vec::new();
    if !guards.is_empty() {
        let wanted = LiveTrial { deadline: Instant::now() + GUARD_TRIAL_TIMEOUT, ..wanted };
        // An agent that did not obey the trial's own hooks is not asked to make calls that a guard should refuse.
        rows = crate::runtime::start(2)?.block_on(try_guards(wanted, toolbox, world, guards, report.holds()))?;
        let entries: Vec<HookListEntry> = rows.iter().map(|row| row.entry.clone()).collect();
        record.guards = Some(GuardTrialRecord {
            project: toolbox.loaded.project.root.clone(),
            digest: guards_digest(&entries),
            held: count(rows.iter().map(GuardRow::verdict), TrialVerdict::Holds),
            failed: count(rows.iter().map(GuardRow::verdict), TrialVerdict::Fails),
            total: rows.len() as u64,
            untried: rows
                .iter()
                .filter(|row| row.verdict() == TrialVerdict::Unknown)
                .map(|row| row.entry.hook.id().to_owned())
                .collect(),
        });
    }
    trial_record::write(world, host, &record)?;
    if shown.is_report() {
        print_report(&report)?;
        print_guards(&rows)?;
    }
    let json = report_json(&report, &rows, &record);
    let guards = rows.iter().map(GuardRow::result).collect();
    Ok(LiveTrialResult { record, guards, json })
}

fn count(verdicts: impl Iterator<Item = TrialVerdict>, wanted: TrialVerdict) -> u64 {
    verdicts.filter(|verdict| *verdict == wanted).count() as u64
}

/// Runs the agent with hooks that behave in different ways.
async fn run_behaviours(wanted: LiveTrial<'_>, shown: LiveOutput<'_>) -> anyhow::Result<LiveReport> {
    let (mut done, of) = (0, hookwright_trial::Behaviour::live_trials().count());
    let report = run_live_trial(wanted, |row| {
        done += 1;
        if let LiveOutput::Progress(on_trial_end) = shown {
            on_trial_end();
        }
        if shown.is_report() {
            let took = row
                .observation
                .as_ref()
                .map_or_else(String::new, |seen| format!(" ({:.1} s)", seen.elapsed.as_secs_f64()));
            // A closed stderr means that the user wants no progress.
            let _ = output::stderr_line(&format!(
                "  {done} of {of}: {}: the call {}{took}",
                row.behaviour.description,
                outcome_text(row)
            ));
        }
    });
    Ok(report.await?)
}

/// Runs the agent with the user's own guards, each with a call that it should refuse.
async fn try_guards(
    wanted: LiveTrial<'_>,
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    guards: Vec<HookListEntry>,
    is_safe: bool,
) -> anyhow::Result<Vec<GuardRow>> {
    let cases = read_test_cases(toolbox);
    let mut rows = Vec::new();
    for entry in guards {
        let call = match is_safe {
            true => find_refused_call(toolbox, wanted.host, &entry, &cases).await,
            false => Err("the trial hooks were not all obeyed".to_owned()),
        };
        rows.push(GuardRow { entry, call, observation: None });
    }
    let calls: Vec<ScriptedAction> =
        rows.iter().filter_map(|row| Some(row.call.as_ref().ok()?.action.clone())).collect();
    if calls.is_empty() {
        return Ok(rows);
    }
    let settings_env = settings_env(world);
    let project = &toolbox.loaded.project.root;
    let trial = GuardTrial { live: wanted, project, settings_env: &settings_env, calls: &calls };
    let mut observations = run_guard_trial(trial).await?.into_iter();
    for row in rows.iter_mut().filter(|row| row.call.is_ok()) {
        row.observation = observations.next();
    }
    Ok(rows)
}

/// Returns the variables by which Hookwright finds the user's settings.
fn settings_env(world: &ProcessEnv) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &str| {
        let is_path = name == "HOME" || name == "USER" || name.starts_with("XDG_");
        is_path || name.starts_with("GEMINI_CLI_") || name.starts_with("HOOKWRIGHT_")
    };
    let is_plain = |name: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    let variables = world.env.iter();
    let wanted = variables.filter(|(name, _)| name.to_str().is_some_and(|name| is_wanted(name) && is_plain(name)));
    wanted.map(|(name, value)| (name.to_os_string(), value.to_os_string())).collect()
}

fn print_report(report: &LiveReport) -> anyhow::Result<()> {
    let mut table = TextTable::new(&["THE HOOK", "THE CALL", "THE DENY"]);
    for row in &report.rows {
        let (style, so) = match row.verdict() {
            TrialVerdict::Holds => (GOOD, "holds"),
            TrialVerdict::Fails => (BAD, "DOES NOT HOLD"),
            TrialVerdict::Unknown => (WARN, "unknown"),
        };
        table.add_row(vec![
            (BOLD, row.behaviour.description.to_owned()),
            (DIM, outcome_text(row).to_owned()),
            (style, so.to_owned()),
        ]);
    }
    let mut stdout = output::stdout();
    table.print(&mut stdout)?;
    Ok(())
}

/// Prints which of the user's guards refused their call.
fn print_guards(rows: &[GuardRow]) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = TextTable::new(&["YOUR GUARD", "THE CALL", "RESULT"]);
    for row in rows {
        let style = match row.verdict() {
            TrialVerdict::Holds => GOOD,
            TrialVerdict::Fails => BAD,
            TrialVerdict::Unknown => WARN,
        };
        let call = row.call.as_ref().map_or("-", |call| call.text.as_str());
        table.add_row(vec![
            (BOLD, output::truncate_columns(row.entry.hook.id(), 40)),
            (DIM, output::truncate_columns(&output::one_line(call), 50)),
            (style, row.outcome()),
        ]);
    }
    let mut stdout = output::stdout();
    writeln!(stdout)?;
    table.print(&mut stdout)?;
    writeln!(stdout)?;
    Ok(())
}

fn outcome_text(row: &LiveRow) -> &'static str {
    use hookwright_trial::CallOutcome;
    match row.observation.as_ref().map(|seen| seen.end) {
        Some(CallOutcome::Blocked) => "did not run",
        Some(CallOutcome::Ran) => "ran",
        Some(CallOutcome::Rewritten) => "ran as rewritten",
        Some(CallOutcome::Confined) => "ran confined",
        Some(CallOutcome::Hung) => "did not end",
        Some(CallOutcome::Dead) => "was never made: the agent did not get that far",
        None => "was not made: the time was up",
    }
}

fn report_json(report: &LiveReport, guards: &[GuardRow], record: &TrialRecord) -> Value {
    let rows: Vec<Value> = report
        .rows
        .iter()
        .map(|row| json!({"behaviour": row.behaviour.name, "what": row.behaviour.description, "verdict": row.verdict(), "seen": row.observation}))
        .collect();
    let guards: Vec<Value> = guards
        .iter()
        .map(|row| {
            let call = row.call.as_ref().ok().map(|call| &call.text);
            let seen = row.observation.as_ref().map(|seen| json!({"answered": seen.answered, "decisions": seen.decisions}));
            json!({"guard": row.entry.hook.id(), "call": call, "verdict": row.verdict(), "result": row.outcome(), "seen": seen})
        })
        .collect();
    let mut value = trial_record::trial_json(record);
    value["holds"] = json!(report.holds());
    value["rows"] = json!(rows);
    value["own_guards"] = json!(guards);
    value
}
