//! Hooks in shadow: each is asked, its answer is on record, and it decides nothing.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_hooks::{
    AfterAgent, AfterAgentVerdict, BeforeAgent, BeforeAgentVerdict, BeforeModel, BeforeModelVerdict, BeforeTool,
    BeforeToolVerdict, Decision, Event, EventKind, EventReport, Hook, HookEngine, Layer, LlmRequest, Observer, Outcome,
    Purpose, Registry, Severity, SharedJson, Source, TrustGate, UnarmedReason, parse_layer,
};
use serde_json::{Value, json};

use super::fixture::{
    EngineFixture, assert_proceeds, command_hook, deny_reason, environment, print_command, tool_call, tool_call_of,
    with_hang_timeout,
};

fn in_shadow(mut hook: Value) -> Value {
    hook["mode"] = json!("shadow");
    hook
}

fn shadow_answering(answer: Value) -> Value {
    in_shadow(command_hook("shadow", &print_command(answer)))
}

fn deny_rule(name: &str) -> Value {
    json!({"type": "rule", "name": name, "decision": "deny", "reason": "no"})
}

fn before_tool(hooks: Value) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

fn deny() -> Value {
    json!({"decision": "deny", "reason": "no"})
}

async fn fire<E: Event>(world: &EngineFixture, hooks: Value, event: &E) -> Outcome<E::Verdict> {
    with_hang_timeout(world.engine_with_hooks(E::KIND, hooks).build().fire(event)).await
}

fn shadow_decision<V>(outcome: &Outcome<V>) -> Option<Decision> {
    outcome.runs.iter().find_map(|run| run.shadow_answer.as_deref()).unwrap().decision
}

#[tokio::test]
async fn every_answer_of_a_hook_in_shadow_is_recorded_and_has_no_effect() {
    let world = EngineFixture::new();
    for answer in [
        deny(),
        json!({"decision": "ask", "reason": "sure?"}),
        json!({"decision": "confine", "reason": "kept in", "hookSpecificOutput": {"confine": {"network": "none"}}}),
        json!({"continue": false, "stopReason": "over"}),
        json!({"hookSpecificOutput": {"tool_input": {"command": "rm -rf ."}}}),
        json!({"hookSpecificOutput": {"additionalContext": "context"}}),
        json!({"systemMessage": "hello"}),
        json!({"decision": "allow"}),
    ] {
        for sequential in [false, true] {
            let hooks = json!([shadow_answering(answer.clone()), command_hook("other", "true")]);
            let settings = json!({"hooks": {"BeforeTool": [{"sequential": sequential, "hooks": hooks}]}});
            let engine = world.engine_with_settings(settings).build();
            let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
            assert_proceeds(&outcome);
            assert_eq!(outcome.merged.answer, hookwright_hooks::Answer::default(), "{answer}");
            assert!(outcome.messages.is_empty() && outcome.warnings.is_empty(), "{answer}");
            let run = outcome.runs.iter().find(|run| run.hook == "shadow").unwrap();
            assert_eq!(run.decision(), None);
            assert_ne!(run.shadow_answer.as_deref(), None, "{answer}");
            assert!(run.stdout.text.contains('{'), "the output is on record");
        }
    }
}

#[tokio::test]
async fn a_rule_in_shadow_says_what_it_would_decide() {
    let world = EngineFixture::new();
    for decision in ["deny", "ask"] {
        let mut rule = in_shadow(deny_rule("r"));
        rule["decision"] = json!(decision);
        rule["when"] = json!({"commands": ["ls*"]});
        let outcome = fire(&world, json!([rule]), &tool_call()).await;
        assert_proceeds(&outcome);
        assert_eq!(shadow_decision(&outcome).unwrap().as_str(), decision);
    }
}

#[tokio::test]
async fn a_rule_in_shadow_approves_nothing() {
    let world = EngineFixture::new();
    let rule = json!({"type": "rule", "name": "quiet", "decision": "allow", "only": {"reads": ["**"]}});
    let layers = [(Source::User, before_tool(json!([in_shadow(rule)])))];
    let call = tool_call_of("run_shell_command", json!({"command": "cat a"}));
    let outcome = with_hang_timeout(world.engine_with_layers(&layers).build().fire(&call)).await;
    assert!(outcome.merged.approved_by.is_empty());
    assert_eq!(shadow_decision(&outcome), Some(Decision::Allow));
}

