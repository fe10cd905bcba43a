//! The demo's project: a home and a folder that nobody else uses, and one small hook for every event.

use std::path::Path;

use anyhow::Context;
use hookwright_hooks::EventKind;
use hookwright_settings::World;
use serde_json::{Map, Value, json};

/// Event, matcher, hook, script. The scripts read their input and answer as any hook would.
const HOOKS: [(EventKind, &str, &str, &str); 12] = [
    (
        EventKind::SessionStart,
        "startup",
        "project-facts",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"additionalContext": "This project ships on Friday."}}'"#,
    ),
    (
        EventKind::BeforeAgent,
        "",
        "branch-context",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"additionalContext": "The branch is called main."}}'"#,
    ),
    (
        EventKind::BeforeModel,
        "",
        "sober-model",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}'"#,
    ),
    (
        EventKind::BeforeToolSelection,
        "",
        "tool-filter",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["write_file", "run_shell_command"]}}}'"#,
    ),
    (
        EventKind::AfterModel,
        "",
        "redactor",
        r#"# This piece's text stands right ahead of the text so far.
piece=$(sed 's/.*"content":"\([^"]*\)","full_content".*/\1/')
case $piece in
*ada@example.org*)
    redacted=$(printf '%s' "$piece" | sed 's/ada@example\.org/[redacted]/g')
    printf '{"hookSpecificOutput": {"llm_response": {"text": "%s"}}}\n' "$redacted"
    ;;
esac"#,
    ),
    (
        EventKind::BeforeTool,
        "run_shell_command",
        "danger-guard",
        r#"case $(cat) in
*'rm -rf /'*)
    echo 'this would delete everything' >&2
    exit 2
    ;;
esac"#,
    ),
    (
        EventKind::BeforeTool,
        "run_shell_command",
        "safe-delete",
        r#"case $(cat) in
*'rm build/notes.txt'*)
    echo '{"hookSpecificOutput": {"tool_input": {"command": "mv build/notes.txt build/notes.txt.deleted"}}}'
    ;;
esac"#,
    ),
    (
        EventKind::Notification,
        "ToolPermission",
        "bell",
        r#"cat >/dev/null
echo '{"systemMessage": "ring, ring"}'"#,
    ),
    (
        EventKind::AfterTool,
        "*",
        "audit-log",
        r#"cat >> audit.jsonl
echo >> audit.jsonl
echo '{"suppressOutput": true}'"#,
    ),
    (
        EventKind::AfterAgent,
        "",
        "answer-checker",
        r#"case $(cat) in
*'"stop_hook_active":true'*) ;;
*'"prompt_response":"TODO'*)
    echo 'say The useful thing is that hooks can demand a better answer.' >&2
    exit 2
    ;;
esac"#,
    ),
    (
        EventKind::PreCompress,
        "manual",
        "save-history",
        r#"cat >/dev/null
echo '{"systemMessage": "the transcript keeps everything"}'"#,
    ),
    (
        EventKind::SessionEnd,
        "",
        "goodbye",
        r#"cat >/dev/null
echo '{"systemMessage": "see you"}'"#,
    ),
];

/// Writes the project and gives back a world in which it is the working directory.
pub(crate) fn create(folder: &Path, world: &World) -> anyhow::Result<World> {
    let folder = folder.canonicalize()?;
    let (home, project) = (folder.join("home"), folder.join("project"));
    let scripts = project.join(".gemini/hooks");
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&scripts)?;
    let mut events: Map<String, Value> = Map::new();
    for (event, matcher, name, script) in HOOKS {
        let path = scripts.join(format!("{name}.sh"));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        let command = format!("sh \"$GEMINI_PROJECT_DIR/.gemini/hooks/{name}.sh\"");
        let hook = json!({"type": "command", "name": name, "command": command});
        let mut definition = json!({"hooks": [hook]});
        if !matcher.is_empty() {
            definition["matcher"] = json!(matcher);
        }
        let list = events.entry(event.name()).or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut().context("every event has a list")?.push(definition);
    }
    let settings = json!({"hooks": events});
    std::fs::write(project.join(".gemini/settings.json"), format!("{settings:#}\n"))?;
    // Nobody's keys and nobody's settings: the demo is the same everywhere.
    let path = world.var_os("PATH").map(|path| ("PATH".into(), path.to_owned()));
    let env = path.into_iter().chain([
        ("HOME".into(), home.clone().into_os_string()),
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), home.join("no-system-settings.json").into_os_string()),
    ]);
    Ok(World::new(env.collect(), project))
}
