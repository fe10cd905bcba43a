//! One tool call's life: may it run (`admit.rs`), execution, its end (`end.rs`), and whatever a hook puts in its place. The
//! model's calls begin here; those that a prompt brings along begin in `wanted.rs`.

mod admit;
mod end;
pub(crate) mod wanted;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hookwright_hooks::{DISK_SILENT, EventKind, PathResolver, RequestedBy, TailCall};
use hookwright_model::{FunctionCall, Part, ToolChoice};
use hookwright_tools::{
    FileDiff, OutputSink, Tool, ToolContext, ToolErrorKind, ToolFailure, ToolResult, ToolSet, Workspace,
};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::checkpoint::{Pending, Touching};
use crate::event::{AgentEvent, CallDecision, CallNumber, ToolStart};
use crate::panics::run_tool;
use crate::protect::settle;
use crate::scope::Scope;
use crate::search::Search;
use crate::services::Services;
use crate::subagent::Delegate;
use end::{CallEnd, append, failure};
use wanted::{Consent, Voice};

/// How a no of the user's begins.
const USER_SAYS_NO: &str = "the user did not allow this";
/// The most tools that may take one another's place.
const TAIL_CALLS: usize = 8;

/// What a call gives back to the turn.
pub(crate) struct CallResult {
    /// What the model is told.
    pub(crate) parts: Vec<Part>,
    /// Whether the agent goes on.
    pub(crate) after: AfterCall,
    /// What is to be kept in the place of the model's arguments.
    pub(crate) redacted: Option<Map<String, Value>>,
}

/// Whether hooks will see a call of this tool before it runs.
pub(crate) fn is_watched(services: &Services, tool: &str) -> bool {
    is_planned(services, &services.tools.now(), EventKind::BeforeTool, hookwright_tools::canonical_name(tool))
}

/// Whether hooks run on this event of a tool, by any of its names.
fn is_planned(services: &Services, tools: &ToolSet, kind: EventKind, name: &str) -> bool {
    let of = tools.get(name).and_then(|tool| Some((tool.name(), tool.server()?)));
    let mcp = of.map(|(known, of)| of.named(known));
    services.hooks.plan_as(kind, Some(name), mcp).is_some()
}

/// Arguments of which only the names are kept.
pub(crate) fn redacted(mut args: Map<String, Value>) -> Map<String, Value> {
    args.values_mut().for_each(|value| *value = Value::String("[redacted]".to_owned()));
    args
}

/// Tells that the model asked for a tool.
pub(crate) fn announce(services: &Services, call_id: &str, name: &str, args: Map<String, Value>) {
    let (call_id, name) = (call_id.to_owned(), name.to_owned());
    services.events.send(AgentEvent::ToolRequested { call_id, name, args });
}

/// Whether the agent goes on after a call.
pub(crate) enum AfterCall {
    GoOn,
    Stop(String),
    Cancel,
}

/// A call on its way.
struct Call<'a> {
    services: &'a Arc<Services>,
    id: String,
    name: String,
    /// The name that it was asked for by, which may be an older one.
    asked_for: String,
    args: Map<String, Value>,
    requested_by: RequestedBy,
    consent: Consent,
    voice: Voice,
    /// The tools of the moment in which it was made: what is judged is what runs.
    tools: Arc<ToolSet>,
    /// Where its paths lead: looked up once, for hooks, rules and the tool alike.
    workspace: Arc<Workspace>,
    /// For a tool of an MCP server, what hooks are told of that.
    mcp_context: Option<Value>,
    /// For a tail call: the tool that the model asked for.
    original: Option<String>,
    /// The model's own arguments, until it is told that it asked.
    unannounced: Option<Map<String, Value>>,
    /// What is to be kept in the place of the model's arguments.
    redacted: Option<Map<String, Value>>,
    rewritten: Vec<String>,
    /// What hooks changed, as it was before.
    before: Map<String, Value>,
    /// Which of the answer's calls it is.
    number: Option<CallNumber>,
    decision: Option<CallDecision>,
    /// The protected file that the user lets it change.
    allowed: Option<PathBuf>,
    /// The change of a file that the user was shown and has allowed.
    shown: Option<Arc<FileDiff>>,
    scope: &'a Scope,
}

