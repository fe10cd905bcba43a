//! Metrics: the table of metrics, the measurements that an event makes, and their running totals.

use std::time::SystemTime;

use hookwright_agent::{AgentEvent, HookEvent, ModelEvent, SessionEvent, ToolEvent};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::file::hr_time;
use super::record::{TelemetryFields, hook_success, millis, program, tool_name, tool_type};

/// A counter or a histogram, with its name and unit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    pub(crate) unit: &'static str,
    pub(crate) description: &'static str,
}

/// How measurements are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Histogram,
}

const fn counter_metric(name: &'static str, description: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Counter, unit: "", description }
}

const fn latency_metric(name: &'static str, description: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Histogram, unit: "ms", description }
}

static SESSIONS: Metric = counter_metric("gemini_cli.session.count", "Count of CLI sessions started.");
static TOOL_CALLS: Metric =
    counter_metric("gemini_cli.tool.call.count", "Counts tool calls, tagged by function name and success.");
static TOOL_LATENCY: Metric = latency_metric("gemini_cli.tool.call.latency", "Latency of tool calls in milliseconds.");
static REQUESTS: Metric =
    counter_metric("gemini_cli.api.request.count", "Counts API requests, tagged by model and status.");
static REQUEST_LATENCY: Metric =
    latency_metric("gemini_cli.api.request.latency", "Latency of API requests in milliseconds.");
static TOKENS: Metric = counter_metric("gemini_cli.token.usage", "Counts the total number of tokens used.");
static HOOK_CALLS: Metric =
    counter_metric("gemini_cli.hook_call.count", "Counts hook calls, tagged by hook event name and success.");
static HOOK_LATENCY: Metric = latency_metric("gemini_cli.hook_call.latency", "Latency of hook calls in milliseconds.");
static COMPRESSIONS: Metric = counter_metric("gemini_cli.chat_compression", "Counts chat compression events.");

/// Every metric, in the order in which totals are written.
pub(crate) static METRICS: [&Metric; 9] = [
    &SESSIONS,
    &TOOL_CALLS,
    &REQUESTS,
    &TOKENS,
    &HOOK_CALLS,
    &COMPRESSIONS,
    &TOOL_LATENCY,
    &REQUEST_LATENCY,
    &HOOK_LATENCY,
];

/// The tags that tell one series of a metric from another: texts, numbers and flags.
pub(crate) type MetricTags = Vec<(&'static str, Value)>;

/// One value of a metric, with its tags.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) metric: &'static Metric,
    pub(crate) value: u64,
    pub(crate) tags: MetricTags,
}

/// Returns the measurement of a session's start.
pub(crate) fn session_started() -> Measurement {
    Measurement { metric: &SESSIONS, value: 1, tags: MetricTags::new() }
}

/// Returns the measurements of an event.
///
/// They carry no content: of a hook's command only the program's name.
pub(crate) fn measurements_for(event: &AgentEvent) -> Vec<Measurement> {
    let measure = |metric, value, tags| Measurement { metric, value, tags };
    match event.unwrap_subagent().1 {
        AgentEvent::Tool(ToolEvent::Finished(end)) => {
            let mut tags = vec![("function_name", json!(tool_name(end))), ("success", json!(end.error.is_none()))];
            tags.extend(end.decision.map(|decision| ("decision", json!(decision.as_str()))));
            tags.push(("tool_type", json!(tool_type(tool_name(end)))));
            vec![
                measure(&TOOL_CALLS, 1, tags),
                measure(&TOOL_LATENCY, millis(end.duration), vec![("function_name", json!(tool_name(end)))]),
            ]
        }
        AgentEvent::Model(ModelEvent::Answered { model, usage, duration, .. }) => {
            let usage = usage.unwrap_or_default();
            let tokens = [
                ("input", usage.prompt),
                ("output", usage.candidates),
                ("cache", usage.cached),
                ("thought", usage.thoughts),
                ("tool", usage.tool_use),
            ];
            let mut measured = vec![
                measure(&REQUESTS, 1, vec![("model", json!(model)), ("status_code", json!(200))]),
                measure(&REQUEST_LATENCY, millis(*duration), vec![("model", json!(model))]),
            ];
            measured
                .extend(tokens.map(|(kind, count)| {
                    measure(&TOKENS, count, vec![("model", json!(model)), ("type", json!(kind))])
                }));
            measured
        }
        AgentEvent::Model(ModelEvent::Failed { model, duration, .. }) => vec![
            measure(&REQUESTS, 1, vec![("model", json!(model)), ("status_code", json!("error"))]),
            measure(&REQUEST_LATENCY, millis(*duration), vec![("model", json!(model))]),
        ],
        AgentEvent::Hook(HookEvent::Finished { report, .. }) => {
            let tags = vec![
                ("hook_event_name", json!(report.event.name())),
                ("hook_name", json!(program(&report.hook))),
                ("success", json!(hook_success(report))),
            ];
            vec![measure(&HOOK_CALLS, 1, tags.clone()), measure(&HOOK_LATENCY, millis(report.duration), tags)]
        }
        AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
            vec![measure(&COMPRESSIONS, 1, vec![("tokens_before", json!(before)), ("tokens_after", json!(after))])]
        }
        _ => Vec::new(),
    }
}

