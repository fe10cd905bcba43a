//! Changes to guards by the agent's commands are noticed, also after a kill; how they are trusted, and what is left
//! running.
//!
//! The ways to change a guard are in `crates/agent/tests/suite/headless/tampering.rs`.

use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;

/// Denies calls that contain `forbidden`.
const GUARD_SCRIPT: &str = "if grep -q forbidden; then echo 'not allowed' >&2; exit 2; fi; exit 0";

fn shell_args(command: &str) -> Value {
    json!({"command": command})
}

/// The agent attacks its guard, then makes the forbidden call.
pub(super) fn run_attack(sandbox: &Sandbox, command: &str, more: &[&str]) -> ProgramRun {
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args(command))
        .calls("run_shell_command", shell_args("echo forbidden > made"))
        .says("done");
    run(sandbox, &replay, more)
}

fn guarded_project() -> Sandbox {
    project(&[("BeforeTool", "run_shell_command", GUARD_SCRIPT)])
}

pub(super) fn ledger_files(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.home().join(".gemini/hookwright/guards");
    if folder.exists() { files_under(&folder) } else { Vec::new() }
}

/// Other ways are in `crates/agent/tests/suite/headless/tampering.rs`, where scripts are run through `sh`.
#[test]
fn a_script_that_is_changed_or_may_not_be_executed_any_more_denies() {
    for command in ["chmod -x .gemini/hooks/hook1.sh", "printf '#!/bin/sh\\nexit 0\\n' > .gemini/hooks/hook1.sh"] {
        let sandbox = guarded_project();
        let ran = run_attack(&sandbox, command, &[]).expect_exit_code(0);
        assert!(!sandbox.has_file("made"), "{command}\n{ran:#?}");
        assert_contains(&ran.stderr, "while the agent worked");
        assert_contains(&ran.stderr, "hookwright hooks trust");
        // The next session does not start either.
        run_attack(&sandbox, "true", &[]).expect_exit_code(52);
        assert!(!sandbox.has_file("made"), "{command}");
    }
}

#[test]
fn a_trusted_change_counts_and_a_reverted_one_needs_no_trust() {
    let sandbox = guarded_project();
    let change = "sed -i 's/not allowed/still not allowed/' .gemini/hooks/hook1.sh";
    let ran = run_attack(&sandbox, change, &["-o", "json"]).expect_exit_code(0);
    assert_contains(&ran.json()["warnings"].to_string(), ".gemini/hooks/hook1.sh was changed while the agent worked");
    let shown = sandbox.run(&["hooks", "trust"]).expect_exit_code(0);
    assert_contains(&shown.stdout, ".gemini/hooks/hook1.sh (changed by an agent, waits for trust)");
    assert_contains(&shown.stdout, "+if grep -q forbidden; then echo 'still not allowed'");
    run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    assert_contains(&sandbox.run(&["hooks", "doctor"]).expect_exit_code(1).stdout, "hook1.sh was changed by an agent");
    assert_contains(&sandbox.run(&["hooks", "list"]).stdout, "untrusted");
    assert_contains(&sandbox.run(&["hooks", "list"]).stdout, "hook1.sh was changed by an agent");
    assert_contains(&sandbox.run(&["-p", "/hooks list"]).expect_exit_code(52).stderr, "an agent changed");
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    let ran = run_attack(&sandbox, "true", &[]).expect_exit_code(0);
    assert_contains(&ran.stderr, "still not allowed");
    assert!(ledger_files(&sandbox).is_empty());

    let before = sandbox.read(".gemini/hooks/hook1.sh");
    run_attack(&sandbox, ": > .gemini/hooks/hook1.sh", &[]).expect_exit_code(0);
    run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    sandbox.write(".gemini/hooks/hook1.sh", before);
    run_attack(&sandbox, "true", &[]).expect_exit_code(0);
    assert!(!sandbox.has_file("made") && ledger_files(&sandbox).is_empty());
}

