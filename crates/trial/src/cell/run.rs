//! One run of an agent: started in its home and project, ended when it has come back with an answer to what the model
//! wanted, when it is done, or when its time is up.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{Exit, Groups, Input, Keep, Output, Process, Program, Until};

use super::place::Scene;
use super::{Bounds, TrialError};
use crate::driver::Driver;
use crate::standin::Standin;

/// How much of what an agent prints is kept.
const KEPT: usize = 16 << 10;

/// How long an agent has to end by itself once it is asked to.
const GRACE: Duration = Duration::from_millis(500);

/// A port that nobody listens on.
const NOBODY: &str = "http://127.0.0.1:9";

/// What came of a run.
pub(crate) struct Run<T> {
    /// Whether its time was up before it was done.
    pub(crate) is_overdue: bool,
    /// What was there before it was ended: an agent that is ended may still do what nobody answers for any more.
    pub(crate) found: T,
    /// The end of what it printed.
    pub(crate) words: String,
}

/// How a run is started, and when it is over.
pub(crate) struct Patience {
    /// Whether the agent is told to trust hooks.
    pub(crate) trusts: bool,
    /// After how many answers to what the model wanted it is ended; when it is done by itself, if nothing.
    pub(crate) answers: Option<usize>,
}

pub(crate) async fn agent<T>(
    program: &Path,
    driver: &Driver,
    scene: &Scene,
    standin: &Standin,
    bounds: Bounds<'_>,
    patience: Patience,
    look: impl Fn() -> T,
) -> Result<Run<T>, TrialError> {
    let args: Vec<OsString> = driver.args(patience.trusts).into_iter().map(OsString::from).collect();
    let mut env = base(scene, bounds);
    env.extend(driver.env(&standin.url()).into_iter().map(|(name, value)| (name, value.into())));
    let groups = Arc::new(Groups::default());
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let mut process = spawn(program, &args, scene, &env, &groups).map_err(failed)?;
    let mut is_overdue = false;
    let done = tokio::select! {
        exit = process.wait() => exit.map(drop).map_err(failed),
        () = standin.answered(patience.answers.unwrap_or(usize::MAX)) => Ok(()),
        () = tokio::time::sleep(bounds.time) => { is_overdue = true; Ok(()) }
    };
    let found = look();
    process.end(GRACE, Until::LeaderGone).await;
    let words = words(process);
    groups.end_all(GRACE).await;
    done?;
    Ok(Run { is_overdue, found, words })
}

/// How long Hookwright may take to write itself into settings.
const SOON: Duration = Duration::from_secs(30);

/// Runs Hookwright itself in a cell, to its end.
pub(crate) async fn hookwright(
    program: &Path,
    args: &[&str],
    scene: &Scene,
    bounds: Bounds<'_>,
) -> Result<(), TrialError> {
    let command = format!("hookwright {}", args.join(" "));
    let failed = |source| TrialError::Run { program: program.display().to_string(), source };
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let groups = Arc::new(Groups::default());
    let mut process = spawn(program, &args, scene, &base(scene, bounds), &groups).map_err(failed)?;
    let exit = tokio::time::timeout(SOON, process.wait()).await;
    process.end(GRACE, Until::GroupGone).await;
    let words = words(process);
    match exit {
        Ok(Err(error)) => Err(failed(error)),
        Ok(Ok(Exit::Code(0))) => Ok(()),
        _ => Err(TrialError::Wire { command, words }),
    }
}

/// What a process printed, as far as it is kept.
fn words(process: Process) -> String {
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
    scene: &Scene,
    env: &[(&str, OsString)],
    groups: &Arc<Groups>,
) -> std::io::Result<Process> {
    let mut env = env.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
    let name = program.file_name().unwrap_or(program.as_os_str());
    let cwd = scene.project();
    let mut program = Program { path: program, name, args, cwd: &cwd, directory: None, env: &mut env };
    Process::spawn(&mut program, Input::Empty, Output::Apart(Keep::Ends(KEPT)), groups)
}

/// What every program in a cell finds around it: nothing of the user's but where programs are.
pub(crate) fn base(scene: &Scene, bounds: Bounds<'_>) -> Vec<(&'static str, OsString)> {
    let mut env = vec![
        ("PATH", bounds.path.to_owned()),
        ("HOME", scene.home().into_os_string()),
        ("TERM", OsString::from("dumb")),
        ("NO_COLOR", OsString::from("1")),
    ];
    if bounds.fence {
        let closed = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        env.extend(closed.map(|name| (name, OsString::from(NOBODY))));
        env.extend(["NO_PROXY", "no_proxy"].map(|name| (name, OsString::from("127.0.0.1,localhost"))));
    }
    env
}