/// What came of a call.
enum Ran {
    /// It ran, or failed; the model goes on with this.
    Done(Box<CallEnd>),
    /// Another tool takes its place.
    Replaced(TailCall),
}

impl Ran {
    /// A hook may have stopped the agent from within the tool, at a request of its own to the model; or the user may have
    /// ended the turn there.
    fn or_stopped(mut self) -> Self {
        if let Ran::Done(end) = &mut self
            && let (AfterCall::GoOn, Some(failure)) = (&end.after, &end.result.error)
        {
            end.after = match failure.kind {
                ToolErrorKind::StopExecution => AfterCall::Stop(failure.message.clone()),
                ToolErrorKind::Cancelled => AfterCall::Cancel,
                _ => AfterCall::GoOn,
            };
        }
        self
    }
}

/// Runs a call of the model to its end, tail calls included.
pub(crate) async fn run(
    services: &Arc<Services>,
    call: &FunctionCall,
    call_id: &str,
    number: CallNumber,
    choice: Option<&ToolChoice>,
    scope: &Scope,
) -> CallResult {
    let first = Call::new(services, call_id.to_owned(), &call.name, call.args.clone(), scope);
    let unannounced = is_planned(services, &first.tools, EventKind::BeforeTool, &first.name).then(|| call.args.clone());
    let (last, end) = see_through(Call { unannounced, number: Some(number), ..first }, None, choice).await;
    last.span().in_scope(|| last.conclude(call, end))
}

/// A call to its end, and whatever runs in its place: the last of them, and what came of it. One that is admitted already
/// is not judged again.
async fn see_through<'a>(
    first: Call<'a>,
    mut admitted: Option<Arc<dyn Tool>>,
    choice: Option<&ToolChoice>,
) -> (Call<'a>, CallEnd) {
    let (call_id, asked_for) = (first.id.clone(), first.asked_for.clone());
    let mut next = first;
    let mut depth = 0;
    loop {
        // What a hook chose is not the model's choice any more.
        let choice = choice.filter(|_| depth == 0);
        let span = next.span();
        let ran = next.run(admitted.take(), choice).instrument(span).await;
        settle(next.services, next.scope).await;
        let tail = match ran {
            Ran::Done(finished) => return (next, *finished),
            Ran::Replaced(tail) if depth >= TAIL_CALLS => {
                let message =
                    format!("more than {TAIL_CALLS} tools in a row wanted to run in its place; {} did not", tail.name);
                return (next, failure(ToolErrorKind::ExecutionFailed, message));
            }
            Ran::Replaced(tail) => tail,
        };
        depth += 1;
        next = Call {
            requested_by: RequestedBy::Hook,
            original: Some(asked_for.clone()),
            voice: next.voice,
            redacted: next.redacted,
            ..Call::new(next.services, format!("{call_id}-tail{depth}"), &tail.name, tail.args, next.scope)
        };
    }
}

impl<'a> Call<'a> {
    fn new(
        services: &'a Arc<Services>,
        id: String,
        asked_for: &str,
        args: Map<String, Value>,
        scope: &'a Scope,
    ) -> Self {
        Call {
            services,
            id,
            name: hookwright_tools::canonical_name(asked_for).to_owned(),
            asked_for: asked_for.to_owned(),
            args,
            requested_by: RequestedBy::Model,
            consent: Consent::Needed,
            voice: Voice::Plain,
            tools: services.tools.now(),
            workspace: Arc::new(services.context().workspace.for_call()),
            mcp_context: None,
            original: None,
            unannounced: None,
            redacted: None,
            rewritten: Vec::new(),
            before: Map::new(),
            number: None,
            decision: None,
            allowed: None,
            shown: None,
            scope,
        }
    }

    /// What the tool may use.
    fn context(&self) -> ToolContext {
        ToolContext { workspace: self.workspace.clone(), shown: self.shown.clone(), ..self.services.context() }
    }

    /// Where its paths lead, for those who judge it.
    fn paths(&self) -> PathResolver {
        let workspace = self.workspace.clone();
        PathResolver::new(move |path| workspace.leads_to(path))
    }

    /// What all that is logged of it belongs to.
    fn span(&self) -> tracing::Span {
        tracing::info_span!("call", id = self.id, tool = self.name)
    }

