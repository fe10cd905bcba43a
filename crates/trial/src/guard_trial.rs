//! The trial of the user's own guards: the real agent makes calls that they should refuse, and its hook entries call
//! Hookwright with the user's own settings and project.
//!
//! None of the calls may run, even if a guard does not refuse it. So the entries call Hookwright with `--trial`, which
//! records its decision and then refuses every call.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
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
    let read_decisions = || -> Vec<Value> {
        let text = hookwright_disk::read_text(&record, MAX_RECORD_BYTES).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let mut seen: Vec<GuardObservation> = Vec::new();
    let mut counted = 0;
    let mut observe = |answered: bool| {
        let decisions = read_decisions().split_off(counted);
        counted += decisions.len();
        GuardObservation { answered, decisions }
    };
    let options = AgentRunOptions { trusts_hooks: true, stop_after_answers: Some(wanted.calls.len()) };
    let agents_run = run::run_agent(live.program, driver, &sandbox, &server, bounds, options, || ());
    let mut agents_run = std::pin::pin!(agents_run);
    let ended = loop {
        tokio::select! {
            biased;
            () = server.wait_answered(seen.len() + 1), if seen.len() < wanted.calls.len() => seen.push(observe(true)),
            ended = &mut agents_run => break ended,
        }
    };
    ended?;
    // The agent may have ended right after its last answer.
    while seen.len() < wanted.calls.len() {
        let is_answered = server.progress().1 > seen.len();
        seen.push(observe(is_answered));
    }
    Ok(seen)
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
