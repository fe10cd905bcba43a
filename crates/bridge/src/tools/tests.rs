use super::*;
use serde_json::json;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn single_view(host: Host, name: &str, input: Value) -> (String, Value) {
    let views = translate_call(host, name, &map(input)).views;
    assert_eq!(views.len(), 1, "{name}");
    (views[0].0.tool.clone(), Value::Object(views[0].0.input.clone()))
}

#[test]
fn every_hosts_calls_translate_to_engine_calls() {
    let command = json!({"command": "ls"});
    for (host, name, input, ours, expected) in [
        (Host::ClaudeCode, "Bash", command.clone(), "run_shell_command", command.clone()),
        (Host::Codex, "Bash", command.clone(), "run_shell_command", command.clone()),
        (Host::Qwen, "run_shell_command", command.clone(), "run_shell_command", command.clone()),
        (Host::Droid, "Execute", command.clone(), "run_shell_command", command.clone()),
        (Host::Cursor, "Shell", command.clone(), "run_shell_command", command.clone()),
        (Host::Antigravity, "run_command", json!({"CommandLine": "ls"}), "run_shell_command", command.clone()),
        (Host::GeminiCli, "run_shell_command", command.clone(), "run_shell_command", command.clone()),
        (Host::Grok, "run_terminal_command", command.clone(), "run_shell_command", command),
        (
            Host::Copilot,
            "Edit",
            json!({"path": "/a", "old_str": "x", "new_str": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            Host::Copilot,
            "Write",
            json!({"path": "/a", "file_text": "x"}),
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            Host::Droid,
            "Create",
            json!({"file_path": "/a", "content": "x"}),
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            Host::Antigravity,
            "replace_file_content",
            json!({"TargetFile": "/a", "TargetContent": "x", "ReplacementContent": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            Host::Opencode,
            "edit",
            json!({"filePath": "/a", "oldString": "x", "newString": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (Host::Copilot, "Read", json!({"path": "/a"}), "read_file", json!({"file_path": "/a"})),
        (Host::Codex, "mcp__git__push", json!({"x": 1}), "mcp__git__push", json!({"x": 1})),
        (Host::Copilot, "git/push", json!({"x": 1}), "mcp__git__push", json!({"x": 1})),
    ] {
        let (tool, input) = single_view(host, name, input);
        assert_eq!((tool.as_str(), &input), (ours, &expected), "{host} {name}");
    }
}

#[test]
fn changes_are_written_back_in_native_arguments() {
    for (host, name, input, changes, expected) in [
        (Host::ClaudeCode, "Bash", json!({"command": "a"}), json!({"command": "b"}), json!({"command": "b"})),
        (
            Host::Copilot,
            "Edit",
            json!({"path": "/a", "old_str": "x", "new_str": "y"}),
            json!({"new_string": "z"}),
            json!({"path": "/a", "old_str": "x", "new_str": "z"}),
        ),
        (
            Host::Droid,
            "Execute",
            json!({"command": "a", "summary": "s"}),
            json!({"command": "b"}),
            json!({"command": "b", "summary": "s"}),
        ),
    ] {
        let input = map(input);
        let (view, back) = translate_call(host, name, &input).views.remove(0);
        let mut changed = view.input;
        changed.extend(map(changes));
        assert_eq!(
            write_back_arguments(host, name, &input, back, &changed).map(Value::Object),
            Ok(expected),
            "{host} {name}"
        );
    }
}

const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@\n-x\n+y\n*** Delete File: c.txt\n*** End Patch";

#[test]
fn a_patch_is_a_view_of_each_file() {
    let files = |name: &str, input: Value| -> Vec<(String, String)> {
        let views = translate_call(Host::Codex, name, &map(input));
        assert_eq!(views.recognition, ToolRecognition::Known);
        let file =
            |call: &DialectCall| call.input.get("file_path").and_then(Value::as_str).unwrap_or_default().to_owned();
        views.views.iter().map(|(call, _)| (call.tool.clone(), file(call))).collect()
    };
    let expected = [("write_file", "a.txt"), ("replace", "b.txt"), ("replace", "c.txt")];
    let expected: Vec<_> = expected.iter().map(|(tool, file)| ((*tool).to_owned(), (*file).to_owned())).collect();
    assert_eq!(files("apply_patch", json!({"command": PATCH})), expected);
    let within = files("Bash", json!({"command": format!("cd x && apply_patch <<'EOF'\n{PATCH}\nEOF")}));
    assert_eq!(within[0].0, "run_shell_command");
    assert_eq!(within[1..], expected);
}

/// Returns the arguments of an edit in a permission request of Copilot. A side without a path is `dev/null`.
fn diff_call(file_path: &str, old: &str, new: &str, hunk: &str) -> Map<String, Value> {
    let diff = format!("\ndiff --git a/{old} b/{new}\nindex 0000000..0000000\n--- a/{old}\n+++ b/{new}\n{hunk}");
    map(json!({"file_path": file_path, "diff": diff}))
}

/// Recorded from Copilot 1.0.102: one request per file, paths unquoted.
#[test]
fn a_diff_shows_every_file_that_it_changes() {
    let (added, changed) = ("@@ -1,0 +1,1 @@\n+one\n\n", "@@ -1,2 +1,2 @@\n-four\n+five\n same\n\\ No newline\n");
    let odd = "p/sp ace, \"q\"\tö.txt";
    let replace = |path: &str| ("replace", path.to_owned(), "five\nsame\n");
    for (input, expected) in [
        (diff_call("/p/new", "dev/null", "p/new", added), vec![("write_file", "/p/new".to_owned(), "one\n")]),
        (diff_call("/p/new", "p/new", "p/new", changed), vec![replace("/p/new")]),
        (diff_call(&format!("/{odd}"), odd, odd, changed), vec![replace(&format!("/{odd}"))]),
        (diff_call("src/a", "src/a", "src/a", changed), vec![replace("src/a")]),
        (
            diff_call("/p/to", "p/from", "p/to", changed),
            vec![
                replace("/p/from"),
                ("replace", "/p/from".to_owned(), ""),
                ("write_file", "/p/to".to_owned(), "five\nsame\n"),
            ],
        ),
        (
            diff_call("/p/old", "p/old", "dev/null", "@@ -1,1 +0,0 @@\n-one\n"),
            vec![("replace", "/p/old".to_owned(), "")],
        ),
    ] {
        let call = translate_call(Host::Copilot, "edit", &input);
        assert_eq!((call.recognition, &call.uncertainty), (ToolRecognition::Known, &None), "{input:?}");
        let text = |call: &DialectCall, key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
        let view = |(call, _): &(DialectCall, _)| {
            let new = text(call, "content").or_else(|| text(call, "new_string"));
            (call.tool.clone(), text(call, "file_path").unwrap(), new.unwrap())
        };
        let expected: Vec<_> =
            expected.into_iter().map(|(tool, path, new)| (tool.to_owned(), path, new.to_owned())).collect();
        assert_eq!(call.views.iter().map(view).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_diff_that_could_be_about_another_file_is_unknown() {
    let hunk = "@@ -1,1 +1,1 @@\n-a\n+b\n";
    let with = |key: &str, value: Value| {
        let mut call = diff_call("/p/a", "p/a", "p/a", hunk);
        call.insert(key.to_owned(), value);
        call
    };
    for input in [
        diff_call("/p/a", "p/a", "p/.env", hunk),
        diff_call("/p/a", "p/.env", "dev/null", hunk),
        diff_call("/p/a", "p/a", "p/a", ""),
        diff_call("/p/a", "p/a", "p/a\n+++ b/p/.env", hunk),
        diff_call("/p/a", "p/a", "p/a", &format!("{hunk}diff --git a/p/.env b/p/.env\n--- a/p/.env\n{hunk}")),
        with("diff", json!(["x"])),
        with("diff", json!("")),
        with("path", json!("/p/.env")),
        with("old_str", json!("x")),
        map(json!({"diff": "x"})),
    ] {
        let call = translate_call(Host::Copilot, "edit", &input);
        assert_eq!(call.recognition, ToolRecognition::UnknownArguments, "{input:?}");
    }
}

#[test]
fn unreadable_calls_are_unknown_and_never_rewritten() {
    let standing = |host, name: &str, input: Value| translate_call(host, name, &map(input)).recognition;
    let cut = json!({"command": "*** Begin Patch\n*** Add File: a\n+x"});
    assert_eq!(standing(Host::Codex, "apply_patch", cut), ToolRecognition::UnknownArguments);
    let shell = json!({"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\nEOF"});
    assert_eq!(standing(Host::Codex, "Bash", shell), ToolRecognition::UnknownArguments);
    assert_eq!(standing(Host::ClaudeCode, "Frobnicate", json!({})), ToolRecognition::Unknown);
    assert_eq!(standing(Host::ClaudeCode, "Bash ", json!({})), ToolRecognition::Unknown);
    assert_eq!(standing(Host::Cursor, "MCP:push", json!({})), ToolRecognition::UnknownServer);
    assert_eq!(standing(Host::ClaudeCode, "AskUserQuestion", json!({})), ToolRecognition::Harmless);
    let (_, back) = translate_call(Host::Codex, "apply_patch", &map(json!({"command": PATCH}))).views.remove(0);
    assert!(write_back_arguments(Host::Codex, "apply_patch", &Map::new(), back, &Map::new()).is_err());
}

/// A tool that is harmless in one agent may do anything in another.
#[test]
fn tool_names_count_only_for_the_agent_that_has_them() {
    let standing = |host, name: &str| translate_call(host, name, &Map::new()).recognition;
    for (host, name) in [
        (Host::Codex, "update_plan"),
        (Host::Copilot, "stop_bash"),
        (Host::Droid, "ExitSpecMode"),
        (Host::Opencode, "question"),
        (Host::Grok, "search_tool"),
        (Host::GeminiCli, "ask_user"),
        (Host::ClaudeCode, "TaskOutput"),
    ] {
        assert_eq!(standing(host, name), ToolRecognition::Harmless, "{host} {name}");
        for other in Host::all().filter(|other| *other != host) {
            let is_shared = matches!((other, name), (Host::Droid, "TaskOutput") | (Host::Copilot, "ask_user"));
            assert_eq!(standing(other, name) == ToolRecognition::Harmless, is_shared, "{other} {name}");
        }
    }
    for host in Host::all() {
        for name in ["wait", "git__push", "@git/push"] {
            assert_eq!(standing(host, name), ToolRecognition::Unknown, "{host} {name}");
        }
    }
    assert!(is_retired(Host::ClaudeCode, "MultiEdit") && !is_retired(Host::Droid, "MultiEdit"));
}

/// Returns each agent's shell, write, edit and read call with all its optional arguments.
fn ordinary_calls() -> Vec<(Host, &'static str, Value)> {
    let with = |host, name, input| (host, name, input);
    vec![
        with(
            Host::ClaudeCode,
            "Bash",
            json!({"command": "ls", "description": "d", "timeout": 5, "run_in_background": true,
                "dangerouslyDisableSandbox": false}),
        ),
        with(Host::ClaudeCode, "Write", json!({"file_path": "/a", "content": "x"})),
        with(
            Host::ClaudeCode,
            "Edit",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": false}),
        ),
        with(Host::ClaudeCode, "Read", json!({"file_path": "/a", "offset": 1, "limit": 2, "pages": "1-3"})),
        with(
            Host::ClaudeCode,
            "Grep",
            json!({"pattern": "x", "path": "/p", "glob": "*.rs", "output_mode": "content", "-A": 1, "-n": true,
                "type": "rust", "head_limit": 3}),
        ),
        with(Host::Codex, "Bash", json!({"command": "ls"})),
        with(Host::Codex, "exec_command", json!({"cmd": "ls", "workdir": "/p", "yield_time_ms": 100})),
        with(Host::Codex, "apply_patch", json!({"command": PATCH})),
        with(
            Host::Copilot,
            "bash",
            json!({"command": "ls", "description": "d", "shellId": "1", "mode": "sync", "initial_wait": 3}),
        ),
        with(Host::Copilot, "create", json!({"path": "/a", "file_text": "x"})),
        with(Host::Copilot, "edit", json!({"path": "/a", "old_str": "x", "new_str": "y"})),
        with(Host::Copilot, "view", json!({"path": "/a", "view_range": [1, 5], "forceReadLargeFiles": true})),
        with(Host::Copilot, "grep", json!({"pattern": "x", "paths": ["/a", "/b"], "output_mode": "content"})),
        with(Host::Cursor, "Shell", json!({"command": "ls", "working_directory": "/p", "timeout": 3})),
        with(Host::Cursor, "Write", json!({"file_path": "/a", "content": "x"})),
        with(Host::Cursor, "Read", json!({"file_path": "/a"})),
        with(
            Host::Qwen,
            "run_shell_command",
            json!({"command": "ls", "is_background": false, "description": "d", "directory": "/p", "timeout": 9}),
        ),
        with(Host::Qwen, "write_file", json!({"file_path": "/a", "content": "x", "record_as_artifact": true})),
        with(Host::Qwen, "edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y"})),
        with(
            Host::Droid,
            "Execute",
            json!({"command": "ls", "summary": "s", "riskLevel": "low", "riskLevelReason": "why", "timeout": 3,
                "fireAndForget": false}),
        ),
        with(Host::Droid, "Create", json!({"file_path": "/a", "content": "x"})),
        with(Host::Droid, "Edit", json!({"file_path": "/a", "old_str": "x", "new_str": "y", "change_all": true})),
        with(Host::Droid, "Glob", json!({"patterns": ["*.rs", "*.md"], "folder": "/p"})),
        with(
            Host::Grok,
            "run_terminal_command",
            json!({"command": "ls", "description": "d", "timeout": null, "background": false}),
        ),
        with(Host::Grok, "write", json!({"file_path": "/a", "content": "x"})),
        with(Host::Grok, "search_replace", json!({"file_path": "/a", "old_string": "x", "new_string": "y"})),
        with(Host::Grok, "read_file", json!({"target_file": "/a", "offset": 1, "pages": null})),
        with(
            Host::GeminiCli,
            "run_shell_command",
            json!({"command": "ls", "description": "d", "dir_path": "/p", "is_background": true, "delay_ms": 3,
                "wait_for_previous": true}),
        ),
        with(
            Host::GeminiCli,
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y", "instruction": "why",
                "expected_replacements": 2}),
        ),
        with(Host::GeminiCli, "write_file", json!({"file_path": "/a", "content": "x", "modified_by_user": true})),
        with(Host::GeminiCli, "grep_search", json!({"pattern": "x", "dir_path": ".", "include_pattern": "*.rs"})),
        with(
            Host::Antigravity,
            "run_command",
            json!({"CommandLine": "ls", "Cwd": "/p", "SafeToAutoRun": true, "WaitMsBeforeAsync": 500,
                "toolSummary": "List"}),
        ),
        with(
            Host::Antigravity,
            "write_to_file",
            json!({"TargetFile": "/a", "CodeContent": "x", "Overwrite": true, "Complexity": 3, "Description": "d"}),
        ),
        with(
            Host::Antigravity,
            "multi_replace_file_content",
            json!({"TargetFile": "/a", "Instruction": "i", "ReplacementChunks": [
                {"TargetContent": "x", "ReplacementContent": "y", "AllowMultiple": false, "StartLine": 1, "EndLine": 2}]}),
        ),
        with(Host::Opencode, "bash", json!({"command": "ls", "workdir": "/p", "timeout": 5, "description": "d"})),
        with(Host::Opencode, "write", json!({"filePath": "/a", "content": "x"})),
        with(Host::Opencode, "edit", json!({"filePath": "/a", "oldString": "x", "newString": "y", "replaceAll": true})),
        with(Host::Opencode, "apply_patch", json!({"patchText": PATCH})),
    ]
}

#[test]
fn an_ordinary_call_with_all_its_options_is_known() {
    for (host, name, input) in ordinary_calls() {
        let views = translate_call(host, name, &map(input));
        assert_eq!((views.recognition, &views.uncertainty), (ToolRecognition::Known, &None), "{host} {name}");
    }
}

/// Returns every spelling that agents use for a path, a command, a directory or a text, in other cases and nested.
fn decoys() -> Vec<(String, Value)> {
    let spellings = [
        "file_path",
        "filePath",
        "path",
        "absolute_path",
        "AbsolutePath",
        "TargetFile",
        "target_file",
        "target_path",
        "File_Path",
        "PATH",
        "file-path",
        "filepath",
        "p\u{430}th",
        "file_path ",
        "files",
        "paths",
        "command",
        "cmd",
        "CommandLine",
        "Command",
        "script",
        "cwd",
        "Cwd",
        "workdir",
        "working_directory",
        "dir_path",
        "directory",
        "content",
        "contents",
        "CodeContent",
        "file_text",
        "old_str",
        "oldString",
        "input",
        "patch",
        "patchText",
        "edits",
        "changes",
        "0",
        "",
    ];
    let values = [
        json!(".env"),
        json!([".env"]),
        json!([[".env"]]),
        json!({"path": ".env"}),
        json!({".env": true}),
        json!("{\"file_path\": \".env\"}"),
        json!("42"),
        json!([1, ".env"]),
    ];
    let each = |spelling: &str| values.iter().map(|value| (spelling.to_owned(), value.clone())).collect::<Vec<_>>();
    spellings.iter().flat_map(|spelling| each(spelling)).collect()
}

/// An argument in a spelling that the agent does not use is not accepted, beside its own spelling or instead of it.
#[test]
fn a_second_spelling_makes_any_call_unknown() {
    let mut tried = 0;
    for (host, name, input) in ordinary_calls() {
        let whole = map(input);
        for (key, value) in decoys() {
            // The call's own arguments are not decoys, and options are known.
            let row = vocabulary::tool_row(host, name).unwrap();
            if whole.contains_key(&key) || row.classify_key(host, "", &key) == ArgumentKey::Option {
                continue;
            }
            let mut with_decoy = whole.clone();
            with_decoy.insert(key.clone(), value.clone());
            let views = translate_call(host, name, &with_decoy);
            let is_own = matches!(row.classify_key(host, "", &key), ArgumentKey::Argument { .. });
            let is_other_spelling = is_own && views.uncertainty.is_none();
            // An optional argument in its proper spelling and type is accepted.
            if is_other_spelling {
                assert!(value.is_string() || key == "paths", "{host} {name} {key} {value}");
                continue;
            }
            assert_eq!(views.recognition, ToolRecognition::UnknownArguments, "{host} {name} {key} {value}");
            tried += 1;
        }
    }
    assert!(tried > 8_000, "{tried}");
}

#[test]
fn an_argument_of_another_kind_makes_a_call_unknown() {
    for (host, name, input) in ordinary_calls() {
        let row = vocabulary::tool_row(host, name).unwrap();
        let whole = map(input);
        for key in whole.keys() {
            let ArgumentKey::Argument { name: argument, many } = row.classify_key(host, "", key) else { continue };
            if NON_TEXT_ARGUMENTS.contains(&argument) && argument != EDITS_KEY {
                continue;
            }
            for value in [json!(["rm", ".env"]), json!({"0": "rm"}), json!(7), json!(true), json!([["a"]])] {
                if many && value == json!(["rm", ".env"]) {
                    continue;
                }
                let mut other = whole.clone();
                other.insert(key.clone(), value.clone());
                let views = translate_call(host, name, &other);
                assert_eq!(views.recognition, ToolRecognition::UnknownArguments, "{host} {name} {key} {value}");
            }
        }
    }
}

/// The elements of a list of edits are checked like the call's own arguments.
#[test]
fn a_decoy_within_an_edit_makes_the_call_unknown() {
    let edit = json!({"TargetContent": "x", "ReplacementContent": "y"});
    for (key, value) in decoys() {
        let mut edit = map(edit.clone());
        edit.insert(key.clone(), value);
        let input = json!({"TargetFile": "/ok", "ReplacementChunks": [{"TargetContent": "a"}, edit]});
        let views = translate_call(Host::Antigravity, "multi_replace_file_content", &map(input));
        assert_eq!(views.recognition, ToolRecognition::UnknownArguments, "{key}");
    }
    for edits in [json!("[{}]"), json!({"0": {}}), json!([["x"]]), json!(["x"])] {
        let input = json!({"TargetFile": "/ok", "ReplacementChunks": edits});
        let views = translate_call(Host::Antigravity, "multi_replace_file_content", &map(input));
        assert_eq!(views.recognition, ToolRecognition::UnknownArguments);
    }
    let input =
        json!({"file_path": "/a", "changes": [{"old_str": "x", "new_str": "y"}, {"old_str": "a", "new_str": "b"}]});
    let two = translate_call(Host::Droid, "MultiEdit", &map(input.clone()));
    assert_eq!((two.recognition, two.views.len()), (ToolRecognition::Known, 2));
    let (view, back) = two.views[1].clone();
    let mut changed = view.input;
    changed.insert("new_string".to_owned(), "c".into());
    let expected =
        json!({"file_path": "/a", "changes": [{"old_str": "x", "new_str": "y"}, {"old_str": "a", "new_str": "c"}]});
    assert_eq!(
        write_back_arguments(Host::Droid, "MultiEdit", &map(input), back, &changed).map(Value::Object),
        Ok(expected)
    );
}

#[test]
fn every_path_of_a_list_is_a_view() {
    let views = translate_call(Host::Copilot, "grep", &map(json!({"pattern": "x", "paths": ["/a", "/b"]})));
    let paths: Vec<_> = views.views.iter().map(|(call, _)| call.input["dir_path"].clone()).collect();
    assert_eq!(paths, ["/a", "/b"]);
    assert!(matches!(views.views[0].1, ArgumentWriteBack::Impossible(_)));
}
