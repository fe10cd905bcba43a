//! Telemetry: records a session's events in a file or sends them to a collector.
//!
//! ```text
//! let (mut telemetry, warnings) = TelemetryRecorder::start(&settings.telemetry, &facts);
//! telemetry.record(&event);                  // every event, in order
//! let warnings = telemetry.finish();         // a collector gets one more second
//! ```
//!
//! `start` never fails: problems become warnings, and without a sink nothing is recorded. It needs no async runtime.
//! `finish` blocks for at most that second if there is a collector; dropping the recorder does the same. A session has a
//! [`TelemetryObserver`] do this.
//!
//! An event becomes a log [`record`] and [`metric`] measurements with Gemini CLI's names. A collector also gets spans and
//! verdicts with the names of OpenTelemetry's conventions for generative AI ([`names`]).

mod clock;
mod file;
mod metric;
mod names;
mod otlp;
mod record;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use hookwright_agent::session::{SessionView, proxy_from_env};
use hookwright_agent::{AgentEvent, HookEvent, Interaction, SessionObserver, TurnEvent};
use hookwright_model::Provider;
use hookwright_settings::{Secrets, TelemetrySettings as Config, TelemetryTarget};

use clock::TelemetryClock;
use file::TelemetryFile;
use otlp::OtlpCollector;
use record::{ContentPolicy, FieldValue, TelemetryFields};

pub(crate) use otlp::{CollectorOptions, logs_body, send_logs, verdict_log};

/// Facts about a session that telemetry records.
#[derive(Clone, Debug, Default)]
pub(crate) struct TelemetrySession {
    pub(crate) session_id: String,
    pub(crate) model: String,
    /// The model's provider, as OpenTelemetry names it.
    pub(crate) provider: &'static str,
    /// The method of authentication with the model's provider, for example `gemini-api-key`.
    pub(crate) auth_type: Option<String>,
    pub(crate) interactive: bool,
    pub(crate) approval_mode: String,
    pub(crate) output_format: String,
    pub(crate) debug: bool,
    pub(crate) mcp_servers: Vec<String>,
    pub(crate) extensions: Vec<String>,
    /// Values that no record may contain.
    pub(crate) secrets: Arc<Secrets>,
    /// Proxy, headers and resource attributes for a collector, if there is one.
    pub(crate) collector: CollectorOptions,
}

/// Records a session from inside of it.
#[derive(Debug)]
pub(crate) struct TelemetryObserver {
    output_format: &'static str,
    debug: bool,
    recorder: TelemetryRecorder,
}

impl TelemetryObserver {
    pub(crate) fn new(output_format: &'static str, debug: bool) -> Self {
        TelemetryObserver { output_format, debug, recorder: TelemetryRecorder::default() }
    }

    fn session_facts(&self, view: &SessionView) -> TelemetrySession {
        let (services, loaded) = (&view.services, &view.loaded);
        let (provider, auth_type) = match services.model.provider() {
            Provider::Gemini => ("gcp.gemini", Some("gemini-api-key")),
            Provider::OpenAi => (Provider::OpenAi.as_str(), Some("openai-api-key")),
            other @ (Provider::Replay | Provider::Offline | Provider::Custom) => (other.as_str(), None),
        };
        TelemetrySession {
            session_id: view.session_id(),
            model: view.model.clone(),
            provider,
            auth_type: auth_type.map(str::to_owned),
            interactive: services.interaction == Interaction::Interactive,
            approval_mode: services.approvals.mode().as_str().to_owned(),
            output_format: self.output_format.to_owned(),
            debug: self.debug,
            mcp_servers: loaded.settings.mcp_servers.keys().cloned().collect(),
            extensions: loaded.extensions.iter().filter(|one| one.active).map(|one| one.name.clone()).collect(),
            secrets: services.model.secrets().clone(),
            collector: CollectorOptions::new(&loaded.process_env, proxy_from_env(&loaded.process_env)),
        }
    }
}

impl SessionObserver for TelemetryObserver {
    fn begin(&mut self, view: &SessionView) -> Vec<String> {
        let (recorder, warnings) = TelemetryRecorder::start(&view.loaded.settings.telemetry, &self.session_facts(view));
        self.recorder = recorder;
        warnings
    }

    fn on_event(&mut self, event: &AgentEvent) {
        self.recorder.record(event);
    }

    fn finish(&mut self) -> Vec<String> {
        self.recorder.finish()
    }
}

/// Records a session's events, or does nothing if telemetry is off.
#[derive(Debug, Default)]
pub(crate) struct TelemetryRecorder(Option<Box<ActiveRecorder>>);

