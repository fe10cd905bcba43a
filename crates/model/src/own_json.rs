//! Reads JSON that this program wrote: transcripts and recorded answers.
//!
//! Input is at most 128 levels deep and gains a few levels in a file, so these files may be a little deeper, up to a
//! fixed limit.

use serde::de::{Deserialize, Error as _};
use serde_json::Deserializer;

/// The largest nesting depth in files that this program wrote.
const MAX_OWN_JSON_DEPTH: usize = 160;

/// Reads JSON from a file that this program wrote.
///
/// # Errors
/// If it does not parse, or is nested deeper than 160 levels.
pub fn read_own_json<'j, T: Deserialize<'j>>(json: &'j [u8]) -> Result<T, serde_json::Error> {
    // Most files are within serde_json's limit, and need no count.
    if let Ok(value) = serde_json::from_slice(json) {
        return Ok(value);
    }
    if nesting_depth(json) > MAX_OWN_JSON_DEPTH {
        return Err(serde_json::Error::custom(format_args!("nested deeper than {MAX_OWN_JSON_DEPTH} levels")));
    }
    let mut reader = Deserializer::from_slice(json);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Returns the largest number of open brackets outside strings.
fn nesting_depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'[' | b'{') => {
                open += 1;
                deepest = deepest.max(open);
            }
            (false, b']' | b'}') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert_eq!(nesting_depth(br#"{"a":["[[\"[[","]"],"b":{}}"#), 2);
        assert_eq!(nesting_depth(b"[[[ \"a\\\\\" [ ]]"), 4);
        assert_eq!(nesting_depth(b"]]]["), 1);
    }

    #[test]
    fn own_json_may_be_deeper_up_to_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(serde_json::from_str::<Value>(&nested(130)).is_err());
        assert!(read_own_json::<Value>(nested(130).as_bytes()).is_ok());
        for depth in [161, 100_000] {
            let error = read_own_json::<Value>(nested(depth).as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "nested deeper than 160 levels");
        }
        assert!(read_own_json::<Value>(b"1 2").is_err());
    }
}
