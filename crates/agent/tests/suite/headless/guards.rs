//! No call skips approval while guards could be missing.

use std::os::unix::fs::PermissionsExt;

use hookwright_agent::session::{BrokenSettingsPolicy, HookUse};
use hookwright_settings::{ExtensionChoice, TrustOverride};

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

fn hooks_off_options() -> SessionOptions {
    SessionOptions { hooks: HookUse::Off, ..yolo_options() }
}

fn ignore_broken_settings_options() -> SessionOptions {
    SessionOptions { broken_settings: BrokenSettingsPolicy::Continue, ..yolo_options() }
}

#[test]
fn no_mode_skips_approval_in_an_untrusted_folder() {
    for mode in [ApprovalMode::Yolo, ApprovalMode::AutoEdit] {
        let sandbox = empty_project().without_trust();
        let options = SessionOptions { approval_mode: Some(mode), ..SessionOptions::default() };
        let run = run_with_options(&sandbox, "go", &write_file_replay(), options.clone()).assert_ended_well();
        assert_contains(&run.messages, "this folder is not trusted, so the approval mode is default");
        assert!(!sandbox.exists("a.txt"), "{mode:?}");
        let options = SessionOptions { trust: TrustOverride::Skip, ..options };
        let run = run_with_options(&sandbox, "go", &write_file_replay(), options).assert_ended_well();
        assert_lacks(&run.messages, "approval mode");
        assert!(sandbox.exists("a.txt"), "{mode:?}");
    }
}

#[test]
fn a_locked_hook_runs_whatever_the_command_line_says() {
    let sandbox = empty_project();
    let hook = |name: &str, locked: bool| json!({"type": "command", "name": name, "command": format!("echo {name} >&2; exit 2"), "locked": locked});
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook("lock", true), hook("loose", false)]}]}});
    std::fs::write(sandbox.home_dir().join("system-settings.json"), settings.to_string()).unwrap();
    let run = run_with_options(&sandbox, "go", &write_file_replay(), hooks_off_options()).assert_ended_well();
    assert_contains(&run.messages, "--no-hooks leaves locked hooks and guards running: lock");
    assert_contains(&run.messages, "Tool execution blocked: lock");
    assert_lacks(&run.messages, "loose");
    assert!(!sandbox.exists("a.txt"));
}

/// A guard on BeforeTool.
fn guard_hook(name: &str, command: &str) -> Value {
    json!({"type": "command", "name": name, "command": command, "guard": true})
}

fn settings_with_guards(hooks: &[Value]) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

const DENY_SCRIPT: &str = "cat > /dev/null; echo guarded >&2; exit 2";

#[test]
fn an_unarmed_hook_that_is_no_guard_does_not_prevent_the_start() {
    let sandbox = empty_project();
    sandbox.write_settings(&settings_with_guards(&[
        json!({"type": "command", "name": "lost", "command": "./nowhere.sh"}),
    ]));
    let run = run_prompt(&sandbox, "go", &write_file_replay());
    assert_contains(&run.messages, "hook lost (project, BeforeTool) can't run");
    assert!(sandbox.exists("a.txt"));
}

#[test]
fn missing_guards_of_an_untrusted_folder_prevent_the_start() {
    let sandbox = empty_project().without_trust();
    sandbox.write_settings(&settings_with_guards(&[guard_hook("own", DENY_SCRIPT)]));
    let why = refusal(&sandbox, &write_file_replay());
    for words in ["guard `own` (", "this folder is not trusted", "--skip-trust"] {
        assert_contains(&why, words);
    }
    let options = SessionOptions { trust: TrustOverride::Skip, ..yolo_options() };
    assert_contains(
        &run_with_options(&sandbox, "go", &write_file_replay(), options).assert_ended_well().messages,
        "guarded",
    );
}

