//! Runs one tool call: admission (`admit.rs`), execution, completion (`end.rs`), and the tail calls that hooks request.
//!
//! Calls of the model start here; calls that a prompt brings along start in `prompt_tools.rs`.

mod admit;
mod arguments;
mod confine;
mod end;
mod policy_record;
mod project_reads;
pub(crate) mod prompt_tools;

use std::ffi::OsString;
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

use crate::approval::PolicyDecision;
use crate::checkpoint::{CallTargets, MutatingCall};
use crate::event::{AgentNotice, CallDecision, CallNumber, ToolEvent, ToolStart};
use crate::panics::run_tool_catching_panics;
use crate::protect::report_changes;
use crate::scope::TurnScope;
use crate::services::Services;
use crate::subagent::SubAgentDelegate;
use crate::web_search::ModelWebSearch;
use arguments::CallArguments;
use confine::CallConfinement;
use end::{CompletedCall, append_text, failed_call};
use prompt_tools::{UserConsent, Visibility};

/// The beginning of the message when the user denied a call.
const USER_DENIAL_MESSAGE: &str = "the user did not allow this";
/// The maximum number of tail calls in a row.
const MAX_TAIL_CALLS: usize = 8;

/// The result of a call for the turn.
pub(crate) struct CallResult {
    /// The parts that the model reads.
    pub(crate) parts: Vec<Part>,
    /// Whether the turn continues.
    pub(crate) control: TurnControl,
    /// The arguments to keep in place of the model's.
    pub(crate) redacted_args: Option<Map<String, Value>>,
}

/// A call in an answer of the model.
#[derive(Clone)]
pub(crate) struct PlannedCall {
    pub(crate) call: FunctionCall,
    /// Whether BeforeTool hooks will judge the call. Until they have, its arguments are neither announced nor recorded.
    pub(crate) is_judged: bool,
}

impl PlannedCall {
    pub(crate) fn new(services: &Services, call: FunctionCall) -> Self {
        let name = hookwright_tools::canonical_name(&call.name);
        let is_judged = has_hooks_for(services, &services.tools.current(), EventKind::BeforeTool, name);
        PlannedCall { call, is_judged }
    }
}

/// Returns whether hooks run on this event for a tool, under any of its names.
fn has_hooks_for(services: &Services, tools: &ToolSet, kind: EventKind, name: &str) -> bool {
    let of = tools.get(name).and_then(|tool| Some((tool.name(), tool.mcp_origin()?)));
    let mcp = of.map(|(known, of)| of.mcp_name(known));
    services.hooks.plan_with_mcp_name(kind, Some(name), mcp).is_some()
}

/// Replaces all values of the arguments and keeps their names.
pub(crate) fn redact_values(mut args: Map<String, Value>) -> Map<String, Value> {
    args.values_mut().for_each(|value| *value = Value::String("[redacted]".to_owned()));
    args
}

/// Reports that the model requested a tool call.
pub(crate) fn announce_request(services: &Services, call_id: &str, name: &str, args: Map<String, Value>) {
    let (call_id, name) = (call_id.to_owned(), name.to_owned());
    services.events.send(ToolEvent::Requested { call_id, name, args });
}

/// Whether the turn continues after a call.
pub(crate) enum TurnControl {
    Continue,
    Stop(String),
    Cancel,
}

