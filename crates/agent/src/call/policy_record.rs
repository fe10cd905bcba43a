//! Puts on record what policies and tool lists decide about a call, also about calls that no hook has seen.

use std::borrow::Cow;

use hookwright_hooks::{BeforeTool, EventKind};
use hookwright_journal::{EventEntry, PolicyEntry, Verdict};
use serde_json::{Map, Value};

use super::ToolInvocation;
use crate::approval::PolicyDecision;
use crate::policy::RuleDecision;

impl ToolInvocation<'_> {
    /// Keeps the decision for the line about the call's end. A call without a line gets the one of its event now.
    pub(super) fn record_policy(&mut self, decision: Option<PolicyDecision>) {
        self.policy = decision;
        let Some(journal) = self.services.journal.as_ref().filter(|_| self.policy.is_some()) else { return };
        if journal.has_call(&self.id) {
            return;
        }
        let (session, context) = (self.services.hooks.session(), self.services.run_context(self.scope));
        let source = journal.source();
        let entry = EventEntry {
            agent: source.agent.clone(),
            agent_version: source.version.clone(),
            project: session.project_dir.to_string_lossy().into_owned(),
            session: session.id.clone(),
            turn: context.turn_id.as_deref().map(str::to_owned),
            call: Some(self.id.clone()),
            subagent: context.agent.as_ref().map(|agent| agent.id.clone()),
            event: EventKind::BeforeTool.name().to_owned(),
            tool: Some(self.name.clone()),
            ..EventEntry::default()
        };
        let is_told = self.unrecorded_args.is_none() && self.redacted_args.is_none();
        let content = is_told.then(|| {
            let mut input = self.event_input();
            input.insert("cwd".to_owned(), session.cwd.to_string_lossy().into());
            input.extend(context.approval_mode.map(|mode| ("approval_mode".to_owned(), Value::from(mode))));
            input.extend(context.agent.map(|agent| ("agent_name".to_owned(), Value::from(agent.name.clone()))));
            Map::from_iter([("input".to_owned(), Value::Object(input))])
        });
        journal.record_event(entry, content);
    }

    /// Returns what hooks would have been told about the call.
    fn event_input(&self) -> Map<String, Value> {
        let event = BeforeTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&self.args),
            mcp_context: self.mcp_context.as_ref().map(Cow::Borrowed),
            original_request_name: self.tail_call_origin.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        match serde_json::to_value(event) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

/// Returns the decision as a line of the journal has it.
pub(super) fn policy_entry(decision: &PolicyDecision) -> PolicyEntry {
    PolicyEntry {
        verdict: decision.decision.into(),
        by: decision.by.clone(),
        file: decision.location.as_ref().map(|place| place.file.to_string_lossy().into_owned()),
        line: decision.location.as_ref().map(|place| place.line),
    }
}

impl From<RuleDecision> for Verdict {
    fn from(decision: RuleDecision) -> Verdict {
        match decision {
            RuleDecision::Allow => Verdict::Allow,
            RuleDecision::AskUser => Verdict::Ask,
            RuleDecision::Deny => Verdict::Deny,
        }
    }
}
