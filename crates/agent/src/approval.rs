//! Whether a tool call may run: the approval mode, the lists of tools that may run unasked, and policy files.
//!
//! Decides only; asking the user is `call.rs`, and hooks have had their say before this.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hookwright_hooks::shell::{Fit, Naming, Parts, parts, sole_command, sole_program};
use hookwright_settings::ApprovalMode;
use hookwright_tools::mcp::ServerTool;
use hookwright_tools::{ToolKind, canonical_name};
use serde_json::{Map, Value};

use crate::policy::{Decision, Policy, PolicyCall, Verdict};
use crate::protect::Protected;
use crate::skills::ACTIVATE_SKILL;

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

/// What settings take away from shell commands: `tools.exclude` and `tools.core`.
#[derive(Clone, Debug, Default)]
pub struct ToolLimits {
    /// `run_shell_command(rm)`: no command of these.
    pub exclude: Vec<String>,
    /// `run_shell_command(git)`: only commands of these, if there are any.
    pub core: Option<Vec<String>>,
}

/// A call to judge.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// What it does to the world.
    pub kind: ToolKind,
    /// What it is given.
    pub args: &'a Map<String, Value>,
    /// For a tool of an MCP server: which one it is there.
    pub server: Option<&'a ServerTool>,
    /// The sub-agent whose call it is.
    pub agent: Option<&'a str>,
}

impl<'a> Judged<'a> {
    /// A call of a tool that is no server's.
    pub fn new(tool: &'a str, kind: ToolKind, args: &'a Map<String, Value>) -> Self {
        Judged { tool, kind, args, server: None, agent: None }
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
    /// What the user allowed for the session.
    granted: Mutex<HashSet<String>>,
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
            granted: Mutex::default(),
        }
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
    pub fn set_protected(&self, protected: Protected) {
        *self.protected.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(protected);
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
        let Judged { tool, kind, args, .. } = *call;
        let judgement = self.by_rules(call);
        if matches!(judgement.permission, Permission::Refused(_) | Permission::Denied(_)) {
            return judgement;
        }
        let protected = self.protected.read().unwrap_or_else(PoisonError::into_inner).clone();
        match protected.touched(tool, kind, args) {
            None => judgement,
            Some(path) => {
                let path = protected.shorten(&path);
                let by = format!("the protected path {path}");
                Judgement::ruled(Permission::Protected(path), by)
            }
        }
    }

