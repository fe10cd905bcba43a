//! Loads the settings: it merges the layers on disk into one [`Settings`], builds the registry of hooks and collects
//! notices for the user.
//!
//! The crate reads the process environment and the home directory only in [`ProcessEnv::from_process`]; its other
//! functions are given a [`ProcessEnv`]. It runs no hook and prints nothing: problems are diagnostics, other messages are
//! [`Notice`]s.

pub mod administration;
pub mod claude_migration;
pub mod commands;
pub mod config;
mod connections;
mod dangerous_env;
pub mod edit;
mod env_file;
mod extensions;
mod file;
pub mod front_matter;
#[doc(hidden)]
pub mod fuzzing;
mod guard_record;
mod json;
mod load;
pub mod mcp;
mod notice;
mod paths;
mod process_env;
mod project_contents;
mod secrets;
mod settings;
pub mod skills;
pub mod subagents;
pub mod trust;
mod unset_variables;
mod untrusted_exec_env;

pub use connections::{
    ConnectionOrigin, ConnectionsError, ModelConnection, ModelService, connections_from_env, forget_connections,
    save_connection, saved_connections,
};
pub use dangerous_env::is_dangerous_variable;
pub use extensions::{
    Extension, ExtensionChoice, ExtensionOrigin, ExtensionOwner, ExtensionSetting, OriginKind, ValueScope,
    forget_extension, read_extension_values, set_extension_rule, write_extension_values, wrong_with_extension_name,
};
pub use file::{FileError, WriteError, read_text as read_settings_file, resolves_inside};
pub use guard_record::{RemovedGuardPolicy, SessionGuardRecord, dismiss_guards, record_guards};
pub use load::{
    LoadOptions, LoadPurpose, LoadedConfig, ProjectFolder, SettingsFile, SettingsFileState, TrustOverride,
    check_untrusted_settings, load,
};
pub use mcp::{
    McpOAuth, McpServer, McpServers, McpTransport, ServerSkipReason, SkippedServer, is_server_name, switch_server,
};
pub use notice::{Notice, SwitchOffMethod};
pub use paths::ConfigPaths;
pub use process_env::ProcessEnv;
pub use project_contents::{ContentChange, ProjectContent, record_project_contents};
pub use secrets::{GEMINI_KEY_VARIABLES, OPENAI_KEY_VARIABLE, Secrets, is_secret_name};
pub use settings::{
    ApprovalMode, ContextSettings, GeneralSettings, HookReviewMode, IneffectiveSetting, JournalSettings, KnownSetting,
    McpSettings, ModelPrice, ModelSettings, NotificationMode, OtlpProtocol, SecuritySettings, Settings,
    ShellCommandSettings, SkillSettings, TelemetrySettings, TelemetryTarget, ToolSettings, UiSettings, known_setting,
    known_settings, overlay,
};
pub use trust::{FolderTrust, HookFinding, HookTrustReview, TrustSource};
