//! The calls that the journal was asked about, indexed by session.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::host::Host;
use crate::transcripts::{ArgumentsDigest, TranscriptCall};
use crate::vocabulary;

/// A call that Hookwright was asked about before it ran: a line of the journal with the event BeforeTool, or several
/// lines of the same event of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalCall {
    /// The agent that asked.
    pub agent: Host,
    /// The session that the agent named.
    pub session: String,
    /// The ids that the agent gave the call: `tool_use_id` and, at Qwen Code, `tool_call_id`. Empty if it gave none.
    pub call_ids: Vec<String>,
    /// The tool's name at the agent.
    pub tool: String,
    /// The digest of the arguments as the agent sent them; `None` if the journal does not have them unchanged.
    pub arguments: Option<ArgumentsDigest>,
    /// The time of the line.
    pub time: Timestamp,
    /// The verdict.
    pub verdict: JournalVerdict,
}

/// A verdict of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalVerdict {
    /// No hook objected, or a rule approved.
    Pass,
    /// The call runs with limits.
    Confine,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
    /// The call is refused, and the agent stops.
    Stop,
}

impl JournalVerdict {
    /// Returns the verdict with this name in the journal.
    pub fn from_name(name: &str) -> Option<JournalVerdict> {
        Some(match name {
            "pass" | "allow" => JournalVerdict::Pass,
            "confine" => JournalVerdict::Confine,
            "ask" => JournalVerdict::Ask,
            "deny" => JournalVerdict::Deny,
            "stop" => JournalVerdict::Stop,
            _ => return None,
        })
    }

    /// Returns whether a call with this verdict must not run.
    pub fn is_refusal(self) -> bool {
        matches!(self, JournalVerdict::Deny | JournalVerdict::Stop)
    }
}

/// An id of this length is unique wherever it comes from; model servers on the user's machine count from 1.
const UNIQUE_ID_CHARS: usize = 20;
/// How far the time of a line may be from the time of its call.
const TIME_TOLERANCE: SignedDuration = SignedDuration::from_mins(10);
/// How far the time of a line without arguments may be from the time of its call.
const CLOSE_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);

/// The calls of the journal.
#[derive(Debug, Default)]
pub struct JournalIndex {
    calls: Vec<IndexedCall>,
    by_session: HashMap<(Host, String), SessionLines>,
    by_call_id: HashMap<(Host, String), Vec<usize>>,
    agents: HashMap<Host, usize>,
    records_from: Option<Timestamp>,
}

#[derive(Debug)]
struct IndexedCall {
    call: JournalCall,
    /// Whether a call of a transcript was found for it. One line without an id proves one call.
    is_claimed: bool,
}

/// The lines of one session.
#[derive(Debug)]
struct SessionLines {
    lines: Vec<usize>,
    first: Timestamp,
    last: Timestamp,
}

impl JournalIndex {
    /// Indexes the calls. `records_from` is the time of the journal's first line: before it there was no journal.
    pub fn new(calls: impl IntoIterator<Item = JournalCall>, records_from: Option<Timestamp>) -> JournalIndex {
        let mut index = JournalIndex { records_from, ..JournalIndex::default() };
        for call in calls {
            index.add(call);
        }
        index
    }

    fn add(&mut self, call: JournalCall) {
        let at = self.calls.len();
        let time = call.time;
        self.records_from = Some(self.records_from.map_or(time, |from| from.min(time)));
        *self.agents.entry(call.agent).or_default() += 1;
        let session = self.by_session.entry((call.agent, call.session.clone()));
        let session = session.or_insert(SessionLines { lines: Vec::new(), first: time, last: time });
        session.lines.push(at);
        (session.first, session.last) = (session.first.min(time), session.last.max(time));
        for id in &call.call_ids {
            self.by_call_id.entry((call.agent, id.clone())).or_default().push(at);
        }
        self.calls.push(IndexedCall { call, is_claimed: false });
    }

    /// Returns whether the journal has no call.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the time of the journal's first line.
    pub fn records_from(&self) -> Option<Timestamp> {
        self.records_from
    }

    /// Returns whether the journal has a call of this agent.
    pub(super) fn knows_agent(&self, agent: Host) -> bool {
        self.agents.contains_key(&agent)
    }

