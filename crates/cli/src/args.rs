//! The command line as typed. Each command's module decides what its arguments mean.

mod acp;
mod agents;
mod bridge;
mod checkpoints;
mod config;
mod effects;
mod extensions;
mod hooks;
mod journal;
mod mcp;
mod policy;
mod run;
mod session;
mod setup;
pub(crate) mod short_help;
mod skills;
mod subagents;
pub(crate) mod typo_guard;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use acp::{AcpArgs, AcpCommand};
pub(crate) use agents::{AgentCoverageArgs, AgentInstallArgs, AgentTraceArgs, AgentsArgs, AgentsCommand};
pub(crate) use bridge::{BridgeArgs, parse_host};
pub(crate) use checkpoints::{CheckpointRestoreArgs, CheckpointsCommand, RestoreTargetArg};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use config::ConfigCommand;
pub(crate) use effects::EffectsArgs;
pub(crate) use extensions::{ExtensionInstallArgs, ExtensionTemplate, ExtensionsCommand};
pub(crate) use hooks::{
    HookAddArgs, HookFireArgs, HookListArgs, HookMigrateArgs, HookNewArgs, HookRemoveArgs, HookReplayArgs,
    HookTargetArgs, HookTestArgs, HooksCommand, ScriptLanguage,
};
use hookwright_settings::administration::SwitchScope;
pub(crate) use journal::{JournalCommand, JournalForgetArgs, JournalOutput, JournalPageArgs};
pub(crate) use policy::{PolicyCommand, PolicyExplainArgs};
pub(crate) use run::{RunArgs, RunProfile};
pub(crate) use session::{ApprovalModeArg, OutputFormat, SessionArgs};
pub(crate) use setup::SetupArgs;
use short_help::HEADLINE;
pub(crate) use skills::{SkillInstallArgs, SkillsCommand};
pub(crate) use subagents::SubagentsCommand;

use mcp::move_options_first;
pub(crate) use mcp::{McpAddArgs, McpArgs, McpCommand, McpScopeArg, McpTransportArg};

/// The command line of the program.
#[derive(Debug, Parser)]
#[command(
    name = "hookwright",
    about = HEADLINE,
    long_about = None,
    version = crate::args::version_text(),
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  hookwright setup                        guard the agents on this machine, and prove it\n  hookwright demo                         see every hook event fire, offline\n  hookwright hooks list                   which hooks there are, and whether they can run\n  hookwright agents install claude-code   let Claude Code run your hooks\n  hookwright -p 'explain this project'    one answer, on stdout\n  git diff | hookwright -p 'review this'  with piped input"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    #[command(flatten)]
    pub(crate) agent: SessionArgs,
}

/// A session's options by themselves.
#[derive(Debug, Parser)]
#[command(name = "hookwright")]
struct SessionCli {
    #[command(flatten)]
    agent: SessionArgs,
}

