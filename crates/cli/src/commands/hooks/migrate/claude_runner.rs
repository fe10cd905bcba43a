//! Runs a guard as Claude Code does and parses its answer as Claude Code does, by measurements of that program. It is
//! only for comparison, not for running hooks in a session.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hookwright_hooks::{BoundedRegex, Decision, RegexMatch};
use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};
use serde_json::{Map, Value, json};

use super::samples::ClaudeSample;
use crate::commands::hooks::LoadedProject;

/// A guard's decision on a sample, with its reason.
pub(super) struct GuardAnswer {
    pub(super) decision: Decision,
    pub(super) reason: String,
}

/// The limit of a guard's timeout here.
const MAX_SAMPLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a matcher of Claude Code's matches a tool: by everything, a list of names, or a pattern.
pub(super) fn matches_tool(matcher: &str, tool: &str) -> bool {
    let matcher = matcher.trim();
    let words = || matcher.split(['|', ',']).map(str::trim);
    let is_name = |word: &str| word.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-');
    match matcher {
        "" | "*" => true,
        _ if words().all(is_name) => words().any(|word| word == tool),
        _ => BoundedRegex::new(matcher).is_ok_and(|pattern| matches!(pattern.find(tool), RegexMatch::At(_))),
    }
}

/// Formats a hook's command with its arguments.
pub(super) fn command_text(hook: &Map<String, Value>) -> String {
    let args = hook.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    std::iter::once(command).chain(args).collect::<Vec<_>>().join(" ")
}

/// Runs a guard on an event of Claude Code's, and parses its answer as Claude Code does.
pub(super) async fn run(
    toolbox: &LoadedProject,
    hook: &Map<String, Value>,
    sample: &ClaudeSample,
) -> anyhow::Result<GuardAnswer> {
    let (root, event) = (&toolbox.loaded.project.root, sample.event);
    let mut input = json!({
        "session_id": "migrate-verify",
        "transcript_path": root.join("transcript.jsonl"),
        "cwd": root,
        "prompt_id": "migrate-verify-1",
        "permission_mode": "default",
        "hook_event_name": event,
    });
    for (key, value) in &sample.fields {
        input[key.as_str()] = value.clone();
    }
    let args = shell_arguments(hook, root);
    let mut env = toolbox.loaded.hook_exec_envs().project.env;
    env.push(("CLAUDE_PROJECT_DIR".into(), root.into()));
    env.push(("CLAUDE_CODE_SESSION_ID".into(), "migrate-verify".into()));
    let groups = Arc::new(ProcessGroups::default());
    let mut variables = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let mut program = ProgramSpec {
        path: claude_shell(),
        name: OsStr::new("sh"),
        args: &args,
        cwd: root,
        cwd_handle: None,
        env: &mut variables,
    };
    let input = ProcessInput::Chunks(vec![input.to_string().into()]);
    let mut process =
        Process::spawn(&mut program, input, OutputRouting::Separate(CaptureLimit::Head(1 << 20)), &groups)
            .context("a guard could not be started")?;
    let seconds = hook.get("timeout").and_then(Value::as_f64).unwrap_or(MAX_SAMPLE_TIMEOUT.as_secs_f64());
    let limit = Duration::try_from_secs_f64(seconds).unwrap_or(MAX_SAMPLE_TIMEOUT).min(MAX_SAMPLE_TIMEOUT);
    let exit = tokio::time::timeout(limit, process.wait()).await;
    if exit.is_err() {
        process.terminate(Duration::from_millis(500), TerminationWait::Leader).await;
    }
    let left = process.finish();
    groups.terminate_all(Duration::from_millis(200)).await;
    let (stdout, stderr) = (lossy_text(left.stdout.head()), lossy_text(left.stderr.head()));
    let closed = hook.get("onFailure").and_then(Value::as_str) == Some("block");
    Ok(match exit {
        Ok(Ok(Exit::Code(2))) => GuardAnswer { decision: Decision::Deny, reason: stderr },
        Ok(Ok(Exit::Code(0))) => parse_answer(event, &stdout, closed),
        Ok(Ok(Exit::Code(code))) => failure_answer(closed, format!("exits with {code}: {stderr}")),
        Ok(Ok(Exit::Signal(signal))) => failure_answer(closed, format!("is killed by signal {signal}")),
        Ok(Err(error)) => failure_answer(closed, error.to_string()),
        Err(_) => failure_answer(closed, format!("runs longer than {} s", limit.as_secs_f64())),
    })
}

/// Returns the shell that Claude Code would use.
fn claude_shell() -> &'static Path {
    let shells = ["/bin/bash", "/usr/bin/bash"].map(Path::new);
    shells.into_iter().find(|shell| shell.exists()).unwrap_or(Path::new("/bin/sh"))
}

