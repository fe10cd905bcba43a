use super::{Terminal, sandbox};

#[test]
fn a_skill_is_consented_to_by_itself_and_switched_off_while_the_session_runs() {
    let sandbox = sandbox();
    for name in ["pdf", "other"] {
        let text = format!("---\nname: {name}\ndescription: reads {name} files\n---\nGently.\n");
        sandbox.write(&format!(".gemini/skills/{name}/SKILL.md"), text);
    }
    sandbox.settings(&serde_json::json!({}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("call activate_skill {\"name\": \"pdf\"}\r").sees("Allow once");
    assert!(terminal.screen().contains("reads pdf files"), "{}", terminal.screen());
    terminal.keys("2").sees("activated pdf");
    // Not asked again about this one, and asked about another.
    terminal.ready().keys("call activate_skill {\"name\": \"other\"}\r").sees("reads other files");
    terminal.keys("y").sees("activated other");
    terminal.ready().keys("/skills disable pdf\r").sees("disabled pdf in");
    terminal.ready().keys("/skills list nodesc\r").sees("project, disabled");
    assert!(sandbox.read(".gemini/settings.json").contains("\"disabled\""));
    terminal.ready().keys("/skills enable pdf\r").sees("enabled pdf in");
}
