//! Answers a server's requests. Only the list of roots is offered, neither a model nor questions to the user.
//! `inbound.rs` handles notifications.

#![expect(deprecated, reason = "servers still ask for roots")]

use std::path::PathBuf;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProtocolVersion, Root,
    RootsCapabilities,
};
use rmcp::service::{RequestContext, RoleClient};

pub(super) struct RootsHandler {
    pub(super) roots: Vec<PathBuf>,
}

impl ClientHandler for RootsHandler {
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
}
