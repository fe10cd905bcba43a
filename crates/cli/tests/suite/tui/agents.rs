//! `/subagents`: sub-agents are listed, switched and reloaded while the session runs, and their work is on the screen.

use super::{TestTerminal, sandbox};

#[test]
fn agents_are_listed_switched_and_read_again() {
    let sandbox = sandbox();
    let define = |name: &str, text: &str| {
        let text = format!("---\nname: {name}\ndescription: {text}\n---\nYou are {name}.\n");
        sandbox.write(&format!(".gemini/agents/{name}.md"), text)
    };
    define("scout", "looks around");
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys("/subagents list\r").wait_for_new_text("looks around (project)");
    terminal.wait_until_ready().keys("/agents disable scout\r").wait_for_new_text("disabled scout in");
    terminal.wait_until_ready().keys("/subagents\r").wait_for_new_text("(project, disabled)");
    terminal.wait_until_ready().keys("/agents disable scout\r").wait_for_new_text("agent scout is disabled already");
    terminal.wait_until_ready().keys("/subagents enable nobody\r").wait_for_new_text("no agent is called `nobody`");
    terminal.wait_until_ready().keys("/subagents enable scout\r").wait_for_new_text("enabled scout in");
    define("guide", "shows the way");
    terminal.wait_until_ready().keys("/agents reload\r").wait_for_new_text("shows the way (project)");
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
}
