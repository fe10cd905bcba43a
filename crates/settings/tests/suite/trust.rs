//! Tests of folder trust and hook trust on disk.

use hookwright_hooks::HookState;
use hookwright_settings::trust::{
    FolderRule, GuardFile, GuardFileKind, Ledger, LedgerEntry, hold_untrusted, pending_changes, set_folder_trust,
    trust_hooks,
};
use hookwright_settings::{FolderTrust, HookFinding, LoadedConfig, TrustOverride, TrustSource};
use hookwright_testkit::deadline::wait_for;
use hookwright_testkit::fs;
use serde_json::Value;

use super::fixture::{SettingsFixture, diagnostic_messages, settings_with_hook};

/// Returns settings with one definition on one event.
fn definition(event: &str, definition: &Value) -> String {
    serde_json::json!({"hooks": {event: [definition]}}).to_string()
}

#[test]
fn folder_trust_is_recorded() {
    let place = SettingsFixture::new();
    let paths = place.paths();
    set_folder_trust(&paths, &place.project(), FolderRule::TrustFolder).unwrap();
    assert_eq!(place.load().project.trust, FolderTrust::Trusted(TrustSource::Rule(place.project())));
    set_folder_trust(&paths, &place.project(), FolderRule::DoNotTrust).unwrap();
    assert_eq!(place.load().project.trust, FolderTrust::Distrusted(TrustSource::Rule(place.project())));
    set_folder_trust(&paths, &place.project(), FolderRule::TrustParent).unwrap();
    assert!(place.load().project.trust.is_trusted());
    let text: Value = serde_json::from_str(&fs::read_to_string(&paths.trusted_folders).unwrap()).unwrap();
    assert_eq!(text, serde_json::json!({ place.project().to_str().unwrap(): "TRUST_PARENT" }));
}

