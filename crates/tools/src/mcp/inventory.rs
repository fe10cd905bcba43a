//! What a server has, asked for list by list. A list that a server lacks is empty; one that it spoils costs what it spoils.

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

/// The longest that a server may take for one piece of a list.
const LIST_PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Past these, a list is a mistake.
const MAX_LIST_PAGES: usize = 200;
const MAX_LIST_ENTRIES: usize = 5000;

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// What it says of itself: name and version.
    pub about: String,
    /// How it wants to be used, in its own words.
    pub instructions: Option<String>,
    /// Its tools, as far as the settings want them.
    pub tools: Vec<RemoteTool>,
    /// Its prompts.
    pub prompts: Vec<RemotePrompt>,
    /// What can be read there.
    pub resources: Vec<RemoteResource>,
    /// What is wrong with what it says.
    pub problems: Vec<String>,
}

impl Inventory {
    /// Asks a server for everything.
    pub(super) async fn fetch(connection: &McpConnection, server: &McpServer) -> Result<Self, McpError> {
        let hello = connection.server_info();
        let lister = PagedLister { connection, limit: server.timeout.min(LIST_PAGE_TIMEOUT) };
        let mut inventory = Inventory {
            about: format!("{} {}", hello.name, hello.version).trim().to_owned(),
            instructions: hello.instructions.clone(),
            ..Inventory::default()
        };
        if hello.has_tools {
            let (tools, problems) = remote::parse_tools(&lister.list("tools/list", "tools").await?);
            let choice = McpToolFilter::new(server, &tools);
            inventory.tools = tools.iter().filter(|tool| choice.includes(&tool.name)).cloned().collect();
            inventory.problems = problems.into_iter().chain(choice.unmatched_entries()).collect();
        }
        if hello.has_prompts {
            match lister.list("prompts/list", "prompts").await {
                Ok(entries) => inventory.prompts = remote::parse_prompts(&entries),
                Err(error) => inventory.problems.push(format!("its prompts can't be listed: {error}")),
            }
        }
        if hello.has_resources {
            match lister.list("resources/list", "resources").await {
                Ok(entries) => inventory.resources = remote::parse_resources(&entries),
                Err(error) => inventory.problems.push(format!("its resources can't be listed: {error}")),
            }
        }
        Ok(inventory)
    }

    /// The tool of this name, at the server.
    pub(super) fn tool(&self, name: &str) -> Option<&RemoteTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// What `includeTools` and `excludeTools` of a server mean: its tools as they are called there or in a session, with `*`, and
/// perhaps with something in parentheses.
struct McpToolFilter<'s> {
    server: &'s McpServer,
    names: Vec<(&'s str, String)>,
}

impl<'s> McpToolFilter<'s> {
    fn new(server: &'s McpServer, tools: &'s [RemoteTool]) -> Self {
        let own: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        // Other servers may have taken the plain name of this one; what it would be is meant all the same.
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

    /// The entries that mean nothing the server has.
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
            format!("`{}` in its `{list}` is none of its tools{near}", one_line(entry, 80))
        })
        .collect()
    }
}

/// An entry without what it carries in parentheses.
fn strip_parentheses(entry: &str) -> &str {
    entry.split('(').next().unwrap_or(entry).trim()
}

struct PagedLister<'c> {
    connection: &'c McpConnection,
    limit: Duration,
}

impl PagedLister<'_> {
    /// A whole list, page by page.
    async fn list(&self, method: &str, key: &str) -> Result<Vec<Value>, McpError> {
        let nobody_cancels = CancellationToken::new();
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_LIST_PAGES {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let mut answer = match self.connection.request(method, params, self.limit, &nobody_cancels).await {
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
