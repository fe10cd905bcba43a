//! The telemetry file: one JSON object per line, appended as events happen.
//!
//! Gemini CLI spreads its objects over many lines, and its readers split at `}`, newline, `{`. One object per line can
//! be read by those readers, by line-based readers, and by `jq`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hookwright_disk::{ExistingFileMode, append_all, create_private_directory, open_append};
use hookwright_settings::Secrets;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::metric::{Measurement, MetricTotals};
use super::record::{FieldValue, TelemetryFields, TelemetryRecord};

/// How often running totals are written during a session.
const METRICS_WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// The buffer capacity that is kept after a long line.
const MAX_RETAINED_LINE_BYTES: usize = 1 << 20;

/// A telemetry file that is open for appending.
#[derive(Debug)]
pub(crate) struct TelemetryFile {
    path: PathBuf,
    file: File,
    session_id: String,
    secrets: Arc<Secrets>,
    line: Vec<u8>,
    totals: MetricTotals,
    last_metrics_write: SystemTime,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

impl TelemetryFile {
    /// Opens a file for appending.
    ///
    /// A new file is readable by its owner only, because it quotes prompts and files.
    pub(crate) fn open(path: &Path, session_id: &str, secrets: Arc<Secrets>) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            create_private_directory(parent)?;
        }
        Ok(TelemetryFile {
            path: path.to_owned(),
            file: open_append(path, ExistingFileMode::Keep)?,
            session_id: session_id.to_owned(),
            secrets,
            line: Vec::new(),
            totals: MetricTotals::default(),
            last_metrics_write: SystemTime::UNIX_EPOCH,
            failure: None,
        })
    }

    /// Writes a log record.
    pub(crate) fn write_record(&mut self, common: &TelemetryFields<'_>, record: &TelemetryRecord<'_>, now: SystemTime) {
        let own = [("event.name", FieldValue::from(record.name)), ("event.timestamp", timestamp(now).into())];
        let line = LogRecordLine {
            hr_time: hr_time(now),
            hr_time_observed: hr_time(now),
            resource: ResourceJson { raw_attributes: resource_attributes(&self.session_id) },
            instrumentation_scope: InstrumentationScope { name: SERVICE_NAME, version: SERVICE_VERSION },
            attributes: AttributeMap([common, &own, &record.fields]),
            body: &record.body,
        };
        self.line.clear();
        let made = serde_json::to_writer(&mut self.line, &line);
        self.append(made);
    }

    /// Adds a measurement to the running totals.
    pub(crate) fn add_measurement(&mut self, measurement: Measurement, now: SystemTime) {
        self.totals.add(measurement, now);
    }

    /// Returns whether the running totals should be written again.
    pub(crate) fn metrics_are_due(&self, now: SystemTime) -> bool {
        // If the clock was set back, the time since the last write is unknown, and the totals are written.
        now.duration_since(self.last_metrics_write).map_or(true, |since| since >= METRICS_WRITE_INTERVAL)
    }

    /// Writes the running totals.
    pub(crate) fn write_metrics(&mut self, common: &TelemetryFields<'_>, now: SystemTime) {
        let line = MetricsLine {
            resource: ResourceJson { raw_attributes: resource_attributes(&self.session_id) },
            scope_metrics: [ScopeMetrics {
                scope: InstrumentationScope { name: SERVICE_NAME, version: SERVICE_VERSION },
                metrics: self.totals.to_json(common, now),
            }],
        };
        self.line.clear();
        let made = serde_json::to_writer(&mut self.line, &line);
        self.append(made);
        self.last_metrics_write = now;
    }

    /// Appends the line in one write, so that sessions can share a file.
    fn append(&mut self, made: serde_json::Result<()>) {
        if self.failure.is_some() {
            return;
        }
        self.line.push(b'\n');
        let written = match std::str::from_utf8(&self.line) {
            Ok(text) => append_all(&self.file, self.secrets.hide_known(text).as_bytes()),
            Err(error) => Err(io::Error::other(error)),
        };
        self.failure = made.map_err(io::Error::from).and(written).err();
        self.line.shrink_to(MAX_RETAINED_LINE_BYTES);
    }

    /// Returns a warning if an error has made the file incomplete.
    pub(crate) fn failure(self) -> Option<String> {
        self.failure.map(|error| format!("telemetry in {} is incomplete: {error}", self.path.display()))
    }
}

const SERVICE_NAME: &str = "hookwright";
const SERVICE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A log record in Gemini CLI's format; the underscores are its SDK's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogRecordLine<'a> {
    hr_time: (u64, u32),
    hr_time_observed: (u64, u32),
    resource: ResourceJson<'a>,
    instrumentation_scope: InstrumentationScope,
    attributes: AttributeMap<'a, 3>,
    #[serde(rename = "_body")]
    body: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetricsLine<'a> {
    resource: ResourceJson<'a>,
    scope_metrics: [ScopeMetrics; 1],
}

#[derive(Serialize)]
struct ScopeMetrics {
    scope: InstrumentationScope,
    metrics: Vec<Value>,
}

#[derive(Serialize)]
struct ResourceJson<'a> {
    #[serde(rename = "_rawAttributes")]
    raw_attributes: [(&'static str, &'a str); 3],
}

#[derive(Serialize)]
struct InstrumentationScope {
    name: &'static str,
    version: &'static str,
}

fn resource_attributes(session_id: &str) -> [(&'static str, &str); 3] {
    [("service.name", SERVICE_NAME), ("service.version", SERVICE_VERSION), ("session.id", session_id)]
}

/// Several lists of fields, serialized as one object.
struct AttributeMap<'a, const N: usize>([&'a [(&'static str, FieldValue<'a>)]; N]);

impl<const N: usize> Serialize for AttributeMap<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.iter().copied().flatten().try_for_each(|(name, field)| map.serialize_entry(name, field))?;
        map.end()
    }
}

/// Returns seconds and nanoseconds since 1970.
pub(crate) fn hr_time(time: SystemTime) -> (u64, u32) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), since.subsec_nanos())
}

/// Returns date and time with milliseconds.
pub(crate) fn timestamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
