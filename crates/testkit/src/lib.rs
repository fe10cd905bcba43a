//! A sandboxed project for end-to-end tests: its own home, its own folder, real hook scripts, the real binary.
//!
//! Its functions panic on failure, since only tests use them.

#![expect(clippy::expect_used, reason = "a test that cannot set up its box has failed")]

pub mod deadline;
pub mod fs;
pub mod http;
mod mcp;
pub mod processes;
pub mod replay;
pub mod watchdog;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use deadline::{ChildDeadline, CommandDeadline, JoinDeadline};

pub use mcp::MCP_SERVER;
pub use replay::ReplayBuilder;

/// The names of all events in the order of the event table, repeated here so that tests notice a change of the table.
pub const EVENT_NAMES: [&str; 11] = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "BeforeToolSelection",
    "AfterModel",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
    "Notification",
];

/// A home and a project folder of one test.
pub struct Sandbox {
    folder: TempDir,
    binary: PathBuf,
    env: Vec<(String, String)>,
    project: String,
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct ProgramRun {
    /// The exit code; none if a signal ended the program.
    pub code: Option<i32>,
    /// The text that the program printed.
    pub stdout: String,
    /// The messages that the program printed.
    pub stderr: String,
}

impl ProgramRun {
    /// Parses stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:#?}"))
    }

    /// Parses stdout as JSON lines.
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn expect_exit_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

impl Sandbox {
    /// Creates an empty sandbox for a binary; the project's folder is trusted.
    pub fn new(binary: impl Into<PathBuf>) -> Sandbox {
        watchdog::watch();
        let folder = tempfile::Builder::new().prefix("hw").tempdir().expect("a temporary folder");
        let sandbox = Sandbox { folder, binary: binary.into(), env: Vec::new(), project: "project".to_owned() };
        fs::create_dir_all(sandbox.home()).expect("a home");
        fs::create_dir_all(sandbox.project()).expect("a project");
        sandbox.env("GEMINI_CLI_TRUST_WORKSPACE", "true")
    }

    /// Sets an environment variable for the program.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves the trust in the folder to the program.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.env.retain(|(name, _)| name != "GEMINI_CLI_TRUST_WORKSPACE");
        self
    }

    /// Uses an empty project of another name.
    #[must_use]
    pub fn project_named(mut self, name: &str) -> Self {
        self.project = name.to_owned();
        fs::create_dir_all(self.project()).expect("a project");
        self
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns the project's directory.
    pub fn project(&self) -> PathBuf {
        self.root().join(&self.project)
    }

    /// Returns the path of a file or folder beside home and project.
    pub fn sibling_path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Leaves the sandbox on disk after the test, for inspection, and returns its path.
    pub fn keep_on_disk(&mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.root()
    }

    /// Writes a replay file and returns its path.
    pub fn replay(&self, replay: &ReplayBuilder) -> String {
        let path = self.sibling_path("replay.jsonl");
        fs::write(&path, replay.text()).expect("a file");
        path.to_string_lossy().into_owned()
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there")
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Reads a file of the project.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns whether a file of the project exists.
    pub fn has_file(&self, path: &str) -> bool {
        self.project().join(path).exists()
    }

    /// Writes the project's settings.
    pub fn settings(&self, settings: &Value) -> &Self {
        self.write(".gemini/settings.json", format!("{settings:#}\n"));
        self
    }

    /// Writes the user's settings.
    pub fn user_settings(&self, settings: &Value) -> &Self {
        let folder = self.home().join(".gemini");
        fs::create_dir_all(&folder).expect("folders");
        fs::write(folder.join("settings.json"), format!("{settings:#}\n")).expect("a file");
        self
    }

    /// Writes an executable hook script and returns the command that runs it.
    pub fn script(&self, name: &str, script: &str) -> String {
        let path = self.write(&format!(".gemini/hooks/{name}"), format!("#!/bin/sh\n{script}\n"));
        make_executable(&path);
        format!("$GEMINI_PROJECT_DIR/.gemini/hooks/{name}")
    }

    /// Returns the program with these arguments, in the project, with the sandbox's environment and the search path.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", self.home().join("system-settings.json"))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Returns the same command under limits, as shell code (`ulimit -n 64`).
    pub fn limited_command(&self, limits: &str, args: &[&str]) -> Command {
        let free = self.command(args);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")])
            .arg(free.get_program())
            .args(free.get_args())
            .current_dir(self.project())
            .env_clear()
            .envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        limited
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> ProgramRun {
        finish(self.command(args).spawn().expect("the program starts"))
    }

    /// Runs the program to its end with this text on stdin.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> ProgramRun {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // The program need not read it.
            let _ = stdin.write_all(input.as_bytes());
        });
        let run = finish(child);
        writer.join_in_time().expect("the writer ends");
        run
    }
}

