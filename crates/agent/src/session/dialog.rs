//! Commands that ask the user something.
//!
//! A dialog runs as a task of its own, changes nothing while it asks, and returns a closure that the actor runs in one
//! piece.

use std::future::Future;
use std::sync::Arc;

use hookwright_settings::{LoadedConfig, ModelConnection, ProcessEnv};
use tokio::task::JoinError;

use super::actor::SessionActor;
use super::reply::Reply;
use crate::event::SessionEvent;
use crate::services::Services;

/// The change that a dialog ends with.
pub(super) type DialogOutcome = Box<dyn FnOnce(&mut SessionActor) + Send>;

/// Boxes a closure as the outcome of a dialog.
#[expect(clippy::unnecessary_wraps, reason = "a dialog may end without an outcome")]
pub(super) fn dialog_outcome(outcome: impl FnOnce(&mut SessionActor) + Send + 'static) -> Option<DialogOutcome> {
    Some(Box::new(outcome))
}

/// The part of the session that a dialog may read.
#[derive(Clone)]
pub(super) struct DialogContext {
    pub(super) services: Arc<Services>,
    pub(super) loaded: Arc<LoadedConfig>,
    pub(super) world: ProcessEnv,
    pub(super) model: String,
    pub(super) connection: Option<ModelConnection>,
}

impl DialogContext {
    /// Sends a reply to the user.
    pub(super) fn reply(&self, reply: Reply) {
        self.services.events.send(SessionEvent::Reply(reply));
    }
}

impl SessionActor {
    /// Starts a dialog; only one can be open.
    pub(super) fn start_dialog<F>(&mut self, dialog: impl FnOnce(DialogContext) -> F)
    where
        F: Future<Output = Option<DialogOutcome>> + Send + 'static,
    {
        if !self.dialogs.is_empty() {
            return self.reply(Reply::warning("answer the open question first"));
        }
        let view = self.shared.view();
        let about = DialogContext {
            services: view.services.clone(),
            loaded: view.loaded.clone(),
            world: self.world.clone(),
            model: view.model.clone(),
            connection: view.connection.clone(),
        };
        self.dialogs.spawn(dialog(about));
    }

    /// Applies the outcome of a dialog.
    pub(super) fn finish_dialog(&mut self, end: Result<Option<DialogOutcome>, JoinError>) {
        match end {
            Ok(Some(outcome)) => outcome(self),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a dialog was lost"),
        }
        if self.dialogs.is_empty() && std::mem::take(&mut self.is_sync_due) {
            self.send_event(SessionEvent::Synced);
        }
    }
}
