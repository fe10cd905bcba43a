//! `when` and rules: hooks that are asked about what a call does, with and without a program.

use hookwright_hooks::{AfterTool, AfterToolVerdict, BeforeToolVerdict, EventKind, Outcome, RequestedBy, Source};
use serde_json::{Value, json};
use std::borrow::Cow;

use super::world::{World, assert_proceeds, call_of, command, denied, object, says, within};

fn shell(text: &str) -> hookwright_hooks::BeforeTool<'static> {
    call_of("run_shell_command", json!({"command": text}))
}

fn rule(when: Value, more: Value) -> Value {
    let mut rule = json!({"type": "rule", "name": "r", "when": when, "decision": "deny", "reason": "no"});
    rule.as_object_mut().unwrap().extend(object(more));
    rule
}

async fn judged(world: &World, hook: &Value, call: &str) -> Outcome<BeforeToolVerdict> {
    within(world.hooks(EventKind::BeforeTool, json!([hook])).build().fire(&shell(call))).await
}

#[tokio::test]
async fn a_rule_answers_without_a_program() {
    let world = World::new();
    let deny = rule(json!({"writes": ["src/**"]}), json!({}));
    let outcome = judged(&world, &deny, "echo x > src/y").await;
    assert_eq!(denied(&outcome), "no");
    assert_eq!((outcome.runs[0].exit_code, outcome.runs[0].stderr.text.as_str()), (Some(0), "writes: src/y\n"));
    let outcome = judged(&world, &deny, "cat src/y").await;
    assert_proceeds(&outcome);
    assert!(outcome.runs.is_empty());
    let ask = rule(json!({"commands": ["git push"]}), json!({"decision": "ask", "reason": "really?"}));
    let outcome = judged(&world, &ask, "cd x && git push").await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Ask { reason: "really?".into(), changes: None });
    let everything = json!({"type": "rule", "decision": "deny"});
    assert_eq!(denied(&judged(&world, &everything, "ls").await), "a rule of this configuration says so");
}

#[tokio::test]
async fn a_rule_that_is_a_guard_asks_about_what_cannot_be_told() {
    let world = World::new();
    let guard = rule(json!({"writes": ["src/**"]}), json!({"guard": true}));
    assert_eq!(denied(&judged(&world, &guard, "touch src/x").await), "no");
    let outcome = judged(&world, &guard, "make").await;
    let reason = "no (not everything that this call does can be told)".to_owned();
    assert_eq!(outcome.verdict, BeforeToolVerdict::Ask { reason, changes: None });
    assert_proceeds(&judged(&world, &guard, "cat $X").await);
    // Others let it pass, unless that is what they are about.
    assert_proceeds(&judged(&world, &rule(json!({"writes": ["src/**"]}), json!({})), "make").await);
    for guard in [true, false] {
        let unsure = rule(json!({"certain": false}), json!({"guard": guard}));
        assert_eq!(denied(&judged(&world, &unsure, "make").await), "no");
        assert_proceeds(&judged(&world, &unsure, "ls").await);
    }
}

#[tokio::test]
async fn a_definitions_when_decides_whether_its_programs_start() {
    let world = World::new();
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["src/**"]}, "hooks": [command("w", "echo w >> ran")]},
        {"when": {"reads": ["src/**"]}, "hooks": [command("r", "echo r >> ran")]},
        {"when": {"commands": ["git"]}, "matcher": "run_shell_command", "hooks": [command("g", "echo g >> ran")]},
    ]}});
    let engine = world.settings(settings).build();
    for call in ["touch src/x", "cat src/x", "git status", "ls"] {
        within(engine.fire(&shell(call))).await;
    }
    within(engine.fire(&call_of("write_file", json!({"file_path": "./src/z", "content": ""})))).await;
    assert_eq!(world.read("ran"), "w\nr\ng\nw\n");
}

/// One command under two filters is two hooks: neither takes the other's place.
#[tokio::test]
async fn the_same_command_with_another_when_is_another_hook() {
    let world = World::new();
    let hook = command("h", "echo h >> ran");
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["a/**"]}, "hooks": [hook]},
        {"when": {"writes": ["b/**"]}, "hooks": [hook]},
    ]}});
    let engine = world.settings(settings).build();
    within(engine.fire(&shell("touch b/x"))).await;
    within(engine.fire(&shell("touch a/x"))).await;
    assert_eq!(world.read("ran"), "h\nh\n");
}

