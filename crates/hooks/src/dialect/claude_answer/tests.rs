use serde_json::json;

use super::*;
use crate::dialect::Dialect;
use crate::hook::{Action, CommandAction, Duty};
use crate::input::HookInput;
use crate::run::words::Invocation;

fn hook(kind: EventKind, duty: Duty) -> Hook {
    let mut hook = Hook::in_code(kind, "h", |_| async { Ok(Answer::default()) });
    hook.action = Action::Command(CommandAction {
        command: "h".to_owned(),
        env: Vec::new(),
        dialect: Dialect::Claude,
        invocation: Invocation::analyse("h", &[]),
    });
    hook.duty = duty;
    hook
}

fn shown(kind: EventKind) -> Shown {
    let input = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": "/p", "tool_name": "run_shell_command",
        "tool_input": {"command": "rm x", "description": "d"}, "tool_response": {"llmContent": "out"},
    });
    Shown::of(kind, None, &HookInput::from(input.to_string().into_bytes())).unwrap()
}

fn captured(text: &str) -> Captured {
    Captured { text: text.to_owned(), bytes: text.len() as u64, truncated: false }
}

fn reading(kind: EventKind, duty: Duty, code: i32, stdout: &str, stderr: &str) -> Reading {
    read(&hook(kind, duty), &shown(kind), 0, &End::Exited(code), &captured(stdout), &captured(stderr))
}

fn before_tool(stdout: &str) -> Reading {
    reading(EventKind::BeforeTool, Duty::Ordinary, 0, stdout, "")
}

/// What a guard's failure policy would make of it: any failure is a no.
fn guards_no(stdout: &str) -> bool {
    let reading = reading(EventKind::BeforeTool, Duty::Guard, 0, stdout, "");
    reading.answer.ends_plan() || reading.troubles.iter().any(|trouble| trouble.cause.is_some())
}

const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no rm"}}"#;

