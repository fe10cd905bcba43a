//! Records what an agent sends its hooks: one run with a hook at every event that only stores its input. Paths of the
//! machine are replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::case::run::{self, AgentRunOptions};
use crate::case::sandbox::TrialSandbox;
use crate::case::{TrialAgent, TrialError, TrialLimits};
use crate::driver::{AgentDriver, AgentHookEntry};
use crate::mock_model::{MockModelServer, ScriptedAction};

/// A hook that stores its input and its whole environment.
const RECORDER_SCRIPT: &str = "#!/bin/sh\ncat > \"$0.$1.$$.json\"\nenv > \"$0.$1.$$.env\"\n";

/// The most characters of a text: longer ones are prose and say nothing about the format.
const MAX_TEXT_CHARS: usize = 600;

/// Returns the payloads of an agent, by file name: `EVENT.json` or `EVENT.CALL.json`; and `environment.json`.
///
/// # Errors
/// Returns an error if the agent could not be run.
pub async fn record_payloads(
    agent: TrialAgent<'_>,
    bounds: TrialLimits<'_>,
) -> Result<BTreeMap<String, Value>, TrialError> {
    let driver = AgentDriver::for_host(agent.host).ok_or(TrialError::NoDriver(agent.host))?;
    let sandbox = TrialSandbox::new(bounds.keep_files)?;
    sandbox.link_unpacked(agent.host, bounds)?;
    let server = MockModelServer::start(recorded_actions(&sandbox)).await.map_err(TrialError::MockModel)?;
    let recorder = sandbox.write_script("record", RECORDER_SCRIPT)?;
    let events = agent.host.info().events;
    let entry = |event: &'static str| AgentHookEntry {
        event,
        matcher: None,
        command: format!("{recorder} {event}"),
        timeout: None,
        fail_closed: false,
    };
    let entries: Vec<AgentHookEntry<'_>> = events.iter().map(|event| entry(event.name)).collect();
    sandbox.write_settings(driver, &server.url(), &entries)?;
    run::run_agent(
        agent.program,
        driver,
        &sandbox,
        &server,
        bounds,
        AgentRunOptions { trusts_hooks: true, stop_after_answers: None },
        || (),
    )
    .await?;
    let scrub = PathScrubber::new(&sandbox, agent.program);
    Ok(collect_payloads(Path::new(&recorder), &scrub))
}

fn recorded_actions(sandbox: &TrialSandbox) -> Vec<ScriptedAction> {
    let path = sandbox.project_dir().join("new.txt").to_string_lossy().into_owned();
    vec![
        ScriptedAction::Shell("touch RAN".to_owned()),
        ScriptedAction::Write { path: path.clone(), content: "one\ntwo\n".to_owned() },
        ScriptedAction::Read { path: path.clone() },
        ScriptedAction::Edit { path, old: "two".to_owned(), new: "three".to_owned() },
        ScriptedAction::Shell("exit 3".to_owned()),
    ]
}

/// Returns the stored payloads: the first of each kind.
fn collect_payloads(recorder: &Path, scrub: &PathScrubber) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let folder = recorder.parent().unwrap_or(recorder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    files.sort();
    for (_, path) in files {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let parts: Vec<&str> = name.split('.').collect();
        let &["record", event, .., end] = parts.as_slice() else { continue };
        let Ok(text) = hookwright_disk::read_text(&path, 16 << 20) else { continue };
        match end {
            "json" => {
                let Ok(payload) = serde_json::from_str::<Value>(&text) else { continue };
                let name = call_label(&payload).map_or(format!("{event}.json"), |call| format!("{event}.{call}.json"));
                found.entry(name).or_insert_with(|| scrub.scrub_value(payload));
            }
            _ => {
                found.entry("environment.json".to_owned()).or_insert_with(|| scrub.scrub_environment(&text));
            }
        }
    }
    found
}

/// Returns the name of the scripted action that a payload is about.
fn call_label(payload: &Value) -> Option<&'static str> {
    let field = |names: [&str; 2]| names.iter().find_map(|name| payload.get(*name));
    let tool = field(["tool_name", "toolName"])?.as_str().unwrap_or_default();
    let text = field(["tool_input", "toolArgs"])?.to_string();
    let by_command = tool != "apply_patch";
    let marks = [
        ("Add File", if by_command { "patch-add" } else { "apply_patch-add" }),
        ("Update File", if by_command { "patch-update" } else { "apply_patch-update" }),
        ("cat '", "shell-cat"),
        ("touch RAN", "shell"),
        ("exit 3", "shell-fails"),
        ("three", "edit"),
        ("one", "write"),
        ("new.txt", "read"),
    ];
    Some(marks.iter().find(|(mark, _)| text.contains(mark)).map_or("other", |(_, name)| name))
}

/// The paths of the recording machine, and their replacements.
struct PathScrubber(Vec<(String, &'static str)>);

impl PathScrubber {
    fn new(sandbox: &TrialSandbox, program: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // Some agents name folders after the project's path.
        let flat = |path: &Path| text(path).replace(['/', '.', '_'], "-");
        let modules = program.ancestors().nth(2).unwrap_or(program);
        PathScrubber(vec![
            (text(&sandbox.project_dir()), "/project"),
            (text(&sandbox.home_dir()), "/home/user"),
            (flat(&sandbox.project_dir()), "-project"),
            (text(&sandbox.project_dir()).replace('/', "%2F"), "%2Fproject"),
            (text(sandbox.root()), "/tmp"),
            (text(modules), "/usr/lib/node_modules"),
        ])
    }

    fn scrub_text(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        match text.char_indices().nth(MAX_TEXT_CHARS) {
            None => text,
            Some(_) => {
                let kept: String = text.chars().take(60).collect();
                format!("{kept}… ({} characters left out)", text.chars().count() - 60)
            }
        }
    }

    fn scrub_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.scrub_text(&text)),
            Value::Array(list) => list.into_iter().map(|value| self.scrub_value(value)).collect(),
            Value::Object(object) => object.into_iter().map(|(key, value)| (key, self.scrub_value(value))).collect(),
            other => other,
        }
    }

    /// Returns the variables that the agent set, without those that every program has and those that look like a key.
    fn scrub_environment(&self, text: &str) -> Value {
        const USUAL_VARIABLES: [&str; 9] =
            ["PATH", "HOME", "TERM", "PWD", "OLDPWD", "SHLVL", "_", "NO_COLOR", "TRIAL_KEY"];
        let is_ours = |name: &str| {
            USUAL_VARIABLES.contains(&name)
                || ["KEY", "TOKEN", "URL", "PROXY", "proxy"].iter().any(|part| name.contains(part))
        };
        let variables = text.lines().filter_map(|line| line.split_once('='));
        let kept = variables.filter(|(name, _)| !is_ours(name));
        let kept: BTreeMap<&str, String> = kept.map(|(name, value)| (name, self.scrub_text(value))).collect();
        json!({"hook_environment": kept})
    }
}
