use std::fs;

use super::*;

/// Parses a file and returns the problems as `line:column severity message`.
fn parse_text(text: &str) -> (Option<SubAgentDefinition>, Vec<String>) {
    let mut diagnostics = Vec::new();
    let agent = definition_reader::parse_definition(&Source::User, Path::new("/a/x.md"), text, &mut diagnostics);
    let said = diagnostics.iter().map(|one| {
        let place = one.span.as_ref().map(|span| format!("{}:{} ", span.line, span.column)).unwrap_or_default();
        format!("{place}{}", one.message)
    });
    (agent, said.collect())
}

const SCOUT_DEFINITION: &str = "---\nname: scout\ndescription: looks around\n---\nYou look around.\n";

#[test]
fn a_whole_definition() {
    let (agent, said) = parse_text(
        "---\nkind: local\nname: security-auditor\ndisplay_name: Auditor\ndescription: finds holes\ntools:\n  - read_file\n  - \
         grep_search\nmodel: gemini-3-flash-preview\ntemperature: 0.2\nmax_turns: 10\ntimeout_mins: 5\n---\n\nYou audit.\n\nTwice.\n",
    );
    let agent = agent.unwrap();
    assert_eq!(said, Vec::<String>::new());
    assert_eq!((agent.name.as_str(), agent.title(), agent.max_turns), ("security-auditor", "Auditor", 10));
    assert_eq!((agent.timeout, agent.temperature), (Duration::from_secs(300), Some(0.2)));
    assert_eq!(agent.model.as_deref(), Some("gemini-3-flash-preview"));
    assert_eq!(agent.prompt, "You audit.\n\nTwice.");
    assert_eq!(agent.tools.names().unwrap(), ["read_file", "search_file_content"]);
}

#[test]
fn defaults_are_gemini_clis() {
    let agent = parse_text(SCOUT_DEFINITION).0.unwrap();
    assert_eq!((agent.max_turns, agent.timeout), (30, Duration::from_secs(600)));
    assert_eq!((agent.model, agent.temperature, agent.tools), (None, None, ToolList::default()));
}

#[test]
fn an_agent_of_claude_code() {
    let (agent, said) = parse_text(
        "---\nname: reviewer\ndescription: reviews\ntools: Read, Grep, Bash(git log:*), NotebookEdit, Task\nmodel: sonnet\n\
         color: blue\npermissionMode: plan\n---\nReview.",
    );
    let agent = agent.unwrap();
    assert_eq!(
        agent.tools.names().unwrap(),
        ["read_file", "read_many_files", "search_file_content", "delegate_to_agent"]
    );
    assert_eq!(agent.model, None);
    assert_eq!(
        said,
        [
            "7:1 `permissionMode` is not a known field; it is ignored",
            "4:8 `Bash(git log:*)` allows a part of a tool, but an agent's list allows only whole tools; it is left out",
            "4:8 `NotebookEdit` is not a known tool; it is ignored",
            "5:8 `sonnet` is another program's name for a model; the session's model is used",
        ]
    );
}

/// The author of such a list wants fewer tools than all, so a mistake in it must not allow all.
#[test]
fn unreadable_list_of_forbidden_tools_allows_no_tools() {
    let tools = |list: &str| {
        let (agent, said) = parse_text(&format!("---\nname: x\ndescription: y\n{list}\n---\nP"));
        (agent.unwrap().tools, said)
    };
    for (list, place) in [
        ("disallowedTools: {Bash: true}", "4:18"),
        ("disallowed_tools:\n  - [Bash]", "5:5"),
        ("tools: [Read, Bash]\ndisallowedTools:\n  - a: b\n  - Write", "6:5"),
        ("disallowedTools: Write\ndisallowed_tools: {Bash: true}", "5:19"),
    ] {
        let (tools, said) = tools(list);
        assert!(!tools.has("run_shell_command", None) && !tools.has("read_file", None), "{list}");
        assert!(said.iter().any(|one| one.starts_with(place) && one.ends_with("the agent has no tools")), "{said:?}");
    }
    let (both, _) = tools("disallowedTools: Write\ndisallowed_tools: Bash");
    assert!(!both.has("write_file", None) && !both.has("run_shell_command", None) && both.has("read_file", None));
    let (misspelt, said) = tools("disallowedTools: Bsah, Write");
    assert!(!misspelt.has("write_file", None));
    assert_eq!(said, ["4:18 `Bsah` is not a known tool, so it excludes nothing"]);
}

