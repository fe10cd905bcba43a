//! Sub-agents from their files to the model and back: delegated to, guarded, ruled, counted.

use hookwright_testkit::replay::call;
use hookwright_testkit::{Replay, Run, Sandbox};
use serde_json::{Value, json};

use crate::sandbox;

const SCOUT: &str = "---\nname: scout\ndescription: looks around\n---\nYou look around.\n";

/// A project with an agent, and hooks that keep what they are told.
fn place(hooks: &[(&str, &str)]) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write(".gemini/agents/scout.md", SCOUT);
    sandbox.write("a.txt", "hello");
    let mut all = json!({});
    for (event, body) in hooks {
        let command = sandbox.script(&format!("{event}.sh"), body);
        all[event] = json!([{"hooks": [{"type": "command", "name": event, "command": command}]}]);
    }
    sandbox.settings(&json!({"hooks": all}));
    sandbox
}

fn run(sandbox: &Sandbox, replay: &Replay, more: &[&str]) -> Run {
    let file = sandbox.replay(replay);
    sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str()], more].concat())
}

fn delegation() -> Value {
    call("delegate_to_agent", json!({"agent_name": "scout", "objective": "read a.txt"}))
}

fn reading() -> Replay {
    let read = call("read_file", json!({"file_path": "a.txt"}));
    Replay::new().parts(&[delegation()]).parts(&[read]).says("it says hello").says("done")
}

#[test]
fn a_run_tells_what_agents_did_and_cost() {
    let sandbox = place(&[]);
    let text = run(&sandbox, &reading(), &[]).exits(0);
    assert_eq!(text.stdout, "done\n");
    assert!(text.stderr.contains("  scout: read_file a.txt"), "{}", text.stderr);
    let whole: Value =
        serde_json::from_str(&run(&sandbox, &reading(), &["--output-format", "json"]).exits(0).stdout).unwrap();
    assert_eq!(whole["response"], "done");
    let scout = &whole["stats"]["agents"]["scout"];
    assert_eq!((&scout["runs"], &scout["requests"], &scout["toolCalls"]), (&json!(1), &json!(2), &json!(1)));
    assert_eq!(whole["stats"]["tools"]["totalCalls"], 2);
    let lines = run(&sandbox, &reading(), &["--output-format", "stream-json"]).exits(0).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let marked: Vec<&str> =
        lines.iter().filter(|line| line["agent_name"] == "scout").map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(marked, ["agent", "tool_use", "tool_result", "agent"]);
    let said: String =
        lines.iter().filter(|line| line["role"] == "assistant").filter_map(|line| line["content"].as_str()).collect();
    assert_eq!(said, "done", "an agent's words are not the answer");
}

#[test]
fn a_guard_holds_inside_an_agent_in_yolo() {
    let guard = "case $(cat) in *'\"tool_name\":\"run_shell_command\"'*) echo 'no commands' >&2; exit 2;; esac";
    let sandbox = place(&[("BeforeTool", guard)]);
    let act = call("run_shell_command", json!({"command": "touch made"}));
    let replay = Replay::new().parts(&[delegation()]).parts(&[act]).says("I could not").says("done");
    let run = run(&sandbox, &replay, &["--approval-mode=yolo"]).exits(0);
    assert!(!sandbox.has("made") && run.stderr.contains("no commands"), "{}", run.stderr);
}

#[test]
fn an_excluded_tool_is_excluded_for_agents_too() {
    let sandbox = place(&[]);
    sandbox.write(".gemini/agents/scout.md", SCOUT.replace("---\nYou", "tools: ['*']\n---\nYou"));
    sandbox.settings(&json!({"tools": {"exclude": ["run_shell_command"]}}));
    let act = call("run_shell_command", json!({"command": "touch made"}));
    let replay = Replay::new().parts(&[delegation()]).parts(&[act, delegation()]).says("neither").says("done");
    let run = run(&sandbox, &replay, &["--approval-mode=yolo"]).exits(0);
    assert!(!sandbox.has("made"));
    for tool in ["run_shell_command", "delegate_to_agent"] {
        assert!(run.stderr.contains(&format!("scout: Error executing tool {tool}: ")), "{}", run.stderr);
    }
}

#[test]
fn a_policy_may_be_about_an_agent_or_its_calls() {
    let act = || call("run_shell_command", json!({"command": "touch made"}));
    let rules = "[[rule]]\nsubagent = \"scout\"\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 9\n";
    let sandbox = place(&[]);
    sandbox.write("p.toml", rules);
    let replay = Replay::new().parts(&[delegation()]).parts(&[act()]).says("no").says("done");
    let inside = run(&sandbox, &replay, &["--approval-mode=yolo", "--policy", "p.toml"]).exits(0);
    assert!(!sandbox.has("made"), "{}", inside.stderr);
    run(&sandbox, &Replay::new().parts(&[act()]).says("done"), &["--approval-mode=yolo", "--policy", "p.toml"])
        .exits(0);
    assert!(sandbox.has("made"), "the rule is about the agent alone");
    sandbox.write(
        "p.toml",
        "[[rule]]\ntoolName = \"scout\"\ndecision = \"deny\"\ndenyMessage = \"no scouts\"\npriority = 9\n",
    );
    let refused = run(&sandbox, &Replay::new().parts(&[delegation()]).says("done"), &["--policy", "p.toml"]).exits(0);
    assert!(refused.stderr.contains("no scouts"), "{}", refused.stderr);
}

#[test]
fn agents_of_a_folder_that_is_not_trusted_are_not_loaded_and_that_is_said() {
    let sandbox = place(&[]).env("GEMINI_CLI_TRUST_WORKSPACE", "false");
    let run = run(&sandbox, &Replay::new().parts(&[delegation()]).says("done"), &[]);
    assert!(run.stderr.contains(".gemini/agents"), "{}", run.stderr);
    assert!(run.stderr.contains("\"delegate_to_agent\" not found"), "{}", run.stderr);
}
