//! `hooks shadow`, `arm`, `why`, `replay` and `test --from-journal`: hooks that are tried on what is on record.

use std::path::PathBuf;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, Sandbox, fs};
use serde_json::{Value, json};

use crate::sandbox;

fn deny_rule(name: &str, command: &str) -> Value {
    json!({"type": "rule", "name": name, "when": {"commands": [command]}, "decision": "deny", "reason": "not that"})
}

fn before_tool(hooks: &Value) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

/// A project with these hooks before tools.
fn project_with(hooks: &Value) -> Sandbox {
    let sandbox = sandbox();
    sandbox.settings(&before_tool(hooks));
    sandbox
}

/// Has an agent ask about a shell command.
fn call(sandbox: &Sandbox, session: &str, command: &str) -> ProgramRun {
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_use_id": format!("call-{command}"), "cwd": sandbox.project(), "tool_input": {"command": command}});
    sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string())
}

fn is_denied(run: &ProgramRun) -> bool {
    run.stdout.contains("\"deny\"")
}

fn replay(sandbox: &Sandbox, args: &[&str]) -> Value {
    let run = sandbox.run(&[&["hooks", "replay", "--json"], args].concat());
    assert!(run.code == Some(0) || run.code == Some(1), "{}", run.stderr);
    let report = run.json();
    assert_eq!(report["different"], json!(run.code == Some(1)), "{report:#}");
    report
}

fn lines_of(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["about"].as_str().unwrap()).collect()
}

fn journal_dir(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".gemini/hookwright/journal")
}

/// The number of the last event on record.
fn last_number(sandbox: &Sandbox) -> String {
    let run = sandbox.run(&["journal", "query", "kind=event", "-n", "1", "--json"]).expect_exit_code(0);
    run.json_lines().pop().unwrap()["seq"].to_string()
}

#[test]
fn a_hook_in_shadow_lets_everything_pass_and_is_shown_as_such() {
    let sandbox = sandbox();
    let text = "{\n  // mine\n  \"hooks\": {\"BeforeTool\": [{\"hooks\": [\n    {\"type\": \"rule\", \"name\": \"r\", \"decision\": \"deny\", \"reason\": \"no\"} // why\n  ]}]}\n}\n";
    sandbox.write(".gemini/settings.json", text);
    assert!(is_denied(&call(&sandbox, "s", "ls")));
    let run = sandbox.run(&["hooks", "shadow", "r"]).expect_exit_code(0);
    assert!(run.stderr.contains("in shadow") && run.stderr.contains("hooks arm r"), "{}", run.stderr);
    let after = sandbox.read(".gemini/settings.json");
    assert!(after.contains("// mine") && after.contains("// why") && after.contains("\"mode\": \"shadow\""), "{after}");
    assert!(!is_denied(&call(&sandbox, "s", "ls")));
    let list = sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert!(list.stdout.contains("shadow: it is asked and recorded"), "{}", list.stdout);
    let shown = sandbox.run(&["hooks", "show", "r"]).expect_exit_code(0);
    assert!(shown.stdout.contains("decides nothing") && !shown.stdout.contains("armed"), "{}", shown.stdout);
    let told = sandbox.run(&["hooks", "show", "r", "--json"]).expect_exit_code(0).json();
    assert_eq!(
        (&told[0]["state"], &told[0]["armed"], &told[0]["mode"]),
        (&json!("shadow"), &json!(false), &json!("shadow"))
    );
    let doctor = sandbox.run(&["hooks", "doctor"]);
    assert!(doctor.stdout.contains("0 armed") && doctor.stdout.contains("1 in shadow"), "{}", doctor.stdout);
    let explained = sandbox.run(&["agents", "explain", "claude-code"]);
    assert!(explained.stdout.contains("in shadow"), "{}", explained.stdout);
    let fired = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).expect_exit_code(0);
    assert!(fired.stdout.contains("in shadow, would deny"), "{}", fired.stdout);
    let stats = sandbox.run(&["journal", "stats", "--shadow"]).expect_exit_code(0);
    assert!(stats.stdout.contains("decided nothing"), "{}", stats.stdout);
    let again = sandbox.run(&["hooks", "shadow", "r"]).expect_exit_code(0);
    assert!(again.stderr.contains("was already"), "{}", again.stderr);
    sandbox.run(&["hooks", "arm", "r"]).expect_exit_code(0);
    assert_eq!(sandbox.read(".gemini/settings.json"), text);
    assert!(is_denied(&call(&sandbox, "s", "ls")));
    sandbox.run(&["hooks", "shadow", "r"]).expect_exit_code(0);
    sandbox.run(&["hooks", "shadow", "r", "--off"]).expect_exit_code(0);
    assert_eq!(sandbox.read(".gemini/settings.json"), text);
    sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
}

