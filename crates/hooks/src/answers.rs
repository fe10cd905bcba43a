//! Parses how a hook's process ended into the hook's answer: exit status, stdout and stderr in, an [`Answer`] and the
//! [`RunProblem`]s out. Nothing here performs I/O.
//!
//! Fields are read one by one out of raw JSON, so that an invalid field affects neither the other fields nor the
//! decision.

mod fields;
mod json;
pub mod merge;
pub(crate) mod outcome;
mod stderr;

use hookwright_process::signal_name;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answers::outcome::TailCall;
use crate::confinement::ConfinementProfile;
use crate::event::model_api::{LlmRequestPatch, LlmResponse, ToolConfig, ToolMode};
use crate::event::{EventKind, HookCapability};
use crate::matching::tool_names::{alternative_names, is_tool_name};
use fields::AnswerFields;
pub(crate) use fields::contains_answer_field;

/// What a hook decided, from weakest to strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// No objection.
    Allow,
    /// The call runs so that the kernel keeps it to a profile.
    Confine,
    /// The user decides.
    Ask,
    /// No.
    Deny,
}

impl Decision {
    /// The name of the decision in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Confine => "confine",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// One hook's answer.
///
/// The default answer has no objection and changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The hook's decision, if it gave one.
    pub decision: Option<Decision>,
    /// The reason for the decision.
    pub reason: Option<String>,
    /// Whether the agent loop ends (`continue: false`).
    pub stop: bool,
    /// The reason for the stop.
    pub stop_reason: Option<String>,
    /// Text that is shown to the user.
    pub system_message: Option<String>,
    /// Whether this run stays out of logs and telemetry.
    pub suppress_output: bool,
    /// Text that is given to the model.
    pub additional_context: Option<String>,
    /// Tool arguments that replace the model's arguments key by key.
    pub tool_input: Option<Map<String, Value>>,
    /// The profile that the call is kept to, if the decision is to confine it.
    pub confinement: Option<ConfinementProfile>,
    /// Whether the model's own arguments must not be stored anywhere.
    pub redact_input: bool,
    /// Changes to the model request.
    pub llm_request: Option<LlmRequestPatch>,
    /// A response, or a piece of one, that replaces the model's.
    pub llm_response: Option<LlmResponse>,
    /// How the model may use tools.
    pub tool_config: Option<ToolConfig>,
    /// A tool call to run next.
    pub tail_call: Option<TailCall>,
    /// Whether the model's conversation history is cleared.
    pub clear_context: bool,
    /// `hookSpecificOutput` unchanged, for the tool result's metadata.
    pub hook_specific_output: Map<String, Value>,
}

impl Answer {
    /// An answer that allows.
    pub fn allow() -> Self {
        Answer { decision: Some(Decision::Allow), ..Answer::default() }
    }

    /// An answer that denies for a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Answer { decision: Some(Decision::Deny), reason: Some(reason.into()), ..Answer::default() }
    }

    /// An answer that leaves the decision to the user, for a reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Answer { decision: Some(Decision::Ask), reason: Some(reason.into()), ..Answer::default() }
    }

    /// An answer that has the call run confined, for a reason.
    pub fn confine(profile: ConfinementProfile, reason: impl Into<String>) -> Self {
        Answer {
            decision: Some(Decision::Confine),
            reason: Some(reason.into()),
            confinement: Some(profile),
            ..Answer::default()
        }
    }

    /// An answer that ends the agent loop for a reason.
    pub fn stop(reason: impl Into<String>) -> Self {
        Answer { stop: true, stop_reason: Some(reason.into()), ..Answer::default() }
    }

    /// An answer that gives text to the model.
    pub fn context(text: impl Into<String>) -> Self {
        Answer { additional_context: Some(text.into()), ..Answer::default() }
    }

    /// Whether the answer changes the event that later hooks of a sequential plan receive.
    pub(crate) fn changes_event(&self) -> bool {
        self.tool_input.is_some() || self.llm_request.is_some() || self.additional_context.is_some()
    }

    /// Whether the answer denies or stops: the two answers that end a sequential plan.
    pub fn ends_plan(&self) -> bool {
        self.stop || self.decision == Some(Decision::Deny)
    }
}

