//! `hooks test`: cases that pass, fail with a diff or are skipped with a message, and broken files.

use crate::sandbox;
use hookwright_testkit::fs;
use hookwright_testkit::{Sandbox, has_program, report_skipped};
use serde_json::{Value, json};

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
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    assert!(run.stdout.contains("ok   refuses the bad") && run.stdout.ends_with("1 passed, 0 failed, 0 skipped\n"));
    assert_eq!(sandbox.run(&["hooks", "test", "--json"]).expect_exit_code(0).json()["ok"], true);
}

#[test]
fn a_failing_case_shows_a_diff() {
    let sandbox = project();
    sandbox.write("t.hooktest.toml", GOOD.replace("\"deny\"", "\"allow\"").replace("\"too\"", "\"not there\""));
    let run = sandbox.run(&["hooks", "test", "t.hooktest.toml"]).expect_exit_code(1);
    let shown: Vec<&str> = run.stdout.lines().skip(2).take(6).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
           decision:
             - allow expected
             + deny actual
           reason contains:
             - …not there… expected
             + too bad actual
    ");
    let json = sandbox.run(&["hooks", "test", "t.hooktest.toml", "--json"]).expect_exit_code(1).json();
    assert_eq!(json["files"][0]["cases"][0]["failures"][0]["actual"], "deny");
}

#[test]
fn a_missing_program_skips_the_file_aloud() {
    let sandbox = project();
    sandbox.write(".gemini/t.hooktest.toml", format!("requires = [\"no-such-language\"]\n{GOOD}"));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    assert!(run.stdout.contains("no-such-language is not installed") && run.stdout.contains("1 skipped"));
}

#[test]
fn a_broken_file_says_where() {
    let sandbox = project();
    for (text, words) in [
        ("[[case]]\nname = 3", "line 2"),
        ("[[case]]\nname = \"x\"\nevent = \"Nonsense\"", "unknown variant"),
        ("[[case]]\nname = \"x\"\nevent = \"BeforeTool\"", "tool_name"),
        (
            "[[case]]\nname = \"x\"\nevent = \"BeforeTool\"\ntool = \"glob\"\nhook = \"nobody\"",
            "there is no hook `nobody` on BeforeTool",
        ),
        (
            "[[case]]\nname = \"x\"\nevent = \"BeforeTool\"\ntool = \"glob\"\nfiles = { \"../x\" = \"\" }",
            "leaves the test",
        ),
    ] {
        sandbox.write("t.hooktest.toml", text);
        let run = sandbox.run(&["hooks", "test", "t.hooktest.toml"]).expect_exit_code(1);
        assert!(run.stdout.contains(words), "{text}: {}", run.stdout);
    }
    assert!(sandbox.run(&["hooks", "test", "."]).expect_exit_code(1).stdout.contains("FAIL"));
    std::fs::remove_file(sandbox.project().join("t.hooktest.toml")).unwrap();
    assert!(sandbox.run(&["hooks", "test"]).expect_exit_code(1).stderr.contains("no hook tests found"));
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
    assert!(!sandbox.has_file("written.txt"));
}

