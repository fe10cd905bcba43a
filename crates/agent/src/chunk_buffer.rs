//! Buffers the chunks of an answer until AfterModel hooks can get the unit that they asked for (`chunks`): whole
//! sentences, lines, or a number of characters.
//!
//! The engine's `ChunkSplitter` says where a text may be cut. Hooks get every piece of the answer once and in order.
//!
//! Only the answer's own text and its end release the buffer. A call, a finish reason or a thought
//! in the middle of a sentence does not, or a secret could pass the hooks in two halves around it;
//! calls are run after the answer in any case.

use hookwright_hooks::{ChunkGranularity, ChunkSplitter};
use hookwright_model::{Chunk, Part, PartKind};

/// The buffered chunks.
#[derive(Default)]
pub(crate) struct ChunkBuffer {
    buffered: Option<Chunk>,
    buffered_bytes: usize,
    text_cutter: ChunkSplitter,
    thought_cutter: ChunkSplitter,
}

/// A position in a chunk: the index of a part, and a byte offset in its text.
type ChunkPosition = (usize, usize);

impl ChunkBuffer {
    /// Returns the approximate memory of the buffered chunks.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// Adds a chunk and returns the text that can be delivered now; without a granularity that is all of it.
    pub(crate) fn push(&mut self, chunk: Chunk, grain: Option<ChunkGranularity>) -> Option<Chunk> {
        let Some(grain) = grain else {
            return Some(match self.flush() {
                Some(rest) => join_chunks(rest, chunk),
                None => chunk,
            });
        };
        let (whole, open) = match self.last_boundary(&chunk.parts, grain) {
            Some(end) => split_chunk(chunk, end),
            None => (None, Some(chunk)),
        };
        let unit = whole.map(|whole| match self.take_buffered() {
            Some(held) => join_chunks(held, whole),
            None => whole,
        });
        if let Some(open) = open {
            self.buffered_bytes += open.memory_bytes();
            self.buffered = Some(match self.buffered.take() {
                Some(held) => join_chunks(held, open),
                None => open,
            });
        }
        unit
    }

    /// Returns all that is buffered, at the end of the answer.
    pub(crate) fn flush(&mut self) -> Option<Chunk> {
        self.text_cutter.reset();
        self.thought_cutter.reset();
        self.take_buffered()
    }

    fn take_buffered(&mut self) -> Option<Chunk> {
        self.buffered_bytes = 0;
        self.buffered.take()
    }

    /// Returns the last position in a chunk before which all units are complete.
    fn last_boundary(&mut self, parts: &[Part], grain: ChunkGranularity) -> Option<ChunkPosition> {
        let mut end = None;
        for (at, part) in parts.iter().enumerate() {
            let found = match &part.kind {
                PartKind::Text(text) if text.is_empty() => None,
                PartKind::Text(text) => {
                    // A thought ends where the text of the answer continues.
                    self.thought_cutter.reset();
                    self.text_cutter.feed(text, grain).map(|offset| (at, offset))
                }
                PartKind::Thought(text) => {
                    let offset = self.thought_cutter.feed(text, grain);
                    offset.map(|offset| (at, offset)).filter(|_| !self.text_cutter.is_open())
                }
                _ => (!self.text_cutter.is_open() && !self.thought_cutter.is_open()).then_some((at + 1, 0)),
            };
            end = found.or(end);
        }
        end
    }
}

fn join_chunks(mut one: Chunk, next: Chunk) -> Chunk {
    one.merge(next);
    one
}

