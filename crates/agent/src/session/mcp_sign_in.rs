//! Signs in to an MCP server from within a session, and out again. It runs in the background: the session does not wait
//! for the user's browser. The protocol is in `hookwright_tools::mcp::sign_in`.

use hookwright_settings::McpServer;
use hookwright_settings::mcp::forget_credentials;
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
        let Some(server) = self.server_named(name) else { return };
        let view = self.shared.view();
        let (events, servers) = (view.services.events.clone(), view.services.servers.clone());
        let guards = view.services.tamper_watch.clone();
        let (file, proxy) =
            (view.loaded.paths.mcp_tokens.clone(), model_selection::proxy_from_env(&view.loaded.process_env));
        // A new sign-in cancels the one before, whose address is no longer used.
        self.mcp_sign_in = McpSignInTask::default();
        self.mcp_sign_in.0.spawn(async move {
            let name = &server.name;
            let reply = |reply| events.send(SessionEvent::Reply(reply));
            let send = |page: &str, host: &str| {
                reply(Reply::plain(format!("sign in to `{name}` at {host}, in a browser on this machine:\n{page}")));
            };
            let with = SignInOptions { file: &file, proxy: proxy.as_ref(), timeout: SignInOptions::DEFAULT_TIMEOUT };
            match sign_in(&server, &with, send).await {
                Ok(()) => {
                    guards.accept_user_change(&file);
                    servers.reconnect(name);
                    reply(Reply::news(format!("signed in to `{name}`; it is being reconnected")));
                }
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                    reply(Reply::error(format!("not signed in to `{name}`: {error}{hint}")));
                }
            }
        });
    }

    /// Forgets a server's token, and reconnects the server without it.
    pub(super) fn sign_out(&mut self, name: &str) {
        let view = self.shared.view();
        let file = &view.loaded.paths.mcp_tokens;
        let forgotten = view.services.tamper_watch.with_user_change(file, || forget_credentials(file, name));
        self.reply(match forgotten {
            Ok(true) => {
                view.services.servers.reconnect(name);
                Reply::plain(format!("forgot the token for `{name}`; the server may still accept it until it expires"))
            }
            Ok(false) => Reply::error(format!("there is no token for `{name}`")),
            Err(error) => Reply::error(error),
        });
    }

    /// Returns the server of that name, or replies why there is none.
    fn server_named(&self, name: &str) -> Option<McpServer> {
        let all = self.shared.view().loaded.mcp_servers();
        let why = match all.find(name) {
            Ok(server) => return Some(server.clone()),
            Err(Some(left_out)) => format!("MCP server `{name}` is not used here: {}", left_out.reason),
            Err(None) => format!("no MCP server is called `{name}`; /mcp shows them all"),
        };
        self.reply(Reply::error(why));
        None
    }
}
