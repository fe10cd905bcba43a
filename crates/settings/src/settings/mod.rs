//! The settings that the program reads, merged from all layers, typed and with their defaults.
//!
//! Hooks are not among them: those go to the engine's registry. What a file may say is `setting_table.rs`; what a project may of it,
//! `project_rule.rs`; `read.rs` reads one layer by these, `merge.rs` lays it over another, `typed_settings.rs` types what comes of it.

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

/// All settings but the hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How the program behaves.
    pub general: GeneralSettings,
    /// The model and its limits.
    pub model: ModelSettings,
    /// Which tools there are and which run unasked.
    pub tools: ToolSettings,
    /// What the model is told about the project.
    pub context: ContextSettings,
    /// The screen.
    pub ui: UiSettings,
    /// What is guarded.
    pub security: SecuritySettings,
    /// What is recorded.
    pub telemetry: TelemetrySettings,
    /// What is changed about sub-agents.
    pub agents: AgentSettings,
    /// Which skills are offered.
    pub skills: SkillSettings,
    /// MCP servers by name, as written; [`LoadedConfig::mcp_servers`](crate::Loaded::mcp_servers) has those that count.
    pub mcp_servers: Map<String, Value>,
    /// Which MCP servers may be used.
    pub mcp: McpSettings,
    /// What the files set that is understood and changes nothing here.
    pub ineffective_settings: Vec<IneffectiveSetting>,
    /// Everything above and all other keys, merged, with variables filled in; without the hooks.
    pub raw: Map<String, Value>,
}

/// How the program behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralSettings {
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
pub struct ModelSettings {
    /// The model; the program's default if not set.
    pub name: Option<String>,
    /// How many turns a session may have.
    pub max_session_turns: Option<u32>,
    /// How many requests one prompt may cost; calls that vary a little could go on for ever.
    pub max_prompt_turns: Option<u32>,
    /// The share of the context window at which history is compressed.
    pub compression_threshold: f64,
    /// The tokens at which history is compressed, if that comes first.
    pub compression_target: Option<u32>,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
    /// What models cost, by the beginning of their names.
    pub prices: Vec<(String, ModelPrice)>,
}

/// What a model costs per million tokens, in whatever money the user counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelPrice {
    /// What it is sent.
    pub input: f64,
    /// What it is sent again, and has kept.
    pub cached: f64,
    /// What it answers, thoughts included.
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

/// Which tools there are and which run unasked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
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
    /// How commands run.
    pub shell: ShellCommandSettings,
}

/// How commands run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommandSettings {
    /// Whether they may have a terminal, where somebody shows it.
    pub interactive: bool,
    /// Whether what they draw is shown in colour.
    pub colour: bool,
    /// What shows long texts page by page.
    pub pager: Option<String>,
    /// After so many seconds without output a command is ended; 0 is never.
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
    /// The only ones, if set.
    pub allowed: Option<Vec<String>>,
    /// Not these.
    pub excluded: Vec<String>,
}

/// What the model is told about the project.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextSettings {
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

/// The screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UiSettings {
    /// The colours.
    pub theme: Option<String>,
    /// No banner at the start.
    pub hide_banner: bool,
    /// No tips at the start.
    pub hide_tips: bool,
    /// No line at the foot.
    pub hide_footer: bool,
    /// The terminal's title is left alone.
    pub hide_window_title: bool,
    /// The terminal's title says what the agent does.
    pub show_status_in_title: bool,
    /// How the user is told that the agent waits.
    pub notifications: NotificationMode,
    /// Plain text for a screen reader.
    pub screen_reader: bool,
}

/// How the user is told that the agent waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationMode {
    /// Not at all.
    #[default]
    Off,
    /// By the terminal's bell.
    Bell,
    /// On the desktop, where the terminal can.
    Desktop,
}

/// What is guarded.
#[derive(Clone, Debug, PartialEq)]
pub struct SecuritySettings {
    /// Whether a project's files count only in folders the user trusts.
    pub folder_trust: bool,
    /// What happens to a project hook that is new or has changed.
    pub hook_review: HookReviewMode,
    /// Which variables hooks and tools may not see, if any are kept from them.
    pub redaction: Option<EnvRedaction>,
    /// Variables that tools see whatever else is kept from them.
    pub passed_variables: Vec<String>,
    /// The only way to authenticate, if one is enforced.
    pub enforced_auth_type: Option<String>,
    /// Whether running everything unasked is forbidden.
    pub disable_yolo_mode: bool,
    /// Globs of paths that no tool changes unasked; behind a `!`, of those that one may.
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

/// What happens to a project hook that is new or has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookReviewMode {
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
pub struct TelemetrySettings {
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

#[cfg(test)]
mod tests;
