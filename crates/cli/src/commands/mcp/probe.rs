//! Looking at servers outside of a session: each is started or reached, asked what it has, and left again, within bounds.

use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::session::proxy_from_env;
use hookwright_settings::{LoadedConfig, McpServer};
use hookwright_tools::mcp::{McpAccess, McpError, McpProbe, OAuthTokens, probe};
use hookwright_tools::{Environment, ProcessGroups};
use tokio::sync::Semaphore;

use crate::runtime;

/// How many are asked at once, and how long each and all of them may take.
const MAX_CONCURRENT_PROBES: usize = 8;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// What became of a server that was asked.
pub(crate) type McpProbeResult = Result<McpProbe, McpError>;

/// Asks servers side by side. Those whose turn does not come in time are not asked.
pub(crate) fn probe_all(loaded: &LoadedConfig, servers: &[McpServer]) -> anyhow::Result<Vec<Option<McpProbeResult>>> {
    let runtime = runtime::start(2)?;
    Ok(runtime.block_on(async {
        let places = Arc::new(Semaphore::new(MAX_CONCURRENT_PROBES));
        let until = tokio::time::Instant::now() + TOTAL_PROBE_TIMEOUT;
        let asked: Vec<_> = servers
            .iter()
            .map(|server| {
                let (places, server, access) = (places.clone(), server.clone(), server_access(loaded));
                tokio::spawn(async move {
                    let place = tokio::time::timeout_at(until, places.acquire()).await;
                    match place {
                        Ok(Ok(_place)) => Some(probe(&server, &access, PROBE_TIMEOUT.min(server.timeout)).await),
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
fn server_access(loaded: &LoadedConfig) -> McpAccess {
    let root = loaded.project.root.clone();
    let proxy = proxy_from_env(&loaded.process_env);
    let tokens = OAuthTokens::new(loaded.paths.mcp_tokens.clone(), proxy.clone());
    McpAccess {
        roots: vec![root.clone()],
        directory: root,
        environment: Environment::from(loaded.tool_environment()),
        groups: Arc::new(ProcessGroups::default()),
        proxy,
        tokens: Some(Arc::new(tokens)),
    }
}
