//! Tests of the telemetry file, read as its readers read it.

use std::path::Path;

use super::*;
use hookwright_testkit::fs;

fn config(outfile: &Path) -> Config {
    Config { enabled: true, outfile: Some(outfile.to_owned()), ..Config::default() }
}

/// Records events into a new file and returns its text.
fn written(config: &Config, events: &[AgentEvent]) -> String {
    let (mut telemetry, warnings) = TelemetryRecorder::start(config, &facts());
    assert_eq!(warnings, [""; 0]);
    events.iter().for_each(|event| telemetry.record(event));
    assert_eq!(telemetry.finish(), [""; 0]);
    fs::read_to_string(config.outfile.as_ref().unwrap()).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn name(record: &Value) -> &str {
    record["attributes"]["event.name"].as_str().unwrap_or("metrics")
}

#[test]
fn disabled_telemetry_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { enabled: false, ..config(&dir.path().join("t.log")) };
    let (mut telemetry, warnings) = TelemetryRecorder::start(&config, &facts());
    telemetry.record(&prompt());
    assert!(warnings.is_empty() && telemetry.0.is_none());
    assert_eq!(size_of::<TelemetryRecorder>(), size_of::<usize>());
    drop(telemetry);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_session_is_written_as_configuration_events_and_totals() {
    let dir = tempfile::tempdir().unwrap();
    let text = written(&config(&dir.path().join("deep/down/t.log")), &turn());
    let records = lines(&text);
    let short = |record| name(record).trim_start_matches("gemini_cli.").to_owned();
    assert_eq!(
        records.iter().map(short).collect::<Vec<_>>(),
        [
            "config",
            "metrics",
            "user_prompt",
            "api_request",
            "api_response",
            "hook_call",
            "tool_call",
            "hook_call",
            "hook_call",
            "tool_call",
            "chat_compression",
            "api_request",
            "api_error",
            "metrics",
        ]
    );
}

#[test]
fn a_record_has_the_shape_that_readers_know() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = lines(&written(&config(&dir.path().join("t.log")), &[prompt()]));
    let record = &mut records[2];
    let stamp = record["attributes"]["event.timestamp"].take();
    let stamp = stamp.as_str().unwrap();
    assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{stamp}");
    let seconds = record["hrTime"][0].as_u64().unwrap();
    assert!(seconds > 1_700_000_000 && record["hrTime"] == record["hrTimeObserved"]);
    let expected = json!({
        "hrTime": record["hrTime"], "hrTimeObserved": record["hrTime"],
        "resource": {"_rawAttributes": [
            ["service.name", "hookwright"], ["service.version", env!("CARGO_PKG_VERSION")], ["session.id", "s1"],
        ]},
        "instrumentationScope": {"name": "hookwright", "version": env!("CARGO_PKG_VERSION")},
        "attributes": {
            "session.id": "s1", "interactive": false, "auth_type": "gemini-api-key",
            "event.name": "gemini_cli.user_prompt", "event.timestamp": null,
            "prompt_length": 14, "prompt_id": "p1", "prompt": "say hunter2 🦀",
        },
        "_body": "User prompt. Length: 14.",
    });
    // They are compared as text because the order counts too.
    assert_eq!(record.to_string(), expected.to_string());
}

#[test]
fn both_kinds_of_readers_see_the_same_records() {
    let dir = tempfile::tempdir().unwrap();
    let tricky = AgentEvent::Turn(TurnEvent::Started { prompt: "}\n{\"a\": 1}\n{".into(), prompt_id: "p".into() });
    let text = written(&config(&dir.path().join("t.log")), &[tricky, prompt()]);
    let pieces: Vec<&str> = text.split("}\n{").collect();
    let last = pieces.len() - 1;
    let braced = pieces.iter().enumerate().map(|(at, piece)| {
        let (open, close) = (if at > 0 { "{" } else { "" }, if at < last { "}" } else { "" });
        serde_json::from_str::<Value>(format!("{open}{piece}{close}").trim()).unwrap()
    });
    assert_eq!(braced.collect::<Vec<_>>(), lines(&text));
    assert_eq!(lines(&text)[2]["attributes"]["prompt"], "}\n{\"a\": 1}\n{");
}

#[test]
fn records_are_there_as_soon_as_they_happen_and_sessions_share_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.log");
    let first = written(&config(&path), &[]);
    let (mut telemetry, _) = TelemetryRecorder::start(&config(&path), &facts());
    telemetry.record(&prompt());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&first) && name(lines(&text).last().unwrap()) == "gemini_cli.user_prompt");
    drop(telemetry);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(name(lines(&text).last().unwrap()), "metrics");
}

#[cfg(unix)]
#[test]
fn a_new_file_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.log");
    written(&config(&path), &[]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_prompts_none_is_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { log_prompts: false, ..config(&dir.path().join("t.log")) };
    let text = written(&config, &turn());
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(lines(&text)[0]["attributes"]["log_user_prompts_enabled"], false);
    let with = written(&self::config(&dir.path().join("with.log")), &turn());
    assert!(with.contains(SECRET));
}

