//! The toolbox's output on protected paths. What tools may do to them is in
//! `crates/agent/tests/suite/headless/protected_files.rs`.

use super::*;

fn write_file_replay(path: &str) -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": path, "content": "{}"})).says("done")
}

#[test]
fn the_user_can_give_a_path_free_and_a_project_cannot() {
    let sandbox = crate::sandbox();
    let free = json!({"security": {"protectedPaths": ["!.gemini/commands/**", "locked/"]}});
    sandbox.settings(&free);
    let run = prompt(&sandbox, "go", &write_file_replay(".gemini/commands/a.toml"), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "a project can't set `security.protectedPaths`; it is ignored");
    assert!(!sandbox.has_file(".gemini/commands/a.toml"));
    sandbox.settings(&json!({}));
    sandbox.user_settings(&free);
    prompt(&sandbox, "go", &write_file_replay(".gemini/commands/a.toml"), &[]).expect_exit_code(0);
    assert!(sandbox.has_file(".gemini/commands/a.toml"));
    prompt(&sandbox, "go", &write_file_replay("locked/a"), &[]).expect_exit_code(0);
    assert!(!sandbox.has_file("locked/a"));
    sandbox.user_settings(&json!({"security": {"protectedPaths": ["a[", "!"]}}));
    let run = sandbox.run(&["hooks", "validate"]);
    assert_contains(&run.stderr, "\"a[\" in `security.protectedPaths` is not a valid glob");
    assert_contains(&run.stderr, "settings.json:4:");
}

#[test]
fn policy_explain_knows_protected_paths() {
    let sandbox = crate::sandbox();
    let args = r#"{"file_path": ".gemini/settings.json", "content": ""}"#;
    let run = sandbox.run(&["policy", "explain", "write_file", args, "--mode", "yolo"]).expect_exit_code(3);
    assert_contains(&run.stdout, "ask_user, by the protected path .gemini/settings.json");
    assert_contains(&run.stdout, "security.protectedPaths");
    sandbox.run(&["policy", "explain", "write_file", r#"{"file_path": "a"}"#, "--mode", "yolo"]).expect_exit_code(0);
}
