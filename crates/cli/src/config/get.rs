//! `config get [KEY]`: what counts, and which file says so.

use std::io::Write;

use hookwright_settings::config::{setting_names, typed_value};
use hookwright_settings::edit::seam;
use hookwright_settings::{FileState, Loaded, read_settings_file};
use serde_json::{Map, Value, json};

use crate::exit;
use crate::out::{self, BOLD, DIM, paint};

/// A setting as the files have it.
struct Found {
    /// What counts, if anything does.
    value: Option<Value>,
    /// The files that say something, with what they say; the highest first.
    said: Vec<(String, Value)>,
}

pub(super) fn run(loaded: &Loaded, key: Option<&str>, all: bool, as_json: bool) -> anyhow::Result<u8> {
    let layers = layers(loaded);
    let Some(key) = key else { return list(loaded, &layers, all, as_json) };
    // Says what is wrong with the name.
    typed_value(key, "")?;
    let found = find(loaded, &layers, key);
    if as_json {
        let said: Vec<Value> = found.said.iter().map(|(file, value)| json!({"file": file, "value": value})).collect();
        out::json(&json!({"key": key, "value": found.value, "said": said}))?;
        return Ok(exit::OK);
    }
    match &found.value {
        Some(value) => writeln!(out::stdout(), "{}", plain(value))?,
        None => out::note(format!("`{key}` is not set"))?,
    }
    Ok(exit::OK)
}

/// Everything that is set, or all there is.
fn list(loaded: &Loaded, layers: &[(String, Map<String, Value>)], all: bool, as_json: bool) -> anyhow::Result<u8> {
    let names = setting_names();
    let found = names.iter().map(|key| (key, find(loaded, layers, key)));
    let shown: Vec<_> = found.filter(|(_, found)| all || found.value.is_some()).collect();
    if as_json {
        let object: Map<String, Value> =
            shown.iter().map(|(key, found)| ((*key).clone(), found.value.clone().unwrap_or(Value::Null))).collect();
        out::json(&Value::Object(object))?;
        return Ok(exit::OK);
    }
    if shown.is_empty() {
        out::note("nothing is set; `hookwright config get --all` lists what could be")?;
    }
    let mut stdout = out::stdout();
    for (key, found) in shown {
        let value =
            found.value.as_ref().map_or_else(|| paint(DIM, "not set"), |value| out::one_line(&value.to_string()));
        let from = found.said.iter().find(|(_, said)| Some(said) == found.value.as_ref()).or(found.said.first());
        let from = from.map(|(file, _)| paint(DIM, format!("  ({file})"))).unwrap_or_default();
        writeln!(stdout, "{} = {value}{from}", paint(BOLD, key))?;
    }
    Ok(exit::OK)
}

/// The files that count, as plain values.
fn layers(loaded: &Loaded) -> Vec<(String, Map<String, Value>)> {
    let counts = loaded.files.iter().filter(|file| file.state == FileState::Loaded);
    counts
        .filter_map(|file| {
            let text = read_settings_file(&file.path).ok()??;
            let Value::Object(values) = seam::read(&file.path, &text).ok()?.value() else { return None };
            Some((file.path.display().to_string(), values))
        })
        .collect()
}

fn find(loaded: &Loaded, layers: &[(String, Map<String, Value>)], key: &str) -> Found {
    let said: Vec<(String, Value)> =
        layers.iter().filter_map(|(file, values)| Some((file.clone(), at(values, key)?.clone()))).collect();
    // What the engine reads itself is not among the settings.
    let value = match key.starts_with("hooksConfig.") {
        true => said.first().map(|(_, value)| value.clone()),
        false => at(&loaded.settings.raw, key).cloned(),
    };
    Found { value, said }
}

fn at<'v>(values: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let value = values.get(first)?;
    if rest.is_empty() { Some(value) } else { at(value.as_object()?, rest) }
}

/// A text as it is, everything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), out::one_line)
}
