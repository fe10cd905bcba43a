//! Confinement profiles: what a command may write, read and reach, in the words of `when`, and the plan by which the
//! kernel enforces them.
//!
//! A profile is compiled into a plan that enforces every line of it, or is refused with the line that cannot be
//! enforced. It is never enforced in part.

#[cfg(target_os = "linux")]
mod compile;
#[cfg(target_os = "linux")]
mod git_files;
#[cfg(target_os = "linux")]
mod hidden_files;
#[cfg(target_os = "linux")]
mod mount_aliases;
#[cfg(target_os = "linux")]
mod path_pattern;
mod service_sockets;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::effects::Effects;
use crate::running::env_redaction::EnvRedaction;

#[cfg(target_os = "linux")]
pub use compile::{CompiledConfinement, compile};

/// The pattern of all paths.
pub(crate) const ALL_PATHS: &str = "/**";

/// What a confined command may do. What is not named is not allowed, but reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfinementProfile {
    /// Paths that may be changed: a folder with `/**` behind it or a single path, and exceptions as `!path`.
    pub writes: Vec<String>,
    /// Folders in which files may be removed; if it is missing, wherever they may be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletes: Option<Vec<String>>,
    /// Paths that may not be read, as globs.
    pub no_reads: Vec<String>,
    /// `none`, `loopback`, `all`, hosts, or in a rule `known`.
    pub network: ConfinementNetwork,
    /// Package managers whose usual cache folders may be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// Whether UNIX sockets may be used, which lead to any service of this machine.
    #[serde(skip_serializing_if = "is_false")]
    pub unix_sockets: bool,
    /// Groups of services whose sockets are closed although UNIX sockets may be used: `containers`, `system`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_services: Vec<String>,
    /// Whether variables that look like secrets stay in the environment.
    #[serde(skip_serializing_if = "is_false")]
    pub keep_env: bool,
    /// The memory in MB that each process may allocate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// How many processes may exist at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The seconds that the command may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ConfinementProfile {
    /// The profile that forbids nothing but changing the files that guards are made of.
    pub fn open() -> Self {
        ConfinementProfile {
            writes: vec![ALL_PATHS.to_owned()],
            network: ConfinementNetwork::All,
            unix_sockets: true,
            keep_env: true,
            ..ConfinementProfile::default()
        }
    }

    /// Closes the sockets of services that a command is not known to use; all sockets if it is known to use no service and
    /// no network.
    pub(crate) fn close_unused_sockets(&mut self, effects: Option<&Effects>) {
        let user = effects.filter(|effects| !effects.network.is_empty() || !effects.services.is_empty());
        match user {
            Some(effects) => self.no_services = service_sockets::unused_groups(&effects.services),
            None => self.unix_sockets = false,
        }
    }

    /// The profile as JSON, which `hookwright run --plan` reads.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Describes what the profile forbids, a part of a sentence each.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        let exceptions: Vec<&str> = self.writes.iter().filter_map(|text| text.strip_prefix('!')).collect();
        match &*self.writes {
            [] => limits.push("nothing may be changed".to_owned()),
            [all] if all == ALL_PATHS => {}
            [all, ..] if all == ALL_PATHS && exceptions.len() + 1 == self.writes.len() => {
                limits.push(format!("{} can't be changed", exceptions.join(", ")));
            }
            writes => limits.push(format!("only {} may be changed", writes.join(", "))),
        }
        if let Some(folders) = &self.deletes {
            limits.push(format!("files can be deleted only in {}", folders.join(", ")));
        }
        if !self.no_reads.is_empty() {
            limits.push(format!("{} can't be read", self.no_reads.join(", ")));
        }
        if !self.no_services.is_empty() {
            limits.push(format!("services of this machine can't be reached: {}", self.no_services.join(", ")));
        }
        limits.extend(match &self.network {
            ConfinementNetwork::None => Some("no network".to_owned()),
            ConfinementNetwork::Loopback => Some("no network but a loopback interface of its own".to_owned()),
            ConfinementNetwork::All => None,
            ConfinementNetwork::Known => Some("of the network only the hosts that the call names".to_owned()),
            ConfinementNetwork::Hosts(hosts) => Some(format!("of the network only {}", hosts.join(", "))),
        });
        limits
    }
}