#[tokio::test]
async fn a_failing_hook_in_shadow_neither_blocks_nor_warns() {
    let world = EngineFixture::new();
    for (command, timeout) in [
        ("exit 1", 5000),
        ("exit 2", 5000),
        ("/no/such/program", 5000),
        ("kill -9 $$", 5000),
        ("echo '{\"decision\": '", 5000),
        ("sleep 30", 50),
    ] {
        let mut hook = in_shadow(command_hook("shadow", command));
        hook["onError"] = json!("block");
        hook["timeout"] = json!(timeout);
        let outcome = world.run_hook(hook).await;
        assert_proceeds(&outcome);
        assert!(outcome.warnings.is_empty() && outcome.messages.is_empty(), "{command}: {:?}", outcome.warnings);
        assert!(!outcome.merged.answer.redact_input, "{command}");
        assert_eq!(shadow_decision(&outcome), Some(Decision::Deny), "{command}: as it would have done");
    }
}

/// The hook that decides comes after the one in shadow, which would end a sequence.
#[tokio::test]
async fn a_sequence_goes_on_after_a_hook_in_shadow() {
    let world = EngineFixture::new();
    for first in [deny(), json!({"continue": false}), json!({"hookSpecificOutput": {"tool_input": {"command": "x"}}})] {
        let sees = "grep -q '\"command\":\"ls\"' && printf '%s' '{\"decision\":\"deny\",\"reason\":\"seen\"}'";
        let hooks = json!([shadow_answering(first), command_hook("second", sees)]);
        let settings = json!({"hooks": {"BeforeTool": [{"sequential": true, "hooks": hooks}]}});
        let outcome = with_hang_timeout(world.engine_with_settings(settings).build().fire(&tool_call())).await;
        assert_eq!(deny_reason(&outcome), "seen");
    }
}

/// A definition that asks for a sequence has no say in how the other hooks run, if its hooks are in shadow.
#[tokio::test]
async fn a_hook_in_shadow_makes_no_plan_sequential() {
    let world = EngineFixture::new();
    let settings = json!({"hooks": {"BeforeTool": [
        {"sequential": true, "hooks": [in_shadow(command_hook("shadow", "true"))]},
        {"hooks": [command_hook("other", "true")]},
    ]}});
    let engine = world.engine_with_settings(settings).build();
    let plan = engine.plan(EventKind::BeforeTool, Some("run_shell_command")).unwrap();
    assert!(!plan.sequential);
}

#[tokio::test]
async fn a_rewrite_in_shadow_causes_no_second_run_of_guards() {
    let world = EngineFixture::new();
    let rewrite = shadow_answering(json!({"hookSpecificOutput": {"tool_input": {"command": "rm x"}}}));
    let mut guard = command_hook("guard", "echo >> runs");
    guard["guard"] = json!(true);
    let outcome = fire(&world, json!([rewrite, guard]), &tool_call()).await;
    assert_proceeds(&outcome);
    assert_eq!(world.read("runs").lines().count(), 1);
}

#[tokio::test]
async fn model_and_agent_events_go_on() {
    let world = EngineFixture::new();
    let agent = BeforeAgent { prompt: "p".into(), attachments: Vec::new() };
    for answer in [deny(), json!({"continue": false}), json!({"hookSpecificOutput": {"additionalContext": "c"}})] {
        let outcome = fire(&world, json!([shadow_answering(answer)]), &agent).await;
        assert_eq!(outcome.verdict, BeforeAgentVerdict::Proceed { context: None });
    }
    let request = SharedJson::from_request(&LlmRequest { model: "m".into(), ..LlmRequest::default() });
    let model = BeforeModel { llm_request: request, purpose: Purpose::Answer };
    let replaced = json!({"candidates": [{"content": {"role": "model", "parts": ["fake"]}, "index": 0}]});
    for answer in [
        deny(),
        json!({"hookSpecificOutput": {"llm_response": replaced}}),
        json!({"hookSpecificOutput": {"llm_request": {"model": "other"}}}),
    ] {
        let outcome = fire(&world, json!([shadow_answering(answer.clone())]), &model).await;
        assert!(matches!(outcome.verdict, BeforeModelVerdict::Proceed { changes: None }), "{answer}");
        assert!(outcome.merged.answer.llm_response.is_none(), "{answer}");
    }
    let after = AfterAgent { prompt: "p".into(), prompt_response: "r".into(), stop_hook_active: false };
    for answer in [deny(), json!({"hookSpecificOutput": {"clearContext": true}})] {
        let outcome = fire(&world, json!([shadow_answering(answer)]), &after).await;
        assert_eq!(outcome.verdict, AfterAgentVerdict::Accept { clear_context: false });
    }
}