/// Splits a chunk at a position.
///
/// Fields that describe the whole chunk (tokens, finish reason, a text's signature) stay with the last part.
fn split_chunk(mut chunk: Chunk, (at, offset): ChunkPosition) -> (Option<Chunk>, Option<Chunk>) {
    let mut behind = chunk.parts.split_off(at);
    if let Some(part) = behind.first_mut()
        && let PartKind::Text(text) | PartKind::Thought(text) = &mut part.kind
    {
        if offset == text.len() {
            chunk.parts.push(behind.remove(0));
        } else if offset > 0 {
            let rest = text.split_off(offset);
            let before = std::mem::replace(text, rest);
            let is_text = part.as_text().is_some();
            chunk.parts.push(if is_text { Part::text(before) } else { Part::thought(before) });
        }
    }
    if behind.is_empty() {
        return (Some(chunk), None);
    }
    let before = std::mem::replace(&mut chunk.parts, behind);
    let whole = Chunk { parts: before, index: chunk.index, ..Chunk::default() };
    (Some(whole), Some(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_hooks::ChunkUnit;
    use hookwright_model::{FinishReason, Usage};
    use proptest::prelude::*;
    use serde_json::{Map, json};
    use std::num::NonZeroU32;

    fn sentences() -> Option<ChunkGranularity> {
        Some(ChunkGranularity::from(ChunkUnit::Sentence))
    }

    fn chunk_with_parts(parts: Vec<Part>) -> Chunk {
        Chunk { parts, ..Chunk::default() }
    }

    #[test]
    fn without_a_grain_chunks_pass_unchanged() {
        let mut holder = ChunkBuffer::default();
        let chunk = chunk_with_parts(vec![Part::text("a"), Part::text("b")]);
        assert_eq!(holder.push(chunk.clone(), None), Some(chunk));
        assert_eq!(holder.push(Chunk::default(), None), Some(Chunk::default()));
        assert_eq!(holder.flush(), None);
    }

    #[test]
    fn buffered_chunks_are_released_when_the_grain_is_dropped() {
        let mut holder = ChunkBuffer::default();
        assert_eq!(holder.push(Chunk::from_text("One. Tw"), sentences()), Some(Chunk::from_text("One. ")));
        assert!(holder.buffered_bytes() > 0);
        assert_eq!(holder.push(Chunk::from_text("o"), None), Some(Chunk::from_text("Two")));
        assert_eq!((holder.buffered_bytes(), holder.flush()), (0, None));
        // The splitter starts again after the flush.
        assert_eq!(holder.push(Chunk::from_text("Three"), sentences()), None);
        assert_eq!(holder.flush(), Some(Chunk::from_text("Three")));
    }

    #[test]
    fn split_chunk_keeps_all_content_in_order() {
        let mut holder = ChunkBuffer::default();
        let call = Part::function_call(None, "glob", Map::new());
        let signed = Part { thought_signature: Some("s".into()), ..Part::text("One. Two") };
        let usage = Some(Usage { total: 5, ..Usage::default() });
        let chunk = Chunk {
            parts: vec![Part::thought("hm"), signed, call.clone(), Part::text(" three")],
            finish_reason: Some(FinishReason::Stop),
            usage,
            grounding: Some(json!({"a": 1})),
            index: Some(0),
            ..Chunk::default()
        };
        let first = holder.push(chunk.clone(), sentences()).unwrap();
        assert_eq!(first, Chunk { index: Some(0), ..chunk_with_parts(vec![Part::thought("hm"), Part::text("One. ")]) });
        let rest = holder.flush().unwrap();
        let signed = Part { thought_signature: Some("s".into()), ..Part::text("Two") };
        assert_eq!(rest.parts, [signed, call, Part::text(" three")]);
        assert_eq!((rest.usage, &rest.grounding), (usage, &chunk.grounding));
        // Joined, the two halves are the original chunk.
        assert_eq!(join_chunks(first, rest), chunk);
    }

    #[test]
    fn thoughts_are_units_and_end_at_text() {
        let mut holder = ChunkBuffer::default();
        let mut take = |part: Part| holder.push(chunk_with_parts(vec![part]), sentences());
        assert_eq!(take(Part::thought("The key is hun")), None);
        assert_eq!(
            take(Part::thought("ter2. So")),
            Some(chunk_with_parts(vec![Part::thought("The key is hunter2. ")]))
        );
        assert_eq!(take(Part::text("Yes. N")), Some(chunk_with_parts(vec![Part::thought("So"), Part::text("Yes. ")])));
        assert_eq!(take(Part::thought("Hm. W")), None);
        assert_eq!(
            take(Part::text("o.\n")),
            Some(chunk_with_parts(vec![Part::text("N"), Part::thought("Hm. W"), Part::text("o.\n")]))
        );
    }

    #[test]
    fn textless_chunks_wait_for_text() {
        let mut holder = ChunkBuffer::default();
        let usage = |total| Chunk { usage: Some(Usage { total, ..Usage::default() }), ..Chunk::default() };
        assert_eq!(holder.push(usage(1), sentences()), None);
        assert_eq!(holder.push(Chunk::from_text(""), sentences()), None);
        let unit = holder.push(Chunk::from_text("One.\n"), sentences()).unwrap();
        assert_eq!((unit.text().as_str(), unit.usage.unwrap().total), ("One.\n", 1));
        assert_eq!(holder.push(usage(2), sentences()), None);
        assert_eq!(holder.flush(), Some(usage(2)));
        // A call is complete by itself.
        let call = chunk_with_parts(vec![Part::function_call(None, "glob", Map::new())]);
        assert_eq!(holder.push(call.clone(), sentences()), Some(call));
    }

    fn part() -> impl Strategy<Value = Part> {
        const WORDS: &str = "([a-zA-Z]{0,3}|\\. |\\.|\n| |。|é){0,4}";
        prop_oneof![
            4 => WORDS.prop_map(Part::text),
            2 => WORDS.prop_map(Part::thought),
            1 => Just(Part::function_call(None, "glob", Map::new())),
            1 => WORDS.prop_map(|text| Part { thought_signature: Some("s".into()), ..Part::text(text) }),
        ]
    }

    fn piece() -> impl Strategy<Value = Chunk> {
        (prop::collection::vec(part(), 0..4), prop::option::of(1u64..9)).prop_map(|(parts, total)| Chunk {
            usage: total.map(|total| Usage { total, ..Usage::default() }),
            ..chunk_with_parts(parts)
        })
    }

    proptest! {
        #[test]
        fn units_concatenate_to_the_answer(
            pieces in prop::collection::vec(piece(), 0..20),
            wishes in prop::collection::vec(prop::sample::select(vec![ChunkUnit::Sentence, ChunkUnit::Line, ChunkUnit::MinChars(NonZeroU32::MIN)]), 0..3),
        ) {
            let mut holder = ChunkBuffer::default();
            let grain = ChunkGranularity::coarsest(wishes);
            let mut units = Vec::new();
            for piece in &pieces {
                let before = holder.buffered_bytes();
                let unit = holder.push(piece.clone(), grain);
                prop_assert!(holder.buffered_bytes() <= before + piece.memory_bytes());
                units.extend(unit);
            }
            units.extend(holder.flush());
            prop_assert!(units.len() <= pieces.len() + 1);
            let added_up = |chunks: &[Chunk]| chunks.iter().cloned().fold(Chunk::default(), join_chunks);
            let mut there = added_up(&units);
            let mut here = added_up(&pieces);
            // A part with an empty text counts as absent.
            let says = |part: &Part| part.as_text().or(part.as_thought()) != Some("") || part.thought_signature.is_some();
            there.parts.retain(says);
            here.parts.retain(says);
            prop_assert_eq!(there, here);
        }
    }
}
