//! Folder trust and hook trust on disk.

use std::fs;

use hookwright_hooks::HookState;
use hookwright_settings::trust::{FolderRule, hold, set_folder_trust, trust_hooks};
use hookwright_settings::{Finding, FolderTrust, Loaded, TrustOverride, TrustSource};
use serde_json::Value;

use super::place::{Place, one_hook, problems};

#[test]
fn what_the_user_says_about_a_folder_is_kept() {
    let place = Place::new();
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
    let place = Place::new();
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
    let trust = |name: &str, value: &str, choice| Place::new().with(name, value).load_with(choice).project.trust;
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
    let place = Place::new();
    let rules = format!(r#"{{"{}": "TRUST_FOLDER", "{}": "NO"}}"#, place.home().display(), place.project().display());
    place.write(".gemini/trustedFolders.json", rules);
    let loaded = place.load();
    assert!(!loaded.project.trust.is_trusted());
    assert!(problems(&loaded, &place.home())[0].contains("\"NO\" is no trust level"));
    place.write(".gemini/trustedFolders.json", "{ nonsense");
    let loaded = place.load();
    assert_eq!(loaded.project.trust, FolderTrust::Unknown);
    assert_eq!(loaded.registry.diagnostics().len(), 1);
    assert!(set_folder_trust(&loaded.paths, &place.project(), FolderRule::TrustFolder).is_err());
    assert_eq!(fs::read_to_string(&loaded.paths.trusted_folders).unwrap(), "{ nonsense");
}

fn findings(loaded: &Loaded) -> Vec<String> {
    loaded.reviews.iter().map(|review| format!("{}: {}", review.hook.id(), review.finding)).collect()
}

fn trust_all(loaded: &Loaded) {
    trust_hooks(&loaded.paths, &loaded.reviews).unwrap();
}

#[test]
fn a_hook_is_new_once_and_changed_when_anything_of_it_changes() {
    let place = Place::trusted();
    place.own(&one_hook("guard", "bash $GEMINI_PROJECT_DIR/hooks/guard.sh --strict"));
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

    place.own(&one_hook("guard", "./other.sh"));
    let loaded = place.load();
    assert_eq!(
        findings(&loaded),
        ["guard: changed: its command was `bash $GEMINI_PROJECT_DIR/hooks/guard.sh --strict`"]
    );
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), [""; 0]);
}

#[test]
fn what_was_shown_is_what_is_trusted() {
    let place = Place::trusted();
    place.own(&one_hook("guard", "./guard.sh"));
    place.write("project/guard.sh", "good\n");
    let loaded = place.load();
    place.write("project/guard.sh", "evil\n");
    trust_all(&loaded);
    assert_eq!(findings(&place.load()), ["guard: changed: guard.sh changed (+1 -1 lines)"]);
}

