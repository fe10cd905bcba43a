//! Nothing runs unasked where guards could be missing.

use std::os::unix::fs::PermissionsExt;

use hookwright_agent::session::{BrokenSettings, HookUse};
use hookwright_settings::{ExtensionChoice, TrustOverride};

use super::*;

fn writes() -> Replay {
    Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

fn without_hooks() -> SessionOptions {
    SessionOptions { hooks: HookUse::Off, ..yolo() }
}

fn despite_broken_settings() -> SessionOptions {
    SessionOptions { broken: BrokenSettings::GoOn, ..yolo() }
}

#[test]
fn in_a_folder_that_is_not_trusted_no_mode_lets_anything_run_unasked() {
    for mode in [ApprovalMode::Yolo, ApprovalMode::AutoEdit] {
        let sandbox = empty_project().untrusted();
        let options = SessionOptions { approval_mode: Some(mode), ..SessionOptions::default() };
        let run = run_with(&sandbox, "go", &writes(), options.clone()).ends_well();
        has(&run.said, "this folder is not trusted, so the approval mode is default");
        assert!(!sandbox.has("a.txt"), "{mode:?}");
        let options = SessionOptions { trust: TrustOverride::Skip, ..options };
        let run = run_with(&sandbox, "go", &writes(), options).ends_well();
        lacks(&run.said, "approval mode");
        assert!(sandbox.has("a.txt"), "{mode:?}");
    }
}

#[test]
fn a_locked_hook_runs_whatever_the_command_line_says() {
    let sandbox = empty_project();
    let hook = |name: &str, locked: bool| json!({"type": "command", "name": name, "command": format!("echo {name} >&2; exit 2"), "locked": locked});
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook("lock", true), hook("loose", false)]}]}});
    std::fs::write(sandbox.home().join("system-settings.json"), settings.to_string()).unwrap();
    let run = run_with(&sandbox, "go", &writes(), without_hooks()).ends_well();
    has(&run.said, "--no-hooks leaves locked hooks and guards running: lock");
    has(&run.said, "Tool execution blocked: lock");
    lacks(&run.said, "loose");
    assert!(!sandbox.has("a.txt"));
}

/// One hook on BeforeTool, as a guard.
fn guard(name: &str, command: &str) -> Value {
    json!({"type": "command", "name": name, "command": command, "guard": true})
}

fn guarded(hooks: &[Value]) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

const NO: &str = "cat > /dev/null; echo guarded >&2; exit 2";

#[test]
fn an_unarmed_hook_that_is_no_guard_keeps_nobody_from_starting() {
    let sandbox = empty_project();
    sandbox.write_settings(&guarded(&[json!({"type": "command", "name": "lost", "command": "./nowhere.sh"})]));
    let run = prompt(&sandbox, "go", &writes());
    has(&run.said, "hook lost (project, BeforeTool) can't run");
    assert!(sandbox.has("a.txt"));
}

#[test]
fn the_guards_of_a_folder_that_is_not_trusted_are_missed() {
    let sandbox = empty_project().untrusted();
    sandbox.write_settings(&guarded(&[guard("own", NO)]));
    let why = refused(&sandbox, &writes());
    for words in ["guard own (", "this folder is not trusted", "--skip-trust"] {
        has(&why, words);
    }
    let options = SessionOptions { trust: TrustOverride::Skip, ..yolo() };
    has(&run_with(&sandbox, "go", &writes(), options).ends_well().said, "guarded");
}

#[test]
fn a_broken_file_is_known_to_have_held_guards() {
    let sandbox = empty_project();
    let record = sandbox.home().join(".gemini/known_guards.json");
    sandbox.write_settings(&json!({}));
    prompt(&sandbox, "go", &Replay::new().says("hi"));
    assert!(!record.exists(), "there is nothing to remember");
    sandbox.write_user_settings(&guarded(&[guard("mine", NO)]));
    prompt(&sandbox, "go", &Replay::new().says("hi"));
    assert!(record.exists());
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let settings = sandbox.home().join(".gemini/settings.json");
    let good = fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, good.replacen('{', "{,", 1)).unwrap();
    // The flag is for files of which nobody knows that they held any.
    for (options, words) in [(yolo(), "can't be read as settings"), (despite_broken_settings(), "guard mine (")] {
        has(&refused_with(&sandbox, &writes(), options), words);
        assert!(!sandbox.has("a.txt"));
    }
    // Put right, it is as before; taken out, that is said once.
    std::fs::write(&settings, good).unwrap();
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
    std::fs::write(&settings, "{}").unwrap();
    let run = prompt(&sandbox, "go", &Replay::new().says("hi"));
    has(&run.said, "guard `mine` is no longer in ");
    let run = prompt(&sandbox, "go", &Replay::new().says("hi"));
    lacks(&run.said, "no longer");
}

