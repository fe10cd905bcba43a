//! The messages between an editor and an agent: which pass as they are, which hooks judge, and in which order.
//!
//! A message that hooks judge holds up the later messages of its session and direction, and no others.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{NoticeSeverity, SessionId, SessionNotification, SessionUpdate};
use hookwright_bridge::Host;
use hookwright_settings::ProcessEnv;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::{Semaphore, oneshot};

use super::super::updates::{UpdateTranslator, chunk};
use super::judged_call::SESSION_UPDATE;
use super::message::{self, MessageId};
use super::requests::{AgentRequest, EditorRequest};
use super::routing::{Routing, Step};
use super::sessions::SessionTable;
use crate::bridge::{self, ProxiedAgent, ProxiedEvent};

/// Evaluations at the same time.
const MAX_EVALUATIONS: usize = 8;
/// The messages of one direction that may wait, by size.
const MAX_WAITING_KIB: u32 = 256 << 10;

/// The side that a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Editor,
    Agent,
}

/// Why a direction ended.
#[derive(Debug)]
pub(super) enum PumpEnd {
    /// The sender closed its output.
    Closed,
    /// The receiver does not read any more.
    ReceiverGone,
    Failed(io::Error),
}

/// The connection between an editor and an agent.
pub(super) struct AcpProxy {
    process_env: ProcessEnv,
    to_editor: Sender<Vec<u8>>,
    /// None once the agent's input is closed.
    to_agent: Mutex<Option<Sender<Vec<u8>>>>,
    state: Mutex<ProxyState>,
    evaluations: Semaphore,
    waiting: [Arc<Semaphore>; 2],
    /// Cloned into each evaluation, and dropped when its decision is on record.
    recording: Sender<()>,
}

/// What is known about the connection.
pub(super) struct ProxyState {
    pub(super) agent: ProxiedAgent,
    shows_notices: bool,
    pub(super) sessions: SessionTable,
    /// The directory of the latest session.
    pub(super) latest_cwd: Option<PathBuf>,
    /// Requests of the editor without an answer.
    pub(super) editor_requests: HashMap<String, EditorRequest>,
    /// Requests of the agent without an answer.
    pub(super) agent_requests: HashMap<String, AgentRequest>,
    /// The guard's own questions.
    pub(super) questions: HashMap<String, oneshot::Sender<bool>>,
    /// Whether the agent has sent a message.
    pub(super) has_spoken: bool,
}

/// What hooks decided about an event, in the form of the dialect.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Verdict {
    pub(super) ruling: Ruling,
    pub(super) reason: String,
    pub(super) input: Option<Map<String, Value>>,
    pub(super) context: Option<String>,
    pub(super) message: Option<String>,
    pub(super) is_approved: bool,
    pub(super) is_harmless: bool,
    pub(super) is_delegated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ruling {
    Pass,
    Ask,
    #[default]
    Deny,
    Stop,
}

