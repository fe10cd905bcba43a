use std::path::Path;

use hookwright_hooks::SourceText;
use serde_json::json;

use super::*;
use crate::json::{parse_object, to_value};

fn server(entry: &Value) -> Result<McpServer, String> {
    entry::server_from_entry("s", entry, &Source::User, Path::new("/p"))
}

fn said(origin: &Source, text: &str) -> Vec<String> {
    let source = SourceText::new(Path::new("f.json"), text);
    let root = parse_object(text, &source).unwrap().unwrap();
    let servers = &crate::json::last_property(&root, "mcpServers").unwrap().value;
    let values = to_value(servers, &|text| text.into());
    let found = diagnose_entries(servers, &values, origin, &source);
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn every_kind_of_server_is_read() {
    let stdio = server(&json!({"command": "npx", "args": ["-y", 8], "env": {"A": "1", "B": true}, "cwd": "sub",
        "timeout": 1500, "trust": true, "includeTools": ["x"], "excludeTools": ["y"], "description": "d"}))
    .unwrap();
    assert_eq!(stdio.transport.to_string(), "npx -y 8");
    let McpTransport::Stdio { env, cwd, .. } = &stdio.transport else { panic!() };
    assert_eq!(env[1], ("B".to_owned(), "true".to_owned()));
    assert_eq!(cwd.as_deref(), Some(Path::new("/p/sub")));
    assert_eq!(stdio.timeout, Duration::from_millis(1500));
    assert!(stdio.trust);
    assert_eq!((stdio.include_tools, stdio.exclude_tools), (Some(vec!["x".to_owned()]), vec!["y".to_owned()]));
    let kind = |entry: Value| match server(&entry).unwrap().transport {
        McpTransport::Stdio { .. } => "stdio",
        McpTransport::Http { .. } => "http",
        McpTransport::Sse { .. } => "sse",
        McpTransport::HttpOrSse { .. } => "either",
    };
    assert_eq!(kind(json!({"url": "https://h/mcp"})), "either");
    assert_eq!(kind(json!({"url": "https://h/mcp", "type": "sse"})), "sse");
    assert_eq!(kind(json!({"url": "https://h/mcp", "type": "http"})), "http");
    assert_eq!(kind(json!({"url": "https://h/mcp", "type": "streamable-http"})), "http");
    assert_eq!(kind(json!({"httpUrl": "https://h/mcp", "url": "https://other"})), "http");
    assert_eq!(kind(json!({"command": "x", "url": "https://h"})), "either");
    assert_eq!(kind(json!({"command": "x", "url": "https://h", "type": "stdio"})), "stdio");
    assert_eq!(server(&json!({"command": "x"})).unwrap().timeout, DEFAULT_REQUEST_TIMEOUT);
}

#[test]
fn entry_with_a_critical_error_is_rejected() {
    for (entry, why) in [
        (json!({}), "it has neither `command` nor `url`"),
        (json!({"command": ""}), "it has neither `command` nor `url`"),
        (json!({"type": "stdio", "url": "https://h"}), "it has no `command`"),
        (json!({"command": ["npx"]}), "`command` should be a string, not an array"),
        (json!({"command": "x", "args": "a b"}), "`args` should be a list of strings, not a string"),
        (json!({"command": "x", "args": ["a", ["b"]]}), "`args.1` should be a string, not an array"),
        (json!({"command": "x", "env": ["A=1"]}), "`env` should be an object of strings, not an array"),
        (json!({"command": "x", "args": ["a\0b"]}), "`args.0` has a zero byte"),
        (json!({"command": "x", "excludeTools": "rm"}), "`excludeTools` should be a list of strings, not a string"),
        (
            json!({"httpUrl": "${NOT_SET_ANYWHERE}/mcp"}),
            "`httpUrl` is \"${NOT_SET_ANYWHERE}/mcp\", but NOT_SET_ANYWHERE is not set",
        ),
        (json!({"url": "h:80"}), "`url` should be an http or https address, not \"h:80\""),
        (json!({"url": "file:///etc/passwd"}), "`url` should be an http or https address, not \"file:///etc/passwd\""),
        (json!({"url": "https://h", "type": "ws"}), "`type` should be \"stdio\", \"http\" or \"sse\", not \"ws\""),
        (json!("npx"), "it should be an object, not a string"),
        (json!(null), "it should be an object, not null"),
    ] {
        assert_eq!(server(&entry).unwrap_err(), why, "{entry}");
    }
    assert!(server(&json!({"command": "x", "timeout": "10s", "trust": "yes", "description": 1, "oauth": 1})).is_ok());
}

#[test]
fn what_is_wrong_has_its_place_and_what_was_meant() {
    let text = r#"{"mcpServers": {
  "a": {"command": "x", "excludeTool": ["y"], "timeout": -1},
  "b": {"serverUrl": "https://h"},
  "c": {"command": "x", "trust": true, "authProviderType": "google_credentials"},
  "d": {"command": "x", "authProviderType": "dynamic_discovery", "alwaysAllow": ["z"], "oauth": {"clientID": "i"}},
  "a\u001b[2J": {"command": "x"},
  "e": {"command": "x"}, "e": {"command": "y"}
}}"#;
    insta::assert_snapshot!(said(&Source::Project, text).join("\n"));
}

