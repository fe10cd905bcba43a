//! Which of the session's tools an agent has: names, old and foreign ones included, and wildcards. A list can only take
//! away; it gives nobody a tool that the session has not.

use hookwright_hooks::{McpToolName, is_possible_tool, tools_named};

/// The tools of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolList {
    /// Lists that each must have a tool; none means all.
    allowed: Vec<Vec<ToolPattern>>,
    /// Not these.
    denied: Vec<ToolPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolPattern {
    All,
    /// Tools of MCP servers, as the engine reads their names.
    Mcp(String),
    Tool(String),
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolEntryProblem {
    /// No tool has such a name.
    Unknown,
    /// It allows a part of what a tool can do, which nobody here can see to.
    Restricted,
}

impl ToolList {
    /// Only these.
    pub(super) fn from_names<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let patterns = names.filter_map(|name| parse_patterns(name).ok()).flatten();
        ToolList { allowed: vec![patterns.collect()], denied: Vec::new() }
    }

    /// Of these, only those.
    pub(super) fn intersected_with(mut self, to: ToolList) -> Self {
        self.allowed.extend(to.allowed);
        self.denied.extend(to.denied);
        self
    }

    /// Not these either.
    pub(super) fn without<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Self {
        // Whoever takes away a part of a tool loses all of it.
        let whole = names.map(|name| name.split('(').next().unwrap_or(name).trim());
        self.denied.extend(whole.filter_map(|name| parse_patterns(name).ok()).flatten());
        self
    }

    /// Whether a tool of the session is the agent's too; for an MCP server's, by any of its names.
    pub fn has(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpToolName::parse(tool));
        self.allowed.iter().all(|list| list.iter().any(|one| one.allows(tool, mcp)))
            && !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// Whether the list leaves the agent a tool of a server that it alone has: such a server is there for all of its tools, but
    /// for those that are taken away.
    pub fn allows_own_server_tool(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpToolName::parse(tool));
        !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// The names as they are understood; nothing if there is no list.
    pub fn names(&self) -> Option<Vec<String>> {
        let name = |pattern: &ToolPattern| match pattern {
            ToolPattern::All => "*".to_owned(),
            ToolPattern::Mcp(name) | ToolPattern::Tool(name) => name.clone(),
        };
        let last = self.allowed.iter().rfind(|list| !list.contains(&ToolPattern::All)).or(self.allowed.last())?;
        let in_all = |name: &String| {
            name == "*"
                || self
                    .allowed
                    .iter()
                    .all(|list| list.iter().any(|pattern| pattern.allows(name, McpToolName::parse(name))))
        };
        Some(last.iter().map(name).filter(in_all).collect())
    }
}

impl ToolPattern {
    fn allows(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        match self {
            ToolPattern::All => true,
            ToolPattern::Mcp(entry) => mcp.is_some_and(|mcp| mcp.certainly_matches(entry, &[])),
            ToolPattern::Tool(name) => name == tool,
        }
    }

    /// A no counts in every reading.
    fn denies(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        match self {
            ToolPattern::Mcp(entry) => mcp.is_some_and(|mcp| mcp.may_match(entry)),
            ToolPattern::All | ToolPattern::Tool(_) => self.allows(tool, mcp),
        }
    }
}

/// Tools of other agents that do a part of what ours do. A guard for one of them guards ours; whoever gives one does not give the
/// whole.
const PARTIAL_TOOLS: [&str; 2] = ["NotebookEdit", "NotebookRead"];

/// What an entry means.
pub(super) fn parse_patterns(entry: &str) -> Result<Vec<ToolPattern>, ToolEntryProblem> {
    if entry.contains('(') {
        return Err(ToolEntryProblem::Restricted);
    }
    if entry == "*" {
        return Ok(vec![ToolPattern::All]);
    }
    if entry.starts_with("mcp_") {
        return Ok(vec![ToolPattern::Mcp(entry.to_owned())]);
    }
    if PARTIAL_TOOLS.contains(&entry) {
        return Err(ToolEntryProblem::Unknown);
    }
    let meant: Vec<ToolPattern> = tools_named(entry).map(|name| ToolPattern::Tool(name.to_owned())).collect();
    match meant.is_empty() {
        false => Ok(meant),
        true if is_possible_tool(entry) => Ok(vec![ToolPattern::Tool(entry.to_owned())]),
        true => Err(ToolEntryProblem::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &[&str], tool: &str) -> bool {
        ToolList::from_names(list.iter().copied()).has(tool, None)
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
        let list = |names: &[&str]| ToolList::from_names(names.iter().copied());
        let narrowed = list(&["read_file", "glob"]).intersected_with(list(&["glob", "write_file"]));
        assert!(narrowed.has("glob", None) && !narrowed.has("read_file", None) && !narrowed.has("write_file", None));
        assert_eq!(narrowed.names().unwrap(), ["glob"]);
        let all = list(&["read_file"]).intersected_with(list(&["*"]));
        assert!(all.has("read_file", None) && !all.has("write_file", None));
        assert_eq!(all.names().unwrap(), ["read_file"]);
        assert_eq!(list(&["*"]).names().unwrap(), ["*"]);
        assert_eq!(list(&["mcp__*"]).intersected_with(list(&["mcp__a__*"])).names().unwrap(), ["mcp__a__*"]);
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
        let mcp = McpToolName { name: "mcp__my_server__x", server: "my.server", tool: "x" };
        for entry in ["mcp__my.server__x", "mcp_my.server_*", "mcp__my_server__x"] {
            assert!(ToolList::from_names([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
            assert!(!ToolList::default().without([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
        }
        let without = ToolList::default().without(["mcp_my_*"].into_iter());
        assert!(!without.has(mcp.name, Some(mcp)), "a no counts in every reading");
    }

    #[test]
    fn what_cannot_be_kept_is_not_given() {
        assert_eq!(parse_patterns("Bash(git:*)"), Err(ToolEntryProblem::Restricted));
        assert_eq!(parse_patterns("NoSuchTool"), Err(ToolEntryProblem::Unknown));
        assert!(!has(&["Bash(git:*)"], "run_shell_command"));
        let list = ToolList::default().without(["Bash(rm:*)", "Write"].into_iter());
        assert!(!list.has("run_shell_command", None) && !list.has("write_file", None) && list.has("read_file", None));
    }
}
