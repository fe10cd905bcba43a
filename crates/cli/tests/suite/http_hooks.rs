//! HTTP hooks end to end: the real binary against real services on this machine, which answer well, badly and not at
//! all. Lists, trust and the screen are tested here too.

mod connections;
mod example;
mod failing;
mod redirects;
mod secrets;
mod toolbox;

use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::http::TestHttpRequest;
use hookwright_testkit::http::service::{ServiceReply, TestHttpService};
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox};
use serde_json::{Value, json};

use super::agent::{assert_contains, assert_lacks};
use crate::sandbox;

/// An HTTP hook named `policy`, with more keys.
fn policy(url: &str, more: Value) -> Value {
    let mut hook = json!({"type": "http", "name": "policy", "url": url, "timeout": 30000});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

/// A project with this one hook.
fn project(event: &str, hook: Value) -> Sandbox {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {event: [{"hooks": [hook]}]}}));
    sandbox
}

/// A project whose guard on BeforeTool is this service.
fn guarded(service: &TestHttpService) -> Sandbox {
    project("BeforeTool", policy(&format!("{}/hook", service.address), json!({"guard": true})))
}

fn fire(sandbox: &Sandbox, more: &[&str]) -> ProgramRun {
    let args =
        ["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", r#"{"file_path": "a", "content": "b"}"#];
    sandbox.run(&[&args, more].concat())
}

fn prompt(sandbox: &Sandbox, replay: &ReplayBuilder, more: &[&str]) -> ProgramRun {
    let file = sandbox.replay(replay);
    sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"], more].concat())
}

fn writes() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

fn saying(answer: Value) -> TestHttpService {
    TestHttpService::start(move |_| ServiceReply::json(&answer))
}

#[test]
fn a_service_is_sent_what_a_command_is_told_and_the_headers_that_it_may_have() {
    let service = saying(json!({}));
    let sandbox = sandbox()
        .env("POLICY_TOKEN", " abc123-of-the-team ")
        .env("TEAM", "payments")
        .env("OTHER_THING", "is-nobodys-business");
    let command = sandbox.script("see.sh", "cat > \"$GEMINI_PROJECT_DIR/seen.json\"");
    let hook = policy(
        &format!("{}/v1/hook?team=a", service.address),
        json!({
            "headers": {"Authorization": "Bearer $POLICY_TOKEN", "X-Team": "${TEAM}/5$", "X-Fixed": "as it is"},
            "allowedEnvVars": ["POLICY_TOKEN", "TEAM", "OTHER_THING"],
        }),
    );
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook, {"type": "command", "command": command}]}]}}));
    fire(&sandbox, &[]).expect_exit_code(0);
    let [asked] = &service.requests()[..] else { panic!("one request") };
    assert_eq!((asked.method.as_str(), asked.path.as_str(), asked.query.as_str()), ("POST", "/v1/hook", "team=a"));
    assert_eq!(asked.body, sandbox.read("seen.json").trim_end());
    assert_eq!(asked.json()["tool_input"]["content"], "b");
    let mut headers: Vec<(&str, &str)> =
        asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.sort_unstable();
    let length = asked.body.len().to_string();
    let expected = [
        ("accept", "application/json"),
        ("authorization", "Bearer abc123-of-the-team"),
        ("content-length", length.as_str()),
        ("content-type", "application/json"),
        ("host", service.address.trim_start_matches("http://")),
        ("user-agent", "hookwright"),
        ("x-fixed", "as it is"),
        ("x-team", "payments/5$"),
    ];
    assert_eq!(headers, expected);
}

