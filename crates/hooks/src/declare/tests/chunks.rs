//! `chunks`: what it may be, and that what makes no sense holds text back nevertheless.

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
    for value in ["0", "-1", "2.5", "true", "[]", "{}", r#""""#, r#""sentences""#, r#""200""#, r#""words""#, "-0"] {
        let (read, said) = chunks(value);
        assert_eq!(read, Some(Chunks::Line), "{value}");
        assert!(said.starts_with("settings.json:2:48: error: `chunks` should be "), "{value}: {said}");
    }
    assert_snapshot!(chunks("0").1, @"");
    assert_snapshot!(chunks(r#""sentences""#).1, @"");
    assert_snapshot!(chunks(r#""200""#).1, @"");
}

#[test]
fn more_than_is_ever_waited_for_is_the_most() {
    for value in ["65537", "1e9", "99999999999999999999999", "1e400"] {
        assert_eq!(chunks(value).0, at_least(65_536), "{value}");
    }
    assert_snapshot!(chunks("100000").1, @"");
}

#[test]
fn other_events_have_no_pieces() {
    let (declared, said) = odd_hook(r#"{ "type": "command", "name": "odd", "command": "x", "chunks": "line" }"#);
    assert_eq!(declared.hooks[1].chunks, None);
    assert_snapshot!(said, @"");
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
