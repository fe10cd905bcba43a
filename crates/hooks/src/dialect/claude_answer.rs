//! What a hook in Claude Code's dialect answered: its exit code, stdout and stderr → one [`Answer`] of ours.
//!
//! Read towards no: where Claude Code itself would not hear an objection (another event's name, a log line before the
//! object, another casing), it counts here, and what can't be heard is a failure of cause `output`.

use serde_json::{Map, Value};

use super::claude::{Shown, Whose, event_name};
use crate::answer::{self, Answer, Captured, Cause, Decision, End, Reading, Trouble};
use crate::event::{EventKind, Power};
use crate::hook::Hook;
use crate::strict_json::{self, ParsedJson};

type Fields = Map<String, Value>;

/// Reads how a hook ended that was shown one view of an event.
pub(crate) fn read(
    hook: &Hook,
    shown: &Shown,
    view: usize,
    end: &End,
    stdout: &Captured,
    stderr: &Captured,
) -> Reading {
    let reader = Reader { kind: hook.event, guard: hook.is_guard(), shown, view };
    match end {
        End::Exited(0) => answer::without_unknown_powers(hook.event, reader.success(stdout)),
        End::Exited(2) => answer::without_unknown_powers(hook.event, reader.block(stdout, stderr)),
        End::TimedOut(_) | End::Failed(_) => {
            let mut reading = answer::read(hook.event, end, &Captured::default(), stderr);
            let spoken = reader.success(stdout).answer;
            if spoken.ends_plan() {
                reading.answer = spoken;
                reading.troubles.iter_mut().for_each(|trouble| trouble.cause = None);
            }
            answer::without_unknown_powers(hook.event, reading)
        }
        _ => answer::read(hook.event, end, stdout, stderr),
    }
}

struct Reader<'a> {
    kind: EventKind,
    guard: bool,
    shown: &'a Shown,
    view: usize,
}

/// What stands in a hook's output.
enum Found {
    /// An answer.
    Object {
        fields: Fields,
        /// A key that stands more than once, at any depth.
        repeated: Option<String>,
        /// Whether another answer stands before it.
        again: bool,
    },
    /// Words.
    Text,
    /// Something that a no may stand in and that can't be read.
    Unreadable(String),
}