#[test]
fn guards_of_a_broken_settings_file_are_remembered() {
    let sandbox = empty_project();
    let record = sandbox.home_dir().join(".gemini/known_guards.json");
    sandbox.write_settings(&json!({}));
    run_prompt(&sandbox, "go", &ReplayBuilder::new().says("hi"));
    assert!(!record.exists(), "there is nothing to remember");
    sandbox.write_user_settings(&settings_with_guards(&[guard_hook("mine", DENY_SCRIPT)]));
    run_prompt(&sandbox, "go", &ReplayBuilder::new().says("hi"));
    assert!(record.exists());
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let settings = sandbox.home_dir().join(".gemini/settings.json");
    let good = fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, good.replacen('{', "{,", 1)).unwrap();
    // The flag covers only files that are not known to have held guards.
    for (options, words) in
        [(yolo_options(), "can't be read as settings"), (ignore_broken_settings_options(), "guard `mine` (")]
    {
        assert_contains(&refusal_with(&sandbox, &write_file_replay(), options), words);
        assert!(!sandbox.exists("a.txt"));
    }
    // A repaired file works as before; the removal of a guard is reported once.
    std::fs::write(&settings, good).unwrap();
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
    std::fs::write(&settings, "{}").unwrap();
    let run = run_prompt(&sandbox, "go", &ReplayBuilder::new().says("hi"));
    assert_contains(&run.messages, "guard `mine` is no longer in ");
    let run = run_prompt(&sandbox, "go", &ReplayBuilder::new().says("hi"));
    assert_lacks(&run.messages, "no longer");
}

