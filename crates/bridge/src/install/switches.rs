//! Finds the settings by which a host's hooks are switched off, in all of its files: the entries may be in one file and
//! the switch in another.

use std::path::{Path, PathBuf};

use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::Value;

use super::target::{InstallScope, InstallTarget};
use super::trust::read_json;
use crate::host::Host;

/// A setting that keeps a host from running the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisablingSetting {
    /// The file that has the setting.
    pub file: PathBuf,
    /// The setting as it would be written, such as `disableAllHooks: true`.
    pub setting: String,
    /// Whether the setting is the administrator's, and concerns all entries that are not.
    pub is_managed: bool,
}

/// A key, as its path, and the value with which it switches hooks off.
type OffSwitch = (&'static [&'static str], bool);

/// Returns the settings that switch a host's hooks off.
pub fn disabling_settings(host: Host, world: &ProcessEnv, project: &Path) -> Vec<DisablingSetting> {
    let (switches, managed): (&[OffSwitch], &[OffSwitch]) = match host {
        Host::ClaudeCode => (&[(&["disableAllHooks"], true)], &[(&["allowManagedHooksOnly"], true)]),
        Host::Codex => {
            let features = &[(&["features", "hooks"] as &[_], false), (&["features", "codex_hooks"], false)];
            (features, &[(&["allow_managed_hooks_only"], true)])
        }
        Host::Copilot | Host::Qwen => (&[(&["disableAllHooks"], true)], &[]),
        Host::Droid => (&[(&["hooksDisabled"], true)], &[(&["allowManagedHooksOnly"], true)]),
        Host::GeminiCli => (&[(&["hooksConfig", "enabled"], false)], &[]),
        Host::Cursor | Host::Grok | Host::Antigravity | Host::Opencode | Host::Acp => return Vec::new(),
    };
    let machine = InstallTarget::candidates(host, InstallScope::Machine, world, project);
    let machine = machine.into_iter().map(|target| target.file);
    let files = settings_files(host, world, project).into_iter().map(|file| (file, false));
    let mut found = Vec::new();
    for (file, is_machine) in files.chain(machine.map(|file| (file, true))) {
        let Some(value) = read_value(&file) else { continue };
        let own = switches.iter().map(|switch| (switch, false));
        let managed = managed.iter().filter(|_| is_machine).map(|switch| (switch, true));
        for ((keys, off), is_managed) in own.chain(managed) {
            let at = keys.iter().try_fold(&value, |value, key| value.get(*key));
            if at == Some(&Value::Bool(*off)) {
                let setting = format!("{}: {off}", keys.join("."));
                found.push(DisablingSetting { file: file.clone(), setting, is_managed });
            }
        }
        let names = value["hooksConfig"]["disabled"].as_array().into_iter().flatten();
        if host == Host::GeminiCli && names.into_iter().any(|name| name == "hookwright") {
            let setting = "hooksConfig.disabled: [\"hookwright\"]".to_owned();
            found.push(DisablingSetting { file, setting, is_managed: false });
        }
    }
    found
}

/// Returns the user's and the project's files in which a host looks for such settings.
fn settings_files(host: Host, world: &ProcessEnv, project: &Path) -> Vec<PathBuf> {
    let folder = |scope| super::target::settings_dir(host, scope, world, project);
    let (user, own) = (folder(InstallScope::User), folder(InstallScope::Project));
    match host {
        Host::Codex => vec![user.join("config.toml"), own.join("config.toml")],
        Host::Copilot => {
            let own = own.join("copilot");
            let hooks = user.join("hooks/hookwright.json");
            vec![
                user.join("settings.json"),
                user.join("config.json"),
                hooks,
                own.join("settings.json"),
                own.join("settings.local.json"),
                project.join(".github/hooks/hookwright.json"),
            ]
        }
        Host::GeminiCli => {
            vec![ConfigPaths::new(world).user_settings, own.join("settings.json")]
        }
        _ => vec![user.join("settings.json"), own.join("settings.json"), own.join("settings.local.json")],
    }
}

fn read_value(file: &Path) -> Option<Value> {
    if file.extension().is_some_and(|extension| extension == "toml") {
        let text = hookwright_settings::read_settings_file(file).ok()??;
        let table: toml::Table = toml::from_str(&text).ok()?;
        return serde_json::to_value(table).ok();
    }
    read_json(file)
}
