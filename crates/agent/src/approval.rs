//! Decides whether a tool call may run: the approval mode, the tool lists of settings and flags, and policy files.
//!
//! It only decides: `call/admit.rs` applies the decision, `approval_prompt.rs` asks the user, and BeforeTool hooks have run before.

mod session_grants;
mod tool_lists;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hookwright_hooks::{FileLocation, McpToolName};
use hookwright_settings::ApprovalMode;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolKind, Workspace};
use serde_json::{Map, Value};

use crate::event::ApprovalDemand;
use crate::policy::{Policy, PolicyCall, RememberedRules, RuleDecision, RuleOffer, RuleVerdict};
use crate::protect::ProtectedPaths;
use crate::skills::ACTIVATE_SKILL;
use session_grants::{demand_grant_key, grant_key, server_grant_key};
use tool_lists::entry_allows_call;

pub use session_grants::session_grant_scope;
pub use tool_lists::ToolLimits;
pub(crate) use tool_lists::{prefix_allows, shell_command_arg};

/// The permission for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The call may run.
    Granted,
    /// The user must be asked.
    Ask,
    /// The user must be asked in every mode: the call would change this protected file.
    Protected(String),
    /// The approval mode does not let the call run; the text is the reason.
    Refused(String),
    /// A policy or a tool list denies the call; the text is for the model and the user.
    Denied(String),
}

/// The decision on a call, with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// The permission that the call gets.
    pub permission: Permission,
    /// The rule, list or approval mode that decided.
    pub decided_by: String,
    /// Whether a command-line flag could change the decision.
    pub flag_effect: FlagEffect,
    /// What a policy rule or a tool list decided, if one did; a protected path may be stricter.
    pub policy: Option<PolicyDecision>,
}

/// The decision of a policy rule, or of a list of tools in the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The decision.
    pub decision: RuleDecision,
    /// The rule with its file, tier and priority, or the list.
    pub by: String,
    /// The location of the rule.
    pub location: Option<FileLocation>,
    /// The message of a denial.
    pub message: Option<String>,
}

/// Whether a command-line flag could change a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagEffect {
    /// Another approval mode or `--allowed-tools` could change it.
    CanOverride,
    /// Rules and lists rank above the flags.
    CannotOverride,
}

impl ApprovalDecision {
    /// Returns a decision by a rule or list, which rank above command-line flags.
    fn from_rule_or_list(permission: Permission, by: impl Into<String>) -> Self {
        let by = by.into();
        let (decision, message) = match &permission {
            Permission::Granted => (RuleDecision::Allow, None),
            Permission::Ask | Permission::Protected(_) => (RuleDecision::AskUser, None),
            Permission::Refused(words) | Permission::Denied(words) => (RuleDecision::Deny, Some(words.clone())),
        };
        let policy = Some(PolicyDecision { decision, by: by.clone(), location: None, message });
        ApprovalDecision { permission, decided_by: by, flag_effect: FlagEffect::CannotOverride, policy }
    }
}

/// A tool call to be judged by the approval rules.
#[derive(Clone, Debug)]
pub struct ApprovalSubject<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// The kind of tool, which says how it affects files and processes.
    pub kind: ToolKind,
    /// The arguments of the call.
    pub args: &'a Map<String, Value>,
    /// The MCP server and the tool's name there, for an MCP tool.
    pub server: Option<&'a McpToolOrigin>,
    /// The MCP server that a built-in tool reads a resource from.
    pub reads_from: Option<Cow<'a, str>>,
    /// The name of the sub-agent that makes the call.
    pub agent: Option<&'a str>,
    /// The workspace that has resolved the call's paths, if there is one.
    pub workspace: Option<&'a Workspace>,
}

impl<'a> ApprovalSubject<'a> {
    /// Creates the subject for a tool that belongs to no MCP server.
    pub fn new(tool: &'a str, kind: ToolKind, args: &'a Map<String, Value>) -> Self {
        ApprovalSubject { tool, kind, args, server: None, reads_from: None, agent: None, workspace: None }
    }

