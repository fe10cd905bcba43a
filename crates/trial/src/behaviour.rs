//! The behaviours of hooks as data: for each, one or two small scripts, the author's intent, and the dialect of the
//! answers. They are the same for all agents.

mod table;

use std::time::Duration;

use hookwright_hooks::EventKind;

pub use table::BEHAVIOURS;

/// The marker in a hook's reason, which is searched for in the requests to the model.
pub const REASON_MARKER: &str = "TRIAL-REASON";
/// The marker in a hook's context, which is searched for in the requests to the model.
pub const CONTEXT_MARKER: &str = "TRIAL-CONTEXT";

/// The file that the model's call creates.
pub const RAN_FILE: &str = "RAN";
/// The file that the rewritten call creates, or a call that runs confined.
pub const REWRITTEN_FILE: &str = "RW";
/// The file that guards of confined calls keep from being read.
pub(crate) const SECRET_FILE: &str = "secret.txt";
/// In the script of a confined call, the port of a server outside.
pub(crate) const PORT_PLACEHOLDER: &str = "PORT";

/// One way in which a hook behaves.
#[derive(Debug)]
pub struct Behaviour {
    /// The name on the command line and in results.
    pub name: &'static str,
    /// A short description of what the hook does.
    pub description: &'static str,
    /// What the hook's author wants.
    pub intent: HookIntent,
    /// The dialect of the hook's answers.
    pub dialect: ScriptDialect,
    /// The event for which the hook is called.
    pub event: EventKind,
    /// The kind of call that the model makes.
    pub call_kind: TrialCallKind,
    /// The hooks, in order.
    pub hooks: &'static [TrialHook],
    /// The timeout of each hook; the agent's default if none.
    pub timeout: Option<Duration>,
    /// How the setup differs from the normal one.
    pub setup: TrialSetup,
    /// Whether it is among the few that are tried on a user's machine.
    pub in_live_trial: bool,
}

/// What the author of a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookIntent {
    /// The call may run.
    Allow,
    /// The call must not run.
    Deny,
    /// The call must run as rewritten, or not at all.
    Rewrite,
    /// The call may run, and the model is to get additional context.
    AddContext,
    /// The call must run so that it cannot do what the hook is about, or not at all.
    Confine,
}

/// The agent whose answer format a hook uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptDialect {
    /// The answer format of Claude Code.
    Claude,
    /// The answer format of Gemini CLI, which is also Hookwright's.
    Gemini,
}

/// The call that the model makes, and the calls that the hook is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialCallKind {
    /// A shell command; the hook is called for every tool.
    Command,
    /// A file written by the tool for that; the hook is called for tools that change files.
    Edit,
    /// A file written by a shell command. The hook is called for tools that change files or, through Hookwright, for
    /// calls that write the file.
    EditByCommand,
    /// A script of the project, so that the effects of the command are not known. This is its text for `sh`.
    UnknownScript(&'static str),
    /// A program that the search path finds instead of a harmless one, so that the effects of the command are believed to
    /// be known. This is its text for `sh`; guards are enforced for every command.
    DisguisedProgram(&'static str),
}

/// One hook of a behaviour.
#[derive(Debug, Clone, Copy)]
pub enum TrialHook {
    /// A script for `sh`, without its first line.
    Script(&'static str),
    /// A script without the permission to execute it.
    NotExecutable(&'static str),
    /// A script that does not exist.
    Missing,
    /// A rule of Hookwright that denies what its `when` matches, which is this JSON.
    Rule(&'static str),
}

/// The setup of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialSetup {
    /// The setup that most behaviours use.
    Normal,
    /// The agent has not been told to trust the hook.
    Untrusted,
    /// The program that the agent calls has been removed.
    ProgramMissing,
}

impl Behaviour {
    /// Returns the behaviour of this name.
    pub fn by_name(name: &str) -> Option<&'static Behaviour> {
        BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)
    }

    /// Returns the behaviours that are tried on a user's machine.
    pub fn live_trials() -> impl Iterator<Item = &'static Behaviour> {
        BEHAVIOURS.iter().filter(|behaviour| behaviour.in_live_trial)
    }
}