#[test]
fn a_guard_does_not_go_into_shadow() {
    let mut guard = deny_rule("g", "ls*");
    guard["guard"] = json!(true);
    let sandbox = project_with(&json!([guard, deny_rule("r", "ls*")]));
    let before = sandbox.read(".gemini/settings.json");
    let run = sandbox.run(&["hooks", "shadow", "g"]).expect_exit_code(1);
    assert!(run.stderr.contains("a guard can't be in shadow"), "{}", run.stderr);
    let mut settings = before_tool(&json!([deny_rule("r", "ls*")]));
    settings["hooksConfig"] = json!({"required": ["r"]});
    sandbox.settings(&settings);
    let run = sandbox.run(&["hooks", "shadow", "r"]).expect_exit_code(1);
    assert!(run.stderr.contains("hooksConfig.required"), "{}", run.stderr);
    sandbox.write(".gemini/settings.json", &before);
    let run = sandbox.run(&["hooks", "shadow", "nobody"]).expect_exit_code(1);
    assert!(run.stderr.contains("no hook is called"), "{}", run.stderr);
    // By hand it does not work either.
    let mut guard = deny_rule("g", "ls*");
    guard["guard"] = json!(true);
    guard["mode"] = json!("shadow");
    sandbox.settings(&before_tool(&json!([guard])));
    assert!(is_denied(&call(&sandbox, "s", "ls")));
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    assert!(format!("{}{}", run.stdout, run.stderr).contains("can't be in shadow"));
}

/// A project's hook in shadow is another declaration, which waits for trust where the user wants that.
#[test]
fn a_changed_mode_needs_trust() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.settings(&before_tool(&json!([deny_rule("r", "ls*")])));
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "shadow", "r"]).expect_exit_code(0);
    assert!(run.stderr.contains("hooks trust r"), "{}", run.stderr);
    sandbox.run(&["hooks", "trust", "r"]).expect_exit_code(0);
    let list = sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert!(list.stdout.contains("shadow"), "{}", list.stdout);
}

