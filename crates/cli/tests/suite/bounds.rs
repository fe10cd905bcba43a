//! Special or oversized files in the place of expected ones are reported, and hold up nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox, finish_measured, wait_until};
use serde_json::json;

use crate::sandbox;
use crate::suite::tui::TestTerminal;

/// The kinds of things that may stand where a file should.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SpecialFileKind {
    Pipe,
    Device,
    Directory,
    Socket,
}

const SPECIAL_FILE_KINDS: [SpecialFileKind; 4] =
    [SpecialFileKind::Pipe, SpecialFileKind::Device, SpecialFileKind::Directory, SpecialFileKind::Socket];

impl SpecialFileKind {
    fn put(self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            SpecialFileKind::Pipe => assert!(Command::new("mkfifo").arg(path).status_in_time().unwrap().success()),
            SpecialFileKind::Device => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
            SpecialFileKind::Directory => std::fs::create_dir(path).unwrap(),
            SpecialFileKind::Socket => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        }
    }

    fn words(self) -> &'static str {
        if self == SpecialFileKind::Directory {
            "this is a directory, not a file"
        } else {
            "this is not a regular file"
        }
    }
}

const MAX_MEMORY_MIB: u64 = 200;

/// Runs the program with a model that it does not need, and limits on time and memory.
fn start(sandbox: &Sandbox, more: &[&str], stdin: Stdio) -> ProgramRun {
    let replay = sandbox.replay(&ReplayBuilder::new().says("done"));
    let mut args = vec!["-p", "hello", "--approval-mode=yolo"];
    if !more.contains(&"--fake-responses") {
        args.extend(["--fake-responses", replay.as_str()]);
    }
    measured(sandbox, &[&args, more].concat(), stdin)
}

fn measured(sandbox: &Sandbox, args: &[&str], stdin: Stdio) -> ProgramRun {
    let (run, peak) = finish_measured(sandbox.command(args).stdin(stdin).spawn().unwrap());
    assert!(peak.is_none_or(|peak| peak < MAX_MEMORY_MIB), "{peak:?} MiB: {run:#?}");
    run
}

#[track_caller]
fn assert_contains(run: &ProgramRun, words: &str) {
    assert!(run.stderr.contains(words), "no `{words}` in:\n{}", run.stderr);
}

/// The index of the file that is only read if a variable says so.
const SYSTEM_MD: usize = 5;

/// Returns the paths of expected files, with the program's exit code without them.
fn places(sandbox: &Sandbox) -> Vec<(PathBuf, i32)> {
    let (home, project) = (sandbox.home().join(".gemini"), sandbox.project());
    vec![
        (home.join("settings.json"), 52),
        (project.join(".gemini/settings.json"), 52),
        (sandbox.home().join("system-settings.json"), 52),
        (home.join("policies/a.toml"), 52),
        (project.join(".gemini/policies/a.toml"), 52),
        (project.join(".gemini/system.md"), 0),
        (project.join(".geminiignore"), 0),
        (home.join("extensions/e/gemini-extension.json"), 0),
    ]
}

#[test]
fn special_files_in_the_place_of_files_are_reported_and_do_not_block() {
    for at in 0..places(&sandbox()).len() {
        for kind in SPECIAL_FILE_KINDS {
            let sandbox = sandbox().env("GEMINI_SYSTEM_MD", if at == SYSTEM_MD { "true" } else { "false" });
            let (path, code) = places(&sandbox).swap_remove(at);
            kind.put(&path);
            let run = start(&sandbox, &[], Stdio::null());
            assert_eq!(run.code, Some(code), "{kind:?} {path:?} {run:#?}");
            assert_contains(&run, kind.words());
        }
    }
}

/// A directory of these names is not a mistake.
#[test]
fn special_files_in_the_place_of_notes_and_variables_are_reported() {
    for kind in [SpecialFileKind::Pipe, SpecialFileKind::Socket] {
        for name in [".env", ".gemini/.env", "GEMINI.md"] {
            let sandbox = sandbox();
            kind.put(&sandbox.project().join(name));
            let run = start(&sandbox, &[], Stdio::null()).expect_exit_code(0);
            assert_contains(&run, kind.words());
        }
    }
}

