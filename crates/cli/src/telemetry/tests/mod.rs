//! Tests of telemetry with real hooks, real files and a real HTTP server.

mod collector;
mod documentation;
mod otlp_decoder;
mod outfile;
mod records;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agent::{
    AgentEvent, CallError, HookEvent, ModelEvent, SessionEvent, ToolEnd, ToolEvent, TurnEnd, TurnEvent,
};
use hookwright_hooks::{
    AnyEvent, EventKind, EventReport, HookEngine, HookInput, Layer, Observer, Registry, RunContext, RunReport, Session,
    Source, SubAgent, parse_layer,
};
use hookwright_model::{Chunk, Content as Message, FinishReason, ModelRequest, Usage};
use hookwright_settings::{TelemetrySettings as Config, TelemetryTarget};
use serde_json::{Map, Value, json};

use super::{TelemetryRecorder, TelemetrySession};

/// Text that must not appear where content is left out.
const SECRET: &str = "hunter2";

fn facts() -> TelemetrySession {
    TelemetrySession {
        session_id: "s1".into(),
        model: "gemini-2.5-flash".into(),
        provider: "gcp.gemini",
        auth_type: Some("gemini-api-key".into()),
        approval_mode: "yolo".into(),
        output_format: "text".into(),
        extensions: vec!["a".into(), "b".into()],
        ..TelemetrySession::default()
    }
}

