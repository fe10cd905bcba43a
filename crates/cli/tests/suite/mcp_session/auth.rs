//! `hookwright mcp auth` and `mcp logout` with the built binary, from the first 401 to a call with a renewed token.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use hookwright_testkit::deadline::run_in_time;
use hookwright_testkit::http::{browse, form_field};
use hookwright_testkit::{ProgramRun, Sandbox, finish};

use super::authority::{AuthorityBehaviour, FakeAuthority, kept, page_in};
use super::{YOLO_ARGS, all_text, echo_replay, run_prompt, sandbox, seen_inputs, tool_results};

/// Starts the program, which waits for the browser, and returns the page for the browser.
fn begin(sandbox: &Sandbox) -> (Child, String) {
    let mut child = sandbox.command(&["mcp", "auth", "demo"]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let (all, page, rest) = run_in_time(move || {
        let mut all = String::new();
        loop {
            assert!(said.read_line(&mut all).unwrap() > 0, "no address: {all}");
            if let Some(page) = page_in(&all) {
                return (all, page, said.into_inner());
            }
        }
    });
    assert!(all.contains("sign in to `demo` at 127.0.0.1, in a browser on this machine:"), "{all}");
    // Its later output belongs to the run.
    child.stderr = Some(rest);
    (child, page)
}

fn signed_in(sandbox: &Sandbox) -> ProgramRun {
    let (child, page) = begin(sandbox);
    let (status, text) = browse(&page);
    assert!(status == 200 && text.contains("You are signed in"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    finish(child).expect_exit_code(0)
}

#[test]
fn a_user_signs_in_and_the_model_calls_with_the_token_past_the_hooks() {
    let authority = FakeAuthority::new(AuthorityBehaviour::Grants(3600));
    let sandbox = sandbox(authority.settings());
    let test = sandbox.run(&["mcp", "test", "demo"]).expect_exit_code(1);
    assert!(test.stderr.contains("hookwright mcp auth demo"), "{test:?}");
    let before = run_prompt(&sandbox, "hi", &echo_replay(), YOLO_ARGS).expect_exit_code(0);
    assert!(before.stderr.contains("needs authentication") || before.stdout.contains("needs authentication"));
    let run = signed_in(&sandbox);
    assert!(run.stderr.contains("signed in to `demo`"), "{run:?}");
    assert!(!format!("{run:?}").contains("s3cret"), "{run:?}");
    let file = sandbox.home().join(".gemini/mcp-oauth-tokens.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(kept(&sandbox).unwrap().contains("s3cret-token-1"));
    let run = run_prompt(&sandbox, "hi", &echo_replay(), &["--approval-mode=yolo", "--debug"]).expect_exit_code(0);
    assert_eq!(tool_results(&run)[0]["output"], "hello there", "{}", run.stdout);
    assert_eq!(seen_inputs(&sandbox).last().unwrap()["hook_event_name"], "AfterTool");
    assert!(!sandbox.read("seen").contains("s3cret"));
    assert!(!all_text(&sandbox.home().join(".gemini/hookwright/logs")).contains("s3cret"), "no token in a log");
    sandbox.run(&["mcp", "logout", "demo"]).expect_exit_code(0);
    assert!(!kept(&sandbox).unwrap_or_default().contains("s3cret"));
    let again = sandbox.run(&["mcp", "logout", "demo"]).expect_exit_code(1);
    assert!(again.stderr.contains("there is no token for `demo`"), "{again:?}");
    sandbox.run(&["mcp", "test", "demo"]).expect_exit_code(1);
}

/// Any process on this machine can connect to the listener.
#[test]
fn a_callback_with_another_state_is_rejected() {
    let authority = FakeAuthority::new(AuthorityBehaviour::Grants(3600));
    let sandbox = sandbox(authority.settings());
    let (mut child, page) = begin(&sandbox);
    let query = page.split_once('?').unwrap().1;
    let back = form_field(query, "redirect_uri").unwrap();
    for wrong in ["state=wrong&code=s3cret-evil", "code=s3cret-evil", "state=&code=s3cret-evil"] {
        assert_eq!(browse(&format!("{back}?{wrong}")).0, 400, "{wrong}");
    }
    assert!(child.try_wait().unwrap().is_none() && kept(&sandbox).is_none(), "it goes on waiting");
    assert_eq!(authority.grants("authorization_code"), 0);
    assert_eq!(browse(&page).0, 200);
    finish(child).expect_exit_code(0);
    assert_eq!(authority.grants("authorization_code"), 1);
}

#[test]
fn a_refused_sign_in_is_reported_and_saves_nothing() {
    let authority = FakeAuthority::new(AuthorityBehaviour::Refuses);
    let sandbox = sandbox(authority.settings());
    let (child, page) = begin(&sandbox);
    let (status, text) = browse(&page);
    assert!(status == 200 && text.contains("You are not signed in"), "{text}");
    let run = finish(child).expect_exit_code(1);
    assert!(run.stderr.contains("the authorisation server refuses: access_denied: not today"), "{run:?}");
    assert!(kept(&sandbox).is_none());
}

#[test]
fn a_token_that_has_run_out_is_renewed_and_so_is_one_that_is_refused() {
    let authority = FakeAuthority::new(AuthorityBehaviour::Grants(1));
    let sandbox = sandbox(authority.settings());
    signed_in(&sandbox);
    let run = run_prompt(&sandbox, "hi", &echo_replay(), YOLO_ARGS).expect_exit_code(0);
    assert_eq!(tool_results(&run)[0]["output"], "hello there", "{}", run.stdout);
    assert_eq!(authority.grants("refresh_token"), 1);
    assert!(kept(&sandbox).unwrap().contains("s3cret-token-2"));
    authority.revoke();
    let run = run_prompt(&sandbox, "hi", &echo_replay(), YOLO_ARGS).expect_exit_code(0);
    assert_eq!(tool_results(&run)[0]["output"], "hello there", "{}", run.stdout);
    assert_eq!(authority.grants("refresh_token"), 2);
    assert_eq!(authority.grants("authorization_code"), 1, "the user is asked once");
    let file = sandbox.home().join(".gemini/mcp-oauth-tokens.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn servers_that_need_no_sign_in_or_do_not_exist_are_reported() {
    let sandbox = sandbox(serde_json::json!({ "local": super::demo_server() }));
    let local = sandbox.run(&["mcp", "auth", "local"]).expect_exit_code(1);
    assert!(local.stderr.contains("which needs no sign-in"), "{local:?}");
    let none = sandbox.run(&["mcp", "auth", "nobody"]).expect_exit_code(1);
    assert!(none.stderr.contains("no MCP server is called `nobody`"), "{none:?}");
}
