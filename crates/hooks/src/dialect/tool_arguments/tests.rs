use serde_json::json;

use super::*;
use crate::matching::tool_names::known_tools;

fn call(tool: &str, input: Value) -> DialectCall {
    let Value::Object(input) = input else { panic!("an object") };
    DialectCall::new(tool, input)
}

fn translated_to_claude(tool: &str, input: Value) -> Value {
    let translation = to_claude(&call(tool, input), Path::new("/p"));
    views_as_json(&translation)
}

fn translated_to_gemini(tool: &str, input: Value) -> Value {
    views_as_json(&from_claude(&call(tool, input)))
}

fn views_as_json(translation: &ClaudeTranslation) -> Value {
    let one = |call: &DialectCall| json!([call.tool, call.input]);
    match translation.views.as_slice() {
        [only] => one(only),
        several => several.iter().map(one).collect(),
    }
}

#[test]
fn every_claude_tool_name_has_a_mapping_and_vice_versa() {
    for row in &TOOL_MAPPINGS {
        assert!(tool_by_claude_name(row.claude_tool).is_some(), "{}", row.claude_tool);
    }
    for tool in known_tools() {
        let Some(theirs) = claude_name(tool) else { continue };
        assert!(mapping_for(theirs).is_some(), "{theirs}");
    }
}

#[test]
fn calls_are_translated_to_claude() {
    for (tool, input, expected) in [
        (
            "run_shell_command",
            json!({"command": "ls", "description": "d", "is_background": true}),
            json!(["Bash", {"command": "ls", "description": "d", "run_in_background": true}]),
        ),
        ("read_file", json!({"file_path": "a/../.env"}), json!(["Read", {"file_path": "/p/.env"}])),
        (
            "read_file",
            json!({"file_path": "/x", "start_line": 3, "end_line": 5}),
            json!(["Read", {"file_path": "/x", "offset": 3, "limit": 3}]),
        ),
        (
            "read_file",
            json!({"file_path": "/x", "offset": 2, "limit": 3}),
            json!(["Read", {"file_path": "/x", "limit": 3, "offset": 3}]),
        ),
        (
            "write_file",
            json!({"file_path": "x", "content": "c"}),
            json!(["Write", {"file_path": "/p/x", "content": "c"}]),
        ),
        (
            "replace",
            json!({"file_path": "x", "old_string": "a", "new_string": "b", "allow_multiple": true}),
            json!(["Edit", {"file_path": "/p/x", "old_string": "a", "new_string": "b", "replace_all": true}]),
        ),
        (
            "search_file_content",
            json!({"pattern": "x", "dir_path": "d", "include_pattern": "*.rs", "names_only": true, "case_sensitive": true, "after": 2}),
            json!(["Grep", {"pattern": "x", "path": "/p/d", "glob": "*.rs", "-i": false, "-A": 2, "output_mode": "files_with_matches"}]),
        ),
        ("list_directory", json!({"dir_path": "."}), json!(["LS", {"path": "/p"}])),
        ("glob", json!({"pattern": "*"}), json!(["Glob", {"pattern": "*"}])),
        (
            "web_fetch",
            json!({"prompt": "see https://a.b/c, and (http://d)."}),
            json!([
                ["WebFetch", {"prompt": "see https://a.b/c, and (http://d).", "url": "https://a.b/c"}],
                ["WebFetch", {"prompt": "see https://a.b/c, and (http://d).", "url": "http://d"}],
            ]),
        ),
        (
            "read_many_files",
            json!({"include": [".env", "src/**"], "recursive": false}),
            json!([
                ["Read", {"file_path": "/p/.env", "recursive": false}],
                ["Read", {"file_path": "/p/src/**", "recursive": false}],
            ]),
        ),
        (
            "write_todos",
            json!({"todos": [{"description": "x", "status": "pending"}]}),
            json!(["TodoWrite", {"todos": [{"status": "pending", "content": "x", "activeForm": "x"}]}]),
        ),
        (
            "delegate_to_agent",
            json!({"agent_name": "a", "objective": "o"}),
            json!(["Agent", {"subagent_type": "a", "prompt": "o"}]),
        ),
        ("activate_skill", json!({"name": "pdf"}), json!(["Skill", {"skill": "pdf"}])),
        ("mcp__git__push", json!({"path": "x"}), json!(["mcp__git__push", {"path": "x"}])),
        ("save_memory", json!({"fact": "x"}), json!(["save_memory", {"fact": "x"}])),
    ] {
        assert_eq!(translated_to_claude(tool, input), expected, "{tool}");
    }
}

#[test]
fn the_directory_of_a_command_becomes_the_cwd() {
    let shown = to_claude(&call("run_shell_command", json!({"command": "ls", "dir_path": "sub"})), Path::new("/p"));
    assert_eq!(
        (shown.cwd, shown.views[0].input.clone()),
        (Some("/p/sub".into()), call("", json!({"command": "ls"})).input)
    );
}