/// The network of a confined command: `"none"`, `"loopback"`, `"all"`, `"known"`, or a list of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfinementNetwork {
    /// No network.
    #[default]
    None,
    /// A loopback interface of its own.
    Loopback,
    /// The network of this machine.
    All,
    /// The hosts in the effects of the call. A rule that confines names them before the call runs.
    Known,
    /// These hosts and no others.
    Hosts(Vec<String>),
}

impl ConfinementNetwork {
    /// Replaces `known` by the hosts that a call is known to reach; without any, there is a loopback interface of its own.
    ///
    /// Addresses are left out: they may be those of this machine or its own network, which a name never leads to.
    pub(crate) fn name_hosts(&mut self, hosts: &[String]) {
        if *self == ConfinementNetwork::Known {
            let is_name = |host: &&String| host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_err();
            *self = ConfinementNetwork::Hosts(hosts.iter().filter(is_name).cloned().collect());
            if *self == ConfinementNetwork::Hosts(Vec::new()) {
                *self = ConfinementNetwork::Loopback;
            }
        }
    }

    /// Parses the words of a command line: one of the names, or hosts.
    pub fn from_words(words: &[String]) -> Self {
        match words {
            [] => ConfinementNetwork::None,
            [word] if word == "none" => ConfinementNetwork::None,
            [word] if word == "loopback" => ConfinementNetwork::Loopback,
            [word] if word == "all" => ConfinementNetwork::All,
            [word] if word == "known" => ConfinementNetwork::Known,
            hosts => ConfinementNetwork::Hosts(hosts.to_vec()),
        }
    }
}

impl Serialize for ConfinementNetwork {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ConfinementNetwork::None => serializer.serialize_str("none"),
            ConfinementNetwork::Loopback => serializer.serialize_str("loopback"),
            ConfinementNetwork::All => serializer.serialize_str("all"),
            ConfinementNetwork::Known => serializer.serialize_str("known"),
            ConfinementNetwork::Hosts(hosts) => hosts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ConfinementNetwork {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        let words = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(word) => match ConfinementNetwork::from_words(std::slice::from_ref(&word)) {
                ConfinementNetwork::Hosts(_) => {
                    let text = format!(
                        "expected \"none\", \"loopback\", \"all\", \"known\" or a list of hosts, not \"{word}\""
                    );
                    return Err(D::Error::custom(text));
                }
                network => return Ok(network),
            },
            serde_json::Value::Array(words) => words,
            other => return Err(D::Error::custom(format!("`network` can't be {other}"))),
        };
        let hosts = words.into_iter().map(|word| match word {
            serde_json::Value::String(host) => Ok(host),
            other => Err(D::Error::custom(format!("a host can't be {other}"))),
        });
        Ok(ConfinementNetwork::Hosts(hosts.collect::<Result<_, _>>()?))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ConfinementNetwork {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ConfinementNetwork".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The network of a confined command: none, loopback, all, in a rule known (the hosts that the call names), or a list of hosts.",
            "anyOf": [
                { "enum": ["none", "loopback", "all", "known"] },
                { "type": "array", "items": { "type": "string" } },
            ],
        })
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

/// What a command is to be kept to: profiles, all of which count, and the folders that their patterns are relative to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfinementRequest {
    /// The folder of relative patterns.
    pub project: PathBuf,
    /// The home directory (`~/`).
    pub home: Option<PathBuf>,
    /// The profiles.
    pub profiles: Vec<ConfinementProfile>,
    /// Whether nothing is added to the command's output.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_quiet: bool,
    /// Whether the command is known not to do what the profiles forbid, as far as its analysis can be trusted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_predicted: bool,
}

impl ConfinementRequest {
    /// The folders that the patterns are relative to.
    pub fn place(&self) -> ConfinementPlace<'_> {
        ConfinementPlace { project: &self.project, home: self.home.as_deref() }
    }
}

/// Starts commands confined.
pub trait ConfinementLauncher: std::fmt::Debug + Send + Sync {
    /// Returns the words that stand before a command's own so that it runs confined.
    ///
    /// # Errors
    /// Why this machine cannot keep a command to all of it.
    fn launch_words(&self, request: &ConfinementRequest) -> Result<Vec<OsString>, String>;
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
