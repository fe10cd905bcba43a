//! The invariants that must hold after a round, whatever happened in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_agent::transcript;
use hookwright_hooks::jsonc::Document;
use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun as Output, ReplayBuilder, replay};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::processes;
use crate::program_runs::{ProgramEnd, RunSlot};
use crate::round_plan::{Fault, ResourceLimit, RoundPlan, RunMode};
use crate::workspace::{ChaosWorkspace, SETTINGS_COMMENT, document_name, document_version};

/// How long processes may take to end.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The figures of rounds, for the report.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RoundFigures {
    pub(crate) programs: usize,
    pub(crate) killed: usize,
    pub(crate) signalled: usize,
    pub(crate) judged_calls: usize,
    pub(crate) executed_calls: usize,
    pub(crate) transcripts: usize,
    pub(crate) settings: usize,
    pub(crate) drafts: usize,
    pub(crate) processes_left: usize,
}

impl std::ops::AddAssign for RoundFigures {
    fn add_assign(&mut self, more: Self) {
        self.programs += more.programs;
        self.killed += more.killed;
        self.signalled += more.signalled;
        self.judged_calls += more.judged_calls;
        self.executed_calls += more.executed_calls;
        self.transcripts += more.transcripts;
        self.settings += more.settings;
        self.drafts += more.drafts;
        self.processes_left += more.processes_left;
    }
}

/// Checks that every process that hooks and tools started has ended with the program, however the program ended.
pub(crate) fn processes_left(place: &ChaosWorkspace, figures: &mut RoundFigures) -> Vec<String> {
    let left = processes::wait_until_gone(&place.mark, PROCESS_EXIT_TIMEOUT);
    figures.processes_left += left.len();
    left.iter().map(|process| format!("still running: {:?} {}", process.pid, process.command_line)).collect()
}

pub(crate) fn check_round(
    plan: &RoundPlan,
    place: &ChaosWorkspace,
    ends: &[ProgramEnd],
    slots: &[RunSlot],
    figures: &mut RoundFigures,
) -> Vec<String> {
    let mut problems = Vec::new();
    let transcripts = check_transcripts(place, figures, &mut problems);
    for (number, (end, slot)) in ends.iter().zip(slots).enumerate() {
        let ended = EndedRun { plan, place, number, sent: slot.sent(), transcripts: &transcripts };
        figures.programs += usize::from(!matches!(end, ProgramEnd::NotStarted));
        figures.killed += usize::from(matches!(end, ProgramEnd::Signal(9)));
        figures.signalled += ended.sent.len();
        problems.extend(ended.problems(end).into_iter().map(|problem| format!("run {number}: {problem}")));
    }
    problems.extend(check_calls(plan, place, &transcripts, figures));
    problems.extend(check_files(plan, place, figures));
    problems.extend(afterwards(plan, place));
    problems.extend(check_drafts(place, figures));
    problems
}

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect_files(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// Checks that every transcript loads and has no damaged line, and returns their text.
fn check_transcripts(place: &ChaosWorkspace, figures: &mut RoundFigures, problems: &mut Vec<String>) -> String {
    let (mut found, mut all) = (Vec::new(), String::new());
    collect_files(&place.sandbox.home().join(".gemini/tmp"), &mut found);
    for path in found.iter().filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
        figures.transcripts += 1;
        match transcript::load(path) {
            Ok(loaded) if loaded.damaged_entries == 0 => {}
            Ok(loaded) => problems.push(format!("{} has {} damaged lines", path.display(), loaded.damaged_entries)),
            Err(error) => problems.push(format!("a transcript does not load: {error}")),
        }
        all.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap_or_default()));
    }
    all
}

/// A program that has ended, with the faults that it met.
struct EndedRun<'r> {
    plan: &'r RoundPlan,
    place: &'r ChaosWorkspace,
    number: usize,
    sent: Vec<Signal>,
    transcripts: &'r str,
}

