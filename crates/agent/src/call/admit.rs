//! Admission of a tool call: schema check, BeforeTool hooks, approval rules and, where needed, the user.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{BeforeTool, BeforeToolVerdict, CallPlace, EventKind, Outcome, RequestedBy, RunReport};
use hookwright_model::ToolChoice;
use hookwright_tools::{FileDiff, Tool, ToolDisplay, ToolErrorKind, ToolKind, canonical_arguments};
use serde_json::{Map, Value};

use super::end::{CompletedCall, UserDenial, cancelled_call, empty_completion, failed_call, stopped_call};
use super::project_reads::only_reads_project;
use super::prompt_tools::{UserConsent, Visibility};
use super::{ToolInvocation, USER_DENIAL_MESSAGE, announce_request, has_hooks_for, redact_values};
use crate::approval::{ApprovalDecision, ApprovalSubject, FlagEffect, Permission};
use crate::approval_prompt::ask_for_approval;
use crate::event::{AgentNotice, ApprovalDemand, ApprovalReply, ApprovalRequest, CallDecision};
use crate::policy::RuleOffer;
use crate::services::Interaction;

/// The argument names that hooks used in their changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentNames {
    /// The names that the tool declares.
    Declared,
    /// Aliases of declared names.
    Aliases,
}

/// What BeforeTool hooks say about the approval of a call.
#[derive(Default)]
struct HookOpinion {
    /// The hooks' demand that the user be asked.
    demand: Option<ApprovalDemand>,
    /// The rules that approve the call as it is now.
    approved_by: Vec<String>,
}