    /// Returns the MCP name of the call, if it concerns an MCP server.
    pub(crate) fn mcp_name(&self) -> Option<McpToolName<'_>> {
        let (of, read) = (self.server.map(|of| of.mcp_name(self.tool)), self.reads_from.as_deref());
        let read = || read.map(|server| McpToolName { name: self.tool, server, tool: self.tool });
        of.or_else(read).or_else(|| McpToolName::parse(self.tool))
    }
}

/// The approval rules of a session, which decide what runs without approval.
#[derive(Debug)]
pub struct Approvals {
    mode: RwLock<ApprovalMode>,
    /// The approval modes that the user can cycle through.
    selectable_modes: Vec<ApprovalMode>,
    /// The entries of `--allowed-tools` and `tools.allowed`.
    allowed_tools: RwLock<Vec<String>>,
    tool_limits: RwLock<ToolLimits>,
    policy: RwLock<Arc<Policy>>,
    protected: RwLock<Arc<ProtectedPaths>>,
    /// The names of the MCP servers in use, with the aliases that their tool names contain.
    server_names: RwLock<HashMap<String, String>>,
    /// The keys of what the user allowed for the session.
    session_grants: Mutex<HashSet<String>>,
    /// The file with the rules that the user stored permanently.
    remembered_rules: RwLock<Option<RememberedRules>>,
}

impl Approvals {
    /// Creates the approval rules of a session.
    pub fn new(mode: ApprovalMode, allowed: Vec<String>, policy: Policy) -> Self {
        Approvals {
            mode: RwLock::new(mode),
            selectable_modes: ApprovalMode::ALL.to_vec(),
            allowed_tools: RwLock::new(allowed),
            tool_limits: RwLock::default(),
            policy: RwLock::new(Arc::new(policy)),
            protected: RwLock::default(),
            server_names: RwLock::default(),
            session_grants: Mutex::default(),
            remembered_rules: RwLock::default(),
        }
    }