/// A special file that concerns no guard is skipped without waiting for it.
#[test]
fn special_files_elsewhere_do_not_block() {
    let names =
        [".git", ".git/HEAD", ".gitignore", "x.md", ".gemini/commands/a.toml", ".gemini/hooks/h.sh", "sub/.gitignore"];
    for kind in SPECIAL_FILE_KINDS {
        for name in names {
            let sandbox = sandbox();
            sandbox.write("GEMINI.md", "@x.md\n");
            sandbox.write("sub/a.txt", "A");
            kind.put(&sandbox.project().join(name));
            let replay = sandbox.sibling_path("calls.jsonl");
            let look = ReplayBuilder::new().calls("glob", json!({"pattern": "**/*"})).says("done");
            std::fs::write(&replay, look.text()).unwrap();
            let run =
                start(&sandbox, &["--fake-responses", replay.to_str().unwrap()], Stdio::null()).expect_exit_code(0);
            assert_eq!(run.stdout.trim(), "done", "{kind:?} {name} {run:#?}");
        }
    }
}

#[test]
fn no_files_on_the_command_line_are_refused() {
    for kind in SPECIAL_FILE_KINDS {
        let sandbox = sandbox();
        let file = sandbox.project().join("f.toml");
        kind.put(&file);
        for args in [["--fake-responses", "f.toml"], ["--record-responses", "f.toml"], ["--policy", "f.toml"]] {
            // A directory of policies is valid.
            if kind == SpecialFileKind::Directory && args[0] == "--policy" {
                continue;
            }
            let run = start(&sandbox, &args, Stdio::null()).expect_exit_code(1);
            assert_contains(&run, kind.words());
        }
        let run = measured(&sandbox, &["hooks", "fire", "BeforeTool", "--input", "f.toml"], Stdio::null())
            .expect_exit_code(1);
        assert_contains(&run, kind.words());
        let run = measured(&sandbox, &["hooks", "test", "f.toml"], Stdio::null());
        assert!(kind == SpecialFileKind::Directory || run.code == Some(1), "{run:#?}");
        let outfile =
            sandbox.env("GEMINI_TELEMETRY_ENABLED", "true").env("GEMINI_TELEMETRY_OUTFILE", file.to_str().unwrap());
        assert_contains(&start(&outfile, &[], Stdio::null()).expect_exit_code(0), kind.words());
    }
}

#[test]
fn no_files_that_a_prompt_or_the_model_names_are_refused() {
    for kind in [SpecialFileKind::Pipe, SpecialFileKind::Device, SpecialFileKind::Socket] {
        let sandbox = sandbox();
        kind.put(&sandbox.project().join("f"));
        let replay = sandbox.sibling_path("calls.jsonl");
        let read = ReplayBuilder::new().calls("read_file", json!({"file_path": "f"})).says("done");
        std::fs::write(&replay, read.text()).unwrap();
        let args = ["-p", "look at @f", "--fake-responses", replay.to_str().unwrap(), "--approval-mode=yolo"];
        let run = measured(&sandbox, &args, Stdio::null()).expect_exit_code(0);
        assert_contains(&run, "@f is not read");
    }
}

/// An ignore file that cannot be read hides everything beside it.
#[test]
fn an_unreadable_ignore_file_hides_all_that_it_might() {
    let sandbox = sandbox();
    sandbox.write("secret.txt", "the secret");
    SpecialFileKind::Pipe.put(&sandbox.project().join(".geminiignore"));
    let replay = sandbox.sibling_path("calls.jsonl");
    let read = ReplayBuilder::new().calls("read_file", json!({"file_path": "secret.txt"})).says("done");
    std::fs::write(&replay, read.text()).unwrap();
    let run = start(&sandbox, &["--fake-responses", replay.to_str().unwrap(), "-o", "stream-json"], Stdio::null());
    assert!(!run.stdout.contains("the secret"), "{run:#?}");
    assert!(run.stdout.contains("stay hidden"), "{run:#?}");
}

#[test]
fn an_interactive_session_starts_beside_pipes_and_devices() {
    for kind in [SpecialFileKind::Pipe, SpecialFileKind::Device] {
        let sandbox = sandbox();
        for name in [".git/HEAD", ".gitignore", ".gemini/commands/a.toml"] {
            kind.put(&sandbox.project().join(name));
        }
        for name in [".gemini/hookwright/history", ".gemini/hookwright/logs/hookwright.log"] {
            kind.put(&sandbox.home().join(name));
        }
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys("say still here\r");
        terminal.wait_for_new_text("\nstill here");
    }
}

