//! A look at one server outside a session: is it there, and what does it have?

use std::time::Duration;

use hookwright_settings::McpServer;

use super::access::McpAccess;
use super::client;
use super::error::McpError;
use super::inventory::Inventory;

/// What a look at a server showed.
#[derive(Clone, Debug, PartialEq)]
pub struct McpProbe {
    /// What it has.
    pub inventory: Inventory,
    /// How long it took until it said so.
    pub elapsed: Duration,
}

/// Connects to a server once, asks it what it has, and ends it again.
///
/// # Errors
/// If it is not there in time, or is no server.
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
