//! `when` and rules: hooks that match by the effects of a call, with and without a program.

use hookwright_hooks::{AfterTool, AfterToolVerdict, BeforeToolVerdict, EventKind, Outcome, RequestedBy, Source};
use serde_json::{Value, json};
use std::borrow::Cow;

use super::fixture::{
    EngineFixture, assert_proceeds, command_hook, deny_reason, into_object, print_command, tool_call_of,
    with_hang_timeout,
};

fn shell_call(text: &str) -> hookwright_hooks::BeforeTool<'static> {
    tool_call_of("run_shell_command", json!({"command": text}))
}

fn rule_hook(when: Value, more: Value) -> Value {
    let mut rule = json!({"type": "rule", "name": "r", "when": when, "decision": "deny", "reason": "no"});
    rule.as_object_mut().unwrap().extend(into_object(more));
    rule
}

async fn fire_call(world: &EngineFixture, hook: &Value, call: &str) -> Outcome<BeforeToolVerdict> {
    with_hang_timeout(world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build().fire(&shell_call(call)))
        .await
}

#[tokio::test]
async fn a_rule_answers_without_a_program() {
    let world = EngineFixture::new();
    let deny = rule_hook(json!({"writes": ["src/**"]}), json!({}));
    let outcome = fire_call(&world, &deny, "echo x > src/y").await;
    assert_eq!(deny_reason(&outcome), "no");
    assert_eq!((outcome.runs[0].exit_code, outcome.runs[0].stderr.text.as_str()), (Some(0), "writes: src/y\n"));
    let outcome = fire_call(&world, &deny, "cat src/y").await;
    assert_proceeds(&outcome);
    assert!(outcome.runs.is_empty());
    let ask = rule_hook(json!({"commands": ["git push"]}), json!({"decision": "ask", "reason": "really?"}));
    let outcome = fire_call(&world, &ask, "cd x && git push").await;
    assert_eq!(
        outcome.verdict,
        BeforeToolVerdict::Ask { reason: "really?".into(), confinements: Vec::new(), changes: None }
    );
    let everything = json!({"type": "rule", "decision": "deny"});
    assert_eq!(deny_reason(&fire_call(&world, &everything, "ls").await), "a rule of this configuration says so");
}

#[tokio::test]
async fn a_guard_rule_confines_uncertain_calls() {
    let world = EngineFixture::new();
    let guard = rule_hook(json!({"writes": ["src/**"]}), json!({"guard": true}));
    assert_eq!(deny_reason(&fire_call(&world, &guard, "touch src/x").await), "no");
    let outcome = fire_call(&world, &guard, "make").await;
    let reason = "no (not all effects of this call are known: make: runs the commands of the Makefile)".to_owned();
    let BeforeToolVerdict::Confine { reason: told, confinements, changes: None } = &outcome.verdict else {
        panic!("{:?}", outcome.verdict)
    };
    assert_eq!(*told, reason);
    assert_eq!(
        (&*confinements[0].hook, &*confinements[0].profile.writes),
        ("r", &["/**".to_owned(), "!src/**".to_owned()][..])
    );
    assert_proceeds(&fire_call(&world, &guard, "cat $X").await);
    // Other rules let it pass, unless they match uncertain calls.
    assert_proceeds(&fire_call(&world, &rule_hook(json!({"writes": ["src/**"]}), json!({})), "make").await);
    for guard in [true, false] {
        let unsure = rule_hook(json!({"certain": false}), json!({"guard": guard}));
        assert_eq!(deny_reason(&fire_call(&world, &unsure, "make").await), "no");
        assert_proceeds(&fire_call(&world, &unsure, "ls").await);
    }
}

#[tokio::test]
async fn a_definitions_when_decides_whether_its_programs_start() {
    let world = EngineFixture::new();
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["src/**"]}, "hooks": [command_hook("w", "echo w >> ran")]},
        {"when": {"reads": ["src/**"]}, "hooks": [command_hook("r", "echo r >> ran")]},
        {"when": {"commands": ["git"]}, "matcher": "run_shell_command", "hooks": [command_hook("g", "echo g >> ran")]},
    ]}});
    let engine = world.engine_with_settings(settings).build();
    for call in ["touch src/x", "cat src/x", "git status", "ls"] {
        with_hang_timeout(engine.fire(&shell_call(call))).await;
    }
    with_hang_timeout(engine.fire(&tool_call_of("write_file", json!({"file_path": "./src/z", "content": ""})))).await;
    assert_eq!(world.read("ran"), "w\nr\ng\nw\n");
}

