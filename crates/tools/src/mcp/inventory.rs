//! The tools, prompts and resources of a server. A list that the server does not support is empty; an unreadable list
//! of prompts or resources becomes a problem to report.

use std::time::Duration;

use hookwright_hooks::McpToolName;
use hookwright_settings::McpServer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::error::McpError;
use super::names::session_names;
use super::remote::{self, RemotePrompt, RemoteResource, RemoteTool};
use super::transport::McpConnection;
use crate::tool::one_line;

/// The time limit for one page of a list.
const LIST_PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The limits of pages and entries of a list; the rest of a longer one is ignored.
const MAX_LIST_PAGES: usize = 200;
const MAX_LIST_ENTRIES: usize = 5000;

/// The tools, prompts and resources of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// The server's name and version.
    pub about: String,
    /// The server's instructions for its use.
    pub instructions: Option<String>,
    /// The tools that the settings include.
    pub tools: Vec<RemoteTool>,
    pub prompts: Vec<RemotePrompt>,
    pub resources: Vec<RemoteResource>,
    /// Problems with the server's lists and with the entries of its settings.
    pub problems: Vec<String>,
}

impl Inventory {
    /// Requests all lists of a server.
    pub(super) async fn fetch(connection: &McpConnection, server: &McpServer) -> Result<Self, McpError> {
        let info = connection.server_info();
        let lister = PagedLister { connection, limit: server.timeout.min(LIST_PAGE_TIMEOUT) };
        let mut inventory = Inventory {
            about: format!("{} {}", info.name, info.version).trim().to_owned(),
            instructions: info.instructions.clone(),
            ..Inventory::default()
        };
        if info.has_tools {
            let (tools, problems) = remote::parse_tools(&lister.list("tools/list", "tools").await?);
            let choice = McpToolFilter::new(server, &tools);
            inventory.tools = tools.iter().filter(|tool| choice.includes(&tool.name)).cloned().collect();
            inventory.problems = problems.into_iter().chain(choice.unmatched_entries()).collect();
        }
        if info.has_prompts {
            match lister.list("prompts/list", "prompts").await {
                Ok(entries) => inventory.prompts = remote::parse_prompts(&entries),
                Err(error) => inventory.problems.push(format!("its prompts can't be listed: {error}")),
            }
        }
        if info.has_resources {
            match lister.list("resources/list", "resources").await {
                Ok(entries) => inventory.resources = remote::parse_resources(&entries),
                Err(error) => inventory.problems.push(format!("its resources can't be listed: {error}")),
            }
        }
        Ok(inventory)
    }

    /// Returns the tool with this name at the server.
    pub(super) fn tool(&self, name: &str) -> Option<&RemoteTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The tools that `includeTools` and `excludeTools` of a server select: by their name at the server or in the session,
/// with `*`, and optionally with a suffix in parentheses.
struct McpToolFilter<'s> {
    server: &'s McpServer,
    names: Vec<(&'s str, String)>,
}

impl<'s> McpToolFilter<'s> {
    fn new(server: &'s McpServer, tools: &'s [RemoteTool]) -> Self {
        let own: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        // Another server may have this server's plain alias; entries refer to the name that the tool would have without
        // it.
        let names = session_names(std::slice::from_ref(server), &server.name, &own);
        McpToolFilter { server, names: own.into_iter().zip(names).collect() }
    }

    fn includes(&self, tool: &str) -> bool {
        let means = |entry: &&String| self.entry_matches(strip_parentheses(entry), tool);
        self.server.include_tools.as_ref().is_none_or(|included| included.iter().any(|entry| means(&entry)))
            && !self.server.exclude_tools.iter().any(|entry| means(&entry))
    }

    fn entry_matches(&self, entry: &str, tool: &str) -> bool {
        let name = self.names.iter().find(|(own, _)| *own == tool).map_or("", |(_, name)| name);
        let mcp = McpToolName { name, server: &self.server.name, tool };
        mcp.matches_tool(entry) || mcp.may_match(entry)
    }

    /// Returns messages about the entries that match no tool of the server.
    fn unmatched_entries(&self) -> Vec<String> {
        let lists = [
            ("includeTools", self.server.include_tools.as_deref()),
            ("excludeTools", Some(&*self.server.exclude_tools)),
        ];
        let entries =
            lists.iter().flat_map(|(list, entries)| entries.iter().copied().flatten().map(move |one| (list, one)));
        let idle = entries.filter(|(_, entry)| {
            !self.names.iter().any(|(tool, _)| self.entry_matches(strip_parentheses(entry), tool))
        });
        idle.map(|(list, entry)| {
            let near = self.names.iter().map(|(tool, _)| (strsim::jaro_winkler(tool, strip_parentheses(entry)), tool));
            let near = near.filter(|(likeness, _)| *likeness > 0.75).max_by(|one, other| one.0.total_cmp(&other.0));
            let near = near.map(|(_, tool)| format!("; did you mean `{tool}`?")).unwrap_or_default();
            format!("`{}` in its `{list}` is not one of its tools{near}", one_line(entry, 80))
        })
        .collect()
    }
}

/// Removes a suffix in parentheses from an entry.
fn strip_parentheses(entry: &str) -> &str {
    entry.split('(').next().unwrap_or(entry).trim()
}

struct PagedLister<'c> {
    connection: &'c McpConnection,
    limit: Duration,
}

impl PagedLister<'_> {
    /// Requests a whole list, page by page.
    async fn list(&self, method: &str, key: &str) -> Result<Vec<Value>, McpError> {
        let never_cancelled = CancellationToken::new();
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_LIST_PAGES {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut answer = match self.connection.request(method, params, self.limit, &never_cancelled).await {
                Err(error) if error.is_unknown_method() => return Ok(all),
                other => other?,
            };
            let entries = remote::take_entries(&mut answer, key);
            all.extend(
                entries.ok_or_else(|| McpError::InvalidResponse(format!("its answer to `{method}` has no `{key}`")))?,
            );
            let next = remote::text_field(&answer, "nextCursor").filter(|next| !next.is_empty());
            if next.is_none() || next == cursor || all.len() >= MAX_LIST_ENTRIES {
                break;
            }
            cursor = next;
        }
        all.truncate(MAX_LIST_ENTRIES);
        Ok(all)
    }
}
