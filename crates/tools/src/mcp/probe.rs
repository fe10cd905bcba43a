//! Connects to one server outside a session and lists what it offers.

use std::time::Duration;

use hookwright_settings::McpServer;

use super::access::McpAccess;
use super::client;
use super::error::McpError;
use super::inventory::Inventory;

/// The result of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct McpProbe {
    pub inventory: Inventory,
    /// The time until the lists were loaded.
    pub elapsed: Duration,
}

/// Connects to a server once, loads its lists, and ends it again.
///
/// # Errors
/// If the server does not answer in time, or does not speak the protocol.
pub async fn probe(server: &McpServer, access: &McpAccess, limit: Duration) -> Result<McpProbe, McpError> {
    let began = tokio::time::Instant::now();
    let opened = tokio::time::timeout(limit, client::connect_and_list(server, access)).await;
    let opened = opened.unwrap_or(Err(McpError::TimedOut(limit))).map(|(connection, inventory)| {
        drop(connection);
        McpProbe { inventory, elapsed: began.elapsed() }
    });
    access.groups.terminate_all(Duration::from_secs(2)).await;
    opened
}