impl Reader<'_> {
    /// Exit 0: the object in the last line counts.
    fn success(&self, stdout: &Captured) -> Reading {
        let text = answer::trim(&stdout.text);
        if text.is_empty() {
            return Reading::default();
        }
        if stdout.truncated {
            let text = format!("its output of {} bytes was cut off by the output bound", stdout.bytes);
            return failed(Cause::Truncated, text);
        }
        match find(text) {
            Found::Object { fields, repeated, again } => {
                let mut reading = self.object(&fields);
                if let Some(key) = repeated {
                    trouble(&mut reading, answer::repeated_key_problem("", &key));
                }
                if again {
                    trouble(&mut reading, "its output holds more than one answer; the last one counts".to_owned());
                }
                reading
            }
            Found::Unreadable(problem) => failed(Cause::Output, format!("its output {problem}")),
            Found::Text => self.words(text),
        }
    }

    /// Words without an object are told to the model where Claude Code does that, and to nobody else.
    fn words(&self, text: &str) -> Reading {
        let mut reading = Reading::default();
        if matches!(self.kind, EventKind::BeforeAgent | EventKind::SessionStart) {
            reading.answer.additional_context = Some(text.to_owned());
        }
        if self.guard && text.contains(['{', '[']) {
            let text = "its output is no JSON object and not plain text either; a no in it would not be heard";
            trouble(&mut reading, text.to_owned());
        }
        reading
    }

    /// Exit 2: no, with stderr as the reason.
    fn block(&self, stdout: &Captured, stderr: &Captured) -> Reading {
        let said = |text: &str| Some(answer::trim(text)).filter(|text| !text.is_empty()).map(str::to_owned);
        let printed = match find(answer::trim(&stdout.text)) {
            Found::Object { fields, .. } => self.object(&fields).answer,
            Found::Text | Found::Unreadable(_) => Answer::default(),
        };
        let reason = said(&stderr.text).or(printed.reason).or_else(|| said(&stdout.text));
        let (system_message, suppress_output) = (printed.system_message, printed.suppress_output);
        let mut answer = Answer { system_message, suppress_output, ..Answer::default() };
        self.refuse(&mut answer, reason);
        Reading { answer, troubles: Vec::new() }
    }

    /// A no. What has been done already is hidden by a guard alone; others comment on it, as they do under Claude Code.
    fn refuse(&self, answer: &mut Answer, reason: Option<String>) {
        if self.kind == EventKind::AfterTool && !self.guard {
            let words = reason.unwrap_or_else(|| "a hook objects to this result, without saying why".to_owned());
            append(&mut answer.additional_context, words);
            return;
        }
        answer.decision = Some(Decision::Deny);
        answer.reason = reason;
    }

    fn object(&self, fields: &Fields) -> Reading {
        let mut reading = Reading::default();
        let mut heard = Heard { reading: &mut reading };
        let answer_reason = heard.text(fields, "reason", "");
        let stop = heard.flag(fields, "continue") == Some(false);
        let stop_reason = heard.text(fields, "stopReason", "");
        let system_message = heard.text(fields, "systemMessage", "");
        let suppress_output = heard.flag(fields, "suppressOutput").unwrap_or(false);
        let specific = match fields.get("hookSpecificOutput") {
            Some(Value::Object(specific)) => specific.clone(),
            Some(Value::Null) | None => Fields::new(),
            Some(other) => {
                heard.wrong("hookSpecificOutput", "an object", other);
                Fields::new()
            }
        };
        heard.misspelt(fields, &TOP, "");
        heard.misspelt(&specific, &SPECIFIC, "hookSpecificOutput.");
        let decision = heard.decision(fields, &specific);
        let reason = heard.text(&specific, "permissionDecisionReason", "hookSpecificOutput.").or(answer_reason);
        let reason = reason.or_else(|| heard.text(fields, "permissionDecisionReason", ""));
        heard.event(self.kind, &specific);
        reading.answer = Answer { stop, stop_reason, system_message, suppress_output, ..Answer::default() };
        match decision {
            Some(Decision::Deny) => self.refuse(&mut reading.answer, reason),
            decision => {
                reading.answer.decision = decision;
                reading.answer.reason = reason;
            }
        }
        self.changes(&mut reading, fields, &specific);
        reading.answer.specific = specific;
        reading
    }

    /// What the answer adds or puts in another's place.
    fn changes(&self, reading: &mut Reading, fields: &Fields, specific: &Fields) {
        let mut heard = Heard { reading };
        let context = heard.text(specific, "additionalContext", "hookSpecificOutput.");
        let context = context.or_else(|| heard.text(fields, "additionalContext", ""));
        if let Some(context) = context.filter(|context| !context.is_empty()) {
            self.context(reading, context);
        }
        if let Some(input) = specific.get("updatedInput").filter(|input| !input.is_null()) {
            self.rewrite(reading, input);
        }
        let output = ["updatedToolOutput", "updatedMCPToolOutput"].iter().find_map(|key| specific.get(*key));
        if let Some(output) = output.filter(|output| !output.is_null() && self.kind == EventKind::AfterTool) {
            let words = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            reading.answer.decision = Some(Decision::Deny);
            reading.answer.reason = Some(words);
        }
    }

    fn context(&self, reading: &mut Reading, context: String) {
        match self.kind {
            kind if kind.can(Power::Context) => append(&mut reading.answer.additional_context, context),
            // It wants the agent to go on, with these words.
            EventKind::AfterAgent => {
                if reading.answer.decision.is_none() {
                    reading.answer.decision = Some(Decision::Deny);
                }
                append(&mut reading.answer.reason, context);
            }
            kind => {
                let name = event_name(kind, Whose::Session).unwrap_or_default();
                let text = format!("gave `additionalContext`, which nobody is told on {name} here");
                reading.troubles.push(Trouble { cause: None, text });
            }
        }
    }

    fn rewrite(&self, reading: &mut Reading, input: &Value) {
        let Value::Object(input) = input else {
            return Heard { reading }.wrong("hookSpecificOutput.updatedInput", "an object", input);
        };
        if !self.kind.can(Power::RewriteInput) {
            let text = "gave `updatedInput`, which only counts before a tool runs".to_owned();
            return reading.troubles.push(Trouble { cause: None, text });
        }
        match self.shown.put_back(self.view, input) {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => reading.answer.tool_input = Some(changes),
            // Whoever wants other arguments does not want these.
            Err(problem) => {
                let words = format!("wants other arguments, which can't be had: {problem}");
                reading.troubles.push(Trouble { cause: None, text: words.clone() });
                if reading.answer.decision != Some(Decision::Deny) {
                    reading.answer.decision = Some(Decision::Deny);
                    reading.answer.reason = Some(format!("the hook {words}"));
                }
            }
        }
    }
}

