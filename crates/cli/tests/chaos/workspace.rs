//! The workspace of a round: a home and a project with hooks and settings, perhaps on a disk of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ReplayBuilder, Sandbox, make_executable, replay};
use serde_json::{Value, json};

use crate::processes::MARK_VARIABLE;
use crate::round_plan::{
    COMMANDS, CallKind, DiskFolder, DiskSize, GuardLayer, HOOK_TIMEOUT_MS, HOOKS, PlannedCall, PlannedRun, RoundPlan,
};

/// A comment that every edit of the settings has to keep.
pub(crate) const SETTINGS_COMMENT: &str = "// a person wrote this\n";

pub(crate) struct ChaosWorkspace {
    pub(crate) sandbox: Sandbox,
    pub(crate) mark: String,
    /// The mount point of the small disk.
    pub(crate) disk: Option<PathBuf>,
    /// The project's settings as they were created.
    pub(crate) settings: String,
}

impl ChaosWorkspace {
    pub(crate) fn new(plan: &RoundPlan, seed: u64, disks: bool) -> ChaosWorkspace {
        let mark = format!("{}-{seed}", std::process::id());
        let sandbox = Sandbox::new(crate::program()).env(MARK_VARIABLE, &mark);
        let disk = match plan.disk {
            DiskSize::Small(kilobytes, folder) if disks => {
                let path = if folder == DiskFolder::Home { sandbox.home() } else { sandbox.project() };
                mount(&["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "chaos"], &path).then_some(path)
            }
            _ => None,
        };
        for folder in ["judged", "ran", "runs"] {
            fs::create_dir(sandbox.sibling_path(folder)).unwrap();
        }
        let mut place = ChaosWorkspace { sandbox, mark, disk, settings: String::new() };
        place.write_guard(plan);
        place.write_hooks(plan);
        (0..2).for_each(|file| drop(place.sandbox.write(&document_name(file), document_text(0, ""))));
        place
    }

    /// Writes the guard, which records its judgement before it allows a call, and denies if it cannot.
    fn write_guard(&self, plan: &RoundPlan) {
        let judged = self.sandbox.sibling_path("judged");
        let script = format!(
            "#!/bin/sh\ninput=$(cat) || exit 2\ncase $input in *+*+*) ;; *) exit 0 ;; esac\n\
             id=${{input#*+}}; id=${{id%%+*}}\n: > '{}/'\"$id\" || exit 2\n\
             case $id in *ok) exit 0 ;; esac\necho 'not this one' >&2; exit 2\n",
            judged.display()
        );
        let path = self.sandbox.sibling_path("guard.sh");
        fs::write(&path, script).unwrap();
        make_executable(&path);
        let guard = json!({"type": "command", "name": "guard", "command": path, "guard": true, "timeout": hook_timeout_ms(plan, HOOK_TIMEOUT_MS)});
        let settings = json!({"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [guard]}]}});
        match plan.guard {
            GuardLayer::User => drop(self.sandbox.user_settings(&settings)),
            GuardLayer::System => {
                fs::write(self.sandbox.home().join("system-settings.json"), settings.to_string()).unwrap()
            }
        }
    }

    fn write_hooks(&mut self, plan: &RoundPlan) {
        let mut hooks = json!({});
        for (event, at) in &plan.hooks {
            let habit = &HOOKS[*at];
            let command = self.sandbox.script(habit.name, habit.script);
            let timeout = hook_timeout_ms(plan, habit.timeout);
            let hook = json!({"type": "command", "name": habit.name, "command": command, "timeout": timeout});
            let definitions = hooks[event].take();
            let mut definitions = definitions.as_array().cloned().unwrap_or_default();
            definitions.push(json!({"hooks": [hook]}));
            hooks[event] = Value::Array(definitions);
        }
        self.settings = format!("{SETTINGS_COMMENT}{:#}\n", json!({"hooks": hooks}));
        self.sandbox.write(".gemini/settings.json", &self.settings);
    }

    pub(crate) fn project_settings(&self) -> PathBuf {
        self.sandbox.project().join(".gemini/settings.json")
    }

    /// Returns the path that a moved project has.
    pub(crate) fn moved_project_dir(&self) -> PathBuf {
        self.sandbox.sibling_path("moved")
    }

    /// Writes the replay file for a run's model.
    pub(crate) fn replay(&self, number: usize, run: &PlannedRun) -> String {
        let mut model = ReplayBuilder::new();
        for calls in &run.answers {
            model = model.parts(&calls.iter().map(|call| self.call(call)).collect::<Vec<_>>());
        }
        // More than one prompt may be typed, and hooks may demand retries.
        for _ in 0..4 {
            model = model.says_in_chunks(&["an", &format!("swer-{number}-")]);
        }
        let path = self.sandbox.sibling_path(&format!("runs/{number}.jsonl"));
        fs::write(&path, model.text()).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn call(&self, call: &PlannedCall) -> Value {
        let token = call.token();
        match call.kind {
            CallKind::Shell(at) => {
                let mark = self.sandbox.sibling_path("ran").join(&token);
                let command = format!(": '+{token}+'; : > '{}'; {}", mark.display(), COMMANDS[at]);
                replay::call("run_shell_command", json!({"command": command}))
            }
            CallKind::Write(file) => {
                let content = document_text(call.id, &format!("+{token}+"));
                replay::call("write_file", json!({"file_path": document_name(file), "content": content}))
            }
            CallKind::Replace(file, old) => {
                let new = format!("{}+{token}+", version_prefix(call.id));
                let args =
                    json!({"file_path": document_name(file), "old_string": version_prefix(old), "new_string": new});
                replay::call("replace", args)
            }
            CallKind::Look => replay::call("read_many_files", json!({"include": ["*.txt"]})),
        }
    }
}

impl Drop for ChaosWorkspace {
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            let _ = Command::new("umount").arg("-l").arg(disk).stderr(Stdio::null()).status_in_time();
        }
    }
}

/// Returns a short timeout where resources are scarce, since a hook that cannot start waits until its deadline.
fn hook_timeout_ms(plan: &RoundPlan, usual: u64) -> u64 {
    if plan.has_scarce_resources() { usual.min(1000) } else { usual }
}

pub(crate) fn mount(words: &[&str], at: &Path) -> bool {
    let mount = Command::new("mount").args(words).arg(at).stderr(Stdio::null()).status_in_time();
    mount.is_ok_and(|status| status.success())
}

/// Returns the name of a file that calls write.
pub(crate) fn document_name(file: u64) -> String {
    format!("document-{file}.txt")
}

fn version_prefix(id: u64) -> String {
    format!("version {id};")
}

/// Returns the content of such a file after a call: text of that call, and constant lines.
fn document_text(id: u64, note: &str) -> String {
    format!("{}{note}\n{}", version_prefix(id), "all of this stays as it is\n".repeat(800))
}

/// Returns the call whose version this is, or `None` if the file is not complete.
pub(crate) fn document_version(text: &str) -> Option<u64> {
    let (first, _) = text.split_once('\n')?;
    let id = first.strip_prefix("version ")?.split_once(';')?.0.parse().ok()?;
    (text.strip_prefix(first) == document_text(id, "").strip_prefix(&version_prefix(id))).then_some(id)
}

#[test]
fn an_incomplete_file_has_no_version() {
    let text = document_text(7, "+7ok+");
    assert_eq!(document_version(&text), Some(7));
    let torn = ["", &text[..text.len() - 1], &text[1..], &document_text(7, "")[..9], &(text.clone() + &text)];
    assert!(torn.iter().all(|text| document_version(text).is_none()));
}
