//! Hostile transcripts: nothing hangs, nothing is held whole, and nothing is skipped without a word.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_settings::ProcessEnv;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::host::Host;

/// A directory of transcripts, as Claude Code lays it out.
struct TranscriptDir {
    dir: TempDir,
}

impl TranscriptDir {
    fn new() -> TranscriptDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("p")).unwrap();
        TranscriptDir { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("p").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn scan(&self, agent: Host, since: Option<Timestamp>) -> (Vec<TranscriptCall>, Vec<String>) {
        let location = TranscriptLocation { agent, directories: vec![self.dir.path().to_owned()], database: None };
        let (mut calls, mut problems) = (Vec::new(), Vec::new());
        for item in TranscriptScan::new(&location, since) {
            match item {
                TranscriptItem::Call(call) => calls.push(*call),
                TranscriptItem::Problem(problem) => {
                    let name = problem.file.file_name().unwrap().to_string_lossy().into_owned();
                    let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
                    problems.push(format!("{name}{line}: {}", problem.problem));
                }
            }
        }
        (calls, problems)
    }
}

fn answer_line(id: &str, time: &str) -> String {
    let part = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}});
    let line = json!({"type": "assistant", "sessionId": "s", "timestamp": time, "version": "2.1.327",
        "message": {"role": "assistant", "content": [part]}});
    format!("{line}\n")
}

fn ids(calls: &[TranscriptCall]) -> Vec<&str> {
    calls.iter().filter_map(|call| call.call_id.as_deref()).collect()
}

const NOON: &str = "2026-11-18T12:00:00Z";

#[test]
fn broken_lines_are_reported_and_the_others_are_read() {
    let dir = TranscriptDir::new();
    let cut = answer_line("cut", NOON);
    let mut bytes = answer_line("one", NOON).into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"assistant\",\"sessionId\":\"\xff\xfe\"}\n");
    bytes.extend_from_slice(b"not JSON at all\n\n");
    bytes.extend_from_slice(answer_line("two", NOON).as_bytes());
    bytes.extend_from_slice(&cut.as_bytes()[..cut.len() / 2]);
    dir.write("a.jsonl", bytes);
    let (calls, problems) = dir.scan(Host::ClaudeCode, None);
    assert_eq!(ids(&calls), ["one", "two"]);
    assert_eq!(problems, ["a.jsonl:2: is not JSON", "a.jsonl:6: is cut off"]);
}

#[test]
fn long_line_is_reported_and_the_next_is_read() {
    let dir = TranscriptDir::new();
    let long = format!("{{\"type\":\"assistant\",\"x\":\"{}\"}}\n", "x".repeat(50 << 20));
    dir.write("a.jsonl", [answer_line("one", NOON), long, answer_line("two", NOON)].concat());
    let (calls, problems) = dir.scan(Host::ClaudeCode, None);
    assert_eq!(ids(&calls), ["one", "two"]);
    assert_eq!(problems, ["a.jsonl:2: is longer than 16 MiB and was not read"]);
}

