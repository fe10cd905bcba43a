//! A folder with hook scripts, an engine that runs them there, and checks of processes.

use std::borrow::Cow;
use std::ffi::OsString;
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{
    BeforeTool, BeforeToolVerdict, EventKind, HookEngine, HookEngineBuilder, HookInput, HookMessage, Layer, Observer,
    Outcome, Registry, RequestedBy, RunLimits, RunReport, RunStart, Session, Severity, Source, parse_layer,
};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Far longer than any test here takes: only a hang reaches it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for a future that must not hang.
pub(crate) async fn with_hang_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG_TIMEOUT, future).await.unwrap()
}

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + HANG_TIMEOUT;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A temporary folder in which hooks run.
pub(crate) struct EngineFixture {
    _temporary: TempDir,
    dir: PathBuf,
}

impl EngineFixture {
    pub(crate) fn new() -> Self {
        Self::with_dir_name("project")
    }

    /// Creates a project folder of this name.
    pub(crate) fn with_dir_name(name: &str) -> Self {
        hookwright_testkit::watchdog::watch();
        let temporary = TempDir::new().unwrap();
        let dir = temporary.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(&dir).unwrap();
        EngineFixture { _temporary: temporary, dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes an executable file.
    ///
    /// Another process writes it: a file that this one has open for writing while another test starts a program cannot
    /// be executed until that program has started.
    pub(crate) fn write_executable(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait_in_time().unwrap().success());
        path
    }

    /// Waits for the process id that a hook writes to a file.
    pub(crate) async fn read_pid(&self, name: &str) -> u32 {
        let path = self.path(name);
        let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        eventually(&format!("{name} is written"), || read().is_some()).await;
        read().unwrap().trim().parse().unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        Session {
            id: "session-1".into(),
            transcript_path: self.path("transcript.json"),
            cwd: self.dir.clone(),
            project_dir: self.dir.clone(),
            plans_dir: self.path("plans"),
        }
    }

    /// Returns an engine for layers of settings, which must be free of errors.
    pub(crate) fn engine_with_layers(&self, layers: &[(Source, Value)]) -> HookEngineBuilder {
        let declared = layers.iter().map(|(source, settings)| {
            let declared = parse_layer(&Layer::new(source.clone(), Path::new("settings.json"), &settings.to_string()));
            let errors: Vec<_> = declared.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{errors:?}");
            declared
        });
        HookEngine::builder(Registry::new(declared.collect())).session(self.session()).environment(environment())
    }

    /// Returns an engine for one settings file.
    pub(crate) fn engine_with_settings(&self, settings: Value) -> HookEngineBuilder {
        self.engine_with_layers(&[(Source::Project, settings)])
    }

    /// Returns an engine with these hooks on one event.
    pub(crate) fn engine_with_hooks(&self, event: EventKind, hooks: Value) -> HookEngineBuilder {
        self.engine_with_settings(json!({"hooks": {event.name(): [{"hooks": hooks}]}}))
    }

    /// Runs one command hook on BeforeTool.
    pub(crate) async fn run_command(&self, command: &str) -> Outcome<BeforeToolVerdict> {
        self.run_hook(json!({"type": "command", "name": "h", "command": command})).await
    }

    /// Runs one hook on BeforeTool.
    pub(crate) async fn run_hook(&self, hook: Value) -> Outcome<BeforeToolVerdict> {
        let engine = self.engine_with_hooks(EventKind::BeforeTool, json!([hook])).limits(short_grace_limits()).build();
        with_hang_timeout(engine.fire(&tool_call())).await
    }

    /// Runs one command on BeforeTool that prints these bytes and exits with 0.
    pub(crate) async fn run_printing(&self, stdout: &[u8]) -> Outcome<BeforeToolVerdict> {
        std::fs::write(self.path("printed"), stdout).unwrap();
        self.run_command("cat printed").await
    }
}

/// Returns limits with a short grace period, so that tests of stubborn hooks are quick.
pub(crate) fn short_grace_limits() -> RunLimits {
    RunLimits { kill_grace_period: Duration::from_millis(200), ..RunLimits::default() }
}

/// Returns an environment with the search path only.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap())]
}

pub(crate) fn command_hook(name: &str, command: &str) -> Value {
    json!({"type": "command", "name": name, "command": command})
}

/// Returns a shell command that prints JSON. The strings of the JSON must not contain a single quote.
pub(crate) fn print_command(answer: Value) -> String {
    format!("printf '%s' '{answer}'")
}

pub(crate) fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn tool_call() -> BeforeTool<'static> {
    tool_call_of("run_shell_command", json!({"command": "ls"}))
}

pub(crate) fn tool_call_of(tool: &'static str, args: Value) -> BeforeTool<'static> {
    BeforeTool {
        tool_name: tool.into(),
        tool_input: Cow::Owned(into_object(args)),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    }
}

/// Returns the reason of a deny.
pub(crate) fn deny_reason(outcome: &Outcome<BeforeToolVerdict>) -> &str {
    match &outcome.verdict {
        BeforeToolVerdict::Deny { reason } => reason,
        other => panic!("expected a deny, got {other:?} with {:?}", outcome.warnings),
    }
}

/// Asserts that the call proceeds unchanged.
pub(crate) fn assert_proceeds(outcome: &Outcome<BeforeToolVerdict>) {
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: None }, "{:?}", outcome.warnings);
}

/// Returns the text of the only warning.
pub(crate) fn only_warning<V>(outcome: &Outcome<V>) -> &str {
    match outcome.warnings.as_slice() {
        [one] => &one.text,
        other => panic!("expected one warning, got {other:?}"),
    }
}

/// Returns whether a process exists and is not a zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !matches!(stat.rsplit(')').next().unwrap().trim().chars().next(), Some('Z' | 'X')),
        Err(_) => !cfg!(target_os = "linux") && accepts_signals(pid),
    }
}

fn accepts_signals(pid: u32) -> bool {
    let status = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status_in_time();
    status.unwrap().success()
}

pub(crate) async fn wait_until_gone(pid: u32) {
    eventually(&format!("process {pid} ends"), || !is_running(pid)).await;
}

/// An observer that records its notifications.
#[derive(Default)]
pub(crate) struct RecordingObserver(std::sync::Mutex<Vec<String>>);

impl RecordingObserver {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn record(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Observer for RecordingObserver {
    fn run_started(&self, run: &RunStart<'_>) {
        self.record(format!("start {} {} {} {}/{}", run.event, run.hook, run.source, run.id.position, run.total));
    }

    fn background_output(&self, event: EventKind, messages: &[HookMessage], warnings: &[HookMessage]) {
        for said in messages.iter().chain(warnings) {
            self.record(format!("later {event} {}: {}", said.hook, said.text));
        }
    }

    fn run_finished(&self, run: &RunReport, input: &HookInput) {
        // An input that hooks withhold is in no record.
        assert!(input.is_empty() || run.input_bytes == input.len());
        self.record(format!(
            "end {} {} {} {}/{} {} {:?}",
            run.event,
            run.hook,
            run.source,
            run.id.position,
            run.total,
            run.status.as_str(),
            run.exit_code
        ));
    }
}
