//! What counts when a hook fails, out of its JSON: `onError`, and Claude Code's word for it.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::node::NodeReader;
use crate::jsonc::last;
use crate::near::nearest;
use crate::on_error::{FailureAction, OnError};

/// Claude Code's word for what counts when a hook fails.
pub(super) fn on_failure(read: &mut NodeReader<'_>, object: &Object<'_>) -> OnError {
    let property = last(object, "onFailure").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let Some(property) = property else { return OnError::default() };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("continue") => OnError::default(),
        Some("block") => OnError::all(FailureAction::Block),
        _ => {
            let wrong =
                read.error(&property.value, "`onFailure` should be \"block\" or \"continue\"; it counts as \"block\"");
            read.report(wrong.expected("expected \"block\" or \"continue\""));
            OnError::all(FailureAction::Block)
        }
    }
}

/// `onError`: one word, or a word by cause.
pub(super) fn on_error(read: &mut NodeReader<'_>, property: &ObjectProp<'_>) -> OnError {
    match &property.value {
        Value::Object(object) => {
            let misspelt = misspelt_causes(read, object);
            let mut action = |name| {
                let meant = || misspelt.iter().find(|(cause, _)| *cause == name).map(|(_, property)| *property);
                last(object, name).or_else(meant).map(|property| failure_action(read, &property.value))
            };
            OnError {
                timeout: action("timeout"),
                exit: action("exit"),
                spawn: action("spawn"),
                output: action("output"),
                resource: action("resource"),
                truncated: action("truncated"),
            }
        }
        value => OnError::all(failure_action(read, value)),
    }
}

/// The keys that are no causes; those that were surely meant as one, with it.
fn misspelt_causes<'o, 't>(
    read: &mut NodeReader<'_>,
    object: &'o Object<'t>,
) -> Vec<(&'static str, &'o ObjectProp<'t>)> {
    const CAUSES: [&str; 6] = ["timeout", "exit", "spawn", "output", "resource", "truncated"];
    read.duplicate_keys(object, "onError");
    let mut misspelt = Vec::new();
    for property in object.properties.iter().filter(|property| !CAUSES.contains(&property.name.as_str())) {
        let name = property.name.as_str();
        let at = property.name.range();
        match nearest(name, CAUSES.into_iter()) {
            Some(cause) => {
                misspelt.push((cause, property));
                let wrong = read.error_at(at, format!("onError has no `{name}`; it counts as `{cause}`"));
                read.report(wrong.help(format!("write `{cause}`")));
            }
            None => {
                let wrong = read.warning_at(at, format!("onError has no `{name}`; it is ignored"));
                read.report(wrong.help(format!("it knows {}", CAUSES.join(", "))));
            }
        }
    }
    misspelt
}

/// Whoever writes `onError` cares about failures: a word that is none is the strictest.
fn failure_action(read: &mut NodeReader<'_>, value: &Value<'_>) -> FailureAction {
    match value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("allow") => FailureAction::Allow,
        Some("block") => FailureAction::Block,
        Some("ask") => FailureAction::Ask,
        _ => {
            let wrong =
                read.error(value, "`onError` should be \"allow\", \"block\" or \"ask\"; it counts as \"block\"");
            read.report(wrong.expected("expected \"allow\", \"block\", \"ask\", or an object by cause"));
            FailureAction::Block
        }
    }
}