#[test]
fn one_bad_field_spoils_no_other() {
    let (agent, said) = parse_text(
        "---\nname: x\ndescription: y\nmax_turns: 0\ntimeout_mins: -1\ntemperature: hot\nmodel: [a]\ntools: {a: b}\n\
         display_name: 3\nmcp_servers: 1\n---\nP",
    );
    let agent = agent.unwrap();
    assert_eq!((agent.max_turns, agent.timeout), (30, Duration::from_secs(600)));
    assert!(!agent.tools.has("read_file", None), "a list that can't be read gives nothing");
    assert_eq!(
        said,
        [
            "10:14 `mcp_servers` should be servers by their names, not 1; it is ignored",
            "8:8 `tools` should be a list of tools, not fields; it counts as an empty list",
            "7:8 `model` should be text, not a list; it is ignored",
            "6:14 `temperature` should be a number from 0 to 2, not hot; it is ignored",
            "4:12 `max_turns` should be a whole number above 0, not 0; the default is used",
            "5:15 `timeout_mins` should be a whole number above 0, not -1; the default is used",
        ]
    );
}

#[test]
fn enormous_limits_are_clamped() {
    let text = "---\nname: x\ndescription: y\nmax_turns: 99999999999\ntimeout_mins: 9007199254740993\n---\nP";
    let agent = parse_text(text).0.unwrap();
    assert_eq!((agent.max_turns, agent.timeout), (u32::MAX, Duration::from_secs(24 * 3600)));
}

#[test]
fn names_that_are_no_names_leave_the_agent_out() {
    let long = "x".repeat(65);
    for name in ["../../etc/passwd", "/etc/passwd", "Scout", "a b", "a/b", "\"\"", "..", "[a]", "é", &long] {
        let (agent, said) = parse_text(&format!("---\nname: {name}\ndescription: y\n---\nP"));
        assert!(agent.is_none() && !said.is_empty(), "{name}: {said:?}");
    }
    assert_eq!(parse_text("---\ndescription: y\n---\nP").1, ["1:1 this agent is left out: it has no `name`"]);
    assert_eq!(parse_text("---\nname: x\n---\nP").1, ["1:1 this agent is left out: it has no `description`"]);
    assert_eq!(parse_text("just text").1, ["1:1 this file has no front matter"]);
    let remote = "---\nkind: remote\nname: x\nagent_card_url: https://x\n---\n";
    assert!(parse_text(remote).0.is_none() && parse_text(remote).1.iter().any(|said| said.contains("remote agents")));
}

