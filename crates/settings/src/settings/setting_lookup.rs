//! Lookups in the table of settings for other modules: names, and the type of value of each.

use super::misplaced_names;
use super::setting_table::{SETTING_TABLE, SettingKind, find_setting};

/// Type of a setting's value, as far as it matters for parsing a typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingValueKind {
    Text,
    Texts,
    TextOrTexts,
    /// A number or a flag.
    Other,
}

/// Returns the names of all settings that hold a value.
pub(crate) fn setting_keys() -> impl Iterator<Item = &'static str> {
    SETTING_TABLE.iter().filter(|known| known.kind != SettingKind::Section).map(|known| known.key)
}

/// Returns the type of a setting's value: an error for a section, `None` for an unknown name.
pub(crate) fn value_kind_of(key: &str) -> Option<Result<SettingValueKind, ()>> {
    Some(match find_setting(key)?.kind {
        SettingKind::Section => Err(()),
        SettingKind::Text | SettingKind::OneOf(_) => Ok(SettingValueKind::Text),
        SettingKind::Texts | SettingKind::Globs => Ok(SettingValueKind::Texts),
        SettingKind::TextOrTexts => Ok(SettingValueKind::TextOrTexts),
        SettingKind::Flag | SettingKind::Integer | SettingKind::Fraction => Ok(SettingValueKind::Other),
    })
}

/// Returns the present name of a setting under an older one.
pub(crate) fn canonical_name_of(key: &str) -> Option<&'static str> {
    misplaced_names::MISPLACED_NAMES.iter().find(|(theirs, _)| *theirs == key).map(|(_, ours)| *ours)
}
