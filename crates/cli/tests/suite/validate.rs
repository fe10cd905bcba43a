//! `hooks validate`: the reports on mistakes in settings.

use crate::sandbox;

#[test]
fn mistakes_are_drawn_and_counted() {
    let sandbox = sandbox();
    sandbox.write(
        ".gemini/settings.json",
        "{\n  \"hooks\": {\n    \"BeforeTol\": [],\n    \"AfterTool\": [ { \"matcher\": \"EditTol\", \"hooks\": [ { \"type\": \"command\", \"command\": \"x\", \"timeout\": \"30\" } ] } ]\n  }\n}\n",
    );
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    assert_eq!(run.stdout, "1 file checked: 2 errors, 1 warning\n");
    let project = sandbox.project().to_string_lossy().into_owned();
    insta::assert_snapshot!(run.stderr.replace(&project, "PROJECT"), @r#"
    error: unknown hook event `BeforeTol`; its hooks never run
     --> PROJECT/.gemini/settings.json:3:5
      |
    3 |     "BeforeTol": [],
      |     ^^^^^^^^^^^
      = help: did you mean `BeforeTool`?

    warning: this matcher matches no known tool
     --> PROJECT/.gemini/settings.json:4:33
      |
    4 |     "AfterTool": [ { "matcher": "EditTol", "hooks": [ { "type": "command", "command": "x", "timeout": "30" } ] } ]
      |                                 ^^^^^^^^^
      = help: the built-in tools are read_file, read_many_files, write_file, replace, list_directory, glob, search_file_content, run_shell_command, web_fetch, google_web_search, write_todos, save_memory, list_mcp_resources, read_mcp_resource, delegate_to_agent, activate_skill

    error: `timeout` should be a number of milliseconds, not a string
     --> PROJECT/.gemini/settings.json:4:103
      |
    4 |     "AfterTool": [ { "matcher": "EditTol", "hooks": [ { "type": "command", "command": "x", "timeout": "30" } ] } ]
      |                                                                                                       ^^^^ expected a number
      = help: write 30 without quotes; the default of 60000 ms is used
    "#);
}

#[test]
fn warnings_alone_are_fine() {
    let sandbox = sandbox();
    sandbox.write("hooks.json", r#"{"hooks": {"BeforeAgent": [{"matcher": "x", "hooks": []}]}}"#);
    let run = sandbox.run(&["hooks", "validate", "hooks.json", "--json"]).expect_exit_code(0).json();
    assert_eq!(run["ok"], true);
    assert_eq!(run["diagnostics"][0]["severity"], "warning");
    assert_eq!(run["diagnostics"][0]["span"]["line"], 1);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let sandbox = sandbox();
    sandbox.write("latin1.json", b"{\"hooks\": \"\xe9\"}");
    sandbox.write("cut.json", "{\"hooks\": {");
    std::fs::create_dir(sandbox.project().join("folder.json")).unwrap();
    for (file, words) in [
        ("latin1.json", "UTF-8"),
        ("cut.json", "not valid JSON"),
        ("folder.json", "directory"),
        ("gone.json", "no such file"),
    ] {
        let run = sandbox.run(&["hooks", "validate", file]).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{file}: {}", run.stderr);
    }
}

#[test]
fn fifty_megabytes_of_nesting_are_refused_quickly() {
    let sandbox = sandbox();
    sandbox.write("deep.json", "[".repeat(50 << 20));
    let run = sandbox.run(&["hooks", "validate", "deep.json"]).expect_exit_code(1);
    assert!(
        run.stderr.contains("deep.json") && run.stderr.len() < 2000,
        "{}",
        &run.stderr[..run.stderr.len().min(2000)]
    );
}

#[test]
fn a_broken_layer_stops_no_other() {
    let sandbox = sandbox();
    sandbox.write(".gemini/settings.json", "{");
    let list = sandbox.run(&["hooks", "list"]).expect_exit_code(1);
    assert!(list.stderr.contains("can't be read"), "{}", list.stderr);
    sandbox.user_settings(&serde_json::json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "u", "command": "exit 2"}]}]}}));
    let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).expect_exit_code(2);
    assert!(run.stderr.contains("not valid JSON"), "{}", run.stderr);
}

#[test]
fn settings_without_effect_are_reported_by_validate_and_not_by_list() {
    let sandbox = sandbox();
    sandbox.user_settings(&serde_json::json!({"general": {"preferredEditor": "vi"}}));
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert!(run.stderr.contains("`general.preferredEditor` has no effect here"), "{}", run.stderr);
    assert!(!sandbox.run(&["hooks", "list"]).stderr.contains("preferredEditor"));
}

#[test]
fn a_key_that_stands_twice_is_an_error_with_its_place() {
    let sandbox = sandbox();
    sandbox.write(
        ".gemini/settings.json",
        "{ \"tools\": {\"exclude\": [\"glob\"], \"exclude\": []},\n  \"hooks\": {}, \"hooks\": {} }",
    );
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    assert!(run.stderr.contains("error: `hooks` appears twice in the settings"), "{}", run.stderr);
    assert!(run.stderr.contains("error: `exclude` appears twice in tools"), "{}", run.stderr);
    assert!(
        ["settings.json:2:3\n", "settings.json:1:13\n"].iter().all(|place| run.stderr.contains(place)),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["hooks", "validate", ".gemini/settings.json"]).expect_exit_code(1);
    assert!(run.stderr.contains("`hooks` appears twice in the settings"), "{}", run.stderr);
}

/// A guard that is not armed is no mistake in a file, but no reason to say that all is well.
#[test]
fn a_guard_that_is_not_armed_is_counted() {
    let sandbox = sandbox();
    sandbox.write(
        ".gemini/settings.json",
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "gone", "guard": true, "command": "./gone.sh"}]}]}}"#,
    );
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert!(run.stderr.contains("warning: "), "{}", run.stderr);
    assert_eq!(run.stdout, "1 file checked: no mistake in them, 1 guard not armed\n");
}
