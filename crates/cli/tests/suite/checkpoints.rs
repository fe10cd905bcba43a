//! Changes of turns, recorded and restored by the real program without a screen.

use std::os::unix::fs::PermissionsExt;

use hookwright_testkit::Sandbox;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hookwright"))
}

fn write(sandbox: &Sandbox, file: &str, content: &str) {
    let prompt = format!("call write_file {}", json!({"file_path": file, "content": content}));
    sandbox.run(&["-y", "-p", &prompt]).expect_exit_code(0);
}

fn checkpoints(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run(&["checkpoints", "list", "--json"]).expect_exit_code(0).json();
    listed["checkpoints"].as_array().unwrap().clone()
}

#[test]
fn a_turn_is_listed_shown_taken_back_and_that_undone() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\n");
    write(&sandbox, "a.txt", "two\n");
    let all = checkpoints(&sandbox);
    assert_eq!((all.len(), all[0]["files"].as_array().unwrap().len()), (1, 1));
    assert!(all[0]["prompt"].as_str().unwrap().starts_with("call write_file"));
    let shown = sandbox.run(&["checkpoints", "show", "1"]).expect_exit_code(0);
    assert!(shown.stdout.contains("a.txt +1 -1") && shown.stdout.contains("-two") && shown.stdout.contains("+one"));
    // Without a user to agree, nothing happens.
    let refused = sandbox.run(&["checkpoints", "restore", "1"]).expect_exit_code(1);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    let restored = sandbox.run(&["checkpoints", "restore", "1", "--yes", "--json"]).expect_exit_code(0).json();
    assert_eq!((&restored["restored"], &restored["undo"]), (&json!(["a.txt"]), &json!(2)));
    assert_eq!(sandbox.read("a.txt"), "one\n");
    sandbox.run(&["checkpoints", "restore", "2", "--yes"]).expect_exit_code(0);
    assert_eq!(sandbox.read("a.txt"), "two\n");
}

#[test]
fn files_changed_since_are_kept_and_reported() {
    let sandbox = sandbox();
    write(&sandbox, "a.txt", "two\n");
    sandbox.write("a.txt", "mine\n");
    let left = sandbox.run(&["checkpoints", "restore", "latest", "--yes"]).expect_exit_code(1);
    assert!(left.stderr.contains("a.txt is left as it is: it was changed since"), "{}", left.stderr);
    assert_eq!(sandbox.read("a.txt"), "mine\n");
    sandbox.run(&["checkpoints", "restore", "1", "--yes", "--overwrite"]).expect_exit_code(0);
    assert!(!sandbox.has_file("a.txt"));
}

