//! Folder trust: whether a project's files are loaded at all.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use jsonc_parser::common::Ranged;
use serde_json::Value;

use super::ledger;
use crate::edit::{self, EditError, SettingsChange, edited_text};
use crate::file::read_text;
use crate::json::{parse_object, value_kind};
use crate::load::TrustOverride;
use crate::paths::ConfigPaths;
use crate::process_env::ProcessEnv;

/// Whether a project's files are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderTrust {
    /// They are loaded.
    Trusted(TrustSource),
    /// They are not loaded, because a rule or variable forbids it.
    Distrusted(TrustSource),
    /// They are not loaded, because no decision has been recorded.
    Unknown,
}

/// What decided about a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustSource {
    /// A flag on the command line.
    Override,
    /// An environment variable.
    Environment,
    /// The user's or the system's settings, which turn folder trust off.
    GateOff,
    /// The user's rule for this folder.
    Rule(PathBuf),
}

impl FolderTrust {
    /// Whether the project's files are loaded.
    pub fn is_trusted(&self) -> bool {
        matches!(self, FolderTrust::Trusted(_))
    }
}

/// The user's decision about a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderRule {
    /// The folder and everything in it is trusted.
    TrustFolder,
    /// The folder's parent and everything in that is trusted.
    TrustParent,
    /// The folder is not trusted.
    DoNotTrust,
}

impl FolderRule {
    const ALL: [FolderRule; 3] = [FolderRule::TrustFolder, FolderRule::TrustParent, FolderRule::DoNotTrust];

    /// Returns the name of the rule in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            FolderRule::TrustFolder => "TRUST_FOLDER",
            FolderRule::TrustParent => "TRUST_PARENT",
            FolderRule::DoNotTrust => "DO_NOT_TRUST",
        }
    }

    fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }
}

/// Decides whether a project is trusted; `gate` is whether the user's and the system's settings require trust at all.
pub(crate) fn folder_trust(
    world: &ProcessEnv,
    paths: &ConfigPaths,
    project: &Path,
    choice: TrustOverride,
    gate: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> FolderTrust {
    let word = world.var("GEMINI_CLI_TRUST_WORKSPACE");
    if world.var("GEMINI_RESTRICTED_MODE") == Some("true") {
        return FolderTrust::Distrusted(TrustSource::Environment);
    }
    if choice == TrustOverride::Skip {
        return FolderTrust::Trusted(TrustSource::Override);
    }
    match word {
        Some("false") => return FolderTrust::Distrusted(TrustSource::Environment),
        Some("true") => return FolderTrust::Trusted(TrustSource::Environment),
        _ => {}
    }
    if !gate {
        return FolderTrust::Trusted(TrustSource::GateOff);
    }
    nearest_rule(&read_rules(&paths.trusted_folders, diagnostics), project)
}

/// Reads the rules in the file, with a diagnostic for each that is wrong.
fn read_rules(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<(PathBuf, FolderRule)> {
    let text = match read_text(file) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            diagnostics.push(error.diagnostic());
            return Vec::new();
        }
    };
    let text = text.trim_start_matches('\u{feff}');
    let source = SourceText::new(file, text);
    let root = match parse_object(text, &source) {
        Ok(root) => root,
        Err(wrong) => {
            diagnostics.push(wrong.help("no folder is trusted until this file is corrected"));
            return Vec::new();
        }
    };
    let mut rules = Vec::new();
    for property in root.iter().flat_map(|root| &root.properties) {
        let word = property.value.as_string_lit().map(|word| word.value.as_ref());
        let rule = word.and_then(FolderRule::from_name).unwrap_or_else(|| {
            let found = word.map_or_else(|| value_kind(&property.value).to_owned(), |word| format!("\"{word}\""));
            let range = property.value.range();
            let text = format!("{found} is not a trust level; it counts as \"DO_NOT_TRUST\"");
            let wrong = source.diagnose(Severity::Error, range.start, range.end, text);
            diagnostics.push(wrong.expected("expected \"TRUST_FOLDER\", \"TRUST_PARENT\" or \"DO_NOT_TRUST\""));
            FolderRule::DoNotTrust
        });
        let path = PathBuf::from(property.name.as_str());
        if path.is_relative() {
            let range = property.name.range();
            let text = format!("\"{}\" is not an absolute path; this rule matches nothing", path.display());
            let wrong = source.diagnose(Severity::Error, range.start, range.end, text);
            diagnostics.push(wrong.expected("expected the absolute path of a folder"));
            continue;
        }
        rules.push((path, rule));
    }
    rules
}

