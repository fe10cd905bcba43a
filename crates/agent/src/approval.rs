//! Whether a tool call may run: the approval mode, the lists of tools that may run unasked, and policy files.
//!
//! Decides only; asking the user is `call.rs`, and hooks have had their say before this.

mod grants;
mod lists;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hookwright_hooks::McpName;
use hookwright_settings::ApprovalMode;
use hookwright_tools::mcp::ServerTool;
use hookwright_tools::{ToolKind, Workspace};
use serde_json::{Map, Value};

use crate::policy::{Decision, Memory, Offer, Policy, PolicyCall, Verdict};
use crate::protect::Protected;
use crate::skills::ACTIVATE_SKILL;
use grants::{grant_key, server_key};
use lists::allows;

pub use grants::session_grant;
pub use lists::ToolLimits;
pub(crate) use lists::{command_of, prefix_allows};

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
pub struct Judgement {
    /// What is to happen.
    pub permission: Permission,
    /// The rule, the list or the mode that decides.
    pub by: String,
    /// Whether a flag of the command line could decide otherwise.
    pub flags: Flags,
}

/// Whether a flag of the command line could decide otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// Another mode or `--allowed-tools` could.
    Help,
    /// Rules and lists stand above them.
    DoNotHelp,
}

impl Judgement {
    /// By a rule or a list, which stand above the command line.
    fn ruled(permission: Permission, by: impl Into<String>) -> Self {
        Judgement { permission, by: by.into(), flags: Flags::DoNotHelp }
    }
}

/// A call to judge.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// What it does to the world.
    pub kind: ToolKind,
    /// What it is given.
    pub args: &'a Map<String, Value>,
    /// For a tool of an MCP server: which one it is there.
    pub server: Option<&'a ServerTool>,
    /// The MCP server that a call which is no tool of it reads from.
    pub reads_from: Option<Cow<'a, str>>,
    /// The sub-agent whose call it is.
    pub agent: Option<&'a str>,
    /// Where the paths of the call lead, if they have been looked up for it.
    pub workspace: Option<&'a Workspace>,
}

impl<'a> Judged<'a> {
    /// A call of a tool that is no server's.
    pub fn new(tool: &'a str, kind: ToolKind, args: &'a Map<String, Value>) -> Self {
        Judged { tool, kind, args, server: None, reads_from: None, agent: None, workspace: None }
    }

    /// All that it is called, if it has to do with an MCP server.
    pub(crate) fn mcp(&self) -> Option<McpName<'_>> {
        let (of, read) = (self.server.map(|of| of.named(self.tool)), self.reads_from.as_deref());
        let read = || read.map(|server| McpName { name: self.tool, server, tool: self.tool });
        of.or_else(read).or_else(|| McpName::read(self.tool))
    }
}

/// The session's rules on what runs unasked.
#[derive(Debug)]
pub struct Approvals {
    mode: RwLock<ApprovalMode>,
    /// The modes that the user can step through.
    modes: Vec<ApprovalMode>,
    /// `--allowed-tools` and `tools.allowed`.
    allowed: RwLock<Vec<String>>,
    limits: RwLock<ToolLimits>,
    policy: RwLock<Arc<Policy>>,
    protected: RwLock<Arc<Protected>>,
    /// What the MCP servers that count are called, and what in the names of their tools.
    servers: RwLock<HashMap<String, String>>,
    /// What the user allowed for the session.
    granted: Mutex<HashSet<String>>,
    /// Where what the user allows for good is written down.
    memory: RwLock<Option<Memory>>,
}

impl Approvals {
    /// Rules for a session.
    pub fn new(mode: ApprovalMode, allowed: Vec<String>, policy: Policy) -> Self {
        Approvals {
            mode: RwLock::new(mode),
            modes: ApprovalMode::ALL.to_vec(),
            allowed: RwLock::new(allowed),
            limits: RwLock::default(),
            policy: RwLock::new(Arc::new(policy)),
            protected: RwLock::default(),
            servers: RwLock::default(),
            granted: Mutex::default(),
            memory: RwLock::default(),
        }
    }

    /// Where what the user allows for good is written down, and for which project.
    pub(crate) fn set_memory(&self, memory: Memory) {
        *self.memory.write().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    pub(crate) fn memory(&self) -> Option<Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the user could allow for good instead of this call alone: only what would let it run, and weakens nobody's no.
    pub(crate) fn offers(&self, call: &Judged<'_>) -> Vec<Offer> {
        let Some(memory) = self.memory() else { return Vec::new() };
        if call.agent.is_some() || self.judge(call).permission != Permission::Ask {
            return Vec::new();
        }
        let protected = self.protected();
        let file = protected.edited(call);
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut offers = memory.offers(call, file.as_deref());
        offers.retain(|offer| self.by_rules_of(&policy.with(&offer.rules), call).permission == Permission::Granted);
        offers
    }

    /// Lets calls run unasked that a rule covers which was just written down.
    pub(crate) fn learn(&self, offer: &Offer) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(policy.with(&offer.rules));
    }

    /// What the user allowed for this session, in words.
    pub(crate) fn granted(&self) -> Vec<String> {
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words: Vec<String> = granted.iter().cloned().collect();
        words.sort();
        words
    }

    /// Takes back what was allowed for this session.
    pub(crate) fn forget_granted(&self) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The same rules, in which only these modes can be stepped through.
    #[must_use]
    pub fn with_modes(self, modes: Vec<ApprovalMode>) -> Self {
        Approvals { modes, ..self }
    }

