//! `hooks fire`: the same run as in a session, its exit codes, its JSON, invalid input.

use crate::sandbox;
use hookwright_testkit::Sandbox;
use hookwright_testkit::deadline::*;
use serde_json::{Value, json};

fn with_hook(event: &str, matcher: &str, script: &str) -> Sandbox {
    let sandbox = sandbox();
    let command = sandbox.script("hook.sh", script);
    sandbox.settings(&json!({"hooks": {event: [{"matcher": matcher, "hooks": [
        {"type": "command", "name": "the-hook", "command": command}]}]}}));
    sandbox
}

fn fire_tool(sandbox: &Sandbox, more: &[&str]) -> hookwright_testkit::ProgramRun {
    let args =
        ["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", r#"{"file_path": "a", "content": "b"}"#];
    sandbox.run(&[&args, more].concat())
}

#[test]
fn exit_codes_tell_the_decision() {
    for (script, code) in [
        ("exit 0", 0),
        ("echo no >&2; exit 2", 2),
        ("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'", 3),
        ("echo '{\"continue\": false}'", 2),
        ("exit 7", 0),
    ] {
        fire_tool(&with_hook("BeforeTool", "write_file", script), &[]).expect_exit_code(code);
    }
}

#[test]
fn a_matcher_word_that_is_no_tool_name_is_a_pattern() {
    let deny = "echo no >&2; exit 2";
    let fire = |matcher: &str, tool: &str| {
        with_hook("BeforeTool", matcher, deny).run(&["hooks", "fire", "BeforeTool", "--tool", tool])
    };
    fire("write_file|replace|shell|bash|execute", "run_shell_command").expect_exit_code(2);
    fire("write_file|replace|shell|bash|execute", "read_file").expect_exit_code(0);
    fire("replace|shell", "mcp_my_replace").expect_exit_code(0);
}

#[test]
fn no_matcher_hangs() {
    let name = format!("{}?", "a".repeat(60));
    for (matcher, code) in [(r"^(\w+\s?)+!$", 1), (r"^(?=a)(\w+\s?)+!$", 2)] {
        let started = std::time::Instant::now();
        with_hook("BeforeTool", matcher, "exit 2")
            .run(&["hooks", "fire", "BeforeTool", "--tool", &name])
            .expect_exit_code(code);
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{matcher}");
    }
}

/// With any number of descriptors, a guard that cannot start does not allow.
#[cfg(unix)]
#[test]
fn a_guard_that_has_no_room_denies() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "g", "command": "exit 2", "timeout": 300}]}]}}));
    let mut no_room = 0;
    for descriptors in 9..24 {
        let limit = format!("ulimit -n {descriptors}");
        let output = sandbox
            .limited_command(&limit, &["hooks", "fire", "BeforeTool", "--tool", "glob"])
            .output_in_time()
            .unwrap();
        assert_ne!(output.status.code(), Some(0), "with {descriptors} descriptors: {output:?}");
        no_room += usize::from(String::from_utf8_lossy(&output.stdout).contains("for lack of resources"));
        no_room += usize::from(String::from_utf8_lossy(&output.stderr).contains("for lack of resources"));
    }
    assert!(no_room > 0, "no number of descriptors was too few for the hook alone");
}

