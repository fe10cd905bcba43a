//! One tool call's life: schema, BeforeTool, approval, Notification, execution, AfterTool, tail call. The model's calls
//! begin here; those that a prompt brings along begin in `wanted.rs`.

pub(crate) mod wanted;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_hooks::{AfterTool, AfterToolVerdict, BeforeTool, BeforeToolVerdict, EventKind, RequestedBy, TailCall};
use hookwright_model::{FunctionCall, Part, ToolChoice};
use hookwright_tools::{
    Display, OutputSink, ResultContent, Tool, ToolErrorKind, ToolFailure, ToolKind, ToolResult, ToolSet,
    canonical_arguments,
};
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
use crate::translate::{defuse, hook_context};
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
    services.hooks.plan(EventKind::BeforeTool, Some(hookwright_tools::canonical_name(tool))).is_some()
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
    /// Other tools than the model's.
    own_tools: Option<&'a ToolSet>,
    /// For a tail call: the tool that the model asked for.
    original: Option<String>,
    /// The model's own arguments, until it is told that it asked.
    unannounced: Option<Map<String, Value>>,
    /// What is to be kept in the place of the model's arguments.
    redacted: Option<Map<String, Value>>,
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
    /// Whether hooks hid the result, so that their reason stands in its place.
    is_hidden: bool,
    /// What hooks add to the result, as it stands there.
    added: Option<String>,
}