#[test]
fn nothing_is_tested_in_an_untrusted_folder() {
    let sandbox = project();
    let mark = sandbox.sibling_path("mark");
    sandbox.script("guard.sh", &format!("touch '{}'; exit 2", mark.display()));
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let sandbox = sandbox.untrusted();
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    assert!(run.stderr.contains("is not trusted, so no test in it runs") && run.stderr.contains("hint: "), "{run:?}");
    let json = sandbox.run(&["hooks", "test", "--json"]).expect_exit_code(1).json();
    assert_eq!((&json["ok"], &json["files"]), (&json!(false), &json!([])));
    // Neither named files, nor from a trusted folder.
    let file = sandbox.project().join(".gemini/guard.hooktest.toml").display().to_string();
    sandbox.run(&["hooks", "test", &file]).expect_exit_code(1);
    let elsewhere = sandbox.sibling_path("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let elsewhere = elsewhere.display().to_string();
    sandbox.run(&["hooks", "trust", "--folder", "--project", &elsewhere]).expect_exit_code(0);
    sandbox.run(&["hooks", "test", "--project", &elsewhere, &file]).expect_exit_code(1);
    // `hooks fire` does not run the project's hooks either, and says so.
    let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", "{}"]).expect_exit_code(1);
    assert!(run.stderr.contains("this folder is not trusted"), "{run:?}");
    assert!(!mark.exists());
    sandbox.run(&["hooks", "test", "--skip-trust"]);
    assert!(mark.exists());
}

/// A case for several agents runs through their formats, and is reported with the agent's name.
#[test]
fn a_case_runs_through_other_agents_dialects() {
    let sandbox = project();
    let case = GOOD.replace(
        "event = \"BeforeTool\"",
        "event = \"BeforeTool\"\nas = [\"claude-code\", \"codex\", \"cursor\", \"antigravity\"]",
    );
    let case = case.replace("args = { content = \"bad\" }", "args = { file_path = \"a.txt\", content = \"bad\" }");
    sandbox.write(".gemini/guard.hooktest.toml", &case);
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    for name in ["refuses the bad ", "(as claude-code)", "(as codex)", "(as cursor)", "(as antigravity)"] {
        assert!(run.stdout.contains(name), "{name}: {run:#?}");
    }
    assert!(run.stdout.ends_with("5 passed, 0 failed, 0 skipped\n"), "{run:#?}");
    sandbox.write(".gemini/guard.hooktest.toml", case.replace("\"codex\"", "\"kodex\""));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    assert!(run.stdout.contains("kodex") && run.stdout.contains("the agents are"), "{run:#?}");
}

/// A case that gives another result under an agent fails there.
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
    // Claude Code sends absolute paths; a guard that compares relative ones does not work there.
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    assert!(run.stdout.contains("FAIL refuses the bad (as claude-code)"), "{run:#?}");
}

/// A filter that matches no case is not a success.
#[test]
fn no_case_is_no_success() {
    let sandbox = project();
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let run = sandbox.run(&["hooks", "test", "--filter", "zzz"]).expect_exit_code(4);
    assert!(run.stderr.contains("no case ran") && run.stderr.contains("`zzz`"), "{run:#?}");
    assert_eq!(sandbox.run(&["hooks", "test", "--filter", "zzz", "--json"]).expect_exit_code(4).json()["ok"], false);
    sandbox.run(&["hooks", "test", "--filter", "refuses"]).expect_exit_code(0);
}

/// A case of BeforeTool with this expectation.
fn case(expect: &str) -> String {
    format!("[[case]]\nname = \"it\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\n[case.expect]\n{expect}\n")
}

fn link(sandbox: &Sandbox, target: &str, at: &str) {
    std::os::unix::fs::symlink(target, sandbox.project().join(at)).unwrap();
}

