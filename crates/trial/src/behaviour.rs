//! How hooks behave: thirty and more, as data. Each is one or two small scripts, what their author meant, and in whose words
//! they say it. Nothing here knows an agent.

mod table;

use std::time::Duration;

use hookwright_hooks::EventKind;

pub use table::BEHAVIOURS;

/// A word of the hook's reason, to be found again where the model can read it.
pub const REASON_MARKER: &str = "TRIAL-REASON";
/// A word of the hook's context.
pub const CONTEXT_MARKER: &str = "TRIAL-CONTEXT";

/// The file that the model wants to be made.
pub const RAN_FILE: &str = "RAN";
/// The file that is made instead once the call has been rewritten.
pub const REWRITTEN_FILE: &str = "RW";

/// One way for a hook to behave.
#[derive(Debug)]
pub struct Behaviour {
    /// Its name as typed.
    pub name: &'static str,
    /// What the hook does.
    pub description: &'static str,
    /// What its author wants.
    pub intent: HookIntent,
    /// In whose words it speaks.
    pub dialect: ScriptDialect,
    /// When it is called.
    pub event: EventKind,
    /// What the model wants to have done.
    pub call_kind: TrialCallKind,
    /// The hooks, in order.
    pub hooks: &'static [TrialHook],
    /// How long each may take; the agent's own time if nothing.
    pub timeout: Option<Duration>,
    /// What is different about the place where it runs.
    pub setup: TrialSetup,
    /// Whether it is among the few that are tried on a user's machine.
    pub in_live_trial: bool,
}

/// What the author of a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookIntent {
    /// The call may go on.
    Allow,
    /// The call must not run.
    Deny,
    /// The call must run otherwise, or not at all.
    Rewrite,
    /// The call may run, and the model is to read something.
    AddContext,
}

/// In whose words a hook speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptDialect {
    /// Claude Code's.
    Claude,
    /// Gemini CLI's, and ours.
    Gemini,
}

/// What the model wants to have done, and for which calls the hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialCallKind {
    /// A command; the hook is called for every tool.
    Command,
    /// A file written by the tool for that; the hook is called for tools that change files.
    Edit,
    /// A file written by a command; the hook is called for tools that change files or, where somebody can tell, for calls that do.
    EditByCommand,
}

/// One hook.
#[derive(Debug, Clone, Copy)]
pub enum TrialHook {
    /// A script for `sh`, without its first line.
    Script(&'static str),
    /// A script that nobody may execute.
    NotExecutable(&'static str),
    /// A script that is not there.
    Missing,
}

/// What is different about the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialSetup {
    /// Nothing.
    Normal,
    /// The agent has not been told to trust the hook.
    Untrusted,
    /// The program that the agent should call, Hookwright's or the hook, is gone.
    ProgramMissing,
}

impl Behaviour {
    /// The one of that name.
    pub fn by_name(name: &str) -> Option<&'static Behaviour> {
        BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)
    }

    /// Those that are tried on a user's machine.
    pub fn live_trials() -> impl Iterator<Item = &'static Behaviour> {
        BEHAVIOURS.iter().filter(|behaviour| behaviour.in_live_trial)
    }
}
