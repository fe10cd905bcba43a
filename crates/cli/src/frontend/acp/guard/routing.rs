//! Reads a message as far as needed to know what happens to it, and keeps account of requests and responses.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::judged_call::{CREATE_TERMINAL, JudgedCall, READ_FILE, REQUEST_PERMISSION, SESSION_UPDATE, WRITE_FILE};
use super::message::{self, MessageId, RpcMessage, lenient_object, strict_params};
use super::proxy::{AcpProxy, ProxyState, Side};
use super::requests::{
    AgentRequest, AgentResponse, EditorRequest, EditorRequestKind, FollowUp, PermissionRequest, PromptRequest,
    ToolRequest,
};

/// The requests of one side that may wait for an answer.
const MAX_OPEN_REQUESTS: usize = 10_000;
/// The version of the protocol whose requests the guard knows.
const PROTOCOL_VERSION: u64 = 1;
const TERMINAL_OUTPUT: &str = "terminal/output";

/// What happens to a message, and the session that it belongs to.
pub(super) struct Routing {
    pub(super) session: Option<String>,
    pub(super) step: Step,
}

/// What happens to a message.
pub(super) enum Step {
    /// It passes as it is.
    Pass,
    /// It passes with a change that needs no judgement.
    Rewritten(Vec<u8>),
    Drop,
    /// Its sender gets this answer, and it does not pass.
    Answer(Vec<u8>),
    Prompt(PromptRequest),
    Request(Box<ToolRequest>),
    Permission(Box<PermissionRequest>),
    Response(Box<AgentResponse>),
}

impl From<Step> for Routing {
    fn from(step: Step) -> Self {
        Routing { session: None, step }
    }
}

impl AcpProxy {
    /// Returns what happens to a message.
    pub(super) fn route(self: &Arc<Self>, side: Side, line: &[u8]) -> Routing {
        match (RpcMessage::parse(line), side) {
            (RpcMessage::Blank, _) => Step::Drop.into(),
            (RpcMessage::Malformed(why), _) => {
                tracing::warn!(?side, "a line is dropped: {why}");
                let sender = if side == Side::Agent { "the agent" } else { "the editor" };
                let start: String = String::from_utf8_lossy(line).chars().take(120).collect();
                let text = crate::output::one_line(&start);
                // A closed stderr means that the user wants no notes.
                let _ = crate::output::note(format!("dropped a line of {sender} that is no message: {why}: {text}"));
                Step::Drop.into()
            }
            (RpcMessage::Batch, _) => {
                Step::Answer(message::invalid(None, "several messages in one line are not part of this protocol"))
                    .into()
            }
            (RpcMessage::Response { id, result, .. }, Side::Agent) => self.route_agent_response(id.as_ref(), result),
            (RpcMessage::Response { id, result, error }, Side::Editor) => {
                self.route_editor_response(id.as_ref(), result, error)
            }
            (RpcMessage::Call { id, method, params }, Side::Agent) => self.route_agent_call(id, &method, params),
            (RpcMessage::Call { id, method, params }, Side::Editor) => {
                self.route_editor_call(id, &method, params, line)
            }
        }
    }

    fn route_agent_response(&self, id: Option<&MessageId>, result: Option<&RawValue>) -> Routing {
        let mut state = self.state();
        state.has_spoken = true;
        let Some(request) = id.and_then(|id| state.editor_requests.remove(&id.key())) else { return Step::Pass.into() };
        match &request.kind {
            EditorRequestKind::Initialize => state.note_agent(&lenient_object(result)),
            EditorRequestKind::OpenSession { cwd } => {
                let result = lenient_object(result);
                if let Some(id) = result.get("sessionId").and_then(Value::as_str) {
                    state.sessions.get(id).cwd.clone_from(cwd);
                }
                if let Some(session) = &request.session {
                    state.sessions.get(session).is_loading = false;
                }
            }
            EditorRequestKind::Prompt { .. } | EditorRequestKind::Other => {}
        }
        Routing { session: request.session, step: Step::Pass }
    }

