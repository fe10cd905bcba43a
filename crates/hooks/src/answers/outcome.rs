//! What the caller gets back: one typed verdict per event, so that no case can be forgotten and none that the event
//! does not have can be applied. Carrying the verdict out is the caller's work.

use serde_json::{Map, Value};

use crate::answers::Decision;
use crate::answers::merge::MergedAnswer;
use crate::event::model_api::{LlmRequestPatch, LlmResponse, ToolConfig};
use crate::hook::Source;
use crate::running::observer::RunReport;

/// Everything that came of firing one event.
#[derive(Clone, Debug)]
pub struct Outcome<V> {
    /// What the hooks decided, together.
    pub verdict: V,
    /// What they want the user to read, in plan order.
    pub messages: Vec<HookMessage>,
    /// What went wrong, in plan order. Never empty when a hook failed.
    pub warnings: Vec<HookMessage>,
    /// All answers as one.
    pub merged: MergedAnswer,
    /// How each hook ran, in plan order.
    pub runs: Vec<RunReport>,
}

/// Words of, or about, one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookMessage {
    /// The hook's name.
    pub hook: String,
    /// Where it was declared.
    pub source: Source,
    /// The words.
    pub text: String,
}

/// For events that hooks can only comment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryVerdict;

/// What hooks add to a session's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStartVerdict {
    /// Text for the model.
    pub context: Option<String>,
}

/// What becomes of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeAgentVerdict {
    /// It goes to the model, with this text appended.
    Proceed {
        /// Text for the model.
        context: Option<String>,
    },
    /// The turn does not run and the prompt leaves no trace.
    Deny {
        /// Why.
        reason: String,
    },
    /// The turn does not run; the prompt stays in the history.
    Stop {
        /// Why.
        reason: String,
    },
}

/// What becomes of a final answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterAgentVerdict {
    /// It stands.
    Accept {
        /// Whether the model's memory is emptied.
        clear_context: bool,
    },
    /// It is rejected; the reason is the next prompt.
    Retry {
        /// The next prompt.
        reason: String,
        /// Whether the model's memory is emptied first.
        clear_context: bool,
    },
    /// The agent stops without a retry.
    Stop {
        /// Why.
        reason: String,
        /// Whether the model's memory is emptied.
        clear_context: bool,
    },
}

/// What becomes of a model request.
#[derive(Clone, Debug, PartialEq)]
pub enum BeforeModelVerdict {
    /// It is sent, with these changes.
    Proceed {
        /// What to change.
        changes: Option<LlmRequestPatch>,
    },
    /// It is not sent; this is the answer.
    Answer {
        /// The answer.
        response: LlmResponse,
    },
    /// It is not sent and the turn ends.
    Deny {
        /// Why.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// Why.
        reason: String,
        /// The turn's answer, if a hook gives one.
        response: Option<LlmResponse>,
    },
}

/// Which tools the model may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// The configuration, if any hook set one.
    pub config: Option<ToolConfig>,
}

/// What becomes of a piece of the model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterModelVerdict {
    /// It stands.
    Keep,
    /// This takes its place.
    Replace {
        /// The replacement.
        response: LlmResponse,
    },
    /// The answer so far is dropped and the turn ends.
    Deny {
        /// Why.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// Why.
        reason: String,
    },
}

/// What becomes of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum BeforeToolVerdict {
    /// It goes on to approval.
    Proceed {
        /// Arguments to lay over the model's.
        changes: Option<Map<String, Value>>,
    },
    /// The user must be asked, whatever the approval mode.
    Ask {
        /// Why.
        reason: String,
        /// Arguments to lay over the model's.
        changes: Option<Map<String, Value>>,
    },
    /// It does not run; the model is told why.
    Deny {
        /// Why.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// Why.
        reason: String,
    },
}

