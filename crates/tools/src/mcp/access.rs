//! The resources that the session gives MCP servers: directories, environment and network.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_model::ProxyOptions;
use hookwright_process::ProcessGroups;
use hookwright_settings::McpServer;

use crate::context::Environment;
use crate::tool::BoxFuture;

/// The resources that MCP servers may use.
#[derive(Clone, Default)]
pub struct McpAccess {
    /// The working directory of server processes whose configuration names none.
    pub directory: PathBuf,
    /// The directories that servers may ask for (`roots/list`).
    pub roots: Vec<PathBuf>,
    /// The environment of server processes, without the variables of their configuration.
    pub environment: Environment,
    /// The process groups of server processes, to be ended with the session.
    pub groups: Arc<ProcessGroups>,
    /// The proxy for remote servers.
    pub proxy: Option<ProxyOptions>,
    /// The provider of tokens for remote servers.
    pub tokens: Option<Arc<dyn TokenProvider>>,
}

/// Provides tokens for remote servers.
pub trait TokenProvider: Send + Sync {
    /// Returns a valid token for this server, if there is one.
    fn bearer<'a>(&'a self, server: &'a McpServer) -> BoxFuture<'a, Option<String>>;

    /// Returns another token after the server has refused this one.
    fn replace_refused<'a>(&'a self, server: &'a McpServer, refused: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Records that the server's challenge asks for more scopes, which are requested when the user signs in again.
    fn request_scopes<'a>(&'a self, _server: &'a McpServer, _challenge: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
