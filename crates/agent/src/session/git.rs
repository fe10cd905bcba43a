//! Asks git for the differences that `/diff` shows. Read-only: external diff and text-conversion programs that the
//! configuration names are not run.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessEvent, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};
use hookwright_settings::LoadedConfig;

/// How long git may run.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);
const GIT_KILL_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The capture limit for git's output, at its head and at its tail.
const MAX_GIT_OUTPUT_BYTES: usize = 256 << 10;

/// The differences from the last commit.
pub(super) struct GitDiff {
    /// A summary and the patch; empty if nothing differs.
    pub(super) text: String,
    /// The files in the patch, relative to the project.
    pub(super) files: Vec<String>,
}

/// Returns whether the project is in a git repository.
pub(super) fn is_in_repository(loaded: &LoadedConfig) -> bool {
    loaded.project.root.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// Returns the differences from the last commit, and the names of new files.
pub(super) async fn diff_against_head(loaded: &LoadedConfig) -> Result<GitDiff, String> {
    // Before the first commit, the working tree can only be compared with the index.
    let has_commits = run_git(loaded, &["rev-parse", "--verify", "--quiet", "HEAD"]).await.is_ok();
    let diff = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
    let against = has_commits.then_some("HEAD");
    let words = |more: &[&'static str]| diff.iter().chain(more).copied().chain(against).collect::<Vec<_>>();
    let mut text = run_git(loaded, &words(&["--stat", "--patch"])).await?;
    let files = run_git(loaded, &words(&["--name-only", "--no-renames", "--relative", "-z"])).await?;
    let new = run_git(loaded, &["ls-files", "--others", "--exclude-standard"]).await?;
    if !new.trim().is_empty() {
        let files: Vec<String> = new.lines().map(|file| format!("    {file}")).collect();
        text.push_str(&format!("not known to git:\n{}\n", files.join("\n")));
    }
    let files = files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    Ok(GitDiff { text, files })
}

/// Runs git and returns its output.
async fn run_git(loaded: &LoadedConfig, words: &[&str]) -> Result<String, String> {
    let mut process = spawn_git(loaded, words)?;
    let run = async {
        loop {
            match process.next_event().await {
                Ok(ProcessEvent::Output) => {}
                Ok(ProcessEvent::Exited(exit)) => break Ok(exit),
                Err(error) => break Err(error.to_string()),
            }
        }
    };
    let Ok(ended) = tokio::time::timeout(GIT_TIMEOUT, run).await else {
        process.terminate(GIT_KILL_GRACE_PERIOD, TerminationWait::Group).await;
        return Err(format!("git took longer than {} s", GIT_TIMEOUT.as_secs()));
    };
    let ended = ended?;
    let output = process.finish().stdout;
    let text = String::from_utf8_lossy(&[output.head(), &output.tail()].concat()).into_owned();
    match ended {
        Exit::Code(0) => Ok(text),
        _ => Err(format!("git says: {}", text.lines().next().unwrap_or("nothing"))),
    }
}

fn spawn_git(loaded: &LoadedConfig, words: &[&str]) -> Result<Process, String> {
    let path = find_git(loaded).ok_or("git was not found")?;
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    let env = loaded.git_environment();
    let mut env = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let cwd = &loaded.project.root;
    let mut program =
        ProgramSpec { path: &path, name: OsStr::new("git"), args: &args, cwd, cwd_handle: None, env: &mut env };
    let output = OutputRouting::Merged(CaptureLimit::HeadAndTail(MAX_GIT_OUTPUT_BYTES), Box::new(|_: &[u8]| {}));
    let process = Process::spawn(&mut program, ProcessInput::Empty, output, &Arc::new(ProcessGroups::default()));
    process.map_err(|error| format!("git can't be started: {error}"))
}

fn find_git(loaded: &LoadedConfig) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::split_paths(loaded.process_env.var_os("PATH")?).filter(|folder| folder.is_absolute());
    // A `git` inside the project is not trusted.
    let elsewhere = folders.filter(|folder| !folder.starts_with(&loaded.project.root));
    elsewhere.map(|folder| folder.join(&name)).find(|file| file.is_file())
}
