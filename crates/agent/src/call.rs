//! One tool call's life: schema, BeforeTool, approval, Notification, execution, AfterTool, tail call.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_hooks::{AfterTool, AfterToolVerdict, BeforeTool, BeforeToolVerdict, EventKind, RequestedBy, TailCall};
use hookwright_model::{FunctionCall, Part, ToolChoice};
use hookwright_tools::{Display, OutputSink, ResultContent, Tool, ToolErrorKind, ToolFailure, ToolKind, ToolResult};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::approval::{Flags, Judgement, Permission};
use crate::ask::ask;
use crate::event::{AgentEvent, ApprovalReply, ApprovalRequest, AskedBy, CallDecision, CallError, ToolEnd, ToolStart};
use crate::panics::run_tool;
use crate::protect::settle;
use crate::scope::Scope;
use crate::search::Search;
use crate::services::{Interaction, Services};
use crate::translate::hook_context;

/// The most tools that may take one another's place.
const TAIL_CALLS: usize = 8;

/// What a call gives back to the turn.
pub(crate) struct CallResult {
    /// What the model is told.
    pub(crate) parts: Vec<Part>,
    /// Whether the agent goes on.
    pub(crate) after: AfterCall,
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
    args: Map<String, Value>,
    requested_by: RequestedBy,
    /// For a tail call: the tool that the model asked for.
    original: Option<String>,
    rewritten: Vec<String>,
    decision: Option<CallDecision>,
    /// The protected file that the user lets it change.
    allowed: Option<PathBuf>,
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
    /// A hook may have stopped the agent from within the tool, at a request of its own to the model.
    fn or_stopped(mut self) -> Self {
        if let Ran::Done(end) = &mut self
            && let (AfterCall::GoOn, Some(failure)) = (&end.after, &end.result.error)
            && failure.kind == ToolErrorKind::StopExecution
        {
            end.after = AfterCall::Stop(failure.message.clone());
        }
        self
    }
}

struct CallEnd {
    result: ToolResult,
    metadata: Map<String, Value>,
    duration: Duration,
    after: AfterCall,
}

/// Runs a call of the model to its end, tail calls included.
pub(crate) async fn run(
    services: &Arc<Services>,
    call: &FunctionCall,
    call_id: &str,
    choice: Option<&ToolChoice>,
    scope: &Scope,
) -> CallResult {
    let mut next = Call {
        services,
        id: call_id.to_owned(),
        name: hookwright_tools::canonical_name(&call.name).to_owned(),
        args: call.args.clone(),
        requested_by: RequestedBy::Model,
        original: None,
        rewritten: Vec::new(),
        decision: None,
        allowed: None,
        scope,
    };
    let mut depth = 0;
    loop {
        // What a hook chose is not the model's choice any more.
        let choice = choice.filter(|_| depth == 0);
        let span = tracing::info_span!("call", id = next.id, tool = next.name);
        let ran = next.run(choice).instrument(span.clone()).await;
        settle(services, scope).await;
        let tail = match ran {
            Ran::Done(finished) => return span.in_scope(|| next.conclude(call, *finished)),
            Ran::Replaced(tail) if depth >= TAIL_CALLS => {
                let message =
                    format!("more than {TAIL_CALLS} tools in a row wanted to run in its place; {} did not", tail.name);
                return next.conclude(call, failure(ToolErrorKind::ExecutionFailed, message));
            }
            Ran::Replaced(tail) => tail,
        };
        depth += 1;
        next = Call {
            id: format!("{call_id}-tail{depth}"),
            name: hookwright_tools::canonical_name(&tail.name).to_owned(),
            args: tail.args,
            requested_by: RequestedBy::Hook,
            original: Some(call.name.clone()),
            rewritten: Vec::new(),
            decision: None,
            allowed: None,
            ..next
        };
    }
}

