//! `hookwright setup`: one command that guards the agents, proves it, and can be taken back to the byte.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hookwright_testkit::{ProgramRun, Sandbox, finish, fs, wait_until};
use serde_json::json;

use super::agents::{as_claude, place, program};

/// Settings of a user with comments, tabs, CRLF and a trailing comma.
const ODD_SETTINGS: &str = "{\r\n\t// mine\r\n\t\"model\": \"x\" ,\r\n\t\"list\": [1,2 , 3,],\r\n}";

/// A sandbox with a pack of two rules in the project.
fn place_with_pack() -> Sandbox {
    let sandbox = place();
    let rule = |name: &str, when: serde_json::Value| json!({"type": "rule", "name": name, "decision": "deny", "reason": "no", "when": when});
    let rules = [
        rule("no-force-push", json!({"commands": ["git push --force*"]})),
        rule("no-env", json!({"reads": ["**/.env"]})),
    ];
    sandbox.write("team/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": rules}]}}).to_string());
    sandbox.write("team/team.hooktest.toml", "settings = \"hooks.json\"\n");
    sandbox.write("team/README.md", "# team: two rules\n");
    sandbox
}

/// Every file and folder of home and project, with the files' bytes and modes.
fn tree(sandbox: &Sandbox) -> BTreeMap<PathBuf, Option<(u32, Vec<u8>)>> {
    fn walk(folder: &Path, into: &mut BTreeMap<PathBuf, Option<(u32, Vec<u8>)>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, into);
                into.insert(path, None);
            } else {
                let mode = path.metadata().unwrap().permissions().mode();
                into.insert(path.clone(), Some((mode, fs::read(&path).unwrap())));
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(&sandbox.home(), &mut all);
    walk(&sandbox.project(), &mut all);
    all
}

