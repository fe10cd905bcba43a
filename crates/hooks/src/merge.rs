//! Several hooks' answers → one. Pure, and the same for every event: any stop wins, then any deny, then any ask.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Decision};
use crate::event::EventKind;
use crate::model_api::{LlmRequestPatch, LlmResponse, ToolConfig, ToolMode};
use crate::outcome::TailCall;

/// The answers of all hooks of one event, together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// The strongest decision any hook made.
    pub decision: Option<Decision>,
    /// Whose it was.
    pub decided_by: Vec<String>,
    /// All reasons, in plan order.
    pub reason: Option<String>,
    /// Whether any hook ended the agent loop.
    pub stop: bool,
    /// All stop reasons, in plan order.
    pub stop_reason: Option<String>,
    /// All messages, in plan order.
    pub system_message: Option<String>,
    /// Whether any hook asked to stay out of logs.
    pub suppress_output: bool,
    /// All contexts, in plan order.
    pub additional_context: Option<String>,
    /// Rewritten arguments, key by key.
    pub tool_input: Option<Map<String, Value>>,
    /// Changes to the request, field by field.
    pub llm_request: Option<LlmRequestPatch>,
    /// The last replacement.
    pub llm_response: Option<LlmResponse>,
    /// The combined tool selection.
    pub tool_config: Option<ToolConfig>,
    /// The last tail call.
    pub tail_call: Option<TailCall>,
    /// Whether any hook empties the model's memory.
    pub clear_context: bool,
    /// Every hook's `hookSpecificOutput`, laid over one another in plan order.
    pub specific: Map<String, Value>,
}

/// Two hooks that want different things of one key; the later one's value stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// What both set.
    pub key: String,
    /// The hook whose value is gone.
    pub earlier: String,
    /// The hook whose value stands.
    pub later: String,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Conflict { key, earlier, later } = self;
        write!(f, "hooks {earlier} and {later} set `{key}` to different values; {later}'s stands")
    }
}

