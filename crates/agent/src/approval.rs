//! Whether a tool call may run: the approval mode, the lists of tools that may run unasked, and policy files.
//!
//! Decides only; asking the user is `call.rs`, and hooks have had their say before this.

mod session_grants;
mod tool_lists;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hookwright_hooks::McpToolName;
use hookwright_settings::ApprovalMode;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolKind, Workspace};
use serde_json::{Map, Value};

use crate::policy::{Policy, PolicyCall, RememberedRules, RuleDecision, RuleOffer, RuleVerdict};
use crate::protect::ProtectedPaths;
use crate::skills::ACTIVATE_SKILL;
use session_grants::{grant_key, server_grant_key};
use tool_lists::entry_allows_call;

pub use session_grants::session_grant_scope;
pub use tool_lists::ToolLimits;
pub(crate) use tool_lists::{prefix_allows, shell_command_arg};

/// What is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It runs.
    Granted,
    /// The user is asked.
    Ask,
    /// The user is asked, whatever the mode: this file is protected, and the call would change it.
    Protected(String),
    /// The mode does not let it run; why.
    Refused(String),
    /// A policy or a list of the settings denies it; the words for the model and the user.
    Denied(String),
}

/// What is to happen with a call, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// What is to happen.
    pub permission: Permission,
    /// The rule, the list or the mode that decides.
    pub decided_by: String,
    /// Whether a flag of the command line could decide otherwise.
    pub flag_effect: FlagEffect,
}

/// Whether a flag of the command line could decide otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagEffect {
    /// Another mode or `--allowed-tools` could.
    CanOverride,
    /// Rules and lists stand above them.
    CannotOverride,
}

impl ApprovalDecision {
    /// By a rule or a list, which stand above the command line.
    fn from_rule_or_list(permission: Permission, by: impl Into<String>) -> Self {
        ApprovalDecision { permission, decided_by: by.into(), flag_effect: FlagEffect::CannotOverride }
    }
}

/// A call to judge.
#[derive(Clone, Debug)]
pub struct ApprovalSubject<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// What it does to the world.
    pub kind: ToolKind,
    /// What it is given.
    pub args: &'a Map<String, Value>,
    /// For a tool of an MCP server: which one it is there.
    pub server: Option<&'a McpToolOrigin>,
    /// The MCP server that a call which is no tool of it reads from.
    pub reads_from: Option<Cow<'a, str>>,
    /// The sub-agent whose call it is.
    pub agent: Option<&'a str>,
    /// Where the paths of the call lead, if they have been looked up for it.
    pub workspace: Option<&'a Workspace>,
}

impl<'a> ApprovalSubject<'a> {
    /// A call of a tool that is no server's.
    pub fn new(tool: &'a str, kind: ToolKind, args: &'a Map<String, Value>) -> Self {
        ApprovalSubject { tool, kind, args, server: None, reads_from: None, agent: None, workspace: None }
    }

    /// All that it is called, if it has to do with an MCP server.
    pub(crate) fn mcp_name(&self) -> Option<McpToolName<'_>> {
        let (of, read) = (self.server.map(|of| of.mcp_name(self.tool)), self.reads_from.as_deref());
        let read = || read.map(|server| McpToolName { name: self.tool, server, tool: self.tool });
        of.or_else(read).or_else(|| McpToolName::parse(self.tool))
    }
}

/// The session's rules on what runs unasked.
#[derive(Debug)]
pub struct Approvals {
    mode: RwLock<ApprovalMode>,
    /// The modes that the user can step through.
    selectable_modes: Vec<ApprovalMode>,
    /// `--allowed-tools` and `tools.allowed`.
    allowed_tools: RwLock<Vec<String>>,
    tool_limits: RwLock<ToolLimits>,
    policy: RwLock<Arc<Policy>>,
    protected: RwLock<Arc<ProtectedPaths>>,
    /// What the MCP servers that count are called, and what in the names of their tools.
    server_names: RwLock<HashMap<String, String>>,
    /// What the user allowed for the session.
    session_grants: Mutex<HashSet<String>>,
    /// Where what the user allows for good is written down.
    remembered_rules: RwLock<Option<RememberedRules>>,
}

impl Approvals {
    /// Rules for a session.
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

