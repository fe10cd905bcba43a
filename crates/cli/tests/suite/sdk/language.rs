//! The languages with a library: how a hook in each is started, and a connection to one over real pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{has_program, report_skipped};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::root;

/// Long enough for every answer that comes at all.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SdkLanguage {
    Node,
    Python,
    Rust,
}

impl SdkLanguage {
    /// Returns the languages that can run here, and reports the others as skipped.
    pub(super) fn here(test: &str) -> Vec<SdkLanguage> {
        let can_run = |language: &SdkLanguage| match language.interpreter() {
            Some(interpreter) if !has_program(interpreter) => {
                report_skipped(test, &format!("there is no {interpreter}"));
                false
            }
            _ => true,
        };
        [SdkLanguage::Node, SdkLanguage::Python, SdkLanguage::Rust].into_iter().filter(can_run).collect()
    }

    /// Returns the program that runs hooks in this language.
    fn interpreter(self) -> Option<&'static str> {
        match self {
            SdkLanguage::Node => Some("node"),
            SdkLanguage::Python => Some("python3"),
            SdkLanguage::Rust => None,
        }
    }

    /// Returns the hook that does what its input asks for.
    pub(super) fn every(self) -> &'static str {
        match self {
            SdkLanguage::Node => include_str!("programs/every.mjs"),
            SdkLanguage::Python => include_str!("programs/every.py"),
            SdkLanguage::Rust => "every",
        }
    }

    /// Installs a hook and the library into a folder, and returns the command that starts it. For Rust the text is the
    /// name of a program, which stays where it is built.
    pub(super) fn install(self, folder: &Path, name: &str, text: &str) -> Vec<String> {
        std::fs::create_dir_all(folder).unwrap();
        match self {
            SdkLanguage::Node => {
                let file = folder.join(format!("{name}.mjs"));
                std::fs::write(&file, text).unwrap();
                let package = folder.join("node_modules/hookwright-hook");
                std::fs::create_dir_all(&package).unwrap();
                for file in ["package.json", "index.js", "plugin.js", "test.js"] {
                    std::fs::copy(root().join("sdk/node").join(file), package.join(file)).unwrap();
                }
                vec!["node".to_owned(), file.to_string_lossy().into_owned()]
            }
            SdkLanguage::Python => {
                let file = folder.join(format!("{name}.py"));
                std::fs::write(&file, text).unwrap();
                let package = folder.join("hookwright_hook");
                std::fs::create_dir_all(&package).unwrap();
                for file in std::fs::read_dir(root().join("sdk/python/hookwright_hook")).unwrap() {
                    let file = file.unwrap();
                    if file.path().is_file() {
                        std::fs::copy(file.path(), package.join(file.file_name())).unwrap();
                    }
                }
                // Running the hook must not write files beside the sources.
                ["python3", "-B", &file.to_string_lossy()].map(str::to_owned).to_vec()
            }
            SdkLanguage::Rust => vec![built(text).to_string_lossy().into_owned()],
        }
    }
}

/// Returns a program written with the Rust library. It is an example of this package, which cargo builds before the
/// tests run.
fn built(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = format!("sdk_{name}{}", std::env::consts::EXE_SUFFIX);
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(program);
    assert!(
        program.exists(),
        "{} is not built: run the tests without --test, or `cargo build -p hookwright --examples` first",
        program.display()
    );
    program
}

/// A folder with a hook in it.
pub(super) struct SdkProgram {
    folder: TempDir,
    words: Vec<String>,
}

impl SdkProgram {
    /// The hook that does what its input asks for.
    pub(super) fn every(language: SdkLanguage) -> SdkProgram {
        SdkProgram::of(language, language.every())
    }

    pub(super) fn of(language: SdkLanguage, text: &str) -> SdkProgram {
        let folder = tempfile::Builder::new().prefix("hw").tempdir().unwrap();
        let words = language.install(folder.path(), "hook", text);
        SdkProgram { folder, words }
    }

