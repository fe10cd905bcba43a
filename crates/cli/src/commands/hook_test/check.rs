//! Compares the outcome of a case with its expectations. It reads no files but those that the case names.

use std::path::Path;

use hookwright_hooks::{EventKind, FailureCause, Outcome, RunReport};
use serde_json::Value;

use super::file::{ExpectedDecision, ExpectedTexts, HookTestExpectation};

/// The size limit of a file that is checked.
const MAX_CHECKED_FILE_BYTES: u64 = 16 << 20;

/// One expectation that did not hold.
#[derive(Debug, serde::Serialize)]
pub(crate) struct ExpectationFailure {
    /// The name of the expectation.
    pub(crate) what: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

/// Compares everything that the case names.
pub(crate) fn check(
    expect: &HookTestExpectation,
    kind: EventKind,
    outcome: &Outcome<()>,
    project: &Path,
) -> Vec<ExpectationFailure> {
    let mut failures = ExpectationFailures { project: project.to_string_lossy().into_owned(), list: Vec::new() };
    let answer = outcome.merged.to_json(kind);
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let specific = answer.get("hookSpecificOutput").cloned().unwrap_or(Value::Null);
    let decision = match answer.get("decision").and_then(Value::as_str) {
        Some(word) => word.to_owned(),
        None => ExpectedDecision::Stop.as_str().to_owned(),
    };
    if let Some(wanted) = expect.decision {
        failures.expect_equal("decision", wanted.as_str(), &decision);
    }
    if let Some(wanted) = expect.approved {
        let approved = !outcome.merged.approved_by.is_empty();
        failures.expect_equal("approved", &wanted.to_string(), &approved.to_string());
    }
    if let Some(wanted) = expect.confined {
        let confined = !outcome.merged.confinements.is_empty() || !outcome.merged.enforced.is_empty();
        failures.expect_equal("confined", &wanted.to_string(), &confined.to_string());
    }
    let reason = if outcome.merged.answer.stop { text("stopReason") } else { text("reason") };
    failures.expect_equal_if_set("reason", expect.reason.as_deref(), &reason);
    failures.expect_contains("reason", &expect.reason_contains, &reason);
    failures.expect_equal_if_set("message", expect.message.as_deref(), &text("systemMessage"));
    failures.expect_contains("message", &expect.message_contains, &text("systemMessage"));
    let context = specific["additionalContext"].as_str().unwrap_or_default().to_owned();
    failures.expect_contains("context", &expect.context_contains, &context);
    failures.expect_subset("tool_input", &expect.tool_input, &specific["tool_input"]);
    failures.expect_subset("output", &expect.output, &specific);
    if let Some(runs) = expect.runs {
        failures.expect_equal("runs", &runs.to_string(), &outcome.runs.len().to_string());
    }
    check_single_run(expect, outcome, &mut failures);
    check_hook_failures(expect.expected_failure(), &outcome.runs, &mut failures);
    for (file, texts) in &expect.file_contains {
        let content =
            hookwright_disk::read(&project.join(file), MAX_CHECKED_FILE_BYTES, hookwright_disk::SymlinkPolicy::Follow)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        failures.expect_contains(&format!("file {file}"), texts, &content.unwrap_or_else(|error| format!("({error})")));
    }
    failures.list
}

/// Checks what is expected of a process, which requires that exactly one hook ran.
fn check_single_run(expect: &HookTestExpectation, outcome: &Outcome<()>, failures: &mut ExpectationFailures) {
    let about_one =
        expect.exit_code.is_some() || !expect.stdout_contains.0.is_empty() || !expect.stderr_contains.0.is_empty();
    if !about_one {
        return;
    }
    let [run] = outcome.runs.as_slice() else {
        failures.expect_equal("runs (for exit_code, stdout and stderr)", "1", &outcome.runs.len().to_string());
        return;
    };
    if let Some(code) = expect.exit_code {
        let actual = run.exit_code.map_or_else(|| run.status.as_str().to_owned(), |code| code.to_string());
        failures.expect_equal("exit_code", &code.to_string(), &actual);
    }
    failures.expect_contains("stdout", &expect.stdout_contains, &run.stdout.text);
    failures.expect_contains("stderr", &expect.stderr_contains, &run.stderr.text);
}

/// Checks that hooks fail only as expected: the decision of a hook that failed says nothing about the hook.
fn check_hook_failures(expected: Option<FailureCause>, runs: &[RunReport], failures: &mut ExpectationFailures) {
    let failed: Vec<(&RunReport, FailureCause)> = runs.iter().filter_map(|run| Some((run, run.failure?))).collect();
    for (run, cause) in failed.iter().filter(|(_, cause)| Some(*cause) != expected) {
        let expected = expected.map_or("none", FailureCause::as_str);
        let actual = format!("{}: {}", cause.as_str(), run.error.as_deref().unwrap_or_default());
        failures.expect_equal(&format!("failure of hook {}", run.hook), expected, &actual);
    }
    if let (Some(expected), true) = (expected, failed.is_empty()) {
        failures.expect_equal("failure", expected.as_str(), "none");
    }
}

struct ExpectationFailures {
    project: String,
    list: Vec<ExpectationFailure>,
}

impl ExpectationFailures {
    fn expect_equal(&mut self, what: &str, expected: &str, actual: &str) {
        let expected = expected.replace("${PROJECT}", &self.project);
        if expected != actual {
            self.list.push(ExpectationFailure { what: what.to_owned(), expected, actual: actual.to_owned() });
        }
    }

