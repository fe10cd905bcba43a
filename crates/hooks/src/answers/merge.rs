//! Merges the answers of several hooks into one, in the same way for every event: any stop wins, then any deny, then
//! any ask, then any confinement. Nothing here performs I/O.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::answers::{Answer, Decision};
use crate::confinement::ConfinementProfile;
use crate::event::EventKind;
use crate::event::model_api::{ToolConfig, ToolMode};

/// The merged answer of all hooks of one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedAnswer {
    /// The strongest decision, all texts in plan order, and every change applied over those before it.
    pub answer: Answer,
    /// The names of the hooks that stopped, denied, asked or confined; empty where the event is allowed.
    pub decided_by: Vec<String>,
    /// The profiles that the call must be kept to, all of them; also where the user is asked about it.
    pub confinements: Vec<HookConfinement>,
    /// The profiles that armed guards want enforced for every command, whatever is known about it.
    pub enforced: Vec<HookConfinement>,
    /// Whether settings say `enforce: always`, so that a command that cannot be kept to `enforced` is asked about.
    /// Otherwise it runs without.
    pub requires_enforcement: bool,
    /// The names of the rules that approve the call in the user's place, as it is after all changes; empty where a hook
    /// stops, denies or asks. An allow of another hook means no objection and approves nothing.
    pub approved_by: Vec<String>,
}

/// A profile that a hook wants a call to be kept to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookConfinement {
    /// The name of the hook.
    pub hook: String,
    /// The profile.
    pub profile: ConfinementProfile,
    /// Whether the call is known not to do what the profile forbids, so that being kept from it means a wrong prediction.
    #[serde(skip)]
    pub is_predicted: bool,
}

/// Two hooks that set the same key to different values; the later hook's value counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerConflict {
    /// The key that both hooks set.
    pub key: String,
    /// The hook whose value was replaced.
    pub earlier: String,
    /// The hook whose value counts.
    pub later: String,
}

impl std::fmt::Display for AnswerConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AnswerConflict { key, earlier, later } = self;
        write!(f, "hooks {earlier} and {later} set `{key}` to different values; the one of {later} counts")
    }
}

/// Merges answers given in plan order, each with its hook's name.
///
/// ```
/// use hookwright_hooks::{Answer, Decision, merge::merge};
///
/// let (allow, deny) = (Answer::allow(), Answer::deny("secrets in the diff"));
/// let (merged, conflicts) = merge([("format", &allow), ("scan", &deny)]);
/// assert_eq!(merged.answer.decision, Some(Decision::Deny));
/// assert_eq!(merged.decided_by, ["scan"]);
/// assert!(conflicts.is_empty());
/// ```
pub fn merge<'a>(answers: impl IntoIterator<Item = (&'a str, &'a Answer)>) -> (MergedAnswer, Vec<AnswerConflict>) {
    let mut merged = MergedAnswer::default();
    let mut conflicts = Vec::new();
    let mut argument_owners: Vec<(String, &str)> = Vec::new();
    let mut tail_owner: Option<&str> = None;
    for (hook, answer) in answers {
        merged.add_decision(hook, answer);
        let all = &mut merged.answer;
        append_line(&mut all.reason, answer.reason.as_deref());
        append_line(&mut all.system_message, answer.system_message.as_deref());
        append_line(&mut all.additional_context, answer.additional_context.as_deref());
        all.suppress_output |= answer.suppress_output;
        all.clear_context |= answer.clear_context;
        all.redact_input |= answer.redact_input;
        if let Some(changes) = &answer.tool_input {
            overlay_tool_input(
                all.tool_input.get_or_insert_default(),
                changes,
                hook,
                &mut argument_owners,
                &mut conflicts,
            );
        }
        if let Some(profile) = &answer.confinement {
            merged.confinements.push(HookConfinement {
                hook: hook.to_owned(),
                profile: profile.clone(),
                is_predicted: false,
            });
        }
        if let Some(patch) = &answer.llm_request {
            all.llm_request.get_or_insert_default().overlay(patch.clone());
        }
        if let Some(response) = &answer.llm_response {
            all.llm_response = Some(response.clone());
        }
        if let Some(config) = &answer.tool_config {
            merge_tool_config(all.tool_config.get_or_insert_default(), config);
        }
        if let Some(call) = &answer.tail_call {
            if let Some(earlier) = tail_owner.filter(|_| all.tail_call.as_ref() != Some(call)) {
                conflicts.push(conflict("tailToolCallRequest", earlier, hook));
            }
            tail_owner = Some(hook);
            all.tail_call = Some(call.clone());
        }
        all.hook_specific_output
            .extend(answer.hook_specific_output.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if let Some(config) = &mut merged.answer.tool_config {
        normalize_tool_config(config);
    }
    (merged, conflicts)
}

impl MergedAnswer {
    fn add_decision(&mut self, hook: &str, answer: &Answer) {
        let all = &mut self.answer;
        if answer.stop {
            if !all.stop {
                self.decided_by.clear();
            }
            all.stop = true;
            self.decided_by.push(hook.to_owned());
            append_line(&mut all.stop_reason, answer.stop_reason.as_deref().or(answer.reason.as_deref()));
        }
        let Some(decision) = answer.decision else { return };
        if all.decision.is_none_or(|current| decision > current) {
            if !all.stop {
                self.decided_by.clear();
            }
            all.decision = Some(decision);
        }
        if !all.stop && all.decision == Some(decision) && decision != Decision::Allow {
            self.decided_by.push(hook.to_owned());
        }
    }

    /// The reason for a deny, an ask or a confinement; a default text where the hooks gave none.
    pub fn reason_text(&self) -> String {
        let word = match self.answer.decision {
            Some(Decision::Ask) => "asked about",
            Some(Decision::Confine) => "confined",
            _ => "denied",
        };
        self.answer.reason.clone().unwrap_or_else(|| self.default_reason(word))
    }

    /// The names of the hooks that are shown with a question: those that decided, else those that want the call kept.
    pub fn demanding_hooks(&self) -> Vec<String> {
        match self.decided_by.as_slice() {
            [] => self.enforced.iter().map(|one| one.hook.clone()).collect(),
            names => names.to_vec(),
        }
    }

    /// The reason for asking about a command that settings want kept to [`enforced`](MergedAnswer::enforced), and that
    /// cannot be.
    pub fn unenforced_text(&self, why: &str) -> String {
        let guards: Vec<&str> = self.enforced.iter().map(|one| one.hook.as_str()).collect();
        let guards = guards.join(", ");
        format!("`enforce: always` wants every command kept from what {guards} forbids; it can't be confined: {why}")
    }

    /// The reason for a stop; a default text where the hooks gave none.
    pub fn stop_text(&self) -> String {
        self.answer.stop_reason.clone().unwrap_or_else(|| self.default_reason("stopped"))
    }

    fn default_reason(&self, word: &str) -> String {
        match self.decided_by.as_slice() {
            [] => format!("{word} by a hook that gave no reason"),
            hooks => format!("{word} by hook {}, which gave no reason", hooks.join(", ")),
        }
    }

    /// The merged answer as the JSON object that a hook would print, with default reasons filled in.
    pub fn to_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut answer = self.answer.clone();
        if answer.stop {
            answer.stop_reason = Some(self.stop_text());
        }
        if *answer.decision.get_or_insert(Decision::Allow) != Decision::Allow {
            answer.reason = Some(self.reason_text());
        }
        answer.to_json(kind)
    }
}

