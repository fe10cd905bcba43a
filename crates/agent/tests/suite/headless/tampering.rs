//! Changes to guards by the agent's commands are noticed: a changed guard denies, new hooks do not run, and the next
//! session does not accept the changes silently.

use super::*;

/// Denies calls that contain `forbidden`.
const GUARD_SCRIPT: &str = "if grep -q forbidden; then echo 'not allowed' >&2; exit 2; fi; exit 0";

fn shell_args(command: &str) -> Value {
    json!({"command": command})
}

/// The agent attacks its guard, then makes the forbidden call.
fn attack_replay(command: &str) -> ReplayBuilder {
    ReplayBuilder::new()
        .calls("run_shell_command", shell_args(command))
        .calls("run_shell_command", shell_args("echo forbidden > made"))
        .says("done")
}

fn run_attack(sandbox: &HeadlessProject, command: &str) -> HeadlessRun {
    run_hello(sandbox, &attack_replay(command))
}

fn guarded_project() -> HeadlessProject {
    project(&[("BeforeTool", "run_shell_command", GUARD_SCRIPT)])
}

fn ledger_files(sandbox: &HeadlessProject) -> Vec<PathBuf> {
    let folder = sandbox.home_dir().join(".gemini/hookwright/guards");
    if folder.exists() { files_under(&folder) } else { Vec::new() }
}

#[test]
fn a_changed_guard_denies_however_it_was_changed() {
    for command in [
        "printf '#!/bin/sh\\nexit 0\\n' > .gemini/hooks/hook1.sh",
        "printf '#!/bin/sh\\nexit 0\\n' > x; chmod +x x; mv x .gemini/hooks/hook1.sh",
        "sed -i 's/exit 2/exit 0/' .gemini/hooks/hook1.sh",
        "cd .gemini/hooks; cp -p hook1.sh old; sed 's/exit 2/exit 0/' old > hook1.sh; touch -r old hook1.sh",
        "exec 3<>.gemini/hooks/hook1.sh; printf '#!/bin/sh\\nexit 0\\n' > /proc/self/fd/3",
        ": > .gemini/hooks/hook1.sh",
        "rm .gemini/hooks/hook1.sh",
        "ln -sf /bin/true .gemini/hooks/hook1.sh",
        "mv .gemini .g2",
        "mv .gemini .g2; cp -r .g2 .gemini; echo 'exit 0' > .gemini/hooks/hook1.sh",
        "rm -r .gemini",
        "echo '{}' > .gemini/settings.json",
        "echo '{' > .gemini/settings.json",
        "sed -i 's/hook1.sh/other.sh/' .gemini/settings.json",
        "sed -i 's/\"run_shell_command\"/\"nothing\"/' .gemini/settings.json",
        "mkdir -p ~/.gemini; echo '{\"hooksConfig\": {\"disabled\": [\"hook1\"]}}' > ~/.gemini/settings.json",
        "echo '{\"hooksConfig\": {\"enabled\": false}}' > \"$GEMINI_CLI_SYSTEM_SETTINGS_PATH\"",
    ] {
        let sandbox = guarded_project();
        let ran = run_attack(&sandbox, command);
        assert!(!sandbox.exists("made"), "{command}\n{ran:#?}");
        assert_contains(&ran.messages, "while the agent worked");
        assert_contains(&ran.messages, "hookwright hooks trust");
        // The next session does not start either.
        refusal(&sandbox, &attack_replay("true"));
        assert!(!sandbox.exists("made"), "{command}");
    }
}

#[test]
fn nothing_is_noticed_where_nothing_changed() {
    for command in [
        "true",
        "cp .gemini/hooks/hook1.sh x; rm .gemini/hooks/hook1.sh; cp -p x .gemini/hooks/hook1.sh",
        "touch .gemini/*.json",
    ] {
        let sandbox = guarded_project();
        let ran = run_attack(&sandbox, command);
        assert_contains(&ran.messages, "Tool execution blocked: not allowed");
        assert_lacks(&ran.messages, "while the agent worked");
        assert!(ledger_files(&sandbox).is_empty());
        run_attack(&sandbox, "true");
    }
}

