//! Formats servers without secrets: the names of variables and headers, not their values, and no control
//! sequences for a terminal.

use std::ffi::OsString;

use hookwright_settings::{LoadedConfig, McpServer, McpTransport, Secrets, is_secret_name};
use serde_json::{Value, json};

use crate::output;
pub(crate) use crate::presentation::administration::visible_name;

/// The secrets that are masked in all output about servers.
pub(crate) struct SecretMask(Secrets);

impl SecretMask {
    /// Collects the secrets of the environment and of these servers.
    pub(crate) fn new<'s>(loaded: &LoadedConfig, servers: impl IntoIterator<Item = &'s McpServer>) -> Self {
        let secrets = Secrets::default();
        let blocked = loaded.redaction.as_ref().map_or(&[][..], |redaction| &redaction.blocked);
        secrets.learn_env(&loaded.process_env.env, blocked);
        for server in servers {
            let pairs: Vec<(OsString, OsString)> =
                transport_pairs(&server.transport).iter().map(|(name, value)| (name.into(), value.into())).collect();
            // Every header counts as secret; of the variables, only those that look like a secret.
            let names = server.transport.url().map_or_else(Vec::new, |_| transport_names(&server.transport));
            secrets.learn_env(&pairs, &names);
        }
        SecretMask(secrets)
    }

    /// Masks the secrets in a text, and escapes invisible characters.
    pub(crate) fn mask_text(&self, text: &str) -> String {
        output::one_line(&output::escape_invisible(&self.0.hide(text)))
    }

    /// Formats the command or address of a server, without secrets.
    pub(crate) fn mask_target(&self, transport: &McpTransport) -> String {
        match transport {
            McpTransport::Stdio { command, args, .. } => {
                let words: Vec<String> = [self.mask_text(command)].into_iter().chain(self.mask_args(args)).collect();
                words.join(" ")
            }
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } | McpTransport::HttpOrSse { url, .. } => {
                self.mask_text(url)
            }
        }
    }

    /// Masks arguments; the one that follows an option with a secret's name is a secret.
    fn mask_args(&self, args: &[String]) -> Vec<String> {
        let mut before = "";
        let hide = |arg: &String, before: &str| match before.starts_with('-') && is_secret_name(before) {
            true => "***".to_owned(),
            false => self.mask_text(arg),
        };
        args.iter().map(|arg| hide(arg, std::mem::replace(&mut before, arg))).collect()
    }

    /// Formats a server as JSON, without the values of its variables and headers.
    pub(crate) fn server_json(&self, server: &McpServer) -> Value {
        let mut value = json!({
            "name": server.name,
            "source": server.origin.to_string(),
            "type": server.transport.kind(),
            "timeout_ms": u64::try_from(server.timeout.as_millis()).unwrap_or(u64::MAX),
            "trust": server.trust,
            "description": server.description,
            "include_tools": server.include_tools,
            "exclude_tools": server.exclude_tools,
            "unset_variables": server.unset_variables,
        });
        match &server.transport {
            McpTransport::Stdio { command, args, cwd, .. } => {
                value["command"] = json!(self.0.hide(command));
                value["args"] = json!(self.mask_args(args));
                value["env"] = json!(transport_names(&server.transport));
                value["cwd"] = json!(cwd);
            }
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } | McpTransport::HttpOrSse { url, .. } => {
                value["url"] = json!(self.0.hide(url));
                value["headers"] = json!(transport_names(&server.transport));
            }
        }
        value
    }
}

fn transport_pairs(transport: &McpTransport) -> &[(String, String)] {
    match transport {
        McpTransport::Stdio { env, .. } => env,
        McpTransport::Http { headers, .. }
        | McpTransport::Sse { headers, .. }
        | McpTransport::HttpOrSse { headers, .. } => headers,
    }
}

fn transport_names(transport: &McpTransport) -> Vec<String> {
    transport_pairs(transport).iter().map(|(name, _)| name.clone()).collect()
}