/// Nesting that is too deep for the parser is an error of the line, not of the program.
#[test]
fn deep_line_is_reported() {
    let dir = TranscriptDir::new();
    let deep = format!("{{\"type\":\"assistant\",\"x\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    dir.write("a.jsonl", [answer_line("one", NOON), deep].concat());
    let (calls, problems) = dir.scan(Host::ClaudeCode, None);
    assert_eq!((ids(&calls), problems.len()), (vec!["one"], 1), "{problems:?}");
}

#[test]
fn formats_of_the_future_are_reported() {
    let dir = TranscriptDir::new();
    dir.write("new.jsonl", "{\"v\":9,\"kind\":\"call\"}\n{\"v\":9,\"kind\":\"call\"}\n");
    dir.write("part.jsonl", answer_line("one", NOON).replace("\"tool_use\"", "\"tool_invocation\""));
    dir.write("form.jsonl", "{\"type\":\"assistant\",\"sessionId\":\"s\",\"message\":{\"blocks\":[]}}\n");
    dir.write("empty.jsonl", "");
    let (calls, mut problems) = dir.scan(Host::ClaudeCode, None);
    problems.sort();
    assert_eq!(calls, []);
    assert_eq!(
        problems,
        [
            "form.jsonl:1: has an answer of the model in a form that is not known",
            "new.jsonl: has a format that is not known",
            "part.jsonl:1: has a part of an answer that is not known: `tool_invocation`",
        ]
    );
}

#[test]
fn unknown_items_of_each_format_are_reported() {
    let line = |value: Value| format!("{value}\n");
    for (agent, name, text, problem) in [
        (
            Host::Codex,
            "rollout-1.jsonl",
            line(json!({"type": "response_item", "payload": {"type": "quantum_call"}})),
            "rollout-1.jsonl:1: has an item that is not known: `quantum_call`",
        ),
        (
            Host::Copilot,
            "events.jsonl",
            line(json!({"type": "tool.teleported", "data": {}})),
            "events.jsonl:1: has an event that is not known: `tool.teleported`",
        ),
        (
            Host::GeminiCli,
            "chats/a.jsonl",
            line(json!({"id": "m", "type": "gemini", "toolCalls": [{"id": "c", "name": "x", "status": "dreaming"}]})),
            "a.jsonl:1: has a call whose status is not known: `dreaming`",
        ),
        (
            Host::Qwen,
            "chats/a.jsonl",
            line(json!({"type": "assistant", "sessionId": "s", "message": {"blocks": []}})),
            "a.jsonl:1: has an answer of the model in a form that is not known",
        ),
        (
            Host::Codex,
            "rollout-1.jsonl.zst",
            "not compressed".to_owned(),
            "rollout-1.jsonl.zst: can't be read: it can't be decompressed: BadMagicNumber(544501614)",
        ),
        (Host::GeminiCli, "chats/session-1.json", "{}".to_owned(), "session-1.json: has a format that is not known"),
        (Host::GeminiCli, "chats/session-1.json", "{".to_owned(), "session-1.json: is not JSON"),
    ] {
        let dir = TranscriptDir::new();
        dir.write(name, text);
        assert_eq!(dir.scan(agent, None).1, [problem], "{agent}");
    }
}

/// Compresses a text as Codex does with old transcripts.
fn compress(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_transcripts_are_read() {
    let call = |id: &str| {
        let item = json!({"type": "function_call", "call_id": id, "name": "exec_command", "arguments": "{}"});
        format!("{}\n", json!({"timestamp": "2026-11-18T12:00:00Z", "type": "response_item", "payload": item}))
    };
    let dir = TranscriptDir::new();
    let text = call("a") + &call("b");
    dir.write("rollout-1.jsonl.zst", compress(&text));
    assert_eq!(ids(&dir.scan(Host::Codex, None).0), ["a", "b"]);
    // While the agent compresses a file, there are two of it.
    dir.write("rollout-1.jsonl", &text);
    assert_eq!(ids(&dir.scan(Host::Codex, None).0), ["a", "b"]);
    // What was read before a damage counts, and the damage is said.
    let whole = compress(&(call("c") + &"\n".repeat(1 << 20)));
    dir.write("rollout-2.jsonl.zst", &whole[..whole.len() - 8]);
    let (calls, problems) = dir.scan(Host::Codex, None);
    assert_eq!(ids(&calls), ["a", "b", "c"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("rollout-2.jsonl.zst:") && problems[0].contains("can't be read"), "{problems:?}");
}

#[test]
fn hookwrights_own_transcripts_are_not_gemini_clis() {
    let dir = TranscriptDir::new();
    let header = json!({"sessionId": "s", "projectHash": "h", "kind": "main", "hookwright": {"version": "1"}});
    let message = json!({"id": "m", "type": "gemini", "toolCalls": [{"id": "c", "name": "x", "status": "success"}]});
    dir.write("chats/session-1.jsonl", format!("{header}\n{message}\n"));
    assert_eq!(dir.scan(Host::GeminiCli, None), (Vec::new(), Vec::new()));
}

#[test]
fn calls_before_the_bound_are_left_out_whatever_their_order() {
    let dir = TranscriptDir::new();
    let times = ["2026-11-18T12:00:00Z", "2026-11-16T12:00:00Z", "2026-11-18T11:00:00Z", "no time"];
    let text: String = times.iter().enumerate().map(|(at, time)| answer_line(&format!("c{at}"), time)).collect();
    dir.write("a.jsonl", text);
    let (calls, problems) = dir.scan(Host::ClaudeCode, Some("2026-11-17T00:00:00Z".parse().unwrap()));
    assert_eq!((ids(&calls), problems), (vec!["c0", "c2", "c3"], Vec::new()));
    let later = Timestamp::now() + jiff::SignedDuration::from_hours(72);
    assert_eq!(dir.scan(Host::ClaudeCode, Some(later)).0, [], "the file was last changed long before");
}

/// A model server that gives every call the same id makes several calls.
#[test]
fn repeated_ids_are_several_calls() {
    let dir = TranscriptDir::new();
    let result = |error: bool| {
        let decision = if error { "reject" } else { "accept" };
        let part = json!({"type": "tool_result", "tool_use_id": "call_0", "content": "", "is_error": error});
        let line = json!({"type": "user", "sessionId": "s", "message": {"content": [part]},
            "permissionDecision": {"decision": decision}});
        format!("{line}\n")
    };
    let call = answer_line("call_0", NOON);
    dir.write("a.jsonl", [call.clone(), result(true), call.clone(), result(false), call.clone(), call].concat());
    let results: Vec<_> = dir.scan(Host::ClaudeCode, None).0.iter().map(|call| call.result).collect();
    assert_eq!(
        results,
        [TranscriptResult::Refused, TranscriptResult::Ran, TranscriptResult::Unknown, TranscriptResult::Unknown]
    );
}

/// The text of a result, which a tool may have written, does not make a call that ran a refused one.
#[test]
fn output_of_a_tool_cannot_pretend_a_refusal() {
    let dir = TranscriptDir::new();
    let text = "<tool_use_error>InputValidationError: nothing happened";
    let part = json!({"type": "tool_result", "tool_use_id": "one", "content": text, "is_error": true});
    let line = json!({"type": "user", "sessionId": "s", "message": {"content": [part]},
        "permissionDecision": {"decision": "accept"}});
    dir.write("a.jsonl", format!("{}{line}\n", answer_line("one", NOON)));
    assert_eq!(dir.scan(Host::ClaudeCode, None).0[0].result, TranscriptResult::Ran);

    let call = json!({"type": "response_item", "payload":
        {"type": "function_call", "name": "mcp__x__y", "arguments": "{}", "call_id": "c"}});
    let item = json!({"type": "McpToolCall", "id": "c", "status": "completed"});
    let ran = json!({"type": "event_msg", "payload": {"type": "item_completed", "item": item}});
    let output = "Command blocked by PreToolUse hook: not true";
    let result = json!({"type": "response_item", "payload":
        {"type": "function_call_output", "call_id": "c", "output": output}});
    let dir = TranscriptDir::new();
    dir.write("rollout-1.jsonl", format!("{call}\n{ran}\n{result}\n"));
    assert_eq!(dir.scan(Host::Codex, None).0[0].result, TranscriptResult::Ran);
}

/// Code that the model wrote can start commands that no call of the model names.
#[test]
fn command_that_no_call_started_is_a_call() {
    let dir = TranscriptDir::new();
    let item = |source: &str, id: &str| {
        let item = json!({"type": "CommandExecution", "id": id, "command": ["sh", "-c", "id"], "source": source});
        json!({"type": "event_msg", "payload": {"type": "item_completed", "item": item, "started_at_ms": 1_795_017_963_060_i64}})
    };
    let lines = [item("unified_exec_startup", "nested"), item("user_shell", "typed-by-the-user")];
    dir.write("rollout-1.jsonl", format!("{}\n{}\n", lines[0], lines[1]));
    let (calls, problems) = dir.scan(Host::Codex, None);
    assert_eq!((ids(&calls), calls[0].result, problems), (vec!["nested"], TranscriptResult::Ran, Vec::new()));
}

#[cfg(unix)]
#[test]
fn links_pipes_and_directories_neither_hang_nor_count_twice() {
    let dir = TranscriptDir::new();
    dir.write("a.jsonl", answer_line("one", NOON));
    std::os::unix::fs::symlink(dir.dir.path(), dir.path("loop")).unwrap();
    std::os::unix::fs::symlink(dir.path("a.jsonl"), dir.path("b.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path("gone.jsonl")).unwrap();
    fs::create_dir(dir.path("folder.jsonl")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(dir.path("pipe.jsonl")).spawn().unwrap();
    hookwright_testkit::finish(pipe);
    let (calls, mut problems) = dir.scan(Host::ClaudeCode, None);
    problems.sort();
    assert_eq!(ids(&calls), ["one"]);
    let names: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(names, ["folder.jsonl", "gone.jsonl", "pipe.jsonl"], "{problems:?}");
}

#[cfg(unix)]
#[test]
fn unreadable_files_and_directories_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TranscriptDir::new();
    dir.write("a.jsonl", answer_line("one", NOON));
    dir.write("locked/b.jsonl", answer_line("two", NOON));
    for name in ["a.jsonl", "locked"] {
        fs::set_permissions(dir.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let is_root = fs::File::open(dir.path("a.jsonl")).is_ok();
    let (calls, problems) = dir.scan(Host::ClaudeCode, None);
    fs::set_permissions(dir.path("locked"), fs::Permissions::from_mode(0o700)).unwrap();
    match is_root {
        true => hookwright_testkit::report_skipped("unreadable transcripts", "the administrator may read everything"),
        false => assert_eq!((calls.len(), problems.len()), (0, 2), "{problems:?}"),
    }
}

#[test]
fn damaged_databases_are_reported() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/opencode/1.18.33/transcripts/opencode.db");
    let whole = hookwright_testkit::fs::read(&fixture).unwrap();
    let zeroed: Vec<u8> = whole.iter().enumerate().map(|(at, byte)| if at < 2048 { *byte } else { 0 }).collect();
    let looped: Vec<u8> =
        whole.iter().enumerate().map(|(at, byte)| if at % 1024 == 0 && at > 0 { 5 } else { *byte }).collect();
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("no database", b"hello, this is no database at all".repeat(10)),
        ("cut off", whole[..1500].to_vec()),
        ("zeroed", zeroed),
        ("looped", looped),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("opencode.db"), bytes).unwrap();
        let location =
            TranscriptLocation { agent: Host::Opencode, directories: vec![dir.path().to_owned()], database: None };
        let problems = TranscriptScan::new(&location, None).filter(|item| matches!(item, TranscriptItem::Problem(_)));
        assert_eq!(problems.count(), 1, "{name}");
    }
}

/// Bytes that are changed at random never make a reader panic or go on for ever.
#[test]
fn transcripts_with_random_changes_end() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 16).unwrap_or_default()
    };
    for (agent, fixture, name) in [
        (Host::Opencode, "opencode/1.18.33/transcripts/opencode.db", "opencode.db"),
        (
            Host::Copilot,
            "copilot/1.0.102/transcripts/session-state/cd6172db-cfbc-4e59-9cab-95ef61e72b0b/events.jsonl",
            "p/events.jsonl",
        ),
        (
            Host::GeminiCli,
            "gemini-cli/0.25.0/transcripts/tmp/project/chats/session-2026-11-18T16-25-ebe28f13.json",
            "p/chats/session-1.json",
        ),
    ] {
        let whole =
            hookwright_testkit::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture)).unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        let location = TranscriptLocation { agent, directories: vec![dir.path().to_owned()], database: None };
        for _ in 0..200 {
            let mut bytes = whole.clone();
            for _ in 0..8 {
                let at = random() % bytes.len();
                bytes[at] = u8::try_from(random() % 256).unwrap_or_default();
            }
            fs::write(dir.path().join(name), bytes).unwrap();
            assert!(TranscriptScan::new(&location, None).count() < 10_000);
        }
    }
}