/// How a hook's process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookExit {
    /// The process exited with this code.
    Exited(i32),
    /// A signal ended the process.
    Signaled(i32),
    /// The process exceeded its timeout and was ended.
    TimedOut(std::time::Duration),
    /// The hook gave no answer through a fault of its own; the text describes it.
    Failed(String),
    /// The event was cancelled and the process was ended.
    Cancelled,
    /// The machine had no file descriptors, processes, memory or working directory for the process.
    OutOfResources(String),
    /// The process could not be started.
    NotStarted {
        /// The exit code that a shell would have reported: 126 or 127.
        code: i32,
        /// The error message.
        message: String,
    },
}

/// One captured output stream as text, truncated at the output limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// The decoded text that was kept.
    pub text: String,
    /// The number of bytes that the process wrote in all.
    pub bytes: u64,
    /// Whether bytes were dropped.
    pub truncated: bool,
}

impl CapturedStream {
    /// Decodes the bytes that were kept of `bytes` written; a UTF-8 sequence that the limit cut in two is dropped.
    pub fn decode(kept: &[u8], bytes: u64) -> Self {
        let cut = bytes > kept.len() as u64;
        let end = if cut { kept.len() - incomplete_utf8_tail(kept) } else { kept.len() };
        CapturedStream { text: String::from_utf8_lossy(&kept[..end]).into_owned(), bytes, truncated: cut }
    }
}

/// The number of trailing bytes that belong to an incomplete UTF-8 sequence.
fn incomplete_utf8_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

/// Why a hook counts as failed: the causes that `onError` distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureCause {
    /// The hook exceeded its timeout.
    Timeout,
    /// The process exited with an unexpected code or was ended by a signal.
    Exit,
    /// The process could not be started.
    Spawn,
    /// The output could not be understood in full.
    Output,
    /// The machine had no file descriptors, processes, memory or working directory for the process.
    Resource,
    /// The JSON answer was truncated at the output limit before a decision could be read.
    Truncated,
}

/// A problem with a hook's run, reported to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProblem {
    /// The cause, if the failure policy applies to the problem.
    pub cause: Option<FailureCause>,
    /// The description of the problem.
    pub text: String,
}

/// A hook's answer and the problems of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedAnswer {
    /// The answer that counts.
    pub answer: Answer,
    /// The problems in the order in which they were found.
    pub problems: Vec<RunProblem>,
}

impl ParsedAnswer {
    fn has_failure(&self, cause: FailureCause) -> bool {
        self.problems.iter().any(|problem| problem.cause == Some(cause))
    }

    /// Whether the answer is a deny only because the run failed.
    pub(crate) fn is_deny_by_failure(&self) -> bool {
        self.answer.decision == Some(Decision::Deny) && self.problems.iter().any(|problem| problem.cause.is_some())
    }
}

/// Parses a hook's answer from its exit status, stdout and stderr.
///
/// ```
/// use hookwright_hooks::{CapturedStream, Decision, EventKind, HookExit, parse_answer};
///
/// let output = br#"{"decision": "deny", "reason": "not on Fridays"}"#;
/// let stdout = CapturedStream::decode(output, output.len() as u64);
/// let parsed = parse_answer(EventKind::BeforeTool, &HookExit::Exited(0), &stdout, &CapturedStream::default());
/// assert_eq!(parsed.answer.decision, Some(Decision::Deny));
/// assert_eq!(parsed.answer.reason.as_deref(), Some("not on Fridays"));
/// ```
pub fn parse_answer(kind: EventKind, end: &HookExit, stdout: &CapturedStream, stderr: &CapturedStream) -> ParsedAnswer {
    let reading = match end {
        HookExit::Exited(0) => read_success(kind, stdout),
        HookExit::Exited(2) => read_block(kind, stdout, stderr),
        HookExit::Exited(code) => failed_answer(FailureCause::Exit, format!("exited with code {code}"), stderr),
        HookExit::Signaled(signal) => {
            failed_answer(FailureCause::Exit, format!("was ended by {}", describe_signal(*signal)), stderr)
        }
        HookExit::Failed(how) => keep_early_deny(kind, failed_answer(FailureCause::Exit, how.clone(), stderr), stdout),
        HookExit::NotStarted { message, .. } => {
            failed_answer(FailureCause::Spawn, format!("could not start: {message}"), stderr)
        }
        HookExit::OutOfResources(message) => {
            failed_answer(FailureCause::Resource, format!("could not run for lack of resources: {message}"), stderr)
        }
        HookExit::TimedOut(limit) => {
            let text = format!("ran longer than {} ms and was ended", limit.as_millis());
            keep_early_deny(kind, failed_answer(FailureCause::Timeout, text, stderr), stdout)
        }
        HookExit::Cancelled => {
            let text = "was ended before it was done".to_owned();
            ParsedAnswer { answer: Answer::default(), problems: vec![RunProblem { cause: None, text }] }
        }
    };
    drop_unsupported_effects(kind, reading)
}

