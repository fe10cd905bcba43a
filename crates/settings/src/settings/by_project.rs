//! What a project may do to a setting: tighten it, never loosen it. Pure, but for links, which are followed on disk.
//!
//! Which setting falls under which of these is decided in the table in `known.rs`.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::Layered;
use crate::file::leads_inside;

/// What a project may say about a setting. There is no default: whoever adds a setting decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ByProject {
    /// Anything: no guard depends on it, and nothing is opened by it.
    Anything,
    /// Anything; the question of trust lists it, and later changes are announced.
    Listed,
    /// Only what is as strict as the word of the user and the system, or stricter.
    Stricter(Than),
    /// The same, and it is listed.
    ListedStricter(Than),
    /// Only places inside of itself, links followed.
    Inside,
    /// Nothing.
    Nothing,
}

/// What is stricter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Than {
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
pub(crate) struct Outer<'a> {
    pub(crate) settings: &'a Map<String, Value>,
    pub(crate) root: &'a Path,
}

/// What is left of a project's word, and what is to be said about the rest.
#[derive(Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) value: Option<Value>,
    pub(super) refused: Option<String>,
}

impl Judged {
    fn counts(value: Value) -> Self {
        Judged { value: Some(value), refused: None }
    }

    /// What says only what is in force already: nothing is left of it, and nothing is said.
    fn repeated() -> Self {
        Judged { value: None, refused: None }
    }

    fn refused(text: String) -> Self {
        Judged { value: None, refused: Some(text) }
    }
}

impl ByProject {
    /// Whether the question of trust lists it.
    pub(super) fn is_listed(self) -> bool {
        matches!(self, ByProject::Listed | ByProject::ListedStricter(_))
    }

    /// What counts of a project's word.
    pub(super) fn judge(self, key: &str, value: Value, outer: &Outer<'_>) -> Judged {
        match self {
            ByProject::Anything | ByProject::Listed => Judged::counts(value),
            ByProject::Nothing if Layered(outer.settings).at(key) == Some(&value) => Judged::repeated(),
            ByProject::Nothing => Judged::refused(format!("a project can't set `{key}`; it is ignored")),
            ByProject::Inside => inside(key, value, outer.root),
            ByProject::Stricter(than) | ByProject::ListedStricter(than) => {
                than.judge(key, value, Layered(outer.settings).at(newer_name(key)))
            }
        }
    }
}

/// The name under which other layers' word for an older one is kept.
fn newer_name(key: &str) -> &str {
    if key == "tools.approvalMode" { "general.defaultApprovalMode" } else { key }
}

impl Than {
    fn judge(self, key: &str, value: Value, outer: Option<&Value>) -> Judged {
        let as_strict = match self {
            Than::Flag { strict, default } => {
                let in_force = outer.and_then(Value::as_bool).unwrap_or(default);
                if value != Value::Bool(strict) && value == Value::Bool(in_force) {
                    return Judged::repeated();
                }
                value == Value::Bool(strict)
            }
            Than::Off => value == Value::Bool(false) || outer != Some(&Value::Bool(false)),
            Than::Words { words, default } => {
                let rank = |word: Option<&str>| words.iter().position(|known| Some(*known) == word);
                rank(value.as_str()) >= rank(outer.and_then(Value::as_str).or(Some(default)))
            }
            Than::Number { default } => {
                let limit = |value: &Value| value.as_i64().filter(|limit| *limit >= 0);
                match outer.map_or(default.map(i64::from), limit) {
                    None => true,
                    Some(most) => limit(&value).is_some_and(|wanted| wanted <= most),
                }
            }
            Than::Tools => return narrower(key, value, outer),
            Than::Entries => return new_entries(key, value, outer),
        };
        if as_strict {
            return Judged::counts(value);
        }
        let theirs = outer.map(|outer| format!(" below {outer}")).unwrap_or_default();
        Judged::refused(format!("a project can't loosen `{key}`{theirs}; {value} is ignored"))
    }
}

