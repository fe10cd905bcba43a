//! Attempts to turn a guard's denial into an allow. None may work.

use hookwright_hooks::BridgeCall;
use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, Sandbox};
use serde_json::{Value, json};

use super::{HOSTS, answer, bridge, expected_allow, expected_denial, guarded, shell};
use crate::sandbox;

const DENY: &str = "echo '{\"decision\": \"deny\", \"reason\": \"no\"}'";

fn raw(sandbox: &Sandbox, args: &[&str], bytes: &[u8]) -> ProgramRun {
    use std::io::Write;
    let mut child = sandbox.command(&[&["bridge"], args].concat()).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
    let run = hookwright_testkit::finish(child);
    writer.join_in_time().unwrap();
    run
}

/// Asserts that an agent whose event is unknown takes this response for a denial.
#[track_caller]
fn is_blind_no(host: &str, run: &ProgramRun) {
    match host {
        "antigravity" | "opencode" => assert_eq!(answer(run)["decision"], "deny", "{host}: {run:#?}"),
        _ => assert_eq!((run.code, run.stderr.trim().is_empty()), (Some(2), false), "{host}: {run:#?}"),
    }
}

#[test]
fn payloads_that_cannot_be_read_are_no_for_guards() {
    let sandbox = guarded(DENY);
    let utf16: Vec<u8> = "{\"hook_event_name\":\"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let payloads: [&[u8]; 9] = [
        b"",
        b"not json",
        b"[]",
        b"{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\"",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\",\"command\":\"rm\"}}",
        b"{\"hook_event_name\":\"SessionEnd\",\"reason\":\"x\"}{\"hook_event_name\":\"PreToolUse\"}",
        b"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"rm\"}}",
        &utf16,
        deep.as_bytes(),
    ];
    for (host, _) in HOSTS.iter().filter(|(host, _)| *host != "antigravity") {
        for payload in payloads {
            is_blind_no(host, &raw(&sandbox, &[host], payload));
        }
    }
    // If the entry names the event, the bridge answers in the event's own form.
    for (host, event) in HOSTS {
        let run = raw(&sandbox, &[host, "--event", event], b"");
        let (_, code) = expected_denial(host, "");
        assert!(run.stdout.contains("deny") && run.code == Some(code), "{host}: {run:#?}");
    }
    // A byte order mark does not keep the payload from being read.
    let marked = format!("\u{feff}{}", shell("claude-code", "PreToolUse", "ls"));
    assert_eq!(answer(&raw(&sandbox, &["claude-code"], marked.as_bytes())), expected_denial("claude-code", "no").0);
}

/// Without guards nothing is held up, and the problem is reported.
#[test]
fn without_guards_an_unreadable_payload_passes_with_a_message() {
    let sandbox = sandbox();
    for (host, event) in HOSTS {
        let run = raw(&sandbox, &[host, "--event", event], b"{");
        assert_eq!((answer(&run), run.code), (expected_allow(host), Some(0)), "{host}: {run:#?}");
        assert!(run.stderr.contains("can't read this event"), "{host}: {run:#?}");
    }
}

#[test]
fn an_event_that_calls_itself_another_is_a_no() {
    let sandbox = guarded(DENY);
    let lie =
        json!({"hook_event_name": "SessionEnd", "reason": "x", "tool_name": "Bash", "tool_input": {"command": "rm"}});
    let run = bridge(&sandbox, &["claude-code", "--event", "PreToolUse"], &lie);
    assert!(run.stdout.contains("deny") && run.stdout.contains("this entry is for PreToolUse"), "{run:#?}");
    for (host, _) in HOSTS {
        let mut payload = shell(host, "SomethingNew", "rm");
        payload["hookEventName"] = "SomethingNew".into();
        is_blind_no(host, &bridge(&sandbox, &[host], &payload));
    }
    for name in ["pretooluse", "PRETOOLUSE", "PreToolUse ", "BeforeTool", "PreToolUseX"] {
        let mut payload = shell("claude-code", "PreToolUse", "rm");
        payload["hook_event_name"] = name.into();
        is_blind_no("claude-code", &bridge(&sandbox, &["claude-code"], &payload));
    }
}