#[cfg(unix)]
#[test]
fn the_record_of_folders_is_private_and_links_are_seen_through() {
    use std::os::unix::fs::PermissionsExt;
    let place = SettingsFixture::new();
    let link = place.home().join("link");
    std::os::unix::fs::symlink(place.project(), &link).unwrap();
    set_folder_trust(&place.paths(), &link, FolderRule::TrustFolder).unwrap();
    assert!(place.load().project.trust.is_trusted());
    let mode = fs::metadata(place.paths().trusted_folders).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::write(place.paths().trusted_folders, format!(r#"{{"{}": "TRUST_FOLDER"}}"#, link.display())).unwrap();
    assert!(place.load().project.trust.is_trusted());
}

#[test]
fn the_environment_and_the_command_line_decide_before_the_record() {
    let trust = |name: &str, value: &str, choice| {
        SettingsFixture::new().with_variable(name, value).load_with(choice).project.trust
    };
    let environment = TrustSource::Environment;
    let word = "GEMINI_CLI_TRUST_WORKSPACE";
    assert_eq!(trust(word, "true", TrustOverride::None), FolderTrust::Trusted(environment.clone()));
    assert_eq!(trust(word, "false", TrustOverride::None), FolderTrust::Distrusted(environment.clone()));
    assert_eq!(trust(word, "false", TrustOverride::Skip), FolderTrust::Trusted(TrustSource::Override));
    assert_eq!(trust("GEMINI_RESTRICTED_MODE", "true", TrustOverride::Skip), FolderTrust::Distrusted(environment));
    assert_eq!(trust(word, "yes", TrustOverride::None), FolderTrust::Unknown);
}

#[test]
fn a_wrong_trust_level_never_means_trust() {
    let place = SettingsFixture::new();
    let rules = format!(r#"{{"{}": "TRUST_FOLDER", "{}": "NO"}}"#, place.home().display(), place.project().display());
    place.write(".gemini/trustedFolders.json", rules);
    let loaded = place.load();
    assert!(!loaded.project.trust.is_trusted());
    assert!(diagnostic_messages(&loaded, &place.home())[0].contains("\"NO\" is not a trust level"));
    place.write(".gemini/trustedFolders.json", "{ nonsense");
    let loaded = place.load();
    assert_eq!(loaded.project.trust, FolderTrust::Unknown);
    assert_eq!(loaded.registry.diagnostics().len(), 1);
    assert!(set_folder_trust(&loaded.paths, &place.project(), FolderRule::TrustFolder).is_err());
    assert_eq!(fs::read_to_string(&loaded.paths.trusted_folders).unwrap(), "{ nonsense");
}

/// A session was killed while a program ran in it; changes that another session writes for the user are not its
/// agent's.
#[test]
fn a_record_that_is_written_for_the_user_is_blamed_on_no_dead_session() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("guard", "true"));
    let loaded = place.load();
    let (paths, project) = (&loaded.paths, &loaded.project.root);
    let files: Vec<GuardFile> = [&paths.trusted_folders, &paths.trusted_hooks]
        .map(|path| GuardFile { path: path.clone(), kind: GuardFileKind::Trust })
        .to_vec();
    let entry = |file: &GuardFile| LedgerEntry {
        path: file.path.to_string_lossy().into_owned(),
        before: file.snapshot(project).digest,
        changed: false,
        diff: None,
    };
    let dies = || {
        let mut ledger = Ledger::new(paths, project, "killed");
        ledger.open().unwrap();
        ledger.mark_active();
        ledger.write_baseline(files.iter().map(entry).collect()).unwrap();
        let lock = ledger.path().with_extension("lock");
        drop(ledger);
        // A process that another test is just starting holds a copy of the lock's descriptor for a moment.
        wait_for("the session's lock is free", || fs::File::open(&lock).unwrap().try_lock().ok());
    };
    dies();
    trust_all(&loaded);
    set_folder_trust(paths, project, FolderRule::TrustParent).unwrap();
    assert!(pending_changes(paths, project, &files).is_empty());
    // Changes of its agent stay attributed to it, whatever is written later.
    dies();
    let forged = fs::read_to_string(&paths.trusted_hooks).unwrap().replace("guard", "other");
    fs::write(&paths.trusted_hooks, forged).unwrap();
    trust_all(&loaded);
    assert_eq!(pending_changes(paths, project, &files).len(), 1);
}

#[test]
fn leftovers_of_sessions_killed_at_start_are_removed() {
    let place = SettingsFixture::trusted();
    let (paths, project) = (place.paths(), place.project());
    let folder = paths.user_dir.join("hookwright/guards");
    fs::create_dir_all(&folder).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let made = |name: &str| fs::File::create(folder.join(name)).unwrap();
    let alive = made("alive.lock");
    alive.lock_shared().unwrap();
    let new = made("new.lock");
    for old in [&alive, &made("dead.lock")] {
        old.set_modified(long_ago).unwrap();
    }
    Ledger::new(&paths, &project, "this").open().unwrap();
    let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["alive.lock", "new.lock", "this.lock"]);
    drop((alive, new));
}

fn findings(loaded: &LoadedConfig) -> Vec<String> {
    loaded.reviews.iter().map(|review| format!("{}: {}", review.hook.id(), review.finding)).collect()
}

fn trust_all(loaded: &LoadedConfig) {
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
}

#[test]
fn a_hook_is_new_once_and_changed_when_anything_of_it_changes() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("guard", "bash $GEMINI_PROJECT_DIR/hooks/guard.sh --strict"));
    place.write("project/hooks/guard.sh", "one\ntwo\nthree\n");
    let loaded = place.load();
    assert_eq!(findings(&loaded), ["guard: new"]);
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), [""; 0]);

    place.write("project/hooks/guard.sh", "one\n2\nthree\nfour\n");
    assert_eq!(findings(&place.load()), ["guard: changed: hooks/guard.sh changed (+2 -1 lines)"]);
    fs::remove_file(place.project().join("hooks/guard.sh")).unwrap();
    assert_eq!(findings(&place.load()), ["guard: changed: hooks/guard.sh is gone"]);
    trust_all(&place.load());
    assert_eq!(findings(&place.load()), [""; 0]);

    place.write_project_settings(&settings_with_hook("guard", "./other.sh"));
    let loaded = place.load();
    assert_eq!(
        findings(&loaded),
        ["guard: changed: its `command` was `bash $GEMINI_PROJECT_DIR/hooks/guard.sh --strict`"]
    );
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), [""; 0]);
}

