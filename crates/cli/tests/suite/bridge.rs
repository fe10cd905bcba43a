//! The bridge end to end: the real binary, real guards, and the exact response for each agent.

mod approval_requests;
mod attacks;
mod deadline;
mod surviving_processes;
mod trace;

use std::process::Stdio;

use hookwright_testkit::{ProgramRun, Sandbox, finish};
use serde_json::{Value, json};

use crate::sandbox;

/// The agents, with the event before a tool runs.
const HOSTS: [(&str, &str); 10] = [
    ("claude-code", "PreToolUse"),
    ("codex", "PreToolUse"),
    ("copilot", "PreToolUse"),
    ("cursor", "preToolUse"),
    ("qwen", "PreToolUse"),
    ("droid", "PreToolUse"),
    ("grok", "PreToolUse"),
    ("gemini-cli", "BeforeTool"),
    ("antigravity", "PreToolUse"),
    ("opencode", "tool.execute.before"),
];

/// Returns the payload of a shell command in an agent's format.
fn shell(host: &str, event: &str, command: &str) -> Value {
    match host {
        "cursor" => {
            json!({"hook_event_name": event, "session_id": "s1", "tool_name": "Shell", "tool_input": {"command": command}})
        }
        "grok" => {
            json!({"hookEventName": event, "sessionId": "s1", "toolName": "run_terminal_command", "toolInput": {"command": command}})
        }
        "antigravity" => {
            json!({"conversationId": "s1", "toolCall": {"name": "run_command", "args": {"CommandLine": command}}})
        }
        "droid" => {
            json!({"hook_event_name": event, "session_id": "s1", "tool_name": "Execute", "tool_input": {"command": command}})
        }
        "gemini-cli" | "qwen" => {
            json!({"hook_event_name": event, "session_id": "s1", "tool_name": "run_shell_command", "tool_input": {"command": command}})
        }
        "opencode" => {
            json!({"hook_event_name": event, "session_id": "s1", "tool_name": "bash", "tool_input": {"command": command}})
        }
        _ => {
            json!({"hook_event_name": event, "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": command}})
        }
    }
}

/// Returns the response that an agent takes for a denial, with the exit code.
fn expected_denial(host: &str, reason: &str) -> (Value, i32) {
    let specific =
        json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason});
    match host {
        "copilot" => (
            json!({"permissionDecision": "deny", "permissionDecisionReason": reason, "hookSpecificOutput": specific}),
            0,
        ),
        "cursor" => (json!({"permission": "deny", "user_message": reason, "agent_message": reason}), 0),
        "grok" => (json!({"decision": "deny", "reason": reason}), 2),
        "gemini-cli" | "antigravity" | "opencode" => (json!({"decision": "deny", "reason": reason}), 0),
        _ => (json!({"hookSpecificOutput": specific}), 0),
    }
}

/// Returns the response where no hook objects.
fn expected_allow(host: &str) -> Value {
    match host {
        "cursor" => json!({"permission": "allow"}),
        "antigravity" | "opencode" => json!({"decision": "allow"}),
        _ => Value::Null,
    }
}

/// A project with one guard on shell commands.
fn guarded(script: &str) -> Sandbox {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", script);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "command", "name": "guard", "guard": true, "command": command},
    ]}]}}));
    sandbox
}

fn bridge(sandbox: &Sandbox, args: &[&str], payload: &Value) -> ProgramRun {
    sandbox.run_with_input(&[&["bridge"], args].concat(), &payload.to_string())
}

fn answer(run: &ProgramRun) -> Value {
    if run.stdout.is_empty() { Value::Null } else { run.json() }
}

/// Asserts that every agent gets the denial in its own format.
#[track_caller]
fn assert_all_deny(sandbox: &Sandbox, reason: &str) {
    assert_all_deny_with(sandbox, reason, &[]);
}

#[track_caller]
fn assert_all_deny_with(sandbox: &Sandbox, reason: &str, more: &[&str]) {
    for (host, event) in HOSTS {
        let run = bridge(sandbox, &[&[host], more].concat(), &shell(host, event, "make it so"));
        let (expected, code) = expected_denial(host, reason);
        assert_eq!((answer(&run), run.code), (expected, Some(code)), "{host}: {run:#?}");
    }
}

#[test]
fn silence_is_no_objection_and_said_where_that_is_needed() {
    let sandbox = guarded("exit 0");
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        assert_eq!((answer(&run), run.code), (expected_allow(host), Some(0)), "{host}: {run:#?}");
    }
}