/// Returns the shell's arguments: the command, or a program with its arguments, which the shell does not split.
fn shell_arguments(hook: &Map<String, Value>, root: &Path) -> Vec<OsString> {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    let Some(args) = hook.get("args").and_then(Value::as_array) else {
        return vec!["-c".into(), command.into()];
    };
    let root = root.to_string_lossy();
    let filled = |word: &str| OsString::from(word.replace("${CLAUDE_PROJECT_DIR}", &root));
    let words = std::iter::once(command).chain(args.iter().filter_map(Value::as_str)).map(filled);
    ["-c", "exec \"$0\" \"$@\""].map(OsString::from).into_iter().chain(words).collect()
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Answers for a guard that failed: Claude Code lets the call pass, unless the hook sets `onFailure` to `block`.
fn failure_answer(closed: bool, words: String) -> GuardAnswer {
    GuardAnswer { decision: if closed { Decision::Deny } else { Decision::Allow }, reason: format!("fails: {words}") }
}

/// Parses the output of a guard that exits with 0.
///
/// An object counts only if it is all of the output, and if its `hookEventName` is the event's.
fn parse_answer(event: &str, stdout: &str, closed: bool) -> GuardAnswer {
    let passes = |words: &str| GuardAnswer { decision: Decision::Allow, reason: words.to_owned() };
    if !stdout.contains('{') {
        return passes("no objection");
    }
    let Ok(Value::Object(answer)) = serde_json::from_str(stdout) else {
        return passes("ignores the output: it is not one JSON object");
    };
    let text_of =
        |fields: &Map<String, Value>, key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let specific = answer.get("hookSpecificOutput").and_then(Value::as_object).cloned().unwrap_or_default();
    if !specific.is_empty() && text_of(&specific, "hookEventName") != event {
        return failure_answer(closed, format!("`hookEventName` is not {event}"));
    }
    // After the fact, a hook that adds context for the model objects, and so does one that ends the agent.
    let speaks = matches!(event, "PostToolUse" | "PostToolUseFailure" | "Stop" | "SubagentStop")
        && !text_of(&specific, "additionalContext").is_empty();
    let ends = event != "PreToolUse" && answer.get("continue") == Some(&Value::Bool(false));
    let decision = match (text_of(&specific, "permissionDecision").as_str(), text_of(&answer, "decision").as_str()) {
        _ if speaks || ends => Decision::Deny,
        ("deny", _) | (_, "block") => Decision::Deny,
        ("ask", _) => Decision::Ask,
        ("" | "allow" | "defer", "" | "approve") => Decision::Allow,
        (one, other) => return failure_answer(closed, format!("unknown decision `{one}{other}`")),
    };
    let words = [
        text_of(&specific, "permissionDecisionReason"),
        text_of(&answer, "reason"),
        text_of(&answer, "stopReason"),
        text_of(&specific, "additionalContext"),
    ];
    GuardAnswer { decision, reason: words.into_iter().find(|words| !words.is_empty()).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_match_as_in_claude_code() {
        assert!(
            matches_tool("", "Bash")
                && matches_tool("*", "Bash")
                && matches_tool("Bash|Edit", "Edit")
                && matches_tool("Bash, Edit", "Edit")
        );
        assert!(!matches_tool("Bash", "BashOutput") && !matches_tool("Edit", "MultiEdit"));
        assert!(matches_tool("^Ba", "Bash") && matches_tool("mcp__.*", "mcp__a__b") && !matches_tool("(", "Bash"));
    }

    /// The expectations were measured on the real program.
    #[test]
    fn answers_are_parsed_as_claude_code_parses_them() {
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
        for (stdout, decision) in [
            (deny.to_owned(), Decision::Deny),
            (r#"{"decision":"block"}"#.to_owned(), Decision::Deny),
            (format!("log\n{deny}"), Decision::Allow),
            (deny[..deny.len() - 2].to_owned(), Decision::Allow),
            (r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#.to_owned(), Decision::Allow),
            (r#"{"decision":"deny"}"#.to_owned(), Decision::Allow),
            (r#"{"continue":false}"#.to_owned(), Decision::Allow),
            (String::new(), Decision::Allow),
        ] {
            assert_eq!(parse_answer("PreToolUse", &stdout, false).decision, decision, "{stdout}");
        }
        assert_eq!(
            parse_answer("PreToolUse", r#"{"decision":"deny"}"#, true).decision,
            Decision::Deny,
            "onFailure: block"
        );
        assert_eq!(parse_answer("UserPromptSubmit", r#"{"continue":false}"#, false).decision, Decision::Deny);
        let stop = r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"run the tests"}}"#;
        assert_eq!(parse_answer("Stop", stop, false).decision, Decision::Deny, "the agent goes on with it");
    }
}
