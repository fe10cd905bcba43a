//! Checks that the host takes no decision of hooks for a weaker one: every host and every outcome, against a small
//! model of how each host reads an answer, based on measurements.

#![allow(clippy::unwrap_used, reason = "a test that has no row has failed")]

use hookwright_bridge::{
    Host, HostEvent, HostEventInfo, HostResponse, HostVerdict, PayloadError, Ruling, VerdictDowngrade,
};
use hookwright_hooks::{EventKind, HookCapability};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The host's action on a call after reading an answer.
#[derive(Debug, PartialEq)]
enum HostAction {
    Runs,
    RunsWith(Value),
    Asks,
    Blocks,
}

/// Models the host's reading of an answer before a tool runs.
fn read_action(host: Host, event: &str, written: &HostResponse) -> HostAction {
    match host {
        Host::ClaudeCode => claude(event, written),
        Host::Codex => codex(event, written),
        Host::Copilot => copilot(event, written),
        Host::Qwen => qwen(written),
        Host::Droid => droid(written),
        Host::Grok => grok(written),
        Host::GeminiCli => gemini(written),
        Host::Cursor => cursor(written),
        Host::Antigravity => antigravity(written),
        Host::Opencode => opencode(written),
        Host::Acp => panic!("no agent reads this answer"),
    }
}

fn parse_stdout(written: &HostResponse) -> Option<Map<String, Value>> {
    serde_json::from_str(written.stdout.trim()).ok()
}

fn permission_action(specific: &Map<String, Value>) -> HostAction {
    match specific.get("permissionDecision").and_then(Value::as_str) {
        Some("deny") => HostAction::Blocks,
        Some("ask") => HostAction::Asks,
        _ => specific.get("updatedInput").cloned().map_or(HostAction::Runs, HostAction::RunsWith),
    }
}

