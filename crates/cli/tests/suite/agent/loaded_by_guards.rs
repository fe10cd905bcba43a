//! Files that a guard imports, sources, mentions or runs through others are watched like the guard itself.

use super::tampering::{ledger_files, run_attack};
use super::*;

/// A guard of the user that consists of files in the project.
fn guarded_with(command: &str, files: &[(&str, &str)], guard: bool) -> Sandbox {
    let sandbox = with_interpreters(crate::sandbox());
    files.iter().for_each(|(path, text)| drop(sandbox.write(path, text)));
    let hook = json!({"type": "command", "name": "keeper", "command": command, "guard": guard});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
    sandbox
}

const SOURCING: (&str, &str) = ("tools/guard.sh", ". tools/lib.sh\ncheck\n");
const SOURCED: (&str, &str) = ("tools/lib.sh", "check() { if grep -q forbidden; then echo no >&2; exit 2; fi; }\n");

#[test]
fn a_change_to_a_file_that_a_guard_loads_denies() {
    let python =
        ("python3 tools/guard.py", &[("tools/guard.py", "import json, rules\n"), ("tools/rules.py", "forbidden")]);
    let node = ("node tools/guard.js", &[("tools/guard.js", "require('./rules')\n"), ("tools/rules.js", "forbidden")]);
    let shell = ("sh tools/guard.sh", &[SOURCING, SOURCED]);
    let data = ("! grep -qf tools/deny.txt || exit 2", &[("tools/deny.txt", "forbidden\n"), ("x", "")]);
    let make = (
        "make guard",
        &[("Makefile", "guard:\n\tsh tools/guard.sh\n"), ("tools/guard.sh", "grep -q forbidden && exit 2\nexit 0\n")],
    );
    for ((command, files), attacks) in [
        (
            python,
            &[
                "echo nothing > tools/rules.py",
                "echo pass > tools/json.py",
                "mkdir -p tools/json; touch tools/json/__init__.py",
                "rm tools/rules.py",
            ][..],
        ),
        (node, &["echo nothing > tools/rules.js", "echo nothing > tools/rules", "mkdir -p tools/node_modules"]),
        (shell, &["echo 'check() { :; }' > tools/lib.sh", "rm tools/lib.sh"]),
        (data, &[": > tools/deny.txt"]),
        (make, &["echo 'exit 0' > tools/guard.sh", "printf 'guard:\\n\\ttrue\\n' > Makefile"]),
    ] {
        for change in attacks {
            let sandbox = guarded_with(command, files, true);
            let ran = run_attack(&sandbox, change, &[]).expect_exit_code(0);
            assert!(!sandbox.has_file("made"), "{change}\n{ran:#?}");
            assert!(ran.stderr.contains("while the agent worked"), "{change}\n{ran:#?}");
            run_attack(&sandbox, "true", &[]).expect_exit_code(52);
            assert!(!sandbox.has_file("made"), "{change}");
        }
    }
}

#[test]
fn new_files_beside_a_guard_are_ignored_if_nothing_loads_them() {
    let files = &[("tools/guard.py", "import rules\n"), ("tools/rules.py", "forbidden")];
    let sandbox = guarded_with("python3 tools/guard.py", files, true);
    let change = "touch tools/notes.txt; mkdir -p tools/__pycache__ src; touch src/new.py";
    let ran = run_attack(&sandbox, change, &[]).expect_exit_code(0);
    assert_lacks(&ran.stderr, "while the agent worked");
    assert!(!sandbox.has_file("made") && ledger_files(&sandbox).is_empty(), "{ran:#?}");
}

#[test]
fn an_ordinary_hook_does_not_watch_the_code_that_it_runs() {
    let sandbox = guarded_with("sh tools/guard.sh", &[SOURCING, SOURCED], false);
    let ran = run_attack(&sandbox, "echo 'check() { :; }' > tools/lib.sh", &[]).expect_exit_code(0);
    assert_lacks(&ran.stderr, "while the agent worked");
    run_attack(&sandbox, "true", &[]).expect_exit_code(0);
}

#[test]
fn a_program_that_appears_earlier_on_the_search_path_does_not_stand_in_for_a_guard() {
    let sandbox = crate::sandbox();
    let path = std::env::var("PATH").unwrap_or_default();
    let (first, second) = (sandbox.sibling_path("first"), sandbox.sibling_path("second"));
    let sandbox = sandbox.env("PATH", &format!("{}:{}:{path}", first.display(), second.display()));
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("keeper"), "#!/bin/sh\nif grep -q forbidden; then exit 2; fi\n").unwrap();
    hookwright_testkit::make_executable(&second.join("keeper"));
    let hook = json!({"type": "command", "command": "keeper", "guard": true});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
    let at = first.display();
    let ran = run_attack(&sandbox, &format!("mkdir {at}; cp /bin/true {at}/keeper"), &[]).expect_exit_code(0);
    assert_contains(&ran.stderr, "first/keeper was made while the agent worked");
    assert!(!sandbox.has_file("made"), "{ran:#?}");
    run_attack(&sandbox, "true", &[]).expect_exit_code(52);
    assert!(!sandbox.has_file("made"));
}
