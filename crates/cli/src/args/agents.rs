//! `hookwright agents …` as typed.

use clap::{Args, Subcommand};
use hookwright_bridge::Host;
use hookwright_journal::{QueryError, parse_time};
use jiff::Timestamp;

use super::ProjectArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hookwright agents                           which agents are here, and which run your hooks\n  hookwright agents install claude-code       for all of your projects; asks first\n  hookwright agents install codex --project   for everyone who works on this project\n  hookwright agents doctor codex --live       does a deny hold on this machine?\n  hookwright agents trace --follow            which agent asked, and what was decided\n  hookwright agents coverage --since 7d       which calls were made without asking"
)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: ProjectArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents found here: version, wired or not, trusted by the agent or not, last tried, guarded or not.
    #[command(after_help = "Examples:\n  hookwright agents list\n  hookwright agents list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make agents run your hooks: writes one entry per event into their settings; says what it will do and asks first.
    #[command(
        after_help = "Entries in your own settings call this program by its full path. Entries in a project's\nsettings (--project) are shared, so they call `hookwright` by name: on a machine without it,\nevery call is refused with a message that says so. The last lines of the output say what\nyou still have to confirm in the agent itself.\n\nExamples:\n  hookwright agents install claude-code\n  hookwright agents install claude-code codex --diff\n  hookwright agents install codex --project --dry-run\n  hookwright agents install all --yes\n  sudo hookwright agents install claude-code --machine"
    )]
    Install(AgentInstallArgs),
    /// Remove Hookwright's entries from agents' settings, and nothing else; says what it will do and asks first.
    #[command(
        after_help = "Examples:\n  hookwright agents uninstall claude-code\n  hookwright agents uninstall codex --project --yes\n  hookwright agents uninstall all"
    )]
    Uninstall(AgentInstallArgs),
    /// Explain which of your hooks an agent limits, and how.
    #[command(
        after_help = "Examples:\n  hookwright agents explain codex\n  hookwright agents explain qwen secret-scanner --json"
    )]
    Explain {
        /// The agent's name.
        #[arg(value_parser = host_parser())]
        agent: Host,
        /// Explain only this hook: its name or its command.
        hook: Option<String>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that agents really call Hookwright and that a guard's deny would hold: exit 0 only if all of it was seen.
    #[command(
        after_help = "Exit code 0: yes, every link from a call to its refusal was seen to hold. 1: no, a link is broken. 5: not proven,\nnothing is broken, but not every link was seen to hold: no live trial was made, or a guard was not tried in it.\n\nExamples:\n  hookwright agents doctor\n  hookwright agents doctor codex\n  hookwright agents doctor claude-code --live"
    )]
    Doctor {
        #[command(flatten)]
        agents: AgentNames,
        /// Also run the agent's own program against a fake model and check whether a deny holds: of trial hooks, and of your
        /// own guards. Needs no key, takes a minute at most, and runs in a temporary home and project.
        #[arg(long)]
        live: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the events that agents sent through the bridge: what each hook decided, when, and what was lost.
    #[command(
        after_help = "Arguments, prompts and results are not recorded; docs/bridge.md lists what is.\n\nExamples:\n  hookwright agents trace\n  hookwright agents trace --agent codex --refused --last 100\n  hookwright agents trace --follow\n  hookwright agents trace --json | jq 'select(.ms > 100)'"
    )]
    Trace(AgentTraceArgs),
    /// Find calls that agents made without asking Hookwright, in the transcripts they keep: exit 1 if there is one.
    #[command(
        after_help = "Transcripts of Claude Code, Codex, Copilot, Qwen Code, Gemini CLI and opencode are read; nothing is changed.\nExit code 0: every call was asked about. 1: a call was not asked about, or ran although Hookwright\nhad refused it, or a transcript could not be read.\n\nExamples:\n  hookwright agents coverage\n  hookwright agents coverage codex --since 24h\n  hookwright agents coverage --since 2026-11-01 --json | jq '.not_asked[]'"
    )]
    Coverage(AgentCoverageArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AgentCoverageArgs {
    /// The agents' names; without one, or with `all`, all agents whose transcripts can be read.
    #[arg(value_name = "AGENT", value_parser = host_selection_parser())]
    names: Vec<HostSelection>,
    /// Only calls of this period, such as `12h`, `7d` or `2w`, or since a date.
    #[arg(long, value_name = "PERIOD", default_value = "7d", value_parser = parse_since)]
    pub(crate) since: Timestamp,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses a point in time as queries of the journal do.
fn parse_since(text: &str) -> Result<Timestamp, QueryError> {
    parse_time(text, Timestamp::now())
}

#[derive(Debug, Args)]
pub(crate) struct AgentTraceArgs {
    /// Only events of this agent.
    #[arg(long, value_parser = host_parser())]
    pub(crate) agent: Option<Host>,
    /// Only the session with this id, as the agent names it.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only events that did not simply pass: refused, asked about, or with a decision that was lost.
    #[arg(long)]
    pub(crate) refused: bool,
    /// Show at most this many events, the latest ones.
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) last: usize,
    /// Keep running and print new events as they come.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the recorded JSON lines as they are.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentInstallArgs {
    /// The agents' names, or `all` for those that are on this machine.
    #[arg(value_name = "AGENT", required = true, value_parser = host_selection_parser())]
    names: Vec<HostSelection>,
    /// Change the agent's user settings, for all projects (the default); `--project` changes the project's.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Change the machine's settings, which its users can't switch off; needs the administrator's rights.
    #[arg(long, conflicts_with_all = ["project", "user"])]
    pub(crate) machine: bool,
    /// Show the change as a diff.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Only show what would change, as a diff.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make the change without asking.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Agents by name, or `all`.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentNames {
    /// The agents' names; without one, or with `all`, all agents that call Hookwright.
    #[arg(value_name = "AGENT", value_parser = host_selection_parser())]
    names: Vec<HostSelection>,
}

impl AgentNames {
    /// Returns the named agents, each once; none if none is named, or `all`.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        named_hosts(&self.names).unwrap_or_default()
    }
}