    /// Where what the user allows for good is written down, and for which project.
    pub(crate) fn set_remembered_rules(&self, memory: RememberedRules) {
        *self.remembered_rules.write().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    pub(crate) fn remembered_rules(&self) -> Option<RememberedRules> {
        self.remembered_rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the user could allow for good instead of this call alone: only what would let it run, and weakens nobody's no.
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

    /// Lets calls run unasked that a rule covers which was just written down.
    pub(crate) fn apply_offer(&self, offer: &RuleOffer) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(policy.with_rules(&offer.rules));
    }

    /// What the user allowed for this session, in words.
    pub(crate) fn session_grants(&self) -> Vec<String> {
        let granted = self.session_grants.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words: Vec<String> = granted.iter().cloned().collect();
        words.sort();
        words
    }

    /// Takes back what was allowed for this session.
    pub(crate) fn clear_session_grants(&self) {
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The same rules, in which only these modes can be stepped through.
    #[must_use]
    pub fn with_selectable_modes(self, modes: Vec<ApprovalMode>) -> Self {
        Approvals { selectable_modes: modes, ..self }
    }

    /// The modes that the user can step through.
    pub fn selectable_modes(&self) -> &[ApprovalMode] {
        &self.selectable_modes
    }

    /// The approval mode now.
    pub fn mode(&self) -> ApprovalMode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another approval mode, from the next call on.
    pub fn set_mode(&self, mode: ApprovalMode) {
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Other tools that run unasked, from the next call on.
    pub fn set_allowed_tools(&self, allowed: Vec<String>) {
        *self.allowed_tools.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Other rules, from the next call on.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Other limits for shell commands, from the next call on.
    pub fn set_tool_limits(&self, limits: ToolLimits) {
        *self.tool_limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Other files that no tool changes unasked, from the next call on.
    pub fn set_protected(&self, protected: Arc<ProtectedPaths>) {
        *self.protected.write().unwrap_or_else(PoisonError::into_inner) = protected;
    }

    /// Other MCP servers, from the next call on: what each is called, and what in the names of its tools.
    pub fn set_server_names(&self, servers: HashMap<String, String>) {
        *self.server_names.write().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// These beside them: servers that an agent of this session brings.
    pub(crate) fn add_server_names(&self, servers: HashMap<String, String>) {
        self.server_names.write().unwrap_or_else(PoisonError::into_inner).extend(servers);
    }

    /// What all MCP servers but this one's are called.
    fn other_server_names(&self, mcp: Option<McpToolName<'_>>) -> Vec<String> {
        let servers = self.server_names.read().unwrap_or_else(PoisonError::into_inner);
        let others = servers.iter().filter(|(name, _)| mcp.is_some_and(|mcp| mcp.server != **name));
        others.flat_map(|(name, alias)| [name.clone(), alias.clone()]).collect()
    }

    /// What no tool changes unasked, as it is now.
    pub(crate) fn protected(&self) -> Arc<ProtectedPaths> {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The whole of a protected path that was told to people.
    pub(crate) fn resolve_protected_path(&self, told: &str) -> PathBuf {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).absolute_path(told)
    }

    /// Lets calls like this one run unasked from now on.
    pub(crate) fn grant(&self, call: &ApprovalSubject<'_>) {
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).insert(grant_key(call));
    }

    /// Lets every tool of this one's server run unasked from now on, as it is or will be.
    pub(crate) fn grant_server(&self, call: &ApprovalSubject<'_>) {
        let key = server_grant_key(call).unwrap_or_else(|| grant_key(call));
        self.session_grants.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// The rules' word on a call.
    pub(crate) fn permission_for(&self, call: &ApprovalSubject<'_>) -> Permission {
        self.evaluate(call).permission
    }

    /// The rules' word on a call, and which of them it is: any deny, then any ask, then what allows. No rule, mode or grant
    /// lets a guard be changed unasked.
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
                ApprovalDecision::from_rule_or_list(Permission::Protected(path), by)
            }
        }
    }

    fn evaluate_rules(&self, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.evaluate_policy(&policy, call)
    }

    fn evaluate_policy(&self, policy: &Policy, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let ApprovalSubject { tool, kind, args, agent, .. } = *call;
        let limited = self.tool_limits.read().unwrap_or_else(PoisonError::into_inner).evaluate(call);
        if let Some(refused) = limited.clone().filter(|one| matches!(one.permission, Permission::Denied(_))) {
            return refused;
        }
        let (mcp, mode) = (call.mcp_name(), self.mode());
        let others = self.other_server_names(mcp);
        let protected = self.protected();
        // Only rules about folders want to know.
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
            return decision_from_rule(&refused);
        }
        if let Some(asked) = limited {
            return asked;
        }
        if policy.is_broken() && !kind.is_harmless() {
            return ApprovalDecision::from_rule_or_list(Permission::Ask, "a policy file that is broken");
        }
        verdict.map_or_else(|| self.evaluate_without_policy(call), |verdict| decision_from_rule(&verdict))
    }

    fn evaluate_without_policy(&self, call: &ApprovalSubject<'_>) -> ApprovalDecision {
        let ApprovalSubject { tool, kind, server, .. } = *call;
        let mode = self.mode();
        let judged =
            |permission, by| ApprovalDecision { permission, decided_by: by, flag_effect: FlagEffect::CanOverride };
        let by_mode = |permission| judged(permission, format!("the approval mode {}", mode.as_str()));
        if kind.is_harmless() {
            return judged(Permission::Granted, format!("{tool} changes nothing"));
        }
        match mode {
            ApprovalMode::Yolo => return by_mode(Permission::Granted),
            // A skill is words, and plans are made with them too.
            ApprovalMode::Plan if tool == ACTIVATE_SKILL => {}
            ApprovalMode::Plan => {
                let message = format!("{tool} changes things, and plan mode only looks");
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
    ApprovalDecision::from_rule_or_list(permission, by)
}

fn denial_message(message: Option<&str>) -> String {
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("Tool execution denied by policy{message}")
}

#[cfg(test)]
mod tests;