/// Packages are installed in the project or beside the hooks; by path they are links to any folder.
#[test]
fn a_case_has_the_packages_of_its_project() {
    let sandbox = sandbox();
    sandbox.write("node_modules/pk/name", "at the root");
    sandbox.write("lib/part", "of the project");
    let library = sandbox.sibling_path("library");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("name"), "installed by path").unwrap();
    let hook =
        "cat node_modules/pk/name .gemini/hooks/node_modules/lib/name .gemini/hooks/linked/part; git status --short";
    let command = sandbox.script("hook.sh", hook);
    std::fs::create_dir_all(sandbox.project().join(".gemini/hooks/node_modules")).unwrap();
    link(&sandbox, library.to_str().unwrap(), ".gemini/hooks/node_modules/lib");
    link(&sandbox, "../../lib", ".gemini/hooks/linked");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let seen = case("exit_code = 0\nmessage = \"at the rootinstalled by pathof the project\"");
    sandbox.write(".gemini/t.hooktest.toml", format!("[setup]\ngit = true\n{seen}"));
    let run = sandbox.run(&["hooks", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    // A test does not write into the user's files.
    let into = "files = { \".gemini/hooks/node_modules/lib/name\" = \"changed\" }";
    sandbox.write(".gemini/t.hooktest.toml", format!("[setup]\n{into}\n{seen}"));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    assert!(run.stdout.contains("would change your own .gemini/hooks/node_modules"), "{}", run.stdout);
    assert_eq!(fs::read_to_string(library.join("name")).unwrap(), "installed by path");
}

#[test]
fn plugins_and_imports_find_packages_in_a_case() {
    if !has_program("node") {
        return report_skipped("plugins_and_imports_find_packages_in_a_case", "there is no node");
    }
    let sandbox = sandbox();
    let deny = "{ decision: 'deny', reason: 'from the package' }";
    sandbox.write("node_modules/pk/package.json", r#"{"name": "pk", "type": "module", "exports": "./index.js"}"#);
    sandbox.write("node_modules/pk/index.js", format!("export const no = {deny}; export const BeforeTool = () => no;"));
    let import = "import { no } from 'pk'; console.log(JSON.stringify(no));";
    sandbox.write(".gemini/hooks/hook.mjs", import);
    let command = "node $GEMINI_PROJECT_DIR/.gemini/hooks/hook.mjs";
    let hooks = json!([{"type": "command", "name": "imports", "command": command}, {"type": "plugin", "name": "plugs", "package": "pk"}]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let expect = "decision = \"deny\"\nreason = \"from the package\"";
    let cases = ["imports", "plugs"].map(|hook| case(expect).replace("tool =", &format!("hook = \"{hook}\"\ntool =")));
    sandbox.write(".gemini/t.hooktest.toml", cases.concat());
    let run = sandbox.run(&["hooks", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
}

#[test]
fn folders_are_copied_and_what_is_left_out_is_said() {
    let sandbox = sandbox();
    sandbox.write("shared/deep/given.txt", "given");
    sandbox.write(".gemini/tests/node_modules/pk/name", "a package");
    let outside = sandbox.sibling_path("outside");
    std::fs::create_dir_all(&outside).unwrap();
    link(&sandbox, outside.to_str().unwrap(), ".gemini/tests/away");
    link(&sandbox, "..", ".gemini/tests/round");
    link(&sandbox, "nowhere", ".gemini/tests/broken");
    let command = sandbox.script("hook.sh", "cat here/deep/given.txt node_modules/pk/name");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let setup = "[setup]\ncopy = { here = \"../../shared\", node_modules = \"node_modules\" }\n";
    sandbox.write(".gemini/tests/t.hooktest.toml", format!("{setup}{}", case("message = \"givena package\"")));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    let notes: Vec<&str> = run.stdout.lines().filter(|line| line.contains("note:")).collect();
    insta::assert_snapshot!(notes.join("\n"), @r"
    note: not in the test's project: .gemini/tests/away (it links to a folder outside the project)
    note: not in the test's project: .gemini/tests/broken (its target does not exist)
    note: not in the test's project: .gemini/tests/round (it links back to its own folder)
    ");
    let told = sandbox.run(&["hooks", "test", "--json"]).expect_exit_code(0).json();
    assert_eq!(told["files"][0]["left_out"].as_array().unwrap().len(), 3, "{told:#}");
    sandbox.write(".gemini/tests/t.hooktest.toml", format!("[setup]\ncopy = {{ a = \"gone\" }}\n{}", case("")));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    assert!(run.stdout.contains("can't copy") && run.stdout.contains("gone"), "{}", run.stdout);
}

/// The outcome of a hook that failed is not the hook's decision, so the case fails unless it expects the failure.
#[test]
fn a_case_fails_if_its_hook_failed() {
    let sandbox = sandbox();
    let declare = |hook: Value| sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let guard =
        |command: &str| json!({"type": "command", "name": "it", "guard": true, "timeout": 300, "command": command});
    let deny = r#"{"decision": "deny", "reason": "no"}"#;
    for (command, cause) in [
        ("echo oops >&2; exit 1".to_owned(), "exit"),
        (format!("echo started; echo '{deny}'"), "output"),
        ("./gone.sh".to_owned(), "spawn"),
        ("sleep 20".to_owned(), "timeout"),
    ] {
        declare(guard(&command));
        sandbox.write(".gemini/t.hooktest.toml", case("decision = \"deny\""));
        let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
        assert!(run.stdout.contains("failure of hook it:") && run.stdout.contains(cause), "{command}: {}", run.stdout);
        sandbox.write(".gemini/t.hooktest.toml", case(&format!("decision = \"deny\"\nfailure = \"{cause}\"")));
        let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
        assert!(run.stdout.contains("warning: hook it: "), "the warning is shown: {}", run.stdout);
    }
    // A hook that is no guard, and a failure that does not happen.
    declare(json!({"type": "worker", "name": "gone", "command": "exit 4"}));
    sandbox.write(".gemini/t.hooktest.toml", case("decision = \"allow\""));
    assert!(sandbox.run(&["hooks", "test"]).expect_exit_code(1).stdout.contains("lost its worker"));
    declare(guard(&format!("echo '{deny}'")));
    sandbox.write(".gemini/t.hooktest.toml", case("decision = \"deny\""));
    sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    sandbox.write(".gemini/t.hooktest.toml", case("failure = \"exit\""));
    sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    // An exit code that stands for a failure is an expected failure too.
    declare(json!({"type": "command", "command": "exit 7"}));
    sandbox.write(".gemini/t.hooktest.toml", case("exit_code = 7"));
    sandbox.run(&["hooks", "test"]).expect_exit_code(0);
}

#[test]
fn a_failing_case_shows_what_its_hook_saw_and_said() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", "cat > /dev/null; echo '{}'; echo 'not a repository' >&2");
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "it", "command": command}]}]}}),
    );
    sandbox.write(".gemini/t.hooktest.toml", case("decision = \"deny\""));
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(1);
    for text in [
        "working directory: /",
        "no git repository unless `[setup]` says `git = true`",
        "input: {\"tool_name\":\"write_file\"",
        "hook it: exit 0",
        "stdout: {}",
        "stderr: not a repository",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    let told = sandbox.run(&["hooks", "test", "--json"]).expect_exit_code(1).json();
    assert_eq!(told["files"][0]["cases"][0]["runs"][0]["stderr"], "not a repository\n", "{told:#}");
}

