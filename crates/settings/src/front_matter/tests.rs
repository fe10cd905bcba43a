use std::path::Path;

use serde_json::json;

use super::*;

/// Returns the fields as JSON, the body, and the problems.
fn parse_with_messages(text: &str) -> (Option<(Value, String)>, Vec<String>) {
    let mut diagnostics = Vec::new();
    let found = parse_front_matter(text, &SourceText::new(Path::new("f"), text), &mut diagnostics);
    let json = |found: FrontMatter<'_>| {
        let fields = found.fields.iter().map(|field| (field.key.clone(), field.value.to_json())).collect();
        (fields, found.body.to_owned())
    };
    (found.map(json), diagnostics.iter().map(ToString::to_string).collect())
}

fn fields(head: &str) -> Value {
    let (found, wrong) = parse_with_messages(&format!("---\n{head}\n---\n"));
    assert_eq!(wrong, Vec::<String>::new(), "{head}");
    found.unwrap().0
}

#[test]
fn common_front_matter_is_parsed() {
    assert_eq!(
        fields("name: x\ndescription: Does this, and that."),
        json!({"name": "x", "description": "Does this, and that."})
    );
    assert_eq!(fields("a: \"q: \\\"x\\\"\"\nb: 'it''s'"), json!({"a": "q: \"x\"", "b": "it's"}));
    assert_eq!(
        fields("a: >\n  one\n  two\n\n  three\nb: |\n  x\n  y\nc: >-\n  z"),
        json!({"a": "one two\nthree\n", "b": "x\ny\n", "c": "z"})
    );
    assert_eq!(fields("a: one\n  two\n  three\nb: 1"), json!({"a": "one two three", "b": 1}));
    assert_eq!(
        fields("t:\n  - a\n  - \"*\"\nu: [b, c]\nv:\n- d"),
        json!({"t": ["a", "*"], "u": ["b", "c"], "v": ["d"]})
    );
    assert_eq!(
        fields("m:\n  s:\n    command: npx\n    args: [-y]"),
        json!({"m": {"s": {"command": "npx", "args": ["-y"]}}})
    );
    assert_eq!(fields("# said\na: 0.2 # why\nb: true\nc:\nd: '1'"), json!({"a": 0.2, "b": true, "c": null, "d": "1"}));
    assert_eq!(fields("{a: b, c: d}"), json!({"a": "b", "c": "d"}));
    assert_eq!(fields(""), json!({}));
}

#[test]
fn the_body_is_what_follows() {
    let body = |text: &str| parse_with_messages(text).0.unwrap().1;
    assert_eq!(body("---\na: b\n---\nx\n---\ny\n"), "x\n---\ny\n");
    assert_eq!(body("---\na: b\n---"), "");
    assert_eq!(body("\u{feff}---\r\na: b\r\n---  \r\nx\r\n"), "x\r\n");
    assert_eq!(parse_with_messages("\u{feff}---\r\na: b\r\nc: d\r\n---\r\n").0.unwrap().0, json!({"a": "b", "c": "d"}));
}

#[test]
fn a_field_that_is_no_yaml_is_taken_as_it_stands() {
    let (found, wrong) =
        parse_with_messages("---\nname: x\ndescription: Use when: asked\n  twice\ntools:\n  - a\n---\n");
    assert_eq!(found.unwrap().0, json!({"name": "x", "description": "Use when: asked twice", "tools": ["a"]}));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].starts_with("f:3:") && wrong[0].contains("`description` is not valid YAML"), "{wrong:?}");
    for value in
        ["*bold* text", "[WIP] text", "@me", "`code` here", "\"quoted\" and more", "!mark it", "&anchor it", "%x"]
    {
        let (found, wrong) = parse_with_messages(&format!("---\ndescription: {value}\nname: x\n---\n"));
        assert_eq!(found.unwrap().0, json!({"description": value, "name": "x"}));
        assert_eq!(wrong.len(), 1, "{value}");
    }
    let (found, _) = parse_with_messages("---\na: 'x' y'\nb: >-\n\tx\n\ty\n---\n");
    assert_eq!(found.unwrap().0, json!({"a": "x' y", "b": "x y"}));
}

#[test]
fn mistakes_have_their_places() {
    let places = |text: &str| parse_with_messages(text).1;
    assert_eq!(places("---\nä: 1\nb: 2\nä: 3\n---\n"), ["f:4:1: warning: `ä` is here twice; the last one counts"]);
    assert_eq!(parse_with_messages("---\na: 1\na: 2\n---\n").0.unwrap().0, json!({"a": 2}));
    let no_head = "(start the file with a line `---`, the fields, and another line `---`)";
    assert_eq!(places("# title\n"), [format!("f:1:1: error: this file has no front matter {no_head}")]);
    assert_eq!(places(""), [format!("f:1:1: error: this file has no front matter {no_head}")]);
    assert_eq!(places("---\na: b\n"), [format!("f:1:1: error: the front matter has no end {no_head}")]);
    assert_eq!(
        places("---\n- a\n---\n"),
        ["f:2:1: error: the front matter should hold fields, not a list; expected lines such as `name: …`"]
    );
}

#[test]
fn nodes_know_where_they_stand() {
    let text = "---\nnäme: \"ü x\"\nlist:\n  - one\n  - two\n---\n";
    let found = parse_front_matter(text, &SourceText::new(Path::new("f"), text), &mut Vec::new()).unwrap();
    let name = found.get("näme").unwrap();
    assert_eq!((&text[name.key_range.clone()], &text[name.value.range.clone()]), ("näme", "\"ü x\""));
    let YamlNodeKind::List(nodes) = &found.get("list").unwrap().value.kind else { panic!("no list") };
    assert_eq!(&text[nodes[1].range.clone()], "two");
    let crlf = text.replace('\n', "\r\n");
    let found = parse_front_matter(&crlf, &SourceText::new(Path::new("f"), &crlf), &mut Vec::new()).unwrap();
    let YamlNodeKind::List(nodes) = &found.get("list").unwrap().value.kind else { panic!("no list") };
    assert_eq!(&crlf[nodes[1].range.clone()], "two");
}

#[test]
fn bombs_and_rubbish_cost_nothing() {
    let bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: n\n---\n";
    let (found, wrong) = parse_with_messages(bomb);
    assert_eq!(found.unwrap().0["name"], "n");
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    for deep in ["[", "{", "- ", "? ", "a: {", "!!map {"] {
        parse_with_messages(&format!("---\n{}\n---\n", deep.repeat((MAX_FRONT_MATTER_BYTES - 10) / deep.len())));
    }
    for line in ["a: 1\n", "\"", "'", "#\n", "\u{0}", "a:\n ", "\t", "%\n", "...\n", "<<: *a\n", "\u{feff}"] {
        parse_with_messages(&format!("---\n{}\n---\n", line.repeat(5_000)));
    }
    let large = format!("---\na: {}\n---\n", "x".repeat(MAX_FRONT_MATTER_BYTES));
    assert!(parse_with_messages(&large).1[0].contains("too large"));
}

proptest::proptest! {
    #[test]
    fn nothing_panics(head in "([a-z]{1,3}|[ \n\t:>|*&!%@`'\"\\[\\]{},#?\r-]|---\n|ü|\u{feff}|\u{85}|\u{2028}){0,60}") {
        parse_with_messages(&format!("---\n{head}\n---\nbody"));
        parse_with_messages(&head);
    }
}
