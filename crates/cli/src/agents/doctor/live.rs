//! `agents doctor --live`: does a deny hold on this machine? The agent's own program is run against a stand-in for its model,
//! with hooks that behave in different ways, in homes and projects of their own.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use hookwright_settings::World;
use hookwright_trial::live::{Live, Report, Row, Verdict, live};
use serde_json::{Value, json};

use super::super::found::Presence;
use super::super::record::{self, Verified};
use crate::out::{self, BAD, BOLD, DIM, GOOD, Table, WARN};

/// How long all of it may take, from the command's start on; what is left of half a minute is for ending runs and for words.
const TIME: Duration = Duration::from_secs(27);

/// What came of it.
pub(super) struct Trial {
    pub(super) holds: bool,
    pub(super) json: Value,
}

pub(super) fn run(
    presence: &Presence,
    world: &World,
    hookwright: &Path,
    started: Instant,
    as_json: bool,
) -> anyhow::Result<Trial> {
    let host = presence.host;
    let Some(program) = &presence.program else {
        bail!("no program `{}` is on the search path, so nothing can be tried", host.info().program);
    };
    let path = world.var_os("PATH").unwrap_or_default().to_owned();
    let cache = hookwright_trial::cache(|name| world.var_os(name).map(OsString::from));
    let wanted = Live { host, program, hookwright, path: &path, cache: cache.as_deref(), until: started + TIME };
    if !as_json {
        out::note(format!("running {} with hooks that behave in different ways; half a minute at most", host.title()))?;
    }
    let (mut done, of) = (0, hookwright_trial::Behaviour::short().count());
    let report = crate::runtime::start(2)?.block_on(live(wanted, |row| {
        done += 1;
        if !as_json {
            let took =
                row.seen.as_ref().map_or_else(String::new, |seen| format!(" ({:.1} s)", seen.took.as_secs_f64()));
            // Whoever closed stderr wants no progress.
            let _ = out::stderr_line(&format!(
                "  {done} of {of}: {}: the call {}{took}",
                row.behaviour.what,
                what_happened(row)
            ));
        }
    }))?;
    let held = report.rows.iter().filter(|row| row.verdict() == Verdict::Holds).count();
    let of = report.rows.len();
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let verified = Verified { at, version: presence.version.clone(), held: held as u64, of: of as u64 };
    record::write(world, host, &verified)?;
    if !as_json {
        print(presence, &report, held)?;
    }
    Ok(Trial { holds: report.holds(), json: in_json(&report, &verified) })
}

fn print(presence: &Presence, report: &Report, held: usize) -> anyhow::Result<()> {
    let mut table = Table::new(&["THE HOOK", "THE CALL", "SO"]);
    for row in &report.rows {
        let (style, so) = match row.verdict() {
            Verdict::Holds => (GOOD, "holds"),
            Verdict::Fails => (BAD, "DOES NOT HOLD"),
            Verdict::Unknown => (WARN, "unknown"),
        };
        table.row(vec![
            (BOLD, row.behaviour.what.to_owned()),
            (DIM, what_happened(row).to_owned()),
            (style, so.to_owned()),
        ]);
    }
    let mut stdout = out::stdout();
    table.print(&mut stdout)?;
    let version = presence.version.as_deref().unwrap_or("of unknown version");
    let (title, of) = (presence.host.title(), report.rows.len());
    let unknown = report.rows.iter().filter(|row| row.verdict() == Verdict::Unknown).count();
    let answer = match report.holds() {
        true => "yes",
        false if held == 0 && unknown == of => "nothing could be tried",
        false if held + unknown == of => "as far as it could be tried, yes",
        false => "NO",
    };
    writeln!(stdout, "does a deny hold on this machine? {answer}: {title} {version}, {held} of {of}")?;
    Ok(())
}

fn what_happened(row: &Row) -> &'static str {
    use hookwright_trial::End;
    match row.seen.as_ref().map(|seen| seen.end) {
        Some(End::Blocked) => "did not run",
        Some(End::Ran) => "ran",
        Some(End::Rewritten) => "ran as rewritten",
        Some(End::Hung) => "did not come to an end",
        Some(End::Dead) => "was never made: the agent did not get that far",
        None => "was not made: the time was up",
    }
}

fn in_json(report: &Report, verified: &Verified) -> Value {
    let rows: Vec<Value> = report
        .rows
        .iter()
        .map(|row| json!({"behaviour": row.behaviour.name, "what": row.behaviour.what, "verdict": row.verdict(), "seen": row.seen}))
        .collect();
    json!({"holds": report.holds(), "held": verified.held, "of": verified.of, "at": verified.at, "rows": rows})
}