/// Merges answers given in plan order, each with its hook's name.
pub fn merge<'a>(answers: impl IntoIterator<Item = (&'a str, &'a Answer)>) -> (Merged, Vec<Conflict>) {
    let mut merged = Merged::default();
    let mut conflicts = Vec::new();
    let mut argument_owners: Vec<(String, &str)> = Vec::new();
    let mut tail_owner: Option<&str> = None;
    for (hook, answer) in answers {
        merged.decide(hook, answer);
        append(&mut merged.reason, answer.reason.as_deref());
        append(&mut merged.system_message, answer.system_message.as_deref());
        append(&mut merged.additional_context, answer.additional_context.as_deref());
        merged.suppress_output |= answer.suppress_output;
        merged.clear_context |= answer.clear_context;
        if let Some(changes) = &answer.tool_input {
            let target = merged.tool_input.get_or_insert_default();
            lay_over(target, changes, hook, &mut argument_owners, &mut conflicts);
        }
        if let Some(patch) = &answer.llm_request {
            merged.llm_request.get_or_insert_default().overlay(patch.clone());
        }
        if let Some(response) = &answer.llm_response {
            merged.llm_response = Some(response.clone());
        }
        if let Some(config) = &answer.tool_config {
            combine_tools(merged.tool_config.get_or_insert_default(), config);
        }
        if let Some(call) = &answer.tail_call {
            if let Some(earlier) = tail_owner.filter(|_| merged.tail_call.as_ref() != Some(call)) {
                conflicts.push(conflict("tailToolCallRequest", earlier, hook));
            }
            tail_owner = Some(hook);
            merged.tail_call = Some(call.clone());
        }
        merged.specific.extend(answer.specific.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if let Some(config) = &mut merged.tool_config {
        finish_tools(config);
    }
    (merged, conflicts)
}

impl Merged {
    fn decide(&mut self, hook: &str, answer: &Answer) {
        if answer.stop {
            if !self.stop {
                self.decided_by.clear();
            }
            self.stop = true;
            self.decided_by.push(hook.to_owned());
            append(&mut self.stop_reason, answer.stop_reason.as_deref().or(answer.reason.as_deref()));
        }
        let Some(decision) = answer.decision else { return };
        if self.decision.is_none_or(|current| decision > current) {
            if !self.stop {
                self.decided_by.clear();
            }
            self.decision = Some(decision);
        }
        if !self.stop && self.decision == Some(decision) && decision != Decision::Allow {
            self.decided_by.push(hook.to_owned());
        }
    }

    /// The reason for a deny or an ask, never empty.
    pub fn reason_text(&self) -> String {
        let word = if self.decision == Some(Decision::Ask) { "asked about" } else { "denied" };
        self.reason.clone().unwrap_or_else(|| self.unexplained(word))
    }

    /// The reason for a stop, never empty.
    pub fn stop_text(&self) -> String {
        self.stop_reason.clone().unwrap_or_else(|| self.unexplained("stopped"))
    }

    fn unexplained(&self, word: &str) -> String {
        match self.decided_by.as_slice() {
            [] => format!("{word} by a hook that gave no reason"),
            hooks => format!("{word} by hook {}, which gave no reason", hooks.join(", ")),
        }
    }

    /// The merged answer in a hook's own vocabulary.
    pub fn to_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        let decision = if self.stop { None } else { Some(self.decision.unwrap_or(Decision::Allow)) };
        put(&mut object, "decision", decision.map(|decision| json!(decision)));
        let reason = matches!(self.decision, Some(Decision::Deny | Decision::Ask)).then(|| self.reason_text());
        put(&mut object, "reason", reason.or_else(|| self.reason.clone()).map(Value::String));
        object.insert("continue".to_owned(), Value::Bool(!self.stop));
        put(&mut object, "stopReason", self.stop.then(|| Value::String(self.stop_text())));
        put(&mut object, "systemMessage", self.system_message.clone().map(Value::String));
        put(&mut object, "suppressOutput", self.suppress_output.then_some(Value::Bool(true)));
        let specific = self.specific_json(kind);
        put(&mut object, "hookSpecificOutput", (!specific.is_empty()).then_some(Value::Object(specific)));
        object
    }

    fn specific_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        put(&mut object, "additionalContext", self.additional_context.clone().map(Value::String));
        put(&mut object, "tool_input", self.tool_input.clone().map(Value::Object));
        put(&mut object, "llm_request", self.llm_request.as_ref().map(|patch| json!(patch)));
        put(&mut object, "llm_response", self.llm_response.as_ref().map(|response| json!(response)));
        put(&mut object, "toolConfig", self.tool_config.as_ref().map(|config| json!(config)));
        let tail = self.tail_call.as_ref().map(|call| json!({"name": call.name, "args": call.args}));
        put(&mut object, "tailToolCallRequest", tail);
        put(&mut object, "clearContext", self.clear_context.then_some(Value::Bool(true)));
        if !object.is_empty() {
            object.shift_insert(0, "hookEventName".to_owned(), Value::String(kind.name().to_owned()));
        }
        object
    }
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}

fn append(joined: &mut Option<String>, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    match joined {
        Some(joined) => {
            joined.push('\n');
            joined.push_str(text);
        }
        None => *joined = Some(text.to_owned()),
    }
}

fn lay_over<'a>(
    target: &mut Map<String, Value>,
    changes: &Map<String, Value>,
    hook: &'a str,
    owners: &mut Vec<(String, &'a str)>,
    conflicts: &mut Vec<Conflict>,
) {
    for (key, value) in changes {
        let owner = owners.iter_mut().find(|(owned, _)| owned == key);
        match (target.insert(key.clone(), value.clone()), owner) {
            (Some(previous), Some((_, earlier))) => {
                if previous != *value {
                    conflicts.push(conflict(key, earlier, hook));
                }
                *earlier = hook;
            }
            _ => owners.push((key.clone(), hook)),
        }
    }
}

fn conflict(key: &str, earlier: &str, later: &str) -> Conflict {
    Conflict { key: key.to_owned(), earlier: earlier.to_owned(), later: later.to_owned() }
}

/// The most restrictive mode and the union of names.
fn combine_tools(merged: &mut ToolConfig, config: &ToolConfig) {
    let strength = |mode: Option<ToolMode>| match mode {
        Some(ToolMode::None) => 2,
        Some(ToolMode::Any) => 1,
        Some(ToolMode::Auto) | None => 0,
    };
    if strength(config.mode) >= strength(merged.mode) {
        merged.mode = config.mode.or(merged.mode);
    }
    merged.allowed.extend(config.allowed.iter().cloned());
}

