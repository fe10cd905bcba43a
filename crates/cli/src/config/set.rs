//! `config set KEY VALUE`, `config unset KEY`: one setting of one file, comments kept.

use hookwright_hooks::Source;
use hookwright_settings::Loaded;
use hookwright_settings::config::{check_setting, typed_value};
use hookwright_settings::edit::{Change, apply, seam};

use super::{target, warn_if_untrusted};
use crate::args::Scope;
use crate::{exit, out};

pub(super) fn set(loaded: &Loaded, scope: Scope, key: &str, text: &str) -> anyhow::Result<u8> {
    let (file, source) = target(loaded, scope);
    let value = typed_value(key, text)?;
    let warnings = check_setting(loaded, &source, key, &value)?;
    let changed = apply(&file, &Change::Set(names(key), value.clone()))?;
    warnings.iter().try_for_each(out::warn)?;
    let verb = if changed { "set" } else { "already set" };
    out::note(format!("{verb}: `{key}` is {} in {}", out::one_line(&value.to_string()), file.display()))?;
    warn_if_untrusted(loaded, &source)?;
    warn_if_outvoted(loaded, scope, key)?;
    Ok(exit::OK)
}

pub(super) fn unset(loaded: &Loaded, scope: Scope, key: &str) -> anyhow::Result<u8> {
    let (file, _) = target(loaded, scope);
    // Says what is wrong with the name.
    typed_value(key, "")?;
    match apply(&file, &Change::Remove(names(key)))? {
        true => out::note(format!("`{key}` is not set any more in {}", file.display()))?,
        false => out::note(format!("`{key}` is not set in {}", file.display()))?,
    }
    Ok(exit::OK)
}

fn names(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Another file may say the same setting with more weight, and then nothing has been gained.
fn warn_if_outvoted(loaded: &Loaded, scope: Scope, key: &str) -> anyhow::Result<()> {
    if scope == Scope::Workspace {
        return Ok(());
    }
    let mut higher = loaded.files.iter().filter(|file| file.source == Source::Project);
    let says = |path: &std::path::Path| {
        let text = hookwright_settings::read_settings_file(path).ok()??;
        let value = seam::read(path, &text).ok()?.value();
        key.split('.').try_fold(&value, |value, name| value.get(name)).map(|_| ())
    };
    match higher.find(|file| says(&file.path).is_some()) {
        Some(file) => Ok(out::warn(format!("{} says something about `{key}` too", file.path.display()))?),
        None => Ok(()),
    }
}