    /// Sets another command to start the program.
    pub(super) fn started_by(mut self, words: &[&str]) -> SdkProgram {
        self.words = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(self.folder.path()).env_remove("HOOKWRIGHT_WORKER");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it as a command hook, with these bytes on stdin.
    pub(super) fn run(&self, input: impl AsRef<[u8]>) -> SdkProgramEnd {
        let mut talk = SdkWorkerConnection::with(self.command());
        talk.send_bytes(input.as_ref());
        talk.end()
    }

    /// Starts it as a worker.
    pub(super) fn worker(&self) -> SdkWorkerConnection {
        let mut command = self.command();
        command.env("HOOKWRIGHT_WORKER", "1");
        SdkWorkerConnection::with(command)
    }
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct SdkProgramEnd {
    pub code: Option<i32>,
    /// The output that was not read before.
    pub stdout: String,
    pub stderr: String,
}

impl SdkProgramEnd {
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts that it failed with this message and printed nothing.
    #[track_caller]
    pub(super) fn fails(&self, words: &str) {
        assert_eq!(self.code, Some(1), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        // Agents show the end of a hook's stderr.
        assert!(self.stderr.trim_end().lines().next_back().unwrap_or_default().contains(words), "{self:#?}");
    }
}

/// A running program.
pub(super) struct SdkWorkerConnection {
    child: Child,
    stdin: Option<TimedWriter<ChildStdin>>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    is_reading_stopped: Arc<AtomicBool>,
}

impl SdkWorkerConnection {
    fn with(mut command: Command) -> SdkWorkerConnection {
        let mut child = command.spawn().unwrap();
        let (lines, stdout) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let is_deaf = Arc::new(AtomicBool::new(false));
        let stops_reading = Arc::clone(&is_deaf);
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|length| length > 0)
                && !stops_reading.load(Ordering::SeqCst)
            {
                let _ = lines.send(String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned());
            }
        });
        let (words, stderr) = channel();
        let mut log = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = log.read_to_end(&mut text);
            let _ = words.send(String::from_utf8_lossy(&text).into_owned());
        });
        SdkWorkerConnection {
            stdin: child.stdin.take().map(TimedWriter::new),
            child,
            stdout,
            stderr,
            is_reading_stopped: is_deaf,
        }
    }

    pub(super) fn send(&mut self, line: &Value) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends a request about a tool call.
    pub(super) fn ask(&mut self, id: u64, tool: &str, input: Value) {
        self.send(&json!({"id": id, "input": before_tool(tool, input)}));
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        // A program need not read everything.
        let _ = self.stdin.as_mut().unwrap().write_all(bytes);
    }

    /// Returns the next answer.
    #[track_caller]
    pub(super) fn next_answer(&mut self) -> Value {
        match self.stdout.recv_timeout(PROGRAM_TIMEOUT) {
            Ok(line) => serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")),
            Err(_) => panic!("no answer: {:?}", self.stderr.recv_timeout(Duration::from_secs(1))),
        }
    }

    /// Stops reading after the next answer.
    pub(super) fn stop_reading(&mut self) {
        self.is_reading_stopped.store(true, Ordering::SeqCst);
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for the end.
    #[track_caller]
    pub(super) fn end(mut self) -> SdkProgramEnd {
        drop(self.stdin.take());
        self.ends_by_itself()
    }

    /// Waits for the end without closing stdin.
    #[track_caller]
    pub(super) fn ends_by_itself(mut self) -> SdkProgramEnd {
        let stderr = self.stderr.recv_timeout(PROGRAM_TIMEOUT);
        if stderr.is_err() {
            let _ = self.child.kill();
        }
        let stderr = stderr.unwrap_or_else(|_| panic!("it does not end"));
        let code = self.child.wait_in_time().unwrap().code();
        SdkProgramEnd { code, stdout: self.stdout.iter_in_time().collect(), stderr }
    }
}

/// Returns the BeforeTool input for a call.
pub(super) fn before_tool(tool: &str, input: Value) -> Value {
    json!({"session_id": "s", "transcript_path": "/t", "cwd": "/", "hook_event_name": "BeforeTool",
        "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": tool, "tool_input": input})
}