/// A tool call in progress.
struct ToolInvocation<'a> {
    services: &'a Arc<Services>,
    id: String,
    name: String,
    /// The name in the request, which may be an alias.
    requested_name: String,
    args: CallArguments,
    requested_by: RequestedBy,
    consent: UserConsent,
    visibility: Visibility,
    /// The tools at the time of the request, so that the tool that is judged is the tool that runs.
    tools: Arc<ToolSet>,
    /// The workspace that resolves the call's paths, once for hooks, rules and the tool.
    workspace: Arc<Workspace>,
    /// For an MCP tool, the context that hooks get about its server.
    mcp_context: Option<Value>,
    /// For a tail call, the tool that the model requested.
    tail_call_origin: Option<String>,
    /// The model's own arguments, until the request is announced.
    unannounced_args: Option<Map<String, Value>>,
    /// The arguments to keep in place of the model's.
    redacted_args: Option<Map<String, Value>>,
    /// The arguments that are left out of all records because a hook failed; no hook asked for that.
    unrecorded_args: Option<Map<String, Value>>,
    rewritten_args: Vec<String>,
    /// The values of the arguments before hooks changed them.
    original_args: Map<String, Value>,
    /// The call's number among the calls of the answer.
    call_number: Option<CallNumber>,
    decision: Option<CallDecision>,
    /// What a policy or a tool list decided.
    policy: Option<PolicyDecision>,
    /// Who refused the call, if not a hook.
    refused_by: Option<&'static str>,
    /// The protected file that the user lets the call change.
    allowed_path: Option<PathBuf>,
    /// The file change that the user saw and approved.
    approved_diff: Option<Arc<FileDiff>>,
    /// What hooks want the command to be kept to.
    confinement: CallConfinement,
    /// The words that stand before the command's own so that it runs confined.
    confinement_words: Arc<[OsString]>,
    scope: &'a TurnScope,
}

/// The outcome of one step of a call.
enum CallProgress {
    /// The call ran or failed; this is its result.
    Completed(Box<CompletedCall>),
    /// A hook requests another tool in its place.
    TailCall(TailCall),
}

