//! How hooks behave: thirty and more, as data. Each is one or two small scripts, what their author meant, and in whose words
//! they say it. Nothing here knows an agent.

mod table;

use std::time::Duration;

use hookwright_hooks::EventKind;

pub use table::BEHAVIOURS;

/// A word of the hook's reason, to be found again where the model can read it.
pub const REASON: &str = "TRIAL-REASON";
/// A word of the hook's context.
pub const CONTEXT: &str = "TRIAL-CONTEXT";

/// The file that the model wants to be made.
pub const RAN: &str = "RAN";
/// The file that is made instead once the call has been rewritten.
pub const REWRITTEN: &str = "RW";

/// One way for a hook to behave.
#[derive(Debug)]
pub struct Behaviour {
    /// Its name as typed.
    pub name: &'static str,
    /// What the hook does.
    pub what: &'static str,
    /// What its author wants.
    pub means: Meaning,
    /// In whose words it speaks.
    pub words: Words,
    /// When it is called.
    pub event: EventKind,
    /// What the model wants to have done.
    pub wants: Wanted,
    /// The hooks, in order.
    pub hooks: &'static [Hook],
    /// How long each may take; the agent's own time if nothing.
    pub patience: Option<Duration>,
    /// What is different about the place where it runs.
    pub place: Place,
    /// Whether it is among the few that are tried on a user's machine.
    pub short: bool,
}

/// What the author of a hook wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The call may go on.
    Nothing,
    /// The call must not run.
    No,
    /// The call must run otherwise, or not at all.
    Otherwise,
    /// The call may run, and the model is to read something.
    Tell,
}

/// In whose words a hook speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Claude Code's.
    Claude,
    /// Gemini CLI's, and ours.
    Gemini,
}

/// What the model wants to have done, and for which calls the hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A command; the hook is called for every tool.
    Command,
    /// A file written by the tool for that; the hook is called for tools that change files.
    Edit,
    /// A file written by a command; the hook is called for tools that change files or, where somebody can tell, for calls that do.
    EditByCommand,
}

/// One hook.
#[derive(Debug, Clone, Copy)]
pub enum Hook {
    /// A script for `sh`, without its first line.
    Script(&'static str),
    /// A script that nobody may execute.
    NotExecutable(&'static str),
    /// A script that is not there.
    Missing,
}

/// What is different about the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Usual,
    /// The agent has not been told to trust the hook.
    Untrusted,
    /// The program that the agent should call, Hookwright's or the hook, is gone.
    ProgramGone,
}

impl Behaviour {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Behaviour> {
        BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)
    }

    /// Those that are tried on a user's machine.
    pub fn short() -> impl Iterator<Item = &'static Behaviour> {
        BEHAVIOURS.iter().filter(|behaviour| behaviour.short)
    }
}