impl ToolInvocation<'_> {
    /// Decides whether the call may run: schema check, BeforeTool hooks, approval rules and, where needed, the user.
    pub(super) async fn admit(&mut self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CompletedCall>> {
        let judged = match self.check_schema(choice) {
            Ok(tool) => self.before_tool().await.map(|opinion| (tool, opinion)),
            Err(end) => Err(end),
        };
        if let Some(args) = self.unannounced_args.take() {
            announce_request(self.services, &self.id, &self.requested_name, self.redacted_args.clone().unwrap_or(args));
        }
        let (tool, opinion) = judged?;
        self.approve(&tool, opinion).await?;
        if let Err(why) = Box::pin(self.prepare_confinement()).await {
            return Err(self.reject(format!("Tool execution blocked: the command can't be confined: {why}")));
        }
        if self.scope.is_cancelled() {
            return Err(Box::new(cancelled_call()));
        }
        Ok(tool)
    }

    /// Checks that the tool exists, that the model may call it, and that the arguments fit its schema.
    fn check_schema(&mut self, choice: Option<&ToolChoice>) -> Result<Arc<dyn Tool>, Box<CompletedCall>> {
        if let Some(choice) = choice.filter(|choice| !choice.allows(&self.name)) {
            let which = match choice.allowed.as_slice() {
                [] => "no tool may be called now".to_owned(),
                names => format!("only {} may be called now", names.join(", ")),
            };
            return Err(Box::new(failed_call(
                ToolErrorKind::PolicyViolation,
                format!("{} was not called: {which}", self.name),
            )));
        }
        let fits = canonical_arguments(&self.name, &mut self.args);
        match fits.and_then(|()| self.tools.check_call(&self.name, self.args.as_value())) {
            Ok(tool) => {
                self.mcp_context = tool.mcp_context();
                Ok(tool.clone())
            }
            Err(problem) => Err(Box::new(CompletedCall { result: problem.into(), ..empty_completion() })),
        }
    }

    /// Runs BeforeTool hooks, which may deny the call, change its arguments, or demand approval.
    ///
    /// A change under an alias is judged again under the declared name, which guards look for.
    async fn before_tool(&mut self) -> Result<HookOpinion, Box<CompletedCall>> {
        const MAX_BEFORE_TOOL_ROUNDS: usize = 3;
        let mut demand = None;
        for _ in 0..MAX_BEFORE_TOOL_ROUNDS {
            // Boxed, because a sub-agent's calls run inside of a call.
            let (opinion, names) = Box::pin(self.fire_before_tool()).await?;
            demand = opinion.demand.or(demand);
            if names == ArgumentNames::Declared {
                // A demand of any round counts, an approval only of the last one.
                return Ok(HookOpinion { demand, approved_by: opinion.approved_by });
            }
        }
        let message = format!("hooks keep changing the arguments of {}, so the call can't be judged", self.name);
        Err(Box::new(failed_call(ToolErrorKind::PolicyViolation, message)))
    }

    async fn fire_before_tool(&mut self) -> Result<(HookOpinion, ArgumentNames), Box<CompletedCall>> {
        let event = BeforeTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&*self.args),
            mcp_context: self.mcp_context.as_ref().map(Cow::Borrowed),
            original_request_name: self.tail_call_origin.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire_with_paths(&event, self.path_resolver(), self.scope).await;
        let is_undecided = is_redaction_undecided(&outcome);
        let answer = &outcome.merged.answer;
        let nothing_in_their_place = answer.redact_input && answer.tool_input.is_none();
        // A call that not all hooks have judged does not run, and its arguments are
        // redacted, as a hook might have asked for it.
        let is_cut_short =
            self.scope.is_cancelled() && has_hooks_for(self.services, &self.tools, EventKind::BeforeTool, &self.name);
        if is_cut_short || is_undecided {
            self.unrecorded_args = (!is_cut_short && !outcome.runs.iter().any(redacts)).then(|| self.args.to_map());
            self.redact(None);
        } else if answer.redact_input {
            self.redact(answer.tool_input.as_ref());
        }
        let merged = outcome.merged;
        self.confinement.add(Vec::new(), merged.enforced.clone());
        let unenforced = match merged.requires_enforcement {
            true => Box::pin(self.check_enforcement()).await.err().map(|why| merged.unenforced_text(&why)),
            false => None,
        };
        let demand = |reason| HookOpinion {
            demand: Some(ApprovalDemand { hooks: merged.demanding_hooks(), reason }),
            approved_by: Vec::new(),
        };
        let (opinion, changes) = match outcome.verdict {
            BeforeToolVerdict::Proceed { changes } => match unenforced {
                Some(reason) => (demand(reason), changes),
                None => (HookOpinion { demand: None, approved_by: merged.approved_by }, changes),
            },
            BeforeToolVerdict::Confine { reason, confinements, changes } => {
                let before = self.confinement.clone();
                self.confinement.add(confinements, Vec::new());
                let opinion = match Box::pin(self.check_confinement()).await {
                    Ok(()) => match unenforced {
                        Some(reason) => demand(reason),
                        None => HookOpinion { demand: None, approved_by: merged.approved_by },
                    },
                    // The user decides whether it runs without.
                    Err(why) => {
                        self.confinement = before;
                        demand(format!("{reason}; it can't be confined: {why}"))
                    }
                };
                (opinion, changes)
            }
            BeforeToolVerdict::Ask { reason, confinements, changes } => {
                let before = self.confinement.clone();
                self.confinement.add(confinements, Vec::new());
                let reason = match Box::pin(self.check_confinement()).await {
                    Ok(()) => unenforced.map_or(reason.clone(), |unenforced| format!("{reason}; {unenforced}")),
                    Err(why) => {
                        self.confinement = before;
                        format!("{reason}; it can't be confined: {why}")
                    }
                };
                (demand(reason), changes)
            }
            BeforeToolVerdict::Deny { reason } => {
                tracing::debug!(by = "hooks", hooks = merged.decided_by.join(", "), "refused: {reason}");
                self.replace_with_redacted();
                self.decision = Some(CallDecision::Reject);
                return Err(Box::new(failed_call(
                    ToolErrorKind::PolicyViolation,
                    format!("Tool execution blocked: {reason}"),
                )));
            }
            BeforeToolVerdict::Stop { reason } => {
                self.replace_with_redacted();
                return Err(Box::new(stopped_call(&reason)));
            }
        };
        if is_cut_short {
            self.replace_with_redacted();
            return Err(Box::new(cancelled_call()));
        }
        if nothing_in_their_place {
            self.replace_with_redacted();
            let words = "Tool execution blocked: hooks want the arguments redacted, but give no replacement";
            return Err(self.reject(words.to_owned()));
        }
        Ok((opinion, self.apply_hook_changes(changes)?))
    }

    /// Sets the arguments that are kept in place of the model's, as hooks asked.
    fn redact(&mut self, changes: Option<&Map<String, Value>>) {
        let mut kept = self.args.to_map();
        match changes {
            Some(changes) => {
                let mut changes = changes.clone();
                // Arguments that do not fit are reported where the changes are applied.
                let _ = canonical_arguments(&self.name, &mut changes);
                kept.extend(changes);
            }
            None => kept = redact_values(kept),
        }
        // A hook's own arguments are not the model's.
        if self.requested_by != RequestedBy::Hook {
            self.redacted_args = Some(kept);
        }
    }

    /// Replaces the arguments of a call that will not run with the redacted ones.
    fn replace_with_redacted(&mut self) {
        if let Some(kept) = self.redacted_args.clone().filter(|_| self.requested_by != RequestedBy::Hook) {
            self.args = kept.into();
        }
    }

    /// Merges a hook's changes into the arguments, and fails if the result does not fit the tool.
    fn apply_hook_changes(&mut self, changes: Option<Map<String, Value>>) -> Result<ArgumentNames, Box<CompletedCall>> {
        let mut changes = changes.unwrap_or_default();
        let given: Vec<String> = changes.keys().cloned().collect();
        let fits = canonical_arguments(&self.name, &mut changes);
        let mut names = ArgumentNames::Declared;
        for (key, value) in changes {
            if self.args.get(&key) != Some(&value) {
                if !given.contains(&key) {
                    names = ArgumentNames::Aliases;
                }
                let before = self.args.insert(key.clone(), value);
                if !self.rewritten_args.contains(&key) {
                    self.original_args.extend(before.map(|before| (key.clone(), before)));
                    self.rewritten_args.push(key);
                }
            }
        }
        if self.rewritten_args.is_empty() {
            return Ok(names);
        }
        self.decision = Some(CallDecision::Modify);
        match fits.and_then(|()| self.tools.check_call(&self.name, self.args.as_value())) {
            Ok(_) => Ok(names),
            Err(problem) => {
                let message =
                    format!("hooks changed the arguments, which are now invalid for {}: {problem}", self.name);
                Err(Box::new(failed_call(ToolErrorKind::InvalidToolParams, message)))
            }
        }
    }

    /// Applies the approval rules, and asks the user where needed.
    async fn approve(&mut self, tool: &Arc<dyn Tool>, opinion: HookOpinion) -> Result<(), Box<CompletedCall>> {
        let services = self.services;
        let judgement = services.approvals.evaluate(&self.approval_subject(tool));
        self.record_policy(judgement.policy.clone());
        let HookOpinion { demand, approved_by } = opinion;
        let is_granted = |demand: &ApprovalDemand| services.approvals.is_granted(&self.approval_subject(tool), demand);
        let is_demand_met = demand.as_ref().is_some_and(is_granted);
        let asked_by = demand.filter(|_| !is_demand_met);
        // These answer the question that the approval mode would ask. A policy's question, a protected path and a mode
        // that refuses the call stand.
        let asks_by_mode = judgement.permission == Permission::Ask && judgement.flag_effect == FlagEffect::CanOverride;
        let approver = match () {
            () if !asks_by_mode || asked_by.is_some() => None,
            () if is_demand_met => Some("the user, for this session".to_owned()),
            () if !approved_by.is_empty() => Some(approved_by.join(", ")),
            () if self.only_reads_project(tool).await => Some("its effects".to_owned()),
            () => None,
        };
        let permission = match (judgement.permission.clone(), self.consent) {
            (Permission::Ask, _) if let Some(by) = approver => {
                tracing::debug!(by, "approved");
                Permission::Granted
            }
            (Permission::Denied(words), _) => Permission::Denied(words),
            (Permission::Granted, _) if asked_by.is_some() => Permission::Ask,
            // The user wrote this call; the approval mode is about calls of others.
            (_, UserConsent::Given) if asked_by.is_none() => Permission::Granted,
            (Permission::Refused(_), UserConsent::Given) => Permission::Ask,
            (other, _) => other,
        };
        match permission {
            Permission::Protected(path) if services.interaction == Interaction::Headless => {
                self.refused_by = Some("protected path");
                Err(self.reject(format!("Tool execution blocked: {}", protected_path_denial(&path))))
            }
            Permission::Protected(path) => self.ask_user(tool, asked_by, Some(path), judgement.flag_effect).await,
            Permission::Granted => {
                tracing::debug!(by = "rules", mode = services.approvals.mode().as_str(), "may run");
                self.decision = self.decision.or(Some(CallDecision::AutoAccept));
                Ok(())
            }
            Permission::Refused(reason) => Err(self.reject_by_mode(&reason)),
            Permission::Denied(words) => Err(self.reject_by_policy(words)),
            Permission::Ask if services.interaction == Interaction::Headless => {
                tracing::debug!(by = "nobody", "refused: the user would have to be asked");
                self.refused_by = Some("no user to ask");
                self.decision = Some(CallDecision::Reject);
                Err(Box::new(failed_call(
                    ToolErrorKind::PolicyViolation,
                    headless_denial(&self.name, tool.kind(), asked_by.as_ref(), &judgement),
                )))
            }
            Permission::Ask => self.ask_user(tool, asked_by, None, judgement.flag_effect).await,
        }
    }

    /// Whether a shell command certainly does nothing but read files of the project.
    async fn only_reads_project(&self, tool: &Arc<dyn Tool>) -> bool {
        if tool.kind() != ToolKind::Execute || tool.mcp_origin().is_some() {
            return false;
        }
        let (name, args, resolver) = (self.name.clone(), self.args.clone(), self.path_resolver());
        let (session, home) = (self.services.hooks.session(), self.services.checkpoints.home().to_owned());
        let analysis = tokio::task::spawn_blocking(move || {
            let place = CallPlace { cwd: &session.cwd, project: &session.project_dir, home: Some(&home) };
            only_reads_project(&name, &args, &place, &resolver)
        });
        matches!(tokio::time::timeout(MAX_ANALYSIS_TIME, analysis).await, Ok(Ok(true)))
    }

    fn reject_by_mode(&mut self, reason: &str) -> Box<CompletedCall> {
        self.refused_by = Some("approval mode");
        self.reject(format!("Tool execution blocked: {reason}"))
    }

    fn reject_by_policy(&mut self, words: String) -> Box<CompletedCall> {
        self.refused_by = Some("policy");
        self.reject(words)
    }

    fn reject(&mut self, words: String) -> Box<CompletedCall> {
        tracing::debug!(by = "rules", "refused: {words}");
        self.decision = Some(CallDecision::Reject);
        Box::new(failed_call(ToolErrorKind::PolicyViolation, words))
    }

    /// Asks the user for approval.
    ///
    /// Arguments that the user edits are judged like the model's, and shown again if hooks change them.
    async fn ask_user(
        &mut self,
        tool: &Arc<dyn Tool>,
        mut asked_by: Option<ApprovalDemand>,
        mut protected: Option<String>,
        mut flag_effect: FlagEffect,
    ) -> Result<(), Box<CompletedCall>> {
        loop {
            // A hook's demand for approval is repeated for every call, so no permanent rule is offered.
            let always = match (&asked_by, &protected) {
                (None, None) => self.services.approvals.rule_offers(&self.approval_subject(tool)),
                _ => Vec::new(),
            };
            let words = always.iter().map(|offer| offer.description.clone()).collect();
            let request = self.approval_request(tool, asked_by.clone()).await;
            // A policy asks again whatever is allowed for the session, and so does a protected file.
            let can_last = protected.is_none() && flag_effect == FlagEffect::CanOverride;
            let protected_file = protected.clone();
            let request = ApprovalRequest { protected_file, can_last, rule_offer_texts: words, ..request };
            let shown = request.preview.clone();
            let reply = ask_for_approval(self.services, request, self.scope).await;
            tracing::debug!(by = "user", answer = reply.as_str(), "asked");
            let lasts = matches!(reply, ApprovalReply::Session | ApprovalReply::Server | ApprovalReply::Always(_));
            let reply = if !can_last && lasts { ApprovalReply::Once } else { reply };
            if let ApprovalReply::Always(at) = reply {
                self.remember_offer(always.get(at));
            }
            let Some(args) = self.apply_reply(tool, reply, asked_by.as_ref())? else {
                if let Some(ToolDisplay::Diff(shown)) = shown {
                    if self.is_diff_outdated(tool, &shown).await {
                        let text = format!("{} has changed in the meantime; the new diff follows", shown.shown_path);
                        self.services.events.send(AgentNotice::Note(text));
                        continue;
                    }
                    self.approved_diff = Some(Arc::from(shown));
                }
                self.allowed_path = protected.map(|path| self.services.approvals.resolve_protected_path(&path));
                return Ok(());
            };
            self.apply_user_edit(args.clone())?;
            asked_by = self.before_tool().await?.demand;
            let judgement = self.services.approvals.evaluate(&self.approval_subject(tool));
            self.record_policy(judgement.policy.clone());
            let permission = judgement.permission;
            flag_effect = judgement.flag_effect;
            protected = if let Permission::Protected(path) = &permission { Some(path.clone()) } else { None };
            match permission {
                Permission::Refused(reason) => return Err(self.reject_by_mode(&reason)),
                Permission::Denied(words) => return Err(self.reject_by_policy(words)),
                _ if *self.args == args => {
                    self.allowed_path = protected.map(|path| self.services.approvals.resolve_protected_path(&path));
                    return Ok(());
                }
                Permission::Granted | Permission::Ask | Permission::Protected(_) => {}
            }
        }
    }

    /// Returns whether the file change would now differ from the one that was shown.
    async fn is_diff_outdated(&self, tool: &Arc<dyn Tool>, shown: &FileDiff) -> bool {
        let now = tool.preview(self.args.as_value(), &self.tool_context()).await;
        // If there is no change to make any more, the tool reports that.
        matches!(now, Some(ToolDisplay::Diff(now)) if *now != *shown)
    }

    async fn approval_request(&self, tool: &Arc<dyn Tool>, asked_by: Option<ApprovalDemand>) -> ApprovalRequest {
        let args = self.args.as_value();
        ApprovalRequest {
            call_id: self.id.clone(),
            name: self.name.clone(),
            title: match (&self.visibility, &self.scope.agent) {
                (Visibility::Hidden(Some(for_what)), _) => format!("{} for {for_what}", tool.display_name()),
                (_, Some(agent)) => format!("{} for agent {}", tool.display_name(), agent.name),
                _ => tool.display_name().to_owned(),
            },
            kind: tool.kind(),
            args: self.args.to_map(),
            description: tool.describe(args),
            preview: tool.preview(args, &self.tool_context()).await,
            rewritten_args: self.rewritten_args.clone(),
            original_args: self.redacted_args.is_none().then(|| self.original_args.clone()),
            call_number: self.call_number,
            requested_by: self.requested_by,
            approval_demand: asked_by,
            server: tool.mcp_origin().cloned(),
            protected_file: None,
            can_last: true,
            rule_offer_texts: Vec::new(),
        }
    }

    /// Stores a permanent rule; if that fails, it counts for this session and a warning is sent.
    fn remember_offer(&self, offer: Option<&RuleOffer>) {
        let (Some(offer), Some(memory)) = (offer, self.services.approvals.remembered_rules()) else { return };
        self.services.approvals.apply_offer(offer);
        let written = self.services.change_remembered_rules(&memory, || memory.append_offer(offer));
        let (words, file) = (&offer.description, memory.file.display());
        self.services.events.send(match written {
            Ok(_) => AgentNotice::Note(format!(
                "always allowed in this project: {words} ({file}; /permissions takes it back)"
            )),
            Err(error) => {
                AgentNotice::Warning(format!("allowed for this session only, because it can't be saved: {error}"))
            }
        });
    }

    /// Returns the call as the approval rules judge it.
    fn approval_subject<'a>(&'a self, tool: &'a Arc<dyn Tool>) -> ApprovalSubject<'a> {
        let agent = self.scope.agent.as_ref().map(|agent| agent.name.as_str());
        let reads_from = tool.source_server(self.args.as_value()).map(Cow::Owned);
        let (server, workspace) = (tool.mcp_origin(), Some(&*self.workspace));
        ApprovalSubject { tool: &self.name, kind: tool.kind(), args: &self.args, server, reads_from, agent, workspace }
    }

    /// Replaces the arguments with the user's, if they fit the tool.
    fn apply_user_edit(&mut self, args: Map<String, Value>) -> Result<(), Box<CompletedCall>> {
        self.decision = Some(CallDecision::Modify);
        self.rewritten_args.clear();
        self.original_args.clear();
        self.args = args.into();
        let fits = canonical_arguments(&self.name, &mut self.args);
        match fits.and_then(|()| self.tools.check_call(&self.name, self.args.as_value())) {
            Ok(_) => Ok(()),
            Err(problem) => Err(Box::new(CompletedCall { result: problem.into(), ..empty_completion() })),
        }
    }

    /// Applies the user's reply; returns edited arguments, which have yet to be judged.
    fn apply_reply(
        &mut self,
        tool: &Arc<dyn Tool>,
        reply: ApprovalReply,
        demand: Option<&ApprovalDemand>,
    ) -> Result<Option<Map<String, Value>>, Box<CompletedCall>> {
        self.decision = Some(CallDecision::Accept);
        match reply {
            ApprovalReply::Once | ApprovalReply::Always(_) => Ok(None),
            ApprovalReply::Session => {
                self.services.approvals.grant(&self.approval_subject(tool), demand);
                Ok(None)
            }
            ApprovalReply::Server if tool.mcp_origin().is_some() => {
                self.services.approvals.grant_server(&self.approval_subject(tool));
                Ok(None)
            }
            ApprovalReply::Edited(args) => Ok(Some(args)),
            ApprovalReply::Deny(word) => {
                self.decision = Some(CallDecision::Reject);
                // Scripts written for Gemini CLI search for this word.
                let words = word.as_ref().map_or_else(|| " (Cancelled)".to_owned(), |word| format!(": {word}"));
                let failed = failed_call(ToolErrorKind::ExecutionFailed, format!("{USER_DENIAL_MESSAGE}{words}"));
                Err(Box::new(CompletedCall { user_denial: Some(UserDenial(word)), ..failed }))
            }
            // `Server` is only offered for MCP tools.
            ApprovalReply::Cancel | ApprovalReply::Server => {
                self.decision = Some(CallDecision::Reject);
                Err(Box::new(cancelled_call()))
            }
        }
    }
}

