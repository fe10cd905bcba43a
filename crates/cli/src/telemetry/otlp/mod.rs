//! Telemetry for a collector: OTLP as JSON over HTTP. An event becomes spans and records here, in the form that `wire`
//! knows; `deliver` sends them from a thread of its own, so that a slow or missing collector costs the session nothing.

mod deliver;
mod options;
mod spans;
mod wire;

use std::sync::Arc;
use std::time::SystemTime;

use hookwright_agent::AgentEvent;
use hookwright_settings::Secrets;

use super::SessionFacts;
use super::metric::Measurement;
use super::record::{Fields, Privacy, Record};
use deliver::{Courier, Item};
use spans::{SpanContext, Spans};

pub(crate) use options::Options;

/// A collector that is sent to.
#[derive(Debug)]
pub(crate) struct Collector {
    spans: Spans,
    courier: Courier,
    secrets: Arc<Secrets>,
}

impl Collector {
    /// Gets everything ready; nothing is sent yet, and nobody has to be there.
    pub(crate) fn connect(endpoint: &str, facts: &SessionFacts, common: Fields<'static>) -> Result<Self, String> {
        let resource = wire::resource(&facts.collector.resource, &facts.session_id);
        let courier = Courier::start(endpoint, &facts.collector, resource, common)?;
        Ok(Collector { spans: Spans::new(&facts.session_id), courier, secrets: facts.secrets.clone() })
    }

    /// Opens and closes spans; gives back the one that the event's record belongs to.
    pub(crate) fn trace(&mut self, event: &AgentEvent, content: Privacy, now: SystemTime) -> Option<SpanContext> {
        let about = self.spans.record(event, content, now);
        self.send_spans();
        about
    }

    /// Sends a log record.
    pub(crate) fn log(
        &mut self,
        common: &Fields<'_>,
        record: &Record<'_>,
        span: Option<&SpanContext>,
        now: SystemTime,
    ) {
        let item = wire::log(common, record, span, now);
        self.courier.send(Item::Log(self.secrets.hide_known(&item).into_owned()));
    }

    /// Counts or times.
    pub(crate) fn measure(&mut self, measurement: Measurement, now: SystemTime) {
        self.courier.send(Item::Measurement(measurement, now));
    }

    /// Sends what is left, for a second at most. What got lost, then or before, is told.
    pub(crate) fn finish(mut self, now: SystemTime) -> Option<String> {
        self.spans.close(now);
        self.send_spans();
        self.courier.finish()
    }

    /// How many bytes wait to be sent.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.courier.waiting()
    }

    fn send_spans(&mut self) {
        for span in self.spans.finished() {
            let item = wire::span(&span);
            self.courier.send(Item::Span(self.secrets.hide_known(&item).into_owned()));
        }
    }
}