fn finish_tools(config: &mut ToolConfig) {
    config.mode.get_or_insert(ToolMode::Auto);
    if config.mode == Some(ToolMode::None) {
        config.allowed.clear();
    }
    config.allowed.sort();
    config.allowed.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merge_all(answers: &[Answer]) -> (Merged, Vec<Conflict>) {
        let named: Vec<_> = answers.iter().enumerate().map(|(at, answer)| (format!("h{at}"), answer)).collect();
        merge(named.iter().map(|(name, answer)| (name.as_str(), *answer)))
    }

    fn args(json: Value) -> Answer {
        let Value::Object(map) = json else { panic!("an object") };
        Answer { tool_input: Some(map), ..Answer::default() }
    }

    #[test]
    fn words_are_joined_in_plan_order() {
        let mut first = Answer::deny("one");
        first.system_message = Some("m1".into());
        let second = Answer { system_message: Some("m2".into()), ..Answer::deny("two") };
        let (merged, _) = merge_all(&[first, Answer::context("c"), second]);
        assert_eq!(merged.reason.as_deref(), Some("one\ntwo"));
        assert_eq!(merged.system_message.as_deref(), Some("m1\nm2"));
        assert_eq!(merged.decided_by, ["h0", "h2"]);
    }

    #[test]
    fn a_stop_uses_its_reason_where_it_has_no_stop_reason() {
        let stop = Answer { stop: true, reason: Some("why".into()), ..Answer::default() };
        assert_eq!(merge_all(&[stop]).0.stop_text(), "why");
        let silent = Answer { stop: true, ..Answer::default() };
        assert!(merge_all(&[silent]).0.stop_text().contains("h0"));
    }

    #[test]
    fn arguments_merge_and_conflicts_are_named() {
        let (merged, conflicts) =
            merge_all(&[args(json!({"a": 1, "b": 1})), args(json!({"b": 1, "c": 1})), args(json!({"b": 2}))]);
        assert_eq!(Value::Object(merged.tool_input.unwrap()), json!({"a": 1, "b": 2, "c": 1}));
        assert_eq!(conflicts, [conflict("b", "h1", "h2")]);
    }

    #[test]
    fn tool_selection_takes_the_strictest_mode_and_all_names() {
        let select = |mode, names: &[&str]| Answer {
            tool_config: Some(ToolConfig { mode, allowed: names.iter().map(|name| (*name).to_owned()).collect() }),
            ..Answer::default()
        };
        let any = select(Some(ToolMode::Any), &["b", "a"]);
        let auto = select(None, &["c", "a"]);
        let config = merge_all(&[any.clone(), auto.clone()]).0.tool_config.unwrap();
        assert_eq!((config.mode, config.allowed.join(",")), (Some(ToolMode::Any), "a,b,c".to_owned()));
        let config = merge_all(&[any, select(Some(ToolMode::None), &[]), auto.clone()]).0.tool_config.unwrap();
        assert_eq!((config.mode, config.allowed.len()), (Some(ToolMode::None), 0));
        assert_eq!(merge_all(&[auto]).0.tool_config.unwrap().mode, Some(ToolMode::Auto));
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        let decision =
            prop_oneof![Just(None), Just(Some(Decision::Allow)), Just(Some(Decision::Ask)), Just(Some(Decision::Deny))];
        (decision, prop::bool::weighted(0.2), prop::option::of("[a-z]{1,4}"))
            .prop_map(|(decision, stop, reason)| Answer { decision, stop, reason, ..Answer::default() })
    }

    proptest! {
        #[test]
        fn the_strongest_answer_wins_in_any_order(
            (answers, shuffled) in prop::collection::vec(any_answer(), 0..8)
                .prop_flat_map(|answers| (Just(answers.clone()), Just(answers).prop_shuffle()))
        ) {
            let (merged, _) = merge_all(&answers);
            let (other, _) = merge_all(&shuffled);
            prop_assert_eq!((merged.decision, merged.stop), (other.decision, other.stop));
            prop_assert_eq!(merged.decision, answers.iter().filter_map(|answer| answer.decision).max());
            prop_assert_eq!(merged.stop, answers.iter().any(|answer| answer.stop));
            let decided = merged.stop || merged.decision > Some(Decision::Allow);
            prop_assert_eq!(!merged.decided_by.is_empty(), decided);
        }
    }
}
