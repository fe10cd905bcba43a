//! The session's events as updates of the protocol.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Notice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionUpdate, TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind as WireToolKind,
};
use hookwright_agent::session::Tone;
use hookwright_agent::{
    AgentEvent, AgentNotice, HookEvent, ModelEvent, SessionEvent, ToolEnd, ToolEvent, ToolStart, TurnEvent,
};
use hookwright_tools::{TodoStatus, ToolDisplay, ToolKind};
use serde_json::{Map, Value};

use super::questions::{diff_content, text_content};
use crate::presentation::reply_text::stdout_text;
use crate::presentation::resumed_history::{ResumedCall, ResumedItem};
use crate::presentation::{Message, ReplyPart, reply_parts};

/// The shortest time between two updates of a running call's output.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(250);
/// The part of a running call's output that is shown.
const MAX_LIVE_OUTPUT_BYTES: usize = 16 << 10;

/// Translates a session's events, and remembers which calls the editor knows.
pub(super) struct UpdateTranslator {
    /// Whether the editor shows notices; without, they are part of the answer.
    shows_notices: bool,
    calls: HashMap<String, LiveOutput>,
}

/// The output of a running call.
#[derive(Default)]
struct LiveOutput {
    text: String,
    sent: Option<Instant>,
}

impl UpdateTranslator {
    pub(super) fn new(shows_notices: bool) -> Self {
        UpdateTranslator { shows_notices, calls: HashMap::new() }
    }

    /// Returns the updates for an event.
    pub(super) fn updates(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        match event {
            AgentEvent::Model(ModelEvent::Text(text)) => vec![SessionUpdate::AgentMessageChunk(chunk(text))],
            AgentEvent::Model(ModelEvent::Thought(text)) => vec![SessionUpdate::AgentThoughtChunk(chunk(text))],
            AgentEvent::Tool(ToolEvent::Requested { call_id, name, args }) => {
                vec![self.requested_call(call_id, name, args)]
            }
            AgentEvent::Tool(ToolEvent::Started(start)) => self.started_call(start),
            AgentEvent::Tool(ToolEvent::Output { call_id, text }) => {
                self.live_output(call_id, text).into_iter().collect()
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => self.finished_call(end),
            AgentEvent::Hook(HookEvent::Message { hook, event, text, .. }) => {
                self.notice(NoticeSeverity::Info, &format!("hook {hook} ({event})"), text)
            }
            AgentEvent::Hook(HookEvent::Warning { hook, event, text, .. }) => {
                self.notice(NoticeSeverity::Warning, &format!("hook {hook} ({event})"), text)
            }
            AgentEvent::Model(ModelEvent::AnswerDropped { reason }) => {
                self.notice(NoticeSeverity::Warning, "the answer was dropped", reason)
            }
            AgentEvent::Turn(TurnEvent::Retried { reason, attempt }) => {
                self.notice(NoticeSeverity::Info, &format!("a hook rejected the answer (retry {attempt})"), reason)
            }
            AgentEvent::Model(ModelEvent::Retried(text)) | AgentEvent::Notice(AgentNotice::Note(text)) => {
                self.notice(NoticeSeverity::Info, text, "")
            }
            AgentEvent::Notice(AgentNotice::Warning(text)) => self.notice(NoticeSeverity::Warning, text, ""),
            AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
                self.notice(NoticeSeverity::Info, &format!("history compressed: {before} → {after} tokens"), "")
            }
            AgentEvent::Session(SessionEvent::Reply(reply)) => {
                reply_parts(reply).into_iter().flat_map(|part| self.reply(part)).collect()
            }
            // A sub-agent's calls are shown; what it says is in the result of the call that runs it.
            AgentEvent::SubAgent { event, .. } => match &**event {
                AgentEvent::Model(ModelEvent::Text(_) | ModelEvent::Thought(_)) | AgentEvent::SubAgent { .. } => {
                    Vec::new()
                }
                event => self.updates(event),
            },
            _ => Vec::new(),
        }
    }

