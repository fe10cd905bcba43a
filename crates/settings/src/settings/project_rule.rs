//! What a project may set: it can tighten a setting, never loosen it. The file system is read only to follow links.
//!
//! The table in `setting_table.rs` assigns a rule to each setting.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::DottedLookup;
use crate::file::resolves_inside;

/// What a project may set. There is no default rule: each new setting needs an explicit one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProjectRule {
    /// Any value, because the setting guards nothing and opens nothing.
    Anything,
    /// Any value; the trust prompt lists it, and later changes are announced.
    Listed,
    /// A value that is at least as strict as that of the user and the system.
    Stricter(StrictnessOrder),
    /// Like `Stricter`, and the trust prompt lists it.
    ListedStricter(StrictnessOrder),
    /// Paths inside of the project, after links are followed.
    Inside,
    /// The setting cannot be set by a project.
    Nothing,
}

/// Which of two values is stricter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StrictnessOrder {
    /// This boolean; a project may set it or repeat the value in force.
    Flag { strict: bool, default: bool },
    /// Off is stricter: a project may disable the feature but not enable it again.
    Off,
    /// The later word in the list.
    Words { words: &'static [&'static str], default: &'static str },
    /// The lower number; a negative one means no limit.
    Number { default: Option<u32> },
    /// The list with fewer tools.
    Tools,
    /// A table that replaces no entry of another layer.
    Entries,
}

/// The settings of the user and the system, and the project's root.
pub(crate) struct OuterSettings<'a> {
    pub(crate) settings: &'a Map<String, Value>,
    pub(crate) root: &'a Path,
}

/// The accepted part of a project's value, and a message about the rejected part.
#[derive(Debug, PartialEq)]
pub(super) struct ProjectValue {
    pub(super) value: Option<Value>,
    pub(super) refused: Option<String>,
}

impl ProjectValue {
    fn accepted(value: Value) -> Self {
        ProjectValue { value: Some(value), refused: None }
    }

    /// The result for a value that is already in force: nothing to set, and nothing to report.
    fn unchanged() -> Self {
        ProjectValue { value: None, refused: None }
    }

    fn refused(text: String) -> Self {
        ProjectValue { value: None, refused: Some(text) }
    }
}

impl ProjectRule {
    /// Whether the trust prompt lists the setting.
    pub(super) fn is_listed(self) -> bool {
        matches!(self, ProjectRule::Listed | ProjectRule::ListedStricter(_))
    }

    /// Applies the rule to a project's value.
    pub(super) fn evaluate(self, key: &str, value: Value, outer: &OuterSettings<'_>) -> ProjectValue {
        match self {
            ProjectRule::Anything | ProjectRule::Listed => ProjectValue::accepted(value),
            ProjectRule::Nothing if DottedLookup(outer.settings).get(key) == Some(&value) => ProjectValue::unchanged(),
            ProjectRule::Nothing => ProjectValue::refused(format!("a project can't set `{key}`; it is ignored")),
            ProjectRule::Inside => keep_inside_paths(key, value, outer.root),
            ProjectRule::Stricter(than) | ProjectRule::ListedStricter(than) => {
                than.evaluate(key, value, DottedLookup(outer.settings).get(newer_name(key)))
            }
        }
    }
}

/// Returns the key under which other layers store the value of an older key.
fn newer_name(key: &str) -> &str {
    if key == "tools.approvalMode" { "general.defaultApprovalMode" } else { key }
}