/// The same command with two filters is two hooks: neither replaces the other.
#[tokio::test]
async fn the_same_command_with_another_when_is_another_hook() {
    let world = EngineFixture::new();
    let hook = command_hook("h", "echo h >> ran");
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["a/**"]}, "hooks": [hook]},
        {"when": {"writes": ["b/**"]}, "hooks": [hook]},
    ]}});
    let engine = world.engine_with_settings(settings).build();
    with_hang_timeout(engine.fire(&shell_call("touch b/x"))).await;
    with_hang_timeout(engine.fire(&shell_call("touch a/x"))).await;
    assert_eq!(world.read("ran"), "h\nh\n");
}

#[tokio::test]
async fn sequential_hooks_match_their_own_input() {
    let world = EngineFixture::new();
    let rewrites = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": "touch src/x"}}}));
    let settings = json!({"hooks": {"BeforeTool": [
        {"sequential": true, "when": {"commands": ["touch"]}, "hooks": [command_hook("early", "echo early >> ran")]},
        {"hooks": [command_hook("rewrites", &rewrites)]},
        {"when": {"writes": ["src/**"]}, "hooks": [command_hook("late", "echo late >> ran")]},
        {"when": {"commands": ["ls"]}, "hooks": [command_hook("never", "echo never >> ran")]},
    ]}});
    with_hang_timeout(world.engine_with_settings(settings).build().fire(&shell_call("ls"))).await;
    assert_eq!(world.read("ran"), "late\n");
}

/// A guard whose condition does not match the model's call judges the rewritten call.
#[tokio::test]
async fn guards_are_asked_about_what_other_hooks_make_of_a_call() {
    let world = EngineFixture::new();
    let rewrites = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": "touch src/x"}}}));
    let guard = rule_hook(json!({"writes": ["src/**"]}), json!({"guard": true}));
    for sequential in [false, true] {
        let settings = json!({"hooks": {"BeforeTool": [
            {"sequential": sequential, "hooks": [guard]},
            {"hooks": [command_hook("rewrites", &rewrites)]},
        ]}});
        let outcome = with_hang_timeout(world.engine_with_settings(settings).build().fire(&shell_call("ls"))).await;
        assert_eq!(deny_reason(&outcome), "no", "sequential: {sequential}");
    }
    // The rewritten call does not match the guard's condition any more.
    let harmless = print_command(json!({"hookSpecificOutput": {"tool_input": {"command": "ls"}}}));
    let counts = json!({"type": "command", "name": "g", "command": "echo g >> ran", "guard": true});
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["src/**"]}, "hooks": [counts]},
        {"hooks": [command_hook("rewrites", &harmless)]},
    ]}});
    with_hang_timeout(world.engine_with_settings(settings).build().fire(&shell_call("touch src/x"))).await;
    assert_eq!(world.read("ran"), "g\n");
}

/// An untrusted guard denies, whatever its `when` says now.
#[tokio::test]
async fn an_untrusted_guard_denies_beyond_its_when() {
    let world = EngineFixture::new();
    let guard = rule_hook(json!({"writes": ["nothing/**"]}), json!({"guard": true}));
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([guard])).build();
    engine.update(|registry| registry.mark_untrusted(|_| Some("changed".to_owned())));
    assert!(deny_reason(&with_hang_timeout(engine.fire(&shell_call("ls"))).await).contains("waits for your trust"));
}