/// Running totals since the session began.
#[derive(Debug, Default)]
pub(crate) struct MetricTotals(Vec<MetricSeries>);

/// The total of one metric for one set of tags.
#[derive(Debug)]
pub(crate) struct MetricSeries {
    pub(crate) metric: &'static Metric,
    pub(crate) tags: MetricTags,
    pub(crate) since: SystemTime,
    pub(crate) count: u64,
    pub(crate) sum: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) buckets: [u64; HISTOGRAM_BOUNDARIES.len() + 1],
}

/// The upper bounds of the buckets, as OpenTelemetry proposes them.
pub(crate) const HISTOGRAM_BOUNDARIES: [u64; 15] =
    [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000];

impl MetricTotals {
    pub(crate) fn add(&mut self, measurement: Measurement, now: SystemTime) {
        let Measurement { metric, value, tags } = measurement;
        let at = self.0.iter().position(|series| series.metric == metric && series.tags == tags);
        let at = at.unwrap_or_else(|| {
            let (min, max, buckets) = (u64::MAX, 0, [0; HISTOGRAM_BOUNDARIES.len() + 1]);
            self.0.push(MetricSeries { metric, tags, since: now, count: 0, sum: 0, min, max, buckets });
            self.0.len() - 1
        });
        let series = &mut self.0[at];
        series.count += 1;
        series.sum += value;
        series.min = series.min.min(value);
        series.max = series.max.max(value);
        series.buckets[HISTOGRAM_BOUNDARIES.partition_point(|bound| *bound < value)] += 1;
    }

    /// Returns the series of a metric.
    pub(crate) fn series_of<'a>(&'a self, metric: &'a Metric) -> impl Iterator<Item = &'a MetricSeries> {
        self.0.iter().filter(move |series| series.metric == metric)
    }

    /// Returns the totals as the `metrics` of a line, in the order of [`METRICS`].
    pub(crate) fn to_json(&self, common: &TelemetryFields<'_>, now: SystemTime) -> Vec<Value> {
        let points = |metric: &Metric| -> Vec<Value> {
            self.series_of(metric).map(|series| series.to_json(common, now)).collect()
        };
        METRICS
            .iter()
            .map(|metric| (metric, points(metric)))
            .filter(|(_, points)| !points.is_empty())
            .map(|(metric, points)| metric.to_json(points))
            .collect()
    }
}

impl Metric {
    fn to_json(&self, points: Vec<Value>) -> Value {
        // The numbers are those of the OpenTelemetry SDK for JavaScript: integers, cumulative, a sum or a histogram.
        let (kind, point_type) = match self.kind {
            MetricKind::Counter => ("COUNTER", 3),
            MetricKind::Histogram => ("HISTOGRAM", 0),
        };
        let mut json = json!({
            "descriptor": {
                "name": self.name, "type": kind, "description": self.description, "unit": self.unit,
                "valueType": 0, "advice": {},
            },
            "aggregationTemporality": 1,
            "dataPointType": point_type,
            "dataPoints": points,
        });
        if self.kind == MetricKind::Counter {
            json["isMonotonic"] = Value::Bool(true);
        }
        json
    }
}

impl MetricSeries {
    fn to_json(&self, common: &TelemetryFields<'_>, now: SystemTime) -> Value {
        let value = match self.metric.kind {
            MetricKind::Counter => json!(self.sum),
            MetricKind::Histogram => json!({
                "min": self.min, "max": self.max, "sum": self.sum,
                "buckets": {"boundaries": HISTOGRAM_BOUNDARIES, "counts": self.buckets},
                "count": self.count,
            }),
        };
        json!({
            "attributes": TaggedFields { common, tags: &self.tags },
            "startTime": hr_time(self.since),
            // The clock may have been set back between two turns.
            "endTime": hr_time(now.max(self.since)),
            "value": value,
        })
    }
}

struct TaggedFields<'a> {
    common: &'a TelemetryFields<'a>,
    tags: &'a MetricTags,
}

impl Serialize for TaggedFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.common.iter().try_for_each(|(name, field)| map.serialize_entry(name, field))?;
        self.tags.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}
