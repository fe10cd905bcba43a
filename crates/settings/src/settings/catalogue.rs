//! The settings as shown to users: description, type, choices, what a project may set, and the parsing of typed
//! values. No settings file is read or written here.

use std::path::Path;

use serde_json::{Map, Value};

use super::DottedLookup;
use super::project_rule::{OuterSettings, ProjectRule, StrictnessOrder};
use super::setting_table::{SETTING_TABLE, SettingEffect, SettingKind, SettingSpec, find_setting};

/// A setting that the program knows.
#[derive(Clone, Copy)]
pub struct KnownSetting(&'static SettingSpec);

/// Returns every setting that holds a value, in the table's order.
pub fn known_settings() -> impl Iterator<Item = KnownSetting> {
    SETTING_TABLE.iter().filter(|known| known.kind != SettingKind::Section).map(KnownSetting)
}

/// Returns the setting of that name.
pub fn known_setting(key: &str) -> Option<KnownSetting> {
    find_setting(key).filter(|known| known.kind != SettingKind::Section).map(KnownSetting)
}

impl KnownSetting {
    /// Returns its dotted name.
    pub fn key(self) -> &'static str {
        self.0.key
    }

    /// Returns the parts of its dotted name.
    pub fn path(self) -> Vec<String> {
        self.0.key.split('.').map(str::to_owned).collect()
    }

    /// Returns its description.
    pub fn description(self) -> &'static str {
        self.0.description
    }

    /// Returns the value that counts if it is not set, as text.
    pub fn default_text(self) -> Option<&'static str> {
        self.0.default_text
    }

    /// Describes the type of its value.
    pub fn describe_kind(self) -> String {
        match self.0.kind {
            SettingKind::Section => "a group of settings".to_owned(),
            SettingKind::Flag => "true or false".to_owned(),
            SettingKind::Text => "text".to_owned(),
            SettingKind::Integer => "a whole number".to_owned(),
            SettingKind::Fraction => "a number from 0 to 1".to_owned(),
            SettingKind::Texts => "a comma-separated list".to_owned(),
            SettingKind::TextOrTexts => "a name, or a comma-separated list".to_owned(),
            SettingKind::Globs => "a comma-separated list of globs".to_owned(),
            SettingKind::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Returns the possible values, if they can be listed.
    pub fn choices(self) -> Option<Vec<Value>> {
        match self.0.kind {
            SettingKind::Flag => Some(vec![Value::Bool(true), Value::Bool(false)]),
            SettingKind::OneOf(words) => Some(words.iter().map(|word| Value::from(*word)).collect()),
            _ => None,
        }
    }

    /// Returns why it has no effect, if it has none.
    pub fn no_effect_reason(self) -> Option<&'static str> {
        match self.0.effect {
            SettingEffect::Honoured => None,
            SettingEffect::None(because) => Some(because),
        }
    }

    /// Describes what a project may set.
    pub fn describe_project_rule(self) -> &'static str {
        match self.0.project_rule {
            ProjectRule::Anything => "a project may set it",
            ProjectRule::Listed => "a project may set it; the trust dialog lists it",
            ProjectRule::Inside => "a project may only set it to paths inside the project",
            ProjectRule::Nothing => "a project can't set it",
            ProjectRule::Stricter(than) | ProjectRule::ListedStricter(than) => match than {
                StrictnessOrder::Flag { strict: true, .. } => "a project may only set it to true",
                StrictnessOrder::Flag { strict: false, .. } => "a project may only set it to false",
                StrictnessOrder::Off => "a project may only switch it off",
                StrictnessOrder::Words { .. } | StrictnessOrder::Number { .. } | StrictnessOrder::Tools => {
                    "a project may only make it stricter than yours"
                }
                StrictnessOrder::Entries => "a project may only add what your settings do not have",
            },
        }
    }

    /// Returns why a value would be rejected in a project's settings; `outer` has the settings of the user and the
    /// system.
    pub fn refused_by_project(self, value: &Value, outer: &Map<String, Value>, root: &Path) -> Option<String> {
        self.0.project_rule.evaluate(self.0.key, value.clone(), &OuterSettings { settings: outer, root }).refused
    }

    /// Parses a typed text as a value of its type.
    ///
    /// # Errors
    /// If the text is no such value; the message says what was expected.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let expected =
            || Err(format!("`{text}` is not a valid value of `{}`: expected {}", self.0.key, self.describe_kind()));
        match self.0.kind {
            SettingKind::Section => expected(),
            SettingKind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" => Ok(Value::Bool(true)),
                "false" | "off" | "no" => Ok(Value::Bool(false)),
                _ => expected(),
            },
            SettingKind::Text => Ok(Value::from(text)),
            SettingKind::Integer => text.parse::<i64>().map(Value::from).or_else(|_| expected()),
            SettingKind::Fraction => match text.parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => Ok(Value::from(share)),
                _ => expected(),
            },
            SettingKind::OneOf(words) if words.contains(&text) => Ok(Value::from(text)),
            SettingKind::OneOf(_) => expected(),
            SettingKind::TextOrTexts if !text.contains([',', '[']) => Ok(Value::from(text)),
            SettingKind::Texts | SettingKind::TextOrTexts | SettingKind::Globs => {
                parse_list(text).map_or_else(expected, Ok)
            }
        }
    }

    /// Returns its value in a map of settings.
    pub fn value_in(self, settings: &Map<String, Value>) -> Option<&Value> {
        DottedLookup(settings).get(self.0.key)
    }
}

