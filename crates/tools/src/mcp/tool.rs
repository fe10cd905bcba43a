//! A tool of an MCP server as a tool of the session. The server's own claims about it are not trusted: it needs
//! approval like any unknown tool.

use std::sync::Arc;

use hookwright_hooks::McpToolName;
use hookwright_settings::{McpServer, McpTransport};
use serde_json::{Map, Value, json};

use super::client::McpClient;
use super::error::McpError;
use super::names::tool_names;
use super::remote::{RemoteTool, printable_name};
use super::result;
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::ToolResult;
use crate::tool::{BoxFuture, Declaration, Tool, ToolKind, one_line};

/// The origin of an MCP tool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct McpToolOrigin {
    /// The server's name in the settings.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// Whether the settings allow its calls without a question.
    pub trusted: bool,
    /// The fingerprint of the approved definition; a changed definition counts as another tool.
    pub fingerprint: u64,
}

impl McpToolOrigin {
    /// Returns all names of the tool, given the name that models use.
    pub fn mcp_name<'a>(&'a self, name: &'a str) -> McpToolName<'a> {
        McpToolName { name, server: &self.server, tool: &self.tool }
    }
}

struct McpTool {
    client: Arc<McpClient>,
    name: String,
    display_name: String,
    remote: RemoteTool,
    origin: McpToolOrigin,
}

/// Returns a server's current tools.
pub(super) fn server_tools(client: &Arc<McpClient>, alias: &str) -> Vec<Arc<dyn Tool>> {
    let inventory = client.inventory();
    let own: Vec<&str> = inventory.tools.iter().map(|tool| tool.name.as_str()).collect();
    let server = &client.server.name;
    let make = |(name, remote): (String, &RemoteTool)| -> Arc<dyn Tool> {
        Arc::new(McpTool {
            client: client.clone(),
            name,
            display_name: format!("{} ({} MCP Server)", printable_name(&remote.name), printable_name(server)),
            remote: remote.clone(),
            origin: McpToolOrigin {
                server: server.clone(),
                tool: remote.name.clone(),
                trusted: client.server.trust,
                fingerprint: remote.fingerprint,
            },
        })
    };
    tool_names(alias, &own).into_iter().zip(&inventory.tools).map(make).collect()
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn display_name(&self) -> &str {
        &self.display_name
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name.clone(),
            description: self.remote.description.clone(),
            parameters: self.remote.parameters.clone(),
        }
    }

    fn describe(&self, args: &Value) -> String {
        one_line(&args.to_string(), 200)
    }

    fn mcp_context(&self) -> Option<Value> {
        let mut context = Map::new();
        context.insert("server_name".to_owned(), json!(self.origin.server));
        context.insert("tool_name".to_owned(), json!(self.origin.tool));
        let McpServer { transport, unresolved: written, .. } = &self.client.server;
        match transport {
            McpTransport::Stdio { command, cwd, .. } => {
                context.insert("command".to_owned(), json!(command));
                // The values of variables may be secret.
                context.insert("args".to_owned(), json!(written.args));
                context.extend(cwd.as_ref().map(|cwd| ("cwd".to_owned(), json!(cwd))));
            }
            _ => context.extend(written.url.as_deref().map(|url| ("url".to_owned(), json!(redact_written_url(url))))),
        }
        Some(Value::Object(context))
    }

    fn mcp_origin(&self) -> Option<&McpToolOrigin> {
        Some(&self.origin)
    }

    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.client.call_tool(&self.origin.tool, self.origin.fingerprint, args, &ctx.cancel).await {
                Ok(answer) => result::from_call(&printable_name(&self.origin.tool), &answer),
                Err(error) => request_failure(&self.origin.server, error).into(),
            }
        })
    }
}

/// Returns an address as it is written, without the parts that may be secret: user, password and query.
fn redact_written_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(_, rest)| (&url[..url.len() - rest.len()], rest));
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = place.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

/// Converts a failed request to a tool failure.
pub(super) fn request_failure(server: &str, error: McpError) -> ToolFailure {
    let failure = |hint: Option<&str>| {
        let failure =
            ToolFailure::new(ToolErrorKind::McpToolError, format!("MCP server '{}': {error}", printable_name(server)));
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    match &error {
        McpError::Cancelled => ToolFailure::cancelled(),
        McpError::Closed(_) => failure(Some("Whether the call had any effect is unknown.")),
        McpError::TimedOut(_) => failure(Some("The call was called off; whether it had any effect is unknown.")),
        McpError::Unauthorized { .. } => failure(Some("The user has to log in to it with `hookwright mcp auth`.")),
        _ => failure(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_url_loses_its_secrets() {
        for (written, redacted) in [
            ("https://user:pass@h.example:8/mcp?key=s3cret#x", "https://h.example:8/mcp"),
            ("https://a@b@h/x@y", "https://h/x@y"),
            ("https://${HOST}/mcp?key=$KEY", "https://${HOST}/mcp"),
            ("${SERVER_URL}", "${SERVER_URL}"),
            ("http://h", "http://h"),
            ("https://h?key=s3cret", "https://h"),
        ] {
            assert_eq!(redact_written_url(written), redacted);
        }
    }
}