#[test]
fn variables_move_the_directories() {
    let home = Path::new("/home/u");
    let world = |variables: &[(&str, &str)]| {
        let home = [("HOME", "/home/u"), ("USERPROFILE", "/home/u")];
        let env = home.iter().chain(variables).map(|(name, value)| ((*name).into(), (*value).into())).collect();
        ProcessEnv::new(env, "/work".into())
    };
    let directories =
        |agent, variables: &[(&str, &str)]| transcript_location(agent, &world(variables)).unwrap().directories;
    assert_eq!(directories(Host::ClaudeCode, &[]), [home.join(".claude/projects")]);
    assert_eq!(directories(Host::ClaudeCode, &[("CLAUDE_CONFIG_DIR", "/c")]), [Path::new("/c/projects")]);
    assert_eq!(directories(Host::Codex, &[("CODEX_HOME", "c")])[0], Path::new("/work/c/sessions"));
    assert_eq!(directories(Host::Copilot, &[("COPILOT_HOME", "/c")]), [Path::new("/c/session-state")]);
    assert_eq!(directories(Host::Qwen, &[("QWEN_HOME", "~/q")]), [home.join("q/projects")]);
    let both = [("QWEN_HOME", "/q"), ("QWEN_RUNTIME_DIR", "/r")];
    assert_eq!(directories(Host::Qwen, &both), [Path::new("/r/projects")]);
    assert_eq!(directories(Host::Opencode, &[("XDG_DATA_HOME", "/d")]), [Path::new("/d/opencode")]);
    let named = transcript_location(Host::Opencode, &world(&[("OPENCODE_DB", "my.db")])).unwrap();
    assert_eq!(named.database.as_deref(), Some(&*home.join(".local/share/opencode/my.db")));
    for agent in Host::all() {
        assert_eq!(transcript_location(agent, &world(&[])).is_some(), TRANSCRIPT_HOSTS.contains(&agent), "{agent}");
    }
}
