//! Which of the session's tools an agent may use: names, including older and foreign ones, and wildcards. A list can
//! only remove tools; it never adds one that the session does not have.

use hookwright_hooks::{McpToolName, is_possible_tool, tools_named};

/// The tools of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolList {
    /// Lists of which each must contain a tool; an empty vector allows all.
    allowed: Vec<Vec<ToolPattern>>,
    /// Tools that are forbidden.
    denied: Vec<ToolPattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolPattern {
    All,
    /// Tools of MCP servers, matched as the engine does it.
    Mcp(String),
    Tool(String),
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolEntryProblem {
    /// No tool has such a name.
    Unknown,
    /// The entry allows a part of what a tool can do, which cannot be enforced here.
    Restricted,
}

impl ToolList {
    /// Allows only these tools.
    pub(super) fn from_names<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let patterns = names.filter_map(|name| parse_patterns(name).ok()).flatten();
        ToolList { allowed: vec![patterns.collect()], denied: Vec::new() }
    }

    /// Allows only tools that both lists allow.
    pub(super) fn intersected_with(mut self, to: ToolList) -> Self {
        self.allowed.extend(to.allowed);
        self.denied.extend(to.denied);
        self
    }

    /// Forbids these tools.
    pub(super) fn without<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Self {
        // Forbidding a part of a tool forbids all of it.
        let whole = names.map(|name| name.split('(').next().unwrap_or(name).trim());
        self.denied.extend(whole.filter_map(|name| parse_patterns(name).ok()).flatten());
        self
    }

    /// Whether the agent may use a tool of the session; an MCP tool is matched by any of its names.
    pub fn has(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpToolName::parse(tool));
        self.allowed.iter().all(|list| list.iter().any(|one| one.allows(tool, mcp)))
            && !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// Whether the agent may use a tool of a server that it declares itself. All tools of such a server are allowed,
    /// except forbidden ones.
    pub fn allows_own_server_tool(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        let mcp = mcp.or_else(|| McpToolName::parse(tool));
        !self.denied.iter().any(|one| one.denies(tool, mcp))
    }

    /// Returns the allowed names as they were understood; `None` if there is no list.
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

    /// Whether the pattern forbids a tool. Every possible reading of an MCP name counts.
    fn denies(&self, tool: &str, mcp: Option<McpToolName<'_>>) -> bool {
        match self {
            ToolPattern::Mcp(entry) => mcp.is_some_and(|mcp| mcp.may_match(entry)),
            ToolPattern::All | ToolPattern::Tool(_) => self.allows(tool, mcp),
        }
    }
}

/// Tools of other agents that do a part of what ours do. A guard for one of them also guards our tool, but allowing
/// one does not allow our whole tool.
const PARTIAL_TOOLS: [&str; 2] = ["NotebookEdit", "NotebookRead"];

/// Returns the tools that an entry stands for.
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
    fn older_and_foreign_tool_names_are_understood() {
        for name in ["search_file_content", "grep_search", "Grep", "GrepTool"] {
            assert!(has(&[name], "search_file_content"), "{name}");
            assert!(!has(&[name], "run_shell_command"), "{name}");
        }
        assert!(has(&["apply_patch"], "replace") && has(&["apply_patch"], "write_file"));
        assert!(ToolList::default().has("run_shell_command", None), "without a list, all of the session's");
        assert!(!has(&[], "read_file"), "an empty list is a list");
    }

    #[test]
    fn second_list_only_removes_tools() {
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
    fn mcp_tools_match_by_their_server_side_names() {
        let mcp = McpToolName { name: "mcp__my_server__x", server: "my.server", tool: "x" };
        for entry in ["mcp__my.server__x", "mcp_my.server_*", "mcp__my_server__x"] {
            assert!(ToolList::from_names([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
            assert!(!ToolList::default().without([entry].into_iter()).has(mcp.name, Some(mcp)), "{entry}");
        }
        let without = ToolList::default().without(["mcp_my_*"].into_iter());
        assert!(!without.has(mcp.name, Some(mcp)), "a no counts in every reading");
    }

    #[test]
    fn partial_tool_permissions_are_not_granted() {
        assert_eq!(parse_patterns("Bash(git:*)"), Err(ToolEntryProblem::Restricted));
        assert_eq!(parse_patterns("NoSuchTool"), Err(ToolEntryProblem::Unknown));
        assert!(!has(&["Bash(git:*)"], "run_shell_command"));
        let list = ToolList::default().without(["Bash(rm:*)", "Write"].into_iter());
        assert!(!list.has("run_shell_command", None) && !list.has("write_file", None) && list.has("read_file", None));
    }
}
