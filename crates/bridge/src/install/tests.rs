use std::path::{Path, PathBuf};

use hookwright_settings::ProcessEnv;
use hookwright_settings::edit::EditError;
use hookwright_testkit::fs;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::host::{Host, HostEventInfo};

const PROGRAM_PATH: &str = "/usr/local/bin/hookwright";

fn world(home: &Path) -> ProcessEnv {
    ProcessEnv::new(vec![("HOME".into(), home.into())], "/work".into())
}

fn target(host: Host, scope: InstallScope) -> InstallTarget {
    InstallTarget::candidates(host, scope, &world(Path::new("/home/u")), Path::new("/project")).remove(0)
}

fn absolute_program() -> EntryProgram {
    EntryProgram::Absolute(PROGRAM_PATH.to_owned())
}

fn first_event(host: Host) -> &'static HostEventInfo {
    host.events_for(hookwright_hooks::EventKind::BeforeTool).next().unwrap()
}

fn json_hosts() -> impl Iterator<Item = Host> {
    Host::all().filter(|host| *host != Host::Opencode)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn error_message(error: &EditError) -> String {
    error.diagnostic().map(|diagnostic| diagnostic.message).unwrap_or_default()
}

#[test]
fn every_host_has_its_settings_file() {
    let places: Vec<String> = Host::all()
        .flat_map(|host| {
            [InstallScope::Project, InstallScope::User].map(|scope| target(host, scope).file.display().to_string())
        })
        .collect();
    insta::assert_snapshot!(places.join("\n"), @r"
    /project/.claude/settings.json
    /home/u/.claude/settings.json
    /project/.codex/hooks.json
    /home/u/.codex/hooks.json
    /project/.github/hooks/hookwright.json
    /home/u/.copilot/hooks/hookwright.json
    /project/.cursor/hooks.json
    /home/u/.cursor/hooks.json
    /project/.qwen/settings.json
    /home/u/.qwen/settings.json
    /project/.factory/hooks.json
    /home/u/.factory/hooks.json
    /project/.grok/hooks/hookwright.json
    /home/u/.grok/hooks/hookwright.json
    /project/.gemini/settings.json
    /home/u/.gemini/settings.json
    /project/.agents/hooks.json
    /home/u/.gemini/config/hooks.json
    /project/.opencode/plugin/hookwright.js
    /home/u/.config/opencode/plugin/hookwright.js
    ");
}

#[test]
fn entries_use_each_hosts_layout() {
    let mut shown = String::new();
    for host in json_hosts() {
        let text = with_entries(&target(host, InstallScope::User), "", &absolute_program()).unwrap();
        let mut value = parsed(&text);
        let section = match target(host, InstallScope::User).layout {
            HookFileLayout::Bare => &mut value,
            HookFileLayout::Named => &mut value["hookwright"],
            _ => &mut value["hooks"],
        };
        let event = first_event(host).name;
        let entries = section.as_object_mut().unwrap();
        entries.retain(|name, _| name == event);
        let line = value.to_string();
        let (start, end) = (line.find("/bin/sh").unwrap(), line.find("bridge").unwrap());
        shown += &format!("{host}: {}…{}\n", &line[..start], &line[end..]);
    }
    insta::assert_snapshot!(shown, @r#"
    claude-code: {"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"…bridge claude-code --event PreToolUse --deadline 600","timeout":600,"onFailure":"block"}]}]}}
    codex: {"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"…bridge codex --event PreToolUse --deadline 600","timeout":600}]}]}}
    copilot: {"hooks":{"PreToolUse":[{"type":"command","bash":"…bridge copilot --event PreToolUse --deadline 60","timeoutSec":60}]},"version":1}
    cursor: {"hooks":{"preToolUse":[{"type":"command","command":"…bridge cursor --event preToolUse --deadline 60","timeout":60,"failClosed":true}]},"version":1}
    qwen: {"hooks":{"PreToolUse":[{"hooks":[{"type":"command","name":"hookwright","command":"…bridge qwen --event PreToolUse --deadline 60","timeout":60000}]}]}}
    droid: {"PreToolUse":[{"hooks":[{"type":"command","command":"…bridge droid --event PreToolUse --deadline 60","timeout":60}]}]}
    grok: {"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"…bridge grok --event PreToolUse --deadline 60","timeout":60}]}]}}
    gemini-cli: {"hooks":{"BeforeTool":[{"hooks":[{"type":"command","name":"hookwright","command":"…bridge gemini-cli --event BeforeTool --deadline 60","timeout":60000}]}]}}
    antigravity: {"hookwright":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"…bridge antigravity --event PreToolUse --deadline 60","timeout":60}]}]}}
    "#);
}

#[test]
fn every_wired_event_has_one_entry_with_a_deadline_before_the_host_timeout() {
    for host in json_hosts() {
        let target = target(host, InstallScope::User);
        let text = with_entries(&target, "", &absolute_program()).unwrap();
        let wiring = read_wiring(&target, &text).unwrap();
        assert!(wiring.is_complete(), "{host} {wiring:?}");
        let names: Vec<&str> = wiring.entries.iter().map(|found| found.event.as_str()).collect();
        let wired: Vec<&str> = host.info().events.iter().filter(|event| event.wired).map(|event| event.name).collect();
        assert_eq!(names, wired);
        for (found, event) in wiring.entries.iter().zip(host.info().events.iter().filter(|event| event.wired)) {
            assert_eq!(found.call.timeout, Some(entry_timeout(host, event)), "{host} {}", event.name);
            // The host must wait at least as long as the bridge expects.
            let written = found.entry_value().get("timeout").or_else(|| found.entry_value().get("timeoutSec")).unwrap();
            let unit = if host.info().timeout_unit == crate::TimeoutUnit::Milliseconds { 0.001 } else { 1.0 };
            assert!(
                written.as_f64().unwrap() * unit >= entry_timeout(host, event).as_secs_f64(),
                "{host} {}",
                event.name
            );
            // An entry sets its failure mode only at gates.
            let closes = found.entry_value().as_object().unwrap().contains_key("onFailure")
                || found.entry_value().get("failClosed").is_some();
            let can_close = matches!(host.info().fail_closed, crate::FailClosedSupport::Key(..));
            assert_eq!(closes, can_close && event.is_gate(), "{host} {}", event.name);
        }
        assert_eq!(without_entries(&target, &text).unwrap(), None, "{host}");
        assert_eq!(with_entries(&target, &text, &absolute_program()).unwrap(), text, "{host}");
    }
    // Codex refuses a file with any other key at its root.
    let codex = parsed(&with_entries(&target(Host::Codex, InstallScope::Project), "", &EntryProgram::OnPath).unwrap());
    assert_eq!(codex.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
}

#[test]
fn an_outdated_entry_is_updated_in_place() {
    let target = target(Host::Codex, InstallScope::User);
    let old = with_entries(&target, "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./mine.sh\"}]}]\n  }\n}\n", &EntryProgram::Absolute("/old/hookwright".into())).unwrap();
    let old = old.replace("--deadline 600", "--deadline 10").replace("\"timeout\": 600", "\"timeout\": 7");
    let wiring = read_wiring(&target, &old).unwrap();
    assert!(!wiring.outdated.is_empty() && wiring.missing.is_empty());
    let new = with_entries(&target, &old, &absolute_program()).unwrap();
    assert!(!new.contains("/old/") && !new.contains(": 7") && new.contains("// mine") && new.contains("./mine.sh"));
    assert_eq!(new.matches("\n").count(), old.matches("\n").count());
    assert!(read_wiring(&target, &new).unwrap().is_complete());
}

#[test]
fn narrowed_or_duplicate_entries_are_repaired() {
    let target = target(Host::ClaudeCode, InstallScope::User);
    let text = with_entries(&target, "", &absolute_program()).unwrap();
    let mut value = parsed(&text);
    let event = first_event(Host::ClaudeCode).name;
    value["hooks"][event][0]["matcher"] = json!("Bash");
    let narrowed = format!("{value:#}");
    assert_eq!(read_wiring(&target, &narrowed).unwrap().outdated, [event]);
    let right = with_entries(&target, &narrowed, &absolute_program()).unwrap();
    assert!(!right.contains("\"matcher\"") && read_wiring(&target, &right).unwrap().is_complete(), "{right}");
    let mut value = parsed(&text);
    let double = value["hooks"][event][0].clone();
    value["hooks"][event].as_array_mut().unwrap().push(double);
    let right = with_entries(&target, &format!("{value:#}"), &absolute_program()).unwrap();
    assert_eq!(right.matches("--event PreToolUse").count(), 1);
    // A user's hook that was put into the installed group stays.
    let mut value = parsed(&text);
    value["hooks"][event][0]["hooks"].as_array_mut().unwrap().push(json!({"type": "command", "command": "./mine.sh"}));
    let without = without_entries(&target, &format!("{value:#}")).unwrap().unwrap();
    let mine = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": "./mine.sh"}]}]}});
    assert_eq!(parsed(&without), mine);
}

#[test]
fn foreign_hooks_are_kept() {
    let target = target(Host::ClaudeCode, InstallScope::Project);
    let hook = |command: &str| json!({"hooks": [{"type": "command", "command": command}]});
    let others = [
        "hookwright bridge claude-code",
        "/opt/hookwright bridge claude-code --event Stop",
        "./hookwright.sh bridge claude-code",
        "echo ': written by hookwright agents install; ' hookwright bridge claude-code --event Stop --deadline 1",
        "/bin/sh -c ': written by hookwright agents install; true' ./guard.sh bridge claude-code --event Stop --deadline 1",
        "/bin/sh -c 'true' hookwright bridge claude-code --event Stop --deadline 1",
        "/bin/sh -c ': written by hookwright agents install; true' hookwright bridge codex --event Stop --deadline 1",
    ];
    let text = format!("{:#}\n", json!({"hooks": {"Stop": others.map(hook)}}));
    assert_eq!(without_entries(&target, &text).unwrap().as_deref(), Some(text.as_str()));
    let with = with_entries(&target, &text, &EntryProgram::OnPath).unwrap();
    assert_eq!(without_entries(&target, &with).unwrap().as_deref(), Some(text.as_str()));
    let wiring = read_wiring(&target, &with).unwrap();
    assert_eq!(wiring.handwritten().count(), 2);
}

#[test]
fn ambiguous_json_is_refused() {
    let target = target(Host::ClaudeCode, InstallScope::User);
    for (text, wrong) in [
        ("{\"hooks\": {}, \"hooks\": {}}", "stands 2 times"),
        ("{\"hooks\": {\"PreToolUse\": [], \"PreToolUse\": []}}", "stands 2 times"),
        ("{\"hooks\": []}", "is not an object"),
        ("{\"hooks\": null}", "is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "is not a list"),
        ("{\"hooks\": ", "not valid JSON"),
        ("[]", "does not hold a JSON object"),
        ("// only words", "does not hold a JSON object"),
    ] {
        let error = with_entries(&target, text, &absolute_program()).unwrap_err();
        assert!(error_message(&error).contains(wrong), "{text}: {}", error_message(&error));
    }
    // Uninstalling removes the entries from both places.
    let twice = "{\"hooks\": {\"Stop\": [X]}, \"hooks\": {\"Stop\": [X]}}";
    let entry = parsed(&with_entries(&target, "", &absolute_program()).unwrap())["hooks"]["Stop"][0].to_string();
    let without = without_entries(&target, &twice.replace('X', &entry)).unwrap().unwrap();
    assert!(!without.contains("bridge"), "{without}");
}

#[test]
fn a_file_changed_since_the_plan_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let world = world(&home);
    let target = InstallTarget::locate(Host::Codex, InstallScope::User, &world, &home).unwrap();
    let plan = plan_install(&target, &absolute_program()).unwrap();
    assert!(plan.old.is_none());
    assert!(apply(&plan).unwrap());
    // Applying a change that is already there is not an error.
    assert!(!apply(&plan).unwrap());
    let uninstall = plan_uninstall(&target).unwrap();
    let text = fs::read_to_string(&target.file).unwrap();
    std::fs::write(&target.file, text.replace("{\n  \"hooks\"", "{\n  \"description\": \"mine\",\n  \"hooks\""))
        .unwrap();
    assert!(error_message(&apply(&uninstall).unwrap_err()).contains("has changed since"));
    assert!(error_message(&apply(&plan).unwrap_err()).contains("has changed since"));
    let uninstall = plan_uninstall(&target).unwrap();
    assert!(apply(&uninstall).unwrap());
    assert_eq!(fs::read_to_string(&target.file).unwrap(), "{\n  \"description\": \"mine\"\n}\n");
}

#[test]
fn droid_target_is_the_file_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let world = world(&home);
    let name = || {
        let target = InstallTarget::locate(Host::Droid, InstallScope::User, &world, &home).unwrap();
        (target.file.strip_prefix(&home).unwrap().to_owned(), target.layout)
    };
    std::fs::create_dir_all(home.join(".factory/hooks")).unwrap();
    std::fs::write(home.join(".factory/settings.json"), "{\"model\": \"x\"}").unwrap();
    assert_eq!(name(), (PathBuf::from(".factory/hooks.json"), HookFileLayout::Bare));
    // A new hooks.json would disable these settings.
    std::fs::write(home.join(".factory/settings.json"), "{\"hooks\": {}}").unwrap();
    assert_eq!(name(), (PathBuf::from(".factory/settings.json"), HookFileLayout::Groups));
    std::fs::write(home.join(".factory/hooks/hooks.json"), "{}").unwrap();
    assert_eq!(name(), (PathBuf::from(".factory/hooks/hooks.json"), HookFileLayout::Bare));
    std::fs::write(home.join(".factory/hooks.json"), "{}").unwrap();
    assert_eq!(name(), (PathBuf::from(".factory/hooks.json"), HookFileLayout::Bare));
}

#[test]
fn codex_trust_records_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let world = world(&home);
    let target = InstallTarget::locate(Host::Codex, InstallScope::User, &world, &home).unwrap();
    apply(&plan_install(&target, &absolute_program()).unwrap()).unwrap();
    let found = load_wiring(&target).unwrap();
    assert_eq!(read_trust(&target, &found, &world), HostTrust::No);
    let hashes = |only: usize| -> String {
        found.entries.iter().take(only).map(|found| trust::codex_trust_record(&target, found)).collect()
    };
    std::fs::write(home.join(".codex/config.toml"), hashes(1)).unwrap();
    assert_eq!(read_trust(&target, &found, &world), HostTrust::Partly(1, found.entries.len()));
    std::fs::write(home.join(".codex/config.toml"), hashes(usize::MAX)).unwrap();
    assert_eq!(read_trust(&target, &found, &world), HostTrust::Yes);
    // An entry with another command has another hash.
    apply(&plan_install(&target, &EntryProgram::Absolute("/elsewhere/hookwright".into())).unwrap()).unwrap();
    assert_eq!(read_trust(&target, &load_wiring(&target).unwrap(), &world), HostTrust::No);
}

