//! The command line as typed. What it means is decided by whoever runs the command.

mod agents;
mod bridge;
mod checkpoints;
mod config;
mod extensions;
mod mcp;
mod skills;
mod subagents;

use std::path::PathBuf;

pub(crate) use agents::{AgentsArgs, AgentsCommand, InstallAgent, TraceAgents};
pub(crate) use bridge::{BridgeArgs, host};
pub(crate) use checkpoints::{CheckpointsCommand, RestoreArgs, Wanted};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use config::ConfigCommand;
pub(crate) use extensions::{ExtensionsCommand, Install, Template};
use hookwright_hooks::EventKind;
pub(crate) use skills::{InstallSkills, SkillsCommand};
pub(crate) use subagents::SubagentsCommand;

use crate::completions;

pub(crate) use mcp::{AddServer, McpArgs, McpCommand, McpKind, McpScope, options_first};

/// A terminal coding agent with hooks you can trust, and the toolbox for writing them.
#[derive(Debug, Parser)]
#[command(
    name = "hookwright",
    version = crate::version::version(),
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  hookwright demo                          see every hook event fire, offline\n  hookwright -p 'explain this project'      one answer, on stdout\n  git diff | hookwright -p 'review this'    with piped input\n  hookwright hooks list                    which hooks there are, and whether they can run"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List, check, fire, test and manage hooks.
    Hooks(InProject<HooksCommand>),
    /// Install, update, list, write and manage extensions.
    #[command(alias = "extension")]
    Extensions(InProject<ExtensionsCommand>),
    /// List, check and explain policies: the rules on which tools run, are refused or need asking.
    Policy(InProject<PolicyCommand>),
    /// List what turns of the agent changed, and go back to before one of them.
    #[command(alias = "checkpoint")]
    Checkpoints(InProject<CheckpointsCommand>),
    /// Add, remove, list, test and switch MCP servers, and sign in to them.
    Mcp(McpArgs),
    /// Answer an event of another agent: its hook payload on stdin, its kind of answer on stdout.
    #[command(
        after_help = "Agents call this from the entries that `hookwright agents install AGENT` writes. The hooks are those of your\nsettings and the project's, under the same trust and the same rules as in a session.\n\nExample:\n  echo '{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\"}}' | hookwright bridge claude-code"
    )]
    Bridge(BridgeArgs),
    /// Check that every enabled hook could really run; the same as `hooks doctor`.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Print a script that completes commands and options in a shell.
    #[command(
        after_help = "The script asks this program, and so knows your hooks, sessions, commands and settings.\n\nExamples:\n  hookwright completions bash > ~/.local/share/bash-completion/completions/hookwright\n  hookwright completions zsh > ~/.zfunc/_hookwright\n  hookwright completions fish > ~/.config/fish/completions/hookwright.fish"
    )]
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a directory.
    #[command(after_help = "Examples:\n  hookwright man | man -l -\n  hookwright man ~/.local/share/man/man1")]
    Man {
        /// Where to write one page for each command.
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Show, change and edit settings by name.
    Config(InProject<ConfigCommand>),
    /// Print version, commit and platform; the same as `--version`.
    Version,
    /// List, check, install and manage skills: instructions for kinds of tasks, loaded when they are needed.
    #[command(alias = "skill")]
    Skills(InProject<SkillsCommand>),
    /// List and check sub-agents: agents that a session's agent gives tasks to.
    #[command(alias = "subagent")]
    Subagents(InProject<SubagentsCommand>),
    /// Have other agents ask your hooks: list, install, uninstall, explain and check them.
    #[command(alias = "agent")]
    Agents(AgentsArgs),
    /// Watch hooks at work in a scripted session: no key, no network, nothing left behind.
    Demo {
        /// What to watch.
        #[arg(value_enum, default_value_t)]
        which: Demo,
        /// Keep the demo's project and say where it is.
        #[arg(long)]
        keep: bool,
    },
    /// The MCP server of the demo, on stdin and stdout.
    #[command(hide = true)]
    ServeDemoMcp,
}

/// What a demo shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Demo {
    /// All eleven events, with a hook on each.
    #[default]
    Events,
    /// An extension with a hook, an MCP server, a skill and a sub-agent.
    Ecosystem,
}

