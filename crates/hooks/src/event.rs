//! THE table of events: names, older and foreign names, what a matcher is tested against, and what a hook can do.
//!
//! A new event is a row here, a struct in `input.rs` and an effect in `outcome.rs`; nothing else spells events out.

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
        /// The input field.
        name: &'static str,
        /// The values it can have.
        values: &'static [&'static str],
    },
    /// Nothing: the event always matches.
    Nothing,
}

/// Something that a hook's answer can do to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookCapability {
    /// Add text to what the model sees.
    Context,
    /// Refuse the action.
    Deny,
    /// Have the user decide.
    Ask,
    /// End the agent loop.
    Stop,
    /// Change the tool's arguments.
    RewriteInput,
    /// Have the model's own arguments kept nowhere.
    RedactInput,
    /// Run another tool next, in this result's place.
    TailCall,
    /// Change the model request.
    RewriteRequest,
    /// Answer in the model's place.
    AnswerForModel,
    /// Replace a piece of the model's answer.
    ReplaceResponse,
    /// Restrict or force tools.
    SelectTools,
    /// Empty the model's memory.
    ClearContext,
}

/// One row of the table.
#[derive(Debug)]
pub struct EventInfo {
    /// The event.
    pub kind: EventKind,
    /// Its name in settings and in `hook_event_name`.
    pub name: &'static str,
    /// What other agents call it; understood by diagnostics and by migration, not by settings.
    pub foreign_names: &'static [&'static str],
    /// What a matcher is tested against.
    pub subject: MatcherSubject,
    /// What a hook can do.
    pub capabilities: &'static [HookCapability],
    /// When it fires, in one line.
    pub fires_when: &'static str,
}

/// The table, in the order in which a session meets the events.
pub const EVENTS: [EventInfo; 11] = {
    use HookCapability::{
        AnswerForModel, Ask, ClearContext, Context, Deny, RedactInput, ReplaceResponse, RewriteInput, RewriteRequest,
        SelectTools, Stop, TailCall,
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
            capabilities: &[Deny, Ask, RewriteInput, RedactInput, Stop],
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
    /// How many events there are.
    pub const COUNT: usize = EVENTS.len();

    /// Every event, in the order in which a session meets them.
    pub fn all() -> impl Iterator<Item = EventKind> {
        EVENTS.iter().map(|row| row.kind)
    }

    /// This event's row of the table.
    pub fn info(self) -> &'static EventInfo {
        &EVENTS[self.index()]
    }

    /// The event's name in settings.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether hooks of this event can keep its content from every record.
    pub(crate) fn can_withhold_content(self) -> bool {
        matches!(self, EventKind::BeforeAgent | EventKind::BeforeTool | EventKind::AfterModel | EventKind::AfterTool)
    }

    /// Whether a hook on this event has that power.
    pub fn can(self, power: HookCapability) -> bool {
        self.info().capabilities.contains(&power)
    }

    /// The event of that exact name.
    pub fn from_name(name: &str) -> Option<EventKind> {
        EVENTS.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// The event that another agent's name stands for.
    pub fn from_foreign_name(name: &str) -> Option<EventKind> {
        EVENTS.iter().find(|row| row.foreign_names.contains(&name)).map(|row| row.kind)
    }

    /// What somebody who wrote `name` most likely meant.
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

    /// The row's place in [`EVENTS`]; also the index of per-event tables.
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
