//! Hooks that Claude Code runs itself and that Hookwright reads too, because `hooksConfig.readClaude` has its files
//! read. The bridge runs them a second time only where that can refuse an event that Claude Code would let pass.

use hookwright_bridge::{Host, HostEvent};
use hookwright_hooks::{EventKind, Hook};
use hookwright_settings::{LoadedConfig, claude_migration};

/// Whether Claude Code runs the hook itself, and a second run would do its work twice without guarding anything.
///
/// Before a tool and at a prompt Claude Code overlooks a refusal that is not in the form it expects, so there all of
/// its hooks run again; at other events only guards do.
pub(super) fn is_run_by_host(host_event: &HostEvent, hook: &Hook, loaded: &LoadedConfig) -> bool {
    let is_gate = matches!(hook.event, EventKind::BeforeTool | EventKind::BeforeAgent) && !hook.is_background();
    host_event.host == Host::ClaudeCode && !is_gate && !hook.is_guard() && is_declared_in_host_files(hook, loaded)
}

fn is_declared_in_host_files(hook: &Hook, loaded: &LoadedConfig) -> bool {
    let Some(place) = &hook.location else { return false };
    let files = claude_migration::settings_files(&loaded.paths, &loaded.project.root);
    files.iter().any(|file| **file == *place.file)
}
