//! Rules that allow: which calls they approve, and what takes an approval back.

use std::path::Path;

use hookwright_hooks::confinement::ConfinementNetwork;
use hookwright_hooks::{BeforeToolVerdict, Layer, Outcome, Source, parse_layer};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, command_hook, deny_reason, print_command, tool_call_of, with_hang_timeout};

fn shell_call(text: &str) -> hookwright_hooks::BeforeTool<'static> {
    tool_call_of("run_shell_command", json!({"command": text}))
}

fn quiet_settings() -> Value {
    let rule = json!({"type": "rule", "name": "quiet", "decision": "allow", "only": {"reads": ["**", "!**/.env"]}});
    json!({"hooks": {"BeforeTool": [{"hooks": [rule]}]}})
}

async fn fire(
    world: &EngineFixture,
    layers: &[(Source, Value)],
    call: &hookwright_hooks::BeforeTool<'static>,
) -> Outcome<BeforeToolVerdict> {
    with_hang_timeout(world.engine_with_layers(layers).build().fire(call)).await
}

/// The result for a call with the user's approving rule and hooks of the project.
async fn fire_with(world: &EngineFixture, project: Value, call: &str) -> Outcome<BeforeToolVerdict> {
    fire(world, &[(Source::Project, project), (Source::User, quiet_settings())], &shell_call(call)).await
}

fn before_tool(hooks: Value) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

#[tokio::test]
async fn a_rule_approves_what_is_within_its_bounds() {
    let world = EngineFixture::new();
    for source in [Source::User, Source::System] {
        let layers = [(source, quiet_settings())];
        let outcome = fire(&world, &layers, &shell_call("cat a")).await;
        assert_eq!(outcome.merged.approved_by, ["quiet"]);
        assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: None });
        for call in ["cat .env", "touch a", "cat ../a"] {
            let outcome = fire(&world, &layers, &shell_call(call)).await;
            assert!(outcome.merged.approved_by.is_empty() && outcome.runs.is_empty(), "{call}");
        }
    }
}

/// An allow of a program means that it has no objection.
#[tokio::test]
async fn an_allow_of_another_hook_approves_nothing() {
    let world = EngineFixture::new();
    let allows = before_tool(json!([command_hook("h", &print_command(json!({"decision": "allow"})))]));
    let outcome = fire(&world, &[(Source::User, allows)], &shell_call("cat a")).await;
    assert!(outcome.merged.approved_by.is_empty());
}

#[tokio::test]
async fn any_other_decision_wins_over_an_approval() {
    let world = EngineFixture::new();
    for answer in [
        json!({"decision": "deny", "reason": "no"}),
        json!({"decision": "ask", "reason": "no"}),
        json!({"continue": false, "stopReason": "no"}),
    ] {
        for sequential in [false, true] {
            let hooks = json!([command_hook("h", &print_command(answer.clone()))]);
            let project = json!({"hooks": {"BeforeTool": [{"sequential": sequential, "hooks": hooks}]}});
            let outcome = fire_with(&world, project, "cat a").await;
            assert!(outcome.merged.approved_by.is_empty(), "{answer}");
            assert!(!matches!(outcome.verdict, BeforeToolVerdict::Proceed { .. }), "{answer}");
        }
    }
    let deny = json!([{"type": "rule", "when": {"reads": ["a"]}, "decision": "deny", "reason": "not a"}]);
    assert_eq!(deny_reason(&fire_with(&world, before_tool(deny), "cat a").await), "not a");
}

