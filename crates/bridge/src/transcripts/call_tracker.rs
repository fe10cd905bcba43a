//! The calls of one transcript between the line that asks for a call and the line with its result.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::call::{
    ArgumentsDigest, TranscriptCall, TranscriptItem, TranscriptProblem, TranscriptResult, summarize_arguments,
};
use crate::host::Host;

/// The number of calls without a result that are kept. Agents make a handful at once.
const MAX_OPEN_CALLS: usize = 10_000;
/// The number of problems that one file can cause.
const MAX_PROBLEMS: usize = 20;
/// The length of an id or a name.
const MAX_NAME_CHARS: usize = 200;

/// A call as a line of a transcript describes it.
pub(super) struct RecordedCall<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) time: Option<Timestamp>,
    pub(super) line: u64,
}

/// The session that the next calls belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedSession {
    pub(super) id: String,
    pub(super) other_id: Option<String>,
    pub(super) version: Option<String>,
}

/// Pairs calls with their results, and queues what the scan yields.
pub(super) struct CallTracker {
    agent: Host,
    file: Arc<Path>,
    since: Option<Timestamp>,
    pub(super) session: RecordedSession,
    open: HashMap<String, TranscriptCall>,
    order: VecDeque<String>,
    /// The ids of calls that were yielded.
    yielded: HashSet<String>,
    problems: HashSet<String>,
    queue: VecDeque<TranscriptItem>,
}

impl CallTracker {
    pub(super) fn new(agent: Host, file: Arc<Path>, since: Option<Timestamp>) -> CallTracker {
        CallTracker {
            agent,
            file,
            since,
            session: RecordedSession::default(),
            open: HashMap::new(),
            order: VecDeque::new(),
            yielded: HashSet::new(),
            problems: HashSet::new(),
            queue: VecDeque::new(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<TranscriptItem> {
        self.queue.pop_front()
    }

    /// Returns whether the transcript had a call with this id.
    pub(super) fn is_known(&self, id: &str) -> bool {
        self.is_open(id) || self.yielded.contains(id)
    }

    /// Returns whether a call with this id has no result yet.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Adds a call whose result comes later. A call without an id is yielded at once.
    pub(super) fn begin(&mut self, recorded: &RecordedCall<'_>) {
        let call = self.build_call(recorded);
        let Some(id) = call.call_id.clone() else { return self.yield_call(call) };
        // Some model servers use an id again, so that the same id is another call.
        if let Some(earlier) = self.open.remove(&id) {
            self.yield_call(earlier);
        } else if self.open.len() >= MAX_OPEN_CALLS
            && let Some(oldest) = self.order.pop_front().and_then(|id| self.open.remove(&id))
        {
            self.yield_call(oldest);
        }
        self.order.push_back(id.clone());
        self.open.insert(id, call);
    }

    /// Adds the result of a call. The first result that says whether the call ran is the one that counts.
    pub(super) fn finish(&mut self, id: &str, result: TranscriptResult, time: Option<Timestamp>) {
        let Some(call) = self.open.get_mut(id) else { return };
        if call.result == TranscriptResult::Unknown {
            call.result = result;
        }
        call.finished = time.or(call.finished);
        if let Some(call) = self.open.remove(id) {
            self.yield_call(call);
        }
    }

    /// Notes that an open call runs, whatever its result says.
    pub(super) fn mark_ran(&mut self, id: &str) {
        if let Some(call) = self.open.get_mut(id) {
            call.result = TranscriptResult::Ran;
        }
    }

    /// Adds a call whose result is known.
    pub(super) fn add(&mut self, recorded: &RecordedCall<'_>, result: TranscriptResult, finished: Option<Timestamp>) {
        let mut call = self.build_call(recorded);
        (call.result, call.finished) = (result, finished);
        if let Some(id) = &call.call_id {
            self.open.remove(id);
        }
        self.yield_call(call);
    }

    /// Yields the calls that have no result.
    pub(super) fn flush(&mut self) {
        while let Some(id) = self.order.pop_front() {
            if let Some(call) = self.open.remove(&id) {
                self.yield_call(call);
            }
        }
    }

    /// Adds a problem, once per file.
    pub(super) fn report(&mut self, line: Option<u64>, problem: impl Into<String>) {
        let problem = problem.into();
        if self.problems.len() < MAX_PROBLEMS && self.problems.insert(problem.clone()) {
            let (agent, file) = (self.agent, self.file.to_path_buf());
            self.queue.push_back(TranscriptItem::Problem(TranscriptProblem { agent, file, line, problem }));
        }
    }

    fn build_call(&self, recorded: &RecordedCall<'_>) -> TranscriptCall {
        TranscriptCall {
            agent: self.agent,
            version: self.session.version.clone(),
            session: self.session.id.clone(),
            other_session: self.session.other_id.clone(),
            call_id: recorded.id.filter(|id| !id.is_empty()).map(str::to_owned),
            tool: recorded.tool.chars().take(MAX_NAME_CHARS).collect(),
            summary: summarize_arguments(recorded.arguments),
            arguments: ArgumentsDigest::new(recorded.arguments),
            time: recorded.time,
            finished: None,
            result: TranscriptResult::Unknown,
            file: Arc::clone(&self.file),
            line: recorded.line,
        }
    }

    fn yield_call(&mut self, call: TranscriptCall) {
        self.yielded.extend(call.call_id.clone());
        let is_too_old = |since| call.time.is_some_and(|time| time < since);
        if !self.since.is_some_and(is_too_old) {
            self.queue.push_back(TranscriptItem::Call(Box::new(call)));
        }
    }
}
