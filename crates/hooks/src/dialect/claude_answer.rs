//! Parses the answer of a hook in Claude Code's dialect: exit code, stdout and stderr in, an [`Answer`] out.
//!
//! In doubt the answer is read as a deny. A deny that Claude Code itself would miss (the name of another event, a log
//! line before the object, other upper and lower case) counts here, and output that cannot be read is a failure of
//! cause `output`.

use serde_json::{Map, Value};

use super::claude::{AgentScope, ClaudeInput, event_name};
use crate::answers::{self, Answer, CapturedStream, Decision, FailureCause, HookExit, ParsedAnswer, RunProblem};
use crate::event::{EventKind, HookCapability};
use crate::hook::Hook;
use crate::strict_json::{self, ParsedJson};

type ClaudeAnswerFields = Map<String, Value>;

/// Parses the answer of a hook that was given one view of an event.
pub(crate) fn parse_claude_answer(
    hook: &Hook,
    shown: &ClaudeInput,
    view: usize,
    end: &HookExit,
    stdout: &CapturedStream,
    stderr: &CapturedStream,
) -> ParsedAnswer {
    let reader = ClaudeAnswerReader { kind: hook.event, is_guard: hook.is_guard(), input: shown, view_index: view };
    match end {
        HookExit::Exited(0) => answers::drop_unsupported_effects(hook.event, reader.read_success(stdout)),
        HookExit::Exited(2) => answers::drop_unsupported_effects(hook.event, reader.read_block(stdout, stderr)),
        HookExit::TimedOut(_) | HookExit::Failed(_) => {
            let mut reading = answers::parse_answer(hook.event, end, &CapturedStream::default(), stderr);
            let early_answer = reader.read_success(stdout).answer;
            if early_answer.ends_plan() {
                reading.answer = early_answer;
                reading.problems.iter_mut().for_each(|problem| problem.cause = None);
            }
            answers::drop_unsupported_effects(hook.event, reading)
        }
        _ => answers::parse_answer(hook.event, end, stdout, stderr),
    }
}

struct ClaudeAnswerReader<'a> {
    kind: EventKind,
    is_guard: bool,
    input: &'a ClaudeInput,
    view_index: usize,
}

/// The content of a hook's output.
enum ClaudeOutput {
    /// A JSON object with an answer.
    Object {
        fields: ClaudeAnswerFields,
        /// A key that occurs more than once, at any depth.
        repeated: Option<String>,
        /// Whether there is another answer before this one.
        again: bool,
    },
    /// Text that is no JSON object.
    Text,
    /// Output that may contain a deny and cannot be read; the text says why.
    Unreadable(String),
}

