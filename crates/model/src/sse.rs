//! Decodes server-sent events from bytes as they arrive, wherever the network splits them.
//! It does no I/O and does not interpret the events.

/// The default size limit of an event; a larger one is an attack or a mistake.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The event's type; empty for the default type.
    pub event: String,
    /// The data lines, joined by newlines.
    pub data: String,
    /// The id that the event sets, if any.
    pub id: Option<String>,
    /// The reconnection delay in milliseconds, if the server sets one.
    pub retry: Option<u64>,
}

/// The error for an event that exceeds the decoder's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Decodes bytes into events.
#[derive(Debug)]
pub struct SseDecoder {
    /// The line whose end has not arrived. It holds bytes, because a character may be split too.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    event: Vec<u8>,
    id: Option<Vec<u8>>,
    retry: Option<u64>,
    /// Whether the input so far ended with CR, so that an LF that follows belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    limit: usize,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseDecoder {
    /// Creates a decoder for events of up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            event: Vec::new(),
            id: None,
            retry: None,
            after_cr: false,
            at_start: true,
            limit,
        }
    }

    /// Decodes the next bytes and passes every event that they complete to `emit`.
    ///
    /// # Errors
    /// When an event exceeds the limit. The decoder cannot be used after that.
    pub fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(SseEvent)) -> Result<(), EventTooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                self.check_limit(bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.check_limit(end)?;
            self.after_cr = bytes[end] == b'\r';
            let event = if self.line.is_empty() {
                self.end_line(&bytes[..end])
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_line(&line)
            };
            event.into_iter().for_each(&mut emit);
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Returns the unfinished event when the stream ends, because some servers omit the last blank line.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line);
        }
        self.end_event()
    }

    fn check_limit(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.line.len() + self.data.len() + more > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self, mut line: &[u8]) -> Option<SseEvent> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = value.to_vec(),
            b"id" if !value.contains(&0) => self.id = Some(value.to_vec()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                self.retry = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            }
            // Comments have an empty field name.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        // An id without data is kept for the next event: it marks the position in the stream.
        std::mem::take(&mut self.has_data).then(|| SseEvent {
            event: into_text(event),
            data: into_text(data),
            id: self.id.take().map(into_text),
            retry: self.retry.take(),
        })
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, |event| events.push(event)).unwrap();
        }
        events.extend(decoder.finish());
        events
    }

    fn data(text: &str) -> Vec<String> {
        decode(&[text.as_bytes()]).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn the_usual_stream() {
        assert_eq!(data("data: a\n\ndata: b\n\n"), ["a", "b"]);
        assert_eq!(data("data: a\r\n\r\ndata:b\r\rdata: c"), ["a", "b", "c"]);
    }

    #[test]
    fn lines_join_comments_vanish_and_the_mark_is_skipped() {
        assert_eq!(data("\u{feff}data: a\ndata:\ndata:  b\n\n"), ["a\n\n b"]);
        assert_eq!(data(": keep-alive\n\nid: 7\nretry: 9\n\nunknown\n\ndata\n\n"), [""]);
        let events = decode(&[b"event: error\ndata: x\n\n"]);
        assert_eq!(events, [SseEvent { event: "error".into(), data: "x".into(), ..SseEvent::default() }]);
        let events = decode(&[b"id: 7\nretry: 90\ndata:\n\ndata: x\n\nid: 8\n\ndata: y\n\n"]);
        let ids: Vec<_> = events.iter().map(|event| (event.id.as_deref(), event.retry)).collect();
        assert_eq!(ids, [(Some("7"), Some(90)), (None, None), (Some("8"), None)]);
    }

    #[test]
    fn an_event_past_the_bound_is_an_error() {
        let mut decoder = SseDecoder::with_limit(10);
        decoder.push(b"data: 123\n", |_| {}).unwrap();
        assert_eq!(decoder.push(b"data: 12345", |_| {}), Err(EventTooLarge { limit: 10 }));
    }

    #[test]
    fn the_bound_is_per_event() {
        let mut decoder = SseDecoder::with_limit(10);
        let mut count = 0;
        for _ in 0..100 {
            decoder.push(b"data: 123\n\n", |_| count += 1).unwrap();
        }
        assert_eq!(count, 100);
    }

    proptest! {
        #[test]
        fn splits_do_not_matter(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just("data: {\"a\":\"ü€𝄞\"}".to_owned()), Just(String::new()), Just("\u{feff}data: x".to_owned()),
                    "data:[ a-zé]{0,6}", "(event|id|:|x)[: a-z]{0,4}",
                ], 0..12),
            ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 12),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        ) {
            let text: String = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(&pieces), decode(&[bytes]));
        }

        #[test]
        fn any_bytes_decode_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(&[&bytes]);
        }
    }
}
