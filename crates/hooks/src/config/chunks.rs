//! The `chunks` key of a hook: how much of a streamed response the hook receives at a time.

use std::num::NonZeroU32;

use jsonc_parser::ast::{Object, Value};

use super::node_reader::NodeReader;
use crate::event::EventKind;
use crate::event::chunks::ChunkUnit;
use crate::jsonc::last_property;
use crate::suggestion::nearest_name;

/// Reads the `chunks` key of a hook.
///
/// A hook that sets it wants text held back, so an invalid value counts as `line`.
pub(super) fn read(read: &mut NodeReader<'_>, kind: EventKind, object: &Object<'_>) -> Option<ChunkUnit> {
    let property =
        last_property(object, "chunks").filter(|property| !matches!(property.value, Value::NullKeyword(_)))?;
    if kind != EventKind::AfterModel {
        let text = format!("`chunks` has no effect on {kind}: only AfterModel gets an answer in pieces");
        let wrong = read.warning(&property.value, text);
        read.report(wrong.help("remove `chunks`"));
        return None;
    }
    Some(match &property.value {
        Value::StringLit(word) => parse_word(read, &property.value, &word.value),
        Value::NumberLit(number) => parse_number(read, &property.value, number.value),
        other => report_invalid(read, other, None),
    })
}

fn parse_word(read: &mut NodeReader<'_>, value: &Value<'_>, word: &str) -> ChunkUnit {
    match word {
        "sentence" => ChunkUnit::Sentence,
        "line" => ChunkUnit::Line,
        _ if word.trim().parse::<u32>().is_ok() => {
            report_invalid(read, value, Some(format!("write {} without quotes", word.trim())))
        }
        _ => {
            let near = nearest_name(word, ["sentence", "line"].into_iter());
            report_invalid(read, value, near.map(|near| format!("did you mean \"{near}\"?")))
        }
    }
}

fn parse_number(read: &mut NodeReader<'_>, value: &Value<'_>, number: &str) -> ChunkUnit {
    let Some(number) = number.parse::<f64>().ok().filter(|number| *number >= 1.0 && number.fract() == 0.0) else {
        return report_invalid(read, value, None);
    };
    let longest = ChunkUnit::MAX_CHUNK_CHARS;
    if number > f64::from(longest) {
        let text = format!("`chunks` can be at most {longest} characters; it counts as {longest}");
        let wrong = read.warning(value, text);
        read.report(wrong.expected(format!("expected 1 to {longest}")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within these bounds")]
    let number = number.min(f64::from(longest)) as u32;
    NonZeroU32::new(number).map_or(ChunkUnit::Line, ChunkUnit::MinChars)
}

fn report_invalid(read: &mut NodeReader<'_>, value: &Value<'_>, help: Option<String>) -> ChunkUnit {
    let text = "`chunks` should be \"sentence\", \"line\" or a number of characters; it counts as \"line\"";
    let wrong = read.error(value, text);
    let wrong = wrong.expected(format!("expected \"sentence\", \"line\" or 1 to {}", ChunkUnit::MAX_CHUNK_CHARS));
    read.report(match help {
        Some(help) => wrong.help(help),
        None => wrong,
    });
    ChunkUnit::Line
}