impl CallProgress {
    /// Sets the turn's control from the tool's failure: a hook may have stopped the agent, or the user cancelled the
    /// turn, during a request that the tool itself made.
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

/// Runs a call of the model, with its tail calls, and returns the result for the turn.
pub(crate) async fn run_model_call(
    services: &Arc<Services>,
    PlannedCall { call, is_judged }: &PlannedCall,
    call_id: &str,
    number: CallNumber,
    choice: Option<&ToolChoice>,
    scope: &TurnScope,
) -> CallResult {
    let first = ToolInvocation::new(services, call_id.to_owned(), &call.name, call.args.clone(), scope);
    let unannounced = is_judged.then(|| call.args.clone());
    let (last, end) = run_with_tail_calls(
        ToolInvocation { unannounced_args: unannounced, call_number: Some(number), ..first },
        None,
        choice,
    )
    .await;
    last.span().in_scope(|| last.model_result(call, end))
}

/// Runs a call and its tail calls, and returns the last of them with its result.
///
/// A call with an admitted tool is not judged again.
async fn run_with_tail_calls<'a>(
    first: ToolInvocation<'a>,
    mut admitted: Option<Arc<dyn Tool>>,
    choice: Option<&ToolChoice>,
) -> (ToolInvocation<'a>, CompletedCall) {
    let (call_id, asked_for) = (first.id.clone(), first.requested_name.clone());
    let mut next = first;
    let mut depth = 0;
    loop {
        // The model's tool choice does not restrict tail calls, which hooks request.
        let choice = choice.filter(|_| depth == 0);
        let span = next.span();
        let ran = next.run(admitted.take(), choice).instrument(span).await;
        report_changes(next.services, next.scope).await;
        let tail = match ran {
            CallProgress::Completed(finished) => return (next, *finished),
            CallProgress::TailCall(tail) if depth >= MAX_TAIL_CALLS => {
                let message = format!(
                    "hooks asked for more than {MAX_TAIL_CALLS} tail calls in a row; {} was not run",
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
            args: args.into(),
            requested_by: RequestedBy::Model,
            consent: UserConsent::Needed,
            visibility: Visibility::Normal,
            tools: services.tools.current(),
            workspace: Arc::new(services.call_context().workspace.for_call()),
            mcp_context: None,
            tail_call_origin: None,
            unannounced_args: None,
            redacted_args: None,
            unrecorded_args: None,
            rewritten_args: Vec::new(),
            original_args: Map::new(),
            call_number: None,
            decision: None,
            policy: None,
            refused_by: None,
            allowed_path: None,
            approved_diff: None,
            confinement: CallConfinement::default(),
            confinement_words: Arc::default(),
            scope,
        }
    }

    /// Returns the context that the tool runs with.
    fn tool_context(&self) -> ToolContext {
        ToolContext {
            workspace: self.workspace.clone(),
            approved_diff: self.approved_diff.clone(),
            confinement_words: self.confinement_words.clone(),
            ..self.services.call_context()
        }
    }

    /// Returns the resolver of the call's paths, for hooks.
    fn path_resolver(&self) -> PathResolver {
        let workspace = self.workspace.clone();
        PathResolver::new(move |path| workspace.real_path(path))
    }

    /// Returns the tracing span of the call.
    fn span(&self) -> tracing::Span {
        tracing::info_span!("call", id = self.id, tool = self.name)
    }

    async fn run(&mut self, admitted: Option<Arc<dyn Tool>>, choice: Option<&ToolChoice>) -> CallProgress {
        let tool = match admitted {
            Some(tool) => tool,
            None => match Box::pin(self.admit(choice)).await {
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
        if let Some(note) = self.confinement_note() {
            append_text(&mut result.llm_content, &note);
        }
        let ran = self.after_tool(result, duration).await.propagate_stop();
        // Changes by AfterTool hooks, such as a formatter's, belong to the turn too.
        if let Some(pending) = kept {
            self.checkpoint_after(pending).await;
        }
        ran
    }

    /// Runs the tool and returns its result, with the files that it may have changed.
    async fn execute(&self, tool: &Arc<dyn Tool>) -> (ToolResult, Option<CallTargets>) {
        let args = self.args.as_value();
        tracing::debug!(rewritten = ?self.rewritten_args, "the tool runs");
        tracing::trace!(%args, "its arguments");
        self.send_visible(|name| {
            ToolEvent::Started(ToolStart {
                call_id: self.id.clone(),
                name,
                kind: tool.kind(),
                args: self.args.to_map(),
                description: tool.describe(args),
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
        // A command whose output is not shown gets no console to type into.
        context.console = context.console.filter(|_| is_shown && self.services.events.has_live_viewer());
        context.console.iter_mut().for_each(|console| console.call_id = self.id.clone());
        if is_shown {
            let (events, call_id) = (self.services.events.clone(), self.id.clone());
            context.output = OutputSink::new(move |text| {
                events.send(ToolEvent::Output { call_id: call_id.clone(), text: text.to_owned() });
            });
        }
        // Changes by the user's own command are not attributed to the agent.
        let may_change = !tool.kind().is_harmless() && self.requested_by != RequestedBy::User;
        let (result, kept) = match may_change {
            true => self.run_in_tamper_window(tool, args, &context).await,
            false => (run_tool_catching_panics(tool, args, &context).await, None),
        };
        if self.requested_by == RequestedBy::User && !tool.kind().is_harmless() {
            self.services.tamper_watch.rescan().await;
        }
        report_changes(self.services, self.scope).await;
        (result, kept)
    }

    /// Runs a tool whose changes to guard files are attributed to the agent. If
    /// they cannot be watched, it does not run.
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

    /// Records the state of the files that the call will change, for the checkpoint.
    async fn checkpoint_before(&self) -> Option<CallTargets> {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let (pending, problem) = spawn_file_work(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching =
                MutatingCall { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.before_call(&touching)
        })
        .await?;
        self.warn(problem);
        pending
    }

    /// Records the files that the call has changed.
    async fn checkpoint_after(&self, pending: CallTargets) {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let problem = spawn_file_work(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching =
                MutatingCall { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.after_call(&pending, &touching)
        })
        .await;
        self.warn(problem.flatten());
    }

    fn warn(&self, problem: Option<String>) {
        problem.into_iter().for_each(|problem| self.services.events.send(AgentNotice::Warning(problem)));
    }

    /// Sends an event about the call, unless it is hidden, under the name that the front end shows.
    fn send_visible(&self, event: impl FnOnce(String) -> ToolEvent) {
        match &self.visibility {
            Visibility::Normal => self.services.events.send(event(self.name.clone())),
            Visibility::Renamed(name) => self.services.events.send(event((*name).to_owned())),
            Visibility::Hidden(_) => {}
        }
    }
}

/// Runs file work on a blocking thread, so that it holds up no async task.
async fn spawn_file_work<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