/// Checks the answer of a hook that is a Rust function: effects that the event does not support are dropped.
pub(crate) fn accept_function_answer(kind: EventKind, answer: Answer) -> ParsedAnswer {
    drop_unsupported_effects(kind, ParsedAnswer { answer, problems: Vec::new() })
}

/// Reads the output after exit code 0: JSON is an answer, other text is a message to the user.
fn read_success(kind: EventKind, stdout: &CapturedStream) -> ParsedAnswer {
    let text = trim_output(&stdout.text);
    if text.is_empty() {
        return ParsedAnswer::default();
    }
    if let Some(problem) = encoding_problem(text) {
        let text: String = text.chars().filter(|char| !matches!(*char, '\0' | char::REPLACEMENT_CHARACTER)).collect();
        let mut reading = message_answer(text.trim());
        reading.problems.push(RunProblem { cause: Some(FailureCause::Output), text: format!("its output {problem}") });
        return reading;
    }
    let problem = match AnswerFields::parse(text) {
        Ok(Some(fields)) => return fields.into_answer(kind),
        Ok(None) if !fields::contains_answer_field(text) => return read_text(kind, text),
        Ok(None) => "has text around the JSON answer, so the answer does not count; print only the JSON".to_owned(),
        Err(problem) => format!("looks like JSON but does not parse: {problem}"),
    };
    if stdout.truncated {
        return read_truncated(kind, text, stdout.bytes);
    }
    let mut reading = message_answer(text);
    reading.problems.push(RunProblem { cause: Some(FailureCause::Output), text: format!("its output {problem}") });
    reading
}

/// The problem text for a repeated key, in the object at a path or at the top level.
pub(crate) fn repeated_key_problem(at: &str, key: &str) -> String {
    let place = if at.is_empty() { String::new() } else { format!(" in `{at}`") };
    format!("answered with the key `{key}` twice{place}; for a repeated key, only a deny counts")
}

/// Why the output cannot be read because of its encoding, if so: a deny in it would be missed.
pub(crate) fn encoding_problem(text: &str) -> Option<&'static str> {
    // A UTF-16 byte order mark decodes to two replacement characters.
    if text.starts_with("\u{fffd}\u{fffd}") {
        return Some("is UTF-16, but answers must be UTF-8");
    }
    text.contains('\0').then_some("contains NUL bytes, as UTF-16 text does; answers must be UTF-8")
}

/// Turns a guard's missing answer into a deny where the event was cancelled before the guard had decided.
pub(crate) fn deny_if_cancelled(kind: EventKind, reading: &mut ParsedAnswer, end: &HookExit) {
    // A deny of AfterAgent starts another turn, which is not wanted after a cancellation.
    if *end == HookExit::Cancelled && kind.can(HookCapability::Deny) && kind != EventKind::AfterAgent {
        reading.answer = Answer::deny("the turn was cancelled before a guard had decided");
    }
}

/// Reports output of a guard that looks like a decision but has no effect as a failure, so that no deny is missed.
pub(crate) fn check_guard_output(reading: &mut ParsedAnswer, end: &HookExit, stdout: &CapturedStream) {
    if *end != HookExit::Exited(0) || reading.answer.ends_plan() {
        return;
    }
    let text = trim_output(&stdout.text);
    let unheard = match AnswerFields::parse(text) {
        Ok(Some(fields)) => fields.ignored_decision(),
        Ok(None) if text.contains(['{', '[']) && !reading.has_failure(FailureCause::Output) => {
            Some("its output is neither a JSON object nor plain text, so a deny in it would be missed".to_owned())
        }
        Ok(None) | Err(_) => None,
    };
    if let Some(text) = unheard {
        reading.problems.push(RunProblem { cause: Some(FailureCause::Output), text });
    }
}

/// Reports a decision that a hook wrote in another agent's format, which has no effect here.
pub(crate) fn check_foreign_decision(reading: &mut ParsedAnswer, end: &HookExit, stdout: &CapturedStream) {
    // Few answers contain this key, and parsing the output a second time takes time.
    if *end != HookExit::Exited(0) || reading.answer.ends_plan() || !stdout.text.contains("hookSpecificOutput") {
        return;
    }
    let foreign =
        AnswerFields::parse(trim_output(&stdout.text)).ok().flatten().and_then(|fields| fields.foreign_decision());
    reading.problems.extend(foreign.map(|text| RunProblem { cause: Some(FailureCause::Output), text }));
}