#[test]
fn rules_variables_instructions_and_records_of_trust_wait_too() {
    for (before, command) in [
        (".gemini/policies/a.toml", "rm ~/.gemini/policies/a.toml"),
        (".gemini/policies/a.toml", "touch ~/.gemini/policies/b.toml"),
        (".gemini/x", "echo A=1 > .env"),
        (".gemini/x", "echo '{\"/\": \"TRUST_FOLDER\"}' > ~/.gemini/trustedFolders.json"),
        (".gemini/agents/a.md", "echo more >> ~/.gemini/agents/a.md"),
        (".gemini/x", "mkdir ~/.gemini/agents; echo x > ~/.gemini/agents/b.md"),
        (".gemini/x", "mkdir -p .gemini/agents; echo x > .gemini/agents/b.md"),
        (".gemini/x", "mkdir -p ~/.gemini/commands/git; echo 'prompt = \"x\"' > ~/.gemini/commands/git/b.toml"),
        (".gemini/x", "mkdir -p .gemini; echo x > .gemini/system.md"),
        (".gemini/x", "echo '[{\"serverName\": \"s\"}]' > ~/.gemini/mcp-oauth-tokens.json"),
    ] {
        let sandbox = crate::sandbox();
        let file = sandbox.home().join(before);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        let replay = ReplayBuilder::new().calls("run_shell_command", shell_args(command)).says("ok");
        let ran = run(&sandbox, &replay, &[]).expect_exit_code(0);
        assert_contains(&ran.stderr, "while the agent worked");
        run(&sandbox, &replay, &[]).expect_exit_code(52);
        sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
        run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    }
}

#[test]
fn the_agent_cannot_trust_its_own_changes() {
    let sandbox = guarded_project();
    let own = env!("CARGO_BIN_EXE_hookwright");
    for command in [
        format!(": > .gemini/hooks/hook1.sh; {own} hooks trust --all"),
        ": > .gemini/hooks/hook1.sh; rm -rf ~/.gemini/hookwright".to_owned(),
    ] {
        run_attack(&sandbox, &command, &[]).expect_exit_code(0);
        run_attack(&sandbox, "true", &[]).expect_exit_code(52);
        assert!(!sandbox.has_file("made"), "{command}");
        sandbox.script("hook1.sh", GUARD_SCRIPT);
        sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
        run_attack(&sandbox, "true", &[]).expect_exit_code(0);
    }
    // Not in a later call either.
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args(": > .gemini/hooks/hook1.sh"))
        .calls("run_shell_command", shell_args(&format!("{own} hooks trust --all")))
        .says("ok");
    let sandbox = project(&[("BeforeTool", "nothing", GUARD_SCRIPT)]);
    run(&sandbox, &replay, &[]).expect_exit_code(0);
    run(&sandbox, &replay, &[]).expect_exit_code(52);
}

#[test]
fn a_killed_session_leaves_a_record_of_changes() {
    let sandbox = guarded_project();
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args(": > .gemini/hooks/hook1.sh; kill -9 $PPID"))
        .says("ok");
    assert_eq!(run(&sandbox, &replay, &[]).code, None);
    run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    assert!(!sandbox.has_file("made"));
}

/// The trust record that the user's command writes is not attributed to the killed session.
#[test]
fn changes_of_a_killed_session_are_trusted_once() {
    let sandbox = guarded_project();
    let replay =
        ReplayBuilder::new().calls("run_shell_command", shell_args("echo : >> .gemini/hooks/hook1.sh; kill -9 $PPID"));
    assert_eq!(run(&sandbox, &replay, &[]).code, None);
    run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(52);
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    run_attack(&sandbox, "true", &[]).expect_exit_code(0);
    assert!(!sandbox.has_file("made"));
}

