use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn edit_text(text: &str, change: &SettingsChange) -> String {
    edited_text(Path::new("settings.json"), text, change).unwrap()
}

fn switch(text: &str, switch: Switch, names: &[&str]) -> String {
    edit_text(
        text,
        &SettingsChange::Switch(DisabledList::Hooks, switch, names.iter().map(|name| (*name).to_owned()).collect()),
    )
}

fn entry(event: EventKind, definition: Value) -> HookDefinitionEntry {
    HookDefinitionEntry { event, definition: definition.as_object().unwrap().clone() }
}

#[test]
fn a_new_file_gets_two_spaces_and_a_newline() {
    assert_eq!(
        switch("", Switch::Disable, &["a", "b"]),
        "{\n  \"hooksConfig\": {\n    \"disabled\": [\"a\", \"b\"]\n  }\n}\n"
    );
    assert_eq!(switch("{}\n", Switch::Disable, &["a"]), "{\n  \"hooksConfig\": {\n    \"disabled\": [\"a\"]\n  }\n}\n");
}

#[test]
fn the_files_own_style_is_kept() {
    let text =
        "{\n\t// why\n\t\"ui\": { \"theme\": \"x\" }, // end\n\t\"hooksConfig\": {\n\t\t\"enabled\": true,\n\t},\n}\n";
    let after = switch(text, Switch::Disable, &["a"]);
    assert_eq!(
        after,
        "{\n\t// why\n\t\"ui\": { \"theme\": \"x\" }, // end\n\t\"hooksConfig\": {\n\t\t\"enabled\": true,\n\t\t\"disabled\": [\"a\"],\n\t},\n}\n"
    );
    let windows = switch("{\r\n    \"a\": 1\r\n}\r\n", Switch::Disable, &["x"]);
    assert_eq!(
        windows,
        "{\r\n    \"a\": 1,\r\n    \"hooksConfig\": {\r\n        \"disabled\": [\"x\"]\r\n    }\r\n}\r\n"
    );
    assert_eq!(switch("\u{feff}{}", Switch::Disable, &["x"]).chars().next(), Some('\u{feff}'));
}

