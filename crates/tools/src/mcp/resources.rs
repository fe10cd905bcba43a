//! The tools `list_mcp_resources` and `read_mcp_resource`. Only resources that a server lists can be read.

use std::sync::Weak;

use serde_json::{Value, json};

use super::remote::{RemoteResource, printable_name, text_field};
use super::result;
use super::servers::McpServerSet;
use super::tool::request_failure;
use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::ToolResult;
use crate::tool::{BoxFuture, Declaration, Tool, ToolKind, one_line};

/// Lists the resources of all servers.
pub(super) struct ListResources(pub(super) Weak<McpServerSet>);

/// Reads one resource.
pub(super) struct ReadResource(pub(super) Weak<McpServerSet>);

impl Tool for ListResources {
    fn name(&self) -> &str {
        "list_mcp_resources"
    }

    fn display_name(&self) -> &str {
        "ListMcpResources"
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Search
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name().to_owned(),
            description: "Lists the resources of the MCP servers that are connected, each as server:uri with its name \
                          and description. Read one with read_mcp_resource."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "serverName": { "type": "string", "description": "Only those of this server." } },
            }),
        }
    }

    fn source_server(&self, args: &Value) -> Option<String> {
        text_field(args, "serverName")
    }

    fn describe(&self, args: &Value) -> String {
        text_field(args, "serverName").map_or_else(|| "all servers".to_owned(), |server| one_line(&server, 200))
    }

    fn run<'a>(&'a self, args: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let only = text_field(args, "serverName");
            let all = self.0.upgrade().map(|servers| servers.resources()).unwrap_or_default();
            let all: Vec<_> = all.into_iter().filter(|(of, _)| only.as_ref().is_none_or(|only| only == of)).collect();
            let count = all.len();
            let lines: Vec<String> = all.iter().map(|(server, resource)| resource_line(server, resource)).collect();
            match only {
                _ if count > 0 => {
                    let listing = crate::result::wrap_untrusted(&lines.join("\n"));
                    ToolResult::text(
                        format!("The resources of MCP servers:\n{listing}"),
                        if count == 1 { "Listed 1 resource".to_owned() } else { format!("Listed {count} resources") },
                    )
                }
                Some(server) => ToolResult::text(format!("No resources found for server: {server}"), "No resources"),
                None => ToolResult::text("No MCP resources found.", "No resources"),
            }
        })
    }
}

fn resource_line(server: &str, resource: &RemoteResource) -> String {
    let more = [&resource.name, &resource.description].into_iter().filter(|words| !words.is_empty());
    let more: String = more.map(|words| format!(" | {}", one_line(words, 200))).collect();
    format!("- {server}:{}{more}", one_line(&resource.uri, 400))
}

impl Tool for ReadResource {
    fn name(&self) -> &str {
        "read_mcp_resource"
    }

    fn display_name(&self) -> &str {
        "ReadMcpResource"
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name().to_owned(),
            description: "Reads a resource of an MCP server, as list_mcp_resources lists them.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "uri": { "type": "string", "description": "The URI; server:uri where several have it." } },
                "required": ["uri"],
            }),
        }
    }

    fn source_server(&self, args: &Value) -> Option<String> {
        let (client, _) = self.0.upgrade()?.find_resource(&text_field(args, "uri")?)?;
        Some(client.server.name.clone())
    }

    fn describe(&self, args: &Value) -> String {
        one_line(&text_field(args, "uri").unwrap_or_default(), 200)
    }

    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let uri = text_field(args, "uri").unwrap_or_default();
            let Some((client, resource)) = self.0.upgrade().and_then(|servers| servers.find_resource(&uri)) else {
                let message = format!("Resource not found for URI: {}", printable_name(&uri));
                return ToolFailure::new(ToolErrorKind::McpResourceNotFound, message).into();
            };
            match client.read_resource(&resource.uri, &ctx.cancel).await {
                Ok(answer) => result::from_resource(&printable_name(&resource.uri), &answer),
                Err(error) => request_failure(&client.server.name, error).into(),
            }
        })
    }
}
