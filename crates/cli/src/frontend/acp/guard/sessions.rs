//! What the guard knows about the sessions of a connection: where each works, and which calls the agent reports.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The sessions that are remembered; of more, the oldest are forgotten.
const MAX_SESSIONS: usize = 256;
/// The reported calls of a session that are remembered.
const MAX_CALLS: usize = 512;
/// The terminals of a session that are remembered.
const MAX_TERMINALS: usize = 512;
/// The notes of a session that are said once.
const MAX_NOTES: usize = 256;

/// The sessions of a connection.
#[derive(Default)]
pub(super) struct SessionTable {
    sessions: HashMap<String, GuardedSession>,
    order: VecDeque<String>,
}

impl SessionTable {
    /// Returns a session, which is new if it is not known.
    pub(super) fn get(&mut self, id: &str) -> &mut GuardedSession {
        if !self.sessions.contains_key(id) {
            if self.order.len() >= MAX_SESSIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.sessions.remove(&oldest);
            }
            self.order.push_back(id.to_owned());
        }
        self.sessions.entry(id.to_owned()).or_default()
    }

    /// Returns the directory of a session; none if the editor did not say.
    pub(super) fn cwd(&self, id: &str) -> Option<&Path> {
        self.sessions.get(id)?.cwd.as_deref()
    }
}

/// A session of the editor with the agent.
#[derive(Default)]
pub(super) struct GuardedSession {
    pub(super) cwd: Option<PathBuf>,
    /// Whether earlier messages are being sent again.
    pub(super) is_loading: bool,
    /// Whether the user has been told about calls that are not judged.
    pub(super) is_blind_spot_told: bool,
    /// How many requests of the agent were judged.
    pub(super) judged_requests: u64,
    calls: HashMap<String, ReportedCall>,
    terminals: HashMap<String, Map<String, Value>>,
    notes: HashSet<String>,
}

/// A call that the agent has reported.
#[derive(Default)]
struct ReportedCall {
    fields: Map<String, Value>,
    /// Whether it needs no report to the user any more: it was judged, or has been reported.
    is_settled: bool,
    /// The session's count of judged requests when the call was first reported.
    judged_before: u64,
}

impl GuardedSession {
    /// Adds what an update says about a call. Returns the call if the agent has run it and hooks have judged nothing of
    /// it.
    pub(super) fn note_report(&mut self, update: &Map<String, Value>) -> Option<Map<String, Value>> {
        let kind = update.get("sessionUpdate")?.as_str()?;
        if kind != "tool_call" && kind != "tool_call_update" {
            return None;
        }
        let (judged, is_loading) = (self.judged_requests, self.is_loading);
        let call = self.call(update)?;
        let is_over = matches!(call.fields.get("status").and_then(Value::as_str), Some("completed" | "failed"));
        if !is_over || call.is_settled {
            return None;
        }
        call.is_settled = true;
        let is_judged = call.judged_before != judged;
        (!is_loading && !is_judged).then(|| call.fields.clone())
    }

    /// Marks a call as judged by a permission request, and returns all that is known about it.
    pub(super) fn settle_call(&mut self, tool_call: &Map<String, Value>) -> Map<String, Value> {
        match self.call(tool_call) {
            Some(call) => {
                call.is_settled = true;
                call.fields.clone()
            }
            None => tool_call.clone(),
        }
    }

    /// Returns a call with the new fields added.
    fn call(&mut self, update: &Map<String, Value>) -> Option<&mut ReportedCall> {
        let id = update.get("toolCallId")?.as_str()?;
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(id) {
            self.calls.retain(|_, call| !call.is_settled);
            if self.calls.len() >= MAX_CALLS {
                self.calls.clear();
            }
        }
        let judged_before = self.judged_requests;
        let call = self
            .calls
            .entry(id.to_owned())
            .or_insert_with(|| ReportedCall { judged_before, ..ReportedCall::default() });
        let news = update.iter().filter(|(_, value)| !value.is_null());
        call.fields.extend(news.map(|(name, value)| (name.clone(), value.clone())));
        Some(call)
    }

    pub(super) fn add_terminal(&mut self, id: &str, input: Map<String, Value>) {
        if self.terminals.len() >= MAX_TERMINALS {
            self.terminals.clear();
        }
        self.terminals.insert(id.to_owned(), input);
    }

    pub(super) fn terminal(&self, id: &str) -> Option<&Map<String, Value>> {
        self.terminals.get(id)
    }

    /// Whether the user has not been told this before.
    pub(super) fn is_news(&mut self, note: &str) -> bool {
        if self.notes.len() >= MAX_NOTES {
            self.notes.clear();
        }
        self.notes.insert(note.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(session: &mut GuardedSession, update: Value) -> Option<Map<String, Value>> {
        let Value::Object(update) = update else { panic!("{update}") };
        session.note_report(&update)
    }

    #[test]
    fn a_call_is_reported_once_when_it_has_ended_unjudged() {
        let mut session = GuardedSession::default();
        let start =
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}});
        let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "title": null});
        assert_eq!(report(&mut session, start.clone()), None);
        assert_eq!(report(&mut session, end.clone()).unwrap()["rawInput"]["command"], "ls");
        assert_eq!(report(&mut session, end.clone()), None);
        // A permission, a judged request in between, and history are no reports.
        let mut session = GuardedSession::default();
        let Value::Object(asked) = start.clone() else { panic!() };
        session.settle_call(&asked);
        assert_eq!(report(&mut session, end.clone()), None);
        let mut session = GuardedSession::default();
        report(&mut session, start.clone());
        session.judged_requests += 1;
        assert_eq!(report(&mut session, end.clone()), None);
        let mut session = GuardedSession { is_loading: true, ..GuardedSession::default() };
        report(&mut session, start);
        assert_eq!(report(&mut session, end), None);
    }

    #[test]
    fn tables_are_bounded() {
        let mut table = SessionTable::default();
        for number in 0..1000 {
            table.get(&number.to_string()).cwd = Some(PathBuf::from("/x"));
        }
        assert!(table.sessions.len() <= MAX_SESSIONS && table.order.len() <= MAX_SESSIONS);
        assert_eq!((table.cwd("0"), table.cwd("999")), (None, Some(Path::new("/x"))));
        let session = table.get("999");
        for number in 0..2000 {
            let id = number.to_string();
            report(session, json!({"sessionUpdate": "tool_call", "toolCallId": id}));
            session.add_terminal(&id, Map::new());
            assert!(session.is_news(&id));
        }
        assert!(session.calls.len() <= MAX_CALLS && session.terminals.len() <= MAX_TERMINALS);
        assert!(session.notes.len() <= MAX_NOTES);
    }
}
