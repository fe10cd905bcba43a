//! Adds a pack to a file of settings, and takes it out again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_hooks::EventKind;
use hookwright_settings::edit::{
    EditError, HookDefinitionEntry, SettingsChange, edited_text, json_splice, read_settings_map, rewrite,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MAX_PACK_FILE_BYTES, Pack};
use crate::commands::hooks::remove::remove_hook;

/// What [`Pack::add_to`] did. It can be stored, so that a later run takes back exactly this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PackAddition {
    pub(crate) pack: String,
    /// The settings file that declares the hooks.
    pub(crate) settings: PathBuf,
    pub(crate) test: PathBuf,
    /// The hooks that were added.
    pub(crate) added: Vec<String>,
    /// The hooks that the file had already.
    pub(crate) present: Vec<String>,
    /// The hooks of the file that have a name of the pack and another content. They stay as they are.
    pub(crate) differing: Vec<String>,
    changes: Vec<PackFileChange>,
    /// The folders that were created, the innermost first.
    created_folders: Vec<PathBuf>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PackFileChange {
    path: PathBuf,
    /// The text before; `None` if there was no file.
    before: Option<String>,
    after: String,
}

impl Pack {
    /// Adds the hooks that the file does not have yet, and the pack's test in `hooks/` beside it.
    ///
    /// A hook is known by its name: one that is there already is neither doubled nor changed. Nor is a test.
    ///
    /// # Errors
    /// If the file does not parse, or if something can't be written; then nothing is changed.
    pub(crate) fn add_to(&self, settings: &Path) -> anyhow::Result<PackAddition> {
        let declared = declared_hooks(&read_settings_map(settings)?);
        let mut addition = PackAddition {
            pack: self.name.to_string(),
            settings: settings.to_owned(),
            test: settings.with_file_name("hooks").join(format!("{}.hooktest.toml", self.name)),
            added: Vec::new(),
            present: Vec::new(),
            differing: Vec::new(),
            changes: Vec::new(),
            created_folders: Vec::new(),
        };
        for hook in self.hook_values() {
            let name = hook["name"].as_str().unwrap_or_default().to_owned();
            match declared.get(&name) {
                None => addition.added.push(name),
                Some(same) if *same == hook => addition.present.push(name),
                Some(_) => addition.differing.push(name),
            }
        }
        let written = addition.write(self);
        if let Err(error) = written {
            addition.remove().ok();
            return Err(error);
        }
        Ok(addition)
    }

    /// Returns the hooks as they are written in `hooks.json`.
    pub(super) fn hook_values(&self) -> Vec<Value> {
        let hooks = |entry: &HookDefinitionEntry| entry.definition.get("hooks").and_then(Value::as_array).cloned();
        self.entries().iter().filter_map(hooks).flatten().collect()
    }

    /// Returns the pack with every hook locked, which counts in the machine's settings alone.
    pub(super) fn locked(&self) -> Pack {
        let mut settings = read_text_map(&self.hooks);
        let events = settings.get_mut("hooks").and_then(Value::as_object_mut);
        let definitions = events.into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut).flatten();
        let hooks = definitions.filter_map(|definition| definition.get_mut("hooks")?.as_array_mut()).flatten();
        for hook in hooks.filter_map(Value::as_object_mut) {
            hook.insert("locked".to_owned(), true.into());
        }
        Pack { hooks: Value::Object(settings).to_string().into(), ..self.clone() }
    }

    fn entries(&self) -> Vec<HookDefinitionEntry> {
        let settings = read_text_map(&self.hooks);
        let events = settings.get("hooks").and_then(Value::as_object).cloned().unwrap_or_default();
        let entries = events.into_iter().filter_map(|(name, definitions)| {
            let event = EventKind::from_name(&name)?;
            let definitions = definitions.as_array().cloned().unwrap_or_default();
            let definitions = definitions.into_iter().filter_map(|definition| definition.as_object().cloned());
            Some(definitions.map(move |definition| HookDefinitionEntry { event, definition }).collect::<Vec<_>>())
        });
        entries.flatten().collect()
    }

    /// Returns the definitions, with these hooks alone.
    fn entries_of(&self, names: &[String]) -> Vec<HookDefinitionEntry> {
        let mut entries = self.entries();
        for entry in &mut entries {
            if let Some(Value::Array(hooks)) = entry.definition.get_mut("hooks") {
                hooks.retain(|hook| names.iter().any(|name| hook["name"] == **name));
            }
        }
        entries.retain(|entry| {
            entry.definition.get("hooks").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        });
        entries
    }
}

impl PackAddition {
    fn write(&mut self, pack: &Pack) -> anyhow::Result<()> {
        if !self.added.is_empty() {
            let change = SettingsChange::AddHooks(pack.entries_of(&self.added));
            let settings = self.settings.clone();
            self.write_file(&settings, |before| edited_text(&settings, before, &change))?;
        }
        if !self.test.exists() {
            // The installed test is about the hooks in the file that they were added to.
            let text = pack.test.replacen("\"hooks.json\"", "\"../hooks.json\"", 1);
            self.write_file(&self.test.clone(), |_| Ok(text))?;
        }
        Ok(())
    }