#[test]
fn an_unknown_tool_is_denied_only_with_guards() {
    let guarded = guarded(DENY);
    for name in ["Frobnicate", "Bash ", " Bash", "bash\n", "BASH", "", "Bash\u{200b}"] {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {"command": "rm"}});
        let run = bridge(&guarded, &["claude-code"], &payload);
        assert!(run.stdout.contains("deny") && run.stdout.contains("guard `guard` does not know"), "{name:?} {run:#?}");
    }
    for harmless in ["AskUserQuestion", "ExitPlanMode", "mcp__git__log"] {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": harmless, "tool_input": {}});
        bridge(&guarded, &["claude-code"], &payload).expect_exit_code(0);
        assert_eq!(answer(&bridge(&guarded, &["claude-code"], &payload)), Value::Null, "{harmless}");
    }
    let unknown = json!({"hook_event_name": "PreToolUse", "tool_name": "Frobnicate", "tool_input": {}});
    // The user may let them pass; a project may not.
    guarded.user_settings(&json!({"hooksConfig": {"onUnknown": "allow"}}));
    assert_eq!(answer(&bridge(&guarded, &["claude-code"], &unknown)), Value::Null);
    let free = sandbox();
    let command = free.script("log.sh", "exit 0");
    let hook = json!({"BeforeTool": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]});
    free.settings(&json!({"hooks": hook, "hooksConfig": {"onUnknown": "allow"}}));
    assert_eq!(answer(&bridge(&free, &["claude-code"], &unknown)), Value::Null);
}

#[test]
fn a_project_cannot_let_unknown_tools_pass() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", DENY);
    let hook =
        json!({"BeforeTool": [{"matcher": "Bash", "hooks": [{"type": "command", "guard": true, "command": command}]}]});
    sandbox.settings(&json!({"hooks": hook, "hooksConfig": {"onUnknown": "allow"}}));
    let unknown = json!({"hook_event_name": "PreToolUse", "tool_name": "Frobnicate", "tool_input": {}});
    assert!(bridge(&sandbox, &["claude-code"], &unknown).stdout.contains("deny"));
}

/// The agent's current directory is not the project.
#[test]
fn leaving_the_project_does_not_leave_its_guards() {
    let sandbox = guarded(DENY);
    let project = sandbox.project().to_string_lossy().into_owned();
    let sandbox = sandbox.env("CLAUDE_PROJECT_DIR", &project);
    for cwd in ["/", "/tmp", "/nonexistent/folder", "", "relative", "."] {
        let mut payload = shell("claude-code", "PreToolUse", "rm");
        payload["cwd"] = cwd.into();
        assert_eq!(
            answer(&bridge(&sandbox, &["claude-code"], &payload)),
            expected_denial("claude-code", "no").0,
            "{cwd:?}"
        );
    }
    // A subfolder belongs to the project, whatever the agent says.
    let below = sandbox.project().join("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    let mut payload = shell("codex", "PreToolUse", "rm");
    payload["cwd"] = below.to_string_lossy().into_owned().into();
    assert_eq!(answer(&bridge(&sandbox, &["codex"], &payload)), expected_denial("codex", "no").0);
}

/// A repository that was just created inside the project is still under the project's guards.
#[test]
fn a_repository_within_the_project_is_under_its_guards() {
    let sandbox = guarded(DENY);
    let nested = sandbox.project().join("vendor/new");
    for made in [".git", ".gemini", ".hookwright"] {
        std::fs::create_dir_all(nested.join(made)).unwrap();
        for (host, event) in [("codex", "PreToolUse"), ("opencode", "tool.execute.before")] {
            let mut payload = shell(host, event, "rm");
            payload["cwd"] = nested.to_string_lossy().into_owned().into();
            let run = bridge(&sandbox, &[host], &payload);
            assert_eq!((answer(&run), run.code), (expected_denial(host, "no").0, Some(0)), "{host} {made}: {run:#?}");
        }
    }
    // A link from elsewhere does not bypass them either.
    let link = sandbox.sibling_path("elsewhere");
    std::os::unix::fs::symlink(&nested, &link).unwrap();
    let mut payload = shell("codex", "PreToolUse", "rm");
    payload["cwd"] = link.to_string_lossy().into_owned().into();
    assert_eq!(answer(&bridge(&sandbox, &["codex"], &payload)), expected_denial("codex", "no").0);
    // Its own settings apply, and so do the guards above.
    let own = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "guard": true, "command": "true"}]}]}});
    std::fs::write(nested.join(".gemini/settings.json"), own.to_string()).unwrap();
    let mut payload = shell("codex", "PreToolUse", "rm");
    payload["cwd"] = nested.to_string_lossy().into_owned().into();
    assert_eq!(answer(&bridge(&sandbox, &["codex"], &payload)), expected_denial("codex", "no").0);
    // Untrusted settings above do not apply.
    let sandbox = guarded("touch $GEMINI_PROJECT_DIR/RAN").untrusted();
    let nested = sandbox.project().join("nested");
    std::fs::create_dir_all(nested.join(".git")).unwrap();
    payload["cwd"] = nested.to_string_lossy().into_owned().into();
    let mut command = sandbox.command(&["bridge", "codex"]);
    command.current_dir(&nested).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
    let run = hookwright_testkit::finish(child);
    assert_eq!((answer(&run), run.code, sandbox.has_file("RAN")), (Value::Null, Some(0), false), "{run:#?}");
}

