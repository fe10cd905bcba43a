//! Migrates Claude Code's hooks: events, matchers and timeouts are converted, and the scripts keep their dialect.
//! Only [`read_settings`] reads files. What has no counterpart is reported in notes.

use std::path::{Path, PathBuf};

use hookwright_hooks::dialect::claude::{CallStatus, event_by_name, looks_like_milliseconds, matcher_values};
use hookwright_hooks::{Diagnostic, Dialect, EventKind, MatcherSubject, joined_command, tools_named};
use serde_json::{Map, Value};

use crate::edit::{EditError, HookDefinitionEntry, SettingsChange, edited_text};
use crate::file::read_text;
use crate::json::parse_map;
use crate::paths::ConfigPaths;

/// Converted hooks, with notes on what was not converted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaudeMigration {
    /// The converted hooks, in the order of the files.
    pub entries: Vec<HookDefinitionEntry>,
    /// Each hook before and after the conversion.
    pub hooks: Vec<MigratedHook>,
    /// Notes on hooks and names without a counterpart.
    pub notes: Vec<String>,
    /// Problems of files that could not be read or parsed.
    pub diagnostics: Vec<Diagnostic>,
}

/// One hook before and after the conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct MigratedHook {
    /// Settings file that holds the hook.
    pub file: PathBuf,
    /// Claude Code's name of the event.
    pub event: String,
    /// The matcher in Claude Code's settings.
    pub matcher: String,
    /// The hook in Claude Code's settings.
    pub hook: Map<String, Value>,
    /// The definitions that replace it.
    pub entries: Vec<HookDefinitionEntry>,
}

/// Returns the paths of Claude Code's settings: two in the project, one in the home directory.
pub fn settings_files(paths: &ConfigPaths, project: &Path) -> Vec<PathBuf> {
    paths.project_claude_settings(project).into_iter().chain([paths.user_claude_settings()]).collect()
}

/// Reads those of the files that exist.
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

/// Converts the hooks in the given settings texts.
pub fn migrate<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> ClaudeMigration {
    let mut migration = ClaudeMigration::default();
    for (file, text) in files {
        match parse_map(file, text) {
            Ok(settings) => ClaudeConverter { file, migration: &mut migration }.convert_settings(&settings),
            Err(wrong) => migration.diagnostics.push(*wrong),
        }
    }
    migration
}

/// Returns a settings text with the migrated hooks added; present hooks stay and are not duplicated.
///
/// # Errors
/// If the text does not parse, or holds something else where hooks belong.
pub fn merged_text(file: &Path, text: &str, migration: &ClaudeMigration) -> Result<String, EditError> {
    edited_text(file, text, &SettingsChange::AddHooks(migration.entries.clone()))
}

struct ClaudeConverter<'a> {
    file: &'a Path,
    migration: &'a mut ClaudeMigration,
}

