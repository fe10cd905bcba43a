//! Which hooks may run: switches in settings, switches at run time, locks and holds.

use hookwright_hooks::{EventKind, HookEngine, HookState, Registry, Source, SwitchError};
use serde_json::{Value, json};

use super::world::{World, command, tool_call, within};

fn guard(extra: Value) -> Value {
    let mut settings = json!({"hooks": {"BeforeTool": [{"hooks": [command("guard", "exit 2")]}]}});
    for (key, value) in extra.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

async fn runs(engine: &HookEngine) -> usize {
    within(engine.fire(&tool_call())).await.runs.len()
}

#[tokio::test]
async fn disabled_names_do_not_run() {
    let world = World::new();
    let engine = world.settings(guard(json!({"hooksConfig": {"disabled": ["guard"]}}))).build();
    assert_eq!(runs(&engine).await, 0);
    let mut settings = guard(json!({}));
    settings["hooks"]["disabled"] = json!(["guard"]);
    assert_eq!(runs(&world.settings(settings).build()).await, 0);
    // By command, where there is no name.
    let settings = json!({"hooks": {"disabled": ["exit 2"],
        "BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}});
    assert_eq!(runs(&world.settings(settings).build()).await, 0);
}

#[tokio::test]
async fn any_layer_may_disable_a_hook() {
    let world = World::new();
    let disable = json!({"hooksConfig": {"disabled": ["guard"]}});
    let engine = world.layers(&[(Source::Project, guard(json!({}))), (Source::User, disable)]).build();
    assert_eq!(runs(&engine).await, 0);
    let registry = engine.registry();
    let states: Vec<_> = registry.entries().map(|(_, state)| state.clone()).collect();
    assert_eq!(states, [HookState::Disabled { by: vec![Source::User] }]);
}

#[tokio::test]
async fn all_hooks_can_be_switched_off_and_the_highest_layer_that_says_so_wins() {
    let world = World::new();
    let mut in_hooks = guard(json!({}));
    in_hooks["hooks"]["enabled"] = json!(false);
    let off =
        [guard(json!({"hooksConfig": {"enabled": false}})), guard(json!({"tools": {"enableHooks": false}})), in_hooks];
    for settings in off {
        let engine = world.settings(settings.clone()).build();
        assert_eq!(runs(&engine).await, 0, "{settings}");
        assert!(!engine.wants(EventKind::BeforeTool));
        let on = json!({"hooksConfig": {"enabled": true}});
        let engine = world.layers(&[(Source::User, settings), (Source::Project, on)]).build();
        assert_eq!(runs(&engine).await, 1);
    }
}

#[tokio::test]
async fn hooks_are_switched_at_run_time() {
    let world = World::new();
    let engine = world.settings(guard(json!({}))).build();
    assert_eq!(runs(&engine).await, 1);
    engine.set_enabled("guard", false).unwrap();
    assert_eq!(runs(&engine).await, 0);
    assert_eq!(engine.registry().entries().next().unwrap().1, &HookState::Disabled { by: Vec::new() });
    engine.set_enabled("guard", true).unwrap();
    assert_eq!(runs(&engine).await, 1);
    assert_eq!(engine.set_enabled("gaurd", false), Err(SwitchError::Unknown("gaurd".into())));
}

#[tokio::test]
async fn enabling_at_run_time_overrides_a_disabled_list() {
    let world = World::new();
    let engine = world.settings(guard(json!({"hooksConfig": {"disabled": ["guard"]}}))).build();
    engine.set_enabled("guard", true).unwrap();
    assert_eq!(runs(&engine).await, 1);
}

#[tokio::test]
async fn a_locked_hook_cannot_be_switched_off_or_weakened() {
    let world = World::new();
    let system = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 9", "locked": true, "onError": {"timeout": "block"}}]}]},
        "hooksConfig": {"onError": {"exit": "block"}}});
    let project = json!({"hooksConfig": {"enabled": false, "disabled": ["guard"], "onError": "allow"}});
    let user = json!({"hooks": {"enabled": false}});
    let engine = world.layers(&[(Source::Project, project), (Source::User, user), (Source::System, system)]).build();
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs.len(), 1);
    super::world::denied(&outcome);
    assert_eq!(engine.set_enabled("guard", false), Err(SwitchError::Locked("guard".into())));
    assert_eq!(runs(&engine).await, 1);
}

#[tokio::test]
async fn a_locked_hook_is_not_shadowed_by_its_double() {
    let world = World::new();
    let locked = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 2", "locked": true}]}]}});
    let double = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 2", "env": {"PATH": "/nowhere"}}]}]}});
    let engine = world.layers(&[(Source::Project, double), (Source::System, locked)]).build();
    let outcome = within(engine.fire(&tool_call())).await;
    let sources: Vec<_> = outcome.runs.iter().map(|run| run.source.clone()).collect();
    assert_eq!(sources, [Source::System]);
}

#[tokio::test]
async fn a_held_hook_waits_until_it_is_let_go() {
    let world = World::new();
    let engine = world.settings(guard(json!({}))).build();
    engine.update(|registry| registry.hold(|hook| (hook.id() == "guard").then(|| "new".to_owned())));
    assert_eq!(runs(&engine).await, 0);
    assert_eq!(engine.registry().entries().next().unwrap().1, &HookState::Held { why: "new".into() });
    engine.update(|registry| registry.hold(|_| None));
    assert_eq!(runs(&engine).await, 1);
}

#[tokio::test]
async fn a_new_configuration_takes_the_old_ones_place() {
    let world = World::new();
    let engine = world.settings(guard(json!({}))).build();
    let clone = engine.clone();
    engine.reload(Registry::default());
    assert_eq!(runs(&clone).await, 0);
    assert!(engine.registry().hooks().is_empty());
}
