//! One run of an agent in its home and project. It ends when the agent has answered the mock model's actions, when the
//! agent exits, or at the timeout.

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

/// The most output of an agent that is kept, per stream.
const MAX_KEPT_OUTPUT_BYTES: usize = 16 << 10;

/// How long an agent may take to end after SIGTERM.
const KILL_GRACE_PERIOD: Duration = Duration::from_millis(500);

/// A local port on which normally no program listens.
const UNREACHABLE_PROXY: &str = "http://127.0.0.1:9";

/// The result of a run.
pub(crate) struct FinishedAgentRun<T> {
    /// Whether the timeout ended the run.
    pub(crate) timed_out: bool,
    /// The files found before the agent was terminated: during termination it may still do things that prove nothing.
    pub(crate) found: T,
    /// The kept part of the output.
    pub(crate) output: String,
}

/// The options of a run.
pub(crate) struct AgentRunOptions {
    /// Whether the agent is told to trust hooks.
    pub(crate) trusts_hooks: bool,
    /// The number of answered actions after which the agent is terminated; if none, it runs until it exits.
    pub(crate) stop_after_answers: Option<usize>,
}

pub(crate) async fn run_agent<T>(
    program: &Path,
    driver: &AgentDriver,
    sandbox: &TrialSandbox,
    server: &MockModelServer,
    bounds: TrialLimits<'_>,
    options: AgentRunOptions,
    look: impl Fn() -> T,
) -> Result<FinishedAgentRun<T>, TrialError> {
    let args: Vec<OsString> = driver.args(options.trusts_hooks).into_iter().map(OsString::from).collect();
    let mut env = base_environment(sandbox, bounds);
    env.extend(driver.env(&server.url()).into_iter().map(|(name, value)| (name, value.into())));
    let groups = Arc::new(ProcessGroups::default());
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let mut process = spawn(program, &args, sandbox, &env, &groups).map_err(failed)?;
    let mut is_overdue = false;
    let done = tokio::select! {
        exit = process.wait() => exit.map(drop).map_err(failed),
        () = server.wait_answered(options.stop_after_answers.unwrap_or(usize::MAX)) => Ok(()),
        () = tokio::time::sleep(bounds.timeout) => { is_overdue = true; Ok(()) }
    };
    let found = look();
    process.terminate(KILL_GRACE_PERIOD, TerminationWait::Leader).await;
    let words = collect_output(process);
    groups.terminate_all(KILL_GRACE_PERIOD).await;
    done?;
    Ok(FinishedAgentRun { timed_out: is_overdue, found, output: words })
}

/// How long Hookwright may take to install itself into settings.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs Hookwright itself in a sandbox, to its end.
pub(crate) async fn run_hookwright(
    program: &Path,
    args: &[&str],
    sandbox: &TrialSandbox,
    bounds: TrialLimits<'_>,
) -> Result<(), TrialError> {
    let command = format!("hookwright {}", args.join(" "));
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let groups = Arc::new(ProcessGroups::default());
    let mut process = spawn(program, &args, sandbox, &base_environment(sandbox, bounds), &groups).map_err(failed)?;
    let exit = tokio::time::timeout(INSTALL_TIMEOUT, process.wait()).await;
    process.terminate(KILL_GRACE_PERIOD, TerminationWait::Group).await;
    let words = collect_output(process);
    match exit {
        Ok(Err(error)) => Err(failed(error)),
        Ok(Ok(Exit::Code(0))) => Ok(()),
        _ => Err(TrialError::Install { command, words }),
    }
}

/// Returns the kept output of a process.
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
    sandbox: &TrialSandbox,
    env: &[(&str, OsString)],
    groups: &Arc<ProcessGroups>,
) -> std::io::Result<Process> {
    let mut env = env.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
    let name = program.file_name().unwrap_or(program.as_os_str());
    let cwd = sandbox.project_dir();
    let mut program = ProgramSpec { path: program, name, args, cwd: &cwd, cwd_handle: None, env: &mut env };
    Process::spawn(
        &mut program,
        ProcessInput::Empty,
        OutputRouting::Separate(CaptureLimit::HeadAndTail(MAX_KEPT_OUTPUT_BYTES)),
        groups,
    )
}

/// Returns the user's search path, behind the programs of the sandbox if it has any.
fn search_path(sandbox: &TrialSandbox, bounds: TrialLimits<'_>) -> OsString {
    let programs = sandbox.programs_dir();
    let folders = programs.is_dir().then_some(programs).into_iter().chain(std::env::split_paths(bounds.search_path));
    std::env::join_paths(folders).unwrap_or_else(|_| bounds.search_path.to_owned())
}

/// Returns the base environment of every program in a sandbox: of the user's variables only the search path.
pub(crate) fn base_environment(sandbox: &TrialSandbox, bounds: TrialLimits<'_>) -> Vec<(&'static str, OsString)> {
    let mut env = vec![
        ("PATH", search_path(sandbox, bounds)),
        ("HOME", sandbox.home_dir().into_os_string()),
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
