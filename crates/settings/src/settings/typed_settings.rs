//! Converts the merged map of all layers to typed settings. Wrong values have already been left out.

use hookwright_hooks::{Diagnostic, EnvRedaction, Severity};
use serde_json::{Map, Value};

use super::setting_table::OTLP_PROTOCOLS;
use super::{
    ApprovalMode, ContextSettings, DEFAULT_CONTEXT_FILE, GeneralSettings, HookReviewMode, JournalSettings, McpSettings,
    ModelPrice, ModelSettings, NotificationMode, OtlpProtocol, SecuritySettings, Settings, ShellCommandSettings,
    SkillSettings, TelemetrySettings, TelemetryTarget, ToolSettings, UiSettings,
};
use crate::process_env::ProcessEnv;
use crate::subagents::AgentSettings;

impl Settings {
    /// Converts a merged map. Its known keys have been checked, so a missing value was not set.
    pub(crate) fn new(raw: Map<String, Value>, world: &ProcessEnv, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let get = DottedLookup(&raw);
        Settings {
            general: GeneralSettings {
                approval_mode: match get.text("general.defaultApprovalMode") {
                    Some("auto_edit") => ApprovalMode::AutoEdit,
                    Some("plan") => ApprovalMode::Plan,
                    _ => ApprovalMode::Default,
                },
                preferred_editor: get.string("general.preferredEditor"),
                vim_mode: get.flag("general.vimMode", false),
                checkpointing: get.flag("general.checkpointing.enabled", true),
                plan_directory: get.string("general.plan.directory"),
                max_attempts: get.count("general.maxAttempts").map(|count| count.max(1)),
            },
            model: model_settings(&get, world),
            tools: ToolSettings {
                core: get.get("tools.core").map(string_list),
                allowed: get.strings("tools.allowed"),
                exclude: get.strings("tools.exclude"),
                discovery_command: get.string("tools.discoveryCommand"),
                call_command: get.string("tools.callCommand"),
                shell: ShellCommandSettings {
                    interactive: get.flag("tools.shell.enableInteractiveShell", true),
                    colour: get.flag("tools.shell.showColor", true),
                    pager: get.string("tools.shell.pager"),
                    inactivity_timeout_secs: get.get("tools.shell.inactivityTimeout").and_then(Value::as_u64),
                },
            },
            context: context_settings(&get),
            ui: UiSettings {
                theme: get.string("ui.theme"),
                hide_banner: get.flag("ui.hideBanner", false),
                hide_tips: get.flag("ui.hideTips", false),
                hide_footer: get.flag("ui.hideFooter", false),
                hide_window_title: get.flag("ui.hideWindowTitle", false),
                show_status_in_title: get.flag("ui.showStatusInTitle", false),
                notifications: match get.text("ui.notifications") {
                    Some("bell") => NotificationMode::Bell,
                    Some("desktop") => NotificationMode::Desktop,
                    _ => NotificationMode::Off,
                },
                screen_reader: get.flag("ui.accessibility.screenReader", false),
            },
            security: security_settings(&get),
            telemetry: telemetry_settings(&get, world, diagnostics),
            journal: journal_settings(&get),
            agents: AgentSettings {
                enabled: get.flag("experimental.enableAgents", true),
                overrides: get.get("agents.overrides").and_then(Value::as_object).cloned().unwrap_or_default(),
            },
            skills: SkillSettings {
                enabled: get.flag("skills.enabled", true) && get.flag("admin.skills.enabled", true),
                disabled: get.strings("skills.disabled"),
            },
            mcp_servers: get.get("mcpServers").and_then(Value::as_object).cloned().unwrap_or_default(),
            mcp: McpSettings {
                allowed: get.get("mcp.allowed").map(string_list),
                excluded: get.strings("mcp.excluded"),
            },
            ineffective_settings: Vec::new(),
            raw,
        }
    }
}