#[test]
fn decisions_in_claudes_words() {
    for (stdout, decision, reason) in [
        (DENY, Some(Decision::Deny), Some("no rm")),
        (r#"{"decision":"block","reason":"r"}"#, Some(Decision::Deny), Some("r")),
        (r#"{"decision":"approve"}"#, Some(Decision::Allow), None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#, Some(Decision::Ask), None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"defer"}}"#, None, None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"allow"}, "decision":"block"}"#, Some(Decision::Deny), None),
        ("{}", None, None),
        ("", None, None),
        ("just words", None, None),
    ] {
        let reading = before_tool(stdout);
        assert_eq!((reading.answer.decision, reading.answer.reason.as_deref()), (decision, reason), "{stdout}");
        assert_eq!(reading.troubles, [], "{stdout}");
    }
    let stopped =
        before_tool(r#"{"continue": false, "stopReason": "enough", "systemMessage": "m", "suppressOutput": true}"#)
            .answer;
    assert!(stopped.stop && stopped.suppress_output);
    assert_eq!((stopped.stop_reason.as_deref(), stopped.system_message.as_deref()), (Some("enough"), Some("m")));
}

/// Ways in which a no is lost under Claude Code itself; here it is heard as it was meant.
#[test]
fn a_no_is_heard_however_it_is_said() {
    for stdout in [
        &format!("checking…\n{DENY}"),
        &format!("a\nb\n\n{DENY}\n\n"),
        "log\n{\n  \"hookSpecificOutput\": {\n    \"permissionDecision\": \"deny\"\n  }\n}",
        &format!("\u{feff}{DENY}"),
        &serde_json::to_string(DENY).unwrap(),
        r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#,
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":" Deny "}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"block"}}"#,
        r#"{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}"#,
        r#"{"permissionDecision":"deny"}"#,
        r#"{"decision":"deny"}"#,
        r#"{"decision":"BLOCK"}"#,
    ] {
        assert_eq!(before_tool(stdout).answer.decision, Some(Decision::Deny), "{stdout}");
    }
}

/// What can't be heard is a failure, which for a guard is a no, and for others is said.
#[test]
fn what_can_not_be_heard_is_a_guards_no() {
    for stdout in [
        r#"{"hookSpecificOutput":{"permission_decision":"deny"}}"#,
        r#"{"hook_specific_output":{"permissionDecision":"deny"}}"#,
        r#"{"Decision":"deny"}"#,
        r#"{"permissionDecison":"deny"}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"denied"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":["deny"]}}"#,
        r#"{"hookSpecificOutput":"deny"}"#,
        r#"{"blocked":true}"#,
        &DENY[..DENY.len() - 2],
        &format!("{DENY}\nfinished"),
        &format!("{DENY}\n{{\"decision\":\"approve\"}}"),
        &format!("{DENY} {DENY}"),
        "\u{fffd}\u{fffd}{\0}\0",
        r#"[{"decision":"block"}]"#,
        r#"{"continue": "false"}"#,
    ] {
        assert!(guards_no(stdout), "{stdout}");
        assert!(
            before_tool(stdout).troubles.iter().any(|trouble| trouble.cause.is_some()) || stdout.starts_with('['),
            "{stdout}"
        );
    }
    for stdout in [
        "",
        "{}",
        "checked 3 rules",
        r#"{"decision":"approve"}"#,
        r#"{"suppressOutput":true}"#,
        r#"{"systemMessage":"x"}"#,
    ] {
        assert!(!guards_no(stdout), "{stdout}");
    }
}

#[test]
fn exit_codes_are_claudes() {
    let deny = reading(EventKind::BeforeTool, Duty::Ordinary, 2, r#"{"decision":"approve"}"#, "why\n").answer;
    assert_eq!((deny.decision, deny.reason.as_deref()), (Some(Decision::Deny), Some("why")));
    let silent = reading(EventKind::BeforeTool, Duty::Ordinary, 2, "", "").answer;
    assert_eq!(silent.decision, Some(Decision::Deny));
    let failed = reading(EventKind::BeforeTool, Duty::Ordinary, 1, DENY, "oops");
    assert_eq!((failed.answer.decision, failed.troubles[0].cause), (None, Some(Cause::Exit)));
    let late = End::TimedOut(std::time::Duration::from_secs(1));
    let kind = EventKind::BeforeTool;
    let spoken = read(&hook(kind, Duty::Ordinary), &shown(kind), 0, &late, &captured(DENY), &captured(""));
    assert_eq!(spoken.answer.decision, Some(Decision::Deny), "a guard that has spoken is heard");
}

#[test]
fn other_arguments_come_back_in_our_words() {
    let rewritten =
        before_tool(r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}"#).answer;
    assert_eq!((rewritten.decision, json!(rewritten.tool_input)), (Some(Decision::Allow), json!({"command": "ls"})));
    let same = before_tool(r#"{"hookSpecificOutput":{"updatedInput":{"command":"rm x","description":"d"}}}"#).answer;
    assert_eq!(same.tool_input, None);
    let lost =
        before_tool(r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"description":"d"}}}"#);
    assert_eq!(lost.answer.decision, Some(Decision::Deny), "whoever wants other arguments does not want these");
    assert!(lost.answer.reason.unwrap().contains("`command`"));
}

#[test]
fn context_goes_where_it_can() {
    let context = r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}"#;
    let prompt = reading(EventKind::BeforeAgent, Duty::Ordinary, 0, context, "");
    assert_eq!((prompt.answer.additional_context.as_deref(), prompt.troubles.len()), (Some("c"), 0));
    let words = reading(EventKind::SessionStart, Duty::Ordinary, 0, "branch main\n", "").answer;
    assert_eq!((words.additional_context.as_deref(), words.system_message), (Some("branch main"), None));
    let nowhere = before_tool(r#"{"hookSpecificOutput":{"additionalContext":"c"}}"#);
    assert!(nowhere.troubles[0].text.contains("PreToolUse"), "{:?}", nowhere.troubles);
    let goes_on = reading(
        EventKind::AfterAgent,
        Duty::Ordinary,
        0,
        r#"{"hookSpecificOutput":{"additionalContext":"run the tests"}}"#,
        "",
    )
    .answer;
    assert_eq!((goes_on.decision, goes_on.reason.as_deref()), (Some(Decision::Deny), Some("run the tests")));
}

#[test]
fn a_result_is_commented_on_or_hidden() {
    let block = r#"{"decision":"block","reason":"lint: x"}"#;
    let comment = reading(EventKind::AfterTool, Duty::Ordinary, 0, block, "").answer;
    assert_eq!((comment.decision, comment.additional_context.as_deref()), (None, Some("lint: x")));
    let by_code = reading(EventKind::AfterTool, Duty::Ordinary, 2, "", "lint: y").answer;
    assert_eq!((by_code.decision, by_code.additional_context.as_deref()), (None, Some("lint: y")));
    let guard = reading(EventKind::AfterTool, Duty::Guard, 0, block, "").answer;
    assert_eq!((guard.decision, guard.reason.as_deref()), (Some(Decision::Deny), Some("lint: x")));
    let other = r#"{"hookSpecificOutput":{"updatedToolOutput":"redacted"}}"#;
    let replaced = reading(EventKind::AfterTool, Duty::Ordinary, 0, other, "").answer;
    assert_eq!((replaced.decision, replaced.reason.as_deref()), (Some(Decision::Deny), Some("redacted")));
}

#[test]
fn many_lines_that_begin_like_objects_take_no_time() {
    let text = "{\n".repeat(100_000);
    assert!(matches!(find(&text), Found::Unreadable(_)));
}

#[test]
fn a_repeated_key_opens_nothing() {
    for stdout in [
        r#"{"decision":"block","decision":"approve"}"#,
        r#"{"decision":"approve","decision":"block"}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{"permissionDecision":"allow"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x","permissionDecision":"allow","y":""}}"#,
        "a log line\n{\"decision\":\"block\",\"decision\":\"approve\"}",
        r#""{\"decision\":\"block\",\"decision\":\"approve\"}""#,
    ] {
        assert_eq!(before_tool(stdout).answer.decision, Some(Decision::Deny), "{stdout}");
        assert!(guards_no(stdout), "{stdout}");
    }
    for stdout in [
        r#"{"decision":"approve","decision":"approve"}"#,
        r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls","command":"rm x"}}}"#,
    ] {
        assert!(guards_no(stdout), "{stdout}");
        assert!(before_tool(stdout).answer.tool_input.is_none(), "{stdout}");
    }
}
