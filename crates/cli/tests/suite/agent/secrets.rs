//! Private data: files that only their owner can read, keys that are in no error and no record, and an environment of
//! tools without keys.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hookwright_testkit::deadline::*;
use hookwright_testkit::finish;
use hookwright_testkit::fs;

use super::*;

fn file_mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns everything below a folder, folders included.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    let below: Vec<PathBuf> = entries.iter().filter(|path| path.is_dir()).flat_map(|path| paths_below(path)).collect();
    entries.into_iter().chain(below).collect()
}

#[test]
fn the_programs_files_are_private_under_any_umask() {
    for (mask, of_tools) in [("000", 0o666), ("022", 0o644), ("077", 0o600), ("777", 0)] {
        let sandbox = project(&[("BeforeTool", "*", "exit 0")]);
        let record = sandbox.sibling_path("new/recorded").to_str().unwrap().to_owned();
        fs::create_dir(sandbox.sibling_path("new")).unwrap();
        let sandbox = sandbox.env("HOOKWRIGHT_LOG", "debug");
        let replay = ReplayBuilder::new()
            .calls("save_memory", json!({"fact": "it rains"}))
            .calls("write_file", json!({"file_path": "a.txt", "content": "x"}))
            .says("done");
        let file = sandbox.replay(&replay);
        let args = ["-p", "go", "--fake-responses", &file, "--approval-mode=yolo", "--record-responses", &record];
        let run = finish(sandbox.limited_command(&format!("umask {mask}"), &args).spawn().unwrap()).expect_exit_code(0);
        assert_eq!(run.stdout.trim(), "done", "{run:#?}");
        let kept = paths_below(&sandbox.home());
        for name in [".jsonl", "GEMINI.md", "trusted_hooks.json", "hookwright.log"] {
            assert!(kept.iter().any(|path| path.to_str().unwrap().ends_with(name)), "no {name}: {kept:?}");
        }
        for path in kept.iter().chain([&PathBuf::from(&record), &sandbox.sibling_path("telemetry.log")]) {
            assert_eq!(file_mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "umask {mask}: {path:?}");
        }
        // Files that tools write are the user's, and the user's mask applies.
        assert_eq!(file_mode(&sandbox.project().join("a.txt")), of_tools);
    }
}

#[test]
fn laxer_modes_are_tightened_where_the_file_is_the_programs_own() {
    let sandbox = project(&[("BeforeTool", "*", "exit 0")]).env("HOOKWRIGHT_LOG", "debug");
    let record = sandbox.sibling_path("recorded").to_str().unwrap().to_owned();
    let go = |more: &[&str]| {
        let file = sandbox.replay(&ReplayBuilder::new().says("done"));
        let args = ["-p", "go", "--fake-responses", &file, "--record-responses", &record];
        sandbox.run(&[&args, more].concat()).expect_exit_code(0);
    };
    go(&[]);
    sandbox.write(".gemini/hooks/hook1.sh", "#!/bin/sh\ntrue\n");
    let own: Vec<PathBuf> = paths_below(&sandbox.home()).into_iter().filter(|path| path.is_file()).collect();
    let users = [PathBuf::from(&record), sandbox.sibling_path("telemetry.log")];
    for path in own.iter().chain(&users) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    go(&["--resume", "latest"]);
    let lax: Vec<&PathBuf> = own.iter().filter(|path| path.exists() && file_mode(path) != 0o600).collect();
    // This file was not written, since nothing in it has changed.
    assert!(lax.iter().all(|path| path.ends_with("known_guards.json")), "{lax:?}");
    // The user may have let others read files that the user names.
    users.iter().for_each(|path| assert_eq!(file_mode(path), 0o644, "{path:?}"));
}

/// A key that does not look like one, so that only exact matching can redact it.
const KEY: &str = "plain/words+of=mine";

