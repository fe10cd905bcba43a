//! `hookwright agents`: entries in other agents' settings, written by the real program in a sandbox.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun, Sandbox, has_program, report_skipped};
use serde_json::{Value, json};

use crate::sandbox;

const HOSTS: [&str; 10] =
    ["claude-code", "codex", "copilot", "cursor", "qwen", "droid", "grok", "gemini-cli", "antigravity", "opencode"];

/// A sandbox whose search path has only its own folder and the system's.
pub(crate) fn place() -> Sandbox {
    let sandbox = sandbox();
    let bin = sandbox.sibling_path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    sandbox.env("PATH", &path)
}

pub(crate) fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Returns output without the parts that differ between sandboxes.
fn shown(sandbox: &Sandbox, text: &str) -> String {
    let own = env!("CARGO_BIN_EXE_hookwright");
    let text = text.replace(own, "[hookwright]").replace(sandbox.home().to_str().unwrap(), "~");
    text.replace(sandbox.project().to_str().unwrap(), "[project]")
        .replace(sandbox.sibling_path("bin").to_str().unwrap(), "[bin]")
}

fn file(host: &str, scope: &str, sandbox: &Sandbox) -> PathBuf {
    let list = sandbox.run(&["agents", "--json"]).expect_exit_code(0).json();
    let agent = list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == host).unwrap();
    PathBuf::from(agent[scope]["file"].as_str().unwrap())
}

