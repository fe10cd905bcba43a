//! Claude Code's hooks, converted: events, tool names in matchers, timeouts and variables. Pure but for
//! [`read_settings`]; what has no counterpart is told in notes, not guessed.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, EventKind, Subject, claude_tool};
use serde_json::{Map, Value};

use crate::edit::{Change, EditError, HookEntry, edited_text};
use crate::file::read_text;
use crate::json::parse_map;
use crate::paths::Paths;

/// Converted hooks, and what was left behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Migration {
    /// The hooks, in the order of the files.
    pub entries: Vec<HookEntry>,
    /// What has no counterpart, and names that were kept as they are.
    pub notes: Vec<String>,
    /// Files that could not be parsed.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where Claude Code keeps its settings: two in the project, one in the home directory.
pub fn settings_files(paths: &Paths, project: &Path) -> Vec<PathBuf> {
    vec![
        project.join(".claude/settings.json"),
        project.join(".claude/settings.local.json"),
        paths.home.join(".claude/settings.json"),
    ]
}

/// The texts of those files that are there.
pub fn read_settings(files: &[PathBuf]) -> (Vec<(PathBuf, String)>, Vec<Diagnostic>) {
    let mut texts = Vec::new();
    let mut diagnostics = Vec::new();
    for file in files {
        match read_text(file) {
            Ok(text) => texts.extend(text.map(|text| (file.clone(), text))),
            Err(error) => diagnostics.push(error.diagnostic()),
        }
    }
    (texts, diagnostics)
}

/// Converts settings texts.
pub fn migrate<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Migration {
    let mut migration = Migration::default();
    for (file, text) in files {
        match parse_map(file, text) {
            Ok(settings) => Converter { file, migration: &mut migration }.settings(&settings),
            Err(wrong) => migration.diagnostics.push(*wrong),
        }
    }
    migration
}

/// A settings text with the migrated hooks added; what is there stays, and nothing is doubled.
///
/// # Errors
/// If the text does not parse, or holds something else where hooks belong.
pub fn merged_text(file: &Path, text: &str, migration: &Migration) -> Result<String, EditError> {
    edited_text(file, text, &Change::AddHooks(migration.entries.clone()))
}

struct Converter<'a> {
    file: &'a Path,
    migration: &'a mut Migration,
}

