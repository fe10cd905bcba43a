//! `/agents`: listed, switched and read again while the session runs; what one does is on the screen.

use super::{Terminal, sandbox};

#[test]
fn agents_are_listed_switched_and_read_again() {
    let sandbox = sandbox();
    let define = |name: &str, text: &str| {
        let text = format!("---\nname: {name}\ndescription: {text}\n---\nYou are {name}.\n");
        sandbox.write(&format!(".gemini/agents/{name}.md"), text)
    };
    define("scout", "looks around");
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("/agents list\r").sees("looks around (project)");
    terminal.ready().keys("/agents disable scout\r").sees("disabled scout in");
    terminal.ready().keys("/agents\r").sees("(project, disabled)");
    terminal.ready().keys("/agents disable scout\r").sees("agent scout is disabled already");
    terminal.ready().keys("/agents enable nobody\r").sees("there is no agent `nobody`");
    terminal.ready().keys("/agents enable scout\r").sees("enabled scout in");
    define("guide", "shows the way");
    terminal.ready().keys("/agents reload\r").sees("shows the way (project)");
    terminal.ready().keys("\x04");
    assert_eq!(terminal.ends(), 0);
}