impl StrictnessOrder {
    fn evaluate(self, key: &str, value: Value, outer: Option<&Value>) -> ProjectValue {
        let as_strict = match self {
            StrictnessOrder::Flag { strict, default } => {
                let in_force = outer.and_then(Value::as_bool).unwrap_or(default);
                if value != Value::Bool(strict) && value == Value::Bool(in_force) {
                    return ProjectValue::unchanged();
                }
                value == Value::Bool(strict)
            }
            StrictnessOrder::Off => value == Value::Bool(false) || outer != Some(&Value::Bool(false)),
            StrictnessOrder::Words { words, default } => {
                let rank = |word: Option<&str>| words.iter().position(|known| Some(*known) == word);
                rank(value.as_str()) >= rank(outer.and_then(Value::as_str).or(Some(default)))
            }
            StrictnessOrder::Number { default } => {
                let limit = |value: &Value| value.as_i64().filter(|limit| *limit >= 0);
                match outer.map_or(default.map(i64::from), limit) {
                    None => true,
                    Some(most) => limit(&value).is_some_and(|wanted| wanted <= most),
                }
            }
            StrictnessOrder::Tools => return keep_common_tools(key, value, outer),
            StrictnessOrder::Entries => return keep_new_entries(key, value, outer),
        };
        if as_strict {
            return ProjectValue::accepted(value);
        }
        let theirs = outer.map(|outer| format!(" below {outer}")).unwrap_or_default();
        ProjectValue::refused(format!("a project can't loosen `{key}`{theirs}; {value} is ignored"))
    }
}

/// Keeps the paths that are inside of the project.
fn keep_inside_paths(key: &str, value: Value, root: &Path) -> ProjectValue {
    let is_inside = |place: &Value| place.as_str().is_some_and(|place| resolves_inside(root, Path::new(place)));
    let (value, outside) = match value {
        Value::Array(places) => {
            let (inside, outside): (Vec<_>, Vec<_>) = places.into_iter().partition(is_inside);
            (Some(Value::Array(inside)), outside)
        }
        place if is_inside(&place) => (Some(place), Vec::new()),
        place => (None, vec![place]),
    };
    let refused = (!outside.is_empty()).then(|| {
        let verb = if outside.len() == 1 { "is" } else { "are" };
        format!("a project can't point `{key}` outside the project; {} {verb} ignored", join_values(&outside))
    });
    ProjectValue { value, refused }
}

/// Keeps the tools that are in both lists; a missing list counts as all tools.
fn keep_common_tools(key: &str, value: Value, outer: Option<&Value>) -> ProjectValue {
    let (Value::Array(wanted), Some(Value::Array(given))) = (&value, outer) else {
        return ProjectValue::accepted(value);
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut both: Vec<Value> = Vec::new();
    let mut more = Vec::new();
    for one in wanted {
        let covered: Vec<&Value> = given.iter().filter(|outer| covers(&text(one), &text(outer))).collect();
        if given.iter().any(|outer| covers(&text(outer), &text(one))) {
            both.push(one.clone());
        } else if covered.is_empty() {
            more.push(one.clone());
        } else {
            // The user's narrower entry for the same tool is kept.
            both.extend(covered.into_iter().cloned());
        }
    }
    let refused = (!more.is_empty()).then(|| {
        let verb = if more.len() == 1 { "is" } else { "are" };
        format!("a project can't add to `{key}`; {} {verb} ignored", join_values(&more))
    });
    ProjectValue { value: Some(Value::Array(both)), refused }
}

/// Whether one entry of a list of tools includes everything that another does: `tool` and `tool(git)` include
/// `tool(git log)`.
fn covers(outer: &str, inner: &str) -> bool {
    let (name, command) = split_tool_entry(outer);
    let (other, narrower) = split_tool_entry(inner);
    name == other
        && match (command, narrower) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(command), Some(narrower)) => {
                narrower.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
        }
}

fn split_tool_entry(entry: &str) -> (&str, Option<&str>) {
    match entry.trim().strip_suffix(')').and_then(|open| open.split_once('(')) {
        Some((name, command)) => (name, Some(command.trim())),
        None => (entry.trim(), None),
    }
}