/// What becomes of a tool's result.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterToolVerdict {
    /// The model sees it.
    Keep {
        /// Text to append for the model.
        context: Option<String>,
        /// A tool to run next, whose result takes this one's place.
        tail_call: Option<TailCall>,
    },
    /// The model sees the reason instead.
    Hide {
        /// What the model sees.
        reason: String,
        /// Text to append for the model.
        context: Option<String>,
    },
    /// The agent stops.
    Stop {
        /// Why.
        reason: String,
    },
}

/// A tool to run in another's place.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl From<&MergedAnswer> for AdvisoryVerdict {
    fn from(_: &MergedAnswer) -> Self {
        AdvisoryVerdict
    }
}

impl From<&MergedAnswer> for SessionStartVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        SessionStartVerdict { context: merged.answer.additional_context.clone() }
    }
}

impl From<&MergedAnswer> for BeforeAgentVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        if merged.answer.stop {
            return BeforeAgentVerdict::Stop { reason: merged.stop_text() };
        }
        match merged.answer.decision {
            Some(Decision::Deny) => BeforeAgentVerdict::Deny { reason: merged.reason_text() },
            _ => BeforeAgentVerdict::Proceed { context: merged.answer.additional_context.clone() },
        }
    }
}

impl From<&MergedAnswer> for AfterAgentVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        let clear_context = merged.answer.clear_context;
        if merged.answer.stop {
            return AfterAgentVerdict::Stop { reason: merged.stop_text(), clear_context };
        }
        match merged.answer.decision {
            Some(Decision::Deny) => AfterAgentVerdict::Retry { reason: merged.reason_text(), clear_context },
            _ => AfterAgentVerdict::Accept { clear_context },
        }
    }
}

impl From<&MergedAnswer> for BeforeModelVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        if merged.answer.stop {
            return BeforeModelVerdict::Stop {
                reason: merged.stop_text(),
                response: merged.answer.llm_response.clone(),
            };
        }
        if let Some(response) = &merged.answer.llm_response {
            return BeforeModelVerdict::Answer { response: response.clone() };
        }
        match merged.answer.decision {
            Some(Decision::Deny) => BeforeModelVerdict::Deny { reason: merged.reason_text() },
            _ => BeforeModelVerdict::Proceed { changes: merged.answer.llm_request.clone() },
        }
    }
}

impl From<&MergedAnswer> for ToolSelection {
    fn from(merged: &MergedAnswer) -> Self {
        ToolSelection { config: merged.answer.tool_config.clone() }
    }
}

impl From<&MergedAnswer> for AfterModelVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        if merged.answer.stop {
            return AfterModelVerdict::Stop { reason: merged.stop_text() };
        }
        match (merged.answer.decision, &merged.answer.llm_response) {
            (Some(Decision::Deny), _) => AfterModelVerdict::Deny { reason: merged.reason_text() },
            (_, Some(response)) => AfterModelVerdict::Replace { response: response.clone() },
            _ => AfterModelVerdict::Keep,
        }
    }
}

impl From<&MergedAnswer> for BeforeToolVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        if merged.answer.stop {
            return BeforeToolVerdict::Stop { reason: merged.stop_text() };
        }
        let changes = merged.answer.tool_input.clone();
        match merged.answer.decision {
            Some(Decision::Deny) => BeforeToolVerdict::Deny { reason: merged.reason_text() },
            Some(Decision::Ask) => BeforeToolVerdict::Ask { reason: merged.reason_text(), changes },
            _ => BeforeToolVerdict::Proceed { changes },
        }
    }
}

impl From<&MergedAnswer> for AfterToolVerdict {
    fn from(merged: &MergedAnswer) -> Self {
        if merged.answer.stop {
            return AfterToolVerdict::Stop { reason: merged.stop_text() };
        }
        let context = merged.answer.additional_context.clone();
        match merged.answer.decision {
            Some(Decision::Deny) => AfterToolVerdict::Hide { reason: merged.reason_text(), context },
            _ => AfterToolVerdict::Keep { context, tail_call: merged.answer.tail_call.clone() },
        }
    }
}