fn journal_settings(get: &DottedLookup<'_>) -> JournalSettings {
    let default = JournalSettings::default();
    let number = |key: &str| get.get(key).and_then(Value::as_u64);
    JournalSettings {
        enabled: get.flag("journal.enabled", default.enabled),
        content: get.string("journal.content").unwrap_or(default.content),
        max_mb: number("journal.maxMb").unwrap_or(default.max_mb),
        keep_days: number("journal.keepDays").unwrap_or(default.keep_days),
        sync_every_line: get.text("journal.sync") == Some("always"),
    }
}

fn model_settings(get: &DottedLookup<'_>, world: &ProcessEnv) -> ModelSettings {
    let default = ModelSettings::default();
    ModelSettings {
        name: world.non_empty_var("GEMINI_MODEL").map(str::to_owned).or_else(|| get.string("model.name")),
        // A negative number means no limit.
        max_session_turns: get.count("model.maxSessionTurns"),
        max_prompt_turns: match get.get("model.maxPromptTurns") {
            None => default.max_prompt_turns,
            Some(_) => get.count("model.maxPromptTurns"),
        },
        compression_target: get.count("contextCompression.targetTokenCount").filter(|target| *target > 0),
        compression_threshold: get.number("model.compressionThreshold").unwrap_or(default.compression_threshold),
        loop_detection: !get.flag("model.disableLoopDetection", false),
        prices: get.get("model.prices").and_then(Value::as_object).map(parse_prices).unwrap_or_default(),
    }
}

/// Parses the prices that are valid; cached input costs as much as input if no price is given.
fn parse_prices(entries: &Map<String, Value>) -> Vec<(String, ModelPrice)> {
    let price = |(name, entry): (&String, &Value)| {
        let number = |key: &str| entry.get(key)?.as_f64().filter(|price| price.is_finite() && *price >= 0.0);
        let input = number("input")?;
        let (cached, output) = (number("cached").unwrap_or(input), number("output")?);
        Some((name.clone(), ModelPrice { input, cached, output }))
    };
    entries.iter().filter_map(price).collect()
}

impl ContextSettings {
    /// Restricts names that only the project chose: outside of the project they match only Markdown files, and they
    /// do not count as notes beside guards.
    pub(crate) fn restrict_to_outer(&mut self, outer: &DottedLookup<'_>) {
        let own = context_settings(outer);
        self.outside_file_names.retain(|name| own.file_names.contains(name) || is_markdown(name));
        self.note_names = own.note_names;
    }
}