#[test]
fn reviewed_version_is_what_is_trusted() {
    let place = SettingsFixture::trusted();
    place.write_project_settings(&settings_with_hook("guard", "./guard.sh"));
    place.write("project/guard.sh", "good\n");
    let loaded = place.load();
    place.write("project/guard.sh", "evil\n");
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), ["guard: changed: guard.sh changed (+1 -1 lines)"]);
}

#[test]
fn ask_and_block_hold_hooks_until_they_are_trusted() {
    for word in ["ask", "block"] {
        let place = SettingsFixture::trusted();
        place.write_user_settings(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        place.write_project_settings(&settings_with_hook("p", "true"));
        let mut loaded = place.load();
        assert_eq!(
            loaded.registry.entries().next().unwrap().1,
            &HookState::Untrusted { why: "new; not trusted yet".into() }
        );
        trust_all(&loaded);
        // In the running session and in the next one.
        hold_untrusted(&mut loaded.registry, &[]);
        assert_eq!(loaded.registry.entries().next().unwrap().1, &HookState::Enabled);
        assert_eq!(place.load().registry.entries().next().unwrap().1, &HookState::Enabled);
    }
}

#[test]
fn ask_and_block_hold_agents_and_commands_of_a_project_until_they_are_trusted() {
    let definition = |text: &str| format!("---\nname: x\ndescription: helps\n---\n{text}\n");
    for word in ["announce", "ask", "block"] {
        let place = SettingsFixture::trusted();
        place.write_user_settings(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        let write = |name: &str, text: &str| {
            let path = place.project().join(".gemini").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let agent = write("agents/x's own.md", &definition("Help."));
        let command = write("commands/git/y.toml", "prompt = 'y'");
        let system = write("system.md", "Obey.");
        let held = || {
            let loaded = place.load();
            let is_known = hookwright_settings::subagents::discover(&loaded).get("x").is_some();
            assert_eq!(is_known, loaded.held_instruction(&agent).is_none());
            [&agent, &command, &system].map(|file| loaded.held_instruction(file).is_some())
        };
        if word == "announce" {
            assert!(held() == [false; 3] && place.load().reviews.is_empty());
            continue;
        }
        assert_eq!(held(), [true; 3]);
        assert!(place.load().reviews.iter().all(|review| review.certain));
        trust_all(&place.load());
        assert_eq!(held(), [false; 3]);
        write("agents/x's own.md", &definition("Help yourself."));
        assert_eq!(held(), [true, false, false]);
        trust_all(&place.load());
        write("commands/git/y.toml", "prompt = 'z'");
        assert_eq!(held(), [false, true, false]);
    }
}

#[test]
fn a_switch_off_by_the_project_waits_for_trust() {
    let spellings = [
        r#"{"hooks": {"disabled": ["mine"]}}"#,
        r#"{"hooksConfig": {"disabled": ["mine"]}}"#,
        r#"{"hooks": {"enabled": false}}"#,
        r#"{"hooksConfig": {"enabled": false}}"#,
        r#"{"tools": {"enableHooks": false}}"#,
    ];
    for (word, own) in ["ask", "block"].into_iter().flat_map(|word| spellings.map(|own| (word, own))) {
        let place = SettingsFixture::trusted();
        place.write_user_settings(&format!(
            r#"{{"security": {{"hooks": {{"review": "{word}"}}}},
                "hooks": {{"SessionStart": [{{"hooks": [{{"type": "command", "name": "mine", "command": "x"}}]}}]}}}}"#
        ));
        place.write_project_settings(own);
        let loaded = place.load();
        let states: Vec<_> = loaded.registry.entries().map(|(_, state)| state.clone()).collect();
        assert_eq!(states, [HookState::Enabled], "{own}");
        assert_eq!(findings(&loaded), ["mine: switched off by this project's settings"], "{own}");
        let said = loaded.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains("`mine` (user); it stays on until you trust this change"), "{own}: {said}");
        trust_all(&loaded);
        let loaded = place.load();
        assert_ne!(loaded.registry.entries().next().unwrap().1, &HookState::Enabled, "{own}");
        assert_eq!(findings(&loaded), [""; 0], "{own}");
    }
}

