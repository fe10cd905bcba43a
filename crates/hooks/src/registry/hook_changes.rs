//! The differences between two configurations, hook by hook. The caller presents them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::EventKind;
use crate::hook::{Hook, Source};
use crate::registry::{HookState, Registry};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookChangeKind {
    /// The hook is new.
    Added,
    /// The declaration of the hook differs: what runs, when, or what its answer means.
    Changed,
    /// The hook is enabled again.
    SwitchedOn,
    /// The hook is no longer enabled.
    SwitchedOff,
    /// The hook is no longer declared.
    Removed,
}

/// A hook that differs between two configurations.
#[derive(Clone, Debug)]
pub struct HookChange {
    /// The hook in the later configuration, or in the earlier one if it was removed.
    pub hook: Arc<Hook>,
    /// The kind of the change.
    pub kind: HookChangeKind,
}

/// The key by which a hook is the same in two configurations.
type HookChangeKey<'h> = (EventKind, &'h str, &'h Source);

fn hook_key(hook: &Hook) -> HookChangeKey<'_> {
    (hook.event, hook.id(), &hook.source)
}

/// The first hook of each key, with its state.
fn index_by_key(registry: &Registry) -> HashMap<HookChangeKey<'_>, (&Hook, &HookState)> {
    let mut index = HashMap::new();
    for (hook, state) in registry.entries() {
        index.entry(hook_key(hook)).or_insert((hook.as_ref(), state));
    }
    index
}

impl Registry {
    /// The differences of a later configuration: its hooks in order, then the removed ones.
    pub fn hook_changes(&self, later: &Registry) -> Vec<HookChange> {
        let before = index_by_key(self);
        let after = index_by_key(later);
        let mut found = Vec::new();
        for (hook, state) in later.entries() {
            let change = match before.get(&hook_key(hook)) {
                None => Some(HookChangeKind::Added),
                Some((old, _))
                    if old.fingerprint_fields() != hook.fingerprint_fields()
                        || old.env() != hook.env()
                        || old.dedup_key() != hook.dedup_key()
                        || old.is_guard() != hook.is_guard() =>
                {
                    Some(HookChangeKind::Changed)
                }
                Some((_, old)) if *old == state => None,
                Some(_) if *state == HookState::Enabled => Some(HookChangeKind::SwitchedOn),
                Some(_) => Some(HookChangeKind::SwitchedOff),
            };
            found.extend(change.map(|change| HookChange { hook: hook.clone(), kind: change }));
        }
        let gone = self.hooks().iter().filter(|old| !after.contains_key(&hook_key(old)));
        found.extend(gone.map(|hook| HookChange { hook: hook.clone(), kind: HookChangeKind::Removed }));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layer, parse_layer};

    fn registry_of(hooks: &[(&str, &str)], disabled: &[&str]) -> Registry {
        let list: Vec<_> = hooks
            .iter()
            .map(|(name, command)| serde_json::json!({"type": "command", "name": name, "command": command}))
            .collect();
        let settings =
            serde_json::json!({"hooks": {"AfterTool": [{"hooks": list}]}, "hooksConfig": {"disabled": disabled}});
        Registry::new(vec![parse_layer(&Layer::new(Source::User, "f".as_ref(), &settings.to_string()))])
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let before = registry_of(&[("same", "a"), ("other", "b"), ("off", "c"), ("on", "d"), ("gone", "e")], &["on"]);
        let after = registry_of(&[("new", "x"), ("same", "a"), ("other", "B"), ("off", "c"), ("on", "d")], &["off"]);
        let found: Vec<_> =
            before.hook_changes(&after).iter().map(|one| (one.hook.id().to_owned(), one.kind)).collect();
        let expected = [
            ("new", HookChangeKind::Added),
            ("other", HookChangeKind::Changed),
            ("off", HookChangeKind::SwitchedOff),
            ("on", HookChangeKind::SwitchedOn),
            ("gone", HookChangeKind::Removed),
        ];
        assert_eq!(found, expected.map(|(name, change)| (name.to_owned(), change)));
        assert!(before.hook_changes(&before).is_empty());
    }

    #[test]
    fn a_guard_that_stops_being_one_has_changed() {
        let of = |more: &str| {
            let hook = format!(r#"{{"type": "command", "name": "g", "command": "x"{more}}}"#);
            let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{hook}]}}]}}}}"#);
            Registry::new(vec![parse_layer(&Layer::new(Source::User, "f".as_ref(), &text))])
        };
        let before = of(r#", "guard": true"#);
        for after in [of(""), of(r#", "guard": true, "env": {"A": "1"}"#), of(r#", "guard": true, "onError": "allow""#)]
        {
            assert_eq!(before.hook_changes(&after)[0].kind, HookChangeKind::Changed);
        }
    }

    #[test]
    fn many_names_are_switched_at_once() {
        let mut all = registry_of(&[("a", "1"), ("b", "2"), ("c", "3")], &[]);
        let refused = all.set_many_enabled(["a", "nobody", "c"], false);
        assert_eq!(refused.iter().map(crate::registry::SwitchError::name).collect::<Vec<_>>(), ["nobody"]);
        let enabled: Vec<_> =
            all.entries().filter(|(_, state)| **state == HookState::Enabled).map(|(hook, _)| hook.id()).collect();
        assert_eq!(enabled, ["b"]);
    }
}
