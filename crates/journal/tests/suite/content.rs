//! What the content of a line holds.

use hookwright_journal::{ContentLevel, Entry, Verdict};
use serde_json::{Value, json};

use super::fixture::{JournalFixture, event, input, redactor};

fn stored(level: ContentLevel, command: &str) -> Option<Value> {
    let fixture = JournalFixture::new();
    let mut journal = fixture.open();
    let redactor = redactor(level);
    redactor.secrets.learn_key("sk-known-key-0123456789");
    let number = journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(input(command))).unwrap();
    let mut line = fixture.reader().line(number).unwrap().unwrap();
    fixture.reader().resolve(&mut line);
    line.content
}

#[test]
fn secrets_are_left_out_unless_all_is_wanted() {
    let command = "curl -H 'Authorization: Bearer abcdefghijklmnop' -d key=sk-known-key-0123456789 x";
    let text = |level| stored(level, command).unwrap()["input"]["tool_input"]["command"].as_str().unwrap().to_owned();
    assert_eq!(text(ContentLevel::Full), command);
    let redacted = text(ContentLevel::Redacted);
    assert!(
        !redacted.contains("sk-known") && !redacted.contains("abcdefghij") && redacted.contains("curl"),
        "{redacted}"
    );
    assert_eq!(stored(ContentLevel::None, command), None);
}

#[test]
fn a_value_with_a_secret_name_is_left_out() {
    let fixture = JournalFixture::new();
    let mut journal = fixture.open();
    let content = json!({"input": {"tool_input": {"api_key": "hunter2-hunter2", "path": "a.txt"}}});
    let content = content.as_object().unwrap().clone();
    let redactor = redactor(ContentLevel::Redacted);
    let number = journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(content)).unwrap();
    let text = fixture.reader().line(number).unwrap().unwrap().content.unwrap().to_string();
    assert!(!text.contains("hunter2") && text.contains("a.txt"), "{text}");
}

#[test]
fn a_hook_without_a_name_is_recorded_without_the_secrets_of_its_command() {
    let fixture = JournalFixture::new();
    let mut journal = fixture.open();
    let Entry::Event(mut entry) = event("codex", Verdict::Deny) else { panic!() };
    let command = "check --token=hunter2-hunter2 --fast".to_owned();
    (entry.hooks[0].hook, entry.decided_by) = (command.clone(), vec![command]);
    let number = journal.append_with_content(&redactor(ContentLevel::Redacted), Entry::Event(entry), None).unwrap();
    let line = fixture.reader().line(number).unwrap().unwrap();
    let line = line.event().unwrap();
    assert!(!line.hooks[0].hook.contains("hunter2") && line.hooks[0].hook.contains("--fast"), "{line:?}");
    assert_eq!(line.decided_by[0], line.hooks[0].hook);
}

#[test]
fn a_large_value_is_stored_once_and_read_back() {
    let fixture = JournalFixture::new();
    let mut journal = fixture.open();
    let long = "word ".repeat(10_000);
    let redactor = redactor(ContentLevel::Redacted);
    let mut last = 0;
    for _ in 0..3 {
        last = journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(input(&long))).unwrap();
    }
    let mut line = fixture.reader().line(last).unwrap().unwrap();
    let command = |line: &Value| line["input"]["tool_input"]["command"].clone();
    assert_eq!(command(line.content.as_ref().unwrap())["bytes"], long.len() + 2);
    fixture.reader().resolve(&mut line);
    assert_eq!(command(line.content.as_ref().unwrap()), long);
    let bodies = walk(&fixture.path().join("bodies"));
    assert_eq!(bodies, 1);
    assert_eq!(fixture.verify().findings, []);
    let huge = "x".repeat(3 << 20);
    let number = journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(input(&huge))).unwrap();
    let line = fixture.reader().line(number).unwrap().unwrap();
    assert_eq!(command(line.content.as_ref().unwrap())["omitted"], "too large");
}

fn walk(dir: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = JournalFixture::with_small_segments();
    fixture.fill(40);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.path()), 0o700);
    for entry in std::fs::read_dir(fixture.path()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
