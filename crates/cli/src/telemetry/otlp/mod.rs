//! Telemetry for a collector: OTLP over HTTP, as JSON or as protobuf.
//!
//! An event becomes spans and log records here. `wire.rs` has their JSON form, from which `protobuf.rs` makes the
//! binary one; `exporter.rs` sends them from a thread of its own, so that a slow or missing collector does not block the
//! session.

mod exporter;
mod journal_export;
mod options;
mod protobuf;
mod spans;
mod wire;

use std::sync::Arc;
use std::time::SystemTime;

use hookwright_agent::AgentEvent;
use hookwright_settings::{OtlpProtocol, Secrets};

use super::TelemetrySession;
use super::metric::Measurement;
use super::record::{ContentPolicy, TelemetryFields, TelemetryRecord};
use exporter::{ExportItem, OtlpExporter};
use spans::{SpanContext, SpanTracker};

pub(crate) use exporter::send_logs;
pub(crate) use journal_export::{logs_body, verdict_log};
pub(crate) use options::CollectorOptions;

/// A collector that telemetry is sent to.
#[derive(Debug)]
pub(crate) struct OtlpCollector {
    spans: SpanTracker,
    exporter: OtlpExporter,
    secrets: Arc<Secrets>,
}

impl OtlpCollector {
    /// Starts the exporter.
    ///
    /// Nothing is sent yet, so the collector need not be running.
    pub(crate) fn connect(
        endpoint: &str,
        protocol: OtlpProtocol,
        facts: &TelemetrySession,
        common: TelemetryFields<'static>,
    ) -> Result<Self, String> {
        let resource = wire::resource_json(&facts.collector.resource, &facts.session_id);
        let exporter = OtlpExporter::start(endpoint, protocol, &facts.collector, resource, common)?;
        Ok(OtlpCollector { spans: SpanTracker::new(facts), exporter, secrets: facts.secrets.clone() })
    }

    /// Opens and closes spans, and returns the span that the event's record belongs to.
    pub(crate) fn trace(&mut self, event: &AgentEvent, content: ContentPolicy, now: SystemTime) -> Option<SpanContext> {
        let about = self.spans.record(event, content, now);
        self.send_spans();
        about
    }

    /// Queues a log record.
    pub(crate) fn log(
        &mut self,
        common: &TelemetryFields<'_>,
        record: &TelemetryRecord<'_>,
        span: Option<&SpanContext>,
        now: SystemTime,
    ) {
        let item = wire::log_json(common, record, span, now);
        self.exporter.send(ExportItem::Log(self.secrets.hide_known(&item).into_owned()));
    }

    /// Queues a measurement.
    pub(crate) fn measure(&mut self, measurement: Measurement, now: SystemTime) {
        self.exporter.send(ExportItem::Measurement(measurement, now));
    }

    /// Sends everything that is left, for a second at most, and returns a warning if data was lost.
    pub(crate) fn finish(mut self, now: SystemTime) -> Option<String> {
        self.spans.close(now);
        self.send_spans();
        self.exporter.finish()
    }

    /// Returns the number of bytes in the queue.
    #[cfg(test)]
    pub(crate) fn queued_bytes(&self) -> usize {
        self.exporter.queued_bytes()
    }

    fn send_spans(&mut self) {
        let finished = self.spans.take_finished();
        // The program that began the trace decides whether its spans are recorded.
        for span in finished.iter().filter(|span| span.context.is_sampled()) {
            let item = wire::span_json(span);
            self.exporter.send(ExportItem::Span(self.secrets.hide_known(&item).into_owned()));
        }
    }
}
