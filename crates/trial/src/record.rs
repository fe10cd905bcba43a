//! What an agent sends its hooks, recorded: one run with a hook at every event that only writes down what it is given. Whose
//! machine it was on is taken out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cell::place::Scene;
use crate::cell::run::{self, Patience};
use crate::cell::{Agent, Bounds, TrialError};
use crate::driver::{Driver, Entry};
use crate::standin::{Standin, Wish};

/// Writes down what it is given, and all that it finds in its environment.
const SCRIPT: &str = "#!/bin/sh\ncat > \"$0.$1.$$.json\"\nenv > \"$0.$1.$$.env\"\n";

/// Longer texts are somebody's, and no fact.
const LONGEST: usize = 600;

/// What an agent sent, by the name of a file: `EVENT.json` or `EVENT.CALL.json`; and `environment.json`.
///
/// # Errors
/// If the agent could not be run.
pub async fn record(agent: Agent<'_>, bounds: Bounds<'_>) -> Result<BTreeMap<String, Value>, TrialError> {
    let driver = Driver::of(agent.host).ok_or(TrialError::NoDriver(agent.host))?;
    let scene = Scene::new(bounds.keep)?;
    scene.bring_unpacked(agent.host, bounds)?;
    let standin = Standin::start(wishes(&scene)).await.map_err(TrialError::Standin)?;
    let recorder = scene.script("record", SCRIPT)?;
    let events = agent.host.info().events;
    let entry = |event: &'static str| Entry {
        event,
        matcher: None,
        command: format!("{recorder} {event}"),
        patience: None,
        closed: false,
    };
    let entries: Vec<Entry<'_>> = events.iter().map(|event| entry(event.name)).collect();
    scene.settings(driver, &standin.url(), &entries)?;
    run::agent(agent.program, driver, &scene, &standin, bounds, Patience { trusts: true, answers: None }, || ())
        .await?;
    let scrub = Scrub::new(&scene, agent.program);
    Ok(collect(Path::new(&recorder), &scrub))
}

fn wishes(scene: &Scene) -> Vec<Wish> {
    let path = scene.project().join("new.txt").to_string_lossy().into_owned();
    vec![
        Wish::Shell("touch RAN".to_owned()),
        Wish::Write { path: path.clone(), content: "one\ntwo\n".to_owned() },
        Wish::Read { path: path.clone() },
        Wish::Edit { path, old: "two".to_owned(), new: "three".to_owned() },
        Wish::Shell("exit 3".to_owned()),
    ]
}

/// What the recorder wrote: the first of each kind.
fn collect(recorder: &Path, scrub: &Scrub) -> BTreeMap<String, Value> {
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
                let name = call(&payload).map_or(format!("{event}.json"), |call| format!("{event}.{call}.json"));
                found.entry(name).or_insert_with(|| scrub.value(payload));
            }
            _ => {
                found.entry("environment.json".to_owned()).or_insert_with(|| scrub.environment(&text));
            }
        }
    }
    found
}

/// Which of the wishes a payload is about.
fn call(payload: &Value) -> Option<&'static str> {
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

/// Takes out where it was recorded.
struct Scrub(Vec<(String, &'static str)>);

impl Scrub {
    fn new(scene: &Scene, program: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // Some agents name folders after the project's path.
        let flat = |path: &Path| text(path).replace(['/', '.', '_'], "-");
        let modules = program.ancestors().nth(2).unwrap_or(program);
        Scrub(vec![
            (text(&scene.project()), "/project"),
            (text(&scene.home()), "/home/user"),
            (flat(&scene.project()), "-project"),
            (text(&scene.project()).replace('/', "%2F"), "%2Fproject"),
            (text(scene.root()), "/tmp"),
            (text(modules), "/usr/lib/node_modules"),
        ])
    }

    fn text(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        match text.char_indices().nth(LONGEST) {
            None => text,
            Some(_) => {
                let kept: String = text.chars().take(60).collect();
                format!("{kept}… ({} characters left out)", text.chars().count() - 60)
            }
        }
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(list) => list.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(object) => object.into_iter().map(|(key, value)| (key, self.value(value))).collect(),
            other => other,
        }
    }

    /// What the agent put there: neither what every program has nor what looks like a key.
    fn environment(&self, text: &str) -> Value {
        const USUAL: [&str; 9] = ["PATH", "HOME", "TERM", "PWD", "OLDPWD", "SHLVL", "_", "NO_COLOR", "TRIAL_KEY"];
        let is_ours = |name: &str| {
            USUAL.contains(&name) || ["KEY", "TOKEN", "URL", "PROXY", "proxy"].iter().any(|part| name.contains(part))
        };
        let variables = text.lines().filter_map(|line| line.split_once('='));
        let kept = variables.filter(|(name, _)| !is_ours(name));
        let kept: BTreeMap<&str, String> = kept.map(|(name, value)| (name, self.text(value))).collect();
        json!({"hook_environment": kept})
    }
}
