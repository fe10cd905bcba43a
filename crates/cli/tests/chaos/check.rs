//! What has to be true after a round, however bad it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_agent::transcript;
use hookwright_hooks::jsonc::Document;
use hookwright_testkit::fs;
use hookwright_testkit::{Replay, Run as Output, replay};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{COMMENT, Place, document, version_of};
use crate::plan::{Act, How, Limit, Plan};
use crate::processes;
use crate::runs::{End, Slot};

/// How long everything may take to be gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What rounds did, for people.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Figures {
    pub(crate) programs: usize,
    pub(crate) killed: usize,
    pub(crate) signalled: usize,
    pub(crate) judged: usize,
    pub(crate) ran: usize,
    pub(crate) transcripts: usize,
    pub(crate) settings: usize,
    pub(crate) drafts: usize,
    pub(crate) left: usize,
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, more: Self) {
        self.programs += more.programs;
        self.killed += more.killed;
        self.signalled += more.signalled;
        self.judged += more.judged;
        self.ran += more.ran;
        self.transcripts += more.transcripts;
        self.settings += more.settings;
        self.drafts += more.drafts;
        self.left += more.left;
    }
}

/// What hooks and tools started has ended with the program, however that ended and wherever they went.
pub(crate) fn processes_left(place: &Place, figures: &mut Figures) -> Vec<String> {
    let left = processes::left_after(&place.mark, PATIENCE);
    figures.left += left.len();
    left.iter().map(|process| format!("still running: {:?} {}", process.pid, process.words)).collect()
}

pub(crate) fn all(plan: &Plan, place: &Place, ends: &[End], slots: &[Slot], figures: &mut Figures) -> Vec<String> {
    let mut problems = Vec::new();
    let transcripts = transcripts(place, figures, &mut problems);
    for (number, (end, slot)) in ends.iter().zip(slots).enumerate() {
        let ended = Ended { plan, place, number, sent: slot.sent(), transcripts: &transcripts };
        figures.programs += usize::from(!matches!(end, End::NotStarted));
        figures.killed += usize::from(matches!(end, End::Signal(9)));
        figures.signalled += ended.sent.len();
        problems.extend(ended.problems(end).into_iter().map(|problem| format!("run {number}: {problem}")));
    }
    problems.extend(calls(plan, place, &transcripts, figures));
    problems.extend(files(plan, place, figures));
    problems.extend(afterwards(plan, place));
    problems.extend(drafts(place, figures));
    problems
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// Every transcript loads and no line of it is damaged; what they say.
fn transcripts(place: &Place, figures: &mut Figures, problems: &mut Vec<String>) -> String {
    let (mut found, mut all) = (Vec::new(), String::new());
    walk(&place.sandbox.home().join(".gemini/tmp"), &mut found);
    for path in found.iter().filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
        figures.transcripts += 1;
        match transcript::load(path) {
            Ok(loaded) if loaded.damaged == 0 => {}
            Ok(loaded) => problems.push(format!("{} has {} damaged lines", path.display(), loaded.damaged)),
            Err(error) => problems.push(format!("a transcript does not load: {error}")),
        }
        all.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap_or_default()));
    }
    all
}

/// A program that has ended, and what was done to it.
struct Ended<'r> {
    plan: &'r Plan,
    place: &'r Place,
    number: usize,
    sent: Vec<Signal>,
    transcripts: &'r str,
}

