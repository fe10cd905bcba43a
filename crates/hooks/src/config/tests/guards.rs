//! Tests of guards and required hooks that are declared wrongly: they are reported as lost. The parent module tests
//! other hooks.

use super::*;
use crate::registry::Registry;

/// `name: problem` for every guard that was declared and could not be loaded.
fn lost_guards(text: &str) -> Vec<String> {
    parse_text(text)
        .lost_guards
        .iter()
        .map(|lost| format!("{} {}: {}", lost.location.line, lost.name, lost.problem))
        .collect()
}

#[test]
fn a_misdeclared_guard_is_reported_as_lost() {
    for (text, expected) in [
        (
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "g", "guard": true}]}]}}"#,
            "1 g: a hook needs `command`; this one never runs",
        ),
        (
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"command": "x", "guard": true}]}]}}"#,
            "1 x: a hook needs `type`; this one never runs",
        ),
        (
            r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "name": "g", "command": "x", "guard": true}]}]}}"#,
            "1 g: unknown hook event `PreToolUse`; its hooks never run",
        ),
        (
            r#"{"hooks": {"BeforeTool": [{"type": "command", "command": " ", "name": "x", "guard": true}]}}"#,
            "1 x: `command` is empty; this hook never runs",
        ),
        (
            r#"{"hooks": {"BeforeTool": {"hooks": [{"type": "command", "command": "x", "guard": true}]}}}"#,
            "1 x: `BeforeTool` should be an array of definitions, not an object",
        ),
        (
            r#"{"hooks": {"BeforeTool": [{"guard": true, "hooks": [{"type": "command", "command": "x"}]}]}}"#,
            "1 without a name: a hook definition has no `guard`; it is ignored",
        ),
        (
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "gaurd": true}]}]}}"#,
            "1 x: a hook has no `gaurd`; it is ignored",
        ),
        (
            r#"{"hooks": [{"type": "command", "command": "x", "guard": true}]}"#,
            "1 x: `hooks` should be an object, not an array",
        ),
        (
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "guard": true}]}], "BeforeTool": []}}"#,
            "1 x: `BeforeTool` appears twice in hooks; only the last one counts",
        ),
        (
            "{\"hooks\": {\"BeforeTool\": [{\"hooks\": [\n{\"type\": \"command\", \"command\": \"x\", \"guard\": true}]}]}, \"hooks\": {}}",
            "2 x: `hooks` appears twice in the settings; only the last one counts",
        ),
    ] {
        assert_eq!(lost_guards(text), [expected], "{text}");
    }
    for root in ["Hooks", "hook", "BeforeTool", "PreToolUse"] {
        let text = format!(
            r#"{{"{root}": {{"BeforeTool": [{{"hooks": [{{"type": "command", "command": "x", "guard": true}}]}}]}}}}"#
        );
        assert_eq!(lost_guards(&text), ["1 x: `guard` has no effect where it is written"], "{text}");
    }
    for fine in [
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "guard": true, "env": {"guard": "1"}}]}]}}"#,
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "guard": false}]}]}}"#,
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "guard": null}]}]}}"#,
        r#"{"mcpServers": {"guard": {"command": "x", "guard": true}}}"#,
    ] {
        assert!(lost_guards(fine).is_empty(), "{fine}");
    }
}