#[test]
fn a_deny_is_every_agents_no() {
    assert_all_deny(&guarded("echo '{\"decision\": \"deny\", \"reason\": \"not here\"}'"), "not here");
}

#[test]
fn a_silent_exit_2_arrives_with_a_reason() {
    assert_all_deny(&guarded("exit 2"), "denied by hook guard, which gave no reason");
}

#[test]
fn every_failure_of_a_guard_is_every_agents_no() {
    assert_all_deny(&guarded("exit 1"), "hook guard: exited with code 1");
    assert_all_deny(&guarded("kill -9 $$"), "hook guard: was ended by signal 9 (SIGKILL)");
    let sandbox = guarded("printf '{\"decision\": \"den'");
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        assert!(run.stdout.contains("looks like JSON but does not parse"), "{host}: {run:#?}");
    }
    let sandbox = guarded("echo 'checking…'; echo '{\"decision\": \"deny\", \"reason\": \"x\"}'");
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        assert!(run.stdout.contains("has text around the JSON answer"), "{host}: {run:#?}");
    }
}

#[test]
fn a_guard_whose_script_is_gone_is_every_agents_no() {
    let sandbox = guarded("exit 0");
    std::fs::remove_file(sandbox.project().join(".gemini/hooks/guard.sh")).unwrap();
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        let (_, code) = expected_denial(host, "");
        assert_eq!(run.code, Some(code), "{host}: {run:#?}");
        assert!(run.stdout.contains("guard `guard`") && run.stdout.contains("is not armed"), "{host}: {run:#?}");
        assert!(run.stdout.contains("deny"), "{host}: {run:#?}");
    }
}

#[test]
fn a_guard_that_takes_too_long_is_a_no_before_the_agents_patience_ends() {
    let sandbox = guarded("sleep 300");
    std::thread::scope(|scope| {
        for (host, event) in HOSTS {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let run = bridge(sandbox, &[host, "--deadline", "3"], &shell(host, event, "ls"));
                let (_, code) = expected_denial(host, "");
                assert_eq!(run.code, Some(code), "{host}: {run:#?}");
                // On a busy machine the deadline thread may be the one that denies.
                let is_said = run.stdout.contains("guard") || run.stdout.contains("hookwright did not finish");
                assert!(run.stdout.contains("deny") && is_said, "{host}: {run:#?}");
            });
        }
    });
}

#[test]
fn ask_and_stop_are_lowered_towards_no() {
    let asks = guarded("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'");
    let stops = guarded("echo '{\"continue\": false, \"stopReason\": \"enough\"}'");
    for (host, event) in HOSTS {
        let asked = answer(&bridge(&asks, &[host], &shell(host, event, "ls")));
        let stopped = answer(&bridge(&stops, &[host], &shell(host, event, "ls")));
        let specific = |decision: &str| json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "sure?"});
        match host {
            "claude-code" | "copilot" | "qwen" => {
                assert_eq!(asked, json!({"hookSpecificOutput": specific("ask")}), "{host}")
            }
            "antigravity" => assert_eq!(asked, json!({"decision": "force_ask", "reason": "sure?"})),
            _ => assert!(asked.to_string().contains("deny") && asked.to_string().contains("sure?"), "{host}: {asked}"),
        }
        let (mut expected, _) = expected_denial(host, "enough");
        match host {
            "claude-code" | "qwen" | "droid" | "gemini-cli" => {
                expected["continue"] = false.into();
                expected["stopReason"] = "enough".into();
            }
            "opencode" => expected["stop"] = true.into(),
            _ => {}
        }
        let stopped = without(stopped, &["hookSpecificOutput"], host == "gemini-cli");
        assert_eq!(stopped, expected, "{host}");
    }
}

/// Removes keys that do not matter to that agent.
fn without(mut answer: Value, keys: &[&str], really: bool) -> Value {
    if let (true, Some(object)) = (really, answer.as_object_mut()) {
        keys.iter().for_each(|key| drop(object.remove(*key)));
    }
    answer
}