#[test]
fn the_json_has_the_merged_answer_and_the_runs() {
    let script = r#"echo '{"decision": "deny", "reason": "why", "systemMessage": "hey",
        "hookSpecificOutput": {"tool_input": {"content": "c"}}}'; echo log >&2"#;
    let answer = fire_tool(&with_hook("BeforeTool", "*", script), &["--json"]).expect_exit_code(2).json();
    assert_eq!(answer["decision"], "deny");
    assert_eq!(answer["reason"], "why");
    assert_eq!(answer["continue"], true);
    assert_eq!(answer["systemMessage"], "hey");
    assert_eq!(answer["hookSpecificOutput"]["tool_input"]["content"], "c");
    let run = &answer["runs"][0];
    assert_eq!((&run["name"], &run["source"], &run["status"]), (&json!("the-hook"), &json!("project"), &json!("ok")));
    assert_eq!((&run["exit_code"], &run["decision"], &run["truncated"]), (&json!(0), &json!("deny"), &json!(false)));
    assert_eq!((&run["error"], &run["stderr"]), (&Value::Null, &json!("log\n")));
    assert!(run["stdout"].as_str().unwrap().contains("why") && run["duration_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn hooks_get_base_fields_and_the_given_ones() {
    let sandbox = with_hook("AfterTool", "replace", "cat > seen.json");
    let input = r#"{"tool_name": "replace", "tool_input": {"x": 1}, "tool_response": {"llmContent": "ok"}}"#;
    sandbox.run_with_input(&["hooks", "fire", "AfterTool", "--input", "-"], input).expect_exit_code(0);
    let seen: Value = serde_json::from_str(&sandbox.read("seen.json")).unwrap();
    let keys: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys[..5], ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"]);
    assert_eq!(seen["cwd"], sandbox.project().to_str().unwrap());
    assert_eq!(seen["tool_response"]["llmContent"], "ok");
}

#[test]
fn every_event_can_be_fired() {
    let inputs = [
        ("SessionStart", json!({"source": "startup"})),
        ("SessionEnd", json!({"reason": "exit"})),
        ("BeforeAgent", json!({"prompt": "p"})),
        ("AfterAgent", json!({"prompt": "p", "prompt_response": "r"})),
        ("BeforeModel", json!({"llm_request": {"model": "m", "messages": []}})),
        ("BeforeToolSelection", json!({"llm_request": {"model": "m"}})),
        ("AfterModel", json!({"llm_request": {"model": "m"}, "llm_response": {"text": "t"}})),
        ("BeforeTool", json!({"tool_name": "glob", "tool_input": {}})),
        ("AfterTool", json!({"tool_name": "glob", "tool_input": {}, "tool_response": {}})),
        ("PreCompress", json!({"trigger": "manual"})),
        ("Notification", json!({"notification_type": "ToolPermission", "message": "m", "details": {}})),
    ];
    for (event, input) in inputs {
        let sandbox =
            with_hook(event, "", "grep -q '\"hook_event_name\":\"'\"$1\"'\"' && echo '{\"systemMessage\": \"seen\"}'");
        let text = sandbox.read(".gemini/settings.json").replace("hook.sh", &format!("hook.sh {event}"));
        sandbox.write(".gemini/settings.json", text);
        let run = sandbox.run_with_input(&["hooks", "fire", event, "--input", "-", "--json"], &input.to_string());
        assert_eq!(run.expect_exit_code(0).json()["systemMessage"], "seen", "{event}");
    }
}

#[test]
fn bad_input_is_an_error_of_ours_that_says_what_to_do() {
    let sandbox = sandbox();
    for (args, words) in [
        (vec!["hooks", "fire", "BeforeTool", "--tool", "x", "--args", "[1]"], "--args"),
        (vec!["hooks", "fire", "SessionStart", "--tool", "x"], "--tool is for"),
        (vec!["hooks", "fire", "SessionStart", "--prompt", "x"], "--prompt is for"),
        (vec!["hooks", "fire", "Nonsense"], "possible values"),
        (vec!["hooks", "fire", "BeforeTool", "--input", "missing.json"], "missing.json"),
        (vec!["hooks", "list", "--project", "nowhere"], "no project at nowhere"),
    ] {
        let run = sandbox.run(&args).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
    }
    let run = sandbox.run_with_input(&["hooks", "fire", "BeforeTool", "--input", "-"], "not json").expect_exit_code(1);
    assert!(run.stderr.contains("stdin does not hold a JSON object"), "{}", run.stderr);
}

/// The user who tries a hook need not know its event's fields.
#[test]
fn every_event_has_a_sample() {
    for event in hookwright_testkit::EVENT_NAMES {
        let sandbox = with_hook(event, "", "cat > seen.json; echo '{\"systemMessage\": \"seen\"}'");
        let answer = sandbox.run(&["hooks", "fire", event, "--json"]).expect_exit_code(0).json();
        assert_eq!(answer["systemMessage"], "seen", "{event}");
        let seen: Value = serde_json::from_str(&sandbox.read("seen.json")).unwrap();
        let printed = sandbox.run(&["hooks", "fire", event, "--print-input"]).expect_exit_code(0).json();
        let fields = printed.as_object().unwrap();
        assert!(!fields.is_empty());
        for (key, value) in fields {
            assert_eq!(seen.get(key), Some(value), "{event}: {key}");
        }
        sandbox.write("event.json", printed.to_string());
        sandbox.run(&["hooks", "fire", event, "--input", "event.json"]).expect_exit_code(0);
    }
}

#[test]
fn a_sample_is_about_what_a_hook_runs_for() {
    let sandbox = with_hook("BeforeTool", "replace", "exit 2");
    sandbox.run(&["hooks", "fire", "BeforeTool"]).expect_exit_code(2);
    let input = sandbox.run(&["hooks", "fire", "BeforeTool", "--print-input"]).expect_exit_code(0).json();
    assert_eq!((&input["tool_name"], &input["tool_input"]["file_path"]), (&json!("replace"), &json!("notes.txt")));
    let input =
        sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob", "--print-input"]).expect_exit_code(0).json();
    assert_eq!(input["tool_input"]["pattern"], "**/*.md");
    let input =
        sandbox.run(&["hooks", "fire", "AfterAgent", "--prompt", "hey", "--print-input"]).expect_exit_code(0).json();
    assert_eq!((&input["prompt"], input["prompt_response"].is_string()), (&json!("hey"), true));
    with_hook("SessionEnd", "logout", "exit 0").run(&["hooks", "fire", "SessionEnd"]).expect_exit_code(0);
    let as_claude = sandbox
        .run(&["hooks", "fire", "BeforeTool", "--as", "claude-code", "--print-input"])
        .expect_exit_code(0)
        .json();
    assert_eq!(as_claude["tool_name"], "Edit");
}

#[test]
fn a_hook_that_matches_and_is_not_asked_is_named_with_its_state() {
    let declared = |more: Value, settings: Value| {
        let sandbox = sandbox();
        let mut hook = json!({"type": "command", "name": "the-hook", "command": "exit 2"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut all = json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        sandbox.settings(&all);
        sandbox
    };
    let off = declared(json!({"enabled": false}), json!({}));
    let listed = declared(json!({}), json!({"hooksConfig": {"disabled": ["the-hook"]}}));
    let all_off = declared(json!({}), json!({"hooksConfig": {"enabled": false}}));
    let held = declared(json!({}), json!({}));
    held.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    let untrusted = declared(json!({}), json!({})).untrusted();
    for (sandbox, state) in [
        (&off, "disabled"),
        (&listed, "disabled"),
        (&all_off, "disabled"),
        (&held, "untrusted"),
        (&untrusted, "untrusted"),
    ] {
        let run = fire_tool(sandbox, &[]).expect_exit_code(1);
        let words = format!("hook `the-hook` (project) matches but did not run: it is {state}");
        assert!(run.stdout.contains(&words), "{}", run.stdout);
        assert!(!run.stdout.contains("allowed") && !run.stdout.contains("no hook matches"), "{}", run.stdout);
        assert!(fire_tool(sandbox, &["--json"]).expect_exit_code(1).json()["doubts"].to_string().contains("the-hook"));
        // The hook does not match.
        if !std::ptr::eq(sandbox, &untrusted) {
            sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).expect_exit_code(0);
        }
    }
    let broken = sandbox();
    broken.write(
        ".gemini/settings.json",
        "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"name\": \"the-hook\", \"command\": \"exit 2\"}]}",
    );
    let run = fire_tool(&broken, &[]).expect_exit_code(1);
    assert!(run.stdout.contains("it seems to declare hook `the-hook`, which did not run"), "{}", run.stdout);
    // Disabled on purpose, beside a hook that ran: a session would go on in the same way.
    off.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "exit 0"}]}]}}));
    fire_tool(&off, &[]).expect_exit_code(0);
}