#[test]
fn what_a_layer_requires_is_a_guard() {
    let sandbox = empty_project();
    let settings = json!({"hooksConfig": {"required": ["check"]}});
    std::fs::write(sandbox.home().join("system-settings.json"), settings.to_string()).unwrap();
    has(&refused(&sandbox, &writes()), "the system settings require it");
    let failing = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
    sandbox.write_user_settings(&guarded(&[failing]));
    sandbox.write_settings(&json!({"hooksConfig": {"disabled": ["check"]}}));
    let run = run_with(&sandbox, "go", &writes(), without_hooks()).ends_well();
    has(&run.said, "Tool execution blocked: hook check exited with code 1");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_rewriting_hook_smuggles_nothing_past_a_guard() {
    let sandbox = empty_project();
    let no_evil = "case $(cat) in *evil*) echo 'no evil' >&2; exit 2;; esac";
    let rewrite = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": "evil"}}}));
    let rewriter = script_of(&sandbox, "rewrite", &rewrite);
    sandbox.write_settings(&guarded(&[
        guard("no-evil", no_evil),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let run = prompt(&sandbox, "go", &writes());
    has(&run.said, "Tool execution blocked: no evil");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_hook_beside_its_event_decides_nothing_and_is_ended_with_the_session() {
    let sandbox = empty_project();
    let no = json!({"type": "command", "name": "late", "command": NO, "async": true});
    let stays = json!({"type": "command", "name": "stays", "async": true,
        "command": "echo $$ > pid; exec sleep 600"});
    sandbox.write_settings(&guarded(&[no, stays]));
    prompt(&sandbox, "go", &writes());
    assert!(sandbox.has("a.txt"));
    // It may have been ended before it wrote anything.
    if sandbox.has("pid") && !sandbox.read("pid").trim().is_empty() {
        assert_gone(sandbox.read("pid").trim());
    }
}

/// Installs an extension with these hooks.
fn extension(sandbox: &Headless, hooks: &Value) {
    let folder = sandbox.home().join(".gemini/extensions/ext");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "ext", "version": "1.0.0"}"#).unwrap();
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
}

#[test]
fn leaving_out_an_extension_does_not_leave_out_its_guards() {
    let sandbox = empty_project();
    extension(&sandbox, &guarded(&[guard("theirs", NO)]));
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
    let choosing = |extensions: ExtensionChoice| SessionOptions { extensions, ..yolo() };
    for choice in [ExtensionChoice::None, ExtensionChoice::Only(vec!["other".to_owned()])] {
        let why = refused_with(&sandbox, &writes(), choosing(choice));
        has(&why, "guard theirs (");
        has(&why, "the command line leaves its extension ext out");
        assert!(!sandbox.has("a.txt"));
    }
    // Whoever does not want it says so for good.
    sandbox.write_user_settings(&json!({"extensions": {"disabled": ["ext"]}}));
    run_with(&sandbox, "go", &writes(), choosing(ExtensionChoice::None)).ends_well();
    assert!(sandbox.has("a.txt"));
}

#[test]
fn an_extensions_broken_hooks_are_known_to_have_held_guards() {
    let sandbox = empty_project();
    extension(&sandbox, &guarded(&[guard("theirs", NO)]));
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
    let file = sandbox.home().join(".gemini/extensions/ext/hooks/hooks.json");
    std::fs::write(file, "{").unwrap();
    let why = refused(&sandbox, &writes());
    has(&why, "guard theirs (");
    has(&why, "the settings that held it can't be read");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_guard_does_not_run_beside_its_event() {
    let sandbox = empty_project();
    let mut both = guard("both", NO);
    both["async"] = json!(true);
    sandbox.write_settings(&guarded(&[both]));
    let run = prompt(&sandbox, "go", &writes());
    has(&run.said, "a guard can't run beside its event");
    has(&run.said, "Tool execution blocked: guarded");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_guards_answer_that_is_nearly_a_no_is_not_a_yes() {
    let near = r#"cat > /dev/null; echo '{"decison": "deny"}'"#;
    let utf16 = r"cat > /dev/null; printf '{\000}\000'";
    for (command, expected) in [(near, "did it mean `decision`?"), (utf16, "holds NUL bytes")] {
        let sandbox = empty_project();
        sandbox.write_settings(&guarded(&[guard("mumbles", command)]));
        let run = prompt(&sandbox, "go", &writes());
        has(&run.said, "Tool execution blocked: hook mumbles ");
        has(&run.said, expected);
        assert!(!sandbox.has("a.txt"));
    }
}

#[test]
fn a_project_makes_nobodys_hook_more_lenient() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        guarded(&[hook])
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
        has(&prompt(&sandbox, "go", &writes()).said, "Tool execution blocked: hook check exited with code 1");
        assert!(!sandbox.has("a.txt"), "{user} {project}");
    }
}

#[test]
fn no_other_name_of_an_argument_smuggles_anything_past_a_guard() {
    let sandbox = empty_project();
    std::fs::create_dir(sandbox.dir().join("private")).unwrap();
    let no_private = r#"case $(cat) in *'"dir_path":"private"'*) echo 'not there' >&2; exit 2;; esac"#;
    let rewrite = answer(&json!({"hookSpecificOutput": {"tool_input": {"directory": "private"}}}));
    let rewriter = script_of(&sandbox, "rewrite", &rewrite);
    sandbox.write_settings(&guarded(&[
        guard("no-private", no_private),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let calls = Replay::new().calls("run_shell_command", json!({"command": "touch made"})).says("done");
    let run = prompt(&sandbox, "go", &calls);
    has(&run.said, "Tool execution blocked: not there");
    assert!(!sandbox.has("private/made") && !sandbox.has("made"));
}

#[test]
fn a_guard_that_is_written_wrong_is_a_guard_all_the_same() {
    let mut yes = guard("keep-out", NO);
    yes["guard"] = json!("yes");
    let sandbox = empty_project();
    sandbox.write_settings(&guarded(&[yes]));
    let run = prompt(&sandbox, "go", &writes());
    has(&run.said, "`guard` should be true or false, not a string");
    has(&run.said, "Tool execution blocked: guarded");
    assert!(!sandbox.has("a.txt"));
    for (config, reason) in [
        (json!({"required": "keep-out"}), "`required` should be an array of names, not a string"),
        (json!({"requird": ["keep-out"]}), "`requird` has no effect; the key is `required` in `hooksConfig`"),
    ] {
        let sandbox = empty_project();
        sandbox.write_settings(&json!({"hooksConfig": config}));
        let why = refused(&sandbox, &writes());
        has(&why, "guard keep-out (");
        has(&why, reason);
        assert!(!sandbox.has("a.txt"), "{config}");
    }
}

#[test]
fn a_word_for_failures_that_is_none_blocks() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        guarded(&[hook])
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
        let run = prompt(&sandbox, "go", &writes());
        has(&run.said, "Tool execution blocked: hook check exited with code 1");
        has(&run.said, "it counts as");
        assert!(!sandbox.has("a.txt"), "{settings}");
    }
}

#[test]
fn what_a_file_required_is_remembered_though_it_never_was_there() {
    for config in [json!({"required": ["keep-out"]}), json!({"required": "keep-out"})] {
        let sandbox = empty_project();
        sandbox.write_settings(&json!({"hooksConfig": config}));
        refused(&sandbox, &writes());
        sandbox.write(".gemini/settings.json", "{ \"hooksConfig\": {");
        let why = refused_with(&sandbox, &writes(), despite_broken_settings());
        has(&why, "guard keep-out (");
        has(&why, "the settings that held it can't be read");
        assert!(!sandbox.has("a.txt"), "{config}");
    }
}

#[test]
fn a_settings_file_that_leads_nowhere_is_known_to_have_held_guards() {
    let sandbox = empty_project();
    sandbox.write_user_settings(&guarded(&[guard("mine", NO)]));
    let settings = sandbox.home().join(".gemini/settings.json");
    let moved = sandbox.home().join("d.json");
    std::fs::rename(&settings, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &settings).unwrap();
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
    std::fs::rename(&moved, sandbox.home().join("gone.json")).unwrap();
    // Not only the first time.
    let neither = SessionOptions { hooks: HookUse::Off, ..despite_broken_settings() };
    for options in [yolo(), yolo(), neither] {
        let why = refused_with(&sandbox, &writes(), options);
        has(&why, "guard mine (");
        has(&why, "the settings that held it can't be read");
        assert!(!sandbox.has("a.txt"));
    }
    std::fs::rename(sandbox.home().join("gone.json"), &moved).unwrap();
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
}

#[test]
fn a_projects_folder_that_is_none_is_known_to_have_held_guards() {
    let sandbox = empty_project();
    sandbox.write_settings(&guarded(&[guard("own", NO)]));
    has(&prompt(&sandbox, "go", &writes()).said, "guarded");
    std::fs::rename(sandbox.dir().join(".gemini"), sandbox.dir().join("other")).unwrap();
    sandbox.write(".gemini", "");
    has(&refused(&sandbox, &writes()), "guard own (");
    assert!(!sandbox.has("a.txt"));
}
