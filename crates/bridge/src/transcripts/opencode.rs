//! opencode: the SQLite database `opencode.db`, whose table `part` has a row for each call.
//!
//! Seen in 1.18.33. The row's `data` is JSON: `{"type": "tool", "tool", "callID", "state": {"status", "input", …}}`. A
//! sub-agent has a session of its own, which hooks are told. Older versions, seen in 1.1.65, kept the same JSON in files,
//! `storage/part/MESSAGE/PART.json`.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::call::{TranscriptResult, parse_millis};
use super::call_tracker::{CallTracker, RecordedCall};
use super::sqlite::{SqliteError, SqliteFile, TableRows};

/// The parts of a message that call nothing.
const SILENT_PARTS: [&str; 11] = [
    "text",
    "reasoning",
    "file",
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "agent",
    "retry",
    "compaction",
    "subtask",
];

/// A database that is being read.
pub(super) struct OpencodeDatabase {
    file: SqliteFile,
    rows: TableRows,
    columns: PartColumns,
    versions: HashMap<String, String>,
    since_millis: Option<i64>,
}

/// The positions of the columns of the table `part`.
struct PartColumns {
    session: usize,
    updated: Option<usize>,
    data: usize,
}

impl OpencodeDatabase {
    pub(super) fn open(mut file: SqliteFile, since: Option<Timestamp>) -> Result<OpencodeDatabase, SqliteError> {
        let table = file.table("part")?;
        let column = |name: &str| table.columns.iter().position(|column| column == name);
        let missing = |name: &str| SqliteError::Unknown(format!("its table `part` has no column `{name}`"));
        let columns = PartColumns {
            session: column("session_id").ok_or_else(|| missing("session_id"))?,
            updated: column("time_updated"),
            data: column("data").ok_or_else(|| missing("data"))?,
        };
        let versions = read_versions(&mut file).unwrap_or_default();
        let since_millis = since.map(Timestamp::as_millisecond);
        Ok(OpencodeDatabase { file, rows: TableRows::new(table.root), columns, versions, since_millis })
    }

    /// Reads one row; returns whether there may be more.
    pub(super) fn read_step(&mut self, calls: &mut CallTracker) -> bool {
        match self.read_row(calls) {
            Ok(true) => true,
            Ok(false) => {
                if self.file.has_changed() {
                    calls.report(None, "was changed while it was read: run the command again");
                }
                calls.flush();
                false
            }
            Err(error) => {
                calls.report(None, format!("can't be read as a database: {error}"));
                calls.flush();
                false
            }
        }
    }

    fn read_row(&mut self, calls: &mut CallTracker) -> Result<bool, SqliteError> {
        let Some(mut row) = self.rows.next_row(&mut self.file)? else { return Ok(false) };
        let updated = match self.columns.updated {
            Some(column) => row.integer(column)?,
            None => None,
        };
        if let (Some(updated), Some(since)) = (updated, self.since_millis)
            && updated < since
        {
            return Ok(true);
        }
        match row.load(&mut self.file) {
            Ok(()) => {}
            Err(SqliteError::TooLarge) => {
                calls.report(Some(row.number), "is a row that is larger than 16 MiB and was not read");
                return Ok(true);
            }
            Err(error) => return Err(error),
        }
        let (Some(session), Some(data)) = (row.text(self.columns.session)?, row.text(self.columns.data)?) else {
            calls.report(Some(row.number), "is a row without a text");
            return Ok(true);
        };
        calls.session.version = self.versions.get(&session).cloned();
        calls.session.id = session;
        match serde_json::from_str(&data) {
            Ok(part) => read_part(&part, row.number, calls),
            Err(_) => calls.report(Some(row.number), "is a row whose data is not JSON"),
        }
        Ok(true)
    }
}

/// Returns the version of opencode that made each session.
fn read_versions(file: &mut SqliteFile) -> Result<HashMap<String, String>, SqliteError> {
    /// More sessions than a user has; of the others no version is shown.
    const MAX_SESSIONS: usize = 100_000;
    let table = file.table("session")?;
    let column = |name: &str| table.columns.iter().position(|column| column == name);
    let (Some(id), Some(version)) = (column("id"), column("version")) else { return Ok(HashMap::new()) };
    let mut rows = TableRows::new(table.root);
    let mut versions = HashMap::new();
    while let Some(mut row) = rows.next_row(file)? {
        row.load(file)?;
        if let (Some(id), Some(version)) = (row.text(id)?, row.text(version)?) {
            versions.insert(id, version);
        }
        if versions.len() >= MAX_SESSIONS {
            break;
        }
    }
    Ok(versions)
}

/// Reads a part of a message.
pub(super) fn read_part(part: &Value, number: u64, calls: &mut CallTracker) {
    match part["type"].as_str().unwrap_or_default() {
        "tool" => {}
        silent if SILENT_PARTS.contains(&silent) => return,
        other => return calls.report(Some(number), format!("has a part that is not known: `{other}`")),
    }
    let state = &part["state"];
    let recorded = RecordedCall {
        id: part["callID"].as_str(),
        tool: part["tool"].as_str().unwrap_or_default(),
        arguments: &state["input"],
        time: parse_millis(&state["time"]["start"]),
        line: number,
    };
    let finished = parse_millis(&state["time"]["end"]);
    match state["status"].as_str().unwrap_or_default() {
        "completed" => calls.add(&recorded, TranscriptResult::Ran, finished),
        "error" => calls.add(&recorded, read_error(state), finished),
        "pending" | "running" => calls.add(&recorded, TranscriptResult::Unknown, finished),
        other => {
            calls.report(Some(number), format!("has a call whose status is not known: `{other}`"));
            calls.add(&recorded, TranscriptResult::Unknown, finished);
        }
    }
}

/// Returns what an error says. A plugin's refusal looks like a failure of the tool, so that only the agent's own words
/// are certain.
fn read_error(state: &Value) -> TranscriptResult {
    /// How errors of calls begin that never ran.
    const REFUSALS: [&str; 3] = [
        "The user rejected permission to use this specific tool call",
        "The user has specified a rule which prevents you from using this specific tool call",
        "The user dismissed this question",
    ];
    let error = state["error"].as_str().unwrap_or_default();
    let is_invalid = error.starts_with("The ") && error.contains(" tool was called with invalid arguments");
    match is_invalid || REFUSALS.iter().any(|refusal| error.starts_with(refusal)) {
        true => TranscriptResult::Refused,
        false => TranscriptResult::Unknown,
    }
}
