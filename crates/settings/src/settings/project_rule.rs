//! What a project may do to a setting: tighten it, never loosen it. Pure, but for links, which are followed on disk.
//!
//! Which setting falls under which of these is decided in the table in `setting_table.rs`.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::DottedLookup;
use crate::file::resolves_inside;

/// What a project may say about a setting. There is no default: whoever adds a setting decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProjectRule {
    /// Anything: no guard depends on it, and nothing is opened by it.
    Anything,
    /// Anything; the question of trust lists it, and later changes are announced.
    Listed,
    /// Only what is as strict as the word of the user and the system, or stricter.
    Stricter(StrictnessOrder),
    /// The same, and it is listed.
    ListedStricter(StrictnessOrder),
    /// Only places inside of itself, links followed.
    Inside,
    /// Nothing.
    Nothing,
}

/// What is stricter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StrictnessOrder {
    /// This value is; only that may be said, or what is in force already.
    Flag { strict: bool, default: bool },
    /// On unless somebody has switched it off, which nobody takes back.
    Off,
    /// The later word is.
    Words { words: &'static [&'static str], default: &'static str },
    /// The lower number is; below zero there is no limit.
    Number { default: Option<u32> },
    /// A list of tools that has fewer of them.
    Tools,
    /// A table in which no entry of others is replaced.
    Entries,
}

/// What the user and the system say, and where the project is.
pub(crate) struct OuterSettings<'a> {
    pub(crate) settings: &'a Map<String, Value>,
    pub(crate) root: &'a Path,
}

/// What is left of a project's word, and what is to be said about the rest.
#[derive(Debug, PartialEq)]
pub(super) struct ProjectValue {
    pub(super) value: Option<Value>,
    pub(super) refused: Option<String>,
}

impl ProjectValue {
    fn accepted(value: Value) -> Self {
        ProjectValue { value: Some(value), refused: None }
    }

    /// What says only what is in force already: nothing is left of it, and nothing is said.
    fn unchanged() -> Self {
        ProjectValue { value: None, refused: None }
    }

    fn refused(text: String) -> Self {
        ProjectValue { value: None, refused: Some(text) }
    }
}

impl ProjectRule {
    /// Whether the question of trust lists it.
    pub(super) fn is_listed(self) -> bool {
        matches!(self, ProjectRule::Listed | ProjectRule::ListedStricter(_))
    }

    /// What counts of a project's word.
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

/// The name under which other layers' word for an older one is kept.
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

/// The places that are inside of the project.
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
        format!("a project can't lead `{key}` outside of itself; {} {verb} ignored", join_values(&outside))
    });
    ProjectValue { value, refused }
}

/// The tools that both lists have. A list that is not there has them all.
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
            // The user's narrower word for the same tool stands.
            both.extend(covered.into_iter().cloned());
        }
    }
    let refused = (!more.is_empty()).then(|| {
        let verb = if more.len() == 1 { "is" } else { "are" };
        format!("a project can't add to `{key}`; {} {verb} ignored", join_values(&more))
    });
    ProjectValue { value: Some(Value::Array(both)), refused }
}

/// Whether one entry of a list of tools stands for everything that another does: `tool` and `tool(git)` for
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

/// The entries whose names nobody else has used.
fn keep_new_entries(key: &str, value: Value, outer: Option<&Value>) -> ProjectValue {
    let (Value::Object(mut entries), Some(Value::Object(theirs))) = (value.clone(), outer) else {
        return ProjectValue::accepted(value);
    };
    // In another case it would be the same name to whoever reads it.
    let plain = |name: &String| name.trim().to_lowercase();
    // What says the same replaces nothing.
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
    fn what_is_in_force_already_is_no_loosening() {
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
    fn a_name_that_others_use_stays_theirs() {
        let value = evaluate_rule(StrictnessOrder::Entries, json!({"a": 1, "b": 2}), Some(json!({"a": 0})));
        assert_eq!(value, Some(json!({"b": 2})));
    }
}
