//! Tests of each kind of mistake in settings: its diagnostic, and which hooks still load.

mod chunks;
mod claude;
mod guards;
mod hook_types;
mod when;
mod whole_file;

use super::*;
use crate::on_error::{FailureAction, OnError};
use insta::assert_snapshot;
use std::path::Path;
use std::time::Duration;

fn parse_from(source: Source, text: &str) -> DeclaredLayer {
    parse_layer(&Layer::new(source, Path::new("settings.json"), text))
}

fn parse_text(text: &str) -> DeclaredLayer {
    parse_from(Source::Project, text)
}

/// The diagnostics, one per line.
fn diagnostic_lines(declared: &DeclaredLayer) -> String {
    declared.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The names of the hooks that loaded.
fn hook_names(declared: &DeclaredLayer) -> Vec<&str> {
    declared.hooks.iter().map(Hook::id).collect()
}

/// Settings whose BeforeTool has a good hook, then these definitions, then another good hook.
fn with_good_neighbours(definitions: &str) -> DeclaredLayer {
    parse_text(&format!(
        r#"{{
  "hooks": {{
    "BeforeTool": [
      {{ "hooks": [{{ "type": "command", "name": "first", "command": "first.sh" }}] }},
      {definitions},
      {{ "hooks": [{{ "type": "command", "name": "last", "command": "last.sh" }}] }}
    ]
  }}
}}"#
    ))
}

/// The diagnostics of one bad hook between two good ones, which must load.
fn diagnose_bad_hook(hook: &str) -> String {
    let declared = with_good_neighbours(&format!(
        r#"{{ "hooks": [{hook}, {{ "type": "command", "name": "beside", "command": "b" }}] }}"#
    ));
    assert_eq!(hook_names(&declared), ["first", "beside", "last"]);
    diagnostic_lines(&declared)
}

/// The diagnostics of one odd hook between two good ones; all three must load.
fn diagnose_odd_hook(hook: &str) -> (DeclaredLayer, String) {
    let declared = with_good_neighbours(&format!(r#"{{ "hooks": [{hook}] }}"#));
    assert_eq!(hook_names(&declared), ["first", "odd", "last"]);
    let said = diagnostic_lines(&declared);
    (declared, said)
}

/// The diagnostics of one bad definition between two good hooks.
fn diagnose_bad_definition(definition: &str) -> String {
    let declared = with_good_neighbours(definition);
    assert_eq!(hook_names(&declared), ["first", "last"]);
    diagnostic_lines(&declared)
}

/// The diagnostics of one definition's matcher on one event; the hook must load.
fn diagnose_matcher(event: &str, matcher: &str) -> String {
    let text = format!(
        r#"{{"hooks": {{"{event}": [
  {{"matcher": {matcher}, "hooks": [{{"type": "command", "name": "h", "command": "h"}}]}}
]}}}}"#
    );
    let declared = parse_text(&text);
    assert_eq!(hook_names(&declared), ["h"]);
    diagnostic_lines(&declared)
}

