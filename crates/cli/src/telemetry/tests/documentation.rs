//! Compares `docs/telemetry.md` and the Grafana dashboard with the tables of names and with what a collector receives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hookwright_testkit::fs;

use super::super::metric::{METRICS, Metric, MetricKind};
use super::super::names::{ATTRIBUTES, VERDICT};
use super::collector::{Received, attributes, config, items, send, serve, spans};
use super::*;

/// The attributes of every log record and every measurement.
const COMMON: [&str; 5] = ["event.name", "event.timestamp", "session.id", "interactive", "auth_type"];

/// Returns events that make use of every name.
pub(super) fn every_event() -> Vec<AgentEvent> {
    let suppressed = json!([{"type": "command", "command": "echo '{\"suppressOutput\": true}'"}]);
    let mut events = vec![
        AgentEvent::Turn(TurnEvent::Received { prompt: SECRET.into(), prompt_id: "p1".into() }),
        prompt(),
        request(),
        response(),
    ];
    events.push(tool_requested("c1", "echo"));
    events.extend(judge_call("c1", None));
    events.extend(run_hooks(EventKind::BeforeAgent, json!({"prompt": SECRET}), suppressed));
    events.extend([tool_finished("c1", Some(refused())), tool_requested("c2", "delegate"), in_subagent(prompt())]);
    events.extend([in_subagent(request()), in_subagent(response()), in_subagent(tool_requested("c3", "echo"))]);
    events.push(run_hook("cat >/dev/null; echo '{\"decision\":\"allow\"}'; echo hunter2 >&2"));
    events.extend(judge_call("c3", Some(subagent())));
    events.extend([
        in_subagent(tool_finished("c3", None)),
        in_subagent(AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered))),
    ]);
    events.extend([tool_finished("c2", None), compressed(), request(), failure()]);
    events.push(AgentEvent::Turn(TurnEvent::Finished(TurnEnd::failed("no model"))));
    events
}

fn received() -> Received {
    let (endpoint, received) = serve();
    assert_eq!(send(&config(&endpoint), &every_event()), [""; 0]);
    received
}

fn keys(item: &Value) -> Vec<String> {
    let fields = attributes(item);
    fields.as_object().unwrap().keys().filter(|key| !COMMON.contains(&key.as_str())).cloned().collect()
}

fn logs(received: &Received) -> Vec<Value> {
    items(received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]).1
}

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
}

/// Asserts that the documentation has a table with exactly these rows.
fn assert_documented(head: &str, rows: &[String]) {
    let page = fs::read_to_string(docs("telemetry.md")).unwrap();
    let rule = "---|".repeat(head.matches('|').count() - 1);
    let table = format!("{head}\n|{rule}\n{}\n", rows.join("\n"));
    assert!(page.contains(&format!("\n\n{table}\n")), "docs/telemetry.md must have this table:\n\n{table}");
}

