//! Edits of real files: permissions, links, refused changes.

use hookwright_settings::WriteError;
use hookwright_settings::edit::{DisabledList, EditError, Switch, rewrite, set_disabled, set_value};
use hookwright_testkit::fs;
use serde_json::json;

use super::fixture::SettingsFixture;

#[test]
fn a_missing_file_is_created_with_its_directory() {
    let place = SettingsFixture::new();
    let file = place.home().join("new/deep/settings.json");
    assert!(set_disabled(&file, DisabledList::Hooks, &["a"], Switch::Disable).unwrap());
    assert!(!set_disabled(&file, DisabledList::Hooks, &["a"], Switch::Disable).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"hooksConfig\": {\n    \"disabled\": [\"a\"]\n  }\n}\n");
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_broken_file_is_never_overwritten() {
    let place = SettingsFixture::new();
    let file = place.write_user_settings("{ \"a\": 1,, }");
    let error = set_value(&file, &["b"], json!(1)).unwrap_err();
    assert!(matches!(&error, EditError::Broken(wrong) if wrong.span.as_ref().unwrap().line == 1), "{error}");
    assert!(error.hint().is_some() && error.diagnostic().is_some());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"a\": 1,, }");
}

#[cfg(unix)]
#[test]
fn mode_and_links_stay() {
    use std::os::unix::fs::PermissionsExt;
    let place = SettingsFixture::new();
    let real = place.write("dotfiles/gemini.json", "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = place.home().join(".gemini/settings.json");
    std::os::unix::fs::symlink("../dotfiles/gemini.json", &link).unwrap();
    set_disabled(&link, DisabledList::Hooks, &["a"], Switch::Disable).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"a\""));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_dangling_link_gets_its_target() {
    let place = SettingsFixture::new();
    let link = place.home().join(".gemini/settings.json");
    std::os::unix::fs::symlink("elsewhere.json", &link).unwrap();
    set_disabled(&link, DisabledList::Hooks, &["a"], Switch::Disable).unwrap();
    assert!(place.home().join(".gemini/elsewhere.json").is_file());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_read_only_file_is_refused() {
    let place = SettingsFixture::new();
    let file = place.write_user_settings("{}");
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let error = set_disabled(&file, DisabledList::Hooks, &["a"], Switch::Disable).unwrap_err();
    assert!(matches!(error, EditError::Write(WriteError::ReadOnly(_))), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
}

#[test]
fn a_directory_in_the_way_is_a_clear_error() {
    let place = SettingsFixture::new();
    let file = place.home().join(".gemini/settings.json");
    fs::create_dir(&file).unwrap();
    let error = set_disabled(&file, DisabledList::Hooks, &["a"], Switch::Disable).unwrap_err();
    assert!(matches!(error, EditError::Read(_)), "{error}");
    let below_a_file = place.user_file_in_the_way();
    let error = set_disabled(&below_a_file, DisabledList::Hooks, &["a"], Switch::Disable).unwrap_err();
    assert!(matches!(error, EditError::Write(WriteError::Write { .. })), "{error}");
}

#[test]
fn a_refused_rewrite_changes_nothing() {
    let place = SettingsFixture::new();
    let file = place.write_user_settings("{}");
    let refusal = || EditError::Write(WriteError::ReadOnly(file.clone()));
    assert!(rewrite(&file, |_| Err(refusal())).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
}

impl SettingsFixture {
    /// Returns a path whose parent is a file.
    fn user_file_in_the_way(&self) -> std::path::PathBuf {
        self.write("file", "x").join("settings.json")
    }
}