#[test]
fn first_agent_of_a_name_is_used_and_other_files_are_skipped() {
    let home = tempfile::tempdir().unwrap();
    let (own, theirs) = (home.path().join("own"), home.path().join("theirs"));
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(theirs.join("folder.md")).unwrap();
    fs::write(own.join("scout.md"), SCOUT_DEFINITION).unwrap();
    for skipped in ["_draft.md", ".hidden.md", "notes.txt"] {
        fs::write(own.join(skipped), SCOUT_DEFINITION).unwrap();
    }
    fs::write(theirs.join("other.md"), SCOUT_DEFINITION).unwrap();
    fs::write(theirs.join("huge.md"), vec![b'x'; MAX_DEFINITION_BYTES as usize + 1]).unwrap();
    fs::write(theirs.join("bytes.md"), [0xff, 0xfe]).unwrap();
    std::os::unix::fs::symlink(own.join("scout.md"), theirs.join("link.md")).unwrap();
    let mut agents = SubAgents::default();
    agents.add_directory(&Source::Project, &own);
    agents.add_directory(&Source::User, &theirs);
    agents.add_directory(&Source::User, &home.path().join("nowhere"));
    assert_eq!(agents.list.len(), 1);
    assert_eq!(agents.list[0].source, Source::Project);
    let mut said: Vec<String> =
        agents.diagnostics.iter().map(|one| one.message.replace(home.path().to_str().unwrap(), "")).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "agent `scout` (user) is left out: /own/scout.md (project) has that name and takes precedence",
            "this agent is left out: it is a link that leads out of its folder",
            "this file is not valid UTF-8, from byte 0 on",
            "this file is too large: 262145 bytes, where 262144 are read",
            "this is a directory, not a file",
        ]
    );
}

#[test]
fn settings_go_over_the_file() {
    let mut agent = parse_text(SCOUT_DEFINITION).0.unwrap();
    let overrides = serde_json::json!({"scout": {
        "enabled": false,
        "modelConfig": {"model": "gemini-x", "generateContentConfig": {"temperature": 9}},
        "runConfig": {"maxTurns": 50, "maxTimeMinutes": -3},
        "tools": ["glob", 7],
    }});
    let settings = AgentSettings { enabled: true, overrides: overrides.as_object().unwrap().clone() };
    settings.apply_overrides(&mut agent);
    assert!(!agent.enabled);
    assert_eq!((agent.model.as_deref(), agent.max_turns), (Some("gemini-x"), 50));
    assert_eq!(
        (agent.temperature, agent.timeout),
        (None, DEFAULT_AGENT_TIMEOUT),
        "what makes no sense changes nothing"
    );
    assert_eq!(agent.tools.names().unwrap(), ["glob"]);
}

#[test]
fn unknown_kind_is_local_and_unknown_fields_are_reported_once() {
    let text =
        "---\nkind: TASK\nname: x\ndescription: d\npermissionMode: a\nskills: b\nmemory: c\nmodle: d\n---\nbody\n";
    let mut said = Vec::new();
    let path = std::path::Path::new("x.md");
    let agent = super::definition_reader::parse_definition(&hookwright_hooks::Source::User, path, text, &mut said);
    assert!(agent.is_some());
    let said: Vec<&str> = said.iter().map(|wrong| wrong.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "`modle` is not a known field; it is ignored",
            "`permissionMode`, `skills` and `memory` are not known fields; they are ignored",
            "`task` is not a known kind of agent; it counts as `local`",
        ]
    );
}

#[test]
fn own_servers_are_converted_to_settings_keys_and_problems_are_reported() {
    let (agent, said) = parse_text(
        "---\nname: x\ndescription: y\nmcp_servers:\n  far:\n    http_url: https://h.example/mcp\n    exclude_tools: [a]\n    \
         auth: {type: oauth, client_id: me, token_url: https://h.example/t}\n    trust: true\n  near:\n    command: sh\n    \
         commnad: x\n  bad:\n    args: []\n---\nP",
    );
    let agent = agent.unwrap();
    assert_eq!(
        serde_json::Value::Object(agent.named_servers),
        serde_json::json!({
            "far": { "httpUrl": "https://h.example/mcp", "excludeTools": ["a"], "trust": true,
                "oauth": { "clientId": "me", "tokenUrl": "https://h.example/t" } },
            "near": { "command": "sh", "commnad": "x" },
            "bad": { "args": [] },
        })
    );
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("11:") && said[0].contains("MCP server `near`: `commnad`"), "{said:?}");
    assert!(said[1].contains("MCP server `bad`") && said[1].ends_with("the server is left out"), "{said:?}");
    assert!(agent.servers.is_empty(), "which of them count is decided where everything is known");
}