#[test]
fn why_tells_the_story_of_a_denied_call() {
    let sandbox = project_with(&json!([deny_rule("no-make", "make*"), deny_rule("no-ls", "ls*")]));
    let run = sandbox.run(&["hooks", "why", "last"]).expect_exit_code(1);
    assert!(run.stderr.contains("no event is on record"), "{}", run.stderr);
    call(&sandbox, "s1", "make all");
    call(&sandbox, "s1", "date");
    let run = sandbox.run(&["hooks", "why", "last", "denied"]).expect_exit_code(0);
    for words in [
        "Denied: run_shell_command `make all`",
        "in claude-code, the model asked for",
        "PreToolUse in claude-code",
        "session s1",
        "no-make (rule, project settings) said deny: not that",
        "The decision was deny, by no-make.",
        "claude-code was told deny",
        "Nothing on record says that the call ran.",
    ] {
        assert!(run.stdout.contains(words), "{words}\n{}", run.stdout);
    }
    let story = sandbox.run(&["hooks", "why", "last", "denied", "--json"]).expect_exit_code(0).json();
    let number = story["line"].to_string();
    assert_eq!(story["parts"][0]["topic"], "request", "{story:#}");
    let same = sandbox.run(&["hooks", "why", &number, "--json"]).expect_exit_code(0).json();
    assert_eq!(story, same);
    let last = sandbox.run(&["hooks", "why", "last"]).expect_exit_code(0);
    assert!(last.stdout.contains("date") && last.stdout.contains("No hook objected"), "{}", last.stdout);
    for (args, words) in [
        (&["hooks", "why", "99999"][..], "is not in the journal"),
        (&["hooks", "why", "yesterday"], "neither `last` nor the number"),
        (&["hooks", "why", "1"], "about the journal itself"),
        (&["hooks", "why", &number, "denied"], "belongs to `last`"),
    ] {
        let run = sandbox.run(args).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn replay_shows_what_a_new_rule_would_have_stopped() {
    let sandbox = project_with(&json!([deny_rule("no-make", "make*")]));
    let run = sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    assert!(run.stderr.contains("no event on record"), "{}", run.stderr);
    for (session, command) in [("s1", "make all"), ("s1", "ls -l"), ("s2", "ls"), ("s2", "date")] {
        call(&sandbox, session, command);
    }
    let run = sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    assert!(run.stdout.contains("no difference") && run.stdout.contains("4 of 4"), "{}", run.stdout);
    let file = sandbox.write("new.json", before_tool(&json!([deny_rule("no-ls", "ls*")])).to_string());
    let file = file.to_str().unwrap();
    let run = sandbox.run(&["hooks", "replay", "--settings", file]).expect_exit_code(1);
    assert!(run.stdout.contains("would have stopped 2 of 4:"), "{}", run.stdout);
    assert!(run.stdout.contains("run_shell_command ls -l") && run.stdout.contains("no-ls"), "{}", run.stdout);
    let report = replay(&sandbox, &["--settings", file, "s2"]);
    assert_eq!(lines_of(&report["stops"]), ["run_shell_command ls"], "{report:#}");
    let report = replay(&sandbox, &["--since", "1h", "--settings", file, "--hook", "no-ls"]);
    assert_eq!(report["stops"].as_array().unwrap().len(), 2, "{report:#}");
    assert_eq!(report["no_longer_stops"], json!([]), "other hooks are not compared");
    // The rule changes: a stop is gone, and another hook asks.
    let ask = json!({"type": "rule", "name": "ask", "when": {"commands": ["date*"]}, "decision": "ask", "reason": "?"});
    sandbox.settings(&before_tool(&json!([deny_rule("no-make", "make install*"), ask])));
    let report = replay(&sandbox, &[]);
    assert_eq!(lines_of(&report["no_longer_stops"]), ["run_shell_command make all"], "{report:#}");
    assert_eq!(lines_of(&report["asks"]), ["run_shell_command date"], "{report:#}");
    let number = last_number(&sandbox);
    let report = replay(&sandbox, &[&number]);
    assert_eq!((&report["events"], report["asks"].as_array().unwrap().len()), (&json!(1), 1), "{report:#}");
    let pack = sandbox.run(&["hooks", "replay", "--pack", "essentials", "--json"]);
    assert!(pack.code == Some(0) || pack.code == Some(1), "{}", pack.stderr);
}

#[test]
fn a_hook_in_shadow_is_compared_by_what_it_would_decide() {
    let mut rule = deny_rule("r", "ls*");
    rule["mode"] = json!("shadow");
    let sandbox = project_with(&json!([rule.clone()]));
    call(&sandbox, "s", "ls");
    call(&sandbox, "s", "date");
    assert_eq!(replay(&sandbox, &[])["stops"], json!([]));
    assert_eq!(replay(&sandbox, &["--hook", "r"])["different"], json!(false));
    rule["when"] = json!({"commands": ["date*"]});
    sandbox.settings(&before_tool(&json!([rule])));
    let report = replay(&sandbox, &["--hook", "r"]);
    assert_eq!(lines_of(&report["stops"]), ["run_shell_command date"], "{report:#}");
    assert_eq!(lines_of(&report["no_longer_stops"]), ["run_shell_command ls"], "{report:#}");
}

#[test]
fn bad_input_is_said() {
    let sandbox = project_with(&json!([deny_rule("r", "make*")]));
    call(&sandbox, "s", "ls");
    for (args, words) in [
        (&["--hook", "nobody"][..], "no hook is called `nobody`"),
        (&["no-such-session"], "no event of a session"),
        (&["99999999"], "is not in the journal"),
        (&["1"], "about no event"),
        (&["--since", "yesterday"], "is not a time"),
        (&["--settings", "missing.json"], "can't read"),
        (&["--pack", "nothing"], "there is no pack"),
    ] {
        let run = sandbox.run(&[&["hooks", "replay"], args].concat()).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{words}: {} {}", run.stdout, run.stderr);
    }
    sandbox.write("broken.json", "{");
    sandbox.write("empty.json", "{}");
    for file in ["broken.json", "empty.json"] {
        let run = sandbox.run(&["hooks", "replay", "--settings", file]).expect_exit_code(1);
        assert!(run.stderr.contains(file), "{}", run.stderr);
    }
}

/// An event whose content is gone is neither a difference nor none.
#[test]
fn events_without_content_are_counted() {
    let sandbox = project_with(&json!([deny_rule("r", "make*")]));
    call(&sandbox, "gone", "make");
    call(&sandbox, "kept", "ls");
    sandbox.run(&["journal", "forget", "gone"]).expect_exit_code(0);
    sandbox.user_settings(&json!({"journal": {"content": "none"}}));
    call(&sandbox, "bare", "ls");
    let report = replay(&sandbox, &[]);
    assert_eq!((&report["events"], &report["replayed"]), (&json!(3), &json!(1)), "{report:#}");
    let counts: u64 = report["not_replayed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counts, 2, "{report:#}");
    let run = sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    assert!(run.stdout.contains("not replayed:") && run.stdout.contains("journal.content is none"), "{}", run.stdout);
}

#[test]
fn damaged_lines_are_left_out() {
    let sandbox = project_with(&json!([deny_rule("r", "make*")]));
    for command in ["ls", "date", "make"] {
        call(&sandbox, "s", command);
    }
    let segment = std::fs::read_dir(journal_dir(&sandbox)).unwrap().flatten().map(|entry| entry.path());
    let segment = segment.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let text = fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, text.replacen("\"command\":\"date\"", "\"command\":\"date", 1)).unwrap();
    let report = replay(&sandbox, &[]);
    assert_eq!(report["replayed"], json!(2), "{report:#}");
    assert_eq!(report["different"], json!(false), "{report:#}");
}

#[test]
fn secrets_are_said_to_be_removed() {
    let sandbox = project_with(&json!([deny_rule("r", "make*")]));
    call(&sandbox, "s", "curl -H 'Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz0123456789'");
    let run = sandbox.run(&["hooks", "replay"]).expect_exit_code(0);
    assert!(run.stdout.contains("secrets were removed from 1"), "{}", run.stdout);
}

/// A hook that changes files and calls a service does neither in a replay.
#[cfg(unix)]
#[test]
fn hooks_with_side_effects_do_not_act() {
    let sandbox = sandbox();
    let command = sandbox.script("log.sh", "cat >> \"$GEMINI_PROJECT_DIR/log\"; echo x > \"$HOME/mark\"; echo '{}'");
    let http = json!({"type": "http", "name": "service", "url": "http://127.0.0.1:9/hook"});
    let hook = json!({"type": "command", "name": "log", "command": command});
    sandbox.settings(&before_tool(&json!([hook])));
    call(&sandbox, "s", "ls");
    let logged = sandbox.read("log");
    std::fs::remove_file(sandbox.home().join("mark")).unwrap();
    sandbox.settings(&before_tool(&json!([hook, http])));
    let report = replay(&sandbox, &[]);
    assert_eq!(sandbox.read("log"), logged, "{report:#}");
    assert!(!sandbox.home().join("mark").exists());
    assert!(report["skipped_hooks"]["service"].as_str().unwrap().contains("--really"), "{report:#}");
    replay(&sandbox, &["--really", "--hook", "log"]);
    assert_ne!(sandbox.read("log"), logged);
    assert!(sandbox.home().join("mark").exists());
}

#[cfg(unix)]
#[test]
fn a_program_that_decides_is_replayed() {
    let sandbox = sandbox();
    let command =
        sandbox.script("judge.sh", "grep -q 'rm ' && echo '{\"decision\": \"deny\", \"reason\": \"rm\"}'; exit 0");
    let hook = json!({"type": "command", "name": "judge", "command": command});
    sandbox.settings(&before_tool(&json!([hook])));
    for command in ["rm a", "ls"] {
        call(&sandbox, "s", command);
    }
    assert_eq!(replay(&sandbox, &["--really"])["different"], json!(false));
    let report = replay(&sandbox, &[]);
    assert_eq!(report["different"], json!(false), "confined or skipped, it decides as it did: {report:#}");
    sandbox.script("judge.sh", "exit 0");
    let report = replay(&sandbox, &["--really"]);
    assert_eq!(lines_of(&report["no_longer_stops"]), ["run_shell_command rm a"], "{report:#}");
    sandbox.script("judge.sh", "echo oops >&2; exit 1");
    let run = sandbox.run(&["hooks", "replay", "--really"]).expect_exit_code(1);
    assert!(run.stdout.contains("fails: judge"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn a_hook_that_hangs_is_not_asked_for_ever() {
    let sandbox = project_with(&json!([]));
    for at in 0..40 {
        call(&sandbox, "s", &format!("echo {at}"));
    }
    let hook = json!({"type": "command", "name": "hangs", "command": "sleep 60", "timeout": 100});
    sandbox.settings(&before_tool(&json!([hook])));
    let report = replay(&sandbox, &["--really"]);
    assert_eq!(report["replayed"], json!(40), "{report:#}");
    assert!(report["skipped_hooks"]["hangs"].as_str().unwrap().contains("timed out"), "{report:#}");
    assert_eq!(report["hooks"][0]["fails_more"], json!(true), "{report:#}");
}

#[test]
fn an_event_of_a_project_that_is_gone_is_counted() {
    let sandbox = sandbox();
    sandbox.user_settings(&before_tool(&json!([deny_rule("r", "make*")])));
    let other = sandbox.sibling_path("other");
    std::fs::create_dir_all(other.join(".gemini")).unwrap();
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "cwd": other,
        "tool_input": {"command": "make"}});
    let mut command = sandbox.command(&["bridge", "claude-code"]);
    command.current_dir(&other).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
    assert!(child.wait_in_time().is_ok());
    std::fs::remove_dir_all(&other).unwrap();
    let report = replay(&sandbox, &[]);
    assert_eq!(report["replayed"], json!(0), "{report:#}");
    assert_eq!(report["not_replayed"]["the project's folder is gone"], json!(1), "{report:#}");
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(sandbox.project());
    git.env("HOME", sandbox.home()).env("GIT_CONFIG_NOSYSTEM", "1").stdout(std::process::Stdio::null());
    assert!(git.status_in_time().unwrap().success(), "{args:?}");
}

#[test]
fn the_hooks_of_a_commit_are_asked() {
    let sandbox = project_with(&json!([deny_rule("r", "ls*")]));
    git(&sandbox, &["init", "--quiet"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "--quiet", "-m", "first"]);
    sandbox.settings(&before_tool(&json!([deny_rule("r", "make*")])));
    let inside = sandbox.project().join("Makefile");
    for command in ["ls", "make", &format!("cat {}", inside.display())] {
        call(&sandbox, "s", command);
    }
    assert_eq!(replay(&sandbox, &[])["different"], json!(false));
    let report = replay(&sandbox, &["--as-of", "HEAD"]);
    assert_eq!(lines_of(&report["stops"]), ["run_shell_command ls"], "{report:#}");
    assert_eq!(lines_of(&report["no_longer_stops"]), ["run_shell_command make"], "{report:#}");
    for commit in ["nowhere", "HEAD~7", "--help", "HEAD:.gemini"] {
        let run = sandbox.run(&["hooks", "replay", &format!("--as-of={commit}")]).expect_exit_code(1);
        assert!(run.stderr.contains("there is no commit"), "{commit}: {}", run.stderr);
    }
    let status = sandbox.run(&["journal", "list"]).expect_exit_code(0);
    assert!(!status.stdout.is_empty());
    assert!(!sandbox.project().join(".git/worktrees").exists());
}

#[test]
fn a_line_of_the_journal_becomes_a_test_case() {
    let sandbox = project_with(&json!([deny_rule("r", "make*")]));
    let inside = sandbox.project().join("out");
    call(&sandbox, "s", &format!("make {}", inside.display()));
    let number = last_number(&sandbox);
    let run = sandbox.run(&["hooks", "test", "--from-journal", &number]).expect_exit_code(0);
    assert!(run.stdout.contains("expects deny"), "{}", run.stdout);
    let text = sandbox.read(".hookwright/recorded.hooktest.toml");
    assert!(text.contains("make ${PROJECT}/out") && !text.contains("tool_use_id"), "{text}");
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    assert!(run.stdout.contains("1 passed"), "{}", run.stdout);
    call(&sandbox, "s", "ls");
    let run = sandbox.run(&["hooks", "test", "--record"]).expect_exit_code(0);
    assert!(
        run.stdout.contains("recorded: run_shell_command ls") && run.stdout.contains("expects allow"),
        "{}",
        run.stdout
    );
    sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "fix it",
        "cwd": sandbox.project()});
    sandbox.run_with_input(&["bridge", "claude-code"], &prompt.to_string());
    let number = last_number(&sandbox);
    sandbox.run(&["hooks", "test", "--from-journal", &number, "--record", "mine.hooktest.toml"]).expect_exit_code(0);
    assert!(sandbox.read("mine.hooktest.toml").contains("prompt = \"fix it\""));
    for (number, words) in [("99999", "is not in the journal"), ("1", "can't become a case")] {
        let run = sandbox.run(&["hooks", "test", "--from-journal", number]).expect_exit_code(1);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    sandbox.run(&["journal", "forget", "s"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "test", "--from-journal", &number]).expect_exit_code(1);
    assert!(run.stderr.contains("not on record") || run.stderr.contains("forgotten"), "{}", run.stderr);
}

/// What the bridge refuses by itself is on record as that, and judged again by what refused it.
#[test]
fn refusals_of_the_bridge_are_on_record_and_replayed() {
    let guard = json!({"type": "rule", "name": "g", "guard": true, "decision": "deny", "reason": "no",
        "when": {"commands": ["rm"]}, "onDoubt": "allow"});
    let shell_guard = json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [guard]}]}});
    let sandbox = sandbox();
    sandbox.settings(&shell_guard);
    let unknown = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Frobnicate",
        "tool_use_id": "t", "cwd": sandbox.project(), "tool_input": {"x": 1}});
    assert!(is_denied(&sandbox.run_with_input(&["bridge", "claude-code"], &unknown.to_string())));
    assert!(is_denied(&sandbox.run_with_input(&["bridge", "claude-code", "--event", "PreToolUse"], "{ nonsense")));
    let mut asleep = shell_guard.clone();
    asleep["hooks"]["disabled"] = json!(["g"]);
    sandbox.settings(&asleep);
    assert!(is_denied(&call(&sandbox, "s", "ls")));
    let recorded = sandbox.run(&["journal", "query", "kind=event", "--json"]).expect_exit_code(0).json_lines();
    let refusals: Vec<&str> = recorded.iter().map(|line| line["refusal"].as_str().unwrap()).collect();
    assert_eq!(refusals, ["unknown_tool", "unreadable_payload", "guard_not_armed"]);
    assert_eq!((&recorded[1]["event"], &recorded[1]["host_event"]), (&json!("BeforeTool"), &json!("PreToolUse")));
    let why = sandbox.run(&["hooks", "why", &recorded[0]["seq"].to_string()]).expect_exit_code(0).stdout;
    assert!(why.contains("without the answer of a hook: a guard does not know the tool."), "{why}");

    // Nothing has changed for the guard that is not armed; without guards, nothing refuses the unknown tool.
    let report = replay(&sandbox, &[]);
    assert_eq!(report["not_replayed"], json!({"the bridge could not read what the agent sent": 1}), "{report:#}");
    assert_eq!(lines_of(&report["no_longer_stops"]), ["Frobnicate"], "{report:#}");
    sandbox.settings(&shell_guard);
    let report = replay(&sandbox, &[]);
    assert_eq!(lines_of(&report["no_longer_stops"]), ["run_shell_command ls"], "{report:#}");
    assert_eq!(report["no_longer_stops"][0]["by"], json!(["the bridge itself"]), "{report:#}");
    // A guard without a matcher knows every tool.
    sandbox.settings(&before_tool(&json!([guard])));
    assert_eq!(lines_of(&replay(&sandbox, &[])["no_longer_stops"]), ["Frobnicate", "run_shell_command ls"]);
}