/// Starts a server that gives every client the same answer, and returns its address.
fn server(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.connections() {
            let mut request = Vec::new();
            let mut piece = [0; 65536];
            // Up to the end of the body, which is JSON.
            while !request.ends_with(b"}") {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&piece[..read]),
                }
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

fn response(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A sandbox whose model is at that server, and which records everything possible.
fn sandbox_with_server(server: &str) -> Sandbox {
    let sandbox = project(&[]);
    sandbox.user_settings(&json!({"general": {"maxAttempts": 2}}));
    let sandbox = sandbox.env("GEMINI_API_KEY", KEY).env("HOOKWRIGHT_LOG", "trace");
    sandbox.env("GOOGLE_GEMINI_BASE_URL", server)
}

/// Returns the text of all files of a session.
fn all_files_text(sandbox: &Sandbox) -> String {
    let files = paths_below(sandbox.home().parent().unwrap()).into_iter().filter(|path| path.is_file());
    files.map(|path| format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap_or_default())).collect()
}

#[test]
fn a_key_that_a_server_repeats_is_in_no_error_and_no_record() {
    let in_address = "plain%2Fwords%2Bof%3Dmine";
    let said = format!(
        "bad key {KEY} in Authorization: Bearer {KEY} of https://x.example/v1?key={in_address}&alt=sse, \
         or AIzaSy0123456789012345678901234567890"
    );
    let error = json!({"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}).to_string();
    let location = format!("302 Found\r\nLocation: https://elsewhere.example/?key={in_address}&token=abcdefgh");
    let blocked = json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": said}});
    for answer in [
        response("400 Bad Request", &error),
        response("403 Forbidden", &said),
        response("502 Bad Gateway\r\nRetry-After: 0", &format!("<html>{said}</html>")),
        response(&location, ""),
        response("200 OK\r\nContent-Type: text/event-stream", &format!("data: {error}\n\n")),
        response("200 OK\r\nContent-Type: text/event-stream", &format!("data: {{\"{said}\n\n")),
        response("200 OK\r\nContent-Type: text/event-stream", &format!("data: {blocked}\n\n")),
        response("200 OK", &format!("<html>{said}</html>")),
    ] {
        let head = answer.lines().next().unwrap().to_owned();
        let sandbox = sandbox_with_server(&server(answer));
        let record = sandbox.sibling_path("recorded").to_str().unwrap().to_owned();
        for format in ["text", "stream-json"] {
            let run = sandbox.run(&["-p", "go", "--output-format", format, "--record-responses", &record, "--debug"]);
            assert_eq!(run.code, Some(1), "{head}: {run:#?}");
            let all = format!("{}{}{}", run.stdout, run.stderr, all_files_text(&sandbox));
            for secret in [KEY, in_address, "AIzaSy", "abcdefgh"] {
                let found = all.lines().find(|line| line.contains(secret));
                assert_eq!(found, None, "{head}: {secret} was kept or shown");
            }
            assert_contains(&all, "***");
        }
    }
    let sandbox = sandbox_with_server("nonsense://user:pa55word@host/?key=abcdefgh");
    let run = sandbox.run(&["-p", "go"]).expect_exit_code(1);
    assert_contains(&run.stderr, "is not the address of a server");
    assert_lacks(&run.stderr, "pa55word");
    assert_lacks(&run.stderr, "abcdefgh");
}

/// The user sees the model's text; records for others do not contain the key.
#[test]
fn a_key_in_an_answer_is_in_no_recording_and_no_telemetry() {
    let chunk = hookwright_testkit::replay::chunk(&[json!({"text": format!("it is {KEY}.")})], true);
    let head = "200 OK\r\nContent-Type: text/event-stream";
    let sandbox = sandbox_with_server(&server(response(head, &format!("data: {chunk}\n\n"))));
    let record = sandbox.sibling_path("recorded").to_str().unwrap().to_owned();
    let run = sandbox.run(&["-p", "go", "--record-responses", &record]).expect_exit_code(0);
    assert_eq!(run.stdout.trim(), format!("it is {KEY}."));
    let log = sandbox.home().join(".gemini/hookwright/logs/hookwright.log");
    for file in [PathBuf::from(&record), sandbox.sibling_path("telemetry.log"), log] {
        let text = fs::read_to_string(&file).unwrap();
        assert_lacks(&text, KEY);
        assert_contains(&text, "it is ***.");
    }
    assert_eq!(sandbox.run(&["-p", "go", "--fake-responses", &record]).expect_exit_code(0).stdout.trim(), "it is ***.");
}

/// A command that prints its environment.
const PRINT_ENV_SCRIPT: &str = "echo \"[$GEMINI_API_KEY|$GOOGLE_API_KEY|$OPENAI_API_KEY|$MY_TOKEN|$PLAIN]\"";

fn with_keys(sandbox: Sandbox) -> Sandbox {
    let vars = [("GEMINI_API_KEY", "gemini"), ("OPENAI_API_KEY", "openai"), ("MY_TOKEN", "mine"), ("PLAIN", "plain")];
    vars.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value))
}

/// Returns what a hook and a command have seen of the environment.
fn seen_environments(sandbox: &Sandbox) -> (String, String) {
    let command = format!("{PRINT_ENV_SCRIPT} > by_command");
    run(sandbox, &ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done"), &[])
        .expect_exit_code(0);
    (sandbox.read("by_hook").trim().to_owned(), sandbox.read("by_command").trim().to_owned())
}

fn with_hook(user: &Value) -> Sandbox {
    let sandbox = project(&[("BeforeTool", "*", &format!("{PRINT_ENV_SCRIPT} > \"$GEMINI_PROJECT_DIR/by_hook\""))]);
    sandbox.user_settings(user);
    // A key in a trusted project's `.env` is used for the model too.
    sandbox.write(".gemini/.env", "GOOGLE_API_KEY=google\n");
    with_keys(sandbox)
}

#[test]
fn commands_have_no_keys_of_the_model_and_hooks_have() {
    let redaction = |value: Value| json!({"security": {"environmentVariableRedaction": value}});
    let all = "[gemini|google|openai|mine|plain]";
    for (settings, hook, command) in [
        (json!({}), all, "[|||mine|plain]"),
        (redaction(json!({"enabled": true})), "[||||plain]", "[||||plain]"),
        (redaction(json!({"allowed": ["OPENAI_API_KEY"]})), all, "[||openai|mine|plain]"),
        (
            redaction(json!({"enabled": true, "allowed": ["OPENAI_API_KEY"], "blocked": ["PLAIN"]})),
            "[||openai||]",
            "[||openai||]",
        ),
        (redaction(json!({"blocked": ["PLAIN"]})), all, "[|||mine|plain]"),
    ] {
        let seen = seen_environments(&with_hook(&settings));
        assert_eq!(seen, (hook.to_owned(), command.to_owned()), "{settings}");
    }
}

#[test]
fn no_project_gives_a_key_to_commands() {
    let sandbox = with_hook(&json!({}));
    let mut settings: Value = serde_json::from_str(&sandbox.read(".gemini/settings.json")).unwrap();
    settings["security"] = json!({"environmentVariableRedaction": {"allowed": ["GEMINI_API_KEY"]}});
    sandbox.settings(&settings);
    assert_eq!(seen_environments(&sandbox).1, "[|||mine|plain]");
}

#[test]
fn commands_of_custom_commands_have_no_keys_either() {
    let sandbox = with_keys(project(&[]));
    sandbox.write(".gemini/commands/print.toml", format!("prompt = '''it is !{{{PRINT_ENV_SCRIPT}}}'''\n"));
    prompt(&sandbox, "/print", &ReplayBuilder::new().says("done"), &[]).expect_exit_code(0);
    assert_contains(&requests(&sandbox)[0].to_string(), "it is [|||mine|plain]");
}

/// The system shows the environment of the program's start to other processes of the same user.
#[cfg(target_os = "linux")]
#[test]
fn commands_do_not_read_the_programs_own_environment_or_memory() {
    const TEST: &str = "commands_do_not_read_the_programs_own_environment_or_memory";
    let sandbox = with_keys(project(&[("BeforeTool", "*", "exit 0")]));
    let command = "cat /proc/$PPID/environ > environ 2>/dev/null; echo $? > code; \
                   head -c 1 /proc/$PPID/mem > mem 2>/dev/null; ls /proc/$PPID/fd > fds 2>/dev/null; id -u > user";
    let file = sandbox.replay(
        &ReplayBuilder::new()
            .calls("run_shell_command", json!({"command": command}))
            .calls("write_file", json!({"file_path": "user", "content": "overwritten"}))
            .says("done"),
    );
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let Some(run) = as_somebody(TEST, &sandbox, &args) else { return };
    assert_eq!(run.stdout.trim(), "done", "{run:#?}");
    assert_eq!(sandbox.read("user"), "overwritten", "{run:#?}");
    assert_ne!(sandbox.read("code").trim(), "0");
    for file in ["environ", "mem", "fds"] {
        assert_eq!(sandbox.read(file), "", "{file}");
    }
    assert_contains(&transcript(&sandbox), "done");
}

/// Runs the program as an ordinary user; root becomes one for it. Returns `None`, and reports it, where that cannot be
/// done.
#[cfg(target_os = "linux")]
fn as_somebody(test: &str, sandbox: &Sandbox, args: &[&str]) -> Option<ProgramRun> {
    let is_root = std::process::Command::new("id").arg("-u").output_in_time().unwrap().stdout.trim_ascii() == b"0";
    if !is_root {
        return Some(sandbox.run(args));
    }
    let root = sandbox.home().parent().unwrap().to_owned();
    for path in paths_below(&root).iter().chain([&root]) {
        std::os::unix::fs::lchown(path, Some(65_534), Some(65_534)).unwrap();
    }
    let start = |args: &[&str]| {
        let free = sandbox.command(args);
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(free.get_program())
            .args(free.get_args());
        command.current_dir(sandbox.project()).env_clear();
        command.envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output_in_time().ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(ProgramRun { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
    };
    if start(&["--version"]).is_none_or(|run| run.code != Some(0)) {
        hookwright_testkit::report_skipped(test, "another user can't run the program here");
        return None;
    }
    start(args)
}
