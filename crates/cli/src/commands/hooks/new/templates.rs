//! The texts that `hooks new` writes: scripts that work as they are and list the answers that the event allows, and
//! a test for each.

use hookwright_hooks::{EventKind, HookCapability, MatcherSubject};

use super::NewHook;
use crate::args::ScriptLanguage;

/// Returns a script that reads its input and answers.
pub(super) fn script(event: EventKind, language: ScriptLanguage, name: &str) -> String {
    let about = format!("{name}: runs {}.", event.info().fires_when);
    let powers = answer_options(event);
    match language {
        ScriptLanguage::Sh => sh(event, &about, &powers),
        ScriptLanguage::Python => python(event, &about, &powers),
        ScriptLanguage::Node => node(event, &about, &powers),
    }
}

/// Returns the answers that a hook on this event may give, as lines for a comment.
pub(super) fn answer_options(event: EventKind) -> Vec<String> {
    let mut lines = vec![r#"{"systemMessage": "…"}: tells the user something"#.to_owned()];
    let mut add = |power: HookCapability, text: &str| {
        if event.can(power) {
            lines.push(text.to_owned());
        }
    };
    add(
        HookCapability::Deny,
        r#"{"decision": "deny", "reason": "…"}: says no; so does exit code 2 with the reason on stderr"#,
    );
    add(HookCapability::Ask, r#"{"decision": "ask", "reason": "…"}: lets the user decide"#);
    add(HookCapability::Stop, r#"{"continue": false, "stopReason": "…"}: ends the agent's loop"#);
    add(HookCapability::Context, r#"{"hookSpecificOutput": {"additionalContext": "…"}}: tells the model something"#);
    add(HookCapability::RewriteInput, r#"{"hookSpecificOutput": {"tool_input": {…}}}: changes the tool's arguments"#);
    add(
        HookCapability::RedactInput,
        r#"{"hookSpecificOutput": {"tool_input": {…}, "redact_input": true}}: and keeps the model's own ones nowhere"#,
    );
    add(
        HookCapability::TailCall,
        r#"{"hookSpecificOutput": {"tailToolCallRequest": {"name": "…", "args": {…}}}}: runs a tool next"#,
    );
    add(HookCapability::RewriteRequest, r#"{"hookSpecificOutput": {"llm_request": {…}}}: changes the request"#);
    add(
        HookCapability::AnswerForModel,
        r#"{"hookSpecificOutput": {"llm_response": {"text": "…"}}}: answers in the model's place"#,
    );
    add(
        HookCapability::ReplaceResponse,
        r#"{"hookSpecificOutput": {"llm_response": {"text": "…"}}}: replaces this piece"#,
    );
    add(
        HookCapability::SelectTools,
        r#"{"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["…"]}}}"#,
    );
    add(HookCapability::ClearContext, r#"{"hookSpecificOutput": {"clearContext": true}}: empties the model's memory"#);
    lines
}

fn header_comment(sign: &str, about: &str, powers: &[String]) -> String {
    let how = "One JSON object comes in on stdin; print one on stdout, or nothing for \"no objection\":";
    comment_block(sign, about, how, powers)
}

/// Returns a comment on what the script is, how it answers, and what it may answer.
pub(super) fn comment_block(sign: &str, about: &str, how: &str, powers: &[String]) -> String {
    let mut text = format!("{sign} {about}\n{sign}\n{sign} {how}\n");
    powers.iter().for_each(|line| text.push_str(&format!("{sign}   {line}\n")));
    text
}

/// The text that the example looks for in its input, so that the test can trigger it.
pub(super) const TRIGGER_TEXT: &str = "hookwright-example";

/// Whether the example answers only to inputs that hold [`TRIGGER_TEXT`]; events without free text have nowhere to hold it.
pub(super) fn is_selective(event: EventKind) -> bool {
    !matches!(event.info().subject, MatcherSubject::Field { .. })
}

fn sh(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = header_comment("#", about, powers);
    let answer = format!("printf '%s\\n' '{}'", sample_answer(event));
    let body = if is_selective(event) {
        format!("case $input in\n*{TRIGGER_TEXT}*)\n    {answer}\n    ;;\nesac\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/bin/sh\n{head}\ninput=$(cat)\n\n{body}")
}

fn python(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = header_comment("#", about, powers);
    let answer = format!("print('{}')", sample_answer(event));
    let body = if is_selective(event) {
        format!("if \"{TRIGGER_TEXT}\" in json.dumps(event):\n    {answer}\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/usr/bin/env python3\n{head}import json\nimport sys\n\nevent = json.load(sys.stdin)\n\n{body}")
}

fn node(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = header_comment("//", about, powers);
    let answer = format!("console.log('{}');", sample_answer(event));
    let body = if is_selective(event) {
        format!("if (JSON.stringify(event).includes('{TRIGGER_TEXT}')) {{\n  {answer}\n}}\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/usr/bin/env node\n{head}const event = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\n{body}")
}

/// Returns the strongest answer that the event allows.
pub(super) fn sample_answer(event: EventKind) -> &'static str {
    if event.can(HookCapability::Deny) {
        r#"{"decision": "deny", "reason": "the example found what it looks for"}"#
    } else if event.can(HookCapability::Context) {
        r#"{"hookSpecificOutput": {"additionalContext": "the example found what it looks for"}}"#
    } else if event.can(HookCapability::SelectTools) {
        r#"{"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}"#
    } else {
        r#"{"systemMessage": "the example found what it looks for"}"#
    }
}

/// Returns a test of the script as it was written.
pub(super) fn hook_test(new: &NewHook, settings: Option<&str>) -> String {
    let requires = match new.lang {
        ScriptLanguage::Sh => String::new(),
        ScriptLanguage::Python => "requires = [\"python3\"]\n\n".to_owned(),
        ScriptLanguage::Node => "requires = [\"node\"]\n\n".to_owned(),
    };
    let settings = settings.map(|file| format!("settings = \"{file}\"\n")).unwrap_or_default();
    let NewHook { name, event, .. } = new;
    let expected = if event.can(HookCapability::Deny) {
        "decision = \"deny\"\nreason_contains = \"the example\""
    } else if event.can(HookCapability::Context) {
        "context_contains = \"the example\""
    } else if event.can(HookCapability::SelectTools) {
        "output = { toolConfig = { mode = \"NONE\" } }"
    } else {
        "message_contains = \"the example\""
    };
    let case = |title: &str, input: String, expected: &str| {
        format!(
            "[[case]]\nname = \"{title}\"\nevent = \"{event}\"\nhook = \"{name}\"\n{input}\n[case.expect]\nexit_code = 0\n{expected}\n"
        )
    };
    let mut text = format!(
        "# Run with: hookwright hooks test\n{settings}{requires}{}",
        case("finds what it looks for", test_input(new, TRIGGER_TEXT), expected)
    );
    if is_selective(*event) {
        text.push('\n');
        text.push_str(&case(
            "has no objection to anything else",
            test_input(new, "something else"),
            "decision = \"allow\"",
        ));
    }
    text
}

/// Returns the event's input as TOML, with the text somewhere in it.
fn test_input(new: &NewHook, text: &str) -> String {
    match new.event {
        EventKind::BeforeTool | EventKind::AfterTool => {
            let tool = matching_tool(new);
            let argument = match hookwright_hooks::canonical_tool_name(tool) {
                "run_shell_command" => "command",
                "write_file" => "content",
                "replace" => "new_string",
                "read_file" => "file_path",
                _ => "note",
            };
            format!("tool = \"{tool}\"\nargs = {{ {argument} = \"{text}\" }}\n")
        }
        EventKind::BeforeAgent => format!("prompt = \"{text}\"\n"),
        EventKind::AfterAgent => format!("prompt = \"hello\"\ninput = {{ prompt_response = \"{text}\" }}\n"),
        EventKind::BeforeModel | EventKind::BeforeToolSelection => {
            format!(
                "input = {{ llm_request = {{ model = \"m\", messages = [{{ role = \"user\", content = \"{text}\" }}] }} }}\n"
            )
        }
        EventKind::AfterModel => {
            format!(
                "input = {{ llm_request = {{ model = \"m\" }}, llm_response = {{ text = \"{text}\" }}, content = \"{text}\" }}\n"
            )
        }
        event => match event.info().subject {
            MatcherSubject::Field { name, values } => {
                let value = new.matcher.as_deref().filter(|matcher| values.contains(matcher)).unwrap_or(values[0]);
                format!("input = {{ {name} = \"{value}\" }}\n")
            }
            _ => String::new(),
        },
    }
}

/// Returns a tool that the matcher matches, or `write_file` where that can't be derived.
fn matching_tool(new: &NewHook) -> &str {
    let first = new.matcher.as_deref().unwrap_or_default().split('|').next().unwrap_or_default();
    let plain =
        !first.is_empty() && first.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-');
    if plain { first } else { "write_file" }
}
