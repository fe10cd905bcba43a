//! Endless answers, endless prompts and large amounts of everything: each has a limit, which is reported, and memory
//! stays small.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use hookwright_testkit::deadline::*;
use hookwright_testkit::finish_measured;
use hookwright_testkit::replay::{call, chunk};

use super::*;

/// The program's maximum memory in MiB, unoptimised and in all tests below.
const MAX_MEMORY_MIB: u64 = 200;

fn measured(sandbox: &Sandbox, prompt: &str, replay: &ReplayBuilder) -> ProgramRun {
    let file = sandbox.replay(replay);
    let args = ["-p", prompt, "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let (run, peak) = finish_measured(sandbox.command(&args).spawn().unwrap());
    match peak {
        Some(peak) => assert!(peak < MAX_MEMORY_MIB, "{peak} MiB"),
        None => hookwright_testkit::report_skipped("the most memory", "this system does not tell"),
    }
    run
}

/// A project with hooks and without telemetry, which would take most of the time.
fn unrecorded(hooks: &[(&str, &str, &str)]) -> Sandbox {
    project(hooks).env("GEMINI_TELEMETRY_ENABLED", "false")
}

/// The first chunk of each answer: a call that must not run if the rest exceeds the limit.
fn write_first() -> Value {
    chunk(&[call("write_file", json!({"file_path": "a.txt", "content": "A"}))], false)
}

#[test]
fn an_answer_beyond_all_measure_is_given_up_and_nothing_of_it_runs() {
    let words = "x".repeat(64 << 10);
    let many = |part: &Value, count: usize| {
        let pieces = std::iter::repeat_with(|| chunk(std::slice::from_ref(part), false)).take(count);
        std::iter::once(write_first()).chain(pieces).chain([chunk(&[], true)]).collect::<Vec<_>>()
    };
    let small = call("glob", json!({"pattern": "x"}));
    for chunks in [
        many(&json!({"text": words, "thought": true}), 300),
        many(&call("glob", json!({"pattern": words})), 300),
        many(&call("glob", json!({"pattern": "x".repeat(3000)})), 6_000),
        many(&call("glob", json!({"pattern": "x".repeat(17 << 20)})), 1),
        many(&call("glob", json!({"pattern": vec![0; 150_000]})), 1),
        vec![write_first(), chunk(&vec![small; 40_000], true)],
    ] {
        let sandbox = crate::sandbox();
        let run = measured(&sandbox, "hi", &ReplayBuilder::new().stream(chunks).says("done")).expect_exit_code(1);
        assert_contains(&run.stderr, "error: the answer is larger than 16 MiB and was dropped");
        assert_contains(&run.stderr, "hint: ");
        assert!(!sandbox.has_file("a.txt"), "{run:#?}");
        assert!(transcript(&sandbox).len() < 10_000);
    }
}

/// A hook's answers have the same limit as a model's.
#[test]
fn hooks_do_not_blow_up_an_answer_beyond_the_bound() {
    let piece = r#"cat > /dev/null; printf '{"hookSpecificOutput":{"llm_response":{"candidates":[{"content":{"role":"model","parts":["'
        head -c 900000 /dev/zero | tr '\0' x; printf '"]}}]}}}'"#;
    let sandbox = unrecorded(&[("AfterModel", "*", piece)]);
    sandbox.user_settings(&json!({"model": {"disableLoopDetection": true}}));
    let pieces = vec!["a"; 40];
    let run = measured(&sandbox, "hi", &ReplayBuilder::new().says_in_chunks(&pieces)).expect_exit_code(1);
    assert_contains(&run.stderr, "the answer is larger than 16 MiB");
}

/// A replay file that would exhaust memory is refused first.
#[test]
fn a_replay_file_of_too_many_values_is_refused() {
    let sandbox = project(&[]);
    let file = sandbox.sibling_path("many.jsonl");
    let pieces = "{},".repeat(1_100_000);
    std::fs::write(&file, format!(r#"{{"method":"generateContentStream","response":[{pieces}{{}}]}}"#)).unwrap();
    let child = sandbox.command(&["-p", "hi", "--fake-responses", file.to_str().unwrap()]).spawn().unwrap();
    let (run, peak) = finish_measured(child);
    assert_contains(&run.expect_exit_code(1).stderr, "many.jsonl:1: an answer of more than 1000000 values");
    assert!(peak.is_none_or(|peak| peak < MAX_MEMORY_MIB), "{peak:?}");
}

/// A server that repeats a piece for ever, after a beginning.
fn endless(beginning: &'static str, piece: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut connection in listener.connections() {
            let piece = piece.clone();
            std::thread::spawn(move || serve(&mut connection, beginning, &piece));
        }
    });
    base
}

