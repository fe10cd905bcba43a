//! The settings that the program reads, merged from all layers, typed and with their defaults.
//!
//! Hooks are not among them: those go to the engine's registry. What a file may say is `known.rs`; what a project may of it,
//! `by_project.rs`; how layers are laid over each other, `merge.rs`.

mod by_project;
mod known;
mod merge;

use std::path::PathBuf;

use hookwright_hooks::{Diagnostic, Redaction, Severity};
use serde_json::{Map, Value};

pub(crate) use by_project::Outer;
pub use known::WithoutEffect;
pub(crate) use known::{Findings, listed, listed_names, read_layer};
pub(crate) use merge::lay_over;

use crate::subagents::AgentSettings;
use crate::world::World;

/// All settings but the hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How the program behaves.
    pub general: General,
    /// The model and its limits.
    pub model: Model,
    /// Which tools there are and which run unasked.
    pub tools: Tools,
    /// What the model is told about the project.
    pub context: Context,
    /// The screen.
    pub ui: Ui,
    /// What is guarded.
    pub security: Security,
    /// What is recorded.
    pub telemetry: Telemetry,
    /// What is changed about sub-agents.
    pub agents: AgentSettings,
    /// Which skills are offered.
    pub skills: SkillSettings,
    /// MCP servers by name, as written; [`Loaded::mcp_servers`](crate::Loaded::mcp_servers) has those that count.
    pub mcp_servers: Map<String, Value>,
    /// Which MCP servers may be used.
    pub mcp: Mcp,
    /// What the files set that is understood and changes nothing here.
    pub without_effect: Vec<WithoutEffect>,
    /// Everything above and all other keys, merged, with variables filled in; without the hooks.
    pub raw: Map<String, Value>,
}

/// How the program behaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct General {
    /// Which tool calls run unasked.
    pub approval_mode: ApprovalMode,
    /// The editor to open files with.
    pub preferred_editor: Option<String>,
    /// Whether the composer has vi's keys.
    pub vim_mode: bool,
    /// Whether files are saved before tools change them.
    pub checkpointing: bool,
    /// Where plans go, inside the project; elsewhere if not set.
    pub plan_directory: Option<String>,
    /// How often a request is tried; the model's own default if not set.
    pub max_attempts: Option<u32>,
}

/// Which tool calls run unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Those that only look.
    #[default]
    Default,
    /// Edits too.
    AutoEdit,
    /// All of them. A flag's privilege: no settings file can ask for it.
    Yolo,
    /// Those that only look; others do not run at all.
    Plan,
}

impl ApprovalMode {
    /// Every mode, in the order in which a user steps through them.
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan, ApprovalMode::Yolo];

    /// Its name on the command line and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalMode::Default => "default",
            ApprovalMode::AutoEdit => "auto_edit",
            ApprovalMode::Yolo => "yolo",
            ApprovalMode::Plan => "plan",
        }
    }
}

/// `model.maxPromptTurns` where nobody says otherwise: hours of work on one prompt.
pub(crate) const MAX_PROMPT_TURNS: u32 = 500;

/// The model and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The model; the program's default if not set.
    pub name: Option<String>,
    /// How many turns a session may have.
    pub max_session_turns: Option<u32>,
    /// How many requests one prompt may cost; calls that vary a little could go on for ever.
    pub max_prompt_turns: Option<u32>,
    /// The share of the context window at which history is compressed.
    pub compression_threshold: f64,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            name: None,
            max_session_turns: None,
            max_prompt_turns: Some(MAX_PROMPT_TURNS),
            compression_threshold: 0.5,
            loop_detection: true,
        }
    }
}

/// Which tools there are and which run unasked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools {
    /// The only built-in tools there are, if set.
    pub core: Option<Vec<String>>,
    /// Tools that run unasked.
    pub allowed: Vec<String>,
    /// Tools there are not.
    pub exclude: Vec<String>,
    /// A command that prints tools.
    pub discovery_command: Option<String>,
    /// A command that calls one of those.
    pub call_command: Option<String>,
}