/// Parses a list, as JSON or separated by commas.
fn parse_list(text: &str) -> Option<Value> {
    if text.starts_with('[') {
        let items: Vec<String> = serde_json::from_str(text).ok()?;
        return Some(Value::from(items));
    }
    Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Value::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessEnv, Settings};
    use serde_json::json;

    #[test]
    fn every_setting_says_what_it_is_for() {
        for setting in known_settings() {
            assert!(!setting.description().is_empty(), "{}", setting.key());
            assert!(!setting.description().ends_with('.') && !setting.describe_kind().is_empty(), "{}", setting.key());
            for choice in setting.choices().unwrap_or_default() {
                let typed = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
                assert_eq!(setting.parse(&typed), Ok(choice), "{}", setting.key());
            }
        }
        assert!(known_setting("ui").is_none() && known_setting("nope").is_none());
    }

    /// A setting with its default value means the same as no setting.
    #[test]
    fn defaults_are_those_of_the_program() {
        let typed = |raw: Map<String, Value>| {
            let settings = Settings::new(raw, &ProcessEnv::default(), &mut Vec::new());
            Settings { raw: Map::new(), ..settings }
        };
        for setting in known_settings().filter(|setting| setting.choices().is_some()) {
            let Some(default) = setting.default_text() else { continue };
            let value = setting.parse(default).unwrap();
            let nested = setting.path().into_iter().rev().fold(value, |inner, key| json!({ key: inner }));
            let Value::Object(raw) = nested else { panic!("{}", setting.key()) };
            assert_eq!(typed(raw), typed(Map::new()), "{}", setting.key());
        }
    }

    #[test]
    fn typed_text_becomes_a_value_of_its_type_or_an_error() {
        let parse = |key: &str, text: &str| known_setting(key).unwrap().parse(text);
        assert_eq!(parse("ui.hideTips", " Yes "), Ok(json!(true)));
        assert_eq!(parse("model.maxSessionTurns", "-1"), Ok(json!(-1)));
        assert_eq!(parse("tools.exclude", "a, b,"), Ok(json!(["a", "b"])));
        assert_eq!(parse("tools.exclude", r#"["a, b"]"#), Ok(json!(["a, b"])));
        assert_eq!(parse("context.fileName", "X.md"), Ok(json!("X.md")));
        for (key, text) in [
            ("ui.hideTips", "maybe"),
            ("model.maxSessionTurns", "many"),
            ("model.compressionThreshold", "1.5"),
            ("model.compressionThreshold", "NaN"),
            ("general.defaultApprovalMode", "yolo"),
            ("tools.exclude", "[1]"),
        ] {
            assert!(parse(key, text).unwrap_err().contains("expected"), "{key} {text}");
        }
    }

    #[test]
    fn project_values_are_checked_before_they_are_written() {
        let refused = |key: &str, value: Value, outer: Value| {
            let outer = outer.as_object().cloned().unwrap_or_default();
            known_setting(key).unwrap().refused_by_project(&value, &outer, Path::new("/usr"))
        };
        assert!(refused("telemetry.enabled", json!(true), json!({})).unwrap().contains("can't set"));
        let mine = json!({"security": {"disableYoloMode": true}});
        assert!(refused("security.disableYoloMode", json!(false), mine).is_some());
        assert!(refused("security.disableYoloMode", json!(false), json!({})).is_none());
        assert!(refused("security.disableYoloMode", json!(true), json!({})).is_none());
        let mine = json!({"model": {"maxSessionTurns": 5}});
        assert!(refused("model.maxSessionTurns", json!(9), mine).is_some());
        assert!(refused("ui.hideTips", json!(true), json!({})).is_none());
    }
}
