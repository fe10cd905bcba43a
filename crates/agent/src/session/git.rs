//! What git knows of the project, asked for `/diff`. Looks only; no program that its configuration names is run on the way.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessEvent, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};
use hookwright_settings::LoadedConfig;

/// How long git is waited for.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);
const GIT_KILL_GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The most that is read of what it says.
const MAX_GIT_OUTPUT_BYTES: usize = 256 << 10;

/// What is different from the last commit.
pub(super) struct GitDiff {
    /// In words and lines; empty where nothing is.
    pub(super) text: String,
    /// The files whose lines are among it, from the project on.
    pub(super) files: Vec<String>,
}

/// Whether the project is in a repository.
pub(super) fn is_in_repository(loaded: &LoadedConfig) -> bool {
    loaded.project.root.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// What is different from the last commit, and which files are new.
pub(super) async fn diff_against_head(loaded: &LoadedConfig) -> Result<GitDiff, String> {
    // Before the first commit there is nothing to be different from but the index.
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

/// What git prints.
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
    let said = process.finish().stdout;
    let text = String::from_utf8_lossy(&[said.head(), &said.tail()].concat()).into_owned();
    match ended {
        Exit::Code(0) => Ok(text),
        _ => Err(format!("git says: {}", text.lines().next().unwrap_or("nothing"))),
    }
}

fn spawn_git(loaded: &LoadedConfig, words: &[&str]) -> Result<Process, String> {
    let path = find_git(loaded).ok_or("there is no git")?;
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
    // Not one that stands in the project.
    let elsewhere = folders.filter(|folder| !folder.starts_with(&loaded.project.root));
    elsewhere.map(|folder| folder.join(&name)).find(|file| file.is_file())
}
