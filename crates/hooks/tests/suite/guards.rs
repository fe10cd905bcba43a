//! Guards: what they do when they fail, that other layers cannot weaken them, and that they judge last. And background
//! hooks, which run beside their event.

use std::borrow::Cow;
use std::sync::Arc;

use hookwright_hooks::{
    AfterTool, Answer, BeforeAgent, BeforeAgentVerdict, BeforeModel, BeforeModelVerdict, BeforeToolVerdict, EventKind,
    EventReport, Hook, HookInput, HookRole, HookState, LlmRequest, Observer, Purpose, RequestedBy, RunReport,
    SharedJson, Source, SwitchError, UnarmedReason, VerdictReport,
};
use serde_json::{Value, json};

use super::fixture::{
    EngineFixture, RecordingObserver, assert_proceeds, command_hook, deny_reason, eventually, only_warning,
    print_command, tool_call, tool_call_of, wait_until_gone, with_hang_timeout,
};

/// Settings with one BeforeTool guard that runs this command.
fn guard_settings(command: &str, more: Value) -> Value {
    let mut hook = json!({"type": "command", "name": "guard", "command": command, "guard": true});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
}

#[tokio::test]
async fn a_failing_guard_denies_whatever_on_error_says() {
    for (command, more) in [
        ("exit 1", json!({"onError": "allow"})),
        ("kill -9 $$", json!({"onError": {"exit": "ask"}})),
        ("/nowhere/guard", json!({})),
        ("sleep 30", json!({"timeout": 150})),
        (r#"echo '{"decision": 7}'"#, json!({"onError": "allow"})),
        (r#"echo 'loading… {"decision": "allow"}'"#, json!({})),
        (r#"echo '{"decision": "allow", "decision": "allow"}'"#, json!({"onError": "allow"})),
        (r#"echo '{"hookSpecificOutput": {"tool_input": {"a": 1, "a": 2}}}'"#, json!({})),
    ] {
        let world = EngineFixture::new();
        let lenient = json!({"hooksConfig": {"onError": "allow"}});
        let engine = world
            .engine_with_layers(&[(Source::Project, lenient), (Source::User, guard_settings(command, more))])
            .build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert!(!outcome.warnings.is_empty(), "{command}");
        deny_reason(&outcome);
    }
}

#[tokio::test]
async fn no_other_layer_switches_a_guard_off() {
    let off = json!({"hooksConfig": {"enabled": false, "disabled": ["guard"]}, "hooks": {"enabled": false},
        "tools": {"enableHooks": false}});
    let others = [Source::Project, Source::System, Source::Extension("e".into())];
    for other in others {
        let world = EngineFixture::new();
        let engine = world
            .engine_with_layers(&[(other, off.clone()), (Source::User, guard_settings("exit 2", json!({})))])
            .build();
        deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await);
        let refused = SwitchError::Guard { name: "guard".into(), layer: Source::User };
        assert_eq!(engine.set_enabled("guard", false), Err(refused));
        deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await);
        assert!(engine.unarmed_guards().is_empty());
    }
}

#[tokio::test]
async fn a_guards_own_layer_may_switch_it_off_and_then_it_is_not_armed() {
    let mut by_list = guard_settings("exit 2", json!({}));
    by_list["hooksConfig"] = json!({"disabled": ["guard"]});
    let mut by_switch = guard_settings("exit 2", json!({}));
    by_switch["hooksConfig"] = json!({"enabled": false});
    for settings in [guard_settings("exit 2", json!({"enabled": false})), by_list, by_switch] {
        let world = EngineFixture::new();
        let engine = world.engine_with_settings(settings.clone()).build();
        assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
        let why: Vec<_> = engine.unarmed_guards().into_iter().map(|one| one.reason).collect();
        assert_eq!(why, [UnarmedReason::Disabled(Source::Project)], "{settings}");
    }
}

#[tokio::test]
async fn an_ordinary_hook_with_a_guards_name_can_be_switched_off() {
    let world = EngineFixture::new();
    let ordinary = json!({"hooks": {"BeforeTool": [{"hooks": [command_hook("guard", "touch ran")]}]}});
    let engine = world
        .engine_with_layers(&[(Source::Project, ordinary), (Source::User, guard_settings("exit 2", json!({})))])
        .build();
    engine.set_enabled("guard", false).unwrap_err();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    deny_reason(&outcome);
    assert_eq!(outcome.runs.len(), 1);
    assert!(!world.path("ran").exists());
}

#[tokio::test]
async fn an_untrusted_guard_denies() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(guard_settings("touch ran", json!({}))).build();
    engine.update(|registry| registry.mark_untrusted(|_| Some("new".to_owned())));
    assert!(matches!(engine.registry().entries().next().unwrap().1, HookState::Untrusted { .. }));
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(
        deny_reason(&outcome),
        "hook guard: could not start: it waits for your trust (new); `/hooks trust guard` lets it run"
    );
    assert!(!world.path("ran").exists());
    assert_eq!(engine.unarmed_guards()[0].reason, UnarmedReason::Untrusted("new".into()));
    // An ordinary hook is only skipped.
    let engine = world
        .engine_with_settings(json!({"hooks": {"BeforeTool": [{"hooks": [command_hook("h", "touch ran")]}]}}))
        .build();
    engine.update(|registry| registry.mark_untrusted(|_| Some("new".to_owned())));
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
    assert!(!world.path("ran").exists());
}

#[tokio::test]
async fn every_unarmed_reason_is_distinct() {
    let hook = |name: &str, command: &str| json!({"type": "command", "name": name, "command": command, "guard": true});
    let settings = json!({
        "hooks": {
            "BeforeTool": [
                {"hooks": [hook("fine", "true"), hook("inert", "./nowhere.sh")]},
                {"matcher": "write_file", "hooks": [hook("also-fine", "true")]},
            ],
            "SessionStart": [{"hooks": [hook("start", "./nowhere.sh")]}],
        },
        "hooksConfig": {"required": ["fine", "absent"]},
    });
    let world = EngineFixture::new();
    let unarmed = world.engine_with_settings(settings).build().unarmed_guards();
    let words: Vec<_> = unarmed.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "guard `inert` (settings.json:1) is not armed: ./nowhere.sh: no such file",
            "guard `start` (settings.json:1) is not armed: ./nowhere.sh: no such file",
            "guard `absent` (settings.json:1) is not armed: the project settings require it, and there is no such hook",
        ]
    );
}

