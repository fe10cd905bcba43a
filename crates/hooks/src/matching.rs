//! A definition's `matcher`, compiled once: everything, or names and patterns. The event gives the subject that is
//! compared.

pub(crate) mod effect_filter;
pub(crate) mod mcp_names;
pub(crate) mod pattern;
pub(crate) mod prefilter;
pub(crate) mod tool_names;
pub(crate) mod wildcard;

use std::sync::Arc;

use crate::event::MatcherSubject;
use crate::matching::pattern::ToolNamePattern;
use crate::matching::tool_names::{alternative_names, ambiguous_names, is_ambiguous_name, is_tool_name};

/// A compiled matcher of a definition.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Matches everything: the matcher is missing, empty, `*` or `.*`.
    All,
    /// Matches any of these names and patterns.
    Any {
        /// Names that are compared exactly.
        names: Vec<String>,
        /// Patterns that are searched for in tool names.
        patterns: Vec<Arc<ToolNamePattern>>,
    },
}

impl Matcher {
    /// Compiles a matcher for the subject of an event.
    ///
    /// A pattern that does not compile is matched literally; the second value is then the error.
    ///
    /// ```
    /// use hookwright_hooks::{Matcher, MatcherSubject};
    ///
    /// let (matcher, error) = Matcher::compile(MatcherSubject::ToolName, Some("write_file|replace"));
    /// assert!(error.is_none());
    /// assert!(matcher.matches("replace") && !matcher.matches("read_file"));
    /// ```
    pub fn compile(subject: MatcherSubject, text: Option<&str>) -> (Matcher, Option<String>) {
        let text = text.map_or("", str::trim);
        match subject {
            _ if matches_everything(text) => (Matcher::All, None),
            MatcherSubject::Nothing => (Matcher::All, None),
            MatcherSubject::Field { .. } if split_word_list(text).any(matches_everything) => (Matcher::All, None),
            MatcherSubject::Field { .. } => (Matcher::from_names(split_word_list(text)), None),
            MatcherSubject::ToolName if is_word_list(text) => (Matcher::from_word_list(text), None),
            MatcherSubject::ToolName => match ToolNamePattern::new(text) {
                Ok(pattern) => (Matcher::Any { names: Vec::new(), patterns: vec![Arc::new(pattern)] }, None),
                Err(reason) => (Matcher::from_names([text]), Some(reason)),
            },
        }
    }

    fn from_names<'t>(names: impl IntoIterator<Item = &'t str>) -> Matcher {
        Matcher::Any { names: names.into_iter().map(str::to_owned).collect(), patterns: Vec::new() }
    }

    /// Compiles a list of words: a word that is not the name of a known tool may be part of a name.
    fn from_word_list(text: &str) -> Matcher {
        let (mut names, parts): (Vec<&str>, Vec<&str>) = split_word_list(text).partition(|word| is_tool_name(word));
        if names.is_empty() && parts.is_empty() {
            return Matcher::All;
        }
        names.extend(parts.iter().filter(|word| is_ambiguous_name(word)));
        Matcher::Any {
            names: names.into_iter().map(str::to_owned).collect(),
            patterns: parts.into_iter().map(|part| Arc::new(ToolNamePattern::from_word(part))).collect(),
        }
    }

    /// Whether the matcher matches a subject; for tools, any of the tool's names.
    pub fn matches(&self, subject: &str) -> bool {
        match self {
            Matcher::All => true,
            Matcher::Any { names, patterns } => {
                let listed = |name: &str| names.iter().any(|listed| listed == name);
                listed(subject)
                    || alternative_names(subject).any(|name| listed(&name))
                    || ambiguous_names(subject).iter().any(|name| listed(name))
                    || patterns.iter().any(|pattern| pattern.matches(subject))
            }
        }
    }

    /// Whether a pattern may count as matching because trying it would take too long.
    pub(crate) fn is_over_budget(&self) -> bool {
        matches!(self, Matcher::Any { patterns, .. } if patterns.iter().any(|pattern| pattern.is_over_budget()))
    }
}

/// Whether a matcher matches everything.
pub(crate) fn matches_everything(text: &str) -> bool {
    matches!(text, "" | "*" | ".*")
}

