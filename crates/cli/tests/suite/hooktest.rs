//! `hooks test`: passing, failing with a diff, skipping aloud, broken files.

use crate::sandbox;
use hookwright_testkit::Sandbox;
use serde_json::json;

fn project() -> Sandbox {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "case $(cat) in *bad*) echo 'too bad' >&2; exit 2;; esac");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": command}]}]}}));
    sandbox
}

const GOOD: &str = r#"
[[case]]
name = "refuses the bad"
event = "BeforeTool"
tool = "write_file"
args = { content = "bad" }
[case.expect]
decision = "deny"
reason_contains = ["too", "bad"]
exit_code = 2
runs = 1
"#;

#[test]
fn a_passing_file_passes() {
    let sandbox = project();
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let run = sandbox.run(&["hooks", "test"]).exits(0);
    assert!(run.stdout.contains("ok   refuses the bad") && run.stdout.ends_with("1 passed, 0 failed, 0 skipped\n"));
    assert_eq!(sandbox.run(&["hooks", "test", "--json"]).exits(0).json()["ok"], true);
}

#[test]
fn a_failing_case_shows_a_diff() {
    let sandbox = project();
    sandbox.write("t.hooktest.toml", GOOD.replace("\"deny\"", "\"allow\"").replace("\"too\"", "\"not there\""));
    let run = sandbox.run(&["hooks", "test", "t.hooktest.toml"]).exits(1);
    let shown: Vec<&str> = run.stdout.lines().skip(2).take(6).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
           decision:
             - allow expected
             + deny actual
           reason contains:
             - …not there… expected
             + too bad actual
    ");
    let json = sandbox.run(&["hooks", "test", "t.hooktest.toml", "--json"]).exits(1).json();
    assert_eq!(json["files"][0]["cases"][0]["failures"][0]["actual"], "deny");
}

#[test]
fn a_missing_program_skips_the_file_aloud() {
    let sandbox = project();
    sandbox.write(".gemini/t.hooktest.toml", format!("requires = [\"no-such-language\"]\n{GOOD}"));
    let run = sandbox.run(&["hooks", "test"]).exits(0);
    assert!(run.stdout.contains("no-such-language is not installed") && run.stdout.contains("1 skipped"));
}

#[test]
fn a_broken_file_says_where() {
    let sandbox = project();
    for (text, words) in [
        ("[[case]]\nname = 3", "line 2"),
        ("[[case]]\nname = \"x\"\nevent = \"Nonsense\"", "unknown variant"),
        ("[[case]]\nname = \"x\"\nevent = \"BeforeTool\"", "tool_name"),
        ("[[case]]\nname = \"x\"\nevent = \"BeforeTool\"\ntool = \"glob\"\nhook = \"nobody\"", "no hook on BeforeTool"),
        (
            "[[case]]\nname = \"x\"\nevent = \"BeforeTool\"\ntool = \"glob\"\nfiles = { \"../x\" = \"\" }",
            "leaves the test",
        ),
    ] {
        sandbox.write("t.hooktest.toml", text);
        let run = sandbox.run(&["hooks", "test", "t.hooktest.toml"]).exits(1);
        assert!(run.stdout.contains(words), "{text}: {}", run.stdout);
    }
    assert!(sandbox.run(&["hooks", "test", "."]).exits(1).stdout.contains("FAIL"));
    std::fs::remove_file(sandbox.project().join("t.hooktest.toml")).unwrap();
    assert!(sandbox.run(&["hooks", "test"]).exits(1).stderr.contains("no hook tests found"));
}

#[test]
fn cases_see_a_project_of_their_own() {
    let sandbox = sandbox();
    let command = sandbox.script("writer.sh", "cat src/given.txt; pwd; echo x > written.txt");
    sandbox.settings(&json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "name": "writer", "command": command}]}]}}));
    let text = r#"
