//! Policy files (`--policy FILE`): rules in TOML on which tools run, are refused, or need asking.

use std::path::{Path, PathBuf};

use hookwright_tools::canonical_name;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::approval::{command_of, starts_with_command};

/// Rules, strongest first.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// A rule's word on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicyDecision {
    /// It runs unasked.
    Allow,
    /// It does not run; why.
    Deny(Option<String>),
    /// The user is asked.
    AskUser,
}

/// A policy file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It cannot be read.
    #[error("can't read the policy {file}: {cause}")]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It is not a policy.
    #[error("{file} is no policy: {cause}")]
    Parse {
        /// The file.
        file: PathBuf,
        /// Why, with line and column.
        cause: Box<toml::de::Error>,
    },
}

#[derive(Clone, Debug, Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    tool_name: Names,
    #[serde(default)]
    command_prefix: Names,
    decision: Word,
    #[serde(default)]
    priority: f64,
    deny_message: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Allow,
    Deny,
    AskUser,
}

/// One name or several; none means any.
#[derive(Clone, Debug, Default)]
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(name) => Ok(Names(vec![name])),
            toml::Value::Array(names) => {
                let names = names.into_iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                names.map(Names).ok_or_else(|| serde::de::Error::custom("expected a name or an array of names"))
            }
            _ => Err(serde::de::Error::custom("expected a name or an array of names")),
        }
    }
}

impl Policy {
    /// Reads policy files; of rules with one priority the earlier wins.
    ///
    /// # Errors
    /// If a file cannot be read or understood: a policy must never be half in force.
    pub fn load(files: &[PathBuf]) -> Result<Policy, PolicyError> {
        let mut rules = Vec::new();
        for file in files {
            rules.extend(parse(file)?);
        }
        rules.sort_by(|one: &Rule, other: &Rule| other.priority.total_cmp(&one.priority));
        Ok(Policy { rules })
    }

    pub(crate) fn decide(&self, tool: &str, args: &Map<String, Value>) -> Option<PolicyDecision> {
        let rule = self.rules.iter().find(|rule| rule.matches(tool, args))?;
        Some(match rule.decision {
            Word::Allow => PolicyDecision::Allow,
            Word::Deny => PolicyDecision::Deny(rule.deny_message.clone()),
            Word::AskUser => PolicyDecision::AskUser,
        })
    }
}

fn parse(file: &Path) -> Result<Vec<Rule>, PolicyError> {
    let text = std::fs::read_to_string(file).map_err(|cause| PolicyError::Read { file: file.to_owned(), cause })?;
    let parsed: File =
        toml::from_str(&text).map_err(|cause| PolicyError::Parse { file: file.to_owned(), cause: Box::new(cause) })?;
    Ok(parsed.rule)
}

impl Rule {
    fn matches(&self, tool: &str, args: &Map<String, Value>) -> bool {
        let names_tool = |name: &String| match name.strip_suffix('*') {
            Some(prefix) => tool.starts_with(prefix),
            None => canonical_name(name) == tool,
        };
        let tool_fits = self.tool_name.0.is_empty() || self.tool_name.0.iter().any(names_tool);
        let command_fits = self.command_prefix.0.is_empty()
            || command_of(tool, args)
                .is_some_and(|command| self.command_prefix.0.iter().any(|prefix| starts_with_command(command, prefix)));
        tool_fits && command_fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_rule_decides() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("p.toml");
        let text = "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\n\
                    [[rule]]\ntoolName = [\"write_file\", \"EditTool\"]\ndecision = \"deny\"\npriority = 10\ndenyMessage = \"no\"\n\
                    [[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git\"\ndecision = \"allow\"\npriority = 5\n";
        std::fs::write(&file, text).unwrap();
        let policy = Policy::load(std::slice::from_ref(&file)).unwrap();
        assert_eq!(policy.decide("replace", &Map::new()), Some(PolicyDecision::Deny(Some("no".into()))));
        assert_eq!(policy.decide("glob", &Map::new()), Some(PolicyDecision::AskUser));
        let command = Map::from_iter([("command".to_owned(), Value::from("git log"))]);
        assert_eq!(policy.decide("run_shell_command", &command), Some(PolicyDecision::Allow));
        std::fs::write(&file, "[[rule]]\ndecision = \"maybe\"").unwrap();
        assert!(Policy::load(&[file]).is_err());
    }
}