#[test]
fn a_hook_that_the_agent_adds_does_not_run() {
    let sandbox = empty_project();
    let hook = r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}}"#;
    let command = format!("mkdir -p .gemini; echo '{hook}' > .gemini/settings.json");
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args(&command))
        .calls("run_shell_command", shell_args("true"))
        .says("ok");
    let ran = run_prompt(&sandbox, "go", &replay);
    assert_contains(&ran.messages, ".gemini/settings.json was made while the agent worked");
    refusal(&sandbox, &replay);
    assert!(!sandbox.exists("pwned"));
}

#[test]
fn an_event_that_cannot_be_denied_goes_on_without_its_changed_hook() {
    let sandbox = project(&[("SessionEnd", "*", "touch ended")]);
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", shell_args("echo 'touch pwned' >> .gemini/hooks/hook1.sh"))
        .says("ok");
    let ran = run_prompt(&sandbox, "go", &replay);
    assert_contains(
        &ran.messages,
        "hook1 (project, SessionEnd): did not run: .gemini/hooks/hook1.sh was changed while the agent worked",
    );
    assert!(!sandbox.exists("ended") && !sandbox.exists("pwned"));
}

#[test]
fn changes_by_agent_code_that_a_hook_runs_are_noticed() {
    // The hook runs the project's tests, and the agent wrote those.
    let sandbox = project(&[
        ("AfterTool", "write_file", "ls | grep '[.]x$' | xargs -n1 sh"),
        ("BeforeTool", "run_shell_command", GUARD_SCRIPT),
    ]);
    let replay = ReplayBuilder::new()
        .calls("write_file", json!({"file_path": "t.x", "content": ": > .gemini/hooks/hook2.sh"}))
        .calls("run_shell_command", shell_args("echo forbidden > made"))
        .says("done");
    let ran = run_prompt(&sandbox, "go", &replay);
    assert_contains(&ran.messages, ".gemini/hooks/hook2.sh was changed while the agent worked");
    assert!(!sandbox.exists("made"));
}

#[test]
fn paths_that_the_user_gives_free_are_not_watched() {
    let sandbox = guarded_project();
    sandbox.write_user_settings(&json!({"security": {"protectedPaths": ["!.gemini/hooks/**"]}}));
    let ran = run_attack(&sandbox, "printf '#!/bin/sh\\nexit 0\\n' > .gemini/hooks/hook1.sh");
    assert_lacks(&ran.messages, "while the agent worked");
    assert!(sandbox.exists("made"));
}

/// The agent empties the settings of a user's guard and wipes the record of that change in one call.
#[test]
fn wiping_the_memory_of_a_change_has_no_effect() {
    let empty = "echo '{}' > settings.json";
    for wipe in [
        "rm -rf hookwright/guards; touch hookwright/guards",
        "rm -rf hookwright; touch hookwright",
        "rm -rf hookwright; ln -s nowhere hookwright",
        "rm -f hookwright/guards/*",
        "chmod 000 hookwright/guards; chmod 000 hookwright",
        "for f in hookwright/guards/*.json; do rm $f; mkdir -p $f/x; done",
        "for f in hookwright/guards/*.json; do ln -sf /dev/null $f; done",
        "for f in hookwright/guards/*.json; do echo '{\"project\":\"\",\"files\":[]}' > $f; chmod 444 $f; done",
    ] {
        for record in ["echo '{\"files\":{}}' > known_guards.json", "rm known_guards.json; mkdir known_guards.json"] {
            let sandbox = empty_project();
            let hook = json!({"type": "command", "name": "mine", "command": GUARD_SCRIPT, "guard": true});
            let settings = json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}});
            sandbox.write_user_settings(&settings);
            let warnings = run_attack(&sandbox, &format!("cd ~/.gemini; {empty}; {record}; {wipe}")).messages;
            for file in ["known_guards.json was changed", "json was changed", "settings.json was changed"] {
                assert_contains(&warnings, &format!("{file} while the agent worked"));
            }
            assert_contains(&refusal(&sandbox, &attack_replay("true")), ".gemini/settings.json");
            assert!(!sandbox.exists("made"), "{wipe} {record}");
            let known = fs::read_to_string(sandbox.home_dir().join(".gemini/known_guards.json")).unwrap();
            assert_contains(&known, "mine");
            sandbox.write_user_settings(&settings);
            run_attack(&sandbox, "true");
            assert!(!sandbox.exists("made") && ledger_files(&sandbox).is_empty(), "{wipe} {record}");
        }
    }
}
