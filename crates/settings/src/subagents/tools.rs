//! Which of the session's tools an agent has: names, old and foreign ones included, and wildcards. A list can only take
//! away; it gives nobody a tool that the session has not.

use hookwright_hooks::{is_possible_tool, tools_meant};

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
    /// All of all MCP servers.
    Servers,
    /// All of one MCP server.
    Server(String),
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

    /// Whether a tool of the session is the agent's too.
    pub fn has(&self, tool: &str) -> bool {
        let fits = |pattern: &Pattern| pattern.fits(tool);
        self.allowed.iter().all(|list| list.iter().any(fits)) && !self.denied.iter().any(fits)
    }

    /// The names as they are understood; nothing if there is no list.
    pub fn names(&self) -> Option<Vec<String>> {
        let name = |pattern: &Pattern| match pattern {
            Pattern::All => "*".to_owned(),
            Pattern::Servers => "mcp__*".to_owned(),
            Pattern::Server(server) => format!("mcp__{server}__*"),
            Pattern::Tool(name) => name.clone(),
        };
        let last = self.allowed.iter().rfind(|list| !list.contains(&Pattern::All)).or(self.allowed.last())?;
        let in_all = |name: &String| {
            name == "*" || self.allowed.iter().all(|list| list.iter().any(|pattern| pattern.fits(name)))
        };
        Some(last.iter().map(name).filter(in_all).collect())
    }
}

impl Pattern {
    fn fits(&self, tool: &str) -> bool {
        let server = || Some(tool.strip_prefix("mcp__")?.split_once("__")?.0);
        match self {
            Pattern::All => true,
            Pattern::Servers => tool.starts_with("mcp__"),
            Pattern::Server(name) => server() == Some(name),
            Pattern::Tool(name) => name == tool || single(tool).is_some_and(|spelling| spelling == *name),
        }
    }
}

/// `mcp__server__tool` as Gemini CLI writes it.
fn single(tool: &str) -> Option<String> {
    let (server, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(format!("mcp_{server}_{name}"))
}

/// What an entry means.
pub(super) fn patterns(entry: &str) -> Result<Vec<Pattern>, Trouble> {
    let server = |inner: &str| match inner {
        "" | "*" => Pattern::Servers,
        name => Pattern::Server(name.to_owned()),
    };
    if entry.contains('(') {
        return Err(Trouble::Restricted);
    }
    if entry == "*" {
        return Ok(vec![Pattern::All]);
    }
    if let Some(inner) = entry.strip_prefix("mcp__") {
        return Ok(vec![match inner.split_once("__") {
            None | Some((_, "*")) => server(inner.trim_end_matches("__*")),
            Some(_) => Pattern::Tool(entry.to_owned()),
        }]);
    }
    if let Some(inner) = entry.strip_prefix("mcp_").filter(|inner| inner.ends_with('*')) {
        return Ok(vec![server(inner.trim_end_matches('*').trim_end_matches('_'))]);
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
        ToolList::of(list.iter().copied()).has(tool)
    }

    #[test]
    fn names_of_any_age_and_agent_mean_the_tool() {
        for name in ["search_file_content", "grep_search", "Grep", "GrepTool"] {
            assert!(has(&[name], "search_file_content"), "{name}");
            assert!(!has(&[name], "run_shell_command"), "{name}");
        }
        assert!(has(&["apply_patch"], "replace") && has(&["apply_patch"], "write_file"));
        assert!(ToolList::default().has("run_shell_command"), "without a list, all of the session's");
        assert!(!has(&[], "read_file"), "an empty list is a list");
    }

    #[test]
    fn another_list_takes_away_and_gives_nothing() {
        let list = |names: &[&str]| ToolList::of(names.iter().copied());
        let narrowed = list(&["read_file", "glob"]).narrowed(list(&["glob", "write_file"]));
        assert!(narrowed.has("glob") && !narrowed.has("read_file") && !narrowed.has("write_file"));
        assert_eq!(narrowed.names().unwrap(), ["glob"]);
        let all = list(&["read_file"]).narrowed(list(&["*"]));
        assert!(all.has("read_file") && !all.has("write_file"));
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
    fn what_cannot_be_kept_is_not_given() {
        assert_eq!(patterns("Bash(git:*)"), Err(Trouble::Restricted));
        assert_eq!(patterns("NoSuchTool"), Err(Trouble::Unknown));
        assert!(!has(&["Bash(git:*)"], "run_shell_command"));
        let list = ToolList::default().without(["Bash(rm:*)", "Write"].into_iter());
        assert!(!list.has("run_shell_command") && !list.has("write_file") && list.has("read_file"));
    }
}
