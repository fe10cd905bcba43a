//! The settings that the program reads, merged from all layers, typed and with defaults.
//!
//! Hooks are not included: they go to the engine's registry. `setting_table.rs` lists the settings, `project_rule.rs`
//! says what a project may set, `layer_reader.rs` reads one layer, `merge.rs` merges layers and `typed_settings.rs`
//! converts the result to types.

mod catalogue;
mod layer_reader;
mod merge;
mod misplaced_names;
mod project_rule;
pub(crate) mod setting_lookup;
mod setting_table;
mod typed_settings;

use std::path::PathBuf;

use hookwright_hooks::EnvRedaction;
use serde_json::{Map, Value};

pub use catalogue::{KnownSetting, known_setting, known_settings};
pub use layer_reader::IneffectiveSetting;
pub(crate) use layer_reader::{LayerFindings, read_layer};
pub use merge::overlay;
pub(crate) use project_rule::OuterSettings;
pub(crate) use setting_table::{listed_names, listed_values};
pub(crate) use typed_settings::{DottedLookup, redaction_rules};

use crate::subagents::AgentSettings;

/// All settings except the hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub general: GeneralSettings,
    /// The model and its limits.
    pub model: ModelSettings,
    /// Which tools are available, and which run without asking.
    pub tools: ToolSettings,
    /// The context files and directories for the model.
    pub context: ContextSettings,
    /// The terminal user interface.
    pub ui: UiSettings,
    /// Trust, redaction and protected paths.
    pub security: SecuritySettings,
    /// What is recorded, and where it is sent.
    pub telemetry: TelemetrySettings,
    /// The record of what hooks decide.
    pub journal: JournalSettings,
    /// Changes to sub-agents.
    pub agents: AgentSettings,
    /// Which skills are available.
    pub skills: SkillSettings,
    /// MCP servers by name, as written; [`LoadedConfig::mcp_servers`](crate::LoadedConfig::mcp_servers) returns those
    /// in use.
    pub mcp_servers: Map<String, Value>,
    /// Which MCP servers may be used.
    pub mcp: McpSettings,
    /// Known settings in the files that have no effect here.
    pub ineffective_settings: Vec<IneffectiveSetting>,
    /// Everything above and all other keys, merged, with variables filled in; without the hooks.
    pub raw: Map<String, Value>,
}

/// General behaviour of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralSettings {
    /// Which tool calls run without asking.
    pub approval_mode: ApprovalMode,
    /// The editor that opens files.
    pub preferred_editor: Option<String>,
    /// Whether the prompt editor uses vi's keys.
    pub vim_mode: bool,
    /// Whether files are saved before tools change them.
    pub checkpointing: bool,
    /// Directory for plans inside of the project; a directory outside of it if not set.
    pub plan_directory: Option<String>,
    /// Most attempts for one request; the model client's default if not set.
    pub max_attempts: Option<u32>,
}

impl Default for GeneralSettings {
    fn default() -> Self {
        GeneralSettings {
            approval_mode: Default::default(),
            preferred_editor: Default::default(),
            vim_mode: Default::default(),
            checkpointing: true,
            plan_directory: Default::default(),
            max_attempts: Default::default(),
        }
    }
}

/// Which tool calls run without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Read-only calls run without asking.
    #[default]
    Default,
    /// Read-only calls and edits run without asking.
    AutoEdit,
    /// All calls. Only a command-line flag can set it, no settings file.
    Yolo,
    /// Read-only calls; all others are refused.
    Plan,
}

impl ApprovalMode {
    /// All modes, in the order in which a user cycles through them.
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Plan, ApprovalMode::Yolo];

    /// Returns its name on the command line and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalMode::Default => "default",
            ApprovalMode::AutoEdit => "auto_edit",
            ApprovalMode::Yolo => "yolo",
            ApprovalMode::Plan => "plan",
        }
    }
}

/// Default of `model.maxPromptTurns`: hours of work on one prompt.
pub(crate) const MAX_PROMPT_TURNS: u32 = 500;

/// The model and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// The model; the program's default if not set.
    pub name: Option<String>,
    /// Most turns in a session.
    pub max_session_turns: Option<u32>,
    /// Most requests for one prompt, because a model that varies its calls a little would never stop.
    pub max_prompt_turns: Option<u32>,
    /// Share of the context window at which history is compressed.
    pub compression_threshold: f64,
    /// Number of tokens at which history is compressed, if that is reached first.
    pub compression_target: Option<u32>,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
    /// Prices of models, by prefix of their names.
    pub prices: Vec<(String, ModelPrice)>,
}

/// Prices of a model per million tokens, in the user's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelPrice {
    /// Price of input tokens.
    pub input: f64,
    /// Price of cached input tokens.
    pub cached: f64,
    /// Price of output tokens, including thoughts.
    pub output: f64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        ModelSettings {
            name: None,
            max_session_turns: None,
            max_prompt_turns: Some(MAX_PROMPT_TURNS),
            compression_threshold: 0.5,
            compression_target: None,
            loop_detection: true,
            prices: Vec::new(),
        }
    }
}

/// Which tools are available, and which run without asking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
    /// The only built-in tools, if set.
    pub core: Option<Vec<String>>,
    /// Tools that run without asking.
    pub allowed: Vec<String>,
    /// Tools that are not available.
    pub exclude: Vec<String>,
    /// A command that lists additional tools.
    pub discovery_command: Option<String>,
    /// A command that calls one of them.
    pub call_command: Option<String>,
    /// How shell commands run.
    pub shell: ShellCommandSettings,
}

