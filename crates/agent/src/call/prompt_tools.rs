//! Tool calls that a prompt makes: `!command`, `!{command}`, `@path`, `@{path}`.
//!
//! They pass hooks and approval rules like the model's calls; `requested_by` tells hooks where they come from.

use std::sync::Arc;

use hookwright_hooks::RequestedBy;
use hookwright_tools::{Tool, ToolErrorKind, ToolFailure, ToolResult, ToolSet};
use serde_json::{Map, Value};

use super::end::{CompletedCall, UserDenial};
use super::{ToolInvocation, TurnControl, USER_DENIAL_MESSAGE, run_with_tail_calls};
use crate::event::TurnEnd;
use crate::scope::TurnScope;
use crate::services::Services;

/// Whether the user still has to approve the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserConsent {
    /// The approval rules decide.
    Needed,
    /// The user wrote the call. Only a denial counts, or a hook that demands approval.
    Given,
}

/// The way in which the front end shows a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// The call is shown like the model's calls.
    Normal,
    /// The call is shown under another name, such as `!`.
    Renamed(&'static str),
    /// The call is not shown, as its prompt is. An approval request says what the call is for.
    Hidden(Option<String>),
}

/// A tool call that a prompt asks for.
pub(crate) struct PromptToolCall<'a> {
    pub(crate) id: String,
    pub(crate) tool: &'a str,
    pub(crate) args: Map<String, Value>,
    pub(crate) requested_by: RequestedBy,
    pub(crate) consent: UserConsent,
    pub(crate) visibility: Visibility,
    /// The tools to use in place of the model's, which settings may restrict.
    pub(crate) tools: Option<Arc<ToolSet>>,
}

/// A call that passed hooks and approval rules.
pub(crate) struct AdmittedCall<'a> {
    call: ToolInvocation<'a>,
    tool: Arc<dyn Tool>,
}

/// The output of a tool that ran for a prompt.
pub(crate) struct PromptToolOutput {
    /// The result; if hooks hid it, its content is their reason.
    pub(crate) result: ToolResult,
    pub(crate) is_hidden: bool,
    /// The marked context that hooks added; it is part of the content as well.
    pub(crate) added_context: Option<String>,
    /// Whether the requested tool gave the result, and not a tail call.
    pub(crate) is_from_requested_tool: bool,
}

impl PromptToolOutput {
    /// Returns whether the result is what the command printed, and not a hook's reason or a tail call's output.
    pub(crate) fn is_command_output(&self) -> bool {
        self.is_from_requested_tool && !self.is_hidden
    }
}

/// The reason why a prompt's tool did not run or its result does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptToolError {
    /// Hooks or approval rules refused the call.
    Refused(String),
    /// The user denied the call, with an optional message.
    Denied(Option<String>),
    /// The tool failed.
    Failed(ToolFailure),
    /// A hook stopped the agent.
    Stopped(String),
    /// The user cancelled the prompt.
    Cancelled,
}

impl PromptToolError {
    /// Returns the message of the error, or the end of the turn that it causes.
    pub(crate) fn into_turn_end(self) -> Result<String, TurnEnd> {
        match self {
            PromptToolError::Stopped(reason) => Err(TurnEnd::Stopped(reason)),
            PromptToolError::Cancelled => Err(TurnEnd::Cancelled),
            PromptToolError::Refused(reason) => Ok(reason),
            PromptToolError::Denied(word) => {
                Ok(format!("{USER_DENIAL_MESSAGE}{}", word.map(|word| format!(": {word}")).unwrap_or_default()))
            }
            PromptToolError::Failed(failure) => Ok(failure.message),
        }
    }
}

/// Runs hooks and approval rules on a prompt's call, and asks the user where they demand it.
pub(crate) async fn admit_prompt_call<'a>(
    services: &'a Arc<Services>,
    wanted: PromptToolCall<'a>,
    scope: &'a TurnScope,
) -> Result<AdmittedCall<'a>, PromptToolError> {
    let first = ToolInvocation::new(services, wanted.id, wanted.tool, wanted.args, scope);
    let mut call = ToolInvocation {
        requested_by: wanted.requested_by,
        consent: wanted.consent,
        visibility: wanted.visibility,
        tools: wanted.tools.unwrap_or_else(|| first.tools.clone()),
        ..first
    };
    match call.admit(None).await {
        Ok(tool) => Ok(AdmittedCall { call, tool }),
        Err(end) => {
            call.send_tool_finished(&end);
            Err(error_from_completion(*end))
        }
    }
}

impl AdmittedCall<'_> {
    /// Returns the arguments that the call will run with.
    pub(crate) fn args(&self) -> &Map<String, Value> {
        &self.call.args
    }

    /// Returns a one-line description of the call.
    pub(crate) fn describe(&self) -> String {
        self.tool.describe(self.call.args.as_value())
    }

    /// Runs the call. AfterTool hooks judge its result and may request a tail call.
    pub(crate) async fn run(self) -> Result<PromptToolOutput, PromptToolError> {
        let (call, end) = run_with_tail_calls(self.call, Some(self.tool), None).await;
        call.send_tool_finished(&end);
        match end.control {
            TurnControl::Continue if end.result.error.as_ref().is_none_or(|_| end.is_hidden) => {
                let is_its_own = call.tail_call_origin.is_none();
                Ok(PromptToolOutput {
                    result: end.result,
                    is_hidden: end.is_hidden,
                    added_context: end.added_context,
                    is_from_requested_tool: is_its_own,
                })
            }
            _ => Err(error_from_completion(end)),
        }
    }
}

/// Admits a prompt's call and runs it.
pub(crate) async fn run_prompt_call(
    services: &Arc<Services>,
    wanted: PromptToolCall<'_>,
    scope: &TurnScope,
) -> Result<PromptToolOutput, PromptToolError> {
    admit_prompt_call(services, wanted, scope).await?.run().await
}

fn error_from_completion(end: CompletedCall) -> PromptToolError {
    match end.control {
        TurnControl::Stop(reason) => return PromptToolError::Stopped(reason),
        TurnControl::Cancel => return PromptToolError::Cancelled,
        TurnControl::Continue => {}
    }
    match end.result.error {
        Some(failure) if failure.kind == ToolErrorKind::PolicyViolation => PromptToolError::Refused(failure.message),
        Some(failure) => match end.user_denial {
            Some(UserDenial(word)) => PromptToolError::Denied(word),
            None => PromptToolError::Failed(failure),
        },
        None => PromptToolError::Failed(ToolFailure::new(ToolErrorKind::ExecutionFailed, "it gave nothing")),
    }
}
