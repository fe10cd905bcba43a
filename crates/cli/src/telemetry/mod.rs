//! Telemetry: what happened in a session, for a file or for a collector.
//!
//! ```text
//! let (mut telemetry, warnings) = Telemetry::start(&settings.telemetry, &facts);   never fails; off, it costs nothing
//! telemetry.record(&event);                                                        every event, in order
//! let warnings = telemetry.shutdown();                                             all is on disk; a collector gets a second
//! ```
//!
//! Works inside and outside a runtime; `shutdown` blocks, for at most that second, and dropping does the same.
//!
//! One event passes through here as a [`record`] (what is said about it), as [`metric`] measurements (what is counted)
//! and, for a collector, as a span (when it happened, and within what).

mod clock;
mod file;
mod metric;
mod otlp;
mod record;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use hookwright_agent::AgentEvent;
use hookwright_settings::{Secrets, Telemetry as Config, TelemetryTarget};

use clock::Clock;
use file::Outfile;
use otlp::Collector;
use record::{Field, Fields, Privacy};

pub(crate) use otlp::Options as CollectorOptions;

/// What is recorded about a session as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionFacts {
    pub(crate) session_id: String,
    pub(crate) model: String,
    /// How the model's provider knows the user, for example `gemini-api-key`.
    pub(crate) auth_type: Option<String>,
    pub(crate) interactive: bool,
    pub(crate) approval_mode: String,
    pub(crate) output_format: String,
    pub(crate) debug: bool,
    pub(crate) mcp_servers: Vec<String>,
    pub(crate) extensions: Vec<String>,
    /// What no record may say.
    pub(crate) secrets: Arc<Secrets>,
    /// How a collector is spoken to, if there is one.
    pub(crate) collector: CollectorOptions,
}

/// Records a session, or does nothing.
#[derive(Debug, Default)]
pub(crate) struct Telemetry(Option<Box<Running>>);

impl Telemetry {
    /// Begins to record, if the settings say so. What is wrong with them is a warning, never a reason not to work.
    pub(crate) fn start(config: &Config, facts: &SessionFacts) -> (Telemetry, Vec<String>) {
        if !config.enabled {
            return (Telemetry(None), Vec::new());
        }
        let mut warnings = Vec::new();
        let sink = match (&config.outfile, &config.otlp_endpoint) {
            (Some(path), _) => match Outfile::open(path, &facts.session_id, facts.secrets.clone()) {
                Ok(file) => Some(Sink::File(file)),
                Err(error) => {
                    warnings.push(format!("no telemetry is recorded: {} cannot be opened: {error}", path.display()));
                    None
                }
            },
            (None, Some(endpoint)) => collector(endpoint, config, facts, &mut warnings),
            (None, None) => {
                let what = match config.target {
                    TelemetryTarget::Gcp => "telemetry cannot be sent to Google Cloud directly",
                    TelemetryTarget::Local => "telemetry is enabled but has nowhere to go",
                };
                warnings
                    .push(format!("{what}; set telemetry.outfile to a file or telemetry.otlpEndpoint to a collector"));
                None
            }
        };
        let running = sink.map(|sink| {
            let content = if config.log_prompts { Privacy::Kept } else { Privacy::LeftOut };
            let mut running = Box::new(Running { clock: Clock::read(), common: common(facts), content, sink });
            running.begin(facts, running.clock.now());
            running
        });
        (Telemetry(running), warnings)
    }

    /// Whether anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records an event.
    pub(crate) fn record(&mut self, event: &AgentEvent) {
        if let Some(running) = &mut self.0 {
            if let AgentEvent::PromptReceived { .. } = event {
                running.clock = Clock::read();
            }
            running.record(event, running.clock.now());
        }
    }

    /// Completes what was recorded: a file at once, a collector within a second. What got lost is in the warnings.
    pub(crate) fn shutdown(mut self) -> Vec<String> {
        self.finish()
    }

    fn finish(&mut self) -> Vec<String> {
        let finished = self.0.take().and_then(|running| {
            let now = running.clock.now();
            running.finish(now)
        });
        finished.into_iter().collect()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.finish();
    }
}

#[derive(Debug)]
struct Running {
    clock: Clock,
    /// In every record and every measurement.
    common: Fields<'static>,
    content: Privacy,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    File(Outfile),
    Collector(Box<Collector>),
}

impl Running {
    fn begin(&mut self, facts: &SessionFacts, now: SystemTime) {
        let record = record::config(facts, self.content);
        let session = metric::session();
        match &mut self.sink {
            Sink::File(file) => {
                file.log(&self.common, &record, now);
                file.measure(session, now);
                file.write_metrics(&self.common, now);
            }
            Sink::Collector(collector) => {
                collector.log(&self.common, &record, None, now);
                collector.measure(session, now);
            }
        }
    }

    fn record(&mut self, event: &AgentEvent, now: SystemTime) {
        let record = record::of(event, self.content);
        let measurements = metric::of(event);
        match &mut self.sink {
            Sink::File(file) => {
                if let Some(record) = record {
                    file.log(&self.common, &record, now);
                }
                for measurement in measurements {
                    file.measure(measurement, now);
                }
                if matches!(event, AgentEvent::TurnFinished(_)) && file.metrics_are_due(now) {
                    file.write_metrics(&self.common, now);
                }
            }
            Sink::Collector(collector) => {
                let span = collector.trace(event, self.content, now);
                if let Some(record) = record {
                    collector.log(&self.common, &record, span.as_ref(), now);
                }
                for measurement in measurements {
                    collector.measure(measurement, now);
                }
            }
        }
    }

    fn finish(self, now: SystemTime) -> Option<String> {
        match self.sink {
            Sink::File(mut file) => {
                file.write_metrics(&self.common, now);
                file.failure()
            }
            Sink::Collector(collector) => collector.finish(now),
        }
    }
}

fn common(facts: &SessionFacts) -> Fields<'static> {
    let mut fields =
        vec![("session.id", Field::from(facts.session_id.clone())), ("interactive", Field::Flag(facts.interactive))];
    fields.extend(facts.auth_type.clone().map(|name| ("auth_type", Field::from(name))));
    fields
}

fn collector(endpoint: &str, config: &Config, facts: &SessionFacts, warnings: &mut Vec<String>) -> Option<Sink> {
    if config.otlp_protocol == hookwright_settings::OtlpProtocol::Grpc {
        warnings.push(format!(
            "telemetry is sent to {endpoint} over HTTP, not gRPC: collectors listen for that on port 4318 as a rule; \
             set telemetry.otlpProtocol to \"http\""
        ));
    }
    match Collector::connect(endpoint, facts, common(facts)) {
        Ok(collector) => Some(Sink::Collector(Box::new(collector))),
        Err(error) => {
            warnings.push(format!("no telemetry is sent to {endpoint}: {error}"));
            None
        }
    }
}
