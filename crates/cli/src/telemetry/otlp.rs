//! Telemetry for a collector: OTLP as JSON over HTTP, sent by threads of its own, so that a slow or missing collector costs
//! the session nothing.

use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hookwright_agent::AgentEvent;
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::trace::{SpanContext, TracerProvider};
use opentelemetry::{Key, KeyValue};
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, Protocol, RetryPolicy, SpanExporter, WithExportConfig,
    WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{BatchConfigBuilder, BatchLogProcessor, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;

use super::file::timestamp;
use super::metric::{Kind, METRICS, Measurement};
use super::record::{Content, Field, Fields, Record};
use super::spans::Spans;

/// How long the end of a session waits for the collector.
const GRACE: Duration = Duration::from_secs(1);

/// How long one delivery may take while the session lasts.
const DELIVERY: Duration = Duration::from_secs(10);

/// How often totals are sent.
const METRICS_EVERY: Duration = Duration::from_secs(10);

/// How much of a text a record carries: records wait in memory, and collectors refuse large requests.
const TEXT_BYTES: usize = 64 << 10;

/// How many records go into one request.
const RECORDS: usize = 128;

/// A collector that is sent to.
#[derive(Debug)]
pub(crate) struct Collector {
    endpoint: String,
    traces: SdkTracerProvider,
    logs: SdkLoggerProvider,
    metrics: SdkMeterProvider,
    logger: SdkLogger,
    spans: Spans,
    counters: HashMap<&'static str, Counter<u64>>,
    histograms: HashMap<&'static str, Histogram<u64>>,
}

impl Collector {
    /// Gets everything ready; nothing is sent yet, and nobody has to be there.
    pub(crate) fn connect(endpoint: &str, session_id: &str) -> Result<Self, String> {
        let client = client(endpoint)?;
        let spans = aim(SpanExporter::builder().with_http(), endpoint, "traces", &client).build().map_err(describe)?;
        let logs = aim(LogExporter::builder().with_http(), endpoint, "logs", &client).build().map_err(describe)?;
        let metrics =
            aim(MetricExporter::builder().with_http(), endpoint, "metrics", &client).build().map_err(describe)?;

        let resource = resource(session_id);
        let traces = SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
        let batches = BatchConfigBuilder::default().with_max_export_batch_size(RECORDS).build();
        let logs = BatchLogProcessor::builder(logs).with_batch_config(batches).build();
        let logs = SdkLoggerProvider::builder().with_resource(resource.clone()).with_log_processor(logs).build();
        let metrics = PeriodicReader::builder(metrics).with_interval(METRICS_EVERY).build();
        let metrics = SdkMeterProvider::builder().with_resource(resource).with_reader(metrics).build();
        let (counters, histograms) = instruments(&metrics.meter("hookwright"));
        Ok(Collector {
            endpoint: endpoint.to_owned(),
            logger: logs.logger("hookwright"),
            spans: Spans::new(traces.tracer("hookwright"), session_id),
            traces,
            logs,
            metrics,
            counters,
            histograms,
        })
    }

    /// Opens and closes spans; gives back the one that the event's record belongs to.
    pub(crate) fn trace(&mut self, event: &AgentEvent, content: Content, now: SystemTime) -> Option<SpanContext> {
        self.spans.record(event, content, now)
    }

    /// Sends a log record.
    pub(crate) fn log(&self, common: &Fields<'_>, record: &Record<'_>, span: Option<&SpanContext>, now: SystemTime) {
        let mut log = self.logger.create_log_record();
        log.set_event_name(record.name);
        log.set_timestamp(now);
        log.set_observed_timestamp(now);
        log.set_severity_number(Severity::Info);
        log.set_body(AnyValue::from(record.body.clone()));
        log.add_attribute("event.name", record.name);
        log.add_attribute("event.timestamp", timestamp(now));
        log.add_attributes(common.iter().chain(&record.fields).map(|(name, field)| (*name, value(field))));
        if let Some(span) = span {
            log.set_trace_context(span.trace_id(), span.span_id(), Some(span.trace_flags()));
        }
        self.logger.emit(log);
    }

    /// Counts or times.
    pub(crate) fn measure(&self, common: &Fields<'_>, measurement: Measurement) {
        let Measurement { metric, value, tags } = measurement;
        let common = common.iter().filter_map(|(name, field)| Some(KeyValue::new(*name, plain(field)?)));
        let tags = tags.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, tag(value)?)));
        let attributes: Vec<KeyValue> = common.chain(tags).collect();
        if let Some(counter) = self.counters.get(metric.name) {
            counter.add(value, &attributes);
        }
        if let Some(histogram) = self.histograms.get(metric.name) {
            histogram.record(value, &attributes);
        }
    }

    /// Sends what is left. Whoever is too slow to take it within the grace is left alone with it: the threads end with the
    /// process, and everything that would wait for them when dropped is theirs.
    pub(crate) fn finish(self: Box<Self>) -> Option<String> {
        let Collector { endpoint, traces, logs, metrics, logger, mut spans, counters, histograms } = *self;
        spans.close(SystemTime::now());
        let (done, results) = mpsc::channel();
        let shut_down = |work: Box<dyn FnOnce() -> OTelSdkResult + Send>| {
            let done = done.clone();
            // Without a thread there is nobody to wait for.
            let _ = thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
                let _ = done.send(work());
            });
        };
        shut_down(Box::new(move || {
            drop(spans);
            traces.shutdown()
        }));
        shut_down(Box::new(move || {
            drop(logger);
            logs.shutdown()
        }));
        shut_down(Box::new(move || {
            drop((counters, histograms));
            metrics.shutdown()
        }));
        drop(done);
        let deadline = Instant::now() + GRACE;
        let sent = (0..3).try_for_each(|_| {
            let left = deadline.saturating_duration_since(Instant::now());
            match results.recv_timeout(left) {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err("is a collector listening there?"),
                Err(_) => Err("no answer within a second"),
            }
        });
        sent.err().map(|why| format!("some telemetry could not be sent to {endpoint}: {why}"))
    }
}