#[test]
fn an_object_is_obeyed_and_what_is_no_objection_is_none() {
    for (answer, code) in [
        (ServiceReply::json(&json!({"decision": "deny", "reason": "not in this team"})), 2),
        (ServiceReply::json(&json!({"decision": "block"})), 2),
        (ServiceReply::json(&json!({"continue": false, "stopReason": "enough"})), 2),
        (ServiceReply::json(&json!({"decision": "ask", "reason": "sure?"})), 3),
        (ServiceReply::json(&json!({"decision": "allow"})), 0),
        (ServiceReply::json(&json!({})), 0),
        (ServiceReply::status(204, "", ""), 0),
        (ServiceReply::status(204, "content-length: 0\r\n", ""), 0),
        (ServiceReply::status(201, "", "{\"decision\": \"deny\"}"), 2),
        // A byte order mark, white space, no content type, another content type.
        (ServiceReply::status(200, "", "\u{feff} \r\n{\"decision\": \"deny\"}\n"), 2),
        (ServiceReply::status(200, "content-type: text/html\r\n", "{\"decision\": \"deny\"}"), 2),
        (ServiceReply::Close(b"HTTP/1.0 200 OK\r\n\r\n{\"decision\": \"deny\"}".to_vec()), 2),
        (ServiceReply::KeepAlive(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{\"decisio\r\nb\r\nn\": \"deny\"}\r\n0\r\n\r\n".to_vec()), 2),
        (ServiceReply::KeepAlive(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"decision\": \"deny\"}".to_vec()), 2),
    ] {
        let reply = answer.clone();
        let service = TestHttpService::start(move |_| reply.clone());
        let run = fire(&guarded(&service), &[]);
        assert_eq!(run.code, Some(code), "{answer:?}: {run:#?}");
    }
}

#[test]
fn a_rewrite_a_context_a_stop_and_an_ask_do_in_a_session_what_a_commands_would() {
    let service = TestHttpService::start(|asked| {
        let input = asked.json();
        ServiceReply::json(&match input["hook_event_name"].as_str().unwrap() {
            "BeforeTool" => json!({"hookSpecificOutput": {"tool_input": {"content": "rewritten"}}}),
            "BeforeAgent" => json!({"hookSpecificOutput": {"additionalContext": "the code is frozen"}}),
            "AfterTool" => json!({"continue": false, "stopReason": "that will do"}),
            _ => json!({}),
        })
    });
    let sandbox = sandbox();
    let hook = || json!([{"hooks": [policy(&service.address, json!({}))]}]);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": hook(), "BeforeAgent": hook(), "AfterTool": hook(), "BeforeModel": hook()}}),
    );
    let run = prompt(&sandbox, &writes(), &[]);
    assert_eq!(sandbox.read("a.txt"), "rewritten", "{run:#?}");
    assert_contains(&run.stderr, "that will do");
    let told = service.requests().iter().find(|asked| asked.body.contains("\"BeforeModel\"")).unwrap().body.clone();
    assert_contains(&told, "the code is frozen");
    // There is no user to ask.
    let service = saying(json!({"decision": "ask", "reason": "sure?"}));
    let sandbox = guarded(&service);
    prompt(&sandbox, &writes(), &[]);
    assert!(!sandbox.has_file("a.txt"));
}

#[test]
fn a_hook_of_claude_codes_files_runs_in_its_words() {
    let service = TestHttpService::start(|asked| {
        let is_push = asked.json()["tool_input"]["command"].as_str().is_some_and(|command| command.contains("push"));
        let denied = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no pushes"}});
        ServiceReply::json(&if is_push { denied } else { json!({}) })
    });
    let sandbox = sandbox().env("TOKEN", "tok-1");
    sandbox.user_settings(&json!({"hooksConfig": {"readClaude": true}}));
    let hook = json!({"type": "http", "url": format!("{}/pre", service.address), "timeout": 20,
        "headers": {"Authorization": "Bearer $TOKEN"}, "allowedEnvVars": ["TOKEN"]});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    sandbox.write(".claude/settings.json", settings.to_string());
    let fire = |command: &str| {
        let args = json!({"command": command}).to_string();
        sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "run_shell_command", "--args", &args])
    };
    assert_contains(&fire("git push").expect_exit_code(2).stdout, "no pushes");
    fire("ls").expect_exit_code(0);
    let asked: Vec<TestHttpRequest> = service.requests();
    assert_eq!(asked[0].header("authorization"), "Bearer tok-1");
    let input = asked[0].json();
    assert_eq!((&input["hook_event_name"], &input["tool_name"]), (&json!("PreToolUse"), &json!("Bash")));
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!(
        (&list[0]["type"], &list[0]["dialect"], &list[0]["timeout_ms"]),
        (&json!("http"), &json!("claude"), &json!(20000))
    );
}