impl Converter<'_> {
    fn note(&mut self, text: impl std::fmt::Display) {
        let note = format!("{}: {text}", self.file.display());
        if !self.migration.notes.contains(&note) {
            self.migration.notes.push(note);
        }
    }

    fn settings(&mut self, settings: &Map<String, Value>) {
        if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
            self.note("`disableAllHooks` is not taken over; set `hooksConfig.enabled` to false for the same");
        }
        for (name, definitions) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let Some(event) = EventKind::from_name(name).or_else(|| EventKind::from_foreign_name(name)) else {
                self.note(format!("event `{name}` has no counterpart; its hooks are left out"));
                continue;
            };
            for definition in definitions.as_array().into_iter().flatten() {
                self.definition(name, event, definition);
            }
        }
    }

    fn definition(&mut self, name: &str, event: EventKind, definition: &Value) {
        let hooks: Vec<Value> = definition
            .get("hooks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|hook| self.hook(name, hook))
            .collect();
        if hooks.is_empty() {
            return;
        }
        let matcher = definition.get("matcher").and_then(Value::as_str).unwrap_or_default();
        for matcher in self.matchers(name, event, matcher) {
            let mut definition = Map::new();
            definition.extend(matcher.map(|matcher| ("matcher".to_owned(), Value::String(matcher))));
            definition.insert("hooks".to_owned(), Value::Array(hooks.clone()));
            self.migration.entries.push(HookEntry { event, definition });
        }
    }

    /// The matchers that together mean what this one meant; none if it cannot match here.
    fn matchers(&mut self, name: &str, event: EventKind, matcher: &str) -> Vec<Option<String>> {
        let matcher = matcher.trim();
        if matcher.is_empty() || matcher == "*" {
            return vec![None];
        }
        match event.info().subject {
            Subject::Nothing => {
                self.note(format!("`{name}` has no matcher here; `{matcher}` is dropped"));
                vec![None]
            }
            Subject::ToolName => vec![Some(self.tool_matcher(name, matcher))],
            // These are compared exactly here, so a choice becomes several definitions.
            Subject::Field { values, .. } => {
                let mut matchers = Vec::new();
                for word in matcher.split('|').map(str::trim) {
                    let known = if word == "permission_prompt" { "ToolPermission" } else { word };
                    if values.contains(&known) {
                        matchers.push(Some(known.to_owned()));
                    } else {
                        self.note(format!("`{name}` never fires for `{word}` here; that matcher is left out"));
                    }
                }
                matchers
            }
        }
    }

    /// Every tool name in the matcher in this vocabulary.
    fn tool_matcher(&mut self, event: &str, matcher: &str) -> String {
        let mut out = String::with_capacity(matcher.len() + 16);
        let mut rest = matcher;
        let in_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        while !rest.is_empty() {
            let end = rest.find(|char: char| !in_name(char)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match claude_tool(word) {
                Some(tool) => out.push_str(tool),
                None => {
                    if word.starts_with(|char: char| char.is_ascii_uppercase()) {
                        let place = format!("the matcher `{matcher}` of `{event}`");
                        self.note(format!("tool `{word}` in {place} has no counterpart; it is kept as it is"));
                    }
                    out.push_str(word);
                }
            }
            let other = after.find(in_name).unwrap_or(after.len());
            out.push_str(&after[..other]);
            rest = &after[other..];
        }
        out
    }

    fn hook(&mut self, event: &str, hook: &Value) -> Option<Value> {
        let kind = hook.get("type").and_then(Value::as_str).unwrap_or_default();
        let command = hook.get("command").and_then(Value::as_str).filter(|command| !command.trim().is_empty());
        let Some(command) = command.filter(|_| kind == "command") else {
            self.note(format!("a hook of type `{kind}` on `{event}` has no counterpart; it is left out"));
            return None;
        };
        for variable in ["CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE"] {
            if command.contains(variable) {
                self.note(format!("`{command}` uses ${variable}, which is not set here"));
            }
        }
        let mut new = Map::new();
        new.insert("type".to_owned(), Value::from("command"));
        new.insert("command".to_owned(), Value::String(command.replace("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")));
        if let Some(seconds) = hook.get("timeout").and_then(Value::as_f64) {
            new.insert("timeout".to_owned(), milliseconds(seconds));
        }
        for key in hook.as_object().into_iter().flat_map(Map::keys) {
            if !["type", "command", "timeout"].contains(&key.as_str()) {
                self.note(format!("`{key}` of `{command}` has no counterpart; it is left out"));
            }
        }
        Some(Value::Object(new))
    }
}

fn milliseconds(seconds: f64) -> Value {
    // Beyond the range of a whole number there is no timeout that anybody means.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float's cast saturates")]
    Value::from((seconds * 1000.0).round().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn migrated(settings: &Value) -> Migration {
        migrate([(Path::new("c.json"), settings.to_string().as_str())])
    }

    #[test]
    fn events_tools_timeouts_and_variables_are_converted() {
        let migration = migrated(&json!({"hooks": {
            "PreToolUse": [{"matcher": "Bash|Edit|MultiEdit|mcp__git__push", "hooks": [
                {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/x.sh ${CLAUDE_PROJECT_DIR}", "timeout": 1.5}
            ]}],
            "Stop": [{"hooks": [{"type": "command", "command": "stop"}]}],
            "SubagentStop": [{"matcher": "*", "hooks": [{"type": "command", "command": "sub"}]}],
            "SessionStart": [{"matcher": "startup|compact|resume", "hooks": [{"type": "command", "command": "s"}]}],
        }}));
        let entries: Vec<_> =
            migration.entries.iter().map(|entry| (entry.event, Value::Object(entry.definition.clone()))).collect();
        assert_eq!(
            entries,
            [
                (
                    EventKind::BeforeTool,
                    json!({"matcher": "run_shell_command|replace|MultiEdit|mcp__git__push", "hooks": [
                        {"type": "command", "command": "\"$GEMINI_PROJECT_DIR\"/x.sh ${GEMINI_PROJECT_DIR}", "timeout": 1500}
                    ]})
                ),
                (EventKind::AfterAgent, json!({"hooks": [{"type": "command", "command": "stop"}]})),
                (EventKind::AfterAgent, json!({"hooks": [{"type": "command", "command": "sub"}]})),
                (
                    EventKind::SessionStart,
                    json!({"matcher": "startup", "hooks": [{"type": "command", "command": "s"}]})
                ),
                (EventKind::SessionStart, json!({"matcher": "resume", "hooks": [{"type": "command", "command": "s"}]})),
            ]
        );
        assert_eq!(migration.notes.len(), 2, "{:?}", migration.notes);
    }

    #[test]
    fn what_has_no_counterpart_is_told() {
        let migration = migrated(&json!({"disableAllHooks": true, "hooks": {
            "TaskCompleted": [{"hooks": [{"type": "command", "command": "x"}]}],
            "PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "think"}, {"type": "command", "command": "y", "async": true}]}],
            "UserPromptSubmit": [{"matcher": "x", "hooks": [{"type": "command", "command": "z"}]}],
        }}));
        assert_eq!(migration.entries.len(), 2);
        let notes = migration.notes.join("\n");
        for word in ["disableAllHooks", "TaskCompleted", "type `prompt`", "`async`", "no matcher here"] {
            assert!(notes.contains(word), "{word}: {notes}");
        }
    }

    #[test]
    fn hooks_are_added_without_overwriting_or_doubling() {
        let migration = migrated(
            &json!({"hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "fmt"}]}]}}),
        );
        let there = "{\n  // mine\n  \"hooks\": { \"AfterTool\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"own\" } ] } ] }\n}\n";
        let once = merged_text(Path::new("s"), there, &migration).unwrap();
        assert!(once.contains("// mine") && once.contains("own") && once.contains("\"fmt\""), "{once}");
        assert_eq!(merged_text(Path::new("s"), &once, &migration).unwrap(), once);
        assert!(merged_text(Path::new("s"), "{ broken", &migration).is_err());
    }

    #[test]
    fn a_broken_file_does_not_stop_the_others() {
        let good = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "s"}]}]}}"#;
        let migration = migrate([(Path::new("bad"), "{"), (Path::new("good"), good)]);
        assert_eq!((migration.entries.len(), migration.diagnostics.len()), (1, 1));
    }
}
