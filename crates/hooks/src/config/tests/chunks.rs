//! Tests of `chunks`: its valid values, and that text is held back for invalid values too.

use std::num::NonZeroU32;

use super::*;
use crate::event::chunks::ChunkUnit;

/// The unit of an AfterModel hook with this `chunks`, and the diagnostics.
fn parse_chunks(value: &str) -> (Option<ChunkUnit>, String) {
    let text = format!(
        "{{ \"hooks\": {{ \"AfterModel\": [{{ \"hooks\": [\n  {{ \"type\": \"command\", \"command\": \"x\", \"chunks\": {value} }}\n] }}] }} }}"
    );
    let declared = parse_text(&text);
    assert_eq!(declared.hooks.len(), 1, "{text}");
    (declared.hooks[0].chunks, diagnostic_lines(&declared))
}

fn min_chars(characters: u32) -> Option<ChunkUnit> {
    NonZeroU32::new(characters).map(ChunkUnit::MinChars)
}

#[test]
fn chunks_may_be_a_word_or_a_number() {
    for (value, expected) in [
        (r#""sentence""#, Some(ChunkUnit::Sentence)),
        (r#""line""#, Some(ChunkUnit::Line)),
        ("1", min_chars(1)),
        ("200", min_chars(200)),
        ("2e2", min_chars(200)),
        ("65536", min_chars(65_536)),
        ("null", None),
    ] {
        assert_eq!(parse_chunks(value), (expected, String::new()), "{value}");
    }
}

#[test]
fn an_invalid_value_is_reported_and_counts_as_line() {
    for value in
        ["0", "-1", "2.5", "true", "[]", "{}", r#""""#, r#""sentences""#, r#""200""#, r#""words""#, "-0", "1e400"]
    {
        let (read, said) = parse_chunks(value);
        assert_eq!(read, Some(ChunkUnit::Line), "{value}");
        assert!(said.starts_with("settings.json:2:50: error: `chunks` should be "), "{value}: {said}");
    }
    assert_snapshot!(parse_chunks("0").1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536"#);
    assert_snapshot!(parse_chunks(r#""sentences""#).1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536 (did you mean "sentence"?)"#);
    assert_snapshot!(parse_chunks(r#""200""#).1, @r#"settings.json:2:50: error: `chunks` should be "sentence", "line" or a number of characters; it counts as "line"; expected "sentence", "line" or 1 to 65536 (write 200 without quotes)"#);
}

#[test]
fn a_number_above_the_maximum_counts_as_the_maximum() {
    for value in ["65537", "1e9", "99999999999999999999999"] {
        assert_eq!(parse_chunks(value).0, min_chars(65_536), "{value}");
    }
    assert_snapshot!(parse_chunks("100000").1, @"settings.json:2:50: warning: `chunks` can be at most 65536 characters; it counts as 65536; expected 1 to 65536");
}

#[test]
fn chunks_has_no_effect_on_other_events() {
    let (declared, said) =
        diagnose_odd_hook(r#"{ "type": "command", "name": "odd", "command": "x", "chunks": "line" }"#);
    assert_eq!(declared.hooks[1].chunks, None);
    assert_snapshot!(said, @"settings.json:5:81: warning: `chunks` has no effect on BeforeTool: only AfterModel gets an answer in pieces (remove `chunks`)");
}

#[test]
fn chunks_is_part_of_the_fingerprint() {
    let declaration = |chunks: &str| {
        let text =
            format!(r#"{{"hooks": {{"AfterModel": [{{"hooks": [{{"type": "command", "command": "x"{chunks}}}]}}]}}}}"#);
        parse_text(&text).hooks[0].fingerprint_fields()
    };
    let (without, line) = (declaration(""), declaration(r#", "chunks": "line""#));
    assert!(line.contains(&("chunks", "line".to_owned())) && line != declaration(r#", "chunks": 9"#));
    assert!(without.iter().all(|(field, _)| *field != "chunks"), "records from before stay as they are");
}