impl Ended<'_> {
    fn said(&self, kind: &str) -> String {
        let path = self.place.sandbox.beside(&format!("runs/{}.{kind}", self.number));
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn problems(&self, end: &End) -> Vec<String> {
        let stderr = self.said("stderr") + &self.said("screen");
        let mut problems = Vec::new();
        // The standard library's own way to say that a thread has no room for its second stack.
        let no_room = self.plan.is_poor() && stderr.contains("failed to allocate an alternative stack");
        if stderr.contains("panicked at") && !no_room {
            problems.push(format!("a panic: {stderr}"));
        }
        let fine = match end {
            End::NotStarted => self.plan.moves_project() || self.plan.is_poor(),
            End::Hung(waits) => return vec![format!("it hangs:\n{waits}\n{stderr}")],
            End::Signal(signal) => {
                let sent = self.sent.iter().any(|sent| sent.as_raw() == *signal);
                sent || self.typed(*signal) || self.aborted(*signal, &stderr)
            }
            End::Exit(code) => self.may_exit(*code, &stderr),
        };
        if !fine {
            problems.push(format!("{end:?} after {:?}: {stderr}", self.sent));
        }
        if let (End::Exit(0), How::Headless { read: true, .. }) = (end, &self.plan.runs[self.number].how) {
            problems.extend(self.lost(&stderr));
        }
        problems
    }

    /// Ctrl-C, and a terminal that is gone, may come before the program listens.
    fn typed(&self, signal: i32) -> bool {
        match &self.plan.runs[self.number].how {
            How::Terminal { keys, .. } => signal == 1 || signal == 2 && keys.iter().any(|(_, keys)| *keys == "\x03"),
            _ => false,
        }
    }

    /// Where memory is short, the program may end at once, with a word.
    fn aborted(&self, signal: i32, stderr: &str) -> bool {
        signal == 6 && !stderr.is_empty() && self.lacks(|limit| matches!(limit, Limit::Memory(_) | Limit::Stack(_)))
    }

    /// Whether it had such a limit, from its start on or later.
    fn lacks(&self, such: impl Fn(&Limit) -> bool) -> bool {
        let later =
            |(_, act): &(u64, Act)| matches!(act, Act::Starve(run, limit) if *run == self.number && such(limit));
        self.plan.runs[self.number].limit.as_ref().is_some_and(&such) || self.plan.acts.iter().any(later)
    }

    fn may_exit(&self, code: i32, stderr: &str) -> bool {
        let plan = self.plan;
        let sent = |signal: Signal| self.sent.contains(&signal);
        let run = &plan.runs[self.number];
        let terminal = matches!(run.how, How::Terminal { .. });
        match code {
            0 => true,
            129 => terminal || sent(Signal::HUP),
            130 => terminal || sent(Signal::INT),
            131 => sent(Signal::QUIT),
            143 => sent(Signal::TERM),
            // Where files can't grow, nothing can be said in one.
            _ if stderr.is_empty() => self.lacks(|limit| matches!(limit, Limit::FileSize(_))),
            // The shell was starved before it could set a limit.
            2 => stderr.contains("ulimit"),
            1 | 71 if plan.is_poor() => true,
            // The loader's word for a lack of memory.
            127 => matches!(run.limit, Some(Limit::Memory(_))),
            1 if stderr.contains("session") => true,
            1 => matches!(run.how, How::Command(_)),
            52 => may_be_unguarded(plan, stderr),
            _ => false,
        }
    }

    /// An answer that was given stands in a transcript with its prompt, or it was said why not.
    fn lost(&self, stderr: &str) -> Vec<String> {
        let (prompt, answer) = (format!("prompt-{}-", self.number), format!("swer-{}-", self.number));
        let answered = self.said("stdout").contains(&answer);
        if !answered && !self.plan.is_poor() && !self.plan.changes_settings() {
            return vec![format!("no answer, and no reason: {stderr}")];
        }
        let kept = self.transcripts.contains(&prompt) && self.transcripts.contains(&answer);
        // Where files can't grow, neither can the one that the reason is written to.
        let said = stderr.contains("transcript") || self.lacks(|limit| matches!(limit, Limit::FileSize(_)));
        if answered && !kept && !said {
            return vec![format!("its answer stands in no transcript: {stderr}")];
        }
        Vec::new()
    }
}