impl ClaudeConverter<'_> {
    fn note(&mut self, text: impl std::fmt::Display) {
        let note = format!("{}: {text}", self.file.display());
        if !self.migration.notes.contains(&note) {
            self.migration.notes.push(note);
        }
    }

    fn convert_settings(&mut self, settings: &Map<String, Value>) {
        if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
            self.note("`disableAllHooks` is not migrated; to switch all hooks off, set `hooksConfig.enabled` to false");
        }
        self.note_permissions(settings);
        for (name, definitions) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let event = event_by_name(name).map(|moment| moment.kind).or_else(|| EventKind::from_name(name));
            let Some(event) = event else {
                self.note(format!("event `{name}` has no counterpart; its hooks are left out"));
                continue;
            };
            if event_by_name(name).is_some_and(|moment| moment.agent_scope.is_some())
                && definitions.as_array().is_some_and(|all| !all.is_empty())
            {
                self.note(format!("`{name}` is {event} here, which fires for the agent and for its sub-agents alike"));
            }
            for definition in definitions.as_array().into_iter().flatten() {
                self.convert_definition(name, event, definition);
            }
        }
    }

    /// Adds notes on Claude Code's permission rules, which are no hooks and would otherwise be lost silently.
    fn note_permissions(&mut self, settings: &Map<String, Value>) {
        let permissions = settings.get("permissions").and_then(Value::as_object);
        for (list, decision) in [("deny", "deny"), ("ask", "ask_user")] {
            let rules = permissions.and_then(|rules| rules.get(list)).and_then(Value::as_array).into_iter().flatten();
            for rule in rules.filter_map(Value::as_str) {
                let instead = replacement_advice(rule, decision);
                self.note(format!("`{rule}` of `permissions.{list}` is not migrated; {instead}"));
            }
        }
    }

    fn convert_definition(&mut self, name: &str, event: EventKind, definition: &Value) {
        let matcher = definition.get("matcher").and_then(Value::as_str).unwrap_or_default();
        let own = definition.get("hooks").and_then(Value::as_array).into_iter().flatten();
        let hooks: Vec<(Map<String, Value>, Value)> = own
            .filter_map(|hook| Some((hook.as_object().cloned().unwrap_or_default(), self.convert_hook(name, hook)?)))
            .collect();
        if hooks.is_empty() {
            return;
        }
        let matchers = self.convert_matcher(name, event, matcher);
        let entry = |matcher: &Option<String>, hooks: Vec<Value>| {
            let mut definition = Map::new();
            definition.extend(matcher.clone().map(|matcher| ("matcher".to_owned(), Value::String(matcher))));
            definition.insert("hooks".to_owned(), Value::Array(hooks));
            HookDefinitionEntry { event, definition }
        };
        for matcher in &matchers {
            self.migration.entries.push(entry(matcher, hooks.iter().map(|(_, new)| new.clone()).collect()));
        }
        for (old, new) in hooks {
            let entries = matchers.iter().map(|matcher| entry(matcher, vec![new.clone()])).collect();
            let (file, event) = (self.file.to_owned(), name.to_owned());
            self.migration.hooks.push(MigratedHook { file, event, matcher: matcher.to_owned(), hook: old, entries });
        }
    }

    /// Returns matchers that together mean the same here; empty if none can match.
    fn convert_matcher(&mut self, name: &str, event: EventKind, matcher: &str) -> Vec<Option<String>> {
        let matcher = matcher.trim();
        if matches!(matcher, "" | "*" | ".*" | "^.*$" | ".+") {
            return vec![None];
        }
        let is_word = |char: char| char.is_alphanumeric() || "_-|, ".contains(char);
        match event.info().subject {
            MatcherSubject::Nothing => {
                self.note(format!("`{name}` takes no matcher here; `{matcher}` is dropped"));
                vec![None]
            }
            MatcherSubject::ToolName => vec![Some(self.convert_tool_matcher(name, matcher))],
            // Patterns are not supported for these. A hook that runs too often is better than one that never runs.
            MatcherSubject::Field { .. } if !matcher.chars().all(is_word) => {
                self.note(format!(
                    "`{name}` takes no patterns here; `{matcher}` is dropped, so its hooks run every time"
                ));
                vec![None]
            }
            // These are compared exactly, so alternatives become several definitions.
            MatcherSubject::Field { values, .. } => {
                let mut matchers = Vec::new();
                for word in matcher.split(['|', ',']).map(str::trim) {
                    let known = matcher_values(event, word).into_iter().filter(|known| values.contains(known));
                    let known: Vec<_> = known.map(|known| Some(known.to_owned())).collect();
                    if known.is_empty() {
                        self.note(format!("`{name}` never fires for `{word}` here; that matcher is left out"));
                    }
                    matchers.extend(known);
                }
                matchers
            }
        }
    }

    /// Converts a list of tool names. A pattern is kept, because it is matched against Claude Code's names too.
    fn convert_tool_matcher(&mut self, event: &str, matcher: &str) -> String {
        let words: Vec<&str> = matcher.split(['|', ',']).map(str::trim).filter(|word| !word.is_empty()).collect();
        let in_name = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
        if !words.iter().all(|word| word.chars().all(in_name)) {
            return matcher.to_owned();
        }
        let mut tools: Vec<&str> = Vec::new();
        for word in words {
            let mut meant: Vec<&str> = tools_named(word).collect();
            if meant.is_empty() {
                if word.starts_with(|char: char| char.is_ascii_uppercase()) {
                    let place = format!("the matcher `{matcher}` of `{event}`");
                    self.note(format!("tool `{word}` in {place} has no counterpart; it is kept as it is"));
                }
                meant.push(word);
            }
            meant.into_iter().for_each(|tool| {
                if !tools.contains(&tool) {
                    tools.push(tool)
                }
            });
        }
        tools.join("|")
    }

    fn convert_hook(&mut self, event: &str, hook: &Value) -> Option<Value> {
        let kind = hook.get("type").and_then(Value::as_str).unwrap_or_default();
        let command = hook.get("command").and_then(Value::as_str).filter(|command| !command.trim().is_empty());
        let Some(command) = command.filter(|_| kind == "command") else {
            self.note(format!("a hook of type `{kind}` on `{event}` has no counterpart; it is left out"));
            return None;
        };
        let command = match hook.get("args") {
            None | Some(Value::Null) => command.to_owned(),
            Some(args) => self.join_arguments(command, args)?,
        };
        for variable in ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_ENV_FILE"] {
            if command.contains(variable) {
                self.note(format!("`{command}` uses ${variable}, which is not set here"));
            }
        }
        let mut new = Map::new();
        new.insert("type".to_owned(), Value::from("command"));
        new.insert("command".to_owned(), Value::String(command.clone()));
        new.insert("dialect".to_owned(), Value::from(Dialect::Claude.as_str()));
        if event_by_name(event).is_some_and(|moment| moment.after_call == Some(CallStatus::Failed)) {
            new.insert("result".to_owned(), Value::from("failed"));
        }
        if let Some(number) = hook.get("timeout").and_then(Value::as_f64) {
            new.insert("timeout".to_owned(), self.timeout_millis(&command, number));
        }
        for (key, value) in hook.as_object().into_iter().flatten() {
            match key.as_str() {
                "type" | "command" | "args" | "timeout" | "dialect" => {}
                key if SHARED_HOOK_KEYS.contains(&key) => {
                    new.insert(key.to_owned(), value.clone());
                }
                _ => self.note(format!("`{key}` of `{command}` has no counterpart; it is left out")),
            }
        }
        Some(Value::Object(new))
    }

    /// Joins a program and its arguments into one command.
    ///
    /// Without its arguments, `bash` would read the event on stdin as a script.
    fn join_arguments(&mut self, program: &str, args: &Value) -> Option<String> {
        let words: Option<Vec<String>> =
            args.as_array().and_then(|args| args.iter().map(|arg| arg.as_str().map(str::to_owned)).collect());
        if words.is_none() {
            self.note(format!("`args` of `{program}` is not a list of strings; the hook is left out"));
        }
        Some(joined_command(program.trim(), &words?))
    }

    fn timeout_millis(&mut self, command: &str, number: f64) -> Value {
        let factor = if looks_like_milliseconds(number) {
            self.note(format!(
                "`{command}`: its timeout of {number} seconds is read as {number} ms, which was probably meant"
            ));
            1.0
        } else {
            1000.0
        };
        // A larger number is no meaningful timeout.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float's cast saturates")]
        Value::from((number * factor).round().max(0.0) as u64)
    }
}

