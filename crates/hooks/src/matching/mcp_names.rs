//! The names of a tool of an MCP server, and which of them an entry of a list or a rule matches.
//!
//! Models know a tool by a short name in plain characters; users also write the names of the server and of the tool
//! itself. The functions compare names and perform no I/O.

use crate::matching::wildcard::matches_wildcard;

/// A tool of an MCP server with all its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpToolName<'a> {
    /// The name that models use: `mcp__server__tool`, shortened and in plain characters.
    pub name: &'a str,
    /// The name of the server in the settings.
    pub server: &'a str,
    /// The name of the tool at the server.
    pub tool: &'a str,
}

impl<'a> McpToolName<'a> {
    /// A tool of which only the full name is known, in either spelling.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (server, tool) = match name.strip_prefix("mcp__") {
            Some(rest) => rest.split_once("__")?,
            None => name.strip_prefix("mcp_")?.split_once('_')?,
        };
        Some(McpToolName { name, server, tool })
    }

    /// The names of the server.
    fn server_names(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.server), self.split_model_name().map(|(server, _)| server)].into_iter().flatten()
    }

    /// The names of the tool at the server.
    fn tool_names(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.tool), self.split_model_name().map(|(_, tool)| tool)].into_iter().flatten()
    }

    /// The server and the tool as they stand in the model's name.
    fn split_model_name(&self) -> Option<(&'a str, &'a str)> {
        self.name.strip_prefix("mcp__")?.split_once("__")
    }

    /// Every full name of the tool; the name that models use comes first.
    pub fn spellings(&self) -> impl Iterator<Item = String> + use<'a> {
        let (servers, tools): (Vec<_>, Vec<_>) = (self.server_names().collect(), self.tool_names().collect());
        let of_server = move |server: &'a str| tools.clone().into_iter().map(move |tool| (server, tool));
        let both = |(server, tool)| [format!("mcp__{server}__{tool}"), format!("mcp_{server}_{tool}")];
        std::iter::once(self.name.to_owned()).chain(servers.into_iter().flat_map(of_server).flat_map(both))
    }

    /// Whether an entry may match the tool in any spelling: for lists that deny.
    pub fn may_match(&self, entry: &str) -> bool {
        let whole_server = |server: &str| {
            entry.strip_prefix("mcp__").is_some_and(|rest| rest == server)
                || entry.strip_prefix("mcp_").is_some_and(|rest| rest == server)
        };
        self.spellings().any(|name| matches_wildcard(&name, entry)) || self.server_names().any(whole_server)
    }

    /// Whether an entry matches the tool unambiguously: for lists that allow.
    ///
    /// `others` are the names of the other servers. `mcp_a_*` matches the tools of server `a` and never those of `a_b`;
    /// `mcp_a_b_write` matches neither where both servers exist.
    pub fn certainly_matches(&self, entry: &str, others: &[String]) -> bool {
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
            return self.matches_tool(pattern);
        }
        if self.server_names().any(|server| after(server) == Some("*") || (between == "__" && rest == server)) {
            return true;
        }
        if others.iter().any(|server| after(server).is_some()) {
            return false;
        }
        if self.server_names().filter_map(after).any(|pattern| self.matches_tool(pattern)) {
            return true;
        }
        let (server, tool) = rest.split_once("__").unwrap_or((rest, "*"));
        between == "__"
            && server.contains('*')
            && self.server_names().any(|own| matches_wildcard(own, server))
            && self.matches_tool(tool)
    }

    /// Whether a pattern matches the tool's name at its server.
    pub fn matches_tool(&self, pattern: &str) -> bool {
        self.tool_names().any(|tool| matches_wildcard(tool, pattern))
    }

    /// Whether a pattern may match the server.
    pub fn may_match_server(&self, pattern: &str) -> bool {
        self.server_names().any(|server| matches_wildcard(server, pattern))
    }

    /// Whether a pattern matches the server, and no other server has the same name.
    pub fn certainly_matches_server(&self, pattern: &str, others: &[String]) -> bool {
        self.may_match_server(pattern) && (pattern.contains('*') || !others.iter().any(|other| other == pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTENED_NAME: McpToolName<'_> =
        McpToolName { name: "mcp__my_server__do_it_1a2b3c4d", server: "my.server", tool: "do.it" };

    fn mcp_tool<'a>(name: &'a str, server: &'a str, tool: &'a str) -> McpToolName<'a> {
        McpToolName { name, server, tool }
    }

    #[test]
    fn deny_entries_match_every_spelling() {
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
            assert!(SHORTENED_NAME.may_match(entry), "{entry}");
        }
        for other in ["mcp__my", "mcp__other__*", "do.it", "", "my.server"] {
            assert!(!SHORTENED_NAME.may_match(other), "{other}");
        }
    }

    #[test]
    fn allow_entries_match_only_unambiguous_spellings() {
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
            assert!(SHORTENED_NAME.certainly_matches(entry, &["other".to_owned()]), "{entry}");
        }
        for other in
            ["*", "do.it", "mcp_my_*", "mcp_my*", "mcp_my_server", "mcp__my.server__", "mcp__", "mcp_", "", "mcp_*it"]
        {
            assert!(!SHORTENED_NAME.certainly_matches(other, &[]), "{other}");
        }
    }

    #[test]
    fn a_server_name_prefix_grants_nothing() {
        let (short, long) = (mcp_tool("mcp__a__b_write", "a", "b_write"), mcp_tool("mcp__a_b__write", "a_b", "write"));
        let (a, a_b) = (["a".to_owned()], ["a_b".to_owned()]);
        assert!(short.certainly_matches("mcp_a_*", &a_b) && !long.certainly_matches("mcp_a_*", &a));
        assert!(long.certainly_matches("mcp_a_b_*", &a) && !short.certainly_matches("mcp_a_b_*", &a_b));
        assert!(
            !short.certainly_matches("mcp_a_b_write", &a_b) && !long.certainly_matches("mcp_a_b_write", &a),
            "both are meant"
        );
        assert!(
            short.certainly_matches("mcp_a_b_write", &[]) && long.certainly_matches("mcp_a_b_write", &[]),
            "only one is there"
        );
        assert!(short.certainly_matches("mcp__a__b_write", &a_b) && long.certainly_matches("mcp__a_b__write", &a));
        assert!(short.may_match("mcp_a_b_write") && long.may_match("mcp_a_b_write") && long.may_match("mcp_a_*"));
        // The plain name of one server is the real name of another.
        let plain = mcp_tool("mcp__s_v__x", "s.v", "x");
        assert!(
            plain.certainly_matches_server("s.v", &["s_v".to_owned()])
                && !plain.certainly_matches_server("s_v", &["s_v".to_owned()])
        );
        assert!(
            plain.certainly_matches_server("s_v", &[]) && plain.certainly_matches_server("s*", &["s_v".to_owned()])
        );
    }

    #[test]
    fn a_name_alone_can_be_parsed() {
        let read = McpToolName::parse("mcp__git__push_all").unwrap();
        assert_eq!((read.server, read.tool), ("git", "push_all"));
        let single = McpToolName::parse("mcp_git_push_all").unwrap();
        assert_eq!((single.server, single.tool), ("git", "push_all"));
        assert_eq!((McpToolName::parse("read_file"), McpToolName::parse("mcp__git")), (None, None));
    }
}
