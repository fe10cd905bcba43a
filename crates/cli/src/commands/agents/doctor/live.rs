//! `agents doctor --live`: tries whether a deny holds on this machine. It runs the agent's own program against a fake
//! model, with hooks that behave in different ways, in temporary homes and projects.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use hookwright_settings::ProcessEnv;
use hookwright_trial::live::{LiveReport, LiveRow, LiveTrial, TrialVerdict, run_live_trial};
use serde_json::{Value, json};

use super::super::detection::DetectedAgent;
use super::super::trial_record::{self, TrialRecord};
use crate::output::{self, BAD, BOLD, DIM, GOOD, TextTable, WARN};

/// The time limit of all trials, from the command's start on; the rest of half a minute is for ending
/// runs and for printing.
const LIVE_TRIAL_TIMEOUT: Duration = Duration::from_secs(27);

/// The result of all trials.
pub(super) struct LiveTrialResult {
    pub(super) holds: bool,
    pub(super) json: Value,
}

pub(super) fn run(
    presence: &DetectedAgent,
    world: &ProcessEnv,
    hookwright: &Path,
    started: Instant,
    as_json: bool,
) -> anyhow::Result<LiveTrialResult> {
    let host = presence.host;
    let Some(program) = &presence.program else {
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
    if !as_json {
        output::note(format!(
            "running {} with hooks that behave in different ways; this takes half a minute at most",
            host.title()
        ))?;
    }
    let (mut done, of) = (0, hookwright_trial::Behaviour::live_trials().count());
    let report = crate::runtime::start(2)?.block_on(run_live_trial(wanted, |row| {
        done += 1;
        if !as_json {
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
    }))?;
    let held = report.rows.iter().filter(|row| row.verdict() == TrialVerdict::Holds).count();
    let of = report.rows.len();
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let verified = TrialRecord { time: at, version: presence.version.clone(), held: held as u64, total: of as u64 };
    trial_record::write(world, host, &verified)?;
    if !as_json {
        print_report(presence, &report, held)?;
    }
    Ok(LiveTrialResult { holds: report.holds(), json: report_json(&report, &verified) })
}

fn print_report(presence: &DetectedAgent, report: &LiveReport, held: usize) -> anyhow::Result<()> {
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
    let version = presence.version.as_deref().unwrap_or("of unknown version");
    let (title, of) = (presence.host.title(), report.rows.len());
    let unknown = report.rows.iter().filter(|row| row.verdict() == TrialVerdict::Unknown).count();
    let answer = match report.holds() {
        true => "yes",
        false if held == 0 && unknown == of => "nothing could be tested",
        false if held + unknown == of => "as far as could be tested, yes",
        false => "NO",
    };
    writeln!(stdout, "does a deny hold on this machine? {answer}: {title} {version}, {held} of {of}")?;
    Ok(())
}

fn outcome_text(row: &LiveRow) -> &'static str {
    use hookwright_trial::CallOutcome;
    match row.observation.as_ref().map(|seen| seen.end) {
        Some(CallOutcome::Blocked) => "did not run",
        Some(CallOutcome::Ran) => "ran",
        Some(CallOutcome::Rewritten) => "ran as rewritten",
        Some(CallOutcome::Hung) => "did not end",
        Some(CallOutcome::Dead) => "was never made: the agent did not get that far",
        None => "was not made: the time was up",
    }
}

fn report_json(report: &LiveReport, verified: &TrialRecord) -> Value {
    let rows: Vec<Value> = report
        .rows
        .iter()
        .map(|row| json!({"behaviour": row.behaviour.name, "what": row.behaviour.description, "verdict": row.verdict(), "seen": row.observation}))
        .collect();
    json!({"holds": report.holds(), "held": verified.held, "of": verified.total, "at": verified.time, "rows": rows})
}