/// The places that are inside of the project.
fn inside(key: &str, value: Value, root: &Path) -> Judged {
    let is_inside = |place: &Value| place.as_str().is_some_and(|place| leads_inside(root, Path::new(place)));
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
        format!("a project can't lead `{key}` outside of itself; {} {verb} ignored", listed(&outside))
    });
    Judged { value, refused }
}

/// The tools that both lists have. A list that is not there has them all.
fn narrower(key: &str, value: Value, outer: Option<&Value>) -> Judged {
    let (Value::Array(wanted), Some(Value::Array(given))) = (&value, outer) else { return Judged::counts(value) };
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
        format!("a project can't add to `{key}`; {} {verb} ignored", listed(&more))
    });
    Judged { value: Some(Value::Array(both)), refused }
}

/// Whether one entry of a list of tools stands for everything that another does: `tool` and `tool(git)` for
/// `tool(git log)`.
fn covers(outer: &str, inner: &str) -> bool {
    let (name, command) = split(outer);
    let (other, narrower) = split(inner);
    name == other
        && match (command, narrower) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(command), Some(narrower)) => {
                narrower.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
        }
}

fn split(entry: &str) -> (&str, Option<&str>) {
    match entry.trim().strip_suffix(')').and_then(|open| open.split_once('(')) {
        Some((name, command)) => (name, Some(command.trim())),
        None => (entry.trim(), None),
    }
}

/// The entries whose names nobody else has used.
fn new_entries(key: &str, value: Value, outer: Option<&Value>) -> Judged {
    let (Value::Object(mut entries), Some(Value::Object(theirs))) = (value.clone(), outer) else {
        return Judged::counts(value);
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
        format!("a project can't replace what your settings have in `{key}`; {} {verb} ignored", listed(&taken))
    });
    Judged { value: Some(Value::Object(entries)), refused }
}

fn listed(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(than: Than, project: Value, outer: Option<Value>) -> Option<Value> {
        than.judge("k", project, outer.as_ref()).value
    }

    #[test]
    fn lists_of_tools_only_get_shorter() {
        let core = |project: &[&str], outer: Option<&[&str]>| {
            judged(Than::Tools, json!(project), outer.map(|outer| json!(outer))).unwrap_or_default()
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
            judged(Than::Number { default: None }, json!(project), outer.map(|n| json!(n))).is_some()
        };
        assert!(turns(5, None) && turns(5, Some(-1)) && turns(5, Some(5)) && turns(0, Some(5)));
        assert!(!turns(6, Some(5)) && !turns(-1, Some(5)));
    }

    #[test]
    fn what_is_in_force_already_is_no_loosening() {
        let said = |than: Than, project: Value, outer: Option<Value>| {
            than.judge("k", project, outer.as_ref()).refused.is_some()
        };
        let flag = |strict, default| Than::Flag { strict, default };
        assert!(!said(flag(true, false), json!(false), None) && !said(flag(false, true), json!(true), None));
        assert!(!said(flag(true, true), json!(false), Some(json!(false))));
        assert!(said(flag(true, true), json!(false), None) && said(flag(true, false), json!(false), Some(json!(true))));
        assert!(said(flag(false, true), json!(true), Some(json!(false))));
        assert!(!said(Than::Entries, json!({"a": {"x": 1}}), Some(json!({"a": {"x": 1}}))));
        assert!(said(Than::Entries, json!({"A": {"x": 1}}), Some(json!({"a": {"x": 1}}))));
        let outer = json!({"telemetry": {"enabled": false}});
        let outer = Outer { settings: outer.as_object().unwrap(), root: Path::new("/usr") };
        let judge = |value| ByProject::Nothing.judge("telemetry.enabled", json!(value), &outer).refused;
        assert_eq!(judge(false), None);
        assert!(judge(true).is_some());
    }

    #[test]
    fn a_name_that_others_use_stays_theirs() {
        let value = judged(Than::Entries, json!({"a": 1, "b": 2}), Some(json!({"a": 0})));
        assert_eq!(value, Some(json!({"b": 2})));
    }
}
