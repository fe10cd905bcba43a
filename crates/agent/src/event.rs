//! The events that the agent sends to its front end, in the order in which they happen.
//!
//! Printing, drawing and logging are left to the front end.

mod approval_request;

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{EventKind, HookInput, RunId, RunReport, Source, SubAgent, VerdictReport};
use hookwright_model::{Chunk, Content, ModelRequest, Usage};
use hookwright_settings::ApprovalMode;
use hookwright_tools::{CommandEnd, ToolDisplay, ToolErrorKind, ToolKind};
use serde_json::{Map, Value};

use crate::question::{Question, QuestionId};
use crate::session::Reply;
pub use approval_request::{ApprovalDemand, ApprovalReply, ApprovalRequest, CallNumber, GuardTrustReply};

/// An event that the agent reports to its front end.
#[derive(Debug)]
pub enum AgentEvent {
    /// A turn begins.
    ///
    /// BeforeAgent hooks have not judged its prompt yet, so this event is for display only and is not recorded.
    PromptReceived {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// BeforeAgent hooks let a prompt pass. A prompt that they deny is never reported by this event.
    PromptStarted {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// A piece of the answer, after AfterModel hooks.
    Text(String),
    /// A piece of the model's thinking.
    Thought(String),
    /// The part of the current answer that was already shown is withdrawn.
    AnswerDropped {
        /// Why the answer was dropped.
        reason: String,
    },
    /// The model requested a tool call.
    ToolRequested {
        /// The identifier of the call.
        call_id: String,
        /// The name of the requested tool.
        name: String,
        /// The arguments, as the model gave them.
        args: Map<String, Value>,
    },
    /// Hooks and approval let a tool call run.
    ToolStarted(ToolStart),
    /// A running tool printed text.
    ///
    /// When a tool prints faster than the front end reads, only the end of the text is kept.
    ToolOutput {
        /// The identifier of the call that printed the text.
        call_id: String,
        /// The text that was printed.
        text: String,
    },
    /// A tool call has ended, whether it ran or not.
    ToolFinished(Box<ToolEnd>),
    /// A hook is about to run.
    HookStarted {
        /// The identifier of this run; its report has the same one.
        id: RunId,
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The number of hooks in the plan.
        total: usize,
    },
    /// A hook has ended.
    HookFinished {
        /// The report of the run.
        report: Box<RunReport>,
        /// The input that the hook received.
        input: HookInput,
    },
    /// The hooks of an event have decided. Front ends show the reports of the runs instead.
    VerdictReached(Box<VerdictReport>),
    /// A message from a hook to the user.
    HookMessage {
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The text of the message.
        text: String,
    },
    /// A problem with a hook.
    HookWarning {
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The text that describes the problem.
        text: String,
    },
    /// The session asks the user; it waits until the question is answered or withdrawn.
    QuestionAsked(Question),
    /// A question was answered, or the session no longer waits for its answer.
    QuestionClosed(QuestionId),
    /// A request is sent to the model.
    ModelRequest {
        /// The request, without the media and unknown tool calls that no hook is shown.
        request: Box<ModelRequest>,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// The model's answer is complete.
    ModelResponse {
        /// The name of the model.
        model: String,
        /// The tokens that the request used, where the provider reports them.
        usage: Option<Usage>,
        /// The answer, after AfterModel hooks.
        response: Box<Chunk>,
        /// The time from the request to the end of the answer.
        duration: Duration,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// A request failed, or a hook denied its answer.
    ModelFailed {
        /// The name of the model.
        model: String,
        /// The text of the error.
        error: String,
        /// The time from the request to the failure.
        duration: Duration,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// The request is sent again after a failed attempt; the text says why.
    ModelRetry(String),
    /// AfterAgent hooks rejected the answer; their reason is the next prompt.
    AgentRetry {
        /// The reason, which is the next prompt.
        reason: String,
        /// The number of this retry in a row.
        attempt: u32,
    },
    /// The history was compressed.
    Compressed {
        /// `auto` or `manual`.
        trigger: &'static str,
        /// The number of tokens before the compression.
        before: u64,
        /// The number of tokens after the compression.
        after: u64,
    },
    /// Information for the user.
    Note(String),
    /// A warning for the user.
    Warning(String),
    /// The turn is over.
    TurnFinished(TurnEnd),
    /// An event of a sub-agent.
    ///
    /// Questions and hook events of a sub-agent are not wrapped in this variant.
    SubAgent {
        /// The sub-agent that reports the event.
        agent: Arc<SubAgent>,
        /// The identifier of the delegating call.
        call_id: Arc<str>,
        /// The event itself, which is never a `SubAgent` event.
        event: Box<AgentEvent>,
    },
    /// The session has begun an activity; [`AgentEvent::Idle`] reports its end.
    Busy(SessionActivity),
    /// The session has no activity under way.
    Idle {
        /// The model of the session.
        model: String,
        /// The tokens of the conversation, as far as they are known.
        tokens: u64,
    },
    /// The commands before a [`SessionCommand::Sync`](crate::session::SessionCommand::Sync) are carried out, except for
    /// queued ones.
    Synced,
    /// The whole list of queued prompts, sent whenever it changes.
    PromptsQueued(Vec<String>),
    /// The session begins to handle an input that the user typed.
    InputStarted(String),
    /// Queued prompts were given back to the user and will not run.
    PromptsReturned(Vec<String>),
    /// The reply to a command of the front end, or a report about the configuration.
    Reply(Reply),
    /// The configuration, or its known state, has changed.
    ConfigurationChanged,
    /// The conversation was emptied.
    Cleared,
    /// The conversation was set back to before this prompt.
    Rewound(String),
    /// The last messages of the resumed conversation.
    History(Vec<Arc<Content>>),
    /// The approval mode has changed.
    ModeChanged(ApprovalMode),
    /// The session's model has changed.
    ModelChanged(String),
    /// The stored connection was removed, and the session ends.
    LoggedOut,
}

impl AgentEvent {
    /// Returns the inner event, with the sub-agent that reported it; `None` stands for the main agent.
    pub fn unwrap_subagent(&self) -> (Option<&SubAgent>, &AgentEvent) {
        match self {
            AgentEvent::SubAgent { agent, event, .. } => (Some(agent), event),
            event => (None, event),
        }
    }
}

/// The activity that a session is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionActivity {
    /// SessionStart hooks are running.
    Starting,
    /// A turn is running.
    Working,
    /// A shell command of the user is running.
    RunningCommand,
    /// A new conversation is being started.
    Clearing,
    /// The history is being summarised.
    Compressing,
    /// An earlier conversation is being resumed.
    Resuming,
    /// Files or the conversation are being restored from a checkpoint.
    Restoring,
}

impl SessionActivity {
    /// Returns the label of the activity for display.
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
    /// The identifier of the call.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// The kind of tool, which says how it affects files and processes.
    pub kind: ToolKind,
    /// The arguments that the call runs with.
    pub args: Map<String, Value>,
    /// A one-line description of the call.
    pub description: String,
    /// The names of the arguments that hooks changed.
    pub rewritten_args: Vec<String>,
}

/// A tool call that has ended.
#[derive(Clone, Debug)]
pub struct ToolEnd {
    /// The identifier of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments that the call ran with, or would have run with.
    pub args: Map<String, Value>,
    /// The arguments that a failing hook left out of all records: for the user's screen alone.
    pub unrecorded_args: Option<Map<String, Value>>,
    /// The result as the front end displays it.
    pub display: ToolDisplay,
    /// The result as the model reads it, as text.
    pub content: String,
    /// The error of a call that failed.
    pub error: Option<CallError>,
    /// How long the call ran; zero if it did not run.
    pub duration: Duration,
    /// The decision that let the call run or refused it, where one was needed.
    pub decision: Option<CallDecision>,
    /// How the shell command of the call ended, if it ran one.
    pub command: Option<CommandEnd>,
    /// The metadata that AfterTool hooks attached: `hookData` and `hookMessages`.
    pub metadata: Map<String, Value>,
    /// The turn's identifier in logs.
    pub prompt_id: String,
}

impl ToolEnd {
    /// Returns the arguments to show on the user's screen.
    pub fn screen_args(&self) -> &Map<String, Value> {
        self.unrecorded_args.as_ref().unwrap_or(&self.args)
    }

    /// Returns a short text on why the call's shell command failed.
    ///
    /// Such a call counts as successful: the model reads the exit code.
    pub fn failed_command(&self) -> Option<String> {
        self.command.filter(|_| self.error.is_none()).and_then(CommandEnd::failure)
    }
}

/// The decision on whether a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallDecision {
    /// The user approved the call.
    Accept,
    /// The call needed no approval.
    AutoAccept,
    /// A hook, a rule or the user refused the call.
    Reject,
    /// Hooks or the user changed the arguments of the call.
    Modify,
}

impl CallDecision {
    /// All decisions, in the order in which counts list them.
    pub const ALL: [CallDecision; 4] =
        [CallDecision::Accept, CallDecision::Reject, CallDecision::Modify, CallDecision::AutoAccept];

    /// Returns the name of the decision in logs and counts.
    pub fn as_str(self) -> &'static str {
        match self {
            CallDecision::Accept => "accept",
            CallDecision::AutoAccept => "auto_accept",
            CallDecision::Reject => "reject",
            CallDecision::Modify => "modify",
        }
    }
}

/// The error of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The kind of the error.
    pub kind: ToolErrorKind,
    /// The message for users.
    pub message: String,
}

impl CallError {
    /// Returns whether the user cancelled the call, which is no failure.
    pub fn is_cancelled(&self) -> bool {
        self.kind == ToolErrorKind::Cancelled
    }
}

/// The severity of a turn's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndSeverity {
    /// The turn ended normally.
    Normal,
    /// A hook or the user ended the turn.
    Warning,
    /// The turn failed or reached a limit.
    Error,
}