impl ClaudeAnswerReader<'_> {
    /// Reads the output after exit code 0: the object at its end counts.
    fn read_success(&self, stdout: &CapturedStream) -> ParsedAnswer {
        let text = answers::trim_output(&stdout.text);
        if text.is_empty() {
            return ParsedAnswer::default();
        }
        if stdout.truncated {
            let text = format!("its output of {} bytes was cut off at the output limit", stdout.bytes);
            return failed_answer(FailureCause::Truncated, text);
        }
        match find_answer(text) {
            ClaudeOutput::Object { fields, repeated, again } => {
                let mut reading = self.read_object(&fields);
                if let Some(key) = repeated {
                    report_output_problem(&mut reading, answers::repeated_key_problem("", &key));
                }
                if again {
                    report_output_problem(
                        &mut reading,
                        "its output has more than one answer; the last one counts".to_owned(),
                    );
                }
                reading
            }
            ClaudeOutput::Unreadable(problem) => failed_answer(FailureCause::Output, format!("its output {problem}")),
            ClaudeOutput::Text => self.read_text(text),
        }
    }

    /// Reads plain text: it is given to the model on the events where Claude Code does so.
    fn read_text(&self, text: &str) -> ParsedAnswer {
        let mut reading = ParsedAnswer::default();
        if matches!(self.kind, EventKind::BeforeAgent | EventKind::SessionStart) {
            reading.answer.additional_context = Some(text.to_owned());
        }
        if self.is_guard && text.contains(['{', '[']) {
            let text = "its output is neither a JSON object nor plain text, so a deny in it would be missed";
            report_output_problem(&mut reading, text.to_owned());
        }
        reading
    }

    /// Reads the output after exit code 2: a deny with stderr as its reason.
    fn read_block(&self, stdout: &CapturedStream, stderr: &CapturedStream) -> ParsedAnswer {
        let non_empty =
            |text: &str| Some(answers::trim_output(text)).filter(|text| !text.is_empty()).map(str::to_owned);
        let printed = match find_answer(answers::trim_output(&stdout.text)) {
            ClaudeOutput::Object { fields, .. } => self.read_object(&fields).answer,
            ClaudeOutput::Text | ClaudeOutput::Unreadable(_) => Answer::default(),
        };
        let reason = non_empty(&stderr.text).or(printed.reason).or_else(|| non_empty(&stdout.text));
        let (system_message, suppress_output) = (printed.system_message, printed.suppress_output);
        let mut answer = Answer { system_message, suppress_output, ..Answer::default() };
        self.deny(&mut answer, reason);
        ParsedAnswer { answer, problems: Vec::new() }
    }

    /// Records a deny.
    ///
    /// After a tool has run, only a guard's deny hides the result; other hooks comment on it, as in Claude Code.
    fn deny(&self, answer: &mut Answer, reason: Option<String>) {
        if self.kind == EventKind::AfterTool && !self.is_guard {
            let words = reason.unwrap_or_else(|| "a hook objects to this result, without saying why".to_owned());
            append_line(&mut answer.additional_context, words);
            return;
        }
        answer.decision = Some(Decision::Deny);
        answer.reason = reason;
    }

    fn read_object(&self, fields: &ClaudeAnswerFields) -> ParsedAnswer {
        let mut reading = ParsedAnswer::default();
        let mut reader = ClaudeFieldReader { parsed: &mut reading };
        let answer_reason = reader.read_text(fields, "reason", "");
        let stop = reader.read_flag(fields, "continue") == Some(false);
        let stop_reason = reader.read_text(fields, "stopReason", "");
        let system_message = reader.read_text(fields, "systemMessage", "");
        let suppress_output = reader.read_flag(fields, "suppressOutput").unwrap_or(false);
        let specific = match fields.get("hookSpecificOutput") {
            Some(Value::Object(specific)) => specific.clone(),
            Some(Value::Null) | None => ClaudeAnswerFields::new(),
            Some(other) => {
                reader.report_wrong_type("hookSpecificOutput", "an object", other);
                ClaudeAnswerFields::new()
            }
        };
        reader.report_misspelt_keys(fields, &TOP_LEVEL_KEYS, "");
        reader.report_misspelt_keys(&specific, &SPECIFIC_OUTPUT_KEYS, "hookSpecificOutput.");
        let decision = reader.read_decision(fields, &specific);
        let reason = reader.read_text(&specific, "permissionDecisionReason", "hookSpecificOutput.").or(answer_reason);
        let reason = reason.or_else(|| reader.read_text(fields, "permissionDecisionReason", ""));
        reader.check_event_name(self.kind, &specific);
        reading.answer = Answer { stop, stop_reason, system_message, suppress_output, ..Answer::default() };
        match decision {
            Some(Decision::Deny) => self.deny(&mut reading.answer, reason),
            decision => {
                reading.answer.decision = decision;
                reading.answer.reason = reason;
            }
        }
        self.read_changes(&mut reading, fields, &specific);
        reading.answer.hook_specific_output = specific;
        reading
    }

    /// Reads the context and the changes of an answer.
    fn read_changes(&self, reading: &mut ParsedAnswer, fields: &ClaudeAnswerFields, specific: &ClaudeAnswerFields) {
        let mut reader = ClaudeFieldReader { parsed: reading };
        let context = reader.read_text(specific, "additionalContext", "hookSpecificOutput.");
        let context = context.or_else(|| reader.read_text(fields, "additionalContext", ""));
        if let Some(context) = context.filter(|context| !context.is_empty()) {
            self.apply_context(reading, context);
        }
        if let Some(input) = specific.get("updatedInput").filter(|input| !input.is_null()) {
            self.apply_updated_input(reading, input);
        }
        let output = ["updatedToolOutput", "updatedMCPToolOutput"].iter().find_map(|key| specific.get(*key));
        if let Some(output) = output.filter(|output| !output.is_null() && self.kind == EventKind::AfterTool) {
            let words = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            reading.answer.decision = Some(Decision::Deny);
            reading.answer.reason = Some(words);
        }
    }

    fn apply_context(&self, reading: &mut ParsedAnswer, context: String) {
        match self.kind {
            kind if kind.can(HookCapability::Context) => append_line(&mut reading.answer.additional_context, context),
            // Context on AfterAgent asks the agent to continue with this text.
            EventKind::AfterAgent => {
                if reading.answer.decision.is_none() {
                    reading.answer.decision = Some(Decision::Deny);
                }
                append_line(&mut reading.answer.reason, context);
            }
            kind => {
                let name = event_name(kind, AgentScope::Session).unwrap_or_default();
                let text = format!("gave `additionalContext`, which has no effect on {name} here");
                reading.problems.push(RunProblem { cause: None, text });
            }
        }
    }

    fn apply_updated_input(&self, reading: &mut ParsedAnswer, input: &Value) {
        let Value::Object(input) = input else {
            return ClaudeFieldReader { parsed: reading }.report_wrong_type(
                "hookSpecificOutput.updatedInput",
                "an object",
                input,
            );
        };
        if !self.kind.can(HookCapability::RewriteInput) {
            let text = "gave `updatedInput`, which only counts before a tool runs".to_owned();
            return reading.problems.push(RunProblem { cause: None, text });
        }
        match self.input.changes_from_claude(self.view_index, input) {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => reading.answer.tool_input = Some(changes),
            // A hook that wants other arguments does not accept these.
            Err(problem) => {
                let words = format!("changes the arguments in a way that does not work here: {problem}");
                reading.problems.push(RunProblem { cause: None, text: words.clone() });
                if reading.answer.decision != Some(Decision::Deny) {
                    reading.answer.decision = Some(Decision::Deny);
                    reading.answer.reason = Some(format!("the hook {words}"));
                }
            }
        }
    }
}

