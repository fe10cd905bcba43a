//! Properties that must hold for any untrusted input: one function per kind of input, which takes any bytes and panics
//! if a property does not hold.
//!
//! The fuzzer (`fuzz/`) calls them with generated inputs; `tests/` calls them with stored inputs and small mutations of
//! those.

#![expect(clippy::expect_used, reason = "panics are its way of saying that something does not hold")]

mod answer;
mod chunks;
mod effects;
mod policy;
mod replay;
mod settings;
mod shell;
mod shell_shape;
mod sse;
mod template;
mod transcript;
mod words;

pub use answer::answer;
pub use chunks::chunks;
pub use effects::effects;
pub use policy::policy;
pub use replay::replay;
pub use settings::settings;
pub use shell::shell;
pub use sse::sse;
pub use template::template;
pub use transcript::transcript;
pub use words::words;

/// A check of some bytes, which panics if a property does not hold.
pub type Property = fn(&[u8]);

/// All properties, by the names of the fuzzer's targets.
pub const PROPERTIES: [(&str, Property); 11] = [
    ("settings", settings),
    ("answer", answer),
    ("shell", shell),
    ("effects", effects),
    ("words", words),
    ("sse", sse),
    ("chunks", chunks),
    ("replay", replay),
    ("policy", policy),
    ("template", template),
    ("transcript", transcript),
];

/// The separator of an input's fields: the record separator, a character that is hardly ever typed.
const FIELD_SEPARATOR: u8 = 0x1e;

/// Returns positions to cut these bytes at, in order. They are pseudo-random, and depend on the bytes only.
fn cut_positions(input: &[u8]) -> Vec<usize> {
    let mut state = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mut places = Vec::new();
    let mut at = 0;
    while at < input.len() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        at += (state % 24) as usize + 1;
        places.push(at.min(input.len()));
    }
    places
}

/// Splits the bytes at these positions.
fn split_at_cuts<'i>(input: &'i [u8], cuts: &[usize]) -> Vec<&'i [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    starts.zip(cuts).map(|(start, end)| &input[start..*end]).collect()
}

/// Splits an input into `N` fields; missing ones are empty, and the last one holds the rest.
fn split_fields<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut fields = input.splitn(N, |byte| *byte == FIELD_SEPARATOR);
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}
