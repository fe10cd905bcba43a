//! What git knows of the project, asked for `/diff`. Looks only; no program that its configuration names is run on the way.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{Exit, Groups, Input, Keep, Output, Process, Program, Step, Until};
use hookwright_settings::Loaded;

/// How long git is waited for.
const LONGEST: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(1);
/// The most that is read of what it says.
const LARGEST: usize = 256 << 10;

/// What is different from the last commit.
pub(super) struct Different {
    /// In words and lines; empty where nothing is.
    pub(super) text: String,
    /// The files whose lines are among it, from the project on.
    pub(super) files: Vec<String>,
}

/// Whether the project is in a repository.
pub(super) fn is_there(loaded: &Loaded) -> bool {
    loaded.project.root.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// What is different from the last commit, and which files are new.
pub(super) async fn different(loaded: &Loaded) -> Result<Different, String> {
    // Before the first commit there is nothing to be different from but the index.
    let has_commits = git(loaded, &["rev-parse", "--verify", "--quiet", "HEAD"]).await.is_ok();
    let diff = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
    let against = has_commits.then_some("HEAD");
    let words = |more: &[&'static str]| diff.iter().chain(more).copied().chain(against).collect::<Vec<_>>();
    let mut text = git(loaded, &words(&["--stat", "--patch"])).await?;
    let files = git(loaded, &words(&["--name-only", "--no-renames", "--relative", "-z"])).await?;
    let new = git(loaded, &["ls-files", "--others", "--exclude-standard"]).await?;
    if !new.trim().is_empty() {
        let files: Vec<String> = new.lines().map(|file| format!("    {file}")).collect();
        text.push_str(&format!("not known to git:\n{}\n", files.join("\n")));
    }
    let files = files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
    Ok(Different { text, files })
}

/// What git prints.
async fn git(loaded: &Loaded, words: &[&str]) -> Result<String, String> {
    let mut process = start(loaded, words)?;
    let run = async {
        loop {
            match process.step().await {
                Ok(Step::Output) => {}
                Ok(Step::Exited(exit)) => break Ok(exit),
                Err(error) => break Err(error.to_string()),
            }
        }
    };
    let Ok(ended) = tokio::time::timeout(LONGEST, run).await else {
        process.end(GRACE, Until::GroupGone).await;
        return Err(format!("git took longer than {} s", LONGEST.as_secs()));
    };
    let ended = ended?;
    let said = process.finish().stdout;
    let text = String::from_utf8_lossy(&[said.head(), &said.tail()].concat()).into_owned();
    match ended {
        Exit::Code(0) => Ok(text),
        _ => Err(format!("git says: {}", text.lines().next().unwrap_or("nothing"))),
    }
}

fn start(loaded: &Loaded, words: &[&str]) -> Result<Process, String> {
    let path = find_git(loaded).ok_or("there is no git")?;
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    let env = loaded.git_environment();
    let mut env = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let cwd = &loaded.project.root;
    let mut program =
        Program { path: &path, name: OsStr::new("git"), args: &args, cwd, directory: None, env: &mut env };
    let output = Output::Together(Keep::Ends(LARGEST), Box::new(|_: &[u8]| {}));
    let process = Process::spawn(&mut program, Input::Empty, output, &Arc::new(Groups::default()));
    process.map_err(|error| format!("git can't be started: {error}"))
}

fn find_git(loaded: &Loaded) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::split_paths(loaded.world.var_os("PATH")?).filter(|folder| folder.is_absolute());
    // Not one that stands in the project.
    let elsewhere = folders.filter(|folder| !folder.starts_with(&loaded.project.root));
    elsewhere.map(|folder| folder.join(&name)).find(|file| file.is_file())
}