    /// Sets the file and the project of the permanently stored rules.
    pub(crate) fn set_remembered_rules(&self, memory: RememberedRules) {
        *self.remembered_rules.write().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    pub(crate) fn remembered_rules(&self) -> Option<RememberedRules> {
        self.remembered_rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the rules that the user could store permanently: only those that would let
    /// this call run, and that override no denial.
    pub(crate) fn rule_offers(&self, call: &ApprovalSubject<'_>) -> Vec<RuleOffer> {
        let Some(memory) = self.remembered_rules() else { return Vec::new() };
        if call.agent.is_some() || self.evaluate(call).permission != Permission::Ask {
            return Vec::new();
        }
        let protected = self.protected();
        let file = protected.edited_file(call);
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut offers = memory.offers_for(call, file.as_deref());
        offers.retain(|offer| {
            self.evaluate_policy(&policy.with_rules(&offer.rules), call).permission == Permission::Granted
        });
        offers
    }

    /// Adds the rules of a stored offer to the policy.
    pub(crate) fn apply_offer(&self, offer: &RuleOffer) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(policy.with_rules(&offer.rules));
    }

    /// Returns the keys of what the user allowed for this session, sorted.
    pub(crate) fn session_grants(&self) -> Vec<String> {
        let granted = self.session_grants.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words: Vec<String> = granted.iter().cloned().collect();
        words.sort();
        words
    }

    /// Revokes everything that was allowed for this session.
    pub(crate) fn clear_session_grants(&self) {
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Restricts the approval modes that the user can cycle through.
    #[must_use]
    pub fn with_selectable_modes(self, modes: Vec<ApprovalMode>) -> Self {
        Approvals { selectable_modes: modes, ..self }
    }

    /// Returns the approval modes that the user can cycle through.
    pub fn selectable_modes(&self) -> &[ApprovalMode] {
        &self.selectable_modes
    }

    /// Returns the present approval mode.
    pub fn mode(&self) -> ApprovalMode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the approval mode for later calls.
    pub fn set_mode(&self, mode: ApprovalMode) {
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Sets the tools that need no approval, for later calls.
    pub fn set_allowed_tools(&self, allowed: Vec<String>) {
        *self.allowed_tools.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Sets the policy for later calls.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Sets the limits of shell commands for later calls.
    pub fn set_tool_limits(&self, limits: ToolLimits) {
        *self.tool_limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Sets the protected paths for later calls.
    pub fn set_protected(&self, protected: Arc<ProtectedPaths>) {
        *self.protected.write().unwrap_or_else(PoisonError::into_inner) = protected;
    }

    /// Sets the MCP servers for later calls: each name with the alias that tool names contain.
    pub fn set_server_names(&self, servers: HashMap<String, String>) {
        *self.server_names.write().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// Adds the MCP servers of a sub-agent of this session.
    pub(crate) fn add_server_names(&self, servers: HashMap<String, String>) {
        self.server_names.write().unwrap_or_else(PoisonError::into_inner).extend(servers);
    }

    /// Returns the names and aliases of all MCP servers but the call's own.
    fn other_server_names(&self, mcp: Option<McpToolName<'_>>) -> Vec<String> {
        let servers = self.server_names.read().unwrap_or_else(PoisonError::into_inner);
        let others = servers.iter().filter(|(name, _)| mcp.is_some_and(|mcp| mcp.server != **name));
        others.flat_map(|(name, alias)| [name.clone(), alias.clone()]).collect()
    }

    /// Returns the present protected paths.
    pub(crate) fn protected(&self) -> Arc<ProtectedPaths> {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the absolute path of a protected path in display form.
    pub(crate) fn resolve_protected_path(&self, shown: &str) -> PathBuf {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).absolute_path(shown)
    }

    /// Allows calls with the same key for the rest of the session; if hooks demanded approval, the same call alone.
    pub(crate) fn grant(&self, call: &ApprovalSubject<'_>, demand: Option<&ApprovalDemand>) {
        let key = demand.map_or_else(|| grant_key(call), |demand| demand_grant_key(call, demand));
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// Returns whether the user has allowed this call for the session when the same hooks demanded approval.
    pub(crate) fn is_granted(&self, call: &ApprovalSubject<'_>, demand: &ApprovalDemand) -> bool {
        let granted = self.session_grants.lock().unwrap_or_else(PoisonError::into_inner);
        granted.contains(&demand_grant_key(call, demand))
    }

    /// Allows all tools of the call's MCP server for the rest of the session, including later versions of them.
    pub(crate) fn grant_server(&self, call: &ApprovalSubject<'_>) {
        let key = server_grant_key(call).unwrap_or_else(|| grant_key(call));
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// Returns the permission for a call.
    #[cfg(test)]
    fn permission_for(&self, call: &ApprovalSubject<'_>) -> Permission {
        self.evaluate(call).permission
    }

    /// Decides on a call: a denial comes first, then a demand for approval, then an allowance.
    ///
    /// No rule, mode or grant lets a call change a protected file without approval.
    pub fn evaluate(&self, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let judgement = self.evaluate_rules(call);
        if matches!(judgement.permission, Permission::Refused(_) | Permission::Denied(_)) {
            return judgement;
        }
        let protected = self.protected.read().unwrap_or_else(PoisonError::into_inner).clone();
        match protected.protected_target(call) {
            None => judgement,
            Some(path) => {
                let path = protected.display_path(&path);
                let by = format!("the protected path {path}");
                let policy = judgement.policy;
                ApprovalDecision { policy, ..ApprovalDecision::from_rule_or_list(Permission::Protected(path), by) }
            }
        }
    }

    fn evaluate_rules(&self, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.evaluate_policy(&policy, call)
    }

    /// Returns what a policy rule or a tool list decides about a call, if one does, in this approval mode.
    pub fn policy_decision(&self, call: &ApprovalSubject<'_>, mode: ApprovalMode) -> Option<PolicyDecision> {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.evaluate_rules_and_lists(&policy, call, mode)?.policy
    }

    fn evaluate_policy(&self, policy: &Policy, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let decision = self.evaluate_rules_and_lists(policy, call, self.mode());
        decision.unwrap_or_else(|| self.evaluate_without_policy(call))
    }

    fn evaluate_rules_and_lists(
        &self,
        policy: &Policy,
        call: &ApprovalSubject<'_>,
        mode: ApprovalMode,
    ) -> Option<ApprovalDecision> {
        let ApprovalSubject { tool, kind, args, agent, .. } = *call;
        let limited = self.tool_limits.read().unwrap_or_else(PoisonError::into_inner).evaluate(call);
        if let Some(refused) = limited.clone().filter(|one| matches!(one.permission, Permission::Denied(_))) {
            return Some(refused);
        }
        let mcp = call.mcp_name();
        let others = self.other_server_names(mcp);
        let protected = self.protected();
        // The edited file is only needed for rules about folders.
        let about_folders = policy.rules().iter().any(|rule| rule.folder.is_some());
        let file = about_folders.then(|| protected.edited_file(call)).flatten();
        let (project, file) = (protected.project(), file.as_deref());
        let verdict = policy.decide(&PolicyCall {
            tool,
            mcp_name: mcp,
            other_servers: &others,
            args,
            mode,
            agent,
            project,
            file,
        });
        if let Some(refused) = verdict.filter(|verdict| verdict.decision == RuleDecision::Deny) {
            return Some(decision_from_rule(&refused));
        }
        if let Some(asked) = limited {
            return Some(asked);
        }
        if policy.is_broken() && !kind.is_harmless() {
            return Some(ApprovalDecision::from_rule_or_list(Permission::Ask, "a broken policy file"));
        }
        verdict.map(|verdict| decision_from_rule(&verdict))
    }

    fn evaluate_without_policy(&self, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let ApprovalSubject { tool, kind, server, .. } = *call;
        let mode = self.mode();
        let judged = |permission, by| ApprovalDecision {
            permission,
            decided_by: by,
            flag_effect: FlagEffect::CanOverride,
            policy: None,
        };
        let by_mode = |permission| judged(permission, format!("the approval mode {}", mode.as_str()));
        if kind.is_harmless() {
            return judged(Permission::Granted, format!("{tool} changes nothing"));
        }
        match mode {
            ApprovalMode::Yolo => return by_mode(Permission::Granted),
            // A skill is only text, so plan mode does not refuse it.
            ApprovalMode::Plan if tool == ACTIVATE_SKILL => {}
            ApprovalMode::Plan => {
                let message = format!("{tool} changes things, and plan mode only reads");
                return by_mode(Permission::Refused(message));
            }
            ApprovalMode::AutoEdit if kind == ToolKind::Edit => return by_mode(Permission::Granted),
            ApprovalMode::AutoEdit | ApprovalMode::Default => {}
        }
        if server.is_some_and(|server| server.trusted) {
            return judged(Permission::Granted, "`trust` of its server".to_owned());
        }
        let granted = self.session_grants.lock().unwrap_or_else(PoisonError::into_inner);
        if granted.contains(&grant_key(call)) || server_grant_key(call).is_some_and(|key| granted.contains(&key)) {
            return judged(Permission::Granted, "the user, for this session".to_owned());
        }
        drop(granted);
        let allowed = self.allowed_tools.read().unwrap_or_else(PoisonError::into_inner);
        let others = self.other_server_names(call.mcp_name());
        match allowed.iter().find(|entry| entry_allows_call(entry, call, &others)) {
            Some(entry) => judged(Permission::Granted, format!("`{entry}` in tools.allowed")),
            None => by_mode(Permission::Ask),
        }
    }
}

fn decision_from_rule(verdict: &RuleVerdict<'_>) -> ApprovalDecision {
    let rule = verdict.rule;
    let permission = match verdict.decision {
        RuleDecision::Allow => Permission::Granted,
        RuleDecision::AskUser => Permission::Ask,
        RuleDecision::Deny => Permission::Denied(denial_message(rule.message.as_deref())),
    };
    let (place, tier) = (&rule.location, rule.tier.as_str());
    let by = format!("the rule at {}:{} ({tier}, priority {})", place.file.display(), place.line, rule.priority);
    let decided = ApprovalDecision::from_rule_or_list(permission, by);
    let policy = decided.policy.map(|policy| PolicyDecision { location: Some(place.clone()), ..policy });
    ApprovalDecision { policy, ..decided }
}

fn denial_message(message: Option<&str>) -> String {
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("Tool execution denied by policy{message}")
}

#[cfg(test)]
mod tests;
