//! Output that is not read changes nothing: no panic, no hang, the same exit code.

use std::process::Stdio;

use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox, finish};
use serde_json::json;

use crate::sandbox;

/// A project with a guard that denies, and command lines with their exit codes.
fn command_lines() -> (Sandbox, Vec<(Vec<String>, i32)>) {
    let sandbox = sandbox();
    let hook = json!({"type": "command", "name": "guard", "command": "echo never >&2; exit 2"});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let file = sandbox.replay(&ReplayBuilder::new().calls("glob", json!({"pattern": "*"})).says("done"));
    let empty = sandbox.sibling_path("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    let lines = [
        ("hooks fire BeforeTool --tool glob".to_owned(), 2),
        ("hooks fire BeforeTool --tool glob --json".to_owned(), 2),
        ("policy explain ls".to_owned(), 3),
        ("hooks list".to_owned(), 0),
        ("hooks doctor".to_owned(), 0),
        ("hooks validate".to_owned(), 0),
        ("hooks schema".to_owned(), 0),
        ("--help".to_owned(), 0),
        ("--bogus".to_owned(), 42),
        (String::new(), 42),
        (format!("-p go --yolo --fake-responses {file}"), 0),
        (format!("-p go --yolo -o json --fake-responses {file}"), 0),
        (format!("-p go --yolo -o stream-json --fake-responses {file}"), 0),
        (format!("-p go --yolo --fake-responses {empty}"), 1),
        (format!("-p go --yolo -o stream-json --fake-responses {empty}"), 1),
    ];
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    (sandbox, lines.into_iter().map(|(line, code)| (words(&line), code)).collect())
}

/// Runs every command line in the given way, and checks the exit code.
#[track_caller]
fn assert_usual_exit_codes(how: &str, run: impl Fn(&Sandbox, &[&str]) -> ProgramRun) {
    let (sandbox, forms) = command_lines();
    for (args, code) in forms {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = run(&sandbox, &args);
        assert_eq!(run.code, Some(code), "{how} {args:?} {run:#?}");
        assert!(!run.stderr.contains("panicked"), "{how} {args:?} {run:#?}");
    }
}

/// Returns the write end of a pipe without a reader.
fn pipe_without_reader() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_changes_no_exit_code() {
    assert_usual_exit_codes("as usual", |sandbox, args| sandbox.run(args));
    assert_usual_exit_codes("stdout", |sandbox, args| {
        finish(sandbox.command(args).stdout(pipe_without_reader()).spawn().unwrap())
    });
    assert_usual_exit_codes("stderr", |sandbox, args| {
        finish(sandbox.command(args).stderr(pipe_without_reader()).spawn().unwrap())
    });
    assert_usual_exit_codes("both", |sandbox, args| {
        finish(sandbox.command(args).stdout(pipe_without_reader()).stderr(pipe_without_reader()).spawn().unwrap())
    });
}

/// A session whose reader is gone does its work and runs its last hooks.
#[test]
fn a_session_without_a_reader_runs_its_last_hooks() {
    for format in ["text", "json", "stream-json"] {
        let sandbox = sandbox();
        let hook = json!({"type": "command", "name": "last", "command": "touch ENDED"});
        sandbox.settings(&json!({"hooks": {"SessionEnd": [{"hooks": [hook]}]}}));
        let file = sandbox.replay(&ReplayBuilder::new().calls("glob", json!({"pattern": "*"})).says("done"));
        let args = ["-p", "go", "--yolo", "-o", format, "--fake-responses", &file];
        let run = finish(sandbox.command(&args).stdout(pipe_without_reader()).spawn().unwrap()).expect_exit_code(0);
        assert!(sandbox.has_file("ENDED"), "{format} {run:#?}");
    }
}

#[cfg(unix)]
#[test]
fn a_start_without_open_descriptors_changes_no_exit_code() {
    for closed in ["exec <&-", "exec >&-", "exec 2>&-", "exec <&- >&-", "exec <&- >&- 2>&-"] {
        assert_usual_exit_codes(closed, |sandbox, args| finish(sandbox.limited_command(closed, args).spawn().unwrap()));
    }
}

/// Requested output that cannot be printed is an error; a message that cannot be printed is not.
#[cfg(target_os = "linux")]
#[test]
fn requested_output_that_cannot_be_printed_is_an_error() {
    let (sandbox, forms) = command_lines();
    for (args, code) in forms {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = finish(sandbox.limited_command("exec 2> /dev/full", &args).spawn().unwrap());
        assert_eq!(run.code, Some(code), "{args:?} {run:#?}");
        let run = finish(sandbox.limited_command("exec > /dev/full", &args).spawn().unwrap());
        let printed = !["--bogus", ""].contains(args.first().unwrap_or(&""));
        assert_eq!(run.code, Some(if printed { 1 } else { code }), "{args:?} {run:#?}");
    }
}
