//! The chain from an agent's tool call to the refusal by a guard, link by link, on this machine as it is. The verdicts
//! of `agents doctor`, `agents list` and their JSON are all made from this list.

use std::path::Path;

use hookwright_agent::session::{ArmedState, HookListEntry};
use hookwright_bridge::Host;
use hookwright_bridge::install::{
    EntryProgram, HostTrust, HostWiring, InstallScope, confirmation_hint, disabling_settings, read_target,
};
use hookwright_hooks::{Action, Decision, EventKind, Hook, UnarmedReason};
use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::detection::{self, DetectedAgent};
use super::explain::host_compatibility;
use super::trial_record::TrialRecord;
use super::{AgentInstallState, is_this_program};
use crate::commands::hooks::LoadedProject;
use crate::{exit, output};

/// A link of the chain, in the order in which a call passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChainLink {
    /// The agent's program, in a version whose behaviour is known.
    Version,
    /// The entries in the agent's settings.
    Entries,
    /// The agent's other settings, which may switch its hooks off.
    AgentSettings,
    /// The program that the entries call.
    Program,
    /// The agent's trust in the entries.
    AgentTrust,
    /// Hookwright's trust in the project's folder.
    FolderTrust,
    /// The guards and deny rules.
    Guards,
    /// The agent's events at which the guards run.
    Events,
    /// The refusal of a call in a live trial.
    LiveTrial,
}

impl ChainLink {
    /// Returns the link's name in JSON.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ChainLink::Version => "version",
            ChainLink::Entries => "entries",
            ChainLink::AgentSettings => "agent_settings",
            ChainLink::Program => "program",
            ChainLink::AgentTrust => "agent_trust",
            ChainLink::FolderTrust => "folder_trust",
            ChainLink::Guards => "guards",
            ChainLink::Events => "events",
            ChainLink::LiveTrial => "live_trial",
        }
    }

    /// Returns what is wrong in a word or two, for a table.
    fn gap_label(self) -> &'static str {
        match self {
            ChainLink::Version => "version",
            ChainLink::Entries => "entries",
            ChainLink::AgentSettings => "hooks are off",
            ChainLink::Program => "program",
            ChainLink::AgentTrust => "not trusted by it",
            ChainLink::FolderTrust => "folder not trusted",
            ChainLink::Guards => "guards",
            ChainLink::Events => "guard can't refuse",
            ChainLink::LiveTrial => "not tried",
        }
    }
}

/// Whether a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkState {
    Holds,
    /// Nothing shows whether the link holds.
    Unproven,
    Broken,
}

impl LinkState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            LinkState::Holds => "holds",
            LinkState::Unproven => "unproven",
            LinkState::Broken => "broken",
        }
    }
}

/// One link with its state and what the user can do about it.
#[derive(Clone, Debug)]
pub(super) struct LinkStatus {
    pub(super) link: ChainLink,
    pub(super) state: LinkState,
    pub(super) summary: String,
    pub(super) hint: Option<String>,
}

impl LinkStatus {
    pub(super) fn holds(link: ChainLink, summary: impl Into<String>) -> LinkStatus {
        LinkStatus { link, state: LinkState::Holds, summary: summary.into(), hint: None }
    }

    pub(super) fn unproven(link: ChainLink, summary: impl Into<String>) -> LinkStatus {
        LinkStatus { link, state: LinkState::Unproven, summary: summary.into(), hint: None }
    }

    pub(super) fn broken(link: ChainLink, summary: impl Into<String>) -> LinkStatus {
        LinkStatus { link, state: LinkState::Broken, summary: summary.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> LinkStatus {
        LinkStatus { hint: Some(hint.into()), ..self }
    }
}

/// The answer to "does a deny hold on this machine?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChainVerdict {
    /// Every link was seen to hold.
    Yes,
    /// No link is broken, but not every link was seen to hold.
    Unproven,
    No,
}

impl ChainVerdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ChainVerdict::Yes => "yes",
            ChainVerdict::Unproven => "unproven",
            ChainVerdict::No => "no",
        }
    }

    /// Returns the exit code that says the same.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            ChainVerdict::Yes => exit::OK,
            ChainVerdict::Unproven => exit::NOT_PROVEN,
            ChainVerdict::No => exit::ERROR,
        }
    }
}

/// All links of one agent.
#[derive(Clone, Debug)]
pub(super) struct GuardChain {
    pub(super) links: Vec<LinkStatus>,
}