/// Returns what Cursor sends to a Claude Code entry, which it reads too.
fn borrowed() -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm"},
        "session_id": "s1", "cursor_version": "3.9", "generation_id": "g", "workspace_roots": ["/p"]})
}

/// Returns a Cursor entry as `agents install` writes it, except for the program.
fn cursors_entry(program: &str, event: &str) -> Value {
    let patience = std::time::Duration::from_secs(60);
    let command =
        BridgeCall::install_command(program, "cursor", event, patience, hookwright_hooks::NoAnswerPolicy::Deny);
    json!({"type": "command", "command": command, "timeout": 60, "failClosed": true})
}

fn cursors_settings(entry: &Value) -> String {
    json!({"version": 1, "hooks": {"preToolUse": [entry]}}).to_string()
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_hookwright");

/// The bridge stands down only for an agent that really judges in its place.
#[test]
fn no_payload_makes_the_bridge_stand_down() {
    let is_no = |sandbox: &Sandbox, payload: &Value, why: &str| {
        assert_eq!(
            answer(&bridge(sandbox, &["claude-code"], payload)),
            expected_denial("claude-code", "no").0,
            "{why}"
        );
    };
    let stands_down = |sandbox: &Sandbox| {
        let run = bridge(sandbox, &["claude-code"], &borrowed());
        assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "its own entry decides: {run:#?}");
    };
    let sandbox = guarded(DENY);
    is_no(&sandbox, &borrowed(), "no entry of its own");
    let own = cursors_entry(PROGRAM, "preToolUse");
    let with = |key: &str, value: Value| {
        let mut entry = own.clone();
        entry[key] = value;
        entry
    };
    let written = own["command"].as_str().unwrap().to_owned();
    let script = ": written by hookwright agents install; exit 0";
    for (entry, why) in [
        (json!({"command": "true"}), "another command"),
        (json!({"command": "echo hookwright bridge cursor"}), "only its name"),
        (json!({"command": "hookwright bridge cursor --event preToolUse"}), "by hand"),
        (with("matcher", "Read".into()), "for another tool"),
        (with("command", format!("{written} || true").into()), "a shell around it"),
        (with("command", written.replace("bridge cursor", "bridge codex").into()), "another agent's"),
        (cursors_entry(PROGRAM, "stop"), "another event's"),
        (with("enabled", false.into()), "switched off"),
        (cursors_entry("/opt/hookwright", "preToolUse"), "a program that is not there"),
        (cursors_entry("/bin/true", "preToolUse"), "another program"),
        (cursors_entry("hookwright", "preToolUse"), "a name that leads nowhere"),
        (
            with(
                "command",
                format!("/bin/sh -c '{script}' {PROGRAM} bridge cursor --event preToolUse --deadline 60").into(),
            ),
            "our words and another script",
        ),
        (with("command", written.replace("exit 2", "exit 0").into()), "another exit code"),
        (with("timeout", 1.into()), "another time"),
        (with("failClosed", false.into()), "open when it fails"),
        (with("type", "prompt".into()), "no command"),
    ] {
        sandbox.write(".cursor/hooks.json", cursors_settings(&entry));
        is_no(&sandbox, &borrowed(), why);
    }
    sandbox.write(".cursor/hooks.json", cursors_settings(&own));
    stands_down(&sandbox);
    // In the user's own settings as well.
    std::fs::remove_dir_all(sandbox.project().join(".cursor")).unwrap();
    is_no(&sandbox, &borrowed(), "it was taken out");
    sandbox.run(&["agents", "install", "cursor", "--yes"]).expect_exit_code(0);
    stands_down(&sandbox);
    // Claude Code in a Cursor terminal is still Claude Code.
    let sandbox = sandbox.env("CURSOR_VERSION", "3.9").env("CLAUDE_CODE_SESSION_ID", "s1").env("COPILOT_CLI", "1");
    is_no(&sandbox, &shell("claude-code", "PreToolUse", "rm"), "by environment alone");
    is_no(&sandbox, &borrowed(), "with Claude Code's own session");
    let other = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "cursor_version": "3.9"});
    bridge(&sandbox, &["claude-code"], &other).expect_exit_code(0);
}

