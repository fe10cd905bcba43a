//! What the agent tells its screen, in the order in which it happens. Printing, drawing and logging are the screen's work.

mod approval_request;

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{EventKind, HookInput, RunId, RunReport, Source, SubAgent};
use hookwright_model::{Chunk, Content, ModelRequest, Usage};
use hookwright_settings::ApprovalMode;
use hookwright_tools::{CommandEnd, ToolDisplay, ToolErrorKind, ToolKind};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::protect::GuardChange;
use crate::session::Reply;
use crate::user_question::{QuestionAnswer, UserQuestion};
pub use approval_request::{ApprovalDemand, ApprovalReply, ApprovalRequest, CallNumber, GuardTrustReply};

/// Something that happened.
#[derive(Debug)]
pub enum AgentEvent {
    /// A turn begins. BeforeAgent hooks have yet to judge its prompt, so this is for the user's eyes alone and kept nowhere.
    PromptReceived {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's name in logs.
        prompt_id: String,
    },
    /// BeforeAgent hooks let a prompt pass. One that they deny leaves no trace.
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
    /// A running tool printed something. Of what was printed faster than it was read, only the end is here.
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
        /// Which run this is; its report has the same.
        id: RunId,
        /// The event.
        event: EventKind,
        /// The hook.
        hook: String,
        /// Where it was declared.
        source: Source,
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
    ApprovalRequested(Box<ApprovalRequest>, oneshot::Sender<ApprovalReply>),
    /// The agent changed what guards are made of, and the user is asked whether that is fine. Dropping the reply leaves it
    /// distrusted.
    GuardsChanged(Vec<GuardChange>, oneshot::Sender<GuardTrustReply>),
    /// A command has a question for the user. Dropping the reply leaves it at that.
    UserQuestion(Box<UserQuestion>, oneshot::Sender<QuestionAnswer>),
    /// A request goes to the model.
    ModelRequest {
        /// The request, as sent.
        request: Box<ModelRequest>,
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
    /// Something happened at a sub-agent's work. Questions, and what hooks do and say, are told as always.
    SubAgent {
        /// The agent.
        agent: Arc<SubAgent>,
        /// The call that it works for.
        call_id: Arc<str>,
        /// What happened: never a thing of this kind.
        event: Box<AgentEvent>,
    },
    /// The session has begun something; [`AgentEvent::Idle`] says when it is done.
    Busy(SessionActivity),
    /// Nothing is under way.
    Idle {
        /// The model that is asked.
        model: String,
        /// Tokens of the conversation, as far as they are known.
        tokens: u64,
    },
    /// The prompts that wait, all of them; told whenever that changes.
    PromptsQueued(Vec<String>),
    /// Something that the user typed is begun now.
    InputStarted(String),
    /// Prompts that waited will not be begun; they are the user's again.
    PromptsReturned(Vec<String>),
    /// An answer to an order, or news of the configuration.
    Reply(Reply),
    /// The configuration, or what is known of it, is another.
    ConfigurationChanged,
    /// The conversation is empty again.
    Cleared,
    /// The conversation is again where it was before this prompt.
    Rewound(String),
    /// The last messages of the conversation that goes on.
    History(Vec<Arc<Content>>),
    /// Another approval mode.
    ModeChanged(ApprovalMode),
    /// Another model.
    ModelChanged(String),
    /// What was connected is forgotten, and the session ends.
    LoggedOut,
}

impl AgentEvent {
    /// What happened, and at whose work: a sub-agent's, or nobody's but the agent's that the user talks to.
    pub fn unwrap_subagent(&self) -> (Option<&SubAgent>, &AgentEvent) {
        match self {
            AgentEvent::SubAgent { agent, event, .. } => (Some(agent), event),
            event => (None, event),
        }
    }
}

/// What a session is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionActivity {
    /// SessionStart.
    Starting,
    /// A turn.
    Working,
    /// The user's own command.
    RunningCommand,
    /// A new conversation.
    Clearing,
    /// A summary.
    Compressing,
    /// Another conversation.
    Resuming,
    /// Files or the conversation go back to what they were.
    Restoring,
}