#[test]
fn reverting_a_trusted_change_needs_no_further_trust() {
    let sandbox = crate::sandbox();
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args("mkdir -p ~/.gemini; echo x > ~/.gemini/settings.json"));
    run(&sandbox, &replay.says("ok"), &[]).expect_exit_code(0);
    let again = ReplayBuilder::new().says("ok");
    run(&sandbox, &again, &[]).expect_exit_code(52);
    sandbox.run(&["hooks", "trust"]);
    sandbox.run(&["hooks", "trust", "--all"]);
    run(&sandbox, &again, &[]).expect_exit_code(52);
    std::fs::remove_file(sandbox.home().join(".gemini/settings.json")).unwrap();
    run(&sandbox, &again, &[]).expect_exit_code(0);
}

#[test]
fn trust_in_another_folder_is_no_change_of_this_one() {
    let sandbox = crate::sandbox();
    let own = env!("CARGO_BIN_EXE_hookwright");
    // As if the user did so in another terminal.
    let trusts = format!("mkdir -p ~/other && cd ~/other && {own} hooks trust --folder");
    let ran = run(&sandbox, &ReplayBuilder::new().calls("run_shell_command", shell_args(&trusts)).says("ok"), &[])
        .expect_exit_code(0);
    assert_lacks(&ran.stderr, "while the agent worked");
    let record = fs::read_to_string(sandbox.home().join(".gemini/trustedFolders.json")).unwrap();
    assert!(record.contains("/other"), "{record}");
    run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    // A rule about this folder is, and does not concern other folders.
    let own_rule = format!("{own} hooks trust --folder");
    run(&sandbox, &ReplayBuilder::new().calls("run_shell_command", shell_args(&own_rule)).says("ok"), &[])
        .expect_exit_code(0);
    let replay = sandbox.replay(&ReplayBuilder::new().says("ok"));
    run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(52);
    let mut command = sandbox.command(&["-p", "go", "-y", "--fake-responses", &replay]);
    let elsewhere = command.current_dir(sandbox.home().join("other")).spawn().unwrap();
    hookwright_testkit::finish(elsewhere).expect_exit_code(0);
}

/// A process that a call leaves behind, without its output, still belongs to the call and ends with the session.
#[test]
fn nothing_that_a_call_leaves_behind_changes_a_guard_unseen() {
    let waits = "while [ ! -e go ]; do sleep 0.02; done; : > .gemini/hooks/hook1.sh; touch rewritten";
    for command in [
        format!("({waits}) >/dev/null 2>&1 &"),
        format!("({waits}) >/dev/null 2>&1 & disown; exec >/dev/null 2>&1"),
        format!("set -m; ({waits}) >/dev/null 2>&1 &"),
        format!("trap '' TERM HUP; nohup sh -c '{waits}' >/dev/null 2>&1 </dev/null &"),
        format!("(setsid sh -c '{waits}' >/dev/null 2>&1 </dev/null &)"),
        format!("(env -i PATH=\"$PATH\" setsid sh -c '({waits}) &' >/dev/null 2>&1 </dev/null &)"),
        format!("(ulimit -x 7; setsid sh -c '({waits}) &' >/dev/null 2>&1 </dev/null &)"),
    ] {
        // It waits for a later call.
        let sandbox = guarded_project();
        let replay = ReplayBuilder::new()
            .calls("run_shell_command", shell_args(&command))
            .calls("run_shell_command", shell_args("touch go; until [ -e rewritten ]; do sleep 0.02; done"))
            .calls("run_shell_command", shell_args("echo forbidden > made"))
            .says("done");
        let ran = run(&sandbox, &replay, &[]).expect_exit_code(0);
        assert_contains(&ran.stderr, ".gemini/hooks/hook1.sh was changed while the agent worked");
        assert!(!sandbox.has_file("made"), "{command}");
        // It waits for the session's end, and ends with it.
        let sandbox = guarded_project();
        let command = format!("echo $$ > pid; {command}");
        run(&sandbox, &ReplayBuilder::new().calls("run_shell_command", shell_args(&command)).says("ok"), &[])
            .expect_exit_code(0);
        let session = sandbox.read("pid").trim().to_owned();
        assert_eq!(living_in(&session), Vec::<String>::new(), "{command}");
    }
}

