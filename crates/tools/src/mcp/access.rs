//! All that servers are given of the outside, by whoever runs the session: no environment and no directory of their own making.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_model::ProxyOptions;
use hookwright_process::ProcessGroups;
use hookwright_settings::McpServer;

use crate::context::Environment;
use crate::tool::BoxFuture;

/// What servers may use.
#[derive(Clone, Default)]
pub struct McpAccess {
    /// Where programs start that name no directory.
    pub directory: PathBuf,
    /// The directories that servers are told of, if they ask.
    pub roots: Vec<PathBuf>,
    /// What programs find in their environment, besides what their configuration says.
    pub environment: Environment,
    /// The programs that run, to be ended with the session.
    pub groups: Arc<ProcessGroups>,
    /// The proxy for servers elsewhere.
    pub proxy: Option<ProxyOptions>,
    /// Who knows the tokens that servers elsewhere want.
    pub tokens: Option<Arc<dyn TokenProvider>>,
}

/// Who knows tokens for servers elsewhere.
pub trait TokenProvider: Send + Sync {
    /// A token that is good now, if there is one for this server.
    fn bearer<'a>(&'a self, server: &'a McpServer) -> BoxFuture<'a, Option<String>>;

    /// Another one, after the server has refused this one.
    fn replace_refused<'a>(&'a self, server: &'a McpServer, refused: &'a str) -> BoxFuture<'a, Option<String>>;

    /// The server wants a token with more scopes, as its challenge says: they are asked for when the user signs in again.
    fn request_scopes<'a>(&'a self, _server: &'a McpServer, _challenge: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
