//! Whether a call may run: the schema's word, BeforeTool's, the rules' and, where it is needed, the user's.

use std::borrow::Cow;
use std::sync::Arc;

use hookwright_hooks::{BeforeTool, BeforeToolVerdict, EventKind, Outcome, RequestedBy};
use hookwright_model::ToolChoice;
use hookwright_tools::{Display, FileDiff, Tool, ToolErrorKind, ToolKind, canonical_arguments};
use serde_json::{Map, Value};

use super::end::{CallEnd, cancelled, failure, nothing, stopped};
use super::wanted::{Consent, Voice};
use super::{Call, USER_SAYS_NO, announce, is_planned, redacted};
use crate::approval::{Flags, Judged, Judgement, Permission};
use crate::ask::ask;
use crate::event::{AgentEvent, ApprovalReply, ApprovalRequest, AskedBy, CallDecision};
use crate::policy::Offer;
use crate::services::Interaction;

/// Under which names hooks changed arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Those that the tool declares.
    Declared,
    /// Others, which mean the same.
    Others,
}

impl Call<'_> {
    /// Whether it may run: the schema's word, the hooks', the rules' and, where it is needed, the user's.
    pub(super) async fn admit(&mut self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CallEnd>> {
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
        match fits.and_then(|()| self.tools.check(&self.name, &Value::Object(self.args.clone()))) {
            Ok(tool) => {
                self.mcp_context = tool.mcp_context();
                Ok(tool.clone())
            }
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
            mcp_context: self.mcp_context.as_ref().map(Cow::Borrowed),
            original_request_name: self.original.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire_call(&event, self.paths(), self.scope).await;
        let answer = &outcome.merged.answer;
        let nothing_in_their_place = answer.redact_input && answer.tool_input.is_none();
        // What not all have judged does not run, and some might have wanted it kept nowhere.
        let is_cut_short =
            self.scope.is_cancelled() && is_planned(self.services, &self.tools, EventKind::BeforeTool, &self.name);
        if is_cut_short || unjudged(&outcome) {
            self.redact(None);
        } else if answer.redact_input {
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
        if is_cut_short {
            self.forget_redacted();
            return Err(Box::new(cancelled()));
        }
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
            None => kept = redacted(kept),
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
                let before = self.args.insert(key.clone(), value);
                if !self.rewritten.contains(&key) {
                    self.before.extend(before.map(|before| (key.clone(), before)));
                    self.rewritten.push(key);
                }
            }
        }
        if self.rewritten.is_empty() {
            return Ok(names);
        }
        self.decision = Some(CallDecision::Modify);
        match fits.and_then(|()| self.tools.check(&self.name, &Value::Object(self.args.clone()))) {
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
        let judgement = services.approvals.judge(&self.judged(tool));
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
            // A hook that asks asks again, whatever was allowed.
            let always = match (&asked_by, &protected) {
                (None, None) => self.services.approvals.offers(&self.judged(tool)),
                _ => Vec::new(),
            };
            let words = always.iter().map(|offer| offer.words.clone()).collect();
            let request = self.approval_request(tool, asked_by.clone()).await;
            let request = ApprovalRequest { protected: protected.clone(), always: words, ..request };
            let shown = request.preview.clone();
            let reply = ask(self.services, request, self.scope).await;
            tracing::debug!(by = "user", answer = reply.as_str(), "asked");
            // What is asked about every time is granted for no session.
            let lasts = matches!(reply, ApprovalReply::Session | ApprovalReply::Server | ApprovalReply::Always(_));
            let reply = if protected.is_some() && lasts { ApprovalReply::Once } else { reply };
            if let ApprovalReply::Always(at) = reply {
                self.remember(always.get(at));
            }
            let Some(args) = self.take_reply(tool, reply)? else {
                if let Some(Display::Diff(shown)) = shown {
                    if self.is_outdated(tool, &shown).await {
                        let text = format!("{} has changed meanwhile: this is the change now", shown.shown_path);
                        self.services.events.send(AgentEvent::Note(text));
                        continue;
                    }
                    self.shown = Some(Arc::from(shown));
                }
                self.allowed = protected.map(|path| self.services.approvals.protected_path(&path));
                return Ok(());
            };
            self.edit(args.clone())?;
            asked_by = self.before_tool().await?;
            let permission = self.services.approvals.decide(&self.judged(tool));
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

    /// Whether the change of a file would be another than the one that was shown.
    async fn is_outdated(&self, tool: &Arc<dyn Tool>, shown: &FileDiff) -> bool {
        let now = tool.preview(&Value::Object(self.args.clone()), &self.context()).await;
        // What can't be changed any more is the tool's to say.
        matches!(now, Some(Display::Diff(now)) if *now != *shown)
    }

    async fn approval_request(&self, tool: &Arc<dyn Tool>, asked_by: Option<AskedBy>) -> ApprovalRequest {
        let args = Value::Object(self.args.clone());
        ApprovalRequest {
            call_id: self.id.clone(),
            name: self.name.clone(),
            title: match (&self.voice, &self.scope.agent) {
                (Voice::Quiet(Some(for_what)), _) => format!("{} for {for_what}", tool.display_name()),
                (_, Some(agent)) => format!("{} for agent {}", tool.display_name(), agent.name),
                _ => tool.display_name().to_owned(),
            },
            kind: tool.kind(),
            args: self.args.clone(),
            description: tool.describe(&args),
            preview: tool.preview(&args, &self.context()).await,
            rewritten: self.rewritten.clone(),
            before: self.redacted.is_none().then(|| self.before.clone()),
            number: self.number,
            requested_by: self.requested_by,
            asked_by,
            server: tool.server().cloned(),
            protected: None,
            always: Vec::new(),
        }
    }

    /// Writes down what the user allows for good; where that fails it counts for this session, and that is said.
    fn remember(&self, offer: Option<&Offer>) {
        let (Some(offer), Some(memory)) = (offer, self.services.approvals.memory()) else { return };
        self.services.approvals.learn(offer);
        let written = self.services.change_memory(&memory, || memory.write(offer));
        let (words, file) = (&offer.words, memory.file.display());
        self.services.events.send(match written {
            Ok(_) => AgentEvent::Note(format!(
                "always allowed in this project: {words} ({file}; /permissions takes it back)"
            )),
            Err(error) => {
                AgentEvent::Warning(format!("allowed for this session only, as it can't be written down: {error}"))
            }
        });
    }

    /// The call as the rules judge it.
    fn judged<'a>(&'a self, tool: &'a Arc<dyn Tool>) -> Judged<'a> {
        let agent = self.scope.agent.as_ref().map(|agent| agent.name.as_str());
        let reads_from = tool.reads_from(&Value::Object(self.args.clone())).map(Cow::Owned);
        let (server, workspace) = (tool.server(), Some(&*self.workspace));
        Judged { tool: &self.name, kind: tool.kind(), args: &self.args, server, reads_from, agent, workspace }
    }

    /// Takes the user's arguments in place of the model's, if they fit the tool.
    fn edit(&mut self, args: Map<String, Value>) -> Result<(), Box<CallEnd>> {
        self.decision = Some(CallDecision::Modify);
        self.rewritten.clear();
        self.before.clear();
        self.args = args;
        let fits = canonical_arguments(&self.name, &mut self.args);
        match fits.and_then(|()| self.tools.check(&self.name, &Value::Object(self.args.clone()))) {
            Ok(_) => Ok(()),
            Err(problem) => Err(Box::new(CallEnd { result: problem.into(), ..nothing() })),
        }
    }

    /// Whether the call may run; other arguments of the user's have yet to be judged.
    fn take_reply(
        &mut self,
        tool: &Arc<dyn Tool>,
        reply: ApprovalReply,
    ) -> Result<Option<Map<String, Value>>, Box<CallEnd>> {
        self.decision = Some(CallDecision::Accept);
        match reply {
            ApprovalReply::Once | ApprovalReply::Always(_) => Ok(None),
            ApprovalReply::Session => {
                self.services.approvals.grant(&self.judged(tool));
                Ok(None)
            }
            ApprovalReply::Server if tool.server().is_some() => {
                self.services.approvals.grant_server(&self.judged(tool));
                Ok(None)
            }
            ApprovalReply::Edited(args) => Ok(Some(args)),
            ApprovalReply::Deny(word) => {
                self.decision = Some(CallDecision::Reject);
                // Scripts made for Gemini CLI look for the word.
                let word = word.map_or_else(|| " (Cancelled)".to_owned(), |word| format!(": {word}"));
                Err(Box::new(failure(ToolErrorKind::ExecutionFailed, format!("{USER_SAYS_NO}{word}"))))
            }
            // Nobody was offered a server where there is none.
            ApprovalReply::Cancel | ApprovalReply::Server => {
                self.decision = Some(CallDecision::Reject);
                Err(Box::new(cancelled()))
            }
        }
    }
}

/// Whether the call is refused and a hook that says nothing of other arguments wants them redacted, or failed before it could.
fn unjudged(outcome: &Outcome<BeforeToolVerdict>) -> bool {
    let is_refused = matches!(outcome.verdict, BeforeToolVerdict::Deny { .. } | BeforeToolVerdict::Stop { .. });
    is_refused && outcome.runs.iter().any(|run| run.answer.redact_input && run.answer.tool_input.is_none())
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
                 allow it with --allowed-tools {tool}, {mode}--approval-mode=yolo (for scripts: Tool \"{tool}\" not found)"
            )
        }
    }
}
