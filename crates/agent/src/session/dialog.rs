//! Commands that ask the user something on their way: they run beside everything else, change nothing while they ask, and
//! end in a deed that the session does in one piece.

use std::future::Future;
use std::sync::Arc;

use hookwright_settings::{LoadedConfig, ModelConnection, ProcessEnv};
use tokio::task::JoinError;

use super::actor::SessionActor;
use super::reply::Reply;
use crate::event::AgentEvent;
use crate::services::Services;

/// What is done in the end.
pub(super) type DialogOutcome = Box<dyn FnOnce(&mut SessionActor) + Send>;

/// A deed of this function.
#[expect(clippy::unnecessary_wraps, reason = "a talk may end without a deed")]
pub(super) fn dialog_outcome(deed: impl FnOnce(&mut SessionActor) + Send + 'static) -> Option<DialogOutcome> {
    Some(Box::new(deed))
}

/// What a talk may look at.
#[derive(Clone)]
pub(super) struct DialogContext {
    pub(super) services: Arc<Services>,
    pub(super) loaded: Arc<LoadedConfig>,
    pub(super) world: ProcessEnv,
    pub(super) model: String,
    pub(super) connection: Option<ModelConnection>,
}

impl DialogContext {
    /// Says something without waiting for an answer.
    pub(super) fn reply(&self, reply: Reply) {
        self.services.events.send(AgentEvent::Reply(reply));
    }
}

impl SessionActor {
    /// Begins a talk; one at a time.
    pub(super) fn start_dialog<F>(&mut self, talk: impl FnOnce(DialogContext) -> F)
    where
        F: Future<Output = Option<DialogOutcome>> + Send + 'static,
    {
        if !self.dialogs.is_empty() {
            return self.reply(Reply::warning("answer the question that is open first"));
        }
        let view = self.shared.view();
        let about = DialogContext {
            services: view.services.clone(),
            loaded: view.loaded.clone(),
            world: self.world.clone(),
            model: view.model.clone(),
            connection: view.connection.clone(),
        };
        self.dialogs.spawn(talk(about));
    }

    /// A talk is over.
    pub(super) fn finish_dialog(&mut self, end: Result<Option<DialogOutcome>, JoinError>) {
        match end {
            Ok(Some(deed)) => deed(self),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a talk was lost"),
        }
    }
}
