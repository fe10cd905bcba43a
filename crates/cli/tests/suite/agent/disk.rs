//! Disks that are full, read-only, missing or locked by other processes: existing files stay whole, problems are
//! reported, and the session goes on where it can.

use std::path::Path;
use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{finish, report_skipped, wait_until};

use super::*;

/// No file may grow, as on a full disk.
const FULL_DISK_LIMIT: &str = "ulimit -f 0";

const GUARD_HOOK: (&str, &str, &str) = ("BeforeTool", "*", "exit 0");

/// A long text that does not repeat itself.
fn long_text() -> String {
    (0..50_000).map(|at| format!("{at} ")).collect::<String>().trim_end().to_owned()
}

fn run_limited(sandbox: &Sandbox, limits: &str, args: &[&str]) -> ProgramRun {
    finish(sandbox.limited_command(limits, args).spawn().unwrap())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output_in_time().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Sets the mode of a directory and of those below it.
fn set_modes(directory: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
    let below = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    below.filter(|path| path.is_dir()).for_each(|path| set_modes(&path, mode));
}

/// Runs the program with a read-only directory: by modes, or for root by a mount. Returns `None`, and reports it, where
/// neither works.
fn with_read_only(test: &str, sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Option<ProgramRun> {
    if !is_root() {
        set_modes(directory, 0o555);
        let run = sandbox.run(args);
        set_modes(directory, 0o755);
        return Some(run);
    }
    let mount = format!("mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}' && cd .", directory.display());
    let inside = |script: &str, more: &[&str]| {
        let free = sandbox.command(more);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(free.get_program()).args(free.get_args());
        command.current_dir(sandbox.project()).env_clear();
        command.envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output_in_time().ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(ProgramRun { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
    };
    if inside(&mount, &[]).is_none_or(|run| run.code != Some(0)) {
        report_skipped(test, "nothing can be mounted here");
        return None;
    }
    // The working directory is entered again, since it may be what was mounted.
    inside(&format!("{mount} && cd '{}' && exec \"$0\" \"$@\"", sandbox.project().display()), args)
}

#[test]
fn a_full_disk_is_reported_and_settings_and_trust_are_unchanged() {
    let sandbox = project(&[GUARD_HOOK]);
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    let record = sandbox.home().join(".gemini/trusted_hooks.json");
    sandbox.write(".gemini/hooks/hook1.sh", "#!/bin/sh\nexit 1\n");
    let settings = sandbox.project().join(".gemini/settings.json");
    for (args, file) in [
        (&["hooks", "disable", "hook1"][..], &settings),
        (&["hooks", "trust", "--all"], &record),
        (&["hooks", "new", "other", "--event", "AfterTool"], &settings),
    ] {
        let before = fs::read(file).unwrap();
        let run = run_limited(&sandbox, FULL_DISK_LIMIT, args).expect_exit_code(1);
        assert_contains(&run.stderr, "File too large");
        assert_eq!(fs::read(file).unwrap(), before, "{args:?}");
    }
    let run = run_limited(&sandbox, FULL_DISK_LIMIT, &["hooks", "disable", "hook1"]);
    assert_contains(&run.stderr, "the old file is intact\nhint: free some space and try again");
    assert_eq!(drafts(&sandbox), Vec::<String>::new());
}

#[test]
fn without_hooks_a_session_goes_on_where_nothing_can_be_kept() {
    const TEST: &str = "without_hooks_a_session_goes_on_where_nothing_can_be_kept";
    let sandbox = crate::sandbox();
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str()];
    let full = run_limited(&sandbox, FULL_DISK_LIMIT, &args);
    let read_only = with_read_only(TEST, &sandbox, &sandbox.home(), &args);
    fs::remove_dir_all(sandbox.home()).unwrap();
    fs::write(sandbox.home(), "").unwrap();
    let no_directory = sandbox.run(&args);
    for run in [Some(full), read_only, Some(no_directory)].into_iter().flatten() {
        let run = run.expect_exit_code(0);
        assert_eq!(run.stdout.trim(), "done", "{run:#?}");
        assert_contains(&run.stderr, "this conversation is not kept: cannot create the transcript");
    }
    // A missing directory is created.
    fs::remove_file(sandbox.home()).unwrap();
    let run = sandbox.run(&args).expect_exit_code(0);
    assert_lacks(&run.stderr, "not kept");
    assert_contains(&transcript(&sandbox), "done");
}

/// Changes to the guards by agents could not be recorded.
#[test]
fn with_hooks_no_session_starts_where_nothing_can_be_kept() {
    const TEST: &str = "with_hooks_no_session_starts_where_nothing_can_be_kept";
    let sandbox = crate::sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}));
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str()];
    let runs =
        [Some(run_limited(&sandbox, FULL_DISK_LIMIT, &args)), with_read_only(TEST, &sandbox, &sandbox.home(), &args)];
    for run in runs.into_iter().flatten() {
        let run = run.expect_exit_code(52);
        assert_contains(&run.stderr, "hookwright/guards, which records changes by agents to guards, can't be used: ");
        assert_eq!(run.stdout, "");
    }
}