impl TelemetryRecorder {
    /// Starts recording if the settings enable it, and returns warnings about problems in the settings.
    pub(crate) fn start(config: &Config, facts: &TelemetrySession) -> (TelemetryRecorder, Vec<String>) {
        if !config.enabled {
            return (TelemetryRecorder(None), Vec::new());
        }
        let mut warnings = Vec::new();
        let sink = match (&config.outfile, &config.otlp_endpoint) {
            (Some(path), _) => match TelemetryFile::open(path, &facts.session_id, facts.secrets.clone()) {
                Ok(file) => Some(TelemetrySink::File(file)),
                Err(error) => {
                    warnings.push(format!("no telemetry is recorded: {} cannot be opened: {error}", path.display()));
                    None
                }
            },
            (None, Some(endpoint)) => connect_collector(endpoint, config, facts, &mut warnings),
            (None, None) => {
                let what = match config.target {
                    TelemetryTarget::Gcp => "telemetry cannot be sent to Google Cloud directly",
                    TelemetryTarget::Local => "telemetry is enabled but has no destination",
                };
                warnings
                    .push(format!("{what}; set telemetry.outfile to a file or telemetry.otlpEndpoint to a collector"));
                None
            }
        };
        let running = sink.map(|sink| {
            let content = if config.log_prompts { ContentPolicy::Included } else { ContentPolicy::Omitted };
            let mut running = Box::new(ActiveRecorder {
                clock: TelemetryClock::read(),
                session_id: facts.session_id.clone(),
                common: common_fields(facts),
                content_policy: content,
                sink,
            });
            running.begin(facts, running.clock.now());
            running
        });
        (TelemetryRecorder(running), warnings)
    }

    pub(crate) fn record(&mut self, event: &AgentEvent) {
        if let Some(running) = &mut self.0 {
            if let AgentEvent::Turn(TurnEvent::Received { .. }) = event {
                running.clock = TelemetryClock::read();
            }
            running.record(event, running.clock.now());
        }
    }

    /// Completes the recording and returns warnings about lost data.
    ///
    /// A collector is waited for at most a second.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let finished = self.0.take().and_then(|running| {
            let now = running.clock.now();
            running.finish(now)
        });
        finished.into_iter().collect()
    }
}

impl Drop for TelemetryRecorder {
    fn drop(&mut self) {
        self.finish();
    }
}

#[derive(Debug)]
struct ActiveRecorder {
    clock: TelemetryClock,
    session_id: String,
    /// Fields of every record and every measurement.
    common: TelemetryFields<'static>,
    content_policy: ContentPolicy,
    sink: TelemetrySink,
}

#[derive(Debug)]
enum TelemetrySink {
    File(TelemetryFile),
    Collector(Box<OtlpCollector>),
}

impl ActiveRecorder {
    fn begin(&mut self, facts: &TelemetrySession, now: SystemTime) {
        let record = record::session_config(facts, self.content_policy);
        let session = metric::session_started();
        match &mut self.sink {
            TelemetrySink::File(file) => {
                file.write_record(&self.common, &record, now);
                file.add_measurement(session, now);
                file.write_metrics(&self.common, now);
            }
            TelemetrySink::Collector(collector) => {
                collector.log(&self.common, &record, None, now);
                collector.measure(session, now);
            }
        }
    }

    fn record(&mut self, event: &AgentEvent, now: SystemTime) {
        let record = record::record_for(event, self.content_policy);
        let measurements = metric::measurements_for(event);
        match &mut self.sink {
            TelemetrySink::File(file) => {
                if let Some(record) = record {
                    file.write_record(&self.common, &record, now);
                }
                for measurement in measurements {
                    file.add_measurement(measurement, now);
                }
                if matches!(event, AgentEvent::Turn(TurnEvent::Finished(_))) && file.metrics_are_due(now) {
                    file.write_metrics(&self.common, now);
                }
            }
            TelemetrySink::Collector(collector) => {
                let span = collector.trace(event, self.content_policy, now);
                let verdict = match event {
                    AgentEvent::Hook(HookEvent::Decided(verdict)) => {
                        Some(record::verdict_record(verdict, &self.session_id, self.content_policy))
                    }
                    _ => None,
                };
                if let Some(record) = record.or(verdict) {
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
            TelemetrySink::File(mut file) => {
                file.write_metrics(&self.common, now);
                file.failure()
            }
            TelemetrySink::Collector(collector) => collector.finish(now),
        }
    }
}

fn common_fields(facts: &TelemetrySession) -> TelemetryFields<'static> {
    let mut fields = vec![
        ("session.id", FieldValue::from(facts.session_id.clone())),
        ("interactive", FieldValue::Flag(facts.interactive)),
    ];
    fields.extend(facts.auth_type.clone().map(|name| ("auth_type", FieldValue::from(name))));
    fields
}

fn connect_collector(
    endpoint: &str,
    config: &Config,
    facts: &TelemetrySession,
    warnings: &mut Vec<String>,
) -> Option<TelemetrySink> {
    if config.otlp_protocol == hookwright_settings::OtlpProtocol::Grpc {
        warnings.push(format!(
            "telemetry is sent to {endpoint} over HTTP, not gRPC: collectors listen for that on port 4318 as a rule; \
             set telemetry.otlpProtocol to \"http\""
        ));
    }
    match OtlpCollector::connect(endpoint, config.otlp_protocol, facts, common_fields(facts)) {
        Ok(collector) => Some(TelemetrySink::Collector(Box::new(collector))),
        Err(error) => {
            warnings.push(format!("no telemetry is sent to {endpoint}: {error}"));
            None
        }
    }
}