fn hooks(count: usize) -> String {
    let hook = |at: usize| format!(r#"{{"type":"command","name":"h{at}","command":"echo {at}"}}"#);
    let all: Vec<String> = (0..count).map(hook).collect();
    format!(r#"{{"hooks":{{"BeforeTool":[{{"hooks":[{}]}}]}}}}"#, all.join(","))
}

fn keys(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|at| format!(r#""k{at}":1"#)).collect();
    format!("{{{}}}", all.join(","))
}

#[test]
fn settings_beyond_all_measure_are_refused_at_once() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(400_000), close.repeat(400_000));
    for (text, words) in [
        (hooks(200_000), "more than 300000 values"),
        (keys(60_000), "more than 50000 values outside of `hooks`"),
        (keys(3_000_000), "too large"),
        (deep(r#"{"a":"#, "}"), "more than 300000 values"),
        (deep("[", "]"), "more than 300000 values"),
        (format!(r#"{{"a":{}}}"#, "[".repeat(40_000)), "nesting"),
        (format!(r#"{{"a":"{}"}}"#, "x".repeat(30 << 20)), "too large"),
        ("x".repeat(15 << 20), "not valid JSON"),
        (format!("{{{}}}", "// ,{[\n".repeat(1 << 20)), ""),
    ] {
        let sandbox = sandbox();
        sandbox.write(".gemini/settings.json", text);
        let run = start(&sandbox, &[], Stdio::null());
        assert_eq!(run.code, Some(if words.is_empty() { 0 } else { 52 }), "{run:#?}");
        assert_contains(&run, words);
    }
    let sandbox = sandbox();
    std::fs::File::create(sandbox.write(".gemini/settings.json", "")).unwrap().set_len(1 << 40).unwrap();
    assert_contains(&start(&sandbox, &[], Stdio::null()).expect_exit_code(52), "too large");
}

/// Settings of the maximum size are read quickly, however often names repeat.
#[test]
fn settings_as_large_as_they_may_be_are_read() {
    let twice = format!(r#"{{"model":{{{}}}}}"#, r#""name":"m","#.repeat(2_000) + r#""name":"m""#);
    for text in [hooks(10_000), keys(49_000), twice] {
        let sandbox = sandbox();
        std::fs::create_dir_all(sandbox.home().join(".gemini")).unwrap();
        std::fs::write(sandbox.home().join(".gemini/settings.json"), text).unwrap();
        start(&sandbox, &[], Stdio::null()).expect_exit_code(0);
    }
}

#[test]
fn variables_beyond_all_measure_are_refused_and_many_are_read() {
    let lines = |count: usize| (0..count).map(|at| format!("VARIABLE_{at}=1\n")).collect::<String>();
    let sandbox = sandbox();
    sandbox.write(".env", lines(300_000));
    assert_contains(&start(&sandbox, &[], Stdio::null()).expect_exit_code(0), "too large");
    sandbox.write(".env", lines(10_000));
    start(&sandbox, &[], Stdio::null()).expect_exit_code(0);
}

#[test]
fn too_much_on_stdin_is_refused() {
    let sandbox = sandbox();
    let large = sandbox.sibling_path("large");
    std::fs::write(&large, "word ".repeat(6_000_000)).unwrap();
    for file in [&large, Path::new("/dev/zero")] {
        let run = start(&sandbox, &[], std::fs::File::open(file).unwrap().into()).expect_exit_code(1);
        assert_contains(&run, "the piped input is larger than 8 MiB");
    }
    std::fs::write(&large, "word ".repeat(1_500_000)).unwrap();
    start(&sandbox, &[], std::fs::File::open(&large).unwrap().into()).expect_exit_code(0);
}

/// Returns the CPU time of a process in clock ticks; 0 if it is gone.
#[cfg(target_os = "linux")]
fn ticks_of(pid: u32) -> u64 {
    let stat = hookwright_testkit::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// A signal ends the program at any moment while it loads much.
#[cfg(target_os = "linux")]
#[test]
fn signals_end_the_program_while_it_loads() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.home().join(".gemini")).unwrap();
    std::fs::write(sandbox.home().join(".gemini/settings.json"), hooks(9_000)).unwrap();
    let replay = sandbox.replay(&ReplayBuilder::new().says("done"));
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        for ticks in [0, 1, 3, 10, 30] {
            let mut child = sandbox.command(&["-p", "hi", "--fake-responses", &replay]).spawn().unwrap();
            wait_until("it works", || ticks_of(child.id()) >= ticks || child.try_wait().unwrap().is_some());
            if child.try_wait().unwrap().is_none() {
                let _ = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status_in_time();
            }
            let (run, _) = finish_measured(child);
            // By the signal itself, by the program's handler, or it had ended before.
            assert!([None, Some(128 + number), Some(0)].contains(&run.code), "{signal} after {ticks} ticks: {run:#?}");
        }
    }
}
