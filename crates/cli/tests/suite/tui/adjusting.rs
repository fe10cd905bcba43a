//! `/settings`, `/trust`, `/directory`, `/init` and `/diff` in a real terminal and in plain lines.

use std::process::Command;

use hookwright_testkit::ReplayBuilder;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{TestTerminal, sandbox};

#[test]
fn a_setting_is_found_explained_and_written_beside_its_comments() {
    let sandbox = sandbox();
    let file = sandbox.home().join(".gemini/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  // mine\n  \"ui\": {\"hideTips\": false}\n}\n").unwrap();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/settings\r").wait_for_new_text("type to narrow the list");
    terminal.keys("hideTips").wait_for_new_text("1 of");
    terminal.keys("\r").wait_for_new_text("It holds true or false; a project may set it.");
    terminal.wait_for_new_text("yours: false");
    terminal.keys("1").wait_for_new_text("in which settings?");
    terminal.wait_for_new_text("› 2. yours");
    terminal.keys("\r").wait_for_new_text("ui.hideTips is true in");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  // mine\n  \"ui\": {\"hideTips\": true}\n}\n");
}

#[test]
fn a_setting_that_a_project_may_not_set_is_reported_and_not_written() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"ui": {}}));
    sandbox.user_settings(&json!({"security": {"disableYoloMode": true}}));
    let before = sandbox.read(".gemini/settings.json");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/settings\r").wait_for_new_text("type to narrow");
    terminal.keys("disableYoloMode\r").wait_for_new_text("a project may only set it to true");
    terminal.keys("2").wait_for_new_text("in which settings?");
    terminal.wait_for_new_text("not there: a project can't loosen");
    terminal.keys("1").wait_for_new_text("error: a project can't loosen `security.disableYoloMode`");
    assert_eq!(sandbox.read(".gemini/settings.json"), before);
}

#[test]
fn a_number_is_typed_again_until_it_is_one() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text(super::COMPOSER);
    terminal.keys("/settings\r").wait_for_new_text("an empty line leaves it");
    terminal.keys("model.maxSessionTurns\r").wait_for_new_text("It holds a whole number");
    terminal.keys("1\r").wait_for_new_text("a single dot leaves it");
    terminal.keys("many\r").wait_for_new_text("expected a whole number");
    terminal.keys("12\r").wait_for_new_text("in which settings?");
    terminal.keys("yours\r").wait_for_new_text("model.maxSessionTurns is 12 in");
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["model"]["maxSessionTurns"], 12);
}

#[test]
fn a_folder_is_trusted_and_distrusted_from_within() {
    let sandbox = sandbox().untrusted();
    let ran = sandbox.sibling_path("ran");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [
        {"type": "command", "name": "mark", "command": format!("touch {}", ran.display())}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("3. Don't trust it");
    terminal.keys("3").wait_for_new_text(super::COMPOSER);
    terminal.wait_until_ready().keys("/trust\r").wait_for_new_text("Now this folder is not trusted");
    terminal.wait_for_new_text("It brings");
    terminal.keys("1").wait_for_new_text("this folder is trusted, by your decision");
    terminal.wait_until_ready().keys("say hi\r").wait_for_new_text("\nhi");
    terminal.wait_until_ready();
    assert!(ran.exists(), "its hooks count from now on");
    fs::remove_file(&ran).unwrap();
    terminal.keys("/trust\r").wait_for_new_text("Now this folder is trusted");
    terminal.keys("3").wait_for_new_text("this folder is not trusted, by your decision");
    terminal.wait_until_ready().keys("say again\r").wait_for_new_text("\nagain");
    terminal.wait_until_ready();
    assert!(!ran.exists(), "and no more");
}

#[test]
fn another_directory_is_asked_about_and_then_worked_in() {
    let sandbox = sandbox();
    let other = sandbox.sibling_path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("note.txt"), "from elsewhere\n").unwrap();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    let read = format!("call read_file {{\"file_path\": \"{}\"}}\r", other.join("note.txt").display());
    terminal.wait_until_ready().keys(&read).wait_for_new_text("Path not in workspace");
    terminal.wait_until_ready().keys("/directory add /nonexistent\r").wait_for_new_text("error: /nonexistent");
    terminal
        .wait_until_ready()
        .keys(&format!("/directory add {}\r", other.display()))
        .wait_for_new_text("Let tools work in");
    terminal.keys("\r");
    terminal.wait_until_ready().keys("/dir show\r").wait_for_new_text("(where you are)");
    assert!(!terminal.screen().contains("other (") && !terminal.screen().contains("may work in"));
    terminal
        .wait_until_ready()
        .keys(&format!("/directory add {}\r", other.display()))
        .wait_for_new_text("Let tools work in");
    terminal.keys("3").wait_for_new_text("tools may work in");
    terminal.blank();
    terminal.wait_until_ready().keys(&read).wait_for_new_text("read_file: done");
    terminal.wait_until_ready();
    let last = terminal.screen();
    assert!(!last.contains("not in workspace"), "{last}");
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains("includeDirectories") && text.contains(other.to_str().unwrap()), "{text}");
}