/// Hooks that can only comment guard nothing, so that a session can start with them.
#[test]
fn with_hooks_that_only_comment_a_session_goes_on_where_nothing_can_be_kept() {
    let sandbox = crate::sandbox();
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str()];
    let declared = |event: &str, more: Value| {
        let mut hook = json!({"type": "command", "name": "h", "command": "exit 0"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sandbox.settings(&json!({"hooks": {event: [{"hooks": [hook]}]}}));
        run_limited(&sandbox, FULL_DISK_LIMIT, &args)
    };
    for event in ["SessionStart", "SessionEnd", "PreCompress", "Notification"] {
        let run = declared(event, json!({})).expect_exit_code(0);
        assert_eq!(run.stdout.trim(), "done", "{event}: {run:#?}");
        assert_contains(&run.stderr, "this conversation is not kept");
    }
    for event in ["BeforeAgent", "BeforeModel", "BeforeToolSelection", "AfterModel", "AfterTool", "AfterAgent"] {
        declared(event, json!({})).expect_exit_code(52);
    }
    // A disabled hook cannot deny either.
    declared("BeforeTool", json!({"enabled": false})).expect_exit_code(0);
    declared("BeforeTool", json!({}));
    let off = [&args[..], &["--no-hooks"]].concat();
    run_limited(&sandbox, FULL_DISK_LIMIT, &off).expect_exit_code(0);
    declared("BeforeTool", json!({"guard": true})).expect_exit_code(52);
    run_limited(&sandbox, FULL_DISK_LIMIT, &off).expect_exit_code(52);
}

#[test]
fn a_disk_that_fills_up_in_the_middle_ends_no_session_and_harms_no_file() {
    let sandbox = project(&[]);
    sandbox.write("a.txt", "old");
    run(&sandbox, &ReplayBuilder::new().says("first"), &[]).expect_exit_code(0);
    let (before, telemetry) = (transcript(&sandbox), fs::read(sandbox.sibling_path("telemetry.log")).unwrap());
    let long = long_text();
    let write = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": long}));
    let file = sandbox.replay(&write.says(&long));
    let args = ["-p", "more", "--fake-responses", file.as_str(), "--approval-mode=yolo", "--resume", "latest"];
    // In blocks of 512 bytes or of 1024, depending on the shell.
    let run = run_limited(&sandbox, "ulimit -f 100", &args).expect_exit_code(0);
    assert_eq!(run.stdout.trim(), long);
    assert_contains(&run.stderr, "the transcript could not be written: cannot write to the transcript");
    assert_contains(&run.stderr, "telemetry.log is incomplete: File too large");
    assert_eq!(sandbox.read("a.txt"), "old");
    assert!(transcript(&sandbox).starts_with(&before), "{run:#?}");
    assert!(fs::read(sandbox.sibling_path("telemetry.log")).unwrap().starts_with(&telemetry));
    records(&sandbox, "api_request");
    assert_eq!(drafts(&sandbox), Vec::<String>::new());
    // The part that was written can be resumed.
    let run = super::run(&sandbox, &ReplayBuilder::new().says("again"), &["--resume", "latest"]).expect_exit_code(0);
    assert_eq!(run.stdout.trim(), "again", "{run:#?}");
    transcript(&sandbox).lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
}

/// A real full disk, where a small one can be mounted.
#[test]
fn a_disk_without_room_harms_neither_project_nor_settings() {
    const TEST: &str = "a_disk_without_room_harms_neither_project_nor_settings";
    let sandbox = crate::sandbox();
    let hook = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "g", "command": "true"}]}]}});
    fs::write(sandbox.sibling_path("settings.json"), hook.to_string()).unwrap();
    let write = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": long_text()}));
    let file = sandbox.replay(&write.says("done"));
    let script = r#"mount -t tmpfs -o size=64k none . && cd "$PWD" && mkdir .gemini && cp ../settings.json .gemini &&
        echo old > a.txt || exit 99
        "$0" "$@" || exit 1
        head -c 100000 /dev/zero > fill 2>/dev/null
        "$0" hooks disable g && exit 2
        [ "$(cat a.txt)" = old ] && cmp ../settings.json .gemini/settings.json && ls -A . .gemini"#;
    let free = sandbox.command(&["-p", "go", "--fake-responses", &file, "--approval-mode=yolo"]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(free.get_program()).args(free.get_args());
    command.current_dir(sandbox.project()).env_clear();
    command.envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output_in_time().ok().filter(|_| is_root()).filter(|output| output.status.code() != Some(99));
    let Some(output) = output else { return report_skipped(TEST, "nothing can be mounted here") };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_contains(&said, "No space left on device: ");
    assert_contains(&said, "No space left on device (os error 28); the old file is intact\nhint: free some space");
    let listed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(listed, "done\n.:\n.gemini\na.txt\nfill\n\n.gemini:\nsettings.json\n", "{said}");
}

