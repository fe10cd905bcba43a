//! `hookwright hooks …` as typed.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, Subcommand, ValueEnum};
use hookwright_bridge::install::InstallScope;
use hookwright_hooks::EventKind;

use super::{ScopeArg, bridge};
use crate::commands::completions;

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List every hook with its event, matcher, source and state.
    #[command(after_help = "Examples:\n  hookwright hooks list\n  hookwright hooks list --event BeforeTool --json")]
    List(HookListArgs),
    /// Show everything about one hook.
    #[command(after_help = "Example:\n  hookwright hooks show secret-scanner")]
    Show {
        /// The hook's name or its command.
        #[arg(add = completions::hook_names())]
        name: String,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check settings files: exit 1 on errors, 0 on warnings only.
    #[command(after_help = "Examples:\n  hookwright hooks validate\n  hookwright hooks validate hooks.json --json")]
    Validate {
        /// Files to check [default: the settings files of every level].
        files: Vec<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that every enabled hook could really run; exit 1 if one could not.
    Doctor {
        /// Print the result as JSON.
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
        /// Print only the schema of what hooks receive.
        #[arg(long, requires = "event", conflicts_with = "output")]
        input: bool,
        /// Print only the schema of what hooks may answer.
        #[arg(long, requires = "event")]
        output: bool,
    },
    /// Run an event's hooks exactly as a session would: exit 0 allowed, 2 denied or stopped, 3 ask.
    #[command(
        after_help = "Fields that you do not give are filled in with a small, harmless sample.\n\nExamples:\n  hookwright hooks fire SessionStart\n  hookwright hooks fire BeforeTool --tool write_file --args '{\"file_path\": \"a.txt\", \"content\": \"hi\"}'\n  hookwright hooks fire BeforeAgent --prompt 'fix the tests' --json\n  hookwright hooks fire AfterModel --print-input > event.json\n  hookwright hooks fire AfterModel --input event.json"
    )]
    Fire(HookFireArgs),
    /// Run hook tests: `*.hooktest.toml` files, by default those under `.hookwright/` and `.gemini/`.
    #[command(
        after_help = "A case passes only if its hooks decide themselves: the decision of a hook that fails does not count, unless the\ncase expects the failure (`failure = \"exit\"`).\n\nExamples:\n  hookwright hooks test\n  hookwright hooks test .gemini/hooks/guard.hooktest.toml --json\n  hookwright hooks test --watch\n  hookwright hooks test --record    the last call of the last session becomes a case\n  hookwright hooks test --from-journal 4821    a recorded event becomes a case"
    )]
    Test(HookTestArgs),
    /// Switch a hook on.
    Enable {
        /// The hook's name or its command.
        #[arg(add = completions::hook_names())]
        name: String,
    },
    /// Switch a hook off.
    Disable {
        /// The hook's name or its command.
        #[arg(add = completions::hook_names())]
        name: String,
        /// Agree to the loss of a guard without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Put a hook into shadow: it is asked and recorded, and decides nothing. Not for guards.
    #[command(
        after_help = "`hookwright journal stats --shadow` says what it would have done.\n\nExamples:\n  hookwright hooks shadow no-force-push\n  hookwright hooks shadow no-force-push --off"
    )]
    Shadow {
        #[command(flatten)]
        target: HookTargetArgs,
        /// Take it out of shadow again, as `hooks arm` does.
        #[arg(long)]
        off: bool,
    },
    /// Take a hook out of shadow, so that it decides.
    #[command(after_help = "Example:\n  hookwright hooks arm no-force-push")]
    Arm {
        #[command(flatten)]
        target: HookTargetArgs,
    },
    /// Tell the story of one call in plain words: who asked, what hooks said, which answer counted, what became of it.
    #[command(
        after_help = "The numbers are those of `hookwright journal list`.\n\nExamples:\n  hookwright hooks why 4821\n  hookwright hooks why last\n  hookwright hooks why last denied --json"
    )]
    Why {
        /// The number of a line in the journal, or `last`.
        #[arg(value_name = "NUMBER|last")]
        line: String,
        /// With `last`: the last one that was denied or stopped.
        #[arg(value_name = "denied", value_parser = ["denied"])]
        denied: Option<String>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask today's hooks about recorded events, and show where they decide otherwise: exit 1 if they do, 0 if not.
    #[command(
        after_help = "Rules are only evaluated. Programs run confined: nothing may be changed, no network. What can't be confined, and\nhttp hooks, are skipped and counted; their recorded answers count. `--really` runs everything as it is.\n\nExamples:\n  hookwright hooks replay --since 30d\n  hookwright hooks replay --since 30d --hook no-force-push\n  hookwright hooks replay --settings new-hooks.json\n  hookwright hooks replay --pack essentials --json\n  hookwright hooks replay --as-of HEAD~10\n  hookwright hooks replay 4821"
    )]
    Replay(HookReplayArgs),
    /// Switch every hook on.
    EnableAll,
    /// Switch every hook off.
    DisableAll {
        /// Agree to the loss of guards; without it they stay on.
        #[arg(long)]
        consent: bool,
    },
    /// Trust new and changed project hooks and guard files that agents changed; without a name, show them.
    #[command(
        after_help = "Examples:\n  hookwright hooks trust            show what is new or changed\n  hookwright hooks trust guard      trust one hook\n  hookwright hooks trust --all      trust all of them\n  hookwright hooks trust --folder   trust this folder"
    )]
    Trust {
        /// The hook's name or its command.
        #[arg(conflicts_with = "all", add = completions::hook_names())]
        name: Option<String>,
        /// Trust all of the project's hooks, and all guard files that agents changed.
        #[arg(long)]
        all: bool,
        /// Trust the project's folder itself, so that its settings and hooks are loaded.
        #[arg(long)]
        folder: bool,
    },
    /// Copy the hooks of another agent into your settings.
    #[command(
        after_help = "Examples:\n  hookwright hooks migrate --from-claude --dry-run\n  hookwright hooks migrate --from-claude --verify"
    )]
    Migrate(HookMigrateArgs),
    /// Write a new hook: a working script, its settings entry and its hook test. On a terminal, it asks for what is not given.
    #[command(
        after_help = "Examples:\n  hookwright hooks new\n  hookwright hooks new guard --event BeforeTool --matcher run_shell_command --lang python"
    )]
    New(HookNewArgs),
    /// Copy a shipped example (its script, its settings entry and its tests) or a pack of rules; without a name, list
    /// the examples.
    #[command(
        after_help = "Examples:\n  hookwright hooks add\n  hookwright hooks add secret-scanner --user\n  hookwright hooks add --pack essentials"
    )]
    Add(HookAddArgs),
    /// List the shipped packs: rules that are added together with `hooks add --pack`.
    Packs {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a hook from the settings that declare it, and its own test; its script is kept.
    #[command(after_help = "Example:\n  hookwright hooks remove secret-scanner --scope user")]
    Remove(HookRemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HookTargetArgs {
    /// The hook's name or its command.
    #[arg(add = completions::hook_names())]
    pub(crate) name: String,
    /// Whose hook to change, if several have that name.
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct HookReplayArgs {
    /// A session's id, or the number of a line in the journal [default: everything on record].
    #[arg(value_name = "SESSION|NUMBER", conflicts_with = "since")]
    pub(crate) selection: Option<String>,
    /// Only events since then: 30m, 12h, 7d, 2w, a date, or a date with a time.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only this hook: compare what it said with what it says now. A hook in shadow counts with what it would decide.
    #[arg(long, value_name = "NAME", add = completions::hook_names())]
    pub(crate) hook: Option<String>,
    /// Add the hooks of this settings file; they replace hooks of the same name.
    #[arg(long, value_name = "FILE", conflicts_with = "pack")]
    pub(crate) settings: Option<PathBuf>,
    /// Add the hooks of a pack: the name of a shipped one, or a folder with the same files.
    #[arg(long, value_name = "NAME|FOLDER", add = completions::pack_candidates())]
    pub(crate) pack: Option<String>,
    /// Take this project's files, hooks included, as they are in that git commit; only events of this project.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) as_of: Option<String>,
    /// Run every hook as it is, unconfined: it may change files and use the network.
    #[arg(long)]
    pub(crate) really: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookTestArgs {
    /// Test files, or directories to look for them in.
    pub(crate) paths: Vec<PathBuf>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run the tests again whenever a hook, a setting or a test changes, until Ctrl+C.
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,
    /// Add a case instead: the last tool call, or else the last prompt, of this project's last session, of any agent,
    /// with what hooks decide about it now.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = ".hookwright/recorded.hooktest.toml", conflicts_with_all = ["paths", "filter", "watch", "json"])]
    pub(crate) record: Option<PathBuf>,
    /// Add a case from this line of the journal, to the file of --record.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["paths", "filter", "watch", "json"])]
    pub(crate) from_journal: Option<u64>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookAddArgs {
    /// The example's name [default: list the examples].
    #[arg(add = completions::example_candidates())]
    pub(crate) example: Option<String>,
    /// Add a pack instead: the name of a shipped one, or a folder with the same files.
    #[arg(long, value_name = "NAME|FOLDER", conflicts_with = "example", add = completions::pack_candidates())]
    pub(crate) pack: Option<String>,
    /// For all your projects: write it under your home directory.
    #[arg(long)]
    pub(crate) user: bool,
    /// For all users of this machine, who can't switch it off: a pack alone, with the administrator's rights.
    #[arg(long, requires = "pack", conflicts_with = "user")]
    pub(crate) machine: bool,
}

impl HookAddArgs {
    pub(crate) fn scope(&self) -> InstallScope {
        match (self.machine, self.user) {
            (true, _) => InstallScope::Machine,
            (false, true) => InstallScope::User,
            (false, false) => InstallScope::Project,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HookRemoveArgs {
    /// The hook's name or its command.
    #[arg(add = completions::hook_names())]
    pub(crate) name: String,
    /// Whose hook to remove, if several have that name.
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<ScopeArg>,
}

#[derive(Debug, Args)]
pub(crate) struct HookListArgs {
    /// Only this event's hooks.
    #[arg(long, value_parser = event_parser())]
    pub(crate) event: Option<EventKind>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookFireArgs {
    /// The event to fire.
    #[arg(value_parser = event_parser())]
    pub(crate) event: EventKind,
    /// The event's own fields as JSON, from a file or from stdin [default: a sample].
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["tool", "prompt"])]
    pub(crate) input: Option<PathBuf>,
    /// Tool events: the tool's name.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Tool events: the tool's arguments [default: a sample].
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
    /// Agent events: the user's prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Fire it as that agent would: show its payload in and the answer out. With --input, read that agent's payload.
    #[arg(long = "as", value_name = "AGENT", value_parser = bridge::parse_host)]
    pub(crate) host: Option<hookwright_bridge::Host>,
    /// Run nothing; print the event's fields, for a file that --input reads.
    #[arg(long)]
    pub(crate) print_input: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookMigrateArgs {
    /// Copy the hooks of Claude Code's settings.
    #[arg(long, required = true)]
    pub(crate) from_claude: bool,
    /// Only show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change nothing; run every guard with sample calls, once as Claude Code would and once as a copied hook, and show both
    /// answers. Exit 1 if they differ.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) verify: bool,
    /// With --verify: print JSON.
    #[arg(long, requires = "verify")]
    pub(crate) json: bool,
    /// Copy only the user's own hooks; `--project` copies only the project's.
    #[arg(long)]
    pub(crate) user: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookNewArgs {
    /// The hook's name: letters, digits, `-` and `_`.
    pub(crate) name: Option<String>,
    /// The event that it runs on; another agent's name for it is understood.
    #[arg(long, value_parser = event_parser())]
    pub(crate) event: Option<EventKind>,
    /// Which tools or occasions it runs for [default: all].
    #[arg(long)]
    pub(crate) matcher: Option<String>,
    /// Declare it as a guard: if it fails, the call is blocked.
    #[arg(long)]
    pub(crate) guard: bool,
    /// For all your projects: write it under your home directory.
    #[arg(long)]
    pub(crate) user: bool,
    /// Write it as a worker: one process for the whole session, instead of one for every event.
    #[arg(long)]
    pub(crate) worker: bool,
    /// The script's language [default: sh].
    #[arg(long, value_enum)]
    pub(crate) lang: Option<ScriptLanguage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptLanguage {
    Sh,
    Python,
    Node,
}

/// Parses the name of an event. Another agent's name for it is understood, and the user is told the name here.
#[derive(Clone)]
struct EventParser;

fn event_parser() -> EventParser {
    EventParser
}

impl TypedValueParser for EventParser {
    type Value = EventKind;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<EventKind, clap::Error> {
        let name = value.to_string_lossy();
        if let (None, Some(event)) = (EventKind::from_name(&name), EventKind::from_foreign_name(&name)) {
            // Without stderr, the note is lost and nothing else.
            let _ = crate::output::note(format!("{name} is called {event} here"));
            return Ok(event);
        }
        let known = PossibleValuesParser::new(EventKind::all().map(EventKind::name));
        known.try_map(|name| EventKind::from_name(&name).ok_or("no such event")).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(EventKind::all().map(|event| PossibleValue::new(event.name()))))
    }
}
