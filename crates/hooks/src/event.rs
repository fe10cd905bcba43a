//! The table of events: names, foreign names, the subject that a matcher is tested against, and what a hook can do.
//!
//! A new event needs a row here, a struct in `event/input.rs` and a verdict in `answers/outcome.rs`.

pub(crate) mod chunks;
pub(crate) mod growing_text;
pub(crate) mod input;
pub(crate) mod model_api;
pub(crate) mod sample;

use serde::{Deserialize, Serialize};

/// One of the eleven points of an agent's loop at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventKind {
    /// A session starts, is resumed or is cleared.
    SessionStart,
    /// A session ends or is cleared.
    SessionEnd,
    /// The user sent a prompt; nothing has happened yet.
    BeforeAgent,
    /// The turn's final answer is there.
    AfterAgent,
    /// A request is about to go to the model.
    BeforeModel,
    /// The tools offered with a request are about to be fixed.
    BeforeToolSelection,
    /// A piece of the model's answer arrived.
    AfterModel,
    /// The model asked for a tool; it has not run.
    BeforeTool,
    /// A tool has run.
    AfterTool,
    /// The history is about to be compressed.
    PreCompress,
    /// The user is about to be asked for something.
    Notification,
}

/// What an event's `matcher` is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatcherSubject {
    /// The tool's name: exact names, or a regular expression.
    ToolName,
    /// One input field with a closed set of values, compared exactly.
    Field {
        /// The name of the input field.
        name: &'static str,
        /// The values that the field can have.
        values: &'static [&'static str],
    },
    /// Nothing: the event always matches.
    Nothing,
}

/// An effect that a hook's answer can have on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookCapability {
    /// Adds text to the model's input.
    Context,
    /// Denies the action.
    Deny,
    /// Asks the user to decide.
    Ask,
    /// Has the call run so that the kernel keeps it to a profile.
    Confine,
    /// Approves the call in the user's place: a rule that allows, with `only`.
    Approve,
    /// Ends the agent loop.
    Stop,
    /// Changes the arguments of the tool call.
    RewriteInput,
    /// Keeps the model's own arguments from being stored.
    RedactInput,
    /// Runs another tool call next, whose result replaces this one.
    TailCall,
    /// Changes the model request.
    RewriteRequest,
    /// Responds in place of the model.
    AnswerForModel,
    /// Replaces a piece of the model's response.
    ReplaceResponse,
    /// Restricts the tools that the model may use, or forces their use.
    SelectTools,
    /// Clears the model's conversation history.
    ClearContext,
}

/// One row of the table of events.
#[derive(Debug)]
pub struct EventInfo {
    /// The event that the row describes.
    pub kind: EventKind,
    /// The event's name in settings and in `hook_event_name`.
    pub name: &'static str,
    /// The names of the event in other agents; diagnostics and migration use them, settings do not.
    pub foreign_names: &'static [&'static str],
    /// The subject that a matcher is tested against.
    pub subject: MatcherSubject,
    /// The effects that a hook's answer can have.
    pub capabilities: &'static [HookCapability],
    /// When the event fires, in one line.
    pub fires_when: &'static str,
}

