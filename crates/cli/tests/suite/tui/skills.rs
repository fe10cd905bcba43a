use super::{TestTerminal, sandbox};

#[test]
fn a_skill_is_consented_to_by_itself_and_switched_off_while_the_session_runs() {
    let sandbox = sandbox();
    for name in ["pdf", "other"] {
        let text = format!("---\nname: {name}\ndescription: reads {name} files\n---\nGently.\n");
        sandbox.write(&format!(".gemini/skills/{name}/SKILL.md"), text);
    }
    sandbox.settings(&serde_json::json!({}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("call activate_skill {\"name\": \"pdf\"}\r").wait_for_new_text("Allow once");
    assert!(terminal.screen().contains("reads pdf files"), "{}", terminal.screen());
    terminal.keys("2").wait_for_new_text("activated pdf");
    // The approved skill needs no approval again; another one does.
    terminal
        .wait_until_ready()
        .keys("call activate_skill {\"name\": \"other\"}\r")
        .wait_for_new_text("reads other files");
    terminal.keys("y").wait_for_new_text("activated other");
    terminal.wait_until_ready().keys("/skills disable pdf\r").wait_for_new_text("disabled skill `pdf` in");
    terminal.wait_until_ready().keys("/skills list nodesc\r").wait_for_new_text("project, disabled");
    assert!(sandbox.read(".gemini/settings.json").contains("\"disabled\""));
    terminal.wait_until_ready().keys("/skills enable pdf\r").wait_for_new_text("enabled skill `pdf` in");
}