    fn write_file(
        &mut self,
        path: &Path,
        change: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(path);
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
        self.created_folders.splice(0..0, missing);
        let existed = path.exists();
        let mut texts = None;
        rewrite(path, |before| {
            let after = change(before)?;
            texts = Some((before.to_owned(), after.clone()));
            Ok(after)
        })?;
        if let Some((before, after)) = texts {
            self.changes.push(PackFileChange { path: path.to_owned(), before: existed.then_some(before), after });
        }
        Ok(())
    }

    /// Takes back what was added, and returns what could not be: files that were edited since.
    ///
    /// A file that is as it was left gets its old bytes again, and is removed if there was none. From settings that
    /// were edited since, only the added hooks are removed.
    ///
    /// # Errors
    /// If a file can't be read or written.
    pub(crate) fn remove(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut kept = Vec::new();
        for change in self.changes.iter().rev() {
            if !change.path.exists() {
                continue;
            }
            let now = hookwright_disk::read_text(&change.path, MAX_PACK_FILE_BYTES)
                .with_context(|| format!("can't read {}", change.path.display()))?;
            if now == change.after {
                change.revert().with_context(|| format!("can't restore {}", change.path.display()))?;
            } else if change.path == self.settings {
                rewrite(&self.settings, |text| self.without_added(text))?;
            } else {
                kept.push(change.path.clone());
            }
        }
        // A folder that holds something else by now stays.
        self.created_folders.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        Ok(kept)
    }

    fn without_added(&self, text: &str) -> Result<String, EditError> {
        self.added.iter().try_fold(text.to_owned(), |text, name| {
            remove_hook(&self.settings, &text, name).map(|(shorter, _)| shorter)
        })
    }
}

impl PackFileChange {
    fn revert(&self) -> anyhow::Result<()> {
        match &self.before {
            None => std::fs::remove_file(&self.path)?,
            Some(before) => drop(rewrite(&self.path, |_| Ok(before.clone()))?),
        }
        Ok(())
    }
}

/// Returns the hooks of settings by their names. A file of hooks may hold the events at its top level.
fn declared_hooks(settings: &Map<String, Value>) -> BTreeMap<String, Value> {
    let events = settings.get("hooks").and_then(Value::as_object).unwrap_or(settings);
    let definitions = events.values().filter_map(Value::as_array).flatten();
    let hooks = definitions.filter_map(|definition| definition.get("hooks")?.as_array()).flatten();
    hooks.filter_map(|hook| Some((hook.get("name")?.as_str()?.to_owned(), hook.clone()))).collect()
}

fn read_text_map(text: &str) -> Map<String, Value> {
    let tree = json_splice::parse_tree(Path::new("hooks.json"), text).map(|tree| tree.to_value());
    tree.ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        hookwright_disk::read_text(path, MAX_PACK_FILE_BYTES).unwrap()
    }

    fn pack() -> Pack {
        let rule = |name: &str| {
            format!(r#"{{"type": "rule", "name": "{name}", "decision": "deny", "when": {{"privileged": true}}}}"#)
        };
        let hooks = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{}, {}]}}]}}}}"#, rule("a"), rule("b"));
        let test = "settings = \"hooks.json\"\n";
        Pack { name: "p".into(), hooks: hooks.into(), test: test.into(), readme: "# p: two rules\n".into() }
    }

    #[test]
    fn what_was_added_is_taken_back_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join(".hookwright/hooks.json");
        let addition = pack().add_to(&settings).unwrap();
        assert_eq!(addition.added, ["a", "b"]);
        assert_eq!(read(&addition.test), "settings = \"../hooks.json\"\n");
        let stored = serde_json::to_string(&addition).unwrap();
        let addition: PackAddition = serde_json::from_str(&stored).unwrap();
        assert!(addition.remove().unwrap().is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

        let before = "{ // mine\n  \"hooks\": {}}";
        std::fs::create_dir(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, before).unwrap();
        let addition = pack().add_to(&settings).unwrap();
        assert!(read(&settings).contains("// mine"));
        addition.remove().unwrap();
        assert_eq!(read(&settings), before);
        assert!(!settings.with_file_name("hooks").exists());
    }

    #[test]
    fn what_is_there_is_neither_doubled_nor_changed() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("hooks.json");
        let own = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "rule", "name": "b", "decision": "ask"}]}]}}"#;
        std::fs::write(&settings, own).unwrap();
        let first = pack().add_to(&settings).unwrap();
        assert_eq!(
            (first.added.as_slice(), first.differing.as_slice()),
            (&["a".to_owned()][..], &["b".to_owned()][..])
        );
        let text = read(&settings);
        let second = pack().add_to(&settings).unwrap();
        assert_eq!((second.added.len(), second.present.as_slice()), (0, &["a".to_owned()][..]));
        assert_eq!(read(&settings), text);
        // The second took nothing from the first, and edits since then stay.
        second.remove().unwrap();
        std::fs::write(&settings, text.replace("ask", "deny")).unwrap();
        std::fs::write(&first.test, "edited").unwrap();
        assert_eq!(first.remove().unwrap(), std::slice::from_ref(&first.test));
        let left = declared_hooks(&read_settings_map(&settings).unwrap());
        assert_eq!(left.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(left["b"]["decision"], "deny");
    }
}