#[tokio::test]
async fn hooks_in_turn_are_judged_by_what_they_would_see() {
    let world = World::new();
    let rewrites = says(json!({"hookSpecificOutput": {"tool_input": {"command": "touch src/x"}}}));
    let settings = json!({"hooks": {"BeforeTool": [
        {"sequential": true, "when": {"commands": ["touch"]}, "hooks": [command("early", "echo early >> ran")]},
        {"hooks": [command("rewrites", &rewrites)]},
        {"when": {"writes": ["src/**"]}, "hooks": [command("late", "echo late >> ran")]},
        {"when": {"commands": ["ls"]}, "hooks": [command("never", "echo never >> ran")]},
    ]}});
    within(world.settings(settings).build().fire(&shell("ls"))).await;
    assert_eq!(world.read("ran"), "late\n");
}

/// A guard that had nothing to say about the model's call has its say about what a hook makes of it.
#[tokio::test]
async fn guards_are_asked_about_what_other_hooks_make_of_a_call() {
    let world = World::new();
    let rewrites = says(json!({"hookSpecificOutput": {"tool_input": {"command": "touch src/x"}}}));
    let guard = rule(json!({"writes": ["src/**"]}), json!({"guard": true}));
    for sequential in [false, true] {
        let settings = json!({"hooks": {"BeforeTool": [
            {"sequential": sequential, "hooks": [guard]},
            {"hooks": [command("rewrites", &rewrites)]},
        ]}});
        let outcome = within(world.settings(settings).build().fire(&shell("ls"))).await;
        assert_eq!(denied(&outcome), "no", "sequential: {sequential}");
    }
    // What it would have asked about is not there any more.
    let harmless = says(json!({"hookSpecificOutput": {"tool_input": {"command": "ls"}}}));
    let counts = json!({"type": "command", "name": "g", "command": "echo g >> ran", "guard": true});
    let settings = json!({"hooks": {"BeforeTool": [
        {"when": {"writes": ["src/**"]}, "hooks": [counts]},
        {"hooks": [command("rewrites", &harmless)]},
    ]}});
    within(world.settings(settings).build().fire(&shell("touch src/x"))).await;
    assert_eq!(world.read("ran"), "g\n");
}

/// A guard that waits for trust says no, whatever it says now that it is about.
#[tokio::test]
async fn a_held_guard_is_closed_beyond_its_when() {
    let world = World::new();
    let guard = rule(json!({"writes": ["nothing/**"]}), json!({"guard": true}));
    let engine = world.hooks(EventKind::BeforeTool, json!([guard])).build();
    engine.update(|registry| registry.hold(|_| Some("changed".to_owned())));
    assert!(denied(&within(engine.fire(&shell("ls"))).await).contains("waits for your trust"));
}

#[tokio::test]
async fn a_rule_after_a_tool_hides_its_result() {
    let world = World::new();
    let rule = rule(json!({"reads": ["**/.env"]}), json!({"decision": "ask", "reason": "secrets"}));
    let engine = world.hooks(EventKind::AfterTool, json!([rule])).build();
    let event = AfterTool {
        tool_name: "read_file".into(),
        tool_input: Cow::Owned(object(json!({"file_path": "a/.env"}))),
        tool_response: Cow::Owned(json!({"llmContent": "KEY=1"})),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let outcome = within(engine.fire(&event)).await;
    assert!(matches!(&outcome.verdict, AfterToolVerdict::Hide { reason, .. } if reason == "secrets"), "{outcome:?}");
}

#[tokio::test]
async fn a_projects_rule_cannot_take_a_users_away() {
    let world = World::new();
    let settings = |when: Value| json!({"hooks": {"BeforeTool": [{"hooks": [rule(when, json!({"guard": true}))]}]}});
    let layers = [
        (Source::Project, settings(json!({"writes": ["nothing/**"]}))),
        (Source::User, settings(json!({"writes": ["src/**"]}))),
    ];
    let outcome = within(world.layers(&layers).build().fire(&shell("touch src/x"))).await;
    assert_eq!(denied(&outcome), "no");
}