#[test]
fn a_hooks_further_change_is_restored_with_the_call() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\n");
    let command = sandbox.script("format.sh", "echo formatted >> \"$GEMINI_PROJECT_DIR/a.txt\"");
    sandbox.settings(&json!({"hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
    write(&sandbox, "a.txt", "two\n");
    assert_eq!(sandbox.read("a.txt"), "two\nformatted\n");
    sandbox.run(&["checkpoints", "restore", "latest", "--yes"]).expect_exit_code(0);
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn commands_are_looked_after_and_git_is_not_touched() {
    let sandbox = sandbox();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let done =
            std::process::Command::new("git").args(identity).args(args).current_dir(sandbox.project()).output_in_time();
        done.unwrap()
    };
    sandbox.write("a.txt", "one\n");
    sandbox.write("fix.sh", "sed -i s/one/two/ a.txt\necho new > b.txt\n");
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    let before = git(&["rev-parse", "HEAD"]).stdout;
    let call = json!({"command": "sh fix.sh"});
    sandbox.run(&["-y", "-p", &format!("call run_shell_command {call}")]).expect_exit_code(0);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    sandbox.run(&["checkpoints", "restore", "1", "--yes"]).expect_exit_code(0);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.has_file("b.txt"));
    assert_eq!(git(&["rev-parse", "HEAD"]).stdout, before);
    assert_eq!(git(&["status", "--porcelain"]).stdout, b"");
    assert_eq!(git(&["stash", "list"]).stdout, b"");
}

#[test]
fn guards_are_neither_kept_nor_brought_back() {
    let sandbox = sandbox();
    sandbox.write(".env", "SECRET=1\n");
    sandbox.write("a.txt", "one\n");
    let call = json!({"command": "echo SECRET=2 > .env; echo two > a.txt"});
    sandbox.run(&["-y", "-p", &format!("call run_shell_command {call}")]);
    let shown = sandbox.run(&["checkpoints", "show", "1"]).expect_exit_code(0);
    assert!(shown.stdout.contains(".env is not kept: guards are made of it"), "{}", shown.stdout);
    sandbox.run(&["checkpoints", "restore", "1", "--yes"]).expect_exit_code(0);
    assert_eq!((sandbox.read(".env"), sandbox.read("a.txt")), ("SECRET=2\n".to_owned(), "one\n".to_owned()));
    let kept = std::process::Command::new("grep")
        .args(["-r", "SECRET="])
        .arg(sandbox.home().join(".gemini/hookwright/checkpoints"))
        .output_in_time();
    let kept = String::from_utf8(kept.unwrap().stdout).unwrap();
    assert!(!kept.contains("SECRET=1"), "{kept}");
}

#[test]
fn the_agents_tools_do_not_change_what_was_kept() {
    let sandbox = sandbox();
    write(&sandbox, "a.txt", "one\n");
    let kept = sandbox.home().join(".gemini/hookwright/checkpoints");
    let record = walk(&kept).into_iter().find(|path| path.extension().is_some_and(|it| it == "json")).unwrap();
    let prompt = format!("call write_file {}", json!({"file_path": record, "content": "{}"}));
    let run = sandbox.run(&["-y", "-p", &prompt, "--include-directories", kept.to_str().unwrap()]);
    assert!(run.stderr.contains("is protected because guards depend on it"), "{}", run.stderr);
}

#[test]
fn checkpoints_are_private_and_can_be_switched_off() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\n");
    write(&sandbox, "a.txt", "two\n");
    let kept = sandbox.home().join(".gemini/hookwright/checkpoints");
    for path in walk(&kept) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    sandbox.user_settings(&json!({"general": {"checkpointing": {"enabled": false}}}));
    write(&sandbox, "b.txt", "new\n");
    assert_eq!(checkpoints(&sandbox)[1]["files"], json!([]));
    let prompt = format!("call write_file {}", json!({"file_path": "c.txt", "content": "new"}));
    sandbox.run(&["-y", "--checkpointing", "-p", &prompt]).expect_exit_code(0);
    assert_eq!(checkpoints(&sandbox)[2]["files"].as_array().unwrap().len(), 1);
}

#[test]
fn a_conversation_goes_back_without_a_session_too() {
    let sandbox = sandbox();
    sandbox.run(&["-p", "say first answer"]).expect_exit_code(0);
    sandbox.run(&["-p", "say second answer", "--resume", "latest"]).expect_exit_code(0);
    sandbox.run(&["checkpoints", "restore", "2", "--what", "conversation", "--yes"]).expect_exit_code(0);
    sandbox.run(&["-p", "say third answer", "--resume", "latest"]).expect_exit_code(0);
    let transcript = walk(&sandbox.home().join(".gemini/tmp"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let lines = fs::read_to_string(transcript.unwrap()).unwrap();
    let rewound = lines.lines().find(|line| line.contains("\"type\":\"rewound\"")).unwrap();
    assert!(rewound.contains("first answer") && !rewound.contains("second answer"), "{rewound}");
}

#[test]
fn a_missing_checkpoint_is_an_error_with_a_hint() {
    let sandbox = sandbox();
    for which in ["7", "latest", "../../x", "", "-1"] {
        let run = sandbox.run(&["checkpoints", "show", "--", which]).expect_exit_code(1);
        assert!(run.stderr.contains("there is no checkpoint"), "{which}: {}", run.stderr);
    }
    let none = sandbox.run(&["checkpoints", "list"]).expect_exit_code(0);
    assert_eq!(none.stdout, "");
    let run = sandbox.run(&["-p", "/restore 1 files"]).expect_exit_code(42);
    assert!(run.stderr.contains("only an interactive session"), "{}", run.stderr);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(walk(&path)),
            path => found.push(path),
        }
    }
    found
}