fn specific(answer: &Map<String, Value>) -> Map<String, Value> {
    answer.get("hookSpecificOutput").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn claude(event: &str, written: &HostResponse) -> HostAction {
    if written.exit_code == 2 {
        return HostAction::Blocks;
    }
    let Some(answer) = parse_stdout(written).filter(|_| written.exit_code == 0) else { return HostAction::Runs };
    if answer.get("decision") == Some(&"block".into()) {
        return HostAction::Blocks;
    }
    let specific = specific(&answer);
    // Claude Code ignores `hookSpecificOutput` with another event name.
    if specific.get("hookEventName") != Some(&event.into()) { HostAction::Runs } else { permission_action(&specific) }
}

fn codex(event: &str, written: &HostResponse) -> HostAction {
    if written.exit_code != 0 {
        return if written.exit_code == 2 && !written.stderr.trim().is_empty() {
            HostAction::Blocks
        } else {
            HostAction::Runs
        };
    }
    let Some(answer) = parse_stdout(written) else { return HostAction::Runs };
    if answer.keys().any(|key| key != "hookSpecificOutput") {
        return HostAction::Runs;
    }
    let specific = specific(&answer);
    let known =
        ["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"];
    if specific.keys().any(|key| !known.contains(&key.as_str())) || specific.get("hookEventName") != Some(&event.into())
    {
        return HostAction::Runs;
    }
    let reason = specific.get("permissionDecisionReason").and_then(Value::as_str).unwrap_or_default();
    match specific.get("permissionDecision").and_then(Value::as_str) {
        Some("deny") if !reason.trim().is_empty() => HostAction::Blocks,
        Some("allow") => specific.get("updatedInput").cloned().map_or(HostAction::Runs, HostAction::RunsWith),
        _ => HostAction::Runs,
    }
}

/// Models Copilot under both kinds of event names.
fn copilot(event: &str, written: &HostResponse) -> HostAction {
    if written.exit_code != 0 {
        return HostAction::Blocks;
    }
    let Some(answer) = parse_stdout(written) else { return HostAction::Runs };
    let nested = specific(&answer);
    let pascal =
        if nested.get("hookEventName") == Some(&event.into()) { permission_action(&nested) } else { HostAction::Runs };
    let camel = permission_action(&answer);
    if pascal == HostAction::Blocks {
        assert_eq!(camel, HostAction::Blocks, "under its own event names it would run: {written:?}");
    }
    pascal
}

fn qwen(written: &HostResponse) -> HostAction {
    if written.exit_code != 0 {
        return if written.exit_code == 2 && !written.stderr.trim().is_empty() {
            HostAction::Blocks
        } else {
            HostAction::Runs
        };
    }
    let Some(answer) = parse_stdout(written) else { return HostAction::Runs };
    let no = ["deny", "block"].map(Value::from);
    if answer.get("continue") == Some(&false.into()) || answer.get("decision").is_some_and(|said| no.contains(said)) {
        return HostAction::Blocks;
    }
    // Qwen reads changed arguments and does not apply them.
    match permission_action(&specific(&answer)) {
        HostAction::RunsWith(_) => HostAction::Runs,
        other => other,
    }
}

fn droid(written: &HostResponse) -> HostAction {
    if written.exit_code == 2 || written.exit_code == 3 {
        return HostAction::Blocks;
    }
    let Some(answer) = parse_stdout(written).filter(|_| written.exit_code == 0) else { return HostAction::Runs };
    if answer.get("continue") == Some(&false.into()) {
        return HostAction::Blocks;
    }
    match permission_action(&specific(&answer)) {
        HostAction::Asks => HostAction::Runs,
        other => other,
    }
}

/// Models Grok, where a question has no effect because it is answered with yes when everything is approved beforehand.
fn grok(written: &HostResponse) -> HostAction {
    let answer = parse_stdout(written).unwrap_or_default();
    let denies = answer.get("decision") == Some(&"deny".into());
    if written.exit_code == 2 || denies {
        return HostAction::Blocks;
    }
    match permission_action(&specific(&answer)) {
        HostAction::Asks => HostAction::Runs,
        // Grok does not apply the changes of a hook that fails.
        HostAction::RunsWith(_) if written.exit_code != 0 => HostAction::Runs,
        other => other,
    }
}

fn gemini(written: &HostResponse) -> HostAction {
    if written.exit_code != 0 {
        return if written.exit_code == 2 && !written.stderr.trim().is_empty() {
            HostAction::Blocks
        } else {
            HostAction::Runs
        };
    }
    let Some(answer) = parse_stdout(written) else { return HostAction::Runs };
    if answer.get("continue") == Some(&false.into()) {
        return HostAction::Blocks;
    }
    match answer.get("decision").and_then(Value::as_str) {
        Some("deny" | "block") => HostAction::Blocks,
        Some("ask") => HostAction::Asks,
        _ => specific(&answer).get("tool_input").cloned().map_or(HostAction::Runs, HostAction::RunsWith),
    }
}

/// Models Cursor with `failClosed`, as installed: an empty answer is a denial. Its treatment of `ask` is not reliable.
fn cursor(written: &HostResponse) -> HostAction {
    if written.exit_code == 2 {
        return HostAction::Blocks;
    }
    let Some(answer) = parse_stdout(written).filter(|_| written.exit_code == 0) else { return HostAction::Blocks };
    if answer.get("continue") == Some(&false.into()) {
        return HostAction::Blocks;
    }
    match answer.get("permission").and_then(Value::as_str) {
        Some("deny") => HostAction::Blocks,
        _ => answer.get("updated_input").cloned().map_or(HostAction::Runs, HostAction::RunsWith),
    }
}

fn antigravity(written: &HostResponse) -> HostAction {
    let Some(answer) = parse_stdout(written).filter(|_| written.exit_code == 0) else { return HostAction::Blocks };
    if answer.keys().any(|key| key != "decision" && key != "reason") {
        return HostAction::Blocks;
    }
    match answer.get("decision").and_then(Value::as_str) {
        Some("allow") => HostAction::Runs,
        Some("ask" | "force_ask") => HostAction::Asks,
        _ => HostAction::Blocks,
    }
}

fn opencode(written: &HostResponse) -> HostAction {
    let Some(answer) = parse_stdout(written).filter(|_| written.exit_code == 0) else { return HostAction::Blocks };
    match answer.get("decision").and_then(Value::as_str) {
        Some("allow") => answer.get("args").cloned().map_or(HostAction::Runs, HostAction::RunsWith),
        _ => HostAction::Blocks,
    }
}

/// Returns each host's payload for a shell command.
fn payload(host: Host, row: &HostEventInfo) -> Map<String, Value> {
    let value = match (host, row.name) {
        (Host::Antigravity, _) => json!({"toolCall": {"name": "run_command", "args": {"CommandLine": "ls"}}}),
        (Host::Cursor, "beforeShellExecution") => json!({"hook_event_name": row.name, "command": "ls", "cwd": ""}),
        (Host::Cursor, "beforeReadFile" | "beforeTabFileRead") => {
            json!({"hook_event_name": row.name, "file_path": "/p/a"})
        }
        (Host::Grok, name) => {
            json!({"hookEventName": name, "toolName": "run_terminal_command", "toolInput": {"command": "ls"}})
        }
        (_, name) => json!({"hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": "ls"}}),
    };
    value.as_object().cloned().unwrap_or_default()
}

