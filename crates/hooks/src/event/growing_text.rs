//! A text that only grows and is encoded as JSON once.
//!
//! Every event of a streamed response carries the whole text so far, and ten thousand events must not encode the first
//! sentence ten thousand times.

use bytes::Bytes;
use serde::{Deserialize, Deserializer};

/// A text that only grows, kept as JSON. It is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct GrowingText {
    /// JSON without the enclosing quotes; each piece is more than twice as long as the next, so that there are few.
    pieces: Vec<Bytes>,
}

impl GrowingText {
    /// Appends to the text.
    pub fn push_str(&mut self, text: &str) {
        let quoted = serde_json::Value::from(text).to_string();
        let mut last = Bytes::from(quoted).slice(1..);
        last.truncate(last.len() - 1);
        while let Some(before) = self.pieces.pop_if(|before| before.len() <= 2 * last.len()) {
            last = Bytes::from([before, last].concat());
        }
        if !last.is_empty() {
            self.pieces.push(last);
        }
    }

    /// The text as JSON, without the enclosing quotes.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }
}

impl From<&str> for GrowingText {
    fn from(text: &str) -> Self {
        let mut growing = GrowingText::default();
        growing.push_str(text);
        growing
    }
}

impl<'de> Deserialize<'de> for GrowingText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(GrowingText::from(String::deserialize(deserializer)?.as_str()))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for GrowingText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        String::inline_schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded_text(growing: &GrowingText) -> String {
        let json = [b"\"".as_slice(), &growing.pieces().concat(), b"\""].concat();
        serde_json::from_slice(&json).unwrap()
    }

    #[test]
    fn pieces_stay_few_and_are_rarely_copied() {
        let mut growing = GrowingText::default();
        let mut whole = String::new();
        let mut written = 0;
        for at in 0..10_000 {
            let piece = format!("word {at} \"\u{e9}\"\n");
            let known: Vec<*const u8> = growing.pieces().iter().map(|piece| piece.as_ptr()).collect();
            growing.push_str(&piece);
            whole.push_str(&piece);
            let fresh = growing.pieces().iter().filter(|piece| !known.contains(&piece.as_ptr()));
            written += fresh.map(Bytes::len).sum::<usize>();
            assert!(growing.pieces().len() <= 20);
        }
        assert_eq!(decoded_text(&growing), whole);
        // Encoding the whole text each time would write thousands of times its length.
        assert!(written < 20 * whole.len(), "{written} bytes for {}", whole.len());
    }

    proptest::proptest! {
        #[test]
        fn pieces_concatenate_to_the_text(pieces in proptest::collection::vec(".{0,12}", 0..20)) {
            let mut growing = GrowingText::default();
            pieces.iter().for_each(|piece| growing.push_str(piece));
            proptest::prop_assert_eq!(decoded_text(&growing), pieces.concat());
        }
    }
}