/// Returns the names of a session's processes.
fn living_in(session: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let is_in = |stat: &String| {
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        !matches!(fields[0], "Z" | "X") && fields[3] == session
    };
    stats.filter(is_in).collect()
}

#[test]
fn an_opaque_guard_covers_its_whole_folder() {
    for (root_is_home, change) in [(false, ": > .gemini/lib/rules.txt"), (true, "true")] {
        let sandbox = crate::sandbox();
        let root = if root_is_home { sandbox.home() } else { sandbox.project() };
        std::fs::create_dir_all(root.join(".gemini/lib")).unwrap();
        std::fs::write(root.join(".gemini/lib/rules.txt"), "forbidden").unwrap();
        let hook = json!({"type": "command", "command": "eval \"$(date '+grep -q forbidden') && exit 2; exit 0\""});
        let settings = json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}});
        std::fs::write(root.join(".gemini/settings.json"), settings.to_string()).unwrap();
        let replay = sandbox.replay(
            &ReplayBuilder::new()
                .calls("save_memory", json!({"fact": "likes tea"}))
                .calls("run_shell_command", shell_args(change))
                .calls("run_shell_command", shell_args("echo forbidden > made"))
                .says("ok"),
        );
        let mut command = sandbox.command(&["-p", "go", "-y", "--fake-responses", &replay]);
        let ran = hookwright_testkit::finish(command.current_dir(&root).spawn().unwrap()).expect_exit_code(0);
        assert_eq!(ran.stderr.contains("while the agent worked"), !root_is_home, "{ran:#?}");
        assert!(!root.join("made").exists());
    }
}

#[test]
fn one_hook_is_trusted_by_name_but_not_with_the_settings_of_others() {
    let sandbox = guarded_project();
    run_attack(&sandbox, "echo '# noted' >> .gemini/hooks/hook1.sh", &[]).expect_exit_code(0);
    assert_contains(
        &sandbox.run(&["hooks", "trust", "hook1"]).expect_exit_code(0).stderr,
        "hook1.sh is trusted now, with the agent's changes",
    );
    assert_contains(
        &run_attack(&sandbox, "true", &[]).expect_exit_code(0).stderr,
        "Tool execution blocked: not allowed",
    );
    run_attack(&sandbox, "sed -i 's/\"run_shell_command\"/\"nothing\"/' .gemini/settings.json", &[])
        .expect_exit_code(0);
    let run = sandbox.run(&["hooks", "trust", "hook1"]).expect_exit_code(1);
    assert_contains(&run.stderr, "settings.json was changed by an agent and declares more than this hook");
    run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    assert!(!sandbox.has_file("made"));
}

#[test]
fn without_a_ledger_no_session_starts_unattended() {
    for damage in [
        "mkdir -p hookwright; touch hookwright/guards",
        "mkdir -p hookwright/guards; echo x > hookwright/guards/a.json",
    ] {
        let sandbox = guarded_project();
        let folder = sandbox.home().join(".gemini");
        let made = format!("mkdir -p '{0}'; cd '{0}'; {damage}", folder.display());
        assert!(std::process::Command::new("sh").args(["-c", &made]).status_in_time().unwrap().success());
        let ran = run_attack(&sandbox, "touch made", &[]).expect_exit_code(52);
        assert_contains(
            &ran.stderr,
            ".gemini/hookwright/guards, which records changes by agents to guards, can't be used",
        );
        let error = run_attack(&sandbox, "touch made", &["-o", "json"]).expect_exit_code(52).json()["error"].clone();
        assert_eq!((&error["type"], &error["code"]), (&json!("unguarded"), &json!(52)));
        assert_contains(error["message"].as_str().unwrap(), ".gemini/hookwright/guards");
        assert!(!sandbox.has_file("made"), "{damage}");
    }
}

