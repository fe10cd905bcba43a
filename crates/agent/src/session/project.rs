//! `/init` and `/diff`: the project, described for the model by the model, and what is different in it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{Exit, Groups, Input, Keep, Output, Process, Program, Step, Until};
use hookwright_settings::Loaded;

use super::conduct::Conductor;
use super::reply::Reply;
use super::talk::Deed;
use crate::event::AgentEvent;

/// How long git is waited for.
const LONGEST: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(1);
/// The most that is shown of a difference.
const LARGEST: usize = 256 << 10;

const NOTES: &str = "GEMINI.md";

const INIT: &str = "Look at this project and write a GEMINI.md in its root folder: notes for an assistant that will work \
here and knows nothing of it yet. First list the root folder, read the README and what describes the build, and look at a \
few files that show how things are done. Then write the file with write_file. Say in it, briefly and only where you have \
seen it: what the project is for and how it is laid out; the commands that build, run, check and test it, one test alone \
too; the conventions that its code, its tests and its commits follow; what is easily done wrong. Invent nothing, leave out \
what every project has in common, and keep it to about a page.";

impl Conductor {
    /// `/init`: has the model write notes on the project, with tools and questions as always.
    pub(super) fn init(&mut self) {
        let file = self.shared.view().loaded.project.root.join(NOTES);
        if file.symlink_metadata().is_ok_and(|found| found.len() > 0) {
            self.tell(AgentEvent::Begun("/init".to_owned()));
            let text = format!("there is a {NOTES} already; ask for changes to it, or take it away first");
            self.reply(Reply::warning(text));
            return self.tell_idle();
        }
        self.prompt(INIT.to_owned(), "/init".to_owned());
    }

    /// `/diff`: what git says is different.
    pub(super) fn diff(&mut self) {
        self.talk(|talk| async move {
            talk.say(match changes(&talk.loaded).await {
                Ok(text) if text.trim().is_empty() => Reply::aside("nothing is different from the last commit"),
                Ok(text) => Reply::Diff(text),
                Err(why) => Reply::warning(why),
            });
            None::<Deed>
        });
    }
}

/// What is different from the last commit, and which files are new.
async fn changes(loaded: &Loaded) -> Result<String, String> {
    if !loaded.project.root.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
        return Err("this folder is in no git repository; /diff shows what git knows".to_owned());
    }
    // Before the first commit there is nothing to be different from but the index.
    let has_commits = git(loaded, &["rev-parse", "--verify", "--quiet", "HEAD"]).await.is_ok();
    let mut words = vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch"];
    words.extend(has_commits.then_some("HEAD"));
    let mut text = git(loaded, &words).await?;
    let new = git(loaded, &["ls-files", "--others", "--exclude-standard"]).await?;
    if !new.trim().is_empty() {
        let files: Vec<String> = new.lines().map(|file| format!("    {file}")).collect();
        text.push_str(&format!("not known to git:\n{}\n", files.join("\n")));
    }
    Ok(text)
}

/// What git prints; no program that its configuration names is run on the way.
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
