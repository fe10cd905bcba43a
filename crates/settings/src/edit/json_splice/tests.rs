use proptest::prelude::*;
use serde_json::json;

use super::*;

fn object(text: &str) -> JsonTree {
    parse_tree(Path::new("f.json"), text).unwrap()
}

#[test]
fn appended_item_can_be_cut_again() {
    let value = json!({"a": [1, {"b": true}], "c": "x"});
    let cases = [
        "{}",
        "{ }",
        "{\n}",
        "{\n}\n",
        "\n\n{}\n",
        "{/* c */}",
        "{ // c\n}",
        "{\"x\": 1}",
        "{ \"x\": 1 }",
        "{ \"x\": 1, }",
        "{\"x\": 1 /* c */}",
        "{\"x\": 1, /* c */}",
        "{\n  \"x\": 1\n}\n",
        "{\n  \"x\": 1,\n}\n",
        "{\n  \"x\": 1 // c\n}\n",
        "{\n  \"x\": 1, // c\n}\n",
        "{\n  \"x\": 1 // c\n  // d\n}",
        "{\n\t\"x\": {\n\t\t\"y\": []\n\t}\n}\n",
        "{\r\n    \"x\": 1 // c\r\n}\r\n",
        "// before\n{}\n// after\n",
        "{\"x\": 1,\n\"y\": 2}",
    ];
    for text in cases {
        let with = append(text, &[], Some("new"), &value).unwrap();
        let tree = object(&with);
        let (at, found) = tree.get("new").unwrap();
        assert_eq!(found.to_value(), value, "{with}");
        assert_eq!(object(text).items(), &tree.items()[..at], "{with}");
        assert_eq!(cut(&with, &[at]).unwrap(), text, "{with}");
    }
}

#[test]
fn the_files_own_style_is_kept() {
    let tabs = append("{\n\t\"x\": 1 // c\n}\n", &[], Some("new"), &json!({"a": [1]})).unwrap();
    assert_eq!(tabs, "{\n\t\"x\": 1, // c\n\t\"new\": {\n\t\t\"a\": [\n\t\t\t1\n\t\t]\n\t}\n}\n");
    let windows = append("{\r\n  \"x\": 1\r\n}", &[], Some("new"), &json!([1])).unwrap();
    assert_eq!(windows, "{\r\n  \"x\": 1,\r\n  \"new\": [\r\n    1\r\n  ]\r\n}");
    let line = append(r#"{"x": [1]}"#, &[0], None, &json!({"a": [1]})).unwrap();
    assert_eq!(line, r#"{"x": [1, { "a": [ 1 ] }]}"#);
    assert_eq!(replace(&line, &[0, 1], &json!({"b": 2})).unwrap(), r#"{"x": [1, { "b": 2 }]}"#);
}

#[test]
fn brackets_that_were_put_there_for_an_item_go_with_it() {
    let text = "{\n  \"x\": 1\n}\n";
    let with = append(text, &[], Some("new"), &json!({"a": [1]})).unwrap();
    assert_eq!(cut(&with, &[1, 0, 0]).unwrap(), text);
    let inline = append("{\"x\": 1}", &[], Some("new"), &json!({"a": [1]})).unwrap();
    assert_eq!(cut(&inline, &[1, 0, 0]).unwrap(), "{\"x\": 1}");
    // Brackets that were there before stay.
    let with = append("{\"x\": {\"a\": [ ]}}", &[0, 0], None, &json!(1)).unwrap();
    assert_eq!(cut(&with, &[0, 0, 0]).unwrap(), "{\"x\": {\"a\": [ ]}}");
    assert_eq!(cut(&render_document(&json!({"a": [1]})), &[0, 0]).unwrap(), "");
    assert_eq!(cut("// mine\n{\n  \"a\": 1\n}", &[0]).unwrap(), "// mine\n{}");
}

#[test]
fn neighbouring_text_is_never_changed() {
    let text = "{\n  \"ours\": 1, // about ours\n  \"x\": 2\n}";
    assert_eq!(cut(text, &[0]).unwrap(), "{ // about ours\n  \"x\": 2\n}");
    assert_eq!(cut("[1, 2, 3]", &[1]).unwrap(), "[1, 3]");
    assert_eq!(cut("[1, 2, 3]", &[0]).unwrap(), "[ 2, 3]");
    // A line comment must not swallow the bracket.
    assert_eq!(cut("[1, // c\n 2]", &[1]).unwrap(), "[1 // c\n ]");
}

#[test]
fn missing_positions_return_none() {
    assert_eq!(append("{\"x\": 1}", &[0], None, &json!(1)), None);
    assert_eq!(append("{\"x\": 1}", &[7], None, &json!(1)), None);
    assert_eq!(cut("{}", &[0]), None);
    assert_eq!(append("{", &[], Some("a"), &json!(1)), None);
    assert!(parse_tree(Path::new("f"), "[1]").is_err());
    assert!(parse_tree(Path::new("f"), "// only words").is_err());
}

fn space() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(""), 3 => Just(" "), 2 => Just("\n"), 2 => Just("\n  "), 1 => Just("\t"), 1 => Just("\r\n"),
        1 => Just("/* c */"), 1 => Just(" // c\n"), 1 => Just("// , ] }\r\n"),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// Commented JSON in any layout: an object whose first item is a list, if it has one.
fn text() -> impl Strategy<Value = String> {
    let list = |item: BoxedStrategy<String>| {
        (prop::collection::vec((space(), item, space()), 0..4), any::<bool>(), space()).prop_map(
            |(items, comma, end)| {
                let last = items.len().wrapping_sub(1);
                let joined = items.iter().enumerate().map(|(at, (before, item, after))| {
                    let comma = if at != last || comma { "," } else { "" };
                    format!("{before}{item}{after}{comma}")
                });
                format!("{}{end}", joined.collect::<String>())
            },
        )
    };
    let scalar = prop_oneof![Just("1".to_owned()), Just("\"a, b\"".to_owned()), Just("{}".to_owned())].boxed();
    let array = list(scalar).prop_map(|inside| format!("[{inside}]")).boxed();
    let property = (array, space()).prop_map(|(array, space)| format!("\"k\":{space}{array}")).boxed();
    (space(), list(property), space()).prop_map(|(before, inside, after)| format!("{before}{{{inside}}}{after}"))
}

proptest! {
    #[test]
    fn append_and_cut_restore_any_layout(text in text(), deep in any::<bool>()) {
        let tree = object(&text);
        let at: Vec<usize> = if deep && !tree.items().is_empty() { vec![0] } else { Vec::new() };
        let name = at.is_empty().then_some("new");
        let count = if at.is_empty() { tree.items().len() } else { tree.items()[0].1.elements().len() };
        let with = append(&text, &at, name, &json!({"a": [1]})).unwrap();
        let more = append(&with, &at, name, &json!({"b": [2, {}]})).unwrap();
        prop_assert!(parse_to_ast(&more, &CollectOptions::default(), &PARSE_OPTIONS).is_ok(), "{more}");
        let place = |index: usize| at.iter().copied().chain([index]).collect::<Vec<_>>();
        let once = cut(&more, &place(count + 1)).unwrap();
        prop_assert_eq!(&once, &with);
        prop_assert_eq!(cut(&once, &place(count)).unwrap(), text.clone());
        // In the other order as well.
        let other = cut(&more, &place(count)).unwrap();
        prop_assert!(parse_to_ast(&other, &CollectOptions::default(), &PARSE_OPTIONS).is_ok(), "{other}");
    }
}
