//! Confinement profiles: what a command may write, read and reach, in the words of `when`, and the plan by which the
//! kernel enforces them.
//!
//! A profile is compiled into a plan that enforces every line of it, or is refused with the line that cannot be
//! enforced. It is never enforced in part.

#[cfg(target_os = "linux")]
mod compile;
#[cfg(target_os = "linux")]
mod hidden_files;
#[cfg(target_os = "linux")]
mod path_pattern;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ffi::OsString;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::running::env_redaction::EnvRedaction;

#[cfg(target_os = "linux")]
pub use compile::{CompiledConfinement, compile};

/// What a confined command may do. What is not named is not allowed, but reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfinementProfile {
    /// Paths that may be changed: `folder/**` or a single path, and exceptions as `!path`.
    pub writes: Vec<String>,
    /// Paths that may not be read, as globs.
    pub no_reads: Vec<String>,
    /// `none`, `loopback`, `all`, or hosts.
    pub network: ConfinementNetwork,
    /// Package managers whose usual cache folders may be changed.
    pub caches: Vec<String>,
    /// Whether UNIX sockets may be used, which lead to any service of this machine.
    pub unix_sockets: bool,
    /// The memory in MB that each process may allocate.
    pub memory_mb: Option<u64>,
    /// How many processes may exist at once.
    pub processes: Option<u32>,
    /// The seconds that the command may take.
    pub seconds: Option<u64>,
}

/// The network of a confined command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfinementNetwork {
    /// No network.
    #[default]
    None,
    /// A loopback interface of its own.
    Loopback,
    /// The network of this machine.
    All,
    /// These hosts and no others.
    Hosts(Vec<String>),
}

impl ConfinementNetwork {
    /// Parses the words of a command line: one of the three names, or hosts.
    pub fn from_words(words: &[String]) -> Self {
        match words {
            [] => ConfinementNetwork::None,
            [word] if word == "none" => ConfinementNetwork::None,
            [word] if word == "loopback" => ConfinementNetwork::Loopback,
            [word] if word == "all" => ConfinementNetwork::All,
            hosts => ConfinementNetwork::Hosts(hosts.to_vec()),
        }
    }
}

/// The folders that a profile's patterns are relative to.
#[derive(Clone, Copy, Debug)]
pub struct ConfinementPlace<'a> {
    /// The folder of relative patterns, which is also the command's working directory or a parent of it.
    pub project: &'a Path,
    /// The home directory (`~/`).
    pub home: Option<&'a Path>,
}

/// A line of a profile that cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line} cannot be enforced: {reason}")]
pub struct UnenforceableLine {
    /// The line, with the name of its list.
    pub line: String,
    /// Why it cannot be enforced.
    pub reason: String,
}

/// Variables that lead to a service of the user.
const SERVICE_VARIABLES: [&str; 9] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Returns the environment of a confined command: without secrets, and without the addresses of the user's services.
pub fn confined_environment(
    redaction: &EnvRedaction,
    env: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut env = redaction.apply(env);
    env.retain(|(name, _)| !SERVICE_VARIABLES.iter().any(|service| name == service) && name != "TMPDIR");
    env.push(("TMPDIR".into(), "/tmp".into()));
    env
}