impl Call<'_> {
    async fn run(&mut self, choice: Option<&ToolChoice>) -> Ran {
        let tool = match self.check(choice) {
            Ok(tool) => tool,
            Err(finished) => return Ran::Done(finished),
        };
        let asked_by = match self.before_tool().await {
            Ok(asked_by) => asked_by,
            Err(finished) => return Ran::Done(finished),
        };
        if let Err(finished) = self.approve(&tool, asked_by).await {
            return Ran::Done(finished);
        }
        if self.scope.is_cancelled() {
            return Ran::Done(Box::new(cancelled()));
        }
        let started = Instant::now();
        let mut result = self.execute(&tool).await;
        let duration = started.elapsed();
        if !self.rewritten.is_empty() {
            let note =
                format!("\n\n[hooks changed these arguments before the tool ran: {}]", self.rewritten.join(", "));
            append(&mut result.llm_content, &note);
        }
        self.after_tool(result, duration).await.or_stopped()
    }

    /// The tool exists, the model may call it, and its arguments fit.
    fn check(&self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CallEnd>> {
        if let Some(choice) = choice.filter(|choice| !choice.allows(&self.name)) {
            let which = match choice.allowed.as_slice() {
                [] => "no tool may be called now".to_owned(),
                names => format!("only {} may be called now", names.join(", ")),
            };
            return Err(Box::new(failure(
                ToolErrorKind::PolicyViolation,
                format!("{} was not called: {which}", self.name),
            )));
        }
        match self.services.tools.check(&self.name, &Value::Object(self.args.clone())) {
            Ok(tool) => Ok(tool.clone()),
            Err(problem) => Err(Box::new(CallEnd { result: problem.into(), ..nothing() })),
        }
    }

    /// BeforeTool: may refuse, rewrite, or want the user asked.
    async fn before_tool(&mut self) -> Result<Option<AskedBy>, Box<CallEnd>> {
        let event = BeforeTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&self.args),
            mcp_context: None,
            original_request_name: self.original.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire(&event, self.scope).await;
        let (asked_by, changes) = match outcome.verdict {
            BeforeToolVerdict::Proceed { changes } => (None, changes),
            BeforeToolVerdict::Ask { reason, changes } => {
                (Some(AskedBy { hooks: outcome.merged.decided_by, reason }), changes)
            }
            BeforeToolVerdict::Deny { reason } => {
                tracing::debug!(by = "hooks", hooks = outcome.merged.decided_by.join(", "), "refused: {reason}");
                self.decision = Some(CallDecision::Reject);
                return Err(Box::new(failure(
                    ToolErrorKind::PolicyViolation,
                    format!("Tool execution blocked: {reason}"),
                )));
            }
            BeforeToolVerdict::Stop { reason } => return Err(Box::new(stopped(&reason))),
        };
        self.rewrite(changes)?;
        Ok(asked_by)
    }

    /// Lays a hook's arguments over the model's; what does not fit the tool does not run.
    fn rewrite(&mut self, changes: Option<Map<String, Value>>) -> Result<(), Box<CallEnd>> {
        for (key, value) in changes.into_iter().flatten() {
            if self.args.get(&key) != Some(&value) {
                self.rewritten.push(key.clone());
                self.args.insert(key, value);
            }
        }
        if self.rewritten.is_empty() {
            return Ok(());
        }
        self.decision = Some(CallDecision::Modify);
        match self.services.tools.check(&self.name, &Value::Object(self.args.clone())) {
            Ok(_) => Ok(()),
            Err(problem) => {
                let message = format!("hooks changed the arguments, and now they do not fit {}: {problem}", self.name);
                Err(Box::new(failure(ToolErrorKind::InvalidToolParams, message)))
            }
        }
    }

    /// The rules' word, and the user's where it is needed.
    async fn approve(&mut self, tool: &Arc<dyn Tool>, asked_by: Option<AskedBy>) -> Result<(), Box<CallEnd>> {
        let services = self.services;
        let judgement = services.approvals.judge(&self.name, tool.kind(), &self.args);
        let permission = match &judgement.permission {
            Permission::Granted if asked_by.is_some() => Permission::Ask,
            other => other.clone(),
        };
        match permission {
            Permission::Protected(path) if services.interaction == Interaction::Headless => {
                Err(self.refuse(format!("Tool execution blocked: {}", nobody_to_ask_about(&path))))
            }
            Permission::Protected(path) => self.ask(tool, asked_by, Some(path)).await,
            Permission::Granted => {
                tracing::debug!(by = "rules", mode = services.approvals.mode().as_str(), "may run");
                self.decision = self.decision.or(Some(CallDecision::AutoAccept));
                Ok(())
            }
            Permission::Refused(reason) => Err(self.refuse(format!("Tool execution blocked: {reason}"))),
            Permission::Denied(words) => Err(self.refuse(words)),
            Permission::Ask if services.interaction == Interaction::Headless => {
                tracing::debug!(by = "nobody", "refused: the user would have to be asked");
                self.decision = Some(CallDecision::Reject);
                Err(Box::new(failure(
                    ToolErrorKind::PolicyViolation,
                    nobody_to_ask(&self.name, tool.kind(), asked_by.as_ref(), &judgement),
                )))
            }
            Permission::Ask => self.ask(tool, asked_by, None).await,
        }
    }

    fn refuse(&mut self, words: String) -> Box<CallEnd> {
        tracing::debug!(by = "rules", "refused: {words}");
        self.decision = Some(CallDecision::Reject);
        Box::new(failure(ToolErrorKind::PolicyViolation, words))
    }

    /// Asks the user. What the user writes instead is judged like what the model wrote, and shown again if hooks change it.
    async fn ask(
        &mut self,
        tool: &Arc<dyn Tool>,
        mut asked_by: Option<AskedBy>,
        mut protected: Option<String>,
    ) -> Result<(), Box<CallEnd>> {
        loop {
            let request =
                ApprovalRequest { protected: protected.clone(), ..self.approval_request(tool, asked_by.take()).await };
            let reply = ask(self.services, request, self.scope).await;
            tracing::debug!(by = "user", answer = reply.as_str(), "asked");
            // What is asked about every time is granted for no session.
            let reply =
                if protected.is_some() && reply == ApprovalReply::Session { ApprovalReply::Once } else { reply };
            let Some(args) = self.take_reply(reply)? else {
                self.allowed = protected.map(|path| self.services.approvals.protected_path(&path));
                return Ok(());
            };
            self.edit(args.clone())?;
            asked_by = self.before_tool().await?;
            let permission = self.services.approvals.decide(&self.name, tool.kind(), &self.args);
            protected = if let Permission::Protected(path) = &permission { Some(path.clone()) } else { None };
            match permission {
                Permission::Refused(reason) => return Err(self.refuse(format!("Tool execution blocked: {reason}"))),
                Permission::Denied(words) => return Err(self.refuse(words)),
                _ if self.args == args => {
                    self.allowed = protected.map(|path| self.services.approvals.protected_path(&path));
                    return Ok(());
                }
                Permission::Granted | Permission::Ask | Permission::Protected(_) => {}
            }
        }
    }

    async fn approval_request(&self, tool: &Arc<dyn Tool>, asked_by: Option<AskedBy>) -> ApprovalRequest {
        let args = Value::Object(self.args.clone());
        ApprovalRequest {
            call_id: self.id.clone(),
            name: self.name.clone(),
            title: tool.display_name().to_owned(),
            kind: tool.kind(),
            args: self.args.clone(),
            description: tool.describe(&args),
            preview: tool.preview(&args, &self.services.context()).await,
            rewritten: self.rewritten.clone(),
            requested_by: self.requested_by,
            asked_by,
            protected: None,
        }
    }

    /// Takes the user's arguments in place of the model's, if they fit the tool.
    fn edit(&mut self, args: Map<String, Value>) -> Result<(), Box<CallEnd>> {
        self.decision = Some(CallDecision::Modify);
        self.rewritten.clear();
        self.args = args;
        match self.services.tools.check(&self.name, &Value::Object(self.args.clone())) {
            Ok(_) => Ok(()),
            Err(problem) => Err(Box::new(CallEnd { result: problem.into(), ..nothing() })),
        }
    }

    /// Whether the call may run; other arguments of the user's have yet to be judged.
    fn take_reply(&mut self, reply: ApprovalReply) -> Result<Option<Map<String, Value>>, Box<CallEnd>> {
        self.decision = Some(CallDecision::Accept);
        match reply {
            ApprovalReply::Once => Ok(None),
            ApprovalReply::Session => {
                self.services.approvals.grant(&self.name, &self.args);
                Ok(None)
            }
            ApprovalReply::Edited(args) => Ok(Some(args)),
            ApprovalReply::Deny(word) => {
                self.decision = Some(CallDecision::Reject);
                let word = word.map(|word| format!(": {word}")).unwrap_or_default();
                Err(Box::new(failure(ToolErrorKind::ExecutionFailed, format!("the user did not allow this{word}"))))
            }
            ApprovalReply::Cancel => {
                self.decision = Some(CallDecision::Reject);
                Err(Box::new(cancelled()))
            }
        }
    }

    async fn execute(&self, tool: &Arc<dyn Tool>) -> ToolResult {
        let args = Value::Object(self.args.clone());
        tracing::debug!(rewritten = ?self.rewritten, "the tool runs");
        tracing::trace!(%args, "its arguments");
        self.services.events.send(AgentEvent::ToolStarted(ToolStart {
            call_id: self.id.clone(),
            name: self.name.clone(),
            kind: tool.kind(),
            args: self.args.clone(),
            description: tool.describe(&args),
            rewritten: self.rewritten.clone(),
        }));
        let mut context = self.services.context();
        context.cancel = self.scope.cancel.clone();
        context.search = Some(Arc::new(Search { services: self.services.clone(), scope: self.scope.clone() }));
        let (events, call_id) = (self.services.events.clone(), self.id.clone());
        context.output = OutputSink::new(move |text| {
            events.send(AgentEvent::ToolOutput { call_id: call_id.clone(), text: text.to_owned() });
        });
        let result = {
            let window = || self.services.guards.call(self.allowed.clone());
            let _window = (!tool.kind().is_harmless()).then(window);
            run_tool(tool, &args, &context).await
        };
        settle(self.services, self.scope).await;
        result
    }

    /// AfterTool: may hide the result, add to it, or put another tool in its place.
    async fn after_tool(&self, mut result: ToolResult, duration: Duration) -> Ran {
        // A result can be large, and writing it as JSON is for hooks only.
        if self.services.hooks.plan(EventKind::AfterTool, Some(&self.name)).is_none() {
            let after = if self.scope.is_cancelled() { AfterCall::Cancel } else { AfterCall::GoOn };
            return Ran::Done(Box::new(CallEnd { result, metadata: Map::new(), duration, after }));
        }
        let event = AfterTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&self.args),
            tool_response: Cow::Owned(result.to_json()),
            mcp_context: None,
            original_request_name: self.original.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire(&event, self.scope).await;
        let metadata =
            metadata(&outcome.merged.answer.specific, outcome.messages.iter().map(|said| said.text.clone()).collect());
        if self.scope.is_cancelled() {
            // Hooks that were ended by a cancel have hidden nothing.
            let message = "Cancelled before hooks had judged the result, so it is left out".to_owned();
            let unseen = failure(ToolErrorKind::Cancelled, message);
            return Ran::Done(Box::new(CallEnd { duration, after: AfterCall::Cancel, ..unseen }));
        }
        let after = AfterCall::GoOn;
        let finished = match outcome.verdict {
            AfterToolVerdict::Keep { tail_call: Some(tail), .. } => {
                self.tell(&CallEnd { result, metadata, duration, after });
                return Ran::Replaced(tail);
            }
            AfterToolVerdict::Keep { context, .. } => {
                add_context(&mut result.llm_content, context);
                CallEnd { result, metadata, duration, after }
            }
            AfterToolVerdict::Hide { reason, context } => {
                let mut hidden = failure(ToolErrorKind::ExecutionFailed, format!("Tool result blocked: {reason}"));
                hidden.result.llm_content = ResultContent::Text(reason);
                add_context(&mut hidden.result.llm_content, context);
                CallEnd { metadata, duration, after, ..hidden }
            }
            AfterToolVerdict::Stop { reason } => CallEnd { metadata, duration, ..stopped(&reason) },
        };
        Ran::Done(Box::new(finished))
    }

    /// Tells the screen how the call ended.
    fn tell(&self, finished: &CallEnd) {
        let result = &finished.result;
        let error = result.error.as_ref().map(|failure| failure.message.as_str());
        tracing::debug!(ms = finished.duration.as_millis(), error, "the call is over");
        self.services.events.send(AgentEvent::ToolFinished(Box::new(ToolEnd {
            call_id: self.id.clone(),
            name: self.name.clone(),
            args: self.args.clone(),
            display: result.return_display.clone(),
            content: result.llm_content.to_text(),
            error: result
                .error
                .as_ref()
                .map(|failure| CallError { kind: failure.kind, message: failure.message.clone() }),
            duration: finished.duration,
            decision: self.decision,
            command: result.command.as_ref().map(|run| run.end),
            metadata: finished.metadata.clone(),
            prompt_id: self.scope.prompt_id(),
        })));
    }

    /// What the model is told; under the name and id that it asked with.
    fn conclude(&self, call: &FunctionCall, finished: CallEnd) -> CallResult {
        self.tell(&finished);
        let CallEnd { result, after, .. } = finished;
        let key = if result.error.is_some() { "error" } else { "output" };
        let response = Map::from_iter([(key.to_owned(), Value::String(result.llm_content.to_text()))]);
        let mut parts = vec![Part::function_response(call.id.clone(), call.name.clone(), response)];
        if let ResultContent::Parts(pieces) = result.llm_content {
            parts.extend(pieces.into_iter().filter_map(|piece| match piece {
                hookwright_tools::ResultPart::InlineData { mime_type, data } => {
                    Some(Part::inline_data(mime_type, data))
                }
                hookwright_tools::ResultPart::Text(_) => None,
            }));
        }
        CallResult { parts, after }
    }
}