/// The time after which a command counts as one whose effects are not known, such as on a disk that hangs.
const MAX_ANALYSIS_TIME: Duration = Duration::from_secs(2);

/// Returns whether a refused call has a hook that wants its arguments redacted and gives
/// no others, or that failed before it could.
fn is_redaction_undecided(outcome: &Outcome<BeforeToolVerdict>) -> bool {
    let is_refused = matches!(outcome.verdict, BeforeToolVerdict::Deny { .. } | BeforeToolVerdict::Stop { .. });
    is_refused && outcome.runs.iter().any(|run| run.answer.redact_input && run.answer.tool_input.is_none())
}

/// Whether a hook asked for the redaction itself. The engine redacts in the place of a hook that failed.
fn redacts(run: &RunReport) -> bool {
    let has_failed = run.failure.is_some() || !run.succeeded();
    run.answer.redact_input && (!has_failed || run.stdout.text.contains("redact_input"))
}

fn protected_path_denial(path: &str) -> String {
    format!(
        "{path} is protected because guards depend on it, and no user is present to approve a change; \
         \"!{path}\" in `security.protectedPaths` of your own settings lets tools change it"
    )
}

fn headless_denial(
    tool: &str,
    kind: ToolKind,
    asked_by: Option<&ApprovalDemand>,
    judgement: &ApprovalDecision,
) -> String {
    match asked_by {
        Some(ApprovalDemand { hooks, reason }) => {
            format!(
                "Tool execution blocked: {reason} (hook {} asks for the user's approval, and no user is present)",
                hooks.join(", ")
            )
        }
        // Command-line flags do not override what ranks above them.
        None if judgement.flag_effect == FlagEffect::CannotOverride => {
            format!(
                "Tool execution blocked: {} requires the user's approval, and no user is present",
                judgement.decided_by
            )
        }
        None => {
            let mode = if kind == ToolKind::Edit { "--approval-mode=auto_edit or " } else { "" };
            format!(
                "Tool execution blocked: {tool} needs approval and no user is present to give it; \
                 allow it with --allowed-tools {tool}, {mode}--approval-mode=yolo (for scripts: Tool \"{tool}\" not found)"
            )
        }
    }
}