fn state(host: &str, scope: &str, sandbox: &Sandbox) -> Value {
    let list = sandbox.run(&["agents", "--json"]).expect_exit_code(0).json();
    let agent = list["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == host).unwrap();
    agent[scope].clone()
}

#[test]
fn every_agent_is_wired_once_and_let_go_of_again() {
    let sandbox = place();
    for host in HOSTS {
        for scope in ["user", "project"] {
            let flag: &[&str] = if scope == "project" { &["--project"] } else { &["--user"] };
            let file = file(host, scope, &sandbox);
            let run = |verb: &str, more: &[&str]| sandbox.run(&[&["agents", verb, host], flag, more].concat());
            let dry = run("install", &["--dry-run"]).expect_exit_code(0);
            assert!(dry.stdout.contains("hookwright") && !file.exists(), "{host} {scope} {dry:?}");
            let refused = run("install", &[]).expect_exit_code(1);
            assert!(refused.stderr.contains("not confirmed") && !file.exists(), "{refused:?}");
            run("install", &["--yes"]).expect_exit_code(0);
            assert_eq!(state(host, scope, &sandbox)["wired"], "wired", "{host} {scope}");
            let before = fs::read_to_string(&file).unwrap();
            let again = run("install", &["--yes"]).expect_exit_code(0);
            assert!(again.stderr.contains("has all entries already"), "{again:?}");
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
            let gone = run("uninstall", &["-y"]).expect_exit_code(0);
            assert!(gone.stderr.contains("is deleted") && !file.exists(), "{host} {scope} {gone:?}");
            let nothing = run("uninstall", &[]).expect_exit_code(0);
            assert!(nothing.stderr.contains("nothing was changed"), "{nothing:?}");
        }
    }
}

#[test]
fn the_exact_change_is_shown() {
    let sandbox = place();
    std::fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    std::fs::write(sandbox.home().join(".codex/hooks.json"), "{\n  \"description\": \"mine\"\n}\n").unwrap();
    let run = sandbox.run(&["agents", "install", "codex", "--yes", "--diff"]).expect_exit_code(0);
    let diff: Vec<&str> = run.stdout.lines().take(17).collect();
    insta::assert_snapshot!(shown(&sandbox, &diff.join("\n")), @r#"
    Codex CLI: 9 entries in ~/.codex/hooks.json
    --- ~/.codex/hooks.json
    +++ ~/.codex/hooks.json
    @@ -1,3 +1,104 @@
     {
    -  "description": "mine"
    +  "description": "mine",
    +  "hooks": {
    +    "PreToolUse": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "/bin/sh -c ': written by hookwright agents install; \"$0\" \"$@\" || { [ $? = 2 ] || echo \"hookwright gave no answer, so this is refused: see hookwright agents doctor codex\" >&2; exit 2; }' [hookwright] bridge codex --event PreToolUse --deadline 600",
    +            "timeout": 600
    +          }
    +        ]
    "#);
    insta::assert_snapshot!(shown(&sandbox, &run.stderr), @r#"
    note: Codex CLI now runs your hooks: ~/.codex/hooks.json
    hint: start codex and trust the entries in `/hooks`: until then it skips them silently; Hookwright can't do that for you
    note: there is no guard here yet: no hook would refuse a call
    hint: `hookwright setup` adds a pack of guards; `hookwright hooks add` lists ready-made hooks
    hint: `hookwright agents doctor codex` checks that it works; `--live` tries it
    "#);
    sandbox.run(&["agents", "uninstall", "codex", "--yes"]).expect_exit_code(0);
    let text = fs::read_to_string(sandbox.home().join(".codex/hooks.json")).unwrap();
    assert_eq!(text, "{\n  \"description\": \"mine\"\n}\n");
    assert!(!sandbox.home().join(".codex/config.toml").exists(), "trust is the user's to give");
}

/// Runs an entry as its agent would: in a shell, with the event on stdin.
fn fire(sandbox: &Sandbox, command: &str, payload: &Value) -> ProgramRun {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(sandbox.project())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", sandbox.sibling_path("bin").display()))
        .env("HOME", sandbox.home())
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", sandbox.home().join("system-settings.json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An entry that refuses at once does not read stdin.
    let _ = std::io::Write::write_all(child.stdin.as_mut().unwrap(), payload.to_string().as_bytes());
    hookwright_testkit::finish(child)
}

fn call(sandbox: &Sandbox, command: &str) -> Value {
    json!({
        "session_id": "s", "transcript_path": null, "cwd": sandbox.project(), "hook_event_name": "PreToolUse", "turn_id": "t",
        "model": "m", "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "c"
    })
}

#[test]
fn an_entry_asks_the_hooks_and_is_a_no_where_it_can_not() {
    let sandbox = place();
    let guard = sandbox.script("guard.sh", "grep -q forbidden && { echo 'not that' >&2; exit 2; }; exit 0");
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": guard, "guard": true}]}]}}),
    );
    sandbox.run(&["agents", "install", "codex", "--yes", "--project"]).expect_exit_code(0);
    let settings: Value = serde_json::from_str(&sandbox.read(".codex/hooks.json")).unwrap();
    let entry = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    // A machine without hookwright.
    let missing = fire(&sandbox, entry, &call(&sandbox, "touch fine")).expect_exit_code(2);
    assert!(missing.stderr.contains("hookwright is not installed on this machine"), "{missing:?}");
    // A hookwright inside the project does not count.
    program(&sandbox.project().join("tools"), "hookwright", "exit 0");
    let fake = entry.replace("/bin/sh -c", "PATH=tools:$PATH /bin/sh -c");
    let fooled = fire(&sandbox, &fake, &call(&sandbox, "touch forbidden")).expect_exit_code(2);
    assert!(fooled.stderr.contains("only inside of this project"), "{fooled:?}");
    symlink(env!("CARGO_BIN_EXE_hookwright"), sandbox.sibling_path("bin/hookwright")).unwrap();
    let denied = fire(&sandbox, entry, &call(&sandbox, "touch forbidden")).expect_exit_code(0).json();
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
    let fine = fire(&sandbox, entry, &call(&sandbox, "touch fine")).expect_exit_code(0);
    assert_eq!(fine.stdout, "");
}

#[test]
fn an_entry_in_our_own_settings_is_no_hook_of_ours() {
    let sandbox = place();
    sandbox.run(&["agents", "install", "gemini-cli", "--yes"]).expect_exit_code(0);
    sandbox.run(&["agents", "install", "gemini-cli", "--yes", "--project"]).expect_exit_code(0);
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!(list, json!([]), "{list}");
    let doctor = sandbox.run(&["doctor"]).expect_exit_code(0);
    assert!(doctor.stdout.contains("agents that run these hooks: Gemini CLI (for you): wired"), "{doctor:?}");
    assert_eq!(sandbox.run(&["hooks", "validate"]).expect_exit_code(0).stderr, "");
}

#[test]
fn the_agents_that_are_here_are_listed() {
    let sandbox = place();
    let bin = sandbox.sibling_path("bin");
    program(&bin, "claude", "echo '2.1.327 (Claude Code)'");
    // It hangs after it has printed its version.
    program(&bin, "codex", "echo 'codex-cli 0.169.0'; exec sleep 600");
    program(&bin, "qwen", "echo oops >&2; exit 1");
    // A program inside the project is never run.
    let ran = sandbox.project().join("RAN");
    program(&sandbox.project().join("bin"), "gemini", &format!("touch '{}'", ran.display()));
    std::fs::create_dir_all(sandbox.project().join(".git")).unwrap();
    std::fs::create_dir_all(sandbox.project().join("sub")).unwrap();
    let path = format!("bin:{}:{}:/usr/bin:/bin", sandbox.project().join("bin").display(), bin.display());
    let sandbox = sandbox.env("PATH", &path);
    std::fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(0);
    sandbox.run(&["agents", "install", "codex", "--yes", "--project"]).expect_exit_code(0);
    let run = sandbox.run(&["agents"]).expect_exit_code(0);
    assert!(!ran.exists());
    insta::assert_snapshot!(run.stdout, @r"
    AGENT        VERSION     USER   PROJECT  TRUSTED BY AGENT  TRIED  GUARDED
    claude-code  2.1.327     wired  no       not needed        never  no: guards
    codex        unknown     no     wired    no                never  no: program
    cursor       no program  no     no       -                 never  no
    qwen         unknown     no     no       -                 never  no
    ");
    assert_eq!(
        run.stderr,
        "note: not found here: copilot, droid, grok, gemini-cli, antigravity, opencode\n\
         hint: `hookwright agents doctor` says what is missing, and `--live` tries it\n"
    );
    // One hang is enough.
    program(&bin, "codex", "exit 1");
    // From a subfolder, too.
    sandbox.run(&["agents", "--project", "sub"]).expect_exit_code(0);
    assert!(!ran.exists());
    // The same without the sub-command, and with a typing mistake.
    assert_eq!(sandbox.run(&["agents", "list"]).expect_exit_code(0).stdout, run.stdout);
    assert!(sandbox.run(&["agnets", "list"]).expect_exit_code(42).stderr.contains("did you mean `hookwright agents`"));
    let wrong = sandbox.run(&["agents", "install", "claud"]).expect_exit_code(1);
    assert!(wrong.stderr.contains("claude-code"), "{wrong:?}");
}

#[test]
fn claude_and_gemini_are_asked_which_folders_they_trust() {
    let sandbox = place();
    let project = sandbox.project();
    for host in ["claude-code", "gemini-cli", "copilot"] {
        sandbox.run(&["agents", "install", host, "--yes", "--project"]).expect_exit_code(0);
        assert_eq!(state(host, "project", &sandbox)["trusted"], "no", "{host}");
    }
    let home = sandbox.home();
    std::fs::write(
        home.join(".claude.json"),
        json!({"projects": {(project.to_str().unwrap()): {"hasTrustDialogAccepted": true}}}).to_string(),
    )
    .unwrap();
    std::fs::create_dir_all(home.join(".copilot")).unwrap();
    std::fs::write(
        home.join(".copilot/config.json"),
        json!({"trusted_folders": [project.parent().unwrap()]}).to_string(),
    )
    .unwrap();
    std::fs::create_dir_all(home.join(".gemini")).unwrap();
    std::fs::write(
        home.join(".gemini/trustedFolders.json"),
        json!({(project.to_str().unwrap()): "TRUST_FOLDER"}).to_string(),
    )
    .unwrap();
    for host in ["claude-code", "gemini-cli", "copilot"] {
        assert_eq!(state(host, "project", &sandbox)["trusted"], "yes", "{host}");
    }
    // Gemini CLI does not ask where folder trust is switched off.
    std::fs::remove_file(home.join(".gemini/trustedFolders.json")).unwrap();
    sandbox.user_settings(&json!({"security": {"folderTrust": {"enabled": false}}}));
    assert_eq!(state("gemini-cli", "project", &sandbox)["trusted"], "not asked");
}

#[test]
fn a_doctor_says_what_is_wrong_and_what_to_do() {
    let sandbox = place();
    program(&sandbox.sibling_path("bin"), "claude", "echo '2.1.327 (Claude Code)'");
    let sick = sandbox.run(&["agents", "doctor", "claude"]).expect_exit_code(1);
    insta::assert_snapshot!(shown(&sandbox, &sick.stdout), @r#"
      ok Claude Code 2.1.327 at [bin]/claude: the version that Hookwright was tested with
    FAIL Claude Code does not call Hookwright
           to do: `hookwright agents install claude-code`
    FAIL there is no guard here yet: no hook would refuse a call
           to do: `hookwright setup` adds a pack of guards; `hookwright hooks add` lists ready-made hooks
    warn no refusal has been tried live here yet
           to do: `hookwright agents doctor claude-code --live` tries it
    does a deny hold on this machine? NO: Claude Code does not call Hookwright (and 2 more, see above)
    "#);
    let installed = sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(0);
    assert!(installed.stderr.contains("there is no guard here yet"), "{installed:?}");
    let bare = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(1);
    assert!(bare.stdout.contains("does a deny hold on this machine? NO: there is no guard here yet"), "{bare:?}");
    sandbox.settings(&no_force_push());
    let well = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(5);
    insta::assert_snapshot!(shown(&sandbox, &well.stdout), @r"
      ok Claude Code 2.1.327 at [bin]/claude: the version that Hookwright was tested with
      ok ~/.claude/settings.json: 11 entries
      ok the entries call this program, [hookwright]
      ok Claude Code runs the user's entries without asking for trust
      ok 1 deny rule is armed
    warn no refusal has been tried live here yet
           to do: `hookwright agents doctor claude-code --live` tries it
      ok Claude Code lets a call run when a hook times out; the bridge answers before that
    does a deny hold on this machine? not proven: no refusal has been tried live here yet
    ");
    // A guard that never runs there, an unarmed guard, entries that were edited, hooks that are off.
    let guard = sandbox.script("guard.sh", "exit 0");
    let hook =
        json!([{"hooks": [{"type": "command", "name": "g", "command": guard, "guard": true, "timeout": 900_000}]}]);
    sandbox.settings(&json!({"hooks": {"BeforeModel": hook, "BeforeTool": hook}}));
    let file = sandbox.home().join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("\"onFailure\": \"block\"", "\"onFailure\": \"continue\"");
    std::fs::write(&file, text.replacen('{', "{\n  \"disableAllHooks\": true,", 1)).unwrap();
    let sick = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(1);
    insta::assert_snapshot!(shown(&sandbox, &sick.stdout), @r"
      ok Claude Code 2.1.327 at [bin]/claude: the version that Hookwright was tested with
    FAIL ~/.claude/settings.json: outdated entries for PreToolUse, UserPromptSubmit, PermissionRequest
           to do: `hookwright agents install claude-code`
      ok the entries call this program, [hookwright]
    FAIL ~/.claude/settings.json: `disableAllHooks: true`, so no hook runs
           to do: remove it
      ok Claude Code runs the user's entries without asking for trust
      ok 2 guards are armed
    FAIL guard `g` at BeforeModel never runs under Claude Code
           to do: `hookwright agents explain claude-code g`
    warn no refusal has been tried live here yet
           to do: `hookwright agents doctor claude-code --live` tries it
    warn `g` may run for 900 s, but under Claude Code it is stopped after 595 s
      ok Claude Code lets a call run when a hook times out; the bridge answers before that
    does a deny hold on this machine? NO: ~/.claude/settings.json: outdated entries for PreToolUse, UserPromptSubmit, PermissionRequest (and 3 more, see above)
    ");
    let json = sandbox.run(&["agents", "doctor", "claude-code", "--json"]).expect_exit_code(1).json();
    assert_eq!((&json["ok"], &json["user"]["wired"]), (&json!(false), &json!("outdated")));
    // Its entries call a program that no longer exists.
    std::fs::write(
        &file,
        fs::read_to_string(&file).unwrap().replace(env!("CARGO_BIN_EXE_hookwright"), "/gone/hookwright"),
    )
    .unwrap();
    let gone = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(1);
    assert!(gone.stdout.contains("/gone/hookwright, which can't be run: every call is refused"), "{gone:?}");
}

#[test]
fn files_that_two_agents_read_are_reported() {
    let sandbox = place();
    sandbox.run(&["agents", "install", "claude-code", "--yes", "--project"]).expect_exit_code(0);
    let doctor = sandbox.run(&["agents", "doctor", "cursor"]).expect_exit_code(1);
    assert!(doctor.stdout.contains("Cursor may read"), "{doctor:?}");
    let both = sandbox.run(&["agents", "install", "cursor", "--yes", "--project"]).expect_exit_code(0);
    assert!(both.stderr.contains("the bridge ignores the entries there"), "{both:?}");
    let twice = sandbox.run(&["agents", "install", "cursor", "--yes"]).expect_exit_code(0);
    assert!(twice.stderr.contains("every hook runs twice"), "{twice:?}");
    let uninstalled = sandbox.run(&["agents", "uninstall", "cursor", "--yes"]).expect_exit_code(0);
    assert!(uninstalled.stderr.contains("add --project"), "{uninstalled:?}");
}

#[test]
fn losses_are_explained_hook_by_hook() {
    let sandbox = place();
    let hook =
        |name: &str| json!([{"hooks": [{"type": "command", "name": name, "command": "true", "timeout": 10_000}]}]);
    sandbox.settings(&json!({"hooks": {
        "BeforeTool": hook("guard"), "BeforeAgent": hook("prompts"), "BeforeModel": hook("model"), "SessionEnd": hook("end"),
    }}));
    let run = sandbox.run(&["agents", "explain", "codex"]).expect_exit_code(0);
    insta::assert_snapshot!(run.stdout, @r"
    guard (BeforeTool, project): is limited
        runs at PreToolUse
        asking the user becomes a deny
        confining a call becomes a question or a deny
        the model's own arguments stay in its history
        stopping the agent becomes a deny
    prompts (BeforeAgent, project): is limited
        runs at UserPromptSubmit
        stopping the agent becomes a deny
    model (BeforeModel, project): never runs
        Codex CLI has no event that corresponds to it
    end (SessionEnd, project): is limited
        runs at SessionEnd
        may run for 10 s here, but is stopped after 0.75 s there
    ");
    assert!(
        run.stderr.contains("`write_stdin` passes no hook") && run.stderr.contains("rule-no-interactive"),
        "{run:?}"
    );
    let doctor = sandbox.run(&["agents", "doctor", "codex"]).expect_exit_code(1);
    assert!(doctor.stdout.contains("`write_stdin` passes no hook"), "{doctor:?}");
    let one = sandbox.run(&["agents", "explain", "qwen", "guard", "--json"]).expect_exit_code(0).json();
    assert_eq!(one["hooks"][0]["lost"][1]["words"], "changed arguments become a deny", "{one}");
    let none = sandbox.run(&["agents", "explain", "qwen", "nobody"]).expect_exit_code(1);
    assert!(none.stderr.contains("no hook is called `nobody`"), "{none:?}");
}

#[test]
fn a_file_that_can_not_be_edited_is_left_alone() {
    let sandbox = place();
    let folder = sandbox.home().join(".claude");
    let file = folder.join("settings.json");
    std::fs::create_dir_all(&folder).unwrap();
    let install = |wrong: &str| {
        let run = sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(1);
        assert!(run.stderr.contains(wrong), "{wrong}: {run:?}");
        // The report does not claim that it works.
        sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(1);
        sandbox.run(&["agents"]).expect_exit_code(0);
    };
    for (text, wrong) in [
        ("{\"hooks\": ", "this file is not valid JSON"),
        ("{\"hooks\": {}, \"hooks\": {}}", "stands 2 times"),
        ("{\"hooks\": {\"Stop\": \"x\"}}", "`Stop` is not a list"),
        ("\u{0}", "not valid JSON"),
    ] {
        std::fs::write(&file, text).unwrap();
        install(wrong);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    std::fs::write(&file, vec![b' '; (16 << 20) + 1]).unwrap();
    install("too large");
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    install("UTF-8");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    install("is a directory");
}

#[test]
fn a_read_only_folder_is_said() {
    let sandbox = place();
    let folder = sandbox.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_ok() {
        std::fs::remove_file(folder.join("probe")).unwrap();
        return report_skipped("a_read_only_folder_is_said", "this user may write everywhere");
    }
    let run = sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(1);
    assert!(run.stderr.contains("cannot write") && run.stderr.contains("check the permissions"), "{run:?}");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn links_stay_links_and_lead_nowhere_else() {
    let sandbox = place();
    let (folder, real) = (sandbox.home().join(".claude"), sandbox.sibling_path("dotfiles.json"));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "\u{feff}{\r\n  \"model\": \"x\" // mine\r\n}\r\n";
    std::fs::write(&real, text).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, folder.join("settings.json")).unwrap();
    sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(0);
    let with = fs::read_to_string(&real).unwrap();
    assert!(with.starts_with('\u{feff}') && with.contains("// mine\r\n") && !with.replace("\r\n", "").contains('\n'));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(folder.join("settings.json").symlink_metadata().unwrap().is_symlink());
    sandbox.run(&["agents", "uninstall", "claude-code", "--yes"]).expect_exit_code(0);
    assert_eq!(fs::read_to_string(&real).unwrap(), text);
    // A project's settings file that links out of the project.
    std::fs::create_dir_all(sandbox.project().join(".claude")).unwrap();
    symlink(&real, sandbox.project().join(".claude/settings.json")).unwrap();
    let out = sandbox.run(&["agents", "install", "claude-code", "--yes", "--project"]).expect_exit_code(1);
    assert!(out.stderr.contains("leads out of the project"), "{out:?}");
    assert_eq!(fs::read_to_string(&real).unwrap(), text);
}

#[test]
fn two_at_once_do_it_once() {
    let sandbox = place();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::fs::write(sandbox.home().join(".claude/settings.json"), "{\"model\": \"x\"}").unwrap();
    let start = || sandbox.command(&["agents", "install", "claude-code", "--yes"]).spawn().unwrap();
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    let ended: Vec<ProgramRun> = runs.into_iter().map(hookwright_testkit::finish).collect();
    assert!(ended.iter().all(|run| run.code == Some(0)), "{ended:?}");
    let text = fs::read_to_string(sandbox.home().join(".claude/settings.json")).unwrap();
    assert_eq!(text.matches("--event PreToolUse ").count(), 1, "{text}");
    assert_eq!(state("claude-code", "user", &sandbox)["wired"], "wired");
    sandbox.run(&["agents", "uninstall", "claude-code", "--yes"]).expect_exit_code(0);
    assert_eq!(fs::read_to_string(sandbox.home().join(".claude/settings.json")).unwrap(), "{\"model\": \"x\"}");
}

#[test]
fn entries_of_other_authors_are_not_removed() {
    let sandbox = place();
    let folder = sandbox.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    let hooks = json!({"hooks": {"Stop": [
        {"hooks": [{"type": "command", "command": "hookwright bridge claude-code"}]},
        {"hooks": [{"type": "command", "command": "./my-hookwright bridge claude-code --event Stop --deadline 1"}]},
    ]}});
    let text = format!("{hooks:#}\n");
    std::fs::write(folder.join("settings.json"), &text).unwrap();
    let run = sandbox.run(&["agents", "uninstall", "claude-code", "--yes"]).expect_exit_code(0);
    assert!(run.stderr.contains("nothing was changed") && run.stderr.contains("by hand"), "{run:?}");
    sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(0);
    sandbox.run(&["agents", "uninstall", "claude-code", "--yes"]).expect_exit_code(0);
    assert_eq!(fs::read_to_string(folder.join("settings.json")).unwrap(), text);
    // A file of that name that another author wrote.
    let plugin = sandbox.write(".opencode/plugin/hookwright.js", "export const Mine = async () => ({})\n");
    for verb in ["install", "uninstall"] {
        let run = sandbox.run(&["agents", verb, "opencode", "--yes", "--project"]).expect_exit_code(1);
        assert!(run.stderr.contains("was not written by `hookwright agents install`"), "{run:?}");
    }
    assert_eq!(fs::read_to_string(plugin).unwrap(), "export const Mine = async () => ({})\n");
}

/// Returns settings with one deny rule.
fn no_force_push() -> Value {
    let rule = json!({"type": "rule", "name": "no-force-push", "decision": "deny", "reason": "no forced pushes",
        "when": {"commands": ["git push --force*"]}});
    json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}})
}

/// A small agent in place of Claude Code: it makes the model's shell calls, and asks its hooks before each as Claude Code
/// does.
pub(crate) fn as_claude(sandbox: &Sandbox) -> bool {
    if !has_program("python3") {
        report_skipped("agents", "there is no python3");
        return false;
    }
    let agent = r#"#!/usr/bin/env python3
import http.client, json, os, subprocess, sys, urllib.parse
if sys.argv[1:] == ["--version"]:
    print("2.1.400 (Claude Code)"); sys.exit()
entries = json.load(open(os.environ["HOME"] + "/.claude/settings.json"))["hooks"]["PreToolUse"]
url = urllib.parse.urlparse(os.environ["ANTHROPIC_BASE_URL"])
schema = {"type": "object", "properties": {"command": {"type": "string"}}}
messages = [{"role": "user", "content": "go"}]
while True:
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    body = {"model": "m", "messages": messages, "tools": [{"name": "Bash", "input_schema": schema}]}
    connection.request("POST", "/v1/messages", json.dumps(body), {"content-type": "application/json"})
    block = json.loads(connection.getresponse().read())["content"][0]
    if block["type"] == "text":
        break
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": os.getcwd(), "transcript_path": "/dev/null",
            "permission_mode": "default", "tool_name": "Bash", "tool_input": block["input"], "tool_use_id": block["id"]}
    said, command = None, block["input"]["command"]
    for entry in (hook for group in entries for hook in group["hooks"]):
        run = subprocess.run(["sh", "-c", entry["command"]], input=json.dumps(call), capture_output=True, text=True)
        answer = json.loads(run.stdout or "{}").get("hookSpecificOutput", {})
        if run.returncode != 0 or answer.get("permissionDecision") in ("deny", "ask"):
            said = answer.get("permissionDecisionReason") or run.stderr or "no"
        command = answer.get("updatedInput", {}).get("command", command)
    if said is None:
        said = subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout
    messages.append({"role": "assistant", "content": [block]})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": said}]})
"#;
    let file = sandbox.sibling_path("bin/claude");
    std::fs::write(&file, agent).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    true
}

fn link<'v>(report: &'v Value, name: &str) -> &'v Value {
    let links = report["chain"]["links"].as_array().unwrap();
    links.iter().find(|link| link["link"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
}

/// The trial obeys every hook, but the agent does not trust the entries on this machine: that is a no.
#[test]
fn a_held_trial_is_no_yes_where_the_agent_does_not_trust_the_entries() {
    let sandbox = place();
    if !as_claude(&sandbox) {
        return;
    }
    symlink(env!("CARGO_BIN_EXE_hookwright"), sandbox.sibling_path("bin/hookwright")).unwrap();
    sandbox.settings(&no_force_push());
    sandbox.run(&["agents", "install", "claude-code", "--yes", "--project"]).expect_exit_code(0);
    let report = sandbox.run(&["agents", "doctor", "claude", "--live", "--json"]).expect_exit_code(1).json();
    assert_eq!((&report["live"]["holds"], &report["ok"]), (&json!(true), &json!(false)), "{report:#}");
    assert_eq!(report["chain"]["verdict"], "no", "{report:#}");
    assert!(report["chain"]["headline"].as_str().unwrap().contains("NO: Claude Code does not trust"), "{report:#}");
    assert_eq!(link(&report, "agent_trust")["state"], "broken");
    let list = sandbox.run(&["agents"]).expect_exit_code(0);
    assert!(list.stdout.contains("no: not trusted by it"), "{list:?}");
}

/// Every link is seen to hold, and the user's own guard refused its call through the real entry: only then it is a yes.
#[test]
fn the_users_own_guards_are_tried_live() {
    let sandbox = place();
    if !as_claude(&sandbox) {
        return;
    }
    let guard = sandbox.script("guard.sh", "grep -q forbidden && { echo 'not that' >&2; exit 2; }; exit 0");
    let mut settings = no_force_push();
    let hook = json!({"type": "command", "name": "own", "command": guard, "guard": true});
    let silent = json!({"type": "command", "name": "silent", "command": "true", "guard": true});
    settings["hooks"]["BeforeTool"]
        .as_array_mut()
        .unwrap()
        .extend([json!({"hooks": [hook]}), json!({"hooks": [silent]})]);
    sandbox.settings(&settings);
    let test = "[[case]]\nname = \"no\"\nevent = \"BeforeTool\"\nhook = \"own\"\ntool = \"run_shell_command\"\n\
                args = { command = \"touch forbidden\" }\n[case.expect]\ndecision = \"deny\"\n";
    sandbox.write(".gemini/own.hooktest.toml", test);
    sandbox.run(&["agents", "install", "claude-code", "--yes"]).expect_exit_code(0);
    // Before the trial nothing is proven, because the version is not a known one.
    let before = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(5);
    assert!(before.stdout.contains("not proven"), "{before:?}");
    let report = sandbox.run(&["agents", "doctor", "claude-code", "--live", "--json"]).expect_exit_code(5).json();
    let guards = report["live"]["own_guards"].as_array().unwrap();
    let seen: Vec<(&str, &str, &str)> = guards
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default();
            (text("guard"), text("call"), text("verdict"))
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("no-force-push", "git push --force", "holds"),
            ("own", "touch forbidden", "holds"),
            ("silent", "", "unknown")
        ],
        "{report:#}"
    );
    // A guard for which no call is known was not seen to hold.
    assert_eq!((&report["ok"], &report["chain"]["verdict"]), (&json!(false), &json!("unproven")), "{report:#}");
    assert_eq!(report["live"]["guards"]["untried"], json!(["silent"]), "{report:#}");
    let headline = report["chain"]["headline"].as_str().unwrap();
    assert!(headline.contains("? not proven: tried live on") && headline.contains("; not tried: silent"), "{headline}");
    let list = sandbox.run(&["agents"]).expect_exit_code(0);
    assert!(list.stdout.contains("10 of 10 held  not proven: not tried"), "{list:?}");
    let doctor = sandbox.run(&["agents", "doctor"]).expect_exit_code(5);
    assert!(doctor.stdout.contains("not tried: silent"), "{doctor:?}");
    // With a call for each guard it is a yes.
    settings["hooks"]["BeforeTool"].as_array_mut().unwrap().pop();
    sandbox.settings(&settings);
    let report = sandbox.run(&["agents", "doctor", "claude-code", "--live", "--json"]).expect_exit_code(0).json();
    assert_eq!((&report["ok"], &report["chain"]["verdict"]), (&json!(true), &json!("yes")), "{report:#}");
    // The trial leaves no trace, and nothing in the project.
    assert!(!sandbox.has_file("forbidden") && !sandbox.home().join(".gemini/hookwright/journal/head").exists());
    let list = sandbox.run(&["agents"]).expect_exit_code(0);
    assert!(list.stdout.contains("10 of 10 held  yes"), "{list:?}");
    sandbox.run(&["agents", "doctor"]).expect_exit_code(0);
    // Other guards have not been tried.
    sandbox.settings(&no_force_push());
    let other = sandbox.run(&["agents", "doctor", "claude-code"]).expect_exit_code(5);
    assert!(
        other.stdout.contains("not proven: the last live trial") && other.stdout.contains("other guards"),
        "{other:?}"
    );
    // The program that the entries call is gone: a no, whatever was tried before.
    let file = sandbox.home().join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap().replace(env!("CARGO_BIN_EXE_hookwright"), "/gone/hookwright");
    std::fs::write(&file, text).unwrap();
    let gone = sandbox.run(&["agents", "doctor", "claude-code", "--json"]).expect_exit_code(1).json();
    assert_eq!(link(&gone, "program")["state"], "broken", "{gone:#}");
    assert!(sandbox.run(&["agents"]).stdout.contains("no: program"));
}

/// Several agents are one question; the summary comes first, and the diff only on request.
#[test]
fn several_agents_are_installed_checked_and_uninstalled_at_once() {
    let sandbox = place();
    let bin = sandbox.sibling_path("bin");
    program(&bin, "claude", "echo '2.1.327 (Claude Code)'");
    program(&bin, "codex", "echo 'codex-cli 0.169.0'");
    let none = sandbox.run(&["agents", "doctor"]).expect_exit_code(1);
    assert!(none.stderr.contains("no agent calls Hookwright"), "{none:?}");
    let asked = |answers: &str| {
        let mut child = sandbox.command(&["agents", "install", "all"]).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), answers.as_bytes()).unwrap();
        drop(child.stdin.take());
        hookwright_testkit::finish(child)
    };
    let no = asked("n\n").expect_exit_code(1);
    assert_eq!(
        no.stdout, "Claude Code: 11 entries in ~/.claude/settings.json\nCodex CLI: 9 entries in ~/.codex/hooks.json\n",
        "{no:?}"
    );
    assert!(no.stderr.contains("install for Claude Code, Codex CLI: not confirmed"), "{no:?}");
    let shown = asked("d\nn\n").expect_exit_code(1);
    assert!(shown.stdout.contains("+++ ") && shown.stdout.contains("bridge codex --event PreToolUse"), "{shown:?}");
    asked("y\n").expect_exit_code(0);
    let report = sandbox.run(&["agents", "doctor", "--json"]).expect_exit_code(1).json();
    let names: Vec<&str> =
        report["agents"].as_array().unwrap().iter().filter_map(|one| one["agent"].as_str()).collect();
    assert_eq!(names, ["claude-code", "codex"], "{report}");
    let text = sandbox.run(&["agents", "doctor", "codex", "claude"]).expect_exit_code(1);
    assert!(text.stdout.starts_with("Claude Code\n") && text.stdout.contains("\nCodex CLI\n"), "{text:?}");
    let gone = sandbox.run(&["agents", "uninstall", "all", "--yes"]).expect_exit_code(0);
    assert_eq!(gone.stderr.matches("is deleted").count(), 2, "{gone:?}");
    let nothing = sandbox.run(&["agents", "uninstall", "all", "--yes"]).expect_exit_code(0);
    assert!(nothing.stderr.contains("the user's settings of no agent"), "{nothing:?}");
}

