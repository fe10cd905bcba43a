//! `hookwright agents …` as typed.

use clap::{Args, Subcommand};
use hookwright_bridge::Host;

use super::ProjectArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hookwright agents                           which agents are here, and which run your hooks\n  hookwright agents install claude-code       for all of your projects; asks first\n  hookwright agents install codex --project   for everyone who works on this project\n  hookwright agents doctor codex --live       does a deny hold on this machine?\n  hookwright agents trace --follow            which agent asked, and what was decided"
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
    /// List the agents found here: version, wired or not, trusted by the agent or not, last verified.
    #[command(after_help = "Examples:\n  hookwright agents list\n  hookwright agents list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make an agent run your hooks: writes one entry per event into its settings; shows the change and asks first.
    #[command(
        after_help = "Entries in your own settings call this program by its full path. Entries in a project's\nsettings (--project) are shared, so they call `hookwright` by name: on a machine without it,\nevery call is refused with a message that says so. The last lines of the output say what\nyou still have to confirm in the agent itself.\n\nExamples:\n  hookwright agents install claude-code\n  hookwright agents install codex --project --dry-run\n  hookwright agents install cursor --yes"
    )]
    Install(AgentInstallArgs),
    /// Remove Hookwright's entries from an agent's settings, and nothing else; shows the change and asks first.
    #[command(
        after_help = "Examples:\n  hookwright agents uninstall claude-code\n  hookwright agents uninstall codex --project --yes"
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
    /// Check that an agent really calls Hookwright: exit 1 if something is wrong.
    #[command(
        after_help = "Examples:\n  hookwright agents doctor codex\n  hookwright agents doctor claude-code --live"
    )]
    Doctor {
        /// The agent's name.
        #[arg(value_parser = host_parser())]
        agent: Host,
        /// Also run the agent's own program against a fake model and check whether a deny holds. Needs no key, takes half a
        /// minute, and runs in a temporary home and project.
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
    /// The agent's name.
    #[arg(value_parser = host_parser())]
    pub(crate) agent: Host,
    /// Change the agent's user settings, for all projects (the default); `--project` changes the project's.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Only show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make the change without asking.
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Parses the name of an agent or one of its aliases.
fn host_parser() -> impl clap::builder::TypedValueParser<Value = Host> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let names = Host::all().map(|host| {
        let others = ["claude", "gemini", "cursor-agent", "qwen-code", "agy"];
        PossibleValue::new(host.name())
            .aliases(others.into_iter().filter(move |name| Host::from_name(name) == Some(host)))
    });
    PossibleValuesParser::new(names).try_map(|name| Host::from_name(&name).ok_or("no such agent"))
}