    /// The modes that the user can step through.
    pub fn modes(&self) -> &[ApprovalMode] {
        &self.modes
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
    pub fn set_allowed(&self, allowed: Vec<String>) {
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Other rules, from the next call on.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Other limits for shell commands, from the next call on.
    pub fn set_limits(&self, limits: ToolLimits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Other files that no tool changes unasked, from the next call on.
    pub fn set_protected(&self, protected: Arc<Protected>) {
        *self.protected.write().unwrap_or_else(PoisonError::into_inner) = protected;
    }

    /// Other MCP servers, from the next call on: what each is called, and what in the names of its tools.
    pub fn set_servers(&self, servers: HashMap<String, String>) {
        *self.servers.write().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// These beside them: servers that an agent of this session brings.
    pub(crate) fn add_servers(&self, servers: HashMap<String, String>) {
        self.servers.write().unwrap_or_else(PoisonError::into_inner).extend(servers);
    }

    /// What all MCP servers but this one's are called.
    fn other_servers(&self, mcp: Option<McpName<'_>>) -> Vec<String> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let others = servers.iter().filter(|(name, _)| mcp.is_some_and(|mcp| mcp.server != **name));
        others.flat_map(|(name, alias)| [name.clone(), alias.clone()]).collect()
    }

    /// What no tool changes unasked, as it is now.
    pub(crate) fn protected(&self) -> Arc<Protected> {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The whole of a protected path that was told to people.
    pub(crate) fn protected_path(&self, told: &str) -> PathBuf {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).whole(told)
    }

    /// Lets calls like this one run unasked from now on.
    pub(crate) fn grant(&self, call: &Judged<'_>) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).insert(grant_key(call));
    }

    /// Lets every tool of this one's server run unasked from now on, as it is or will be.
    pub(crate) fn grant_server(&self, call: &Judged<'_>) {
        let key = server_key(call).unwrap_or_else(|| grant_key(call));
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// The rules' word on a call.
    pub(crate) fn decide(&self, call: &Judged<'_>) -> Permission {
        self.judge(call).permission
    }

    /// The rules' word on a call, and which of them it is: any deny, then any ask, then what allows. No rule, mode or grant
    /// lets a guard be changed unasked.
    pub fn judge(&self, call: &Judged<'_>) -> Judgement {
        let judgement = self.by_rules(call);
        if matches!(judgement.permission, Permission::Refused(_) | Permission::Denied(_)) {
            return judgement;
        }
        let protected = self.protected.read().unwrap_or_else(PoisonError::into_inner).clone();
        match protected.touched(call) {
            None => judgement,
            Some(path) => {
                let path = protected.shorten(&path);
                let by = format!("the protected path {path}");
                Judgement::ruled(Permission::Protected(path), by)
            }
        }
    }

    fn by_rules(&self, call: &Judged<'_>) -> Judgement {
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.by_rules_of(&policy, call)
    }

    fn by_rules_of(&self, policy: &Policy, call: &Judged<'_>) -> Judgement {
        let Judged { tool, kind, args, agent, .. } = *call;
        let limited = self.limits.read().unwrap_or_else(PoisonError::into_inner).judge(call);
        if let Some(refused) = limited.clone().filter(|one| matches!(one.permission, Permission::Denied(_))) {
            return refused;
        }
        let (mcp, mode) = (call.mcp(), self.mode());
        let others = self.other_servers(mcp);
        let protected = self.protected();
        // Only rules about folders want to know.
        let about_folders = policy.rules().iter().any(|rule| rule.folder.is_some());
        let file = about_folders.then(|| protected.edited(call)).flatten();
        let (project, file) = (protected.project(), file.as_deref());
        let verdict = policy.decide(&PolicyCall { tool, mcp, others: &others, args, mode, agent, project, file });
        if let Some(refused) = verdict.filter(|verdict| verdict.decision == Decision::Deny) {
            return by_rule(&refused);
        }
        if let Some(asked) = limited {
            return asked;
        }
        if policy.is_broken() && !kind.is_harmless() {
            return Judgement::ruled(Permission::Ask, "a policy file that is broken");
        }
        verdict.map_or_else(|| self.without_policy(call), |verdict| by_rule(&verdict))
    }

    fn without_policy(&self, call: &Judged<'_>) -> Judgement {
        let Judged { tool, kind, server, .. } = *call;
        let mode = self.mode();
        let judged = |permission, by| Judgement { permission, by, flags: Flags::Help };
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
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        if granted.contains(&grant_key(call)) || server_key(call).is_some_and(|key| granted.contains(&key)) {
            return judged(Permission::Granted, "the user, for this session".to_owned());
        }
        drop(granted);
        let allowed = self.allowed.read().unwrap_or_else(PoisonError::into_inner);
        let others = self.other_servers(call.mcp());
        match allowed.iter().find(|entry| allows(entry, call, &others)) {
            Some(entry) => judged(Permission::Granted, format!("`{entry}` in tools.allowed")),
            None => by_mode(Permission::Ask),
        }
    }
}

fn by_rule(verdict: &Verdict<'_>) -> Judgement {
    let rule = verdict.rule;
    let permission = match verdict.decision {
        Decision::Allow => Permission::Granted,
        Decision::AskUser => Permission::Ask,
        Decision::Deny => Permission::Denied(denied(rule.message.as_deref())),
    };
    let (place, tier) = (&rule.place, rule.tier.as_str());
    let by = format!("the rule at {}:{} ({tier}, priority {})", place.file.display(), place.line, rule.priority);
    Judgement::ruled(permission, by)
}

fn denied(message: Option<&str>) -> String {
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("Tool execution denied by policy{message}")
}

#[cfg(test)]
mod tests;
