//! Background commands: listed, kept, ended.

use hookwright_testkit::{Sandbox, is_running, wait_until};

use super::{TestTerminal, sandbox};

/// Starts a command that prints continuously, and so would notice a closed pipe.
fn start_talker(sandbox: &Sandbox) -> (TestTerminal, String) {
    sandbox.script(
        "talk.sh",
        "cd \"$GEMINI_PROJECT_DIR\" 2>/dev/null; echo $$ > pid.tmp; mv pid.tmp pid\n\
         while :; do echo talk; echo x >> talked; [ -e stop ] && exit; sleep 0.05; done",
    );
    let mut terminal = TestTerminal::start(sandbox, &["--yolo"]);
    let call = r#"call run_shell_command {"command": "sh .gemini/hooks/talk.sh", "is_background": true}"#;
    terminal.wait_until_ready().keys(&format!("{call}\r")).wait_for_new_text("Background process started");
    wait_until("it runs", || sandbox.has_file("pid"));
    let pid = sandbox.read("pid").trim().to_owned();
    (terminal, pid)
}

fn assert_talker_runs(sandbox: &Sandbox) {
    let before = sandbox.read("talked").len();
    wait_until("it goes on", || sandbox.read("talked").len() > before + 10);
}

#[test]
fn a_kept_command_keeps_running_and_is_named_on_leaving() {
    let sandbox = sandbox();
    let (mut terminal, pid) = start_talker(&sandbox);
    terminal.wait_until_ready().keys("/background\r").wait_for_new_text(&format!("{pid}  sh .gemini/hooks/talk.sh"));
    terminal.keys("/background keep 1\r").wait_for_new_text("no background command has the number 1");
    terminal.keys(&format!("/background keep {pid}\r")).wait_for_new_text(&format!("{pid} stays when you leave"));
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    let told = anstream::adapter::strip_str(&terminal.raw()).to_string();
    assert!(told.contains(&format!("still running, as you asked: {pid} sh .gemini/hooks/talk.sh")), "{told}");
    assert_talker_runs(&sandbox);
    sandbox.write("stop", "");
    wait_until("it ends when it wants to", || !is_running(&pid));
}

/// A kept command can be kept again, and ended.
#[test]
fn a_kept_command_can_be_kept_again_and_ended() {
    let sandbox = sandbox();
    let (mut terminal, pid) = start_talker(&sandbox);
    let kept = format!("{pid} stays when you leave");
    terminal.wait_until_ready().keys(&format!("/background keep {pid}\r")).wait_for_new_text(&kept);
    terminal.wait_until_ready().keys("/background\r").wait_for_new_text("s, stays when you leave)");
    terminal
        .wait_until_ready()
        .keys(&format!("/background end {pid}\r"))
        .wait_for_new_text(&format!("{pid} has ended"));
    wait_until("it has ended", || !is_running(&pid));
    terminal.wait_until_ready().keys("/background\r").wait_for_new_text("nothing runs in the background");
    terminal
        .wait_until_ready()
        .keys(&format!("/background keep {pid}\r"))
        .wait_for_new_text("no background command has the number");
}

#[test]
fn a_command_that_is_not_kept_ends_on_request_or_on_leaving() {
    let sandbox = sandbox();
    let (mut terminal, pid) = start_talker(&sandbox);
    terminal
        .wait_until_ready()
        .keys(&format!("/background end {pid}\r"))
        .wait_for_new_text(&format!("{pid} has ended"));
    wait_until("it has ended", || !is_running(&pid));
    terminal.wait_until_ready().keys("/background\r").wait_for_new_text("nothing runs in the background");
    let (mut terminal, pid) = start_talker(&super::sandbox());
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    wait_until("it has ended", || !is_running(&pid));
}