/// The user's own guard runs whatever a repository contains, until the user trusts the repository.
#[test]
fn an_untrusted_repository_does_not_put_the_users_guard_to_sleep() {
    let sandbox = sandbox().untrusted();
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "command", "name": "guard", "guard": true, "command": DENY},
    ]}]}}));
    sandbox.write(".cursor/hooks.json", cursors_settings(&cursors_entry(PROGRAM, "preToolUse")));
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &borrowed())), expected_denial("claude-code", "no").0);
    let groks = json!({"hookEventName": "PreToolUse", "sessionId": "s1", "workspaceRoot": "/p",
        "toolName": "Bash", "toolInput": {"command": "rm"}});
    let entry = BridgeCall::install_command(
        PROGRAM,
        "grok",
        "PreToolUse",
        std::time::Duration::from_secs(60),
        hookwright_hooks::NoAnswerPolicy::Deny,
    );
    let entry = json!({"type": "command", "command": entry, "timeout": 60});
    sandbox.write(".grok/hooks/hookwright.json", json!({"hooks": {"PreToolUse": [{"hooks": [entry]}]}}).to_string());
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &groks)), expected_denial("claude-code", "no").0);
}

/// One argument in two spellings, in other letter case, or nested: each is denied, even if the guard would allow
/// everything.
#[test]
fn a_second_spelling_of_an_argument_is_a_no_for_guards() {
    let sandbox = guarded("exit 0");
    let call = |host: &str, event: &str, name: &str, input: Value| match host {
        "antigravity" => json!({"conversationId": "s1", "toolCall": {"name": name, "args": input}}),
        "grok" => json!({"hookEventName": event, "sessionId": "s1", "toolName": name, "toolInput": input}),
        _ => json!({"hook_event_name": event, "session_id": "s1", "tool_name": name, "tool_input": input}),
    };
    let decoys = [
        ("copilot", "create", json!({"path": ".env", "file_text": "x", "filePath": "ok.txt"})),
        ("copilot", "create", json!({"path": ".env", "file_text": "x", "file_path": "ok.txt"})),
        ("copilot", "bash", json!({"command": "rm .env", "cmd": "ls"})),
        ("codex", "exec_command", json!({"cmd": "rm .env", "CommandLine": "ls"})),
        ("codex", "exec_command", json!({"cmd": "rm .env", "command": "ls"})),
        ("codex", "exec_command", json!({"cmd": "rm .env", "workdir": "/a", "cwd": "/b"})),
        ("codex", "apply_patch", json!({"command": "*** Begin Patch\n*** End Patch", "input": "x"})),
        ("codex", "Bash", json!({"command": "ls", "Command": "rm"})),
        ("cursor", "Shell", json!({"command": "ls", "CommandLine": "rm"})),
        ("cursor", "Write", json!({"file_path": "ok", "path": ".env", "content": "x"})),
        ("opencode", "write", json!({"filePath": ".env", "file_path": "ok", "content": "x"})),
        ("opencode", "bash", json!({"command": ["rm", ".env"]})),
        ("claude-code", "Bash", json!({"command": "ls", "cmd": "rm"})),
        ("qwen", "run_shell_command", json!({"command": "ls", "script": "rm"})),
        ("droid", "Execute", json!({"command": "ls", "args": ["-rf"]})),
        ("grok", "read_file", json!({"target_file": ".env", "file_path": "ok"})),
        ("gemini-cli", "write_file", json!({"file_path": "ok", "absolute_path": ".env", "content": "x"})),
        ("antigravity", "run_command", json!({"CommandLine": "rm", "command": "ls"})),
    ];
    for (host, name, input) in decoys {
        let event = HOSTS.iter().find(|(known, _)| *known == host).unwrap().1;
        let run = bridge(&sandbox, &[host], &call(host, event, name, input.clone()));
        assert!(
            run.stdout.contains("deny") && run.stdout.contains("can't judge this call"),
            "{host} {input}: {run:#?}"
        );
    }
    let trace = sandbox.run(&["agents", "trace", "--json"]).expect_exit_code(0).stdout;
    let last: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    assert_eq!(last["known"], "unknown arguments");
    assert_eq!(last["doubt"], "its argument `command` is not known");
    // A payload with a repeated key, escaped or nested, is not accepted.
    for twice in [
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","comm\u0061nd":"rm"}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"a":[{"b":1,"b":2}]}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"{\"command\":\"ls\",\"command\":\"rm\"}"}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","toolName":"Read","tool_input":{}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"toolInput":{"command":"rm"}}"#,
    ] {
        is_blind_no("claude-code", &raw(&sandbox, &["claude-code"], twice.as_bytes()));
    }
    // The user may let them pass.
    sandbox.user_settings(&json!({"hooksConfig": {"onUnknown": "allow"}}));
    let run = bridge(&sandbox, &["codex"], &call("codex", "PreToolUse", "Bash", json!({"command": "ls", "cmd": "rm"})));
    assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "{run:#?}");
}

