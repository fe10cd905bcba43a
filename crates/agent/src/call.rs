//! One tool call's life: may it run (`admit.rs`), execution, its end (`end.rs`), and whatever a hook puts in its place. The
//! model's calls begin here; those that a prompt brings along begin in `prompt_tools.rs`.

mod admit;
mod end;
pub(crate) mod prompt_tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hookwright_hooks::{DISK_TIMEOUT_MESSAGE, EventKind, PathResolver, RequestedBy, TailCall};
use hookwright_model::{FunctionCall, Part, ToolChoice};
use hookwright_tools::{
    FileDiff, OutputSink, Tool, ToolContext, ToolErrorKind, ToolFailure, ToolResult, ToolSet, Workspace,
};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::checkpoint::{CallTargets, MutatingCall};
use crate::event::{AgentEvent, CallDecision, CallNumber, ToolStart};
use crate::panics::run_tool_catching_panics;
use crate::protect::report_changes;
use crate::scope::TurnScope;
use crate::services::Services;
use crate::subagent::SubAgentDelegate;
use crate::web_search::ModelWebSearch;
use end::{CompletedCall, append_text, failed_call};
use prompt_tools::{UserConsent, Visibility};

/// How a no of the user's begins.
const USER_DENIAL_PREFIX: &str = "the user did not allow this";
/// The most tools that may take one another's place.
const MAX_TAIL_CALLS: usize = 8;

/// What a call gives back to the turn.
pub(crate) struct CallResult {
    /// What the model is told.
    pub(crate) parts: Vec<Part>,
    /// Whether the agent goes on.
    pub(crate) control: TurnControl,
    /// What is to be kept in the place of the model's arguments.
    pub(crate) redacted_args: Option<Map<String, Value>>,
}

/// Whether hooks will see a call of this tool before it runs.
pub(crate) fn has_before_tool_hooks(services: &Services, tool: &str) -> bool {
    has_hooks_for(services, &services.tools.current(), EventKind::BeforeTool, hookwright_tools::canonical_name(tool))
}

/// Whether hooks run on this event of a tool, by any of its names.
fn has_hooks_for(services: &Services, tools: &ToolSet, kind: EventKind, name: &str) -> bool {
    let of = tools.get(name).and_then(|tool| Some((tool.name(), tool.mcp_origin()?)));
    let mcp = of.map(|(known, of)| of.mcp_name(known));
    services.hooks.plan_with_mcp_name(kind, Some(name), mcp).is_some()
}

/// Arguments of which only the names are kept.
pub(crate) fn redact_values(mut args: Map<String, Value>) -> Map<String, Value> {
    args.values_mut().for_each(|value| *value = Value::String("[redacted]".to_owned()));
    args
}

/// Tells that the model asked for a tool.
pub(crate) fn announce_request(services: &Services, call_id: &str, name: &str, args: Map<String, Value>) {
    let (call_id, name) = (call_id.to_owned(), name.to_owned());
    services.events.send(AgentEvent::ToolRequested { call_id, name, args });
}

/// Whether the agent goes on after a call.
pub(crate) enum TurnControl {
    Continue,
    Stop(String),
    Cancel,
}

/// A call on its way.
struct ToolInvocation<'a> {
    services: &'a Arc<Services>,
    id: String,
    name: String,
    /// The name that it was asked for by, which may be an older one.
    requested_name: String,
    args: Map<String, Value>,
    requested_by: RequestedBy,
    consent: UserConsent,
    visibility: Visibility,
    /// The tools of the moment in which it was made: what is judged is what runs.
    tools: Arc<ToolSet>,
    /// Where its paths lead: looked up once, for hooks, rules and the tool alike.
    workspace: Arc<Workspace>,
    /// For a tool of an MCP server, what hooks are told of that.
    mcp_context: Option<Value>,
    /// For a tail call: the tool that the model asked for.
    tail_call_origin: Option<String>,
    /// The model's own arguments, until it is told that it asked.
    unannounced_args: Option<Map<String, Value>>,
    /// What is to be kept in the place of the model's arguments.
    redacted_args: Option<Map<String, Value>>,
    rewritten_args: Vec<String>,
    /// What hooks changed, as it was before.
    original_args: Map<String, Value>,
    /// Which of the answer's calls it is.
    call_number: Option<CallNumber>,
    decision: Option<CallDecision>,
    /// The protected file that the user lets it change.
    allowed_path: Option<PathBuf>,
    /// The change of a file that the user was shown and has allowed.
    approved_diff: Option<Arc<FileDiff>>,
    scope: &'a TurnScope,
}

/// What came of a call.
enum CallProgress {
    /// It ran, or failed; the model goes on with this.
    Completed(Box<CompletedCall>),
    /// Another tool takes its place.
    TailCall(TailCall),
}