impl GuardChain {
    /// Inspects every link of an agent; `last_trial` is the recorded live trial, if there was one.
    pub(super) fn inspect(
        agent: &DetectedAgent,
        states: &[AgentInstallState],
        toolbox: &LoadedProject,
        world: &ProcessEnv,
        last_trial: Option<&TrialRecord>,
    ) -> GuardChain {
        let project = &toolbox.loaded.project.root;
        let mut links = vec![version_link(agent, last_trial)];
        links.extend(entry_links(agent.host, states, world, project));
        links.extend(agent_settings_links(agent.host, states, world, project));
        links.extend(trust_links(states, project));
        links.extend(folder_trust_link(toolbox));
        links.extend(guard_links(toolbox));
        links.extend(event_links(agent.host, toolbox));
        links.push(recorded_trial_link(agent, toolbox, last_trial));
        GuardChain { links }
    }

    pub(super) fn verdict(&self) -> ChainVerdict {
        if self.links.iter().any(|link| link.state == LinkState::Broken) {
            ChainVerdict::No
        } else if self.links.iter().any(|link| link.state == LinkState::Unproven) {
            ChainVerdict::Unproven
        } else {
            ChainVerdict::Yes
        }
    }

    /// Returns the link that decides the verdict: the first broken one, else the first unproven one.
    fn first_gap(&self) -> Option<&LinkStatus> {
        let first = |state| self.links.iter().find(|link| link.state == state);
        first(LinkState::Broken).or_else(|| first(LinkState::Unproven))
    }

    /// Returns the answer in one sentence.
    pub(super) fn headline(&self) -> String {
        let gaps = self.links.iter().filter(|link| link.state != LinkState::Holds).count();
        let answer = match self.verdict() {
            ChainVerdict::Yes => "yes",
            ChainVerdict::Unproven => "not proven",
            ChainVerdict::No => "NO",
        };
        let live = self.links.iter().rfind(|link| link.link == ChainLink::LiveTrial);
        let reason = self.first_gap().or(live).map(|link| format!(": {}", link.summary)).unwrap_or_default();
        let more = if gaps > 1 { format!(" (and {} more, see above)", gaps - 1) } else { String::new() };
        format!("does a deny hold on this machine? {answer}{reason}{more}")
    }

