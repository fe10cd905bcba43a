//! Nothing runs unasked where guards could be missing.

use super::*;

fn writes() -> Replay {
    Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

#[test]
fn settings_that_cannot_be_read_keep_a_session_from_starting() {
    for (broken, place) in [("{ \"hooks\": {", "settings.json"), ("[]", "settings.json")] {
        let sandbox = crate::sandbox();
        sandbox.write(".gemini/settings.json", broken);
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
        has(&run.stderr, place);
        has(&run.stderr, "--ignore-broken-settings");
        assert!(!sandbox.has("a.txt") && run.stdout.is_empty());
        // Without them, on purpose: then nothing runs unasked because of a mode.
        let run = prompt(&sandbox, "go", &writes(), &["--ignore-broken-settings", "-o", "json"]).exits(0);
        has(&run.json()["warnings"].to_string(), "so the approval mode is default, not yolo");
        assert!(!sandbox.has("a.txt"));
    }
}

#[test]
fn in_a_folder_that_is_not_trusted_no_mode_lets_anything_run_unasked() {
    for mode in ["yolo", "auto_edit"] {
        let sandbox = crate::sandbox().untrusted();
        let file = sandbox.replay(&writes());
        let mode = format!("--approval-mode={mode}");
        let args = ["-p", "go", "--fake-responses", file.as_str(), mode.as_str(), "-o", "json"];
        let run = sandbox.run(&args).exits(0);
        has(&run.json()["warnings"].to_string(), "this folder is not trusted, so the approval mode is default");
        assert!(!sandbox.has("a.txt"), "{mode}");
        let run = sandbox.run(&[&args[..], &["--skip-trust"]].concat()).exits(0);
        lacks(&run.stdout, "approval mode");
        assert!(sandbox.has("a.txt"), "{mode}");
    }
}

#[test]
fn a_locked_hook_runs_whatever_the_command_line_says() {
    let sandbox = crate::sandbox();
    let hook = |name: &str, locked: bool| json!({"type": "command", "name": name, "command": format!("echo {name} >&2; exit 2"), "locked": locked});
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook("lock", true), hook("loose", false)]}]}});
    std::fs::write(sandbox.home().join("system-settings.json"), settings.to_string()).unwrap();
    let run = prompt(&sandbox, "go", &writes(), &["--no-hooks"]).exits(0);
    has(&run.stderr, "--no-hooks leaves locked hooks running: lock");
    has(&run.stderr, "Tool execution blocked: lock");
    lacks(&run.stderr, "loose");
    assert!(!sandbox.has("a.txt"));
}
