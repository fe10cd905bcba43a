//! `config set KEY VALUE`, `config unset KEY`: change one setting of one file, and keep its comments.

use hookwright_hooks::Source;
use hookwright_settings::LoadedConfig;
use hookwright_settings::config::{check_setting, typed_value};
use hookwright_settings::edit::{SettingsChange, apply_change, json_splice};

use super::{settings_target, warn_if_untrusted};
use crate::args::ScopeArg;
use crate::{exit, output};

pub(super) fn set(loaded: &LoadedConfig, scope: ScopeArg, key: &str, text: &str) -> anyhow::Result<u8> {
    let (file, source) = settings_target(loaded, scope);
    let value = typed_value(key, text)?;
    let warnings = check_setting(loaded, &source, key, &value)?;
    let changed = apply_change(&file, &SettingsChange::Set(key_segments(key), value.clone()))?;
    warnings.iter().try_for_each(output::warn)?;
    let verb = if changed { "set" } else { "already set" };
    output::note(format!("{verb}: `{key}` is {} in {}", output::one_line(&value.to_string()), file.display()))?;
    warn_if_untrusted(loaded, &source)?;
    warn_if_overridden(loaded, scope, key)?;
    Ok(exit::OK)
}

pub(super) fn unset(loaded: &LoadedConfig, scope: ScopeArg, key: &str) -> anyhow::Result<u8> {
    let (file, _) = settings_target(loaded, scope);
    // Fails with an explanation where the name is unknown.
    typed_value(key, "")?;
    match apply_change(&file, &SettingsChange::Remove(key_segments(key)))? {
        true => output::note(format!("`{key}` is not set any more in {}", file.display()))?,
        false => output::note(format!("`{key}` is not set in {}", file.display()))?,
    }
    Ok(exit::OK)
}

fn key_segments(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Warns when the project's settings set the same key, which outranks the user's.
fn warn_if_overridden(loaded: &LoadedConfig, scope: ScopeArg, key: &str) -> anyhow::Result<()> {
    if scope == ScopeArg::Workspace {
        return Ok(());
    }
    let mut higher = loaded.files.iter().filter(|file| file.source == Source::Project);
    let says = |path: &std::path::Path| {
        let text = hookwright_settings::read_settings_file(path).ok()??;
        let value = json_splice::parse_tree(path, &text).ok()?.to_value();
        key.split('.').try_fold(&value, |value, name| value.get(name)).map(|_| ())
    };
    match higher.find(|file| says(&file.path).is_some()) {
        Some(file) => Ok(output::warn(format!("{} sets `{key}` too", file.path.display()))?),
        None => Ok(()),
    }
}
