//! What policies decide about the calls of Hookwright's own sessions: as the journal has it, and today. Other agents do
//! not know these policies.

use std::collections::HashMap;
use std::sync::Arc;

use hookwright_agent::session::tool_limits;
use hookwright_agent::{
    ApprovalMode, ApprovalSubject, Approvals, Interaction, PolicyDecision, ProtectedPaths, load_policies,
};
use hookwright_hooks::Severity;
use hookwright_journal::{Entry, EventEntry, JournalError, JournalLine, Query, Reader, Verdict};
use hookwright_settings::LoadedConfig;
use hookwright_tools::{ToolKind, ToolSet, WebSearchSupport};
use serde_json::{Map, Value};

/// The agent of lines about own sessions.
const OWN_AGENT: &str = "hookwright";

/// The recorded decisions by session and call.
pub(super) type PolicyVerdicts = HashMap<(String, String), Verdict>;

/// Returns the key of the call that an event is about.
pub(super) fn call_key(event: &EventEntry) -> (String, String) {
    (event.session.clone(), event.call.clone().unwrap_or_default())
}

/// Reads what policies decided about the calls of a query.
pub(super) fn recorded_policies(reader: &Reader, query: &Query) -> Result<PolicyVerdicts, JournalError> {
    let mut verdicts = PolicyVerdicts::new();
    reader.for_each_unparsed(query, |text| {
        if text.contains("\"policy\":{")
            && let Ok(JournalLine { entry: Entry::Call(call), .. }) = serde_json::from_str(text)
            && let Some(policy) = call.policy
        {
            verdicts.insert((call.session, call.call), policy.verdict);
        }
        true
    })?;
    Ok(verdicts)
}

/// The policies and tool lists of a project as they are now.
pub(super) struct CurrentPolicies {
    approvals: Approvals,
    tools: ToolSet,
    /// The number of rules.
    pub(super) rules: usize,
    /// The first problem of a policy file.
    pub(super) problem: Option<String>,
}

impl CurrentPolicies {
    pub(super) fn load(loaded: &LoadedConfig) -> CurrentPolicies {
        let (policy, problem) = match load_policies(loaded, &[], Interaction::Interactive) {
            Ok((policy, diagnostics)) => {
                let error = diagnostics.iter().find(|one| one.severity == Severity::Error);
                (policy, error.map(ToString::to_string))
            }
            Err(error) => (Default::default(), Some(error.to_string())),
        };
        let rules = policy.rules().len();
        let approvals = Approvals::new(ApprovalMode::Default, loaded.settings.tools.allowed.clone(), policy);
        approvals.set_tool_limits(tool_limits(loaded));
        approvals.set_protected(Arc::new(ProtectedPaths::new(loaded, &[])));
        CurrentPolicies { approvals, tools: ToolSet::builtin(WebSearchSupport::Unavailable), rules, problem }
    }

    /// Returns what a rule or a list decides about a recorded call, if one does.
    pub(super) fn decide(&self, event: &EventEntry, input: &Map<String, Value>) -> Option<PolicyDecision> {
        if event.agent != OWN_AGENT {
            return None;
        }
        let (tool, args) = (event.tool.as_deref()?, input.get("tool_input")?.as_object()?);
        let mode = input.get("approval_mode").and_then(Value::as_str).unwrap_or_default();
        let mode = ApprovalMode::ALL.into_iter().find(|known| known.as_str() == mode).unwrap_or_default();
        // A tool that is not known may do anything.
        let kind = self.tools.get(tool).map_or(ToolKind::Execute, |tool| tool.kind());
        let agent = input.get("agent_name").and_then(Value::as_str);
        self.approvals.policy_decision(&ApprovalSubject { agent, ..ApprovalSubject::new(tool, kind, args) }, mode)
    }
}
