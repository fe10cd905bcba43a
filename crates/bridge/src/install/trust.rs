//! Reads from a host's own records whether it trusts its settings' entries. The records are never written: granting
//! trust is the user's decision.

use std::path::{Path, PathBuf};

use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::settings_text::HostWiring;
use super::target::{InstallScope, InstallTarget};
use crate::host::Host;

/// The trust state of installed entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostTrust {
    /// The host trusts the entries.
    Yes,
    /// The host does not trust the entries, so they do not run.
    No,
    /// The host trusts this many of that many entries.
    Partly(usize, usize),
    /// The host runs entries without asking for trust.
    NotAsked,
    /// The host's records do not say.
    Unknown,
}

impl HostTrust {
    /// Returns the state's name as it is displayed.
    pub fn as_str(&self) -> &'static str {
        match self {
            HostTrust::Yes => "yes",
            HostTrust::No => "no",
            HostTrust::Partly(..) => "partly",
            HostTrust::NotAsked => "not asked",
            HostTrust::Unknown => "unknown",
        }
    }
}

/// Returns the step that the user must take in the host so that the entries run.
pub fn confirmation_hint(host: Host, scope: InstallScope) -> Option<&'static str> {
    match (host, scope) {
        // The administrator's entries need no trust of the user's.
        (_, InstallScope::Machine) | (Host::Acp, _) => None,
        (Host::Codex, InstallScope::User) => {
            Some("start codex and trust the entries in `/hooks`: until then it skips them silently")
        }
        (Host::Codex, InstallScope::Project) => Some(
            "start codex in this project, trust the folder, and trust the entries in `/hooks`: until then it skips them silently",
        ),
        (Host::ClaudeCode, InstallScope::Project) => Some("start claude in this project and accept its trust dialog"),
        (Host::Copilot, InstallScope::Project) => {
            Some("start copilot in this project and trust the folder for future sessions")
        }
        (Host::GeminiCli, InstallScope::Project) => Some("start gemini in this project and trust the folder"),
        (Host::Qwen, InstallScope::Project) => {
            Some("start qwen in this project; where folder trust is on, trust the folder")
        }
        (Host::Grok, InstallScope::Project) => Some("start grok in this project and run `/hooks-trust`"),
        (Host::Cursor, _) => Some("check in Cursor's settings, under Hooks, that the entries are listed"),
        (Host::Droid, _) => Some("check in droid's `/hooks` that the entries are listed"),
        (Host::Antigravity, _) => {
            Some("check in agy's log that the file is loaded: some versions read only hooks of plugins")
        }
        (Host::Opencode, _) => Some("restart opencode: it loads plugins when it starts"),
        (Host::ClaudeCode | Host::Copilot | Host::GeminiCli | Host::Qwen | Host::Grok, InstallScope::User) => None,
    }
}

/// Returns the trust state that a host has recorded for the entries.
pub fn read_trust(target: &InstallTarget, wiring: &HostWiring, world: &ProcessEnv) -> HostTrust {
    let home = world.home.clone().unwrap_or_default();
    let folder = |file: PathBuf, is_trusted: fn(&Value, &Path) -> Option<bool>| {
        let record = read_json(&file).unwrap_or_else(|| json!({}));
        let trusted = target.project.ancestors().find_map(|folder| is_trusted(&record, folder));
        if trusted == Some(true) { HostTrust::Yes } else { HostTrust::No }
    };
    match (target.host, target.scope) {
        (_, InstallScope::Machine) => HostTrust::NotAsked,
        (Host::Codex, _) => codex_trust(target, wiring, world),
        (Host::ClaudeCode, InstallScope::Project) => {
            let file = match world.var("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()) {
                Some(folder) => world.cwd.join(folder).join(".claude.json"),
                None => home.join(".claude.json"),
            };
            folder(file, |record, folder| record["projects"][folder.to_str()?].get("hasTrustDialogAccepted")?.as_bool())
        }
        (Host::Copilot, InstallScope::Project) => {
            let base = world.var("COPILOT_HOME").filter(|folder| !folder.is_empty());
            let base = base.map_or_else(|| home.join(".copilot"), |folder| world.cwd.join(folder));
            folder(base.join("config.json"), |record, folder| {
                let lists = [record.get("trusted_folders"), record.get("trustedFolders")];
                let listed = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
                listed.filter_map(Value::as_str).any(|known| Path::new(known) == folder).then_some(true)
            })
        }
        (Host::GeminiCli, InstallScope::Project) => {
            let paths = hookwright_settings::ConfigPaths::new(world);
            let settings = read_json(&paths.user_settings).unwrap_or_default();
            match settings["security"]["folderTrust"]["enabled"] == false {
                true => HostTrust::NotAsked,
                false => folder(paths.trusted_folders, folder_rule),
            }
        }
        (Host::Qwen, InstallScope::Project) => match folder(home.join(".qwen/trustedFolders.json"), folder_rule) {
            HostTrust::Yes => HostTrust::Yes,
            // Qwen asks for trust only if the user has switched folder trust on.
            _ => HostTrust::Unknown,
        },
        (Host::Grok, InstallScope::Project) => {
            let text = hookwright_settings::read_settings_file(&home.join(".grok/trusted_folders.toml"));
            let text = text.ok().flatten().unwrap_or_default();
            let named = |folder: &Path| folder.to_str().is_some_and(|folder| text.contains(&format!("\"{folder}\"")));
            if target.project.ancestors().any(named) { HostTrust::Yes } else { HostTrust::No }
        }
        (Host::ClaudeCode | Host::Copilot | Host::GeminiCli | Host::Qwen | Host::Grok, InstallScope::User) => {
            HostTrust::NotAsked
        }
        // Droid and opencode were seen to run the user's entries in a fresh home; opencode knows no trust at all.
        (Host::Droid, InstallScope::User) | (Host::Opencode, _) => HostTrust::NotAsked,
        (Host::Cursor | Host::Droid | Host::Antigravity | Host::Acp, _) => HostTrust::Unknown,
    }
}

