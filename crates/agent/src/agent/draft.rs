//! A prompt before its mentions are read and its commands are run, and the
//! expansion after BeforeAgent hooks let it pass.
//!
//! Mentions are found in `context/`, custom commands are expanded in `commands/`.

use std::sync::Arc;

use hookwright_hooks::{Attachment, RequestedBy};
use hookwright_model::Part;

use crate::commands::{CommandError, CommandInvocation};
use crate::context::PromptMentions;
use crate::context::prompt_reader::HookedReader;
use crate::event::{AgentNotice, TurnEnd};
use crate::scope::TurnScope;
use crate::services::Services;

/// A prompt that is not expanded yet.
pub(super) enum PromptDraft<'a> {
    /// Text, with the mentions in it.
    Typed(PromptMentions),
    /// The invocation of a custom command.
    Command(CommandInvocation<'a>),
}

impl PromptDraft<'_> {
    pub(super) fn attachments(&self, services: &Services) -> Vec<Attachment> {
        match self {
            PromptDraft::Typed(mentioned) => mentioned.attachments(),
            PromptDraft::Command(invoked) => invoked.attachments(&services.call_context().workspace),
        }
    }

    /// Reads the files and runs the commands of the draft, and returns the parts of the message.
    pub(super) async fn expand(
        self,
        prompt: &str,
        services: &Arc<Services>,
        scope: &TurnScope,
    ) -> Result<Vec<Part>, TurnEnd> {
        match self {
            PromptDraft::Typed(mentioned) => {
                let expanded = mentioned.read(prompt, &HookedReader::new(services, RequestedBy::User, scope)).await?;
                expanded.notes.into_iter().for_each(|note| services.events.send(AgentNotice::Note(note)));
                expanded.warnings.into_iter().for_each(|warning| services.events.send(AgentNotice::Warning(warning)));
                Ok(expanded.parts)
            }
            PromptDraft::Command(invoked) => invoked.expand(services, scope).await.map_err(turn_end_from_error),
        }
    }
}

pub(super) fn turn_end_from_error(error: CommandError) -> TurnEnd {
    match error {
        CommandError::Cancelled => TurnEnd::Cancelled,
        CommandError::Stopped(reason) => TurnEnd::Stopped(reason),
        error => TurnEnd::Failed { message: error.to_string(), hint: error.hint() },
    }
}