impl EndedRun<'_> {
    fn said(&self, kind: &str) -> String {
        let path = self.place.sandbox.sibling_path(&format!("runs/{}.{kind}", self.number));
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn problems(&self, end: &ProgramEnd) -> Vec<String> {
        let stderr = self.said("stderr") + &self.said("screen");
        let mut problems = Vec::new();
        // The standard library panics like this when a thread cannot allocate its alternative signal stack.
        let no_room = self.plan.has_scarce_resources() && stderr.contains("failed to allocate an alternative stack");
        if stderr.contains("panicked at") && !no_room {
            problems.push(format!("a panic: {stderr}"));
        }
        let fine = match end {
            ProgramEnd::NotStarted => self.plan.moves_project() || self.plan.has_scarce_resources(),
            ProgramEnd::Hung(waits) => return vec![format!("it hangs:\n{waits}\n{stderr}")],
            ProgramEnd::Signal(signal) => {
                let sent = self.sent.iter().any(|sent| sent.as_raw() == *signal);
                sent || self.typed(*signal) || self.aborted(*signal, &stderr)
            }
            ProgramEnd::Exit(code) => self.may_exit(*code, &stderr),
        };
        if !fine {
            problems.push(format!("{end:?} after {:?}: {stderr}", self.sent));
        }
        if let (ProgramEnd::Exit(0), RunMode::Headless { read: true, .. }) = (end, &self.plan.runs[self.number].mode) {
            problems.extend(self.lost(&stderr));
        }
        problems
    }

    /// Ctrl-C and a terminal that is gone may come before the program has installed its signal handlers.
    fn typed(&self, signal: i32) -> bool {
        match &self.plan.runs[self.number].mode {
            RunMode::Terminal { keys, .. } => {
                signal == 1 || signal == 2 && keys.iter().any(|(_, keys)| *keys == "\x03")
            }
            _ => false,
        }
    }

    /// The program may abort with a message where memory is short.
    fn aborted(&self, signal: i32, stderr: &str) -> bool {
        signal == 6
            && !stderr.is_empty()
            && self.lacks(|limit| matches!(limit, ResourceLimit::Memory(_) | ResourceLimit::Stack(_)))
    }

    /// Returns whether the program had such a limit, from its start on or later.
    fn lacks(&self, such: impl Fn(&ResourceLimit) -> bool) -> bool {
        let later = |(_, act): &(u64, Fault)| matches!(act, Fault::LowerLimit(run, limit) if *run == self.number && such(limit));
        self.plan.runs[self.number].limit.as_ref().is_some_and(&such) || self.plan.faults.iter().any(later)
    }

    fn may_exit(&self, code: i32, stderr: &str) -> bool {
        let plan = self.plan;
        let sent = |signal: Signal| self.sent.contains(&signal);
        let run = &plan.runs[self.number];
        let terminal = matches!(run.mode, RunMode::Terminal { .. });
        match code {
            0 => true,
            129 => terminal || sent(Signal::HUP),
            130 => terminal || sent(Signal::INT),
            131 => sent(Signal::QUIT),
            143 => sent(Signal::TERM),
            // Where files cannot grow, no message can be written to one.
            _ if stderr.is_empty() => self.lacks(|limit| matches!(limit, ResourceLimit::FileSize(_))),
            // The shell itself failed before it could set a limit.
            2 => stderr.contains("ulimit"),
            1 | 71 if plan.has_scarce_resources() => true,
            // The loader's exit code for a lack of memory.
            127 => matches!(run.limit, Some(ResourceLimit::Memory(_))),
            1 if stderr.contains("session") => true,
            1 => matches!(run.mode, RunMode::Command(_)),
            52 => may_be_unguarded(plan, stderr),
            _ => false,
        }
    }

    /// Checks that an answer is in a transcript with its prompt, or that a message says why not.
    fn lost(&self, stderr: &str) -> Vec<String> {
        let (prompt, answer) = (format!("prompt-{}-", self.number), format!("swer-{}-", self.number));
        let answered = self.said("stdout").contains(&answer);
        if !answered && !self.plan.has_scarce_resources() && !self.plan.changes_settings() {
            return vec![format!("no answer, and no reason: {stderr}")];
        }
        let kept = self.transcripts.contains(&prompt) && self.transcripts.contains(&answer);
        // Where files cannot grow, the reason cannot be written to one either.
        let said = stderr.contains("transcript") || self.lacks(|limit| matches!(limit, ResourceLimit::FileSize(_)));
        if answered && !kept && !said {
            return vec![format!("its answer stands in no transcript: {stderr}")];
        }
        Vec::new()
    }
}

/// Checks that no call ran that the guard denied or did not judge, and that every call that ran is recorded.
fn check_calls(plan: &RoundPlan, place: &ChaosWorkspace, transcripts: &str, figures: &mut RoundFigures) -> Vec<String> {
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(place.sandbox.sibling_path(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let (judged, mut ran) = (names("judged"), names("ran"));
    for file in 0..2 {
        let written = fs::read_to_string(place.sandbox.project().join(document_name(file)))
            .ok()
            .and_then(|text| document_version(&text));
        let by = |id: u64| plan.calls().find(|call| call.id == id).map(crate::round_plan::PlannedCall::token);
        ran.extend(written.and_then(by));
    }
    figures.judged_calls += judged.len();
    figures.executed_calls += ran.len();
    let mut problems = Vec::new();
    for call in &ran {
        if call.ends_with("no") {
            problems.push(format!("call {call} was denied and ran"));
        }
        if !judged.contains(call) {
            problems.push(format!("call {call} ran unjudged"));
        }
        if !plan.has_scarce_resources() && !transcripts.contains(&format!("+{call}+")) {
            problems.push(format!("call {call} ran and stands in no transcript"));
        }
    }
    problems
}

/// Checks that written files are complete, and that files for the next start can be read.
fn check_files(plan: &RoundPlan, place: &ChaosWorkspace, figures: &mut RoundFigures) -> Vec<String> {
    let mut problems = Vec::new();
    for file in 0..2 {
        let path = place.sandbox.project().join(document_name(file));
        let text = fs::read_to_string(&path).unwrap_or_default();
        if document_version(&text).is_none() {
            problems.push(format!("{} is torn: {} bytes", path.display(), text.len()));
        }
    }
    let mut found = Vec::new();
    collect_files(&place.sandbox.home(), &mut found);
    collect_files(&place.sandbox.project(), &mut found);
    for path in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".json") && !(path == place.project_settings() && plan.breaks_settings()) {
            figures.settings += 1;
            problems.extend(broken_json(&path));
        } else if name == "hookwright_history" {
            problems.extend(broken_lines(&path));
        }
    }
    problems.extend(check_settings(plan, place));
    problems
}

