//! The journal through the program: what sessions and the bridge put on record, and what users read of it.

use hookwright_testkit::{Sandbox, fs};
use serde_json::{Value, json};

use crate::sandbox;

/// A project with a rule that denies pushes, and a hook that watches results.
fn guarded() -> Sandbox {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {
        "BeforeTool": [{"hooks": [
            {"type": "rule", "name": "no-push", "guard": true, "decision": "deny", "reason": "ask a maintainer",
             "when": {"commands": ["git push *"]}, "onDoubt": "allow"},
            {"type": "command", "name": "watch", "command": "cat >/dev/null"},
        ]}],
    }}));
    sandbox
}

fn lines(sandbox: &Sandbox, terms: &[&str]) -> Vec<Value> {
    let run = sandbox.run(&[&["journal", "query", "--json", "-n", "1000"], terms].concat()).expect_exit_code(0);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(command: &str) -> String {
    format!("call run_shell_command {}", json!({"command": command}))
}

#[test]
fn a_session_puts_events_and_calls_on_record() {
    let sandbox = guarded();
    let prompt = format!("{}\n{}\nsay done", call("git push origin"), call("echo hi"));
    sandbox.run(&["-p", &prompt, "--approval-mode", "yolo"]).expect_exit_code(0);
    let denied = lines(&sandbox, &["verdict=deny"]);
    assert_eq!(denied.len(), 1, "{denied:#?}");
    let line = &denied[0];
    assert_eq!(
        (&line["agent"], &line["event"], &line["tool"]),
        (&json!("hookwright"), &json!("BeforeTool"), &json!("run_shell_command"))
    );
    assert_eq!((&line["decided_by"], &line["content"]["reason"]), (&json!(["no-push"]), &json!("ask a maintainer")));
    assert_eq!(line["content"]["input"]["tool_input"]["command"], "git push origin");
    assert_eq!(line["content"]["effects"]["commands"][0][0], "git");
    assert_eq!((&line["hooks"][0]["guard"], &line["hooks"][0]["matched"]), (&json!(true), &json!("commands")));
    let calls: Vec<(Value, Value)> = lines(&sandbox, &["kind=call"])
        .into_iter()
        .map(|line| (line["call"].clone(), line["result"].clone()))
        .collect();
    assert_eq!(calls.iter().map(|(_, result)| result.as_str().unwrap()).collect::<Vec<_>>(), ["refused", "ran"]);
    assert_eq!(calls[0].0, line["call"]);
    sandbox.run(&["journal", "verify"]).expect_exit_code(0);
    let list = sandbox.run(&["journal", "list"]).expect_exit_code(0).stdout;
    assert!(list.contains("deny") && list.contains("git push origin"), "{list}");
    let shown = sandbox.run(&["journal", "show", &line["seq"].to_string()]).expect_exit_code(0).stdout;
    assert!(shown.contains("no-push (rule, project): ok, deny") && shown.contains("ask a maintainer"), "{shown}");
    let stats = sandbox.run(&["journal", "stats", "--json"]).expect_exit_code(0).json();
    assert_eq!((&stats["hooks"][0]["hook"], &stats["hooks"][0]["runs"]), (&json!("watch"), &json!(2)), "{stats:#}");
    let csv = sandbox.run(&["journal", "export", "--csv", "verdict=deny"]).expect_exit_code(0).stdout;
    assert_eq!(csv.lines().count(), 2, "{csv}");
}

#[test]
fn without_a_hook_there_is_no_line() {
    let sandbox = sandbox();
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    assert!(!sandbox.home().join(".gemini/hookwright/journal/head").exists());
    let list = sandbox.run(&["journal", "list"]).expect_exit_code(0);
    assert!(list.stderr.contains("no line of the journal matches"), "{list:#?}");
}

#[test]
fn what_hooks_redact_or_hide_is_nowhere() {
    for answer in [
        json!({"suppressOutput": true}),
        json!({"hookSpecificOutput": {"redact_input": true}}),
        json!({"decision": "deny", "reason": "it says swordfish", "suppressOutput": true}),
    ] {
        let sandbox = sandbox();
        let command = sandbox.script("guard.sh", &format!("cat >/dev/null\necho '{answer}'"));
        sandbox.settings(
            &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "guard", "command": command}]}]}}),
        );
        sandbox.run(&["-p", &call("echo swordfish"), "--approval-mode", "yolo"]).expect_exit_code(0);
        let events = lines(&sandbox, &["event=BeforeTool"]);
        assert_eq!(events.len(), 1, "{answer}");
        assert!(events[0]["withheld"].is_string() && events[0].get("content").is_none(), "{answer}: {:#}", events[0]);
        let segment = sandbox.home().join(".gemini/hookwright/journal/00000001.jsonl");
        let text = fs::read_to_string(segment).unwrap();
        assert!(!text.contains("swordfish"), "{answer}: {text}");
    }
}