/// Keys of a hook that mean the same here; some are our own, which a user may have added to Claude Code's file.
const SHARED_HOOK_KEYS: [&str; 13] = [
    "if",
    "once",
    "async",
    "asyncRewake",
    "onFailure",
    "onError",
    "guard",
    "enabled",
    "env",
    "shell",
    "statusMessage",
    "name",
    "description",
];

/// Returns advice on how to replace one of Claude Code's permission rules.
fn replacement_advice(rule: &str, decision: &str) -> String {
    let (tool, inside) = rule.split_once('(').map_or((rule, ""), |(tool, rest)| (tool, rest.trim_end_matches(')')));
    let names: Vec<&str> = tools_named(tool).collect();
    let named = match names.as_slice() {
        [] => format!("\"{tool}\""),
        [one] => format!("\"{one}\""),
        several => format!("[{}]", several.iter().map(|one| format!("\"{one}\"")).collect::<Vec<_>>().join(", ")),
    };
    let prefix = inside.trim_end_matches('*').trim_end_matches([' ', ':']);
    let more = match names.as_slice() {
        ["run_shell_command"] if !prefix.is_empty() && !prefix.contains('*') => format!(", commandPrefix = {prefix:?}"),
        _ if inside.is_empty() => String::new(),
        _ => {
            return format!(
                "write a hook with `\"when\"` and `\"guard\": true` instead, because a policy can't express `{inside}`"
            );
        }
    };
    format!(
        "write a policy for it (.gemini/policies/*.toml): [[rule]] toolName = {named}{more}, decision = \"{decision}\""
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn migrate_text(settings: &Value) -> ClaudeMigration {
        migrate([(Path::new("c.json"), settings.to_string().as_str())])
    }

    #[test]
    fn events_tools_and_timeouts_are_converted_with_the_dialect() {
        let migration = migrate_text(&json!({"hooks": {
            "PreToolUse": [{"matcher": "Bash|Read, MultiEdit|Edit|mcp__git__push", "hooks": [
                {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/x.sh", "timeout": 1.5, "if": "Bash(git *)", "onFailure": "block", "guard": true}
            ]}, {"matcher": "^(Bash|Edit)$", "hooks": [{"type": "command", "command": "y"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "stop"}]}],
            "SessionStart": [{"matcher": "startup|compact|resume", "hooks": [{"type": "command", "command": "s"}]}],
        }}));
        let entries: Vec<_> =
            migration.entries.iter().map(|entry| (entry.event, Value::Object(entry.definition.clone()))).collect();
        let plain = |command: &str| json!({"type": "command", "command": command, "dialect": "claude"});
        assert_eq!(
            entries,
            [
                (
                    EventKind::BeforeTool,
                    json!({"matcher": "run_shell_command|read_file|read_many_files|replace|mcp__git__push", "hooks": [
                        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/x.sh", "dialect": "claude", "timeout": 1500,
                            "if": "Bash(git *)", "onFailure": "block", "guard": true}
                    ]})
                ),
                (EventKind::BeforeTool, json!({"matcher": "^(Bash|Edit)$", "hooks": [plain("y")]})),
                (EventKind::AfterAgent, json!({"hooks": [plain("stop")]})),
                (EventKind::SessionStart, json!({"matcher": "startup", "hooks": [plain("s")]})),
                (EventKind::SessionStart, json!({"matcher": "resume", "hooks": [plain("s")]})),
            ]
        );
        assert_eq!(migration.notes.len(), 2, "{:?}", migration.notes);
        assert_eq!(migration.hooks.len(), 4);
    }

    #[test]
    fn a_pattern_on_an_event_without_patterns_runs_too_often_rather_than_never() {
        for (matcher, noted) in [(".*", false), ("^.*$", false), ("start.*", true), ("(startup|resume)", true)] {
            let hook = json!({"type": "command", "command": "s"});
            let migration = migrate_text(&json!({"hooks": {"SessionStart": [{"matcher": matcher, "hooks": [hook]}]}}));
            assert_eq!(migration.entries.len(), 1, "{matcher}");
            assert!(migration.entries[0].definition.get("matcher").is_none(), "{matcher}");
            let said = migration.notes.iter().any(|note| note.contains("its hooks run every time"));
            assert_eq!(said, noted, "{matcher}: {:?}", migration.notes);
        }
    }

    /// A bare `bash` would run the event on its stdin, which holds a model's call, as a script.
    #[test]
    fn arguments_become_part_of_the_command() {
        let migration = migrate_text(&json!({"hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": "bash", "args": ["${CLAUDE_PROJECT_DIR}/a b.sh", "it's", "$(x)"]},
            {"type": "command", "command": "bash", "args": "a.sh"},
        ]}]}}));
        let hooks = &migration.entries[0].definition["hooks"];
        assert_eq!(hooks.as_array().map(Vec::len), Some(1), "{hooks}");
        assert_eq!(hooks[0]["command"], r#"bash "${CLAUDE_PROJECT_DIR}"'/a b.sh' 'it'\''s' '$(x)'"#);
        assert!(hooks[0].get("args").is_none() && migration.notes[0].contains("left out"), "{:?}", migration.notes);
    }

    #[test]
    fn rules_without_a_counterpart_are_noted() {
        let migration = migrate_text(&json!({"disableAllHooks": true,
            "permissions": {"deny": ["Bash(curl *)", "Read(./.env)", "WebFetch"], "ask": ["Bash(git push:*)"], "allow": ["Bash(ls)"]},
            "hooks": {
            "TaskCompleted": [{"hooks": [{"type": "command", "command": "x"}]}],
            "PreToolUse": [{"matcher": "ExitPlanMode", "hooks": [{"type": "prompt", "prompt": "think"},
                {"type": "command", "command": "y", "async": true, "timeout": 30000, "odd": 1}]}],
            "UserPromptSubmit": [{"matcher": "x", "hooks": [{"type": "command", "command": "z"}]}],
        }}));
        assert_eq!(migration.entries.len(), 2);
        assert_eq!(migration.entries[0].definition["hooks"][0]["timeout"], 30000);
        let notes = migration.notes.join("\n");
        for words in [
            "disableAllHooks",
            "TaskCompleted",
            "type `prompt`",
            "`odd`",
            "no matcher here",
            "ExitPlanMode",
            "its timeout of 30000 seconds is read as 30000 ms",
            "`Bash(curl *)` of `permissions.deny` is not migrated; write a policy for it (.gemini/policies/*.toml): \
             [[rule]] toolName = \"run_shell_command\", commandPrefix = \"curl\", decision = \"deny\"",
            "commandPrefix = \"git push\", decision = \"ask_user\"",
            "`Read(./.env)` of `permissions.deny` is not migrated; write a hook",
            "toolName = \"web_fetch\", decision = \"deny\"",
        ] {
            assert!(notes.contains(words), "{words}: {notes}");
        }
        assert!(!notes.contains("Bash(ls)"), "{notes}");
    }

    #[test]
    fn hooks_are_added_without_overwriting_or_doubling() {
        let migration = migrate_text(
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

    #[test]
    fn hooks_on_failures_stay_hooks_on_failures() {
        let migration = migrate_text(&json!({"hooks": {"PostToolUseFailure": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "note"}]},
        ]}}));
        let entry = &migration.entries[0];
        assert_eq!((entry.event, &entry.definition["hooks"][0]["result"]), (EventKind::AfterTool, &json!("failed")));
        assert!(migration.notes.is_empty(), "{:?}", migration.notes);
    }
}