fn nobody_to_ask_about(path: &str) -> String {
    format!(
        "{path} is protected, because guards are made of it, and nobody is there to ask; \
         \"!{path}\" in `security.protectedPaths` of your own settings lets tools change it"
    )
}

fn nobody_to_ask(tool: &str, kind: ToolKind, asked_by: Option<&AskedBy>, judgement: &Judgement) -> String {
    match asked_by {
        Some(AskedBy { hooks, reason }) => {
            format!(
                "Tool execution blocked: {reason} (hook {} wants the user asked, and nobody is there)",
                hooks.join(", ")
            )
        }
        // What stands above the command line is not changed there.
        None if judgement.flags == Flags::DoNotHelp => {
            format!("Tool execution blocked: {} wants the user asked, and nobody is there", judgement.by)
        }
        None => {
            let mode = if kind == ToolKind::Edit { "--approval-mode=auto_edit or " } else { "" };
            format!(
                "Tool execution blocked: {tool} needs approval and nobody is there to give it; \
                 allow it with --allowed-tools {tool}, {mode}--approval-mode=yolo"
            )
        }
    }
}

fn metadata(specific: &Map<String, Value>, messages: Vec<String>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if !specific.is_empty() {
        metadata.insert("hookData".to_owned(), Value::Object(specific.clone()));
    }
    if !messages.is_empty() {
        metadata.insert("hookMessages".to_owned(), messages.into());
    }
    metadata
}