    fn by_rules(&self, call: &Judged<'_>) -> Judgement {
        let Judged { tool, kind, args, server, agent } = *call;
        let limited = self.limits.read().unwrap_or_else(PoisonError::into_inner).judge(tool, args);
        if let Some(refused) = limited.clone().filter(|one| matches!(one.permission, Permission::Denied(_))) {
            return refused;
        }
        let policy = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        let verdict = policy.decide(&PolicyCall { tool, server, args, mode: self.mode(), agent });
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
        match allowed.iter().find(|entry| allows(entry, call)) {
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

impl ToolLimits {
    fn judge(&self, tool: &str, args: &Map<String, Value>) -> Option<Judgement> {
        let command = command_of(tool, args)?;
        let excluded: Vec<&str> = self.exclude.iter().filter_map(|entry| prefix_of(entry, tool)).collect();
        let core = self.core.as_ref().filter(|core| !core.iter().any(|entry| names_all(entry, tool)));
        let core: Option<Vec<&str>> = core.map(|core| core.iter().filter_map(|entry| prefix_of(entry, tool)).collect());
        if excluded.is_empty() && core.is_none() {
            return None;
        }
        let parts = parts(command);
        let refused = |list: &str, message: String| Judgement::ruled(Permission::Denied(denied(Some(&message))), list);
        let fits = |prefix: &str| {
            parts.commands.iter().map(|part| part.begins_with(prefix, Naming::AnyDirectory)).collect::<Vec<_>>()
        };
        if let Some(prefix) = excluded.iter().find(|prefix| fits(prefix).contains(&Fit::Yes)) {
            return Some(refused("tools.exclude", format!("tools.exclude takes `{prefix}` away")));
        }
        if core.is_some_and(|core| !covers(&parts, &core)) {
            let message = "tools.core names the commands that may run, and this is not one of them".to_owned();
            return Some(refused("tools.core", message));
        }
        let unsure = !excluded.is_empty()
            && (!parts.is_clear() || excluded.iter().any(|prefix| fits(prefix).contains(&Fit::Maybe)));
        unsure.then(|| Judgement::ruled(Permission::Ask, "tools.exclude, which may mean this command"))
    }
}

/// Whether each part begins with one of the prefixes, and nothing else runs.
fn covers(parts: &Parts, prefixes: &[&str]) -> bool {
    let covered = |part: &_| prefixes.iter().any(|prefix| begins(part, prefix));
    parts.certain && !parts.commands.is_empty() && parts.commands.iter().all(covered)
}

fn begins(part: &hookwright_hooks::shell::Part, prefix: &str) -> bool {
    part.begins_with(prefix, Naming::Exact) == Fit::Yes
}

/// What the user's "for this session" covers: the tool, for shell commands only the same one, and of a server only what its
/// tool was then.
fn grant_key(call: &Judged<'_>) -> String {
    let Judged { tool, args, server, .. } = *call;
    if let Some(ServerTool { server, tool, print, .. }) = server {
        return format!("{server:?} has {tool:?} as {print:x}");
    }
    match command_of(tool, args) {
        Some(command) => match session_grant(command) {
            Some(words) => format!("{tool} begins {words}"),
            None => format!("{tool} is {command}"),
        },
        // Consent to one skill is none to another.
        None if tool == ACTIVATE_SKILL => {
            format!("{tool} {}", args.get("name").and_then(Value::as_str).unwrap_or_default().to_lowercase())
        }
        None => tool.to_owned(),
    }
}

/// What "this server, for this session" covers.
fn server_key(call: &Judged<'_>) -> Option<String> {
    call.server.map(|tool| format!("{:?} has everything", tool.server))
}

/// The words that "for this session" covers of a command: the program with its sub-command (`git log`, `npm run build`), or
/// one that always does the same. Nothing for all others and for what shell syntax holds together: that is allowed as a
/// whole or not at all.
pub fn session_grant(command: &str) -> Option<String> {
    /// Their words only say what is looked at: what they do is always the same.
    const ALWAYS_THE_SAME: &str = " basename cat cmp cut df diff dirname du echo egrep fgrep grep head id ls nl pwd \
        readlink realpath stat tail tr true type uname wc which whoami ";
    /// Their first word says what they do.
    const ONE_WORD: &str = " apt brew bun cargo docker git go helm kubectl make npm npx pip pnpm podman systemctl terraform \
        uv yarn ";
    /// Their second word does, too.
    const TWO_WORDS: &str = " aws az gcloud gh hookwright ";
    /// Sub-commands that run what the next word names.
    const RUNNING: [&str; 4] = ["run", "exec", "run-script", "compose"];
    let program = sole_program(command)?;
    let parts = parts(command);
    if parts.commands.len() != 1 || !parts.is_clear() {
        return None;
    }
    let name = program.rsplit('/').next().unwrap_or(&program);
    let is_in = |list: &str| list.contains(&format!(" {name} "));
    if is_in(ALWAYS_THE_SAME) {
        return Some(program);
    }
    let words = sole_command(command)?.words;
    let mut granted = vec![program.clone()];
    // Of all others nobody can say which of their words matter.
    let mut wanted = match () {
        () if is_in(ONE_WORD) => 1,
        () if is_in(TWO_WORDS) => 2,
        () => return None,
    };
    for word in &words[1..] {
        // An option before the sub-command, or no word that can be read: nobody can say what it covers.
        let word = word.literal().filter(|word| !word.is_empty() && !word.starts_with('-') && !word.contains(' '))?;
        wanted += usize::from(RUNNING.contains(&word.as_str()));
        granted.push(word);
        wanted -= 1;
        if wanted == 0 {
            return Some(granted.join(" "));
        }
    }
    None
}

/// Whether a list's entry means all calls of the tool.
fn names_all(entry: &str, tool: &str) -> bool {
    match entry.split_once('(') {
        Some((name, rest)) => canonical_name(name.trim()) == tool && rest.trim_end_matches(')').trim().is_empty(),
        None => entry.trim() == "*" || canonical_name(entry.trim()) == tool,
    }
}

/// The prefix of `run_shell_command(prefix)`.
fn prefix_of<'e>(entry: &'e str, tool: &str) -> Option<&'e str> {
    let (name, rest) = entry.split_once('(')?;
    let prefix = rest.trim_end_matches(')').trim();
    (canonical_name(name.trim()) == tool && !prefix.is_empty()).then_some(prefix)
}

/// `name`, or `run_shell_command(prefix)` for one command and nothing chained to it; of a server's tools also `mcp_server_tool`
/// and, for all of them, `mcp__server__*`.
fn allows(entry: &str, call: &Judged<'_>) -> bool {
    let Judged { tool, args, server, .. } = *call;
    if let Some(ServerTool { server, tool, .. }) = server {
        let spelt = [format!("mcp__{server}__"), format!("mcp_{server}_")];
        let named =
            |begin: &String| entry.trim().strip_prefix(begin.as_str()).is_some_and(|own| own == tool || own == "*");
        if spelt.iter().any(named) {
            return true;
        }
    }
    let Some(prefix) = prefix_of(entry, tool) else {
        return entry.trim() != "*" && names_all(entry, tool);
    };
    command_of(tool, args).is_some_and(|command| prefix_allows(prefix, command))
}

/// Whether a command is the prefix and more words, and nothing else.
pub(crate) fn prefix_allows(prefix: &str, command: &str) -> bool {
    let parts = parts(command);
    // An expansion may come to anything, an option included; what only looks like a chain is asked about as well.
    let plain = !command.trim().contains(CHAINING);
    plain && parts.commands.len() == 1 && covers(&parts, &[prefix])
}

pub(crate) fn command_of<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    (tool == "run_shell_command").then(|| args.get("command").and_then(Value::as_str)).flatten()
}

