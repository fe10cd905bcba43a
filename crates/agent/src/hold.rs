//! Holds an answer's pieces back until AfterModel hooks can be handed what they asked for (`chunks`): whole sentences, lines,
//! so many characters. Where a text may be cut is the engine's `Cutter`; whoever asks gets every piece, in order, once.
//!
//! Only the answer's own text and its end let go of anything. A call, a finish reason or a thought in the middle of a
//! sentence does not end it, or a secret could be told in two halves around one; calls are made at the end in any case.

use hookwright_hooks::{Cutter, Grain};
use hookwright_model::{Chunk, Part, PartKind};

/// The pieces that are held back.
#[derive(Default)]
pub(crate) struct Holder {
    held: Option<Chunk>,
    weight: usize,
    text: Cutter,
    thoughts: Cutter,
}

/// A place in a piece: a part, and how much of its text stands before the place.
type Place = (usize, usize);

impl Holder {
    /// How many bytes of memory is held, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Takes a piece in; gives what can be handed on by now, which is all of it where nobody asks for more than pieces.
    pub(crate) fn take_in(&mut self, chunk: Chunk, grain: Option<Grain>) -> Option<Chunk> {
        let Some(grain) = grain else {
            return Some(match self.rest() {
                Some(rest) => joined(rest, chunk),
                None => chunk,
            });
        };
        let (whole, open) = match self.last_end(&chunk.parts, grain) {
            Some(end) => split(chunk, end),
            None => (None, Some(chunk)),
        };
        let unit = whole.map(|whole| match self.take() {
            Some(held) => joined(held, whole),
            None => whole,
        });
        if let Some(open) = open {
            self.weight += open.weight();
            self.held = Some(match self.held.take() {
                Some(held) => joined(held, open),
                None => open,
            });
        }
        unit
    }

    /// Everything that is held, whole or not: nothing more comes.
    pub(crate) fn rest(&mut self) -> Option<Chunk> {
        self.text.close();
        self.thoughts.close();
        self.take()
    }

    fn take(&mut self) -> Option<Chunk> {
        self.weight = 0;
        self.held.take()
    }

    /// The last place in a piece before which everything is whole.
    fn last_end(&mut self, parts: &[Part], grain: Grain) -> Option<Place> {
        let mut end = None;
        for (at, part) in parts.iter().enumerate() {
            let found = match &part.kind {
                PartKind::Text(text) if text.is_empty() => None,
                PartKind::Text(text) => {
                    // Thinking has come to an end where the answer goes on.
                    self.thoughts.close();
                    self.text.feed(text, grain).map(|offset| (at, offset))
                }
                PartKind::Thought(text) => {
                    let offset = self.thoughts.feed(text, grain);
                    offset.map(|offset| (at, offset)).filter(|_| !self.text.is_open())
                }
                _ => (!self.text.is_open() && !self.thoughts.is_open()).then_some((at + 1, 0)),
            };
            end = found.or(end);
        }
        end
    }
}

fn joined(mut one: Chunk, next: Chunk) -> Chunk {
    one.merge(next);
    one
}