#[tokio::test]
async fn a_required_hook_is_a_guard() {
    let world = EngineFixture::new();
    let user = json!({"hooks": {"BeforeTool": [{"hooks": [command_hook("check", "exit 1")]}]}});
    let system = json!({"hooksConfig": {"required": ["check"]}});
    let project = json!({"hooksConfig": {"disabled": ["check"]}});
    let layers = [(Source::Project, project), (Source::User, user), (Source::System, system)];
    let engine = world.engine_with_layers(&layers).build();
    deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await);
    assert!(engine.set_enabled("check", false).is_err());
    // So is a required hook that is added later.
    let engine = world.engine_with_layers(&[(Source::System, json!({"hooksConfig": {"required": ["late"]}}))]).build();
    assert_eq!(engine.unarmed_guards()[0].reason, UnarmedReason::Missing(Source::System));
    let late = Hook::from_function(EventKind::BeforeTool, "late", |_| async { Err("broken".to_owned()) });
    engine.update(|registry| registry.add(late));
    assert!(engine.unarmed_guards().is_empty());
    deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await);
}

#[tokio::test]
async fn a_function_hook_can_be_a_guard() {
    let world = EngineFixture::new();
    let engine = world
        .engine_with_settings(json!({"hooksConfig": {"enabled": false, "disabled": ["code"], "onError": "allow"}}))
        .build();
    let hook = Hook::from_function(EventKind::BeforeTool, "code", |_| async { Err::<Answer, _>("broken".to_owned()) });
    engine.update(|registry| registry.add(Hook { role: HookRole::Guard, ..hook }));
    assert_eq!(
        engine.set_enabled("code", false),
        Err(SwitchError::Guard { name: "code".into(), layer: Source::Runtime })
    );
    deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await);
}

