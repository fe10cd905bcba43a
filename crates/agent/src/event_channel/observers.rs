//! The observers of a session: they see every event before it is queued for the front end.

use std::fmt::Debug;

use crate::event::AgentEvent;
use crate::session::{SessionStatistics, SessionView};

/// Observes a session from inside of it: telemetry and the log do, so that no front end has to pass events on to them.
///
/// The methods are called in the session's own tasks, in the order of the events: they must be quick.
pub trait SessionObserver: Debug + Send {
    /// Called before the first event; returns warnings for the user.
    fn begin(&mut self, _view: &SessionView) -> Vec<String> {
        Vec::new()
    }

    /// Called when the configuration or the connection has changed.
    fn on_configuration(&mut self, _view: &SessionView) {}

    /// Called with every event. What hooks redact is redacted in it.
    fn on_event(&mut self, _event: &AgentEvent) {}

    /// Called after the last event; returns warnings about what was lost. It may block for a moment.
    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// The observers of a session, and its statistics.
#[derive(Debug, Default)]
pub(super) struct ObserverSet {
    pub(super) statistics: SessionStatistics,
    pub(super) observers: Vec<Box<dyn SessionObserver>>,
}

impl ObserverSet {
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        self.statistics.count(event);
        self.observers.iter_mut().for_each(|observer| observer.on_event(event));
    }

    pub(super) fn on_configuration(&mut self, view: &SessionView) {
        self.statistics.set_prices(&view.loaded.settings.model.prices);
        self.observers.iter_mut().for_each(|observer| observer.on_configuration(view));
    }
}
