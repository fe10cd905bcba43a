//! The events of hooks.

use hookwright_hooks::{EventKind, HookInput, RunId, RunReport, Source, VerdictReport};
use serde::Serialize;

/// An event of a hook.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// A hook is about to run.
    Started {
        /// The identifier of this run; its report has the same one.
        id: RunId,
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The number of hooks in the plan.
        total: usize,
    },
    /// A hook has ended.
    Finished {
        /// The report of the run.
        report: Box<RunReport>,
        /// The input that the hook received, which is not serialised: the journal has it.
        #[serde(skip)]
        input: HookInput,
    },
    /// The hooks of an event have decided. Front ends show the reports of the runs instead.
    Decided(Box<VerdictReport>),
    /// A message from a hook to the user.
    Message {
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The text of the message.
        text: String,
    },
    /// A problem with a hook.
    Warning {
        /// The event that triggered the hook.
        event: EventKind,
        /// The name of the hook.
        hook: String,
        /// The source that declares the hook.
        source: Source,
        /// The text that describes the problem.
        text: String,
    },
}