fn write_home(sandbox: &Sandbox, path: &str, text: &str) -> PathBuf {
    let file = sandbox.home().join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

fn versions_only(sandbox: &Sandbox) {
    let bin = sandbox.sibling_path("bin");
    program(&bin, "claude", "echo '2.1.327 (Claude Code)'");
    program(&bin, "codex", "echo 'codex-cli 0.169.0'");
}

/// A run that does not try the guards: fast, and never a proof.
fn set_up(sandbox: &Sandbox, more: &[&str]) -> ProgramRun {
    sandbox.run(&[&["setup", "--yes", "--no-live", "--pack", "./team"], more].concat())
}

#[test]
fn one_command_guards_an_agent_and_proves_it_and_is_undone_to_the_byte() {
    let sandbox = place_with_pack();
    if !as_claude(&sandbox) {
        return;
    }
    let settings = write_home(&sandbox, ".claude/settings.json", ODD_SETTINGS);
    write_home(&sandbox, ".hookwright/hooks.json", "{ /* mine */ \"hooks\": {}}");
    std::fs::set_permissions(&settings, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = tree(&sandbox);
    let run = sandbox.run(&["setup", "--yes", "--agents", "claude", "--pack", "./team"]).expect_exit_code(0);
    for text in [
        "Agents: Claude Code 2.1.400\n",
        "Claude Code: 11 entries in ~/.claude/settings.json\n",
        "Pack team: 2 guards in ~/.hookwright/hooks.json: no-force-push, no-env\n",
        "no-force-push  held\n",
        "no-env         held\n",
        "all in all     guarded\n",
        "Every agent is guarded",
    ] {
        assert!(run.stdout.contains(text), "{text}: {run:?}");
    }
    assert!(
        run.stderr.contains("Trying Claude Code (1 of 1) .......... trial hooks 10 of 10, guards 2 of 2"),
        "{run:?}"
    );
    let written = fs::read_to_string(&settings).unwrap();
    assert!(written.contains("// mine") && written.contains("bridge claude-code"), "{written}");
    let hooks = fs::read_to_string(sandbox.home().join(".hookwright/hooks.json")).unwrap();

    // Again is harmless, and a proof again.
    let again = sandbox.run(&["setup", "--agents", "all", "--pack", "./team"]).expect_exit_code(0);
    assert!(again.stdout.contains("Nothing to change: all of it is set up already."), "{again:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), written);
    assert_eq!(fs::read_to_string(sandbox.home().join(".hookwright/hooks.json")).unwrap(), hooks);
    sandbox.run(&["agents", "doctor"]).expect_exit_code(0);

    let refused = sandbox.run_with_input(&["setup", "--undo"], "n\n").expect_exit_code(1);
    assert!(refused.stderr.contains("not confirmed; nothing was changed"), "{refused:?}");
    let dry = sandbox.run(&["setup", "--undo", "--dry-run"]).expect_exit_code(0);
    assert!(dry.stdout.contains("~/.claude/settings.json: restored as it was\n"), "{dry:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), written);
    let undone = sandbox.run_with_input(&["setup", "--undo"], "y\n").expect_exit_code(0);
    assert!(undone.stderr.contains("everything is as it was before setup"), "{undone:?}");
    assert_eq!(tree(&sandbox), before);
    let nothing = sandbox.run(&["setup", "--undo"]).expect_exit_code(0);
    assert!(nothing.stderr.contains("there is nothing to undo in the user's settings"), "{nothing:?}");
}

#[test]
fn nothing_is_written_before_a_yes() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    write_home(&sandbox, ".claude/settings.json", ODD_SETTINGS);
    let before = tree(&sandbox);
    for input in ["n\n", "", "what?\n"] {
        let no = sandbox.run_with_input(&["setup", "--pack", "./team"], input).expect_exit_code(1);
        assert!(no.stderr.contains("not confirmed; nothing was changed"), "{no:?}");
        assert!(no.stdout.contains("Codex CLI: 9 entries in ~/.codex/hooks.json"), "{no:?}");
        assert_eq!(tree(&sandbox), before, "{input:?}");
    }
    let shown = sandbox.run_with_input(&["setup", "--pack", "./team"], "d\nn\n").expect_exit_code(1);
    assert!(shown.stdout.contains("bridge codex --event PreToolUse") && shown.stdout.contains("+++ "), "{shown:?}");
    let dry = sandbox.run(&["setup", "--pack", "./team", "--dry-run"]).expect_exit_code(0);
    assert!(dry.stdout.contains("no-force-push") && dry.stdout.contains("+++ "), "{dry:?}");
    let json = sandbox.run(&["setup", "--pack", "./team", "--dry-run", "--json"]).expect_exit_code(0).json();
    assert_eq!((&json["dry_run"], &json["plan"]["changes"]), (&json!(true), &json!(true)), "{json}");
    assert_eq!(json["plan"]["packs"][0]["added"], json!(["no-force-push", "no-env"]), "{json}");
    let asks = sandbox.run(&["setup", "--json"]).expect_exit_code(1);
    assert!(asks.stderr.contains("--json can't ask: add --yes or --dry-run"), "{asks:?}");
    assert_eq!(tree(&sandbox), before);
}

/// Starts the program with open pipes, and returns it once its stderr or its files show what is waited for.
fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    sandbox.command(args).stdin(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).spawn().unwrap();
    finish(kill).expect_exit_code(0);
}

#[test]
fn ctrl_c_at_the_question_changes_nothing() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let before = tree(&sandbox);
    let mut child = start(&sandbox, &["setup", "--pack", "./team"]);
    let (mut stderr, mut said) = (child.stderr.take().unwrap(), Vec::new());
    while !said.ends_with(b"the diff] ") {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    interrupt(&child);
    let run = finish(child);
    assert_ne!(run.code, Some(0), "{run:?}");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn an_interrupted_setup_is_mended_by_undo() {
    let sandbox = place_with_pack();
    program(&sandbox.sibling_path("bin"), "claude", "[ \"$1\" = --version ] && echo '2.1.327' && exit; exec sleep 600");
    let settings = write_home(&sandbox, ".claude/settings.json", ODD_SETTINGS);
    let before = tree(&sandbox);
    let child = start(&sandbox, &["setup", "--yes", "--pack", "./team"]);
    wait_until("the entries are written", || fs::read_to_string(&settings).unwrap().contains("bridge claude-code"));
    interrupt(&child);
    assert_ne!(finish(child).code, Some(0));
    sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(0);
    assert_eq!(tree(&sandbox), before);
}

/// Whichever write was the last one before the program was killed, undo restores the state before.
#[test]
fn a_setup_that_ends_after_any_write_is_mended_by_undo() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    write_home(&sandbox, ".claude/settings.json", ODD_SETTINGS);
    let before = tree(&sandbox);
    set_up(&sandbox, &[]).expect_exit_code(1);
    let journal = sandbox.home().join(".gemini/hookwright/setup-user.json");
    let text = fs::read_to_string(&journal).unwrap();
    let entries = serde_json::from_str::<serde_json::Value>(&text).unwrap()["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), 4, "{text}");
    for done in 0..entries.len() {
        if !journal.exists() {
            set_up(&sandbox, &[]).expect_exit_code(1);
        }
        // The changes from this one on are recorded, but were not made.
        for entry in &entries[done..] {
            let path = Path::new(entry["path"].as_str().unwrap());
            match entry["before"].as_str() {
                Some(text) => std::fs::write(path, text).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
        }
        sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(0);
        assert_eq!(tree(&sandbox), before, "{done}");
    }
}

#[test]
fn what_was_changed_since_is_not_undone() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let settings = write_home(&sandbox, ".claude/settings.json", ODD_SETTINGS);
    set_up(&sandbox, &[]).expect_exit_code(1);
    let changed = fs::read_to_string(&settings).unwrap().replace("\"x\"", "\"y\"");
    std::fs::write(&settings, &changed).unwrap();
    let json = sandbox.run(&["setup", "--undo", "--dry-run", "--json"]).expect_exit_code(0).json();
    assert_eq!((&json["ok"], &json["changed_since"]), (&json!(false), &json!([settings])), "{json}");
    let undone = sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(1);
    assert!(
        undone.stderr.contains("~/.claude/settings.json was changed since setup, so it stays as it is"),
        "{undone:?}"
    );
    assert!(undone.stderr.contains("`hookwright agents uninstall claude-code`"), "{undone:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), changed);
    assert!(!sandbox.home().join(".codex").exists() && !sandbox.home().join(".hookwright").exists());
    // Once the entries are gone, nothing is left to undo.
    sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(1);
    sandbox.run(&["agents", "uninstall", "claude-code", "--yes"]).expect_exit_code(0);
    sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), ODD_SETTINGS.replace("\"x\"", "\"y\""));
    assert!(!sandbox.home().join(".gemini").exists());
}

/// A user's edit between two setups is neither lost nor undone.
#[test]
fn a_second_setup_is_undone_as_far_as_the_users_edit() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let hooks = sandbox.home().join(".hookwright/hooks.json");
    set_up(&sandbox, &["--agents", "codex"]).expect_exit_code(1);
    let edited = fs::read_to_string(&hooks).unwrap().replace("no-env", "not-env");
    std::fs::write(&hooks, &edited).unwrap();
    set_up(&sandbox, &["--agents", "codex"]).expect_exit_code(1);
    assert!(fs::read_to_string(&hooks).unwrap().contains("\"no-env\""));
    let undone = sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(1);
    assert!(undone.stderr.contains("~/.hookwright/hooks.json was changed since setup"), "{undone:?}");
    assert_eq!(fs::read_to_string(&hooks).unwrap(), edited);
    assert!(!sandbox.home().join(".codex").exists());
}

#[test]
fn without_a_trial_nothing_is_proven() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let run = set_up(&sandbox, &["--agents", "claude-code"]).expect_exit_code(5);
    assert!(run.stdout.contains("no-force-push  not proven\n"), "{run:?}");
    assert!(run.stdout.contains("all in all     not proven: --no-live\n"), "{run:?}");
    assert!(!run.stdout.contains("Every agent is guarded"), "{run:?}");
    let json = set_up(&sandbox, &["--json"]).expect_exit_code(1).json();
    assert_eq!(
        (&json["ok"], &json["plan"]["packs"][0]["present"]),
        (&json!(false), &json!(["no-force-push", "no-env"])),
        "{json:#}"
    );
    let agents: Vec<(&str, bool)> = json["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["agent"].as_str().unwrap(), one["proven"].as_bool().unwrap()))
        .collect();
    assert_eq!(agents, [("claude-code", false), ("codex", false)]);
    // Every no has its next step.
    let text = set_up(&sandbox, &[]).expect_exit_code(1);
    assert!(
        text.stdout.contains("no: not trusted by it") && text.stdout.contains("next: start codex and trust"),
        "{text:?}"
    );
}

/// The guards of all users stand in the machine's settings, locked, and are taken back with the agents' entries.
#[test]
fn the_guards_of_a_machine_are_locked() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let root = sandbox.sibling_path("root");
    let sandbox = sandbox.env("HOOKWRIGHT_MACHINE_ROOT", root.to_str().unwrap());
    let before = tree(&sandbox);
    let options = ["setup", "--machine", "--yes", "--no-live", "--agents", "claude", "--pack", "./team"];
    let run = sandbox.run(&options).expect_exit_code(5);
    let hooks = sandbox.home().join("hookwright/hooks.json");
    assert!(run.stdout.contains("Pack team: 2 guards in ~/hookwright/hooks.json: no-force-push, no-env"), "{run:?}");
    assert_eq!(fs::read_to_string(&hooks).unwrap().matches("\"locked\": true").count(), 2);
    // Neither the user nor a flag switches them off.
    sandbox.user_settings(&json!({"hooksConfig": {"disabled": ["no-env"]}, "hooks": {"disabled": ["no-force-push"]}}));
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let states: Vec<&str> = listed.as_array().unwrap().iter().map(|hook| hook["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["armed", "armed"], "{listed:#}");
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": sandbox.project(),
        "tool_name": "Bash", "tool_input": {"command": "git push --force"}});
    let denied = sandbox.run_with_input(&["bridge", "claude-code", "--event", "PreToolUse"], &payload.to_string());
    assert!(denied.stdout.contains("\"deny\""), "{denied:?}");
    std::fs::remove_file(sandbox.home().join(".gemini/settings.json")).unwrap();
    sandbox.run(&["setup", "--undo", "--machine", "--yes"]).expect_exit_code(0);
    assert!(!hooks.exists() && !root.join("etc/claude-code/managed-settings.json").exists());
    assert_eq!(before.keys().filter(|path| path.starts_with(sandbox.home().join("hookwright"))).count(), 0);
}

#[test]
fn no_agent_no_pack_and_bad_names_are_said() {
    let sandbox = place_with_pack();
    let before = tree(&sandbox);
    let none = sandbox.run(&["setup", "--yes"]).expect_exit_code(1);
    assert!(none.stderr.contains("no agent was found on this machine; nothing was changed"), "{none:?}");
    assert!(none.stderr.contains("known agents: claude-code, codex"), "{none:?}");
    let json = sandbox.run(&["setup", "--yes", "--json"]).expect_exit_code(1).json();
    assert_eq!(json["ok"], json!(false));
    versions_only(&sandbox);
    let agent = sandbox.run(&["setup", "--yes", "--agents", "claude,clod"]).expect_exit_code(1);
    assert!(agent.stderr.contains("invalid value 'clod'"), "{agent:?}");
    let pack = sandbox.run(&["setup", "--yes", "--pack", "./team,quite"]).expect_exit_code(1);
    assert!(pack.stderr.contains("there is no pack `quite`") && pack.stderr.contains("quiet"), "{pack:?}");
    let both = sandbox.run(&["setup", "--pack", "./team", "--no-pack"]).expect_exit_code(1);
    assert!(both.stderr.contains("cannot be used with"), "{both:?}");
    let placeless = sandbox.run(&["setup", "--machine", "--yes", "--agents", "qwen"]).expect_exit_code(1);
    assert!(placeless.stderr.contains("documents no settings of the machine"), "{placeless:?}");
    assert_eq!(tree(&sandbox), before);
    // Entries without a guard are no protection.
    let bare = sandbox.run(&["setup", "--yes", "--no-pack", "--no-live", "--agents", "claude"]).expect_exit_code(1);
    assert!(bare.stdout.contains("there is no guard here yet"), "{bare:?}");
    sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(0);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn settings_that_can_not_be_edited_are_left_out() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    let broken = write_home(&sandbox, ".claude/settings.json", "{ \"model\": ");
    let alone = set_up(&sandbox, &["--agents", "claude"]).expect_exit_code(1);
    assert!(
        alone.stderr.contains("Claude Code: left out") && alone.stderr.contains("the settings of no agent"),
        "{alone:?}"
    );
    assert!(!sandbox.home().join(".hookwright").exists());
    let other = set_up(&sandbox, &[]).expect_exit_code(1);
    assert!(other.stderr.contains("Claude Code: left out"), "{other:?}");
    assert!(sandbox.home().join(".codex/hooks.json").exists());
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{ \"model\": ");
    sandbox.run(&["setup", "--undo", "--yes"]).expect_exit_code(0);
    // A broken file of guards is named, and nothing is written.
    let hooks = write_home(&sandbox, ".hookwright/hooks.json", "{ nonsense");
    let before = tree(&sandbox);
    let run = set_up(&sandbox, &[]).expect_exit_code(1);
    assert!(run.stderr.contains(hooks.to_str().unwrap()), "{run:?}");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn where_nothing_can_be_recorded_nothing_is_changed() {
    let sandbox = place_with_pack();
    versions_only(&sandbox);
    write_home(&sandbox, ".gemini", "a file in the place of the folder");
    let before = tree(&sandbox);
    let run = set_up(&sandbox, &["--agents", "codex"]).expect_exit_code(1);
    assert!(run.stderr.contains("setup can't record what it changes, so it changes nothing"), "{run:?}");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_project_is_set_up_for_everyone_and_trusted() {
    let sandbox = place_with_pack().untrusted();
    versions_only(&sandbox);
    let before = tree(&sandbox);
    let run = set_up(&sandbox, &["--project"]).expect_exit_code(1);
    assert!(run.stdout.contains("Trust: ") && run.stdout.contains("so that its hooks run"), "{run:?}");
    assert!(sandbox.has_file(".hookwright/hooks.json") && sandbox.has_file(".codex/hooks.json"));
    let hooks = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert!(
        hooks.as_array().unwrap().iter().all(|hook| hook["state"] == "armed") && hooks.as_array().unwrap().len() == 2,
        "{hooks:#}"
    );
    let trust = sandbox.run(&["hooks", "trust"]).expect_exit_code(0);
    assert!(trust.stderr.contains("every hook is trusted already"), "{trust:?}");
    let elsewhere = sandbox.run(&["setup", "--undo"]).expect_exit_code(0);
    assert!(elsewhere.stderr.contains("`hookwright setup --undo --project` undoes the setup there"), "{elsewhere:?}");
    sandbox.run(&["setup", "--undo", "--project", "--yes"]).expect_exit_code(0);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn contents_that_the_folder_had_are_trusted_only_on_request() {
    let sandbox = place_with_pack().untrusted();
    versions_only(&sandbox);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "foreign", "command": "true"}]}]}}),
    );
    let before = tree(&sandbox);
    let trusted = sandbox.home().join(".gemini/trustedFolders.json");
    let run = set_up(&sandbox, &["--project"]).expect_exit_code(1);
    assert!(run.stdout.contains("Not trusted, and left so (--trust)") && run.stdout.contains("foreign"), "{run:?}");
    assert!(run.stdout.contains("hookwright hooks trust --folder"), "{run:?}");
    assert!(!trusted.exists());
    set_up(&sandbox, &["--project", "--trust"]).expect_exit_code(1);
    assert!(trusted.exists());
    sandbox.run(&["setup", "--undo", "--project", "--yes"]).expect_exit_code(0);
    assert_eq!(tree(&sandbox), before);
}
