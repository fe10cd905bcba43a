//! What a server may ask of us and tell us by itself: where the work is, what it logs, that its lists are others now. It gets
//! no model and no user: neither is offered to it.

#![expect(deprecated, reason = "servers still ask for roots and send log messages")]

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use super::{Changes, bounded};

pub(super) struct Listener {
    pub(super) roots: Vec<PathBuf>,
    pub(super) changes: Arc<Changes>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let us = Implementation::new("hookwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let root = |path: &PathBuf| reqwest::Url::from_file_path(path).ok().map(Root::new);
        Ok(ListRootsResult::new(self.roots.iter().filter_map(root).collect()))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.tell();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.tell();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.tell();
    }

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        tracing::debug!(level = ?message.level, "the server says: {}", bounded(&message.data.to_string()));
    }
}