impl SessionActivity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionActivity::Starting => "Starting",
            SessionActivity::Working => "Working",
            SessionActivity::RunningCommand => "Running",
            SessionActivity::Clearing => "Clearing",
            SessionActivity::Compressing => "Compressing",
            SessionActivity::Resuming => "Resuming",
            SessionActivity::Restoring => "Restoring",
        }
    }
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
    pub rewritten_args: Vec<String>,
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
    pub display: ToolDisplay,
    /// What the model reads, as text.
    pub content: String,
    /// Why it failed, if it did.
    pub error: Option<CallError>,
    /// How long it ran; nothing if it did not.
    pub duration: Duration,
    /// Who let it run or did not; nothing if nobody was concerned.
    pub decision: Option<CallDecision>,
    /// How the command that it ran ended, if it ran one.
    pub command: Option<CommandEnd>,
    /// What AfterTool hooks attached: `hookData` and `hookMessages`.
    pub metadata: Map<String, Value>,
    /// The turn's name in logs.
    pub prompt_id: String,
}

impl ToolEnd {
    /// Why the command that it ran failed, in a few words. The call itself has not: the model is told the code.
    pub fn failed_command(&self) -> Option<String> {
        self.command.filter(|_| self.error.is_none()).and_then(CommandEnd::failure)
    }
}

/// Who let a call run, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallDecision {
    /// The user allowed it.
    Accept,
    /// Nobody had to be asked.
    AutoAccept,
    /// A hook, a rule or the user refused it.
    Reject,
    /// Hooks or the user changed its arguments.
    Modify,
}

impl CallDecision {
    /// Every decision, in the order in which counts list them.
    pub const ALL: [CallDecision; 4] =
        [CallDecision::Accept, CallDecision::Reject, CallDecision::Modify, CallDecision::AutoAccept];

    /// The word in logs and counts.
    pub fn as_str(self) -> &'static str {
        match self {
            CallDecision::Accept => "accept",
            CallDecision::AutoAccept => "auto_accept",
            CallDecision::Reject => "reject",
            CallDecision::Modify => "modify",
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// What sort of failure.
    pub kind: ToolErrorKind,
    /// Words for people.
    pub message: String,
}

impl CallError {
    /// Whether the user cancelled it, so that nothing went wrong.
    pub fn is_cancelled(&self) -> bool {
        self.kind == ToolErrorKind::Cancelled
    }
}

/// How bad an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndSeverity {
    /// As it should be.
    Normal,
    /// Somebody wanted it so.
    Warning,
    /// Something went wrong.
    Error,
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
    /// Too many requests for one prompt.
    PromptLimit(u32),
    /// A sub-agent has made all its requests.
    AgentLimit(u32),
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

impl TurnEnd {
    /// A failure without advice.
    pub fn failed(message: impl Into<String>) -> Self {
        TurnEnd::Failed { message: message.into(), hint: None }
    }

    /// A word for machines; none for an answer.
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            TurnEnd::Answered => None,
            TurnEnd::Blocked(_) => Some("blocked"),
            TurnEnd::Stopped(_) => Some("stopped"),
            TurnEnd::Cancelled => Some("cancelled"),
            TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_) | TurnEnd::AgentLimit(_) => Some("turn_limit"),
            TurnEnd::Loop(_) => Some("loop"),
            TurnEnd::Failed { .. } => Some("failed"),
        }
    }

    /// How bad it is.
    pub fn severity(&self) -> TurnEndSeverity {
        match self {
            TurnEnd::Answered => TurnEndSeverity::Normal,
            TurnEnd::Blocked(_) | TurnEnd::Stopped(_) | TurnEnd::Cancelled => TurnEndSeverity::Warning,
            TurnEnd::TurnLimit(_)
            | TurnEnd::PromptLimit(_)
            | TurnEnd::AgentLimit(_)
            | TurnEnd::Loop(_)
            | TurnEnd::Failed { .. } => TurnEndSeverity::Error,
        }
    }

    /// What to tell people; nothing for an answer, which speaks for itself.
    pub fn message(&self) -> Option<String> {
        match self {
            TurnEnd::Answered => None,
            TurnEnd::Blocked(reason) => Some(format!("Agent execution blocked: {reason}")),
            TurnEnd::Stopped(reason) => Some(format!("Agent execution stopped by hook: {reason}")),
            TurnEnd::Cancelled => Some("Cancelled".to_owned()),
            TurnEnd::TurnLimit(limit) => Some(format!("the session has made its {limit} model requests")),
            TurnEnd::PromptLimit(limit) => Some(format!("this prompt has made its {limit} model requests")),
            TurnEnd::AgentLimit(limit) => Some(format!("it has made its {limit} model requests")),
            TurnEnd::Loop(reason) => Some(reason.clone()),
            TurnEnd::Failed { message, .. } => Some(message.clone()),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            TurnEnd::TurnLimit(_) => Some("raise `model.maxSessionTurns` in the settings for more"),
            TurnEnd::PromptLimit(_) => {
                Some("say that it may go on, or raise `model.maxPromptTurns` in your settings for more")
            }
            TurnEnd::Failed { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}