#[tokio::test]
async fn a_tail_call_in_shadow_is_not_made() {
    let world = EngineFixture::new();
    let tail = json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "read_file", "args": {}}}});
    let engine = world.engine_with_hooks(EventKind::AfterTool, json!([shadow_answering(tail)])).build();
    let fields = json!({"tool_name": "ls", "tool_input": {}, "tool_response": {"llmContent": "x"}});
    let event = hookwright_hooks::AnyEvent::from_fields(EventKind::AfterTool, super::fixture::into_object(fields));
    let outcome =
        with_hang_timeout(engine.fire_any(&event.unwrap(), &tokio_util::sync::CancellationToken::new())).await;
    assert_eq!(outcome.merged.answer, hookwright_hooks::Answer::default());
    assert!(outcome.runs[0].shadow_answer.as_ref().unwrap().tail_call.is_some());
}

fn parse(source: Source, hooks: Value) -> hookwright_hooks::DeclaredLayer {
    parse_layer(&Layer::new(source, Path::new("settings.json"), &before_tool(hooks).to_string()))
}

#[tokio::test]
async fn a_guard_in_shadow_is_an_error_and_the_guard_decides() {
    let world = EngineFixture::new();
    for guard in [json!(true), json!("yes"), json!(1)] {
        let mut rule = in_shadow(deny_rule("guard"));
        rule["guard"] = guard.clone();
        let layer = parse(Source::User, json!([rule]));
        let errors = layer.diagnostics.iter().filter(|one| one.severity == Severity::Error);
        assert!(errors.map(ToString::to_string).any(|text| text.contains("can't be in shadow")), "{guard}");
        let engine = HookEngine::builder(Registry::new(vec![layer])).session(world.session()).build();
        assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&tool_call())).await), "no");
        assert!(engine.unarmed_guards().is_empty());
    }
}

#[test]
fn an_unknown_mode_is_an_error_and_the_hook_decides() {
    for mode in [json!("Shadow"), json!("shadwo"), json!(true), json!(["shadow"]), json!({}), json!("off")] {
        let mut rule = deny_rule("r");
        rule["mode"] = mode.clone();
        let layer = parse(Source::User, json!([rule]));
        assert!(layer.diagnostics.iter().any(|one| one.severity == Severity::Error), "{mode}");
        assert!(layer.hooks.iter().all(|hook| !hook.is_shadow()), "{mode}");
    }
    for mode in [json!("active"), Value::Null] {
        let mut rule = deny_rule("r");
        rule["mode"] = mode.clone();
        let layer = parse(Source::User, json!([rule]));
        assert!(layer.diagnostics.is_empty() && !layer.hooks[0].is_shadow(), "{mode}");
    }
}

/// `mode` counts on a hook, not on the definition around it.
#[test]
fn a_mode_on_a_definition_puts_nothing_into_shadow() {
    let text = json!({"hooks": {"BeforeTool": [{"mode": "shadow", "hooks": [deny_rule("r")]}]}}).to_string();
    let layer = parse_layer(&Layer::new(Source::User, Path::new("settings.json"), &text));
    assert!(!layer.hooks[0].is_shadow());
    assert!(!layer.diagnostics.is_empty(), "it is said that the key has no effect there");
}

#[tokio::test]
async fn a_required_hook_in_shadow_is_a_guard_that_is_not_armed() {
    let world = EngineFixture::new();
    for required in ["r", "*"] {
        let mut settings = before_tool(json!([in_shadow(deny_rule("r"))]));
        settings["hooksConfig"] = json!({"required": [required]});
        let engine = world.engine_with_layers(&[(Source::User, settings)]).build();
        let unarmed = engine.unarmed_guards();
        assert_eq!(unarmed.iter().map(|one| &one.reason).collect::<Vec<_>>(), [&UnarmedReason::Shadow], "{required}");
        assert!(unarmed[0].advice().contains("hooks arm r"));
    }
}

