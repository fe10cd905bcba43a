//! All the names of an MCP server's tool, and which of them an entry of a list or a rule means. Models know a tool by a plain
//! and short name; people also write what its server and the tool itself are called. Pure, and about names only.

use crate::wildcard::is_like;

/// A server's tool, by all of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpName<'a> {
    /// What models call it: `mcp__server__tool`, made plain and short.
    pub name: &'a str,
    /// What its server is called in the settings.
    pub server: &'a str,
    /// What it is called there.
    pub tool: &'a str,
}

impl<'a> McpName<'a> {
    /// A tool of which only the whole name is known, in either spelling.
    pub fn read(name: &'a str) -> Option<Self> {
        let (server, tool) = match name.strip_prefix("mcp__") {
            Some(rest) => rest.split_once("__")?,
            None => name.strip_prefix("mcp_")?.split_once('_')?,
        };
        Some(McpName { name, server, tool })
    }

    /// What the server is called.
    fn servers(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.server), self.plain().map(|(server, _)| server)].into_iter().flatten()
    }

    /// What the tool is called there.
    fn tools(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.tool), self.plain().map(|(_, tool)| tool)].into_iter().flatten()
    }

    /// Both as they are in the name.
    fn plain(&self) -> Option<(&'a str, &'a str)> {
        self.name.strip_prefix("mcp__")?.split_once("__")
    }

    /// Every whole name, the one that models know first.
    pub fn spellings(&self) -> impl Iterator<Item = String> + use<'a> {
        let (servers, tools): (Vec<_>, Vec<_>) = (self.servers().collect(), self.tools().collect());
        let of_server = move |server: &'a str| tools.clone().into_iter().map(move |tool| (server, tool));
        let both = |(server, tool)| [format!("mcp__{server}__{tool}"), format!("mcp_{server}_{tool}")];
        std::iter::once(self.name.to_owned()).chain(servers.into_iter().flat_map(of_server).flat_map(both))
    }

    /// Whether an entry may mean it, in any spelling and reading: for what forbids.
    pub fn may_be(&self, entry: &str) -> bool {
        let whole_server = |server: &str| {
            entry.strip_prefix("mcp__").is_some_and(|rest| rest == server)
                || entry.strip_prefix("mcp_").is_some_and(|rest| rest == server)
        };
        self.spellings().any(|name| is_like(&name, entry)) || self.servers().any(whole_server)
    }

    /// Whether an entry means it and nothing else that it could mean is there: for what allows. `others` are the names of the
    /// other servers. `mcp_a_*` is server `a`, never `a_b`; `mcp_a_b_write` is nobody's where both are there.
    pub fn is_surely(&self, entry: &str, others: &[String]) -> bool {
        let (rest, between) = match (entry.strip_prefix("mcp__"), entry.strip_prefix("mcp_")) {
            (Some(rest), _) => (rest, "__"),
            (None, Some(rest)) => (rest, "_"),
            (None, None) => return false,
        };
        let after = |server: &str| rest.strip_prefix(server)?.strip_prefix(between).filter(|own| !own.is_empty());
        if rest == "*" {
            return true;
        }
        if let Some(pattern) = after("*") {
            return self.is_tool(pattern);
        }
        if self.servers().any(|server| after(server) == Some("*") || (between == "__" && rest == server)) {
            return true;
        }
        if others.iter().any(|server| after(server).is_some()) {
            return false;
        }
        if self.servers().filter_map(after).any(|pattern| self.is_tool(pattern)) {
            return true;
        }
        let (server, tool) = rest.split_once("__").unwrap_or((rest, "*"));
        between == "__" && server.contains('*') && self.servers().any(|own| is_like(own, server)) && self.is_tool(tool)
    }

    /// Whether a pattern is about this tool, as its server's.
    pub fn is_tool(&self, pattern: &str) -> bool {
        self.tools().any(|tool| is_like(tool, pattern))
    }

    /// Whether a pattern may be about its server.
    pub fn may_be_of(&self, pattern: &str) -> bool {
        self.servers().any(|server| is_like(server, pattern))
    }

    /// Whether a pattern is about its server, and about no other by the same name.
    pub fn is_surely_of(&self, pattern: &str, others: &[String]) -> bool {
        self.may_be_of(pattern) && (pattern.contains('*') || !others.iter().any(|other| other == pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTENED: McpName<'_> =
        McpName { name: "mcp__my_server__do_it_1a2b3c4d", server: "my.server", tool: "do.it" };

    fn named<'a>(name: &'a str, server: &'a str, tool: &'a str) -> McpName<'a> {
        McpName { name, server, tool }
    }

    #[test]
    fn what_forbids_knows_every_spelling() {
        for entry in [
            "mcp__my_server__do_it_1a2b3c4d",
            "mcp_my_server_do_it_1a2b3c4d",
            "mcp__my.server__do.it",
            "mcp_my.server_do.it",
            "mcp__my_server__do.it",
            "mcp__my.server__*",
            "mcp_my.server_*",
            "mcp__my.server",
            "mcp__my_server",
            "mcp_my_server",
            "mcp_my_*",
            "*do.it",
        ] {
            assert!(SHORTENED.may_be(entry), "{entry}");
        }
        for other in ["mcp__my", "mcp__other__*", "do.it", "", "my.server"] {
            assert!(!SHORTENED.may_be(other), "{other}");
        }
    }

    #[test]
    fn what_allows_knows_every_spelling_that_can_mean_nothing_else() {
        for entry in [
            "mcp__my_server__do_it_1a2b3c4d",
            "mcp__my.server__do.it",
            "mcp_my.server_do.it",
            "mcp_my_server_do.it",
            "mcp__my.server__*",
            "mcp_my_server_*",
            "mcp__my.server",
            "mcp__*",
            "mcp_*",
            "mcp__*__do.it",
            "mcp_*_do.it",
            "mcp__my*__do*",
        ] {
            assert!(SHORTENED.is_surely(entry, &["other".to_owned()]), "{entry}");
        }
        for other in
            ["*", "do.it", "mcp_my_*", "mcp_my*", "mcp_my_server", "mcp__my.server__", "mcp__", "mcp_", "", "mcp_*it"]
        {
            assert!(!SHORTENED.is_surely(other, &[]), "{other}");
        }
    }

    #[test]
    fn a_server_whose_name_begins_like_anothers_gets_nothing_of_its() {
        let (short, long) = (named("mcp__a__b_write", "a", "b_write"), named("mcp__a_b__write", "a_b", "write"));
        let (a, a_b) = (["a".to_owned()], ["a_b".to_owned()]);
        assert!(short.is_surely("mcp_a_*", &a_b) && !long.is_surely("mcp_a_*", &a));
        assert!(long.is_surely("mcp_a_b_*", &a) && !short.is_surely("mcp_a_b_*", &a_b));
        assert!(!short.is_surely("mcp_a_b_write", &a_b) && !long.is_surely("mcp_a_b_write", &a), "both are meant");
        assert!(short.is_surely("mcp_a_b_write", &[]) && long.is_surely("mcp_a_b_write", &[]), "only one is there");
        assert!(short.is_surely("mcp__a__b_write", &a_b) && long.is_surely("mcp__a_b__write", &a));
        assert!(short.may_be("mcp_a_b_write") && long.may_be("mcp_a_b_write") && long.may_be("mcp_a_*"));
        // The plain name of one is the real name of another.
        let plain = named("mcp__s_v__x", "s.v", "x");
        assert!(plain.is_surely_of("s.v", &["s_v".to_owned()]) && !plain.is_surely_of("s_v", &["s_v".to_owned()]));
        assert!(plain.is_surely_of("s_v", &[]) && plain.is_surely_of("s*", &["s_v".to_owned()]));
    }

    #[test]
    fn a_name_alone_tells_something() {
        let read = McpName::read("mcp__git__push_all").unwrap();
        assert_eq!((read.server, read.tool), ("git", "push_all"));
        let single = McpName::read("mcp_git_push_all").unwrap();
        assert_eq!((single.server, single.tool), ("git", "push_all"));
        assert_eq!((McpName::read("read_file"), McpName::read("mcp__git")), (None, None));
    }
}
