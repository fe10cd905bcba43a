//! `hookwright agents …` as typed.

use clap::{Args, Subcommand};
use hookwright_bridge::Host;

use super::ProjectArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hookwright agents                           which are here, and which ask your hooks\n  hookwright agents install claude-code       for all of your projects; asks first\n  hookwright agents install codex --project   for everybody who works on this project\n  hookwright agents doctor codex --live       does a deny hold on this machine?\n  hookwright agents trace --follow            who is asked what, and what came of it"
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
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Have an agent ask Hookwright's hooks: one entry per event in that agent's own settings; shows the change and asks.
    #[command(
        after_help = "Your own settings call this program by its whole path. A project's (--project) call\n`hookwright` by name, because they are shared: on a machine without it, every call is\nrefused, with words. What you have to confirm in the agent itself is said at the end.\n\nExamples:\n  hookwright agents install claude-code\n  hookwright agents install codex --project --dry-run\n  hookwright agents install cursor --yes"
    )]
    Install(AgentInstallArgs),
    /// Take Hookwright's entries out of an agent's settings, and nothing else; shows the change and asks.
    #[command(
        after_help = "Examples:\n  hookwright agents uninstall claude-code\n  hookwright agents uninstall codex --project --yes"
    )]
    Uninstall(AgentInstallArgs),
    /// Say in plain words which of your hooks lose what under an agent.
    #[command(
        after_help = "Examples:\n  hookwright agents explain codex\n  hookwright agents explain qwen secret-scanner --json"
    )]
    Explain {
        /// The agent.
        #[arg(value_parser = host_parser())]
        agent: Host,
        /// Only this hook: its name, or its command.
        hook: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that an agent really asks Hookwright: exit 1 if something is wrong.
    #[command(
        after_help = "Examples:\n  hookwright agents doctor codex\n  hookwright agents doctor claude-code --live"
    )]
    Doctor {
        /// The agent.
        #[arg(value_parser = host_parser())]
        agent: Host,
        /// Also run the agent's own program against a stand-in for its model, and look whether a deny holds: without a key,
        /// in half a minute, in a home and project of its own.
        #[arg(long)]
        live: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what agents asked through the bridge: who decided what, when, and what was lost on the way.
    #[command(
        after_help = "Arguments, prompts and results are not kept; what is, see docs/bridge.md.\n\nExamples:\n  hookwright agents trace\n  hookwright agents trace --agent codex --refused --last 100\n  hookwright agents trace --follow\n  hookwright agents trace --json | jq 'select(.ms > 100)'"
    )]
    Trace(AgentTraceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AgentTraceArgs {
    /// Only what this agent asked.
    #[arg(long, value_parser = host_parser())]
    pub(crate) agent: Option<Host>,
    /// Only the session of this id, as the agent calls it.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only what was not simply let pass: refused, asked about, or lost on the way.
    #[arg(long)]
    pub(crate) refused: bool,
    /// At most so many events, the latest ones.
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) last: usize,
    /// Go on with whatever comes.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the lines of JSON as they are kept.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentInstallArgs {
    /// The agent.
    #[arg(value_parser = host_parser())]
    pub(crate) agent: Host,
    /// In the user's settings, for all projects; the default. `--project` is for the project's.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Only show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Agree to the change.
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