impl AcpProxy {
    pub(super) fn new(
        process_env: ProcessEnv,
        agent: ProxiedAgent,
        to_editor: Sender<Vec<u8>>,
        to_agent: Sender<Vec<u8>>,
        recording: Sender<()>,
    ) -> Arc<AcpProxy> {
        let state = ProxyState {
            agent,
            shows_notices: false,
            sessions: SessionTable::default(),
            latest_cwd: None,
            editor_requests: HashMap::new(),
            agent_requests: HashMap::new(),
            questions: HashMap::new(),
            has_spoken: false,
        };
        let waiting = || Arc::new(Semaphore::new(MAX_WAITING_KIB as usize));
        Arc::new(AcpProxy {
            process_env,
            to_editor,
            to_agent: Mutex::new(Some(to_agent)),
            state: Mutex::new(state),
            evaluations: Semaphore::new(MAX_EVALUATIONS),
            waiting: [waiting(), waiting()],
            recording,
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the messages of one side until it sends no more.
    pub(super) async fn pump(self: Arc<Self>, side: Side, mut lines: Receiver<io::Result<Vec<u8>>>) -> PumpEnd {
        let mut lanes = Lanes::default();
        while let Some(line) = lines.recv().await {
            let line = match line {
                Ok(line) => with_line_ending(line),
                Err(error) => return PumpEnd::Failed(error),
            };
            let Routing { session, step } = self.route(side, &line);
            let is_sent = match step {
                Step::Drop => true,
                Step::Answer(answer) => self.send(side, answer).await,
                Step::Pass if lanes.is_free(session.as_deref()) => self.send(side.other(), line).await,
                Step::Rewritten(line) => self.send(side.other(), line).await,
                step => {
                    self.queue(side, &mut lanes, Routing { session, step }, line).await;
                    true
                }
            };
            if !is_sent {
                return PumpEnd::ReceiverGone;
            }
        }
        PumpEnd::Closed
    }

    /// Handles a message after the earlier ones of its session and direction.
    async fn queue(self: &Arc<Self>, side: Side, lanes: &mut Lanes, routing: Routing, line: Vec<u8>) {
        let size = u32::try_from(line.len() >> 10).unwrap_or(u32::MAX).saturating_add(1).min(MAX_WAITING_KIB);
        let Ok(room) = self.waiting[side as usize].clone().acquire_many_owned(size).await else { return };
        let (before, done) = lanes.enter(routing.session.as_deref());
        let proxy = self.clone();
        tokio::spawn(async move {
            if let Some(before) = before {
                // The earlier message is done, however it ended.
                let _ = before.await;
            }
            proxy.carry_out(side, routing, line).await;
            drop((room, done));
        });
    }

    async fn carry_out(self: &Arc<Self>, side: Side, routing: Routing, line: Vec<u8>) {
        match routing.step {
            Step::Pass => drop(self.send(side.other(), line).await),
            // These wait for no other message.
            Step::Drop | Step::Answer(_) | Step::Rewritten(_) => {}
            Step::Prompt(prompt) => self.judge_prompt(prompt, line).await,
            Step::Request(request) => self.judge_request(*request, line).await,
            Step::Permission(permission) => self.judge_permission(*permission, line).await,
            Step::Response(response) => self.judge_response(*response, line).await,
        }
    }

    /// Waits until no message waits any more, for at most that long.
    pub(super) async fn drain(&self, limit: Duration) {
        let all = async {
            for waiting in &self.waiting {
                let _ = waiting.acquire_many(MAX_WAITING_KIB).await;
            }
        };
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// Sends a line; returns whether its receiver still reads.
    pub(super) async fn send(&self, to: Side, line: Vec<u8>) -> bool {
        match to {
            Side::Editor => self.to_editor.send(line).await.is_ok(),
            Side::Agent => {
                let sender = self.to_agent.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match sender {
                    Some(sender) => sender.send(line).await.is_ok(),
                    None => false,
                }
            }
        }
    }

    /// Closes the agent's input once everything is written to it.
    pub(super) fn close_agent_input(&self) {
        self.to_agent.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Takes the guard's own questions as denied.
    pub(super) fn abandon_questions(&self) {
        self.state().questions.clear();
    }

    /// Answers all requests of the editor that the agent has left.
    pub(super) async fn abandon_editor_requests(&self, reason: &str) {
        let requests = std::mem::take(&mut self.state().editor_requests);
        for request in requests.into_values() {
            self.send(Side::Editor, message::abandoned(&request.id, reason)).await;
        }
    }

    /// Has hooks judge an event of a session.
    pub(super) async fn judge(&self, session: &str, mut payload: Map<String, Value>) -> Verdict {
        let (agent, cwd) = {
            let state = self.state();
            let cwd = state.sessions.cwd(session).map(ToOwned::to_owned).or_else(|| state.latest_cwd.clone());
            (state.agent.clone(), cwd.unwrap_or_else(|| self.process_env.cwd.clone()))
        };
        payload.insert("session_id".to_owned(), session.into());
        payload.insert("cwd".to_owned(), cwd.to_string_lossy().into());
        let process_env = ProcessEnv { cwd, ..self.process_env.clone() };
        let Ok(_permit) = self.evaluations.acquire().await else { return Verdict::default() };
        let event = ProxiedEvent { payload, agent, process_env, _recording: self.recording.clone() };
        let mut verdict: Verdict = serde_json::from_value(bridge::judge(event).await).unwrap_or_default();
        if verdict.reason.is_empty() {
            verdict.reason.push_str("hookwright could not judge this");
        }
        if let Some(message) = &verdict.message {
            self.say_once(session, NoticeSeverity::Info, message).await;
        }
        verdict
    }

    /// Reports a call that the agent has run without asking: hooks see it, and the user learns what would refuse it.
    pub(super) fn report_call(self: &Arc<Self>, session: String, payload: Map<String, Value>) {
        let proxy = self.clone();
        tokio::spawn(async move {
            let Ok(_room) = proxy.waiting[Side::Agent as usize].acquire().await else { return };
            let verdict = proxy.judge(&session, payload).await;
            if verdict.is_harmless || verdict.is_delegated {
                return;
            }
            let agent = proxy.state().agent.clone();
            let is_told = std::mem::replace(&mut proxy.state().sessions.get(&session).is_blind_spot_told, true);
            if !is_told {
                proxy.notice(&session, NoticeSeverity::Warning, &blind_spot_text(&agent)).await;
            }
            if verdict.ruling >= Ruling::Deny {
                let text = format!("{} ran a call that hooks deny, without asking: {}", agent.name, verdict.reason);
                proxy.say_once(&session, NoticeSeverity::Warning, &text).await;
            }
        });
    }

    /// Tells the user something that is not part of the conversation, unless it was said before.
    pub(super) async fn say_once(&self, session: &str, severity: NoticeSeverity, text: &str) {
        let is_news = self.state().sessions.get(session).is_news(text);
        if is_news {
            self.notice(session, severity, text).await;
        }
    }

    /// Tells the user something that is not part of the conversation.
    pub(super) async fn notice(&self, session: &str, severity: NoticeSeverity, text: &str) {
        let translator = UpdateTranslator::new(self.state().shows_notices);
        for update in translator.notice(severity, text, "") {
            self.send_update(session, update).await;
        }
    }

    /// Says something in the agent's place.
    pub(super) async fn say(&self, session: &str, text: &str) {
        self.send_update(session, SessionUpdate::AgentMessageChunk(chunk(text))).await;
    }

    async fn send_update(&self, session: &str, update: SessionUpdate) {
        let update = SessionNotification::new(SessionId::new(session.to_owned()), update);
        if let Ok(update) = serde_json::to_value(update) {
            self.send(Side::Editor, message::notification(SESSION_UPDATE, &update)).await;
        }
    }

    /// Ends the agent's turn.
    pub(super) async fn cancel_turn(&self, session: &str) {
        let cancel = message::notification("session/cancel", &json!({"sessionId": session}));
        self.send(Side::Agent, cancel).await;
    }

    /// Asks the editor's user whether a request of the agent may run.
    pub(super) async fn ask(&self, session: &str, title: &str, reason: &str) -> bool {
        let (id, (answered, answer)) = (MessageId::own(), oneshot::channel());
        self.state().questions.insert(id.key(), answered);
        let content = json!([{"type": "content", "content": {"type": "text", "text": reason}}]);
        let params = json!({
            "sessionId": session,
            "toolCall": {"toolCallId": format!("hookwright-{}", uuid::Uuid::new_v4()), "title": title, "kind": "other",
                "status": "pending", "content": content},
            "options": [
                {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "reject", "name": "Deny", "kind": "reject_once"},
            ],
        });
        let question = message::request(&id, super::judged_call::REQUEST_PERMISSION, &params);
        self.send(Side::Editor, question).await && answer.await.unwrap_or(false)
    }
}

impl ProxyState {
    /// Notes what the editor says about itself.
    pub(super) fn note_editor(&mut self, params: &Map<String, Value>) {
        let session = params.get("clientCapabilities").map(|capabilities| &capabilities["session"]);
        self.shows_notices = session.is_some_and(|session| session["notices"].is_object());
    }

    /// Notes what the agent says about itself.
    pub(super) fn note_agent(&mut self, result: &Map<String, Value>) {
        let Some(info) = result.get("agentInfo") else { return };
        if let Some(name) = info["name"].as_str().filter(|name| !name.is_empty()) {
            self.agent.name = crate::output::one_line(name);
            self.agent.host = Host::named_in(name).or(self.agent.host);
        }
        self.agent.version = info["version"].as_str().map(crate::output::one_line);
    }
}

/// Says that the guard does not judge the calls that an agent runs itself, and what would.
fn blind_spot_text(agent: &ProxiedAgent) -> String {
    let remedy = match agent.host {
        Some(Host::GeminiCli) => "Gemini CLI asks no hooks in an editor; in a terminal it does".to_owned(),
        Some(host) => format!("`hookwright agents install {}` lets hooks judge those too", host.name()),
        None => "no hooks of this agent are known".to_owned(),
    };
    format!("{} runs calls itself without asking: hooks see them, and cannot refuse them here; {remedy}", agent.name)
}

/// Returns a line that its reader can tell from the next one.
fn with_line_ending(mut line: Vec<u8>) -> Vec<u8> {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Editor => Side::Agent,
            Side::Agent => Side::Editor,
        }
    }
}

/// The sessions in which a message is being judged, or waits for one that is: each with the end of its last message.
#[derive(Default)]
struct Lanes(HashMap<Option<String>, oneshot::Receiver<()>>);

impl Lanes {
    /// Whether no message of the session is held up.
    fn is_free(&mut self, session: Option<&str>) -> bool {
        let session = session.map(str::to_owned);
        let is_free =
            self.0.get_mut(&session).is_none_or(|last| last.try_recv() != Err(oneshot::error::TryRecvError::Empty));
        if is_free {
            self.0.remove(&session);
        }
        is_free
    }

    /// Enters a message; returns the end of the one before it, and what to drop at its own end.
    fn enter(&mut self, session: Option<&str>) -> (Option<oneshot::Receiver<()>>, oneshot::Sender<()>) {
        let (done, end) = oneshot::channel();
        (self.0.insert(session.map(str::to_owned), end), done)
    }
}