    /// Returns the update for a message that is not part of the conversation.
    pub(super) fn notice(&self, severity: NoticeSeverity, title: &str, text: &str) -> Vec<SessionUpdate> {
        let description = (!text.is_empty()).then(|| text.to_owned());
        if self.shows_notices {
            return vec![SessionUpdate::Notice(Notice::new(severity, title).description(description))];
        }
        let separator = if text.is_empty() { "" } else { ": " };
        let quoted = format!("{title}{separator}{text}").lines().map(|line| format!("> {line}\n")).collect::<String>();
        vec![SessionUpdate::AgentMessageChunk(chunk(&format!("\n{quoted}\n")))]
    }

    fn reply(&self, part: ReplyPart) -> Vec<SessionUpdate> {
        let (severity, text) = match part {
            part @ (ReplyPart::Diff(_) | ReplyPart::Lines(_) | ReplyPart::Rows(_)) => {
                let text = stdout_text(part).unwrap_or_default();
                return text_update(&format!("```\n{text}\n```"));
            }
            ReplyPart::Message(Message { tone, text }) => match tone {
                Tone::Plain => return text_update(&text),
                Tone::Warning => (NoticeSeverity::Warning, text),
                Tone::Error => (NoticeSeverity::Error, text),
                Tone::Aside | Tone::News => (NoticeSeverity::Info, text),
            },
            ReplyPart::Diagnostic(diagnostic) => (NoticeSeverity::Warning, diagnostic.to_string()),
            ReplyPart::Notice(notice) => (NoticeSeverity::Info, notice.to_string()),
        };
        self.notice(severity, &text, "")
    }

    fn requested_call(&mut self, call_id: &str, name: &str, args: &Map<String, Value>) -> SessionUpdate {
        self.calls.insert(call_id.to_owned(), LiveOutput::default());
        let call = ToolCall::new(call_id.to_owned(), name.to_owned())
            .name(name.to_owned())
            .status(ToolCallStatus::Pending)
            .locations(locations(args, None))
            .raw_input(Value::Object(args.clone()));
        SessionUpdate::ToolCall(call)
    }

    fn started_call(&mut self, start: &ToolStart) -> Vec<SessionUpdate> {
        let mut updates = self.announce(&start.call_id, &start.name, &start.args);
        let fields = ToolCallUpdateFields::new()
            .kind(tool_kind(start.kind))
            .status(ToolCallStatus::InProgress)
            .title(start.description.clone())
            .locations(locations(&start.args, None))
            .raw_input(Value::Object(start.args.clone()));
        updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(start.call_id.clone(), fields)));
        updates
    }

    /// Returns the announcement of a call that the editor does not know yet.
    fn announce(&mut self, call_id: &str, name: &str, args: &Map<String, Value>) -> Vec<SessionUpdate> {
        match self.calls.contains_key(call_id) {
            true => Vec::new(),
            false => vec![self.requested_call(call_id, name, args)],
        }
    }

    fn live_output(&mut self, call_id: &str, text: &str) -> Option<SessionUpdate> {
        let live = self.calls.get_mut(call_id)?;
        live.text.push_str(text);
        if live.text.len() > MAX_LIVE_OUTPUT_BYTES {
            let from = live.text.ceil_char_boundary(live.text.len() - MAX_LIVE_OUTPUT_BYTES);
            live.text.drain(..from);
        }
        if live.sent.is_some_and(|sent| sent.elapsed() < OUTPUT_INTERVAL) {
            return None;
        }
        live.sent = Some(Instant::now());
        let fields = ToolCallUpdateFields::new().content(vec![text_content(&live.text)]);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id.to_owned(), fields)))
    }

    fn finished_call(&mut self, end: &ToolEnd) -> Vec<SessionUpdate> {
        let args = end.screen_args();
        let mut updates = self.announce(&end.call_id, &end.name, args);
        self.calls.remove(&end.call_id);
        let (status, content) = match &end.error {
            Some(error) => (ToolCallStatus::Failed, vec![text_content(&error.message)]),
            None => (ToolCallStatus::Completed, display_content(end)),
        };
        let fields =
            ToolCallUpdateFields::new().status(status).content(content).locations(locations(args, Some(&end.display)));
        updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(end.call_id.clone(), fields)));
        if let ToolDisplay::Todos(todos) = &end.display {
            let entries = todos.iter().map(|todo| {
                let status = match todo.status {
                    TodoStatus::InProgress => PlanEntryStatus::InProgress,
                    TodoStatus::Completed | TodoStatus::Cancelled => PlanEntryStatus::Completed,
                    TodoStatus::Pending | TodoStatus::Blocked => PlanEntryStatus::Pending,
                };
                PlanEntry::new(todo.description.clone(), PlanEntryPriority::Medium, status)
            });
            updates.push(SessionUpdate::Plan(Plan::new(entries.collect())));
        }
        updates
    }
}

