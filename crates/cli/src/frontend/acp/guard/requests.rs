//! The messages that hooks judge: prompts, requests for files and terminals, permission requests, and the responses to
//! them.

use std::sync::Arc;

use agent_client_protocol::v1::schema::NoticeSeverity;
use hookwright_hooks::strict_json;
use serde_json::{Map, Value, json};

use super::judged_call::{CREATE_TERMINAL, JudgedCall, REQUEST_PERMISSION};
use super::message::{self, MessageId};
use super::proxy::{AcpProxy, ProxyState, Ruling, Side, Verdict};
use std::path::PathBuf;

/// A request of the editor without an answer.
pub(super) struct EditorRequest {
    pub(super) id: MessageId,
    pub(super) session: Option<String>,
    pub(super) kind: EditorRequestKind,
}

pub(super) enum EditorRequestKind {
    Initialize,
    OpenSession {
        cwd: Option<PathBuf>,
    },
    Prompt {
        /// Whether hooks are judging it.
        is_held: bool,
        is_cancelled: bool,
    },
    Other,
}

/// A request of the agent without an answer.
pub(super) struct AgentRequest {
    pub(super) id: MessageId,
    pub(super) session: Option<String>,
    pub(super) follow_up: Option<FollowUp>,
}

/// What the answer to a request of the agent is looked at for.
pub(super) enum FollowUp {
    /// It names the new terminal of a command with these arguments.
    NewTerminal(Map<String, Value>),
    /// Hooks judge it.
    AfterTool(JudgedCall),
}

pub(super) struct PromptRequest {
    id: MessageId,
    session: String,
    text: String,
}

pub(super) struct ToolRequest {
    pub(super) id: MessageId,
    pub(super) session: String,
    pub(super) method: String,
    pub(super) call: JudgedCall,
    /// The call as an editor reads it that joins words with spaces, if that is another one.
    pub(super) joined: Option<JudgedCall>,
}

pub(super) struct PermissionRequest {
    pub(super) id: MessageId,
    pub(super) session: String,
    pub(super) call: JudgedCall,
    pub(super) options: Vec<Value>,
}

pub(super) struct AgentResponse {
    pub(super) id: MessageId,
    pub(super) session: String,
    pub(super) call: JudgedCall,
    pub(super) result: Option<Value>,
    pub(super) error: Option<Value>,
}

impl PromptRequest {
    pub(super) fn new(id: MessageId, session: String, params: &Map<String, Value>) -> PromptRequest {
        let blocks = params.get("prompt").and_then(Value::as_array).into_iter().flatten();
        let text = blocks.map(block_text).collect::<Vec<_>>().join("\n");
        PromptRequest { id, session, text }
    }
}

/// Returns what a block of a prompt says.
fn block_text(block: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some("resource_link") => text(&block["uri"]),
        Some("resource") => format!("{}\n{}", text(&block["resource"]["uri"]), text(&block["resource"]["text"])),
        Some(other) => format!("[{other}]"),
        None => String::new(),
    }
}

impl AcpProxy {
    pub(super) async fn judge_prompt(&self, prompt: PromptRequest, line: Vec<u8>) {
        let PromptRequest { id, session, text } = prompt;
        let payload = json!({"hook_event_name": "session/prompt", "prompt": text});
        let verdict = self.judge(&session, payload.as_object().cloned().unwrap_or_default()).await;
        let is_denied = verdict.ruling >= Ruling::Ask;
        let Some(is_cancelled) = self.state().release_prompt(&id, is_denied) else { return };
        let end = match verdict.ruling {
            _ if is_cancelled => "cancelled",
            Ruling::Stop => "end_turn",
            _ => "refusal",
        };
        if is_denied && !is_cancelled {
            self.say(&session, &verdict.reason).await;
        }
        if is_denied || is_cancelled {
            self.send(Side::Editor, message::result(&id, &json!({"stopReason": end}))).await;
            return;
        }
        let line = match verdict.context {
            Some(context) => with_context(&line, &context).unwrap_or(line),
            None => line,
        };
        self.send(Side::Agent, line).await;
    }

    pub(super) async fn judge_request(self: &Arc<Self>, request: ToolRequest, line: Vec<u8>) {
        let mut verdict = self.judge(&request.session, request.call.payload(&request.method)).await;
        if let (Ruling::Pass, None, Some(joined)) = (verdict.ruling, &verdict.input, &request.joined) {
            let other = self.judge(&request.session, joined.payload(&request.method)).await;
            if other.ruling >= Ruling::Deny {
                let reason = format!("{} (an editor may run it through a shell as one line)", other.reason);
                verdict = Verdict { reason, ..other };
            }
        }
        match verdict.ruling {
            Ruling::Pass => self.forward_request(request, &verdict, line).await,
            Ruling::Ask => {
                let proxy = self.clone();
                // The user may take long, and other messages of the session go on.
                tokio::spawn(async move {
                    let title = request.call.title();
                    if proxy.ask(&request.session, &title, &verdict.reason).await {
                        proxy.forward_request(request, &verdict, line).await;
                    } else {
                        proxy.refuse_request(&request, "the user denied it").await;
                    }
                });
            }
            Ruling::Deny => self.refuse_request(&request, &verdict.reason).await,
            Ruling::Stop => {
                self.refuse_request(&request, &verdict.reason).await;
                self.cancel_turn(&request.session).await;
            }
        }
    }

