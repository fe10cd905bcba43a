//! Reads and writes the values of an extension's settings: in its `.env`, which only the user may read, and in a
//! trusted project's `.env`.

use std::path::{Path, PathBuf};

use super::manifest::ExtensionSetting;
use crate::dangerous_env::is_dangerous_variable;
use crate::edit::{self, EditError};
use crate::env_file;
use crate::file::read_text;

pub(crate) const VALUES_FILE: &str = ".env";

/// Where the values of an extension's settings apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueScope {
    /// In every project of the user.
    User,
    /// In this project only.
    Workspace,
}

/// Returns the effective values: the project's if one is given, else the user's, else the default.
pub(super) fn effective_values(
    settings: &[ExtensionSetting],
    home: &Path,
    project: Option<&Path>,
) -> Vec<(String, String)> {
    let user = read_env_variables(&home.join(VALUES_FILE));
    let mut own = project.map(|project| read_env_variables(&project.join(VALUES_FILE))).unwrap_or_default();
    own.retain(|(name, _)| !is_dangerous_variable(name));
    let value = |name: &str| own.iter().chain(&user).find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let of = |setting: &ExtensionSetting| value(&setting.variable).or_else(|| setting.default.clone());
    settings.iter().filter_map(|setting| Some((setting.variable.clone(), of(setting)?))).collect()
}

fn read_env_variables(file: &Path) -> Vec<(String, String)> {
    read_text(file).ok().flatten().map(|text| env_file::parse_env_text(&text)).unwrap_or_default()
}

/// Reads the values in a folder's `.env`.
pub fn read_extension_values(folder: &Path) -> Vec<(String, String)> {
    read_env_variables(&folder.join(VALUES_FILE))
}

/// Sets values in a folder's `.env` and removes those that are empty. Other lines stay as they are; only the user may
/// read the file from then on.
///
/// # Errors
/// If a value can't be stored, or the file can't be read or written; it is unchanged then.
pub fn write_extension_values(folder: &Path, values: &[(String, String)]) -> Result<PathBuf, EditError> {
    let file = folder.join(VALUES_FILE);
    edit::rewrite_private(&file, |text| with_values(text, values))?;
    Ok(file)
}

/// Returns the text of a `.env` with these values set.
fn with_values(text: &str, values: &[(String, String)]) -> Result<String, EditError> {
    let is_set = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("export ").unwrap_or(line);
        line.split_once('=').is_some_and(|(name, _)| values.iter().any(|(known, _)| known == name.trim()))
    };
    let mut lines: Vec<String> = text.lines().filter(|line| !is_set(line)).map(str::to_owned).collect();
    for (name, value) in values.iter().filter(|(_, value)| !value.is_empty()) {
        lines.push(env_line(name, value).ok_or_else(|| EditError::Value(name.clone()))?);
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

/// Returns a line that reads back as this value, or `None` if no quoting allows that.
fn env_line(name: &str, value: &str) -> Option<String> {
    let quotes = ["", "'", "\"", "`"];
    let lines = quotes.into_iter().map(|quote| format!("{name}={quote}{value}{quote}"));
    let reads_back = |line: &String| {
        let read = env_file::parse_env_text(&format!("{line}\n"));
        matches!(read.as_slice(), [(read_name, read)] if read_name == name && read == value)
    };
    // No key has a control character, and other programs would read a line break as a new line.
    lines.into_iter().find(reads_back).filter(|_| !value.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_as_they_were_typed() {
        for value in [
            "plain",
            "two words",
            "a#b",
            "it's",
            "a\"b",
            "$HOME",
            "ends\\",
            "x=y",
            "ü",
            "\\n",
            "'`",
            "sk-1/2+3==",
            " x ",
        ] {
            let text = with_values("# mine\nOTHER=1\nK=old\n", &[("K".to_owned(), value.to_owned())]).unwrap();
            let read = env_file::parse_env_text(&text);
            assert_eq!(read.iter().find(|(name, _)| name == "K").unwrap().1, value, "{text}");
            assert!(text.starts_with("# mine\nOTHER=1\n"), "{text}");
        }
        assert_eq!(with_values("K=1\nL=2\n", &[("K".to_owned(), String::new())]).unwrap(), "L=2\n");
    }

    #[test]
    fn no_value_becomes_another_line() {
        for value in ["a\nPATH=/evil", "a\rb", "\u{1b}[2J"] {
            assert!(with_values("", &[("K".to_owned(), value.to_owned())]).is_err(), "{value:?}");
        }
    }
}
