//! A journal in a temporary directory.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_journal::{
    ContentLevel, Entry, EventEntry, HookEntry, Journal, JournalOptions, Reader, Redactor, Verdict, VerifyReport,
    verify,
};
use serde_json::{Map, Value, json};

pub(super) struct JournalFixture {
    dir: tempfile::TempDir,
    pub(super) options: JournalOptions,
}

impl JournalFixture {
    pub(super) fn new() -> JournalFixture {
        JournalFixture { dir: tempfile::tempdir().unwrap(), options: JournalOptions::default() }
    }

    /// A journal whose segments have a few lines each.
    pub(super) fn with_small_segments() -> JournalFixture {
        let options = JournalOptions { segment_bytes: 4000, ..JournalOptions::default() };
        JournalFixture { options, ..JournalFixture::new() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("journal")
    }

    pub(super) fn open(&self) -> Journal {
        Journal::open(&self.path(), self.options).unwrap()
    }

    pub(super) fn reader(&self) -> Reader {
        Reader::new(&self.path())
    }

    pub(super) fn verify(&self) -> VerifyReport {
        verify(&self.path()).unwrap()
    }

    /// Appends events, and returns the journal.
    pub(super) fn fill(&self, count: usize) -> Journal {
        let mut journal = self.open();
        let redactor = redactor(ContentLevel::Redacted);
        for number in 0..count {
            let command = format!("echo {number}");
            journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(input(&command))).unwrap();
        }
        journal
    }

    /// The plain and compressed segments, in order.
    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains(".jsonl")).collect();
        files.sort();
        files
    }
}

pub(super) fn redactor(level: ContentLevel) -> Redactor {
    Redactor { level, secrets: Arc::default() }
}

pub(super) fn event(agent: &str, verdict: Verdict) -> Entry {
    Entry::Event(Box::new(EventEntry {
        agent: agent.to_owned(),
        session: format!("{agent}-session"),
        event: "BeforeTool".to_owned(),
        tool: Some("run_shell_command".to_owned()),
        verdict,
        hooks: vec![HookEntry {
            hook: "guard".to_owned(),
            decision: (verdict == Verdict::Deny).then(|| "deny".to_owned()),
            status: "ok".to_owned(),
            ms: 1.5,
            guard: true,
            ..HookEntry::default()
        }],
        ms: 2.0,
        ..EventEntry::default()
    }))
}

pub(super) fn input(command: &str) -> Map<String, Value> {
    let fields = json!({"input": {"tool_name": "run_shell_command", "tool_input": {"command": command}}});
    fields.as_object().unwrap().clone()
}
