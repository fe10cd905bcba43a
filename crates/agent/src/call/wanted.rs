//! Tools that run for a prompt and not for the model: `!command`, `!{command}`, `@path`, `@{path}`. They pass hooks and
//! rules like any call of the model; `requested_by` says who wants them.

use std::sync::Arc;

use hookwright_hooks::RequestedBy;
use hookwright_tools::{Tool, ToolErrorKind, ToolFailure, ToolResult, ToolSet};
use serde_json::{Map, Value};

use super::end::CallEnd;
use super::{AfterCall, Call, USER_SAYS_NO, see_through};
use crate::event::TurnEnd;
use crate::scope::Scope;
use crate::services::Services;

/// Whether the user has still to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// As the rules say.
    Needed,
    /// The user wrote it. Only a no counts, or a hook that wants the user asked.
    Given,
}

/// How a call is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// Like the model's calls.
    Plain,
    /// Under another name: `!`.
    As(&'static str),
    /// Not at all: it belongs to a prompt, which is shown. A question says for what it is.
    Quiet(Option<String>),
}

/// A tool that is to run.
pub(crate) struct Wanted<'a> {
    pub(crate) id: String,
    pub(crate) tool: &'a str,
    pub(crate) args: Map<String, Value>,
    pub(crate) requested_by: RequestedBy,
    pub(crate) consent: Consent,
    pub(crate) voice: Voice,
    /// Other tools than the model's, whose number settings may narrow.
    pub(crate) tools: Option<Arc<ToolSet>>,
}

/// A call that hooks and rules have let pass.
pub(crate) struct Admitted<'a> {
    call: Call<'a>,
    tool: Arc<dyn Tool>,
}

/// What a tool gave for a prompt.
pub(crate) struct Given {
    /// The result; where hooks hid it, their reason stands in the place of its content.
    pub(crate) result: ToolResult,
    pub(crate) is_hidden: bool,
    /// What hooks add to it, marked as theirs; it is part of the content, too.
    pub(crate) added: Option<String>,
    /// Whether it is what the tool gave that was asked for.
    pub(crate) is_its_own: bool,
}

impl Given {
    /// Whether it is what a command printed, and not a hook's word or another tool's.
    pub(crate) fn is_command_output(&self) -> bool {
        self.is_its_own && !self.is_hidden
    }
}

/// Why a tool did not run, or why what it gave does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotRun {
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

impl NotRun {
    /// The end of the turn that it means, if it means one; else why.
    pub(crate) fn end(self) -> Result<String, TurnEnd> {
        match self {
            NotRun::Stopped(reason) => Err(TurnEnd::Stopped(reason)),
            NotRun::Cancelled => Err(TurnEnd::Cancelled),
            NotRun::Refused(reason) => Ok(reason),
            NotRun::Denied(word) => {
                Ok(format!("{USER_SAYS_NO}{}", word.map(|word| format!(": {word}")).unwrap_or_default()))
            }
            NotRun::Failed(failure) => Ok(failure.message),
        }
    }
}

/// Asks hooks, rules and, where they want it, the user.
pub(crate) async fn admit<'a>(
    services: &'a Arc<Services>,
    wanted: Wanted<'a>,
    scope: &'a Scope,
) -> Result<Admitted<'a>, NotRun> {
    let first = Call::new(services, wanted.id, wanted.tool, wanted.args, scope);
    let mut call = Call {
        requested_by: wanted.requested_by,
        consent: wanted.consent,
        voice: wanted.voice,
        tools: wanted.tools.unwrap_or_else(|| first.tools.clone()),
        ..first
    };
    match call.admit(None).await {
        Ok(tool) => Ok(Admitted { call, tool }),
        Err(end) => {
            call.tell(&end);
            Err(not_run(*end))
        }
    }
}

impl Admitted<'_> {
    /// The arguments that it will run with.
    pub(crate) fn args(&self) -> &Map<String, Value> {
        &self.call.args
    }

    /// What it will do, in one line.
    pub(crate) fn describe(&self) -> String {
        self.tool.describe(&Value::Object(self.call.args.clone()))
    }

    /// Runs it; hooks judge what it gives, and may put another tool in its place.
    pub(crate) async fn run(self) -> Result<Given, NotRun> {
        let (call, end) = see_through(self.call, Some(self.tool), None).await;
        call.tell(&end);
        match end.after {
            AfterCall::GoOn if end.result.error.as_ref().is_none_or(|_| end.is_hidden) => {
                let is_its_own = call.original.is_none();
                Ok(Given { result: end.result, is_hidden: end.is_hidden, added: end.added, is_its_own })
            }
            _ => Err(not_run(end)),
        }
    }
}

/// Both in one.
pub(crate) async fn run(services: &Arc<Services>, wanted: Wanted<'_>, scope: &Scope) -> Result<Given, NotRun> {
    admit(services, wanted, scope).await?.run().await
}

fn not_run(end: CallEnd) -> NotRun {
    match end.after {
        AfterCall::Stop(reason) => return NotRun::Stopped(reason),
        AfterCall::Cancel => return NotRun::Cancelled,
        AfterCall::GoOn => {}
    }
    match end.result.error {
        Some(failure) if failure.kind == ToolErrorKind::PolicyViolation => NotRun::Refused(failure.message),
        Some(failure) => match failure.message.strip_prefix(USER_SAYS_NO) {
            Some(word) => NotRun::Denied(word.strip_prefix(": ").map(str::to_owned)),
            None => NotRun::Failed(failure),
        },
        None => NotRun::Failed(ToolFailure::new(ToolErrorKind::ExecutionFailed, "it gave nothing")),
    }
}
