//! A server as people and programs read it: the names of variables and headers, never their values, and nothing that steers a
//! terminal.

use std::ffi::OsString;

use hookwright_settings::{Loaded, McpServer, Secrets, Transport, is_secret_name};
use serde_json::{Value, json};

use crate::out;

/// What is taken out of everything that is shown.
pub(crate) struct Mask(Secrets);

impl Mask {
    /// The secrets of the environment and of these servers.
    pub(crate) fn new<'s>(loaded: &Loaded, servers: impl IntoIterator<Item = &'s McpServer>) -> Self {
        let secrets = Secrets::default();
        let blocked = loaded.redaction.as_ref().map_or(&[][..], |redaction| &redaction.blocked);
        secrets.learn(&loaded.world.env, blocked);
        for server in servers {
            let pairs: Vec<(OsString, OsString)> =
                pairs(&server.transport).iter().map(|(name, value)| (name.into(), value.into())).collect();
            // A header is secret whatever it is called; a variable may well be a mere number.
            let names = server.transport.url().map_or_else(Vec::new, |_| names(&server.transport));
            secrets.learn(&pairs, &names);
        }
        Mask(secrets)
    }

    /// Anybody's words, without secrets and with what nobody would see spelt out.
    pub(crate) fn text(&self, text: &str) -> String {
        out::one_line(&out::spelled(&self.0.hide(text)))
    }

    /// What a server starts or talks to.
    pub(crate) fn target(&self, transport: &Transport) -> String {
        match transport {
            Transport::Stdio { command, args, .. } => {
                let words: Vec<String> = [self.text(command)].into_iter().chain(self.args(args)).collect();
                words.join(" ")
            }
            Transport::Http { url, .. } | Transport::Sse { url, .. } | Transport::HttpOrSse { url, .. } => {
                self.text(url)
            }
        }
    }

    /// Arguments; what follows a secret's name is one.
    fn args(&self, args: &[String]) -> Vec<String> {
        let mut before = "";
        let hide = |arg: &String, before: &str| match before.starts_with('-') && is_secret_name(before) {
            true => "***".to_owned(),
            false => self.text(arg),
        };
        args.iter().map(|arg| hide(arg, std::mem::replace(&mut before, arg))).collect()
    }

    /// A server as JSON.
    pub(crate) fn json(&self, server: &McpServer) -> Value {
        let mut value = json!({
            "name": server.name,
            "source": server.origin.to_string(),
            "type": server.transport.kind(),
            "timeout_ms": u64::try_from(server.timeout.as_millis()).unwrap_or(u64::MAX),
            "trust": server.trust,
            "description": server.description,
            "include_tools": server.include_tools,
            "exclude_tools": server.exclude_tools,
            "unset_variables": server.unset,
        });
        match &server.transport {
            Transport::Stdio { command, args, cwd, .. } => {
                value["command"] = json!(self.0.hide(command));
                value["args"] = json!(self.args(args));
                value["env"] = json!(names(&server.transport));
                value["cwd"] = json!(cwd);
            }
            Transport::Http { url, .. } | Transport::Sse { url, .. } | Transport::HttpOrSse { url, .. } => {
                value["url"] = json!(self.0.hide(url));
                value["headers"] = json!(names(&server.transport));
            }
        }
        value
    }
}

fn pairs(transport: &Transport) -> &[(String, String)] {
    match transport {
        Transport::Stdio { env, .. } => env,
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } | Transport::HttpOrSse { headers, .. } => {
            headers
        }
    }
}

fn names(transport: &Transport) -> Vec<String> {
    pairs(transport).iter().map(|(name, _)| name.clone()).collect()
}

/// A name, with what nobody would see spelt out.
pub(crate) fn name(name: &str) -> String {
    out::shorten(&out::spelled(name), 60)
}
