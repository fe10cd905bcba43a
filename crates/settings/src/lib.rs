//! Settings: the layers on disk → one [`Settings`], one registry of hooks, and what to tell the user.
//!
//! The only crate that reads the process environment and the home directory (in [`World::from_process`]); everything
//! else is handed a [`World`]. It runs no hook and prints nothing: what is wrong is a diagnostic, what is noteworthy a
//! [`Notice`].

pub mod claude;
pub mod commands;
pub mod config;
mod connections;
pub mod edit;
mod env_file;
mod extensions;
mod file;
pub mod front_matter;
#[doc(hidden)]
pub mod fuzzing;
mod guards;
mod json;
mod load;
pub mod mcp;
mod notice;
mod offers;
mod paths;
mod seclusion;
mod secrets;
mod settings;
pub mod skills;
mod steering;
pub mod subagents;
mod switch;
pub mod trust;
mod unset;
mod world;

pub use connections::{
    Connection, ConnectionsError, KnownFrom, Service, connections_of_environment, forget_connections, keep_connection,
    kept_connections,
};
pub use extensions::{
    Extension, ExtensionChoice, ExtensionOwner, Origin, OriginKind, OwnSetting, ValueScope, forget_extension,
    read_values, switch_extension, write_values, wrong_with_extension_name,
};
pub use file::{FileError, WriteError, leads_inside, read_text as read_settings_file};
pub use guards::{Gone, GuardMemory, dismiss_guards, remember_guards};
pub use load::{FileState, LoadOptions, Loaded, Project, SettingsFile, TrustOverride, check_untrusted, load};
pub use mcp::{LeftOutServer, McpOAuth, McpServer, McpServers, Transport, WhyLeftOut, is_server_name, switch_server};
pub use notice::{Notice, SwitchedOff};
pub use offers::{News, Offer, remember_offers};
pub use paths::Paths;
pub use secrets::{GEMINI_KEYS, OPENAI_KEY, Secrets, is_secret_name};
pub use settings::{
    ApprovalMode, Context, General, HookReview, KnownSetting, Mcp, Model, Notifications, OtlpProtocol, Price, Security,
    Settings, Shell, SkillSettings, Telemetry, TelemetryTarget, Tools, Ui, WithoutEffect, known_setting,
    known_settings, lay_over,
};
pub use switch::{SwitchedHooks, still_off, switch_hooks};
pub use trust::{Finding, FolderTrust, Review, TrustSource};
pub use world::World;
