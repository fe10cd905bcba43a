//! The results as a table for people and as JSON, and what they come to.

use std::process::ExitCode;

use hookwright_trial::{BEHAVIOURS, Behaviour, End, Host, Meaning, limit};
use serde::{Deserialize, Serialize};

use crate::args::Way;
use crate::trial::Tried;

/// The results as a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct File {
    /// When.
    pub(crate) date: String,
    pub(crate) cells: Vec<Tried>,
}

/// One column: an agent in a version, wired in one way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) host: Host,
    pub(crate) version: String,
    pub(crate) way: Way,
}

pub(crate) fn today() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}

/// The columns that have results, in the order of the table of agents.
pub(crate) fn columns(results: &[Tried]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for tried in results {
        let Some(host) = tried.host() else { continue };
        let column = Column { host, version: tried.version.clone(), way: tried.wiring };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns.sort_by_key(|column| (column.host, column.version.clone(), column.way as usize));
    columns
}

/// The rows that have results.
pub(crate) fn rows(results: &[Tried]) -> Vec<&'static Behaviour> {
    BEHAVIOURS.iter().filter(|row| results.iter().any(|tried| tried.behaviour == row.name)).collect()
}

pub(crate) fn find<'a>(results: &'a [Tried], column: &Column, row: &Behaviour) -> Option<&'a Tried> {
    results.iter().find(|tried| {
        tried.host() == Some(column.host)
            && tried.version == column.version
            && tried.wiring == column.way
            && tried.behaviour == row.name
    })
}

/// What a cell says.
pub(crate) fn word(tried: &Tried) -> &'static str {
    let tells = tried.behaviour().is_some_and(|behaviour| behaviour.means == Meaning::Tell);
    match tried.seen.end {
        End::Ran if tells && tried.seen.context => "told",
        End::Ran if tells => "not told",
        End::Ran => "RAN",
        End::Blocked => "B",
        End::Rewritten => "RW",
        End::Hung => "hung",
        End::Dead => "dead",
    }
}

/// What no bridge can give there, if that is why a cell is not as meant.
pub(crate) fn excuse(tried: &Tried) -> Option<&'static str> {
    limit(tried.host()?, tried.behaviour()?).filter(|_| tried.wiring == Way::Bridge && !tried.is_as_meant())
}

/// Whether the bridge failed there.
pub(crate) fn is_failure(tried: &Tried) -> bool {
    tried.wiring == Way::Bridge && !tried.is_as_meant() && excuse(tried).is_none()
}

/// The table, for a terminal.
pub(crate) fn plain(results: &[Tried]) -> String {
    let columns = columns(results);
    let mut text = format!("{:18}", "");
    for column in &columns {
        text.push_str(&format!(" {:>18}", format!("{}/{}", column.host, column.way.name())));
    }
    text.push('\n');
    for row in rows(results) {
        text.push_str(&format!("{:18}", row.name));
        for column in &columns {
            let cell = find(results, column, row).map_or("-".to_owned(), |tried| {
                let mark = if is_failure(tried) { "!" } else { "" };
                format!("{}{mark}", word(tried))
            });
            text.push_str(&format!(" {cell:>18}"));
        }
        text.push('\n');
    }
    let bridged = results.iter().filter(|tried| tried.wiring == Way::Bridge).count();
    let failures: Vec<_> = results.iter().filter(|tried| is_failure(tried)).collect();
    let excused = results.iter().filter(|tried| excuse(tried).is_some()).count();
    text.push_str(&format!(
        "\nwith the bridge: {} of {bridged} as meant, {excused} that no bridge can give, {} wrong\n",
        bridged - failures.len() - excused,
        failures.len()
    ));
    for tried in failures {
        text.push_str(&format!("  wrong: {} {} {}\n", tried.agent, tried.behaviour, word(tried)));
    }
    text
}

/// The results as JSON.
pub(crate) fn json(results: Vec<Tried>) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&File { date: today(), cells: results })
}

/// Whether everything that could hold with the bridge held.
pub(crate) fn verdict(results: &[Tried]) -> ExitCode {
    ExitCode::from(u8::from(results.iter().any(is_failure)))
}
