//! The MCP servers of the settings and extensions, typed, and the decision which of them are used.
//!
//! `mcp/entry.rs` parses an entry and reports its problems, `mcp/enablement.rs` reads which servers the user
//! disabled, `mcp/tokens.rs` stores their OAuth tokens. Servers are not started here.

mod enablement;
mod entry;
mod tokens;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_hooks::Source;
use serde::Serialize;
use serde_json::Value;

pub(crate) use enablement::DisabledServers;
use enablement::MCP_ENABLEMENT_FILE as ENABLEMENT_FILE;
pub use enablement::switch_server;
pub use entry::is_valid_server_name as is_server_name;
pub(crate) use entry::{diagnose_entries, entry_problems, unresolved_entry};
pub(crate) use tokens::TOKENS_FILE;
pub use tokens::{McpCredentials, McpToken, TokenFileError, forget_credentials, read_credentials, save_credentials};

use crate::load::LoadedConfig;

/// Request timeout of a server whose entry has none.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// A configured MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    /// The settings layer or extension that defines it.
    pub origin: Source,
    /// How to connect to it.
    pub transport: McpTransport,
    /// Timeout of one request.
    pub timeout: Duration,
    /// Whether its tools run without asking. Always false for servers of a project or an extension.
    pub trust: bool,
    pub description: Option<String>,
    /// The only tools of it that are used, if set.
    pub include_tools: Option<Vec<String>>,
    /// Tools of it that are not used.
    pub exclude_tools: Vec<String>,
    /// How to sign in to it, if its entry says so.
    pub oauth: Option<McpOAuth>,
    /// Variables in its entry that are not set.
    pub unset_variables: Vec<String>,
    /// The parts of its entry that may be shown, before variables are filled in.
    pub unresolved: UnresolvedEntry,
}

impl McpServer {
    /// Creates a server with defaults for everything but its transport.
    pub fn new(name: &str, transport: McpTransport) -> Self {
        let written = match &transport {
            McpTransport::Stdio { args, .. } => UnresolvedEntry { args: args.clone(), url: None },
            other => UnresolvedEntry { args: Vec::new(), url: other.url().map(str::to_owned) },
        };
        McpServer {
            name: name.to_owned(),
            origin: Source::User,
            transport,
            timeout: DEFAULT_REQUEST_TIMEOUT,
            trust: false,
            description: None,
            include_tools: None,
            exclude_tools: Vec::new(),
            oauth: None,
            unset_variables: Vec::new(),
            unresolved: written,
        }
    }
}

/// Parts of an entry before variables are filled in, because their values may be secrets that hooks and logs must not
/// see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedEntry {
    pub args: Vec<String>,
    pub url: Option<String>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is spoken to over its stdin and stdout.
    Stdio {
        command: String,
        args: Vec<String>,
        /// Variables in addition to the environment of tools; those of an extension's settings come first.
        env: Vec<(String, String)>,
        /// Working directory; the project if not set.
        cwd: Option<PathBuf>,
    },
    /// A server that speaks streamable HTTP.
    Http {
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// A server that speaks the older transport with server-sent events.
    Sse {
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// An address without a `type`: streamable HTTP is tried, then server-sent events.
    HttpOrSse {
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

impl McpTransport {
    /// Returns the transport's name as `type` spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            McpTransport::Stdio { .. } => "stdio",
            McpTransport::Sse { .. } => "sse",
            McpTransport::Http { .. } | McpTransport::HttpOrSse { .. } => "http",
        }
    }

    /// Returns the address of a remote server.
    pub fn url(&self) -> Option<&str> {
        match self {
            McpTransport::Stdio { .. } => None,
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } | McpTransport::HttpOrSse { url, .. } => {
                Some(url)
            }
        }
    }
}

/// Shows the command or the address, without the values of variables and headers.
impl fmt::Display for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpTransport::Stdio { command, args, .. } => {
                f.write_str(command)?;
                args.iter().try_for_each(|arg| write!(f, " {arg}"))
            }
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } | McpTransport::HttpOrSse { url, .. } => {
                f.write_str(url)
            }
        }
    }
}

/// Leaves out the values of variables and headers, so that no log or failed assertion shows them.
impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        match self {
            McpTransport::Stdio { command, args, env, cwd } => {
                let mut out = f.debug_struct("Stdio");
                out.field("command", command).field("args", args).field("env", &names(env)).field("cwd", cwd).finish()
            }
            McpTransport::Http { url, headers }
            | McpTransport::Sse { url, headers }
            | McpTransport::HttpOrSse { url, headers } => {
                f.debug_struct(self.kind()).field("url", url).field("headers", &names(headers)).finish()
            }
        }
    }
}

