//! `hooks shadow NAME`, `hooks arm NAME`: changes `mode` where the hook is declared, and keeps the comments around it.

use std::path::Path;

use anyhow::bail;
use hookwright_agent::session::ArmedState;
use hookwright_hooks::HookRole;
use hookwright_settings::edit::{EditError, json_splice, rewrite};
use serde_json::Value;

use super::LoadedProject;
use super::declaration::{DeclaringFile, find_declaration, hook_id};
use crate::args::HookTargetArgs;
use crate::{exit, output};

/// Whether a hook decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookMode {
    /// Its answer counts.
    Active,
    /// Its answer is recorded and has no effect.
    Shadow,
}

pub(super) fn run(toolbox: &LoadedProject, target: &HookTargetArgs, mode: HookMode) -> anyhow::Result<u8> {
    let name = &target.name;
    let DeclaringFile { file, source, hooks } = find_declaration(toolbox, name, target.scope)?;
    if mode == HookMode::Shadow
        && let Some(guard) = hooks.iter().find(|hook| hook.is_guard())
    {
        match guard.role {
            HookRole::Guard => bail!(
                "`{name}` is a guard, and a guard can't be in shadow; remove `\"guard\": true` in {} first",
                file.display()
            ),
            _ => bail!(
                "settings require `{name}`, so that it is a guard, and a guard can't be in shadow; take it out of `hooksConfig.required` first"
            ),
        }
    }
    let mut found = 0;
    let changed = rewrite(&file, |text| {
        let (text, count) = set_mode(&file, text, name, mode)?;
        found = count;
        Ok(text)
    })?;
    if found == 0 {
        bail!("hook `{name}` can't be found in {} as it is written there", file.display());
    }
    let state = match mode {
        HookMode::Shadow => "in shadow: it is asked and recorded, and decides nothing",
        HookMode::Active => "armed: it decides",
    };
    let already = if changed { "is now" } else { "was already" };
    output::note(format!("hook `{name}` {already} {state} ({}, {source} settings)", file.display()))?;
    let now = LoadedProject { config: toolbox.reloaded() };
    let mut entries = now.entries().into_iter().filter(|entry| entry.hook.id() == name && entry.hook.source == source);
    if let Some(entry) = entries.find(|entry| !matches!(entry.state, ArmedState::Armed | ArmedState::Shadow)) {
        output::warn(format!("hook `{name}` does not run: it is {}", entry.describe()))?;
        if matches!(entry.state, ArmedState::Untrusted(_)) {
            output::hint(format!("look at the change, then run `hookwright hooks trust {name}`"))?;
        }
    }
    if mode == HookMode::Shadow {
        output::hint(format!(
            "`hookwright journal stats --shadow` says what it would have done; `hookwright hooks arm {name}` makes it decide"
        ))?;
    }
    Ok(exit::OK)
}

/// Returns the text with the mode of every hook of that name, and how often the hook is declared.
fn set_mode(file: &Path, text: &str, name: &str, mode: HookMode) -> Result<(String, usize), EditError> {
    let count = hook_paths(file, text, name)?.len();
    let mut text = text.to_owned();
    for nth in 0..count {
        // An edit moves no hook within its list, so that the paths stay.
        let Some(path) = hook_paths(file, &text, name)?.into_iter().nth(nth) else { break };
        // A key may be written twice, and the last one counts.
        while let Some((at, value)) = property(file, &text, &path, "mode")? {
            if mode == HookMode::Shadow && value == "shadow" {
                break;
            }
            let place: Vec<usize> = path.iter().copied().chain([at]).collect();
            let edited = match mode {
                HookMode::Shadow => json_splice::replace(&text, &place, &Value::from("shadow")),
                HookMode::Active => json_splice::cut(&text, &place),
            };
            let Some(edited) = edited.filter(|edited| *edited != text) else { break };
            text = edited;
        }
        if mode == HookMode::Shadow
            && property(file, &text, &path, "mode")?.is_none()
            && let Some(edited) = json_splice::append(&text, &path, Some("mode"), &Value::from("shadow"))
        {
            text = edited;
        }
    }
    Ok((text, count))
}

/// Returns the position and the value of a property of the object at a path.
fn property(file: &Path, text: &str, path: &[usize], key: &str) -> Result<Option<(usize, Value)>, EditError> {
    let tree = json_splice::parse_tree(file, text)?;
    let mut node = &tree;
    for at in path {
        let next = node.items().get(*at).map(|(_, value)| value).or_else(|| node.elements().get(*at));
        let Some(next) = next else { return Ok(None) };
        node = next;
    }
    Ok(node.get(key).map(|(at, value)| (at, value.to_value())))
}

/// Returns the paths of all hooks of that name.
fn hook_paths(file: &Path, text: &str, name: &str) -> Result<Vec<Vec<usize>>, EditError> {
    let tree = json_splice::parse_tree(file, text)?;
    // An extra hook file may hold the events at its top level.
    let (root, events) = match tree.get("hooks") {
        Some((at, events)) => (Some(at), events),
        None => (None, &tree),
    };
    let mut paths = Vec::new();
    for (event, (_, definitions)) in events.items().iter().enumerate() {
        for (at, definition) in definitions.elements().iter().enumerate() {
            let Some((key, hooks)) = definition.get("hooks") else { continue };
            for (place, hook) in hooks.elements().iter().enumerate() {
                if hook_id(hook).as_deref() == Some(name) {
                    paths.push(root.into_iter().chain([event, at, key, place]).collect());
                }
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, mode: HookMode) -> (String, usize) {
        set_mode(Path::new("settings.json"), text, "b", mode).unwrap()
    }

    #[test]
    fn comments_stay_and_every_declaration_changes() {
        let text = "{\n  // mine\n  \"hooks\": {\n    \"BeforeTool\": [\n      { \"hooks\": [{ \"name\": \"a\", \"command\": \"b\" }, { \"name\": \"b\", \"command\": \"y\" /* why */ }] }, // one\n    ],\n    \"AfterTool\": [{ \"hooks\": [{ \"name\": \"b\", \"command\": \"y\", \"mode\": \"active\" }] }]\n  }\n}\n";
        let (shadow, count) = set(text, HookMode::Shadow);
        assert_eq!(count, 2);
        assert_eq!(shadow.matches("\"mode\": \"shadow\"").count(), 2, "{shadow}");
        for comment in ["// mine", "/* why */", "// one"] {
            assert!(shadow.contains(comment), "{shadow}");
        }
        assert_eq!(set(&shadow, HookMode::Shadow).0, shadow, "a second time changes nothing");
        let (active, _) = set(&shadow, HookMode::Active);
        assert!(!active.contains("mode") && active.contains("/* why */"), "{active}");
    }

    #[test]
    fn a_repeated_key_is_removed_whole() {
        let text = r#"{"hooks": {"BeforeTool": [{"hooks": [{"mode": "shadow", "name": "b", "mode": "shadow"}]}]}}"#;
        let (active, _) = set(text, HookMode::Active);
        assert!(!active.contains("mode"), "{active}");
    }

    #[test]
    fn a_file_that_does_not_parse_is_not_changed() {
        assert!(set_mode(Path::new("s.json"), "{", "b", HookMode::Shadow).is_err());
        assert_eq!(set("{}", HookMode::Shadow), ("{}".to_owned(), 0));
    }
}