/// A tool with a known name that is not the agent's own counts as unknown.
#[test]
fn a_known_name_that_is_another_tools_is_a_no_for_guards() {
    let sandbox = guarded("exit 0");
    let question = json!({"hook_event_name": "tool.execute.before", "tool_name": "question", "tool_input": {},
        "cwd": sandbox.project().to_string_lossy()});
    assert_eq!(answer(&bridge(&sandbox, &["opencode"], &question)), expected_allow("opencode"));
    sandbox.write(".opencode/tool/question.ts", "export default {}");
    assert_eq!(answer(&bridge(&sandbox, &["opencode"], &question))["decision"], "deny");
    let gone = json!({"hook_event_name": "PreToolUse", "tool_name": "KillShell", "tool_input": {}});
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &gone)), Value::Null);
    let sandbox = sandbox.env("AI_AGENT", "claude-code_2-1-325_harness");
    assert!(bridge(&sandbox, &["claude-code"], &gone).stdout.contains("deny"));
}

/// A guard rule judges effects, so that a tool without effects passes.
#[test]
fn a_guard_rule_lets_tools_pass_that_touch_nothing() {
    let sandbox = sandbox();
    let rule = json!({"type": "rule", "name": "env", "guard": true, "decision": "deny",
        "when": {"writes": ["**/.env"], "reads": ["**/.env"], "deletes": ["**/.env"]}});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}));
    let cwd = sandbox.project();
    let cwd = cwd.to_string_lossy();
    let call = |tool: &str| json!({"hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": tool, "tool_input": {}});
    for (agent, tool) in [("codex", "update_plan"), ("claude-code", "AskUserQuestion"), ("claude-code", "TaskList")] {
        let run = bridge(&sandbox, &[agent, "--event", "PreToolUse"], &call(tool));
        assert_eq!(answer(&run), expected_allow(agent), "{agent} {tool}");
        let run = bridge(&sandbox, &[agent, "--event", "PreToolUse"], &call("NoSuchTool"));
        assert!(run.stdout.contains("deny") || run.stdout.contains("ask"), "{agent}: {run:#?}");
    }
}

