//! Tests of hooks in Claude Code's dialect and in Claude Code's own files.

use super::*;
use crate::dialect::Dialect;
use crate::dialect::claude::{AgentScope, CallStatus};
use crate::hook::RunCondition;

fn parse_claude_file(text: &str) -> DeclaredLayer {
    parse_layer(&Layer::new(Source::Project, Path::new("settings.json"), text).with_kind(FileKind::Claude))
}

#[test]
fn only_known_dialects_are_accepted() {
    let hook = |keys: &str| format!(r#"{{ "type": "command", "name": "odd", "command": "x", {keys} }}"#);
    let (declared, said) = diagnose_odd_hook(&hook(r#""dialect": "claude", "timeout": 5000"#));
    let odd = &declared.hooks[1];
    assert_eq!((odd.dialect(), odd.timeout, said.as_str()), (Dialect::Claude, Duration::from_secs(5), ""));
    let (declared, _) = diagnose_odd_hook(&hook(r#""dialect": "claude""#));
    assert_eq!(declared.hooks[1].timeout, Duration::from_secs(600), "as Claude Code has it");
    assert_snapshot!(diagnose_bad_hook(&hook(r#""dialect": "cluade""#)), @r#"settings.json:5:82: error: `dialect` should be "gemini" or "claude"; this hook never runs (did you mean `claude`?)"#);
}

#[test]
fn events_missing_in_claude_code_are_reported() {
    for event in ["BeforeModel", "AfterModel", "BeforeToolSelection"] {
        let text = format!(
            r#"{{"hooks": {{"{event}": [{{"hooks": [{{"type": "command", "command": "x", "dialect": "claude", "guard": true}}]}}]}}}}"#
        );
        let declared = parse_text(&text);
        assert_eq!((declared.hooks.len(), declared.lost_guards.len()), (0, 1), "{event}");
        assert!(
            diagnostic_lines(&declared).contains(&format!("Claude Code has no event like {event}")),
            "{}",
            diagnostic_lines(&declared)
        );
    }
}

#[test]
fn args_are_passed_literally() {
    let (declared, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "bash", "args": ["${CLAUDE_PROJECT_DIR}/a b.sh", "it's; $(x) `y`", "", "A=1"] }"#,
    );
    assert_eq!(said, "");
    assert_eq!(
        declared.hooks[1].command(),
        Some(r#"bash "${CLAUDE_PROJECT_DIR}"'/a b.sh' 'it'\''s; $(x) `y`' '' 'A=1'"#)
    );
}

#[test]
fn claude_code_keys_are_accepted_on_any_hook() {
    let (declared, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "x", "if": "Bash(git *)", "once": true, "onFailure": "block", "asyncRewake": true }"#,
    );
    let odd = &declared.hooks[1];
    assert_eq!((said.as_str(), odd.run_condition.once, odd.is_background()), ("", true, true));
    assert_eq!(odd.run_condition.if_rule.as_ref().map(|rule| rule.text()), Some("Bash(git *)"));
    assert_eq!(odd.on_error, OnError::for_all_causes(FailureAction::Block));
    let (_, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "x", "if": "git only", "once": true, "guard": true, "onFailure": "stop" }"#,
    );
    assert_snapshot!(said, @r#"
    settings.json:5:77: warning: `if` can't be evaluated here; this hook runs every time (on tool events, write a rule such as "Bash(git *)")
    settings.json:5:97: error: a guard can't run only once; this one runs every time (remove `once`)
    settings.json:5:131: error: `onFailure` should be "block" or "continue"; it counts as "block"; expected "block" or "continue"
    "#);
}

#[test]
fn claude_code_settings_are_read_in_its_dialect() {
    let declared = parse_claude_file(
        r#"{
  "permissions": { "deny": ["Bash(rm *)"] }, "model": "opus", "hooksConfig": { "enabled": false },
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash, Edit", "hooks": [{ "type": "command", "command": "guard", "timeout": 5 }] }],
    "Stop": [{ "matcher": "ignored", "hooks": [{ "type": "command", "command": "stop", "timeout": 30000 }] }],
    "SubagentStop": [{ "hooks": [{ "type": "command", "command": "sub" }, { "type": "prompt", "prompt": "think" }] }],
    "SessionEnd": [{ "matcher": "other", "hooks": [{ "type": "command", "command": "end" }] }],
    "SessionStart": [{ "matcher": "startup|compact", "hooks": [{ "type": "command", "command": "start" }] }],
    "PostCompact": [{ "hooks": [{ "type": "command", "command": "a" }, { "type": "command", "command": "b" }] }],
    "TaskCreated": []
  }
}"#,
    );
    assert_eq!(hook_names(&declared), ["guard", "stop", "sub", "end", "start"]);
    assert!(declared.hooks.iter().all(|hook| hook.dialect() == Dialect::Claude));
    assert_eq!(declared.config, HooksConfig::default(), "what is ours is not said there");
    let of = |at: usize| &declared.hooks[at];
    assert_eq!((of(0).event, of(0).timeout), (EventKind::BeforeTool, Duration::from_secs(5)));
    assert!(
        of(0).matcher.matches("replace")
            && of(0).matcher.matches("run_shell_command")
            && !of(0).matcher.matches("glob")
    );
    assert_eq!(of(1).run_condition, RunCondition { agent_scope: Some(AgentScope::Session), ..RunCondition::default() });
    assert_eq!(of(2).run_condition.agent_scope, Some(AgentScope::SubAgent));
    assert!(of(3).matcher.matches("exit") && of(4).matcher.matches("startup") && !of(4).matcher.matches("resume"));
    assert_snapshot!(diagnostic_lines(&declared), @"
    settings.json:2:3: warning: Claude Code's `permissions` are not read here (write what they deny as policies or hooks: see docs/claude-hooks.md)
    settings.json:5:99: warning: a timeout of 30000 s looks like milliseconds; timeouts are in seconds in this file (for 30000 ms, write 30)
    settings.json:6:85: warning: hooks of type `prompt` are not supported here; this one never runs; only \"command\" and \"http\" are
    settings.json:9:5: warning: events without a counterpart here, whose hooks never run: PostCompact, TaskCreated
    ");
}

#[test]
fn disable_all_hooks_disables_the_hooks_of_its_file() {
    let declared = parse_claude_file(
        r#"{"disableAllHooks": true, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#,
    );
    assert!(
        !declared.hooks[0].enabled && diagnostic_lines(&declared).contains("`disableAllHooks`"),
        "{}",
        diagnostic_lines(&declared)
    );
}

#[test]
fn a_hooks_file_needs_no_hooks_key() {
    let bare = r#"{"$schema": "x", "BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}], "hooksConfig": {"required": ["x"]}}"#;
    let wrapped = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
    for text in [bare, wrapped] {
        let layer = Layer::new(Source::Project, Path::new("hooks.json"), text).with_kind(FileKind::Hooks);
        let declared = parse_layer(&layer);
        assert_eq!((hook_names(&declared), diagnostic_lines(&declared).as_str()), (vec!["x"], ""), "{text}");
    }
}

/// Claude Code has a separate event for calls that fail; here they are a part of AfterTool.
#[test]
fn failures_and_successes_are_told_apart() {
    let text = r#"{"hooks": {
        "PostToolUse": [{"hooks": [{"type": "command", "name": "after", "command": "x"},
            {"type": "command", "name": "guard", "command": "x", "guard": true}]}],
        "PostToolUseFailure": [{"hooks": [{"type": "command", "name": "failed", "command": "x"}]}]
    }}"#;
    let declared = parse_claude_file(text);
    assert!(declared.diagnostics.is_empty(), "{:?}", declared.diagnostics);
    let after: Vec<_> =
        declared.hooks.iter().map(|hook| (hook.id().to_owned(), hook.run_condition.after_call)).collect();
    let expected = [("after", Some(CallStatus::Succeeded)), ("guard", None), ("failed", Some(CallStatus::Failed))];
    assert_eq!(after, expected.map(|(name, end)| (name.to_owned(), end)));
    let ours = |event: &str, result: &str| {
        let hook = format!(r#"{{"type": "command", "name": "own", "command": "x", "result": {result}}}"#);
        let text = format!(r#"{{"hooks": {{"{event}": [{{"hooks": [{hook}]}}]}}}}"#);
        let declared = parse_layer(&Layer::new(Source::User, Path::new("settings.json"), &text));
        (declared.hooks[0].run_condition.after_call, declared.diagnostics.len())
    };
    assert_eq!(ours("AfterTool", "\"failed\""), (Some(CallStatus::Failed), 0));
    assert_eq!(ours("AfterTool", "\"succeeded\""), (Some(CallStatus::Succeeded), 0));
    assert_eq!(ours("AfterTool", "\"soso\""), (None, 1), "it runs too often rather than never");
    assert_eq!(ours("AfterTool", "7"), (None, 1));
    assert_eq!(ours("BeforeTool", "\"failed\""), (None, 1));
}