impl Cli {
    /// Parses a command line.
    ///
    /// Where no word can be a command, only a session's options are built, because building those of all commands is a
    /// good part of a short session's time. Otherwise the whole parser runs, whose errors know all commands.
    pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut words: Vec<OsString> = words.collect();
        // Scripts for Gemini CLI put `--debug` before a command.
        let is_debug = |word: &OsString| word == "--debug" || word == "-d";
        let debug_command = words.get(1).is_some_and(is_debug)
            && words.get(2).is_some_and(|word| CliCommand::has_subcommand(&word.to_string_lossy()));
        if debug_command {
            words.remove(1);
        }
        let may_be_command = |word: &OsString| word == "help" || CliCommand::has_subcommand(&word.to_string_lossy());
        if !words.iter().skip(1).any(may_be_command)
            && let Ok(SessionCli { agent }) = SessionCli::try_parse_from(&words)
            // A word by itself may be the alias of a command.
            && agent.query.is_empty()
        {
            return Ok(Cli { command: None, agent });
        }
        let mut cli = Cli::try_parse_from(move_options_first(words.into_iter()))?;
        cli.agent.debug |= debug_command;
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Guard the coding agents on this machine: connects them, adds guards, and tries whether the guards hold.
    #[command(
        after_help = "Says what it will do and asks first. Exit code: 0 if every agent was proven to be guarded, 1 otherwise.\nAgain is harmless: what is there already stays as it is.\n\nExamples:\n  hookwright setup\n  hookwright setup --dry-run\n  hookwright setup --yes --agents claude-code,codex --pack essentials\n  hookwright setup --project                for everyone who works on this project\n  hookwright setup --undo                   every file as it was before"
    )]
    Setup(SetupArgs),
    /// List, check, fire, test and manage hooks.
    #[command(alias = "hook")]
    Hooks(ProjectCommand<HooksCommand>),
    /// Install, update, list, write and manage extensions.
    #[command(alias = "extension")]
    Extensions(ProjectCommand<ExtensionsCommand>),
    /// The record of what hooks decided: list, query, count, check, sign, export and forget.
    Journal(ProjectCommand<JournalCommand>),
    /// List, check and explain policies: rules that allow a tool, deny it or make it ask the user.
    Policy(ProjectCommand<PolicyCommand>),
    /// Show what a shell command would do, step by step, without running it, and why something is unsure.
    #[command(
        after_help = "Hooks get the same effects, and `when` and rules match on them.\n\nExamples:\n  hookwright effects 'cd src && rm -rf build'\n  hookwright effects 'curl https://example.com/x | sh' --json\n  hookwright effects 'git push --force' --dir ~/project"
    )]
    Effects(EffectsArgs),
    /// Run a command so that the kernel keeps it to what you allow: what it may change, read and reach.
    #[command(
        after_help = "Without options the command can change nothing outside of a private /tmp and has no network. A profile is\nenforced whole or the command does not run. Exit code: the command's; 124 out of time, 125 not confined,\n126 not executable, 127 not found.\n\nExamples:\n  hookwright run --writes '**' -- npm test\n  hookwright run --profile build -- make\n  hookwright run --writes 'target/**' --no-reads '**/.env' '~/.ssh/**' -- cargo build\n  hookwright run --network example.com '*.example.org:8443' -- curl https://example.com\n  hookwright run --profile build --explain"
    )]
    Run(RunArgs),
    /// List what the agent's turns changed, and restore the state before a turn.
    #[command(alias = "checkpoint")]
    Checkpoints(ProjectCommand<CheckpointsCommand>),
    /// Add, remove, list, test and switch MCP servers, and sign in to them.
    Mcp(McpArgs),
    /// Answer a hook event of another agent: its payload on stdin, the answer in its format on stdout.
    #[command(
        after_help = "Agents call this from the entries that `hookwright agents install AGENT` writes. They run the hooks of your\nsettings and of the project's, with the same trust and the same rules as a session.\n\nExample:\n  echo '{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}' | hookwright bridge claude-code"
    )]
    Bridge(BridgeArgs),
    /// Check that every enabled hook could really run; the same as `hooks doctor`.
    Doctor {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: ProjectArgs,
    },
    /// Print a script that completes commands and options in a shell.
    #[command(
        after_help = "The script calls this program to complete the names of your hooks, sessions, commands and settings.\n\nExamples:\n  hookwright completions bash > ~/.local/share/bash-completion/completions/hookwright\n  hookwright completions zsh > ~/.zfunc/_hookwright\n  hookwright completions fish > ~/.config/fish/completions/hookwright.fish"
    )]
    Completions {
        /// The shell to print the script for.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a directory.
    #[command(after_help = "Examples:\n  hookwright man | man -l -\n  hookwright man ~/.local/share/man/man1")]
    Man {
        /// The directory to write one page per command into [default: print the main page].
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Show, change and edit settings by name.
    Config(ProjectCommand<ConfigCommand>),
    /// Print version, commit and platform; the same as `--version`.
    Version,
    /// List, check, install and manage skills: instructions for a kind of task, loaded when needed.
    #[command(alias = "skill")]
    Skills(ProjectCommand<SkillsCommand>),
    /// List and check sub-agents: agents that the main agent delegates tasks to.
    #[command(alias = "subagent")]
    Subagents(ProjectCommand<SubagentsCommand>),
    /// Serve an editor: the agent over the Agent Client Protocol, on stdin and stdout; or guard another agent there.
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "An editor starts this command and shows the session: prompts, answers, tool calls with their diffs, and the\nquestions of the agent. Hooks, guards and policies work as in a terminal. docs/editors.md has a settings\nsnippet for each editor.\n\n`hookwright acp guard -- AGENT` has hooks judge another agent of the editor.\n\nExample, in Zed's settings:\n  \"agent_servers\": {\"Hookwright\": {\"type\": \"custom\", \"command\": \"hookwright\", \"args\": [\"acp\"]}}"
    )]
    Acp(AcpArgs),
    /// Make other coding agents run your hooks: list, install, uninstall, explain and check.
    #[command(alias = "agent")]
    Agents(AgentsArgs),
    /// Watch hooks at work in a scripted session: no key, no network, nothing left behind.
    Demo {
        /// Which demo to run.
        #[arg(value_enum, default_value_t)]
        which: DemoKind,
        /// Keep the demo's project and print its path.
        #[arg(long)]
        keep: bool,
    },
    /// Serve the demo's MCP server on stdin and stdout.
    #[command(hide = true)]
    ServeDemoMcp,
}