/// Removes everything but the messages from the answer of a background hook, for which the event does not wait.
pub(crate) fn strip_decision(reading: &mut ParsedAnswer) {
    let answer = std::mem::take(&mut reading.answer);
    let decides = answer.ends_plan() || answer.decision > Some(Decision::Allow);
    let changes = answer.changes_event()
        || answer.llm_response.is_some()
        || answer.tool_config.is_some()
        || answer.tail_call.is_some()
        || answer.clear_context;
    if decides || changes {
        let why = answer.reason.or(answer.stop_reason).map(|reason| format!(": {reason}")).unwrap_or_default();
        let what = if decides { "decided" } else { "changed" };
        let text = format!("runs in the background (`async`), so what it {what} does not count{why}");
        reading.problems.push(RunProblem { cause: None, text });
    }
    let (system_message, suppress_output) = (answer.system_message, answer.suppress_output);
    reading.answer = Answer { system_message, suppress_output, ..Answer::default() };
}

/// Reads a truncated JSON answer: its decision counts if no change that it requested is lost.
fn read_truncated(kind: EventKind, text: &str, bytes: u64) -> ParsedAnswer {
    let mut problem_text = format!("its JSON answer of {bytes} bytes was cut off at the output limit");
    let (fields, cut) = AnswerFields::parse_prefix(text);
    let mut reading = fields.into_answer(kind);
    let only_words_lost = matches!(cut.as_deref(), Some("reason" | "stopReason" | "systemMessage"));
    let decided = match reading.answer.decision {
        Some(Decision::Deny | Decision::Ask) => true,
        // Its profile may be in the part that is lost.
        Some(Decision::Confine) => false,
        Some(Decision::Allow) => only_words_lost,
        None => false,
    };
    if !decided && !reading.answer.stop {
        let text = format!("{problem_text} before a decision could be read");
        return ParsedAnswer {
            answer: Answer::default(),
            problems: vec![RunProblem { cause: Some(FailureCause::Truncated), text }],
        };
    }
    problem_text.push_str("; the decision up to that point counts");
    if reading.answer.decision != Some(Decision::Allow) && reading.answer.reason.is_none() {
        reading.answer.reason = Some("the hook's reason was cut off at the output limit".to_owned());
    }
    reading.problems.push(RunProblem { cause: None, text: problem_text });
    reading
}

/// Whether a truncated answer already contains a deny or a stop.
pub(crate) fn starts_with_deny(text: &str) -> bool {
    let (fields, _) = AnswerFields::parse_prefix(text);
    fields.into_answer(EventKind::BeforeTool).answer.ends_plan()
}

/// Removes names that are not among the offered tools from a tool selection; if none is left, the selection is dropped.
pub(crate) fn retain_offered_tools(reading: &mut ParsedAnswer, stdout: &CapturedStream, offered: &[String]) {
    let Some(config) = &mut reading.answer.tool_config else { return };
    let is_offered = |name: &String| match offered {
        [] => is_tool_name(name),
        offered => offered.iter().any(|tool| tool == name || alternative_names(tool).any(|other| other == *name)),
    };
    let (kept, dropped): (Vec<_>, Vec<_>) = std::mem::take(&mut config.allowed).into_iter().partition(is_offered);
    if dropped.is_empty() {
        config.allowed = kept;
        return;
    }
    let none_left = kept.is_empty() && config.mode != Some(ToolMode::None);
    config.allowed = kept;
    let text = trim_output(&stdout.text);
    if none_left && !text.is_empty() && !text.starts_with(['{', '"']) {
        *reading = message_answer(text);
        return;
    }
    let mut text = format!("selected tools that are not offered: {}", dropped.join(", "));
    if none_left {
        reading.answer.tool_config = None;
        text.push_str("; its list is empty without them and restricts nothing");
    }
    reading.problems.push(RunProblem { cause: None, text });
}

/// Reads plain text after exit code 0: a message, or for BeforeToolSelection a list of tools.
fn read_text(kind: EventKind, text: &str) -> ParsedAnswer {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    let is_name = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
    };
    if kind != EventKind::BeforeToolSelection || !names.iter().all(is_name) {
        return message_answer(text);
    }
    let config = ToolConfig { mode: Some(ToolMode::Any), allowed: names };
    ParsedAnswer { answer: Answer { tool_config: Some(config), ..Answer::default() }, problems: Vec::new() }
}