/// The entries are in one file of the agent's, and the switch that turns its hooks off is in another.
#[test]
fn a_switch_in_another_file_is_a_no() {
    let sandbox = place();
    sandbox.settings(&no_force_push());
    let (home, root) = (sandbox.home(), sandbox.sibling_path("root"));
    let sandbox = sandbox.env("HOOKWRIGHT_MACHINE_ROOT", root.to_str().unwrap());
    for (host, file, text) in [
        ("claude-code", sandbox.project().join(".claude/settings.local.json"), "{\"disableAllHooks\": true}"),
        ("claude-code", root.join("etc/claude-code/managed-settings.json"), "{\"allowManagedHooksOnly\": true}"),
        ("codex", home.join(".codex/config.toml"), "[features]\nhooks = false\n"),
        ("codex", root.join("etc/codex/requirements.toml"), "allow_managed_hooks_only = true\n"),
        ("copilot", home.join(".copilot/settings.json"), "{\"disableAllHooks\": true}"),
        ("qwen", sandbox.project().join(".qwen/settings.json"), "{\"disableAllHooks\": true}"),
        ("droid", home.join(".factory/settings.json"), "{\"hooksDisabled\": true}"),
        ("gemini-cli", home.join("system-settings.json"), "{\"hooksConfig\": {\"disabled\": [\"hookwright\"]}}"),
    ] {
        sandbox.run(&["agents", "install", host, "--yes"]).expect_exit_code(0);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let report = sandbox.run(&["agents", "doctor", host, "--json"]).expect_exit_code(1).json();
        assert_eq!(link(&report, "agent_settings")["state"], "broken", "{host} {}: {report:#}", file.display());
        std::fs::remove_file(&file).unwrap();
    }
}

