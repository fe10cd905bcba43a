//! The trial of the user's own guards: the real agent makes calls that they should refuse, and its hook entries call
//! Hookwright with the user's own settings and project.
//!
//! None of the calls may run, even if a guard does not refuse it. So the entries call Hookwright with `--trial`, which
//! records its decision and then refuses every call.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::case::run::{self, AgentRunOptions};
use crate::case::sandbox::{TrialSandbox, sandbox_error};
use crate::case::{TrialAgent, TrialError, TrialLimits};
use crate::driver::AgentDriver;
use crate::live::LiveTrial;
use crate::mock_model::{MockModelServer, ScriptedAction};

/// The user's own settings and the calls that their guards should refuse.
#[derive(Debug, Clone, Copy)]
pub struct GuardTrial<'a> {
    /// The agent and the programs.
    pub live: LiveTrial<'a>,
    /// The project whose guards are tried.
    pub project: &'a Path,
    /// The variables by which Hookwright finds the user's settings.
    pub settings_env: &'a [(OsString, OsString)],
    /// The calls, one after another.
    pub calls: &'a [ScriptedAction],
}

/// The observation of one call.
#[derive(Debug, Clone)]
pub struct GuardObservation {
    /// Whether the agent told the model the call's result.
    pub answered: bool,
    /// The decisions of Hookwright about the call, as its trace records them. Empty if the agent sent no event.
    pub decisions: Vec<Value>,
}

/// The name of the file with the bridge's decisions.
const RECORD_FILE: &str = "decisions.jsonl";
/// The most of that file that is read.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// Runs the agent once, and has the model make all calls.
///
/// # Errors
/// Returns an error if the agent has no driver, or could not be run at all.
pub async fn run_guard_trial(wanted: GuardTrial<'_>) -> Result<Vec<GuardObservation>, TrialError> {
    let live = wanted.live;
    let driver = AgentDriver::for_host(live.host).ok_or(TrialError::NoDriver(live.host))?;
    let sandbox = TrialSandbox::new(false)?;
    // Paths of the project become paths of the sandbox's; the bridge translates them back.
    let (real, own) = (wanted.project.display().to_string(), sandbox.project_dir().display().to_string());
    let calls: Vec<ScriptedAction> = wanted.calls.iter().map(|call| call.with_paths_replaced(&real, &own)).collect();
    let server = MockModelServer::start(calls).await.map_err(TrialError::MockModel)?;
    let bounds = TrialLimits {
        search_path: live.path,
        timeout: live.deadline.saturating_duration_since(Instant::now()),
        block_network: true,
        keep_files: false,
        cache_dir: live.cache,
    };
    let agent = TrialAgent { host: live.host, program: live.program };
    sandbox.prepare_trial_bridge(agent, driver, &server.url(), live.hookwright, bounds).await?;
    let record = sandbox.root().join(RECORD_FILE);
    write_wrapper(&sandbox, &wanted, &record)?;
    let answers = observe_decisions(&server, &record);
    let options = AgentRunOptions { trusts_hooks: true, stop_after_answers: Some(wanted.calls.len()) };
    run::run_agent(live.program, driver, &sandbox, &server, bounds, options, || ()).await?;
    let ends = answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(split_by_call(read_decisions(&record), &ends, wanted.calls.len()))
}

/// Returns the number of decisions on record when each call was answered. The agent makes no further call before that
/// number is taken.
fn observe_decisions(server: &MockModelServer, record: &Path) -> Arc<Mutex<Vec<usize>>> {
    let answers: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (counts, record) = (answers.clone(), record.to_owned());
    server.observe_answers(Box::new(move |answered| {
        let count = read_decisions(&record).len();
        counts.lock().unwrap_or_else(PoisonError::into_inner).resize(answered, count);
    }));
    answers
}

fn read_decisions(record: &Path) -> Vec<Value> {
    let text = hookwright_disk::read_text(record, MAX_RECORD_BYTES).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the decisions about each call. `ends` has the number of decisions when each call was answered; decisions after
/// the last answer belong to the first call without one.
fn split_by_call(mut decisions: Vec<Value>, ends: &[usize], calls: usize) -> Vec<GuardObservation> {
    let mut seen = Vec::new();
    let mut taken = 0;
    for call in 0..calls {
        let end = ends.get(call).copied();
        let count = end.map_or(decisions.len(), |end| end.saturating_sub(taken)).min(decisions.len());
        let rest = decisions.split_off(count);
        taken += decisions.len();
        seen.push(GuardObservation { answered: end.is_some(), decisions: std::mem::replace(&mut decisions, rest) });
    }
    seen
}

/// Puts a script in place of the program that the entries call: it calls Hookwright with the user's own settings.
fn write_wrapper(sandbox: &TrialSandbox, wanted: &GuardTrial<'_>, record: &Path) -> Result<(), TrialError> {
    let plan = sandbox.root().join("trial.json");
    let places = json!({"record": record, "from": sandbox.project_dir(), "to": wanted.project});
    fs::write(&plan, places.to_string()).map_err(sandbox_error(&plan))?;
    let project = wanted.project.as_os_str();
    let declared = wanted.live.host.info().project_vars.iter().map(|name| (OsString::from(name), project.to_owned()));
    let exports: Vec<String> = wanted
        .settings_env
        .iter()
        .cloned()
        .chain(declared)
        .map(|(name, value)| format!("export {}={}\n", name.to_string_lossy(), shell_quote(&value)))
        .collect();
    let call = format!(
        "exec {} \"$@\" --trial {}\n",
        shell_quote(wanted.live.hookwright.as_os_str()),
        shell_quote(plan.as_os_str())
    );
    let program = sandbox.bridge_program();
    fs::remove_file(&program).map_err(sandbox_error(&program))?;
    sandbox.write_executable(&program, &format!("#!/bin/sh\n{}{call}", exports.concat()))
}

fn shell_quote(text: &OsStr) -> String {
    format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(decisions: usize, ends: &[usize], calls: usize) -> Vec<(bool, usize)> {
        let decisions = (0..decisions).map(Value::from).collect();
        split_by_call(decisions, ends, calls).iter().map(|one| (one.answered, one.decisions.len())).collect()
    }

    #[test]
    fn decisions_belong_to_the_call_that_was_answered_after_them() {
        assert_eq!(split(2, &[1, 2], 2), [(true, 1), (true, 1)]);
        assert_eq!(split(3, &[2, 3], 2), [(true, 2), (true, 1)]);
        assert_eq!(split(2, &[1, 1, 2], 3), [(true, 1), (true, 0), (true, 1)]);
        // The agent ended before it answered.
        assert_eq!(split(2, &[1], 3), [(true, 1), (false, 1), (false, 0)]);
        assert_eq!(split(0, &[], 2), [(false, 0), (false, 0)]);
    }
}