impl AgentCoverageArgs {
    /// Returns the named agents, each once; none if none is named, or `all`.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        named_hosts(&self.names).unwrap_or_default()
    }
}

impl AgentInstallArgs {
    /// Returns the named agents, each once; `None` for `all`.
    pub(crate) fn hosts(&self) -> Option<Vec<Host>> {
        named_hosts(&self.names)
    }
}

/// Returns the named agents, each once, in the order of the table; `None` for `all`.
pub(super) fn named_hosts(names: &[HostSelection]) -> Option<Vec<Host>> {
    let is_named = |host: &Host| names.contains(&HostSelection::One(*host));
    (!names.contains(&HostSelection::All)).then(|| Host::all().filter(is_named).collect())
}

/// One agent, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostSelection {
    All,
    One(Host),
}

/// Parses the name of an agent, or `all`.
pub(super) fn host_selection_parser() -> impl clap::builder::TypedValueParser<Value = HostSelection> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let names = host_names().chain([PossibleValue::new("all")]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(HostSelection::All),
        name => Host::from_name(name).map(HostSelection::One).ok_or("no such agent"),
    })
}

/// Parses the name of an agent or one of its aliases.
fn host_parser() -> impl clap::builder::TypedValueParser<Value = Host> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(host_names()).try_map(|name| Host::from_name(&name).ok_or("no such agent"))
}

/// Returns the agents' names with their aliases.
fn host_names() -> impl Iterator<Item = clap::builder::PossibleValue> {
    Host::all().map(|host| {
        let others = ["claude", "gemini", "cursor-agent", "qwen-code", "agy"];
        clap::builder::PossibleValue::new(host.name())
            .aliases(others.into_iter().filter(move |name| Host::from_name(name) == Some(host)))
    })
}
