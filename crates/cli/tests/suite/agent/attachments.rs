//! Piped text attaches nothing. The attachments of a prompt are in `crates/agent/tests/suite/headless/attachments.rs`.

use super::*;

const SECRET: &str = "hunter2";

/// A project with a secret in `.env` and a custom command that reads it and runs something.
fn project_with_command(hooks: &[(&str, &str, &str)], prompt: &str) -> Sandbox {
    let sandbox = project(hooks);
    sandbox.write(".env", "PASSWORD=hunter2");
    sandbox.write("a.txt", "the content");
    sandbox.write(".gemini/commands/look.toml", format!("prompt = '''{prompt}'''"));
    sandbox
}

#[test]
fn piped_text_attaches_nothing_and_runs_nothing() {
    let sandbox = project_with_command(&[("BeforeAgent", "", LOG_INPUT_SCRIPT)], "!{touch ran}");
    let file = sandbox.replay(&ReplayBuilder::new().says("ok"));
    let piped = |args: &[&str], input: &str| {
        let args = [&["--fake-responses", file.as_str(), "--approval-mode=yolo"], args].concat();
        sandbox.run_with_input(&args, input).expect_exit_code(0);
        requests(&sandbox).pop().unwrap().to_string()
    };
    assert_lacks(&piped(&[], "what is in @.env"), SECRET);
    assert_lacks(&piped(&["-p", "sum this up"], "see @.env"), SECRET);
    let both = piped(&["-p", "compare with @a.txt"], "see @.env");
    assert_lacks(&both, SECRET);
    assert_contains(&both, "the content");
    assert_eq!(logged_inputs(&sandbox)[2]["attachments"].as_array().unwrap().len(), 1);
    assert_contains(&piped(&[], "/look"), "/look");
    assert!(!sandbox.has_file("ran"), "a pipe gives no orders");
}
