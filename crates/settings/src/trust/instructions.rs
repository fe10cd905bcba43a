//! What a project or an extension tells the model: definitions of agents, custom commands, the system prompt. Under
//! `security.hooks.review` a new or changed one waits for trust as a hook does.

use std::path::Path;

use hookwright_hooks::{EventKind, FileKind, Hook, Layer, Source, parse_layer};
use serde_json::json;

use crate::load::LoadedConfig;
use crate::{commands, subagents};

/// A hook for each such file of a folder, for its fingerprint: it names the file, and never runs. Its name is the file's path
/// from the root on.
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
    /// Why a definition of an agent, a command or the system prompt is not used, if it waits for trust.
    pub fn held_instruction(&self, file: &Path) -> Option<String> {
        let is_it = |hook: &Hook| hook.location.as_ref().is_some_and(|place| &*place.file == file);
        let review = self.reviews.iter().find(|review| review.held && is_it(&review.hook))?;
        let name = review.hook.id();
        Some(format!("{name} is {} and not used before you trust it: `hookwright hooks trust {name}`", review.finding))
    }
}