#[test]
fn a_denied_prompt_is_not_in_it() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "cat >/dev/null\necho no >&2; exit 2");
    sandbox.settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "guard", "command": command}]}]}}),
    );
    sandbox.run(&["-p", "say swordfish"]).expect_exit_code(0);
    let text = fs::read_to_string(sandbox.home().join(".gemini/hookwright/journal/00000001.jsonl")).unwrap();
    assert!(text.contains("BeforeAgent") && !text.contains("swordfish"), "{text}");
}

#[test]
fn settings_decide_what_is_kept() {
    let sandbox = guarded();
    let settings = |journal: Value| sandbox.user_settings(&json!({"journal": journal}));
    settings(json!({"enabled": false}));
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    assert!(!sandbox.home().join(".gemini/hookwright/journal/head").exists());
    settings(json!({"content": "none"}));
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    let event = &lines(&sandbox, &["event=BeforeTool"])[0];
    assert_eq!(event["withheld"], "journal.content is none");
    settings(json!({"content": "full"}));
    sandbox.run(&["-p", &call("echo token=abcdefghijkl"), "--approval-mode", "yolo"]).expect_exit_code(0);
    assert_eq!(lines(&sandbox, &["text=abcdefghijkl", "kind=event"]).len(), 1);
    settings(json!({}));
    sandbox.run(&["-p", &call("echo token=mnopqrstuvwx"), "--approval-mode", "yolo"]).expect_exit_code(0);
    assert_eq!(lines(&sandbox, &["text=mnopqrstuvwx"]).len(), 0);
}

#[test]
fn a_project_cannot_switch_it_off() {
    let sandbox = sandbox();
    sandbox.settings(&json!({
        "journal": {"enabled": false, "content": "none"},
        "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "watch", "command": "cat >/dev/null"}]}]},
    }));
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    assert!(lines(&sandbox, &["event=BeforeTool"])[0]["content"].is_object());
}

#[test]
fn the_first_session_says_that_there_is_a_record() {
    let sandbox = guarded();
    let words = "what hooks decide is recorded in";
    let first = sandbox.run(&["-p", "say hi"]).expect_exit_code(0);
    assert!(first.stderr.contains(words) && first.stderr.contains("journal.enabled"), "{first:#?}");
    let second = sandbox.run(&["-p", "say hi"]).expect_exit_code(0);
    assert!(!second.stderr.contains(words), "{second:#?}");
    assert!(sandbox.run(&["-p", "/about"]).expect_exit_code(0).stdout.contains(words));
}

#[test]
fn content_is_forgotten_by_session_and_by_time() {
    let sandbox = guarded();
    sandbox.run(&["-p", &call("echo swordfish"), "--approval-mode", "yolo"]).expect_exit_code(0);
    let session = lines(&sandbox, &["event=BeforeTool"])[0]["session"].as_str().unwrap().to_owned();
    sandbox.run(&["journal", "forget", "unknown-session"]).expect_exit_code(1);
    sandbox.run(&["journal", "forget", &session]).expect_exit_code(0);
    assert_eq!(lines(&sandbox, &["text=swordfish"]).len(), 0);
    assert_eq!(lines(&sandbox, &["event=BeforeTool"]).len(), 1);
    sandbox.run(&["-p", &call("echo marlin"), "--approval-mode", "yolo"]).expect_exit_code(0);
    sandbox.run(&["journal", "forget", "--before", "0s"]).expect_exit_code(0);
    assert_eq!(lines(&sandbox, &["text=marlin"]).len(), 0);
    let verified = sandbox.run(&["journal", "verify", "--json"]).expect_exit_code(0).json();
    assert!(verified["forgotten"].as_u64().unwrap() >= 2, "{verified}");
}

#[test]
fn damage_is_named() {
    let sandbox = guarded();
    sandbox.run(&["-p", &call("git push origin"), "--approval-mode", "yolo"]).expect_exit_code(0);
    let path = sandbox.home().join(".gemini/hookwright/journal/00000001.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"verdict\":\"deny\"", "\"verdict\":\"pass\"")).unwrap();
    let run = sandbox.run(&["journal", "verify"]).expect_exit_code(1);
    assert!(run.stdout.contains("it was changed after it was written"), "{run:#?}");
    let seal = sandbox.run(&["journal", "seal"]).expect_exit_code(1);
    assert!(seal.stderr.contains("does not verify"), "{seal:#?}");
}

