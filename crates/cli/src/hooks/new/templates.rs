//! What `hooks new` writes: scripts that work as they are and show what the event can do, and a test for each.

use hookwright_hooks::{EventKind, Power, Subject};

use crate::args::{Language, New};

/// A script that reads its input and answers.
pub(super) fn script(event: EventKind, language: Language, name: &str) -> String {
    let about = format!("{name}: runs {}.", event.info().fires);
    let powers = powers(event);
    match language {
        Language::Sh => sh(event, &about, &powers),
        Language::Python => python(event, &about, &powers),
        Language::Node => node(event, &about, &powers),
    }
}

/// What a hook on this event may answer, as lines for a comment.
pub(super) fn powers(event: EventKind) -> Vec<String> {
    let mut lines = vec![r#"{"systemMessage": "…"}: tells the user something"#.to_owned()];
    let mut add = |power: Power, text: &str| {
        if event.can(power) {
            lines.push(text.to_owned());
        }
    };
    add(Power::Deny, r#"{"decision": "deny", "reason": "…"}: says no; so does exit code 2 with the reason on stderr"#);
    add(Power::Ask, r#"{"decision": "ask", "reason": "…"}: lets the user decide"#);
    add(Power::Stop, r#"{"continue": false, "stopReason": "…"}: ends the agent's loop"#);
    add(Power::Context, r#"{"hookSpecificOutput": {"additionalContext": "…"}}: tells the model something"#);
    add(Power::RewriteInput, r#"{"hookSpecificOutput": {"tool_input": {…}}}: changes the tool's arguments"#);
    add(
        Power::RedactInput,
        r#"{"hookSpecificOutput": {"tool_input": {…}, "redact_input": true}}: and keeps the model's own ones nowhere"#,
    );
    add(
        Power::TailCall,
        r#"{"hookSpecificOutput": {"tailToolCallRequest": {"name": "…", "args": {…}}}}: runs a tool next"#,
    );
    add(Power::RewriteRequest, r#"{"hookSpecificOutput": {"llm_request": {…}}}: changes the request"#);
    add(
        Power::AnswerForModel,
        r#"{"hookSpecificOutput": {"llm_response": {"text": "…"}}}: answers in the model's place"#,
    );
    add(Power::ReplaceResponse, r#"{"hookSpecificOutput": {"llm_response": {"text": "…"}}}: replaces this piece"#);
    add(
        Power::SelectTools,
        r#"{"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["…"]}}}"#,
    );
    add(Power::ClearContext, r#"{"hookSpecificOutput": {"clearContext": true}}: empties the model's memory"#);
    lines
}

fn comment(sign: &str, about: &str, powers: &[String]) -> String {
    let how = "One JSON object comes in on stdin; print one on stdout, or nothing for \"no objection\":";
    commented(sign, about, how, powers)
}

/// What it is, how it answers, and what it may answer.
pub(super) fn commented(sign: &str, about: &str, how: &str, powers: &[String]) -> String {
    let mut text = format!("{sign} {about}\n{sign}\n{sign} {how}\n");
    powers.iter().for_each(|line| text.push_str(&format!("{sign}   {line}\n")));
    text
}

/// What the example looks for in the input, so that the test has something to find.
pub(super) const TRIGGER: &str = "hookwright-example";

/// Whether the example answers only to inputs that hold [`TRIGGER`]; events without free text have nowhere to hold it.
pub(super) fn is_selective(event: EventKind) -> bool {
    !matches!(event.info().subject, Subject::Field { .. })
}

fn sh(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = comment("#", about, powers);
    let answer = format!("printf '%s\\n' '{}'", answer(event));
    let body = if is_selective(event) {
        format!("case $input in\n*{TRIGGER}*)\n    {answer}\n    ;;\nesac\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/bin/sh\n{head}\ninput=$(cat)\n\n{body}")
}

fn python(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = comment("#", about, powers);
    let answer = format!("print('{}')", answer(event));
    let body = if is_selective(event) {
        format!("if \"{TRIGGER}\" in json.dumps(event):\n    {answer}\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/usr/bin/env python3\n{head}import json\nimport sys\n\nevent = json.load(sys.stdin)\n\n{body}")
}

fn node(event: EventKind, about: &str, powers: &[String]) -> String {
    let head = comment("//", about, powers);
    let answer = format!("console.log('{}');", answer(event));
    let body = if is_selective(event) {
        format!("if (JSON.stringify(event).includes('{TRIGGER}')) {{\n  {answer}\n}}\n")
    } else {
        format!("{answer}\n")
    };
    format!("#!/usr/bin/env node\n{head}const event = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\n{body}")
}

/// The strongest thing that the event lets a hook say.
pub(super) fn answer(event: EventKind) -> &'static str {
    if event.can(Power::Deny) {
        r#"{"decision": "deny", "reason": "the example found what it looks for"}"#
    } else if event.can(Power::Context) {
        r#"{"hookSpecificOutput": {"additionalContext": "the example found what it looks for"}}"#
    } else if event.can(Power::SelectTools) {
        r#"{"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}"#
    } else {
        r#"{"systemMessage": "the example found what it looks for"}"#
    }
}

/// A test of the script as it was written.
pub(super) fn test(new: &New, settings: Option<&str>) -> String {
    let requires = match new.lang {
        Language::Sh => String::new(),
        Language::Python => "requires = [\"python3\"]\n\n".to_owned(),
        Language::Node => "requires = [\"node\"]\n\n".to_owned(),
    };
    let settings = settings.map(|file| format!("settings = \"{file}\"\n")).unwrap_or_default();
    let New { name, event, .. } = new;
    let expected = if event.can(Power::Deny) {
        "decision = \"deny\"\nreason_contains = \"the example\""
    } else if event.can(Power::Context) {
        "context_contains = \"the example\""
    } else if event.can(Power::SelectTools) {
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
        case("finds what it looks for", input(new, TRIGGER), expected)
    );
    if is_selective(*event) {
        text.push('\n');
        text.push_str(&case("has no objection to anything else", input(new, "something else"), "decision = \"allow\""));
    }
    text
}

/// The event's input with a text somewhere in it.
fn input(new: &New, text: &str) -> String {
    match new.event {
        EventKind::BeforeTool | EventKind::AfterTool => {
            let tool = tool(new);
            format!("tool = \"{tool}\"\nargs = {{ note = \"{text}\" }}\n")
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
            Subject::Field { name, values } => {
                let value = new.matcher.as_deref().filter(|matcher| values.contains(matcher)).unwrap_or(values[0]);
                format!("input = {{ {name} = \"{value}\" }}\n")
            }
            _ => String::new(),
        },
    }
}

/// A tool that the matcher matches, as far as can be told.
fn tool(new: &New) -> &str {
    let first = new.matcher.as_deref().unwrap_or_default().split('|').next().unwrap_or_default();
    let plain =
        !first.is_empty() && first.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-');
    if plain { first } else { "write_file" }
}
