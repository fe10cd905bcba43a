//! The `chunks` property: any text as a streamed answer that hooks receive by the sentence, the line or a number of
//! characters. Wherever the stream is cut, the units make up the text, end where the uncut text has an end, and are
//! held back no longer than the limit.

use std::num::NonZeroU32;

use hookwright_hooks::{ChunkGranularity, ChunkSplitter, ChunkUnit};

/// Checks one input. The first byte selects the unit: `s` sentences, `l` lines, anything else a number of characters.
pub fn chunks(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let wish = match *first {
        b's' => ChunkUnit::Sentence,
        b'l' => ChunkUnit::Line,
        other => ChunkUnit::MinChars(NonZeroU32::MIN.saturating_add(u32::from(other))),
    };
    let cuts: Vec<usize> = crate::cut_positions(bytes).into_iter().map(|at| text.floor_char_boundary(at)).collect();
    let mut cuts = [cuts, vec![text.len()]].concat();
    cuts.sort_unstable();
    let cut = unit_ends(&text, &cuts, wish);
    let single: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // All possible ends: with a minimal length, one character at a time.
    let finest = if matches!(wish, ChunkUnit::MinChars(_)) { ChunkUnit::MinChars(NonZeroU32::MIN) } else { wish };
    let ends = unit_ends(&text, &single, finest);
    for end in &cut[..cut.len() - 1] {
        assert!(ends.contains(end), "{wish}: {end} is no end of {text:?}");
    }
    // A complete unit is not held back.
    if finest == wish {
        assert_eq!(cut.iter().rev().nth(1), ends.iter().rev().nth(1), "{wish}: {text:?}");
    }
}

/// Returns the ends of the units of a text that arrives in pieces; the last is the text's own end.
fn unit_ends(text: &str, cuts: &[usize], wish: ChunkUnit) -> Vec<usize> {
    let (mut cutter, mut from, mut ends) = (ChunkSplitter::default(), 0, Vec::new());
    for to in cuts {
        if let Some(at) = cutter.feed(&text[from..*to], ChunkGranularity::from(wish)) {
            let end = from + at;
            let before = ends.last().copied().unwrap_or_default();
            assert!(text.is_char_boundary(end) && end > before, "{wish}: {end} after {before}");
            let characters = text[before..end].chars().count();
            assert!(!matches!(wish, ChunkUnit::MinChars(least) if characters < least.get() as usize), "{characters}");
            ends.push(end);
        }
        from = *to;
        let held = text[ends.last().copied().unwrap_or_default()..from].chars().count();
        assert_eq!(cutter.is_open(), held > 0);
        assert!(held < 2 * ChunkUnit::MAX_CHUNK_CHARS as usize, "{held} characters are held");
    }
    ends.push(text.len());
    ends
}