fn append_line(joined: &mut Option<String>, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    match joined {
        Some(joined) => {
            joined.push('\n');
            joined.push_str(text);
        }
        None => *joined = Some(text.to_owned()),
    }
}

fn overlay_tool_input<'a>(
    target: &mut Map<String, Value>,
    changes: &Map<String, Value>,
    hook: &'a str,
    owners: &mut Vec<(String, &'a str)>,
    conflicts: &mut Vec<AnswerConflict>,
) {
    for (key, value) in changes {
        let owner = owners.iter_mut().find(|(owned, _)| owned == key);
        match (target.insert(key.clone(), value.clone()), owner) {
            (Some(previous), Some((_, earlier))) => {
                if previous != *value && *earlier != hook {
                    conflicts.push(conflict(key, earlier, hook));
                }
                *earlier = hook;
            }
            _ => owners.push((key.clone(), hook)),
        }
    }
}

fn conflict(key: &str, earlier: &str, later: &str) -> AnswerConflict {
    AnswerConflict { key: key.to_owned(), earlier: earlier.to_owned(), later: later.to_owned() }
}

/// Merges tool configurations: the most restrictive mode and the union of the names.
fn merge_tool_config(merged: &mut ToolConfig, config: &ToolConfig) {
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

fn normalize_tool_config(config: &mut ToolConfig) {
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
    use serde_json::json;

    fn merge_all(answers: &[Answer]) -> (MergedAnswer, Vec<AnswerConflict>) {
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
        assert_eq!(merged.answer.reason.as_deref(), Some("one\ntwo"));
        assert_eq!(merged.answer.system_message.as_deref(), Some("m1\nm2"));
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
        assert_eq!(Value::Object(merged.answer.tool_input.unwrap()), json!({"a": 1, "b": 2, "c": 1}));
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
        let config = merge_all(&[any.clone(), auto.clone()]).0.answer.tool_config.unwrap();
        assert_eq!((config.mode, config.allowed.join(",")), (Some(ToolMode::Any), "a,b,c".to_owned()));
        let config = merge_all(&[any, select(Some(ToolMode::None), &[]), auto.clone()]).0.answer.tool_config.unwrap();
        assert_eq!((config.mode, config.allowed.len()), (Some(ToolMode::None), 0));
        assert_eq!(merge_all(&[auto]).0.answer.tool_config.unwrap().mode, Some(ToolMode::Auto));
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        let decision = prop_oneof![
            Just(None),
            Just(Some(Decision::Allow)),
            Just(Some(Decision::Confine)),
            Just(Some(Decision::Ask)),
            Just(Some(Decision::Deny))
        ];
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
            prop_assert_eq!((merged.answer.decision, merged.answer.stop), (other.answer.decision, other.answer.stop));
            prop_assert_eq!(merged.answer.decision, answers.iter().filter_map(|answer| answer.decision).max());
            prop_assert_eq!(merged.answer.stop, answers.iter().any(|answer| answer.stop));
            let decided = merged.answer.stop || merged.answer.decision > Some(Decision::Allow);
            prop_assert_eq!(!merged.decided_by.is_empty(), decided);
        }
    }
}