fn map(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

/// Runs commands as hooks of an event and returns an event for each finished run.
fn run_hooks(event: EventKind, fields: Value, hooks: Value) -> Vec<AgentEvent> {
    let mut events = fire_event(event, fields, hooks, &RunContext::default());
    events.retain(|event| matches!(event, AgentEvent::Hook(HookEvent::Finished { .. })));
    events
}

/// Runs commands as hooks of an event and returns an event for each finished run and for the verdict.
fn fire_event(event: EventKind, fields: Value, hooks: Value, context: &RunContext) -> Vec<AgentEvent> {
    #[derive(Default)]
    struct ObservedEvents(Mutex<Vec<AgentEvent>>);
    impl Observer for ObservedEvents {
        fn run_finished(&self, run: &RunReport, input: &HookInput) {
            let finished =
                AgentEvent::Hook(HookEvent::Finished { report: Box::new(run.clone()), input: input.clone() });
            self.0.lock().unwrap().push(finished);
        }
        fn event_finished(&self, event: &EventReport<'_>) {
            let verdict = event.verdict().map(|verdict| AgentEvent::Hook(HookEvent::Decided(Box::new(verdict))));
            self.0.lock().unwrap().extend(verdict);
        }
    }
    let settings = json!({"hooks": {(event.name()): [{"sequential": true, "hooks": hooks}]}}).to_string();
    let declared = parse_layer(&Layer::new(Source::User, "settings.json".as_ref(), &settings));
    assert!(declared.diagnostics.is_empty(), "{:?}", declared.diagnostics);
    let seen = Arc::new(ObservedEvents::default());
    let engine = HookEngine::builder(Registry::new(vec![declared]))
        .session(Session { id: "s1".into(), cwd: std::env::temp_dir(), ..Session::default() })
        .environment(std::env::vars_os())
        .observer(seen.clone())
        .build();
    let event = AnyEvent::from_fields(event, map(fields)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { engine.fire_any_in_context(&event, context, &Default::default()).await });
    std::mem::take(&mut *seen.0.lock().unwrap())
}

/// Runs one command as a BeforeTool hook.
fn run_hook(command: &str) -> AgentEvent {
    let fields = json!({"tool_name": "run_shell_command", "tool_input": {"command": format!("echo {SECRET}")}});
    let mut events =
        run_hooks(EventKind::BeforeTool, fields, json!([{"type": "command", "command": command, "timeout": 5000}]));
    assert_eq!(events.len(), 1);
    events.remove(0)
}

fn prompt() -> AgentEvent {
    AgentEvent::Turn(TurnEvent::Started { prompt: format!("say {SECRET} 🦀"), prompt_id: "p1".into() })
}

fn request() -> AgentEvent {
    let contents = vec![Arc::new(Message::user_text(format!("say {SECRET}")))];
    AgentEvent::Model(ModelEvent::Requested {
        request: Box::new(ModelRequest::new("m", contents)),
        prompt_id: "p1".into(),
    })
}

fn response() -> AgentEvent {
    let usage = Usage { prompt: 10, candidates: 5, total: 18, thoughts: 3, cached: 2, tool_use: 0 };
    let mut chunk = Chunk::from_text(SECRET);
    chunk.finish_reason = Some(FinishReason::Stop);
    AgentEvent::Model(ModelEvent::Answered {
        model: "m".into(),
        usage: Some(usage),
        response: Box::new(chunk),
        duration: Duration::from_millis(41),
        prompt_id: "p1".into(),
    })
}

fn failure() -> AgentEvent {
    AgentEvent::Model(ModelEvent::Failed {
        model: "m".into(),
        error: format!("No more mock responses, got request:\n{SECRET}"),
        duration: Duration::from_millis(7),
        prompt_id: "p1".into(),
    })
}

fn tool_requested(call_id: &str, command: &str) -> AgentEvent {
    let args = map(json!({"command": command}));
    AgentEvent::Tool(ToolEvent::Requested { call_id: call_id.into(), name: "run_shell_command".into(), args })
}

fn tool_finished(call_id: &str, error: Option<CallError>) -> AgentEvent {
    AgentEvent::Tool(ToolEvent::Finished(Box::new(ToolEnd {
        call_id: call_id.into(),
        name: "run_shell_command".into(),
        args: map(json!({"command": format!("echo {SECRET}")})),
        unrecorded_args: None,
        display: hookwright_tools::ToolDisplay::Text(SECRET.into()),
        content: format!("Output: {SECRET}"),
        decision: error.is_none().then_some(hookwright_agent::CallDecision::AutoAccept),
        command: None,
        error,
        duration: Duration::from_millis(82),
        metadata: Map::new(),
        prompt_id: "p1".into(),
    })))
}

fn refused() -> CallError {
    CallError {
        kind: hookwright_tools::ToolErrorKind::PolicyViolation,
        message: format!("Tool execution blocked: {SECRET}"),
    }
}

fn compressed() -> AgentEvent {
    AgentEvent::Session(SessionEvent::Compressed { trigger: "auto", before: 900, after: 100 })
}

/// The agent to which the call `c2` delegates.
fn subagent() -> Arc<SubAgent> {
    Arc::new(SubAgent { name: "helper".into(), id: "a1".into(), transcript_path: Default::default() })
}

fn in_subagent(event: AgentEvent) -> AgentEvent {
    AgentEvent::SubAgent { agent: subagent(), call_id: "c2".into(), event: Box::new(event) }
}

/// Fires BeforeTool for a call, with a guard that denies and a hook that fails.
fn judge_call(call_id: &str, agent: Option<Arc<SubAgent>>) -> Vec<AgentEvent> {
    let input = json!({"command": format!("echo {SECRET}")});
    let fields = json!({"tool_name": "run_shell_command", "tool_input": input, "tool_use_id": call_id});
    let guard = format!("echo no {SECRET} >&2; exit 2");
    let hooks = json!([
        {"type": "command", "command": format!("echo {SECRET} >&2; exit 3")},
        {"type": "command", "name": "guard", "command": guard, "guard": true},
    ]);
    let context = RunContext { turn_id: Some("p1".into()), agent, ..RunContext::default() };
    fire_event(EventKind::BeforeTool, fields, hooks, &context)
}

/// Returns the events of a whole turn, with everything that is recorded.
fn turn() -> Vec<AgentEvent> {
    vec![
        prompt(),
        request(),
        response(),
        tool_requested("c1", "echo"),
        run_hook("cat >/dev/null; echo '{\"decision\":\"allow\"}'; echo hunter2 >&2"),
        tool_finished("c1", None),
        tool_requested("c2", "echo"),
        run_hook("echo hunter2 >&2; exit 2"),
        run_hook("echo hunter2 >&2; exit 3"),
        tool_finished("c2", Some(refused())),
        compressed(),
        request(),
        failure(),
        AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered)),
    ]
}

#[test]
fn the_recorder_can_be_sent_to_another_thread() {
    fn sendable<T: Send + 'static>() {}
    sendable::<TelemetryRecorder>();
}
