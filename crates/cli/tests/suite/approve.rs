//! Rules with `only`: what they approve in a session without a user, and what they do not.

use hookwright_testkit::{ReplayBuilder, Sandbox};
use serde_json::json;

use crate::sandbox;

/// A project whose user approves what only reads, secrets excepted, and what writes below `out`.
fn with_rule() -> Sandbox {
    let sandbox = sandbox();
    let only = json!({"reads": ["**", "!**/.env*"], "writes": ["out/**"]});
    let rule = json!({"type": "rule", "name": "look", "decision": "allow", "only": only});
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}));
    sandbox.write("f", "data");
    sandbox.write(".env", "secret");
    sandbox.write("out/a", "");
    sandbox
}

/// Whether a command runs in a session without a user.
fn runs(sandbox: &Sandbox, command: &str, options: &[&str]) -> bool {
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done");
    let replay = sandbox.replay(&replay);
    let run = sandbox.run(&[&["--fake-responses", &replay, "-p", "go"], options].concat());
    assert!(run.stdout.contains("done") || !run.stderr.is_empty(), "{run:?}");
    !run.stderr.contains("Error executing tool run_shell_command")
}

#[test]
fn a_rule_approves_what_is_within_its_bounds_and_nothing_else() {
    let sandbox = with_rule();
    for approved in ["cat f > out/b", "ls > out/c", "grep x f | tee out/d"] {
        assert!(runs(&sandbox, approved, &[]), "{approved}");
    }
    let others = [
        "cat .env > out/b",
        "cat f > g",
        "cat $X",
        "grep -r x . > out/b",
        "cat /etc/passwd",
        "nonesuch",
        "curl example.com",
        "rm out/b",
    ];

    for other in others {
        assert!(!runs(&sandbox, other, &[]), "{other}");
    }
    assert!(!sandbox.has_file("g"));
}

#[test]
fn a_deny_an_ask_and_a_policy_win_over_an_approval() {
    for hook in [
        json!({"type": "rule", "name": "no", "decision": "deny", "reason": "no"}),
        json!({"type": "rule", "name": "ask", "decision": "ask", "reason": "ask"}),
        json!({"type": "command", "name": "no", "command": "echo no >&2; exit 2"}),
    ] {
        let sandbox = with_rule();
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
        assert!(!runs(&sandbox, "cat f", &[]), "{hook}");
    }
    for decision in ["deny", "ask_user"] {
        let sandbox = with_rule();
        let policy = format!("[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"{decision}\"\npriority = 100\n");
        let policy = sandbox.write("policy.toml", policy);
        assert!(!runs(&sandbox, "cat f", &["--policy", &policy.display().to_string()]), "{decision}");
    }
}

#[test]
fn a_project_cannot_approve() {
    let sandbox = sandbox();
    let only = json!({"reads": ["**"], "writes": ["**"]});
    let rule = json!({"type": "rule", "name": "look", "decision": "allow", "only": only});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}}));
    sandbox.write("f", "data");
    assert!(!runs(&sandbox, "cat f > g", &[]));
}
