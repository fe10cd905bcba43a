//! Tests of files as a whole: repeated keys, text that is not JSON, oversized files, locations.

use super::*;

#[test]
fn a_repeated_event_is_reported() {
    let text = r#"{ "hooks": {
  "BeforeTool": [{ "hooks": [{ "type": "command", "command": "first" }] }],
  "AfterTool": [{ "hooks": [{ "type": "command", "command": "other" }] }],
  "BeforeTool": [{ "hooks": [{ "type": "command", "command": "second" }] }]
} }"#;
    let declared = parse_text(text);
    assert_eq!(hook_names(&declared), ["other", "second"]);
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:2:3: error: `BeforeTool` appears twice in hooks; only the last one counts (merge the two)");
}

#[test]
fn the_last_of_a_repeated_key_counts_everywhere() {
    let text = r#"{ "hooks": { "BeforeTool": [
  { "matcher": "glob", "matcher": "replace", "sequential": true, "sequential": false,
    "hooks": [{ "type": "command", "command": "first" }],
    "hooks": [{ "type": "x", "type": "command", "command": "x", "command": "second", "name": "n", "name": "m",
      "onError": "allow", "onError": "block", "timeout": 1, "timeout": 500 }] }
] } }"#;
    let declared = parse_text(text);
    assert_eq!(hook_names(&declared), ["m"]);
    let hook = &declared.hooks[0];
    assert_eq!((hook.command(), hook.sequential, hook.timeout.as_millis()), (Some("second"), false, 500));
    assert_eq!(hook.on_error, OnError::for_all_causes(FailureAction::Block));
    assert!(hook.matcher.matches("replace") && !hook.matcher.matches("glob"));
    assert_snapshot!(diagnostic_lines(&declared), @"
    settings.json:2:5: error: `matcher` appears twice in a hook definition; only the last one counts (merge the two)
    settings.json:2:46: error: `sequential` appears twice in a hook definition; only the last one counts (merge the two)
    settings.json:3:5: error: `hooks` appears twice in a hook definition; only the last one counts (merge the two)
    settings.json:4:17: error: `type` appears twice in a hook; only the last one counts (merge the two)
    settings.json:4:49: error: `command` appears twice in a hook; only the last one counts (merge the two)
    settings.json:4:86: error: `name` appears twice in a hook; only the last one counts (merge the two)
    settings.json:5:7: error: `onError` appears twice in a hook; only the last one counts (merge the two)
    settings.json:5:47: error: `timeout` appears twice in a hook; only the last one counts (merge the two)
    ");
    let declared = parse_text(
        r#"{ "tools": {"enableHooks": true}, "hooksConfig": {"onError": "allow", "onError": "ask"}, "tools": {"enableHooks": false} }"#,
    );
    assert_eq!((declared.config.enabled, declared.config.on_error.exit), (Some(false), Some(FailureAction::Ask)));
}