/// Copies have the same name and command, so that only one of them runs.
#[tokio::test]
async fn a_copy_in_shadow_takes_the_place_of_no_hook_that_decides() {
    let world = EngineFixture::new();
    let real = command_hook("h", &print_command(deny()));
    let mut guard = real.clone();
    guard["guard"] = json!(true);
    for original in [&real, &guard] {
        for (copy_source, real_source) in [
            (Source::Project, Source::User),
            (Source::User, Source::Project),
            (Source::Extension("x".into()), Source::Project),
            (Source::System, Source::User),
        ] {
            for required in [json!([]), json!(["h"])] {
                let mut real_settings = before_tool(json!([original]));
                real_settings["hooksConfig"] = json!({"required": required});
                let copy = before_tool(json!([in_shadow(real.clone())]));
                let layers = [(copy_source.clone(), copy), (real_source.clone(), real_settings)];
                for layers in [layers.to_vec(), layers.iter().rev().cloned().collect()] {
                    let engine = world.engine_with_layers(&layers).build();
                    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
                    assert_eq!(deny_reason(&outcome), "no", "{copy_source} {real_source} {required}");
                }
            }
        }
    }
    let twice = before_tool(json!([in_shadow(real.clone()), real.clone(), in_shadow(real)]));
    let outcome = with_hang_timeout(world.engine_with_settings(twice).build().fire(&tool_call())).await;
    assert_eq!(deny_reason(&outcome), "no");
    assert_eq!(outcome.runs.len(), 1);
}

struct DistrustingGate;

impl TrustGate for DistrustingGate {
    fn check(&self, _: &Arc<Hook>) -> Result<(), String> {
        Err("settings.json was changed by an agent".to_owned())
    }
}

/// Otherwise an agent could put a hook into shadow and go on.
#[tokio::test]
async fn a_hook_that_an_agent_put_into_shadow_denies() {
    let world = EngineFixture::new();
    let hooks = json!([in_shadow(deny_rule("r"))]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).trust_gate(Arc::new(DistrustingGate)).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert!(deny_reason(&outcome).contains("changed by an agent"));
}

/// A declaration that goes into shadow is another one, which needs trust.
#[test]
fn the_mode_is_part_of_the_fingerprint() {
    let fields = |hook: Value| parse(Source::Project, json!([hook])).hooks[0].fingerprint_fields();
    assert_ne!(fields(deny_rule("r")), fields(in_shadow(deny_rule("r"))));
    let mut active = deny_rule("r");
    active["mode"] = json!("active");
    assert_eq!(fields(deny_rule("r")), fields(active), "older records stay valid");
}

#[derive(Default)]
struct ReportCollector(Mutex<Vec<(bool, usize)>>);

impl Observer for ReportCollector {
    fn event_finished(&self, report: &EventReport<'_>) {
        let has_shadow = report.runs.iter().any(|run| run.shadow_answer.is_some());
        self.0.lock().unwrap().push((has_shadow, report.input.len()));
    }
}

#[tokio::test]
async fn what_a_hook_in_shadow_withholds_is_withheld() {
    let world = EngineFixture::new();
    let collector = Arc::new(ReportCollector::default());
    let hooks = json!([shadow_answering(json!({"suppressOutput": true, "decision": "deny", "reason": "r"}))]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).observer(collector.clone()).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert!(outcome.runs[0].answer.suppress_output);
    assert!(collector.0.lock().unwrap()[0].0);
}

/// `async` would have the event not wait, and then what the hook says is not on the event's record.
#[tokio::test]
async fn the_event_waits_for_a_hook_in_shadow() {
    let world = EngineFixture::new();
    let mut hook = shadow_answering(deny());
    hook["async"] = json!(true);
    let outcome = fire(&world, json!([hook]), &tool_call()).await;
    assert_eq!(outcome.runs.len(), 1);
    assert_eq!(shadow_decision(&outcome), Some(Decision::Deny));
}

#[tokio::test]
async fn a_cancelled_event_is_not_denied_by_a_hook_in_shadow() {
    let world = EngineFixture::new();
    let hook = in_shadow(command_hook("shadow", "sleep 30"));
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).environment(environment()).build();
    let cancel = tokio_util::sync::CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel();
    });
    let call: BeforeTool<'static> = tool_call();
    let outcome = with_hang_timeout(engine.fire_cancellable(&call, &cancel)).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: None });
    assert!(!outcome.merged.answer.redact_input);
}

/// A hook in Claude Code's dialect answers in other words.
#[tokio::test]
async fn a_hook_of_another_dialect_can_be_in_shadow() {
    let world = EngineFixture::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "no"}});
    let mut hook = shadow_answering(answer);
    hook["dialect"] = json!("claude");
    let outcome = fire(&world, json!([hook]), &tool_call()).await;
    assert_proceeds(&outcome);
    assert_eq!(shadow_decision(&outcome), Some(Decision::Deny));
}