    async fn run(&mut self, admitted: Option<Arc<dyn Tool>>, choice: Option<&ToolChoice>) -> Ran {
        let tool = match admitted {
            Some(tool) => tool,
            None => match self.admit(choice).await {
                Ok(tool) => tool,
                Err(finished) => return Ran::Done(finished),
            },
        };
        let started = Instant::now();
        let (mut result, kept) = self.execute(&tool).await;
        let duration = started.elapsed();
        if !self.rewritten.is_empty() {
            let note =
                format!("\n\n[hooks changed these arguments before the tool ran: {}]", self.rewritten.join(", "));
            append(&mut result.llm_content, &note);
        }
        let ran = self.after_tool(result, duration).await.or_stopped();
        // What hooks made of it, as a formatter does, is the turn's too.
        if let Some(pending) = kept {
            self.keep_after(pending).await;
        }
        ran
    }

    /// Runs the tool; its result, and what it may have changed.
    async fn execute(&self, tool: &Arc<dyn Tool>) -> (ToolResult, Option<Pending>) {
        let args = Value::Object(self.args.clone());
        tracing::debug!(rewritten = ?self.rewritten, "the tool runs");
        tracing::trace!(%args, "its arguments");
        self.say(|name| {
            AgentEvent::ToolStarted(ToolStart {
                call_id: self.id.clone(),
                name,
                kind: tool.kind(),
                args: self.args.clone(),
                description: tool.describe(&args),
                rewritten: self.rewritten.clone(),
            })
        });
        let mut context = self.context();
        context.cancel = self.scope.cancel.clone();
        context.search = Some(Arc::new(Search { services: self.services.clone(), scope: self.scope.clone() }));
        context.delegation = Some(Arc::new(Delegate {
            services: self.services.clone(),
            scope: self.scope.clone(),
            call_id: self.id.clone(),
        }));
        let is_shown = !matches!(self.voice, Voice::Quiet(_));
        // Nobody types to a command that nobody sees.
        context.console = context.console.filter(|_| is_shown && self.services.events.are_followed());
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
            true => self.run_watched(tool, &args, &context).await,
            false => (run_tool(tool, &args, &context).await, None),
        };
        if self.requested_by == RequestedBy::User && !tool.kind().is_harmless() {
            self.services.guards.rescan().await;
        }
        settle(self.services, self.scope).await;
        (result, kept)
    }

    /// Runs a tool whose changes to guards count as the agent's. Where they can't be watched, it does not run.
    async fn run_watched(
        &self,
        tool: &Arc<dyn Tool>,
        args: &Value,
        context: &ToolContext,
    ) -> (ToolResult, Option<Pending>) {
        let Some(window) = self.services.guards.call(self.allowed.clone()).await else {
            let text = format!("{DISK_SILENT}, so the call could not be watched and did not run");
            return (ToolFailure::new(ToolErrorKind::PolicyViolation, text).into(), None);
        };
        let kept = self.keep_before().await;
        let result = run_tool(tool, args, context).await;
        window.close().await;
        (result, kept)
    }

    /// Keeps what it will change, so that it can be brought back.
    async fn keep_before(&self) -> Option<Pending> {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let (pending, trouble) = aside(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching = Touching { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.before(&touching)
        })
        .await?;
        self.warn(trouble);
        pending
    }

    /// Looks at what it has changed.
    async fn keep_after(&self, pending: Pending) {
        let (services, workspace) = (self.services.clone(), self.workspace.clone());
        let (tool, args) = (self.name.clone(), self.args.clone());
        let trouble = aside(move || {
            let protected = services.approvals.protected();
            let is_protected = |path: &Path| protected.covers(path);
            let touching = Touching { tool: &tool, args: &args, workspace: &workspace, is_protected: &is_protected };
            services.checkpoints.after(&pending, &touching)
        })
        .await;
        self.warn(trouble.flatten());
    }

    fn warn(&self, trouble: Option<String>) {
        trouble.into_iter().for_each(|trouble| self.services.events.send(AgentEvent::Warning(trouble)));
    }

    /// Tells the screen, if it is to know, under the name that it knows.
    fn say(&self, event: impl FnOnce(String) -> AgentEvent) {
        match &self.voice {
            Voice::Plain => self.services.events.send(event(self.name.clone())),
            Voice::As(name) => self.services.events.send(event((*name).to_owned())),
            Voice::Quiet(_) => {}
        }
    }
}

/// Work with files, on a thread that nobody else waits for.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