/// The words of `a|b`, or of `a, b` as in Claude Code.
pub(crate) fn split_word_list(text: &str) -> impl Iterator<Item = &str> {
    text.split(['|', ',']).map(str::trim).filter(|word| !word.is_empty())
}

/// Whether a matcher is a list of words and not a pattern; a space within a word makes it a pattern.
pub(crate) fn is_word_list(text: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    split_word_list(text).all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tool(text: &str) -> Matcher {
        Matcher::compile(MatcherSubject::ToolName, Some(text)).0
    }

    #[test]
    fn missing_empty_and_star_match_everything() {
        for text in [None, Some(""), Some(" "), Some("*"), Some(".*"), Some("|")] {
            assert!(matches!(Matcher::compile(MatcherSubject::ToolName, text).0, Matcher::All));
        }
    }

    #[test]
    fn a_list_of_tool_names_is_exact() {
        let matcher = tool("write_file|replace");
        assert!(matcher.matches("replace") && matcher.matches("write_file"));
        assert!(!matcher.matches("write_files") && !matcher.matches("my_replace"));
    }

    #[test]
    fn an_unknown_word_matches_part_of_a_name() {
        let matcher = tool("write_file|replace|shell|bash|execute");
        assert!(matcher.matches("run_shell_command") && matcher.matches("replace") && matcher.matches("my_bash"));
        assert!(!matcher.matches("write_files") && !matcher.matches("read_file"));
        assert!(tool("mcp__git").matches("mcp__git__push") && tool("mcp_git").matches("mcp__git__push"));
        assert!(!tool("mcp__git__push").matches("mcp__git__push_all"));
        assert!(!tool("mcp_git_push").matches("mcp__git__push_all"));
        assert!(!tool("Tool").matches("replace"), "older names are only known as a whole");
    }

    #[test]
    fn anything_else_is_an_unanchored_javascript_pattern() {
        assert!(tool("read_.*").matches("read_many_files"));
        assert!(tool("file$").matches("read_file") && !tool("file$").matches("read_files"));
        assert!(tool("^(?!run_shell).*$").matches("read_file"));
        assert!(!tool("^(?!run_shell).*$").matches("run_shell_command"));
        assert!(tool(r"^mcp__\w+__get").matches("mcp__github__get_issue"));
        assert!(tool("(?i)MCP__GitHub__.*").matches("mcp__github__get_issue"));
    }

    #[test]
    fn older_and_other_names_match() {
        assert!(tool("EditTool|WriteFileTool").matches("replace"));
        assert!(tool("grep_search").matches("search_file_content"));
        assert!(tool("mcp_github_create").matches("mcp__github__create"));
        assert!(tool("^Edit.*").matches("replace"));
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_a_literal() {
        let (matcher, reason) = Matcher::compile(MatcherSubject::ToolName, Some("write_(file"));
        assert!(reason.is_some());
        assert!(matcher.matches("write_(file") && !matcher.matches("write_file"));
    }

    #[test]
    fn other_events_compare_exactly_with_any_of_a_list() {
        let subject = MatcherSubject::Field { name: "source", values: &["startup", "resume"] };
        let field = |text: &str| Matcher::compile(subject, Some(text)).0;
        assert!(!field("start.*").matches("startup") && field("start.*").matches("start.*"));
        assert!(field("startup|resume").matches("startup") && field("startup | resume").matches("resume"));
        assert!(!field("startup|resume").matches("clear") && !field("start|resume").matches("startup"));
        assert!(field(".*").matches("clear") && field("startup|.*").matches("clear"));
    }

    proptest! {
        #[test]
        fn any_text_compiles_to_something_that_does_not_panic(text in "\\PC{0,24}", name in "[a-z_]{1,16}") {
            let (matcher, _) = Matcher::compile(MatcherSubject::ToolName, Some(&text));
            let _ = matcher.matches(&name);
        }

        #[test]
        fn a_list_matches_what_holds_one_of_its_members(names in prop::collection::vec("[a-z]{3,8}_[a-z]{3,8}", 1..5), other in "[a-z_]{1,12}") {
            let matcher = tool(&names.join("|"));
            for name in &names {
                prop_assert!(matcher.matches(name));
            }
            let listed = |name: &String| if is_tool_name(name) { *name == other } else { other.contains(name) };
            prop_assert_eq!(matcher.matches(&other), names.iter().any(listed));
        }
    }
}