/// OAuth settings of a server; what its entry leaves out is discovered.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpOAuth {
    /// Whether signing in is required from the start.
    pub enabled: bool,
    /// Client id of this program; it registers itself dynamically if not set.
    pub client_id: Option<String>,
    /// Client secret, if the authorisation server issued one.
    pub client_secret: Option<String>,
    pub authorization_url: Option<String>,
    pub token_url: Option<String>,
    /// Endpoint for dynamic client registration.
    pub registration_url: Option<String>,
    pub issuer: Option<String>,
    /// Local address to which the browser is redirected; any free port if not set.
    pub redirect_uri: Option<String>,
    pub scopes: Vec<String>,
    pub audiences: Vec<String>,
}

/// Leaves out the secret.
impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("McpOAuth");
        out.field("enabled", &self.enabled).field("client_id", &self.client_id).field("scopes", &self.scopes);
        out.field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// A server that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedServer {
    pub name: String,
    /// The settings layer or extension that defines it.
    pub origin: Source,
    pub reason: ServerSkipReason,
}

/// Why a server is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSkipReason {
    /// The folder is not trusted, so no server is used.
    Untrusted,
    /// The entry is invalid for this reason.
    Broken(String),
    /// The entry sets `disabled`.
    DisabledByEntry,
    /// A server of the same name from this source has precedence.
    Shadowed(Source),
    /// The server is not in `mcp.allowed`.
    NotAllowed,
    /// The server is in `mcp.excluded`.
    Excluded,
    /// The command line names servers, and this is not among them.
    NotOnCommandLine,
    /// The user has disabled the server.
    SwitchedOff,
    /// The record of disabled servers can't be read.
    EnablementUnknown,
}

impl fmt::Display for ServerSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerSkipReason::Untrusted => f.write_str("this folder is not trusted, so it is not started"),
            ServerSkipReason::Broken(what) => f.write_str(what),
            ServerSkipReason::DisabledByEntry => f.write_str("its entry says `disabled`"),
            ServerSkipReason::Shadowed(by) => write!(f, "another server of that name is used, from {by}"),
            ServerSkipReason::NotAllowed => f.write_str("`mcp.allowed` does not list it"),
            ServerSkipReason::Excluded => f.write_str("`mcp.excluded` lists it"),
            ServerSkipReason::NotOnCommandLine => f.write_str("`--allowed-mcp-server-names` does not list it"),
            ServerSkipReason::SwitchedOff => f.write_str("it is switched off"),
            ServerSkipReason::EnablementUnknown => {
                write!(f, "{ENABLEMENT_FILE} can't be read, so the server may be switched off")
            }
        }
    }
}

/// All configured servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers {
    /// The servers to use, by name.
    pub servers: Vec<McpServer>,
    /// The servers that are not used.
    pub skipped: Vec<SkippedServer>,
    /// Names on the command line that are no server.
    pub unknown: Vec<String>,
}

impl McpServers {
    /// Finds the server of a name among those in use; the error holds a skipped one of that name, if any.
    ///
    /// # Errors
    /// If no server of that name is in use.
    pub fn find(&self, name: &str) -> Result<&McpServer, Option<&SkippedServer>> {
        let counting = self.servers.iter().find(|server| server.name == name);
        counting.ok_or_else(|| self.skipped.iter().find(|server| server.name == name))
    }
}

/// Inputs that decide which servers are used, apart from their entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpSelection {
    /// The layer of each server in the settings, and its entry as written.
    pub(crate) origins: HashMap<String, (Source, Value)>,
    /// Servers of an untrusted project.
    pub(crate) untrusted: Vec<String>,
    /// The only servers to use, if the command line names some.
    pub(crate) named_on_command_line: Option<Vec<String>>,
    /// Servers that the user has disabled.
    pub(crate) disabled: DisabledServers,
}

/// A server's entry with its origin.
struct NamedServerEntry<'a> {
    name: &'a String,
    entry: &'a Value,
    /// The entry before variables are filled in.
    unresolved: Option<&'a Value>,
    origin: Source,
    /// Variables that an extension adds.
    env: &'a [(String, String)],
}