#[tokio::test]
async fn a_rule_after_a_tool_hides_its_result() {
    let world = EngineFixture::new();
    let rule = rule_hook(json!({"reads": ["**/.env"]}), json!({"decision": "ask", "reason": "secrets"}));
    let engine = world.engine_with_hooks(EventKind::AfterTool, json!([rule])).build();
    let event = AfterTool {
        tool_name: "read_file".into(),
        tool_input: Cow::Owned(into_object(json!({"file_path": "a/.env"}))),
        tool_response: Cow::Owned(json!({"llmContent": "KEY=1"})),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let outcome = with_hang_timeout(engine.fire(&event)).await;
    assert!(matches!(&outcome.verdict, AfterToolVerdict::Hide { reason, .. } if reason == "secrets"), "{outcome:?}");
}

#[tokio::test]
async fn a_projects_rule_cannot_take_a_users_away() {
    let world = EngineFixture::new();
    let settings =
        |when: Value| json!({"hooks": {"BeforeTool": [{"hooks": [rule_hook(when, json!({"guard": true}))]}]}});
    let layers = [
        (Source::Project, settings(json!({"writes": ["nothing/**"]}))),
        (Source::User, settings(json!({"writes": ["src/**"]}))),
    ];
    let outcome = with_hang_timeout(world.engine_with_layers(&layers).build().fire(&shell_call("touch src/x"))).await;
    assert_eq!(deny_reason(&outcome), "no");
}

#[tokio::test]
async fn on_doubt_decides_about_uncertain_calls_alone() {
    let world = EngineFixture::new();
    let guard = |on_doubt: &str| rule_hook(json!({"writes": ["src/**"]}), json!({"guard": true, "onDoubt": on_doubt}));
    assert_proceeds(&fire_call(&world, &guard("allow"), "make").await);
    let asked = fire_call(&world, &guard("ask"), "make").await;
    assert!(matches!(asked.verdict, BeforeToolVerdict::Ask { .. }), "{:?}", asked.verdict);
    assert!(deny_reason(&fire_call(&world, &guard("deny"), "make").await).contains("not all effects"));
    for on_doubt in ["allow", "ask", "confine", "deny"] {
        assert_eq!(deny_reason(&fire_call(&world, &guard(on_doubt), "touch src/x").await), "no", "{on_doubt}");
        assert_proceeds(&fire_call(&world, &guard(on_doubt), "ls").await);
    }
}

#[tokio::test]
async fn what_the_kernel_cannot_enforce_is_asked_about() {
    let world = EngineFixture::new();
    for when in [json!({"commands": ["rm"]}), json!({"repository": ["discard"]}), json!({"reads": ["!**"]})] {
        let outcome = fire_call(&world, &rule_hook(when.clone(), json!({"guard": true})), "make").await;
        let BeforeToolVerdict::Ask { reason, confinements, .. } = &outcome.verdict else { panic!("{when}") };
        assert!(reason.contains("it can't be confined: "), "{reason}");
        assert!(confinements.is_empty());
    }
}

#[tokio::test]
async fn a_rule_can_confine() {
    let world = EngineFixture::new();
    let profile = json!({"writes": ["**"], "noReads": ["**/.env"], "network": ["example.com"]});
    let rule = rule_hook(json!({"commands": ["ls"]}), json!({"decision": "confine", "confine": profile}));
    let outcome = fire_call(&world, &rule, "ls").await;
    let BeforeToolVerdict::Confine { confinements, .. } = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!(serde_json::to_value(&confinements[0].profile).unwrap(), profile);
    // Without a profile, its `when` is what the call is kept from.
    let rule = rule_hook(json!({"reads": ["**/.env"]}), json!({"decision": "confine"}));
    let outcome = fire_call(&world, &rule, "cat .env").await;
    let BeforeToolVerdict::Confine { confinements, .. } = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!(confinements[0].profile.no_reads, ["**/.env"]);
}

#[tokio::test]
async fn guards_are_enforced_for_every_command() {
    let world = EngineFixture::new();
    let guard = rule_hook(json!({"writes": [".env"], "commands": ["rm"]}), json!({"guard": true}));
    let outcome = fire_call(&world, &guard, "ls").await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.merged.enforced[0].profile.writes, ["/**", "!.env"]);
    // A rule that is no guard, and one that only asks, forbid nothing for good.
    for rule in [
        rule_hook(json!({"writes": [".env"]}), json!({})),
        rule_hook(json!({"writes": [".env"]}), json!({"guard": true, "decision": "ask"})),
    ] {
        assert!(fire_call(&world, &rule, "ls").await.merged.enforced.is_empty());
    }
}