[setup]
git = true
files = { "src/given.txt" = "given\n" }
[[case]]
name = "sees its files"
event = "SessionStart"
input = { source = "startup" }
[case.expect]
message_contains = ["given", "${PROJECT}"]
file_contains = { "written.txt" = "x" }
"#;
    sandbox.write(".gemini/t.hooktest.toml", text);
    let run = sandbox.run(&["hooks", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(!sandbox.has("written.txt"));
}

#[test]
fn nothing_is_tested_in_an_untrusted_folder() {
    let sandbox = project();
    let mark = sandbox.beside("mark");
    sandbox.script("guard.sh", &format!("touch '{}'; exit 2", mark.display()));
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let sandbox = sandbox.untrusted();
    let run = sandbox.run(&["hooks", "test"]).exits(1);
    assert!(run.stderr.contains("is not trusted, so nothing in it is run") && run.stderr.contains("hint: "), "{run:?}");
    let json = sandbox.run(&["hooks", "test", "--json"]).exits(1).json();
    assert_eq!((&json["ok"], &json["files"]), (&json!(false), &json!([])));
    // Neither the files by name, nor from a folder that is trusted.
    let file = sandbox.project().join(".gemini/guard.hooktest.toml").display().to_string();
    sandbox.run(&["hooks", "test", &file]).exits(1);
    let elsewhere = sandbox.beside("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let elsewhere = elsewhere.display().to_string();
    sandbox.run(&["hooks", "trust", "--folder", "--project", &elsewhere]).exits(0);
    sandbox.run(&["hooks", "test", "--project", &elsewhere, &file]).exits(1);
    // Firing runs no hook of the project either, and says so.
    let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", "{}"]).exits(1);
    assert!(run.stderr.contains("this folder is not trusted"), "{run:?}");
    assert!(!mark.exists());
    sandbox.run(&["hooks", "test", "--skip-trust"]);
    assert!(mark.exists());
}

/// A case that is to come to the same under other agents is run through their dialects, and says under which.
#[test]
fn a_case_runs_through_other_agents_dialects() {
    let sandbox = project();
    let case = GOOD.replace(
        "event = \"BeforeTool\"",
        "event = \"BeforeTool\"\nas = [\"claude-code\", \"codex\", \"cursor\", \"antigravity\"]",
    );
    let case = case.replace("args = { content = \"bad\" }", "args = { file_path = \"a.txt\", content = \"bad\" }");
    sandbox.write(".gemini/guard.hooktest.toml", &case);
    let run = sandbox.run(&["hooks", "test"]).exits(0);
    for name in ["refuses the bad ", "(as claude-code)", "(as codex)", "(as cursor)", "(as antigravity)"] {
        assert!(run.stdout.contains(name), "{name}: {run:#?}");
    }
    assert!(run.stdout.ends_with("5 passed, 0 failed, 0 skipped\n"), "{run:#?}");
    sandbox.write(".gemini/guard.hooktest.toml", case.replace("\"codex\"", "\"kodex\""));
    let run = sandbox.run(&["hooks", "test"]).exits(1);
    assert!(run.stdout.contains("kodex") && run.stdout.contains("the agents are"), "{run:#?}");
}

/// A guard that reads our words alone is blind to nobody's: what differs under an agent is a failure of the case there.
#[test]
fn a_hook_that_looks_at_the_agent_fails_under_it() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "case $(cat) in *'\"file_path\":\"a.txt\"'*) exit 2;; esac");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": command}]}]}}));
    let case = GOOD.replace("args = { content = \"bad\" }", "args = { file_path = \"a.txt\", content = \"bad\" }");
    let case = case
        .replace("reason_contains = [\"too\", \"bad\"]\n", "")
        .replace("[case.expect]", "as = [\"claude-code\"]\n[case.expect]");
    sandbox.write(".gemini/guard.hooktest.toml", &case);
    // Claude Code writes whole paths; a guard that compares relative ones does not hold there.
    let run = sandbox.run(&["hooks", "test"]).exits(1);
    assert!(run.stdout.contains("FAIL refuses the bad (as claude-code)"), "{run:#?}");
}

/// A filter that lets nothing through proves nothing.
#[test]
fn no_case_is_no_success() {
    let sandbox = project();
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let run = sandbox.run(&["hooks", "test", "--filter", "zzz"]).exits(4);
    assert!(run.stderr.contains("no case ran") && run.stderr.contains("`zzz`"), "{run:#?}");
    assert_eq!(sandbox.run(&["hooks", "test", "--filter", "zzz", "--json"]).exits(4).json()["ok"], false);
    sandbox.run(&["hooks", "test", "--filter", "refuses"]).exits(0);
}