#[tokio::test]
async fn no_layer_makes_anothers_hook_more_lenient() {
    let failing = |more: Value| {
        let mut hook = command_hook("h", "exit 1");
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    };
    let all = |word: &str| json!({"hooksConfig": {"onError": word}});
    let both = |hook: Value, word: &str| {
        let mut settings = hook;
        settings["hooksConfig"] = json!({"onError": word});
        settings
    };
    let plain = || failing(json!({}));
    for (layers, expected) in [
        // A project cannot loosen the user's policy, neither for the user's hooks nor for its own.
        (vec![(Source::Project, all("allow")), (Source::User, both(plain(), "block"))], "deny"),
        (vec![(Source::Project, all("allow")), (Source::User, failing(json!({"onError": "block"})))], "deny"),
        (vec![(Source::Project, failing(json!({"onError": "allow"}))), (Source::User, all("block"))], "deny"),
        (vec![(Source::Project, both(plain(), "allow")), (Source::System, all("ask"))], "ask"),
        // A project can tighten it.
        (vec![(Source::Project, all("block")), (Source::User, failing(json!({"onError": "allow"})))], "deny"),
        (vec![(Source::Project, all("ask")), (Source::User, plain())], "ask"),
        (
            vec![(Source::Project, json!({"hooksConfig": {"onError": {"timeout": "block"}}})), (Source::User, plain())],
            "go on",
        ),
        // Within a layer, the hook's own policy overrides the layer's.
        (vec![(Source::User, both(failing(json!({"onError": "allow"})), "block"))], "go on"),
    ] {
        let world = EngineFixture::new();
        let engine = world.engine_with_layers(&layers).build();
        let verdict = match with_hang_timeout(engine.fire(&tool_call())).await.verdict {
            BeforeToolVerdict::Deny { .. } => "deny",
            BeforeToolVerdict::Ask { .. } => "ask",
            _ => "go on",
        };
        assert_eq!(verdict, expected, "{layers:?}");
    }
}

#[tokio::test]
async fn a_projects_repetition_of_a_users_hook_changes_nothing() {
    let world = EngineFixture::new();
    let hook = |more: Value| {
        let mut hook = command_hook("check", "[ -z \"$LENIENT\" ] || exit 0; exit 2");
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    };
    for sabotage in
        [json!({"env": {"LENIENT": "1"}}), json!({"timeout": 1}), json!({"guard": true, "env": {"LENIENT": "1"}})]
    {
        let layers = [(Source::Project, hook(sabotage.clone())), (Source::User, hook(json!({})))];
        let outcome = with_hang_timeout(world.engine_with_layers(&layers).build().fire(&tool_call())).await;
        assert!(outcome.runs.iter().any(|run| run.source == Source::User), "{sabotage}");
        deny_reason(&outcome);
    }
}

/// Returns a guard that denies inputs that contain `evil`.
fn evil_guard() -> Value {
    json!({"type": "command", "name": "no-evil", "guard": true,
        "command": "case $(cat) in *evil*) echo 'no evil' >&2; exit 2;; esac"})
}

fn rewrite_command(command: &str) -> String {
    print_command(json!({"hookSpecificOutput": {"tool_input": {"command": command}}}))
}

#[tokio::test]
async fn a_rewritten_call_is_judged_by_the_guards() {
    for sequential in [false, true] {
        let world = EngineFixture::new();
        let hooks = json!([evil_guard(), command_hook("rewriter", &rewrite_command("evil"))]);
        let engine = world
            .engine_with_settings(json!({"hooks": {"BeforeTool": [{"sequential": sequential, "hooks": hooks}]}}))
            .build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert_eq!(deny_reason(&outcome), "no evil", "sequential: {sequential}");
        let order: Vec<_> = outcome.runs.iter().map(|run| (run.hook.as_str(), run.id.position)).collect();
        assert_eq!(order, [("no-evil", 1), ("rewriter", 2), ("no-evil", 3)]);
    }
}