#[test]
fn invalid_keys_of_a_guard_are_reported() {
    let hook = |event: &str, definition: &str, hook: &str| {
        let hook = format!(r#"{{"type": "command", "name": "g", "command": "x", {hook}}}"#);
        diagnostic_lines(&parse_text(&format!(r#"{{"hooks": {{"{event}": [{{{definition} "hooks": [{hook}]}}]}}}}"#)))
    };
    let both = hook("BeforeTool", "", r#""guard": true, "async": true"#);
    assert!(both.contains("error: a guard can't run in the background; the event waits for this one"), "{both}");
    let start = hook("SessionStart", "", r#""guard": true"#);
    assert!(start.contains("warning: SessionStart can't be denied, so a guard can't block anything here"), "{start}");
    for matcher in ["write_flie", "write_(file", "^nothing$"] {
        let never = hook("BeforeTool", &format!(r#""matcher": "{matcher}","#), r#""guard": true"#);
        assert!(
            never.contains("error: guard `g` can never run: this matcher matches nothing that is known"),
            "{never}"
        );
    }
    let never = hook("SessionEnd", r#""matcher": "quit","#, r#""guard": true"#);
    assert!(never.contains("error: guard `g` can never run"), "{never}");
    for fine in ["write_file", "mcp__x__y", ".*", "shell"] {
        assert_eq!(hook("BeforeTool", &format!(r#""matcher": "{fine}","#), r#""guard": true"#), "");
    }
    assert!(hook("BeforeTool", "", r#""guard": "yes""#).contains("`guard` should be true or false, not a string"));
}

#[test]
fn common_keys_without_effect_give_no_warning() {
    let hook = |keys: &str| {
        let text = format!(
            r#"{{"$schema": "x", "hooks": {{"BeforeTool": [{{"hooks": [{{"type": "command", "command": "x", {keys}}}]}}]}}}}"#
        );
        let declared = parse_text(&text);
        (diagnostic_lines(&declared), declared.hooks.into_iter().next().unwrap())
    };
    let (said, read) =
        hook(r#""enabled": true, "async": false, "shell": "bash", "statusMessage": "checks", "$schema": "x""#);
    assert_eq!((said.as_str(), read.enabled, read.is_background()), ("", true, false));
    let (said, read) = hook(r#""enabled": false, "async": true"#);
    assert_eq!((said.as_str(), read.enabled, read.is_background()), ("", false, true));
    assert!(hook(r#""shell": "zsh""#).0.contains("this command is not run by zsh"));
    assert_eq!(hook(r#""shell": "powershell""#).0, "");
}

#[test]
fn required_names_have_locations_and_wrong_ones_are_reported() {
    let declared = parse_text("{\"hooksConfig\": {\n \"required\": [\"a\", 7, \"\"]}}");
    let names: Vec<_> = declared.config.required.iter().map(|one| (one.name.as_str(), one.location.line)).collect();
    assert_eq!(names, [("a", 2)]);
    assert_eq!(diagnostic_lines(&declared).matches("`required` should be a list of hooks' names").count(), 2);
    assert!(
        diagnostic_lines(&parse_text(r#"{"hooksConfig": {"required": "a"}}"#))
            .contains("`required` should be an array of names")
    );
}

#[test]
fn a_wildcard_requires_all_hooks_of_its_own_layer() {
    let text = r#"{"hooksConfig": {"required": ["*"]}, "hooks": {
        "BeforeTool": [{"hooks": [{"type": "command", "name": "a", "command": "true"}]}],
        "AfterTool": [{"hooks": [{"type": "command", "name": "b", "command": "true", "async": true}]}]}}"#;
    let other = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "c", "command": "true"}]}]}}"#;
    let file = std::path::Path::new("settings.json");
    let layers = [(Source::Project, text), (Source::User, other)];
    let registry =
        Registry::new(layers.into_iter().map(|(source, text)| parse_layer(&Layer::new(source, file, text))).collect());
    let guards: Vec<&str> = registry.guards().map(Hook::id).collect();
    assert_eq!(guards, ["a"], "hooks in the background and hooks of other layers are left out");
    assert!(registry.unarmed_guards(|_| Ok(())).is_empty(), "the wildcard itself is no hook that is missing");
    assert_eq!(registry.guards_in_file(file).len(), 1);
}

#[test]
fn a_misdeclared_requirement_is_reported_as_lost() {
    for (text, expected) in [
        (
            r#"{"hooksConfig": {"required": "keep-out"}}"#,
            "1 keep-out: `required` should be an array of names, not a string",
        ),
        (
            r#"{"hooksConfig": {"required": 7}}"#,
            "1 without a name: `required` should be an array of names, not a number",
        ),
        (r#"{"hooksConfig": {"required": [7]}}"#, "1 without a name: `required` should hold names, not a number"),
        (
            r#"{"hooksConfig": {"requird": ["keep-out"]}}"#,
            "1 keep-out: `requird` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hooksConfig": {"Required": "keep-out"}}"#,
            "1 keep-out: `Required` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hooksConfig": {"requiredHooks": ["keep-out"]}}"#,
            "1 keep-out: `requiredHooks` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hookConfig": {"required": ["keep-out"]}}"#,
            "1 keep-out: `required` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hooks": {"requires": ["keep-out"]}}"#,
            "1 keep-out: `requires` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"required": ["keep-out"]}"#,
            "1 keep-out: `required` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hooksConfig": {"required": ["keep-out"], "required": []}}"#,
            "1 keep-out: `required` has no effect; the key is `required` in `hooksConfig`",
        ),
        (
            r#"{"hooksConfig": {"required": ["keep-out"]}, "hooksConfig": {}}"#,
            "1 keep-out: `required` has no effect; the key is `required` in `hooksConfig`",
        ),
    ] {
        assert_eq!(lost_guards(text), [expected], "{text}");
    }
    for fine in [
        r#"{"hooksConfig": {"required": ["keep-out"]}}"#,
        r#"{"hooksConfig": {"required": []}}"#,
        r#"{"hooksConfig": {"requird": null, "require": false}}"#,
        r#"{"mcpServers": {"x": {"required": ["keep-out"]}}}"#,
    ] {
        assert!(lost_guards(fine).is_empty(), "{fine}");
    }
}

#[test]
fn a_guard_with_a_repeated_key_runs_and_is_not_armed() {
    let guard = |definition: &str, hook: &str| {
        let hook = format!(r#"{{"type": "command", "name": "g", "command": "x", "guard": true{hook}}}"#);
        format!(r#"{{"hooks": {{"BeforeTool": [{{{definition}"hooks": [{hook}]}}]}}}}"#)
    };
    for (definition, hook, key) in [
        ("", r#", "command": "true""#, "command"),
        ("", r#", "\u0063ommand": "true""#, "command"),
        ("", r#", "name": "h""#, "name"),
        ("", r#", "env": {"A": "1", "A": "2"}"#, "A"),
        ("", r#", "when": {"writes": ["a"], "writes": ["b"]}"#, "writes"),
        ("", r#", "onError": {"exit": "block", "exit": "allow"}"#, "exit"),
        (r#""matcher": "a", "matcher": "b", "#, "", "matcher"),
        (r#""when": {"writes": ["a"], "writes": ["b"]}, "#, "", "writes"),
    ] {
        let text = guard(definition, hook);
        let declared = parse_text(&text);
        assert_eq!(declared.hooks.len(), 1, "{text}");
        let problems: Vec<&str> = declared.lost_guards.iter().map(|lost| lost.problem.as_str()).collect();
        assert_eq!(problems, [format!("`{key}` appears twice in it")], "{text}");
        let said = declared.diagnostics.iter().any(|one| one.message.contains(&format!("`{key}` appears twice")));
        assert!(said, "{text}: {:?}", declared.diagnostics);
    }
    let twice = guard("", r#", "guard": false"#);
    assert_eq!(parse_text(&twice).lost_guards.len(), 1, "{twice}");
    assert!(lost_guards(&guard(r#""matcher": "a", "#, r#", "env": {"A": "1"}"#)).is_empty());
}