#[test]
fn calls_are_translated_from_claude() {
    for (tool, input, expected) in [
        ("Bash", json!({"command": "ls", "timeout": 5}), json!(["run_shell_command", {"command": "ls", "timeout": 5}])),
        ("PowerShell", json!({"command": "del x"}), json!(["run_shell_command", {"command": "del x"}])),
        (
            "Read",
            json!({"file_path": "/x", "offset": 3, "limit": 3}),
            json!(["read_file", {"file_path": "/x", "start_line": 3, "end_line": 5}]),
        ),
        (
            "Read",
            json!({"file_path": "/x", "limit": 3}),
            json!(["read_file", {"file_path": "/x", "start_line": 1, "end_line": 3}]),
        ),
        (
            "MultiEdit",
            json!({"file_path": "/x", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": true}]}),
            json!([
                ["replace", {"file_path": "/x", "old_string": "a", "new_string": "b"}],
                ["replace", {"file_path": "/x", "old_string": "c", "new_string": "d", "allow_multiple": true}],
            ]),
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/n", "new_source": "x", "cell_id": "1"}),
            json!(["replace", {"file_path": "/n", "new_string": "x", "cell_id": "1", "old_string": ""}]),
        ),
        (
            "Grep",
            json!({"pattern": "x", "-i": true}),
            json!(["search_file_content", {"pattern": "x", "case_sensitive": false, "names_only": true}]),
        ),
        (
            "Task",
            json!({"subagent_type": "a", "prompt": "p"}),
            json!(["delegate_to_agent", {"agent_name": "a", "objective": "p"}]),
        ),
        ("Unheard", json!({"x": 1}), json!(["Unheard", {"x": 1}])),
    ] {
        assert_eq!(translated_to_gemini(tool, input), expected, "{tool}");
    }
}

#[test]
fn inexact_translations_are_reported() {
    let losses =
        |translation: ClaudeTranslation| translation.losses.iter().map(TranslationLoss::to_string).collect::<Vec<_>>();
    let bash = from_claude(&call("Bash", json!({"command": "x", "timeout": 5})));
    assert_eq!(losses(bash), ["`timeout` has no counterpart and keeps its name"]);
    assert_eq!(losses(from_claude(&call("Odd", json!({})))), ["tool `Odd` has no counterpart and keeps its name"]);
    assert!(losses(from_claude(&call("mcp__a__b", json!({"x": 1})))).is_empty());
    assert!(losses(to_claude(&call("run_shell_command", json!({"command": "x"})), Path::new("/"))).is_empty());
    let several = json!({"file_path": "/x", "edits": [{"old_string": "a"}, {"old_string": "b"}]});
    assert_eq!(losses(from_claude(&call("MultiEdit", several))), ["one call becomes 2 calls"]);
}

#[test]
fn changes_are_translated_from_claude() {
    let back = |tool: &str, input: Value, changed: Value| {
        let Value::Object(changed) = changed else { panic!("an object") };
        changes_from_claude(&call(tool, input), Path::new("/p"), 0, &changed).map(Value::Object)
    };
    let shell = json!({"command": "rm x", "description": "d", "is_background": true, "dir_path": "s"});
    assert_eq!(
        back("run_shell_command", shell.clone(), json!({"command": "ls"})),
        Ok(json!({"command": "ls", "is_background": false}))
    );
    let same = json!({"command": "rm x", "description": "d", "run_in_background": true});
    assert_eq!(back("run_shell_command", shell, same), Ok(json!({})));
    let write = json!({"file_path": "x", "content": "c"});
    assert_eq!(
        back("write_file", write.clone(), json!({"file_path": "/p/x", "content": "C"})),
        Ok(json!({"content": "C"}))
    );
    assert_eq!(
        back("write_file", write.clone(), json!({"file_path": "y", "content": "c"})),
        Ok(json!({"file_path": "/p/y"}))
    );
    assert_eq!(
        back("write_file", write, json!({"content": "c"})),
        Err(UntranslatableChange::RemovedArgument("file_path".to_owned()))
    );
    let read = json!({"file_path": "/x"});
    assert_eq!(
        back("read_file", read, json!({"file_path": "/x", "limit": 10})),
        Ok(json!({"start_line": 1, "end_line": 10}))
    );
    let fetch = json!({"prompt": "get https://a"});
    assert!(back("web_fetch", fetch, json!({"url": "https://b", "prompt": "get https://a"})).is_err());
    let many = json!({"include": ["a", "b"]});
    assert_eq!(back("read_many_files", many, json!({"file_path": "/p/c"})), Err(UntranslatableChange::PartOfSplitCall));
    assert_eq!(back("mcp__a__b", json!({"x": 1}), json!({"x": 2})), Ok(json!({"x": 2})));
}

#[test]
fn changes_are_translated_to_claude() {
    let back = |tool: &str, input: Value, view: usize, changed: Value| {
        let Value::Object(changed) = changed else { panic!("an object") };
        changes_to_claude(&call(tool, input), view, &changed).map(Value::Object)
    };
    let bash = json!({"command": "rm", "timeout": 5, "run_in_background": true});
    assert_eq!(
        back("Bash", bash, 0, json!({"command": "ls", "timeout": 5, "is_background": false})),
        Ok(json!({"command": "ls", "timeout": 5, "run_in_background": false}))
    );
    let read = json!({"file_path": "/x", "offset": 3, "limit": 2});
    assert_eq!(
        back("Read", read, 0, json!({"file_path": "/y", "start_line": 3, "end_line": 9})),
        Ok(json!({"file_path": "/y", "offset": 3, "limit": 7}))
    );
    let edits = json!({"file_path": "/x", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]});
    assert_eq!(
        back("MultiEdit", edits.clone(), 1, json!({"file_path": "/x", "old_string": "c", "new_string": "e"})),
        Ok(
            json!({"file_path": "/x", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "e"}]})
        )
    );
    let moved = json!({"file_path": "/z", "old_string": "c", "new_string": "d"});
    assert_eq!(back("MultiEdit", edits, 1, moved), Err(UntranslatableChange::PartOfSplitCall));
    let notebook = json!({"notebook_path": "/n", "new_source": "x"});
    assert_eq!(
        back("NotebookEdit", notebook, 0, json!({"file_path": "/m", "new_string": "y", "old_string": ""})),
        Ok(json!({"notebook_path": "/m", "new_source": "y"}))
    );
}