/// The options of a session.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AgentArgs {
    /// The prompt.
    #[arg(value_name = "PROMPT", add = completions::command_names())]
    pub(crate) query: Vec<String>,
    /// The prompt; answers it without a screen. Piped input goes ahead of it.
    #[arg(short, long, value_name = "TEXT", add = completions::command_names())]
    pub(crate) prompt: Option<String>,
    /// A prompt to start an interactive session with.
    #[arg(short = 'i', long, value_name = "TEXT", conflicts_with = "prompt")]
    pub(crate) prompt_interactive: Option<String>,
    /// The model to ask.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Which tool calls run unasked.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) approval_mode: Option<Approval>,
    /// Run every tool call unasked; the same as --approval-mode=yolo.
    #[arg(short, long, conflicts_with = "approval_mode")]
    pub(crate) yolo: bool,
    /// How the answer is printed.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,
    /// More directories that tools may work in.
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub(crate) include_directories: Vec<PathBuf>,
    /// Tools that run unasked, such as `run_shell_command(git)`.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) allowed_tools: Vec<String>,
    /// A file or a directory of rules on which tools run, are refused or need asking.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) policy: Vec<PathBuf>,
    /// The only extensions that count; `none` for none.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) extensions: Vec<String>,
    /// The only MCP servers that count.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allowed_mcp_server_names: Vec<String>,
    /// Treat this folder as trusted, this once.
    #[arg(long)]
    pub(crate) skip_trust: bool,
    /// Run no hooks but those that are locked.
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Start without settings files that can't be read, and without the guards that they may hold.
    #[arg(long)]
    pub(crate) ignore_broken_settings: bool,
    /// The new session's name.
    #[arg(long, value_name = "ID", conflicts_with = "resume", value_parser = session_name)]
    pub(crate) session_id: Option<String>,
    /// Go on with an earlier session: `latest`, its number or its name; alone, choose one (without a screen: the latest).
    #[arg(short, long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "", add = completions::sessions())]
    pub(crate) resume: Option<String>,
    /// List this project's sessions.
    #[arg(long)]
    pub(crate) list_sessions: bool,
    /// Delete one of this project's sessions.
    #[arg(long, value_name = "SESSION", add = completions::sessions())]
    pub(crate) delete_session: Option<String>,
    /// Answer from a file, strictly in its order.
    #[arg(long, value_name = "FILE", conflicts_with = "fake_responses_non_strict")]
    pub(crate) fake_responses: Option<PathBuf>,
    /// Answer from a file, taking the first answer that fits.
    #[arg(long, value_name = "FILE")]
    pub(crate) fake_responses_non_strict: Option<PathBuf>,
    /// Record the model's answers into a file for --fake-responses.
    #[arg(long, value_name = "FILE")]
    pub(crate) record_responses: Option<PathBuf>,
    /// Keep files before tools change them, whatever the settings say.
    #[arg(long)]
    pub(crate) checkpointing: bool,
    /// A session in plain lines: nothing is drawn over.
    #[arg(long)]
    pub(crate) screen_reader: bool,
    /// Say more about what happens: in a log under ~/.gemini, and without a screen on stderr too.
    #[arg(short, long)]
    pub(crate) debug: bool,
}

/// Which tool calls run unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Approval {
    /// Those that only look.
    Default,
    /// Edits too.
    AutoEdit,
    /// All of them.
    Yolo,
    /// Those that only look; nothing else runs.
    Plan,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer on stdout, everything else on stderr.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per line as things happen.
    StreamJson,
}

impl OutputFormat {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            OutputFormat::Text => "text",
            OutputFormat::Json => "json",
            OutputFormat::StreamJson => "stream-json",
        }
    }
}

