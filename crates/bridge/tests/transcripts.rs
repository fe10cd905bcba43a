//! Reads transcripts that real agents wrote, and compares them with what their hooks were sent in the same runs.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hookwright_bridge::coverage::{CoverageReport, JournalCall, JournalIndex, JournalVerdict, coverage};
use hookwright_bridge::transcripts::{
    ArgumentsDigest, TranscriptCall, TranscriptItem, TranscriptLocation, TranscriptProblem, TranscriptResult,
    TranscriptScan,
};
use hookwright_bridge::{Host, payload};
use hookwright_hooks::EventKind;
use hookwright_testkit::fs;
use jiff::Timestamp;

fn fixture_dir(host: Host, version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(host.name()).join(version).join("transcripts")
}

fn location(host: Host, version: &str) -> TranscriptLocation {
    TranscriptLocation { agent: host, directories: vec![fixture_dir(host, version)], database: None }
}

fn read_transcripts(host: Host, version: &str) -> (Vec<TranscriptCall>, Vec<TranscriptProblem>) {
    let mut calls = Vec::new();
    let mut problems = Vec::new();
    // Gemini CLI's and Qwen Code's files are known by the directories above them.
    let mut location = location(host, version);
    let below = match host {
        Host::GeminiCli => "tmp",
        Host::Copilot => "session-state",
        Host::Codex => "sessions",
        Host::Opencode => "",
        _ => "projects",
    };
    location.directories[0].push(below);
    for item in TranscriptScan::new(&location, None) {
        match item {
            TranscriptItem::Call(call) => calls.push(*call),
            TranscriptItem::Problem(problem) => problems.push(problem),
        }
    }
    (calls, problems)
}

/// Returns the calls as lines: result, tool and arguments, sorted by time.
fn call_lines(host: Host, version: &str) -> Vec<String> {
    let (mut calls, problems) = read_transcripts(host, version);
    assert_eq!(problems, []);
    calls.sort_by_key(|call| call.time);
    let line = |call: &TranscriptCall| format!("{} {}: {}", call.result.as_str(), call.tool, call.summary);
    calls.iter().map(line).collect()
}