#[test]
fn a_background_hook_is_sent_and_a_disabled_hook_is_not() {
    let sandbox = sandbox();
    let go = sandbox.project().join("go");
    let service = TestHttpService::start(move |_| {
        std::fs::write(&go, "").unwrap();
        ServiceReply::json(&json!({"decision": "deny"}))
    });
    let hook = policy(&service.address, json!({"async": true}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    // The call runs until the service has got the background request.
    let call = json!({"command": "until [ -e go ]; do sleep 0.05; done; echo over > a.txt"});
    prompt(&sandbox, &ReplayBuilder::new().calls("run_shell_command", call).says("done"), &[]).expect_exit_code(0);
    assert_eq!((sandbox.read("a.txt").trim(), service.requests().len()), ("over", 1));
    sandbox.settings(&json!({"hooksConfig": {"disabled": ["policy"]}, "hooks": {"BeforeTool": [{"hooks": [policy(&service.address, json!({}))]}]}}));
    fire(&sandbox, &[]).expect_exit_code(1);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [policy(&service.address, json!({"enabled": false}))]}]}}),
    );
    fire(&sandbox, &[]).expect_exit_code(1);
    assert_eq!(service.requests().len(), 1, "nobody else was asked");
}

#[test]
fn in_a_sequence_the_next_sees_what_the_first_changed_and_a_no_ends_it() {
    let first = saying(json!({"hookSpecificOutput": {"tool_input": {"content": "of the first"}}}));
    let second = saying(json!({"decision": "deny", "reason": "seen"}));
    let third = saying(json!({}));
    let hooks = [(&first, "one"), (&second, "two"), (&third, "three")]
        .map(|(service, name)| policy(&service.address, json!({"name": name})));
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"sequential": true, "hooks": hooks}]}}));
    fire(&sandbox, &[]).expect_exit_code(2);
    assert_eq!(second.requests()[0].json()["tool_input"]["content"], "of the first");
    assert_eq!(third.requests().len(), 0);
}

/// Returns the text of the answer's piece in a request to the service.
fn text_of(asked: &TestHttpRequest) -> String {
    asked.json()["llm_response"]["candidates"][0]["content"]["parts"][0].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_answer_in_pieces_is_asked_about_by_the_sentence() {
    let service = TestHttpService::start(|asked| {
        let text = asked
            .body
            .contains("hunter2")
            .then(|| json!({"hookSpecificOutput": {"llm_response": {"text": "[gone]. "}}}));
        ServiceReply::json(&text.unwrap_or_else(|| json!({})))
    });
    let sandbox = project("AfterModel", policy(&service.address, json!({"chunks": "sentence"})));
    let run =
        prompt(&sandbox, &ReplayBuilder::new().says_in_chunks(&["It is hun", "ter2. And", " that is", " all."]), &[])
            .expect_exit_code(0);
    assert_eq!(
        run.stdout.trim(),
        "[gone]. And that is all.",
        "{:?}",
        service.requests().iter().map(text_of).collect::<Vec<_>>()
    );
    assert_eq!(service.requests().len(), 2);
}

#[test]
fn a_cancel_in_the_middle_ends_at_once() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for answer in [
            ServiceReply::Stall(Vec::new()),
            ServiceReply::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()),
        ] {
            let service = TestHttpService::start(move |_| answer.clone());
            let sandbox = guarded(&service);
            let file = sandbox.replay(&writes());
            let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
            let child = sandbox.command(&args).spawn().unwrap();
            hookwright_testkit::wait_until("the service is asked", || !service.requests().is_empty());
            let since = std::time::Instant::now();
            Command::new("kill").args([signal, &child.id().to_string()]).status_in_time().unwrap();
            let run = hookwright_testkit::finish(child);
            assert!(since.elapsed().as_secs() < 20, "{signal}: {:?}", since.elapsed());
            assert!(!sandbox.has_file("a.txt") && run.code == Some(code), "{signal}: {run:#?}");
        }
    }
}