#[test]
fn bad_input_is_said() {
    let sandbox = sandbox();
    for (args, words) in [
        (&["journal", "query", "colour=red"][..], "`colour` is not a key"),
        (&["journal", "query", "deny"], "key=value"),
        (&["journal", "query", "since=yesterday"], "is not a time"),
        (&["journal", "show", "7"], "line 7 is not in the journal"),
        (&["journal", "forget", "--before", "soon"], "is not a time"),
        (&["journal", "verify", "--seal", "missing"], "missing can't be read"),
        (&["journal", "seal", "--key", "missing"], "missing can't be read"),
    ] {
        let run = sandbox.run(args).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{args:?}: {run:#?}");
    }
    sandbox.run(&["journal", "stats"]).expect_exit_code(0);
    sandbox.run(&["journal", "verify"]).expect_exit_code(0);
}

#[test]
fn verdicts_are_exported_as_log_records() {
    let sandbox = guarded();
    sandbox.run(&["-p", &call("git push origin"), "--approval-mode", "yolo"]).expect_exit_code(0);
    sandbox.run(&["journal", "export", "verdict=deny", "--otlp", "out.json"]).expect_exit_code(0);
    let body: Value = serde_json::from_str(&fs::read_to_string(sandbox.project().join("out.json")).unwrap()).unwrap();
    let record = &body["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    assert_eq!(record["eventName"], "hookwright.verdict", "{body:#}");
    let attributes = record["attributes"].to_string();
    assert!(attributes.contains("hookwright.verdict.decision") && attributes.contains("ask a maintainer"), "{body:#}");
    let refused = sandbox.run(&["journal", "export", "--otlp", "http://127.0.0.1:9"]).expect_exit_code(1);
    assert!(refused.stderr.contains("http://127.0.0.1:9"), "{refused:#?}");
}

#[test]
fn the_page_holds_the_lines_and_is_private() {
    let sandbox = guarded();
    let none = sandbox.run(&["journal", "page"]).expect_exit_code(1);
    assert!(none.stderr.contains("no line of the journal matches"), "{none:#?}");
    sandbox.run(&["-p", &call("git push '</script>'"), "--approval-mode", "yolo"]).expect_exit_code(0);
    let run = sandbox.run(&["journal", "page", "--since", "1d", "-o", "page.html"]).expect_exit_code(0);
    assert!(run.stdout.trim().ends_with("page.html"), "{run:#?}");
    let file = sandbox.project().join("page.html");
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("ask a maintainer") && !page.contains("push '</script>"), "{page}");
    // It tells the story of an event in the words of `hooks why`.
    let why = sandbox.run(&["hooks", "why", "last", "denied"]).expect_exit_code(0).stdout;
    for words in ["The decision was deny, by no-push. Reason: ask a maintainer.", "refused by hook"] {
        assert!(why.contains(words) && page.contains(words), "{words}: {why}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

fn user_policy(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".gemini/policies");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("p.toml"), text).unwrap();
}

/// A policy's decision is on record with its file, also about a call that no hook has seen.
#[test]
fn policies_are_on_record_and_replayed() {
    let sandbox = sandbox();
    let rule = |command: &str| {
        format!(
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{command}\"\ndecision = \"deny\"\npriority = 5\n"
        )
    };
    user_policy(&sandbox, &rule("git push"));
    let prompt = format!("{}\n{}\nsay done", call("git push origin"), call("echo hi"));
    sandbox.run(&["-p", &prompt, "--approval-mode", "yolo"]).expect_exit_code(0);
    // Nobody decided about the other call, so that it left no line.
    let events = lines(&sandbox, &["kind=event"]);
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["content"]["input"]["tool_input"]["command"], "git push origin");
    assert_eq!((&events[0]["verdict"], &events[0]["hooks"]), (&json!("pass"), &Value::Null));
    let ends = lines(&sandbox, &["verdict=deny"]);
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert_eq!((&ends[0]["kind"], &ends[0]["refused_by"]), (&json!("call"), &json!("policy")));
    let policy = &ends[0]["policy"];
    assert_eq!((&policy["verdict"], &policy["line"]), (&json!("deny"), &json!(1)), "{policy}");
    assert!(policy["file"].as_str().unwrap().ends_with(".gemini/policies/p.toml"), "{policy}");
    let why = sandbox.run(&["hooks", "why", "last", "denied"]).expect_exit_code(0).stdout;
    for words in ["Denied by a policy: run_shell_command `git push origin`", "It was denied, by the rule at"] {
        assert!(why.contains(words), "{words}: {why}");
    }
    let shown = sandbox.run(&["journal", "show", &ends[0]["seq"].to_string()]).expect_exit_code(0).stdout;
    assert!(shown.contains("deny, by the rule at"), "{shown}");
    sandbox.run(&["journal", "verify"]).expect_exit_code(0);

    let same = sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    assert!(same.stdout.contains("and 1 policy rule about 1 of 1"), "{same:?}");
    user_policy(&sandbox, &rule("git pull"));
    let report = sandbox.run(&["hooks", "replay", "--json"]).expect_exit_code(1).json();
    assert_eq!(report["no_longer_stops"][0]["by"], json!(["a policy"]), "{report:#}");
    // Other agents do not know the policies.
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t",
        "cwd": sandbox.project(), "tool_input": {"command": "git pull"}});
    sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string()).expect_exit_code(0);
    let report = sandbox.run(&["hooks", "replay", "--json"]).expect_exit_code(1).json();
    assert_eq!((&report["replayed"], &report["stops"]), (&json!(2), &json!([])), "{report:#}");
}