/// Which MCP servers may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mcp {
    /// The only ones, if set.
    pub allowed: Option<Vec<String>>,
    /// Not these.
    pub excluded: Vec<String>,
}

/// What the model is told about the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// Names of context files.
    pub file_names: Vec<String>,
    /// Those of them that count outside of the project, where credentials lie too: the user's own choice, and notes.
    pub outside_file_names: Vec<String>,
    /// Those of them that are only notes to the model wherever they are, so that tools may write them beside guards: names
    /// of the user's or the system's own choice that end in `.md`.
    pub note_names: Vec<String>,
    /// Directories beside the project.
    pub include_directories: Vec<String>,
    /// Whether files that git ignores are left out.
    pub respect_git_ignore: bool,
    /// Whether files that `.geminiignore` names are left out.
    pub respect_gemini_ignore: bool,
}

impl Default for Context {
    fn default() -> Self {
        let file_names = vec![DEFAULT_CONTEXT_FILE.to_owned()];
        Context {
            outside_file_names: file_names.clone(),
            note_names: file_names.clone(),
            file_names,
            include_directories: Vec::new(),
            respect_git_ignore: true,
            respect_gemini_ignore: true,
        }
    }
}

const DEFAULT_CONTEXT_FILE: &str = "GEMINI.md";

/// The screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ui {
    /// The colours.
    pub theme: Option<String>,
    /// No banner at the start.
    pub hide_banner: bool,
    /// No tips at the start.
    pub hide_tips: bool,
    /// No line at the foot.
    pub hide_footer: bool,
    /// Plain text for a screen reader.
    pub screen_reader: bool,
}

/// What is guarded.
#[derive(Clone, Debug, PartialEq)]
pub struct Security {
    /// Whether a project's files count only in folders the user trusts.
    pub folder_trust: bool,
    /// What happens to a project hook that is new or has changed.
    pub hook_review: HookReview,
    /// Which variables hooks and tools may not see, if any are kept from them.
    pub redaction: Option<Redaction>,
    /// Variables that tools see whatever else is kept from them.
    pub passed_on: Vec<String>,
    /// Whether running everything unasked is forbidden.
    pub disable_yolo_mode: bool,
    /// Globs of paths that no tool changes unasked; behind a `!`, of those that one may.
    pub protected_paths: Vec<String>,
}

impl Default for Security {
    fn default() -> Self {
        Security {
            folder_trust: true,
            hook_review: HookReview::Announce,
            redaction: None,
            passed_on: Vec::new(),
            disable_yolo_mode: false,
            protected_paths: Vec::new(),
        }
    }
}

/// What happens to a project hook that is new or has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookReview {
    /// It runs, and the user is told.
    #[default]
    Announce,
    /// It waits until the user, who is asked, trusts it.
    Ask,
    /// It waits until the user trusts it.
    Block,
}

/// What is recorded, and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// Whether anything is.
    pub enabled: bool,
    /// Who receives it.
    pub target: TelemetryTarget,
    /// The receiver's address.
    pub otlp_endpoint: Option<String>,
    /// How it is sent.
    pub otlp_protocol: OtlpProtocol,
    /// The file that is written instead.
    pub outfile: Option<PathBuf>,
    /// Whether prompts are part of it.
    pub log_prompts: bool,
    /// Whether traces are part of it.
    pub traces: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Telemetry {
            enabled: false,
            target: TelemetryTarget::Local,
            otlp_endpoint: None,
            otlp_protocol: OtlpProtocol::Grpc,
            outfile: None,
            log_prompts: true,
            traces: false,
        }
    }
}

/// Who receives telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TelemetryTarget {
    /// A collector or a file.
    #[default]
    Local,
    /// Google Cloud.
    Gcp,
}

/// Which skills are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSettings {
    /// Whether any are.
    pub enabled: bool,
    /// Names of those that are not.
    pub disabled: Vec<String>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        SkillSettings { enabled: true, disabled: Vec::new() }
    }
}

/// How telemetry is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// gRPC.
    #[default]
    Grpc,
    /// HTTP.
    Http,
}