/// The keys of an answer.
const TOP_LEVEL_KEYS: [&str; 13] = [
    "decision",
    "continue",
    "hookSpecificOutput",
    "permissionDecision",
    "permissionDecisionReason",
    "reason",
    "stopReason",
    "systemMessage",
    "suppressOutput",
    "terminalSequence",
    "additionalContext",
    "async",
    "asyncTimeout",
];
const SPECIFIC_OUTPUT_KEYS: [&str; 13] = [
    "permissionDecision",
    "decision",
    "updatedInput",
    "hookEventName",
    "permissionDecisionReason",
    "additionalContext",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "classifierContext",
    "sessionTitle",
    "suppressOriginalPrompt",
    "displayContent",
    "reason",
];

/// Reads fields one by one: an invalid field is reported and the others count.
struct ClaudeFieldReader<'a> {
    parsed: &'a mut ParsedAnswer,
}

impl ClaudeFieldReader<'_> {
    fn report_wrong_type(&mut self, name: &str, expected: &str, got: &Value) {
        let mut got: String = got.to_string();
        if got.chars().count() > 40 {
            got = got.chars().take(40).chain(['…']).collect();
        }
        report_output_problem(
            self.parsed,
            format!("`{name}` should be {expected}, not {got}; the rest of its answer counts"),
        );
    }

    fn read_text(&mut self, fields: &ClaudeAnswerFields, key: &str, at: &str) -> Option<String> {
        match fields.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => {
                self.report_wrong_type(&format!("{at}{key}"), "a string", other);
                None
            }
        }
    }

    fn read_flag(&mut self, fields: &ClaudeAnswerFields, key: &str) -> Option<bool> {
        match fields.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::Null => None,
            other => {
                self.report_wrong_type(key, "true or false", other);
                None
            }
        }
    }

    /// The strictest decision in any of the fields that can hold one.
    fn read_decision(&mut self, top: &ClaudeAnswerFields, specific: &ClaudeAnswerFields) -> Option<Decision> {
        let places = [
            (top, "decision", ""),
            (top, "permissionDecision", ""),
            (specific, "permissionDecision", "hookSpecificOutput."),
            (specific, "decision", "hookSpecificOutput."),
        ];
        places
            .into_iter()
            .filter_map(|(fields, key, at)| self.parse_decision(fields.get(key)?, &format!("{at}{key}")))
            .max()
    }

    fn parse_decision(&mut self, value: &Value, name: &str) -> Option<Decision> {
        const EXPECTED_DECISIONS: &str = "one of allow, deny, ask, defer, approve, block";
        let word = match value {
            Value::Null => return None,
            Value::String(word) => word.trim().to_ascii_lowercase(),
            // An answer to PermissionRequest has an object.
            Value::Object(decision) => decision.get("behavior").and_then(Value::as_str).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        match word.as_str() {
            "allow" | "approve" => Some(Decision::Allow),
            "ask" => Some(Decision::Ask),
            "deny" | "block" => Some(Decision::Deny),
            "defer" => None,
            _ => {
                self.report_wrong_type(name, EXPECTED_DECISIONS, value);
                None
            }
        }
    }

    /// Reports an answer that names another event; it counts, since the hook was run for this event only.
    fn check_event_name(&mut self, kind: EventKind, specific: &ClaudeAnswerFields) {
        let Some(named) = specific.get("hookEventName").and_then(Value::as_str) else { return };
        let own = [AgentScope::Session, AgentScope::SubAgent].map(|scope| event_name(kind, scope));
        if !own.contains(&Some(named)) && named != kind.name() {
            let text = format!("answered for the event {named}; the answer counts all the same");
            self.parsed.problems.push(RunProblem { cause: None, text });
        }
    }

    /// Reports an unknown key that is similar to one that can hold a deny, or an object without any known key.
    fn report_misspelt_keys(&mut self, fields: &ClaudeAnswerFields, known: &[&str], at: &str) {
        let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
        let unknown: Vec<&String> = fields.keys().filter(|key| !known.contains(&key.as_str())).collect();
        let near = |key: &&String| {
            known[..4].iter().find(|known| strsim::damerau_levenshtein(&plain(key), &plain(known)) <= 2)
        };
        if let Some((key, known)) = unknown.iter().find_map(|key| Some((*key, near(key)?))) {
            report_output_problem(
                self.parsed,
                format!("answered with the unknown key `{at}{key}`; did it mean `{known}`?"),
            );
        } else if at.is_empty() && !fields.is_empty() && unknown.len() == fields.len() {
            report_output_problem(self.parsed, "answered with an object that has no known field".to_owned());
        }
    }
}

