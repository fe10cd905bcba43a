//! Which line of the journal is about which call, and why none is.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::host::Host;
use crate::transcripts::{ArgumentsDigest, TranscriptProblem};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + seconds).unwrap()
}

fn call(agent: Host, id: &str, command: &str, at: i64) -> TranscriptCall {
    TranscriptCall {
        agent,
        version: None,
        session: "s1".to_owned(),
        other_session: None,
        call_id: Some(id.to_owned()),
        tool: if agent == Host::Copilot { "bash" } else { "Bash" }.to_owned(),
        summary: command.to_owned(),
        arguments: ArgumentsDigest::new(&json!({"command": command})),
        time: Some(time(at)),
        finished: Some(time(at + 1)),
        result: TranscriptResult::Ran,
        file: Arc::from(Path::new("t.jsonl")),
        line: 1,
    }
}

fn line(agent: Host, id: &str, command: &str, at: i64) -> JournalCall {
    JournalCall {
        agent,
        session: "s1".to_owned(),
        call_ids: (!id.is_empty()).then(|| id.to_owned()).into_iter().collect(),
        tool: "Bash".to_owned(),
        arguments: Some(ArgumentsDigest::new(&json!({"command": command}))),
        time: time(at),
        verdict: JournalVerdict::Pass,
    }
}

fn compare(calls: Vec<TranscriptCall>, lines: Vec<JournalCall>) -> CoverageReport {
    let items = calls.into_iter().map(|call| TranscriptItem::Call(Box::new(call)));
    coverage(items, &mut JournalIndex::new(lines, Some(time(0))), time(100_000))
}

fn reasons(report: &CoverageReport) -> Vec<&'static str> {
    report.uncovered.iter().map(|finding| finding.reason.as_str()).collect()
}

#[test]
fn id_of_a_call_is_enough_where_it_is_unique() {
    let id = "toolu_01A2b3C4d5E6f7G8h9";
    let mut forked = call(Host::ClaudeCode, id, "ls", 50_000);
    forked.session = "s2".to_owned();
    assert!(compare(vec![forked], vec![line(Host::ClaudeCode, id, "ls", 10)]).is_clean());
}

/// A model server that counts its calls from 1 in every session must not make one session's line cover another's call.
#[test]
fn short_id_counts_only_in_its_session_and_time() {
    let asked = line(Host::ClaudeCode, "call_1", "ls", 10);
    let mut elsewhere = call(Host::ClaudeCode, "call_1", "ls", 11);
    elsewhere.session = "s2".to_owned();
    assert_eq!(reasons(&compare(vec![elsewhere], vec![asked.clone()])), ["session_unknown"]);
    let again = call(Host::ClaudeCode, "call_1", "ls", 5_000);
    assert_eq!(reasons(&compare(vec![again], vec![asked.clone()])), ["after_last_line"]);
    assert!(compare(vec![call(Host::ClaudeCode, "call_1", "other words", 10)], vec![asked]).is_clean());
}

#[test]
fn line_without_an_id_covers_one_call_with_the_same_arguments() {
    let calls = || vec![call(Host::Copilot, "call_1", "ls", 10), call(Host::Copilot, "call_2", "ls", 20)];
    let lines = vec![line(Host::Copilot, "", "ls", 10), line(Host::Copilot, "", "ls", 20)];
    assert!(compare(calls(), lines.clone()).is_clean());
    let report = compare(calls(), lines[..1].to_vec());
    assert_eq!((report.agents[0].covered, reasons(&report)), (1, vec!["after_last_line"]));
    let other = line(Host::Copilot, "", "rm", 20);
    assert_eq!(reasons(&compare(calls(), vec![lines[0].clone(), other])), ["skipped"]);
}

/// A journal that keeps no arguments still covers a call, if a line is close to it.
#[test]
fn line_without_arguments_must_be_close() {
    let mut bare = line(Host::GeminiCli, "", "ls", 12);
    (bare.arguments, bare.tool) = (None, "Bash".to_owned());
    assert!(compare(vec![call(Host::GeminiCli, "x", "ls", 10)], vec![bare.clone()]).is_clean());
    bare.time = time(60);
    assert_eq!(reasons(&compare(vec![call(Host::GeminiCli, "x", "ls", 10)], vec![bare])), ["before_first_line"]);
}

#[test]
fn qwen_calls_are_found_by_either_id() {
    let mut asked = line(Host::Qwen, "toolu_1795017971858_bwppd6zre", "ls", 10);
    let calls = || vec![call(Host::Qwen, "call_1", "ls", 10)];
    asked.tool = "Bash".to_owned();
    assert!(compare(calls(), vec![asked.clone()]).is_clean(), "by its arguments");
    asked.call_ids.push("call_1".to_owned());
    asked.arguments = None;
    asked.time = time(300);
    assert!(compare(calls(), vec![asked]).is_clean(), "by its id");
}

