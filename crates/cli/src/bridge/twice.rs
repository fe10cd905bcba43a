//! Hooks that the agent runs by itself and that are ours as well: those of Claude Code's own files, where
//! `hooksConfig.readClaude` has them read. They are asked a second time only where that can close what would be open.

use hookwright_bridge::{Heard, Host};
use hookwright_hooks::{EventKind, Hook};
use hookwright_settings::{Loaded, claude};

/// Whether the agent asks the hook itself, and asking it again would do its work twice and guard nothing.
///
/// Before a tool and at a prompt Claude Code overlooks a no that is not said as it expects, so there all of its hooks are asked
/// again; elsewhere only those that must be awake.
pub(super) fn is_asked_already(heard: &Heard, hook: &Hook, loaded: &Loaded) -> bool {
    let is_gate = matches!(hook.event, EventKind::BeforeTool | EventKind::BeforeAgent) && !hook.runs_beside();
    heard.host == Host::ClaudeCode && !is_gate && !hook.is_guard() && stands_in_its_files(hook, loaded)
}

fn stands_in_its_files(hook: &Hook, loaded: &Loaded) -> bool {
    let Some(place) = &hook.place else { return false };
    let files = claude::settings_files(&loaded.paths, &loaded.project.root);
    files.iter().any(|file| **file == *place.file)
}
