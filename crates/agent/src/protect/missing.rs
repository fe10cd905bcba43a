//! Hooks that an agent took away in an earlier session, while nobody has trusted that: in their places stand others that
//! never run, so that what they would have judged is denied. That they are not trusted, `guards.rs` knows.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use hookwright_hooks::{Hook, HookState, Layer, Registry, Source, declare};
use hookwright_settings::Loaded;
use hookwright_settings::trust::{LedgerHook, exact_name};
use serde_json::json;

/// What makes a hook the same one, whatever it does.
pub(super) fn identity(hook: &Hook) -> String {
    format!("{}/{}/{}", hook.source, hook.event, hook.id())
}

/// All that is declared of a hook, but not where.
pub(super) fn declaration(hook: &Hook) -> String {
    format!("{:?}", Hook { place: None, ..hook.clone() })
}

/// The hooks that run in a configuration, for the ledger. Those in code are nobody's to take away.
pub(super) fn known(loaded: &Loaded) -> Vec<LedgerHook> {
    let enabled = loaded.registry.entries().filter(|(hook, state)| {
        **state == HookState::Enabled && hook.source != Source::Runtime && hook.place.is_some()
    });
    enabled.map(|(hook, _)| entry(hook)).collect()
}

fn entry(hook: &Hook) -> LedgerHook {
    let mut hasher = DefaultHasher::new();
    (identity(hook), declaration(hook)).hash(&mut hasher);
    LedgerHook {
        file: hook.place.as_ref().map(|place| exact_name(place.file.as_os_str()).into_owned()).unwrap_or_default(),
        event: hook.event.name().to_owned(),
        name: hook.id().to_owned(),
        matcher: hook.matcher_text.clone(),
        digest: format!("{:016x}", hasher.finish()),
    }
}

/// Those of the hooks that are not there any more as they were.
pub(super) fn among(hooks: Vec<LedgerHook>, registry: &Registry) -> Vec<LedgerHook> {
    let enabled = registry.entries().filter(|(_, state)| **state == HookState::Enabled);
    let now: Vec<String> = enabled.map(|(hook, _)| entry(hook).digest).collect();
    let mut missing: Vec<LedgerHook> = hooks.into_iter().filter(|hook| !now.contains(&hook.digest)).collect();
    missing.sort_by(|one, other| one.digest.cmp(&other.digest));
    missing.dedup_by(|one, other| one.digest == other.digest);
    missing
}

/// What stands in a missing hook's place: it is asked about the same, and would deny it if it ever ran.
pub(super) fn stand_in(missing: &LedgerHook) -> Option<Hook> {
    let hook = json!({"type": "command", "name": missing.name, "command": "exit 2", "guard": true});
    let definition = match &missing.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
        None => json!({"hooks": [hook]}),
    };
    let text = json!({"hooks": {missing.event.as_str(): [definition]}}).to_string();
    // Of no layer, so that none switches it off.
    declare(&Layer::new(Source::Runtime, Path::new(&missing.file), &text)).hooks.into_iter().next()
}