/// Where one kind of telemetry goes, and how. What does not arrive at once is given up: a session's end does not wait.
fn aim<B>(builder: B, endpoint: &str, signal: &str, client: &reqwest::blocking::Client) -> B
where
    B: WithExportConfig + WithHttpConfig,
{
    builder
        .with_http_client(client.clone())
        .with_endpoint(format!("{}/v1/{signal}", endpoint.trim_end_matches('/')))
        .with_protocol(Protocol::HttpJson)
        .with_timeout(DELIVERY)
        .with_retry_policy(RetryPolicy::disabled())
}

fn describe(error: ExporterBuildError) -> String {
    error.to_string()
}

/// One client for everything. It waits on a thread of its own, which must not be started from within a runtime.
fn client(endpoint: &str) -> Result<reqwest::blocking::Client, String> {
    let url = reqwest::Url::parse(endpoint).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is neither http nor https", url.scheme()));
    }
    let local = url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    let build = move || {
        let builder = reqwest::blocking::Client::builder().timeout(DELIVERY);
        if local { builder.no_proxy().build() } else { builder.build() }
    };
    let built = thread::spawn(build).join().map_err(|_| "the HTTP client could not start".to_owned())?;
    built.map_err(|error| error.to_string())
}

/// Who is speaking; what the environment says about it goes first.
fn resource(session_id: &str) -> Resource {
    let detected = Resource::builder().build();
    let named = detected.get(&Key::from_static_str("service.name"));
    let named = named.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("session.id", session_id.to_owned()),
    ]);
    if named { builder.build() } else { builder.with_service_name("hookwright").build() }
}

type Instruments = (HashMap<&'static str, Counter<u64>>, HashMap<&'static str, Histogram<u64>>);

fn instruments(meter: &Meter) -> Instruments {
    let (mut counters, mut histograms) = Instruments::default();
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => {
                let counter = meter.u64_counter(metric.name).with_description(metric.description);
                counters.insert(metric.name, counter.build());
            }
            Kind::Histogram => {
                let histogram = meter.u64_histogram(metric.name).with_description(metric.description);
                histograms.insert(metric.name, histogram.with_unit(metric.unit).build());
            }
        }
    }
    (counters, histograms)
}

fn value(field: &Field<'_>) -> AnyValue {
    match field {
        Field::Text(text) => AnyValue::from(cut(text)),
        Field::Texts(texts) => texts.iter().map(|text| AnyValue::from(cut(text))).collect(),
        Field::Number(number) => AnyValue::Int(*number),
        Field::Flag(flag) => AnyValue::Boolean(*flag),
        Field::Input(input) => AnyValue::from(cut(&input.to_json())),
    }
}

/// What every record carries, as an attribute of a measurement.
fn plain(field: &Field<'_>) -> Option<opentelemetry::Value> {
    match field {
        Field::Text(text) => Some(text.clone().into_owned().into()),
        Field::Number(number) => Some((*number).into()),
        Field::Flag(flag) => Some((*flag).into()),
        Field::Texts(_) | Field::Input(_) => None,
    }
}

fn tag(value: Value) -> Option<opentelemetry::Value> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Bool(flag) => Some(flag.into()),
        Value::Number(number) => number.as_i64().map(Into::into),
        _ => None,
    }
}

/// A text of bounded length that says so if it was cut.
fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(TEXT_BYTES);
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}