/// The machine's settings, in a root directory of the test's own.
#[test]
fn the_settings_of_the_machine_are_written_and_left_as_they_were() {
    let sandbox = place();
    let root = sandbox.sibling_path("root");
    let sandbox = sandbox.env("HOOKWRIGHT_MACHINE_ROOT", root.to_str().unwrap());
    let files = [
        ("claude-code", "etc/claude-code/managed-settings.json", "{\r\n\t\"model\": \"x\" // ours\r\n}"),
        ("codex", "etc/codex/requirements.toml", "# ours\nallow_remote_control = false"),
        ("droid", "etc/factory/settings.json", "{\"maxAutonomyLevel\": \"low\"}\n"),
        ("cursor", "etc/cursor/hooks.json", "{\"version\": 1}\n"),
    ];
    for (host, path, text) in files {
        let file = root.join(path);
        for old in [None, Some(text)] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            if let Some(old) = old {
                std::fs::write(&file, old).unwrap();
            }
            let run = sandbox.run(&["agents", "install", host, "--machine", "--yes"]).expect_exit_code(0);
            assert!(run.stdout.contains(&format!("entries in {}", file.display())), "{host}: {run:?}");
            let installed = fs::read_to_string(&file).unwrap();
            assert!(installed.contains(&format!("bridge {host} --event")), "{installed}");
            assert_eq!(state(host, "machine", &sandbox)["wired"], "wired", "{host}");
            let again = sandbox.run(&["agents", "install", host, "--machine", "--yes"]).expect_exit_code(0);
            assert!(again.stderr.contains("has all entries already"), "{again:?}");
            let doctor = sandbox.run(&["agents", "doctor", host, "--json"]).expect_exit_code(1).json();
            assert_eq!(link(&doctor, "agent_trust")["state"], "holds", "{doctor:#}");
            sandbox.run(&["agents", "uninstall", host, "--machine", "--yes"]).expect_exit_code(0);
            match old {
                Some(old) => assert_eq!(fs::read_to_string(&file).unwrap(), old, "{host}"),
                None => assert!(!file.exists(), "{host}"),
            }
        }
    }
    let copilot = root.join("etc/github-copilot/policy.d/hookwright.json");
    sandbox.run(&["agents", "install", "copilot", "--machine", "--yes"]).expect_exit_code(0);
    assert!(fs::read_to_string(&copilot).unwrap().contains("bridge copilot"));
    sandbox.run(&["agents", "uninstall", "copilot", "--machine", "--yes"]).expect_exit_code(0);
    assert!(!copilot.exists());
    // Gemini CLI's system settings, which are also Hookwright's own.
    sandbox.run(&["agents", "install", "gemini-cli", "--machine", "--yes"]).expect_exit_code(0);
    assert!(fs::read_to_string(sandbox.home().join("system-settings.json")).unwrap().contains("bridge gemini-cli"));
    assert_eq!(sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json(), json!([]));
    sandbox.run(&["agents", "uninstall", "gemini-cli", "--machine", "--yes"]).expect_exit_code(0);
    for host in ["qwen", "grok", "antigravity", "opencode"] {
        let refused = sandbox.run(&["agents", "install", host, "--machine", "--yes"]).expect_exit_code(1);
        assert!(refused.stderr.contains("documents no settings of the machine"), "{refused:?}");
    }
    // A table that can't be extended is left alone.
    let file = root.join("etc/codex/requirements.toml");
    std::fs::write(&file, "hooks = {}\n").unwrap();
    let refused = sandbox.run(&["agents", "install", "codex", "--machine", "--yes"]).expect_exit_code(1);
    assert!(refused.stderr.contains("can't be extended"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hooks = {}\n");
}

/// Versions from 2 on load no plugin of the first kind.
#[test]
fn opencode_2_is_not_guarded() {
    let sandbox = place();
    sandbox.settings(&no_force_push());
    program(&sandbox.sibling_path("bin"), "opencode", "echo 2.0.7");
    let install = sandbox.run(&["agents", "install", "opencode", "--yes"]).expect_exit_code(0);
    assert!(install.stderr.contains("opencode 2.0.7 is not guarded"), "{install:?}");
    let doctor = sandbox.run(&["agents", "doctor", "opencode"]).expect_exit_code(1);
    assert!(doctor.stdout.contains("NO: opencode 2.0.7 at") && doctor.stdout.contains("not guarded"), "{doctor:?}");
    assert!(sandbox.run(&["agents"]).stdout.contains("no: version"));
    program(&sandbox.sibling_path("bin"), "opencode", "echo 1.18.33");
    sandbox.run(&["agents", "doctor", "opencode"]).expect_exit_code(5);
}

#[test]
fn a_trial_is_remembered() {
    let sandbox = place();
    // It prints its version and does nothing else, so that nothing is known of its denials.
    program(&sandbox.sibling_path("bin"), "codex", "[ \"$1\" = --version ] && echo 'codex-cli 0.169.0'; exit 0");
    let none = sandbox.run(&["agents", "doctor", "qwen", "--live"]).expect_exit_code(1);
    assert!(none.stderr.contains("no program `qwen` is on the search path"), "{none:?}");
    let run = sandbox.run(&["agents", "doctor", "codex", "--live"]).expect_exit_code(1);
    assert!(run.stdout.contains("does a deny hold on this machine? NO: Codex CLI does not call Hookwright"), "{run:?}");
    let list = sandbox.run(&["agents"]).expect_exit_code(0);
    assert!(list.stdout.contains(": 0 of "), "{list:?}");
    let json = sandbox.run(&["agents", "doctor", "codex", "--live", "--json"]).expect_exit_code(1).json();
    assert_eq!(
        (&json["live"]["holds"], &json["live"]["rows"][0]["verdict"]),
        (&json!(false), &json!("unknown")),
        "{json}"
    );
}