fn report_output_problem(reading: &mut ParsedAnswer, text: String) {
    reading.problems.push(RunProblem { cause: Some(FailureCause::Output), text });
}

fn failed_answer(cause: FailureCause, text: String) -> ParsedAnswer {
    ParsedAnswer { answer: Answer::default(), problems: vec![RunProblem { cause: Some(cause), text }] }
}

fn append_line(to: &mut Option<String>, words: String) {
    *to = Some(match to.take() {
        Some(before) => format!("{before}\n{words}"),
        None => words,
    });
}

/// Finds the answer: the object that is the whole output, or the object at its end.
fn find_answer(text: &str) -> ClaudeOutput {
    /// The maximum number of lines tried as the start of the answer: nested objects start lines too.
    const MAX_ANSWER_CANDIDATES: usize = 256;
    if let Some(problem) = answers::encoding_problem(text) {
        return ClaudeOutput::Unreadable(problem.to_owned());
    }
    let unwrapped = serde_json::from_str::<String>(text).ok();
    let text = unwrapped.as_deref().map_or(text, str::trim);
    let whole = strict_json::parse(text.as_bytes());
    if let Ok(ParsedJson { value: Value::Object(fields), repeated_key: repeated }) = whole {
        return ClaudeOutput::Object { fields, repeated, again: false };
    }
    let mut at = 0;
    let starts = text.split_inclusive('\n').filter_map(|line| {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        line.trim_start().starts_with('{').then_some(start)
    });
    let starts: Vec<usize> = starts.collect();
    for start in starts.into_iter().rev().take(MAX_ANSWER_CANDIDATES) {
        if let Ok(ParsedJson { value: Value::Object(fields), repeated_key: repeated }) =
            strict_json::parse(text[start..].trim_end().as_bytes())
        {
            return ClaudeOutput::Object { fields, repeated, again: answers::contains_answer_field(&text[..start]) };
        }
    }
    match whole {
        Err(error) if text.starts_with('{') => {
            ClaudeOutput::Unreadable(format!("looks like JSON but does not parse: {error}"))
        }
        _ if answers::contains_answer_field(text) => ClaudeOutput::Unreadable(
            "has text after the JSON answer or around it; print the answer alone in the last line".to_owned(),
        ),
        _ => ClaudeOutput::Text,
    }
}

#[cfg(test)]
mod tests;
