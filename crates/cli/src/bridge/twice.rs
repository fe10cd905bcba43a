//! Hooks that the agent runs by itself and that are ours as well: those of Claude Code's own files, where
//! `hooksConfig.readClaude` has them read. They are asked a second time only where that can close what would be open.

use hookwright_bridge::{Host, HostEvent};
use hookwright_hooks::{EventKind, Hook};
use hookwright_settings::{LoadedConfig, claude_migration};

/// Whether the agent asks the hook itself, and asking it again would do its work twice and guard nothing.
///
/// Before a tool and at a prompt Claude Code overlooks a no that is not said as it expects, so there all of its hooks are asked
/// again; elsewhere only those that must be awake.
pub(super) fn is_run_by_host(heard: &HostEvent, hook: &Hook, loaded: &LoadedConfig) -> bool {
    let is_gate = matches!(hook.event, EventKind::BeforeTool | EventKind::BeforeAgent) && !hook.is_background();
    heard.host == Host::ClaudeCode && !is_gate && !hook.is_guard() && is_declared_in_host_files(hook, loaded)
}

fn is_declared_in_host_files(hook: &Hook, loaded: &LoadedConfig) -> bool {
    let Some(place) = &hook.location else { return false };
    let files = claude_migration::settings_files(&loaded.paths, &loaded.project.root);
    files.iter().any(|file| **file == *place.file)
}
