//! The results as a table for a terminal and as JSON, and the exit code.

use std::process::ExitCode;

use hookwright_trial::{BEHAVIOURS, Behaviour, CallOutcome, HookIntent, Host, known_limit};
use serde::{Deserialize, Serialize};

use crate::args::WiringKind;
use crate::trial::CellResult;

/// The file of results.
#[derive(Serialize, Deserialize)]
pub(crate) struct ResultsFile {
    /// The day of the run.
    pub(crate) date: String,
    pub(crate) cells: Vec<CellResult>,
}

/// A column of the table: an agent in a version, wired in one way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResultColumn {
    pub(crate) host: Host,
    pub(crate) version: String,
    pub(crate) wiring: WiringKind,
}

pub(crate) fn today() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}

/// Returns the columns that have results, in the order of the table of agents.
pub(crate) fn columns(results: &[CellResult]) -> Vec<ResultColumn> {
    let mut columns: Vec<ResultColumn> = Vec::new();
    for tried in results {
        let Some(host) = tried.host() else { continue };
        let column = ResultColumn { host, version: tried.version.clone(), wiring: tried.wiring };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns.sort_by_key(|column| (column.host, column.version.clone(), column.wiring as usize));
    columns
}

/// Returns the rows that have results.
pub(crate) fn rows(results: &[CellResult]) -> Vec<&'static Behaviour> {
    BEHAVIOURS.iter().filter(|row| results.iter().any(|tried| tried.behaviour == row.name)).collect()
}

pub(crate) fn find_cell<'a>(
    results: &'a [CellResult],
    column: &ResultColumn,
    row: &Behaviour,
) -> Option<&'a CellResult> {
    results.iter().find(|tried| {
        tried.host() == Some(column.host)
            && tried.version == column.version
            && tried.wiring == column.wiring
            && tried.behaviour == row.name
    })
}

/// Returns the text of a cell.
pub(crate) fn cell_label(tried: &CellResult) -> &'static str {
    let tells = tried.behaviour().is_some_and(|behaviour| behaviour.intent == HookIntent::AddContext);
    match tried.observation.end {
        CallOutcome::Ran if tells && tried.observation.context => "told",
        CallOutcome::Ran if tells => "not told",
        CallOutcome::Ran => "RAN",
        CallOutcome::Blocked => "B",
        CallOutcome::Rewritten => "RW",
        CallOutcome::Confined => "C",
        CallOutcome::Hung => "hung",
        CallOutcome::Dead => "dead",
    }
}

/// Returns the known limit that explains why a cell with the bridge is not as intended, if there is one.
pub(crate) fn bridge_limitation(tried: &CellResult) -> Option<&'static str> {
    known_limit(tried.host()?, tried.behaviour()?)
        .filter(|_| tried.wiring == WiringKind::Bridge && !tried.is_as_intended())
}

/// Returns whether the bridge failed in this cell.
pub(crate) fn is_failure(tried: &CellResult) -> bool {
    tried.wiring == WiringKind::Bridge && !tried.is_as_intended() && bridge_limitation(tried).is_none()
}

/// Formats the table for a terminal.
pub(crate) fn format_table(results: &[CellResult]) -> String {
    let columns = columns(results);
    let mut text = format!("{:18}", "");
    for column in &columns {
        text.push_str(&format!(" {:>18}", format!("{}/{}", column.host, column.wiring.name())));
    }
    text.push('\n');
    for row in rows(results) {
        text.push_str(&format!("{:18}", row.name));
        for column in &columns {
            let cell = find_cell(results, column, row).map_or("-".to_owned(), |tried| {
                let mark = if is_failure(tried) { "!" } else { "" };
                format!("{}{mark}", cell_label(tried))
            });
            text.push_str(&format!(" {cell:>18}"));
        }
        text.push('\n');
    }
    let bridged = results.iter().filter(|tried| tried.wiring == WiringKind::Bridge).count();
    let failures: Vec<_> = results.iter().filter(|tried| is_failure(tried)).collect();
    let excused = results.iter().filter(|tried| bridge_limitation(tried).is_some()).count();
    text.push_str(&format!(
        "\nwith the bridge: {} of {bridged} as meant, {excused} that no bridge can give, {} wrong\n",
        bridged - failures.len() - excused,
        failures.len()
    ));
    for tried in failures {
        text.push_str(&format!("  wrong: {} {} {}\n", tried.agent, tried.behaviour, cell_label(tried)));
    }
    text
}

/// Formats the results as JSON.
pub(crate) fn to_json(results: Vec<CellResult>) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&ResultsFile { date: today(), cells: results })
}

/// Returns exit code 1 if the bridge failed in any cell.
pub(crate) fn exit_code(results: &[CellResult]) -> ExitCode {
    ExitCode::from(u8::from(results.iter().any(is_failure)))
}