/// The way in which a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model gave an answer.
    Answered,
    /// A hook denied the prompt or the answer; the text is its reason.
    Blocked(String),
    /// A hook stopped the agent; the text is its reason.
    Stopped(String),
    /// The user cancelled the turn.
    Cancelled,
    /// The session has made its maximum number of model requests.
    TurnLimit(u32),
    /// The prompt has made its maximum number of model requests.
    PromptLimit(u32),
    /// The sub-agent has made its maximum number of model requests.
    AgentLimit(u32),
    /// The model repeated itself; the text describes the repetition.
    Loop(String),
    /// The turn failed with an error.
    Failed {
        /// The message of the error.
        message: String,
        /// The advice to the user on what to do about it.
        hint: Option<String>,
    },
}

impl TurnEnd {
    /// Returns a failure without a hint.
    pub fn failed(message: impl Into<String>) -> Self {
        TurnEnd::Failed { message: message.into(), hint: None }
    }

    /// Returns the name of the end for machine-readable output, `None` for an answer.
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

    /// Returns the severity of the end.
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

    /// Returns the message for users, `None` for an answer.
    pub fn message(&self) -> Option<String> {
        match self {
            TurnEnd::Answered => None,
            TurnEnd::Blocked(reason) => Some(format!("Agent execution blocked: {reason}")),
            TurnEnd::Stopped(reason) => Some(format!("Agent execution stopped by hook: {reason}")),
            TurnEnd::Cancelled => Some("Cancelled".to_owned()),
            TurnEnd::TurnLimit(limit) => Some(format!("the session has reached its limit of {limit} model requests")),
            TurnEnd::PromptLimit(limit) => Some(format!("this prompt has reached its limit of {limit} model requests")),
            TurnEnd::AgentLimit(limit) => Some(format!("it has made its {limit} model requests")),
            TurnEnd::Loop(reason) => Some(reason.clone()),
            TurnEnd::Failed { message, .. } => Some(message.clone()),
        }
    }

    /// Returns the advice to the user, if there is any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            TurnEnd::TurnLimit(_) => Some("raise `model.maxSessionTurns` in the settings for more"),
            TurnEnd::PromptLimit(_) => Some("tell it to go on, or raise `model.maxPromptTurns` in your settings"),
            TurnEnd::Failed { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}
