//! A prompt before anything is read or run for it, and doing that once BeforeAgent hooks let it pass. What a text mentions is
//! found in `context/`, what a custom command brings along in `commands/`.

use std::sync::Arc;

use hookwright_hooks::{Attachment, RequestedBy};
use hookwright_model::Part;

use crate::commands::{CommandError, Invoked};
use crate::context::Mentioned;
use crate::context::reader::Hooked;
use crate::event::{AgentEvent, TurnEnd};
use crate::scope::Scope;
use crate::services::Services;

/// A prompt before anything is read or run for it.
pub(super) enum Draft<'a> {
    /// Words, and the files that they name.
    Typed(Mentioned),
    /// A custom command.
    Command(Invoked<'a>),
}

impl Draft<'_> {
    pub(super) fn attachments(&self, services: &Services) -> Vec<Attachment> {
        match self {
            Draft::Typed(mentioned) => mentioned.attachments(),
            Draft::Command(invoked) => invoked.attachments(&services.context().workspace),
        }
    }

    /// Reads and runs what it brings along.
    pub(super) async fn fill(
        self,
        prompt: &str,
        services: &Arc<Services>,
        scope: &Scope,
    ) -> Result<Vec<Part>, TurnEnd> {
        match self {
            Draft::Typed(mentioned) => {
                let expanded = mentioned.read(prompt, &Hooked::new(services, RequestedBy::User, scope)).await?;
                expanded.notes.into_iter().for_each(|note| services.events.send(AgentEvent::Note(note)));
                expanded.warnings.into_iter().for_each(|warning| services.events.send(AgentEvent::Warning(warning)));
                Ok(expanded.parts)
            }
            Draft::Command(invoked) => invoked.fill(services, scope).await.map_err(end_of),
        }
    }
}

pub(super) fn end_of(error: CommandError) -> TurnEnd {
    match error {
        CommandError::Cancelled => TurnEnd::Cancelled,
        CommandError::Stopped(reason) => TurnEnd::Stopped(reason),
        error => TurnEnd::Failed { message: error.to_string(), hint: error.hint() },
    }
}