#[test]
fn a_hook_that_a_layer_requires_is_a_guard() {
    let sandbox = empty_project();
    let settings = json!({"hooksConfig": {"required": ["check"]}});
    std::fs::write(sandbox.home_dir().join("system-settings.json"), settings.to_string()).unwrap();
    assert_contains(&refusal(&sandbox, &write_file_replay()), "the system settings require it");
    let failing = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
    sandbox.write_user_settings(&settings_with_guards(&[failing]));
    sandbox.write_settings(&json!({"hooksConfig": {"disabled": ["check"]}}));
    let run = run_with_options(&sandbox, "go", &write_file_replay(), hooks_off_options()).assert_ended_well();
    assert_contains(&run.messages, "Tool execution blocked: hook check: exited with code 1");
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn a_rewriting_hook_smuggles_nothing_past_a_guard() {
    let sandbox = empty_project();
    let no_evil = "case $(cat) in *evil*) echo 'no evil' >&2; exit 2;; esac";
    let rewrite = answer_script(&json!({"hookSpecificOutput": {"tool_input": {"content": "evil"}}}));
    let rewriter = write_hook_script(&sandbox, "rewrite", &rewrite);
    sandbox.write_settings(&settings_with_guards(&[
        guard_hook("no-evil", no_evil),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let run = run_prompt(&sandbox, "go", &write_file_replay());
    assert_contains(&run.messages, "Tool execution blocked: no evil");
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn a_background_hook_decides_nothing_and_ends_with_the_session() {
    let sandbox = empty_project();
    let no = json!({"type": "command", "name": "late", "command": DENY_SCRIPT, "async": true});
    let stays = json!({"type": "command", "name": "stays", "async": true,
        "command": "echo $$ > pid; exec sleep 600"});
    sandbox.write_settings(&settings_with_guards(&[no, stays]));
    run_prompt(&sandbox, "go", &write_file_replay());
    assert!(sandbox.exists("a.txt"));
    // It may have been ended before it wrote anything.
    if sandbox.exists("pid") && !sandbox.read("pid").trim().is_empty() {
        assert_process_gone(sandbox.read("pid").trim());
    }
}

/// Installs an extension with these hooks.
fn install_extension(sandbox: &HeadlessProject, hooks: &Value) {
    let folder = sandbox.home_dir().join(".gemini/extensions/ext");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "ext", "version": "1.0.0"}"#).unwrap();
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
}

#[test]
fn leaving_out_an_extension_does_not_leave_out_its_guards() {
    let sandbox = empty_project();
    install_extension(&sandbox, &settings_with_guards(&[guard_hook("theirs", DENY_SCRIPT)]));
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
    let choosing = |extensions: ExtensionChoice| SessionOptions { extensions, ..yolo_options() };
    for choice in [ExtensionChoice::None, ExtensionChoice::Only(vec!["other".to_owned()])] {
        let why = refusal_with(&sandbox, &write_file_replay(), choosing(choice));
        assert_contains(&why, "guard `theirs` (");
        assert_contains(&why, "its extension ext is left out on the command line");
        assert!(!sandbox.exists("a.txt"));
    }
    // Disabling the extension in the settings is the permanent way.
    sandbox.write_user_settings(&json!({"extensions": {"disabled": ["ext"]}}));
    run_with_options(&sandbox, "go", &write_file_replay(), choosing(ExtensionChoice::None)).assert_ended_well();
    assert!(sandbox.exists("a.txt"));
}

#[test]
fn guards_of_an_extensions_broken_hooks_file_are_remembered() {
    let sandbox = empty_project();
    install_extension(&sandbox, &settings_with_guards(&[guard_hook("theirs", DENY_SCRIPT)]));
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
    let file = sandbox.home_dir().join(".gemini/extensions/ext/hooks/hooks.json");
    std::fs::write(file, "{").unwrap();
    let why = refusal(&sandbox, &write_file_replay());
    assert_contains(&why, "guard `theirs` (");
    assert_contains(&why, "the settings that held it can't be read");
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn a_guard_does_not_run_in_the_background() {
    let sandbox = empty_project();
    let mut both = guard_hook("both", DENY_SCRIPT);
    both["async"] = json!(true);
    sandbox.write_settings(&settings_with_guards(&[both]));
    let run = run_prompt(&sandbox, "go", &write_file_replay());
    assert_contains(&run.messages, "a guard can't run in the background");
    assert_contains(&run.messages, "Tool execution blocked: guarded");
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn a_guards_answer_that_is_nearly_a_no_is_not_a_yes() {
    let near = r#"cat > /dev/null; echo '{"decison": "deny"}'"#;
    let utf16 = r"cat > /dev/null; printf '{\000}\000'";
    for (command, expected) in [(near, "did it mean `decision`?"), (utf16, "contains NUL bytes")] {
        let sandbox = empty_project();
        sandbox.write_settings(&settings_with_guards(&[guard_hook("mumbles", command)]));
        let run = run_prompt(&sandbox, "go", &write_file_replay());
        assert_contains(&run.messages, "Tool execution blocked: hook mumbles: ");
        assert_contains(&run.messages, expected);
        assert!(!sandbox.exists("a.txt"));
    }
}

#[test]
fn a_project_cannot_make_the_users_hooks_more_lenient() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings_with_guards(&[hook])
    };
    let lenient = json!({"hooksConfig": {"onError": "allow"}});
    let strict = json!({"hooksConfig": {"onError": "block"}});
    for (user, project) in [
        (failing(json!({"onError": "block"})), lenient.clone()),
        (failing(json!({"onError": {"exit": "block"}})), failing(json!({"onError": "allow", "timeout": 50}))),
        (strict, failing(json!({"onError": "allow"}))),
        (failing(json!({})), json!({"hooksConfig": {"onError": "block"}})),
    ] {
        let sandbox = empty_project();
        sandbox.write_user_settings(&user);
        sandbox.write_settings(&project);
        assert_contains(
            &run_prompt(&sandbox, "go", &write_file_replay()).messages,
            "Tool execution blocked: hook check: exited with code 1",
        );
        assert!(!sandbox.exists("a.txt"), "{user} {project}");
    }
}

#[test]
fn argument_aliases_do_not_bypass_a_guard() {
    let sandbox = empty_project();
    std::fs::create_dir(sandbox.project_dir().join("private")).unwrap();
    let no_private = r#"case $(cat) in *'"dir_path":"private"'*) echo 'not there' >&2; exit 2;; esac"#;
    let rewrite = answer_script(&json!({"hookSpecificOutput": {"tool_input": {"directory": "private"}}}));
    let rewriter = write_hook_script(&sandbox, "rewrite", &rewrite);
    sandbox.write_settings(&settings_with_guards(&[
        guard_hook("no-private", no_private),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let calls = ReplayBuilder::new().calls("run_shell_command", json!({"command": "touch made"})).says("done");
    let run = run_prompt(&sandbox, "go", &calls);
    assert_contains(&run.messages, "Tool execution blocked: not there");
    assert!(!sandbox.exists("private/made") && !sandbox.exists("made"));
}

#[test]
fn a_guard_with_an_invalid_declaration_is_still_a_guard() {
    let mut yes = guard_hook("keep-out", DENY_SCRIPT);
    yes["guard"] = json!("yes");
    let sandbox = empty_project();
    sandbox.write_settings(&settings_with_guards(&[yes]));
    let run = run_prompt(&sandbox, "go", &write_file_replay());
    assert_contains(&run.messages, "`guard` should be true or false, not a string");
    assert_contains(&run.messages, "Tool execution blocked: guarded");
    assert!(!sandbox.exists("a.txt"));
    for (config, reason) in [
        (json!({"required": "keep-out"}), "`required` should be an array of names, not a string"),
        (json!({"requird": ["keep-out"]}), "`requird` has no effect; the key is `required` in `hooksConfig`"),
    ] {
        let sandbox = empty_project();
        sandbox.write_settings(&json!({"hooksConfig": config}));
        let why = refusal(&sandbox, &write_file_replay());
        assert_contains(&why, "guard `keep-out` (");
        assert_contains(&why, reason);
        assert!(!sandbox.exists("a.txt"), "{config}");
    }
}

#[test]
fn an_invalid_on_error_value_blocks() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings_with_guards(&[hook])
    };
    let mut config = failing(json!({}));
    config["hooksConfig"] = json!({"onError": "blok"});
    for settings in [
        failing(json!({"onError": "blok"})),
        failing(json!({"onError": {"exit": "Block"}})),
        failing(json!({"onError": {"exti": "block"}})),
        config,
    ] {
        let sandbox = empty_project();
        sandbox.write_settings(&settings);
        let run = run_prompt(&sandbox, "go", &write_file_replay());
        assert_contains(&run.messages, "Tool execution blocked: hook check: exited with code 1");
        assert_contains(&run.messages, "it counts as");
        assert!(!sandbox.exists("a.txt"), "{settings}");
    }
}

#[test]
fn a_required_guard_that_never_existed_is_remembered() {
    for config in [json!({"required": ["keep-out"]}), json!({"required": "keep-out"})] {
        let sandbox = empty_project();
        sandbox.write_settings(&json!({"hooksConfig": config}));
        refusal(&sandbox, &write_file_replay());
        sandbox.write(".gemini/settings.json", "{ \"hooksConfig\": {");
        let why = refusal_with(&sandbox, &write_file_replay(), ignore_broken_settings_options());
        assert_contains(&why, "guard `keep-out` (");
        assert_contains(&why, "the settings that held it can't be read");
        assert!(!sandbox.exists("a.txt"), "{config}");
    }
}

#[test]
fn guards_behind_a_dangling_settings_link_are_remembered() {
    let sandbox = empty_project();
    sandbox.write_user_settings(&settings_with_guards(&[guard_hook("mine", DENY_SCRIPT)]));
    let settings = sandbox.home_dir().join(".gemini/settings.json");
    let moved = sandbox.home_dir().join("d.json");
    std::fs::rename(&settings, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &settings).unwrap();
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
    std::fs::rename(&moved, sandbox.home_dir().join("gone.json")).unwrap();
    // The guards are remembered beyond the first refusal.
    let neither = SessionOptions { hooks: HookUse::Off, ..ignore_broken_settings_options() };
    for options in [yolo_options(), yolo_options(), neither] {
        let why = refusal_with(&sandbox, &write_file_replay(), options);
        assert_contains(&why, "guard `mine` (");
        assert_contains(&why, "the settings that held it can't be read");
        assert!(!sandbox.exists("a.txt"));
    }
    std::fs::rename(sandbox.home_dir().join("gone.json"), &moved).unwrap();
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
}

#[test]
fn guards_of_a_project_folder_replaced_by_a_file_are_remembered() {
    let sandbox = empty_project();
    sandbox.write_settings(&settings_with_guards(&[guard_hook("own", DENY_SCRIPT)]));
    assert_contains(&run_prompt(&sandbox, "go", &write_file_replay()).messages, "guarded");
    std::fs::rename(sandbox.project_dir().join(".gemini"), sandbox.project_dir().join("other")).unwrap();
    sandbox.write(".gemini", "");
    assert_contains(&refusal(&sandbox, &write_file_replay()), "guard `own` (");
    assert!(!sandbox.exists("a.txt"));
}