    fn route_editor_response(
        &self,
        id: Option<&MessageId>,
        result: Option<&RawValue>,
        error: Option<&RawValue>,
    ) -> Routing {
        let mut state = self.state();
        let Some(key) = id.map(MessageId::key) else { return Step::Pass.into() };
        if let Some(question) = state.questions.remove(&key) {
            let result = lenient_object(result);
            let outcome = result.get("outcome").unwrap_or(&Value::Null);
            // The session may have ended.
            let _ = question.send(outcome["outcome"] == "selected" && outcome["optionId"] == "allow");
            return Step::Drop.into();
        }
        let Some(AgentRequest { id, session, follow_up }) = state.agent_requests.remove(&key) else {
            return Step::Pass.into();
        };
        let step = match (follow_up, &session) {
            (Some(FollowUp::NewTerminal(input)), Some(session)) => {
                if let Some(terminal) = lenient_object(result).get("terminalId").and_then(Value::as_str) {
                    state.sessions.get(session).add_terminal(terminal, input);
                }
                Step::Pass
            }
            (Some(FollowUp::AfterTool(call)), Some(session)) => {
                let result = result.and_then(|raw| serde_json::from_str(raw.get()).ok());
                let error = error.and_then(|raw| serde_json::from_str(raw.get()).ok());
                Step::Response(Box::new(AgentResponse { id, session: session.clone(), call, result, error }))
            }
            _ => Step::Pass,
        };
        Routing { session, step }
    }

    fn route_agent_call(self: &Arc<Self>, id: Option<MessageId>, method: &str, params: Option<&RawValue>) -> Routing {
        let mut state = self.state();
        state.has_spoken = true;
        let is_judged = [READ_FILE, WRITE_FILE, CREATE_TERMINAL, REQUEST_PERMISSION].contains(&method);
        let params = match strict_params(params) {
            Ok(params) => params,
            Err(why) if is_judged => {
                return id.map_or(Step::Drop, |id| Step::Answer(message::invalid(Some(&id), &why))).into();
            }
            Err(_) => lenient_object(params),
        };
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let Some(id) = id else {
            let step = match method {
                // Without an id it is no request, and an editor might still carry it out.
                _ if is_judged => Step::Drop,
                SESSION_UPDATE => {
                    self.note_update(&mut state, session.as_deref(), &params);
                    Step::Pass
                }
                _ => Step::Pass,
            };
            return Routing { session, step };
        };
        if let Err(why) = check_new_request(state.agent_requests.len(), state.agent_requests.contains_key(&id.key())) {
            return Step::Answer(message::invalid(Some(&id), why)).into();
        }
        let mut request = AgentRequest { id: id.clone(), session: session.clone(), follow_up: None };
        let step = match (method, &session) {
            (_, None) if is_judged => {
                return Step::Answer(message::invalid(Some(&id), "it does not say its session")).into();
            }
            (REQUEST_PERMISSION, Some(session)) => {
                let host = state.agent.host;
                let known = state.sessions.get(session);
                known.judged_requests += 1;
                let reported = params.get("toolCall").and_then(Value::as_object).cloned().unwrap_or_default();
                let call = JudgedCall::of_report(&known.settle_call(&reported), host);
                let options = params.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
                Step::Permission(Box::new(PermissionRequest {
                    id: id.clone(),
                    session: session.clone(),
                    call,
                    options,
                }))
            }
            (_, Some(session)) if is_judged => match JudgedCall::of_request(method, &params) {
                Ok(call) => {
                    state.sessions.get(session).judged_requests += 1;
                    let joined = call.joined_by_spaces(&params);
                    let (id, session, method) = (id.clone(), session.clone(), method.to_owned());
                    Step::Request(Box::new(ToolRequest { id, session, method, call, joined }))
                }
                Err(why) => return Step::Answer(message::invalid(Some(&id), &why)).into(),
            },
            (TERMINAL_OUTPUT, Some(session)) => {
                let terminal = params.get("terminalId").and_then(Value::as_str).unwrap_or_default();
                let input = state.sessions.get(session).terminal(terminal).cloned().unwrap_or_default();
                request.follow_up = Some(FollowUp::AfterTool(JudgedCall::of_terminal(input)));
                Step::Pass
            }
            _ => Step::Pass,
        };
        state.agent_requests.insert(id.key(), request);
        Routing { session, step }
    }

