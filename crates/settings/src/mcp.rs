//! MCP servers as the settings and extensions name them: typed, and which of them count here.
//!
//! What an entry may hold, and what is said where it is wrong, is `mcp/entry.rs`; which servers the user has switched off,
//! `mcp/enablement.rs`; what they gave out to be let in with, `mcp/tokens.rs`. Starting and asking servers is not done here.

mod enablement;
mod entry;
mod tokens;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_hooks::Source;
use serde_json::Value;

pub(crate) use enablement::DisabledServers;
use enablement::MCP_ENABLEMENT_FILE as ENABLEMENT_FILE;
pub use enablement::switch_server;
pub use entry::is_valid_server_name as is_server_name;
pub(crate) use entry::{diagnose_entries, entry_problems, unresolved_entry};
pub(crate) use tokens::TOKENS_FILE;
pub use tokens::{McpCredentials, McpToken, TokenFileError, forget_credentials, read_credentials, save_credentials};

use crate::load::LoadedConfig;

/// How long a request to a server may take where its entry does not say.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// The settings or the extension that name it.
    pub origin: Source,
    /// How it is reached.
    pub transport: McpTransport,
    /// How long a request to it may take.
    pub timeout: Duration,
    /// Whether its tools run unasked. Never true of a project's or an extension's.
    pub trust: bool,
    /// What it is for.
    pub description: Option<String>,
    /// The only tools of it that there are, if set.
    pub include_tools: Option<Vec<String>>,
    /// Tools of it that there are not.
    pub exclude_tools: Vec<String>,
    /// How to sign in to it, where its entry says something about that.
    pub oauth: Option<McpOAuth>,
    /// Variables in its headers, environment or address that nothing sets.
    pub unset_variables: Vec<String>,
    /// What others may be told of its entry.
    pub unresolved: UnresolvedEntry,
}

impl McpServer {
    /// One of which nothing is said but how it is reached.
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

/// What an entry says before variables are filled in: their values may be secrets, which hooks and records are not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedEntry {
    /// The program's arguments.
    pub args: Vec<String>,
    /// The address.
    pub url: Option<String>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that speaks on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables beside those that every tool has; an extension's own settings first.
        env: Vec<(String, String)>,
        /// Where it runs; in the project if not set.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
    /// Server-sent events.
    Sse {
        /// Its address.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
    /// An address that comes without a kind: streamable HTTP is tried, then server-sent events.
    HttpOrSse {
        /// Its address.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

impl McpTransport {
    /// The kind's name, as `type` spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            McpTransport::Stdio { .. } => "stdio",
            McpTransport::Sse { .. } => "sse",
            McpTransport::Http { .. } | McpTransport::HttpOrSse { .. } => "http",
        }
    }

    /// The address of a remote server.
    pub fn url(&self) -> Option<&str> {
        match self {
            McpTransport::Stdio { .. } => None,
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } | McpTransport::HttpOrSse { url, .. } => {
                Some(url)
            }
        }
    }
}

/// What it starts or talks to; the values of variables and headers are nobody's to see.
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

/// Without the values of variables and headers, so that no log or failed assertion shows them.
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

/// How to sign in to a server: what its entry says, the rest is discovered.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpOAuth {
    /// Whether it is known beforehand that one must.
    pub enabled: bool,
    /// Who this program is to the authorisation server; it registers itself if not set.
    pub client_id: Option<String>,
    /// Its secret, where that server gave one out.
    pub client_secret: Option<String>,
    /// Where the user is sent.
    pub authorization_url: Option<String>,
    /// Where a code becomes a token.
    pub token_url: Option<String>,
    /// Where this program registers itself.
    pub registration_url: Option<String>,
    /// The authorisation server.
    pub issuer: Option<String>,
    /// Where the user's browser comes back to, on this machine; any free port if not set.
    pub redirect_uri: Option<String>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// For whom the token is.
    pub audiences: Vec<String>,
}

/// Without the secret.
impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("McpOAuth");
        out.field("enabled", &self.enabled).field("client_id", &self.client_id).field("scopes", &self.scopes);
        out.field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// A server that does not count here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedServer {
    /// Its name.
    pub name: String,
    /// The settings or the extension that name it.
    pub origin: Source,
    /// Why not.
    pub reason: ServerSkipReason,
}