#[tokio::test]
async fn a_guard_is_asked_again_only_about_changed_calls() {
    let world = EngineFixture::new();
    let counting = |name: &str, more: &str| json!({"type": "command", "name": name, "guard": true, "command": format!("cat >/dev/null; echo x >> {name}; {more}")});
    let count = |name: &str| world.read(name).lines().count();
    // No change; the same arguments written again; a real change, after which the guard is asked again.
    for (rewriter, expected) in [("true".to_owned(), 1), (rewrite_command("ls"), 2), (rewrite_command("ls -l"), 4)] {
        let hooks = json!([counting("guard", "true"), command_hook("rewriter", &rewriter)]);
        let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).build();
        with_hang_timeout(engine.fire(&tool_call())).await;
        assert_eq!(count("guard"), expected, "{rewriter}");
    }
    // A guard is not asked again about its own change.
    let engine =
        world.engine_with_hooks(EventKind::BeforeTool, json!([counting("own", &rewrite_command("ls -l"))])).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(count("own"), 1);
    assert!(matches!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(_) }));
}

#[tokio::test]
async fn guards_that_keep_rewriting_calls_end_in_a_deny() {
    let world = EngineFixture::new();
    let grows = |name: &str| {
        let answer = "printf '{\"hookSpecificOutput\": {\"tool_input\": {\"command\": \"%s\"}}}' $(date +%N)$$";
        json!({"type": "command", "name": name, "guard": true, "command": answer})
    };
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([grows("one"), grows("two")])).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert!(
        deny_reason(&outcome).contains("could not decide, because other hooks keep changing the event"),
        "{:?}",
        outcome.verdict
    );
}