#[test]
fn the_list_that_is_there_is_used() {
    let text = r#"{"hooks": {"disabled": ["a"]}}"#;
    assert_eq!(switch(text, Switch::Disable, &["b", "a"]), r#"{"hooks": {"disabled": ["a", "b"]}}"#);
    assert_eq!(switch(text, Switch::Disable, &["a"]), text);
}

#[test]
fn enabling_takes_the_name_and_leaves_every_comment() {
    let cases = [
        (r#"{"hooks": {"disabled": ["a", "b", "c"]}}"#, r#"{"hooks": {"disabled": ["a", "c"]}}"#),
        (r#"{"hooks": {"disabled": ["a", "b"]}}"#, r#"{"hooks": {"disabled": ["a"]}}"#),
        (r#"{"hooks": {"disabled": ["b"]}}"#, r#"{"hooks": {"disabled": []}}"#),
        (r#"{"hooks": {"disabled": ["b",]}}"#, r#"{"hooks": {"disabled": []}}"#),
        (r#"{"hooks": {"disabled": [ "a", "b" ]}}"#, r#"{"hooks": {"disabled": [ "a" ]}}"#),
        (
            "{\"hooks\": {\"disabled\": [\n  \"a\", // one\n  \"b\", // two\n  \"c\"\n]}}",
            "{\"hooks\": {\"disabled\": [\n  \"a\", // one\n  // two\n  \"c\"\n]}}",
        ),
        ("{\"hooks\": {\"disabled\": [\n  \"a\",\n  \"b\"\n]}}", "{\"hooks\": {\"disabled\": [\n  \"a\"\n]}}"),
        ("{\"hooks\": {\"disabled\": [\n  \"b\",\n  \"a\"\n]}}", "{\"hooks\": {\"disabled\": [\n  \"a\"\n]}}"),
    ];
    for (before, after) in cases {
        assert_eq!(switch(before, Switch::Enable, &["b"]), after, "{before}");
    }
    let both = r#"{"hooks": {"disabled": ["b"]}, "hooksConfig": {"disabled": ["b", "a"]}}"#;
    assert_eq!(
        switch(both, Switch::Enable, &["b"]),
        r#"{"hooks": {"disabled": []}, "hooksConfig": {"disabled": ["a"]}}"#
    );
}

#[test]
fn hooks_are_added_once() {
    let hook = json!({"type": "command", "name": "guard", "command": "./guard.sh", "timeout": 5000});
    let change = SettingsChange::AddHooks(vec![
        entry(EventKind::BeforeTool, json!({"matcher": "write_file", "hooks": [hook]})),
        entry(EventKind::BeforeTool, json!({"matcher": "write_file", "hooks": [hook]})),
    ]);
    let once = edit_text("{\n  // mine\n  \"ui\": {}\n}\n", &change);
    let expected = r#"{
  // mine
  "ui": {},
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "write_file",
        "hooks": [
          {
            "type": "command",
            "name": "guard",
            "command": "./guard.sh",
            "timeout": 5000
          }
        ]
      }
    ]
  }
}
"#;
    assert_eq!(once, expected);
    assert_eq!(edit_text(&once, &change), once);
    let other =
        SettingsChange::AddHooks(vec![entry(EventKind::BeforeTool, json!({"matcher": "replace", "hooks": [hook]}))]);
    assert_eq!(edit_text(&once, &other).matches("guard.sh").count(), 2);
}

#[test]
fn values_are_set_and_removed() {
    let set = SettingsChange::Set(vec!["security".into(), "hooks".into(), "review".into()], json!("ask"));
    let text = edit_text("{ \"a\": 1 }", &set);
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({"a": 1, "security": {"hooks": {"review": "ask"}}})
    );
    assert_eq!(edit_text(&text, &set), text);
    let gone = edit_text(&text, &SettingsChange::Remove(vec!["security".into()]));
    assert_eq!(serde_json::from_str::<Value>(&gone).unwrap(), json!({"a": 1}));
    assert_eq!(
        edit_text("{ \"a\": 1, /* x */ \"b\": 2 }", &SettingsChange::Set(vec!["a".into()], json!(3))),
        "{ \"a\": 3, /* x */ \"b\": 2 }"
    );
}

#[test]
fn of_two_equal_names_the_last_is_changed() {
    let text = edit_text(r#"{"a": 1, "a": 2}"#, &SettingsChange::Set(vec!["a".into()], json!(3)));
    assert_eq!(text, r#"{"a": 1, "a": 3}"#);
}

#[test]
fn invalid_text_is_refused_with_its_position() {
    let disable = SettingsChange::Switch(DisabledList::Hooks, Switch::Disable, vec!["a".into()]);
    let refuse = |text: &str| match edited_text(Path::new("f"), text, &disable) {
        Err(EditError::Broken(wrong)) => wrong.span.map(|span| (span.line, span.column)).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refuse("{\n  \"a\": \n}").0, 3);
    assert_eq!(refuse("[]"), (1, 1));
    assert_eq!(refuse("{\n  \"hooksConfig\": \"no\"\n}"), (2, 18));
    assert_eq!(refuse("{\"hooks\": {\"disabled\": {}}}"), (1, 24));
    assert_eq!(refuse(&"[".repeat(100_000)).0, 1);
}

/// Comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let options = jsonc_parser::CollectOptions {
        comments: jsonc_parser::CommentCollectionStrategy::Separate,
        ..Default::default()
    };
    let parsed = jsonc_parser::parse_to_ast(text, &options, &crate::json::PARSE_OPTIONS).unwrap();
    let mut found: Vec<_> =
        parsed.comments.unwrap().values().flat_map(|group| group.iter().map(|one| one.text().to_owned())).collect();
    found.sort();
    found.dedup();
    found
}

fn disabled(text: &str) -> std::collections::BTreeSet<String> {
    let layer = hookwright_hooks::Layer::new(hookwright_hooks::Source::User, Path::new("f"), text);
    let declared = hookwright_hooks::parse_layer(&layer);
    assert!(declared.diagnostics.is_empty(), "{text}\n{:?}", declared.diagnostics);
    declared.config.disabled.into_iter().collect()
}

fn other_values(text: &str) -> Value {
    let mut map = crate::json::parse_map(Path::new("f"), text).unwrap();
    for section in ["hooks", "hooksConfig"] {
        if let Some(section) = map.get_mut(section).and_then(Value::as_object_mut) {
            section.remove("disabled");
        }
    }
    map.retain(|name, value| name != "hooksConfig" || value.as_object().is_some_and(|section| !section.is_empty()));
    Value::Object(map)
}

/// A list of names on one line or several, with comments anywhere and maybe a trailing comma.
fn list() -> impl Strategy<Value = String> {
    let trivia = prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("\n      ".to_owned()),
        (0..50u32).prop_map(|n| format!(" /* b{n} */ ")),
        (0..50u32).prop_map(|n| format!(" // l{n}\n    ")),
    ];
    let element = (trivia.clone(), "[a-e]", trivia.clone(), trivia.clone());
    (prop::collection::vec(element, 0..5), trivia, any::<bool>()).prop_map(|(elements, end, last_comma)| {
        let count = elements.len();
        let mut text = "[".to_owned();
        for (at, (before, name, after, behind)) in elements.into_iter().enumerate() {
            let comma = if at + 1 < count || last_comma { "," } else { "" };
            text.push_str(&format!("{before}\"{name}\"{after}{comma}{behind}"));
        }
        text + &end + "]"
    })
}

