//! The JSON form of OTLP: spans, log records and totals, and the request bodies around them.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::spans::{OtlpSpan, SpanContext, SpanEvent, SpanKind};
use crate::telemetry::file::timestamp;
use crate::telemetry::metric::{HISTOGRAM_BOUNDARIES, METRICS, Metric, MetricKind, MetricSeries, MetricTotals};
use crate::telemetry::record::{FieldValue, TelemetryFields, TelemetryRecord};

/// The length at which a text is cut: records wait in memory, and collectors refuse large requests.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// A kind of telemetry, with its URL path and the names of the three lists that contain its items.
#[derive(Clone, Copy, Debug)]
pub(super) enum OtlpSignal {
    Traces,
    Logs,
    Metrics,
}

impl OtlpSignal {
    /// Returns the path below the collector's endpoint.
    pub(super) fn path(self) -> &'static str {
        match self {
            OtlpSignal::Traces => "v1/traces",
            OtlpSignal::Logs => "v1/logs",
            OtlpSignal::Metrics => "v1/metrics",
        }
    }

    pub(super) fn list_keys(self) -> [&'static str; 3] {
        match self {
            OtlpSignal::Traces => ["resourceSpans", "scopeSpans", "spans"],
            OtlpSignal::Logs => ["resourceLogs", "scopeLogs", "logRecords"],
            OtlpSignal::Metrics => ["resourceMetrics", "scopeMetrics", "metrics"],
        }
    }

    /// Returns a request's body from items that are JSON already.
    pub(super) fn body(self, resource: &str, items: &[String]) -> String {
        let [resources, scopes, name] = self.list_keys();
        let scope = json!({"name": "hookwright", "version": env!("CARGO_PKG_VERSION")});
        let items = items.join(",");
        format!(r#"{{"{resources}":[{{"resource":{resource},"{scopes}":[{{"scope":{scope},"{name}":[{items}]}}]}}]}}"#)
    }
}

/// Returns the resource; attributes from the environment replace the program's own.
pub(super) fn resource_json(from_env: &[(String, String)], session_id: &str) -> String {
    let own =
        [("service.name", "hookwright"), ("service.version", env!("CARGO_PKG_VERSION")), ("session.id", session_id)];
    let own = own.into_iter().filter(|(key, _)| from_env.iter().all(|(name, _)| name != key));
    let all = from_env.iter().map(|(key, value)| (key.as_str(), value.as_str())).chain(own);
    let all = all.map(|(key, value)| attribute(key, json!({"stringValue": value})));
    json!({"attributes": all.collect::<Vec<_>>()}).to_string()
}

/// Returns the JSON of a log record.
pub(super) fn log_json(
    common: &TelemetryFields<'_>,
    record: &TelemetryRecord<'_>,
    span: Option<&SpanContext>,
    now: SystemTime,
) -> String {
    let own = [("event.name", FieldValue::from(record.name)), ("event.timestamp", timestamp(now).into())];
    let mut log = json!({
        "timeUnixNano": nanos(now),
        "observedTimeUnixNano": nanos(now),
        "severityNumber": 9,
        "eventName": record.name,
        "body": {"stringValue": record.body},
        "attributes": attributes(own.iter().chain(common).chain(&record.fields)),
    });
    if let Some(span) = span {
        log["traceId"] = span.trace_id().into();
        log["spanId"] = span.span_id().into();
        log["flags"] = span.flags().into();
    }
    log.to_string()
}

/// Returns the JSON of a span that has ended.
pub(super) fn span_json(span: &OtlpSpan) -> String {
    let kind = match span.kind {
        SpanKind::Internal => 1,
        SpanKind::Client => 3,
    };
    let mut json = json!({
        "traceId": span.context.trace_id(),
        "spanId": span.context.span_id(),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end.max(span.start)),
        "attributes": attributes(&span.attributes),
        "flags": span.context.flags(),
    });
    if !span.events.is_empty() {
        json["events"] = span.events.iter().map(event_json).collect();
    }
    if let Some(parent) = &span.parent {
        json["parentSpanId"] = parent.span_id().into();
    }
    if let Some(error) = &span.error {
        json["status"] = json!({"code": 2, "message": error});
    }
    json.to_string()
}

fn event_json(event: &SpanEvent) -> Value {
    json!({"timeUnixNano": nanos(event.time), "name": event.name, "attributes": attributes(&event.attributes)})
}

/// Returns the JSON of the running totals, in the order of [`METRICS`].
pub(super) fn metrics_json(totals: &MetricTotals, common: &TelemetryFields<'_>, now: SystemTime) -> Vec<String> {
    let points =
        |metric: &Metric| totals.series_of(metric).map(|series| data_point(series, common, now)).collect::<Vec<_>>();
    let measured = METRICS.iter().map(|metric| (metric, points(metric))).filter(|(_, points)| !points.is_empty());
    measured
        .map(|(metric, points)| {
            // The totals are cumulative since the session began.
            let (name, data) = match metric.kind {
                MetricKind::Counter => {
                    ("sum", json!({"dataPoints": points, "aggregationTemporality": 2, "isMonotonic": true}))
                }
                MetricKind::Histogram => ("histogram", json!({"dataPoints": points, "aggregationTemporality": 2})),
            };
            let (description, unit) = (metric.description, metric.unit);
            json!({"name": metric.name, "description": description, "unit": unit, name: data}).to_string()
        })
        .collect()
}

fn data_point(series: &MetricSeries, common: &TelemetryFields<'_>, now: SystemTime) -> Value {
    let tags = series.tags.iter().map(|(name, value)| attribute(name, tag_json(value)));
    let mut point = json!({
        "attributes": attributes(common).into_iter().chain(tags).collect::<Vec<_>>(),
        "startTimeUnixNano": nanos(series.since),
        "timeUnixNano": nanos(now.max(series.since)),
    });
    match series.metric.kind {
        MetricKind::Counter => point["asInt"] = series.sum.to_string().into(),
        MetricKind::Histogram => {
            point["count"] = series.count.to_string().into();
            point["sum"] = series.sum.into();
            point["min"] = series.min.into();
            point["max"] = series.max.into();
            point["explicitBounds"] = HISTOGRAM_BOUNDARIES.as_slice().into();
            point["bucketCounts"] = series.buckets.iter().map(u64::to_string).collect();
        }
    }
    point
}

fn attributes<'a>(fields: impl IntoIterator<Item = &'a (&'static str, FieldValue<'a>)>) -> Vec<Value> {
    fields.into_iter().map(|(name, field)| attribute(name, field_json(field))).collect()
}

fn attribute(name: &str, value: Value) -> Value {
    json!({"key": name, "value": value})
}

/// Returns the OTLP value of a field.
///
/// Integers are written as strings: JSON numbers lose their last digits in many readers.
fn field_json(field: &FieldValue<'_>) -> Value {
    match field {
        FieldValue::Text(text) => json!({"stringValue": truncate_text(text)}),
        FieldValue::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({"stringValue": truncate_text(text)})).collect();
            json!({"arrayValue": {"values": values}})
        }
        FieldValue::Number(number) => json!({"intValue": number.to_string()}),
        FieldValue::Flag(flag) => json!({"boolValue": flag}),
        FieldValue::Input(input) => json!({"stringValue": truncate_text(&input.to_json())}),
    }
}

fn tag_json(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": truncate_text(text)}),
        other => json!({"stringValue": other.to_string()}),
    }
}

/// Returns nanoseconds since 1970.
fn nanos(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// Returns a text of bounded length, with a remark if it was cut.
fn truncate_text(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}