#[test]
fn totals_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut events = turn();
    events.push(response());
    let records = lines(&written(&config(&dir.path().join("t.log")), &events));
    let metrics = records.last().unwrap()["scopeMetrics"][0]["metrics"].as_array().unwrap().clone();
    let metric = |name: &str| {
        let name = format!("gemini_cli.{name}");
        metrics.iter().find(|metric| metric["descriptor"]["name"] == *name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let points = |name: &str| -> Vec<(Value, Value)> {
        let points = metric(name)["dataPoints"].as_array().unwrap().clone();
        points.iter().map(|point| (point["attributes"].clone(), point["value"].clone())).collect()
    };
    let common = json!({"session.id": "s1", "interactive": false, "auth_type": "gemini-api-key"});
    assert_eq!(points("session.count"), [(common.clone(), json!(1))]);
    let calls = points("tool.call.count");
    assert_eq!(calls.iter().map(|(tags, _)| &tags["success"]).collect::<Vec<_>>(), [&json!(true), &json!(false)]);
    assert_eq!(calls[0].0["decision"], "auto_accept");
    let requests = points("api.request.count");
    assert_eq!(requests.iter().map(|(_, value)| value).collect::<Vec<_>>(), [&json!(2), &json!(1)]);
    let tokens = points("token.usage");
    let tokens: Vec<_> =
        tokens.iter().map(|(tags, value)| (tags["type"].as_str().unwrap(), value.as_u64().unwrap())).collect();
    assert_eq!(tokens, [("input", 20), ("output", 10), ("cache", 4), ("thought", 6), ("tool", 0)]);
    let hooks = points("hook_call.count");
    assert_eq!(hooks[0].0["hook_name"], "cat");
    assert_eq!(hooks.iter().map(|(_, value)| value.as_u64().unwrap()).sum::<u64>(), 3);
    let latency = metric("tool.call.latency");
    assert_eq!(latency["descriptor"]["unit"], "ms");
    let value = &latency["dataPoints"][0]["value"];
    assert_eq!(
        (&value["min"], &value["max"], &value["sum"], &value["count"]),
        (&json!(82), &json!(82), &json!(164), &json!(2))
    );
    assert_eq!(value["buckets"]["counts"], json!([0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    let mut session = metric("session.count");
    session["dataPoints"].take();
    let expected = json!({
        "descriptor": {
            "name": "gemini_cli.session.count", "type": "COUNTER", "description": "Count of CLI sessions started.",
            "unit": "", "valueType": 0, "advice": {},
        },
        "aggregationTemporality": 1, "dataPointType": 3, "dataPoints": null, "isMonotonic": true,
    });
    assert_eq!(session.to_string(), expected.to_string());
}

#[test]
fn problems_in_the_settings_are_warnings_and_stop_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let start = |config: Config| {
        let (mut telemetry, warnings) = TelemetryRecorder::start(&config, &facts());
        telemetry.record(&prompt());
        assert!(telemetry.0.is_none() && telemetry.finish().is_empty());
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        warning.clone()
    };
    let on = Config { enabled: true, ..Config::default() };
    assert!(start(on.clone()).starts_with("telemetry is enabled but has no destination; set telemetry.outfile"));
    let cloud = start(Config { target: TelemetryTarget::Gcp, ..on });
    assert!(cloud.starts_with("telemetry cannot be sent to Google Cloud directly; set "), "{cloud}");
    let not_a_file = start(config(dir.path()));
    assert!(not_a_file.contains(&format!("{} cannot be opened: ", dir.path().display())), "{not_a_file}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_refused_as_telemetry_file() {
    let (mut telemetry, warnings) = TelemetryRecorder::start(&config(Path::new("/dev/full")), &facts());
    assert!(
        matches!(warnings.as_slice(), [warning] if warning.contains("/dev/full cannot be opened: this is not a regular file"))
    );
    telemetry.record(&prompt());
    assert!(telemetry.finish().is_empty(), "it was said once");
}

#[test]
fn a_clock_that_is_set_back_makes_no_total_late_or_negative() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.log");
    let (mut telemetry, _) = TelemetryRecorder::start(&config(&path), &facts());
    let running = telemetry.0.as_mut().unwrap();
    let before = std::time::SystemTime::now() - Duration::from_secs(3600);
    running.record(&AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered)), before);
    let text = fs::read_to_string(&path).unwrap();
    let totals: Vec<Value> = lines(&text).into_iter().filter(|line| name(line) == "metrics").collect();
    assert_eq!(totals.len(), 2, "the second ones are due: {text}");
    let points = totals[1]["scopeMetrics"][0]["metrics"].as_array().unwrap().clone();
    let points: Vec<&Value> = points.iter().flat_map(|metric| metric["dataPoints"].as_array().unwrap()).collect();
    assert!(!points.is_empty());
    for point in points {
        let seconds = |name: &str| point[name][0].as_u64().unwrap();
        assert!(seconds("endTime") >= seconds("startTime"), "{point}");
    }
}