fn prompt_event(text: &'static str) -> BeforeAgent<'static> {
    BeforeAgent { prompt: text.into(), attachments: Vec::new() }
}

#[tokio::test]
async fn guards_check_context_added_to_a_prompt() {
    let world = EngineFixture::new();
    let adds = print_command(json!({"hookSpecificOutput": {"additionalContext": "evil"}}));
    let engine =
        world.engine_with_hooks(EventKind::BeforeAgent, json!([evil_guard(), command_hook("adder", &adds)])).build();
    let outcome = with_hang_timeout(engine.fire(&prompt_event("hello"))).await;
    assert_eq!(outcome.verdict, BeforeAgentVerdict::Deny { reason: "no evil".into() });
}

#[tokio::test]
async fn a_second_guard_check_repeats_no_messages() {
    let world = EngineFixture::new();
    let speaks = json!({"type": "command", "name": "speaks", "guard": true,
        "command": print_command(json!({"systemMessage": "looked at it"}))});
    let hooks = json!([speaks, command_hook("rewriter", &rewrite_command("ls -l"))]);
    let outcome =
        with_hang_timeout(world.engine_with_hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert_eq!((outcome.runs.len(), outcome.messages.len()), (3, 1));
}

#[tokio::test]
async fn a_guards_deny_is_obeyed_or_reported() {
    let world = EngineFixture::new();
    for (answer, expected) in [
        (json!({"decison": "deny"}), "did it mean `decision`?"),
        (json!({"Decision": "deny"}), "did it mean `decision`?"),
        (json!({"contine": false}), "did it mean `continue`?"),
        (json!({"hook_specific_output": {}}), "did it mean `hookSpecificOutput`?"),
        (json!({"hookSpecificOutput": {"permissionDecision": "deny"}}), "hookSpecificOutput.permissionDecision"),
        (json!({"allow": false}), "has no known field"),
    ] {
        let engine = world.engine_with_settings(guard_settings(&print_command(answer.clone()), json!({}))).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert!(deny_reason(&outcome).contains(expected), "{answer}: {:?}", outcome.verdict);
        // For other hooks, unknown fields are ignored.
        assert_proceeds(&world.run_command(&print_command(answer)).await);
    }
    for fine in [json!({}), json!({"decision": "allow", "note": 1}), json!({"systemMessage": "m"})] {
        let engine = world.engine_with_settings(guard_settings(&print_command(fine.clone()), json!({}))).build();
        assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
    }
}

/// The hook's script was written for another agent.
#[tokio::test]
async fn a_deny_in_another_dialect_is_reported_for_every_hook() {
    let world = EngineFixture::new();
    for word in ["deny", "ask"] {
        let outcome =
            world.run_command(&print_command(json!({"hookSpecificOutput": {"permissionDecision": word}}))).await;
        assert_proceeds(&outcome);
        let warned = outcome.warnings.iter().any(|said| said.text.contains("permissionDecision"));
        assert!(warned, "{:?}", outcome.warnings);
    }
    let fine = json!({"hookSpecificOutput": {"additionalContext": "permissionDecision"}});
    assert!(world.run_command(&print_command(fine)).await.warnings.is_empty());
}

#[tokio::test]
async fn a_guards_output_that_is_neither_json_nor_plain_text_is_a_failure() {
    let world = EngineFixture::new();
    for printed in [
        "loading {decision:deny}",
        "loading\n{\"deny\": true}",
        "[\"deny\"]",
        "[{\"decision\": \"deny\"}]",
        "{decision:deny} loaded",
    ] {
        std::fs::write(world.path("printed"), printed).unwrap();
        let outcome = with_hang_timeout(
            world.engine_with_settings(guard_settings("cat printed", json!({}))).build().fire(&tool_call()),
        )
        .await;
        deny_reason(&outcome);
        // For other hooks it is plain text, with or without a warning.
        assert_proceeds(&world.run_command("cat printed").await);
    }
    for fine in ["checked 3 files", "deny", "(all is well)"] {
        std::fs::write(world.path("printed"), fine).unwrap();
        let outcome = with_hang_timeout(
            world.engine_with_settings(guard_settings("cat printed", json!({}))).build().fire(&tool_call()),
        )
        .await;
        assert_proceeds(&outcome);
    }
}

#[tokio::test]
async fn output_that_is_no_text_is_a_failure_of_every_hook() {
    let world = EngineFixture::new();
    let deny = r#"{"decision": "deny"}"#;
    let little: Vec<u8> = deny.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark = [&[0xff, 0xfe][..], &little].concat();
    let big: Vec<u8> = [0xfeff_u16].into_iter().chain(deny.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let far: Vec<u8> = "\u{feff}拒否".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [little, with_mark, big, far, b"{\"decision\": \"deny\"}\0".to_vec()] {
        let outcome = world.run_printing(&bytes).await;
        assert!(only_warning(&outcome).contains("UTF-16"), "{bytes:?}");
        assert_proceeds(&outcome);
        let outcome = with_hang_timeout(
            world.engine_with_settings(guard_settings("cat printed", json!({}))).build().fire(&tool_call()),
        )
        .await;
        deny_reason(&outcome);
    }
}

#[tokio::test]
async fn a_background_hook_is_not_awaited_and_decides_nothing() {
    let world = EngineFixture::new();
    let notes = RecordingObserver::new();
    let waits = "while [ ! -e go ]; do sleep 0.02; done; echo '{\"decision\": \"deny\", \"reason\": \"late\", \"systemMessage\": \"done\"}'";
    let hook = json!({"type": "command", "name": "beside", "command": waits, "async": true, "onError": "block"});
    for sequential in [false, true] {
        let settings = json!({"hooks": {"BeforeTool": [{"sequential": sequential, "hooks": [hook, command_hook("other", "true")]}]}});
        let engine = world.engine_with_settings(settings).observer(notes.clone()).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call_of("glob", json!({})))).await;
        assert_proceeds(&outcome);
        assert_eq!(outcome.runs.len(), 1);
        world.write("go", "");
        let mut heard = Vec::new();
        eventually("the hook says something", || {
            heard.extend(notes.take());
            heard.iter().any(|line| line.starts_with("later"))
        })
        .await;
        let later: Vec<_> = heard.iter().filter(|line| line.starts_with("later")).collect();
        assert_eq!(
            later,
            [
                "later BeforeTool beside: done",
                "later BeforeTool beside: runs in the background (`async`), so what it decided does not count: late"
            ]
        );
        std::fs::remove_file(world.path("go")).unwrap();
    }
}

#[tokio::test]
async fn a_background_hook_ends_with_the_session() {
    let world = EngineFixture::new();
    let hook = json!({"type": "command", "name": "beside", "command": "echo $$ > pid; exec sleep 60", "async": true});
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build();
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
    let pid = world.read_pid("pid").await;
    with_hang_timeout(engine.shutdown()).await;
    wait_until_gone(pid).await;
}

#[tokio::test]
async fn cancelling_a_turn_does_not_end_a_background_hook() {
    let world = EngineFixture::new();
    let hook = json!({"type": "command", "name": "beside", "async": true,
        "command": "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; touch done"});
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).build();
    let cancel = tokio_util::sync::CancellationToken::new();
    with_hang_timeout(engine.fire_cancellable(&tool_call(), &cancel)).await;
    world.read_pid("pid").await;
    cancel.cancel();
    world.write("go", "");
    eventually("it finishes", || world.path("done").exists()).await;
}