/// Applies the nearest rule: the one with the deepest folder, of equal ones the stricter.
///
/// The real path decides. The path as given, and links that rules name, can remove trust, and grant it only if no
/// rule forbids it.
fn nearest_rule(rules: &[(PathBuf, FolderRule)], project: &Path) -> FolderTrust {
    let real = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let (real, given) = (case_folded(&real), case_folded(project));
    match (deepest_rule(rules, &real), deepest_rule(rules, &given)) {
        (no @ FolderTrust::Distrusted(_), _) | (_, no @ FolderTrust::Distrusted(_)) => no,
        (by_real, _) => match deepest_rule(&resolved_rules(rules, &real), &real) {
            no @ FolderTrust::Distrusted(_) => no,
            yes if by_real == FolderTrust::Unknown && !forbids(rules, &[&real, &given]) => yes,
            _ => by_real,
        },
    }
}

/// Applies the rules to a path, without following links.
fn deepest_rule(rules: &[(PathBuf, FolderRule)], place: &Path) -> FolderTrust {
    let deciding = rules.iter().filter(|(path, rule)| place.starts_with(case_folded(rule_folder(path, *rule))));
    let rank = |(path, rule): &&(PathBuf, FolderRule)| {
        (rule_folder(path, *rule).components().count(), *rule == FolderRule::DoNotTrust, path.components().count())
    };
    match deciding.max_by_key(rank) {
        Some((path, FolderRule::DoNotTrust)) => FolderTrust::Distrusted(TrustSource::Rule(path.clone())),
        Some((path, _)) => FolderTrust::Trusted(TrustSource::Rule(path.clone())),
        None => FolderTrust::Unknown,
    }
}

/// Returns the folder that a rule is about.
fn rule_folder(path: &Path, rule: FolderRule) -> &Path {
    if rule == FolderRule::TrustParent { path.parent().unwrap_or(path) } else { path }
}

/// Returns the rules that name links, with the links' targets. Rules that match the path by name are left out: most
/// do, and resolving them all would take longer than everything else here.
fn resolved_rules(rules: &[(PathBuf, FolderRule)], real: &Path) -> Vec<(PathBuf, FolderRule)> {
    let elsewhere = rules.iter().filter(|(path, rule)| !real.starts_with(case_folded(rule_folder(path, *rule))));
    let resolved = elsewhere.filter_map(|(path, rule)| {
        let folder = std::fs::canonicalize(rule_folder(path, *rule)).ok()?;
        let rule = if *rule == FolderRule::TrustParent { FolderRule::TrustFolder } else { *rule };
        Some((case_folded(&folder), rule))
    });
    resolved.collect()
}

/// Whether any rule, for these paths or their parents, is `DoNotTrust`.
fn forbids(rules: &[(PathBuf, FolderRule)], places: &[&Path]) -> bool {
    let forbidden = |path: &Path| places.iter().any(|place| place.starts_with(case_folded(path)));
    rules.iter().any(|(path, rule)| *rule == FolderRule::DoNotTrust && forbidden(path))
}

/// Returns the path for comparison, in lower case on systems that ignore case.
fn case_folded(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) if cfg!(any(target_os = "macos", windows)) => PathBuf::from(text.to_lowercase()),
        // A name that is not UTF-8 is equal only to itself.
        _ => path.to_owned(),
    }
}

/// Records the user's decision about a folder.
///
/// # Errors
/// If the file does not parse, or cannot be read or written; it is unchanged then.
pub fn set_folder_trust(paths: &ConfigPaths, folder: &Path, rule: FolderRule) -> Result<(), EditError> {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = case_folded(&real).into_os_string().into_string().map_err(|name| EditError::NotUtf8(name.into()))?;
    let change = SettingsChange::Set(vec![name], Value::String(rule.as_str().to_owned()));
    let file = &paths.trusted_folders;
    ledger::change_trust_record(paths, file, || edit::rewrite_private(file, |text| edited_text(file, text, &change)))
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_wins() {
        let rules: Vec<_> = [
            ("/a", FolderRule::TrustFolder),
            ("/a/no", FolderRule::DoNotTrust),
            ("/a/no/yes", FolderRule::TrustFolder),
            ("/p/child", FolderRule::TrustParent),
            ("/p/bad", FolderRule::DoNotTrust),
            ("/ab", FolderRule::DoNotTrust),
        ]
        .map(|(path, rule)| (PathBuf::from(path), rule))
        .to_vec();
        let trusted = |path: &str| match nearest_rule(&rules, Path::new(path)) {
            FolderTrust::Trusted(_) => Some(true),
            FolderTrust::Distrusted(_) => Some(false),
            FolderTrust::Unknown => None,
        };
        assert_eq!(trusted("/a"), Some(true));
        assert_eq!(trusted("/a/b/c"), Some(true));
        assert_eq!(trusted("/a/no/b"), Some(false));
        assert_eq!(trusted("/a/no/yes/b"), Some(true));
        assert_eq!(trusted("/p"), Some(true));
        assert_eq!(trusted("/p/other"), Some(true));
        assert_eq!(trusted("/p/bad/x"), Some(false));
        assert_eq!(trusted("/ab/c"), Some(false));
        assert_eq!(trusted("/abc"), None);
    }
}