fn layout() -> impl Strategy<Value = fn(&Value) -> String> {
    let compact: fn(&Value) -> String = |value| value.to_string();
    let spaced: fn(&Value) -> String = |value| value.to_string().replace(',', " , ");
    let pretty: fn(&Value) -> String = |value| format!("{value:#}\n");
    let windows: fn(&Value) -> String = |value| format!("\u{feff}{}", format!("{value:#}").replace('\n', "\r\n"));
    let tabs: fn(&Value) -> String = |value| format!("{value:#}").replace("  ", "\t");
    let commented: fn(&Value) -> String = |value| {
        format!("// top\n{}\n// end\n", format!("{value:#}").replace("],", "], // c").replace("}\n", "} /* d */\n"))
    };
    let trailing: fn(&Value) -> String = |value| {
        let text = format!("{value:#}\n");
        text.replace("\"\n", "\",\n").replace("]\n", "],\n")
    };
    prop::sample::select(vec![compact, spaced, pretty, windows, tabs, commented, trailing])
}

fn settings(host: Host) -> impl Strategy<Value = Value> {
    let names: Vec<&'static str> = host.info().events.iter().map(|event| event.name).chain(["mine"]).collect();
    let hook = json!({"type": "command", "command": "./mine.sh"});
    let group = prop::sample::select(vec![
        json!({"hooks": [hook]}),
        json!({"matcher": "Bash", "hooks": [hook, hook]}),
        json!({"hooks": []}),
        hook,
    ]);
    let events = prop::collection::hash_map(prop::sample::select(names), prop::collection::vec(group, 0..3), 0..4);
    let section = events.prop_map(|events| json!(events));
    let shape = target(host, InstallScope::User).layout;
    (prop::option::of(section), any::<bool>(), any::<bool>()).prop_map(move |(section, before, after)| {
        let mut root = serde_json::Map::new();
        if before {
            root.insert("version".into(), json!(1));
        }
        match (shape, section) {
            (HookFileLayout::Bare, Some(Value::Object(events))) => root.extend(events),
            (HookFileLayout::Named, Some(section)) => drop(root.insert("other".into(), section)),
            (_, Some(section)) => drop(root.insert("hooks".into(), section)),
            (_, None) => {}
        }
        if after {
            root.insert("model".into(), json!({"a": ["x"]}));
        }
        Value::Object(root)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn uninstall_restores_the_original_text(
        (host, settings) in prop::sample::select(json_hosts().collect::<Vec<_>>()).prop_flat_map(|host| (Just(host), settings(host))),
        layout in layout(),
    ) {
        let target = target(host, InstallScope::Project);
        let text = layout(&settings);
        let Ok(with) = with_entries(&target, &text, &EntryProgram::OnPath) else { return Err(TestCaseError::fail(text)) };
        prop_assert!(read_wiring(&target, &with).unwrap().is_complete());
        prop_assert_eq!(with_entries(&target, &with, &EntryProgram::OnPath).unwrap(), with.clone());
        let other = with_entries(&target, &with, &absolute_program()).unwrap();
        prop_assert!(read_wiring(&target, &other).unwrap().is_complete());
        prop_assert_eq!(without_entries(&target, &other).unwrap(), Some(text.clone()));
        prop_assert_eq!(without_entries(&target, &with).unwrap(), Some(text));
    }
}
