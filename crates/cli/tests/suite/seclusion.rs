//! A cloned repository runs nothing through the user's own hooks: in an untrusted folder they run in another directory,
//! with a git that starts no programs of the repository.

use std::path::Path;
use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun, Sandbox, has_program, make_executable, report_skipped};
use serde_json::json;

use crate::sandbox;

/// An untrusted folder with a hook of the user.
fn untrusted_project(script: &str) -> Sandbox {
    let sandbox = sandbox().untrusted();
    let hook = json!({"type": "command", "name": "mine", "command": script});
    sandbox.user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    sandbox
}

fn prompt(sandbox: &Sandbox) -> ProgramRun {
    sandbox.run(&["-p", "say hello"]).expect_exit_code(0)
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    let run = Command::new("git")
        .args(args)
        .current_dir(sandbox.project())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", sandbox.home())
        .envs([
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
        ])
        .output_in_time()
        .unwrap();
    assert!(run.status.success(), "{args:?}: {run:?}");
}

/// A program of the repository that leaves a file when it runs.
fn marking_program(sandbox: &Sandbox) -> String {
    let path = sandbox
        .write("evil.sh", format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", sandbox.sibling_path("pwned").display()));
    make_executable(&path);
    path.to_str().unwrap().to_owned()
}

fn assert_not_run(sandbox: &Sandbox, what: &str) {
    let mark = sandbox.sibling_path("pwned");
    assert!(!mark.exists(), "{what}: {}", fs::read_to_string(&mark).unwrap_or_default());
}

const REPORT: &str =
    r#"printf '%s\n%s\n%s\n' "$(pwd)" "$GEMINI_PROJECT_DIR" "$GEMINI_CWD" > "$HOME/where"; cat > "$HOME/input""#;

#[test]
fn in_an_untrusted_folder_the_users_hooks_run_elsewhere_and_know_where_the_session_is() {
    let sandbox = untrusted_project(REPORT);
    prompt(&sandbox);
    let project = sandbox.project().to_str().unwrap().to_owned();
    let place = fs::read_to_string(sandbox.home().join("where")).unwrap();
    let [cwd, dir, told] = place.lines().collect::<Vec<_>>()[..] else { panic!("{place}") };
    assert!(Path::new(cwd).starts_with(sandbox.home()) && cwd != sandbox.home().to_str().unwrap(), "{cwd}");
    assert_eq!(std::fs::read_dir(cwd).unwrap().count(), 0);
    assert_eq!((dir, told), (project.as_str(), project.as_str()));
    let input: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(sandbox.home().join("input")).unwrap()).unwrap();
    assert_eq!(input["cwd"], project);
    // In a trusted folder, they run in it.
    sandbox.run(&["-p", "say hello", "--skip-trust"]).expect_exit_code(0);
    assert!(fs::read_to_string(sandbox.home().join("where")).unwrap().starts_with(&format!("{project}\n")));
}

#[test]
fn something_planted_in_the_neutral_directory_is_not_run_in() {
    let sandbox = untrusted_project(REPORT);
    let planted = sandbox.home().join(".gemini/hookwright/neutral");
    std::fs::create_dir_all(&planted).unwrap();
    std::fs::write(planted.join("json.py"), "").unwrap();
    prompt(&sandbox);
    let place = fs::read_to_string(sandbox.home().join("where")).unwrap();
    assert!(!place.starts_with(planted.to_str().unwrap()), "{place}");
}

#[test]
fn no_module_of_the_repository_is_imported_by_the_users_hook() {
    if !has_program("python3") {
        return report_skipped("no_module_of_the_repository_is_imported_by_the_users_hook", "there is no python3");
    }
    let sandbox = untrusted_project(
        "python3 -c 'import json, http; json.loads(\"{}\")' && python3 -m json.tool --help > /dev/null",
    );
    let code = format!("open({:?}, 'a').write('python')\n", sandbox.sibling_path("pwned"));
    for name in ["json.py", "sitecustomize.py", "usercustomize.py", "http.py"] {
        sandbox.write(name, &code);
    }
    let run = prompt(&sandbox);
    assert_not_run(&sandbox, "python");
    assert!(!run.stderr.contains("mine"), "{}", run.stderr);
}

/// Settings with their values, or files with their texts.
type StringPairs = &'static [(&'static str, &'static str)];