    /// Returns the answer for a table cell.
    pub(super) fn label(&self) -> String {
        match (self.verdict(), self.first_gap()) {
            (ChainVerdict::No, Some(gap)) => format!("no: {}", gap.link.gap_label()),
            (ChainVerdict::Unproven, Some(gap)) => format!("not proven: {}", gap.link.gap_label()),
            _ => "yes".to_owned(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let links: Vec<Value> = self
            .links
            .iter()
            .map(|one| json!({"link": one.link.as_str(), "state": one.state.as_str(), "what": one.summary, "todo": one.hint}))
            .collect();
        json!({"verdict": self.verdict().as_str(), "headline": self.headline(), "links": links})
    }
}

/// Returns the armed hooks that refuse calls whatever happens: guards, and rules that deny.
pub(super) fn armed_guards(toolbox: &LoadedProject) -> Vec<HookListEntry> {
    let entries = toolbox.entries().into_iter();
    entries.filter(|entry| matches!(entry.state, ArmedState::Armed) && refuses_reliably(&entry.hook)).collect()
}

/// Whether a hook refuses calls without a program that could fail open: a guard, or a rule that denies.
fn refuses_reliably(hook: &Hook) -> bool {
    let denies = matches!(&hook.action, Action::Rule(rule) if rule.decision == Decision::Deny);
    hook.is_guard() || denies && hook.event == EventKind::BeforeTool
}

/// Returns a digest of the guards' declarations, by which a recorded trial of other guards is recognised.
pub(super) fn guards_digest(guards: &[HookListEntry]) -> String {
    let declaration = |hook: &Hook| {
        json!([hook.id(), hook.event.name(), hook.matcher_text, hook.summary(), hook.when_text(), hook.is_guard()])
    };
    let declarations: Value = guards.iter().map(|entry| declaration(&entry.hook)).collect();
    Sha256::digest(declarations.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that the agent is installed, in a version whose behaviour is known from tests or a recorded trial.
fn version_link(agent: &DetectedAgent, last_trial: Option<&TrialRecord>) -> LinkStatus {
    let (info, link) = (agent.host.info(), ChainLink::Version);
    let title = info.title;
    match (&agent.program, &agent.version) {
        (None, _) => LinkStatus::broken(link, format!("no program `{}` is on the search path", info.program))
            .with_hint(format!("install {title}, or add its folder to PATH")),
        (Some(path), None) => {
            LinkStatus::unproven(link, format!("{title} at {} does not report its version", path.display()))
        }
        (Some(path), Some(version)) => {
            let shown = format!("{title} {version} at {}", path.display());
            if let Some(why) = agent.host.unguarded_version(version) {
                return LinkStatus::broken(link, format!("{shown}: not guarded: {why}"));
            }
            let tried = last_trial.filter(|trial| trial.version.as_deref() == Some(version) && trial.holds());
            match tried {
                _ if version == info.known_version => {
                    LinkStatus::holds(link, format!("{shown}: the version that Hookwright was tested with"))
                }
                Some(trial) => LinkStatus::holds(link, format!("{shown}: tried live on {}", trial.day())),
                None => {
                    LinkStatus::unproven(link, format!("{shown}: Hookwright was tested with {}", info.known_version))
                        .with_hint(format!("`hookwright agents doctor {} --live` tests this version", agent.host))
                }
            }
        }
    }
}

/// Checks that the entries are complete and current, that nothing switches them off, and that the program they call is
/// this one.
fn entry_links(host: Host, states: &[AgentInstallState], world: &ProcessEnv, project: &Path) -> Vec<LinkStatus> {
    let mut links = Vec::new();
    for state in states {
        let (file, install) = (state.target.file.display(), install_command(host, state.target.scope));
        match &state.wiring {
            Err(error) => links.push(
                LinkStatus::broken(ChainLink::Entries, error.to_string()).with_hint("correct the file by hand first"),
            ),
            Ok(wiring) if !wiring.has_entries() => {}
            Ok(wiring) => {
                let count = wiring.entries.len();
                if wiring.missing.is_empty() && wiring.outdated.is_empty() {
                    links.push(LinkStatus::holds(ChainLink::Entries, format!("{file}: {count} entries")));
                }
                if !wiring.missing.is_empty() {
                    let text = format!("{file}: no entry for {}", wiring.missing.join(", "));
                    links.push(LinkStatus::broken(ChainLink::Entries, text).with_hint(&install));
                }
                if !wiring.outdated.is_empty() {
                    let text = format!("{file}: outdated entries for {}", wiring.outdated.join(", "));
                    links.push(LinkStatus::broken(ChainLink::Entries, text).with_hint(&install));
                }
                links.extend(program_link(wiring, world, project, &install));
            }
        }
    }
    if !links.iter().any(|link| link.link == ChainLink::Entries) {
        links.push(
            LinkStatus::broken(ChainLink::Entries, format!("{} does not call Hookwright", host.title()))
                .with_hint(install_command(host, InstallScope::User)),
        );
    }
    links
}

fn install_command(host: Host, scope: InstallScope) -> String {
    match scope {
        InstallScope::User => format!("`hookwright agents install {host}`"),
        InstallScope::Project => format!("`hookwright agents install {host} --project`"),
        InstallScope::Machine => format!("`hookwright agents install {host} --machine`, as the administrator"),
    }
}

/// Checks that the program that the entries call exists, can be run and is this one.
fn program_link(wiring: &HostWiring, world: &ProcessEnv, project: &Path, install: &str) -> Option<LinkStatus> {
    let program = wiring.program()?;
    let link = ChainLink::Program;
    let status = match EntryProgram::from_command(program) {
        EntryProgram::Absolute(path) if !detection::is_executable(Path::new(&path)) => {
            LinkStatus::broken(link, format!("the entries call {path}, which can't be run: every call is refused"))
        }
        EntryProgram::Absolute(path) if is_this_program(&path, world, project) => {
            return Some(LinkStatus::holds(link, format!("the entries call this program, {path}")));
        }
        EntryProgram::Absolute(path) => {
            LinkStatus::broken(link, format!("the entries call a program other than this one: {path}"))
        }
        EntryProgram::OnPath => match detection::find_on_search_path(world, project, "hookwright") {
            Some(path) if is_this_program(program, world, project) => {
                let text = format!("the entries call hookwright, which is {} here", path.display());
                return Some(LinkStatus::holds(link, text));
            }
            Some(path) => {
                let text =
                    format!("the entries call hookwright, which is {} here and not this program", path.display());
                return Some(LinkStatus::broken(link, text).with_hint("put this program first on the search path"));
            }
            None => {
                let text = "the entries call hookwright, which is not on the search path: every call is refused";
                return Some(LinkStatus::broken(link, text).with_hint("add hookwright's folder to PATH"));
            }
        },
    };
    Some(status.with_hint(install))
}

/// Finds the agent's own settings that switch its hooks off or make it ignore the file.
fn agent_settings_links(
    host: Host,
    states: &[AgentInstallState],
    world: &ProcessEnv,
    project: &Path,
) -> Vec<LinkStatus> {
    let link = ChainLink::AgentSettings;
    let mut links = Vec::new();
    let wired = |scope: InstallScope| states.iter().any(|state| state.target.scope == scope && state.has_entries());
    // Users can't switch off what the administrator has set up.
    if !wired(InstallScope::Machine) && (wired(InstallScope::User) || wired(InstallScope::Project)) {
        for off in disabling_settings(host, world, project) {
            let what = if off.is_managed { "only the administrator's hooks run" } else { "no hook runs" };
            let text = format!("{}: `{}`, so {what}", off.file.display(), off.setting);
            let todo = match off.is_managed {
                true => install_command(host, InstallScope::Machine),
                false => "remove it".to_owned(),
            };
            links.push(LinkStatus::broken(link, text).with_hint(todo));
        }
    }
    for state in states.iter().filter(|state| host == Host::Cursor && state.has_entries()) {
        let text = read_target(&state.target).ok().flatten().unwrap_or_default();
        let file = &state.target.file;
        let tree = hookwright_settings::edit::json_splice::parse_tree(file, text.trim_start_matches('\u{feff}'));
        if tree.is_ok_and(|tree| tree.to_value()["version"] != 1) {
            let text = format!("{}: `\"version\": 1` is missing, which Cursor requires", file.display());
            links.push(LinkStatus::broken(link, text).with_hint("add it"));
        }
    }
    links
}

/// Checks that the agent trusts the entries. Where entries of one scope are trusted, those of another need not be.
fn trust_links(states: &[AgentInstallState], project: &Path) -> Vec<LinkStatus> {
    let wired: Vec<&AgentInstallState> = states.iter().filter(|state| state.has_entries()).collect();
    let is_trusted = |state: &&&AgentInstallState| matches!(state.trust, HostTrust::Yes | HostTrust::NotAsked);
    let trusted: Vec<&AgentInstallState> = wired.iter().filter(is_trusted).copied().collect();
    let shown = if trusted.is_empty() { &wired } else { &trusted };
    shown.iter().map(|state| trust_link(state, project)).collect()
}

fn trust_link(state: &AgentInstallState, project: &Path) -> LinkStatus {
    let (host, scope, link) = (state.target.host, state.target.scope, ChainLink::AgentTrust);
    let title = host.title();
    let what = match scope {
        InstallScope::User => "the user's entries".to_owned(),
        InstallScope::Project => format!("the entries of {}", project.display()),
        InstallScope::Machine => "the machine's entries".to_owned(),
    };
    let status = match &state.trust {
        HostTrust::Yes => return LinkStatus::holds(link, format!("{title} trusts {what}")),
        HostTrust::NotAsked => return LinkStatus::holds(link, format!("{title} runs {what} without asking for trust")),
        HostTrust::No => LinkStatus::broken(link, format!("{title} does not trust {what} yet: it may not run them")),
        HostTrust::Partly(some, all) => {
            LinkStatus::broken(link, format!("{title} trusts only {some} of {all} of {what}: the others do not run"))
        }
        HostTrust::Unknown => {
            LinkStatus::unproven(link, format!("{title}'s records do not show whether it trusts {what}"))
        }
    };
    match confirmation_hint(host, scope) {
        Some(todo) => status.with_hint(todo),
        None => status,
    }
}

/// Checks that Hookwright loads the hooks of the project's folder, if it has any.
fn folder_trust_link(toolbox: &LoadedProject) -> Option<LinkStatus> {
    let loaded = &toolbox.loaded;
    if loaded.project.trust.is_trusted() {
        return None;
    }
    let guards = loaded.unarmed_guards.iter().filter(|guard| guard.reason == UnarmedReason::FolderUntrusted);
    let mut names: Vec<String> = guards.map(|guard| guard.name.clone()).collect();
    names.extend(loaded.untrusted_project_hooks().iter().map(|hook| hook.id().to_owned()));
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| output::truncate_columns(name, 60)).collect();
    let text = format!("this folder is not trusted, so its hooks do not run: {}", names.join(", "));
    let todo = format!("look at {}, then run `hookwright hooks trust --folder`", loaded.project.root.display());
    Some(LinkStatus::broken(ChainLink::FolderTrust, text).with_hint(todo))
}

/// The words for a folder in which no hook would refuse anything.
pub(super) const NO_GUARD_TEXT: &str = "there is no guard here yet: no hook would refuse a call";
/// What to do where no hook would refuse anything.
pub(super) const NO_GUARD_HINT: &str =
    "`hookwright setup` adds a pack of guards; `hookwright hooks add` lists ready-made hooks";

/// Checks that there are guards, and that every guard is armed.
fn guard_links(toolbox: &LoadedProject) -> Vec<LinkStatus> {
    let link = ChainLink::Guards;
    let unarmed = toolbox.unarmed_guards();
    let mut links: Vec<LinkStatus> =
        unarmed.iter().map(|guard| LinkStatus::broken(link, guard.to_string()).with_hint(guard.advice())).collect();
    let guards = armed_guards(toolbox);
    let is_unarmed = |entry: &&HookListEntry| unarmed.iter().any(|guard| guard.name == entry.hook.id());
    let (guards, rules): (Vec<_>, Vec<_>) =
        guards.iter().filter(|entry| !is_unarmed(entry)).partition(|entry| entry.hook.is_guard());
    if guards.is_empty() && rules.is_empty() {
        if links.is_empty() {
            links.push(LinkStatus::broken(link, NO_GUARD_TEXT).with_hint(NO_GUARD_HINT));
        }
        return links;
    }
    let count = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {several}")),
    };
    let counts = [count(guards.len(), "guard", "guards"), count(rules.len(), "deny rule", "deny rules")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let verb = if guards.len() + rules.len() == 1 { "is" } else { "are" };
    links.push(LinkStatus::holds(link, format!("{} {verb} armed", counts.join(" and "))));
    links
}

/// Finds guards that never run or can't refuse anything under the agent.
fn event_links(host: Host, toolbox: &LoadedProject) -> Vec<LinkStatus> {
    let mut links = Vec::new();
    for entry in toolbox.entries().iter().filter(|entry| refuses_reliably(&entry.hook)) {
        let hook = entry.hook.as_ref();
        let account = host_compatibility(host, hook);
        let what = match () {
            () if account.host_events.is_empty() => "never runs",
            () if account.missing.iter().any(|lost| lost.disables_guards) => "can't refuse anything",
            () => continue,
        };
        let name = output::truncate_columns(hook.id(), 60);
        let text = format!("guard `{name}` at {} {what} under {}", hook.event, host.title());
        links.push(
            LinkStatus::broken(ChainLink::Events, text).with_hint(format!("`hookwright agents explain {host} {name}`")),
        );
    }
    links
}

/// Judges the recorded live trial: it counts if the version and the guards are still the same.
fn recorded_trial_link(agent: &DetectedAgent, toolbox: &LoadedProject, last_trial: Option<&TrialRecord>) -> LinkStatus {
    let link = ChainLink::LiveTrial;
    let todo = format!("`hookwright agents doctor {} --live` tries it", agent.host);
    let Some(trial) = last_trial else {
        return LinkStatus::unproven(link, "no refusal has been tried live here yet").with_hint(todo);
    };
    let day = trial.day();
    if trial.version != agent.version {
        let version = trial.version.as_deref().unwrap_or("an unknown version");
        let text = format!("the last live trial, on {day}, was with version {version}");
        return LinkStatus::unproven(link, text).with_hint(todo);
    }
    if trial.guards.as_ref().is_none_or(|guards| guards.digest != guards_digest(&armed_guards(toolbox))) {
        let text = format!("the last live trial, on {day}, was with other guards");
        return LinkStatus::unproven(link, text).with_hint(todo);
    }
    trial_link(trial).with_hint_unless_held(todo)
}

impl LinkStatus {
    fn with_hint_unless_held(self, hint: String) -> LinkStatus {
        if self.state == LinkState::Holds { self } else { self.with_hint(hint) }
    }
}

/// Returns the link for the result of a live trial.
pub(super) fn trial_link(trial: &TrialRecord) -> LinkStatus {
    let (link, day) = (ChainLink::LiveTrial, trial.day());
    let hooks = format!("{} of {} trial hooks were obeyed", trial.held, trial.total);
    let Some(guards) = &trial.guards else {
        return LinkStatus::unproven(link, format!("tried live on {day}: {hooks}; no guard was tried"));
    };
    let own = format!("{} of {} guards refused their call", guards.held, guards.total);
    let untried: Vec<String> = guards.untried.iter().map(|name| output::truncate_columns(name, 60)).collect();
    let untried = if untried.is_empty() { String::new() } else { format!("; not tried: {}", untried.join(", ")) };
    let text = format!("tried live on {day}: {hooks}, {own}{untried}");
    match () {
        () if trial.failed > 0 || guards.failed > 0 => LinkStatus::broken(link, text),
        () if trial.holds() && guards.total > 0 && guards.held == guards.total => LinkStatus::holds(link, text),
        () => LinkStatus::unproven(link, text),
    }
}