/// Reads a rule of `{folder: "TRUST_FOLDER" | "TRUST_PARENT" | "DO_NOT_TRUST"}`.
fn folder_rule(record: &Value, folder: &Path) -> Option<bool> {
    let rules = record.as_object()?;
    rules.iter().find_map(|(known, rule)| match rule.as_str()? {
        "TRUST_FOLDER" => (Path::new(known) == folder).then_some(true),
        "TRUST_PARENT" => (Path::new(known).parent() == Some(folder)).then_some(true),
        _ => (Path::new(known) == folder).then_some(false),
    })
}

/// Compares the entries with the hashes of their definitions that Codex keeps, by each entry's position in its file.
fn codex_trust(target: &InstallTarget, wiring: &HostWiring, world: &ProcessEnv) -> HostTrust {
    let home = world.home.clone().unwrap_or_default();
    let base = world.var("CODEX_HOME").filter(|folder| !folder.is_empty());
    let base = base.map_or_else(|| home.join(".codex"), |folder| world.cwd.join(folder));
    let Ok(Some(text)) = hookwright_settings::read_settings_file(&base.join("config.toml")) else {
        return HostTrust::No;
    };
    let Ok(config) = text.parse::<toml::Table>() else { return HostTrust::Unknown };
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let files = [Some(target.file.clone()), target.file.canonicalize().ok()];
    let trusted = wiring.entries.iter().filter(|found| {
        let Some((group, index)) = found.group_and_index() else { return false };
        let event = to_snake_case(&found.event);
        let hash = definition_hash(&event, found.entry_value(), found.matcher.as_deref());
        files.iter().flatten().any(|file| {
            let key = format!("{}:{event}:{group}:{index}", file.display());
            let known = state.and_then(|state| state.get(&key)).and_then(|entry| entry.get("trusted_hash"));
            known.and_then(toml::Value::as_str) == Some(hash.as_str())
        })
    });
    match (trusted.count(), wiring.entries.len()) {
        (0, _) => HostTrust::No,
        (all, found) if all == found => HostTrust::Yes,
        (some, found) => HostTrust::Partly(some, found),
    }
}

/// Converts `PreToolUse` to `pre_tool_use`.
fn to_snake_case(name: &str) -> String {
    let mut out = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(char.to_ascii_lowercase());
    }
    out
}

/// Returns the hash of an entry's definition as Codex computes it: of the relevant fields as JSON with sorted keys.
fn definition_hash(event: &str, entry: &Value, matcher: Option<&str>) -> String {
    let mut hook = vec![
        ("async", json!(false)),
        ("command", entry["command"].clone()),
        ("timeout", entry.get("timeout").cloned().unwrap_or(json!(600))),
        ("type", json!("command")),
    ];
    if let Some(message) = entry.get("statusMessage") {
        hook.insert(2, ("statusMessage", message.clone()));
    }
    let hook: serde_json::Map<String, Value> = hook.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut identity = json!({"event_name": event, "hooks": [hook]});
    if let Some(matcher) = matcher {
        identity["matcher"] = matcher.into();
    }
    let digest = Sha256::digest(identity.to_string().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns the record that Codex writes for an entry that the user trusts.
#[cfg(test)]
pub(super) fn codex_trust_record(target: &InstallTarget, found: &super::settings_text::BridgeEntry) -> String {
    let (group, index) = found.group_and_index().unwrap();
    let event = to_snake_case(&found.event);
    let hash = definition_hash(&event, found.entry_value(), None);
    format!("[hooks.state.\"{}:{event}:{group}:{index}\"]\ntrusted_hash = \"{hash}\"\n", target.file.display())
}

pub(super) fn read_json(file: &Path) -> Option<Value> {
    let text = hookwright_settings::read_settings_file(file).ok()??;
    let text = text.trim_start_matches('\u{feff}');
    let parsed = hookwright_settings::edit::json_splice::parse_tree(file, text).ok()?;
    Some(parsed.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_hash_equals_the_one_of_codex() {
        // The hash that Codex 0.145 computed for this definition.
        let entry =
            json!({"type": "command", "command": "'/Applications/GWT.app/Contents/MacOS/gwtd' hook event PostToolUse"});
        let hash = "sha256:9c3ce103f03f0b27a28bc4a30883f7e98a80b5df566b4572fcbb2955ebf5ba62";
        assert_eq!(definition_hash("post_tool_use", &entry, Some("*")), hash);
        assert_eq!(to_snake_case("PreToolUse"), "pre_tool_use");
    }

    #[test]
    fn folder_trust_rules_are_read() {
        let record = json!({"/a": "TRUST_FOLDER", "/b/c": "TRUST_PARENT", "/d": "DO_NOT_TRUST"});
        let trusted = |folder: &str| folder_rule(&record, Path::new(folder));
        assert_eq!(
            [trusted("/a"), trusted("/b"), trusted("/b/c"), trusted("/d"), trusted("/e")],
            [Some(true), Some(true), None, Some(false), None]
        );
    }
}
