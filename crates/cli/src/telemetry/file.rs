//! Telemetry as a file: one JSON object a line, appended as things happen.
//!
//! Gemini CLI spreads its objects over many lines and its readers split at `}`, newline, `{`. One object a line is read by
//! those, by everything that reads line by line, and by `jq`; and a record is whole or missing, never half.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hookwright_disk::{Found, add, open_own, own_directory};
use hookwright_settings::Secrets;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::metric::{Measurement, Totals};
use super::record::{Field, Fields, Record};

/// How often running totals are written while a session lasts.
const METRICS_EVERY: Duration = Duration::from_secs(10);

/// What a line may leave behind in memory.
const KEPT_CAPACITY: usize = 1 << 20;

/// A file that is written to.
#[derive(Debug)]
pub(crate) struct Outfile {
    path: PathBuf,
    file: File,
    session_id: String,
    secrets: Arc<Secrets>,
    line: Vec<u8>,
    totals: Totals,
    metrics_written: SystemTime,
    /// The first thing that went wrong; nothing is written after it.
    failure: Option<io::Error>,
}

impl Outfile {
    /// Opens a file for appending. A new one is for its owner's eyes only: it quotes prompts and files.
    pub(crate) fn open(path: &Path, session_id: &str, secrets: Arc<Secrets>) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            own_directory(parent)?;
        }
        Ok(Outfile {
            path: path.to_owned(),
            file: open_own(path, Found::Kept)?,
            session_id: session_id.to_owned(),
            secrets,
            line: Vec::new(),
            totals: Totals::default(),
            metrics_written: SystemTime::UNIX_EPOCH,
            failure: None,
        })
    }

    /// Writes a log record.
    pub(crate) fn log(&mut self, common: &Fields<'_>, record: &Record<'_>, now: SystemTime) {
        let own = [("event.name", Field::from(record.name)), ("event.timestamp", timestamp(now).into())];
        let line = LogLine {
            hr_time: hr_time(now),
            hr_time_observed: hr_time(now),
            resource: Resource { raw_attributes: resource(&self.session_id) },
            instrumentation_scope: Scope { name: SERVICE, version: VERSION },
            attributes: Attributes([common, &own, &record.fields]),
            body: &record.body,
        };
        self.line.clear();
        let made = serde_json::to_writer(&mut self.line, &line);
        self.append(made);
    }

    /// Counts.
    pub(crate) fn measure(&mut self, measurement: Measurement, now: SystemTime) {
        self.totals.add(measurement, now);
    }

    /// Whether running totals should be written again.
    pub(crate) fn metrics_are_due(&self, now: SystemTime) -> bool {
        // By a clock that was set back, nobody knows when they were.
        now.duration_since(self.metrics_written).map_or(true, |since| since >= METRICS_EVERY)
    }

    /// Writes the running totals.
    pub(crate) fn write_metrics(&mut self, common: &Fields<'_>, now: SystemTime) {
        let line = MetricsLine {
            resource: Resource { raw_attributes: resource(&self.session_id) },
            scope_metrics: [ScopeMetrics {
                scope: Scope { name: SERVICE, version: VERSION },
                metrics: self.totals.to_json(common, now),
            }],
        };
        self.line.clear();
        let made = serde_json::to_writer(&mut self.line, &line);
        self.append(made);
        self.metrics_written = now;
    }

    /// Appends the line in one write, so that sessions can share a file.
    fn append(&mut self, made: serde_json::Result<()>) {
        if self.failure.is_some() {
            return;
        }
        self.line.push(b'\n');
        let written = match std::str::from_utf8(&self.line) {
            Ok(text) => add(&self.file, self.secrets.hide_known(text).as_bytes()),
            Err(error) => Err(io::Error::other(error)),
        };
        self.failure = made.map_err(io::Error::from).and(written).err();
        self.line.shrink_to(KEPT_CAPACITY);
    }

    /// What went wrong, if anything did.
    pub(crate) fn failure(self) -> Option<String> {
        self.failure.map(|error| format!("telemetry in {} is incomplete: {error}", self.path.display()))
    }
}

const SERVICE: &str = "hookwright";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A log record as Gemini CLI writes it; the underscores are its SDK's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogLine<'a> {
    hr_time: (u64, u32),
    hr_time_observed: (u64, u32),
    resource: Resource<'a>,
    instrumentation_scope: Scope,
    attributes: Attributes<'a, 3>,
    #[serde(rename = "_body")]
    body: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetricsLine<'a> {
    resource: Resource<'a>,
    scope_metrics: [ScopeMetrics; 1],
}

#[derive(Serialize)]
struct ScopeMetrics {
    scope: Scope,
    metrics: Vec<Value>,
}

#[derive(Serialize)]
struct Resource<'a> {
    #[serde(rename = "_rawAttributes")]
    raw_attributes: [(&'static str, &'a str); 3],
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

fn resource(session_id: &str) -> [(&'static str, &str); 3] {
    [("service.name", SERVICE), ("service.version", VERSION), ("session.id", session_id)]
}

/// Lists of fields, one after another, as one object.
struct Attributes<'a, const N: usize>([&'a [(&'static str, Field<'a>)]; N]);

impl<const N: usize> Serialize for Attributes<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.iter().copied().flatten().try_for_each(|(name, field)| map.serialize_entry(name, field))?;
        map.end()
    }
}

/// Seconds and nanoseconds since 1970.
pub(crate) fn hr_time(time: SystemTime) -> (u64, u32) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), since.subsec_nanos())
}

/// Date and time with milliseconds.
pub(crate) fn timestamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| format!("{time:.3}")).unwrap_or_default()
}
