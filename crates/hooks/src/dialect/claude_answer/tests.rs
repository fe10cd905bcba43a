use serde_json::json;

use super::*;
use crate::dialect::Dialect;
use crate::event::input::HookInput;
use crate::hook::{Action, CommandAction, HookRole};
use crate::running::invocation::Invocation;

fn claude_hook(kind: EventKind, role: HookRole) -> Hook {
    let mut hook = Hook::from_function(kind, "h", |_| async { Ok(Answer::default()) });
    hook.action = Action::Command(CommandAction {
        command: "h".to_owned(),
        env: Vec::new(),
        dialect: Dialect::Claude,
        invocation: Invocation::analyse("h", &[]),
        confinement: None,
    });
    hook.role = role;
    hook
}

fn claude_input(kind: EventKind) -> ClaudeInput {
    let input = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": "/p", "tool_name": "run_shell_command",
        "tool_input": {"command": "rm x", "description": "d"}, "tool_response": {"llmContent": "out"},
    });
    ClaudeInput::translate(kind, None, &HookInput::from(input.to_string().into_bytes())).unwrap()
}

fn captured(text: &str) -> CapturedStream {
    CapturedStream { text: text.to_owned(), bytes: text.len() as u64, truncated: false }
}

fn parse_exit(kind: EventKind, role: HookRole, code: i32, stdout: &str, stderr: &str) -> ParsedAnswer {
    parse_claude_answer(
        &claude_hook(kind, role),
        &claude_input(kind),
        0,
        &HookExit::Exited(code),
        &captured(stdout),
        &captured(stderr),
    )
}

fn parse_before_tool(stdout: &str) -> ParsedAnswer {
    parse_exit(EventKind::BeforeTool, HookRole::Ordinary, 0, stdout, "")
}

/// Whether the answer of a guard denies under the guard's failure policy, by which every failure is a deny.
fn is_deny_of_guard(stdout: &str) -> bool {
    let reading = parse_exit(EventKind::BeforeTool, HookRole::Guard, 0, stdout, "");
    reading.answer.ends_plan() || reading.problems.iter().any(|problem| problem.cause.is_some())
}

const DENY_ANSWER: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no rm"}}"#;

