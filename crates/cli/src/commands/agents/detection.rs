//! Detects the agents on this machine and their versions. Their programs are searched on the `PATH` and run with
//! `--version`, concurrently and with a timeout; a program inside of the project is never run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookwright_bridge::Host;
use hookwright_bridge::install::detection_dir;
use hookwright_process::{
    CaptureLimit, Exit, OutputRouting, Process, ProcessGroups, ProcessInput, ProgramSpec, TerminationWait,
};
use hookwright_settings::ProcessEnv;

/// How long a program may take to print its version.
const VERSION_QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of its output is kept.
const MAX_VERSION_OUTPUT_BYTES: usize = 4096;

/// An agent and its traces on this machine.
#[derive(Clone, Debug)]
pub(super) struct DetectedAgent {
    pub(super) host: Host,
    pub(super) program: Option<PathBuf>,
    /// The agent's folder in the user's home, if it exists.
    pub(super) folder: Option<PathBuf>,
    /// The version that the program printed.
    pub(super) version: Option<String>,
}

impl DetectedAgent {
    /// Whether the program or the folder was found.
    pub(super) fn is_present(&self) -> bool {
        self.program.is_some() || self.folder.is_some()
    }
}

/// Finds these agents without asking for their versions.
pub(super) fn find_agents(hosts: &[Host], world: &ProcessEnv, project: &Path) -> Vec<DetectedAgent> {
    hosts.iter().map(|host| detect_agent(*host, world, project)).collect()
}

/// Detects these agents, and asks their programs for the version.
pub(super) fn detect_agents(hosts: &[Host], world: &ProcessEnv, project: &Path) -> anyhow::Result<Vec<DetectedAgent>> {
    let mut found = find_agents(hosts, world, project);
    if found.iter().all(|one| one.program.is_none()) {
        return Ok(found);
    }
    let path = search_path_without_project(world, project);
    let runtime = crate::runtime::start(1)?;
    runtime.block_on(async {
        let asked = found.iter().map(|one| async {
            match &one.program {
                Some(program) => query_version(program, world, &path).await,
                None => None,
            }
        });
        let versions = futures_util::future::join_all(asked).await;
        found.iter_mut().zip(versions).for_each(|(one, version)| one.version = version);
    });
    Ok(found)
}

fn detect_agent(host: Host, world: &ProcessEnv, project: &Path) -> DetectedAgent {
    let folder = detection_dir(host, world);
    // This program keeps its own files in Gemini CLI's folder, so that folder is no sign of Gemini CLI.
    let folder = (host != Host::GeminiCli && folder.is_dir()).then_some(folder);
    DetectedAgent { host, program: find_on_search_path(world, project, host.info().program), folder, version: None }
}

/// Returns the first program of that name on the search path that is outside of the project.
pub(super) fn find_on_search_path(world: &ProcessEnv, project: &Path, name: &str) -> Option<PathBuf> {
    search_path_folders(world, project).into_iter().map(|folder| folder.join(name)).find(|path| {
        is_executable(path) && path.canonicalize().is_ok_and(|real| !is_inside_project(&real, world, project))
    })
}

/// Returns the folders of the search path that are absolute and outside of the project.
fn search_path_folders(world: &ProcessEnv, project: &Path) -> Vec<PathBuf> {
    let path = world.var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    all.filter(|folder| !is_inside_project(&folder.canonicalize().unwrap_or_else(|_| folder.clone()), world, project))
        .collect()
}

fn search_path_without_project(world: &ProcessEnv, project: &Path) -> OsString {
    std::env::join_paths(search_path_folders(world, project)).unwrap_or_default()
}

/// Whether a path is inside of the project, or of the repository that the project is a part of.
///
/// A project or repository that contains the user's home does not count: the files there are the user's own.
fn is_inside_project(path: &Path, world: &ProcessEnv, project: &Path) -> bool {
    let repository = project.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(project);
    let is_home = |folder: &Path| world.home.as_deref().is_some_and(|home| home.starts_with(folder));
    [project, repository].into_iter().any(|root| !is_home(root) && path.starts_with(root))
}

#[cfg(unix)]
pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

async fn query_version(program: &Path, world: &ProcessEnv, path: &OsStr) -> Option<String> {
    let scratch = tempfile::Builder::new().prefix("hookwright-version-").tempdir().ok()?;
    let mut process = spawn_version_query(program, world, path, scratch.path()).ok()?;
    match tokio::time::timeout(VERSION_QUERY_TIMEOUT, process.wait()).await {
        Ok(Ok(Exit::Code(0))) => version_number_in(&String::from_utf8_lossy(process.stdout().head())),
        Ok(_) => None,
        Err(_) => {
            process.terminate(Duration::from_millis(200), TerminationWait::Group).await;
            None
        }
    }
}

/// Starts `program --version` in the root directory, with a search path that leaves the project out, and with a folder
/// for what Gemini CLI writes into its home even then.
fn spawn_version_query(program: &Path, world: &ProcessEnv, path: &OsStr, scratch: &Path) -> std::io::Result<Process> {
    let changed = [(OsStr::new("PATH"), path), (OsStr::new("GEMINI_CLI_HOME"), scratch.as_os_str())];
    let own = world.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = own.filter(|(name, _)| changed.iter().all(|(other, _)| name != other));
    let env: Vec<(&OsStr, &OsStr)> = own.chain(changed).collect();
    let args = [OsString::from("--version")];
    let mut env = env.into_iter();
    let name = program.file_name().unwrap_or_default();
    let mut wanted =
        ProgramSpec { path: program, name, args: &args, cwd: Path::new("/"), cwd_handle: None, env: &mut env };
    Process::spawn(
        &mut wanted,
        ProcessInput::Empty,
        OutputRouting::Separate(CaptureLimit::Head(MAX_VERSION_OUTPUT_BYTES)),
        &Arc::new(ProcessGroups::default()),
    )
}

/// Returns the first word of a text that looks like a version.
fn version_number_in(text: &str) -> Option<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '+');
    let words = text.split(|char: char| !is_part(char)).map(|word| word.trim_start_matches('v').trim_end_matches('.'));
    let looks = |word: &&str| word.starts_with(|char: char| char.is_ascii_digit()) && word.contains('.');
    words.into_iter().find(looks).map(|word| word.chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::version_number_in;

    #[test]
    fn version_numbers_are_found_in_program_output() {
        let found: Vec<_> = [
            "2.1.325 (Claude Code)\n",
            "codex-cli 0.166.0\n",
            "v1.18.33",
            "GitHub Copilot CLI 1.0.102.\n",
            "2026.09.12-abc",
            "no number",
            "error 12 of 3",
            "",
        ]
        .into_iter()
        .map(|text| version_number_in(text).unwrap_or_default())
        .collect();
        assert_eq!(found, ["2.1.325", "0.166.0", "1.18.33", "1.0.102", "2026.09.12-abc", "", "", ""]);
    }
}