    async fn forward_request(&self, request: ToolRequest, verdict: &Verdict, line: Vec<u8>) {
        let line = match &verdict.input {
            Some(input) => match request.call.rewrite(&line, input) {
                Ok(line) => line,
                Err(why) => {
                    let reason = format!("what hooks changed can't be written into the request: {why}");
                    return self.refuse_request(&request, &reason).await;
                }
            },
            None => line,
        };
        let call = verdict.input.clone().map_or_else(|| request.call.clone(), |input| request.call.with_input(input));
        let follow_up = match request.method.as_str() {
            CREATE_TERMINAL => FollowUp::NewTerminal(call.input()),
            _ => FollowUp::AfterTool(call),
        };
        if let Some(open) = self.state().agent_requests.get_mut(&request.id.key()) {
            open.follow_up = Some(follow_up);
        }
        self.send(Side::Editor, line).await;
    }

    async fn refuse_request(&self, request: &ToolRequest, reason: &str) {
        self.state().agent_requests.remove(&request.id.key());
        self.send(Side::Agent, message::refused(&request.id, reason)).await;
    }

    pub(super) async fn judge_permission(&self, request: PermissionRequest, line: Vec<u8>) {
        let PermissionRequest { id, session, call, options } = request;
        let verdict = self.judge(&session, call.payload(REQUEST_PERMISSION)).await;
        let option = |kinds: &[&str]| {
            let of_kind = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
            kinds.iter().find_map(of_kind).and_then(|option| option["optionId"].as_str())
        };
        let chosen = match verdict.ruling {
            Ruling::Pass if verdict.is_approved => option(&["allow_once"]),
            Ruling::Deny => Some(option(&["reject_once", "reject_always"]).unwrap_or_default()),
            Ruling::Stop => Some(""),
            Ruling::Pass | Ruling::Ask => None,
        };
        if verdict.ruling != Ruling::Pass {
            let what = if verdict.ruling == Ruling::Ask { "hooks want you to decide" } else { "hooks deny this call" };
            self.notice(&session, NoticeSeverity::Warning, &format!("{what}: {}", verdict.reason)).await;
        }
        let Some(chosen) = chosen else {
            self.send(Side::Editor, line).await;
            return;
        };
        self.state().agent_requests.remove(&id.key());
        let outcome = match chosen {
            "" => json!({"outcome": "cancelled"}),
            option => json!({"outcome": "selected", "optionId": option}),
        };
        self.send(Side::Agent, message::result(&id, &json!({"outcome": outcome}))).await;
        if verdict.ruling == Ruling::Stop {
            self.cancel_turn(&session).await;
        }
    }

    pub(super) async fn judge_response(&self, response: AgentResponse, line: Vec<u8>) {
        let AgentResponse { id, session, call, result, error } = response;
        let mut payload = call.payload("response");
        let result = result.unwrap_or_default();
        let text = ["content", "output"].iter().find_map(|field| result[*field].as_str()).unwrap_or_default();
        payload.insert("tool_response".to_owned(), text.into());
        if let Some(error) = error {
            let text = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
            payload.insert("error".to_owned(), text.into());
        }
        let verdict = self.judge(&session, payload).await;
        if verdict.ruling == Ruling::Pass {
            self.send(Side::Agent, line).await;
            return;
        }
        let hidden = match result {
            // An agent that waits for the end of a command gets the end.
            Value::Object(mut result) if result.contains_key("output") => {
                result.insert("output".to_owned(), verdict.reason.into());
                message::result(&id, &Value::Object(result))
            }
            _ => message::refused(&id, &verdict.reason),
        };
        self.send(Side::Agent, hidden).await;
    }
}

impl ProxyState {
    /// Marks the prompts of a session that hooks are judging as cancelled.
    pub(super) fn cancel_held_prompts(&mut self, session: &str) {
        for request in self.editor_requests.values_mut().filter(|request| request.session.as_deref() == Some(session)) {
            if let EditorRequestKind::Prompt { is_held: true, is_cancelled } = &mut request.kind {
                *is_cancelled = true;
            }
        }
    }

    /// Notes that a prompt is judged; returns whether it was cancelled meanwhile, and none if it has been answered.
    fn release_prompt(&mut self, id: &MessageId, is_denied: bool) -> Option<bool> {
        let request = self.editor_requests.get_mut(&id.key())?;
        let EditorRequestKind::Prompt { is_held, is_cancelled } = &mut request.kind else { return None };
        *is_held = false;
        let is_cancelled = *is_cancelled;
        if is_cancelled || is_denied {
            self.editor_requests.remove(&id.key());
        }
        Some(is_cancelled)
    }
}

/// Returns a prompt with a hook's context at its end.
fn with_context(line: &[u8], context: &str) -> Option<Vec<u8>> {
    let mut message = strict_json::object_from_slice(line).ok()?;
    let prompt = message.get_mut("params")?.get_mut("prompt")?.as_array_mut()?;
    prompt.push(json!({"type": "text", "text": hookwright_agent::hook_context(context)}));
    Some(message::line(&Value::Object(message)))
}