fn serve(connection: &mut TcpStream, beginning: &str, piece: &str) {
    let _ = connection.read(&mut [0; 65536]);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let _ = connection.write_all(format!("{head}{beginning}").as_bytes());
    let pieces = piece.repeat((64 << 10) / piece.len() + 1);
    // Until the program closes the connection.
    while connection.write_all(pieces.as_bytes()).is_ok() {}
}

fn event(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
}

#[test]
fn a_server_without_end_is_left() {
    let function = |index: usize, arguments: &str| json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "function": {"name": "glob", "arguments": arguments}}]});
    let long = "x".repeat(4000);
    // Chunks of mostly framing take long to read; `crates/model/tests/suite/faults.rs` tests them with a lower limit.
    let cases = [
        ("", event(&json!({"reasoning_content": long}))),
        ("", event(&json!({"reasoning_content": ".".repeat(100)}))),
        ("", event(&function(0, &long))),
        ("", ": nothing\n".to_owned()),
        ("data: ", "x".to_owned()),
        ("data: {\"choices\":[", "{},".to_owned()),
        ("[", "{},".to_owned()),
        ("{\"a\":\"", "x".to_owned()),
    ];
    for (beginning, piece) in cases {
        let shown: String = piece.chars().take(80).collect();
        let sandbox = crate::sandbox().env("OPENAI_BASE_URL", &endless(beginning, piece)).env("OPENAI_MODEL", "m");
        sandbox.settings(&json!({"general": {"maxAttempts": 1}}));
        let (run, peak) = finish_measured(sandbox.command(&["-p", "hi"]).spawn().unwrap());
        assert_eq!(run.code, Some(1), "{shown}: {}", run.stderr);
        assert!(run.stderr.contains("more than ") || run.stderr.contains("larger than "), "{shown}: {}", run.stderr);
        assert!(peak.is_none_or(|peak| peak < MAX_MEMORY_MIB), "{shown}: {peak:?} MiB");
    }
}

/// Calls that all differ.
fn looks(count: usize) -> ReplayBuilder {
    let look = |at: usize| json!({"dir_path": ".", "ignore": [at.to_string()]});
    (0..count).fold(ReplayBuilder::new(), |replay, at| replay.calls("list_directory", look(at)))
}

#[test]
fn one_prompt_makes_so_many_requests_and_no_more() {
    let run = run(&crate::sandbox(), &looks(501).says("done"), &[]).expect_exit_code(53);
    assert_contains(&run.stderr, "error: this prompt has reached its limit of 500 model requests");
    assert_contains(&run.stderr, "model.maxPromptTurns");
    assert_eq!(run.stderr.matches("list_directory .\n").count(), 500, "{}", run.stderr);
}

#[test]
fn the_users_own_bound_on_requests_counts_and_a_project_tightens_it() {
    for (user, project, limit) in [(json!(3), json!({}), 3), (json!(600), json!({"maxPromptTurns": 2}), 2)] {
        let sandbox = project_with(&[], json!({"model": project}));
        sandbox.user_settings(&json!({"model": {"maxPromptTurns": user}}));
        let run = super::run(&sandbox, &looks(5).says("done"), &["-o", "json"]).expect_exit_code(53);
        assert_contains(
            &run.json()["error"]["message"].to_string(),
            &format!("this prompt has reached its limit of {limit} model requests"),
        );
    }
    let sandbox = crate::sandbox();
    sandbox.user_settings(&json!({"model": {"maxPromptTurns": -1}}));
    super::run(&sandbox, &looks(501).says("done"), &[]).expect_exit_code(0);
}