#[test]
fn a_rewrite_goes_back_in_the_agents_words_or_is_a_no() {
    let script = r#"echo '{"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}}'"#;
    let sandbox = guarded(script);
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        let input = json!({"command": "ls -l"});
        let changed = |more: Value| {
            let mut specific = json!({"hookEventName": "PreToolUse"});
            specific.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"hookSpecificOutput": specific})
        };
        let expected = match host {
            "codex" => changed(json!({"permissionDecision": "allow", "updatedInput": input})),
            "claude-code" | "copilot" | "droid" | "grok" => changed(json!({"updatedInput": input})),
            "cursor" => json!({"permission": "allow", "updated_input": input}),
            "opencode" => json!({"decision": "allow", "args": input}),
            "gemini-cli" => {
                assert_eq!(answer(&run)["hookSpecificOutput"]["tool_input"], input, "{run:#?}");
                assert_eq!(answer(&run).get("decision"), None, "{run:#?}");
                continue;
            }
            _ => {
                assert!(run.stdout.contains("deny") && run.stdout.contains("changes this call"), "{host}: {run:#?}");
                continue;
            }
        };
        assert_eq!((answer(&run), run.code), (expected, Some(0)), "{host}: {run:#?}");
    }
}

#[test]
fn context_reaches_the_model_where_the_agent_has_room_for_it() {
    let sandbox = sandbox();
    let command = sandbox.script("tell.sh", r#"echo '{"hookSpecificOutput": {"additionalContext": "mind the gap"}}'"#);
    let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
    sandbox.settings(&json!({"hooks": {"SessionStart": hook, "BeforeAgent": hook}}));
    for host in ["claude-code", "codex", "copilot", "qwen", "droid"] {
        let start = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"});
        let mut expected =
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "mind the gap"}});
        if host == "copilot" {
            expected["additionalContext"] = "mind the gap".into();
        }
        assert_eq!(answer(&bridge(&sandbox, &[host], &start)), expected, "{host}");
    }
    let start = json!({"hook_event_name": "sessionStart", "session_id": "s"});
    assert_eq!(answer(&bridge(&sandbox, &["cursor"], &start)), json!({"additional_context": "mind the gap"}));
    let start = json!({"conversationId": "s", "invocationNum": 0});
    let expected = json!({"injectSteps": [{"userMessage": "mind the gap"}]});
    assert_eq!(answer(&bridge(&sandbox, &["antigravity"], &start)), expected);
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"});
    let expected =
        json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "mind the gap"}});
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &prompt)), expected);
}

#[test]
fn a_prompt_an_answer_and_a_result_are_judged_too() {
    let sandbox = sandbox();
    let deny = sandbox.script("deny.sh", "echo '{\"decision\": \"deny\", \"reason\": \"not so\"}'");
    let hook = json!([{"hooks": [{"type": "command", "command": deny}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeAgent": hook, "AfterAgent": hook, "AfterTool": hook}}));
    let block = json!({"decision": "block", "reason": "not so"});
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"});
    let stop = json!({"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "done"});
    for (host, code) in [("claude-code", 0), ("codex", 0), ("qwen", 0), ("droid", 2)] {
        for payload in [&prompt, &stop] {
            let run = bridge(&sandbox, &[host], payload);
            assert_eq!((answer(&run), run.code), (block.clone(), Some(code)), "{host}: {run:#?}");
        }
    }
    let ran = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a b"});
    assert_eq!(answer(&bridge(&sandbox, &["codex"], &ran)), block);
    let claude = answer(&bridge(&sandbox, &["claude-code"], &ran));
    assert_eq!(
        (&claude["decision"], &claude["hookSpecificOutput"]["updatedToolOutput"]),
        (&json!("block"), &json!("not so"))
    );
}

/// One patch of three files is judged as three views of one call: denying one denies all.
#[test]
fn a_patch_is_judged_file_by_file() {
    let sandbox = sandbox();
    let guard = sandbox
        .script("paths.sh", "grep -q '\"file_path\":\"[^\"]*secret' && { echo 'hands off' >&2; exit 2; }; exit 0");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "Edit|Write", "hooks": [
        {"type": "command", "name": "paths", "guard": true, "command": guard},
    ]}]}}));
    let patch = |last: &str| {
        format!(
            "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-x\n+y\n*** Delete File: {last}\n*** End Patch"
        )
    };
    let calls = |last: &str| {
        [
            json!({"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch(last)}}),
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_input": {"command": format!("apply_patch <<'EOF'\n{}\nEOF", patch(last))}}),
        ]
    };
    for call in calls("secret.txt") {
        let run = bridge(&sandbox, &["codex"], &call);
        assert_eq!(answer(&run), expected_denial("codex", "hands off").0, "{run:#?}");
    }
    for call in calls("c") {
        let run = bridge(&sandbox, &["codex"], &call);
        assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "{run:#?}");
    }
}

/// The hook gets the usual input, with the agent and its own event name.
#[test]
fn hooks_are_told_which_agent_they_run_in() {
    let sandbox = guarded("cat > $GEMINI_PROJECT_DIR/input.json");
    let sandbox = sandbox.env("AI_AGENT", "claude-code_2-1-325_harness");
    let mut payload = shell("claude-code", "PreToolUse", "ls");
    payload["transcript_path"] = "/t/x.jsonl".into();
    payload["agent_id"] = "a1".into();
    payload["agent_type"] = "scout".into();
    payload["prompt_id"] = "p1".into();
    payload["tool_use_id"] = "u1".into();
    bridge(&sandbox, &["claude-code", "--event", "PreToolUse"], &payload).expect_exit_code(0);
    let input: Value = serde_json::from_str(&sandbox.read("input.json")).unwrap();
    let host = json!({"name": "claude-code", "version": "2.1.325", "event": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}});
    assert_eq!(input["host"], host);
    let of = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (of("session_id"), of("transcript_path"), of("turn_id")),
        ("s1".into(), "/t/x.jsonl".into(), "p1".into())
    );
    assert_eq!((of("agent_id"), of("agent_name"), of("tool_use_id")), ("a1".into(), "scout".into(), "u1".into()));
    assert_eq!((of("hook_event_name"), of("tool_name")), ("BeforeTool".into(), "run_shell_command".into()));
}

