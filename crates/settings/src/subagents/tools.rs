//! Which of the session's tools an agent has: names, old and foreign ones included, and wildcards. A list can only take
//! away; it gives nobody a tool that the session has not.

use hookwright_hooks::{McpName, is_possible_tool, tools_meant};

/// The tools of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolList {
    /// Lists that each must have a tool; none means all.
    allowed: Vec<Vec<Pattern>>,
    /// Not these.
    denied: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    All,
    /// Tools of MCP servers, as the engine reads their names.
    Mcp(String),
    Tool(String),
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No tool has such a name.
    Unknown,
    /// It allows a part of what a tool can do, which nobody here can see to.
    Restricted,
}

impl ToolList {
    /// Only these.
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let patterns = names.filter_map(|name| patterns(name).ok()).flatten();
        ToolList { allowed: vec![patterns.collect()], denied: Vec::new() }
    }

    /// Of these, only those.
    pub(super) fn narrowed(mut self, to: ToolList) -> Self {
        self.allowed.extend(to.allowed);
        self.denied.extend(to.denied);
        self
    }

    /// Not these either.
    pub(super) fn without<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Self {
        // Whoever takes away a part of a tool loses all of it.
        let whole = names.map(|name| name.split('(').next().unwrap_or(name).trim());
        self.denied.extend(whole.filter_map(|name| patterns(name).ok()).flatten());
        self
    }

    /// Whether a tool of the session is the agent's too; for an MCP server's, by any of its names.
    pub fn has(&self, tool: &str, mcp: Option<McpName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpName::read(tool));
        self.allowed.iter().all(|list| list.iter().any(|one| one.allows(tool, mcp)))
            && !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// Whether the list leaves the agent a tool of a server that it alone has: such a server is there for all of its tools, but
    /// for those that are taken away.
    pub fn leaves(&self, tool: &str, mcp: Option<McpName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpName::read(tool));
        !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// The names as they are understood; nothing if there is no list.
    pub fn names(&self) -> Option<Vec<String>> {
        let name = |pattern: &Pattern| match pattern {
            Pattern::All => "*".to_owned(),
            Pattern::Mcp(name) | Pattern::Tool(name) => name.clone(),
        };
        let last = self.allowed.iter().rfind(|list| !list.contains(&Pattern::All)).or(self.allowed.last())?;
        let in_all = |name: &String| {
            name == "*"
                || self.allowed.iter().all(|list| list.iter().any(|pattern| pattern.allows(name, McpName::read(name))))
        };
        Some(last.iter().map(name).filter(in_all).collect())
    }
}

impl Pattern {
    fn allows(&self, tool: &str, mcp: Option<McpName<'_>>) -> bool {
        match self {
            Pattern::All => true,
            Pattern::Mcp(entry) => mcp.is_some_and(|mcp| mcp.is_surely(entry, &[])),
            Pattern::Tool(name) => name == tool,
        }
    }

    /// A no counts in every reading.
    fn denies(&self, tool: &str, mcp: Option<McpName<'_>>) -> bool {
        match self {
            Pattern::Mcp(entry) => mcp.is_some_and(|mcp| mcp.may_be(entry)),
            Pattern::All | Pattern::Tool(_) => self.allows(tool, mcp),
        }
    }
}

/// Tools of other agents that do a part of what ours do. A guard for one of them guards ours; whoever gives one does not give the
/// whole.
const PARTS: [&str; 2] = ["NotebookEdit", "NotebookRead"];

/// What an entry means.
pub(super) fn patterns(entry: &str) -> Result<Vec<Pattern>, Trouble> {
    if entry.contains('(') {
        return Err(Trouble::Restricted);
    }
    if entry == "*" {
        return Ok(vec![Pattern::All]);
    }
    if entry.starts_with("mcp_") {
        return Ok(vec![Pattern::Mcp(entry.to_owned())]);
    }
    if PARTS.contains(&entry) {
        return Err(Trouble::Unknown);
    }
    let meant: Vec<Pattern> = tools_meant(entry).map(|name| Pattern::Tool(name.to_owned())).collect();
    match meant.is_empty() {
        false => Ok(meant),
        true if is_possible_tool(entry) => Ok(vec![Pattern::Tool(entry.to_owned())]),
        true => Err(Trouble::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &[&str], tool: &str) -> bool {
        ToolList::of(list.iter().copied()).has(tool, None)
    }

    #[test]
    fn names_of_any_age_and_agent_mean_the_tool() {
        for name in ["search_file_content", "grep_search", "Grep", "GrepTool"] {
            assert!(has(&[name], "search_file_content"), "{name}");
            assert!(!has(&[name], "run_shell_command"), "{name}");
        }
        assert!(has(&["apply_patch"], "replace") && has(&["apply_patch"], "write_file"));
        assert!(ToolList::default().has("run_shell_command", None), "without a list, all of the session's");
        assert!(!has(&[], "read_file"), "an empty list is a list");
    }

    #[test]
    fn another_list_takes_away_and_gives_nothing() {
        let list = |names: &[&str]| ToolList::of(names.iter().copied());
        let narrowed = list(&["read_file", "glob"]).narrowed(list(&["glob", "write_file"]));
        assert!(narrowed.has("glob", None) && !narrowed.has("read_file", None) && !narrowed.has("write_file", None));
        assert_eq!(narrowed.names().unwrap(), ["glob"]);
        let all = list(&["read_file"]).narrowed(list(&["*"]));
        assert!(all.has("read_file", None) && !all.has("write_file", None));
        assert_eq!(all.names().unwrap(), ["read_file"]);
        assert_eq!(list(&["*"]).names().unwrap(), ["*"]);
        assert_eq!(list(&["mcp__*"]).narrowed(list(&["mcp__a__*"])).names().unwrap(), ["mcp__a__*"]);
    }

    #[test]
    fn wildcards_stop_at_a_servers_name() {
        for all in ["mcp_*", "mcp__*"] {
            assert!(has(&[all], "mcp__a__x") && !has(&[all], "read_file"), "{all}");
        }
        for one in ["mcp_a_*", "mcp__a__*", "mcp__a"] {
            assert!(has(&[one], "mcp__a__x") && !has(&[one], "mcp__a_b__x") && !has(&[one], "mcp__b__a"), "{one}");
        }
        for tool in ["mcp__a__x", "mcp_a_x"] {
            assert!(has(&[tool], "mcp__a__x") && !has(&[tool], "mcp__a__xy"), "{tool}");
        }
        assert!(has(&["*"], "mcp__a__x") && has(&["*"], "read_file"));
    }

    #[test]
    fn tools_of_servers_are_known_by_what_they_are_called_there() {
        let mcp = McpName { name: "mcp__my_server__x", server: "my.server", tool: "x" };
        for entry in ["mcp__my.server__x", "mcp_my.server_*", "mcp__my_server__x"] {
            assert!(ToolList::of([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
            assert!(!ToolList::default().without([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
        }
        let without = ToolList::default().without(["mcp_my_*"].into_iter());
        assert!(!without.has(mcp.name, Some(mcp)), "a no counts in every reading");
    }

    #[test]
    fn what_cannot_be_kept_is_not_given() {
        assert_eq!(patterns("Bash(git:*)"), Err(Trouble::Restricted));
        assert_eq!(patterns("NoSuchTool"), Err(Trouble::Unknown));
        assert!(!has(&["Bash(git:*)"], "run_shell_command"));
        let list = ToolList::default().without(["Bash(rm:*)", "Write"].into_iter());
        assert!(!list.has("run_shell_command", None) && !list.has("write_file", None) && list.has("read_file", None));
    }
}