/// The user asked for the recording, so that its failure is an error; the part that was recorded can be replayed.
#[test]
fn a_recording_has_whole_lines_only() {
    let sandbox = crate::sandbox();
    let record = sandbox.sibling_path("recorded").to_str().unwrap().to_owned();
    let long = long_text();
    run(&sandbox, &ReplayBuilder::new().says("first"), &["--record-responses", &record]).expect_exit_code(0);
    let file = sandbox.replay(&ReplayBuilder::new().says(&long));
    let args = ["-p", "more", "--fake-responses", file.as_str(), "--record-responses", &record];
    let run = run_limited(&sandbox, "ulimit -f 100", &args).expect_exit_code(1);
    assert_contains(&run.stderr, "error: cannot record to ");
    assert_eq!(sandbox.run(&["-p", "again", "--fake-responses", &record]).expect_exit_code(0).stdout.trim(), "first");
}

/// The reader is told that the output is missing or incomplete.
#[test]
fn a_full_stdout_is_an_error_that_says_so() {
    if !Path::new("/dev/full").exists() {
        return report_skipped("a_full_stdout_is_an_error_that_says_so", "there is no /dev/full");
    }
    let sandbox = project(&[GUARD_HOOK]);
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    let prompt = ["-p", "go", "--fake-responses", file.as_str()];
    for args in [
        &prompt[..],
        &[&prompt[..], &["--output-format", "json"]].concat(),
        &[&prompt[..], &["--output-format", "stream-json"]].concat(),
        &["hooks", "list"],
        &["hooks", "list", "--json"],
        &["hooks", "schema"],
        &["hooks", "fire", "BeforeTool", "--tool", "glob"],
        &["hooks", "doctor"],
        &["--list-sessions"],
        &["--help"],
        &["hooks", "--help"],
        &["--version"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let run = finish(sandbox.command(args).stdout(full).spawn().unwrap());
        assert!(run.code.is_some_and(|code| code != 0), "{args:?}: {run:#?}");
        assert_contains(&run.stderr, "No space left on device");
    }
    // The answer is printed even if messages cannot be.
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let run = finish(sandbox.command(&prompt).stderr(full).spawn().unwrap()).expect_exit_code(0);
    assert_eq!(run.stdout.trim(), "done");
}

/// The program gets an error for files that reach the size limit; its children are ended by the signal, as usual.
#[test]
fn hooks_and_commands_have_the_signal_for_full_files_as_the_system_has_it() {
    let write = "sh -c 'ulimit -f 0; echo x > f'; echo $?";
    let sandbox = project(&[("BeforeTool", "*", &format!("cd \"$GEMINI_PROJECT_DIR\"; {write} > by_hook"))]);
    let command = format!("{write} > by_command");
    run(&sandbox, &ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done"), &[])
        .expect_exit_code(0);
    assert_eq!((sandbox.read("by_hook").trim(), sandbox.read("by_command").trim()), ("153", "153"));
}

#[test]
fn a_project_that_can_t_be_written_is_said_and_read() {
    const TEST: &str = "a_project_that_can_t_be_written_is_said_and_read";
    let sandbox = project(&[]);
    sandbox.write("a.txt", "old");
    let replay = ReplayBuilder::new()
        .calls("write_file", json!({"file_path": "a.txt", "content": "new"}))
        .calls("write_file", json!({"file_path": "b/c.txt", "content": "new"}))
        .calls("read_file", json!({"file_path": "a.txt"}))
        .says("done");
    // Files that cannot be written, not only the directory: a writable file could be overwritten in place.
    let file = sandbox.replay(&replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let Some(run) = with_read_only(TEST, &sandbox, &sandbox.project(), &args) else { return };
    let run = run.expect_exit_code(0);
    assert_eq!(run.stdout.trim(), "done");
    assert_eq!((sandbox.read("a.txt").as_str(), sandbox.has_file("b")), ("old", false));
    let calls = records(&sandbox, "tool_call");
    assert_eq!(calls.iter().map(|call| call["success"] == true).collect::<Vec<_>>(), [false, false, true], "{run:#?}");
    let Some(run) = with_read_only(TEST, &sandbox, &sandbox.project(), &["hooks", "new", "x", "--event", "AfterTool"])
    else {
        return;
    };
    assert_contains(&run.expect_exit_code(1).stderr, "error: can't create ");
}

/// A command needs no temporary file of the program.
#[test]
fn without_a_place_for_temporary_files_everything_works() {
    let sandbox = project(&[GUARD_HOOK]).env("TMPDIR", "/nonexistent");
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": "echo ran > ran"}))
        .calls("write_file", json!({"file_path": "a.txt", "content": "x"}))
        .says("done");
    assert_eq!(run(&sandbox, &replay, &[]).expect_exit_code(0).stdout.trim(), "done");
    assert!(sandbox.has_file("ran") && sandbox.has_file("a.txt"));
    // Hooks in an untrusted folder run in a directory of their own, which is in the home.
    let run = crate::sandbox().env("TMPDIR", "/nonexistent").run(&["hooks", "list"]).expect_exit_code(0);
    assert_lacks(&run.stderr, "error");
}

/// A lock that is never released is an error after a while.
#[test]
fn a_lock_that_is_never_released_does_not_block_for_ever() {
    let sandbox = project(&[GUARD_HOOK]);
    let before = sandbox.read(".gemini/settings.json");
    let held = fs::File::open(sandbox.project().join(".gemini")).unwrap();
    held.lock().unwrap();
    let run = sandbox.run(&["hooks", "disable", "hook1"]).expect_exit_code(1);
    assert_contains(
        &run.stderr,
        "another program has held the lock for 5 seconds; nothing was changed\nhint: end the program",
    );
    assert_eq!(sandbox.read(".gemini/settings.json"), before);
    drop(held);
    sandbox.run(&["hooks", "disable", "hook1"]).expect_exit_code(0);
}

/// Returns the partial files that are left.
fn drafts(sandbox: &Sandbox) -> Vec<String> {
    let all = [sandbox.home(), sandbox.project()].into_iter().flat_map(|folder| files_under(&folder));
    all.filter(|file| file.contains("/.hookwright-") || file.ends_with(".drafts") || file.ends_with(".tmp")).collect()
}

#[test]
fn killed_at_any_moment_the_program_leaves_no_drafts_for_longer_than_to_the_next_start() {
    let sandbox = project(&[]);
    let mut replay = ReplayBuilder::new();
    for at in 0..100 {
        let text = format!("{at} {}", "x".repeat(10_000));
        replay = replay.calls("write_file", json!({"file_path": format!("d{}/f.txt", at % 3), "content": text}));
    }
    let file = sandbox.replay(&replay.says("done"));
    let mut left = 0;
    for round in 0..25_u64 {
        let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
        let mut child = sandbox.command(&args).spawn().unwrap();
        let path = sandbox.project().join("d2/f.txt");
        let _ = fs::remove_file(&path);
        wait_until("it writes", || path.exists() || child.try_wait().unwrap().is_some());
        std::thread::sleep(std::time::Duration::from_micros(round * 373 % 5000));
        child.kill().unwrap();
        finish(child);
        left += drafts(&sandbox).len();
        for at in 0..3 {
            let text = fs::read_to_string(sandbox.project().join(format!("d{at}/f.txt"))).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with('x') && text.len() > 10_000, "half a file: {}", text.len());
        }
    }
    sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert_eq!(drafts(&sandbox), Vec::<String>::new(), "{left} were left on the way");
}

/// The draft of a running program is kept, and so is a file that only looks like a draft.
#[test]
fn only_drafts_of_programs_that_are_no_more_are_swept() {
    let sandbox = crate::sandbox();
    let notes = sandbox.home().join(".gemini/hookwright/drafts");
    fs::create_dir_all(&notes).unwrap();
    let draft = |name: &str| sandbox.write(name, "x");
    let (dead, living) = (draft(".hookwright-4000001-1f-0.tmp"), draft(".hookwright-4000002-1f-0.tmp"));
    let strangers = [draft(".hookwright-4000001-1f-9.tmp"), draft("mine.txt"), draft(".hookwright-notes.tmp")];
    let noted: String = [&dead, &strangers[1], &strangers[2]].map(|path| format!("{}\0", path.display())).concat();
    fs::write(notes.join("4000001-0.drafts"), noted).unwrap();
    fs::write(notes.join("4000002-0.drafts"), format!("{}\0", living.display())).unwrap();
    let alive = fs::File::open(notes.join("4000002-0.drafts")).unwrap();
    alive.lock().unwrap();
    sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert!(!dead.exists() && living.exists());
    strangers.iter().for_each(|path| assert!(path.exists(), "{path:?}"));
    drop(alive);
    // A process that another test is just starting holds a copy of the lock's descriptor for a moment.
    wait_for("the lock is free", || fs::File::open(notes.join("4000002-0.drafts")).ok()?.try_lock().ok());
    sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert!(!living.exists());
}
