//! A temporary project: a home, a folder, hooks that are `sh` scripts, and named pipes to hold them.
//!
//! `test_agent.rs` runs an agent in it, `scripted_model.rs` is the agent's model, `test_tool.rs` its tools, and
//! `running_session.rs` a whole session.

mod running_session;
mod scripted_model;
mod test_agent;
mod test_tool;

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) use running_session::{RunningSession, is_idle, is_text, reply_text, turn_end};
pub(crate) use scripted_model::{ScriptedModel, contents_json, tool_call, tool_call_with_id};
pub(crate) use test_agent::{AgentSetup, TestAgent};
pub(crate) use test_tool::{TestTool, shared_log};

/// Far longer than any test takes, so that only a hang reaches it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for a future, and fails the test if it hangs.
#[track_caller]
pub(crate) fn within_hang_timeout<T>(what: &str, future: impl Future<Output = T>) -> impl Future<Output = T> {
    let what = what.to_owned();
    let place = std::panic::Location::caller();
    async move {
        let result = tokio::time::timeout(HANG_TIMEOUT, future).await;
        result.unwrap_or_else(|_| panic!("{place}: waited in vain for {what}"))
    }
}

/// Returns a script that prints an answer.
pub(crate) fn answer_script(answer: &Value) -> String {
    format!("cat <<'END'\n{answer}\nEND")
}

/// Returns a script that answers with `hookSpecificOutput`.
pub(crate) fn specific_output_script(specific: Value) -> String {
    answer_script(&json!({"hookSpecificOutput": specific}))
}

/// A home and a project in a temporary directory.
pub(crate) struct TestProject {
    folder: TempDir,
    hooks: Map<String, Value>,
}

impl TestProject {
    pub(crate) fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        let project = TestProject { folder: TempDir::new().unwrap(), hooks: Map::new() };
        for folder in ["home", "project/.gemini/hooks", "inputs"] {
            std::fs::create_dir_all(project.root().join(folder)).unwrap();
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn project_dir(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Returns a path beside home and project.
    pub(crate) fn outside_path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn home_dir(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project_dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project_dir().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.project_dir().join(name).exists()
    }

    /// Adds a hook: a script that finds its input in `$input`.
    pub(crate) fn hook(self, event: &str, name: &str, script: &str) -> Self {
        self.hook_with_matcher(event, "*", name, script)
    }

    /// Adds a hook with more keys.
    pub(crate) fn hook_with(mut self, event: &str, name: &str, keys: Value, script: &str) -> Self {
        let mut hook = json!({"type": "command", "name": name, "command": self.write_hook_script(name, script)});
        hook.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let of_event = self.hooks.entry(event).or_insert_with(|| json!([]));
        of_event.as_array_mut().unwrap().push(json!({"hooks": [hook]}));
        self
    }

    /// Adds a guard without a process, which denies the calls that `when` matches.
    pub(crate) fn deny_rule(mut self, event: &str, name: &str, when: Value) -> Self {
        let rule =
            json!({"type": "rule", "name": name, "guard": true, "when": when, "decision": "deny", "reason": "no"});
        let of_event = self.hooks.entry(event).or_insert_with(|| json!([]));
        of_event.as_array_mut().unwrap().push(json!({"hooks": [rule]}));
        self
    }

    /// Adds a hook with a matcher.
    pub(crate) fn hook_with_matcher(mut self, event: &str, matcher: &str, name: &str, script: &str) -> Self {
        let hook = json!({"type": "command", "name": name, "command": self.write_hook_script(name, script)});
        let of_event = self.hooks.entry(event).or_insert_with(|| json!([]));
        of_event.as_array_mut().unwrap().push(json!({"matcher": matcher, "hooks": [hook]}));
        self
    }

    /// Writes a hook's script, and returns the command that runs it with `sh`. The script is not executed directly: a
    /// file that is being written cannot be.
    pub(crate) fn write_hook_script(&self, name: &str, script: &str) -> String {
        let seen = self.input_log_path(name);
        let text = format!("input=$(cat)\nprintf '%s\\n' \"$input\" >>'{}'\n{script}\n", seen.display());
        self.write(&format!(".gemini/hooks/{name}.sh"), &text);
        format!("sh .gemini/hooks/{name}.sh")
    }

    fn input_log_path(&self, hook: &str) -> PathBuf {
        self.root().join("inputs").join(hook)
    }

    /// Returns the inputs of a hook, one for each run.
    pub(crate) fn inputs(&self, hook: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.input_log_path(hook)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until a background hook has run so many times, and returns its inputs.
    pub(crate) async fn wait_for_inputs(&self, hook: &str, times: usize) -> Vec<Value> {
        let lines = || fs::read_to_string(self.input_log_path(hook)).unwrap_or_default().matches('\n').count();
        let wait = async {
            while lines() < times {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        within_hang_timeout(&format!("{hook} to hear of it"), wait).await;
        self.inputs(hook)
    }

    /// Returns one field of a hook's inputs, one for each run.
    pub(crate) fn input_fields(&self, hook: &str, field: &str) -> Vec<Value> {
        self.inputs(hook).into_iter().map(|input| input[field].clone()).collect()
    }

    /// Returns the settings that declare the hooks.
    pub(crate) fn settings(&self) -> Value {
        json!({"hooks": self.hooks})
    }

    /// Creates a named pipe that a script can wait at, with `read _ <NAME`.
    pub(crate) fn gate(self, name: &str) -> Self {
        let made = std::process::Command::new("mkfifo").arg(self.project_dir().join(name)).status_in_time().unwrap();
        assert!(made.success());
        self
    }

    /// Waits until a script waits at a pipe, and lets it go on.
    pub(crate) async fn open_gate(&self, pipe: &str) {
        let path = self.project_dir().join(pipe);
        let write = tokio::task::spawn_blocking(move || std::fs::write(path, "go\n").unwrap());
        within_hang_timeout(&format!("somebody at {pipe}"), write).await.unwrap();
    }

    /// Returns the environment of everything that runs in the project.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let pair = |name: &str, value: &Path| (OsString::from(name), value.as_os_str().to_owned());
        vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
            pair("HOME", &self.home_dir()),
            pair("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &self.home_dir().join("system-settings.json")),
        ]
    }
}