/// The table of events, in the order in which a session meets them.
pub const EVENTS: [EventInfo; 11] = {
    use HookCapability::{
        AnswerForModel, Approve, Ask, ClearContext, Confine, Context, Deny, RedactInput, ReplaceResponse, RewriteInput,
        RewriteRequest, SelectTools, Stop, TailCall,
    };
    [
        EventInfo {
            kind: EventKind::SessionStart,
            name: "SessionStart",
            foreign_names: &[],
            subject: MatcherSubject::Field { name: "source", values: &["startup", "resume", "clear"] },
            capabilities: &[Context],
            fires_when: "when a session starts, is resumed or is cleared",
        },
        EventInfo {
            kind: EventKind::BeforeAgent,
            name: "BeforeAgent",
            foreign_names: &["UserPromptSubmit"],
            subject: MatcherSubject::Nothing,
            capabilities: &[Context, Deny, Stop],
            fires_when: "once per user prompt, before anything else",
        },
        EventInfo {
            kind: EventKind::PreCompress,
            name: "PreCompress",
            foreign_names: &["PreCompact"],
            subject: MatcherSubject::Field { name: "trigger", values: &["manual", "auto"] },
            capabilities: &[],
            fires_when: "before the history is compressed",
        },
        EventInfo {
            kind: EventKind::BeforeModel,
            name: "BeforeModel",
            foreign_names: &[],
            subject: MatcherSubject::Nothing,
            capabilities: &[RewriteRequest, AnswerForModel, Deny, Stop],
            fires_when: "before every model request",
        },
        EventInfo {
            kind: EventKind::BeforeToolSelection,
            name: "BeforeToolSelection",
            foreign_names: &[],
            subject: MatcherSubject::Nothing,
            capabilities: &[SelectTools],
            fires_when: "before every model request, after BeforeModel",
        },
        EventInfo {
            kind: EventKind::AfterModel,
            name: "AfterModel",
            foreign_names: &[],
            subject: MatcherSubject::Nothing,
            capabilities: &[ReplaceResponse, Deny, Stop],
            fires_when: "for every streamed piece of the model's answer",
        },
        EventInfo {
            kind: EventKind::BeforeTool,
            name: "BeforeTool",
            foreign_names: &["PreToolUse"],
            subject: MatcherSubject::ToolName,
            capabilities: &[Deny, Ask, Confine, Approve, RewriteInput, RedactInput, Stop],
            fires_when: "before every tool call, ahead of approval and execution",
        },
        EventInfo {
            kind: EventKind::Notification,
            name: "Notification",
            foreign_names: &[],
            subject: MatcherSubject::Field { name: "notification_type", values: &["ToolPermission"] },
            capabilities: &[],
            fires_when: "before the user is asked for permission",
        },
        EventInfo {
            kind: EventKind::AfterTool,
            name: "AfterTool",
            foreign_names: &["PostToolUse"],
            subject: MatcherSubject::ToolName,
            capabilities: &[Deny, Context, TailCall, Stop],
            fires_when: "after every executed tool call",
        },
        EventInfo {
            kind: EventKind::AfterAgent,
            name: "AfterAgent",
            foreign_names: &["Stop", "SubagentStop"],
            subject: MatcherSubject::Nothing,
            capabilities: &[Deny, Stop, ClearContext],
            fires_when: "once per turn, after the final answer",
        },
        EventInfo {
            kind: EventKind::SessionEnd,
            name: "SessionEnd",
            foreign_names: &[],
            subject: MatcherSubject::Field {
                name: "reason",
                values: &["exit", "clear", "logout", "prompt_input_exit", "other"],
            },
            capabilities: &[],
            fires_when: "when a session ends or is cleared",
        },
    ]
};

impl EventKind {
    /// The number of events.
    pub const COUNT: usize = EVENTS.len();

    /// Every event, in the order in which a session meets them.
    pub fn all() -> impl Iterator<Item = EventKind> {
        EVENTS.iter().map(|row| row.kind)
    }

    /// The row of this event in [`EVENTS`].
    pub fn info(self) -> &'static EventInfo {
        &EVENTS[self.index()]
    }

    /// The event's name in settings.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether hooks of this event can keep its content from being stored.
    pub(crate) fn can_withhold_content(self) -> bool {
        matches!(self, EventKind::BeforeAgent | EventKind::BeforeTool | EventKind::AfterModel | EventKind::AfterTool)
    }

    /// Whether a hook's answer can have this effect on the event.
    pub fn can(self, power: HookCapability) -> bool {
        self.info().capabilities.contains(&power)
    }

    /// The event with exactly this name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        EVENTS.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// The event for which another agent uses this name.
    pub fn from_foreign_name(name: &str) -> Option<EventKind> {
        EVENTS.iter().find(|row| row.foreign_names.contains(&name)).map(|row| row.kind)
    }

    /// The event that a misspelt or foreign name most likely means.
    ///
    /// ```
    /// use hookwright_hooks::EventKind;
    ///
    /// assert_eq!(EventKind::suggest("PreToolUse"), Some(EventKind::BeforeTool));
    /// ```
    pub fn suggest(name: &str) -> Option<EventKind> {
        Self::from_foreign_name(name).or_else(|| {
            let lower = name.to_lowercase();
            EVENTS
                .iter()
                .map(|row| (strsim::damerau_levenshtein(&lower, &row.name.to_lowercase()), row.kind))
                .filter(|(distance, kind)| *distance <= kind.name().len() / 3)
                .min_by_key(|(distance, _)| *distance)
                .map(|(_, kind)| kind)
        })
    }

    /// The index of the event's row in [`EVENTS`], and in other tables with a row per event.
    pub(crate) const fn index(self) -> usize {
        let mut at = 0;
        while at < EVENTS.len() {
            if EVENTS[at].kind as usize == self as usize {
                return at;
            }
            at += 1;
        }
        0
    }
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_table_row() {
        for kind in EventKind::all() {
            assert_eq!(kind.info().kind, kind);
            assert_eq!(EventKind::from_name(kind.name()), Some(kind));
            assert_eq!(format!("{kind:?}"), kind.name());
        }
    }

    #[test]
    fn similar_and_foreign_names_are_suggested() {
        assert_eq!(EventKind::suggest("PreToolUse"), Some(EventKind::BeforeTool));
        assert_eq!(EventKind::suggest("beforetool"), Some(EventKind::BeforeTool));
        assert_eq!(EventKind::suggest("SesionStart"), Some(EventKind::SessionStart));
        assert_eq!(EventKind::suggest("Banana"), None);
    }
}
