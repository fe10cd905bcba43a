//! `chunks`: what it may be, and that what makes no sense holds text back nevertheless.

use std::num::NonZeroU32;

use super::*;
use crate::chunks::Chunks;

/// What an AfterModel hook with this `chunks` has, and what is said of it.
fn chunks(value: &str) -> (Option<Chunks>, String) {
    let text = format!(
        "{{ \"hooks\": {{ \"AfterModel\": [{{ \"hooks\": [\n  {{ \"type\": \"command\", \"command\": \"x\", \"chunks\": {value} }}\n] }}] }} }}"
    );
    let declared = declare_text(&text);
    assert_eq!(declared.hooks.len(), 1, "{text}");
    (declared.hooks[0].chunks, lines(&declared))
}

fn at_least(characters: u32) -> Option<Chunks> {
    NonZeroU32::new(characters).map(Chunks::AtLeast)
}

#[test]
fn words_and_numbers() {
    for (value, expected) in [
        (r#""sentence""#, Some(Chunks::Sentence)),
        (r#""line""#, Some(Chunks::Line)),
        ("1", at_least(1)),
        ("200", at_least(200)),
        ("2e2", at_least(200)),
        ("65536", at_least(65_536)),
        ("null", None),
    ] {
        assert_eq!(chunks(value), (expected, String::new()), "{value}");
    }
}

#[test]
fn what_makes_no_sense_is_said_and_counts_as_the_coarsest_word() {
    for value in
        ["0", "-1", "2.5", "true", "[]", "{}", r#""""#, r#""sentences""#, r#""200""#, r#""words""#, "-0", "1e400"]
    {
        let (read, said) = chunks(value);
        assert_eq!(read, Some(Chunks::Line), "{value}");
        assert!(said.starts_with("settings.json:2:50: error: `chunks` should be "), "{value}: {said}");
    }
    assert_snapshot!(chunks("0").1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536"#);
    assert_snapshot!(chunks(r#""sentences""#).1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536 (did you mean "sentence"?)"#);
    assert_snapshot!(chunks(r#""200""#).1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536 (write 200 without quotes)"#);
}

#[test]
fn more_than_is_ever_waited_for_is_the_most() {
    for value in ["65537", "1e9", "99999999999999999999999"] {
        assert_eq!(chunks(value).0, at_least(65_536), "{value}");
    }
    assert_snapshot!(chunks("100000").1, @"settings.json:2:50: warning: no unit is longer than 65536 characters; `chunks` counts as 65536; expected 1 to 65536");
}

#[test]
fn other_events_have_no_pieces() {
    let (declared, said) = odd_hook(r#"{ "type": "command", "name": "odd", "command": "x", "chunks": "line" }"#);
    assert_eq!(declared.hooks[1].chunks, None);
    assert_snapshot!(said, @"settings.json:5:81: warning: `chunks` has no effect on BeforeTool: only AfterModel is handed an answer in pieces (remove `chunks`)");
}

#[test]
fn it_is_part_of_what_a_person_agrees_to() {
    let declaration = |chunks: &str| {
        let text =
            format!(r#"{{"hooks": {{"AfterModel": [{{"hooks": [{{"type": "command", "command": "x"{chunks}}}]}}]}}}}"#);
        declare_text(&text).hooks[0].declaration()
    };
    let (without, line) = (declaration(""), declaration(r#", "chunks": "line""#));
    assert!(line.contains(&("chunks", "line".to_owned())) && line != declaration(r#", "chunks": 9"#));
    assert!(without.iter().all(|(field, _)| *field != "chunks"), "records from before stay as they are");
}
