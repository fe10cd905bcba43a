//! The values of headers are sent to the service and appear nowhere else.

use super::*;
use hookwright_testkit::fs;

const TOKEN: &str = "tok-9f3c-nobody-reads-this";
const LITERAL: &str = "lit-77aa-nobody-reads-this-either";

fn with_secrets(service: &TestHttpService) -> Sandbox {
    let hook = policy(
        &service.address,
        json!({"headers": {"Authorization": "Bearer $POLICY_TOKEN", "X-Api-Key": LITERAL}, "allowedEnvVars": ["POLICY_TOKEN"]}),
    );
    let sandbox = sandbox().env("POLICY_TOKEN", TOKEN);
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    sandbox
}

fn files_under(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

#[track_caller]
fn assert_secrets_nowhere(sandbox: &Sandbox, run: &ProgramRun) {
    for text in [&run.stdout, &run.stderr] {
        assert_lacks(text, TOKEN);
        assert_lacks(text, LITERAL);
    }
    let telemetry = sandbox.sibling_path("telemetry.log");
    let kept = files_under(&sandbox.home()).into_iter().chain(telemetry.exists().then_some(telemetry));
    for file in kept {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(TOKEN) && !text.contains(LITERAL), "in {}", file.display());
    }
}

#[test]
fn they_are_in_no_list_log_trace_record_or_message() {
    // It repeats the request, as error pages do.
    let echo = TestHttpService::start(|asked| {
        let page = format!("failed for {}", asked.header("authorization"));
        ServiceReply::status(500, "", page)
    });
    let sandbox = with_secrets(&echo);
    let outfile = sandbox.sibling_path("telemetry.log");
    let sandbox = sandbox
        .env("GEMINI_TELEMETRY_ENABLED", "true")
        .env("GEMINI_TELEMETRY_OUTFILE", outfile.to_str().unwrap())
        .env("HOOKWRIGHT_LOG", "trace");
    assert_secrets_nowhere(&sandbox, &sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0));
    for args in [
        &["hooks", "list"][..],
        &["hooks", "list", "--json"],
        &["hooks", "show", "policy"],
        &["hooks", "show", "policy", "--json"],
        &["hooks", "doctor"],
        &["hooks", "doctor", "--json"],
        &["hooks", "validate"],
        &["hooks", "validate", "--json"],
        &["hooks", "trust"],
        &["hooks", "fire", "BeforeTool", "--tool", "glob"],
        &["hooks", "fire", "BeforeTool", "--tool", "glob", "--json"],
    ] {
        assert_secrets_nowhere(&sandbox, &sandbox.run(args));
    }
    let run = prompt(&sandbox, &writes(), &["--debug"]);
    assert_contains(&run.stderr, "500");
    assert_secrets_nowhere(&sandbox, &run);
    assert!(
        echo.requests()
            .iter()
            .all(|asked| asked.header("authorization").ends_with(TOKEN) && asked.header("x-api-key") == LITERAL)
    );
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_secrets_nowhere(&sandbox, &sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string()));
    // Services that cannot be reached, and requests that cannot be sent.
    let gone = with_secrets(&echo);
    let text = gone.read(".gemini/settings.json").replace(&echo.address, "https://no-such-name.invalid");
    gone.write(".gemini/settings.json", text);
    assert_secrets_nowhere(&gone, &fire(&gone, &["--json"]));
    let broken = with_secrets(&echo).env("POLICY_TOKEN", &format!("{TOKEN}\r\nX-Evil: 1"));
    assert_secrets_nowhere(&broken, &fire(&broken, &["--json"]));
    assert_secrets_nowhere(&broken, &broken.run(&["hooks", "doctor"]));
}

#[test]
fn show_names_headers_and_their_variables() {
    let service = saying(json!({}));
    let sandbox = with_secrets(&service);
    let headers = &sandbox.run(&["hooks", "show", "policy", "--json"]).expect_exit_code(0).json()[0]["headers"];
    assert_eq!(*headers, json!({"Authorization": "Bearer ${POLICY_TOKEN}", "X-Api-Key": "…"}));
}

#[test]
fn a_value_that_would_be_more_than_one_header_is_not_sent() {
    let service = saying(json!({}));
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\u{7f}b", "caf\u{e9}", "   ", ""] {
        let sandbox = guarded(&service).env("TOKEN", value);
        let hook = policy(
            &service.address,
            json!({"guard": true, "headers": {"X-Token": "t $TOKEN"}, "allowedEnvVars": ["TOKEN"]}),
        );
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
        let run = fire(&sandbox, &[]);
        assert_eq!(run.code, Some(2), "{value:?}: {run:#?}");
        assert_contains(&run.stdout, "the header X-Token");
    }
    assert_eq!(service.connections(), 0);
}

#[test]
fn an_unset_variable_is_reported_and_prevents_a_headless_start() {
    let service = saying(json!({}));
    let hook = policy(
        &service.address,
        json!({"guard": true, "headers": {"Authorization": "Bearer $POLICY_TOKEN"}, "allowedEnvVars": ["POLICY_TOKEN"]}),
    );
    let sandbox = project("BeforeTool", hook);
    let doctor = sandbox.run(&["hooks", "doctor"]).expect_exit_code(1);
    assert_contains(&doctor.stdout, "the header Authorization needs $POLICY_TOKEN, which is not set");
    assert_contains(&sandbox.run(&["hooks", "list"]).stdout, "inert");
    assert_contains(&sandbox.run(&["hooks", "show", "policy"]).stdout, "set the variable where the agent is started");
    let run = prompt(&sandbox, &writes(), &[]).expect_exit_code(52);
    assert_contains(&run.stderr, "policy");
    fire(&sandbox, &[]).expect_exit_code(2);
    assert!(!sandbox.has_file("a.txt") && service.connections() == 0);
}