fn is_markdown(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

fn context_settings(get: &DottedLookup<'_>) -> ContextSettings {
    let mut file_names = get.get("context.fileName").map(string_list).unwrap_or_default();
    file_names.retain(|name| !name.trim().is_empty());
    // Configured names are used in addition to the default one.
    if !file_names.iter().any(|name| name == DEFAULT_CONTEXT_FILE) {
        file_names.push(DEFAULT_CONTEXT_FILE.to_owned());
    }
    ContextSettings {
        outside_file_names: file_names.clone(),
        note_names: file_names.iter().filter(|name| is_markdown(name)).cloned().collect(),
        file_names,
        include_directories: get.strings("context.includeDirectories"),
        respect_git_ignore: get.flag("context.fileFiltering.respectGitIgnore", true),
        respect_gemini_ignore: get.flag("context.fileFiltering.respectGeminiIgnore", true),
    }
}

fn security_settings(get: &DottedLookup<'_>) -> SecuritySettings {
    SecuritySettings {
        folder_trust: get.flag("security.folderTrust.enabled", true),
        hook_review: match get.text("security.hooks.review") {
            Some("block") => HookReviewMode::Block,
            Some("ask") => HookReviewMode::Ask,
            _ => HookReviewMode::Announce,
        },
        redaction: redaction_rules(get),
        passed_variables: get.strings("security.environmentVariableRedaction.allowed"),
        enforced_auth_type: get.text("security.auth.enforcedType").filter(|name| !name.is_empty()).map(str::to_owned),
        disable_yolo_mode: get.flag("security.disableYoloMode", false),
        protected_paths: get.strings("security.protectedPaths"),
    }
}

/// Returns which variables are hidden from hooks.
pub(crate) fn redaction_rules(get: &DottedLookup<'_>) -> Option<EnvRedaction> {
    get.flag("security.environmentVariableRedaction.enabled", false).then(|| EnvRedaction {
        allowed: get.strings("security.environmentVariableRedaction.allowed"),
        blocked: get.strings("security.environmentVariableRedaction.blocked"),
    })
}

/// Reads the telemetry settings; environment variables win over files.
fn telemetry_settings(
    get: &DottedLookup<'_>,
    world: &ProcessEnv,
    diagnostics: &mut Vec<Diagnostic>,
) -> TelemetrySettings {
    let flag = |variable: &str, key: &str, default| match world.non_empty_var(variable) {
        Some(value) => matches!(value, "true" | "1"),
        None => get.flag(key, default),
    };
    // The first variable with a known value counts, before the setting.
    let mut choice = |variables: &[&str], key: &str, known: &[&'static str]| {
        let mut chosen = None;
        for variable in variables {
            match world.non_empty_var(variable) {
                Some(value) if known.contains(&value) => chosen = chosen.or(Some(value)),
                Some(value) => {
                    let text = format!("`{variable}` has the unknown value `{value}`; it is ignored");
                    let wrong = Diagnostic::about_file(Severity::Warning, variable.as_ref(), text);
                    diagnostics.push(wrong.expected(format!("expected {}", known.join(" or "))));
                }
                None => {}
            }
        }
        chosen.or(get.text(key)).map(str::to_owned)
    };
    let default = TelemetrySettings::default();
    let target = choice(&["GEMINI_TELEMETRY_TARGET"], "telemetry.target", &["local", "gcp"]);
    let protocol_variables = ["GEMINI_TELEMETRY_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let protocol = choice(&protocol_variables, "telemetry.otlpProtocol", OTLP_PROTOCOLS);
    let endpoint =
        world.non_empty_var("GEMINI_TELEMETRY_OTLP_ENDPOINT").or(world.non_empty_var("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let outfile = world.non_empty_var("GEMINI_TELEMETRY_OUTFILE").or(get.text("telemetry.outfile"));
    TelemetrySettings {
        enabled: flag("GEMINI_TELEMETRY_ENABLED", "telemetry.enabled", default.enabled),
        target: if target.as_deref() == Some("gcp") { TelemetryTarget::Gcp } else { TelemetryTarget::Local },
        otlp_endpoint: endpoint.or(get.text("telemetry.otlpEndpoint")).map(str::to_owned),
        otlp_protocol: match protocol.as_deref() {
            Some("http" | "http/json") => OtlpProtocol::HttpJson,
            Some("http/protobuf") => OtlpProtocol::HttpProtobuf,
            _ => OtlpProtocol::Grpc,
        },
        outfile: outfile.filter(|path| !path.is_empty()).map(|path| world.cwd.join(path)),
        log_prompts: flag("GEMINI_TELEMETRY_LOG_PROMPTS", "telemetry.logPrompts", default.log_prompts),
        traces: flag("GEMINI_TELEMETRY_TRACES_ENABLED", "telemetry.traces", default.traces),
    }
}

/// Reads values from a merged map by their dotted keys.
pub(crate) struct DottedLookup<'m>(pub(crate) &'m Map<String, Value>);

impl<'m> DottedLookup<'m> {
    pub(crate) fn get(&self, key: &str) -> Option<&'m Value> {
        let mut steps = key.split('.');
        let first = self.0.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step)).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Option<&'m str> {
        self.get(key)?.as_str()
    }

    fn string(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.as_f64()
    }

    fn count(&self, key: &str) -> Option<u32> {
        u32::try_from(self.get(key)?.as_i64()?).ok()
    }

    pub(crate) fn strings(&self, key: &str) -> Vec<String> {
        self.get(key).map(string_list).unwrap_or_default()
    }
}

/// Reads a list of strings, or a single one.
fn string_list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}