/// Keeps the entries whose names no other layer uses.
fn keep_new_entries(key: &str, value: Value, outer: Option<&Value>) -> ProjectValue {
    let (Value::Object(mut entries), Some(Value::Object(theirs))) = (value.clone(), outer) else {
        return ProjectValue::accepted(value);
    };
    // Names that differ only in case are taken as the same.
    let plain = |name: &String| name.trim().to_lowercase();
    // An equal entry replaces nothing.
    entries.retain(|name, entry| theirs.get(name) != Some(entry));
    let theirs: HashSet<String> = theirs.keys().map(plain).collect();
    let taken: Vec<Value> =
        entries.keys().filter(|name| theirs.contains(&plain(name))).cloned().map(Value::String).collect();
    entries.retain(|name, _| !theirs.contains(&plain(name)));
    let refused = (!taken.is_empty()).then(|| {
        let verb = if taken.len() == 1 { "is" } else { "are" };
        format!("a project can't replace what your settings have in `{key}`; {} {verb} ignored", join_values(&taken))
    });
    ProjectValue { value: Some(Value::Object(entries)), refused }
}

fn join_values(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn evaluate_rule(than: StrictnessOrder, project: Value, outer: Option<Value>) -> Option<Value> {
        than.evaluate("k", project, outer.as_ref()).value
    }

    #[test]
    fn lists_of_tools_only_get_shorter() {
        let core = |project: &[&str], outer: Option<&[&str]>| {
            evaluate_rule(StrictnessOrder::Tools, json!(project), outer.map(|outer| json!(outer))).unwrap_or_default()
        };
        assert_eq!(core(&["a", "b"], None), json!(["a", "b"]));
        assert_eq!(core(&["a", "c"], Some(&["a", "b"])), json!(["a"]));
        assert_eq!(core(&["sh"], Some(&["sh(git)", "sh(ls)"])), json!(["sh(git)", "sh(ls)"]));
        assert_eq!(core(&["sh(git log)", "sh(gitx)", "sh(rm)"], Some(&["sh(git)"])), json!(["sh(git log)"]));
        assert_eq!(core(&["sh(rm)"], Some(&["sh"])), json!(["sh(rm)"]));
        assert_eq!(core(&["a"], Some(&[])), json!([]));
        assert_eq!(core(&[], Some(&["a"])), json!([]));
    }

    #[test]
    fn numbers_only_get_smaller_and_none_is_the_largest() {
        let turns = |project: i64, outer: Option<i64>| {
            evaluate_rule(StrictnessOrder::Number { default: None }, json!(project), outer.map(|n| json!(n))).is_some()
        };
        assert!(turns(5, None) && turns(5, Some(-1)) && turns(5, Some(5)) && turns(0, Some(5)));
        assert!(!turns(6, Some(5)) && !turns(-1, Some(5)));
    }

    #[test]
    fn value_already_in_force_is_not_refused() {
        let said = |than: StrictnessOrder, project: Value, outer: Option<Value>| {
            than.evaluate("k", project, outer.as_ref()).refused.is_some()
        };
        let flag = |strict, default| StrictnessOrder::Flag { strict, default };
        assert!(!said(flag(true, false), json!(false), None) && !said(flag(false, true), json!(true), None));
        assert!(!said(flag(true, true), json!(false), Some(json!(false))));
        assert!(said(flag(true, true), json!(false), None) && said(flag(true, false), json!(false), Some(json!(true))));
        assert!(said(flag(false, true), json!(true), Some(json!(false))));
        assert!(!said(StrictnessOrder::Entries, json!({"a": {"x": 1}}), Some(json!({"a": {"x": 1}}))));
        assert!(said(StrictnessOrder::Entries, json!({"A": {"x": 1}}), Some(json!({"a": {"x": 1}}))));
        let outer = json!({"telemetry": {"enabled": false}});
        let outer = OuterSettings { settings: outer.as_object().unwrap(), root: Path::new("/usr") };
        let judge = |value| ProjectRule::Nothing.evaluate("telemetry.enabled", json!(value), &outer).refused;
        assert_eq!(judge(false), None);
        assert!(judge(true).is_some());
    }

    #[test]
    fn project_cannot_replace_existing_entries() {
        let value = evaluate_rule(StrictnessOrder::Entries, json!({"a": 1, "b": 2}), Some(json!({"a": 0})));
        assert_eq!(value, Some(json!({"b": 2})));
    }
}