fn quoted(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_has_every_attribute_of_spans_and_verdicts_and_no_other() {
    let received = received();
    let mut sent = BTreeSet::new();
    for span in spans(&received) {
        let operation = span["name"].as_str().unwrap().split(' ').next().unwrap().to_owned();
        sent.extend(keys(&span).into_iter().map(|key| (operation.clone(), key)));
        for event in span["events"].as_array().into_iter().flatten() {
            assert_eq!(event["name"], VERDICT);
            sent.extend(keys(event).into_iter().map(|key| (VERDICT.to_owned(), key)));
        }
    }
    let verdicts: Vec<Value> = logs(&received).into_iter().filter(|log| log["eventName"] == VERDICT).collect();
    let in_logs: BTreeSet<_> = verdicts.iter().flat_map(keys).collect();
    let in_events: BTreeSet<_> = sent.iter().filter(|(on, _)| on == VERDICT).map(|(_, key)| key.clone()).collect();
    assert_eq!(in_logs, in_events);
    let table = ATTRIBUTES.iter().flat_map(|one| one.carriers.iter().map(|on| ((*on).to_owned(), one.name.to_owned())));
    assert_eq!(sent, table.collect());
}

#[test]
fn the_documentation_lists_every_attribute() {
    let row = |one: &super::super::names::AttributeName| {
        format!("| `{}` | {} | {} |", one.name, quoted(one.carriers), one.meaning)
    };
    assert_documented("| attribute | on | meaning |", &ATTRIBUTES.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn the_documentation_lists_every_record() {
    let mut records: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for log in logs(&received()).iter().filter(|log| log["eventName"] != VERDICT) {
        let known = records.entry(log["eventName"].as_str().unwrap().to_owned()).or_default();
        let new: Vec<String> = keys(log).into_iter().filter(|key| !known.contains(key)).collect();
        known.extend(new);
    }
    let row = |(name, keys): (&String, &Vec<String>)| format!("| `{name}` | {} |", quoted(keys));
    assert_documented("| record | attributes |", &records.iter().map(row).collect::<Vec<_>>());
}

/// Returns the tags of each metric that was sent.
fn metric_tags() -> BTreeMap<String, BTreeSet<String>> {
    let (_, sent) = items(&received(), "/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"]);
    let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for metric in &sent {
        let points = [&metric["sum"], &metric["histogram"]].into_iter().flat_map(|data| data["dataPoints"].as_array());
        let known = tags.entry(metric["name"].as_str().unwrap().to_owned()).or_default();
        known.extend(points.flatten().flat_map(keys));
    }
    tags
}

#[test]
fn the_documentation_lists_every_metric() {
    let tags = metric_tags();
    let row = |metric: &&Metric| {
        let kind = match metric.kind {
            MetricKind::Counter => "counter".to_owned(),
            MetricKind::Histogram => format!("histogram, {}", metric.unit),
        };
        format!("| `{}` | {kind} | {} | {} |", metric.name, quoted(&tags[metric.name]), metric.description)
    };
    let rows: Vec<String> = METRICS.iter().map(row).collect();
    assert_eq!(tags.len(), rows.len());
    assert_documented("| metric | kind | attributes | meaning |", &rows);
}

/// Returns a name as Prometheus and Loki spell it.
fn underscored(name: &str) -> String {
    name.replace('.', "_")
}

/// Returns a metric's names in Prometheus.
fn prometheus_names(metric: &Metric) -> Vec<String> {
    let name = underscored(metric.name);
    match metric.kind {
        MetricKind::Counter => vec![format!("{name}_total")],
        MetricKind::Histogram => {
            assert_eq!(metric.unit, "ms");
            ["bucket", "sum", "count"].map(|part| format!("{name}_milliseconds_{part}")).to_vec()
        }
    }
}

/// Collects the queries of a dashboard's panels.
fn collect_queries(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_queries(value, queries)),
        Value::Object(fields) => {
            let own = ["expr", "query"].iter().filter_map(|key| fields.get(*key)?.as_str());
            queries.extend(own.filter(|query| query.contains('{') || query.contains('(')).map(str::to_owned));
            fields.values().for_each(|value| collect_queries(value, queries));
        }
        _ => {}
    }
}

#[test]
fn the_dashboard_uses_documented_names_only() {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(docs("grafana/hookwright.json")).unwrap()).unwrap();
    let (mut queries, received) = (Vec::new(), received());
    collect_queries(&dashboard, &mut queries);
    assert!(queries.len() >= 8, "{queries:?}");
    let spans = ATTRIBUTES.iter().map(|one| format!("span.{}", one.name));
    let labels = ATTRIBUTES.iter().map(|one| underscored(one.name));
    let metrics = METRICS.iter().flat_map(|metric| prometheus_names(metric));
    let tags = metric_tags().into_values().flatten();
    let records = logs(&received).into_iter().map(|log| log["eventName"].as_str().unwrap().to_owned());
    let known: BTreeSet<String> = spans.chain(labels).chain(metrics).chain(tags).chain(records).collect();
    // Words of the query languages, the labels that stores add, and values.
    let words = "sum by topk rate increase count_over_time histogram_quantile quantile_over_time select duration le \
                 service_name event_name resource.service.name deny stop allow false true chat invoke_agent execute_tool \
                 policy_violation";
    let words: BTreeSet<&str> = words.split_whitespace().collect();
    for query in &queries {
        let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '$');
        for word in query.split(|char| !is_part(char)).filter(|word| word.contains(|char: char| char.is_alphabetic())) {
            assert!(word.starts_with('$') || words.contains(word) || known.contains(word), "`{word}` in {query}");
        }
    }
}
