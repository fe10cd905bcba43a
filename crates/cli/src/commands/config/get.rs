//! `config get [KEY]`: prints the effective value of a setting, and the file that sets it.

use std::io::Write;

use hookwright_settings::config::{setting_names, typed_value};
use hookwright_settings::edit::json_splice;
use hookwright_settings::{LoadedConfig, SettingsFileState, read_settings_file};
use serde_json::{Map, Value, json};

use crate::exit;
use crate::output::{self, BOLD, DIM, paint};

/// A setting's effective value, and its value in each settings file.
struct EffectiveSetting {
    /// The effective value; `None` where it is not set.
    value: Option<Value>,
    /// The files that set it, with their values; the highest layer first.
    layer_values: Vec<(String, Value)>,
}

pub(super) fn run(loaded: &LoadedConfig, key: Option<&str>, all: bool, as_json: bool) -> anyhow::Result<u8> {
    let layers = layers(loaded);
    let Some(key) = key else { return list(loaded, &layers, all, as_json) };
    // Fails with an explanation where the name is unknown.
    typed_value(key, "")?;
    let found = find_setting(loaded, &layers, key);
    if as_json {
        let layer_values: Vec<Value> =
            found.layer_values.iter().map(|(file, value)| json!({"file": file, "value": value})).collect();
        output::print_json(&json!({"key": key, "value": found.value, "said": layer_values}))?;
        return Ok(exit::OK);
    }
    match &found.value {
        Some(value) => writeln!(output::stdout(), "{}", plain_text(value))?,
        None => output::note(format!("`{key}` is not set"))?,
    }
    Ok(exit::OK)
}

/// Prints all settings that are set, or with `all` every known one.
fn list(
    loaded: &LoadedConfig,
    layers: &[(String, Map<String, Value>)],
    all: bool,
    as_json: bool,
) -> anyhow::Result<u8> {
    let names = setting_names();
    let found = names.iter().map(|key| (key, find_setting(loaded, layers, key)));
    let shown: Vec<_> = found.filter(|(_, found)| all || found.value.is_some()).collect();
    if as_json {
        let object: Map<String, Value> =
            shown.iter().map(|(key, found)| ((*key).clone(), found.value.clone().unwrap_or(Value::Null))).collect();
        output::print_json(&Value::Object(object))?;
        return Ok(exit::OK);
    }
    if shown.is_empty() {
        output::note("nothing is set; `hookwright config get --all` lists all settings")?;
    }
    let mut stdout = output::stdout();
    for (key, found) in shown {
        let value =
            found.value.as_ref().map_or_else(|| paint(DIM, "not set"), |value| output::one_line(&value.to_string()));
        let from = found
            .layer_values
            .iter()
            .find(|(_, layer_value)| Some(layer_value) == found.value.as_ref())
            .or(found.layer_values.first());
        let from = from.map(|(file, _)| paint(DIM, format!("  ({file})"))).unwrap_or_default();
        writeln!(stdout, "{} = {value}{from}", paint(BOLD, key))?;
    }
    Ok(exit::OK)
}

/// Reads the settings files that are in effect as plain JSON.
fn layers(loaded: &LoadedConfig) -> Vec<(String, Map<String, Value>)> {
    let counts = loaded.files.iter().filter(|file| file.state == SettingsFileState::Loaded);
    counts
        .filter_map(|file| {
            let text = read_settings_file(&file.path).ok()??;
            let Value::Object(values) = json_splice::parse_tree(&file.path, &text).ok()?.to_value() else {
                return None;
            };
            Some((file.path.display().to_string(), values))
        })
        .collect()
}

fn find_setting(loaded: &LoadedConfig, layers: &[(String, Map<String, Value>)], key: &str) -> EffectiveSetting {
    let layer_values: Vec<(String, Value)> =
        layers.iter().filter_map(|(file, values)| Some((file.clone(), value_at(values, key)?.clone()))).collect();
    // `hooksConfig` is read by the hook engine and is not among the merged settings.
    let value = match key.starts_with("hooksConfig.") {
        true => layer_values.first().map(|(_, value)| value.clone()),
        false => value_at(&loaded.settings.raw, key).cloned(),
    };
    EffectiveSetting { value, layer_values }
}

fn value_at<'v>(values: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let value = values.get(first)?;
    if rest.is_empty() { Some(value) } else { value_at(value.as_object()?, rest) }
}

/// Formats a string as it is, and any other value as JSON.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), output::one_line)
}