#[test]
fn git_in_the_users_hook_starts_nothing_of_the_repositorys() {
    let script = r#"cd "$GEMINI_PROJECT_DIR" && git status --short > "$HOME/said" 2>&1; git -C "$GEMINI_PROJECT_DIR" diff >> "$HOME/said" 2>&1; git -C "$GEMINI_PROJECT_DIR" log -p -1 > /dev/null 2>&1; true"#;
    let ways: [(&str, StringPairs, StringPairs); 8] = [
        ("fsmonitor", &[("core.fsmonitor", "EVIL")], &[]),
        ("hooks", &[("core.hooksPath", "hooks")], &[]),
        ("pager", &[("core.pager", "EVIL"), ("pager.status", "EVIL"), ("pager.diff", "EVIL")], &[]),
        ("external diff", &[("diff.external", "EVIL")], &[]),
        (
            "a filter of the tree",
            &[("filter.x.clean", "EVIL"), ("filter.x.process", "EVIL")],
            &[(".gitattributes", "* filter=x\n")],
        ),
        ("a filter of the repository", &[("filter.x.clean", "EVIL")], &[(".git/info/attributes", "* filter=x\n")]),
        ("textconv", &[("diff.x.textconv", "EVIL"), ("diff.x.command", "EVIL")], &[(".gitattributes", "* diff=x\n")]),
        ("signatures", &[("log.showSignature", "true"), ("gpg.program", "EVIL")], &[]),
    ];
    for (what, settings, files) in ways {
        let sandbox = untrusted_project(script);
        git(&sandbox, &["init", "-q"]);
        sandbox.write("a.txt", "one\n");
        git(&sandbox, &["add", "-A"]);
        git(&sandbox, &["commit", "-q", "-m", "x"]);
        let evil = marking_program(&sandbox);
        for hook in ["hooks/post-index-change", "hooks/fsmonitor-watchman"] {
            make_executable(&sandbox.write(hook, format!("#!/bin/sh\nexec {evil}\n")));
        }
        for (key, value) in settings {
            git(&sandbox, &["config", key, &value.replace("EVIL", &evil)]);
        }
        files.iter().for_each(|(path, text)| drop(sandbox.write(path, text)));
        sandbox.write("a.txt", "two\n");
        // Removes the mark that the setup itself may have left.
        let _ = std::fs::remove_file(sandbox.sibling_path("pwned"));
        prompt(&sandbox);
        assert_not_run(&sandbox, what);
        let said = fs::read_to_string(sandbox.home().join("said")).unwrap();
        let off = ["filter", "external", "textconv"].iter().any(|word| what.contains(word));
        // As a last resort, git finds no repository and says so.
        assert_eq!(said.contains("git-is-off"), off, "{what}: {said}");
        assert_eq!(said.contains("a.txt") && said.contains("+two"), !off, "{what}: {said}");
    }
}

#[test]
fn npm_settings_of_the_repository_do_not_reach_the_users_hook() {
    // npm and node read these files from the working directory.
    let sandbox = untrusted_project(
        "for file in .npmrc package.json node_modules .env .python-version; do test ! -e $file || touch \"$HOME/found\"; done",
    );
    for file in [".npmrc", "package.json", "node_modules/x/index.js", ".python-version"] {
        sandbox.write(file, "x");
    }
    prompt(&sandbox);
    assert!(!sandbox.home().join("found").exists());
}

#[test]
fn hooks_of_the_user_do_not_see_the_projects_env() {
    let sandbox = sandbox();
    let seen = |file: &str| json!({"type": "command", "name": file, "command": format!("echo \"$THEIRS\" > \"$HOME/{file}\"")});
    sandbox.user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [seen("user")]}]}}));
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [seen("project")]}]}}));
    let mut locked = seen("system");
    locked["locked"] = json!(true);
    let system = json!({"hooks": {"BeforeAgent": [{"hooks": [locked]}]}});
    std::fs::write(sandbox.home().join("system-settings.json"), system.to_string()).unwrap();
    sandbox.write(".env", "THEIRS=1\n");
    prompt(&sandbox);
    let said = |file: &str| fs::read_to_string(sandbox.home().join(file)).unwrap();
    assert_eq!((said("user"), said("system"), said("project")), ("\n".to_owned(), "\n".to_owned(), "1\n".to_owned()));
}
