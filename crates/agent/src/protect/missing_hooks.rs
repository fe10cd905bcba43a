//! Stand-ins for hooks that an agent removed in an earlier session, as long as the user has not trusted that.
//!
//! A stand-in never runs, so that what the hook would have judged is denied; `tamper_watch.rs` refuses to trust it.

use std::path::Path;

use hookwright_hooks::{Hook, HookState, Layer, Registry, Source, parse_layer};
use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::{DECLARATION_DIGEST_VERSION, LedgerHook, declaration_digest, exact_name};
use serde_json::json;

/// Returns the identity of a hook, which does not depend on what it does.
pub(super) fn hook_identity(hook: &Hook) -> String {
    format!("{}/{}/{}", hook.source, hook.event, hook.id())
}

/// Returns the whole declaration of a hook, without its location.
///
/// It is only compared within one process, as the debug format may differ between versions.
pub(super) fn declaration_text(hook: &Hook) -> String {
    format!("{:?}", Hook { location: None, ..hook.clone() })
}

/// Returns the enabled hooks of a configuration for the ledger. Hooks that are
/// registered in code have no file and are left out, and so are hooks in shadow, which deny nothing.
pub(super) fn ledger_hooks(loaded: &LoadedConfig) -> Vec<LedgerHook> {
    let enabled = loaded.registry.entries().filter(|(hook, state)| {
        **state == HookState::Enabled && hook.source != Source::Runtime && hook.location.is_some() && !hook.is_shadow()
    });
    enabled.map(|(hook, _)| ledger_hook(hook)).collect()
}

/// Returns a hook as the ledger records it.
fn ledger_hook(hook: &Hook) -> LedgerHook {
    LedgerHook {
        file: hook.location.as_ref().map(|place| exact_name(place.file.as_os_str()).into_owned()).unwrap_or_default(),
        event: hook.event.name().to_owned(),
        name: hook.id().to_owned(),
        matcher: hook.matcher_text.clone(),
        form: DECLARATION_DIGEST_VERSION,
        digest: format!("{}/{}", hook.source, declaration_digest(hook)),
    }
}

/// Returns whether a recorded hook is this one, unchanged.
///
/// Digests of different versions cannot be compared. Then file, event, name and matcher decide: a removed hook is still
/// missed, and a hook that was changed in its file is not trusted until that file is.
fn matches_record(recorded: &LedgerHook, now: &LedgerHook) -> bool {
    let place = |hook: &LedgerHook| (hook.file.clone(), hook.event.clone(), hook.name.clone(), hook.matcher.clone());
    match recorded.form == now.form {
        true => recorded.event == now.event && recorded.digest == now.digest,
        false => place(recorded) == place(now),
    }
}

/// Returns a note if another version has recorded hooks; this session records them again.
pub(super) fn old_form_note(hooks: &[LedgerHook]) -> Option<String> {
    let old = hooks.iter().filter(|hook| hook.form != DECLARATION_DIGEST_VERSION).count();
    (old > 0).then(|| {
        format!("{old} hooks were recorded by another version: they are compared by file, event, name and matcher")
    })
}

/// Returns the recorded hooks that are not enabled any more as they were.
pub(super) fn missing_from(hooks: Vec<LedgerHook>, registry: &Registry) -> Vec<LedgerHook> {
    let enabled = registry.entries().filter(|(hook, state)| **state == HookState::Enabled && !hook.is_shadow());
    let now: Vec<LedgerHook> = enabled.map(|(hook, _)| ledger_hook(hook)).collect();
    let is_there = |hook: &LedgerHook| now.iter().any(|now| matches_record(hook, now));
    let mut missing: Vec<LedgerHook> = hooks.into_iter().filter(|hook| !is_there(hook)).collect();
    let key = |hook: &LedgerHook| (hook.event.clone(), hook.digest.clone());
    missing.sort_by_key(key);
    missing.dedup_by_key(|hook| key(hook));
    missing
}

/// Returns the stand-in of a missing hook: a guard for the same event and matcher, which would deny if it ever ran.
pub(super) fn stand_in_hook(missing: &LedgerHook) -> Option<Hook> {
    let hook = json!({"type": "command", "name": missing.name, "command": "exit 2", "guard": true});
    let definition = match &missing.matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": [hook]}),
        None => json!({"hooks": [hook]}),
    };
    let text = json!({"hooks": {missing.event.as_str(): [definition]}}).to_string();
    // The runtime source belongs to no settings layer, so none can disable it.
    parse_layer(&Layer::new(Source::Runtime, Path::new(&missing.file), &text)).hooks.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(command: &str) -> Registry {
        let hook = json!({"type": "command", "name": "guard", "command": command, "timeout": 5000, "guard": true});
        let text = json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}).to_string();
        Registry::new(vec![parse_layer(&Layer::new(Source::Project, Path::new("/p/.gemini/settings.json"), &text))])
    }

    fn recorded(registry: &Registry) -> Vec<LedgerHook> {
        registry.hooks().iter().map(|hook| ledger_hook(hook)).collect()
    }

    /// Digests are stored on disk and must be stable: a different digest needs a new version.
    #[test]
    fn a_recorded_digest_does_not_depend_on_the_compiler() {
        let hooks = recorded(&registry("./guard.sh"));
        assert_eq!(hooks[0].form, 2, "a new form has a new digest below");
        assert_eq!(hooks[0].digest, "project/668d7b325fe96632e65385a0eb18e7aee61298454d8ab2ab2f4484aa4ac9c4c5");
    }

    #[test]
    fn changed_or_removed_hook_is_missing() {
        let hooks = recorded(&registry("./guard.sh"));
        assert!(missing_from(hooks.clone(), &registry("./guard.sh")).is_empty());
        assert_eq!(missing_from(hooks.clone(), &registry("true")).len(), 1);
        assert_eq!(missing_from(hooks.clone(), &Registry::default()).len(), 1);
        assert_eq!(old_form_note(&hooks), None);
    }

    /// A record from before digests were stable has no version.
    #[test]
    fn record_of_another_version_reports_only_removed_hooks() {
        let mut record = serde_json::to_value(recorded(&registry("./guard.sh"))).unwrap();
        record[0].as_object_mut().unwrap().remove("form");
        record[0]["digest"] = json!("00112233aabbccdd");
        let hooks: Vec<LedgerHook> = serde_json::from_value(record).unwrap();
        assert!(missing_from(hooks.clone(), &registry("./guard.sh")).is_empty());
        assert_eq!(missing_from(hooks.clone(), &Registry::default()).len(), 1);
        assert!(old_form_note(&hooks).unwrap().contains("another version"));
    }
}
