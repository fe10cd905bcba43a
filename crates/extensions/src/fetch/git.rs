//! Fetches a commit of a git repository without running anything from the repository or its address, and without
//! prompting the user.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{
    Capture, CaptureLimit, Exit, OutputRouting, Process, ProcessEvent, ProcessGroups, ProcessInput, ProgramSpec,
    TerminationWait,
};

use super::Fetcher;
use tokio::sync::mpsc;

use crate::error::ExtensionError;

/// Longest run time of one git command.
const GIT_TIMEOUT: Duration = Duration::from_secs(600);
const KILL_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Most bytes of git's output that are kept.
const MAX_GIT_OUTPUT_BYTES: usize = 64 << 10;

/// Transport protocols that git may use; none of them runs a command from the address.
const ALLOWED_PROTOCOLS: &str = "https:http:ssh:git:file";

/// Options passed with `-c`, which override the user's and the repository's configuration.
const GIT_CONFIG: [&str; 8] = [
    "protocol.ext.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "init.templateDir=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
];

/// Variables, and prefixes of variables, that would redirect git to another repository.
const REDIRECTING_VARIABLES: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_TEMPLATE_DIR",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
];

impl Fetcher<'_> {
    /// Fetches a repository into an empty folder and returns its commit.
    pub(super) async fn clone_repository(
        &self,
        url: &str,
        reference: Option<&str>,
        into: &Path,
    ) -> Result<String, ExtensionError> {
        let what = reference.unwrap_or("HEAD");
        self.run_git(url, into, &["init", "--quiet", "--template="]).await?;
        self.run_git(url, into, &["remote", "add", "--", "origin", url]).await?;
        let fetch = ["fetch", "--depth=1", "--no-tags", "--no-recurse-submodules", "--progress", "--", "origin", what];
        self.run_git(url, into, &fetch).await?;
        self.run_git(url, into, &["checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD"]).await?;
        let printed = self.run_git(url, into, &["rev-parse", "HEAD"]).await?;
        object_id(&printed).ok_or_else(|| ExtensionError::Git {
            url: url.to_owned(),
            why: format!("`git rev-parse` printed no commit: {}", printed.trim()),
        })
    }

    /// Returns the commit of a remote branch or tag without fetching it, or `None` if git prints no commit.
    pub(crate) async fn remote_commit(
        &self,
        url: &str,
        reference: Option<&str>,
        cwd: &Path,
    ) -> Result<Option<String>, ExtensionError> {
        let said = self.run_git(url, cwd, &["ls-remote", "--", url, reference.unwrap_or("HEAD")]).await?;
        Ok(said.split_whitespace().next().and_then(object_id))
    }

    /// Runs git and returns its stdout.
    ///
    /// With `--progress` among the arguments, stdout and stderr are merged and progress is reported.
    async fn run_git(&self, url: &str, cwd: &Path, words: &[&str]) -> Result<String, ExtensionError> {
        let failed = |why: String| ExtensionError::Git { url: url.to_owned(), why };
        let git = self.find_git().ok_or(ExtensionError::NoGit)?;
        let settings = GIT_CONFIG.iter().flat_map(|setting| ["-c", setting]);
        let args: Vec<OsString> = settings.chain(words.iter().copied()).map(OsString::from).collect();
        let env = self.environment(cwd);
        let (sender, mut pieces) = mpsc::unbounded_channel();
        let live = Box::new(move |piece: &[u8]| drop(sender.send(piece.to_vec())));
        let output = match words.contains(&"--progress") {
            true => OutputRouting::Merged(CaptureLimit::HeadAndTail(MAX_GIT_OUTPUT_BYTES), live),
            false => OutputRouting::Separate(CaptureLimit::HeadAndTail(MAX_GIT_OUTPUT_BYTES)),
        };
        let process = spawn_git(&git, &args, cwd, &env, output);
        let mut process = process.map_err(|error| failed(error.to_string()))?;
        let run = async {
            loop {
                let step = process.next_event().await;
                while let Ok(piece) = pieces.try_recv() {
                    self.report_progress(&piece);
                }
                match step {
                    Ok(ProcessEvent::Output) => {}
                    Ok(ProcessEvent::Exited(exit)) => break Ok(exit),
                    Err(error) => break Err(error),
                }
            }
        };
        let Ok(ended) = tokio::time::timeout(GIT_TIMEOUT, run).await else {
            process.terminate(KILL_GRACE_PERIOD, TerminationWait::Group).await;
            return Err(failed(format!("it took longer than {} minutes", GIT_TIMEOUT.as_secs() / 60)));
        };
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        let finished = process.finish();
        let text = |stream: &Capture| String::from_utf8_lossy(&[stream.head(), &stream.tail()].concat()).into_owned();
        let (stdout, stderr) = (text(&finished.stdout), text(&finished.stderr));
        match ended {
            Exit::Code(0) => Ok(stdout),
            Exit::Code(code) => {
                let said = error_line(&stderr).or_else(|| error_line(&stdout));
                Err(failed(said.unwrap_or_else(|| format!("exit code {code}"))))
            }
            Exit::Signal(signal) => Err(failed(format!("it was killed by signal {signal}"))),
        }
    }

    /// Reports the last progress line in a chunk of git's output.
    fn report_progress(&self, piece: &[u8]) {
        let text = String::from_utf8_lossy(piece);
        let line = text.split(['\r', '\n']).map(str::trim).rfind(|line| line.contains('%'));
        line.into_iter().for_each(|line| (self.progress)(line));
    }

    fn find_git(&self) -> Option<PathBuf> {
        let path = self.process_env.var_os("PATH")?;
        let name = format!("git{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&name))
            .find(|file| file.is_file())
    }

    fn environment(&self, cwd: &Path) -> Vec<(OsString, OsString)> {
        let leads_elsewhere = |name: &OsStr| {
            let name = name.to_string_lossy();
            REDIRECTING_VARIABLES.contains(&name.as_ref())
                || name.starts_with("GIT_CONFIG_")
                || name.starts_with("GIT_TRACE_")
        };
        let own = self.process_env.env.iter().filter(|(name, _)| !leads_elsewhere(name)).cloned();
        let fixed = [
            ("GIT_ALLOW_PROTOCOL", ALLOWED_PROTOCOLS),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GIT_ADVICE", "0"),
            ("LC_ALL", "C.UTF-8"),
        ];
        let fixed = fixed.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let above =
            cwd.parent().map(|parent| (OsString::from("GIT_CEILING_DIRECTORIES"), parent.as_os_str().to_owned()));
        own.chain(fixed).chain(above).collect()
    }
}