/// One of several commands about a project.
#[derive(Debug, Args)]
pub(crate) struct InProject<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List every rule in force, the strongest first.
    #[command(after_help = "Examples:\n  hookwright policy list\n  hookwright policy list --json")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a policy file: exit 1 on errors, 0 on warnings only.
    #[command(after_help = "Example:\n  hookwright policy check ~/.gemini/policies/shell.toml")]
    Check {
        /// The file.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what would become of a call, and by which rule, list or mode: exit 0 allowed, 2 denied, 3 ask.
    #[command(
        after_help = "Hooks are not asked: `hookwright hooks fire BeforeTool` does that.\n\nExamples:\n  hookwright policy explain run_shell_command '{\"command\": \"git push\"}'\n  hookwright policy explain write_file '{\"file_path\": \"a.txt\"}' --mode yolo --json"
    )]
    Explain(Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The tool's name.
    pub(crate) tool: String,
    /// Its arguments.
    #[arg(value_name = "ARGS_JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The approval mode [default: the settings'].
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Approval>,
    /// As a call of this sub-agent's.
    #[arg(long, value_name = "NAME")]
    pub(crate) subagent: Option<String>,
    /// Also run the BeforeTool hooks that would be asked.
    #[arg(long)]
    pub(crate) fire: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which project a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct Place {
    /// The project's directory [default: the current one].
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1)]
    pub(crate) project: Option<Option<PathBuf>>,
    /// Treat the project's folder as trusted, this once.
    #[arg(long, global = true)]
    pub(crate) skip_trust: bool,
}

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// The user's, everywhere.
    User,
    /// This project's.
    Workspace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List every hook with its event, matcher, source and state.
    #[command(after_help = "Examples:\n  hookwright hooks list\n  hookwright hooks list --event BeforeTool --json")]
    List(List),
    /// Show everything about one hook.
    #[command(after_help = "Example:\n  hookwright hooks show secret-scanner")]
    Show {
        /// The hook's name, or its command.
        #[arg(add = completions::hook_names())]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check settings files: exit 1 on errors, 0 on warnings only.
    #[command(after_help = "Examples:\n  hookwright hooks validate\n  hookwright hooks validate hooks.json --json")]
    Validate {
        /// Files to check [default: every layer's settings].
        files: Vec<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that every enabled hook could really run; exit 1 if one could not.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a JSON Schema: of the settings, or of an event's input and output.
    #[command(
        after_help = "Examples:\n  hookwright hooks schema > hooks.schema.json\n  hookwright hooks schema BeforeTool --output"
    )]
    Schema {
        /// The event [default: the settings].
        #[arg(value_parser = event_parser())]
        event: Option<EventKind>,
        /// Only what hooks receive.
        #[arg(long, requires = "event", conflicts_with = "output")]
        input: bool,
        /// Only what hooks may answer.
        #[arg(long, requires = "event")]
        output: bool,
    },
    /// Run the hooks of an event exactly as a session would: exit 0 allowed, 2 denied or stopped, 3 ask.
    #[command(
        after_help = "What is not given is a small, harmless sample of the event.\n\nExamples:\n  hookwright hooks fire SessionStart\n  hookwright hooks fire BeforeTool --tool write_file --args '{\"file_path\": \"a.txt\", \"content\": \"hi\"}'\n  hookwright hooks fire BeforeAgent --prompt 'fix the tests' --json\n  hookwright hooks fire AfterModel --print-input > event.json\n  hookwright hooks fire AfterModel --input event.json"
    )]
    Fire(Fire),
    /// Run hook tests: `*.hooktest.toml` files, by default those under `.gemini/`.
    #[command(
        after_help = "Examples:\n  hookwright hooks test\n  hookwright hooks test .gemini/hooks/guard.hooktest.toml --json"
    )]
    Test {
        /// Test files, or directories to look for them in.
        paths: Vec<PathBuf>,
        /// Only cases whose name contains this.
        #[arg(long, value_name = "TEXT")]
        filter: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Enable a hook.
    Enable {
        /// The hook's name, or its command.
        #[arg(add = completions::hook_names())]
        name: String,
    },
    /// Disable a hook.
    Disable {
        /// The hook's name, or its command.
        #[arg(add = completions::hook_names())]
        name: String,
    },
    /// Enable every hook.
    EnableAll,
    /// Disable every hook.
    DisableAll,
    /// Trust new and changed project hooks and what agents changed of the guards, or show which wait for it.
    #[command(
        after_help = "Examples:\n  hookwright hooks trust            show what is new or changed\n  hookwright hooks trust guard      trust one hook\n  hookwright hooks trust --all      trust all of them\n  hookwright hooks trust --folder   trust this folder"
    )]
    Trust {
        /// The hook's name, or its command.
        #[arg(conflicts_with = "all", add = completions::hook_names())]
        name: Option<String>,
        /// Trust all of the project's hooks, and what agents changed of the guards.
        #[arg(long)]
        all: bool,
        /// Trust the project's folder itself, so that its settings and hooks are loaded.
        #[arg(long)]
        folder: bool,
    },
    /// Take over the hooks of another agent.
    #[command(
        after_help = "Examples:\n  hookwright hooks migrate --from-claude --dry-run\n  hookwright hooks migrate --from-claude --verify"
    )]
    Migrate(Migrate),
    /// Write a new hook: a working script, its settings entry and its hook test.
    #[command(
        after_help = "Example:\n  hookwright hooks new guard --event BeforeTool --matcher run_shell_command --lang python"
    )]
    New(New),
    /// Take over a shipped example: its script, its settings entry and its tests; without a name, list them.
    #[command(after_help = "Examples:\n  hookwright hooks add\n  hookwright hooks add secret-scanner --user")]
    Add(Add),
    /// Take a hook out of the settings that declare it; its script stays.
    #[command(after_help = "Example:\n  hookwright hooks remove secret-scanner --scope user")]
    Remove(Remove),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The example [default: list them].
    #[arg(add = completions::examples())]
    pub(crate) example: Option<String>,
    /// For all your projects: under ~/.gemini.
    #[arg(long)]
    pub(crate) user: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The hook's name, or its command.
    #[arg(add = completions::hook_names())]
    pub(crate) name: String,
    /// Whose hook, where several have the name.
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<Scope>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only this event's hooks.
    #[arg(long, value_parser = event_parser())]
    pub(crate) event: Option<EventKind>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fire {
    /// The event.
    #[arg(value_parser = event_parser())]
    pub(crate) event: EventKind,
    /// The event's own fields as JSON, from a file or from stdin [default: a sample].
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["tool", "prompt"])]
    pub(crate) input: Option<PathBuf>,
    /// Tool events: the tool's name.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Tool events: its arguments [default: a sample].
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
    /// Agent events: the user's prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// As if it happened in that agent: its words in, its kind of answer out. With --input, what that agent would send.
    #[arg(long = "as", value_name = "AGENT", value_parser = bridge::host)]
    pub(crate) host: Option<hookwright_bridge::Host>,
    /// Run nothing; print the event's fields, for a file that --input reads.
    #[arg(long)]
    pub(crate) print_input: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// From Claude Code's settings.
    #[arg(long, required = true)]
    pub(crate) from_claude: bool,
    /// Only show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change nothing; fire every guard with sample calls, as Claude Code would run it and as it is taken over, and show both
    /// answers. Exit 1 if they differ.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) verify: bool,
    /// With --verify: print JSON.
    #[arg(long, requires = "verify")]
    pub(crate) json: bool,
    /// Only from and to the user's own settings; `--project` takes over only the project's.
    #[arg(long)]
    pub(crate) user: bool,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The hook's name: letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// The event it runs on.
    #[arg(long, value_parser = event_parser())]
    pub(crate) event: EventKind,
    /// When it runs [default: always].
    #[arg(long)]
    pub(crate) matcher: Option<String>,
    /// Declare it as a guard: one that must be awake.
    #[arg(long)]
    pub(crate) guard: bool,
    /// For all your projects: under ~/.gemini.
    #[arg(long)]
    pub(crate) user: bool,
    /// The script's language.
    #[arg(long, value_enum, default_value_t = Language::Sh)]
    pub(crate) lang: Language,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Sh,
    Python,
    Node,
}

/// Reads a session's name, which becomes part of file names and of hooks' environment.
fn session_name(text: &str) -> Result<String, String> {
    let fine = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    match text {
        "" => Err("it is empty".to_owned()),
        "latest" => Err("`latest` is what --resume calls the last one".to_owned()),
        text if text.len() > 128 => Err("it is longer than 128 characters".to_owned()),
        text if !text.chars().all(fine) => Err("only letters, digits, `-` and `_` may be in it".to_owned()),
        text if text.chars().all(|char| char.is_ascii_digit()) => {
            Err("a number alone would be its place in a list".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}

/// Reads an event's name, with a suggestion for one that is near.
fn event_parser() -> impl clap::builder::TypedValueParser<Value = EventKind> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(EventKind::all().map(EventKind::name))
        .try_map(|name| EventKind::from_name(&name).ok_or("no such event"))
}
