//! Reads the failure policy of a hook from its JSON: `onError`, and Claude Code's `onFailure`.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::node_reader::NodeReader;
use crate::jsonc::last_property;
use crate::on_error::{FailureAction, OnError};
use crate::suggestion::nearest_name;

/// Reads Claude Code's `onFailure`.
pub(super) fn read_on_failure(read: &mut NodeReader<'_>, object: &Object<'_>) -> OnError {
    let property =
        last_property(object, "onFailure").filter(|property| !matches!(property.value, Value::NullKeyword(_)));
    let Some(property) = property else { return OnError::default() };
    match property.value.as_string_lit().map(|text| text.value.as_ref()) {
        Some("continue") => OnError::default(),
        Some("block") => OnError::for_all_causes(FailureAction::Block),
        _ => {
            let wrong =
                read.error(&property.value, "`onFailure` should be \"block\" or \"continue\"; it counts as \"block\"");
            read.report(wrong.expected("expected \"block\" or \"continue\""));
            OnError::for_all_causes(FailureAction::Block)
        }
    }
}

/// Reads `onError`: one action, or an object with an action for each cause.
pub(super) fn read_on_error(read: &mut NodeReader<'_>, property: &ObjectProp<'_>) -> OnError {
    match &property.value {
        Value::Object(object) => {
            let misspelt = misspelt_causes(read, object);
            let mut action = |name| {
                let meant = || misspelt.iter().find(|(cause, _)| *cause == name).map(|(_, property)| *property);
                last_property(object, name).or_else(meant).map(|property| read_failure_action(read, &property.value))
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
        value => OnError::for_all_causes(read_failure_action(read, value)),
    }
}

/// Reports the keys that are not causes, and returns those that are similar to a cause with that cause.
fn misspelt_causes<'o, 't>(
    read: &mut NodeReader<'_>,
    object: &'o Object<'t>,
) -> Vec<(&'static str, &'o ObjectProp<'t>)> {
    const CAUSE_KEYS: [&str; 6] = ["timeout", "exit", "spawn", "output", "resource", "truncated"];
    read.report_duplicate_keys(object, "onError");
    let mut misspelt = Vec::new();
    for property in object.properties.iter().filter(|property| !CAUSE_KEYS.contains(&property.name.as_str())) {
        let name = property.name.as_str();
        let at = property.name.range();
        match nearest_name(name, CAUSE_KEYS.into_iter()) {
            Some(cause) => {
                misspelt.push((cause, property));
                let wrong = read.error_at(at, format!("onError has no `{name}`; it counts as `{cause}`"));
                read.report(wrong.help(format!("write `{cause}`")));
            }
            None => {
                let wrong = read.warning_at(at, format!("onError has no `{name}`; it is ignored"));
                read.report(wrong.help(format!("it knows {}", CAUSE_KEYS.join(", "))));
            }
        }
    }
    misspelt
}

/// Reads an action.
///
/// A hook with `onError` cares about failures, so an invalid action counts as the strictest.
fn read_failure_action(read: &mut NodeReader<'_>, value: &Value<'_>) -> FailureAction {
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
