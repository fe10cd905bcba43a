//! The answer comes within the deadline, whatever is judged.

use std::time::{Duration, Instant};

use hookwright_testkit::{Sandbox, finish};
use serde_json::{Value, json};

use super::{HOSTS, answer, bridge, expected_denial, guarded, shell};
use crate::sandbox;

/// Commands that kept an analysis busy for hours, or took all memory.
fn bombs() -> Vec<String> {
    let nested =
        |open: &str, inner: &str, close: &str, depth| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
    vec![
        format!("echo && {}", nested("for a in 1 2 3 4; do ", ":", "; done", 20)),
        format!("echo {}", nested("$((", "$(fi)", "))", 22)),
        format!("A=xxxxxxxx; {}", "A=$A$A; ".repeat(40)),
    ]
}

/// A project with a rule on written files.
fn ruled() -> Sandbox {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "rule", "name": "no-env", "guard": true, "when": {"writes": [".env"]}, "decision": "deny", "reason": "not .env"},
    ]}]}}));
    sandbox
}

#[test]
fn a_command_that_takes_too_much_work_is_no_for_a_guard() {
    let sandbox = ruled();
    for (host, event) in HOSTS {
        for command in bombs() {
            let started = Instant::now();
            let run = bridge(&sandbox, &[host, "--event", event, "--deadline", "60"], &shell(host, event, &command));
            assert!(started.elapsed() < Duration::from_secs(20), "{host}: {command}");
            let said = format!("{}{}", run.stdout, run.stderr);
            let is_confined = run.stdout.contains("HOOKWRIGHT_COMMAND=");
            assert!(
                is_confined || said.contains("too much work to analyse") || said.contains("not .env"),
                "{host}: {command}: {run:#?}"
            );
            let is_no = is_confined
                || ["deny", "ask", "block"].iter().any(|word| run.stdout.contains(word))
                || run.code == Some(2);
            assert!(is_no, "{host}: {command}: {run:#?}");
        }
    }
}

#[test]
fn little_memory_is_enough_to_judge_a_command_that_asks_for_much() {
    let sandbox = ruled();
    for command in bombs() {
        let payload = shell("claude-code", "PreToolUse", &command);
        let run = limited(&sandbox, "ulimit -v 400000", &["bridge", "claude-code", "--event", "PreToolUse"], &payload);
        let is_confined = run.stdout.contains("HOOKWRIGHT_COMMAND=");
        assert!(is_confined || run.stdout.contains("not all effects of this call are known"), "{command}: {run:#?}");
    }
}

fn limited(sandbox: &Sandbox, limits: &str, args: &[&str], payload: &Value) -> hookwright_testkit::ProgramRun {
    let file = sandbox.write("payload.json", payload.to_string());
    let mut command = sandbox.limited_command(limits, args);
    finish(command.stdin(std::fs::File::open(file).unwrap()).spawn().unwrap())
}

#[test]
fn a_stack_of_64_kb_is_enough_to_judge() {
    let sandbox = guarded("echo '{\"decision\": \"deny\", \"reason\": \"not here\"}'");
    let deep = format!("echo {}", "$(".repeat(40) + "x" + &")".repeat(40));
    for command in bombs().into_iter().chain([deep, "make it so".to_owned()]) {
        for (host, event) in HOSTS {
            let run =
                limited(&sandbox, "ulimit -s 64", &["bridge", host, "--event", event], &shell(host, event, &command));
            let (expected, code) = expected_denial(host, "not here");
            assert_eq!((answer(&run), run.code), (expected, Some(code)), "{host}: {command}: {run:#?}");
        }
    }
}

#[test]
fn a_judgement_that_does_not_end_in_time_is_every_agents_no() {
    let sandbox = guarded("exit 0");
    // Settings that take longer to read than the agent waits.
    let hooks: Vec<Value> = (0..7000)
        .map(|at| json!({"matcher": format!("tool_{at}_(a|b)+c?"), "hooks": [{"type": "command", "command": format!("./hook-{at}.sh")}]}))
        .collect();
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": hooks}}));
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host, "--event", event, "--deadline", "0.2"], &shell(host, event, "ls"));
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("hookwright did not finish before"), "{host}: {run:#?}");
        let title = said.split("before ").nth(1).unwrap().split(" stops").next().unwrap().to_owned();
        let words = format!("hookwright did not finish before {title} stops waiting for it");
        let (expected, code) = expected_denial(host, &words);
        assert_eq!((answer(&run), run.code), (expected, Some(code)), "{host}: {run:#?}");
    }
}