    /// Returns the times of the first and the last line of a call's session.
    pub(super) fn session_span(&self, call: &TranscriptCall) -> Option<(Timestamp, Timestamp)> {
        let spans = sessions(call).filter_map(|id| self.by_session.get(&(call.agent, id.to_owned())));
        spans.map(|session| (session.first, session.last)).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Returns the line that is about a call of a transcript, and claims it.
    ///
    /// If the agent asked several times about one call, the strictest answer is returned.
    pub(super) fn claim(&mut self, call: &TranscriptCall) -> Option<&JournalCall> {
        let found = self.find_by_id(call);
        let at = if found.is_empty() { self.find_by_content(call) } else { self.strictest(&found) }?;
        for line in found {
            self.calls[line].is_claimed = true;
        }
        self.calls[at].is_claimed = true;
        Some(&self.calls[at].call)
    }

    /// Returns the lines with the call's id.
    fn find_by_id(&self, call: &TranscriptCall) -> Vec<usize> {
        let Some(id) = &call.call_id else { return Vec::new() };
        let lines = self.by_call_id.get(&(call.agent, id.clone())).map_or(&[][..], Vec::as_slice);
        let is_unique = id.chars().count() >= UNIQUE_ID_CHARS;
        // A fork of a session repeats its calls under another session; unique ids are found all the same.
        let is_about = |line: &JournalCall| {
            let is_same_session = sessions(call).any(|session| session == line.session);
            is_unique || is_same_session && distance(call, line) <= TIME_TOLERANCE
        };
        lines.iter().copied().filter(|line| is_about(&self.calls[*line].call)).collect()
    }

    /// Returns the line without the call's id that is nearest in time, of the same session, tool and arguments.
    fn find_by_content(&self, call: &TranscriptCall) -> Option<usize> {
        let lines = sessions(call).filter_map(|id| self.by_session.get(&(call.agent, id.to_owned())));
        let lines = lines.flat_map(|session| session.lines.iter().copied());
        let candidates = lines.filter(|line| {
            let IndexedCall { call: line, is_claimed } = &self.calls[*line];
            let tolerance = match line.arguments {
                Some(arguments) if arguments == call.arguments => TIME_TOLERANCE,
                Some(_) => return false,
                None => CLOSE_TOLERANCE,
            };
            !is_claimed
                && hides_call_id(line)
                && is_same_tool(call.agent, &line.tool, &call.tool)
                && distance(call, line) <= tolerance
        });
        candidates.min_by_key(|line| {
            let line = &self.calls[*line].call;
            call.time.map_or(SignedDuration::ZERO, |time| line.time.duration_since(time).abs())
        })
    }

    fn strictest(&self, lines: &[usize]) -> Option<usize> {
        let strictness = |line: &usize| match self.calls[*line].call.verdict {
            JournalVerdict::Pass => 0,
            JournalVerdict::Confine => 1,
            JournalVerdict::Ask => 2,
            JournalVerdict::Deny => 3,
            JournalVerdict::Stop => 4,
        };
        lines.iter().copied().max_by_key(strictness)
    }
}

/// Returns whether the agent did not tell its hook the id that its transcript has.
fn hides_call_id(line: &JournalCall) -> bool {
    // Qwen Code's hooks may get only an id that no transcript has.
    line.call_ids.is_empty() || line.agent == Host::Qwen && line.call_ids.len() == 1
}

/// Returns the sessions that hooks may have been told for a call.
fn sessions(call: &TranscriptCall) -> impl Iterator<Item = &str> {
    [Some(call.session.as_str()), call.other_session.as_deref()].into_iter().flatten().filter(|id| !id.is_empty())
}

/// Returns how far the time of a line is from the time in which its call was asked for and ran; zero if that is not
/// known.
fn distance(call: &TranscriptCall, line: &JournalCall) -> SignedDuration {
    let (Some(start), end) = (call.time, call.finished.or(call.time)) else { return SignedDuration::ZERO };
    let end = end.unwrap_or(start).max(start);
    match line.time {
        time if time < start => start.duration_since(time),
        time if time > end => time.duration_since(end),
        _ => SignedDuration::ZERO,
    }
}

/// Returns whether two names are the same tool of an agent: hooks and transcripts may spell it differently.
fn is_same_tool(agent: Host, one: &str, other: &str) -> bool {
    let row = |name: &str| vocabulary::tool_row(agent, name).map(|row| row.name());
    one == other || row(one).is_some_and(|name| row(other) == Some(name))
}
