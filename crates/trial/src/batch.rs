//! Several behaviours in one run of an agent: each has a hook and a command that only this hook is called for. The
//! agent is started once, because its start takes most of the time.

use std::path::Path;
use std::time::Instant;

use crate::behaviour::{self, Behaviour, HookIntent};
use crate::case::run::{self, AgentRunOptions};
use crate::case::sandbox::{TrialBridgeProgram, TrialSandbox};
use crate::case::{CallOutcome, TrialAgent, TrialError, TrialLimits, TrialObservation};
use crate::driver::AgentDriver;
use crate::mock_model::{MockModelServer, ScriptedAction};

/// The result of one run.
pub(crate) struct BatchResult {
    /// The observations, in order, for as many behaviours as the agent reached.
    pub(crate) observations: Vec<TrialObservation>,
    /// Whether the timeout ended the run.
    pub(crate) timed_out: bool,
}

/// Runs an agent once with all of these behaviours; calls `done` for each as soon as the agent has answered it.
pub(crate) async fn run_batch(
    agent: TrialAgent<'_>,
    behaviours: &[&'static Behaviour],
    hookwright: &Path,
    bounds: TrialLimits<'_>,
    mut done: impl FnMut(usize, &TrialObservation),
) -> Result<BatchResult, TrialError> {
    let driver = AgentDriver::for_host(agent.host).ok_or(TrialError::NoDriver(agent.host))?;
    let file = |nth: usize| format!("{}-{nth:02}", behaviour::RAN_FILE);
    let command = |nth: usize| format!("touch {}", file(nth));
    let mut sandbox = TrialSandbox::new(bounds.keep_files)?;
    let actions = (0..behaviours.len()).map(|nth| ScriptedAction::Shell(command(nth))).collect();
    let server = MockModelServer::start(actions).await.map_err(TrialError::MockModel)?;
    let hooks: Vec<_> = behaviours.iter().enumerate().map(|(nth, behaviour)| (*behaviour, command(nth))).collect();
    let called = TrialBridgeProgram { path: hookwright, removed_before_call: false };
    sandbox.prepare_batch(agent, driver, &hooks, &server.url(), called, bounds).await?;
    let start = Instant::now();
    let end = |nth: usize| match () {
        () if sandbox.has_file(&file(nth)) => CallOutcome::Ran,
        () if behaviours[nth].intent == HookIntent::Rewrite && sandbox.has_file(behaviour::REWRITTEN_FILE) => {
            CallOutcome::Rewritten
        }
        () => CallOutcome::Blocked,
    };
    let look = |nth: usize, before: Instant| TrialObservation {
        end: end(nth),
        told: server.has_received(behaviour::REASON_MARKER),
        context: server.has_received(behaviour::CONTEXT_MARKER),
        started: sandbox.started_hooks(nth),
        elapsed: before.elapsed(),
        output: String::new(),
        kept_dir: bounds.keep_files.then(|| sandbox.root().to_owned()),
    };
    let mut seen: Vec<TrialObservation> = Vec::new();
    let options = AgentRunOptions { trusts_hooks: true, stop_after_answers: Some(behaviours.len()) };
    let agents_run = run::run_agent(agent.program, driver, &sandbox, &server, bounds, options, || ());
    let mut agents_run = std::pin::pin!(agents_run);
    let mut before = start;
    let ended = loop {
        tokio::select! {
            // Answers that have arrived count, even if the agent ends at the same time.
            biased;
            () = server.wait_answered(seen.len() + 1), if seen.len() < behaviours.len() => {
                let one = look(seen.len(), before);
                done(seen.len(), &one);
                before = Instant::now();
                seen.push(one);
            }
            ended = &mut agents_run => break ended?,
        }
    };
    // An agent that ended with its last call unanswered was denied the call, or has run it.
    if !ended.timed_out && server.progress().0 > seen.len() {
        let one = look(seen.len(), before);
        done(seen.len(), &one);
        seen.push(one);
    }
    Ok(BatchResult { observations: seen, timed_out: ended.timed_out })
}