/// The neutral place for hooks of any agent is tested like `.gemini`.
#[test]
fn hooks_of_the_neutral_place_are_tested() {
    let sandbox = sandbox();
    let rule =
        json!({"type": "rule", "name": "it", "when": {"writes": ["*.lock"]}, "decision": "deny", "reason": "no"});
    sandbox.write(".hookwright/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}).to_string());
    let denied =
        case("decision = \"deny\"").replace("[case.expect]", "args = { file_path = \"a.lock\" }\n[case.expect]");
    sandbox.write(".hookwright/it.hooktest.toml", denied);
    let run = sandbox.run(&["hooks", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
}

/// The last call of a session becomes a case that expects what hooks decide about it.
#[test]
fn the_last_call_of_a_session_is_recorded_as_a_case() {
    let sandbox = project();
    let run = sandbox.run(&["hooks", "test", "--record"]).expect_exit_code(1);
    assert!(run.stderr.contains("no session of this project"), "{}", run.stderr);
    let file = sandbox.project().join("a.txt").display().to_string();
    let call = |content: &str| format!("call write_file {}", json!({"file_path": file, "content": content}));
    sandbox.run(&["-y", "-p", &call("quite \"bad\"\nthing")]);
    let run = sandbox.run(&["hooks", "test", "--record"]).expect_exit_code(0);
    assert!(run.stdout.contains("which expects deny"), "{}", run.stdout);
    sandbox.run(&["-y", "-p", &call("good")]);
    sandbox.run(&["hooks", "test", "--record"]).expect_exit_code(0);
    let text = sandbox.read(".hookwright/recorded.hooktest.toml");
    assert!(text.contains("${PROJECT}/a.txt") && !text.contains(&file), "{text}");
    let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    assert!(run.stdout.ends_with("2 passed, 0 failed, 0 skipped\n"), "{}", run.stdout);
}

#[test]
fn tests_run_again_when_a_hook_changes() {
    use hookwright_testkit::{finish, wait_until};
    let sandbox = project();
    sandbox.write(".gemini/guard.hooktest.toml", GOOD);
    let log = sandbox.sibling_path("log");
    let mut command = sandbox.command(&["hooks", "test", "--watch"]);
    let mut child = command.stdout(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let seen = |text: &str| fs::read_to_string(&log).unwrap().contains(text);
    wait_until("the first run", || seen("1 passed, 0 failed"));
    sandbox.script("guard.sh", "exit 0");
    wait_until("the second run", || seen("0 passed, 1 failed"));
    child.kill().unwrap();
    finish(child);
}