#[test]
fn decisions_are_parsed() {
    for (stdout, decision, reason) in [
        (DENY_ANSWER, Some(Decision::Deny), Some("no rm")),
        (r#"{"decision":"block","reason":"r"}"#, Some(Decision::Deny), Some("r")),
        (r#"{"decision":"approve"}"#, Some(Decision::Allow), None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#, Some(Decision::Ask), None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"defer"}}"#, None, None),
        (r#"{"hookSpecificOutput":{"permissionDecision":"allow"}, "decision":"block"}"#, Some(Decision::Deny), None),
        ("{}", None, None),
        ("", None, None),
        ("just words", None, None),
    ] {
        let reading = parse_before_tool(stdout);
        assert_eq!((reading.answer.decision, reading.answer.reason.as_deref()), (decision, reason), "{stdout}");
        assert_eq!(reading.problems, [], "{stdout}");
    }
    let stopped = parse_before_tool(
        r#"{"continue": false, "stopReason": "enough", "systemMessage": "m", "suppressOutput": true}"#,
    )
    .answer;
    assert!(stopped.stop && stopped.suppress_output);
    assert_eq!((stopped.stop_reason.as_deref(), stopped.system_message.as_deref()), (Some("enough"), Some("m")));
}

/// Spellings of a deny that Claude Code itself misses; here they count.
#[test]
fn a_deny_counts_in_every_spelling() {
    for stdout in [
        &format!("checking…\n{DENY_ANSWER}"),
        &format!("a\nb\n\n{DENY_ANSWER}\n\n"),
        "log\n{\n  \"hookSpecificOutput\": {\n    \"permissionDecision\": \"deny\"\n  }\n}",
        &format!("\u{feff}{DENY_ANSWER}"),
        &serde_json::to_string(DENY_ANSWER).unwrap(),
        r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#,
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":" Deny "}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"block"}}"#,
        r#"{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}"#,
        r#"{"permissionDecision":"deny"}"#,
        r#"{"decision":"deny"}"#,
        r#"{"decision":"BLOCK"}"#,
    ] {
        assert_eq!(parse_before_tool(stdout).answer.decision, Some(Decision::Deny), "{stdout}");
    }
}

/// Unreadable output is a failure: a deny for a guard, a warning for other hooks.
#[test]
fn unreadable_output_of_a_guard_is_a_deny() {
    for stdout in [
        r#"{"hookSpecificOutput":{"permission_decision":"deny"}}"#,
        r#"{"hook_specific_output":{"permissionDecision":"deny"}}"#,
        r#"{"Decision":"deny"}"#,
        r#"{"permissionDecison":"deny"}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"denied"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":["deny"]}}"#,
        r#"{"hookSpecificOutput":"deny"}"#,
        r#"{"blocked":true}"#,
        &DENY_ANSWER[..DENY_ANSWER.len() - 2],
        &format!("{DENY_ANSWER}\nfinished"),
        &format!("{DENY_ANSWER}\n{{\"decision\":\"approve\"}}"),
        &format!("{DENY_ANSWER} {DENY_ANSWER}"),
        "\u{fffd}\u{fffd}{\0}\0",
        r#"[{"decision":"block"}]"#,
        r#"{"continue": "false"}"#,
    ] {
        assert!(is_deny_of_guard(stdout), "{stdout}");
        assert!(
            parse_before_tool(stdout).problems.iter().any(|problem| problem.cause.is_some()) || stdout.starts_with('['),
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
        assert!(!is_deny_of_guard(stdout), "{stdout}");
    }
}

#[test]
fn exit_codes_mean_what_they_do_in_claude_code() {
    let deny = parse_exit(EventKind::BeforeTool, HookRole::Ordinary, 2, r#"{"decision":"approve"}"#, "why\n").answer;
    assert_eq!((deny.decision, deny.reason.as_deref()), (Some(Decision::Deny), Some("why")));
    let silent = parse_exit(EventKind::BeforeTool, HookRole::Ordinary, 2, "", "").answer;
    assert_eq!(silent.decision, Some(Decision::Deny));
    let failed = parse_exit(EventKind::BeforeTool, HookRole::Ordinary, 1, DENY_ANSWER, "oops");
    assert_eq!((failed.answer.decision, failed.problems[0].cause), (None, Some(FailureCause::Exit)));
    let late = HookExit::TimedOut(std::time::Duration::from_secs(1));
    let kind = EventKind::BeforeTool;
    let parsed = parse_claude_answer(
        &claude_hook(kind, HookRole::Ordinary),
        &claude_input(kind),
        0,
        &late,
        &captured(DENY_ANSWER),
        &captured(""),
    );
    assert_eq!(parsed.answer.decision, Some(Decision::Deny), "a guard that has spoken is heard");
}

#[test]
fn updated_input_is_translated_back() {
    let rewritten =
        parse_before_tool(r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}"#)
            .answer;
    assert_eq!((rewritten.decision, json!(rewritten.tool_input)), (Some(Decision::Allow), json!({"command": "ls"})));
    let same =
        parse_before_tool(r#"{"hookSpecificOutput":{"updatedInput":{"command":"rm x","description":"d"}}}"#).answer;
    assert_eq!(same.tool_input, None);
    let lost = parse_before_tool(
        r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"description":"d"}}}"#,
    );
    assert_eq!(lost.answer.decision, Some(Decision::Deny), "whoever wants other arguments does not want these");
    assert!(lost.answer.reason.unwrap().contains("`command`"));
}

#[test]
fn additional_context_goes_where_the_event_allows_it() {
    let context = r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}"#;
    let prompt = parse_exit(EventKind::BeforeAgent, HookRole::Ordinary, 0, context, "");
    assert_eq!((prompt.answer.additional_context.as_deref(), prompt.problems.len()), (Some("c"), 0));
    let words = parse_exit(EventKind::SessionStart, HookRole::Ordinary, 0, "branch main\n", "").answer;
    assert_eq!((words.additional_context.as_deref(), words.system_message), (Some("branch main"), None));
    let nowhere = parse_before_tool(r#"{"hookSpecificOutput":{"additionalContext":"c"}}"#);
    assert!(nowhere.problems[0].text.contains("PreToolUse"), "{:?}", nowhere.problems);
    let goes_on = parse_exit(
        EventKind::AfterAgent,
        HookRole::Ordinary,
        0,
        r#"{"hookSpecificOutput":{"additionalContext":"run the tests"}}"#,
        "",
    )
    .answer;
    assert_eq!((goes_on.decision, goes_on.reason.as_deref()), (Some(Decision::Deny), Some("run the tests")));
}

#[test]
fn a_deny_after_a_tool_comments_on_or_hides_its_result() {
    let block = r#"{"decision":"block","reason":"lint: x"}"#;
    let comment = parse_exit(EventKind::AfterTool, HookRole::Ordinary, 0, block, "").answer;
    assert_eq!((comment.decision, comment.additional_context.as_deref()), (None, Some("lint: x")));
    let by_code = parse_exit(EventKind::AfterTool, HookRole::Ordinary, 2, "", "lint: y").answer;
    assert_eq!((by_code.decision, by_code.additional_context.as_deref()), (None, Some("lint: y")));
    let guard = parse_exit(EventKind::AfterTool, HookRole::Guard, 0, block, "").answer;
    assert_eq!((guard.decision, guard.reason.as_deref()), (Some(Decision::Deny), Some("lint: x")));
    let other = r#"{"hookSpecificOutput":{"updatedToolOutput":"redacted"}}"#;
    let replaced = parse_exit(EventKind::AfterTool, HookRole::Ordinary, 0, other, "").answer;
    assert_eq!((replaced.decision, replaced.reason.as_deref()), (Some(Decision::Deny), Some("redacted")));
}

#[test]
fn many_lines_that_start_like_objects_are_parsed_in_bounded_time() {
    let text = "{\n".repeat(100_000);
    assert!(matches!(find_answer(&text), ClaudeOutput::Unreadable(_)));
}

#[test]
fn a_repeated_key_allows_nothing() {
    for stdout in [
        r#"{"decision":"block","decision":"approve"}"#,
        r#"{"decision":"approve","decision":"block"}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{"permissionDecision":"allow"}}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x","permissionDecision":"allow","y":""}}"#,
        "a log line\n{\"decision\":\"block\",\"decision\":\"approve\"}",
        r#""{\"decision\":\"block\",\"decision\":\"approve\"}""#,
    ] {
        assert_eq!(parse_before_tool(stdout).answer.decision, Some(Decision::Deny), "{stdout}");
        assert!(is_deny_of_guard(stdout), "{stdout}");
    }
    for stdout in [
        r#"{"decision":"approve","decision":"approve"}"#,
        r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls","command":"rm x"}}}"#,
    ] {
        assert!(is_deny_of_guard(stdout), "{stdout}");
        assert!(parse_before_tool(stdout).answer.tool_input.is_none(), "{stdout}");
    }
}