impl From<Output> for ProgramRun {
    fn from(output: Output) -> ProgramRun {
        ProgramRun {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Waits for a program and takes its output. One that does not end in time is killed, and fails the test.
#[track_caller]
pub fn finish(child: Child) -> ProgramRun {
    child.finish_in_time().into()
}

/// Waits for a program and returns its result and its peak memory in MiB; none if the system does not tell.
#[track_caller]
pub fn finish_measured(child: Child) -> (ProgramRun, Option<u64>) {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let mut look = || peak = fs::read_to_string(&status).ok().and_then(|status| peak_memory_mib(&status)).max(peak);
    let output = deadline::finish_observed(child, Some(&mut look));
    (output.into(), peak)
}

/// Returns the peak memory of a child of this process in MiB; none if another process has its number by now.
fn peak_memory_mib(status: &str) -> Option<u64> {
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    if parent.trim().parse() != Ok(std::process::id()) {
        return None;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

/// Waits until a condition holds.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    deadline::wait_for(what, || is_so().then_some(()));
}

/// Reports that a test, or a part of it, is skipped, and why. It writes to stderr directly, because the harness hides
/// what the macros print in a passing test.
pub fn report_skipped(test: &str, why: &str) {
    print_error(&format!("skipped: {test}: {why}\n"));
}

/// Returns a duration in seconds that an environment variable may override.
fn seconds_from_env(variable: &str, otherwise: u64) -> Duration {
    let given = std::env::var(variable).ok().and_then(|given| given.parse().ok());
    Duration::from_secs(given.unwrap_or(otherwise))
}

/// Prints past the harness, in one write, so that the output of concurrent tests does not mix.
#[expect(clippy::disallowed_methods, reason = "tests print for whoever runs them")]
fn print_error(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Returns whether this process receives SIGHUP, and reports the test as skipped if not.
///
/// Under `nohup` the signal is ignored, also by the processes that the test starts.
pub fn receives_hangups(test: &str) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    if ignored & 1 == 1 {
        report_skipped(test, "hangups are ignored here, as under nohup");
    }
    ignored & 1 == 0
}

/// Returns whether a program is on the search path. A caller that skips a test without it calls [`report_skipped`].
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Returns whether a process is running; a zombie is not.
pub fn is_running(pid: &str) -> bool {
    let state = process_state(pid);
    !state.is_empty() && !state.starts_with('Z')
}

/// Returns whether a process is stopped and can be resumed.
pub fn is_stopped(pid: &str) -> bool {
    process_state(pid).starts_with('T')
}

fn process_state(pid: &str) -> String {
    let output = Command::new("ps").args(["-o", "stat=", "-p", pid]).output_in_time().expect("ps runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Replaces a file by an executable copy that this process has never had open for writing.
///
/// A child that another test starts at the same time inherits every open descriptor for a moment, and a file that is
/// open for writing anywhere cannot be executed (`ETXTBSY`).
pub fn make_executable(path: &Path) {
    #[cfg(unix)]
    {
        use deadline::CommandDeadline as _;
        const COPY_SCRIPT: &str = r#"cp "$1" "$1.new" && chmod 755 "$1.new" && mv "$1.new" "$1""#;
        let copied = Command::new("sh").args(["-c", COPY_SCRIPT, "sh"]).arg(path).status_in_time().expect("sh runs");
        assert!(copied.success(), "{} cannot be made executable", path.display());
    }
    #[cfg(not(unix))]
    let _ = path;
}