fn display_content(end: &ToolEnd) -> Vec<ToolCallContent> {
    match &end.display {
        ToolDisplay::Diff(file) => vec![diff_content(file)],
        ToolDisplay::Text(text) if !text.is_empty() => vec![text_content(text)],
        ToolDisplay::Todos(_) => Vec::new(),
        display if !display.summary().is_empty() => vec![text_content(&display.summary())],
        _ if !end.content.is_empty() => vec![text_content(&end.content)],
        _ => Vec::new(),
    }
}

/// Returns the files that a call is about, by the arguments that name one and by what it shows.
pub(super) fn locations(args: &Map<String, Value>, display: Option<&ToolDisplay>) -> Vec<ToolCallLocation> {
    if let Some(ToolDisplay::Diff(file)) = display {
        return vec![ToolCallLocation::new(file.file_path.clone())];
    }
    let path = ["file_path", "absolute_path", "path"].into_iter().find_map(|key| args.get(key)?.as_str());
    path.map(PathBuf::from).filter(|path| path.is_absolute()).map(ToolCallLocation::new).into_iter().collect()
}

pub(super) fn tool_kind(kind: ToolKind) -> WireToolKind {
    match kind {
        ToolKind::Read => WireToolKind::Read,
        ToolKind::Search => WireToolKind::Search,
        ToolKind::Edit => WireToolKind::Edit,
        ToolKind::Execute => WireToolKind::Execute,
        ToolKind::Fetch => WireToolKind::Fetch,
        ToolKind::Think => WireToolKind::Think,
        ToolKind::Agent | ToolKind::Other => WireToolKind::Other,
    }
}

/// Returns the updates that show an earlier conversation again.
pub(super) fn history_updates(items: Vec<ResumedItem>) -> Vec<SessionUpdate> {
    let item_update = |(number, item): (usize, ResumedItem)| match item {
        ResumedItem::User(text) => SessionUpdate::UserMessageChunk(chunk(&text)),
        ResumedItem::Model(text) => SessionUpdate::AgentMessageChunk(chunk(&text)),
        ResumedItem::Call(call) => SessionUpdate::ToolCall(resumed_call(number, call)),
    };
    items.into_iter().enumerate().map(item_update).collect()
}

fn resumed_call(number: usize, call: ResumedCall) -> ToolCall {
    let (status, output) = match call.result {
        Some(Ok(output)) => (ToolCallStatus::Completed, output),
        Some(Err(error)) => (ToolCallStatus::Failed, error),
        None => (ToolCallStatus::Failed, "it was interrupted".to_owned()),
    };
    ToolCall::new(format!("earlier-{number}"), call.name.clone())
        .name(call.name)
        .status(status)
        .content(vec![text_content(&output)])
        .locations(locations(&call.args, None))
        .raw_input(Value::Object(call.args))
}

fn text_update(text: &str) -> Vec<SessionUpdate> {
    vec![SessionUpdate::AgentMessageChunk(chunk(&format!("{text}\n")))]
}

pub(super) fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}
