//! What the caller gets back from an event: one verdict type per event, so that the compiler checks that every case is
//! handled and only cases that the event supports exist. Applying the verdict is up to the caller.

use serde_json::{Map, Value};

use crate::answers::Decision;
use crate::answers::merge::{HookConfinement, MergedAnswer};
use crate::event::model_api::{LlmRequestPatch, LlmResponse, ToolConfig};
use crate::hook::Source;
use crate::running::observer::RunReport;

/// The result of firing one event.
#[derive(Clone, Debug)]
pub struct Outcome<V> {
    /// The merged decision of the hooks.
    pub verdict: V,
    /// Messages of the hooks to the user, in plan order.
    pub messages: Vec<HookMessage>,
    /// Problems with the hooks' runs, in plan order.
    pub warnings: Vec<HookMessage>,
    /// The merged answer of all hooks.
    pub merged: MergedAnswer,
    /// The report of each hook's run, in plan order.
    pub runs: Vec<RunReport>,
}

/// A message from a hook or about a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookMessage {
    /// The name of the hook.
    pub hook: String,
    /// The settings layer that declares the hook.
    pub source: Source,
    /// The text of the message.
    pub text: String,
}

/// Formats a warning as `hook NAME: TEXT`.
impl std::fmt::Display for HookMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&about_hook(&self.hook, &self.text))
    }
}

/// Puts a hook's name before a text about the hook: `hook NAME: TEXT`.
///
/// ```
/// let text = hookwright_hooks::about_hook("guard", "exited with code 1");
/// assert_eq!(text, "hook guard: exited with code 1");
/// ```
pub fn about_hook(name: impl std::fmt::Display, text: impl std::fmt::Display) -> String {
    format!("hook {name}: {text}")
}

/// The verdict of events that hooks can only comment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryVerdict;

/// The verdict of SessionStart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStartVerdict {
    /// Text for the model, if a hook gave any.
    pub context: Option<String>,
}

/// The verdict of BeforeAgent: what happens to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeAgentVerdict {
    /// The prompt goes to the model.
    Proceed {
        /// Text to append for the model.
        context: Option<String>,
    },
    /// The turn does not run and the prompt is not kept in the history.
    Deny {
        /// The reason that the hooks gave.
        reason: String,
    },
    /// The turn does not run; the prompt stays in the history.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
    },
}

/// The verdict of AfterAgent: what happens to a final response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterAgentVerdict {
    /// The response is accepted.
    Accept {
        /// Whether the model's conversation history is cleared.
        clear_context: bool,
    },
    /// The response is rejected and the agent runs again.
    Retry {
        /// The reason, which is the next prompt.
        reason: String,
        /// Whether the model's conversation history is cleared first.
        clear_context: bool,
    },
    /// The agent stops without another attempt.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
        /// Whether the model's conversation history is cleared.
        clear_context: bool,
    },
}

/// The verdict of BeforeModel: what happens to a model request.
#[derive(Clone, Debug, PartialEq)]
pub enum BeforeModelVerdict {
    /// The request is sent, with the changes applied.
    Proceed {
        /// Changes to the request, if a hook made any.
        changes: Option<LlmRequestPatch>,
    },
    /// The request is not sent; a hook's response is used instead.
    Answer {
        /// The response that the hooks gave.
        response: LlmResponse,
    },
    /// The request is not sent and the turn ends.
    Deny {
        /// The reason that the hooks gave.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
        /// The response of the turn, if a hook gave one.
        response: Option<LlmResponse>,
    },
}

/// The verdict of BeforeToolSelection: the tools that the model may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// The tool configuration, if a hook set one.
    pub config: Option<ToolConfig>,
}

/// The verdict of AfterModel: what happens to a piece of the model's response.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterModelVerdict {
    /// The piece is kept.
    Keep,
    /// The piece is replaced.
    Replace {
        /// The response that replaces it.
        response: LlmResponse,
    },
    /// The response so far is dropped and the turn ends.
    Deny {
        /// The reason that the hooks gave.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
    },
}

/// The verdict of BeforeTool: what happens to a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum BeforeToolVerdict {
    /// The call goes on to approval.
    Proceed {
        /// Arguments that replace the model's arguments key by key.
        changes: Option<Map<String, Value>>,
    },
    /// The call goes on to approval, and runs only if the system keeps it to every one of these profiles. A caller that
    /// cannot do that asks the user instead.
    Confine {
        /// The reason that the hooks gave.
        reason: String,
        /// The profiles.
        confinements: Vec<HookConfinement>,
        /// Arguments that replace the model's arguments key by key.
        changes: Option<Map<String, Value>>,
    },
    /// The user must be asked, whatever the approval mode.
    Ask {
        /// The reason that the hooks gave.
        reason: String,
        /// Profiles that the call is kept to even if the user allows it.
        confinements: Vec<HookConfinement>,
        /// Arguments that replace the model's arguments key by key.
        changes: Option<Map<String, Value>>,
    },
    /// The call does not run; the model gets the reason.
    Deny {
        /// The reason that the hooks gave.
        reason: String,
    },
    /// The agent stops.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
    },
}

/// The verdict of AfterTool: what happens to a tool's result.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterToolVerdict {
    /// The model gets the result.
    Keep {
        /// Text to append for the model.
        context: Option<String>,
        /// A tool call to run next, whose result replaces this one.
        tail_call: Option<TailCall>,
    },
    /// The model gets the reason instead of the result.
    Hide {
        /// The text that replaces the result.
        reason: String,
        /// Text to append for the model.
        context: Option<String>,
    },
    /// The agent stops.
    Stop {
        /// The reason that the hooks gave.
        reason: String,
    },
}

/// A tool call whose result replaces the result of the call before it.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments of the call.
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
        let (reason, confinements) = (|| merged.reason_text(), merged.confinements.clone());
        match merged.answer.decision {
            Some(Decision::Deny) => BeforeToolVerdict::Deny { reason: reason() },
            Some(Decision::Ask) => BeforeToolVerdict::Ask { reason: reason(), confinements, changes },
            Some(Decision::Confine) => BeforeToolVerdict::Confine { reason: reason(), confinements, changes },
            Some(Decision::Allow) | None => BeforeToolVerdict::Proceed { changes },
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
