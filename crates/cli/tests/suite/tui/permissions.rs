//! Permanent permissions: offered in the approval request, saved, listed and withdrawn.

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::json;

use super::{TestTerminal, sandbox};
use hookwright_testkit::Sandbox;

fn shell(command: &str) -> String {
    format!("call run_shell_command {}\r", json!({"command": command}))
}

fn edit(file: &str) -> String {
    format!("call write_file {}\r", json!({"file_path": file, "content": "new\n"}))
}

fn remembered(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join(".gemini/hookwright/policies/remembered.toml")).unwrap_or_default()
}

#[test]
fn a_prefix_is_remembered_across_sessions_and_taken_back() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("cargo build --offline")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("1. commands that begin with `cargo build`");
    terminal.keys("\x1b").wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("1. commands that begin with `cargo build`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project: commands that begin with `cargo build`");
    terminal.wait_until_ready().keys(&shell("cargo build --release; echo not that")).wait_for_new_text("Allow once");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
    assert!(remembered(&sandbox).contains("commandPrefix = [\"cargo build\"]"), "{}", remembered(&sandbox));
    drop(terminal);
    // In another session, the same command needs no approval. Other commands in the line do.
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("cargo build --release")).wait_for_new_text("✗ run_shell_command");
    let screen = terminal.wait_until_ready().screen();
    assert!(!screen.contains("Allow once"), "{screen}");
    for more in [
        "cargo build --release && git push",
        "cargo build > x",
        "git log --output=x",
        "$(cargo build)",
        "git -c core.pager=x log",
    ] {
        terminal.keys(&shell(more)).wait_for_new_text("Allow once");
        terminal.keys("\x1b");
        terminal.wait_until_ready();
        terminal.blank();
        terminal.keys("\x0c");
        terminal.wait_until_ready();
    }
    terminal.keys("/permissions\r").wait_for_new_text("1  commands that begin with `cargo build`");
    terminal.keys("/permissions forget 7\r").wait_for_new_text("no permission has the number 7");
    terminal
        .keys("/permissions forget 1\r")
        .wait_for_new_text("not allowed any more: commands that begin with `cargo build`");
    terminal.wait_until_ready().keys(&shell("cargo build --release")).wait_for_new_text("Allow once");
    assert!(!remembered(&sandbox).contains("cargo build"));
}

#[test]
fn a_folder_is_that_folder_wherever_links_lead() {
    let sandbox = sandbox();
    sandbox.write("src/a.txt", "old\n");
    sandbox.write("deploy/b.txt", "old\n");
    std::os::unix::fs::symlink("../deploy", sandbox.project().join("src/link")).unwrap();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&edit("src/a.txt")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("2. edits in this project");
    terminal.wait_for_new_text("1. edits in src/");
    terminal.keys("\r").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project: edits in src/");
    terminal
        .wait_until_ready()
        .keys(&edit("src/deeper/new.txt"))
        .wait_for_new_text("src/deeper/new.txt new file +1 -0");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("src/deeper/new.txt"), "new\n");
    for other in
        ["src/../deploy/b.txt", "src/link/b.txt", "deploy/b.txt", "src2/x", ".env", "src/.gemini/settings.json"]
    {
        terminal.keys(&edit(other)).wait_for_new_text("Allow once");
        terminal.keys("\x1b");
        terminal.wait_until_ready();
        terminal.blank();
        terminal.keys("\x0c");
        terminal.wait_until_ready();
    }
    assert_eq!(sandbox.read("deploy/b.txt"), "old\n");
}

#[test]
fn it_counts_in_its_project_only_and_headless_too() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("npm run build")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("commands that begin with `npm run build`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project");
    terminal.wait_until_ready();
    let prompt = format!("call run_shell_command {}", json!({"command": "npm run build"}));
    let here = sandbox.run(&["-p", &prompt]);
    assert!(!here.stderr.contains("needs approval"), "{}", here.stderr);
    let elsewhere = sandbox.sibling_path("other");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut command = sandbox.command(&["-p", &prompt]);
    let there = command.current_dir(&elsewhere).output_in_time().unwrap();
    let said = String::from_utf8_lossy(&there.stderr).into_owned();
    assert!(said.contains("needs approval"), "{said}");
    let listed = sandbox.run(&["-p", "/permissions"]).expect_exit_code(0);
    assert!(listed.stdout.contains("npm run build"), "{}", listed.stdout);
}

#[test]
fn it_weakens_no_deny_no_ask_no_hook_and_no_plan() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("git push origin")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("commands that begin with `git push`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project");
    terminal.wait_until_ready();
    drop(terminal);
    let prompt = format!("call run_shell_command {}", json!({"command": "git push origin"}));
    let refused = |words: &str| {
        let run = sandbox.run(&["-p", &prompt]);
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    };
    let plan = sandbox.run(&["--approval-mode", "plan", "-p", &prompt]);
    assert!(plan.stderr.contains("plan mode only reads"), "{}", plan.stderr);
    // The weakest rule outranks it: a project's, which can only tighten.
    sandbox.write(
        ".gemini/policies/p.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"deny\"\n",
    );
    refused("Tool execution denied by policy");
    sandbox.write(
        ".gemini/policies/p.toml",
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"ask_user\"\n",
    );
    refused("requires the user's approval");
    std::fs::remove_file(sandbox.project().join(".gemini/policies/p.toml")).unwrap();
    let command = sandbox.script("no.sh", "echo no pushing >&2; exit 2");
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "no", "command": command}]}]}}),
    );
    refused("Tool execution blocked: no pushing");
}