#[test]
fn a_new_policy_is_tried_on_what_hooks_have_seen() {
    let sandbox = guarded();
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    user_policy(
        &sandbox,
        "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\ndenyMessage = \"no shell\"\n",
    );
    let report = sandbox.run(&["hooks", "replay", "--json"]).expect_exit_code(1).json();
    let stop = &report["stops"][0];
    assert_eq!((&stop["before"], &stop["after"]), (&json!("pass"), &json!("deny")), "{report:#}");
    assert!(stop["by"][0].as_str().unwrap().contains("policies/p.toml:1"), "{report:#}");
    assert_eq!(stop["reason"], "Tool execution denied by policy: no shell");
    // One hook alone is compared with itself.
    let one = sandbox.run(&["hooks", "replay", "--hook", "no-push", "--json"]).expect_exit_code(0).json();
    assert_eq!(one["stops"], json!([]), "{one:#}");
}

/// A key with a passphrase signs by ssh-keygen; another kind of key is refused with what to do.
#[test]
fn seals_are_signed_with_keys_that_have_a_passphrase() {
    if !hookwright_testkit::has_program("ssh-keygen") {
        hookwright_testkit::report_skipped("journal", "there is no ssh-keygen");
        return;
    }
    let sandbox = guarded();
    sandbox.run(&["-p", &call("echo hi"), "--approval-mode", "yolo"]).expect_exit_code(0);
    sandbox.script("ask", "echo long-secret");
    let asks = sandbox.project().join(".gemini/hooks/ask").display().to_string();
    let sandbox = sandbox.env("SSH_ASKPASS", &asks).env("SSH_ASKPASS_REQUIRE", "force");
    let make = |kind: &str, passphrase: &str| {
        let file = sandbox.project().join(kind);
        let mut program = std::process::Command::new("ssh-keygen");
        program.args(["-q", "-t", kind, "-N", passphrase, "-f"]).arg(&file).stdin(std::process::Stdio::null());
        hookwright_testkit::finish(program.spawn().unwrap()).expect_exit_code(0);
        file.display().to_string()
    };
    let ecdsa = make("ecdsa", "");
    let refused = sandbox.run(&["journal", "seal", "--key", &ecdsa]).expect_exit_code(1);
    assert!(refused.stderr.contains("`ssh-keygen -t ed25519 -f FILE` makes one"), "{refused:?}");
    let key = make("ed25519", "long-secret");
    let sealed = sandbox.run(&["journal", "seal", "--key", &key]).expect_exit_code(0);
    let seal = sandbox.write("seal", &sealed.stdout).display().to_string();
    let public = format!("{key}.pub");
    let checked = sandbox.run(&["journal", "verify", "--seal", &seal, "--key", &public]).expect_exit_code(0);
    assert!(checked.stdout.contains("holds, signed by SHA256:"), "{checked:?}");
    let wrong = sandbox.env("SSH_ASKPASS", "/bin/false");
    let failed = wrong.run(&["journal", "seal", "--key", &key]).expect_exit_code(1);
    assert!(failed.stdout.is_empty() && failed.stderr.contains("nothing is sealed"), "{failed:?}");
}