/// Whether two names mean the same server, ignoring case and surrounding whitespace.
pub(crate) fn is_same_server(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

impl LoadedConfig {
    /// Returns the MCP servers: those of the user and the system, of active extensions, and of the project. Of two
    /// with one name the first is used, so a project cannot replace another source's server.
    pub fn mcp_servers(&self) -> McpServers {
        let mut all = McpServers::default();
        let mut taken: HashMap<String, Source> = HashMap::new();
        for NamedServerEntry { name, entry, unresolved: written, origin, env } in self.server_entries() {
            let key = name.trim().to_lowercase();
            let verdict = match taken.get(&key) {
                Some(by) => Err(ServerSkipReason::Shadowed(by.clone())),
                None => self.check_server(name, entry, &origin),
            };
            match verdict {
                Ok(mut server) => {
                    server.unresolved = written.map(entry::unresolved_entry).unwrap_or_default();
                    if let McpTransport::Stdio { env: own, .. } = &mut server.transport {
                        own.splice(0..0, env.iter().cloned());
                    }
                    taken.insert(key, origin);
                    all.servers.push(server);
                }
                Err(why) => {
                    // A disabled server keeps its name, so that no other takes its place.
                    taken.entry(key).or_insert_with(|| origin.clone());
                    all.skipped.push(SkippedServer { name: name.clone(), origin, reason: why });
                }
            }
        }
        let untrusted = self.mcp_selection.untrusted.iter();
        all.skipped.extend(untrusted.map(|name| SkippedServer {
            name: name.clone(),
            origin: Source::Project,
            reason: ServerSkipReason::Untrusted,
        }));
        let is_known = |named: &&String| {
            let known = all.servers.iter().map(|one| &one.name).chain(all.skipped.iter().map(|one| &one.name));
            known.into_iter().any(|name| is_same_server(name, named))
        };
        all.unknown = self
            .mcp_selection
            .named_on_command_line
            .iter()
            .flatten()
            .filter(|named| !is_known(named))
            .cloned()
            .collect();
        all.servers.sort_by(|one, other| one.name.cmp(&other.name));
        all.skipped.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Returns all entries in order of precedence.
    fn server_entries(&self) -> Vec<NamedServerEntry<'_>> {
        let of_settings = self.settings.mcp_servers.iter().map(|(name, entry)| {
            let known = self.mcp_selection.origins.get(name);
            let origin = known.map_or(Source::User, |(origin, _)| origin.clone());
            NamedServerEntry { name, entry, unresolved: known.map(|(_, written)| written), origin, env: &[] }
        });
        let (projects, own): (Vec<_>, Vec<_>) = of_settings.partition(|named| named.origin == Source::Project);
        let of_extensions = self.extensions.iter().filter(|one| one.active).flat_map(|one| {
            let origin = Source::Extension(one.name.clone());
            one.mcp_servers.iter().map(move |(name, entry)| {
                let written = one.raw_mcp_servers.get(name);
                NamedServerEntry { name, entry, unresolved: written, origin: origin.clone(), env: &one.env }
            })
        });
        own.into_iter().chain(of_extensions).chain(projects).collect()
    }

    /// Returns the server that an entry defines, or why it is not used.
    pub(crate) fn check_server(
        &self,
        name: &str,
        value: &Value,
        origin: &Source,
    ) -> Result<McpServer, ServerSkipReason> {
        let has = |list: &[String]| list.iter().any(|one| is_same_server(one, name));
        let server =
            entry::server_from_entry(name, value, origin, &self.project.root).map_err(ServerSkipReason::Broken)?;
        if !self.project.trust.is_trusted() && self.project.root != self.paths.home {
            return Err(ServerSkipReason::Untrusted);
        }
        let lists = &self.settings.mcp;
        match () {
            () if entry::is_disabled_entry(value) => Err(ServerSkipReason::DisabledByEntry),
            () if lists.allowed.as_deref().is_some_and(|allowed| !has(allowed)) => Err(ServerSkipReason::NotAllowed),
            () if has(&lists.excluded) => Err(ServerSkipReason::Excluded),
            () if self.mcp_selection.named_on_command_line.as_deref().is_some_and(|named| !has(named)) => {
                Err(ServerSkipReason::NotOnCommandLine)
            }
            () => match &self.mcp_selection.disabled {
                DisabledServers::Unknown => Err(ServerSkipReason::EnablementUnknown),
                DisabledServers::Names(names) if has(names) => Err(ServerSkipReason::SwitchedOff),
                DisabledServers::Names(_) => Ok(server),
            },
        }
    }
}

/// Returns the problem with an entry that would keep the server from being used.
pub fn server_problem(name: &str, entry: &Value, origin: &Source) -> Option<String> {
    entry::server_from_entry(name, entry, origin, Path::new("")).err()
}

/// Describes an entry for the trust prompt, with the command or address.
pub(crate) fn describe_entry(name: &str, value: &Value) -> String {
    match entry::server_from_entry(name, value, &Source::Project, Path::new("")) {
        Ok(server) => format!("{name} (`{}`)", server.transport),
        // Variables are not filled in here.
        Err(_) => entry::unresolved_entry(value).url.map_or_else(|| name.to_owned(), |url| format!("{name} (`{url}`)")),
    }
}

#[cfg(test)]
mod tests;
