//! Choosing an earlier session, and the message on leaving.

use super::{TestTerminal, sandbox};
use hookwright_testkit::Sandbox;

fn with_sessions() -> Sandbox {
    let sandbox = sandbox().env("NO_COLOR", "1");
    sandbox.write(".git/HEAD", "ref: refs/heads/topic\n");
    sandbox.run(&["-p", "say about apples", "--session-id", "apples"]).expect_exit_code(0);
    sandbox.run(&["-p", "say about pears", "--session-id", "pears"]).expect_exit_code(0);
    sandbox
}

#[test]
fn resume_alone_opens_a_picker_before_the_session() {
    let sandbox = with_sessions();
    let mut terminal = TestTerminal::sized(&sandbox, &["--resume"], 100, 30);
    let page = terminal.wait_for_new_text("Sessions 2/2");
    assert!(page.find("say about pears") < page.find("say about apples"), "the last used first: {page}");
    assert!(page.contains("topic") && page.contains("2 messages"), "{page}");
    terminal.keys("/apples").wait_for_new_text("Sessions 1/2");
    terminal.keys("\r");
    terminal.wait_until_ready().wait_for_new_text("\nabout apples");
    terminal.keys("/about\r").wait_for_new_text("session     apples");
}

#[test]
fn in_a_session_it_is_the_same_page() {
    let sandbox = with_sessions();
    let mut terminal = TestTerminal::sized(&sandbox, &[], 100, 30);
    terminal.wait_until_ready().keys("/resume\r").wait_for_new_text("Sessions 2/2");
    terminal.keys("\x1b[B\r");
    terminal.wait_until_ready().wait_for_new_text("> say about apples");
    terminal.keys("/resume\r").wait_for_new_text("Sessions 1/1");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
}

#[test]
fn escape_begins_a_new_session_and_without_any_there_is_no_question() {
    let sandbox = with_sessions();
    let mut terminal = TestTerminal::sized(&sandbox, &["--resume"], 100, 30);
    terminal.wait_for_new_text("Sessions 2/2");
    terminal.keys("\x1b");
    let screen = terminal.wait_until_ready().screen();
    assert!(!screen.contains("apples"), "{screen}");
    let empty = super::sandbox();
    TestTerminal::start(&empty, &["--resume"]).wait_until_ready();
}

#[test]
fn without_a_screen_a_number_is_asked_for() {
    let sandbox = with_sessions();
    let mut terminal = TestTerminal::sized(&sandbox, &["--screen-reader", "--resume"], 100, 30);
    terminal.wait_for_new_text("Number of the session to go on with");
    terminal.keys("7\r").wait_for_new_text("there is no session 7");
    terminal.keys("1\r").wait_for_new_text("Type your message");
    terminal.keys("/about\r").wait_for_new_text("session     apples");
}

#[test]
fn the_picker_at_three_widths() {
    let sandbox = with_sessions();
    for columns in [40, 80, 200] {
        let mut terminal = TestTerminal::sized(&sandbox, &["--resume"], columns, 24);
        terminal.wait_for_new_text("Sessions 2/2");
        let page = terminal.wait_for_new_text("enter go on with it");
        let times = |line: &str| match line.split_once("20") {
            Some((name, _)) if line.starts_with("begun") || line.starts_with("last used") => format!("{name}…"),
            // Sizes depend on the length of the project's path.
            _ if line.contains(" messages, ") => {
                format!("{} messages, …", line.split(" messages, ").next().unwrap_or_default())
            }
            _ => line.to_owned(),
        };
        let page: Vec<String> = page.lines().map(|line| times(line.trim_end())).collect();
        insta::assert_snapshot!(format!("sessions_{columns}"), page.join("\n"));
    }
}

#[test]
fn leaving_says_what_was_done_and_how_to_come_back() {
    for args in [&["-y"][..], &["-y", "--screen-reader"]] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::sized(&sandbox, args, 100, 30);
        terminal.wait_for_new_text("Type your message");
        terminal.keys("call glob {\"pattern\": \"*\"}\r").wait_for_new_text("glob: done");
        terminal.keys("say done with it\r").wait_for_new_text("\ndone with it");
        terminal.keys("/quit\r");
        assert_eq!(terminal.wait_for_exit(), 0);
        let said = terminal.everything();
        assert!(said.contains("requests · ") && said.contains("1 tool call · 0 hook runs · "), "{said}");
        let id = said.split("come back: hookwright --resume ").nth(1).unwrap();
        let id: String = id.chars().take_while(|char| char.is_ascii_hexdigit()).collect();
        let mut terminal = TestTerminal::start(&sandbox, &["--resume", &id]);
        terminal.wait_until_ready().wait_for_new_text("done with it");
    }
}

#[test]
fn an_unused_session_prints_no_resume_hint_and_a_headless_one_prints_none_to_stdout() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/quit\r");
    assert_eq!(terminal.wait_for_exit(), 0);
    assert!(!terminal.everything().contains("come back"));
    let run = sandbox.run(&["-p", "say hi"]).expect_exit_code(0);
    assert_eq!(run.stdout, "hi\n");
    assert!(!run.stderr.contains("come back"), "nobody reads a pipe: {}", run.stderr);
    let mut terminal = TestTerminal::sized(&sandbox, &["-p", "say hi"], 100, 20);
    assert_eq!(terminal.wait_for_exit(), 0);
    assert!(terminal.everything().contains("come back: hookwright --resume "));
}

#[test]
fn a_slip_in_a_sessions_name_is_understood() {
    let sandbox = sandbox();
    sandbox.run(&["-p", "say one", "--session-id", "parser-work"]).expect_exit_code(0);
    for args in [&["--resume", "parser-wrok", "-p", "hi"][..], &["--delete-session", "praser"]] {
        let run = sandbox.run(args).expect_exit_code(1);
        assert!(run.stderr.contains("hint: did you mean parser"), "{args:?}: {}", run.stderr);
    }
    for mode in [&[][..], &["--screen-reader"]] {
        let mut terminal = TestTerminal::sized(&sandbox, mode, 100, 30);
        terminal.wait_for_new_text("Type your message");
        terminal.keys("/resume parser-wrok\r").wait_for_new_text("did you mean parser-work?");
    }
}

#[test]
fn sessions_are_searched_by_letters_in_their_order() {
    let sandbox = sandbox();
    for words in ["fix the parser", "write the docs"] {
        sandbox.run(&["-p", &format!("say {words}")]).expect_exit_code(0);
    }
    let mut terminal = TestTerminal::sized(&sandbox, &["--resume"], 100, 30);
    terminal.wait_for_new_text("Sessions 2/2");
    terminal.keys("/fxprsr").wait_for_new_text("Sessions 1/2");
    assert!(terminal.screen().contains("› ") && terminal.screen().contains("say fix the parser"));
}
