//! Commands that run on by themselves: listed, kept, ended.

use hookwright_testkit::{Sandbox, is_running, wait_until};

use super::{Terminal, sandbox};

/// Starts a command that says something ever again, and so would notice that nobody listens.
fn with_talker(sandbox: &Sandbox) -> (Terminal, String) {
    sandbox.script(
        "talk.sh",
        "cd \"$GEMINI_PROJECT_DIR\" 2>/dev/null; echo $$ > pid.tmp; mv pid.tmp pid\n\
         while :; do echo talk; echo x >> talked; [ -e stop ] && exit; sleep 0.05; done",
    );
    let mut terminal = Terminal::start(sandbox, &["--yolo"]);
    let call = r#"call run_shell_command {"command": "sh .gemini/hooks/talk.sh", "is_background": true}"#;
    terminal.ready().keys(&format!("{call}\r")).sees("Background process started");
    wait_until("it runs", || sandbox.has("pid"));
    let pid = sandbox.read("pid").trim().to_owned();
    (terminal, pid)
}

fn talks_on(sandbox: &Sandbox) {
    let before = sandbox.read("talked").len();
    wait_until("it goes on", || sandbox.read("talked").len() > before + 10);
}

#[test]
fn what_the_user_keeps_runs_on_and_is_named_on_leaving() {
    let sandbox = sandbox();
    let (mut terminal, pid) = with_talker(&sandbox);
    terminal.ready().keys("/background\r").sees(&format!("{pid}  sh .gemini/hooks/talk.sh"));
    terminal.keys("/background keep 1\r").sees("no command that runs in the background has the number 1");
    terminal.keys(&format!("/background keep {pid}\r")).sees(&format!("{pid} stays when you leave"));
    terminal.ready().keys("\x04");
    assert_eq!(terminal.ends(), 0);
    let told = anstream::adapter::strip_str(&terminal.raw()).to_string();
    assert!(told.contains(&format!("still running, as you asked: {pid} sh .gemini/hooks/talk.sh")), "{told}");
    talks_on(&sandbox);
    sandbox.write("stop", "");
    wait_until("it ends when it wants to", || !is_running(&pid));
}

/// Keeping is no vow.
#[test]
fn what_the_user_kept_can_be_kept_again_and_ended() {
    let sandbox = sandbox();
    let (mut terminal, pid) = with_talker(&sandbox);
    let kept = format!("{pid} stays when you leave");
    terminal.ready().keys(&format!("/background keep {pid}\r")).sees(&kept);
    terminal.ready().keys("/background\r").sees("s, stays when you leave)");
    terminal.ready().keys(&format!("/background end {pid}\r")).sees(&format!("{pid} has ended"));
    wait_until("it has ended", || !is_running(&pid));
    terminal.ready().keys("/background\r").sees("nothing runs in the background");
    terminal.ready().keys(&format!("/background keep {pid}\r")).sees("no command that runs in the background");
}

#[test]
fn what_the_user_does_not_keep_is_ended_now_or_on_leaving() {
    let sandbox = sandbox();
    let (mut terminal, pid) = with_talker(&sandbox);
    terminal.ready().keys(&format!("/background end {pid}\r")).sees(&format!("{pid} has ended"));
    wait_until("it has ended", || !is_running(&pid));
    terminal.ready().keys("/background\r").sees("nothing runs in the background");
    let (mut terminal, pid) = with_talker(&super::sandbox());
    terminal.ready().keys("\x04");
    assert_eq!(terminal.ends(), 0);
    wait_until("it has ended", || !is_running(&pid));
}
