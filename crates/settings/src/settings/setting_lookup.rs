//! The table of settings as others may look at it: names, and what sort of value each holds.

use super::misplaced_names;
use super::setting_table::{SETTING_TABLE, SettingKind, find_setting};

/// What sort of value a setting holds, as far as it matters to whoever types one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingValueKind {
    Text,
    Texts,
    TextOrTexts,
    /// A number or a flag.
    Other,
}

/// The settings that hold a value.
pub(crate) fn setting_keys() -> impl Iterator<Item = &'static str> {
    SETTING_TABLE.iter().filter(|known| known.kind != SettingKind::Section).map(|known| known.key)
}

/// What a setting holds; an error for a group of them, nothing for what is not known.
pub(crate) fn value_kind_of(key: &str) -> Option<Result<SettingValueKind, ()>> {
    Some(match find_setting(key)?.kind {
        SettingKind::Section => Err(()),
        SettingKind::Text | SettingKind::OneOf(_) => Ok(SettingValueKind::Text),
        SettingKind::Texts | SettingKind::Globs => Ok(SettingValueKind::Texts),
        SettingKind::TextOrTexts => Ok(SettingValueKind::TextOrTexts),
        SettingKind::Flag | SettingKind::Integer | SettingKind::Fraction => Ok(SettingValueKind::Other),
    })
}

/// The name that counts for a setting under an older one.
pub(crate) fn canonical_name_of(key: &str) -> Option<&'static str> {
    misplaced_names::MISPLACED_NAMES.iter().find(|(theirs, _)| *theirs == key).map(|(_, ours)| *ours)
}