    /// Notes what an update says about a call.
    fn note_update(self: &Arc<Self>, state: &mut ProxyState, session: Option<&str>, params: &Map<String, Value>) {
        let (Some(session), Some(update)) = (session, params.get("update").and_then(Value::as_object)) else { return };
        let host = state.agent.host;
        if let Some(call) = state.sessions.get(session).note_report(update) {
            let payload = JudgedCall::of_report(&call, host).payload(SESSION_UPDATE);
            self.report_call(session.to_owned(), payload);
        }
    }

    fn route_editor_call(
        &self,
        id: Option<MessageId>,
        method: &str,
        params: Option<&RawValue>,
        line: &[u8],
    ) -> Routing {
        let mut state = self.state();
        let fields = match method {
            "session/prompt" => match strict_params(params) {
                Ok(fields) => fields,
                Err(why) => return id.map_or(Step::Drop, |id| Step::Answer(message::invalid(Some(&id), &why))).into(),
            },
            _ => lenient_object(params),
        };
        let session = fields.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        if method == "session/cancel"
            && let Some(session) = &session
        {
            state.cancel_held_prompts(session);
        }
        let Some(id) = id else {
            return Routing { session, step: if method == "session/prompt" { Step::Drop } else { Step::Pass } };
        };
        if let Err(why) = check_new_request(state.editor_requests.len(), state.editor_requests.contains_key(&id.key()))
        {
            return Step::Answer(message::invalid(Some(&id), why)).into();
        }
        let mut step = Step::Pass;
        let kind = match method {
            "initialize" => {
                state.note_editor(&fields);
                if let Some(line) = with_known_version(line, &fields) {
                    step = Step::Rewritten(line);
                }
                EditorRequestKind::Initialize
            }
            "session/prompt" => {
                let Some(session) = session.clone() else {
                    return Step::Answer(message::invalid(Some(&id), "it does not say its session")).into();
                };
                step = Step::Prompt(PromptRequest::new(id.clone(), session, &fields));
                EditorRequestKind::Prompt { is_held: true, is_cancelled: false }
            }
            _ => match fields.get("cwd").and_then(Value::as_str) {
                Some(cwd) if method != "session/list" => {
                    let cwd = Some(std::path::PathBuf::from(cwd));
                    state.latest_cwd.clone_from(&cwd);
                    if let Some(session) = &session {
                        let known = state.sessions.get(session);
                        known.cwd.clone_from(&cwd);
                        known.is_loading = method == "session/load";
                    }
                    EditorRequestKind::OpenSession { cwd }
                }
                _ => EditorRequestKind::Other,
            },
        };
        let request = EditorRequest { id: id.clone(), session: session.clone(), kind };
        state.editor_requests.insert(id.key(), request);
        Routing { session, step }
    }
}

/// Checks that a request can be told from the others of its side.
fn check_new_request(open: usize, is_known: bool) -> Result<(), &'static str> {
    match is_known {
        true => Err("its id is the one of a request that has no answer yet"),
        false if open >= MAX_OPEN_REQUESTS => Err("too many requests have no answer yet"),
        false => Ok(()),
    }
}

/// Returns the first message of an editor that offers a later version of the protocol, with the one that the guard knows.
fn with_known_version(line: &[u8], params: &Map<String, Value>) -> Option<Vec<u8>> {
    let offered = params.get("protocolVersion")?.as_u64()?;
    let mut message: Value = serde_json::from_slice(line).ok()?;
    (offered > PROTOCOL_VERSION).then(|| {
        message["params"]["protocolVersion"] = PROTOCOL_VERSION.into();
        message::line(&message)
    })
}