#[test]
fn the_timeline_reads_well() {
    let sandbox = with_hook("BeforeTool", "write_file", "echo 'line one\nline two' >&2; exit 2");
    let run = fire_tool(&sandbox, &[]).expect_exit_code(2);
    let text = run.stdout.lines().map(|line| match line.find(", ") {
        Some(at) if line.contains(" ms, exit") => format!("{}, TIME, exit 2)", &line[..at]),
        _ => line.to_owned(),
    });
    insta::assert_snapshot!(text.collect::<Vec<_>>().join("\n"), @r"
    BeforeTool write_file: 1 hook
      the-hook deny (project, TIME, exit 2)
    outcome
      decision: denied
      reason: line one
        line two
    ");
}

#[test]
fn an_untrusted_folder_runs_no_project_hook_and_says_so() {
    let sandbox = with_hook("BeforeTool", "*", "touch ran; exit 2").untrusted();
    let run = fire_tool(&sandbox, &[]).expect_exit_code(1);
    assert!(run.stderr.contains("not trusted"), "{}", run.stderr);
    assert!(!sandbox.has_file("ran"));
    fire_tool(&sandbox, &["--skip-trust"]).expect_exit_code(2);
    assert!(sandbox.has_file("ran"));
}

#[test]
fn a_new_hook_is_announced_once_and_again_when_its_script_changes() {
    let sandbox = with_hook("BeforeTool", "*", "exit 0");
    assert!(fire_tool(&sandbox, &[]).stderr.contains("new project hook"));
    assert_eq!(fire_tool(&sandbox, &[]).stderr, "");
    sandbox.script("hook.sh", "exit 0 # changed");
    let run = fire_tool(&sandbox, &[]);
    assert!(run.stderr.contains("has changed") && run.stderr.contains("hook.sh"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_hook_and_its_children() {
    let sandbox = with_hook("BeforeTool", "*", "sleep 60 & echo $! > child; echo up > started; wait");
    let args = ["hooks", "fire", "BeforeTool", "--tool", "glob"];
    let child = sandbox.command(&args).spawn().unwrap();
    hookwright_testkit::wait_until("the hook runs", || sandbox.has_file("started"));
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status_in_time().unwrap();
    assert_eq!(hookwright_testkit::finish(child).code, Some(130));
    let sleeper = sandbox.read("child");
    assert!(!hookwright_testkit::is_running(sleeper.trim()), "the hook's child outlived us");
}

#[test]
fn no_objection_is_not_an_allow_where_hooks_did_not_run() {
    let untrusted = with_hook("BeforeTool", "*", "exit 2").untrusted();
    let broken = sandbox();
    broken.write(".gemini/settings.json", "{");
    let missing = sandbox();
    missing.settings(&json!({"hooksConfig": {"required": ["keep-out"]}}));
    for (sandbox, words) in [
        (untrusted, "has hooks for BeforeTool that did not run: this folder is not trusted"),
        (broken, "can't be read"),
        (missing, "guard `keep-out` ("),
    ] {
        let run = fire_tool(&sandbox, &[]).expect_exit_code(1);
        assert!(
            run.stdout.contains("undecided: no hook objects, but a session could decide otherwise"),
            "{}",
            run.stdout
        );
        assert!(run.stdout.contains(words) && !run.stdout.contains("allowed"), "{}", run.stdout);
        let answer = fire_tool(&sandbox, &["--json"]).expect_exit_code(1).json();
        assert_eq!(answer["decision"], Value::Null);
        assert!(answer["doubts"].to_string().contains(words), "{answer}");
        // A hook that ran and denies counts.
        sandbox
            .user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}));
        fire_tool(&sandbox, &[]).expect_exit_code(2);
    }
    // Hooks for other events are not missing here.
    fire_tool(&with_hook("AfterTool", "*", "exit 2").untrusted(), &[]).expect_exit_code(0);
    assert_eq!(fire_tool(&sandbox(), &["--json"]).expect_exit_code(0).json()["doubts"], json!([]));
}

#[test]
fn an_unknown_tool_is_reported_with_a_suggestion() {
    let sandbox = sandbox();
    let fire = |tool: &str| sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", tool]);
    for tool in ["write_flie", "Write"] {
        let run = fire(tool).expect_exit_code(1);
        assert!(
            run.stdout.contains(&format!("there is no tool `{tool}`; did you mean `write_file`?")),
            "{}",
            run.stdout
        );
    }
    for tool in ["write_file", "WriteFileTool", "mcp__git__push", "mcp_git_push"] {
        fire(tool).expect_exit_code(0);
    }
}

/// A session reports the hook later; `hooks fire` waits for it and reports the same.
#[test]
fn a_hook_beside_its_event_is_waited_for_and_told_as_in_a_session() {
    let sandbox = sandbox();
    let no = r#"sleep 0.3; echo '{"decision": "deny", "reason": "late", "systemMessage": "looked at it"}'"#;
    let beside = json!({"type": "command", "name": "beside", "command": sandbox.script("no.sh", no), "async": true});
    let other = json!({"type": "command", "name": "other", "command": "true"});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [beside, other]}]}}));
    let text = fire_tool(&sandbox, &[]).expect_exit_code(0).stdout;
    let without_times = text.lines().map(|line| match (line.find(" ms, exit"), line.rfind(", ")) {
        (Some(end), Some(exit)) => format!("{}TIME{}", line[..end].trim_end_matches(|c: char| c != ' '), &line[exit..]),
        _ => line.to_owned(),
    });
    insta::assert_snapshot!(without_times.collect::<Vec<_>>().join("\n"), @r"
    BeforeTool write_file: 2 hooks, in parallel
      beside decides nothing (project, async, TIME, exit 0)
        warning: runs in the background (`async`), so what it decided does not count: late
      other no objection (project, TIME, exit 0)
    outcome
      decision: allowed
      message, later: looked at it
    ");
    let told = fire_tool(&sandbox, &["--json"]).expect_exit_code(0).json();
    let run = &told["runs"][0];
    assert_eq!(
        (&run["name"], &run["async"], &run["exit_code"]),
        (&json!("beside"), &json!(true), &json!(0)),
        "{told:#}"
    );
    assert_eq!(told["runs"][1]["async"], false);
    let warning = told["warnings"][0]["text"].as_str().unwrap();
    assert!(warning.contains("so what it decided does not count: late"), "{told:#}");
    assert_eq!(told["later"][0]["text"], "looked at it", "{told:#}");
}

#[test]
fn a_background_hook_has_its_timeout() {
    let sandbox = sandbox();
    let hook = json!({"type": "command", "name": "slow", "command": "sleep 600", "async": true, "timeout": 300});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let told = fire_tool(&sandbox, &["--json"]).expect_exit_code(0).json();
    assert_eq!(
        (&told["runs"][0]["name"], &told["runs"][0]["status"]),
        (&json!("slow"), &json!("timed_out")),
        "{told:#}"
    );
    assert_eq!(told["warnings"].as_array().unwrap().len(), 1, "{told:#}");
}