/// Why a server does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerSkipReason {
    /// No server does in a folder that is not trusted.
    Untrusted,
    /// Its entry is wrong, like this.
    Broken(String),
    /// Its entry says `disabled`.
    DisabledByEntry,
    /// Another of that name counts.
    Shadowed(Source),
    /// `mcp.allowed` does not have it.
    NotAllowed,
    /// `mcp.excluded` has it.
    Excluded,
    /// The command line does not name it.
    NotOnCommandLine,
    /// The user has switched it off.
    SwitchedOff,
    /// The record of servers that the user has switched off can't be read.
    EnablementUnknown,
}

impl fmt::Display for ServerSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerSkipReason::Untrusted => f.write_str("this folder is not trusted, so it is not started"),
            ServerSkipReason::Broken(what) => f.write_str(what),
            ServerSkipReason::DisabledByEntry => f.write_str("its entry says `disabled`"),
            ServerSkipReason::Shadowed(by) => write!(f, "another of that name counts, from {by}"),
            ServerSkipReason::NotAllowed => f.write_str("`mcp.allowed` does not have it"),
            ServerSkipReason::Excluded => f.write_str("`mcp.excluded` has it"),
            ServerSkipReason::NotOnCommandLine => f.write_str("`--allowed-mcp-server-names` does not have it"),
            ServerSkipReason::SwitchedOff => f.write_str("it is switched off"),
            ServerSkipReason::EnablementUnknown => {
                write!(f, "{ENABLEMENT_FILE} can't be read, so nobody knows whether it is switched off")
            }
        }
    }
}

/// The servers, by name, and those that do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServers {
    /// Those that count.
    pub servers: Vec<McpServer>,
    /// The others.
    pub skipped: Vec<SkippedServer>,
    /// What the command line names and no server is called.
    pub unknown: Vec<String>,
}

impl McpServers {
    /// The server of a name that counts; else the one that does not, if there is one.
    ///
    /// # Errors
    /// If none of that name counts.
    pub fn find(&self, name: &str) -> Result<&McpServer, Option<&SkippedServer>> {
        let counting = self.servers.iter().find(|server| server.name == name);
        counting.ok_or_else(|| self.skipped.iter().find(|server| server.name == name))
    }
}

/// What is known about servers beside their entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct McpSelection {
    /// Which layer each of the settings' servers is from, and its entry as it is written there.
    pub(crate) origins: HashMap<String, (Source, Value)>,
    /// The servers of a project that is not trusted.
    pub(crate) untrusted: Vec<String>,
    /// The only ones that the command line wants.
    pub(crate) named_on_command_line: Option<Vec<String>>,
    /// Those that the user has switched off.
    pub(crate) disabled: DisabledServers,
}

/// An entry.
struct NamedServerEntry<'a> {
    name: &'a String,
    entry: &'a Value,
    /// The same before variables are filled in.
    unresolved: Option<&'a Value>,
    origin: Source,
    /// What an extension adds to its variables.
    env: &'a [(String, String)],
}

/// Whether two names are one server's, as lists of servers mean it.
pub(crate) fn is_same_server(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

impl LoadedConfig {
    /// The MCP servers that count here, by name: those of the user and the system, of active extensions, of the project. Of
    /// two with one name the former counts: what a project brings replaces nobody's.
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
                    // One that is switched off holds its name: another does not step into its place.
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

    /// Every entry, those that go first first.
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

    /// The server that an entry means, if it counts here.
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

/// What is wrong with an entry that is about to be written, if anything is that would leave the server out.
pub fn server_problem(name: &str, entry: &Value, origin: &Source) -> Option<String> {
    entry::server_from_entry(name, entry, origin, Path::new("")).err()
}

/// An entry as the question of trust shows it: all that it starts or talks to.
pub(crate) fn describe_entry(name: &str, value: &Value) -> String {
    match entry::server_from_entry(name, value, &Source::Project, Path::new("")) {
        Ok(server) => format!("{name} (`{}`)", server.transport),
        // What is filled in later is shown as it stands.
        Err(_) => entry::unresolved_entry(value).url.map_or_else(|| name.to_owned(), |url| format!("{name} (`{url}`)")),
    }
}

#[cfg(test)]
mod tests;