#[test]
fn refusal_that_ran_is_overruled_even_if_another_hook_passed_it() {
    let mut denied = line(Host::Codex, "call_1", "ls", 10);
    denied.verdict = JournalVerdict::Deny;
    let passed = line(Host::Codex, "call_1", "ls", 10);
    let report = compare(vec![call(Host::Codex, "call_1", "ls", 10)], vec![denied.clone(), passed]);
    assert_eq!((report.overruled.len(), report.agents[0].covered, report.is_clean()), (1, 1, false));
    let mut refused = call(Host::Codex, "call_1", "ls", 10);
    refused.result = TranscriptResult::Refused;
    assert!(compare(vec![refused], vec![denied]).is_clean());
}

#[test]
fn calls_that_prove_nothing_are_counted_apart() {
    let mut refused = call(Host::Codex, "call_1", "ls", 10);
    refused.result = TranscriptResult::Refused;
    let mut open = call(Host::Codex, "call_2", "ls", 99_990);
    (open.result, open.finished) = (TranscriptResult::Unknown, None);
    let early = call(Host::Codex, "call_3", "ls", -10);
    let mut plan = call(Host::Codex, "call_4", "", 10);
    plan.tool = "update_plan".to_owned();
    let report = compare(vec![refused, open, early, plan], vec![line(Host::Codex, "x", "ls", 10)]);
    let counts = &report.agents[0];
    assert_eq!((counts.refused, counts.pending, counts.before_journal, counts.harmless), (1, 1, 1, 1));
    assert!(report.is_clean());
    // An error that does not say whether the call ran is a result.
    let mut failed = call(Host::Codex, "call_2", "ls", 99_990);
    failed.result = TranscriptResult::Unknown;
    assert_eq!(reasons(&compare(vec![failed], vec![line(Host::Codex, "x", "ls", 10)])), ["after_last_line"]);
    let mut stale = call(Host::Codex, "call_2", "ls", 1_000);
    stale.result = TranscriptResult::Unknown;
    assert_eq!(reasons(&compare(vec![stale], vec![line(Host::Codex, "x", "ls", 10)])), ["after_last_line"]);
}

#[test]
fn reasons_follow_from_what_the_journal_has() {
    let mut typed = call(Host::Codex, "call_1", "", 10);
    typed.tool = "write_stdin".to_owned();
    assert_eq!(reasons(&compare(vec![typed], vec![line(Host::Codex, "x", "ls", 10)])), ["no_hook_for_tool"]);
    let other = || vec![line(Host::Qwen, "x", "ls", 10)];
    assert_eq!(reasons(&compare(vec![call(Host::Codex, "c", "ls", 10)], other())), ["agent_unknown"]);
    let mut elsewhere = line(Host::Codex, "x", "ls", 10);
    elsewhere.session = "s9".to_owned();
    assert_eq!(reasons(&compare(vec![call(Host::Codex, "c", "ls", 10)], vec![elsewhere])), ["session_unknown"]);
    let around = vec![line(Host::Codex, "x", "a", 5), line(Host::Codex, "y", "b", 15)];
    assert_eq!(reasons(&compare(vec![call(Host::Codex, "c", "ls", 10)], around)), ["skipped"]);
}

/// An empty journal and an unread file are never a green light.
#[test]
fn empty_journal_and_problems_are_not_clean() {
    let mut refused = call(Host::Codex, "c", "ls", 10);
    refused.result = TranscriptResult::Refused;
    assert!(!compare(vec![refused], Vec::new()).is_clean());
    assert!(compare(Vec::new(), Vec::new()).is_clean(), "no calls, no doubt");
    let problem = TranscriptProblem { agent: Host::Codex, file: "x".into(), line: None, problem: "is gone".to_owned() };
    let items = [TranscriptItem::Problem(problem)];
    assert!(!coverage(items, &mut JournalIndex::new([line(Host::Codex, "x", "a", 5)], None), time(0)).is_clean());
}

/// Times that run backwards in a transcript neither hide a call nor invent one.
#[test]
fn clock_that_went_back_hides_nothing() {
    let calls = vec![call(Host::Copilot, "b", "two", 500), call(Host::Copilot, "a", "one", 100)];
    let lines = vec![line(Host::Copilot, "", "two", 500), line(Host::Copilot, "", "one", 100)];
    assert!(compare(calls.clone(), lines.clone()).is_clean());
    assert_eq!(compare(calls, lines[1..].to_vec()).uncovered.len(), 1);
}
