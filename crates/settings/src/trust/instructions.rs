//! Instructions of a project or an extension for the model: agent definitions, custom commands, the system prompt.
//! Under `security.hooks.review` new or changed ones wait for trust as hooks do.

use std::path::Path;

use hookwright_hooks::{EventKind, FileKind, Hook, Layer, Source, parse_layer};
use serde_json::json;

use crate::load::LoadedConfig;
use crate::{commands, subagents};

/// Returns a hook for each such file of a folder, which is used for its fingerprint and never runs. It names the
/// file, and its name is the path relative to the root.
pub(crate) fn placeholder_hooks(source: &Source, root: &Path, folder: &Path) -> Vec<Hook> {
    let mut files = subagents::definition_files(&folder.join("agents"));
    files.extend(commands::toml_files(&folder.join("commands")));
    files.extend(Some(folder.join("system.md")).filter(|file| file.is_file()));
    files.iter().flat_map(|file| placeholder_hook(source, root, file)).collect()
}

fn placeholder_hook(source: &Source, root: &Path, file: &Path) -> Vec<Hook> {
    let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
    let command = format!("cat '{}'", file.to_string_lossy().replace('\'', r"'\''"));
    let hook = json!({"type": "command", "name": name, "command": command});
    let text = json!({"hooks": {EventKind::SessionStart.name(): [{"hooks": [hook]}]}}).to_string();
    parse_layer(&Layer::new(source.clone(), file, &text).with_kind(FileKind::Settings)).hooks
}

impl LoadedConfig {
    /// Returns why an agent definition, a command or the system prompt is not used, if it waits for trust.
    pub fn held_instruction(&self, file: &Path) -> Option<String> {
        let is_it = |hook: &Hook| hook.location.as_ref().is_some_and(|place| &*place.file == file);
        let review = self.reviews.iter().find(|review| review.held && is_it(&review.hook))?;
        let name = review.hook.id();
        Some(format!(
            "{name} is {}; it is not used until you trust it: `hookwright hooks trust {name}`",
            review.finding
        ))
    }
}
