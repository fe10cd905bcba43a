//! Queries and statistics over open and closed segments.

use hookwright_journal::{ContentLevel, Query, Verdict};
use jiff::Timestamp;

use super::fixture::{JournalFixture, event, input, redactor};

fn query(text: &str) -> Query {
    Query::parse([text], Timestamp::now()).unwrap()
}

fn mixed() -> JournalFixture {
    let fixture = JournalFixture::with_small_segments();
    let mut journal = fixture.open();
    let redactor = redactor(ContentLevel::Redacted);
    for number in 0..90 {
        let agent = ["codex", "claude-code", "hookwright"][number % 3];
        let verdict = if number % 10 == 0 { Verdict::Deny } else { Verdict::Pass };
        let command = format!("echo {number}");
        journal.append_with_content(&redactor, event(agent, verdict), Some(input(&command))).unwrap();
    }
    fixture
}

#[test]
fn a_query_reads_open_and_closed_segments_alike() {
    let fixture = mixed();
    let reader = fixture.reader();
    assert_eq!(reader.count(&query("agent=codex")).unwrap(), 30);
    assert_eq!(reader.count(&query("verdict=deny")).unwrap(), 9);
    assert_eq!(reader.count(&query("verdict=deny agent=codex")).unwrap(), 3);
    assert_eq!(reader.count(&query("kind=event since=1h")).unwrap(), 90);
    assert_eq!(reader.count(&query("kind=event until=1h")).unwrap(), 0);
    let found = reader.select(&query("hook=guard"), 5).unwrap();
    assert_eq!((found.matched, found.lines.len()), (90, 5));
    assert!(found.lines.is_sorted_by_key(|line| line.seq), "oldest first");
    let command = |line: &hookwright_journal::JournalLine| {
        line.content.as_ref().unwrap()["input"]["tool_input"]["command"].clone()
    };
    assert_eq!(command(&found.lines[4]), "echo 89");
    let mut spaced = Query::default();
    spaced.add("text=echo 70", Timestamp::now()).unwrap();
    assert_eq!(reader.select(&spaced, 10).unwrap().matched, 1);
    let mut seen = Vec::new();
    reader
        .for_each(&query("agent=claude-code"), |_, line| {
            seen.push(line.seq);
            seen.len() < 10
        })
        .unwrap();
    assert_eq!(seen.len(), 10);
    assert!(seen.is_sorted());
}

#[test]
fn statistics_count_every_run() {
    let stats = mixed().reader().stats(&query("kind=event")).unwrap();
    assert_eq!(stats.events, 90);
    assert_eq!(stats.verdicts.get("deny"), Some(&9));
    let guard = &stats.hooks[0];
    assert_eq!((guard.hook.as_str(), guard.runs, guard.denials, guard.guard), ("guard", 90, 9, true));
    assert_eq!((guard.p50_ms, guard.always.as_deref()), (1.5, None));
}

#[test]
fn a_missing_or_damaged_index_is_made_again() {
    let fixture = mixed();
    let entries = std::fs::read_dir(fixture.path()).unwrap().map(|entry| entry.unwrap().path());
    for (at, path) in entries.filter(|path| path.extension().is_some_and(|end| end == "index")).enumerate() {
        match at % 2 {
            0 => std::fs::remove_file(path).unwrap(),
            _ => std::fs::write(path, b"damaged").unwrap(),
        }
    }
    assert_eq!(fixture.reader().count(&query("agent=codex")).unwrap(), 30);
}

#[test]
fn an_empty_journal_has_no_lines() {
    let reader = JournalFixture::new().reader();
    assert_eq!((reader.count(&Query::default()).unwrap(), reader.last_line().unwrap()), (0, 0));
    assert!(reader.line(1).unwrap().is_none());
}
