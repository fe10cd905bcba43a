//! Looks up one setting by its name: the known names, the parsing of a typed value, and the check whether a layer may
//! set it.
//!
//! Values are checked by the reader that loads the settings, so that nothing is written that would later be reported
//! and left out. The `edit` module writes them.

use std::path::Path;

use hookwright_hooks::jsonc::Document;
use hookwright_hooks::{Diagnostic, Layer, Severity, Source, did_you_mean, parse_layer};
use serde_json::{Map, Value};

use crate::load::{LoadedConfig, outer_settings};
use crate::settings::setting_lookup::{self, SettingValueKind};
use crate::settings::{LayerFindings, OuterSettings, read_layer};

/// Prefix of the keys that the hook engine reads.
const ENGINE_KEY_PREFIX: &str = "hooksConfig.";

/// Why a setting cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingError {
    message: String,
    /// Advice on how to resolve the error.
    pub hint: String,
}

impl SettingError {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        SettingError { message: what.into(), hint: hint.into() }
    }
}

/// Returns the dotted names of all settings that hold a value.
pub fn setting_names() -> Vec<String> {
    let engine = hookwright_hooks::config::CONFIG_KEYS.iter().map(|key| format!("{ENGINE_KEY_PREFIX}{key}"));
    setting_lookup::setting_keys().map(str::to_owned).chain(engine).collect()
}

/// Parses a value that was typed for a setting, according to the setting's type: a word becomes a text or a list.
///
/// # Errors
/// If there is no such setting, or it can't be written this way.
pub fn typed_value(key: &str, text: &str) -> Result<Value, SettingError> {
    let json = || serde_json::from_str::<Value>(text).ok();
    let words = || text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect();
    Ok(match value_kind(key)? {
        SettingValueKind::Text => json().filter(Value::is_string).unwrap_or_else(|| Value::from(text)),
        SettingValueKind::Texts => json().filter(Value::is_array).unwrap_or_else(|| Value::Array(words())),
        SettingValueKind::TextOrTexts => {
            json().filter(|value| value.is_array() || value.is_string()).unwrap_or_else(|| Value::from(text))
        }
        SettingValueKind::Other => json().unwrap_or_else(|| Value::from(text)),
    })
}

fn value_kind(key: &str) -> Result<SettingValueKind, SettingError> {
    if let Some(name) = key.strip_prefix(ENGINE_KEY_PREFIX) {
        return match name {
            "disabled" | "required" => Ok(SettingValueKind::Texts),
            name if hookwright_hooks::config::CONFIG_KEYS.contains(&name) => Ok(SettingValueKind::Other),
            _ => Err(unknown_setting(key)),
        };
    }
    if key == "hooks" || key.starts_with("hooks.") {
        let hint = "`hookwright hooks new`, `add`, `remove`, `enable` and `disable` change hooks";
        return Err(SettingError::new("hooks are not a single setting", hint));
    }
    match setting_lookup::value_kind_of(key) {
        Some(Ok(holds)) => Ok(holds),
        Some(Err(())) if key == "mcpServers" => {
            Err(SettingError::new("`mcpServers` is a table of servers", "`hookwright mcp add` and `remove` change it"))
        }
        Some(Err(())) => {
            let inner: Vec<String> =
                setting_names().into_iter().filter(|name| name.starts_with(&format!("{key}."))).collect();
            Err(SettingError::new(format!("`{key}` is a group of settings"), format!("one of {}", inner.join(", "))))
        }
        None => Err(unknown_setting(key)),
    }
}

fn unknown_setting(key: &str) -> SettingError {
    if let Some(right) = setting_lookup::canonical_name_of(key) {
        return SettingError::new(format!("there is no setting `{key}`"), format!("its name is `{right}`"));
    }
    let names = setting_names();
    // A name without its group is taken as a typo of the full name.
    let short = names.iter().find(|name| name.rsplit('.').next() == Some(key));
    let near = short.map(|name| format!("did you mean `{name}`?"));
    let hint = near.unwrap_or_else(|| {
        did_you_mean(key, names.iter().map(String::as_str), "`hookwright config get --all` lists them")
    });
    SettingError::new(format!("there is no setting `{key}`"), hint)
}

/// Checks whether a layer's file may hold this value, and returns the warnings about it.
///
/// # Errors
/// If there is no such setting, the value has the wrong type, or a project may not set it.
pub fn check_setting(
    loaded: &LoadedConfig,
    layer: &Source,
    key: &str,
    value: &Value,
) -> Result<Vec<String>, SettingError> {
    value_kind(key)?;
    let text = nested_object(key, value).to_string();
    let file = Path::new("settings.json");
    let mut found = LayerFindings::default();
    if key.starts_with(ENGINE_KEY_PREFIX) {
        found.diagnostics = parse_layer(&Layer::new(layer.clone(), file, &text)).diagnostics;
    } else {
        let outer = outer_settings(loaded);
        let document = Document::parse(file, &text);
        if let Ok(Some(object)) = &document.root {
            let outer = OuterSettings { settings: &outer, root: &loaded.project.root };
            read_layer(object, layer, &document.source, &loaded.process_env, &outer, &mut found);
        }
    }
    let refused = |wrong: &Diagnostic| wrong.severity == Severity::Error || *layer == Source::Project;
    if let Some(wrong) = found.diagnostics.iter().find(|wrong| refused(wrong)) {
        let what = wrong.message.trim_end_matches("; it is ignored").to_owned();
        let hint = wrong.help.clone().or_else(|| wrong.expected.clone()).unwrap_or_default();
        return Err(SettingError::new(what, hint));
    }
    let warned = found.diagnostics.iter().map(|wrong| wrong.message.clone());
    let idle = found.ineffective_settings.iter().map(|one| format!("`{}` has no effect here: {}", one.key, one.reason));
    Ok(warned.chain(idle).collect())
}

/// Wraps a value into nested objects along its dotted key.
fn nested_object(key: &str, value: &Value) -> Value {
    key.rsplit('.').fold(value.clone(), |inner, name| Value::Object(Map::from_iter([(name.to_owned(), inner)])))
}
