//! `extensions new` and `validate`: every template passes, and mistakes are reported with their location.

use super::*;
use hookwright_testkit::deadline::*;

#[test]
fn every_template_is_valid_and_passes_its_own_tests() {
    let sandbox = sandbox();
    for template in ["context", "hooks", "commands", "mcp-server", "skill", "agent"] {
        let name = format!("my-{template}");
        let made = extensions(&sandbox, &["new", &name, template]).expect_exit_code(0);
        follow_the_hints(&sandbox, &made, template);
        let run = extensions(&sandbox, &["validate", &name]).expect_exit_code(0);
        assert!(run.stdout.contains("no problems"), "{template}: {} {}", run.stdout, run.stderr);
        extensions(&sandbox, &["install", "--consent", &name]).expect_exit_code(0);
    }
    let run = sandbox.run(&["hooks", "test", "my-hooks/tests"]).expect_exit_code(0);
    assert!(run.stdout.contains('2'), "{}", run.stdout);
    if hookwright_testkit::has_program("node") {
        let done = Command::new("node")
            .args(["--test"])
            .current_dir(sandbox.project().join("my-mcp-server"))
            .output_in_time()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    } else {
        hookwright_testkit::report_skipped("the tests of the template mcp-server", "there is no node");
    }
    // The template's guard denies wherever it is installed.
    let args = json!({"file_path": "k", "content": "-----BEGIN PRIVATE KEY-----"}).to_string();
    sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", &args]).expect_exit_code(2);
    let run = extensions(&sandbox, &["new", "my-hooks"]).expect_exit_code(1);
    assert!(run.stderr.contains("exists already"), "{}", run.stderr);
    extensions(&sandbox, &["new", "bad name"]).expect_exit_code(1);
    extensions(&sandbox, &["new", "x", "nonsense"]).expect_exit_code(1);
}

/// The printed hints for a newcomer work as printed; only the program's name is replaced.
fn follow_the_hints(sandbox: &Sandbox, made: &ProgramRun, template: &str) {
    let hints = made.stderr.lines().filter_map(|line| line.strip_prefix("hint: ")?.split_once(": "));
    let commands: Vec<&str> = hints.map(|(_, command)| command).collect();
    assert_eq!(commands.len(), 2, "{template}: {}", made.stderr);
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        match words.split_first().unwrap() {
            (&"hookwright", ["extensions", "link", ..]) => {
                sandbox.run(&[&words[1..], &["--consent"]].concat()).expect_exit_code(0);
                extensions(sandbox, &["uninstall", &format!("my-{template}"), "--consent"]).expect_exit_code(0);
            }
            (&"hookwright", words) => drop(sandbox.run(words).expect_exit_code(0)),
            (&"node", words) if hookwright_testkit::has_program("node") => {
                let done = Command::new("node").args(words).current_dir(sandbox.project()).output_in_time().unwrap();
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
            }
            (&"node", _) => {
                hookwright_testkit::report_skipped("the tests of the template mcp-server", "there is no node")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_hints_of_a_new_extension_work_in_an_untrusted_folder() {
    let sandbox = sandbox().untrusted();
    for template in ["hooks", "skill"] {
        let made = extensions(&sandbox, &["new", &format!("my-{template}"), template]).expect_exit_code(0);
        follow_the_hints(&sandbox, &made, template);
    }
}

#[test]
fn a_manifest_may_be_named_and_an_empty_one_is_there() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    let manifest = folder.join("gemini-extension.json");
    let run = extensions(&sandbox, &["validate", text(&manifest)]).expect_exit_code(0);
    assert!(run.stdout.contains("no problems"), "{}", run.stdout);
    let run = extensions(&sandbox, &["validate", text(&folder.join("NOTES.md"))]).expect_exit_code(1);
    assert!(run.stderr.contains("give the extension's folder"), "{}", run.stderr);
    for empty in ["", "  \n", "// nothing\n"] {
        std::fs::write(&manifest, empty).unwrap();
        let run = extensions(&sandbox, &["validate", text(&folder)]).expect_exit_code(1);
        assert!(run.stderr.contains("this manifest is empty"), "{empty:?}: {}", run.stderr);
    }
}

#[test]
fn validating_says_what_loads_and_what_does_not() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    let run = extensions(&sandbox, &["validate", text(&folder), "--json"]).expect_exit_code(0);
    let said = run.json();
    let loads = &said["loads"];
    assert_eq!((&said["ok"], &said["name"]), (&json!(true), &json!("guard")));
    assert_eq!(loads["hooks"][0]["runs"], true);
    assert_eq!((&loads["mcpServers"], &loads["commands"]), (&json!(["words"]), &json!(["hi"])));
    assert_eq!((&loads["agents"], &loads["skills"]), (&json!(["a"]), &json!(["s"])));
    assert_eq!(loads["policies"][0]["rules"], 1);

    std::fs::remove_file(folder.join("check.sh")).unwrap();
    std::fs::write(folder.join("commands/hi.toml"), "prompt = ").unwrap();
    std::fs::write(folder.join("policies/p.toml"), "[[rule]]\ndecision = 1\n").unwrap();
    std::fs::write(folder.join("agents/a.md"), "no front matter").unwrap();
    let run = extensions(&sandbox, &["validate", text(&folder)]).expect_exit_code(1);
    for words in ["could not run", "hi.toml:1", "p.toml", "a.md"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    extensions(&sandbox, &["validate", "nowhere"]).expect_exit_code(1);
    let run = extensions(&sandbox, &["validate", "."]).expect_exit_code(1);
    assert!(run.stderr.contains("gemini-extension.json"), "{}", run.stderr);
}

#[test]
fn folders_that_are_not_read_are_reported() {
    let sandbox = sandbox();
    let manifest = json!({"name": "x", "version": "1", "skillsPath": "./my-skills", "agentsPath": "./agents/"});
    lay(&sandbox, "x/gemini-extension.json", manifest.to_string());
    let run = extensions(&sandbox, &["validate", text(&sandbox.sibling_path("x"))]).expect_exit_code(0);
    assert!(run.stderr.contains("`skillsPath` has no effect here: skills are read from skills/"), "{}", run.stderr);
    assert!(!run.stderr.contains("`agentsPath` has"), "{}", run.stderr);
}
