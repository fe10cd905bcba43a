//! Whether hooks that stand elsewhere, a worker or a service, are awake: each is asked about something harmless. A command's
//! script can be looked at; what these would say only they know.

use std::time::{Duration, Instant};

use hookwright_agent::session::{Armed, HookEntry, canary};
use hookwright_hooks::{Action, Hook, HookEngine};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Toolbox;

/// Nobody sits in front of a doctor for longer.
const LONGEST: Duration = Duration::from_secs(10);

/// What came of asking.
pub(super) struct Canary {
    /// How long the answer took, or why there was none.
    result: Result<Duration, String>,
}

impl Canary {
    /// Why it is not awake, if it is not.
    pub(super) fn failure(&self) -> Option<&str> {
        self.result.as_ref().err().map(String::as_str)
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match &self.result {
            Ok(took) => format!("answered a sample in {} ms", took.as_millis()),
            Err(why) => format!("asked about a sample, it {why}"),
        }
    }

    pub(super) fn json(&self) -> Value {
        match &self.result {
            Ok(took) => json!({"ok": true, "ms": took.as_secs_f64() * 1000.0}),
            Err(why) => json!({"ok": false, "error": why}),
        }
    }
}

/// Asks those that are armed; nothing for the others, in the order of the entries.
pub(super) fn ask_all(toolbox: &Toolbox, entries: &[HookEntry]) -> anyhow::Result<Vec<Option<Canary>>> {
    let stands_elsewhere = |hook: &Hook| matches!(hook.action, Action::Worker(_) | Action::Http(_));
    let is_meant = |entry: &&HookEntry| matches!(entry.state, Armed::Yes) && stands_elsewhere(&entry.hook);
    if entries.iter().find(is_meant).is_none() {
        return Ok(entries.iter().map(|_| None).collect());
    }
    crate::runtime::start(2)?.block_on(async {
        let mut asked = Vec::new();
        for entry in entries {
            asked.push(match is_meant(&entry) {
                true => Some(ask(toolbox, &entry.hook).await),
                false => None,
            });
        }
        Ok(asked)
    })
}

async fn ask(toolbox: &Toolbox, hook: &Hook) -> Canary {
    let patient = Hook { timeout: hook.timeout.min(LONGEST), ..hook.clone() };
    let (alone, event) = match canary(&patient) {
        Ok(made) => made,
        Err(error) => return Canary { result: Err(error.to_string()) },
    };
    let session = toolbox.session("doctor", std::path::PathBuf::new());
    let engine = HookEngine::builder(alone).session(session).places(toolbox.loaded.hook_places()).build();
    let started = Instant::now();
    let outcome = engine.fire_any(&event, &CancellationToken::new()).await;
    let took = started.elapsed();
    engine.shutdown().await;
    let error = outcome.runs.first().map_or(Some("was not asked".to_owned()), |run| run.error.clone());
    Canary { result: error.map_or(Ok(took), Err) }
}