/// A piece in two, either of which may be nothing. What a provider says of the piece as a whole (tokens, the end, a signature
/// of a text) stays with what comes last.
fn split(mut chunk: Chunk, (at, offset): Place) -> (Option<Chunk>, Option<Chunk>) {
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
    use hookwright_hooks::Chunks;
    use hookwright_model::{FinishReason, Usage};
    use proptest::prelude::*;
    use serde_json::{Map, json};
    use std::num::NonZeroU32;

    fn sentences() -> Option<Grain> {
        Some(Grain::from(Chunks::Sentence))
    }

    fn of(parts: Vec<Part>) -> Chunk {
        Chunk { parts, ..Chunk::default() }
    }

    #[test]
    fn who_asks_for_nothing_gets_every_piece_as_it_is() {
        let mut holder = Holder::default();
        let chunk = of(vec![Part::text("a"), Part::text("b")]);
        assert_eq!(holder.take_in(chunk.clone(), None), Some(chunk));
        assert_eq!(holder.take_in(Chunk::default(), None), Some(Chunk::default()));
        assert_eq!(holder.rest(), None);
    }

    #[test]
    fn what_is_held_goes_out_when_nobody_asks_any_more() {
        let mut holder = Holder::default();
        assert_eq!(holder.take_in(Chunk::text_piece("One. Tw"), sentences()), Some(Chunk::text_piece("One. ")));
        assert!(holder.weight() > 0);
        assert_eq!(holder.take_in(Chunk::text_piece("o"), None), Some(Chunk::text_piece("Two")));
        assert_eq!((holder.weight(), holder.rest()), (0, None));
        // What comes then begins anew.
        assert_eq!(holder.take_in(Chunk::text_piece("Three"), sentences()), None);
        assert_eq!(holder.rest(), Some(Chunk::text_piece("Three")));
    }

    #[test]
    fn a_piece_in_two_keeps_everything_once_and_in_order() {
        let mut holder = Holder::default();
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
        let first = holder.take_in(chunk.clone(), sentences()).unwrap();
        assert_eq!(first, Chunk { index: Some(0), ..of(vec![Part::thought("hm"), Part::text("One. ")]) });
        let rest = holder.rest().unwrap();
        let signed = Part { thought_signature: Some("s".into()), ..Part::text("Two") };
        assert_eq!(rest.parts, [signed, call, Part::text(" three")]);
        assert_eq!((rest.usage, &rest.grounding), (usage, &chunk.grounding));
        // Together they are what came.
        assert_eq!(joined(first, rest), chunk);
    }

    #[test]
    fn thoughts_are_units_too_and_end_where_text_begins() {
        let mut holder = Holder::default();
        let mut take = |part: Part| holder.take_in(of(vec![part]), sentences());
        assert_eq!(take(Part::thought("The key is hun")), None);
        assert_eq!(take(Part::thought("ter2. So")), Some(of(vec![Part::thought("The key is hunter2. ")])));
        assert_eq!(take(Part::text("Yes. N")), Some(of(vec![Part::thought("So"), Part::text("Yes. ")])));
        assert_eq!(take(Part::thought("Hm. W")), None);
        assert_eq!(
            take(Part::text("o.\n")),
            Some(of(vec![Part::text("N"), Part::thought("Hm. W"), Part::text("o.\n")]))
        );
    }

    #[test]
    fn what_says_nothing_waits_for_what_does() {
        let mut holder = Holder::default();
        let usage = |total| Chunk { usage: Some(Usage { total, ..Usage::default() }), ..Chunk::default() };
        assert_eq!(holder.take_in(usage(1), sentences()), None);
        assert_eq!(holder.take_in(Chunk::text_piece(""), sentences()), None);
        let unit = holder.take_in(Chunk::text_piece("One.\n"), sentences()).unwrap();
        assert_eq!((unit.text().as_str(), unit.usage.unwrap().total), ("One.\n", 1));
        assert_eq!(holder.take_in(usage(2), sentences()), None);
        assert_eq!(holder.rest(), Some(usage(2)));
        // A call says all that it has to say.
        let call = of(vec![Part::function_call(None, "glob", Map::new())]);
        assert_eq!(holder.take_in(call.clone(), sentences()), Some(call));
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
            ..of(parts)
        })
    }

    proptest! {
        #[test]
        fn units_are_the_answer(
            pieces in prop::collection::vec(piece(), 0..20),
            wishes in prop::collection::vec(prop::sample::select(vec![Chunks::Sentence, Chunks::Line, Chunks::AtLeast(NonZeroU32::MIN)]), 0..3),
        ) {
            let mut holder = Holder::default();
            let grain = Grain::of(wishes);
            let mut units = Vec::new();
            for piece in &pieces {
                let before = holder.weight();
                let unit = holder.take_in(piece.clone(), grain);
                prop_assert!(holder.weight() <= before + piece.weight());
                units.extend(unit);
            }
            units.extend(holder.rest());
            prop_assert!(units.len() <= pieces.len() + 1);
            let added_up = |chunks: &[Chunk]| chunks.iter().cloned().fold(Chunk::default(), joined);
            let mut there = added_up(&units);
            let mut here = added_up(&pieces);
            // An empty part is none.
            let says = |part: &Part| part.as_text().or(part.as_thought()) != Some("") || part.thought_signature.is_some();
            there.parts.retain(says);
            here.parts.retain(says);
            prop_assert_eq!(there, here);
        }
    }
}