/// An agent whose entry names no host gets a denial, not a usage error that it would ignore.
#[test]
fn a_wrong_entry_is_a_no() {
    let sandbox = guarded("exit 0");
    for args in [&["bridge", "clade-code"][..], &["bridge"], &["bridge", "codex", "--deadline", "soon"]] {
        let run = sandbox.run(args).expect_exit_code(2);
        assert!(!run.stderr.trim().is_empty(), "{run:#?}");
    }
    sandbox.run(&["bridge", "--help"]).expect_exit_code(0);
}

/// An agent that never closes stdin gets its answer nevertheless.
#[test]
fn a_stdin_that_never_ends_is_a_no() {
    let sandbox = guarded("exit 0");
    let mut command = sandbox.command(&["bridge", "claude-code", "--event", "PreToolUse", "--deadline", "0.6"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take();
    let run = finish(child);
    drop(held);
    assert!(run.stdout.contains("deny") && run.stdout.contains("stdin does not end"), "{run:#?}");
}

/// `hooks fire --as AGENT` translates the event as the bridge does, in both directions, and shows what is lost.
#[test]
fn firing_as_an_agent_shows_its_answer() {
    let sandbox = guarded("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'");
    let fire = |host: &str| {
        let args = r#"{"command": "ls"}"#;
        sandbox.run(&[
            "hooks",
            "fire",
            "BeforeTool",
            "--as",
            host,
            "--tool",
            "run_shell_command",
            "--args",
            args,
            "--json",
        ])
    };
    for (host, event) in HOSTS {
        let fired = fire(host);
        let json = fired.json();
        let bridged = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        assert_eq!(json["answer"]["stdout"].as_str().unwrap(), bridged.stdout.trim_end(), "{host}");
        assert_eq!((json["verdict"].as_str(), json["event"].as_str()), (Some("ask"), Some(event)), "{host}");
        let is_asked = matches!(host, "claude-code" | "copilot" | "qwen" | "antigravity");
        assert_eq!(fired.code, Some(if is_asked { 3 } else { 2 }), "{host}: {fired:#?}");
        assert_eq!(json["lost"].as_array().unwrap().is_empty(), is_asked, "{host}");
    }
    let shown = sandbox
        .run(&["hooks", "fire", "BeforeTool", "--as", "codex", "--tool", "run_shell_command"])
        .expect_exit_code(2);
    assert!(
        shown.stdout.contains("answer to Codex CLI") && shown.stdout.contains("lost: ask became deny"),
        "{shown:#?}"
    );
    // A payload that an agent really sent can be fired again.
    sandbox.write("sent.json", shell("codex", "PreToolUse", "ls").to_string());
    let again =
        sandbox.run(&["hooks", "fire", "BeforeTool", "--as", "codex", "--input", "sent.json"]).expect_exit_code(2);
    assert!(again.stdout.contains("\"permissionDecision\":\"deny\""), "{again:#?}");
    let other =
        sandbox.run(&["hooks", "fire", "AfterTool", "--as", "codex", "--input", "sent.json"]).expect_exit_code(1);
    assert!(other.stderr.contains("which does not correspond to AfterTool"), "{other:#?}");
}