#[test]
fn a_good_file_loads_without_diagnostics() {
    let declared = parse_text(
        r#"{
  "$schema": "x", "theme": "dark",
  "tools": { "enableHooks": true, "sandbox": 1 },
  "hooksConfig": { "enabled": true, "disabled": ["x"], "notifications": true, "onError": "ask", "maxAgentRetries": 2, "maxParallel": 8, "keepContext": true, "onUnknown": "deny", "sessionEndGrace": 9 },
  "hooks": {
    "enabled": true, "disabled": ["y"], "notifications": true,
    "BeforeTool": [
      { "matcher": "write_file|replace", "sequential": true, "hooks": [
        { "type": "command", "name": "a", "command": "a.sh", "description": "d", "timeout": 5000,
          "env": { "A": "1", "B": 2, "C": true }, "onError": { "timeout": "block", "exit": "ask" } },
        { "type": "command", "command": "b.sh" } ] },
      { "matcher": "", "hooks": [] }
    ],
    "SessionStart": [ { "matcher": "startup", "hooks": [ { "type": "command", "command": "s.sh" } ] } ]
  }
}"#,
    );
    assert_eq!(diagnostic_lines(&declared), "");
    assert_eq!(hook_names(&declared), ["a", "b.sh", "s.sh"]);
    let config = HooksConfig {
        enabled: Some(true),
        disabled: vec!["y".into(), "x".into()],
        on_error: OnError::for_all_causes(FailureAction::Ask),
        required: Vec::new(),
        max_agent_retries: Some(2),
        session_end_grace: Some(9),
        read_claude: None,
        max_parallel: std::num::NonZeroU32::new(8),
        keep_context: Some(true),
        notifications: Some(true),
        on_unknown: Some(OnUnknown::Deny),
        on_doubt: None,
        enforce: None,
    };
    assert_eq!(declared.config, config);
    let hook = &declared.hooks[0];
    assert_eq!((hook.event, hook.sequential, hook.timeout), (EventKind::BeforeTool, true, Duration::from_secs(5)));
    assert_eq!((hook.matcher_text.as_deref(), hook.description.as_deref()), (Some("write_file|replace"), Some("d")));
    assert_eq!((hook.on_error.timeout, hook.on_error.exit), (Some(FailureAction::Block), Some(FailureAction::Ask)));
    assert_eq!((hook.on_error.spawn, hook.locked), (None, false));
    assert_eq!(hook.location.as_ref().map(ToString::to_string).as_deref(), Some("settings.json:9:9"));
    let crate::hook::Action::Command(action) = &hook.action else { panic!("a command") };
    let env: Vec<_> = action.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=1", "B=2", "C=true"]);
    assert_eq!(declared.hooks[1].timeout, Hook::DEFAULT_TIMEOUT);
}

#[test]
fn an_empty_file_is_valid() {
    for text in ["", " \n", "// nothing yet\n", "{}", r#"{"hooks": {}}"#, r#"{"hooks": null}"#] {
        let declared = parse_text(text);
        assert_eq!((diagnostic_lines(&declared).as_str(), declared.hooks.len()), ("", 0), "{text}");
    }
}

#[test]
fn comments_trailing_commas_and_a_byte_order_mark_are_accepted() {
    let text = "\u{feff}{ // one\n /* two */ \"hooks\": {\r\n\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\",},],},],\n\"Befor\": [],},\n}";
    let declared = parse_text(text);
    assert_eq!(hook_names(&declared), ["a"]);
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:4:1: error: unknown hook event `Befor`; its hooks never run (the events are SessionStart, BeforeAgent, PreCompress, BeforeModel, BeforeToolSelection, AfterModel, BeforeTool, Notification, AfterTool, AfterAgent, SessionEnd)");
}

#[test]
fn an_unknown_event_is_reported_with_a_suggestion() {
    let hook = r#"[{"hooks": [{"type": "command", "command": "x"}]}]"#;
    let text = format!(
        r#"{{
  "hooks": {{
    "PreToolUse": {hook},
    "BeforeTools": {hook},
    "aftertool": {hook},
    "UserPromptSubmit": {hook},
    "SubagentStop": {hook},
    "Banana": {hook},
    "AfterTool": {hook}
  }}
}}"#
    );
    let declared = parse_text(&text);
    assert_eq!(declared.hooks.iter().map(|hook| hook.event).collect::<Vec<_>>(), [EventKind::AfterTool]);
    assert_snapshot!(diagnostic_lines(&declared), @"
    settings.json:3:5: error: unknown hook event `PreToolUse`; its hooks never run (this event is called `BeforeTool` here; `hookwright hooks migrate --from-claude` converts whole files, and `hooksConfig.readClaude` reads them as they are)
    settings.json:4:5: error: unknown hook event `BeforeTools`; its hooks never run (did you mean `BeforeTool`?)
    settings.json:5:5: error: unknown hook event `aftertool`; its hooks never run (did you mean `AfterTool`?)
    settings.json:6:5: error: unknown hook event `UserPromptSubmit`; its hooks never run (this event is called `BeforeAgent` here; `hookwright hooks migrate --from-claude` converts whole files, and `hooksConfig.readClaude` reads them as they are)
    settings.json:7:5: error: unknown hook event `SubagentStop`; its hooks never run (this event is called `AfterAgent` here; `hookwright hooks migrate --from-claude` converts whole files, and `hooksConfig.readClaude` reads them as they are)
    settings.json:8:5: error: unknown hook event `Banana`; its hooks never run (the events are SessionStart, BeforeAgent, PreCompress, BeforeModel, BeforeToolSelection, AfterModel, BeforeTool, Notification, AfterTool, AfterAgent, SessionEnd)
    ");
}