impl Settings {
    /// Types a merged map. Its known keys have been checked, so what is missing here was not set.
    pub(crate) fn new(raw: Map<String, Value>, world: &World, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let get = Layered(&raw);
        Settings {
            general: General {
                approval_mode: match get.text("general.defaultApprovalMode") {
                    Some("auto_edit") => ApprovalMode::AutoEdit,
                    Some("plan") => ApprovalMode::Plan,
                    _ => ApprovalMode::Default,
                },
                preferred_editor: get.string("general.preferredEditor"),
                vim_mode: get.flag("general.vimMode", false),
                checkpointing: get.flag("general.checkpointing.enabled", false),
                plan_directory: get.string("general.plan.directory"),
                max_attempts: get.count("general.maxAttempts").map(|count| count.max(1)),
            },
            model: model(&get, world),
            tools: Tools {
                core: get.at("tools.core").map(strings),
                allowed: get.strings("tools.allowed"),
                exclude: get.strings("tools.exclude"),
                discovery_command: get.string("tools.discoveryCommand"),
                call_command: get.string("tools.callCommand"),
            },
            context: context(&get),
            ui: Ui {
                theme: get.string("ui.theme"),
                hide_banner: get.flag("ui.hideBanner", false),
                hide_tips: get.flag("ui.hideTips", false),
                hide_footer: get.flag("ui.hideFooter", false),
                screen_reader: get.flag("ui.accessibility.screenReader", false),
            },
            security: security(&get),
            telemetry: telemetry(&get, world, diagnostics),
            agents: AgentSettings {
                enabled: get.flag("experimental.enableAgents", true),
                overrides: get.at("agents.overrides").and_then(Value::as_object).cloned().unwrap_or_default(),
            },
            skills: SkillSettings {
                enabled: get.flag("skills.enabled", true) && get.flag("admin.skills.enabled", true),
                disabled: get.strings("skills.disabled"),
            },
            mcp_servers: get.at("mcpServers").and_then(Value::as_object).cloned().unwrap_or_default(),
            mcp: Mcp { allowed: get.at("mcp.allowed").map(strings), excluded: get.strings("mcp.excluded") },
            without_effect: Vec::new(),
            raw,
        }
    }
}

fn model(get: &Layered<'_>, world: &World) -> Model {
    let default = Model::default();
    Model {
        name: world.filled("GEMINI_MODEL").map(str::to_owned).or_else(|| get.string("model.name")),
        // Anything below zero means no limit.
        max_session_turns: get.count("model.maxSessionTurns"),
        max_prompt_turns: match get.at("model.maxPromptTurns") {
            None => default.max_prompt_turns,
            Some(_) => get.count("model.maxPromptTurns"),
        },
        compression_threshold: get.number("model.compressionThreshold").unwrap_or(default.compression_threshold),
        loop_detection: !get.flag("model.disableLoopDetection", false),
    }
}

impl Context {
    /// Keeps names that only the project chose from finding anything but notes outside of it, and from counting as notes
    /// beside guards.
    pub(crate) fn confine(&mut self, outer: &Layered<'_>) {
        let own = context(outer);
        self.outside_file_names.retain(|name| own.file_names.contains(name) || is_note(name));
        self.note_names = own.note_names;
    }
}