/// A hook that blocks on failure is not skipped silently in an untrusted folder.
#[test]
fn a_blocking_hook_of_an_untrusted_folder_is_reported_as_left_out() {
    let sandbox = sandbox();
    let command = sandbox.script("check.sh", "exit 1");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "command", "name": "check", "onError": "block", "command": command},
    ]}]}}));
    let sandbox = sandbox.untrusted();
    let words = "blocks when it fails, but does not run: the folder is not trusted";
    let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    assert!(answer(&run)["systemMessage"].as_str().unwrap().contains(words), "{run:#?}");
    let run = bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    assert!(run.stderr.contains(words) && run.code == Some(0), "{run:#?}");
    let trace = sandbox.run(&["agents", "trace", "--json"]).expect_exit_code(0).stdout;
    let last: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    assert!(last["left_out"][0].as_str().unwrap().contains(words), "{last}");
    assert!(sandbox.run(&["agents", "trace"]).stdout.contains("did not run: hook check"), "{last}");
    let doctor = sandbox.run(&["agents", "doctor", "codex"]).expect_exit_code(1);
    assert!(doctor.stdout.contains("this folder is not trusted, so its hooks do not run: check"), "{doctor:#?}");
    // A call that its matcher does not match is not concerned.
    let read = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a"}});
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &read)), Value::Null);
}