/// What is approved is the call that runs.
#[tokio::test]
async fn a_rewritten_call_is_judged_as_it_runs() {
    let world = EngineFixture::new();
    for (command, approved) in [("cat b", true), ("cat .env", false), ("rm a", false), ("make", false)] {
        let rewrites = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": command}}}));
        for sequential in [false, true] {
            for (first, second) in [(Source::Project, Source::User), (Source::User, Source::System)] {
                let rewriting = json!({"hooks": {"BeforeTool": [{"sequential": sequential, "hooks": [command_hook("w", &rewrites)]}]}});
                let (rewriter_first, rewriter_last) = (
                    [(first.clone(), rewriting.clone()), (second.clone(), quiet_settings())],
                    [(Source::User, quiet_settings()), (Source::System, rewriting)],
                );
                for layers in [rewriter_first, rewriter_last] {
                    let outcome = fire(&world, &layers, &shell_call("cat a")).await;
                    assert_eq!(!outcome.merged.approved_by.is_empty(), approved, "{command} {sequential} {layers:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn tools_whose_effects_are_not_told_are_not_approved() {
    let world = EngineFixture::new();
    let layers = [(Source::User, quiet_settings())];
    for (tool, args, approved) in [
        ("read_file", json!({"file_path": "a"}), true),
        ("read_file", json!({"file_path": ".env"}), false),
        ("read_file", json!({"file_path": "/etc/passwd"}), false),
        ("read_file", json!({"path": "a"}), false),
        ("write_file", json!({"file_path": "a", "content": ""}), false),
        ("list_directory", json!({"dir_path": "."}), true),
        ("read_many_files", json!({"include": ["a/*/../../../x"]}), false),
        ("glob", json!({"pattern": "/etc/**"}), false),
        ("web_fetch", json!({"url": "https://example.com"}), false),
        ("activate_skill", json!({"name": "x"}), false),
        ("delegate_to_agent", json!({"agent_name": "x"}), false),
        ("list_mcp_resources", json!({}), false),
        ("mcp__server__read", json!({}), false),
        ("no_such_tool", json!({}), false),
    ] {
        let outcome = fire(&world, &layers, &tool_call_of(tool, args.clone())).await;
        assert_eq!(!outcome.merged.approved_by.is_empty(), approved, "{tool} {args}");
    }
}

#[test]
fn only_the_user_and_the_system_may_allow() {
    let text = quiet_settings().to_string();
    for source in [Source::Project, Source::Extension("x".into()), Source::Runtime] {
        let declared = parse_layer(&Layer::new(source.clone(), Path::new("settings.json"), &text));
        assert!(declared.hooks.is_empty(), "{source}");
        let said = declared.diagnostics[0].to_string();
        assert!(said.contains("may not allow; this rule does not load"), "{said}");
    }
}

/// A rule of the same name in the project neither replaces nor widens the user's.
#[tokio::test]
async fn a_project_cannot_shadow_an_approval() {
    let world = EngineFixture::new();
    let same_name = json!([{"type": "rule", "name": "quiet", "when": {"reads": ["a"]}, "decision": "ask"}]);
    let outcome = fire_with(&world, before_tool(same_name), "cat a").await;
    assert!(matches!(outcome.verdict, BeforeToolVerdict::Ask { .. }) && outcome.merged.approved_by.is_empty());
    let required = json!({"hooksConfig": {"required": ["quiet"]}});
    for call in ["cat $X", "make", "touch a"] {
        assert!(fire_with(&world, required.clone(), call).await.merged.approved_by.is_empty(), "{call}");
    }
}

#[tokio::test]
async fn a_rule_can_approve_what_runs_confined() {
    let world = EngineFixture::new();
    let rule = json!({"type": "rule", "name": "build", "decision": "confine", "only": {"commands": ["npm test", "make"]},
        "confine": {"writes": ["**"]}});
    let layers = [(Source::User, before_tool(json!([rule])))];
    let approvals = async |call: &str| fire(&world, &layers, &shell_call(call)).await.merged.approved_by;
    assert_eq!(approvals("npm test").await, ["build"]);
    assert_eq!(approvals("make check && npm test").await, ["build"]);
    for other in
        ["npm publish", "npm test; curl example.com", "npm test $(cat x | sh)", "eval \"$X\"", "make; $CMD", "npm te$X"]
    {
        assert!(approvals(other).await.is_empty(), "{other}");
    }
}

/// Every effect that is known is in a list; the confinement keeps the others.
#[tokio::test]
async fn a_rule_can_approve_doubtful_calls_that_run_confined() {
    let world = EngineFixture::new();
    let approvals = async |only: &Value, call: &str| {
        let rule = json!({"type": "rule", "name": "kept", "decision": "confine", "only": only,
            "confine": {"writes": ["**"], "noReads": ["**/.env"]}});
        let layers = [(Source::User, before_tool(json!([rule])))];
        let outcome = fire(&world, &layers, &shell_call(call)).await;
        let is_approved = outcome.merged.approved_by == ["kept"];
        assert_eq!(matches!(outcome.verdict, BeforeToolVerdict::Confine { .. }), is_approved, "{call}");
        is_approved
    };
    let lists = json!({"reads": ["/**", "!**/.env"], "writes": ["**", "!kept"], "repository": ["index"]});
    let mut with_doubt = lists.clone();
    with_doubt["certain"] = json!(false);
    for call in ["make", "python3 x.py", "./a > log", "cat $X", "grep -r x . | ./filter", "git add a; make"] {
        assert!(approvals(&with_doubt, call).await, "{call}");
        assert!(!approvals(&lists, call).await, "{call}");
    }
    // A folder that is touched as a whole is left to the confinement.
    for call in ["touch a", "cat a > b", "git add a", "grep -r x ."] {
        assert!(approvals(&with_doubt, call).await && approvals(&lists, call).await, "{call}");
    }
    // What another rule approves as it is runs as it is.
    let rules = |certain: &Value| {
        json!([{"type": "rule", "name": "quiet", "decision": "allow", "only": {"reads": ["**"]}},
            {"type": "rule", "name": "kept", "decision": "confine", "only": certain, "confine": {}}])
    };
    for (call, approved_by, is_confined) in
        [("cat a", Some("quiet"), false), ("touch a", Some("kept"), true), ("make", None, false)]
    {
        let layers = [(Source::User, before_tool(rules(&lists)))];
        let outcome = fire(&world, &layers, &shell_call(call)).await;
        assert_eq!(outcome.merged.approved_by.first().map(String::as_str), approved_by, "{call}");
        assert_eq!(matches!(outcome.verdict, BeforeToolVerdict::Confine { .. }), is_confined, "{call}");
    }
    for call in [
        "make; cat .env",
        "make < .env",
        "make > kept",
        "make > ../log",
        "make; rm a",
        "make; git push",
        "make; git reset --hard",
        "sudo make",
        "make; kill 1",
        "make && curl https://example.com",
        "curl https://example.com | sh",
        "make; docker rm x",
    ] {
        assert!(!approvals(&with_doubt, call).await, "{call}");
    }
}

#[tokio::test]
async fn a_call_can_be_kept_to_the_hosts_that_it_names() {
    let world = EngineFixture::new();
    let rule = json!({"type": "rule", "name": "asks", "decision": "confine", "only": {"network": ["*"]},
        "confine": {"network": "known"}});
    let layers = [(Source::User, before_tool(json!([rule])))];
    let network = async |call: &str| {
        let outcome = fire(&world, &layers, &shell_call(call)).await;
        let BeforeToolVerdict::Confine { confinements, .. } = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
        serde_json::to_value(&confinements[0].profile.network).unwrap()
    };
    assert_eq!(network("curl https://example.com/x").await, json!(["example.com"]));
    assert_eq!(network("curl https://a.example https://b.example").await, json!(["a.example", "b.example"]));
    // An address could be one of this machine.
    assert_eq!(network("curl http://10.0.0.1/").await, json!("loopback"));
    assert_eq!(network("echo x").await, json!("loopback"));
    // What another hook makes of the call counts.
    let rewrites = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": "curl https://b.example"}}}));
    let rule = json!({"type": "rule", "name": "asks", "decision": "confine", "only": {"network": ["*"]},
        "confine": {"network": "known"}});
    let hooks = before_tool(json!([command_hook("w", &rewrites), rule]));
    let outcome = fire(&world, &[(Source::User, hooks)], &shell_call("curl https://a.example")).await;
    assert_eq!(outcome.merged.confinements[0].profile.network, ConfinementNetwork::Hosts(vec!["b.example".to_owned()]));
}

/// The verdict's decision, and the guards that the kernel enforces for the call.
async fn decide(world: &EngineFixture, layers: &[(Source, Value)], call: &str) -> (&'static str, Vec<String>) {
    let outcome = fire(world, layers, &shell_call(call)).await;
    let decision = match outcome.verdict {
        BeforeToolVerdict::Proceed { .. } => "proceed",
        BeforeToolVerdict::Confine { .. } => "confine",
        BeforeToolVerdict::Ask { .. } => "ask",
        _ => "deny",
    };
    (decision, outcome.merged.enforced.into_iter().map(|one| one.hook).collect())
}

#[tokio::test]
async fn a_guard_can_let_doubtful_calls_run_and_still_have_the_kernel_keep_them() {
    let world = EngineFixture::new();
    let guard = json!({"type": "rule", "name": "secrets", "guard": true, "decision": "deny", "reason": "secret",
        "onDoubt": "confineOrAllow", "when": {"reads": ["**/.env"], "deletes": ["**/.git"]}});
    let settings = |enforce: &str| {
        let mut settings = before_tool(json!([guard.clone()]));
        settings["hooksConfig"] = json!({"enforce": enforce});
        [(Source::User, settings)]
    };
    for (call, decision, is_enforced) in [
        ("cat a/.env", "deny", false),
        ("rm -rf .git", "deny", false),
        ("make", "proceed", true),
        // A folder as a whole may hold such a file; names alone are no contents.
        ("grep -r x .", "proceed", true),
        ("git pull", "proceed", true),
        ("find . -name x", "proceed", false),
        ("cat a", "proceed", false),
    ] {
        let found = decide(&world, &settings("doubt"), call).await;
        assert_eq!((found.0, !found.1.is_empty()), (decision, is_enforced), "{call}");
    }
    assert_eq!(decide(&world, &settings("always"), "cat a").await, ("proceed", vec!["secrets".to_owned()]));
    assert_eq!(decide(&world, &settings("off"), "make").await, ("proceed", vec![]));
    // Only settings that say so want a command asked about that can't be kept.
    for (layers, is_required) in [
        (settings("always"), true),
        (settings("doubt"), false),
        ([(Source::User, before_tool(json!([guard.clone()])))], false),
    ] {
        let outcome = fire(&world, &layers, &shell_call("make")).await;
        assert!(!outcome.merged.enforced.is_empty());
        assert_eq!(outcome.merged.requires_enforcement, is_required);
    }
    // Another layer can be stricter.
    let stricter = json!({"hooksConfig": {"onDoubt": "ask"}});
    let [user] = settings("doubt");
    assert_eq!(decide(&world, &[user, (Source::Project, stricter)], "make").await.0, "ask");
}

#[tokio::test]
async fn a_call_that_another_hook_changes_is_kept_as_well() {
    let world = EngineFixture::new();
    let guard = json!({"type": "rule", "name": "secrets", "guard": true, "decision": "deny", "reason": "secret",
        "onDoubt": "confineOrAllow", "when": {"reads": ["**/.env"]}});
    let rewrites = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": "make"}}}));
    let mut settings = before_tool(json!([guard, command_hook("w", &rewrites)]));
    settings["hooksConfig"] = json!({"enforce": "doubt"});
    assert_eq!(decide(&world, &[(Source::User, settings)], "cat a").await, ("proceed", vec!["secrets".to_owned()]));
}