/// Without a hook that can deny, the ledger is not written before something runs; then it is, so that a kill hides
/// nothing.
#[test]
fn without_hooks_the_ledger_begins_with_the_first_call() {
    let sandbox = crate::sandbox();
    run(&sandbox, &ReplayBuilder::new().says("done"), &[]).expect_exit_code(0);
    assert!(!sandbox.home().join(".gemini/hookwright/guards").exists());
    run_attack(&sandbox, "ls ~/.gemini/hookwright/guards > seen", &[]).expect_exit_code(0);
    let seen = sandbox.read("seen");
    assert!(seen.contains(".json") && seen.contains(".lock"), "{seen}");
    assert!(ledger_files(&sandbox).is_empty() && sandbox.has_file("made"));
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch planted"}]}]}});
    let plant = format!("mkdir .gemini; echo '{hook}' > .gemini/settings.json; kill -9 $PPID; sleep 5");
    let killed = run_attack(&sandbox, &plant, &[]);
    assert_ne!(killed.code, Some(0), "{killed:?}");
    let ran = run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    assert_contains(&ran.stderr, ".gemini/settings.json");
    assert!(!sandbox.has_file("planted"));
}

/// Files beside an extension decide whether its guards are active.
#[test]
fn no_extension_is_switched_off_unseen() {
    let off = json!({"ext": {"overrides": ["!/*"]}}).to_string();
    for linked in [false, true] {
        let sandbox = crate::sandbox();
        let installed = sandbox.home().join(".gemini/extensions/ext");
        let folder = if linked { sandbox.home().join("elsewhere") } else { installed.clone() };
        std::fs::create_dir_all(folder.join("hooks")).unwrap();
        std::fs::create_dir_all(&installed).unwrap();
        std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "ext", "version": "1.0.0"}"#).unwrap();
        let hook = json!({"type": "command", "name": "theirs", "command": GUARD_SCRIPT, "guard": true});
        let hooks = json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}});
        std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
        let install = installed.join(".gemini-extension-install.json");
        let link = json!({"type": "link", "source": folder.to_str().unwrap()}).to_string();
        let (file, before, after) = match linked {
            true => (install, Some(link), "{}".to_owned()),
            false => (installed.with_file_name("extension-enablement.json"), None, off.clone()),
        };
        let put_back = || match &before {
            Some(before) => std::fs::write(&file, before).unwrap(),
            None => drop(std::fs::remove_file(&file)),
        };
        put_back();
        assert_contains(&run_attack(&sandbox, "true", &[]).expect_exit_code(0).stderr, "not allowed");
        // By the agent.
        let ran = run_attack(&sandbox, &format!("echo '{after}' > '{}'", file.display()), &[]).expect_exit_code(0);
        assert_contains(&ran.stderr, "while the agent worked");
        run_attack(&sandbox, "true", &[]).expect_exit_code(52);
        assert_contains(&sandbox.run(&["hooks", "trust"]).stdout, file.file_name().unwrap().to_str().unwrap());
        put_back();
        assert_contains(&run_attack(&sandbox, "true", &[]).expect_exit_code(0).stderr, "not allowed");
        // By another program, between sessions: reported at every start.
        std::fs::write(&file, after).unwrap();
        for _ in 0..2 {
            let ran = run_attack(&sandbox, "true", &[]).expect_exit_code(52);
            assert_contains(&ran.stderr, "guard `theirs` (");
            assert_contains(&ran.stderr, "was active here and no longer is");
        }
        assert!(!sandbox.has_file("made"), "{linked}");
        // Disabling the extension in the settings is the permanent way.
        sandbox.user_settings(&json!({"extensions": {"disabled": ["ext"]}}));
        run_attack(&sandbox, "true", &[]).expect_exit_code(0);
        assert!(sandbox.has_file("made"), "{linked}");
    }
}