/// Runs a call of the model to its end, tail calls included.
pub(crate) async fn run(
    services: &Arc<Services>,
    call: &FunctionCall,
    call_id: &str,
    choice: Option<&ToolChoice>,
    scope: &Scope,
) -> CallResult {
    let unannounced = is_watched(services, &call.name).then(|| call.args.clone());
    let first = Call::new(services, call_id.to_owned(), &call.name, call.args.clone(), scope);
    let (last, end) = see_through(Call { unannounced, ..first }, None, choice).await;
    last.conclude(call, end)
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
        let span = tracing::info_span!("call", id = next.id, tool = next.name);
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
            own_tools: None,
            original: None,
            unannounced: None,
            redacted: None,
            rewritten: Vec::new(),
            decision: None,
            allowed: None,
            scope,
        }
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
        let mut result = self.execute(&tool).await;
        let duration = started.elapsed();
        if !self.rewritten.is_empty() {
            let note =
                format!("\n\n[hooks changed these arguments before the tool ran: {}]", self.rewritten.join(", "));
            append(&mut result.llm_content, &note);
        }
        self.after_tool(result, duration).await.or_stopped()
    }

    /// Whether it may run: the schema's word, the hooks', the rules' and, where it is needed, the user's.
    async fn admit(&mut self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CallEnd>> {
        let judged = match self.check(choice) {
            Ok(tool) => self.before_tool().await.map(|asked_by| (tool, asked_by)),
            Err(end) => Err(end),
        };
        if let Some(args) = self.unannounced.take() {
            announce(self.services, &self.id, &self.asked_for, self.redacted.clone().unwrap_or(args));
        }
        let (tool, asked_by) = judged?;
        self.approve(&tool, asked_by).await?;
        if self.scope.is_cancelled() {
            return Err(Box::new(cancelled()));
        }
        Ok(tool)
    }

    fn tools(&self) -> &'a ToolSet {
        self.own_tools.unwrap_or(&self.services.tools)
    }

    /// The tool exists, the model may call it, and its arguments fit.
    fn check(&mut self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CallEnd>> {
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
        let fits = canonical_arguments(&self.name, &mut self.args);
        match fits.and_then(|()| self.tools().check(&self.name, &Value::Object(self.args.clone()))) {
            Ok(tool) => Ok(tool.clone()),
            Err(problem) => Err(Box::new(CallEnd { result: problem.into(), ..nothing() })),
        }
    }

    /// BeforeTool: may refuse, rewrite, or want the user asked. What a hook changes under a name that the tool does not
    /// declare is judged once more under the one that it does: guards look for that.
    async fn before_tool(&mut self) -> Result<Option<AskedBy>, Box<CallEnd>> {
        const ROUNDS: usize = 3;
        let mut asked_by = None;
        for _ in 0..ROUNDS {
            let (asked, names) = self.fire_before_tool().await?;
            asked_by = asked.or(asked_by);
            if names == Names::Declared {
                return Ok(asked_by);
            }
        }
        let message = format!("hooks keep changing the arguments of {}, so that nobody can judge them", self.name);
        Err(Box::new(failure(ToolErrorKind::PolicyViolation, message)))
    }

    async fn fire_before_tool(&mut self) -> Result<(Option<AskedBy>, Names), Box<CallEnd>> {
        let event = BeforeTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&self.args),
            mcp_context: None,
            original_request_name: self.original.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire(&event, self.scope).await;
        let answer = &outcome.merged.answer;
        let nothing_in_their_place = answer.redact_input && answer.tool_input.is_none();
        if answer.redact_input {
            self.redact(answer.tool_input.as_ref());
        }
        let (asked_by, changes) = match outcome.verdict {
            BeforeToolVerdict::Proceed { changes } => (None, changes),
            BeforeToolVerdict::Ask { reason, changes } => {
                (Some(AskedBy { hooks: outcome.merged.decided_by, reason }), changes)
            }
            BeforeToolVerdict::Deny { reason } => {
                tracing::debug!(by = "hooks", hooks = outcome.merged.decided_by.join(", "), "refused: {reason}");
                self.forget_redacted();
                self.decision = Some(CallDecision::Reject);
                return Err(Box::new(failure(
                    ToolErrorKind::PolicyViolation,
                    format!("Tool execution blocked: {reason}"),
                )));
            }
            BeforeToolVerdict::Stop { reason } => {
                self.forget_redacted();
                return Err(Box::new(stopped(&reason)));
            }
        };
        if nothing_in_their_place {
            self.forget_redacted();
            let words = "Tool execution blocked: hooks want the arguments redacted, and give none in their place";
            return Err(self.refuse(words.to_owned()));
        }
        Ok((asked_by, self.rewrite(changes)?))
    }

    /// Hooks want the model's own arguments kept nowhere: what is kept in their place.
    fn redact(&mut self, changes: Option<&Map<String, Value>>) {
        let mut kept = self.args.clone();
        match changes {
            Some(changes) => {
                let mut changes = changes.clone();
                // What does not fit is said where the arguments are checked.
                let _ = canonical_arguments(&self.name, &mut changes);
                kept.extend(changes);
            }
            None => kept.values_mut().for_each(|value| *value = Value::String("[redacted]".to_owned())),
        }
        // What a hook asked for itself is not the model's.
        if self.requested_by != RequestedBy::Hook {
            self.redacted = Some(kept);
        }
    }

    /// A call that will not run is told with what is kept of it.
    fn forget_redacted(&mut self) {
        if let Some(kept) = self.redacted.clone().filter(|_| self.requested_by != RequestedBy::Hook) {
            self.args = kept;
        }
    }

    /// Lays a hook's arguments over the model's; what does not fit the tool does not run.
    fn rewrite(&mut self, changes: Option<Map<String, Value>>) -> Result<Names, Box<CallEnd>> {
        let mut changes = changes.unwrap_or_default();
        let given: Vec<String> = changes.keys().cloned().collect();
        let fits = canonical_arguments(&self.name, &mut changes);
        let mut names = Names::Declared;
        for (key, value) in changes {
            if self.args.get(&key) != Some(&value) {
                if !given.contains(&key) {
                    names = Names::Others;
                }
                if !self.rewritten.contains(&key) {
                    self.rewritten.push(key.clone());
                }
                self.args.insert(key, value);
            }
        }
        if self.rewritten.is_empty() {
            return Ok(names);
        }
        self.decision = Some(CallDecision::Modify);
        match fits.and_then(|()| self.tools().check(&self.name, &Value::Object(self.args.clone()))) {
            Ok(_) => Ok(names),
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
        let permission = match (judgement.permission.clone(), self.consent) {
            (Permission::Denied(words), _) => Permission::Denied(words),
            (Permission::Granted, _) if asked_by.is_some() => Permission::Ask,
            // Who wrote it has been asked; the mode is about what others want.
            (_, Consent::Given) if asked_by.is_none() => Permission::Granted,
            (Permission::Refused(_), Consent::Given) => Permission::Ask,
            (other, _) => other,
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
            title: match &self.voice {
                Voice::Quiet(Some(for_what)) => format!("{} for {for_what}", tool.display_name()),
                _ => tool.display_name().to_owned(),
            },
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
        let fits = canonical_arguments(&self.name, &mut self.args);
        match fits.and_then(|()| self.tools().check(&self.name, &Value::Object(self.args.clone()))) {
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
                Err(Box::new(failure(ToolErrorKind::ExecutionFailed, format!("{USER_SAYS_NO}{word}"))))
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
        let mut context = self.services.context();
        context.cancel = self.scope.cancel.clone();
        context.search = Some(Arc::new(Search { services: self.services.clone(), scope: self.scope.clone() }));
        if !matches!(self.voice, Voice::Quiet(_)) {
            let (events, call_id) = (self.services.events.clone(), self.id.clone());
            context.output = OutputSink::new(move |text| {
                events.send(AgentEvent::ToolOutput { call_id: call_id.clone(), text: text.to_owned() });
            });
        }
        let result = {
            let window = || self.services.guards.call(self.allowed.clone());
            // What the user's own command changes is the user's change.
            let may_change = !tool.kind().is_harmless() && self.requested_by != RequestedBy::User;
            let _window = may_change.then(window);
            run_tool(tool, &args, &context).await
        };
        if self.requested_by == RequestedBy::User && !tool.kind().is_harmless() {
            self.services.guards.look();
        }
        settle(self.services, self.scope).await;
        result
    }

    /// Tells the screen, if it is to know, under the name that it knows.
    fn say(&self, event: impl FnOnce(String) -> AgentEvent) {
        match &self.voice {
            Voice::Plain => self.services.events.send(event(self.name.clone())),
            Voice::As(name) => self.services.events.send(event((*name).to_owned())),
            Voice::Quiet(_) => {}
        }
    }

    /// AfterTool: may hide the result, add to it, or put another tool in its place.
    async fn after_tool(&self, mut result: ToolResult, duration: Duration) -> Ran {
        // A result can be large, and writing it as JSON is for hooks only.
        if self.services.hooks.plan(EventKind::AfterTool, Some(&self.name)).is_none() {
            let after = if self.scope.is_cancelled() { AfterCall::Cancel } else { AfterCall::GoOn };
            defuse_result(&mut result.llm_content);
            return Ran::Done(Box::new(CallEnd { result, duration, after, ..nothing() }));
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
        let finished = match outcome.verdict {
            AfterToolVerdict::Keep { tail_call: Some(tail), .. } => {
                self.tell(&CallEnd { result, metadata, duration, ..nothing() });
                return Ran::Replaced(tail);
            }
            AfterToolVerdict::Keep { context, .. } => {
                // Hooks were told it as it is; the model must not take any of it for a hook's.
                defuse_result(&mut result.llm_content);
                let added = add_context(&mut result.llm_content, context);
                CallEnd { result, metadata, duration, added, ..nothing() }
            }
            AfterToolVerdict::Hide { reason, context } => {
                let mut hidden = failure(ToolErrorKind::ExecutionFailed, format!("Tool result blocked: {reason}"));
                hidden.result.llm_content = ResultContent::Text(reason);
                add_context(&mut hidden.result.llm_content, context);
                CallEnd { metadata, duration, is_hidden: true, ..hidden }
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
        let error = result.error.as_ref();
        self.say(|name| {
            AgentEvent::ToolFinished(Box::new(ToolEnd {
                call_id: self.id.clone(),
                name,
                args: self.args.clone(),
                display: result.return_display.clone(),
                content: result.llm_content.to_text(),
                error: error.map(|failure| CallError { kind: failure.kind, message: failure.message.clone() }),
                duration: finished.duration,
                decision: self.decision,
                command: result.command.as_ref().map(|run| run.end),
                metadata: finished.metadata.clone(),
                prompt_id: self.scope.prompt_id(),
            }))
        });
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
        CallResult { parts, after, redacted: self.redacted.clone() }
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

/// Adds what hooks want the model to know; as it stands there.
fn add_context(content: &mut ResultContent, context: Option<String>) -> Option<String> {
    let marked = hook_context(&context?);
    append(content, &format!("\n\n{marked}"));
    Some(marked)
}

fn defuse_result(content: &mut ResultContent) {
    let change = |text: &mut String| {
        if let Cow::Owned(safe) = defuse(text) {
            *text = safe;
        }
    };
    match content {
        ResultContent::Text(text) => change(text),
        ResultContent::Parts(parts) => parts.iter_mut().for_each(|part| match part {
            hookwright_tools::ResultPart::Text(text) => change(text),
            hookwright_tools::ResultPart::InlineData { .. } => {}
        }),
    }
}

fn append(content: &mut ResultContent, text: &str) {
    match content {
        ResultContent::Text(existing) => existing.push_str(text),
        ResultContent::Parts(parts) => parts.push(hookwright_tools::ResultPart::Text(text.to_owned())),
    }
}

fn nothing() -> CallEnd {
    CallEnd {
        result: ToolResult::text("", ""),
        metadata: Map::new(),
        duration: Duration::ZERO,
        after: AfterCall::GoOn,
        is_hidden: false,
        added: None,
    }
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

/// Under which names hooks changed arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Those that the tool declares.
    Declared,
    /// Others, which mean the same.
    Others,
}

fn cancelled() -> CallEnd {
    CallEnd { after: AfterCall::Cancel, ..failure(ToolErrorKind::Cancelled, "Cancelled".to_owned()) }
}
