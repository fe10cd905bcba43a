//! What is different between two configurations, hook by hook. How it is said is others' work.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::EventKind;
use crate::hook::{Hook, Source};
use crate::registry::{HookState, Registry};

/// What became of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Added,
    /// It runs something else, or at another time, or its end means something else.
    Changed,
    /// It runs again.
    SwitchedOn,
    /// It runs no more.
    SwitchedOff,
    /// It is there no more.
    Removed,
}

/// A hook that is not as it was.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The hook: as it is, or as it was if it is gone.
    pub hook: Arc<Hook>,
    /// What became of it.
    pub change: Change,
}

/// What makes a hook the same one in two configurations.
type Key<'h> = (EventKind, &'h str, &'h Source);

fn key(hook: &Hook) -> Key<'_> {
    (hook.event, hook.id(), &hook.source)
}

/// The first hook of each key, with its state.
fn index(registry: &Registry) -> HashMap<Key<'_>, (&Hook, &HookState)> {
    let mut index = HashMap::new();
    for (hook, state) in registry.entries() {
        index.entry(key(hook)).or_insert((hook.as_ref(), state));
    }
    index
}

impl Registry {
    /// What is different in a later configuration: in its order, then what is gone.
    pub fn differences(&self, later: &Registry) -> Vec<Difference> {
        let before = index(self);
        let after = index(later);
        let mut found = Vec::new();
        for (hook, state) in later.entries() {
            let change = match before.get(&key(hook)) {
                None => Some(Change::Added),
                Some((old, _))
                    if old.declaration() != hook.declaration()
                        || old.env() != hook.env()
                        || old.key() != hook.key()
                        || old.is_guard() != hook.is_guard() =>
                {
                    Some(Change::Changed)
                }
                Some((_, old)) if *old == state => None,
                Some(_) if *state == HookState::Enabled => Some(Change::SwitchedOn),
                Some(_) => Some(Change::SwitchedOff),
            };
            found.extend(change.map(|change| Difference { hook: hook.clone(), change }));
        }
        let gone = self.hooks().iter().filter(|old| !after.contains_key(&key(old)));
        found.extend(gone.map(|hook| Difference { hook: hook.clone(), change: Change::Removed }));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::{Layer, declare};

    fn registry(hooks: &[(&str, &str)], disabled: &[&str]) -> Registry {
        let list: Vec<_> = hooks
            .iter()
            .map(|(name, command)| serde_json::json!({"type": "command", "name": name, "command": command}))
            .collect();
        let settings =
            serde_json::json!({"hooks": {"AfterTool": [{"hooks": list}]}, "hooksConfig": {"disabled": disabled}});
        Registry::new(vec![declare(&Layer::new(Source::User, "f".as_ref(), &settings.to_string()))])
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let before = registry(&[("same", "a"), ("other", "b"), ("off", "c"), ("on", "d"), ("gone", "e")], &["on"]);
        let after = registry(&[("new", "x"), ("same", "a"), ("other", "B"), ("off", "c"), ("on", "d")], &["off"]);
        let found: Vec<_> =
            before.differences(&after).iter().map(|one| (one.hook.id().to_owned(), one.change)).collect();
        let expected = [
            ("new", Change::Added),
            ("other", Change::Changed),
            ("off", Change::SwitchedOff),
            ("on", Change::SwitchedOn),
            ("gone", Change::Removed),
        ];
        assert_eq!(found, expected.map(|(name, change)| (name.to_owned(), change)));
        assert!(before.differences(&before).is_empty());
    }

    #[test]
    fn a_guard_that_is_none_any_more_has_changed() {
        let of = |more: &str| {
            let hook = format!(r#"{{"type": "command", "name": "g", "command": "x"{more}}}"#);
            let text = format!(r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{hook}]}}]}}}}"#);
            Registry::new(vec![declare(&Layer::new(Source::User, "f".as_ref(), &text))])
        };
        let before = of(r#", "guard": true"#);
        for after in [of(""), of(r#", "guard": true, "env": {"A": "1"}"#), of(r#", "guard": true, "onError": "allow""#)]
        {
            assert_eq!(before.differences(&after)[0].change, Change::Changed);
        }
    }

    #[test]
    fn many_names_are_switched_at_once() {
        let mut all = registry(&[("a", "1"), ("b", "2"), ("c", "3")], &[]);
        let refused = all.switch(["a", "nobody", "c"], false);
        assert_eq!(refused.iter().map(super::super::registry::SwitchError::name).collect::<Vec<_>>(), ["nobody"]);
        let enabled: Vec<_> =
            all.entries().filter(|(_, state)| **state == HookState::Enabled).map(|(hook, _)| hook.id()).collect();
        assert_eq!(enabled, ["b"]);
    }
}
