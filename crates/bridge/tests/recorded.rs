//! Reads payloads that were recorded from runs of real agents: every file is understood and keeps its tool call.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};

use hookwright_bridge::tools::translate_call;
use hookwright_bridge::{Host, HostEvent, ToolRecognition, payload};
use hookwright_hooks::{AnyEvent, EventKind};
use hookwright_testkit::fs;
use serde_json::json;

/// Returns the recorded payloads.
fn recorded_payloads() -> Vec<(Host, PathBuf)> {
    let is_payload = |path: &Path| !path.ends_with("environment.json") && !path.ends_with("tools.json");
    fixture_files().into_iter().filter(|(_, path)| is_payload(path)).collect()
}

fn fixture_files() -> Vec<(Host, PathBuf)> {
    let mut found = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for host in Host::all() {
        let Ok(versions) = std::fs::read_dir(folder.join(host.name())) else { continue };
        for version in versions {
            for file in std::fs::read_dir(version.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|end| end == "json") {
                    found.push((host, path));
                }
            }
        }
    }
    found
}

fn parse_recording(host: Host, path: &Path) -> HostEvent {
    let payload = payload::read(&fs::read(path).unwrap()).unwrap();
    host.dialect().parse_event(host, payload, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_recorded_event_is_understood() {
    let all = recorded_payloads();
    assert!(all.len() > 60, "the recordings are there: {}", all.len());
    for (host, path) in all {
        let host_event = parse_recording(host, &path);
        let row = host_event.info.unwrap_or_else(|| panic!("{}: {} is in no row", path.display(), host_event.name));
        assert_eq!(host_event.views.is_empty(), row.kind.is_none(), "{}", path.display());
        assert!(!host_event.session.id.is_empty(), "{}", path.display());
        assert_eq!(host_event.session.cwd.as_deref(), Some(Path::new("/project")), "{}", path.display());
    }
}

/// The same call gives the same view for every agent.
#[test]
fn recorded_calls_have_the_same_view_for_every_agent() {
    let mut seen = 0;
    for (host, path) in recorded_payloads() {
        let host_event = parse_recording(host, &path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // A permission request has fewer details of the call.
        let first = host_event.views.first().filter(|view| !view.is_recheck);
        let Some(AnyEvent::BeforeTool(event)) = first.map(|view| &view.event) else { continue };
        assert_eq!(host_event.tool.as_ref().unwrap().recognition, ToolRecognition::Known, "{}", path.display());
        let field = |key: &str| event.tool_input.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        seen += 1;
        match name.split('.').nth(1).unwrap() {
            "shell" => assert_eq!((&*event.tool_name, field("command")), ("run_shell_command", "touch RAN"), "{host}"),
            "write" => {
                assert_eq!((&*event.tool_name, field("file_path")), ("write_file", "/project/new.txt"), "{host}")
            }
            "edit" => assert_eq!((&*event.tool_name, field("new_string")), ("replace", "three"), "{host}"),
            "read" => assert_eq!((&*event.tool_name, field("file_path")), ("read_file", "/project/new.txt"), "{host}"),
            "patch-add" | "patch-update" => {
                let Some(AnyEvent::BeforeTool(file)) = host_event.views.get(1).map(|view| &view.event) else {
                    panic!("{}: the patch in the command is not seen", path.display())
                };
                assert_eq!(file.tool_input.get("file_path").unwrap(), "/project/new.txt");
            }
            _ => {}
        }
    }
    assert!(seen > 20, "{seen}");
}

/// A permission request may have another form than the call, and guards see the same file.
#[test]
fn recorded_permission_requests_for_a_file_are_known() {
    let mut seen = 0;
    for (host, path) in recorded_payloads() {
        let host_event = parse_recording(host, &path);
        let Some(AnyEvent::BeforeTool(event)) =
            host_event.views.first().filter(|view| view.is_recheck).map(|view| &view.event)
        else {
            continue;
        };
        let tool = host_event.tool.as_ref().unwrap();
        assert_eq!(tool.recognition, ToolRecognition::Known, "{}: {:?}", path.display(), tool.uncertainty);
        if path.to_string_lossy().contains(".edit.") {
            assert_eq!(event.tool_input.get("file_path").unwrap(), "/project/new.txt", "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// Every argument of the tools that an agent offers its model is known.
#[test]
fn every_argument_of_a_known_tool_is_known() {
    let mut known = 0;
    for (host, path) in fixture_files().into_iter().filter(|(_, path)| path.ends_with("tools.json")) {
        for (name, arguments) in payload::read(&fs::read(&path).unwrap()).unwrap() {
            let value = |kind: &str| match kind {
                "string" => json!("x"),
                "strings" => json!(["x"]),
                "array" => json!([]),
                "object" => json!({}),
                "boolean" => json!(true),
                _ => json!(1),
            };
            let arguments = arguments.as_object().unwrap();
            let input = arguments.iter().map(|(key, kind)| (key.clone(), value(kind.as_str().unwrap()))).collect();
            let views = translate_call(host, &name, &input);
            assert_eq!(views.uncertainty, None, "{host} {name}");
            known += usize::from(views.recognition != ToolRecognition::Unknown);
        }
    }
    assert!(known > 45, "{known}");
}

#[test]
fn results_are_translated_and_failures_marked() {
    for (host, path) in recorded_payloads() {
        let host_event = parse_recording(host, &path);
        for view in &host_event.views {
            let AnyEvent::AfterTool(event) = &view.event else { continue };
            assert!(event.tool_response.get("llmContent").is_some(), "{}", path.display());
            let failed = host_event.name.ends_with("Failure");
            assert_eq!(event.tool_response.get("error").is_some(), failed, "{host} {}", path.display());
        }
    }
}

/// The environment that an agent gives its hooks identifies it, even if it sets another agent's variables.
#[test]
fn every_recorded_agent_is_recognised() {
    for (host, path) in recorded_payloads() {
        let payload = payload::read(&fs::read(&path).unwrap()).unwrap();
        let environment = fs::read(path.with_file_name("environment.json")).unwrap();
        let environment = payload::read(&environment).unwrap();
        let environment = environment["hook_environment"].as_object().unwrap();
        let recognised = Host::detect(&payload, |name| environment.contains_key(name));
        let silent = host == Host::Codex && event_kind_of(host, &path) != Some(EventKind::BeforeTool);
        assert!(recognised == Some(host) || silent && recognised.is_none(), "{} {recognised:?}", path.display());
    }
}

fn event_kind_of(host: Host, path: &Path) -> Option<EventKind> {
    parse_recording(host, path).kind()
}
