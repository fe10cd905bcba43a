//! Canaries: a harmless sample event for each worker and HTTP hook, to see whether it answers. A command's script can
//! be inspected; for these, only an answer tells.

use std::time::{Duration, Instant};

use hookwright_agent::session::{ArmedState, HookListEntry, build_canary};
use hookwright_hooks::{Action, Hook, HookEngine};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::LoadedProject;

/// The limit of a hook's timeout here, because the user waits for the result.
const MAX_CANARY_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a canary.
pub(super) struct CanaryResult {
    /// How long the answer took, or why there was none.
    result: Result<Duration, String>,
}

impl CanaryResult {
    /// Returns why the hook did not answer, if it did not.
    pub(super) fn failure(&self) -> Option<&str> {
        self.result.as_ref().err().map(String::as_str)
    }

    /// Describes the result in a few words.
    pub(super) fn summary(&self) -> String {
        match &self.result {
            Ok(took) => format!("answered a test call in {} ms", took.as_millis()),
            Err(why) => format!("failed a test call: {why}"),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.result {
            Ok(took) => json!({"ok": true, "ms": took.as_secs_f64() * 1000.0}),
            Err(why) => json!({"ok": false, "error": why}),
        }
    }
}

/// Sends a canary to each armed worker and HTTP hook; `None` for the others, in the order of the entries.
pub(super) fn probe_all(
    toolbox: &LoadedProject,
    entries: &[HookListEntry],
) -> anyhow::Result<Vec<Option<CanaryResult>>> {
    let stands_elsewhere = |hook: &Hook| matches!(hook.action, Action::Worker(_) | Action::Http(_));
    let is_meant = |entry: &&HookListEntry| matches!(entry.state, ArmedState::Armed) && stands_elsewhere(&entry.hook);
    if entries.iter().find(is_meant).is_none() {
        return Ok(entries.iter().map(|_| None).collect());
    }
    crate::runtime::start(2)?.block_on(async {
        let mut asked = Vec::new();
        for entry in entries {
            asked.push(match is_meant(&entry) {
                true => Some(probe(toolbox, &entry.hook).await),
                false => None,
            });
        }
        Ok(asked)
    })
}

async fn probe(toolbox: &LoadedProject, hook: &Hook) -> CanaryResult {
    let bounded = Hook { timeout: hook.timeout.min(MAX_CANARY_TIMEOUT), ..hook.clone() };
    let (alone, event) = match build_canary(&bounded) {
        Ok(made) => made,
        Err(error) => return CanaryResult { result: Err(error.to_string()) },
    };
    let session = toolbox.engine_session("doctor", std::path::PathBuf::new());
    let loaded = &toolbox.loaded;
    let builder = HookEngine::builder(alone).session(session).exec_envs(loaded.hook_exec_envs());
    let engine = builder.confinement_launcher(crate::commands::run::launcher(&loaded.process_env)).build();
    let started = Instant::now();
    let outcome = engine.fire_any(&event, &CancellationToken::new()).await;
    let took = started.elapsed();
    engine.shutdown().await;
    let error = outcome.runs.first().map_or(Some("did not run".to_owned()), |run| run.error.clone());
    CanaryResult { result: error.map_or(Ok(took), Err) }
}
