//! What the agent tells its screen, in the order in which it happens. Printing, drawing and logging are the screen's work.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{EventKind, HookInput, RunReport, Source};
use hookwright_model::{Chunk, Request, Usage};
use hookwright_tools::{Display, ToolKind};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

/// Something that happened.
#[derive(Debug)]
pub enum AgentEvent {
    /// A prompt was accepted and its turn begins.
    PromptStarted {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's name in logs.
        prompt_id: String,
    },
    /// A piece of the answer, after AfterModel hooks.
    Text(String),
    /// A piece of the model's thinking.
    Thought(String),
    /// What was shown of the current answer does not count any more.
    AnswerDropped {
        /// Why.
        reason: String,
    },
    /// The model asked for a tool.
    ToolRequested {
        /// The call's name.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as the model gave them.
        args: Map<String, Value>,
    },
    /// Hooks and user let a tool run.
    ToolStarted(ToolStart),
    /// A running tool printed something.
    ToolOutput {
        /// Which call.
        call_id: String,
        /// The text.
        text: String,
    },
    /// A tool call is over, whether it ran or not.
    ToolFinished(Box<ToolEnd>),
    /// A hook is about to run.
    HookStarted {
        /// The event.
        event: EventKind,
        /// The hook.
        hook: String,
        /// Where it was declared.
        source: Source,
        /// Its place in the plan, from 1.
        position: usize,
        /// How many hooks the plan has.
        total: usize,
    },
    /// A hook has ended.
    HookFinished {
        /// How it ran.
        report: Box<RunReport>,
        /// What it was given.
        input: HookInput,
    },
    /// A hook's words for the user.
    HookMessage {
        /// The event.
        event: EventKind,
        /// The hook.
        hook: String,
        /// Where it was declared.
        source: Source,
        /// The words.
        text: String,
    },
    /// Something went wrong with a hook.
    HookWarning {
        /// The event.
        event: EventKind,
        /// The hook.
        hook: String,
        /// Where it was declared.
        source: Source,
        /// What.
        text: String,
    },
    /// The user must be asked. Dropping the reply is a no.
    Approval(Box<ApprovalRequest>, oneshot::Sender<ApprovalReply>),
    /// A request goes to the model.
    ModelRequest {
        /// The request, as sent.
        request: Box<Request>,
        /// The turn's name in logs.
        prompt_id: String,
    },
    /// The model's answer is complete.
    ModelResponse {
        /// The model.
        model: String,
        /// What it cost.
        usage: Option<Usage>,
        /// The answer, after AfterModel hooks.
        response: Box<Chunk>,
        /// From request to end.
        duration: Duration,
        /// The turn's name in logs.
        prompt_id: String,
    },
    /// A request failed.
    ModelFailed {
        /// The model.
        model: String,
        /// Why.
        error: String,
        /// From request to failure.
        duration: Duration,
        /// The turn's name in logs.
        prompt_id: String,
    },
    /// The model is busy and will be asked again.
    ModelRetry(String),
    /// Hooks rejected the answer; the reason is the next prompt.
    AgentRetry {
        /// The next prompt.
        reason: String,
        /// Which retry in a row this is.
        attempt: u32,
    },
    /// The history was compressed.
    Compressed {
        /// `auto` or `manual`.
        trigger: &'static str,
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
    /// Something the user should know.
    Note(String),
    /// Something the user should worry about.
    Warning(String),
    /// The turn is over.
    TurnFinished(TurnEnd),
}

/// A tool call that is about to run.
#[derive(Clone, Debug)]
pub struct ToolStart {
    /// The call's name.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// What it does to the world.
    pub kind: ToolKind,
    /// The arguments it runs with.
    pub args: Map<String, Value>,
    /// The call in one line.
    pub description: String,
    /// Arguments that hooks changed.
    pub rewritten: Vec<String>,
}

/// A tool call that is over.
#[derive(Clone, Debug)]
pub struct ToolEnd {
    /// The call's name.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments it ran with, or would have.
    pub args: Map<String, Value>,
    /// What to show.
    pub display: Display,
    /// What the model reads, as text.
    pub content: String,
    /// Why it failed, if it did.
    pub error: Option<CallError>,
    /// How long it ran; nothing if it did not.
    pub duration: Duration,
    /// Who let it run: `accept`, `auto_accept`, `reject`, `modify`; nothing if nobody was concerned.
    pub decision: Option<&'static str>,
    /// What AfterTool hooks attached: `hookData` and `hookMessages`.
    pub metadata: Map<String, Value>,
    /// The turn's name in logs.
    pub prompt_id: String,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// A word for machines: `policy_violation`, `stop_execution`, `execution_failed`, …
    pub kind: String,
    /// Words for people.
    pub message: String,
}

/// What the user is asked to allow.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call's name.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// The tool's name for people.
    pub title: String,
    /// What it does to the world.
    pub kind: ToolKind,
    /// The exact arguments that will run.
    pub args: Map<String, Value>,
    /// The call in one line.
    pub description: String,
    /// What an edit would change.
    pub preview: Option<Display>,
    /// Arguments that hooks changed.
    pub rewritten: Vec<String>,
    /// The hooks that want the user asked, and why.
    pub asked_by: Option<AskedBy>,
}

/// Who wants the user asked.
#[derive(Clone, Debug)]
pub struct AskedBy {
    /// The hooks.
    pub hooks: Vec<String>,
    /// Why.
    pub reason: String,
}

/// The user's word.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalReply {
    /// Once.
    Once,
    /// From now on, this tool (for shell commands: this program) runs unasked.
    Session,
    /// With other arguments.
    Edited(Map<String, Value>),
    /// No, with a word to the model.
    Deny(Option<String>),
    /// No, and the turn ends.
    Cancel,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// A hook refused it; the reason.
    Blocked(String),
    /// A hook stopped the agent; the reason.
    Stopped(String),
    /// The user cancelled it.
    Cancelled,
    /// Too many requests in one session.
    TurnLimit(u32),
    /// The model did the same thing again and again.
    Loop(String),
    /// Something failed; what, and what to do.
    Failed {
        /// What.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
}

/// Where events go.
#[derive(Clone, Debug)]
pub struct Events(Arc<tokio::sync::mpsc::UnboundedSender<AgentEvent>>);

impl Events {
    /// A pair: where events go, and where they come out.
    pub fn channel() -> (Events, tokio::sync::mpsc::UnboundedReceiver<AgentEvent>) {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        (Events(Arc::new(sender)), receiver)
    }

    /// Tells the screen; nobody listening is fine.
    pub fn send(&self, event: AgentEvent) {
        let _ = self.0.send(event);
    }
}