#[test]
fn claude_code_calls_with_sub_agents_refusals_and_forks() {
    let lines = call_lines(Host::ClaudeCode, "2.1.327");
    for expected in [
        "ran Bash: echo one > RAN1",
        "refused Bash: echo DENYME > RAN2",
        "ran Write: /project/note.txt",
        "ran Bash: exit 3",
        "ran Read: /project/missing.txt",
        "ran Bash: echo sub > RANSUB",
        "refused Bash: echo DENYME > RANSUB2",
        "refused Bash: rm -rf /project/x; echo y > RAN9",
        "refused Bash: {\"wrong\":1}",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let (calls, _) = read_transcripts(Host::ClaudeCode, "2.1.327");
    let sub = calls.iter().find(|call| call.summary == "echo sub > RANSUB").unwrap();
    assert_eq!(sub.session, "cf6efef1-f272-40e3-aa58-aa0bd5424062", "hooks are told the main session");
    assert_eq!(sub.version.as_deref(), Some("2.1.327"));
    let forked = calls.iter().find(|call| call.session.starts_with("25f50272")).unwrap();
    assert_eq!(forked.other_session.as_deref(), Some("b8cb7ec8-68c8-4a6d-aab2-5eca1dbcc485"));
}

#[test]
fn codex_calls_with_patches_and_write_stdin() {
    let lines = call_lines(Host::Codex, "0.169.0");
    for expected in [
        "ran exec_command: echo one > RAN1",
        "refused exec_command: echo DENYME > RAN2",
        "ran exec_command: exit 3",
        "ran exec_command: cat > RANX",
        "ran write_stdin: typed ",
        "refused exec_command: {\"wrong\":1}",
        "ran view_image: /project/a.png",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let patches: Vec<_> = lines.iter().filter(|line| line.contains("apply_patch: *** Begin Patch")).collect();
    assert_eq!(patches.iter().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(), ["refused", "ran"]);
}

#[test]
fn gemini_cli_calls_with_sub_agents_in_both_formats() {
    let lines = call_lines(Host::GeminiCli, "0.61.0");
    for expected in [
        "ran run_shell_command: echo one > RAN1",
        "refused run_shell_command: echo DENYME > RAN2",
        "ran write_file: /project/note.txt",
        "ran run_shell_command: echo sub > RANSUB",
        "refused run_shell_command: echo DENYME > RANSUB2",
    ] {
        let count = lines.iter().filter(|line| *line == expected).count();
        // Two runs have the first call; a message that is written again is no second call.
        assert_eq!(count, if expected.contains("one") { 2 } else { 1 }, "{expected}\n{lines:#?}");
    }
    let (calls, _) = read_transcripts(Host::GeminiCli, "0.61.0");
    let sub = calls.iter().find(|call| call.summary == "echo sub > RANSUB").unwrap();
    assert_eq!(sub.session, "fee9af2d-ebb6-43d2-8dde-da062c460849", "hooks are told the main session");
    let old = call_lines(Host::GeminiCli, "0.25.0");
    assert_eq!(old[0], "ran run_shell_command: echo one > RAN1");
    assert_eq!(old.len(), 7, "{old:#?}");
}

#[test]
fn copilot_and_qwen_calls_with_sub_agents() {
    let lines = call_lines(Host::Copilot, "1.0.102");
    for expected in ["ran bash: echo one > RAN1", "refused bash: echo DENYME > RAN2", "ran bash: echo sub > RANSUB"] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let (calls, _) = read_transcripts(Host::Copilot, "1.0.102");
    let sub = calls.iter().find(|call| call.summary == "echo sub > RANSUB").unwrap();
    assert_eq!(sub.session, "26cb5374-a974-4fb6-bb60-e52a6d97a092", "hooks are told the sub-agent");
    assert_eq!(sub.other_session.as_deref(), Some("cd6172db-cfbc-4e59-9cab-95ef61e72b0b"));

    let lines = call_lines(Host::Qwen, "0.24.4");
    for expected in [
        "ran run_shell_command: echo one > RAN1",
        "refused run_shell_command: echo DENYME > RAN2",
        "ran run_shell_command: exit 3",
        "ran run_shell_command: echo sub > RANSUB",
        // A sub-agent's transcript does not say whether a call with an error ran.
        "unknown run_shell_command: echo DENYME > RANSUB2",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
}

#[test]
fn opencode_database_with_its_log_and_a_long_row() {
    let lines = call_lines(Host::Opencode, "1.18.33");
    for expected in [
        "ran bash: echo one > RAN1",
        "unknown bash: echo DENYME > RAN2",
        "ran write: /project/note.txt",
        "ran bash: echo sub > RANSUB",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
    let (calls, _) = read_transcripts(Host::Opencode, "1.18.33");
    let long = calls.iter().find(|call| call.call_id.as_deref() == Some("call_long")).unwrap();
    assert!(long.summary.starts_with("echo long long ") && long.summary.ends_with('…'), "{}", long.summary);
    assert!(calls.iter().all(|call| call.version.as_deref() == Some("1.18.33")));
    let after = calls.iter().filter_map(|call| call.time).max().unwrap();
    let location = location(Host::Opencode, "1.18.33");
    let late = TranscriptScan::new(&location, Some(after)).filter(|item| matches!(item, TranscriptItem::Call(_)));
    assert!((1..calls.len()).contains(&late.count()), "`since` leaves older rows out");
}

#[test]
fn opencode_parts_in_files_of_older_versions() {
    let lines = call_lines(Host::Opencode, "1.1.65");
    assert_eq!(lines.len(), 7, "{lines:#?}");
    assert!(lines.iter().any(|line| line == "ran bash: echo one > RAN1"), "{lines:#?}");
}

/// Returns what hooks were sent in the recorded runs, as the journal would have it: our guard denied calls with DENYME.
fn journal_of_recorded_hooks(host: Host, version: &str, calls: &[TranscriptCall]) -> Vec<JournalCall> {
    let times: HashMap<_, _> =
        calls.iter().map(|call| ((call.session.clone(), call.call_id.clone()), call.time)).collect();
    let text = fs::read_to_string(fixture_dir(host, version).join("hooks.jsonl")).unwrap();
    let read = |line: &str| {
        let sent: serde_json::Value = serde_json::from_str(line).unwrap();
        let (event, ids) = match host {
            // The plugin builds the payload of opencode's calls.
            Host::Opencode => {
                let id = sent["callID"].as_str().unwrap().to_owned();
                (None, vec![id])
            }
            _ => {
                let event = host.dialect().parse_event(host, payload::read(line.as_bytes()).unwrap(), None).unwrap();
                assert_eq!(event.kind(), Some(EventKind::BeforeTool));
                let ids =
                    event.correlation_ids.iter().filter(|(key, _)| matches!(*key, "tool_use_id" | "tool_call_id"));
                let ids = ids.map(|(_, id)| id.clone()).collect();
                (Some(event), ids)
            }
        };
        let session =
            event.as_ref().map_or_else(|| sent["sessionID"].as_str().unwrap().to_owned(), |one| one.session.id.clone());
        let of_call = ids.iter().find_map(|id: &String| *times.get(&(session.clone(), Some(id.clone())))?);
        let time: Option<Timestamp> = sent["timestamp"].as_str().and_then(|time| time.parse().ok());
        let arguments = if host == Host::Opencode { &sent["args"] } else { &sent["tool_input"] };
        JournalCall {
            agent: host,
            session,
            call_ids: ids,
            tool: event
                .and_then(|one| one.tool)
                .map_or_else(|| sent["tool"].as_str().unwrap_or_default().to_owned(), |tool| tool.name),
            arguments: Some(ArgumentsDigest::new(arguments)),
            time: time.or(of_call).unwrap(),
            verdict: if line.contains("DENYME") { JournalVerdict::Deny } else { JournalVerdict::Pass },
        }
    };
    text.lines().map(read).collect()
}

fn compare_recorded(host: Host, version: &str) -> CoverageReport {
    let (calls, _) = read_transcripts(host, version);
    let journal = journal_of_recorded_hooks(host, version, &calls);
    let first = calls.iter().filter_map(|call| call.time).min();
    let items = calls.into_iter().map(|call| TranscriptItem::Call(Box::new(call)));
    coverage(items, &mut JournalIndex::new(journal, first), "2026-11-20T00:00:00Z".parse().unwrap())
}

/// Every call that a hook was sent is found in the journal, and no other.
#[test]
fn recorded_hooks_cover_exactly_the_calls_that_they_were_sent() {
    for (host, version, not_asked) in [
        (Host::ClaudeCode, "2.1.327", &["session_unknown echo one > RAN1"][..]),
        (Host::Codex, "0.169.0", &["no_hook_for_tool typed "]),
        (Host::GeminiCli, "0.61.0", &["session_unknown echo one > RAN1"]),
        (Host::Copilot, "1.0.102", &[]),
        (Host::Qwen, "0.24.4", &[]),
        (Host::Opencode, "1.18.33", &["skipped echo long"]),
    ] {
        let report = compare_recorded(host, version);
        let line = |finding: &hookwright_bridge::coverage::CallFinding| {
            let summary: String = finding.call.summary.chars().take(15).collect();
            format!("{} {summary}", finding.reason.as_str())
        };
        let found: Vec<String> = report.uncovered.iter().map(line).collect();
        assert_eq!(found.len(), not_asked.len(), "{host}: {found:?}");
        assert!(found.iter().zip(not_asked).all(|(found, expected)| found.starts_with(expected)), "{host}: {found:?}");
        assert_eq!(report.overruled, [], "{host}");
        let counts = &report.agents[0];
        assert_eq!(counts.seen, counts.covered + counts.uncovered + counts.refused, "{host} {counts:?}");
        assert!(counts.covered >= 7, "{host} {counts:?}");
    }
}

/// The same runs, if the agents had run what the guard denied: every such call is found.
#[test]
fn denied_calls_that_ran_are_found() {
    for (host, version) in [
        (Host::ClaudeCode, "2.1.327"),
        (Host::Codex, "0.169.0"),
        (Host::GeminiCli, "0.61.0"),
        (Host::Copilot, "1.0.102"),
        (Host::Qwen, "0.24.4"),
        (Host::Opencode, "1.18.33"),
    ] {
        let (mut calls, _) = read_transcripts(host, version);
        let journal = journal_of_recorded_hooks(host, version, &calls);
        let denied = calls.iter_mut().filter(|call| call.summary.contains("DENYME"));
        let denied = denied.map(|call| call.result = TranscriptResult::Ran).count();
        let items = calls.into_iter().map(|call| TranscriptItem::Call(Box::new(call)));
        let report = coverage(items, &mut JournalIndex::new(journal, None), "2026-11-20T00:00:00Z".parse().unwrap());
        assert_eq!(report.overruled.len(), denied, "{host}");
        assert!(denied >= 1 && !report.is_clean(), "{host}");
    }
}
