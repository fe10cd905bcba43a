//! Tools that run for a prompt and not for the model: `!command`, `!{command}`, `@path`, `@{path}`. They pass hooks and
//! rules like any call of the model; `requested_by` says who wants them.

use std::sync::Arc;

use hookwright_hooks::RequestedBy;
use hookwright_tools::{Tool, ToolErrorKind, ToolFailure, ToolResult, ToolSet};
use serde_json::{Map, Value};

use super::end::CompletedCall;
use super::{ToolInvocation, TurnControl, USER_DENIAL_PREFIX, run_with_tail_calls};
use crate::event::TurnEnd;
use crate::scope::TurnScope;
use crate::services::Services;

/// Whether the user has still to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserConsent {
    /// As the rules say.
    Needed,
    /// The user wrote it. Only a no counts, or a hook that wants the user asked.
    Given,
}

/// How a call is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Like the model's calls.
    Normal,
    /// Under another name: `!`.
    Renamed(&'static str),
    /// Not at all: it belongs to a prompt, which is shown. A question says for what it is.
    Hidden(Option<String>),
}

/// A tool that is to run.
pub(crate) struct PromptToolCall<'a> {
    pub(crate) id: String,
    pub(crate) tool: &'a str,
    pub(crate) args: Map<String, Value>,
    pub(crate) requested_by: RequestedBy,
    pub(crate) consent: UserConsent,
    pub(crate) visibility: Visibility,
    /// Other tools than the model's, whose number settings may narrow.
    pub(crate) tools: Option<Arc<ToolSet>>,
}

/// A call that hooks and rules have let pass.
pub(crate) struct AdmittedCall<'a> {
    call: ToolInvocation<'a>,
    tool: Arc<dyn Tool>,
}

/// What a tool gave for a prompt.
pub(crate) struct PromptToolOutput {
    /// The result; where hooks hid it, their reason stands in the place of its content.
    pub(crate) result: ToolResult,
    pub(crate) is_hidden: bool,
    /// What hooks add to it, marked as theirs; it is part of the content, too.
    pub(crate) added_context: Option<String>,
    /// Whether it is what the tool gave that was asked for.
    pub(crate) is_from_requested_tool: bool,
}

impl PromptToolOutput {
    /// Whether it is what a command printed, and not a hook's word or another tool's.
    pub(crate) fn is_command_output(&self) -> bool {
        self.is_from_requested_tool && !self.is_hidden
    }
}

/// Why a tool did not run, or why what it gave does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptToolError {
    /// Hooks or rules refused it.
    Refused(String),
    /// The user did, with a word.
    Denied(Option<String>),
    /// It could not be run.
    Failed(ToolFailure),
    /// A hook stopped the agent.
    Stopped(String),
    /// The user wants none of it any more.
    Cancelled,
}

impl PromptToolError {
    /// The end of the turn that it means, if it means one; else why.
    pub(crate) fn into_turn_end(self) -> Result<String, TurnEnd> {
        match self {
            PromptToolError::Stopped(reason) => Err(TurnEnd::Stopped(reason)),
            PromptToolError::Cancelled => Err(TurnEnd::Cancelled),
            PromptToolError::Refused(reason) => Ok(reason),
            PromptToolError::Denied(word) => {
                Ok(format!("{USER_DENIAL_PREFIX}{}", word.map(|word| format!(": {word}")).unwrap_or_default()))
            }
            PromptToolError::Failed(failure) => Ok(failure.message),
        }
    }
}

/// Asks hooks, rules and, where they want it, the user.
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
    /// The arguments that it will run with.
    pub(crate) fn args(&self) -> &Map<String, Value> {
        &self.call.args
    }

    /// What it will do, in one line.
    pub(crate) fn describe(&self) -> String {
        self.tool.describe(&Value::Object(self.call.args.clone()))
    }

    /// Runs it; hooks judge what it gives, and may put another tool in its place.
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

/// Both in one.
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
        Some(failure) => match failure.message.strip_prefix(USER_DENIAL_PREFIX) {
            Some(word) => PromptToolError::Denied(word.strip_prefix(": ").map(str::to_owned)),
            None => PromptToolError::Failed(failure),
        },
        None => PromptToolError::Failed(ToolFailure::new(ToolErrorKind::ExecutionFailed, "it gave nothing")),
    }
}