fn gates() -> Vec<(Host, &'static HostEventInfo)> {
    Host::all().flat_map(|host| host.events_for(EventKind::BeforeTool).map(move |row| (host, row))).collect()
}

fn parsed_event(host: Host, row: &HostEventInfo) -> HostEvent {
    host.dialect()
        .parse_event(host, payload(host, row), Some(row.name))
        .unwrap_or_else(|error| panic!("{host} {}: {error}", row.name))
}

fn verdicts() -> impl Strategy<Value = HostVerdict> {
    let ruling = prop_oneof![Just(Ruling::Pass), Just(Ruling::Ask), Just(Ruling::Deny), Just(Ruling::Stop)];
    let words = || proptest::option::of(".{0,12}");
    let input = proptest::option::of(Just(json!({"command": "ls -l"})));
    let reason = prop_oneof![Just(String::new()), Just(" \n".to_owned()), ".{0,20}"];
    (ruling, reason, words(), words(), input).prop_map(|(ruling, reason, context, message, input)| {
        let input = input.and_then(|input| input.as_object().cloned());
        let mut ours = Map::new();
        ours.insert("decision".to_owned(), "allow".into());
        if let Some(input) = &input {
            ours.insert("hookSpecificOutput".to_owned(), json!({"tool_input": input}));
        }
        HostVerdict { ruling, reason, context, message, input, engine_answer: ours, ..HostVerdict::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// The host takes no answer for a weaker one than hooks gave.
    #[test]
    fn no_answer_is_weaker_than_the_verdict(verdict in verdicts()) {
        for (host, row) in gates() {
            let written = host.dialect().write_response(&parsed_event(host, row), &verdict);
            let does = read_action(host, row.name, &written);
            let holds = match verdict.ruling {
                Ruling::Deny | Ruling::Stop => does == HostAction::Blocks,
                Ruling::Ask => matches!(does, HostAction::Asks | HostAction::Blocks),
                Ruling::Pass => match &verdict.input {
                    None => does == HostAction::Runs,
                    Some(input) => does == HostAction::Blocks || does == HostAction::RunsWith(input.clone().into()),
                },
            };
            prop_assert!(holds, "{host} {} {verdict:?} → {written:?} → {does:?}", row.name);
        }
    }

    /// A payload that could not be judged is denied, whether its event is known or not.
    #[test]
    fn a_refusal_denies_the_call(words in "[a-z ]{1,20}x") {
        for (host, row) in gates() {
            for event in [Some(row), None] {
                let written = host.dialect().write_refusal(host, event, &words);
                prop_assert_eq!(read_action(host, row.name, &written), HostAction::Blocks, "{} {:?} {:?}", host, event, written);
            }
        }
    }
}

/// Compares each host's reaction to each ruling, and the recorded downgrades, with the documented table.
#[test]
fn lowering_follows_the_documented_table() {
    let does = |host: Host, ruling: Ruling| {
        let row = host.events_for(EventKind::BeforeTool).next().unwrap();
        let verdict = HostVerdict { ruling, reason: "why".to_owned(), ..HostVerdict::default() };
        let written = host.dialect().write_response(&parsed_event(host, row), &verdict);
        (read_action(host, row.name, &written), written.downgrades.clone(), written.stdout)
    };
    let lost = |wanted| vec![VerdictDowngrade { requested: wanted, applied: "deny" }];
    for host in [Host::ClaudeCode, Host::Copilot, Host::Qwen, Host::Antigravity] {
        assert_eq!(does(host, Ruling::Ask).0, HostAction::Asks, "{host}");
    }
    for host in [Host::Codex, Host::Droid, Host::Cursor, Host::GeminiCli, Host::Grok, Host::Opencode] {
        assert_eq!((does(host, Ruling::Ask).0, does(host, Ruling::Ask).1), (HostAction::Blocks, lost("ask")), "{host}");
    }
    for host in [Host::Codex, Host::Copilot, Host::Cursor, Host::Antigravity, Host::Grok] {
        assert_eq!(does(host, Ruling::Stop).1, lost("stop"), "{host}");
    }
    for host in [Host::ClaudeCode, Host::Qwen, Host::Droid] {
        assert!(does(host, Ruling::Stop).2.contains("\"continue\":false"), "{host}");
    }
    let codex = does(Host::Codex, Ruling::Deny).2;
    let expected = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why"}});
    assert_eq!(serde_json::from_str::<Value>(&codex).unwrap(), expected, "nothing else in the object");
    assert_eq!(does(Host::Cursor, Ruling::Pass).2, "{\"permission\":\"allow\"}");
    assert_eq!(does(Host::ClaudeCode, Ruling::Pass).2, "");
}

/// A host that ignores changed arguments gets a denial, because a change may be what makes a call safe.
#[test]
fn a_change_that_the_host_ignores_is_denied() {
    for (host, row) in gates() {
        let input = json!({"command": "ls -l"}).as_object().cloned();
        let ours = json!({"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}}).as_object().cloned().unwrap();
        let verdict = HostVerdict { input, engine_answer: ours, ..HostVerdict::default() };
        let written = host.dialect().write_response(&parsed_event(host, row), &verdict);
        let does = read_action(host, row.name, &written);
        match row.can(HookCapability::RewriteInput) {
            true => assert_eq!(does, HostAction::RunsWith(json!({"command": "ls -l"})), "{host} {}", row.name),
            false => assert_eq!(does, HostAction::Blocks, "{host} {}", row.name),
        }
    }
}

/// As measured with 1.0.102, Copilot reads `hookSpecificOutput` only for the decision before a tool.
#[test]
fn copilot_answers_are_in_the_fields_that_it_reads() {
    let row = |name| Host::Copilot.event(name).unwrap();
    let host_event = |name: &str| {
        let payload = json!({"hook_event_name": name, "session_id": "s", "prompt": "hi", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_result": {"text_result_for_llm": "a"}, "error": "no"});
        let payload = payload.as_object().cloned().unwrap();
        Host::Copilot.dialect().parse_event(Host::Copilot, payload, Some(name)).unwrap()
    };
    let context = HostVerdict { context: Some("mind".to_owned()), ..HostVerdict::default() };
    for name in ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"] {
        assert!(row(name).can(HookCapability::Context), "{name}");
        let written = Host::Copilot.dialect().write_response(&host_event(name), &context);
        assert_eq!(parse_stdout(&written).unwrap()["additionalContext"], "mind", "{name}");
        assert!(written.downgrades.is_empty(), "{name}");
    }
    for name in ["UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"] {
        assert!(row(name).can(HookCapability::Deny), "{name}");
        let written = Host::Copilot.dialect().write_response(&host_event(name), &HostVerdict::deny("why"));
        let answer = parse_stdout(&written).unwrap();
        assert_eq!((&answer["decision"], &answer["reason"]), (&json!("block"), &json!("why")), "{name}");
        assert!(written.downgrades.is_empty(), "{name}");
    }
}

/// An agent shows the guard only the beginning of a call that it runs completely.
#[test]
fn a_truncated_call_is_refused() {
    for key in ["toolInputTruncated", "tool_input_truncated"] {
        let mut payload = payload(Host::Grok, Host::Grok.event("PreToolUse").unwrap());
        payload.insert(key.to_owned(), true.into());
        let host_event = Host::Grok.dialect().parse_event(Host::Grok, payload.clone(), None);
        assert_eq!(host_event.unwrap_err(), PayloadError::Truncated, "{key}");
        payload.insert(key.to_owned(), false.into());
        assert!(Host::Grok.dialect().parse_event(Host::Grok, payload, None).is_ok());
    }
}

/// Agents write one event's name in three ways.
#[test]
fn event_names_are_read_in_every_spelling() {
    for (host, name, event) in [
        (Host::Grok, "pre_tool_use", "PreToolUse"),
        (Host::Grok, "post_tool_use_failure", "PostToolUseFailure"),
        (Host::Grok, "stop", "Stop"),
        (Host::Copilot, "preToolUse", "PreToolUse"),
        (Host::Copilot, "userPromptSubmitted", "UserPromptSubmit"),
        (Host::Copilot, "errorOccurred", "ErrorOccurred"),
    ] {
        let payload =
            json!({"hookEventName": name, "toolName": "Bash", "toolInput": {"command": "ls"}, "prompt": "hi"});
        let host_event = host.dialect().parse_event(host, payload.as_object().cloned().unwrap(), None).unwrap();
        assert_eq!(
            (host_event.name.as_str(), host_event.info.map(|row| row.name)),
            (event, Some(event)),
            "{host} {name}"
        );
    }
    for strange in ["_", "__a", "é_b", "x_"] {
        let payload = json!({"hookEventName": strange});
        let host_event =
            Host::Grok.dialect().parse_event(Host::Grok, payload.as_object().cloned().unwrap(), None).unwrap();
        assert!(host_event.info.is_none(), "{strange}");
    }
}

#[test]
fn an_event_other_than_the_installed_one_is_refused() {
    let payload = payload(Host::ClaudeCode, Host::ClaudeCode.event("PreToolUse").unwrap());
    let error = Host::ClaudeCode.dialect().parse_event(Host::ClaudeCode, payload, Some("SessionStart"));
    assert!(matches!(error, Err(PayloadError::EventMismatch { .. })), "{error:?}");
}

/// Only hosts that obey an approval are told of one, and never together with a refusal or changed arguments.
#[test]
fn an_approval_is_told_to_hosts_that_obey_it() {
    for (host, row) in gates() {
        let say = |verdict: HostVerdict| host.dialect().write_response(&parsed_event(host, row), &verdict).stdout;
        let approved = HostVerdict { approved_by: vec!["quiet".to_owned()], ..HostVerdict::default() };
        let says = say(approved.clone());
        if row.can(HookCapability::Approve) {
            assert!(says.contains(r#""permissionDecision":"allow""#) && says.contains("quiet"), "{host} {says}");
        } else {
            assert_eq!(says, say(HostVerdict::default()), "{host} {}", row.name);
        }
        for ruling in [Ruling::Ask, Ruling::Deny, Ruling::Stop] {
            let refused = HostVerdict { ruling, reason: "why".to_owned(), ..approved.clone() };
            assert!(!say(refused).contains(r#""permissionDecision":"allow""#), "{host} {ruling:?}");
        }
    }
    let obeys = |host: &Host| host.events_for(EventKind::BeforeTool).any(|row| row.can(HookCapability::Approve));
    assert_eq!(Host::all().filter(obeys).collect::<Vec<_>>(), [Host::ClaudeCode, Host::Copilot]);
}
