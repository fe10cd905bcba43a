//! Evaluation of what the proxy of `hookwright acp guard` meets between an editor and an agent, by the same steps as an
//! event that an agent sends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use hookwright_bridge::{Host, HostResponse};
use hookwright_hooks::EventKind;
use hookwright_journal::BridgeRefusal;
use hookwright_settings::ProcessEnv;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::record;
use super::{
    BridgeReply, BridgeRequest, EvaluationProgress, answer_unreadable, confinement, delegation, evaluation,
    project_root, refusal,
};
use crate::runtime;

/// The agent behind the proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProxiedAgent {
    /// Its name on record.
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    /// The agent that it is, if it is one that hooks can be installed for.
    pub(crate) host: Option<Host>,
}

/// A message that hooks judge.
pub(crate) struct ProxiedEvent {
    /// The event in the form of the dialect.
    pub(crate) payload: Map<String, Value>,
    pub(crate) agent: ProxiedAgent,
    /// The environment, with the directory of the session.
    pub(crate) process_env: ProcessEnv,
    /// Dropped once the decision is on record.
    pub(crate) _recording: mpsc::Sender<()>,
}

/// Judges an event; the answer is in the dialect's form. Without a decision in time, it is a refusal.
pub(crate) async fn judge(event: ProxiedEvent) -> Value {
    let started = Instant::now();
    let event = Arc::new(event);
    let progress = Arc::new(EvaluationProgress::default());
    let (answered, answer) = oneshot::channel();
    let work = {
        let (event, progress) = (event.clone(), progress.clone());
        move || answer_event(&event, started, &progress, answered)
    };
    let limit = started + Host::answer_deadline(Host::Acp.timeout(None));
    let reason = match spawn(work) {
        Ok(()) => match tokio::time::timeout_at(limit.into(), answer).await {
            Ok(Ok(response)) => return answer_json(&response),
            Ok(Err(_)) => "hookwright had an internal error; no hook could judge this",
            Err(_) => "hookwright did not finish in time",
        },
        Err(_) => "hookwright can't judge this: the machine can't start another thread",
    };
    if progress.claim() {
        // The disk may be what the evaluation waits for, so the line is written on a thread too.
        let _ = spawn(move || {
            let call = event.request(started, &progress);
            record::write(&call, refusal(&call, None, (BridgeRefusal::Other, reason.to_owned())));
        });
    }
    json!({"ruling": "deny", "reason": reason})
}

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().name("judge".to_owned()).stack_size(runtime::STACK_BYTES).spawn(work).map(drop)
}

fn answer_json(response: &HostResponse) -> Value {
    serde_json::from_str(&response.stdout)
        .unwrap_or_else(|_| json!({"ruling": "deny", "reason": "hookwright can't express its answer"}))
}

fn answer_event(
    event: &ProxiedEvent,
    started: Instant,
    progress: &EvaluationProgress,
    answered: oneshot::Sender<HostResponse>,
) {
    if event.is_asked_by_agent() {
        let _ = answered.send(HostResponse {
            stdout: json!({"ruling": "pass", "is_delegated": true}).to_string(),
            ..HostResponse::default()
        });
        return;
    }
    let call = event.request(started, progress);
    let reply = catch_unwind(AssertUnwindSafe(|| evaluate(&call, event))).unwrap_or_else(|_| {
        refusal(
            &call,
            None,
            (BridgeRefusal::Failure, "hookwright had an internal error; no hook could judge this".to_owned()),
        )
    });
    if !progress.claim() {
        return;
    }
    let _ = answered.send(reply.response.clone());
    record::write(&call, reply);
}

fn evaluate(call: &BridgeRequest<'_>, event: &ProxiedEvent) -> BridgeReply {
    let mut payload = event.payload.clone();
    confinement::unwrap_commands(&mut payload, call.world);
    match call.host.dialect().parse_event(call.host, payload, None) {
        Ok(mut host_event) => {
            host_event.version = event.agent.version.clone();
            evaluation::evaluate_event(call, &host_event)
        }
        Err(error) => answer_unreadable(call, &error),
    }
}

impl ProxiedEvent {
    fn request<'a>(&'a self, started: Instant, progress: &'a EvaluationProgress) -> BridgeRequest<'a> {
        BridgeRequest {
            host: Host::Acp,
            agent_name: &self.agent.name,
            entry_event: None,
            world: &self.process_env,
            started,
            host_timeout: None,
            progress,
            trial: None,
        }
    }

    /// Whether this is a report of a call about which the agent's own entry asks hooks.
    fn is_asked_by_agent(&self) -> bool {
        let Some(host) = self.agent.host else { return false };
        let is_report = self.payload.get("hook_event_name").and_then(Value::as_str) == Some("session/update");
        let session = hookwright_bridge::HostSession {
            cwd: Some(self.process_env.cwd.clone()),
            ..hookwright_bridge::HostSession::default()
        };
        let project = || project_root::find_project_root(host, &session, &self.process_env);
        // Gemini CLI asks no hooks in an editor.
        is_report
            && host != Host::GeminiCli
            && delegation::has_entry(host, EventKind::BeforeTool, &project(), &self.process_env)
    }
}