#[test]
fn trust_in_one_switch_off_covers_no_other() {
    let place = SettingsFixture::trusted();
    let hook = |name: &str| format!(r#"{{"type": "command", "name": "{name}", "command": "x-{name}"}}"#);
    let user = |hooks: &str| {
        format!(
            r#"{{"security": {{"hooks": {{"review": "ask"}}}}, "hooks": {{"SessionStart": [{{"hooks": [{hooks}]}}]}}}}"#
        )
    };
    place.write_user_settings(&user(&hook("a")));
    place.write_project_settings(r#"{"hooks": {"enabled": false}}"#);
    trust_all(&place.load());
    // A hook that the user adds later, one of the same name in another layer, and one of the project.
    place.write_user_settings(&user(&format!("{}, {}", hook("a"), hook("b"))));
    place.write_system_settings(&settings_with_hook("a", "true"));
    let mut found = findings(&place.load());
    found.sort();
    assert_eq!(found, ["a", "b"].map(|name| format!("{name}: switched off by this project's settings")));
    place.write_project_settings(&settings_with_hook("a", "own"));
    assert_eq!(findings(&place.load()), ["a: new"]);
}

#[test]
fn users_and_systems_hooks_are_not_reviewed() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#);
    place.write_system_settings(&settings_with_hook("s", "y"));
    assert!(place.load().reviews.is_empty());
}

#[test]
fn the_record_is_shared_with_gemini_cli() {
    let place = SettingsFixture::trusted();
    let theirs = r#"{"/other": ["a:b"], "PROJECT": ["x:y"]}"#.replace("PROJECT", place.project().to_str().unwrap());
    place.write(".gemini/trusted_hooks.json", theirs);
    place.write_project_settings(&settings_with_hook("guard", "./guard.sh"));
    trust_all(&place.load());
    let record: Value = serde_json::from_str(&fs::read_to_string(place.paths().trusted_hooks).unwrap()).unwrap();
    assert_eq!(record["/other"], serde_json::json!(["a:b"]));
    assert_eq!(record[place.project().to_str().unwrap()], serde_json::json!(["x:y", "guard:./guard.sh"]));
}

#[test]
fn broken_record_is_reported_and_not_overwritten() {
    let place = SettingsFixture::trusted();
    place.write(".gemini/trusted_hooks.json", "[1");
    place.write_project_settings(&settings_with_hook("guard", "./guard.sh"));
    let loaded = place.load();
    assert_eq!(loaded.reviews[0].finding, HookFinding::New);
    assert!(diagnostic_messages(&loaded, &place.home())[0].contains("every hook counts as new"));
    assert!(trust_hooks(&loaded.paths, &loaded.reviews).is_err());
    assert_eq!(fs::read_to_string(&loaded.paths.trusted_hooks).unwrap(), "[1");
}

#[test]
fn projects_do_not_share_trust_and_unnamed_hooks_are_told_apart() {
    let place = SettingsFixture::trusted();
    let unnamed = |command: &str| {
        format!(r#"{{"hooks": {{"AfterTool": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#)
    };
    place.write_project_settings(&unnamed("./a"));
    trust_all(&place.load());
    place.write_project_settings(&unnamed("./b"));
    assert_eq!(findings(&place.load()), ["./b: new"]);
    place.write("second/.gemini/settings.json", unnamed("./a"));
    let options = hookwright_settings::LoadOptions { project: place.home().join("second"), ..Default::default() };
    assert_eq!(findings(&hookwright_settings::load(&place.process_env(), &options)), ["./a: new"]);
}

#[test]
fn a_path_with_spaces_and_quotes_is_found() {
    let place = SettingsFixture::trusted();
    place.write("project/my dir/it's.sh", "x\n");
    place.write_project_settings(&settings_with_hook("g", "python3 \"$GEMINI_PROJECT_DIR/my dir/it's.sh\""));
    trust_all(&place.load());
    place.write("project/my dir/it's.sh", "y\n");
    assert_eq!(findings(&place.load()), ["g: changed: my dir/it's.sh changed (+1 -1 lines)"]);
}

#[test]
fn a_script_is_found_wherever_the_command_goes() {
    for command in [
        "cd hk && ./g.sh",
        "H=\"$CLAUDE_PROJECT_DIR/hk/g.sh\"; [ -x \"$H\" ] && \"$H\"",
        "bash -c '. ./hk/g.sh'",
        "env A=b timeout 5 sh hk/g.sh || true",
        "\"$(pwd)\"/hk/g.sh",
    ] {
        let place = SettingsFixture::trusted();
        place.write("project/hk/g.sh", "one\n");
        place.write_project_settings(&settings_with_hook("g", command));
        trust_all(&place.load());
        assert_eq!(findings(&place.load()), [""; 0], "{command}");
        place.write("project/hk/g.sh", "one\ntwo\n");
        assert_eq!(findings(&place.load()), ["g: changed: hk/g.sh changed (+1 -0 lines)"], "{command}");
    }
}

#[test]
fn uncertain_command_includes_all_likely_files() {
    let place = SettingsFixture::trusted();
    place.write("project/.gemini/hooks/inner.py", "one\n");
    place.write_project_settings(&settings_with_hook("g", "python3 -c 'import runpy; runpy.run_path(input())'"));
    let loaded = place.load();
    assert!(
        loaded.notices[0]
            .to_string()
            .contains("it is not known which files it runs, so everything under .gemini/ counts")
    );
    trust_all(&loaded);
    place.write("project/.gemini/tmp/log", "x");
    assert_eq!(findings(&place.load()), [""; 0]);
    place.write("project/.gemini/hooks/inner.py", "two\n");
    assert_eq!(findings(&place.load()), ["g: changed: .gemini/hooks/inner.py changed (+1 -1 lines)"]);
}

#[test]
fn files_a_hook_writes_are_not_part_of_its_fingerprint() {
    let place = SettingsFixture::trusted();
    place.write("project/g.sh", "x\n");
    place.write_project_settings(&settings_with_hook("g", "./g.sh >> log.txt 2>&1"));
    place.write("project/log.txt", "one\n");
    trust_all(&place.load());
    place.write("project/log.txt", "one\ntwo\n");
    assert_eq!(findings(&place.load()), [""; 0]);
}

#[test]
fn every_field_of_a_declaration_counts() {
    let hook = |extra: Value| {
        let mut hook = serde_json::json!({"type": "command", "name": "g", "command": "./g.sh"});
        hook.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        hook
    };
    let plain = serde_json::json!({"matcher": "write_file", "hooks": [hook(serde_json::json!({}))]});
    let with = |extra: Value| serde_json::json!({"matcher": "write_file", "hooks": [hook(extra)]});
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let cases = [
        ("AfterTool", plain.clone(), "its `event` was `BeforeTool`"),
        (
            "BeforeTool",
            serde_json::json!({"matcher": "none", "hooks": plain["hooks"]}),
            "its `matcher` was `write_file`",
        ),
        ("BeforeTool", serde_json::json!({"hooks": plain["hooks"]}), "its `matcher` was `write_file`"),
        (
            "BeforeTool",
            serde_json::json!({"matcher": "write_file", "sequential": true, "hooks": plain["hooks"]}),
            "it had no `sequential`",
        ),
        ("BeforeTool", with(json(r#"{"timeout": 1}"#)), "its `timeout` was `60000 ms`"),
        ("BeforeTool", with(json(r#"{"onError": {"exit": "allow"}}"#)), "it had no `onError`"),
        ("BeforeTool", with(json(r#"{"guard": true}"#)), "it had no `guard`"),
        ("BeforeTool", with(json(r#"{"description": "harmless"}"#)), "it had no `description`"),
        ("BeforeTool", with(json(r#"{"env": {"MODE": "off"}}"#)), "its variable MODE is new"),
        ("BeforeTool", with(json(r#"{"command": "./other.sh"}"#)), "its `command` was `./g.sh`"),
        ("BeforeTool", with(json(r#"{"name": "h"}"#)), "its `name` was `g`"),
    ];
    for (event, changed, what) in cases {
        let place = SettingsFixture::trusted();
        place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
        place.write_project_settings(&definition("BeforeTool", &plain));
        trust_all(&place.load());
        assert_eq!(findings(&place.load()), [""; 0]);
        place.write_project_settings(&definition(event, &changed));
        let loaded = place.load();
        let found = findings(&loaded);
        assert!(found.len() == 1 && found[0].ends_with(&format!(": changed: {what}")), "{what}: {found:?}");
        assert!(matches!(loaded.registry.entries().next().unwrap().1, HookState::Untrusted { .. }), "{what}");
    }
}

#[test]
fn equal_hooks_on_two_events_are_reviewed_separately() {
    let twins = |after: &str| {
        let hook = r#"{"type": "command", "name": "g", "command": "./g.sh"}"#;
        format!(
            r#"{{"hooks": {{"BeforeTool": [{{"hooks": [{hook}]}}], "AfterTool": [{{"matcher": "{after}", "hooks": [{hook}]}}]}}}}"#
        )
    };
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
    place.write_project_settings(&twins("a"));
    let loaded = place.load();
    assert_eq!(findings(&loaded), ["g: new", "g: new"]);
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), [""; 0]);
    place.write_project_settings(&twins("b"));
    let loaded = place.load();
    assert_eq!(findings(&loaded), ["g: changed: its `matcher` was `a`"]);
    let armed: Vec<_> = loaded.registry.entries().map(|(_, state)| *state == HookState::Enabled).collect();
    assert_eq!(armed, [true, false]);
}

#[test]
fn trust_in_an_older_form_is_announced_once_and_says_why() {
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
    place.write_project_settings(&settings_with_hook("g", "./g.sh"));
    let old = serde_json::json!({"hookwright": {"projects": {place.project().to_str().unwrap(): [
        {"name": "g", "command": "./g.sh", "fingerprint": "00", "env": "0123456789abcdef"}]}}});
    place.write(".gemini/trusted_hooks.json", old.to_string());
    let loaded = place.load();
    assert_eq!(findings(&loaded), ["g: changed: it was trusted with an older version, which checked less of it"]);
    assert!(loaded.reviews[0].held);
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), [""; 0]);
    let text = fs::read_to_string(place.paths().trusted_hooks).unwrap();
    assert!(!text.contains("\"00\""), "{text}");
}

#[test]
fn a_rule_that_is_empty_or_relative_matches_nothing_and_is_reported() {
    for path in ["", ".", "..", "project", "~", "./"] {
        let place = SettingsFixture::new();
        place.write(".gemini/trustedFolders.json", serde_json::json!({path: "TRUST_FOLDER"}).to_string());
        let loaded = place.load();
        assert_eq!(loaded.project.trust, FolderTrust::Unknown, "{path}");
        assert!(diagnostic_messages(&loaded, &place.home())[0].contains("this rule matches nothing"), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_never_outranks_distrust() {
    use std::os::unix::fs::symlink;
    let place = SettingsFixture::new();
    let (bad, deep) = (place.home().join("bad"), place.home().join("bad/in/deep"));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(place.home().join("good/very/long/way/down")).unwrap();
    let long = place.home().join("good/very/long/way/down/link");
    symlink(&deep, &long).unwrap();
    symlink(&deep, place.home().join("short")).unwrap();
    let trust = |project: &std::path::Path, rules: Value| {
        place.write(".gemini/trustedFolders.json", rules.to_string());
        let options = hookwright_settings::LoadOptions { project: project.to_owned(), ..Default::default() };
        hookwright_settings::load(&place.process_env(), &options).project.trust
    };
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let distrusted = |trust: &FolderTrust| matches!(trust, FolderTrust::Distrusted(_));
    for link in [long.clone(), place.home().join("short")] {
        for project in [link.clone(), deep.clone()] {
            for no in [&bad, &deep] {
                let rules = serde_json::json!({text(no): "DO_NOT_TRUST", text(&link): "TRUST_FOLDER"});
                assert!(distrusted(&trust(&project, rules.clone())), "{} {rules}", project.display());
            }
            // And the other way round: the link is distrusted, the real folder is not.
            let rules = serde_json::json!({text(&link): "DO_NOT_TRUST", text(&bad): "TRUST_FOLDER"});
            assert!(distrusted(&trust(&project, rules)), "{}", project.display());
            // If no rule forbids it, a rule may name a link.
            let rules = serde_json::json!({text(&link): "TRUST_FOLDER"});
            assert!(trust(&project, rules).is_trusted(), "{}", project.display());
        }
    }
    // A link inside of a trusted folder does not extend trust to its target.
    let rules = serde_json::json!({text(&place.home().join("good")): "TRUST_FOLDER"});
    assert_eq!(trust(&long, rules), FolderTrust::Unknown);
    // A real folder that is trusted stays trusted inside of one that is not.
    let rules = serde_json::json!({text(&bad): "DO_NOT_TRUST", text(&deep): "TRUST_FOLDER"});
    assert!(trust(&deep, rules).is_trusted());
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_told_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = SettingsFixture::trusted();
    place.write_user_settings(r#"{"security": {"hooks": {"review": "block"}}}"#);
    let folder = |byte: u8| place.home().join(OsStr::from_bytes(&[b'p', byte]));
    let reviews = |byte: u8| {
        fs::create_dir_all(folder(byte).join(".gemini")).unwrap();
        fs::write(folder(byte).join(".gemini/settings.json"), settings_with_hook("g", "true")).unwrap();
        let options = hookwright_settings::LoadOptions { project: folder(byte), ..Default::default() };
        hookwright_settings::load(&place.process_env(), &options)
    };
    trust_all(&reviews(0xfe));
    assert_eq!(findings(&reviews(0xfe)), [""; 0]);
    assert_eq!(findings(&reviews(0xff)), ["g: new"]);
    // No rule can contain such a name; one that is close to it is refused.
    let refused = set_folder_trust(&place.paths(), &folder(0xfe), FolderRule::TrustFolder).unwrap_err();
    assert!(refused.to_string().contains("its name is not UTF-8"), "{refused}");
    // Scripts whose names differ in such a byte are distinct.
    let place = SettingsFixture::trusted();
    place.write("project/.gemini/x", "");
    place.write_project_settings(&settings_with_hook("g", "sh -c \"$(cat which)\""));
    let script = |byte: u8, text: &str| {
        fs::write(place.project().join(".gemini").join(OsStr::from_bytes(&[byte])), text).unwrap();
    };
    (0xfe..=0xff).for_each(|byte| script(byte, "one"));
    trust_all(&place.load());
    script(0xfe, "two");
    assert_eq!(findings(&place.load()), ["g: changed: .gemini/bytes:fe changed (+1 -1 lines)"]);
    script(0xfe, "one");
    script(0xff, "two");
    assert_eq!(findings(&place.load()), ["g: changed: .gemini/bytes:ff changed (+1 -1 lines)"]);
}