/// A hook that is no guard is left out in an untrusted folder, and the agent's user, the trace and the doctor say so.
#[test]
fn any_hook_of_an_untrusted_folder_is_reported_as_left_out() {
    let sandbox = sandbox();
    let rule =
        json!({"type": "rule", "name": "no-rm", "decision": "deny", "reason": "no rm", "when": {"deletes": ["**"]}});
    sandbox.write(".hookwright/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}).to_string());
    let sandbox = sandbox.untrusted();
    let words = "does not run: the folder is not trusted";
    for event in ["SessionStart", "PreToolUse"] {
        let payload = match event {
            "SessionStart" => json!({"hook_event_name": event, "session_id": "s", "source": "startup"}),
            _ => shell("claude-code", event, "rm -rf x"),
        };
        let run = bridge(&sandbox, &["claude-code"], &payload);
        let message = answer(&run)["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("hook no-rm") && message.contains(words), "{event}: {run:#?}");
    }
    assert!(sandbox.run(&["agents", "trace"]).stdout.contains("did not run: hook no-rm"));
    let doctor = sandbox.run(&["agents", "doctor", "codex", "--json"]).expect_exit_code(1).json();
    let links = doctor["chain"]["links"].as_array().unwrap();
    assert!(links.iter().any(|link| link["link"] == "folder_trust" && link["state"] == "broken"), "{doctor}");
}

/// With `required: ["*"]`, every hook of the project must be armed, whichever of its files declares it.
#[test]
fn a_project_can_require_all_of_its_hooks() {
    let sandbox = sandbox();
    let rule =
        json!({"type": "rule", "name": "no-rm", "decision": "deny", "reason": "no rm", "when": {"deletes": ["**"]}});
    sandbox.write(".hookwright/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}).to_string());
    sandbox.settings(&json!({"hooksConfig": {"required": ["*"]}}));
    // Trusted: the hook is a guard, and the wildcard itself is not missing.
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&list[0]["name"], &list[0]["guard"]), (&json!("no-rm"), &json!(true)), "{list}");
    assert!(!bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls")).stdout.contains("deny"));
    let sandbox = sandbox.untrusted();
    let run = bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    assert!(run.stdout.contains("deny") && run.stdout.contains("guard `no-rm`"), "{run:#?}");
}

/// VS Code sends several calls at once: each is judged, and a denial of one is a denial of all.
#[test]
fn every_call_of_a_batch_is_judged() {
    let sandbox = guarded("grep -q forbidden && { echo 'not that' >&2; exit 2; }; exit 0");
    let call =
        |name: &str, command: &str| json!({"id": "c", "name": name, "args": json!({"command": command}).to_string()});
    let batch = |calls: Value| json!({"hook_event_name": "PreToolUse", "session_id": "s", "toolCalls": calls});
    for host in ["copilot", "claude-code"] {
        let judged =
            |payload: &Value| bridge(&sandbox, &[host, "--event", "PreToolUse"], payload).stdout.contains("deny");
        assert!(judged(&batch(json!([call("Bash", "ls"), call("Bash", "touch forbidden")]))), "{host}");
        assert!(judged(&batch(json!([call("Bash", "touch forbidden")]))), "{host}");
        assert!(!judged(&batch(json!([call("Bash", "ls"), call("Bash", "pwd")]))), "{host}");
        // A call that is named beside the batch does not hide the batch.
        let mut hidden = batch(json!([call("Bash", "touch forbidden")]));
        hidden["tool_name"] = json!("Bash");
        hidden["tool_input"] = json!({"command": "ls"});
        assert!(judged(&hidden), "{host}");
        // A tool that is not known, beside one that the guard knows, is not let through with it.
        assert!(judged(&batch(json!([call("Bash", "ls"), call("NoSuchTool", "ls")]))), "{host}");
        for wrong in [json!([]), json!({}), json!([1]), json!([{"args": "{}"}])] {
            let run = bridge(&sandbox, &[host, "--event", "PreToolUse"], &batch(wrong));
            assert!(run.stdout.contains("deny") || run.code == Some(2), "{host}: {run:#?}");
        }
    }
}

/// Settings that cannot be parsed may hold guards.
#[test]
fn broken_settings_are_a_no() {
    let sandbox = guarded(DENY);
    sandbox.write(".gemini/settings.json", "{ \"hooks\": ");
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        let (_, code) = expected_denial(host, "");
        assert!(run.stdout.contains("deny") && run.stdout.contains("settings.json"), "{host}: {run:#?}");
        assert_eq!(run.code, Some(code), "{host}");
    }
    // An event that cannot be denied goes on.
    let end = json!({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "other"});
    bridge(&sandbox, &["claude-code"], &end).expect_exit_code(0);
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"});
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &stop)), Value::Null);
}

/// A guard in an untrusted folder does not run, and that does not count as an allow.
#[test]
fn a_guard_of_an_untrusted_folder_is_a_no() {
    let sandbox = guarded("touch $GEMINI_PROJECT_DIR/RAN").untrusted();
    let run = bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    assert!(run.stdout.contains("deny") && run.stdout.contains("not trusted"), "{run:#?}");
    assert!(!sandbox.has_file("RAN"));
}

#[test]
fn a_large_call_is_judged_like_any_other() {
    let sandbox = guarded("grep -q needle && exit 2; exit 0");
    let mut command = "x".repeat(20 << 20);
    command.push_str("needle");
    let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", &command));
    assert!(run.stdout.contains("deny"), "{:?}", &run.stdout[..run.stdout.len().min(400)]);
    let over = vec![b' '; (64 << 20) + 2];
    is_blind_no("claude-code", &raw(&sandbox, &["claude-code"], &over));
}

/// A home that cannot be written does not matter; a home that cannot be read is a denial if guards are known.
#[test]
fn a_home_that_is_no_folder_changes_nothing_about_a_no() {
    let sandbox = guarded(DENY);
    let nowhere = sandbox.sibling_path("file");
    std::fs::write(&nowhere, "x").unwrap();
    let sandbox = sandbox.env("HOME", &nowhere.to_string_lossy());
    let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "rm"));
    assert!(run.stdout.contains("deny"), "{run:#?}");
}
