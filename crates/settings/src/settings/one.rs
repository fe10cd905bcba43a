//! The table of settings as others may look at it: names, and what sort of value each holds.

use super::known::{KNOWN, Kind, known};
use super::misplaced;

/// What sort of value a setting holds, as far as it matters to whoever types one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Texts,
    TextOrTexts,
    /// A number or a flag.
    Other,
}

/// The settings that hold a value.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(|known| known.kind != Kind::Section).map(|known| known.key)
}

/// What a setting holds; an error for a group of them, nothing for what is not known.
pub(crate) fn holds(key: &str) -> Option<Result<Holds, ()>> {
    Some(match known(key)?.kind {
        Kind::Section => Err(()),
        Kind::Text | Kind::OneOf(_) => Ok(Holds::Text),
        Kind::Texts | Kind::Globs => Ok(Holds::Texts),
        Kind::TextOrTexts => Ok(Holds::TextOrTexts),
        Kind::Flag | Kind::Whole | Kind::Share => Ok(Holds::Other),
    })
}

/// The name that counts for a setting under an older one.
pub(crate) fn right_name(key: &str) -> Option<&'static str> {
    misplaced::MISPLACED.iter().find(|(theirs, _)| *theirs == key).map(|(_, ours)| *ours)
}