fn spawn_git(
    git: &Path,
    args: &[OsString],
    cwd: &Path,
    env: &[(OsString, OsString)],
    output: OutputRouting,
) -> std::io::Result<Process> {
    let mut env = env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let mut program = ProgramSpec { path: git, name: OsStr::new("git"), args, cwd, cwd_handle: None, env: &mut env };
    Process::spawn(&mut program, ProcessInput::Empty, output, &Arc::new(ProcessGroups::default()))
}

/// Parses a commit id as git prints it: 40 hexadecimal digits (SHA-1) or 64 (SHA-256).
fn object_id(printed: &str) -> Option<String> {
    let id = printed.trim();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then(|| id.to_owned())
}

/// Extracts the error line from git's output.
fn error_line(said: &str) -> Option<String> {
    let lines = || said.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty());
    let wrong = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let line = wrong.or_else(|| lines().next_back())?;
    Some(line.trim_start_matches("fatal:").trim_start_matches("error:").trim().to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use hookwright_settings::ProcessEnv;
    use std::os::unix::fs::PermissionsExt;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Runs a clone and a query of the newest commit with this script in the place of git.
    #[expect(clippy::unwrap_used, reason = "tests")]
    async fn with_git(script: &str) -> (Result<String, ExtensionError>, Result<Option<String>, ExtensionError>) {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().join("git");
        std::fs::write(&git, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([dir.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        let world = ProcessEnv::new(vec![("PATH".into(), path)], dir.path().to_owned());
        let fetcher = Fetcher { process_env: &world, proxy: None, progress: &|_| {} };
        let cloned = fetcher.clone_repository("file:///x", None, dir.path()).await;
        (cloned, fetcher.remote_commit("file:///x", None, dir.path()).await)
    }

    #[tokio::test]
    async fn git_warnings_are_not_part_of_the_commit() {
        let script = format!("echo 'warning: something is odd' >&2\nprintf '%s\\tHEAD\\n' {COMMIT} | cut -c1-40");
        let (cloned, newest) = with_git(&script).await;
        assert_eq!(cloned.unwrap(), COMMIT);
        assert_eq!(newest.unwrap().as_deref(), Some(COMMIT));
    }

    #[tokio::test]
    async fn only_a_hexadecimal_object_id_is_a_commit() {
        for printed in [
            "",
            "HEAD",
            "refs/heads/0123456789abcdef0123456789abcdef0123456789",
            "z123456789abcdef0123456789abcdef01234567",
        ] {
            let (cloned, newest) = with_git(&format!("echo '{printed}'")).await;
            assert!(cloned.is_err(), "{printed}");
            assert_eq!(newest.unwrap(), None, "{printed}");
        }
        let sha256 = "ab".repeat(32);
        assert_eq!(object_id(&format!("{sha256}\n")), Some(sha256));
    }
}