impl CallProgress {
    /// A hook may have stopped the agent from within the tool, at a request of its own to the model; or the user may have
    /// ended the turn there.
    fn propagate_stop(mut self) -> Self {
        if let CallProgress::Completed(end) = &mut self
            && let (TurnControl::Continue, Some(failure)) = (&end.control, &end.result.error)
        {
            end.control = match failure.kind {
                ToolErrorKind::StopExecution => TurnControl::Stop(failure.message.clone()),
                ToolErrorKind::Cancelled => TurnControl::Cancel,
                _ => TurnControl::Continue,
            };
        }
        self
    }
}

/// Runs a call of the model to its end, tail calls included.
pub(crate) async fn run_model_call(
    services: &Arc<Services>,
    call: &FunctionCall,
    call_id: &str,
    number: CallNumber,
    choice: Option<&ToolChoice>,
    scope: &TurnScope,
) -> CallResult {
    let first = ToolInvocation::new(services, call_id.to_owned(), &call.name, call.args.clone(), scope);
    let unannounced =
        has_hooks_for(services, &first.tools, EventKind::BeforeTool, &first.name).then(|| call.args.clone());
    let (last, end) = run_with_tail_calls(
        ToolInvocation { unannounced_args: unannounced, call_number: Some(number), ..first },
        None,
        choice,
    )
    .await;
    last.span().in_scope(|| last.into_model_result(call, end))
}

/// A call to its end, and whatever runs in its place: the last of them, and what came of it. One that is admitted already
/// is not judged again.
async fn run_with_tail_calls<'a>(
    first: ToolInvocation<'a>,
    mut admitted: Option<Arc<dyn Tool>>,
    choice: Option<&ToolChoice>,
) -> (ToolInvocation<'a>, CompletedCall) {
    let (call_id, asked_for) = (first.id.clone(), first.requested_name.clone());
    let mut next = first;
    let mut depth = 0;
    loop {
        // What a hook chose is not the model's choice any more.
        let choice = choice.filter(|_| depth == 0);
        let span = next.span();
        let ran = next.run(admitted.take(), choice).instrument(span).await;
        report_changes(next.services, next.scope).await;
        let tail = match ran {
            CallProgress::Completed(finished) => return (next, *finished),
            CallProgress::TailCall(tail) if depth >= MAX_TAIL_CALLS => {
                let message = format!(
                    "more than {MAX_TAIL_CALLS} tools in a row wanted to run in its place; {} did not",
                    tail.name
                );
                return (next, failed_call(ToolErrorKind::ExecutionFailed, message));
            }
            CallProgress::TailCall(tail) => tail,
        };
        depth += 1;
        next = ToolInvocation {
            requested_by: RequestedBy::Hook,
            tail_call_origin: Some(asked_for.clone()),
            visibility: next.visibility,
            redacted_args: next.redacted_args,
            ..ToolInvocation::new(next.services, format!("{call_id}-tail{depth}"), &tail.name, tail.args, next.scope)
        };
    }
}

impl<'a> ToolInvocation<'a> {
    fn new(
        services: &'a Arc<Services>,
        id: String,
        asked_for: &str,
        args: Map<String, Value>,
        scope: &'a TurnScope,
    ) -> Self {
        ToolInvocation {
            services,
            id,
            name: hookwright_tools::canonical_name(asked_for).to_owned(),
            requested_name: asked_for.to_owned(),
            args,
            requested_by: RequestedBy::Model,
            consent: UserConsent::Needed,
            visibility: Visibility::Normal,
            tools: services.tools.current(),
            workspace: Arc::new(services.call_context().workspace.for_call()),
            mcp_context: None,
            tail_call_origin: None,
            unannounced_args: None,
            redacted_args: None,
            rewritten_args: Vec::new(),
            original_args: Map::new(),
            call_number: None,
            decision: None,
            allowed_path: None,
            approved_diff: None,
            scope,
        }
    }

    /// What the tool may use.
    fn tool_context(&self) -> ToolContext {
        ToolContext {
            workspace: self.workspace.clone(),
            approved_diff: self.approved_diff.clone(),
            ..self.services.call_context()
        }
    }

    /// Where its paths lead, for those who judge it.
    fn path_resolver(&self) -> PathResolver {
        let workspace = self.workspace.clone();
        PathResolver::new(move |path| workspace.real_path(path))
    }

    /// What all that is logged of it belongs to.
    fn span(&self) -> tracing::Span {
        tracing::info_span!("call", id = self.id, tool = self.name)
    }