/// Nothing that the guard denied has run, nothing has run that it did not judge, and what ran is on record.
fn calls(plan: &Plan, place: &Place, transcripts: &str, figures: &mut Figures) -> Vec<String> {
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(place.sandbox.beside(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let (judged, mut ran) = (names("judged"), names("ran"));
    for file in 0..2 {
        let written =
            fs::read_to_string(place.sandbox.project().join(document(file))).ok().and_then(|text| version_of(&text));
        let by = |id: u64| plan.calls().find(|call| call.id == id).map(crate::plan::Call::token);
        ran.extend(written.and_then(by));
    }
    figures.judged += judged.len();
    figures.ran += ran.len();
    let mut problems = Vec::new();
    for call in &ran {
        if call.ends_with("no") {
            problems.push(format!("call {call} was denied and ran"));
        }
        if !judged.contains(call) {
            problems.push(format!("call {call} ran unjudged"));
        }
        if !plan.is_poor() && !transcripts.contains(&format!("+{call}+")) {
            problems.push(format!("call {call} ran and stands in no transcript"));
        }
    }
    problems
}

/// What is written is whole, and what is read at the next start can be read.
fn files(plan: &Plan, place: &Place, figures: &mut Figures) -> Vec<String> {
    let mut problems = Vec::new();
    for file in 0..2 {
        let path = place.sandbox.project().join(document(file));
        let text = fs::read_to_string(&path).unwrap_or_default();
        if version_of(&text).is_none() {
            problems.push(format!("{} is torn: {} bytes", path.display(), text.len()));
        }
    }
    let mut found = Vec::new();
    walk(&place.sandbox.home(), &mut found);
    walk(&place.sandbox.project(), &mut found);
    for path in found {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".json") && !(path == place.project_settings() && plan.breaks_settings()) {
            figures.settings += 1;
            problems.extend(broken_json(&path));
        } else if name == "hookwright_history" {
            problems.extend(broken_lines(&path));
        }
    }
    problems.extend(settings(plan, place));
    problems
}

/// Half a file that a killed program left is gone by the time the next one has run.
fn drafts(place: &Place, figures: &mut Figures) -> Vec<String> {
    let mut found = Vec::new();
    walk(&place.sandbox.home(), &mut found);
    walk(&place.sandbox.project(), &mut found);
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

/// Each line is JSON, but for one at the end that a killed program left.
fn broken_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let broken = whole.lines().filter(|line| serde_json::from_str::<Value>(line).is_err());
    broken.map(|line| format!("{} has a broken line: {line}", path.display())).collect()
}

/// Settings that a person broke are left alone; others are edited, and keep a person's words.
fn settings(plan: &Plan, place: &Place) -> Option<String> {
    let text = fs::read_to_string(place.project_settings()).unwrap_or_default();
    let broken = |act: &Act| matches!(act, Act::BreakSettings(broken) if text.starts_with(broken));
    let fine = text.starts_with(COMMENT) || plan.acts.iter().any(|(_, act)| broken(act));
    (!fine).then(|| format!("the project's settings are neither a person's nor an edit of them: {text:?}"))
}

/// Whether a session may refuse to start until a person has looked. One that is killed while another announces new hooks
/// is taken for having written the record of trust itself: closed, and a false alarm.
fn may_be_unguarded(plan: &Plan, stderr: &str) -> bool {
    let record = stderr.contains("trusted_hooks.json") || stderr.contains("trustedFolders.json");
    plan.changes_settings() || plan.is_poor() || (record && plan.runs.len() > 1)
}

/// The next day: a person mends the settings and goes on with the last session, guarded.
fn afterwards(plan: &Plan, place: &Place) -> Vec<String> {
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
    if place.sandbox.beside("ran/next-no").exists() || !place.sandbox.beside("ran/next-ok").exists() {
        problems.push(format!("the next session is not guarded: {run:#?}"));
    }
    processes::end_all(&place.mark);
    problems
}

fn next_day(place: &Place) -> Output {
    let touch = |token: &str| {
        let command = format!(": '+{token}+'; : > '{}'", place.sandbox.beside("ran").join(token).display());
        replay::call("run_shell_command", json!({"command": command}))
    };
    let model = Replay::new().parts(&[touch("next-ok"), touch("next-no")]).says("well");
    let mut model_text = model.text();
    model_text.push_str(&Replay::new().says("well").text());
    let file = place.sandbox.beside("runs/next.jsonl");
    fs::write(&file, model_text).unwrap();
    let file = file.to_string_lossy();
    let words = ["-p", "next", "--approval-mode=yolo", "--fake-responses", &file, "--resume", "latest"];
    let run = |words: &[&str]| hookwright_testkit::finish(place.sandbox.command(words).spawn().unwrap());
    let mut words = &words[..];
    let mut done = run(words);
    for _ in 0..5 {
        if done.stderr.contains("there are no sessions") {
            // No session may have got as far as to have a message.
            words = &words[..5];
        } else if done.code != Some(0) || place.sandbox.beside("ran/next-ok").exists() {
            break;
        }
        // On a busy machine, a guard may have run out of time.
        done = run(words);
    }
    done
}