    fn expect_equal_if_set(&mut self, what: &str, expected: Option<&str>, actual: &str) {
        expected.into_iter().for_each(|expected| self.expect_equal(what, expected, actual));
    }

    fn expect_contains(&mut self, what: &str, parts: &ExpectedTexts, actual: &str) {
        for part in &parts.0 {
            let part = part.replace("${PROJECT}", &self.project);
            if !actual.contains(&part) {
                let actual = if actual.is_empty() { "(nothing)" } else { actual };
                let expected = format!("…{part}…");
                self.list.push(ExpectationFailure {
                    what: format!("{what} contains"),
                    expected,
                    actual: actual.to_owned(),
                });
            }
        }
    }

    fn expect_subset(&mut self, what: &str, expected: &toml::Table, actual: &Value) {
        if expected.is_empty() {
            return;
        }
        let expected = substitute_project(&toml_to_json(expected), &self.project);
        if !is_subset(&expected, actual) {
            let shown = |value: &Value| format!("{value:#}");
            self.list.push(ExpectationFailure {
                what: what.to_owned(),
                expected: shown(&expected),
                actual: shown(actual),
            });
        }
    }
}

/// Whether every key of an expected object is in the actual one with its value; arrays and other values must be equal.
fn is_subset(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().all(|(key, value)| actual.get(key).is_some_and(|actual| is_subset(value, actual)))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        (expected, actual) => expected == actual,
    }
}

/// Converts a table to JSON; dates become strings.
pub(super) fn toml_to_json(table: &toml::Table) -> Value {
    fn value(toml: &toml::Value) -> Value {
        match toml {
            toml::Value::String(text) => Value::String(text.clone()),
            toml::Value::Integer(number) => Value::from(*number),
            toml::Value::Float(number) => Value::from(*number),
            toml::Value::Boolean(boolean) => Value::Bool(*boolean),
            toml::Value::Datetime(date) => Value::String(date.to_string()),
            toml::Value::Array(list) => list.iter().map(value).collect(),
            toml::Value::Table(table) => toml_to_json(table),
        }
    }
    Value::Object(table.iter().map(|(key, toml)| (key.clone(), value(toml))).collect())
}

/// Replaces `${PROJECT}` in every string.
pub(super) fn substitute_project(value: &Value, project: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${PROJECT}", project)),
        Value::Array(list) => list.iter().map(|value| substitute_project(value, project)).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), substitute_project(value, project))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_subset_is_checked_key_by_key() {
        let actual = json!({"a": {"b": 1.0, "c": 2}, "d": [1]});
        assert!(is_subset(&json!({"a": {"b": 1}}), &actual));
        assert!(!is_subset(&json!({"a": {"x": 1}}), &actual));
        assert!(!is_subset(&json!({"d": []}), &actual));
    }
}