    async fn run(&mut self, admitted: Option<Arc<dyn Tool>>, choice: Option<&ToolChoice>) -> CallProgress {
        let tool = match admitted {
            Some(tool) => tool,
            None => match self.admit(choice).await {
                Ok(tool) => tool,
                Err(finished) => return CallProgress::Completed(finished),
            },
        };
        let started = Instant::now();
        let (mut result, kept) = self.execute(&tool).await;
        let duration = started.elapsed();
        if !self.rewritten_args.is_empty() {
            let note =
                format!("\n\n[hooks changed these arguments before the tool ran: {}]", self.rewritten_args.join(", "));
            append_text(&mut result.llm_content, &note);
        }
        let ran = self.after_tool(result, duration).await.propagate_stop();
        // What hooks made of it, as a formatter does, is the turn's too.
        if let Some(pending) = kept {
            self.checkpoint_after(pending).await;
        }
        ran
    }

    /// Runs the tool; its result, and what it may have changed.
    async fn execute(&self, tool: &Arc<dyn Tool>) -> (ToolResult, Option<CallTargets>) {
        let args = Value::Object(self.args.clone());
        tracing::debug!(rewritten = ?self.rewritten_args, "the tool runs");
        tracing::trace!(%args, "its arguments");
        self.send_visible(|name| {
            AgentEvent::ToolStarted(ToolStart {
                call_id: self.id.clone(),
                name,
                kind: tool.kind(),
                args: self.args.clone(),
                description: tool.describe(&args),
                rewritten_args: self.rewritten_args.clone(),
            })
        });
        let mut context = self.tool_context();
        context.cancel = self.scope.cancel.clone();
        context.search = Some(Arc::new(ModelWebSearch { services: self.services.clone(), scope: self.scope.clone() }));
        context.delegation = Some(Arc::new(SubAgentDelegate {
            services: self.services.clone(),
            scope: self.scope.clone(),
            call_id: self.id.clone(),
        }));
        let is_shown = !matches!(self.visibility, Visibility::Hidden(_));
        // Nobody types to a command that nobody sees.
        context.console = context.console.filter(|_| is_shown && self.services.events.has_live_viewer());
        context.console.iter_mut().for_each(|console| console.call_id = self.id.clone());
        if is_shown {
            let (events, call_id) = (self.services.events.clone(), self.id.clone());
            context.output = OutputSink::new(move |text| {
                events.send(AgentEvent::ToolOutput { call_id: call_id.clone(), text: text.to_owned() });
            });
        }
        // What the user's own command changes is the user's change.
        let may_change = !tool.kind().is_harmless() && self.requested_by != RequestedBy::User;
        let (result, kept) = match may_change {
            true => self.run_in_tamper_window(tool, &args, &context).await,
            false => (run_tool_catching_panics(tool, &args, &context).await, None),
        };
        if self.requested_by == RequestedBy::User && !tool.kind().is_harmless() {
            self.services.tamper_watch.rescan().await;
        }
        report_changes(self.services, self.scope).await;
        (result, kept)
    }

    /// Runs a tool whose changes to guards count as the agent's. Where they can't be watched, it does not run.
    async fn run_in_tamper_window(
        &self,
        tool: &Arc<dyn Tool>,
        args: &Value,
        context: &ToolContext,
    ) -> (ToolResult, Option<CallTargets>) {
        let Some(window) = self.services.tamper_watch.open_call_window(self.allowed_path.clone()).await else {
            let text = format!("{DISK_TIMEOUT_MESSAGE}, so the call could not be watched and did not run");
            return (ToolFailure::new(ToolErrorKind::PolicyViolation, text).into(), None);
        };
        let kept = self.checkpoint_before().await;
        let result = run_tool_catching_panics(tool, args, context).await;
        window.close().await;
        (result, kept)
    }

    /// Keeps what it will change, so that it can be brought back.
    async fn checkpoint_before(&self) -> Option<CallTargets> {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let (pending, trouble) = spawn_file_work(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching =
                MutatingCall { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.before_call(&touching)
        })
        .await?;
        self.warn(trouble);
        pending
    }

    /// Looks at what it has changed.
    async fn checkpoint_after(&self, pending: CallTargets) {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let trouble = spawn_file_work(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching =
                MutatingCall { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.after_call(&pending, &touching)
        })
        .await;
        self.warn(trouble.flatten());
    }

    fn warn(&self, trouble: Option<String>) {
        trouble.into_iter().for_each(|trouble| self.services.events.send(AgentEvent::Warning(trouble)));
    }

    /// Tells the screen, if it is to know, under the name that it knows.
    fn send_visible(&self, event: impl FnOnce(String) -> AgentEvent) {
        match &self.visibility {
            Visibility::Normal => self.services.events.send(event(self.name.clone())),
            Visibility::Renamed(name) => self.services.events.send(event((*name).to_owned())),
            Visibility::Hidden(_) => {}
        }
    }
}

/// Work with files, on a thread that nobody else waits for.
async fn spawn_file_work<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