const CHAINING: [char; 9] = ['|', '&', ';', '<', '>', '`', '\n', '\r', '$'];

#[cfg(test)]
mod tests {
    use super::*;

    fn args(command: &str) -> Map<String, Value> {
        Map::from_iter([("command".to_owned(), Value::String(command.to_owned()))])
    }

    fn approvals(mode: ApprovalMode, allowed: &[&str]) -> Approvals {
        Approvals::new(mode, allowed.iter().map(|name| (*name).to_owned()).collect(), Policy::default())
    }

    #[test]
    fn modes_differ_in_what_they_let_pass() {
        let decide = |mode, tool: &str, kind| approvals(mode, &[]).decide(&Judged::new(tool, kind, &Map::new()));
        assert_eq!(decide(ApprovalMode::Default, "read_file", ToolKind::Read), Permission::Granted);
        assert_eq!(decide(ApprovalMode::Default, "replace", ToolKind::Edit), Permission::Ask);
        assert_eq!(decide(ApprovalMode::AutoEdit, "replace", ToolKind::Edit), Permission::Granted);
        assert_eq!(decide(ApprovalMode::AutoEdit, "run_shell_command", ToolKind::Execute), Permission::Ask);
        assert_eq!(decide(ApprovalMode::Yolo, "run_shell_command", ToolKind::Execute), Permission::Granted);
        assert!(matches!(decide(ApprovalMode::Plan, "replace", ToolKind::Edit), Permission::Refused(_)));
    }

    #[test]
    fn a_prefix_allows_the_command_and_nothing_chained_to_it() {
        let rules = approvals(ApprovalMode::Default, &["run_shell_command(git status)", "ShellTool(ls)"]);
        let decide = |command: &str| rules.decide(&Judged::new("run_shell_command", ToolKind::Execute, &args(command)));
        assert_eq!(decide("git status -s"), Permission::Granted);
        assert_eq!(decide("ls"), Permission::Granted);
        for command in ["git statusx", "git status; rm -rf x", "git status && x", "ls $(x)", "git push"] {
            assert_eq!(decide(command), Permission::Ask, "{command}");
        }
    }

    #[test]
    fn a_prefix_covers_no_code_and_no_output_file_that_it_does_not_name() {
        let entries = ["sed", "find", "man", "tar", "sort", "git log", "git grep", "rg", "printf"];
        let entries: Vec<String> = entries.iter().map(|name| format!("run_shell_command({name})")).collect();
        let rules = Approvals::new(ApprovalMode::Default, entries, Policy::default());
        for command in ["git log -1", "git grep x"] {
            rules.grant(&Judged::new("run_shell_command", ToolKind::Execute, &args(command)));
        }
        let decide = |command: &str| rules.decide(&Judged::new("run_shell_command", ToolKind::Execute, &args(command)));
        for command in ["sed -n 1p f", "find . -name x", "git log -3", "git grep -n x", "rg x", "sort x"] {
            assert_eq!(decide(command), Permission::Granted, "{command}");
        }
        for command in [
            "sed -n '1e touch P' f",
            "sed 'w x' f",
            "find . -delete",
            "find . -fprintf x y",
            "man -P x ls",
            "tar --to-command=x -xf y",
            "tar -I x -xf y",
            "sort -o x y",
            "sort --compress-program=x y",
            "git log --output=x",
            "git grep -Ox y",
            "rg --pre x y",
            "printf -v PATH .",
        ] {
            assert_eq!(decide(command), Permission::Ask, "{command}");
        }
    }

