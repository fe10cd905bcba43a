//! Probes servers outside of a session: connects to each, lists what it offers, and disconnects, within time limits.

use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::session::proxy_from_env;
use hookwright_settings::{LoadedConfig, McpServer};
use hookwright_tools::mcp::{McpAccess, McpError, McpProbe, OAuthTokens, probe};
use hookwright_tools::{Environment, ProcessGroups};
use tokio::sync::Semaphore;

use crate::runtime;

/// How many servers are probed at once; the timeouts are for each server, and for waiting to be probed.
const MAX_CONCURRENT_PROBES: usize = 8;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of probing a server.
pub(crate) type McpProbeResult = Result<McpProbe, McpError>;

/// Probes servers concurrently; `None` for a server that was not reached before the total timeout.
pub(crate) fn probe_all(loaded: &LoadedConfig, servers: &[McpServer]) -> anyhow::Result<Vec<Option<McpProbeResult>>> {
    let runtime = runtime::start(2)?;
    Ok(runtime.block_on(async {
        let limiter = Arc::new(Semaphore::new(MAX_CONCURRENT_PROBES));
        let until = tokio::time::Instant::now() + TOTAL_PROBE_TIMEOUT;
        let asked: Vec<_> = servers
            .iter()
            .map(|server| {
                let (limiter, server, access) = (limiter.clone(), server.clone(), server_access(loaded));
                tokio::spawn(async move {
                    let permit = tokio::time::timeout_at(until, limiter.acquire()).await;
                    match permit {
                        Ok(Ok(_permit)) => Some(probe(&server, &access, PROBE_TIMEOUT.min(server.timeout)).await),
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

/// Builds the access that servers get, the same as in a session.
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
