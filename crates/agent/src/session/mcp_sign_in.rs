//! Signs in to an MCP server from within a session, and out again. It runs in the background: the session does not wait
//! for the user's browser. The protocol is in `hookwright_tools::mcp::sign_in`.

use hookwright_settings::administration::{ActionError, McpAccountReport, sign_out, usable_server};
use hookwright_tools::mcp::{SignInOptions, sign_in};
use tokio::task::JoinSet;

use super::actor::SessionActor;
use super::model_selection;
use super::reply::Reply;
use crate::event::SessionEvent;

/// The running sign-in; dropping it cancels it.
#[derive(Default)]
pub(super) struct McpSignInTask(JoinSet<()>);

impl SessionActor {
    /// Shows the address for the user's browser, and reconnects the server once the sign-in is complete.
    pub(super) fn sign_in(&mut self, name: &str) {
        let view = self.shared.view();
        let server = match usable_server(&view.loaded, name) {
            Ok(server) => server,
            Err(refusal) => return self.reply(Reply::McpAccount(McpAccountReport::Refused(refusal))),
        };
        let (events, servers) = (view.services.events.clone(), view.services.servers.clone());
        let guards = view.services.tamper_watch.clone();
        let (file, proxy) =
            (view.loaded.paths.mcp_tokens.clone(), model_selection::proxy_from_env(&view.loaded.process_env));
        // A new sign-in cancels the one before, whose address is no longer used.
        self.mcp_sign_in = McpSignInTask::default();
        self.mcp_sign_in.0.spawn(async move {
            let name = server.name.clone();
            let report = |report| events.send(SessionEvent::Reply(Reply::McpAccount(report)));
            let send = |page: &str, host: &str| {
                let (host, page) = (host.to_owned(), page.to_owned());
                report(McpAccountReport::SignInPage { name: name.clone(), host, page });
            };
            let with = SignInOptions { file: &file, proxy: proxy.as_ref(), timeout: SignInOptions::DEFAULT_TIMEOUT };
            match sign_in(&server, &with, send).await {
                Ok(()) => {
                    guards.accept_user_change(&file);
                    servers.reconnect(&name);
                    report(McpAccountReport::SignedIn { name });
                }
                Err(error) => {
                    let error = ActionError::new(&error, error.hint().map(str::to_owned));
                    report(McpAccountReport::NotSignedIn { name, error });
                }
            }
        });
    }

    /// Forgets a server's token, and reconnects the server without it.
    pub(super) fn sign_out(&mut self, name: &str) {
        match sign_out(self, name) {
            Ok(report) => {
                if matches!(report, McpAccountReport::SignedOut { .. }) {
                    self.services().servers.reconnect(name);
                }
                self.reply(Reply::McpAccount(report));
            }
            Err(error) => self.reply(Reply::error(error)),
        }
    }
}