/// How shell commands run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommandSettings {
    /// Whether they may have a terminal, in front ends that can show one.
    pub interactive: bool,
    /// Whether their output is shown in colour.
    pub colour: bool,
    /// The pager for long texts.
    pub pager: Option<String>,
    /// Seconds without output after which a command is killed; 0 is never.
    pub inactivity_timeout_secs: Option<u64>,
}

impl Default for ShellCommandSettings {
    fn default() -> Self {
        ShellCommandSettings { interactive: true, colour: true, pager: None, inactivity_timeout_secs: None }
    }
}

/// Which MCP servers may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpSettings {
    /// The only servers that may be used, if set.
    pub allowed: Option<Vec<String>>,
    /// Servers that may not be used.
    pub excluded: Vec<String>,
}

/// The context files and directories for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextSettings {
    /// Names of context files.
    pub file_names: Vec<String>,
    /// Names that are also read outside of the project, where credentials may lie: those that the user chose, and
    /// note names.
    pub outside_file_names: Vec<String>,
    /// Names of files that are notes to the model wherever they are, so that tools may write them beside guards:
    /// names that the user or the system chose and that end in `.md`.
    pub note_names: Vec<String>,
    /// Additional directories beside the project.
    pub include_directories: Vec<String>,
    /// Whether files that git ignores are left out.
    pub respect_git_ignore: bool,
    /// Whether files that `.geminiignore` names are left out.
    pub respect_gemini_ignore: bool,
}

impl Default for ContextSettings {
    fn default() -> Self {
        let file_names = vec![DEFAULT_CONTEXT_FILE.to_owned()];
        ContextSettings {
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

/// The terminal user interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UiSettings {
    /// Name of the colour theme.
    pub theme: Option<String>,
    /// Whether the banner is hidden at the start.
    pub hide_banner: bool,
    /// Whether the tips are hidden at the start.
    pub hide_tips: bool,
    /// Whether the status line is hidden.
    pub hide_footer: bool,
    /// Whether the terminal's title is left unchanged.
    pub hide_window_title: bool,
    /// Whether the terminal's title shows what the agent does.
    pub show_status_in_title: bool,
    /// How the user is notified that the agent waits.
    pub notifications: NotificationMode,
    /// Whether plain text is printed for a screen reader.
    pub screen_reader: bool,
}

/// How the user is notified that the agent waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationMode {
    /// The user is not notified.
    #[default]
    Off,
    /// The terminal's bell.
    Bell,
    /// A desktop notification, if the terminal supports it.
    Desktop,
}

/// Trust, redaction and protected paths.
#[derive(Clone, Debug, PartialEq)]
pub struct SecuritySettings {
    /// Whether a project's files are loaded only in folders that the user trusts.
    pub folder_trust: bool,
    /// What happens to a project's hook that is new or has changed.
    pub hook_review: HookReviewMode,
    /// Variables to hide from hooks and tools, if any.
    pub redaction: Option<EnvRedaction>,
    /// Variables that tools see even if they would be hidden.
    pub passed_variables: Vec<String>,
    /// The only authentication method, if one is enforced.
    pub enforced_auth_type: Option<String>,
    /// Whether the approval mode `yolo` is forbidden.
    pub disable_yolo_mode: bool,
    /// Globs of paths that no tool changes without asking; those after a `!` are exceptions.
    pub protected_paths: Vec<String>,
}

impl Default for SecuritySettings {
    fn default() -> Self {
        SecuritySettings {
            folder_trust: true,
            hook_review: HookReviewMode::Announce,
            redaction: None,
            passed_variables: Vec::new(),
            enforced_auth_type: None,
            disable_yolo_mode: false,
            protected_paths: Vec::new(),
        }
    }
}

/// What happens to a project's hook that is new or has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookReviewMode {
    /// It runs, and the user is notified.
    #[default]
    Announce,
    /// It waits until the user, who is asked, trusts it.
    Ask,
    /// It waits until the user trusts it.
    Block,
}

/// What is recorded, and where it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TelemetrySettings {
    /// Whether telemetry is recorded at all.
    pub enabled: bool,
    pub target: TelemetryTarget,
    /// Address of the OTLP receiver.
    pub otlp_endpoint: Option<String>,
    pub otlp_protocol: OtlpProtocol,
    /// File to write to instead of sending.
    pub outfile: Option<PathBuf>,
    /// Whether prompts are included.
    pub log_prompts: bool,
    /// Whether traces are included.
    pub traces: bool,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        TelemetrySettings {
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

/// Where telemetry is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TelemetryTarget {
    /// A collector or a file.
    #[default]
    Local,
    Gcp,
}

/// The record of what hooks decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSettings {
    /// Whether it is kept.
    pub enabled: bool,
    /// How much of arguments and output it has: `full`, `redacted` or `none`.
    pub content: String,
    /// The size in megabytes above which the oldest part is removed.
    pub max_mb: u64,
    /// The age in days above which a part is removed.
    pub keep_days: u64,
    /// Whether each line is forced to the disk at once.
    pub sync_every_line: bool,
}

impl Default for JournalSettings {
    fn default() -> Self {
        JournalSettings {
            enabled: true,
            content: "redacted".to_owned(),
            max_mb: 256,
            keep_days: 90,
            sync_every_line: false,
        }
    }
}

/// Which skills are available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSettings {
    /// Whether skills are available at all.
    pub enabled: bool,
    /// Names of disabled skills.
    pub disabled: Vec<String>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        SkillSettings { enabled: true, disabled: Vec::new() }
    }
}

/// Protocol for sending telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// gRPC, which this program does not speak; it sends JSON over HTTP instead.
    #[default]
    Grpc,
    /// JSON over HTTP: `http/json`, or `http`.
    HttpJson,
    /// Protobuf over HTTP: `http/protobuf`.
    HttpProtobuf,
}

#[cfg(test)]
mod tests;