/// What a demo shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoKind {
    /// All eleven events, with a hook on each.
    #[default]
    Events,
    /// An extension with a hook, an MCP server, a skill and a sub-agent.
    Ecosystem,
}

/// One of several commands about a project.
#[derive(Debug, Args)]
pub(crate) struct ProjectCommand<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) place: ProjectArgs,
}

/// Which project a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProjectArgs {
    /// The project's directory [default: the current directory].
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1)]
    pub(crate) project: Option<Option<PathBuf>>,
    /// Treat the project's folder as trusted for this run only.
    #[arg(long, global = true)]
    pub(crate) skip_trust: bool,
}

/// The settings that a command reads or changes: the user's or the project's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Your own settings, for all projects.
    User,
    /// This project's settings.
    Workspace,
}

impl From<ScopeArg> for SwitchScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::User => SwitchScope::User,
            ScopeArg::Workspace => SwitchScope::Workspace,
        }
    }
}

/// Returns the version, as in `0.2.0 (1a2b3c4d5, linux x86_64)`; a build without a known commit leaves the commit out.
pub(crate) fn version_text() -> &'static str {
    use std::sync::LazyLock;
    static VERSION_TEXT: LazyLock<String> = LazyLock::new(|| {
        let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let known = option_env!("HOOKWRIGHT_COMMIT").map(str::trim).filter(|commit| !commit.is_empty());
        let commit = known.map(|commit| format!("{commit}, ")).unwrap_or_default();
        format!("{} ({commit}{platform})", env!("CARGO_PKG_VERSION"))
    });
    &VERSION_TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The session parser and the whole parser accept the same and report the same errors.
    #[test]
    fn the_session_parser_agrees_with_the_whole_parser() {
        let lines = [
            "",
            "-p hi",
            "-p hi -m m --fake-responses f -o json",
            "--prompt=hooks",
            "-p hooks",
            "-p help",
            "hooks list",
            "hook list",
            "fix the hooks",
            "explain this",
            "-y fix it",
            "-r latest",
            "--resume -p x",
            "-e a,b -p x",
            "-p",
            "-p x -i y",
            "-o xml",
            "--nonsense",
            "--help",
            "-h",
            "--version",
            "-V",
            "help",
            "extension list",
            "-y extension list",
            "-p extension",
            "-r extension",
            "--resume agent -p x",
            "mcp add x -- y",
            "-- hooks",
            "--session-id ../x -p y",
        ];
        for line in lines {
            let words = || std::iter::once("hookwright").chain(line.split_whitespace()).map(OsString::from);
            let (quick, whole) = (Cli::read(words()), Cli::try_parse_from(move_options_first(words())));
            let told = |read: Result<Cli, clap::Error>| match read {
                Ok(cli) => format!("{cli:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(told(quick), told(whole), "{line}");
        }
    }
}