#[test]
fn notes_on_a_project_are_written_with_approval_and_never_over_others() {
    let sandbox = sandbox();
    let replay = ReplayBuilder::new()
        .calls("write_file", json!({"file_path": "GEMINI.md", "content": "# Notes\n"}))
        .says("written");
    let file = sandbox.replay(&replay);
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", &file]);
    terminal.wait_until_ready().keys("/init\r").wait_for_new_text("Allow once");
    assert!(!sandbox.has_file("GEMINI.md"), "not before it is allowed");
    terminal.keys("1").wait_for_new_text("written");
    assert_eq!(sandbox.read("GEMINI.md"), "# Notes\n");
    terminal.wait_until_ready().keys("/init\r").wait_for_new_text("there is a GEMINI.md already");
    terminal.wait_until_ready();
}

#[test]
fn differences_are_shown_and_gits_programs_do_not_run() {
    let sandbox = sandbox();
    let ran = sandbox.sibling_path("ran");
    let git = |words: &[&str]| {
        let done =
            Command::new("git").args(words).current_dir(sandbox.project()).env("HOME", sandbox.home()).output_in_time();
        assert!(done.unwrap().status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    sandbox.write("a.txt", "one\n");
    git(&["add", "a.txt"]);
    git(&["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "c"]);
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    git(&["config", "core.fsmonitor", &format!("touch {}", ran.display())]);
    let run = sandbox.run(&["-p", "/diff"]).expect_exit_code(0);
    assert!(
        run.stdout.contains("-one") && run.stdout.contains("+two") && run.stdout.contains("    new.txt"),
        "{run:?}"
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/diff\r").wait_for_new_text("+two");
    git(&["config", "diff.external", &format!("touch {}", ran.display())]);
    let run = sandbox.run(&["-p", "/diff"]).expect_exit_code(0);
    assert!(!run.stdout.contains("+two") && run.stderr.contains("git says"), "closed, and said: {run:?}");
    assert!(!ran.exists());
}

#[test]
fn a_sessions_changes_are_shown_with_and_without_git() {
    for mode in [&["-y"][..], &["-y", "--screen-reader"]] {
        let sandbox = sandbox();
        sandbox.write("a.txt", "one\n");
        let mut terminal = TestTerminal::sized(&sandbox, mode, 100, 40);
        terminal.wait_for_new_text("Type your message");
        terminal.keys("/diff\r").wait_for_new_text("this session has changed no file");
        let write =
            |file: &str, content: &str| format!("call write_file {}\r", json!({"file_path": file, "content": content}));
        terminal.keys(&write("a.txt", "two\n")).wait_for_new_text("write_file: done");
        terminal.keys("/diff\r").wait_for_new_text("changed by this session:");
        let screen = terminal.wait_for_new_text("+++ b/a.txt");
        assert!(screen.contains("a.txt  +1 -1") && screen.contains("-one") && screen.contains("+two"), "{screen}");
        // Changes that git shows are not shown twice; files that git only names, or does not know, are shown.
        let git = |words: &[&str]| {
            let done = Command::new("git")
                .args(words)
                .current_dir(sandbox.project())
                .env("HOME", sandbox.home())
                .output_in_time();
            assert!(done.unwrap().status.success(), "{words:?}");
        };
        git(&["init", "-q"]);
        sandbox.write("a.txt", "one\n");
        git(&["add", "a.txt"]);
        git(&["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "c"]);
        sandbox.write("a.txt", "two\n");
        terminal.blank();
        terminal.keys(&write("b.txt", "fresh\n")).wait_for_new_text("write_file: done");
        terminal.keys("/diff\r").wait_for_new_text("also changed by this session:");
        let screen = terminal.wait_for_new_text("@@ -0,0 +1 @@");
        let last = &screen[screen.rfind("/diff").unwrap()..];
        assert_eq!(last.matches("+two").count(), 1, "{last}");
        assert!(last.contains("not known to git:") && last.contains("b.txt  new, +1 -0"), "{last}");
        terminal.keys("/diff session\r").wait_for_new_text("a.txt  +1 -1");
        terminal.keys("/quit\r");
        assert_eq!(terminal.wait_for_exit(), 0);
        let run = sandbox.run(&["--resume", "latest", "-p", "/diff session"]).expect_exit_code(0);
        assert!(run.stdout.contains("+two") && run.stdout.contains("+fresh"), "{run:?}");
        sandbox.run(&["-p", "/diff HEAD~1"]).expect_exit_code(42);
    }
}

#[test]
fn a_setting_is_shown_by_its_name_and_a_slip_is_understood() {
    for mode in [&[][..], &["--screen-reader"]] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::sized(&sandbox, mode, 100, 40);
        terminal.wait_for_new_text("Type your message");
        terminal
            .keys("/settings ui.thme\r")
            .wait_for_new_text("no setting is called `ui.thme`; did you mean `ui.theme`?");
        terminal.keys("/settings UI.hideTips\r").wait_for_new_text("no tips at the start.");
        let screen = terminal.screen();
        assert!(!screen.contains("ui.hideBanner"), "only the one: {screen}");
    }
}

#[test]
fn the_cost_is_shown_where_prices_are_known() {
    let server = crate::suite::model_server::ModelServer::start("local", "", &["tiny-8b"]);
    let sandbox =
        sandbox().env("OPENAI_BASE_URL", &format!("http://{}/v1", server.address)).env("OPENAI_MODEL", "tiny-8b");
    sandbox.user_settings(
        &json!({"model": {"prices": {"tiny": {"input": 2, "output": 8}, "t": {"input": 9, "output": 9}}}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("hi\r").wait_for_new_text("hello from local");
    // 1000 in at 2 and 500 out at 8 for a million.
    terminal.wait_until_ready().keys("/stats\r").wait_for_new_text("0.0060, at the prices of your settings");
    terminal.keys("/quit\r");
    assert_eq!(terminal.wait_for_exit(), 0);
    let said = terminal.everything();
    assert!(said.contains("1 request · 1.5k tokens · cost 0.0060 · 0 tool calls"), "{said}");
    for format in ["json", "stream-json"] {
        let run = sandbox.run(&["-p", "hi", "-o", format]).expect_exit_code(0);
        let last = if format == "json" { run.stdout.as_str() } else { run.stdout.lines().last().unwrap() };
        let told: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(told.pointer("/stats/cost"), Some(&json!(0.006)), "{format}: {told}");
    }
}

fn settings_list(columns: u16) -> String {
    let sandbox = sandbox().env("NO_COLOR", "1");
    sandbox.user_settings(&json!({"ui": {"hideTips": true}}));
    let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 24);
    terminal.wait_until_ready().keys("/settings\r").wait_for_new_text("in all; type");
    terminal.keys("ui.hide").wait_for_new_text("with `ui.hide`");
    let screen = terminal.screen();
    let shown = &screen[screen.find("? Settings").unwrap()..screen.rfind("offline").unwrap()];
    // The number of settings does not matter here.
    let (before, after) = shown.split_once(" of ").unwrap();
    format!("{before} of N{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

#[test]
fn settings_at_three_widths() {
    for columns in [40, 80, 120] {
        insta::assert_snapshot!(format!("settings_{columns}"), settings_list(columns));
    }
}
