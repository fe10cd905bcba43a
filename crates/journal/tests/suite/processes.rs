//! Many writers at once, and writers that are killed, in separate processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hookwright_journal::{ContentLevel, Journal, JournalOptions, Query, Verdict};
use hookwright_testkit::deadline::*;

use super::fixture::{JournalFixture, event, input, redactor};

const DIR_VARIABLE: &str = "HOOKWRIGHT_TEST_JOURNAL";
const COUNT_VARIABLE: &str = "HOOKWRIGHT_TEST_LINES";
const WRITERS: usize = 16;
const LINES: usize = 40;

/// Starts this test binary again to write lines; `helper` runs there.
fn writer(dir: &Path, lines: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::processes::helper", "--nocapture"]);
    command.env(DIR_VARIABLE, dir).env(COUNT_VARIABLE, lines.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn helper() {
    let Ok(dir) = std::env::var(DIR_VARIABLE) else { return };
    let lines: usize = std::env::var(COUNT_VARIABLE).unwrap().parse().unwrap();
    let options = JournalOptions { segment_bytes: 20_000, ..JournalOptions::default() };
    let redactor = redactor(ContentLevel::Redacted);
    for number in 0..lines {
        // The bridge opens the journal for each event.
        let mut journal = Journal::open(Path::new(&dir), options).unwrap();
        let command = format!("{} {number}", std::process::id());
        journal.append_with_content(&redactor, event("codex", Verdict::Pass), Some(input(&command))).unwrap();
    }
}

#[test]
fn writers_at_once_lose_nothing() {
    let fixture = JournalFixture::new();
    let mut writers: Vec<_> = (0..WRITERS).map(|_| writer(&fixture.path(), LINES).spawn().unwrap()).collect();
    for writer in &mut writers {
        assert!(writer.wait_in_time().unwrap().success());
    }
    let report = fixture.verify();
    assert_eq!(report.findings, []);
    let query = Query::parse(["kind=event"], jiff::Timestamp::now()).unwrap();
    assert_eq!(fixture.reader().count(&query).unwrap(), (WRITERS * LINES) as u64);
}

/// How often a writer is killed; `HOOKWRIGHT_JOURNAL_KILLS` asks for more.
fn kills() -> usize {
    std::env::var("HOOKWRIGHT_JOURNAL_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn a_killed_writer_loses_no_line_of_another() {
    let fixture = JournalFixture::new();
    let query = Query::parse(["kind=event"], jiff::Timestamp::now()).unwrap();
    let mut before = 0;
    for kill in 0..kills() {
        let mut doomed = writer(&fixture.path(), 10_000).spawn().unwrap();
        // The moments differ, and there is nothing to wait for: any moment is a good one.
        std::thread::sleep(Duration::from_micros(3_000 + (kill as u64 * 7_919) % 12_000));
        doomed.kill().unwrap();
        doomed.wait_in_time().unwrap();
        if kill % 10 == 9 {
            let now = fixture.reader().count(&query).unwrap();
            assert!(now >= before, "{now} lines after {before}");
            before = now;
        }
    }
    let mut last = writer(&fixture.path(), 1).spawn().unwrap();
    assert!(last.wait_in_time().unwrap().success());
    let report = fixture.verify();
    // Half a line of a killed writer is cut off by the next one, which says so.
    let expected = |text: &str| text.contains("bytes that are no line of this journal were removed");
    assert!(report.findings.iter().all(|finding| expected(&finding.problem)), "{:?}", report.findings);
    assert!(report.lines > 10, "{report:?}");
}