#[test]
fn a_repeated_top_level_key_is_reported() {
    let hooks = r#"{"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "guard": true}]}]}"#;
    let many: String = (0..70).map(|number| format!("\"k{number}\": 1, ")).collect();
    for (text, place) in [
        (format!(r#"{{ "hooks": {hooks}, "hooks": {{}} }}"#), "1:3: error: `hooks` appears twice in the settings"),
        (r#"{ "tools": {}, "tools": {} }"#.to_owned(), "1:3: error: `tools` appears twice in the settings"),
        (r#"{ "a": {}, "security": {}, "security": {} }"#.to_owned(), "1:12: error: `security` appears twice"),
        (format!(r#"{{ "hooks": {{}}, {many}"hooks": {{}} }}"#), "1:3: error: `hooks` appears twice in the settings"),
    ] {
        let told = diagnostic_lines(&parse_text(&text));
        assert!(told.contains(place), "{text}: {told}");
    }
}

#[test]
fn a_file_that_is_not_json() {
    assert_snapshot!(diagnostic_lines(&parse_text("hooks: yes")), @"settings.json:1:1: error: this file is not valid JSON: unexpected word (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("{ \"hooks\": {\n  \"BeforeTool\": [\n")), @"settings.json:2:17: error: this file is not valid JSON: unterminated array (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("{ \"a\": 1\n  \"b\": 2 }")), @"settings.json:1:9: error: this file is not valid JSON: expected comma (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("{ \"a\": \"unfinished\n}")), @"settings.json:1:8: error: this file is not valid JSON: unterminated string literal (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("{ 'a': 1 }")), @"settings.json:1:3: error: this file is not valid JSON: single-quoted strings are not allowed (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("{} {}")), @"settings.json:1:4: error: this file is not valid JSON: text cannot contain more than one JSON value (nothing in this file counts until it parses; comments and trailing commas are fine)");
    assert_snapshot!(diagnostic_lines(&parse_text("\0\0\0")), @"settings.json:1:1: error: this file is not valid JSON: unexpected token (nothing in this file counts until it parses; comments and trailing commas are fine)");
}

#[test]
fn fifty_megabytes_are_refused_without_parsing() {
    assert_snapshot!(diagnostic_lines(&parse_text(&"{\"a\":".repeat(10 << 20))), @"settings.json:1:1: error: this file has more than 300000 values; it is not read (nothing in this file counts until it is shorter)");
}

#[test]
fn unbounded_nesting_is_refused_without_a_crash() {
    let declared = parse_text(&"{\"a\":".repeat(40_000));
    assert_snapshot!(diagnostic_lines(&declared), @"settings.json:1:1282: error: this file is not valid JSON: maximum nesting depth exceeded (nothing in this file counts until it parses; comments and trailing commas are fine)");
    let balanced = format!("{{\"hooks\": {}{}}}", "[".repeat(40_000), "]".repeat(40_000));
    assert_snapshot!(diagnostic_lines(&parse_text(&balanced)), @"settings.json:1:521: error: this file is not valid JSON: maximum nesting depth exceeded (nothing in this file counts until it parses; comments and trailing commas are fine)");
}

#[test]
fn nesting_in_other_sections_is_ignored() {
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let text = format!(
        r#"{{"other": {deep}, "hooks": {{"BeforeAgent": [{{"hooks": [{{"type": "command", "command": "x"}}]}}]}}}}"#
    );
    assert_eq!(hook_names(&parse_text(&text)), ["x"]);
}

#[test]
fn columns_count_characters_and_not_bytes() {
    let text = "{ \"hooks\": { \"BeforeAgent\": [{ \"hooks\": [{ \"name\": \"äöü😀\", \"type\": \"x\" }] }] } }";
    assert_snapshot!(diagnostic_lines(&parse_text(text)), @r#"settings.json:1:68: error: unknown hook type `x`; this hook never runs; expected "command" (the types are "command" (runs a program), "worker" (asks a program that keeps running), "plugin" (asks a node package), "http" (asks a service) and "rule" (needs no program))"#);
}

#[test]
fn a_file_of_a_package_is_proposed_as_a_path_with_one_ending() {
    let help = |package: &str| {
        let text =
            format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{{"type": "plugin", "package": "{package}"}}]}}]}}}}"#);
        diagnostic_lines(&parse_text(&text))
    };
    for (package, path) in
        [("guards/no-rm", r#""./node_modules/guards/no-rm.js""#), ("hooks/guard.mjs", r#""./hooks/guard.mjs""#)]
    {
        let said = help(package);
        assert!(said.contains("names a part of a package") && said.contains(path), "{said}");
        assert!(!said.contains(".mjs.js"), "{said}");
    }
}

#[test]
fn diagnostics_come_in_the_order_of_the_file() {
    let text = "{\n\"hooksConfig\": { \"enabled\": 1 },\n\"hooks\": {\n\"X\": [],\n\"BeforeTool\": 1\n},\n\"tools\": { \"enableHooks\": 2 } }";
    let at: Vec<_> = parse_text(text).diagnostics.iter().filter_map(|one| Some(one.span.as_ref()?.line)).collect();
    assert_eq!(at, [2, 4, 5, 7]);
}
