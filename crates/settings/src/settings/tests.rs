use std::path::Path;

use hookwright_hooks::{Diagnostic, Source, SourceText};
use serde_json::json;

use super::*;
use crate::json::parse_object;
use crate::process_env::ProcessEnv;

/// Reads layers, lowest first, and merges them.
fn merge_texts(layers: &[(Source, &str)], world: &ProcessEnv) -> (Settings, Vec<Diagnostic>) {
    let mut raw = Map::new();
    let mut found = LayerFindings::default();
    for (source, text) in layers {
        let place = SourceText::new(Path::new("settings.json"), text);
        let root = parse_object(text, &place).unwrap().unwrap();
        let outer = OuterSettings { settings: &raw.clone(), root: Path::new("/") };
        overlay(&mut raw, read_layer(&root, source, &place, world, &outer, &mut found));
    }
    let LayerFindings { mut diagnostics, ineffective_settings: without_effect, .. } = found;
    let settings = Settings { ineffective_settings: without_effect, ..Settings::new(raw, world, &mut diagnostics) };
    (settings, diagnostics)
}

fn process_env(env: &[(&str, &str)]) -> ProcessEnv {
    ProcessEnv::new(env.iter().map(|(name, value)| (name.into(), value.into())).collect(), "/here".into())
}

#[test]
fn nothing_set_means_the_defaults() {
    let (settings, diagnostics) = merge_texts(&[], &process_env(&[]));
    assert_eq!(settings, Settings::default());
    assert!(diagnostics.is_empty());
}

#[test]
fn the_project_goes_over_the_user_over_the_system() {
    let layers = [
        (
            Source::System,
            r#"{"model": {"name": "s", "maxSessionTurns": 3}, "tools": {"exclude": ["a"], "allowed": ["x"]}}"#,
        ),
        (
            Source::User,
            r#"{"model": {"name": "u", "maxSessionTurns": -1}, "tools": {"exclude": ["b"], "allowed": ["y"]}}"#,
        ),
        (
            Source::Project,
            r#"{"model": {"name": "p"}, "tools": {"exclude": ["a", "c"]}, "mcpServers": {"m": {"command": "$CMD"}}}"#,
        ),
    ];
    let (settings, diagnostics) = merge_texts(&layers, &process_env(&[("CMD", "run")]));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(settings.model.name.as_deref(), Some("p"));
    assert_eq!(settings.model.max_session_turns, None);
    assert_eq!(settings.tools.exclude, ["a", "b", "c"]);
    assert_eq!(settings.tools.allowed, ["y"]);
    assert_eq!(settings.mcp_servers["m"], json!({"command": "run"}));
}

#[test]
fn wrong_types_are_reported_with_their_place_and_left_out() {
    let text = "{\n  \"model\": { \"name\": 7, \"compressionThreshold\": 2 },\n  \"ui\": [],\n  \"security\": { \"hooks\": { \"review\": \"maybe\" } },\n  \"unknown\": { \"kept\": true }\n}";
    let (settings, diagnostics) = merge_texts(&[(Source::User, text)], &process_env(&[]));
    let said: Vec<_> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "settings.json:2:22: error: `model.name` should be a string, not a number; it is ignored; expected a string",
            "settings.json:2:49: error: `model.compressionThreshold` should be a number from 0 to 1, not 2; it is ignored; expected a number from 0 to 1",
            "settings.json:3:9: error: `ui` should be an object, not an array; it is ignored; expected an object",
            "settings.json:4:38: error: `security.hooks.review` should be \"announce\" or \"ask\" or \"block\", not \"maybe\"; it is ignored; expected \"announce\" or \"ask\" or \"block\"",
        ]
    );
    assert_eq!(settings.model, ModelSettings::default());
    assert_eq!(settings.raw["unknown"], json!({"kept": true}));
}

#[test]
fn a_project_cannot_open_its_own_gates() {
    let user = r#"{"security": {"hooks": {"review": "block"}, "environmentVariableRedaction": {"enabled": true}}}"#;
    let project = r#"{"security": {"hooks": {"review": "announce"}, "folderTrust": {"enabled": false},
        "environmentVariableRedaction": {"enabled": false, "allowed": ["MY_TOKEN"], "blocked": ["X"]}}}"#;
    let (settings, diagnostics) = merge_texts(&[(Source::User, user), (Source::Project, project)], &process_env(&[]));
    assert_eq!(settings.security.hook_review, HookReviewMode::Block);
    assert!(settings.security.folder_trust);
    assert_eq!(settings.security.redaction, Some(EnvRedaction { allowed: vec![], blocked: vec!["X".into()] }));
    assert_eq!(diagnostics.len(), 4, "{diagnostics:?}");
    assert!(diagnostics.iter().all(|wrong| wrong.message.starts_with("a project can't ")));
}