fn add_context(content: &mut ResultContent, context: Option<String>) {
    if let Some(context) = context {
        append(content, &format!("\n\n{}", hook_context(&context)));
    }
}

fn append(content: &mut ResultContent, text: &str) {
    match content {
        ResultContent::Text(existing) => existing.push_str(text),
        ResultContent::Parts(parts) => parts.push(hookwright_tools::ResultPart::Text(text.to_owned())),
    }
}

fn nothing() -> CallEnd {
    CallEnd { result: ToolResult::text("", ""), metadata: Map::new(), duration: Duration::ZERO, after: AfterCall::GoOn }
}

/// A call that did not do what it should.
fn failure(kind: ToolErrorKind, message: String) -> CallEnd {
    let result = ToolResult {
        llm_content: ResultContent::Text(message.clone()),
        return_display: Display::Text(message.clone()),
        error: Some(ToolFailure::new(kind, message)),
        command: None,
    };
    CallEnd { result, ..nothing() }
}

fn stopped(reason: &str) -> CallEnd {
    let message = format!("Agent execution stopped by hook: {reason}");
    CallEnd { after: AfterCall::Stop(reason.to_owned()), ..failure(ToolErrorKind::StopExecution, message) }
}

fn cancelled() -> CallEnd {
    CallEnd { after: AfterCall::Cancel, ..failure(ToolErrorKind::Cancelled, "Cancelled".to_owned()) }
}