/// Checks that partial files of a killed program are removed by the next run.
fn check_drafts(place: &ChaosWorkspace, figures: &mut RoundFigures) -> Vec<String> {
    let mut found = Vec::new();
    collect_files(&place.sandbox.home(), &mut found);
    collect_files(&place.sandbox.project(), &mut found);
    let is_draft = |name: &str| name.starts_with(".hookwright-") || name.starts_with(".tmp");
    found.retain(|path| path.file_name().is_some_and(|name| is_draft(&name.to_string_lossy())));
    figures.drafts += found.len();
    found.iter().map(|path| format!("a draft was left behind: {}", path.display())).collect()
}

fn broken_json(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let error = Document::parse(path, &text).root.err()?;
    Some(format!("{} can't be read: {error:?}\n{text}", path.display()))
}

/// Checks that each line is JSON, except a last line that a killed program left.
fn broken_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let broken = whole.lines().filter(|line| serde_json::from_str::<Value>(line).is_err());
    broken.map(|line| format!("{} has a broken line: {line}", path.display())).collect()
}

/// Checks that settings that the user broke are unchanged, and that edited settings keep the user's comment.
fn check_settings(plan: &RoundPlan, place: &ChaosWorkspace) -> Option<String> {
    let text = fs::read_to_string(place.project_settings()).unwrap_or_default();
    let broken = |act: &Fault| matches!(act, Fault::BreakSettings(broken) if text.starts_with(broken));
    let fine = text.starts_with(SETTINGS_COMMENT) || plan.faults.iter().any(|(_, act)| broken(act));
    (!fine).then(|| format!("the project's settings are neither a person's nor an edit of them: {text:?}"))
}

/// Returns whether a session may refuse to start until the user has reviewed changes.
///
/// A session that is killed while another announces new hooks is taken to have written the trust record itself: a false
/// alarm that fails closed.
fn may_be_unguarded(plan: &RoundPlan, stderr: &str) -> bool {
    let record = stderr.contains("trusted_hooks.json") || stderr.contains("trustedFolders.json");
    plan.changes_settings() || plan.has_scarce_resources() || (record && plan.runs.len() > 1)
}

/// Repairs the settings and resumes the last session, which must be guarded.
fn afterwards(plan: &RoundPlan, place: &ChaosWorkspace) -> Vec<String> {
    if plan.breaks_settings() && fs::write(place.project_settings(), &place.settings).is_err() {
        return vec!["the settings can't be written any more".to_owned()];
    }
    let mut run = next_day(place);
    if run.code == Some(52) && may_be_unguarded(plan, &run.stderr) {
        hookwright_testkit::finish(place.sandbox.command(&["hooks", "enable-all"]).spawn().unwrap());
        let trust = hookwright_testkit::finish(place.sandbox.command(&["hooks", "trust", "--all"]).spawn().unwrap());
        if trust.code != Some(0) {
            return vec![format!("trust is not given: {trust:#?}")];
        }
        run = next_day(place);
    }
    let mut problems = Vec::new();
    if run.code != Some(0) || !run.stdout.contains("well") {
        problems.push(format!("the next session does not work: {run:#?}"));
    }
    if place.sandbox.sibling_path("ran/next-no").exists() || !place.sandbox.sibling_path("ran/next-ok").exists() {
        problems.push(format!("the next session is not guarded: {run:#?}"));
    }
    processes::kill_all(&place.mark);
    problems
}

fn next_day(place: &ChaosWorkspace) -> Output {
    let touch = |token: &str| {
        let command = format!(": '+{token}+'; : > '{}'", place.sandbox.sibling_path("ran").join(token).display());
        replay::call("run_shell_command", json!({"command": command}))
    };
    let model = ReplayBuilder::new().parts(&[touch("next-ok"), touch("next-no")]).says("well");
    let mut model_text = model.text();
    model_text.push_str(&ReplayBuilder::new().says("well").text());
    let file = place.sandbox.sibling_path("runs/next.jsonl");
    fs::write(&file, model_text).unwrap();
    let file = file.to_string_lossy();
    let words = ["-p", "next", "--approval-mode=yolo", "--fake-responses", &file, "--resume", "latest"];
    let run = |words: &[&str]| hookwright_testkit::finish(place.sandbox.command(words).spawn().unwrap());
    let mut words = &words[..];
    let mut done = run(words);
    for _ in 0..5 {
        if done.stderr.contains("there are no sessions") {
            // Perhaps no session got as far as a message.
            words = &words[..5];
        } else if done.code != Some(0) || place.sandbox.sibling_path("ran/next-ok").exists() {
            break;
        }
        // A guard may have timed out on a busy machine.
        done = run(words);
    }
    done
}