#[test]
fn calls_that_hooks_rules_or_guards_ask_about_get_no_permanent_choice() {
    let sandbox = sandbox();
    let command = sandbox.script("asks.sh", r#"echo '{"decision": "ask", "reason": "look"}'"#);
    let hook =
        json!({"matcher": "run_shell_command", "hooks": [{"type": "command", "name": "asker", "command": command}]});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [hook]}}));
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("git status")).wait_for_new_text("hook asker wants you to decide");
    assert!(!terminal.screen().contains("always allow"));
    // It is not offered, so it is a text, which Enter ends.
    terminal.keys("a").wait_for_new_text("does not answer this");
    terminal.keys("\r");
    terminal.wait_until_gone("does not answer this");
    terminal.keys("\x1b");
    terminal.wait_until_ready().keys(&edit(".env")).wait_for_new_text("is protected");
    assert!(!terminal.screen().contains("always allow"));
    terminal.keys("\x1b");
    terminal.wait_until_ready();
    assert_eq!(remembered(&sandbox), "");
}

#[test]
fn a_broken_file_is_left_alone_and_said() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("cargo build")).wait_for_new_text("a always allow");
    let file = sandbox.home().join(".gemini/hookwright/policies/remembered.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[[rule\n").unwrap();
    terminal.keys("a").wait_for_new_text("commands that begin with `cargo build`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("allowed for this session only");
    assert_eq!(remembered(&sandbox), "[[rule\n");
}

#[test]
fn in_lines_it_is_a_and_a_number() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &["--screen-reader"], 160, 40);
    terminal.wait_for_new_text("Type your message");
    terminal
        .keys(&shell("cargo build"))
        .wait_for_new_text("a1: always allow, in this project, commands that begin with `cargo build`.");
    terminal.keys("a1\r").wait_for_new_text("always allowed in this project");
    terminal.keys("/permissions\r").wait_for_new_text("/permissions forget NUMBER takes one back");
    terminal.keys("/permissions forget --all\r").wait_for_new_text("from now on only policies and settings");
    terminal.keys("/permissions nonsense\r").wait_for_new_text("/permissions list|forget NUMBER|--all");
    assert!(!remembered(&sandbox).contains("cargo build"));
}

#[test]
fn the_sessions_own_writes_are_not_announced() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    let noticed = |terminal: &mut TestTerminal, hide: bool| {
        sandbox.user_settings(&json!({"ui": {"hideTips": hide, "hideBanner": hide}}));
        terminal.wait_for_new_text("settings.json changed");
        terminal.wait_until_ready();
    };
    terminal.wait_until_ready().keys(&shell("cargo build --offline")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("1. commands that begin with `cargo build`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project");
    terminal.wait_for_new_text("run_shell_command: done");
    noticed(&mut terminal, true);
    terminal.wait_until_ready().keys("/permissions forget 1\r").wait_for_new_text("not allowed any more");
    terminal.wait_until_ready();
    terminal.blank();
    terminal.keys("/clear\r").wait_until_ready();
    noticed(&mut terminal, false);
    let said = terminal.everything();
    assert_eq!(said.matches("hookwright/policies").count(), 1, "only where it is written down: {said}");
    // A change by another program is announced.
    let file = sandbox.home().join(".gemini/hookwright/policies/remembered.toml");
    std::fs::write(&file, "# by hand\n").unwrap();
    terminal.wait_for_new_text("remembered.toml changed");
}

#[test]
fn the_question_at_three_widths() {
    for columns in [40, 80, 200] {
        let sandbox = sandbox().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 24);
        terminal.wait_until_ready().keys(&edit("src/a.txt")).wait_for_new_text("a always allow");
        terminal.keys("a").wait_for_new_text("edits in src/");
        let screen = terminal.screen();
        let question: Vec<&str> =
            screen.lines().map(str::trim_end).skip_while(|line| !line.starts_with("Always")).collect();
        let question: Vec<&str> = question.into_iter().take_while(|line| !line.contains("asks first")).collect();
        insta::assert_snapshot!(format!("always_{columns}"), question.join("\n"));
    }
}

#[test]
fn a_command_without_a_known_prefix_is_allowed_exactly() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 40);
    terminal.wait_until_ready().keys(&shell("touch 'a b.txt' c+d")).wait_for_new_text("a always allow");
    terminal.keys("a").wait_for_new_text("1. exactly `touch 'a b.txt' c+d`");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("y").wait_for_new_text("always allowed in this project: exactly `touch");
    terminal.wait_until_ready();
    std::fs::remove_file(sandbox.project().join("a b.txt")).unwrap();
    terminal.blank();
    terminal.keys(&shell("touch 'a b.txt' c+d")).wait_for_new_text("run_shell_command: done");
    assert!(sandbox.has_file("a b.txt"), "it runs unasked");
    for other in
        ["touch 'a b.txt' c+d e", "touch a b.txt c+d", "touch 'a b.txt' ccd", "touch 'a b.txt' c+d; touch x", "touch x"]
    {
        terminal.blank();
        terminal.keys(&shell(other)).wait_for_new_text("Allow once");
        terminal.keys("\x1b");
        terminal.wait_until_ready();
    }
    assert!(!sandbox.has_file("x"));
}