#[test]
fn an_interactive_session_goes_on_after_a_prompt_that_was_too_long() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&json!({"model": {"maxPromptTurns": 2}}));
    let file = sandbox.replay(&looks(2).says("the second answer"));
    let mut terminal = crate::suite::tui::TestTerminal::start(&sandbox, &["--fake-responses", &file]);
    terminal.wait_until_ready().keys("go\r");
    terminal.wait_for_new_text("this prompt has reached its limit of 2 model requests");
    terminal.wait_until_ready().keys("go on\r");
    terminal.wait_for_new_text("the second answer");
}

/// Retries that hooks demand count as requests of the same prompt.
#[test]
fn retries_count_among_a_prompts_requests() {
    let again = r#"cat > /dev/null; echo '{"decision": "deny", "reason": "again"}'"#;
    let sandbox = project_with(&[("AfterAgent", "*", again)], json!({"hooksConfig": {"maxAgentRetries": 50}}));
    sandbox.user_settings(&json!({"model": {"maxPromptTurns": 4}}));
    let answers = (0..9).fold(ReplayBuilder::new(), |replay, at| replay.says(&format!("answer {at}")));
    assert_contains(
        &run(&sandbox, &answers, &[]).expect_exit_code(53).stderr,
        "this prompt has reached its limit of 4 model requests",
    );
}

#[test]
fn ten_thousand_calls_in_one_answer_fit_into_memory() {
    let run = measured(&crate::sandbox(), "hi", &ReplayBuilder::new().parts(&looks_at_once(10_000)).says("done"))
        .expect_exit_code(0);
    assert_eq!(run.stdout.trim(), "done");
}

/// Beyond the limit, the model is told that there was a result.
#[test]
fn results_of_one_answer_are_bounded_together() {
    let sandbox = project(&[]);
    sandbox.write("a.txt", "a line of some length, which is read over and over again\n".repeat(400));
    let read = |at: usize| call("read_file", json!({"file_path": "a.txt", "start_line": 1, "end_line": 400 + at}));
    let calls: Vec<Value> = (0..800).map(read).collect();
    measured(&sandbox, "hi", &ReplayBuilder::new().parts(&calls).says("done")).expect_exit_code(0);
    let sent = requests(&sandbox)[1].to_string();
    assert_contains(&sent, "its result is left out");
    assert!(sent.len() < 20 << 20, "{}", sent.len());
}

#[test]
fn ten_thousand_files_of_a_directory_fit_into_memory() {
    let sandbox = crate::sandbox();
    for at in 0..10_000 {
        sandbox.write(&format!("d/f{at}.txt"), format!("line {at}\n").repeat(60));
    }
    measured(&sandbox, "look at @d", &ReplayBuilder::new().says("done")).expect_exit_code(0);
}

/// A tenth of a gigabyte, to save time; docs/reliability.md has the figures for a whole one.
#[test]
fn a_long_log_fits_into_memory() {
    let flood = "yes a line of a log | head -c 100000000";
    for command in [flood.to_owned(), format!("{flood} >&2"), "head -c 100000000 /dev/zero | tr '\\0' x".to_owned()] {
        let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done");
        measured(&crate::sandbox(), "hi", &replay).expect_exit_code(0);
    }
    for script in [flood.to_owned(), format!("{flood} >&2; exit 1"), format!("{flood} >&2; exit 2")] {
        for event in ["BeforeAgent", "AfterModel"] {
            let sandbox = unrecorded(&[(event, "*", &script)]);
            measured(&sandbox, "hi", &ReplayBuilder::new().says("done")).expect_exit_code(0);
        }
    }
}

#[test]
fn messages_of_hooks_without_number_fit_into_memory() {
    let sandbox = unrecorded(&[("BeforeTool", "*", "yes message | head -c 50000")]);
    measured(&sandbox, "hi", &ReplayBuilder::new().parts(&looks_at_once(300)).says("done")).expect_exit_code(0);
}

fn looks_at_once(count: usize) -> Vec<Value> {
    (0..count).map(|at| call("list_directory", json!({"dir_path": ".", "ignore": [at.to_string()]}))).collect()
}
