//! The format of a hook-test file, and the search for such files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_hooks::{EventKind, FailureCause};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// A hook-test file: its setup and its cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookTestFile {
    /// Settings to use instead of the project's own, relative to this file.
    pub(crate) settings: Option<PathBuf>,
    /// Whether the settings are the user's: a project's may not approve calls.
    #[serde(default)]
    pub(crate) user: bool,
    /// Programs without which the file is skipped.
    #[serde(default)]
    pub(crate) requires: Vec<String>,
    #[serde(default)]
    pub(crate) setup: HookTestSetup,
    #[serde(rename = "case")]
    pub(crate) cases: Vec<HookTestCase>,
}

/// What is put into the project of each case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookTestSetup {
    /// Whether the project is a git repository with one commit.
    pub(crate) git: bool,
    /// Project path → file or folder to copy, relative to this file.
    pub(crate) copy: BTreeMap<String, PathBuf>,
    /// Project path → content.
    pub(crate) files: BTreeMap<String, String>,
    /// Additional environment variables of the hooks.
    pub(crate) env: BTreeMap<String, String>,
}

/// One case: an event, its input, and the expected outcome.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookTestCase {
    pub(crate) name: String,
    pub(crate) event: EventKind,
    /// Agents whose dialects must give the same result.
    #[serde(default, rename = "as")]
    pub(crate) hosts: Vec<String>,
    /// The only hook to run; without it, every matching hook runs.
    pub(crate) hook: Option<String>,
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) args: toml::Table,
    pub(crate) prompt: Option<String>,
    #[serde(default)]
    pub(crate) input: toml::Table,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) expect: HookTestExpectation,
}

/// The expected outcome; only the fields that are set are compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookTestExpectation {
    pub(crate) decision: Option<ExpectedDecision>,
    /// Whether a rule approves the call, so that the user is not asked.
    pub(crate) approved: Option<bool>,
    /// Whether the call runs confined where the machine can do that.
    pub(crate) confined: Option<bool>,
    pub(crate) reason: Option<String>,
    pub(crate) reason_contains: ExpectedTexts,
    pub(crate) message: Option<String>,
    pub(crate) message_contains: ExpectedTexts,
    pub(crate) context_contains: ExpectedTexts,
    pub(crate) tool_input: toml::Table,
    pub(crate) output: toml::Table,
    pub(crate) exit_code: Option<i32>,
    /// The cause for which a hook fails; without it, every hook that runs decides itself.
    pub(crate) failure: Option<FailureCause>,
    pub(crate) runs: Option<usize>,
    pub(crate) file_contains: BTreeMap<String, ExpectedTexts>,
    pub(crate) stdout_contains: ExpectedTexts,
    pub(crate) stderr_contains: ExpectedTexts,
}

impl HookTestExpectation {
    /// Returns the failure that the case expects: the one that it names, or the one that its exit code stands for.
    pub(crate) fn expected_failure(&self) -> Option<FailureCause> {
        let by_exit_code = self.exit_code.filter(|code| !matches!(code, 0 | 2)).map(|_| FailureCause::Exit);
        self.failure.or(by_exit_code)
    }
}

/// The merged decision, with `stop` besides allow, confine, ask and deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedDecision {
    Allow,
    Confine,
    Ask,
    Deny,
    Stop,
}

impl ExpectedDecision {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ExpectedDecision::Allow => "allow",
            ExpectedDecision::Confine => "confine",
            ExpectedDecision::Ask => "ask",
            ExpectedDecision::Deny => "deny",
            ExpectedDecision::Stop => "stop",
        }
    }
}

/// A text, or a list of texts.
#[derive(Debug, Default)]
pub(crate) struct ExpectedTexts(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for ExpectedTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExpectedTextsVisitor;
        impl<'de> Visitor<'de> for ExpectedTextsVisitor {
            type Value = ExpectedTexts;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or an array of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ExpectedTexts, E> {
                Ok(ExpectedTexts(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ExpectedTexts, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(ExpectedTexts(texts))
            }
        }
        deserializer.deserialize_any(ExpectedTextsVisitor)
    }
}

/// The size limit of a hook-test file.
pub(crate) const MAX_TEST_FILE_BYTES: u64 = 16 << 20;

impl HookTestCase {
    /// Returns the arguments of the tool call as JSON.
    pub(crate) fn args_json(&self) -> serde_json::Map<String, serde_json::Value> {
        match super::check::toml_to_json(&self.args) {
            serde_json::Value::Object(args) => args,
            _ => serde_json::Map::new(),
        }
    }
}

impl HookTestFile {
    /// Reads a file; an error says where in the file it is.
    pub(crate) fn read(path: &Path) -> anyhow::Result<HookTestFile> {
        let text = hookwright_disk::read_text(path, MAX_TEST_FILE_BYTES)
            .with_context(|| format!("can't read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is not a hook test", path.display()))
    }
}

/// Returns the hook tests at a path: the file itself, or all below a directory, sorted.
pub(crate) fn find_test_files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let metadata = path.metadata().with_context(|| format!("can't read {}", path.display()))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    collect_test_files(path, &mut found).with_context(|| format!("can't look for hook tests in {}", path.display()))?;
    found.sort();
    Ok(found)
}

fn collect_test_files(directory: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // Symbolic links are not followed: a loop of them would never end.
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != "node_modules" && entry.file_name() != ".git" {
            collect_test_files(&entry.path(), found)?;
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(".hooktest.toml") {
            found.push(entry.path());
        }
    }
    Ok(())
}
