//! Benchmarks of the journal: a line from a session and from a short process, and a query over a million lines.
//!
//! `cargo bench -p hookwright-journal`; `cargo test --bench journal` runs everything once with few lines.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_journal::{
    ContentLevel, Entry, EventEntry, EventSource, HookEntry, Journal, JournalOptions, Query, Reader, Recorder,
    Redactor, Verdict, verify,
};
use serde_json::{Map, Value, json};

fn main() {
    let is_smoke_run = !std::env::args().any(|word| word == "--bench");
    let (writes, lines) = if is_smoke_run { (10, 2_000) } else { (2_000, 1_000_000) };
    let dir = tempfile::tempdir().unwrap();
    measure_writes(dir.path(), writes);
    measure_queries(&dir.path().join("many"), lines);
}

fn print(name: &str, value: f64, unit: &str) {
    println!("{name:<48} {value:>12.1} {unit}");
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort();
    samples[samples.len() / 2].as_secs_f64() * 1e6
}

fn time(mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn redactor() -> Redactor {
    Redactor { level: ContentLevel::Redacted, secrets: Arc::default() }
}

fn measure_writes(dir: &Path, count: usize) {
    let path = dir.join("floor");
    let line = "x".repeat(1500);
    let floor = (0..count).map(|_| {
        time(|| {
            use std::io::Write;
            let mut file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        })
    });
    print("floor: open and append 1.5 kB", median(floor.collect()), "µs");
    let session = dir.join("session");
    let opener = move || Ok((Journal::open(&session, JournalOptions::default())?, redactor()));
    let recorder = Recorder::new(EventSource::default(), Box::new(opener));
    let samples = (0..count).map(|number| time(|| recorder.record(event(number), Some(content(number)))));
    print("a line of a session", median(samples.collect()), "µs");
    recorder.close();
    let bridge = dir.join("bridge");
    let samples = (0..count).map(|number| {
        time(|| {
            let mut journal = Journal::open(&bridge, JournalOptions::default()).unwrap();
            journal.append_with_content(&redactor(), event(number), Some(content(number))).unwrap();
        })
    });
    print("a line of a short process, journal opened", median(samples.collect()), "µs");
}

fn measure_queries(dir: &Path, count: usize) {
    let options = JournalOptions { max_bytes: u64::MAX, ..JournalOptions::default() };
    let start = Instant::now();
    let mut journal = Journal::open(dir, options).unwrap();
    for number in 0..count {
        let content = content(number);
        let text = Value::Object(content).to_string();
        journal.append(&event(number), Some(&text)).unwrap();
    }
    println!("{count} lines written in {:.1} s, compression included", start.elapsed().as_secs_f64());
    let reader = Reader::new(dir);
    for words in
        ["event=BeforeTool verdict=deny agent=codex since=7d", "agent=codex", "hook=no-force-push", "session=s-7"]
    {
        let query = Query::parse([words], jiff::Timestamp::now()).unwrap();
        let mut matched = 0;
        let took = time(|| matched = reader.select(&query, 50).unwrap().matched);
        print(&format!("query {words} ({matched})"), took.as_secs_f64() * 1e3, "ms");
    }
    let query = Query::default();
    print("stats", time(|| drop(reader.stats(&query).unwrap())).as_secs_f64() * 1e3, "ms");
    print("verify", time(|| assert!(verify(dir).unwrap().findings.is_empty())).as_secs_f64() * 1e3, "ms");
}

fn event(number: usize) -> Entry {
    let agent = ["codex", "claude-code", "hookwright", "gemini-cli"][number % 4];
    let verdict = if number.is_multiple_of(50) { Verdict::Deny } else { Verdict::Pass };
    let hook = |name: &str, decision: Option<&str>| HookEntry {
        hook: name.to_owned(),
        source: "project".to_owned(),
        hook_type: "rule".to_owned(),
        fingerprint: "653f2395af1813a0".to_owned(),
        status: "ok".to_owned(),
        decision: decision.map(str::to_owned),
        ms: 0.031,
        ..HookEntry::default()
    };
    let decision = (verdict == Verdict::Deny).then_some("deny");
    Entry::Event(Box::new(EventEntry {
        agent: agent.to_owned(),
        project: "/home/user/project".to_owned(),
        session: format!("s-{}", number / 500),
        turn: Some(format!("t-{}", number / 10)),
        call: Some(format!("call-{number}")),
        event: "BeforeTool".to_owned(),
        tool: Some("run_shell_command".to_owned()),
        verdict,
        hooks: vec![hook("no-force-push", decision), hook("secret-scanner", None)],
        ms: 2.5,
        ..EventEntry::default()
    }))
}

fn content(number: usize) -> Map<String, Value> {
    let value = json!({
        "input": {"tool_name": "run_shell_command", "tool_input": {"command": format!("cargo test --package app-{number}"), "description": "Runs the tests"}, "cwd": "/home/user/project"},
        "effects": {"commands": [["cargo", "test"]], "reads": ["/home/user/project"], "writes": ["/home/user/project/target"], "certain": false, "unsure": ["network"]},
        "runs": [{}, {"stdout": "{}\n"}],
    });
    value.as_object().unwrap().clone()
}