#[test]
fn duplicate_key_in_a_section_is_reported_with_its_position() {
    let text = r#"{"tools": {"exclude": ["a"], "exclude": []}, "security": {"folderTrust": {"enabled": true, "enabled": false}}}"#;
    let (_, diagnostics) = merge_texts(&[(Source::User, text)], &process_env(&[]));
    let told: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("1:12") && told[0].contains("`exclude` appears twice in tools"), "{told:?}");
    assert!(told[1].contains("`enabled` appears twice in security.folderTrust"), "{told:?}");
}

#[test]
fn near_misses_are_pointed_out_and_strangers_are_not() {
    let text =
        r#"{"hook": {}, "Model": {}, "telemtry": {}, "ide": {}, "general": {"vimmode": true, "devtools": true}}"#;
    let (_, diagnostics) = merge_texts(&[(Source::User, text)], &process_env(&[]));
    let help: Vec<_> = diagnostics.iter().filter_map(|wrong| wrong.help.as_deref()).collect();
    assert_eq!(
        help,
        ["did you mean `hooks`?", "did you mean `model`?", "did you mean `telemetry`?", "did you mean `vimMode`?"]
    );
}

#[test]
fn the_environment_goes_over_the_files() {
    let text = r#"{"model": {"name": "m"}, "telemetry": {"enabled": false, "target": "gcp", "outfile": "a.log", "logPrompts": true}}"#;
    let env = [
        ("GEMINI_MODEL", "e"),
        ("GEMINI_TELEMETRY_ENABLED", "1"),
        ("GEMINI_TELEMETRY_TARGET", "moon"),
        ("GEMINI_TELEMETRY_OTLP_PROTOCOL", "http"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://o"),
        ("GEMINI_TELEMETRY_LOG_PROMPTS", "false"),
    ];
    let (settings, diagnostics) = merge_texts(&[(Source::User, text)], &process_env(&env));
    assert_eq!(settings.model.name.as_deref(), Some("e"));
    let expected = TelemetrySettings {
        enabled: true,
        target: TelemetryTarget::Gcp,
        otlp_endpoint: Some("http://o".into()),
        otlp_protocol: OtlpProtocol::HttpJson,
        outfile: Some("/here/a.log".into()),
        log_prompts: false,
        traces: false,
    };
    assert_eq!(settings.telemetry, expected);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn the_protocol_of_a_collector_has_the_names_of_opentelemetry_too() {
    let protocol = |setting: &str, env: &[(&str, &str)]| {
        let text = format!(r#"{{"telemetry": {{"otlpProtocol": "{setting}"}}}}"#);
        let (settings, diagnostics) = merge_texts(&[(Source::User, &text)], &process_env(env));
        (settings.telemetry.otlp_protocol, diagnostics.len())
    };
    let variable = "OTEL_EXPORTER_OTLP_PROTOCOL";
    assert_eq!(protocol("http/protobuf", &[]), (OtlpProtocol::HttpProtobuf, 0));
    assert_eq!(protocol("http/json", &[]), (OtlpProtocol::HttpJson, 0));
    assert_eq!(protocol("grpc", &[(variable, "http/protobuf")]), (OtlpProtocol::HttpProtobuf, 0));
    assert_eq!(protocol("http", &[(variable, "carrier-pigeon")]), (OtlpProtocol::HttpJson, 1));
    let both = [("GEMINI_TELEMETRY_OTLP_PROTOCOL", "http"), (variable, "http/protobuf")];
    assert_eq!(protocol("grpc", &both), (OtlpProtocol::HttpJson, 0));
}

#[test]
fn other_context_files_come_on_top_of_the_usual_one() {
    let (settings, _) = merge_texts(&[(Source::User, r#"{"context": {"fileName": "AGENTS.md"}}"#)], &process_env(&[]));
    assert_eq!(settings.context.file_names, ["AGENTS.md", "GEMINI.md"]);
}

#[test]
fn ineffective_settings_are_reported_without_errors() {
    let text = "{\n  \"general\": { \"preferredEditor\": \"vi\", \"checkpointing\": { \"enabled\": false }, \"maxAttempts\": 3 },\n  \"tools\": { \"callCommand\": \"x\" }\n}";
    let (settings, diagnostics) = merge_texts(&[(Source::User, text)], &process_env(&[]));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let said: Vec<_> = settings.ineffective_settings.iter().map(|setting| setting.diagnostic.to_string()).collect();
    assert_eq!(
        said,
        [
            "settings.json:2:35: warning: `general.preferredEditor` has no effect here: $VISUAL and $EDITOR name the editor",
            "settings.json:3:29: warning: `tools.callCommand` has no effect here: tools are built in, not called by a command",
        ]
    );
    assert_eq!(settings.general.max_attempts, Some(3));
}