fn is_note(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

fn context(get: &Layered<'_>) -> Context {
    let mut file_names = get.at("context.fileName").map(strings).unwrap_or_default();
    file_names.retain(|name| !name.trim().is_empty());
    // Other names come on top of the usual one.
    if !file_names.iter().any(|name| name == DEFAULT_CONTEXT_FILE) {
        file_names.push(DEFAULT_CONTEXT_FILE.to_owned());
    }
    Context {
        outside_file_names: file_names.clone(),
        note_names: file_names.iter().filter(|name| is_note(name)).cloned().collect(),
        file_names,
        include_directories: get.strings("context.includeDirectories"),
        respect_git_ignore: get.flag("context.fileFiltering.respectGitIgnore", true),
        respect_gemini_ignore: get.flag("context.fileFiltering.respectGeminiIgnore", true),
    }
}

fn security(get: &Layered<'_>) -> Security {
    Security {
        folder_trust: get.flag("security.folderTrust.enabled", true),
        hook_review: match get.text("security.hooks.review") {
            Some("block") => HookReview::Block,
            Some("ask") => HookReview::Ask,
            _ => HookReview::Announce,
        },
        redaction: redaction(get),
        passed_on: get.strings("security.environmentVariableRedaction.allowed"),
        disable_yolo_mode: get.flag("security.disableYoloMode", false),
        protected_paths: get.strings("security.protectedPaths"),
    }
}

/// What is kept from hooks.
pub(crate) fn redaction(get: &Layered<'_>) -> Option<Redaction> {
    get.flag("security.environmentVariableRedaction.enabled", false).then(|| Redaction {
        allowed: get.strings("security.environmentVariableRedaction.allowed"),
        blocked: get.strings("security.environmentVariableRedaction.blocked"),
    })
}

/// The environment's word goes over the files'.
fn telemetry(get: &Layered<'_>, world: &World, diagnostics: &mut Vec<Diagnostic>) -> Telemetry {
    let flag = |variable: &str, key: &str, default| match world.filled(variable) {
        Some(value) => matches!(value, "true" | "1"),
        None => get.flag(key, default),
    };
    let mut choice = |variable: &str, key: &str, known: [&'static str; 2]| {
        let set = world.filled(variable);
        if let Some(value) = set.filter(|value| !known.contains(value)) {
            let text = format!("`{variable}` is `{value}`; it is ignored");
            let wrong = Diagnostic::about_file(Severity::Warning, variable.as_ref(), text);
            diagnostics.push(wrong.expected(format!("expected {} or {}", known[0], known[1])));
        }
        set.filter(|value| known.contains(value)).or(get.text(key)).map(str::to_owned)
    };
    let default = Telemetry::default();
    let target = choice("GEMINI_TELEMETRY_TARGET", "telemetry.target", ["local", "gcp"]);
    let protocol = choice("GEMINI_TELEMETRY_OTLP_PROTOCOL", "telemetry.otlpProtocol", ["grpc", "http"]);
    let endpoint = world.filled("GEMINI_TELEMETRY_OTLP_ENDPOINT").or(world.filled("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let outfile = world.filled("GEMINI_TELEMETRY_OUTFILE").or(get.text("telemetry.outfile"));
    Telemetry {
        enabled: flag("GEMINI_TELEMETRY_ENABLED", "telemetry.enabled", default.enabled),
        target: if target.as_deref() == Some("gcp") { TelemetryTarget::Gcp } else { TelemetryTarget::Local },
        otlp_endpoint: endpoint.or(get.text("telemetry.otlpEndpoint")).map(str::to_owned),
        otlp_protocol: if protocol.as_deref() == Some("http") { OtlpProtocol::Http } else { OtlpProtocol::Grpc },
        outfile: outfile.filter(|path| !path.is_empty()).map(|path| world.cwd.join(path)),
        log_prompts: flag("GEMINI_TELEMETRY_LOG_PROMPTS", "telemetry.logPrompts", default.log_prompts),
        traces: flag("GEMINI_TELEMETRY_TRACES_ENABLED", "telemetry.traces", default.traces),
    }
}

/// Reads values out of a merged map by their dotted keys.
pub(crate) struct Layered<'m>(pub(crate) &'m Map<String, Value>);

impl<'m> Layered<'m> {
    pub(crate) fn at(&self, key: &str) -> Option<&'m Value> {
        let mut steps = key.split('.');
        let first = self.0.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step)).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Option<&'m str> {
        self.at(key)?.as_str()
    }

    fn string(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    pub(crate) fn flag(&self, key: &str, default: bool) -> bool {
        self.at(key).and_then(Value::as_bool).unwrap_or(default)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.at(key)?.as_f64()
    }

    fn count(&self, key: &str) -> Option<u32> {
        u32::try_from(self.at(key)?.as_i64()?).ok()
    }

    pub(crate) fn strings(&self, key: &str) -> Vec<String> {
        self.at(key).map(strings).unwrap_or_default()
    }
}

/// A list of strings, or a single one.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