#[test]
fn an_events_value_of_the_wrong_type() {
    let text = r#"{ "hooks": {
  "BeforeTool": { "hooks": [] },
  "AfterTool": "x.sh",
  "BeforeAgent": null,
  "AfterAgent": [{ "hooks": [{ "type": "command", "command": "good" }] }]
} }"#;
    let declared = parse_text(text);
    assert_eq!(hook_names(&declared), ["good"]);
    assert_snapshot!(diagnostic_lines(&declared), @r#"
    settings.json:2:17: error: `BeforeTool` should be an array of definitions, not an object; expected [{ "matcher": …, "hooks": [ … ] }]
    settings.json:3:16: error: `AfterTool` should be an array of definitions, not a string; expected [{ "matcher": …, "hooks": [ … ] }]
    settings.json:4:18: error: `BeforeAgent` should be an array of definitions, not null; expected [{ "matcher": …, "hooks": [ … ] }]
    "#);
}

#[test]
fn a_section_of_the_wrong_type() {
    assert_snapshot!(diagnostic_lines(&parse_text(r#"{ "hooks": [] }"#)), @"settings.json:1:12: error: `hooks` should be an object, not an array; expected { … }");
    assert_snapshot!(diagnostic_lines(&parse_text("{\n \"hooksConfig\": true }")), @"settings.json:2:17: error: `hooksConfig` should be an object, not a boolean; expected { … }");
    assert_snapshot!(diagnostic_lines(&parse_text("[]")), @"settings.json:1:1: error: settings are not a JSON object; expected an object: `{ … }`");
    assert_snapshot!(diagnostic_lines(&parse_text(" \"text\"")), @"settings.json:1:2: error: settings are not a JSON object; expected an object: `{ … }`");
}

#[test]
fn a_definition_of_the_wrong_type() {
    assert_snapshot!(diagnose_bad_definition(r#""guard.sh""#), @r#"settings.json:5:7: error: a hook definition should be an object; expected { "matcher": …, "hooks": [ … ] }"#);
    assert_snapshot!(diagnose_bad_definition("[]"), @r#"settings.json:5:7: error: a hook definition should be an object; expected { "matcher": …, "hooks": [ … ] }"#);
    assert_snapshot!(diagnose_bad_definition("7"), @r#"settings.json:5:7: error: a hook definition should be an object; expected { "matcher": …, "hooks": [ … ] }"#);
    assert_snapshot!(diagnose_bad_definition("null"), @r#"settings.json:5:7: error: a hook definition should be an object; expected { "matcher": …, "hooks": [ … ] }"#);
}

#[test]
fn a_definition_without_hooks() {
    assert_snapshot!(diagnose_bad_definition(r#"{ "matcher": "glob" }"#), @r#"settings.json:5:7: error: a hook definition needs `hooks`; without it nothing runs; expected "hooks": [ … ]"#);
    assert_snapshot!(diagnose_bad_definition(r#"{ "hooks": { "type": "command", "command": "x" } }"#), @"settings.json:5:18: error: `hooks` should be an array, not an object; expected an array of hooks");
    assert_snapshot!(diagnose_bad_definition(r#"{ "hooks": "x" }"#), @"settings.json:5:18: error: `hooks` should be an array, not a string; expected an array of hooks");
    assert_snapshot!(diagnose_bad_definition(r#"{ "hook": [] }"#), @r#"
    settings.json:5:7: error: a hook definition needs `hooks`; without it nothing runs; expected "hooks": [ … ]
    settings.json:5:9: warning: a hook definition has no `hook`; it is ignored (did you mean `hooks`?)
    "#);
}

#[test]
fn a_hook_straight_in_the_events_array() {
    let declared = parse_text(
        r#"{"hooks": {"BeforeTool": [
            {"type": "command", "command": "x", "matcher": "write_file", "sequential": true, "name": "n", "timeout": 7000},
            {"hooks": [{"type": "command", "command": "y"}]}
        ]}}"#,
    );
    assert_snapshot!(diagnostic_lines(&declared), @r#"settings.json:2:13: warning: this is a hook where a definition belongs; Hookwright reads it, Gemini CLI ignores it (wrap it: { "hooks": [ { "type": "command", … } ] })"#);
    let [flat, other] = declared.hooks.as_slice() else { panic!("{:?}", declared.hooks) };
    assert!(flat.sequential && flat.matcher_text.as_deref() == Some("write_file") && flat.timeout.as_secs() == 7);
    assert!(
        flat.matcher.matches("write_file") && !flat.matcher.matches("read_file") && other.matcher.matches("read_file")
    );
}

#[test]
fn a_hook_of_the_wrong_type() {
    assert_snapshot!(diagnose_bad_hook(r#""guard.sh""#), @r#"settings.json:5:19: error: a hook should be an object; expected { "type": "command", "command": … }"#);
    assert_snapshot!(diagnose_bad_hook("[]"), @r#"settings.json:5:19: error: a hook should be an object; expected { "type": "command", "command": … }"#);
    assert_snapshot!(diagnose_bad_hook("null"), @r#"settings.json:5:19: error: a hook should be an object; expected { "type": "command", "command": … }"#);
}

#[test]
fn a_command_that_is_missing_empty_or_no_string() {
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command" }"#), @r#"settings.json:5:19: error: a hook needs `command`; this one never runs; expected "command": "…""#);
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command", "command": "" }"#), @"settings.json:5:51: error: `command` is empty; this hook never runs; expected a program and its arguments");
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command", "command": "  \t" }"#), @"settings.json:5:51: error: `command` is empty; this hook never runs; expected a program and its arguments");
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command", "command": ["a", "b"] }"#), @"settings.json:5:51: error: `command` should be a string, not an array; expected a string");
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command", "command": null }"#), @"settings.json:5:51: error: `command` should be a string, not null; expected a string");
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "command", "command": "a\u0000b" }"#), @"settings.json:5:51: error: `command` holds a NUL character; no program can be given one");
}

#[test]
fn a_type_that_is_missing_unknown_or_no_string() {
    assert_snapshot!(diagnose_bad_hook(r#"{ "command": "x" }"#), @r#"settings.json:5:19: error: a hook needs `type`; this one never runs; expected "type": "command""#);
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": "prompt", "command": "x" }"#), @r#"settings.json:5:29: error: unknown hook type `prompt`; this hook never runs; expected "command" (the types are "command" (runs a program), "worker" (asks a program that keeps running), "plugin" (asks a node package), "http" (asks a service) and "rule" (needs no program))"#);
    assert_snapshot!(diagnose_bad_hook(r#"{ "type": 1, "command": "x" }"#), @r#"settings.json:5:29: error: `type` should be "command", not a number; expected "command""#);
}

#[test]
fn a_pattern_that_does_not_compile_is_a_literal() {
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""write_(file""#), @r"settings.json:2:15: error: this matcher is not a valid regular expression: unbalanced parenthesis; compared as literal text (escape special characters with `\\`)");
    assert_snapshot!(diagnose_matcher("AfterTool", r#""*_file""#), @r"settings.json:2:15: error: this matcher is not a valid regular expression: invalid atom character; compared as literal text (escape special characters with `\\`)");
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""[z-a]""#), @r"settings.json:2:15: error: this matcher is not a valid regular expression: range values reversed, start char code is greater than end char code; compared as literal text (escape special characters with `\\`)");
}

#[test]
fn a_matcher_of_the_wrong_type_is_reported_and_its_hooks_always_run() {
    assert_snapshot!(diagnose_matcher("BeforeTool", "7"), @"settings.json:2:15: error: `matcher` should be a string, not a number; expected a string");
    assert_snapshot!(diagnose_matcher("BeforeTool", r#"["glob"]"#), @"settings.json:2:15: error: `matcher` should be a string, not an array; expected a string");
}

#[test]
fn a_matcher_where_the_event_has_none() {
    assert_snapshot!(diagnose_matcher("BeforeAgent", r#""glob""#), @"settings.json:2:15: warning: BeforeAgent has no matcher; these hooks run every time (remove `matcher`)");
    assert_snapshot!(diagnose_matcher("AfterModel", r#""x""#), @"settings.json:2:15: warning: AfterModel has no matcher; these hooks run every time (remove `matcher`)");
    assert_eq!(diagnose_matcher("BeforeAgent", r#""*""#), "");
    assert_eq!(diagnose_matcher("BeforeAgent", r#""""#), "");
    assert_eq!(diagnose_matcher("BeforeAgent", r#"".*""#), "");
    for known in ["startup|resume", ".*", "*", "startup|.*"] {
        assert_eq!(diagnose_matcher("SessionStart", &format!("{known:?}")), "", "{known}");
    }
}

#[test]
fn a_matcher_that_may_take_too_long_is_reported() {
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""^(?!x)(\\w+_?)+!$""#), @"settings.json:2:15: warning: this matcher can take too long; if it takes too long, these hooks run (avoid look-around, back-references and nested repetition)");
    assert_eq!(diagnose_matcher("BeforeTool", r#""^(\\w+_?)+$""#), "");
}

#[test]
fn a_matcher_that_matches_nothing() {
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""wrte_file""#), @"settings.json:2:15: warning: this matcher matches no known tool (did you mean `write_file`?)");
    assert_snapshot!(diagnose_matcher("AfterTool", r#""zzz.*""#), @"settings.json:2:15: warning: this matcher matches no known tool (the built-in tools are read_file, read_many_files, write_file, replace, list_directory, glob, search_file_content, run_shell_command, web_fetch, google_web_search, write_todos, save_memory, list_mcp_resources, read_mcp_resource, delegate_to_agent, activate_skill)");
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""write_file|replace_files""#), @"settings.json:2:15: warning: `replace_files` is not a known tool (the built-in tools are read_file, read_many_files, write_file, replace, list_directory, glob, search_file_content, run_shell_command, web_fetch, google_web_search, write_todos, save_memory, list_mcp_resources, read_mcp_resource, delegate_to_agent, activate_skill)");
    assert_snapshot!(diagnose_matcher("BeforeTool", r#""write_flie|replace""#), @"settings.json:2:15: warning: `write_flie` is not a known tool (did you mean `write_file`?)");
    assert_eq!(diagnose_matcher("BeforeTool", r#""Edit|MultiEdit|Write|NotebookEdit""#), "");
    assert_eq!(diagnose_matcher("BeforeTool", r#""write_file|shell|mcp_x""#), "");
    assert_eq!(diagnose_matcher("SessionStart", r#""startup|compact""#), "");
    assert!(diagnose_matcher("SessionStart", r#""compact""#).contains("never run"));
    assert_snapshot!(diagnose_matcher("SessionStart", r#""start""#), @"settings.json:2:15: warning: this matcher matches no source; these hooks never run (did you mean `startup`?)");
    assert_snapshot!(diagnose_matcher("PreCompress", r#""never""#), @"settings.json:2:15: warning: this matcher matches no trigger; these hooks never run (one of manual, auto)");
    assert_snapshot!(diagnose_matcher("SessionStart", r#""startup|resum""#), @"settings.json:2:15: warning: `resum` is no source (did you mean `resume`?)");
    assert_snapshot!(diagnose_matcher("SessionEnd", r#""a|b""#), @"settings.json:2:15: warning: this matcher matches no reason; these hooks never run (one of exit, clear, logout, prompt_input_exit, other)");
    assert_snapshot!(diagnose_matcher("Notification", r#""ToolPermision""#), @"settings.json:2:15: warning: this matcher matches no notification_type; these hooks never run (did you mean `ToolPermission`?)");
    for known in [
        r#""mcp__git__.*""#,
        r#""EditTool""#,
        r#""^(?!glob).*$""#,
        r#"" glob ""#,
        r#""shell""#,
        r#""bash|execute|shell""#,
        // Names that other agents use.
        r#""Bash""#,
        r#""^(Bash|Write)$""#,
    ] {
        assert_eq!(diagnose_matcher("BeforeTool", known), "", "{known}");
    }
}

#[test]
fn an_implausible_timeout_is_reported() {
    let timeout = |value: &str| {
        let (declared, said) = diagnose_odd_hook(&format!(
            r#"{{ "type": "command", "name": "odd", "command": "x", "timeout": {value} }}"#
        ));
        (declared.hooks[1].timeout, said)
    };
    let (used, said) = timeout("-5");
    assert_eq!(used, Hook::DEFAULT_TIMEOUT);
    assert_snapshot!(said, @"settings.json:5:82: error: a timeout of -5 ms is over before the hook starts; expected more than 0 (the default of 60000 ms is used)");
    let (used, said) = timeout("0");
    assert_eq!(used, Hook::DEFAULT_TIMEOUT);
    assert_snapshot!(said, @"settings.json:5:82: error: a timeout of 0 ms is over before the hook starts; expected more than 0 (the default of 60000 ms is used)");
    let (used, said) = timeout(r#""5000""#);
    assert_eq!(used, Hook::DEFAULT_TIMEOUT);
    assert_snapshot!(said, @"settings.json:5:82: error: `timeout` should be a number of milliseconds, not a string; expected a number (write 5000 without quotes; the default of 60000 ms is used)");
    let (used, said) = timeout(r#""5s""#);
    assert_eq!(used, Hook::DEFAULT_TIMEOUT);
    assert_snapshot!(said, @"settings.json:5:82: error: `timeout` should be a number of milliseconds, not a string; expected a number (the default of 60000 ms is used)");
    let (used, said) = timeout("30");
    assert_eq!(used, Duration::from_millis(30));
    assert_snapshot!(said, @"settings.json:5:82: warning: a timeout of 30 ms looks like seconds; timeouts are in milliseconds (for 30 seconds, write 30000)");
    let (used, said) = timeout("600");
    assert_eq!(used, Duration::from_millis(600));
    assert_snapshot!(said, @"settings.json:5:82: warning: a timeout of 600 ms looks like seconds; timeouts are in milliseconds (for 600 seconds, write 600000)");
    let (used, said) = timeout("true");
    assert_eq!(used, Hook::DEFAULT_TIMEOUT);
    assert_snapshot!(said, @"settings.json:5:82: error: `timeout` should be a number of milliseconds, not a boolean; expected a number (the default of 60000 ms is used)");
    for (value, milliseconds) in [("500", 500), ("1500.5", 1500), ("1e4", 10_000)] {
        let (used, said) = timeout(value);
        assert_eq!((used.as_millis(), said.as_str()), (milliseconds, ""));
    }
    let (used, said) = timeout("1e300");
    assert_eq!((used, said.as_str()), (Duration::from_secs(7 * 24 * 3600), ""));
}

#[test]
fn two_hooks_of_one_name_with_different_commands() {
    let text = r#"{ "hooks": {
  "BeforeTool": [{ "hooks": [
    { "type": "command", "name": "guard", "command": "one.sh" },
    { "type": "command", "name": "guard", "command": "two.sh" }
  ] }],
  "AfterTool": [{ "hooks": [{ "type": "command", "name": "guard", "command": "one.sh" }] }]
} }"#;
    let declared = parse_text(text);
    assert_eq!(declared.hooks.len(), 3);
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:4:34: warning: two hooks called `guard` run different commands (the other one is on line 3; enabling or disabling `guard` acts on both)");
}

#[test]
fn misspelt_keys() {
    let (_, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "x", "timout": 5, "onerror": "block", "unless": 1 }"#,
    );
    assert_snapshot!(said, @"
    settings.json:5:71: warning: a hook has no `timout`; it is ignored (did you mean `timeout`?)
    settings.json:5:84: warning: a hook has no `onerror`; it is ignored (did you mean `onError`?)
    settings.json:5:104: warning: a hook has no `unless`; it is ignored (it knows type, command, args, dialect, name, description, timeout, env, onError, onDoubt, confine, locked, guard, mode, enabled, async, shell, if, once, result, onFailure, asyncRewake, statusMessage, when, decision, only, reason, chunks, start, concurrency, idleTimeout, maxMemoryMb, package, url, headers, allowedEnvVars)
    ");
    let declared = with_good_neighbours(r#"{ "matchers": "glob", "sequental": true, "hooks": [] }"#);
    assert_snapshot!(diagnostic_lines(&declared), @"
    settings.json:5:9: warning: a hook definition has no `matchers`; it is ignored (did you mean `matcher`?)
    settings.json:5:29: warning: a hook definition has no `sequental`; it is ignored (did you mean `sequential`?)
    ");
    assert_snapshot!(diagnostic_lines(&parse_text(r#"{ "hooksConfig": { "enable": false, "verbose": 1 } }"#)), @"
    settings.json:1:20: warning: hooksConfig has no `enable`; it is ignored (did you mean `enabled`?)
    settings.json:1:37: warning: hooksConfig has no `verbose`; it is ignored (it knows enabled, disabled, notifications, onError, required, maxAgentRetries, maxParallel, keepContext, onUnknown, onDoubt, enforce, readClaude, sessionEndGrace)
    ");
}

#[test]
fn switches_of_the_wrong_type() {
    let text = r#"{
  "hooksConfig": { "enabled": "no", "disabled": "x", "notifications": 1, "maxAgentRetries": -1,
    "maxParallel": 0 },
  "hooks": { "disabled": [1, "y"], "enabled": null },
  "tools": { "enableHooks": "false" }
}"#;
    let declared = parse_text(text);
    assert_eq!(declared.config, HooksConfig { disabled: vec!["y".into()], ..HooksConfig::default() });
    assert_snapshot!(diagnostic_lines(&declared), @r#"
    settings.json:2:31: error: `enabled` should be true or false, not a string; expected true or false
    settings.json:2:49: error: `disabled` should be an array of names, not a string; expected ["…"]
    settings.json:2:71: error: `notifications` should be true or false, not a number; expected true or false
    settings.json:2:93: error: `maxAgentRetries` should be a whole number, 0 or more, not a number; expected a whole number, 0 or more
    settings.json:3:20: error: `maxParallel` should be a whole number, 1 or more, not a number; expected a whole number, 1 or more
    settings.json:4:27: error: `disabled` should be a list of strings, not a number; expected a list of strings
    settings.json:5:29: error: `enableHooks` should be true or false, not a string; expected true or false
    "#);
}

#[test]
fn optional_fields_of_the_wrong_type_cost_only_themselves() {
    let (declared, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "x", "description": 1, "env": [], "locked": "yes" }"#,
    );
    assert_eq!(declared.hooks[1].description, None);
    assert_snapshot!(said, @"
    settings.json:5:86: error: `description` should be a string, not a number; expected a string
    settings.json:5:96: error: `env` should be an object of strings, not an array; expected an object of strings
    settings.json:5:110: error: `locked` should be true or false, not a string; expected true or false
    ");
    let (declared, said) = diagnose_odd_hook(
        r#"{ "type": "command", "name": "odd", "command": "x", "env": { "A": null, "B=C": "1", "": "2", "D": "3" } }"#,
    );
    let crate::hook::Action::Command(action) = &declared.hooks[1].action else { panic!("a command") };
    assert_eq!(action.env, [("D".to_owned(), "3".to_owned())]);
    assert_snapshot!(said, @"
    settings.json:5:85: error: `env.A` should be a string, not null; expected a string
    settings.json:5:91: error: `B=C` can't be an environment variable
    settings.json:5:103: error: `` can't be an environment variable
    ");
}

#[test]
fn only_system_hooks_can_be_locked() {
    let text = r#"{ "hooks": { "BeforeTool": [ { "hooks": [
  { "type": "command", "name": "guard", "command": "x", "locked": true } ] } ] } }"#;
    let declared = parse_from(Source::System, text);
    assert_eq!((diagnostic_lines(&declared).as_str(), declared.hooks[0].locked), ("", true));
    let others = [Source::Project, Source::User, Source::Extension("e".into())];
    let declared = others.map(|source| parse_from(source, text));
    assert!(declared.iter().all(|declared| !declared.hooks[0].locked));
    assert_eq!(diagnostic_lines(&declared[0]), diagnostic_lines(&declared[1]));
    assert_snapshot!(diagnostic_lines(&declared[2]), @"settings.json:2:67: warning: only hooks of the system settings can be locked; this has no effect");
}

#[test]
fn on_error_in_all_its_forms() {
    let on_error = |value: &str| {
        let (declared, said) = diagnose_odd_hook(&format!(
            r#"{{ "type": "command", "name": "odd", "command": "x", "onError": {value} }}"#
        ));
        (declared.hooks[1].on_error, said)
    };
    use FailureAction::{Allow, Ask, Block};
    for (word, action) in [("allow", Allow), ("block", Block), ("ask", Ask)] {
        assert_eq!(on_error(&format!("\"{word}\"")), (OnError::for_all_causes(action), String::new()));
    }
    let (policy, said) = on_error(
        r#"{ "timeout": "block", "exit": "ask", "spawn": "allow", "output": "block",
        "resource": "ask", "truncated": "allow" }"#,
    );
    let expected = OnError {
        timeout: Some(Block),
        exit: Some(Ask),
        spawn: Some(Allow),
        output: Some(Block),
        resource: Some(Ask),
        truncated: Some(Allow),
    };
    assert_eq!((policy, said.as_str()), (expected, ""));
    let (policy, said) = on_error(r#""deny""#);
    assert_eq!(policy, OnError::for_all_causes(Block));
    assert_snapshot!(said, @r#"settings.json:5:82: error: `onError` should be "allow", "block" or "ask"; it counts as "block"; expected "allow", "block", "ask", or an object by cause"#);
    let (policy, said) = on_error("true");
    assert_eq!(policy, OnError::for_all_causes(Block));
    assert_snapshot!(said, @r#"settings.json:5:82: error: `onError` should be "allow", "block" or "ask"; it counts as "block"; expected "allow", "block", "ask", or an object by cause"#);
    let (policy, said) = on_error(r#"{ "timeout": "block", "exit": 1, "timeot": "ask", "crash": "ask" }"#);
    assert_eq!(policy, OnError { timeout: Some(Block), exit: Some(Block), ..OnError::default() });
    assert_snapshot!(said, @r#"
    settings.json:5:112: error: `onError` should be "allow", "block" or "ask"; it counts as "block"; expected "allow", "block", "ask", or an object by cause
    settings.json:5:115: error: onError has no `timeot`; it counts as `timeout` (write `timeout`)
    settings.json:5:132: warning: onError has no `crash`; it is ignored (it knows timeout, exit, spawn, output, resource, truncated)
    "#);
    let (policy, _) = on_error(r#"{ "timeot": "block", "ouput": "blok" }"#);
    assert_eq!(policy, OnError { timeout: Some(Block), output: Some(Block), ..OnError::default() });
    let blok = parse_text(r#"{ "hooksConfig": { "onError": "blok" } }"#);
    assert_eq!(blok.config.on_error, OnError::for_all_causes(Block));
    assert_snapshot!(diagnostic_lines(&blok), @r#"settings.json:1:31: error: `onError` should be "allow", "block" or "ask"; it counts as "block"; expected "allow", "block", "ask", or an object by cause"#);
}

#[test]
fn on_error_where_nothing_can_be_denied() {
    let text = r#"{ "hooks": { "SessionStart": [ { "hooks": [
  { "type": "command", "command": "x", "onError": "block" } ] } ] } }"#;
    assert_snapshot!(diagnostic_lines(&parse_text(text)), @"settings.json:2:51: warning: SessionStart can't be denied, so `onError` has no effect here (remove `onError`)");
}