fn file() -> impl Strategy<Value = String> {
    let own = r#""BeforeTool": [ /* none */ ], // events"#;
    prop_oneof![
        Just(String::new()),
        Just("{}".to_owned()),
        Just("// only a comment\n".to_owned()),
        list().prop_map(|list| format!("{{\n  // top\n  \"hooksConfig\": {{ \"disabled\": {list} }},\n  \"ui\": {{\"theme\": 1}} // ui\n}}\n")),
        (list(), list()).prop_map(move |(one, other)| {
            format!("/* head */ {{\n\t\"hooks\": {{ {own}\n\t\"disabled\": {one}}},\n\t\"hooksConfig\": {{\"enabled\": true, \"disabled\": {other}\n}}\n}}")
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_switches_keeps_comments_and_all_other_values(
        text in file(),
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec("[a-f]", 1..3)), 1..6),
    ) {
        let mut text = text;
        let before = (comments(&text), other_values(&text));
        let mut expected = disabled(&text);
        for (disable, names) in steps {
            let change = SettingsChange::Switch(DisabledList::Hooks, if disable { Switch::Disable } else { Switch::Enable }, names.clone());
            text = edit_text(&text, &change);
            for name in names {
                if disable { expected.insert(name); } else { expected.remove(&name); }
            }
            prop_assert_eq!(disabled(&text), expected.clone(), "{}", text);
            prop_assert_eq!(&(comments(&text), other_values(&text)), &before, "{}", text);
        }
    }

    #[test]
    fn disabling_and_enabling_again_restores_the_set(text in file(), name in "[x-z]{1,8}") {
        let there = disabled(&text);
        let off = switch(&text, Switch::Disable, &[&name]);
        let on = switch(&off, Switch::Enable, &[&name]);
        prop_assert_eq!(disabled(&on), there);
        prop_assert_eq!(comments(&on), comments(&text));
    }
}

#[test]
fn many_names_follow_the_lists_style() {
    for text in [
        "{}\n",
        r#"{"hooks": {"disabled": ["x"]}}"#,
        r#"{"hooks": {"disabled": []}, "hooksConfig": {"disabled": []}}"#,
        "{\n  \"hooksConfig\": {\n    \"disabled\": [\n      \"x\" // why\n    ]\n  }\n}\n",
        "{\r\n  \"hooksConfig\": {\r\n    \"disabled\": [\r\n      \"x\",\r\n    ]\r\n  }\r\n}\r\n",
    ] {
        let at_once = switch(text, Switch::Disable, &["a", "b\"", "c"]);
        let one_by_one =
            ["a", "b\"", "c"].iter().fold(text.to_owned(), |text, name| switch(&text, Switch::Disable, &[*name]));
        assert_eq!(at_once, one_by_one);
    }
}

#[test]
fn ten_thousand_names_go_in_and_out() {
    let names: Vec<String> = (0..10_000).map(|at| format!("hook-{at}")).collect();
    let file = Path::new("settings.json");
    let disabled =
        edited_text(file, "{}\n", &SettingsChange::Switch(DisabledList::Hooks, Switch::Disable, names.clone()))
            .unwrap();
    assert!(names.iter().all(|name| disabled.contains(&format!("\"{name}\""))));
    let again =
        edited_text(file, &disabled, &SettingsChange::Switch(DisabledList::Hooks, Switch::Disable, names.clone()))
            .unwrap();
    assert_eq!(again, disabled);
    let enabled =
        edited_text(file, &disabled, &SettingsChange::Switch(DisabledList::Hooks, Switch::Enable, names)).unwrap();
    assert!(!enabled.contains("hook-"));
}