    #[test]
    fn a_grant_covers_the_same_sub_command_only() {
        let rules = approvals(ApprovalMode::Default, &[]);
        rules.grant(&Judged::new("run_shell_command", ToolKind::Execute, &args("cargo test")));
        rules.grant(&Judged::new("run_shell_command", ToolKind::Execute, &args("git log -1")));
        let decide = |command: &str| rules.decide(&Judged::new("run_shell_command", ToolKind::Execute, &args(command)));
        assert_eq!(decide("cargo test --all"), Permission::Granted);
        assert_eq!(decide("git log"), Permission::Granted);
        for command in ["cargo build", "cargo test; rm x", "rm x", "git reset --hard", "git log > x", "git log $(x)"] {
            assert_eq!(decide(command), Permission::Ask, "{command}");
        }
        // What runs other programs is granted as a whole or not at all.
        rules.grant(&Judged::new("run_shell_command", ToolKind::Execute, &args("env A=1 make")));
        assert_eq!(decide("env A=1 make"), Permission::Granted);
        assert_eq!(decide("env rm x"), Permission::Ask);
        // What is shown for one command covers no other that reads the same.
        rules.grant(&Judged::new("run_shell_command", ToolKind::Execute, &args("git -C x log")));
        assert_eq!(decide("git -C x log"), Permission::Granted);
        assert_eq!(decide("git -C x push"), Permission::Ask);
    }

    #[test]
    fn what_a_grant_covers_is_said_in_words() {
        for (command, words) in [
            ("git log -1", Some("git log")),
            ("npm run build -- -x", Some("npm run build")),
            ("rm -rf x", None),
            ("ls", Some("ls")),
            ("ls -l src", Some("ls")),
            ("make", None),
            ("make test", Some("make test")),
            ("python3 check.py -v", None),
            ("sort -o x y", None),
            ("gh pr list", Some("gh pr list")),
            ("gh pr", None),
            ("hookwright hooks list", Some("hookwright hooks list")),
            ("docker compose up -d", Some("docker compose up")),
            ("git -C x log", None),
            ("git log | cat", None),
            ("sudo ls", None),
            ("find . -name x", None),
            ("rm x", None),
            ("find . -delete", None),
            ("find . -exec rm {} +", None),
            ("ssh host ls", None),
            ("perl -e x", None),
            ("git log --output=x", None),
            ("git grep -O'rm x' y", None),
            ("git -c core.pager=x log", None),
            ("make --eval=x test", None),
            ("npx -c 'rm x'", None),
        ] {
            assert_eq!(session_grant(command).as_deref(), words, "{command}");
        }
    }

    #[test]
    fn settings_take_commands_away_in_every_mode() {
        let judge = |limits: ToolLimits, command: &str| {
            let rules = approvals(ApprovalMode::Yolo, &[]);
            rules.set_limits(limits);
            rules.decide(&Judged::new("run_shell_command", ToolKind::Execute, &args(command)))
        };
        let exclude = || ToolLimits { exclude: vec!["run_shell_command(rm)".to_owned()], core: None };
        assert!(matches!(judge(exclude(), "ls; env rm x"), Permission::Denied(_)));
        assert_eq!(judge(exclude(), "ls"), Permission::Granted);
        assert_eq!(judge(exclude(), "$X"), Permission::Ask);
        let core = || ToolLimits { exclude: Vec::new(), core: Some(vec!["ShellTool(git)".to_owned()]) };
        assert_eq!(judge(core(), "git log && git status"), Permission::Granted);
        for command in ["ls", "git log; ls", "$X", "git log $(ls)"] {
            assert!(matches!(judge(core(), command), Permission::Denied(_)), "{command}");
        }
    }

    #[test]
    fn consent_to_one_skill_is_none_to_another() {
        let approvals = Approvals::new(ApprovalMode::Default, Vec::new(), Policy::default());
        let decide = |name: &str| {
            let args = serde_json::json!({"name": name}).as_object().unwrap().clone();
            (approvals.decide(&Judged::new(ACTIVATE_SKILL, ToolKind::Other, &args)), args)
        };
        let (permission, args) = decide("pdf");
        assert_eq!(permission, Permission::Ask);
        approvals.grant(&Judged::new(ACTIVATE_SKILL, ToolKind::Other, &args));
        assert_eq!((decide("PDF").0, decide("other").0), (Permission::Granted, Permission::Ask));
        // In plan mode too the user is asked: a skill is words.
        approvals.set_mode(ApprovalMode::Plan);
        assert_eq!((decide("pdf").0, decide("other").0), (Permission::Granted, Permission::Ask));
    }
}