#[test]
fn ask_and_block_hold_hooks_until_they_are_trusted() {
    for word in ["ask", "block"] {
        let place = Place::trusted();
        place.user(&format!(r#"{{"security": {{"hooks": {{"review": "{word}"}}}}}}"#));
        place.own(&one_hook("p", "true"));
        let mut loaded = place.load();
        assert_eq!(
            loaded.registry.entries().next().unwrap().1,
            &HookState::Held { why: "new; not trusted yet".into() }
        );
        trust_all(&loaded);
        // In the running session, and in the next one.
        hold(&mut loaded.registry, &[]);
        assert_eq!(loaded.registry.entries().next().unwrap().1, &HookState::Enabled);
        assert_eq!(place.load().registry.entries().next().unwrap().1, &HookState::Enabled);
    }
}

#[test]
fn users_and_systems_hooks_are_not_reviewed() {
    let place = Place::trusted();
    place.user(r#"{"security": {"hooks": {"review": "block"}}, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#);
    place.system(&one_hook("s", "y"));
    assert!(place.load().reviews.is_empty());
}

#[test]
fn the_record_is_shared_with_gemini_cli() {
    let place = Place::trusted();
    let theirs = r#"{"/other": ["a:b"], "PROJECT": ["x:y"]}"#.replace("PROJECT", place.project().to_str().unwrap());
    place.write(".gemini/trusted_hooks.json", theirs);
    place.own(&one_hook("guard", "./guard.sh"));
    trust_all(&place.load());
    let record: Value = serde_json::from_str(&fs::read_to_string(place.paths().trusted_hooks).unwrap()).unwrap();
    assert_eq!(record["/other"], serde_json::json!(["a:b"]));
    assert_eq!(record[place.project().to_str().unwrap()], serde_json::json!(["x:y", "guard:./guard.sh"]));
}

#[test]
fn a_broken_record_is_said_and_not_overwritten() {
    let place = Place::trusted();
    place.write(".gemini/trusted_hooks.json", "[1");
    place.own(&one_hook("guard", "./guard.sh"));
    let loaded = place.load();
    assert_eq!(loaded.reviews[0].finding, Finding::New);
    assert!(problems(&loaded, &place.home())[0].contains("every hook counts as new"));
    assert!(trust_hooks(&loaded.paths, &loaded.reviews).is_err());
    assert_eq!(fs::read_to_string(&loaded.paths.trusted_hooks).unwrap(), "[1");
}

#[test]
fn projects_do_not_share_trust_and_unnamed_hooks_are_told_apart() {
    let place = Place::trusted();
    let unnamed = |command: &str| {
        format!(r#"{{"hooks": {{"AfterTool": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#)
    };
    place.own(&unnamed("./a"));
    trust_all(&place.load());
    place.own(&unnamed("./b"));
    assert_eq!(findings(&place.load()), ["./b: new"]);
    place.write("second/.gemini/settings.json", unnamed("./a"));
    let options = hookwright_settings::LoadOptions { project: place.home().join("second"), ..Default::default() };
    assert_eq!(findings(&hookwright_settings::load(&place.world(), &options)), ["./a: new"]);
}

#[test]
fn a_path_with_spaces_and_quotes_is_found() {
    let place = Place::trusted();
    place.write("project/my dir/it's.sh", "x\n");
    place.own(&one_hook("g", "python3 \"$GEMINI_PROJECT_DIR/my dir/it's.sh\""));
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
        let place = Place::trusted();
        place.write("project/hk/g.sh", "one\n");
        place.own(&one_hook("g", command));
        trust_all(&place.load());
        assert_eq!(findings(&place.load()), [""; 0], "{command}");
        place.write("project/hk/g.sh", "one\ntwo\n");
        assert_eq!(findings(&place.load()), ["g: changed: hk/g.sh changed (+1 -0 lines)"], "{command}");
    }
}

#[test]
fn where_it_cannot_be_told_everything_around_counts() {
    let place = Place::trusted();
    place.write("project/.gemini/hooks/inner.py", "one\n");
    place.own(&one_hook("g", "python3 -c 'import runpy; runpy.run_path(input())'"));
    let loaded = place.load();
    assert!(loaded.notices[0].to_string().contains("can't be told, so everything around it counts"));
    trust_all(&loaded);
    place.write("project/.gemini/tmp/log", "x");
    assert_eq!(findings(&place.load()), [""; 0]);
    place.write("project/.gemini/hooks/inner.py", "two\n");
    assert_eq!(findings(&place.load()), ["g: changed: .gemini/hooks/inner.py changed (+1 -1 lines)"]);
}

#[test]
fn what_a_hook_writes_is_not_part_of_it() {
    let place = Place::trusted();
    place.write("project/g.sh", "x\n");
    place.own(&one_hook("g", "./g.sh >> log.txt 2>&1"));
    place.write("project/log.txt", "one\n");
    trust_all(&place.load());
    place.write("project/log.txt", "one\ntwo\n");
    assert_eq!(findings(&place.load()), [""; 0]);
}