#[test]
fn a_list_is_reported_with_what_was_meant() {
    let text = r#"{"mcpServers": [{"name": "a\"b", "command": "npx", "args": ["-y"], "env": {"KEY": "secret"}}, {"command": "x"}]}"#;
    insta::assert_snapshot!(said(&Source::User, text).join("\n"));
    for text in [r#"{"mcpServers": "x"}"#, r#"{"mcpServers": [1]}"#, r#"{"mcpServers": true}"#] {
        assert_eq!(said(&Source::User, text).len(), 1, "{text}");
    }
    assert!(said(&Source::User, r#"{"mcpServers": null}"#).is_empty());
}

#[test]
fn secrets_are_in_no_debug_output() {
    let entry = json!({"url": "https://h", "headers": {"Authorization": "Bearer hunter2"}, "oauth": {"clientSecret": "hunter2"}});
    let shown = format!("{:?} {}", server(&entry).unwrap(), server(&entry).unwrap().transport);
    assert!(!shown.contains("hunter2"), "{shown}");
    let shown = format!("{:?}", server(&json!({"command": "x", "env": {"K": "hunter2"}})).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn unset_variables_are_listed() {
    let entry = json!({"url": "https://h/mcp", "headers": {"A": "Bearer $TOKEN", "B": "$5 ${X:-d}"}});
    assert_eq!(server(&entry).unwrap().unset_variables, ["5", "TOKEN"]);
    let entry = json!({"command": "${ROOT}/run", "args": ["-c", "echo $1 $X", "${ROOT}/x", "${DIR}"]});
    assert_eq!(server(&entry).unwrap().unset_variables, ["DIR", "ROOT"]);
}

#[test]
fn tool_restrictions_are_honoured_under_any_name() {
    let entry = json!({"command": "x", "disabledTools": ["a"], "excludeTools": ["b"], "enabled_tools": ["c"]});
    let both = server(&entry).unwrap();
    assert_eq!(both.exclude_tools, ["b", "a"]);
    assert_eq!(both.include_tools, Some(vec!["c".to_owned()]));
    let entry = json!({"command": "x", "includeTools": ["a", "b"], "enabledTools": ["b", "c"]});
    let narrow = server(&entry).unwrap();
    assert_eq!(narrow.include_tools, Some(vec!["b".to_owned()]));
    let wrong = server(&json!({"command": "x", "disabledTools": "a"}));
    assert!(wrong.is_err(), "a list that can't be read leaves the server out");
}

#[test]
fn valid_http_addresses_are_recognised() {
    for url in
        ["http://h", "https://h.example:8443/mcp?x=1", "http://127.0.0.1:1", "http://[::1]:80/x", "http://u:p@h/"]
    {
        assert!(entry::is_http_url(url), "{url}");
    }
    for url in [
        "http://",
        "https:///x",
        "http://:80",
        "http://h:port",
        "http://h:99999",
        "http://[::1",
        "http://a b",
        "ftp://h",
        "h.example",
        "",
        "http://?x",
        "http://u@",
        "http://<host>/",
    ] {
        assert!(!entry::is_http_url(url), "{url}");
    }
}

#[test]
fn auto_approval_of_other_programs_is_reported() {
    let said = said(&Source::User, r#"{"mcpServers": {"s": {"command": "x", "autoApprove": ["a"]}}}"#);
    assert!(said[0].contains("`autoApprove` has no effect here"), "{said:?}");
}
