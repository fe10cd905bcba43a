//! The states of hooks: disabled by settings or at run time, locked, or untrusted.

use hookwright_hooks::{EventKind, HookEngine, HookState, Registry, Source, SwitchError};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, command_hook, tool_call, with_hang_timeout};

fn guard_settings(extra: Value) -> Value {
    let mut settings = json!({"hooks": {"BeforeTool": [{"hooks": [command_hook("guard", "exit 2")]}]}});
    for (key, value) in extra.as_object().unwrap() {
        settings[key] = value.clone();
    }
    settings
}

async fn run_count(engine: &HookEngine) -> usize {
    with_hang_timeout(engine.fire(&tool_call())).await.runs.len()
}

#[tokio::test]
async fn disabled_names_do_not_run() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings(json!({"hooksConfig": {"disabled": ["guard"]}}))).build();
    assert_eq!(run_count(&engine).await, 0);
    let mut settings = guard_settings(json!({}));
    settings["hooks"]["disabled"] = json!(["guard"]);
    assert_eq!(run_count(&world.engine_with_settings(settings).build()).await, 0);
    // A hook without a name is disabled by its command.
    let settings = json!({"hooks": {"disabled": ["exit 2"],
        "BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}});
    assert_eq!(run_count(&world.engine_with_settings(settings).build()).await, 0);
}

#[tokio::test]
async fn any_layer_may_disable_a_hook() {
    let world = EngineFixture::new();
    let disable = json!({"hooksConfig": {"disabled": ["guard"]}});
    let engine =
        world.engine_with_layers(&[(Source::Project, guard_settings(json!({}))), (Source::User, disable)]).build();
    assert_eq!(run_count(&engine).await, 0);
    let registry = engine.registry();
    let states: Vec<_> = registry.entries().map(|(_, state)| state.clone()).collect();
    assert_eq!(states, [HookState::Disabled { by: vec![Source::User] }]);
}

#[tokio::test]
async fn all_hooks_can_be_switched_off_and_the_highest_layer_that_says_so_wins() {
    let world = EngineFixture::new();
    let mut in_hooks = guard_settings(json!({}));
    in_hooks["hooks"]["enabled"] = json!(false);
    let off = [
        guard_settings(json!({"hooksConfig": {"enabled": false}})),
        guard_settings(json!({"tools": {"enableHooks": false}})),
        in_hooks,
    ];
    for settings in off {
        let engine = world.engine_with_settings(settings.clone()).build();
        assert_eq!(run_count(&engine).await, 0, "{settings}");
        assert!(!engine.has_hooks_for(EventKind::BeforeTool));
        let on = json!({"hooksConfig": {"enabled": true}});
        let engine = world.engine_with_layers(&[(Source::User, settings), (Source::Project, on)]).build();
        assert_eq!(run_count(&engine).await, 1);
    }
}

#[tokio::test]
async fn hooks_are_switched_at_run_time() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings(json!({}))).build();
    assert_eq!(run_count(&engine).await, 1);
    engine.set_enabled("guard", false).unwrap();
    assert_eq!(run_count(&engine).await, 0);
    assert_eq!(engine.registry().entries().next().unwrap().1, &HookState::Disabled { by: Vec::new() });
    engine.set_enabled("guard", true).unwrap();
    assert_eq!(run_count(&engine).await, 1);
    assert_eq!(engine.set_enabled("gaurd", false), Err(SwitchError::Unknown("gaurd".into())));
}

#[tokio::test]
async fn enabling_at_run_time_overrides_a_disabled_list() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings(json!({"hooksConfig": {"disabled": ["guard"]}}))).build();
    engine.set_enabled("guard", true).unwrap();
    assert_eq!(run_count(&engine).await, 1);
}

#[tokio::test]
async fn a_locked_hook_cannot_be_switched_off_or_weakened() {
    let world = EngineFixture::new();
    let system = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 9", "locked": true, "onError": {"timeout": "block"}}]}]},
        "hooksConfig": {"onError": {"exit": "block"}}});
    let project = json!({"hooksConfig": {"enabled": false, "disabled": ["guard"], "onError": "allow"}});
    let user = json!({"hooks": {"enabled": false}});
    let engine =
        world.engine_with_layers(&[(Source::Project, project), (Source::User, user), (Source::System, system)]).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs.len(), 1);
    super::fixture::deny_reason(&outcome);
    assert_eq!(engine.set_enabled("guard", false), Err(SwitchError::Locked("guard".into())));
    assert_eq!(run_count(&engine).await, 1);
}

#[tokio::test]
async fn a_locked_hook_is_not_shadowed_by_its_duplicate() {
    let world = EngineFixture::new();
    let locked = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 2", "locked": true}]}]}});
    let double = json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "command": "exit 2", "env": {"PATH": "/nowhere"}}]}]}});
    let engine = world.engine_with_layers(&[(Source::Project, double), (Source::System, locked)]).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    let sources: Vec<_> = outcome.runs.iter().map(|run| run.source.clone()).collect();
    assert_eq!(sources, [Source::System]);
}

#[tokio::test]
async fn an_untrusted_hook_waits_for_trust() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings(json!({}))).build();
    engine.update(|registry| registry.mark_untrusted(|hook| (hook.id() == "guard").then(|| "new".to_owned())));
    assert_eq!(run_count(&engine).await, 0);
    assert_eq!(engine.registry().entries().next().unwrap().1, &HookState::Untrusted { why: "new".into() });
    engine.update(|registry| registry.mark_untrusted(|_| None));
    assert_eq!(run_count(&engine).await, 1);
}

#[tokio::test]
async fn a_new_configuration_takes_the_old_ones_place() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings(json!({}))).build();
    let clone = engine.clone();
    engine.reload(Registry::default());
    assert_eq!(run_count(&clone).await, 0);
    assert!(engine.registry().hooks().is_empty());
}
