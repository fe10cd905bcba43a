//! One run of an agent: started in its home and project, ended when it has come back with an answer to what the model
//! wanted, when it is done, or when its time is up.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};

use super::sandbox::TrialSandbox;
use super::{TrialError, TrialLimits};
use crate::driver::AgentDriver;
use crate::mock_model::MockModelServer;

/// How much of what an agent prints is kept.
const MAX_KEPT_OUTPUT_BYTES: usize = 16 << 10;

/// How long an agent has to end by itself once it is asked to.
const KILL_GRACE_PERIOD: Duration = Duration::from_millis(500);

/// A port that nobody listens on.
const UNREACHABLE_PROXY: &str = "http://127.0.0.1:9";

/// What came of a run.
pub(crate) struct FinishedAgentRun<T> {
    /// Whether its time was up before it was done.
    pub(crate) timed_out: bool,
    /// What was there before it was ended: an agent that is ended may still do what nobody answers for any more.
    pub(crate) found: T,
    /// The end of what it printed.
    pub(crate) output: String,
}

/// How a run is started, and when it is over.
pub(crate) struct AgentRunOptions {
    /// Whether the agent is told to trust hooks.
    pub(crate) trusts_hooks: bool,
    /// After how many answers to what the model wanted it is ended; when it is done by itself, if nothing.
    pub(crate) stop_after_answers: Option<usize>,
}

pub(crate) async fn run_agent<T>(
    program: &Path,
    driver: &AgentDriver,
    scene: &TrialSandbox,
    standin: &MockModelServer,
    bounds: TrialLimits<'_>,
    patience: AgentRunOptions,
    look: impl Fn() -> T,
) -> Result<FinishedAgentRun<T>, TrialError> {
    let args: Vec<OsString> = driver.args(patience.trusts_hooks).into_iter().map(OsString::from).collect();
    let mut env = base_environment(scene, bounds);
    env.extend(driver.env(&standin.url()).into_iter().map(|(name, value)| (name, value.into())));
    let groups = Arc::new(ProcessGroups::default());
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let mut process = spawn(program, &args, scene, &env, &groups).map_err(failed)?;
    let mut is_overdue = false;
    let done = tokio::select! {
        exit = process.wait() => exit.map(drop).map_err(failed),
        () = standin.wait_answered(patience.stop_after_answers.unwrap_or(usize::MAX)) => Ok(()),
        () = tokio::time::sleep(bounds.timeout) => { is_overdue = true; Ok(()) }
    };
    let found = look();
    process.terminate(KILL_GRACE_PERIOD, TerminationWait::Leader).await;
    let words = collect_output(process);
    groups.terminate_all(KILL_GRACE_PERIOD).await;
    done?;
    Ok(FinishedAgentRun { timed_out: is_overdue, found, output: words })
}

/// How long Hookwright may take to write itself into settings.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs Hookwright itself in a cell, to its end.
pub(crate) async fn run_hookwright(
    program: &Path,
    args: &[&str],
    scene: &TrialSandbox,
    bounds: TrialLimits<'_>,
) -> Result<(), TrialError> {
    let command = format!("hookwright {}", args.join(" "));
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let groups = Arc::new(ProcessGroups::default());
    let mut process = spawn(program, &args, scene, &base_environment(scene, bounds), &groups).map_err(failed)?;
    let exit = tokio::time::timeout(INSTALL_TIMEOUT, process.wait()).await;
    process.terminate(KILL_GRACE_PERIOD, TerminationWait::Group).await;
    let words = collect_output(process);
    match exit {
        Ok(Err(error)) => Err(failed(error)),
        Ok(Ok(Exit::Code(0))) => Ok(()),
        _ => Err(TrialError::Install { command, words }),
    }
}

/// What a process printed, as far as it is kept.
fn collect_output(process: Process) -> String {
    let finished = process.finish();
    let words = [finished.stdout, finished.stderr].map(|stream| {
        let text = [stream.head(), &stream.tail()].concat();
        String::from_utf8_lossy(&text).into_owned()
    });
    words.join("\n").trim().to_owned()
}

fn spawn(
    program: &Path,
    args: &[OsString],
    scene: &TrialSandbox,
    env: &[(&str, OsString)],
    groups: &Arc<ProcessGroups>,
) -> std::io::Result<Process> {
    let mut env = env.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
    let name = program.file_name().unwrap_or(program.as_os_str());
    let cwd = scene.project_dir();
    let mut program = ProgramSpec { path: program, name, args, cwd: &cwd, cwd_handle: None, env: &mut env };
    Process::spawn(
        &mut program,
        ProcessInput::Empty,
        OutputRouting::Separate(CaptureLimit::HeadAndTail(MAX_KEPT_OUTPUT_BYTES)),
        groups,
    )
}

/// What every program in a cell finds around it: nothing of the user's but where programs are.
pub(crate) fn base_environment(scene: &TrialSandbox, bounds: TrialLimits<'_>) -> Vec<(&'static str, OsString)> {
    let mut env = vec![
        ("PATH", bounds.search_path.to_owned()),
        ("HOME", scene.home_dir().into_os_string()),
        ("TERM", OsString::from("dumb")),
        ("NO_COLOR", OsString::from("1")),
    ];
    if bounds.block_network {
        let closed = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        env.extend(closed.map(|name| (name, OsString::from(UNREACHABLE_PROXY))));
        env.extend(["NO_PROXY", "no_proxy"].map(|name| (name, OsString::from("127.0.0.1,localhost"))));
    }
    env
}