#[tokio::test]
async fn a_cancelled_guard_does_not_allow() {
    let world = EngineFixture::new();
    let cancel = tokio_util::sync::CancellationToken::new();
    let ends = cancel.clone();
    let engine = world.engine_with_settings(guard_settings("echo $$ > pid; exec sleep 60", json!({}))).build();
    let event = tool_call();
    let (outcome, ()) = with_hang_timeout(async {
        tokio::join!(engine.fire_cancellable(&event, &cancel), async {
            world.read_pid("pid").await;
            ends.cancel();
        })
    })
    .await;
    assert_eq!(deny_reason(&outcome), "the turn was cancelled before a guard had decided");
}

fn model_request() -> BeforeModel {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}], "config": {}});
    let request: LlmRequest = serde_json::from_value(request).unwrap();
    BeforeModel { llm_request: SharedJson::from_request(&request), purpose: Purpose::Answer }
}

#[tokio::test]
async fn a_rewritten_request_is_judged_too() {
    let world = EngineFixture::new();
    let rewrite = print_command(
        json!({"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "evil"}]}}}),
    );
    let engine = world
        .engine_with_hooks(EventKind::BeforeModel, json!([evil_guard(), command_hook("rewriter", &rewrite)]))
        .build();
    let outcome = with_hang_timeout(engine.fire(&model_request())).await;
    assert_eq!(outcome.verdict, BeforeModelVerdict::Deny { reason: "no evil".into() });
}

#[tokio::test]
async fn no_hook_answers_for_the_model_after_a_guard_denies() {
    let world = EngineFixture::new();
    let answers =
        command_hook("answers", &print_command(json!({"hookSpecificOutput": {"llm_response": {"text": "mine"}}})));
    let no = json!({"type": "command", "name": "no", "command": "echo no >&2; exit 2", "guard": true});
    let engine = world.engine_with_hooks(EventKind::BeforeModel, json!([no, answers])).build();
    let outcome = with_hang_timeout(engine.fire(&model_request())).await;
    assert_eq!(outcome.verdict, BeforeModelVerdict::Deny { reason: "no".into() });
    // The guard's own answer is used in spite of its deny.
    let both = print_command(
        json!({"decision": "deny", "reason": "no", "hookSpecificOutput": {"llm_response": {"text": "mine"}}}),
    );
    let both = json!({"type": "command", "name": "both", "command": both, "guard": true});
    let outcome = with_hang_timeout(
        world.engine_with_hooks(EventKind::BeforeModel, json!([both])).build().fire(&model_request()),
    )
    .await;
    assert!(matches!(outcome.verdict, BeforeModelVerdict::Answer { .. }));
}

#[tokio::test]
async fn a_stop_keeps_nothing_that_a_guard_denies() {
    let world = EngineFixture::new();
    let stops = command_hook("stops", &print_command(json!({"continue": false, "stopReason": "enough"})));
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, json!([evil_guard(), stops])).build();
    let outcome = with_hang_timeout(engine.fire(&prompt_event("evil"))).await;
    assert_eq!(outcome.verdict, BeforeAgentVerdict::Deny { reason: "no evil".into() });
    assert_eq!(outcome.merged.decided_by, ["no-evil"]);
    let outcome = with_hang_timeout(engine.fire(&prompt_event("hello"))).await;
    assert_eq!(outcome.verdict, BeforeAgentVerdict::Stop { reason: "enough".into() });
}

/// The records of each run: the length of the recorded input, and whether the output may be recorded.
#[derive(Default)]
struct RunRecords(std::sync::Mutex<Vec<(String, usize, bool)>>);

impl Observer for RunRecords {
    fn run_finished(&self, run: &RunReport, input: &HookInput) {
        self.0.lock().unwrap().push((run.hook.clone(), input.len(), !run.answer.suppress_output));
    }
}

/// The verdicts: decision, deciding hooks, whether a guard is among them, the number of guards, and the reason.
#[derive(Default)]
struct VerdictRecords(std::sync::Mutex<Vec<String>>);

impl Observer for VerdictRecords {
    fn event_finished(&self, event: &EventReport<'_>) {
        let Some(verdict) = event.verdict() else { return };
        let VerdictReport { decided_by, decided_by_guard, guards, reason, .. } = &verdict;
        let reason = reason.as_deref().unwrap_or("no reason");
        let line = format!("{} {decided_by:?} {decided_by_guard} {guards}: {reason}", verdict.as_str());
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test]
async fn a_verdict_is_reported_if_a_hook_decides_or_a_guard_is_asked() {
    let world = EngineFixture::new();
    let stops = command_hook("stops", &print_command(json!({"continue": false, "stopReason": "enough"})));
    let hidden = print_command(json!({"decision": "deny", "reason": "hidden", "suppressOutput": true}));
    for (hooks, prompt, expected) in [
        (json!([command_hook("silent", "true")]), "hello", None),
        (json!([evil_guard()]), "hello", Some("allow [] false 1: no reason")),
        (json!([evil_guard()]), "evil", Some("deny [\"no-evil\"] true 1: no evil")),
        (json!([stops]), "hello", Some("stop [\"stops\"] false 0: enough")),
        (json!([command_hook("shy", &hidden)]), "hello", Some("deny [\"shy\"] false 0: no reason")),
    ] {
        let records = Arc::new(VerdictRecords::default());
        let engine = world.engine_with_hooks(EventKind::BeforeAgent, hooks).observer(records.clone()).build();
        with_hang_timeout(engine.fire(&prompt_event(prompt))).await;
        let seen = std::mem::take(&mut *records.0.lock().unwrap());
        assert_eq!(seen, expected.into_iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_guard_that_fails_keeps_a_result_from_every_record() {
    for (command_line, says_itself) in
        [("exit 2", true), ("exit 1", false), ("kill -9 $$", false), ("sleep 30", false), ("echo '{\"x'", false)]
    {
        let world = EngineFixture::new();
        let guard = json!({"type": "command", "name": "guard", "command": command_line, "guard": true, "timeout": 300});
        let beside = json!({"type": "command", "name": "beside", "command": "cat", "async": true});
        let hooks = json!([guard, command_hook("other", "cat >&2"), beside]);
        let records = Arc::new(RunRecords::default());
        let engine = world.engine_with_hooks(EventKind::AfterTool, hooks).observer(records.clone()).build();
        let args = serde_json::Map::new();
        let event = AfterTool {
            tool_name: "glob".into(),
            tool_input: Cow::Borrowed(&args),
            tool_response: Cow::Owned(json!({"llmContent": "secret"})),
            mcp_context: None,
            original_request_name: None,
            tool_use_id: None,
            requested_by: RequestedBy::Model,
        };
        with_hang_timeout(engine.fire(&event)).await;
        eventually("all have ended", || records.0.lock().unwrap().len() == 3).await;
        let mut seen = std::mem::take(&mut *records.0.lock().unwrap());
        seen.sort();
        let expected = [("beside", 0, false), ("guard", 0, says_itself), ("other", 0, false)];
        assert_eq!(seen, expected.map(|(hook, bytes, said)| (hook.to_owned(), bytes, said)), "{command_line}");
    }
}
