//! Reads and changes `extension-enablement.json`, Gemini CLI's rules on which extensions are active in which folders.
//! The last rule that matches a folder wins.

use std::path::Path;

use hookwright_hooks::Diagnostic;
use serde_json::{Map, Value, json};

use crate::edit::{self, EditError, Switch};
use crate::file::read_text;
use crate::json::parse_map;
use crate::paths::ConfigPaths;
use crate::trust::change_trust_record;

pub(crate) const ENABLEMENT_FILE: &str = "extension-enablement.json";

/// Enablement rules by extension name.
pub(super) struct EnablementRules(Map<String, Value>);

impl EnablementRules {
    /// Reads the rules. A file that can't be read counts as empty and is reported.
    pub(super) fn read(paths: &ConfigPaths, diagnostics: &mut Vec<Diagnostic>) -> EnablementRules {
        let file = paths.extension_enablement_file();
        let text = match read_text(&file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                diagnostics.push(error.diagnostic());
                return EnablementRules(Map::new());
            }
        };
        EnablementRules(parse_map(&file, &text).unwrap_or_else(|wrong| {
            diagnostics.push(*wrong);
            Map::new()
        }))
    }

    /// Whether an extension is enabled in a folder.
    pub(super) fn is_enabled(&self, name: &str, folder: &Path) -> bool {
        overrides(&self.0, name).iter().fold(true, |enabled, rule| rule_effect(rule, folder).unwrap_or(enabled))
    }
}

fn overrides(rules: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = rules.get(name).and_then(|rule| rule.get("overrides")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Enables or disables an extension in a folder and below it, and returns whether the rules changed.
///
/// # Errors
/// If the rules can't be read or written; they are unchanged then.
pub fn set_extension_rule(paths: &ConfigPaths, name: &str, folder: &Path, switch: Switch) -> Result<bool, EditError> {
    change_rules(paths, |rules| {
        let base = slash_path(folder);
        let own = format!("{}{base}*", if switch == Switch::Disable { "!" } else { "" });
        let mut list = overrides(rules, name);
        // The new rule replaces rules for the same folder and for folders below it.
        list.retain(|rule| !is_below(rule, &base));
        list.push(own);
        rules.insert(name.to_owned(), json!({ "overrides": list }));
    })
}

/// Removes the rules of an uninstalled extension.
///
/// # Errors
/// If the rules can't be read or written; they are unchanged then.
pub fn forget_extension(paths: &ConfigPaths, name: &str) -> Result<bool, EditError> {
    if !paths.extension_enablement_file().exists() {
        return Ok(false);
    }
    change_rules(paths, |rules| drop(rules.remove(name)))
}

fn change_rules(paths: &ConfigPaths, act: impl FnOnce(&mut Map<String, Value>)) -> Result<bool, EditError> {
    let file = paths.extension_enablement_file();
    change_trust_record(paths, &file, || {
        edit::rewrite(&file, |text| {
            let mut rules = parse_map(&file, text).map_err(EditError::Broken)?;
            act(&mut rules);
            Ok(format!("{:#}\n", Value::Object(rules)))
        })
    })
}

fn slash_path(folder: &Path) -> String {
    let path = folder.to_string_lossy().replace('\\', "/");
    match path.trim_matches('/') {
        "" => "/".to_owned(),
        path => format!("/{path}/"),
    }
}

/// Whether a rule is for this folder or one below it.
fn is_below(rule: &str, base: &str) -> bool {
    let folder = rule.strip_prefix('!').unwrap_or(rule);
    let folder = folder.strip_suffix('*').unwrap_or(folder);
    folder.starts_with(base) || format!("{folder}/") == *base
}

/// Returns whether a rule such as `!/home/me/*` enables or disables in this folder, or `None` if it does not match.
fn rule_effect(rule: &str, folder: &Path) -> Option<bool> {
    let (rule, enables) = rule.strip_prefix('!').map_or((rule, true), |rule| (rule, false));
    let path = slash_path(folder);
    let matches = match rule.strip_suffix('*') {
        Some(base) => match base.strip_suffix('/') {
            Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            None => path.starts_with(base),
        },
        None => path == rule,
    };
    matches.then_some(enables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_match_folders() {
        let speaks = |rule: &str, path: &str| rule_effect(rule, Path::new(path));
        assert_eq!(speaks("/home/me/*", "/home/me"), Some(true));
        assert_eq!(speaks("!/home/me/*", "/home/me/x"), Some(false));
        assert_eq!(speaks("/home/me/*", "/home/mean"), None);
        assert_eq!(speaks("!/home/me/", "/home/me"), Some(false));
        assert_eq!(speaks("!/home/me/", "/home/me/x"), None);
        assert_eq!(speaks("!/*", "/anything"), Some(false));
    }

    #[test]
    fn new_rule_replaces_rules_for_its_folder_and_below() {
        for (rule, overtaken) in [
            ("/home/me/*", true),
            ("!/home/me/", true),
            ("!/home/me/project/*", true),
            ("/home/*", false),
            ("!/home/mean/*", false),
        ] {
            assert_eq!(is_below(rule, "/home/me/"), overtaken, "{rule}");
        }
    }
}
