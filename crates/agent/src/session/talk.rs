//! Commands that ask the user something on their way: they run beside everything else, change nothing while they ask, and
//! end in a deed that the session does in one piece.

use std::future::Future;
use std::sync::Arc;

use hookwright_settings::{Connection, Loaded, World};
use tokio::task::JoinError;

use super::conduct::Conductor;
use super::reply::Reply;
use crate::event::AgentEvent;
use crate::services::Services;

/// What is done in the end.
pub(super) type Deed = Box<dyn FnOnce(&mut Conductor) + Send>;

/// A deed of this function.
#[expect(clippy::unnecessary_wraps, reason = "a talk may end without a deed")]
pub(super) fn deed(deed: impl FnOnce(&mut Conductor) + Send + 'static) -> Option<Deed> {
    Some(Box::new(deed))
}

/// What a talk may look at.
#[derive(Clone)]
pub(super) struct Talk {
    pub(super) services: Arc<Services>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) world: World,
    pub(super) model: String,
    pub(super) connection: Option<Connection>,
}

impl Talk {
    /// Says something without waiting for an answer.
    pub(super) fn say(&self, reply: Reply) {
        self.services.events.send(AgentEvent::Reply(reply));
    }
}

impl Conductor {
    /// Begins a talk; one at a time.
    pub(super) fn talk<F>(&mut self, talk: impl FnOnce(Talk) -> F)
    where
        F: Future<Output = Option<Deed>> + Send + 'static,
    {
        if !self.talks.is_empty() {
            return self.reply(Reply::warning("answer the question that is open first"));
        }
        let view = self.shared.view();
        let about = Talk {
            services: view.services.clone(),
            loaded: view.loaded.clone(),
            world: self.world.clone(),
            model: view.model.clone(),
            connection: view.connection.clone(),
        };
        self.talks.spawn(talk(about));
    }

    /// A talk is over.
    pub(super) fn talked(&mut self, end: Result<Option<Deed>, JoinError>) {
        match end {
            Ok(Some(deed)) => deed(self),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a talk was lost"),
        }
    }
}