/// An answer that allows and shows text to the user.
fn message_answer(text: &str) -> ParsedAnswer {
    let answer = Answer { system_message: Some(text.to_owned()), ..Answer::allow() };
    ParsedAnswer { answer, problems: Vec::new() }
}

/// Reads the output after exit code 2: a deny, whatever was printed.
fn read_block(kind: EventKind, stdout: &CapturedStream, stderr: &CapturedStream) -> ParsedAnswer {
    let printed =
        AnswerFields::parse(trim_output(&stdout.text)).ok().flatten().map(|fields| fields.into_answer(kind).answer);
    let stderr_answer =
        AnswerFields::parse(trim_output(&stderr.text)).ok().flatten().map(|fields| fields.into_answer(kind).answer);
    let reason = stderr_answer
        .and_then(|answer| answer.reason)
        .or_else(|| non_empty(&stderr.text))
        .or_else(|| printed.as_ref().and_then(|answer| answer.reason.clone()))
        .or_else(|| if printed.is_some() { None } else { non_empty(&stdout.text) });
    let (system_message, suppress_output) =
        printed.map_or((None, false), |answer| (answer.system_message, answer.suppress_output));
    let answer =
        Answer { decision: Some(Decision::Deny), reason, system_message, suppress_output, ..Answer::default() };
    ParsedAnswer { answer, problems: Vec::new() }
}

/// Keeps a deny or stop that a failed hook had printed before it failed.
fn keep_early_deny(kind: EventKind, mut reading: ParsedAnswer, stdout: &CapturedStream) -> ParsedAnswer {
    if let Ok(Some(fields)) = AnswerFields::parse(trim_output(&stdout.text)) {
        let early_answer = fields.into_answer(kind).answer;
        if early_answer.ends_plan() {
            reading.answer = early_answer;
            reading.problems[0].cause = None;
            reading.problems[0].text.push_str("; the answer that it had already given counts");
        }
    }
    reading
}

fn failed_answer(cause: FailureCause, mut text: String, stderr: &CapturedStream) -> ParsedAnswer {
    if let Some(tail) = stderr::last_lines(&stderr.text) {
        text.push_str(": ");
        text.push_str(&tail);
    }
    ParsedAnswer { answer: Answer::default(), problems: vec![RunProblem { cause: Some(cause), text }] }
}

/// Drops decisions that the event does not support, and reports those from which the hook must have expected an effect.
pub(crate) fn drop_unsupported_effects(kind: EventKind, mut reading: ParsedAnswer) -> ParsedAnswer {
    let answer = &mut reading.answer;
    let mut drop_decision = |what: &str| {
        let reason = answer.reason.take().map(|reason| format!(": {reason}")).unwrap_or_default();
        let text = format!("answered {what}, which has no effect on {kind}{reason}");
        reading.problems.push(RunProblem { cause: None, text });
    };
    match answer.decision {
        Some(Decision::Deny) if !kind.can(HookCapability::Deny) => {
            drop_decision("deny");
            answer.decision = None;
        }
        // Where the event supports deny but not ask, deny is the closest to the hook's intention.
        Some(Decision::Ask) if !kind.can(HookCapability::Ask) && kind.can(HookCapability::Deny) => {
            answer.decision = Some(Decision::Deny)
        }
        Some(Decision::Ask) if !kind.can(HookCapability::Ask) => {
            drop_decision("ask");
            answer.decision = None;
        }
        Some(Decision::Confine) if !kind.can(HookCapability::Confine) && kind.can(HookCapability::Deny) => {
            answer.decision = Some(Decision::Deny)
        }
        Some(Decision::Confine) if !kind.can(HookCapability::Confine) => {
            drop_decision("confine");
            answer.decision = None;
        }
        // Without a profile nothing may be changed and nothing reached.
        Some(Decision::Confine) => answer.confinement = Some(answer.confinement.take().unwrap_or_default()),
        _ => {}
    }
    if answer.decision.is_none_or(|decision| decision == Decision::Allow) {
        answer.confinement = None;
    }
    if answer.stop && !kind.can(HookCapability::Stop) {
        answer.stop = false;
        let text = format!("answered continue: false, which has no effect on {kind}");
        reading.problems.push(RunProblem { cause: None, text });
    }
    reading
}

/// The text without a byte order mark and surrounding white space.
pub(crate) fn trim_output(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

fn non_empty(text: &str) -> Option<String> {
    let text = trim_output(text);
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn describe_signal(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests;
