//! Looking at servers outside of a session: each is started or reached, asked what it has, and left again, within bounds.

use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::session::proxy;
use hookwright_settings::{Loaded, McpServer};
use hookwright_tools::mcp::{Access, McpError, OAuthTokens, Probe, probe};
use hookwright_tools::{Environment, Groups};
use tokio::sync::Semaphore;

use crate::runtime;

/// How many are asked at once, and how long each and all of them may take.
const AT_ONCE: usize = 8;
const EACH: Duration = Duration::from_secs(10);
const ALL: Duration = Duration::from_secs(60);

/// What became of a server that was asked.
pub(crate) type Seen = Result<Probe, McpError>;

/// Asks servers side by side. Those whose turn does not come in time are not asked.
pub(crate) fn all(loaded: &Loaded, servers: &[McpServer]) -> anyhow::Result<Vec<Option<Seen>>> {
    let runtime = runtime::start(2)?;
    Ok(runtime.block_on(async {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let until = tokio::time::Instant::now() + ALL;
        let asked: Vec<_> = servers
            .iter()
            .map(|server| {
                let (places, server, access) = (places.clone(), server.clone(), access(loaded));
                tokio::spawn(async move {
                    let place = tokio::time::timeout_at(until, places.acquire()).await;
                    match place {
                        Ok(Ok(_place)) => Some(probe(&server, &access, EACH.min(server.timeout)).await),
                        _ => None,
                    }
                })
            })
            .collect();
        let mut seen = Vec::new();
        for one in asked {
            seen.push(one.await.ok().flatten());
        }
        seen
    }))
}

/// What servers get here: what they would get in a session.
fn access(loaded: &Loaded) -> Access {
    let root = loaded.project.root.clone();
    let proxy = proxy(&loaded.world);
    let tokens = OAuthTokens::new(loaded.paths.mcp_tokens.clone(), proxy.clone());
    Access {
        roots: vec![root.clone()],
        directory: root,
        environment: Environment::from(loaded.tool_environment()),
        groups: Arc::new(Groups::default()),
        proxy,
        tokens: Some(Arc::new(tokens)),
    }
}