/// The keys of an answer; a no can stand in the first three.
const TOP: [&str; 13] = [
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
const SPECIFIC: [&str; 13] = [
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

/// Reads fields one by one: a wrong one is said, and the others count.
struct Heard<'a> {
    reading: &'a mut Reading,
}

impl Heard<'_> {
    fn wrong(&mut self, name: &str, expected: &str, got: &Value) {
        let mut got: String = got.to_string();
        if got.chars().count() > 40 {
            got = got.chars().take(40).chain(['…']).collect();
        }
        trouble(self.reading, format!("`{name}` should be {expected}, not {got}; the rest of its answer counts"));
    }

    fn text(&mut self, fields: &Fields, key: &str, at: &str) -> Option<String> {
        match fields.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => {
                self.wrong(&format!("{at}{key}"), "a string", other);
                None
            }
        }
    }

    fn flag(&mut self, fields: &Fields, key: &str) -> Option<bool> {
        match fields.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::Null => None,
            other => {
                self.wrong(key, "true or false", other);
                None
            }
        }
    }

    /// The strictest of what stands in the places for a decision.
    fn decision(&mut self, top: &Fields, specific: &Fields) -> Option<Decision> {
        let places = [
            (top, "decision", ""),
            (top, "permissionDecision", ""),
            (specific, "permissionDecision", "hookSpecificOutput."),
            (specific, "decision", "hookSpecificOutput."),
        ];
        places.into_iter().filter_map(|(fields, key, at)| self.word(fields.get(key)?, &format!("{at}{key}"))).max()
    }

    fn word(&mut self, value: &Value, name: &str) -> Option<Decision> {
        const EXPECTED: &str = "one of allow, deny, ask, defer, approve, block";
        let word = match value {
            Value::Null => return None,
            Value::String(word) => word.trim().to_ascii_lowercase(),
            // As an answer to a request for permission has it.
            Value::Object(decision) => decision.get("behavior").and_then(Value::as_str).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        match word.as_str() {
            "allow" | "approve" => Some(Decision::Allow),
            "ask" => Some(Decision::Ask),
            "deny" | "block" => Some(Decision::Deny),
            "defer" => None,
            _ => {
                self.wrong(name, EXPECTED, value);
                None
            }
        }
    }

    /// An answer to another event is one to this: nobody else asked.
    fn event(&mut self, kind: EventKind, specific: &Fields) {
        let Some(named) = specific.get("hookEventName").and_then(Value::as_str) else { return };
        let own = [Whose::Session, Whose::SubAgent].map(|whose| event_name(kind, whose));
        if !own.contains(&Some(named)) && named != kind.name() {
            let text = format!("answered as if to {named}; it counts");
            self.reading.troubles.push(Trouble { cause: None, text });
        }
    }

    /// A field that is nobody's, and near to one that a no can stand in; or an object that says nothing known.
    fn misspelt(&mut self, fields: &Fields, known: &[&str], at: &str) {
        let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
        let unknown: Vec<&String> = fields.keys().filter(|key| !known.contains(&key.as_str())).collect();
        let near = |key: &&String| {
            known[..4].iter().find(|known| strsim::damerau_levenshtein(&plain(key), &plain(known)) <= 2)
        };
        if let Some((key, known)) = unknown.iter().find_map(|key| Some((*key, near(key)?))) {
            trouble(self.reading, format!("answered `{at}{key}`, which means nothing; did it mean `{known}`?"));
        } else if at.is_empty() && !fields.is_empty() && unknown.len() == fields.len() {
            trouble(self.reading, "answered an object without any field that means something".to_owned());
        }
    }
}

fn trouble(reading: &mut Reading, text: String) {
    reading.troubles.push(Trouble { cause: Some(Cause::Output), text });
}

fn failed(cause: Cause, text: String) -> Reading {
    Reading { answer: Answer::default(), troubles: vec![Trouble { cause: Some(cause), text }] }
}

fn append(to: &mut Option<String>, words: String) {
    *to = Some(match to.take() {
        Some(before) => format!("{before}\n{words}"),
        None => words,
    });
}

/// The object that the output is, or that stands at its end.
fn find(text: &str) -> Found {
    /// Objects within an object begin lines too; nobody prints an answer of more.
    const CANDIDATES: usize = 256;
    if let Some(problem) = answer::no_text(text) {
        return Found::Unreadable(problem.to_owned());
    }
    let unwrapped = serde_json::from_str::<String>(text).ok();
    let text = unwrapped.as_deref().map_or(text, str::trim);
    let whole = strict_json::parse(text.as_bytes());
    if let Ok(ParsedJson { value: Value::Object(fields), repeated }) = whole {
        return Found::Object { fields, repeated, again: false };
    }
    let mut at = 0;
    let starts = text.split_inclusive('\n').filter_map(|line| {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        line.trim_start().starts_with('{').then_some(start)
    });
    let starts: Vec<usize> = starts.collect();
    for start in starts.into_iter().rev().take(CANDIDATES) {
        if let Ok(ParsedJson { value: Value::Object(fields), repeated }) =
            strict_json::parse(text[start..].trim_end().as_bytes())
        {
            return Found::Object { fields, repeated, again: answer::holds_an_answer(&text[..start]) };
        }
    }
    match whole {
        Err(error) if text.starts_with('{') => {
            Found::Unreadable(format!("looks like JSON but does not parse: {error}"))
        }
        _ if answer::holds_an_answer(text) => {
            Found::Unreadable("has text behind its JSON answer, or around it; it counts in the last line".to_owned())
        }
        _ => Found::Text,
    }
}

#[cfg(test)]
mod tests;
