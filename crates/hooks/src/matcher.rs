//! A definition's `matcher`, compiled once: everything, names, or a pattern. What is compared is the event's business.

use std::sync::Arc;

use crate::event::Subject;
use crate::tool_names::other_names;

/// A compiled matcher.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Missing, empty or `*`.
    All,
    /// Exact names.
    Names(Vec<String>),
    /// A regular expression on tool names.
    Pattern(Arc<Pattern>),
}

/// A regular expression in JavaScript's syntax.
#[derive(Debug)]
pub struct Pattern {
    /// Its text.
    pub text: String,
    regex: regress::Regex,
    /// Whether it says what must not match; such a pattern is not tried on a tool's older names.
    negative: bool,
}

impl Matcher {
    /// Compiles a matcher for what an event tests it against.
    ///
    /// A pattern that does not compile becomes a literal; the second value is then the reason.
    pub fn compile(subject: Subject, text: Option<&str>) -> (Matcher, Option<String>) {
        let text = text.map_or("", str::trim);
        if text.is_empty() || text == "*" || subject == Subject::Nothing {
            return (Matcher::All, None);
        }
        if !matches!(subject, Subject::ToolName) {
            return (Matcher::Names(vec![text.to_owned()]), None);
        }
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-|".contains(&byte)) {
            return (
                Matcher::Names(text.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect()),
                None,
            );
        }
        match Pattern::new(text) {
            Ok(pattern) => (Matcher::Pattern(Arc::new(pattern)), None),
            Err(reason) => (Matcher::Names(vec![text.to_owned()]), Some(reason)),
        }
    }

    /// Whether it matches; for tools, any of the tool's names will do.
    pub fn matches(&self, subject: &str) -> bool {
        match self {
            Matcher::All => true,
            Matcher::Names(names) => {
                let listed = |name: &str| names.iter().any(|listed| listed == name);
                listed(subject) || other_names(subject).any(|name| listed(&name))
            }
            Matcher::Pattern(pattern) => pattern.matches(subject),
        }
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern, String> {
        // Names are short: optimising a pattern for them costs more than it ever saves.
        let flags = regress::Flags { no_opt: true, ..regress::Flags::default() };
        let regex = regress::Regex::with_flags(text, flags).map_err(|error| error.to_string())?;
        let negative = text.contains("(?!") || text.contains("(?<!") || text.contains("[^");
        Ok(Pattern { text: text.to_owned(), regex, negative })
    }

    /// Whether it matches any of the tool's names.
    pub(crate) fn matches(&self, subject: &str) -> bool {
        self.names(subject).any(|name| self.regex.find(&name).is_some())
    }

    /// The names it is tried on.
    fn names<'a>(&self, subject: &'a str) -> impl Iterator<Item = std::borrow::Cow<'a, str>> + use<'a> {
        let older = if self.negative { None } else { Some(other_names(subject)) };
        std::iter::once(std::borrow::Cow::Borrowed(subject)).chain(older.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tool(text: &str) -> Matcher {
        Matcher::compile(Subject::ToolName, Some(text)).0
    }

    #[test]
    fn missing_empty_and_star_match_everything() {
        for text in [None, Some(""), Some(" "), Some("*")] {
            assert!(matches!(Matcher::compile(Subject::ToolName, text).0, Matcher::All));
        }
    }

    #[test]
    fn a_list_of_words_is_exact() {
        let matcher = tool("write_file|replace");
        assert!(matcher.matches("replace") && matcher.matches("write_file"));
        assert!(!matcher.matches("write_files") && !matcher.matches("my_replace"));
    }

    #[test]
    fn anything_else_is_an_unanchored_javascript_pattern() {
        assert!(tool("read_.*").matches("read_many_files"));
        assert!(tool("file$").matches("read_file") && !tool("file$").matches("read_files"));
        assert!(tool("^(?!run_shell).*$").matches("read_file"));
        assert!(!tool("^(?!run_shell).*$").matches("run_shell_command"));
        assert!(tool(r"^mcp__\w+__get").matches("mcp__github__get_issue"));
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
        let (matcher, reason) = Matcher::compile(Subject::ToolName, Some("write_(file"));
        assert!(reason.is_some());
        assert!(matcher.matches("write_(file") && !matcher.matches("write_file"));
    }

    #[test]
    fn other_events_compare_exactly() {
        let subject = Subject::Field { name: "source", values: &["startup"] };
        let (matcher, _) = Matcher::compile(subject, Some("start.*"));
        assert!(!matcher.matches("startup") && matcher.matches("start.*"));
    }

    proptest! {
        #[test]
        fn any_text_compiles_to_something_that_does_not_panic(text in "\\PC{0,24}", name in "[a-z_]{1,16}") {
            let (matcher, _) = Matcher::compile(Subject::ToolName, Some(&text));
            let _ = matcher.matches(&name);
        }

        #[test]
        fn a_list_matches_exactly_its_members(names in prop::collection::vec("[a-z]{3,8}_[a-z]{3,8}", 1..5), other in "[a-z_]{1,12}") {
            let matcher = tool(&names.join("|"));
            for name in &names {
                prop_assert!(matcher.matches(name));
            }
            let known = crate::tool_names::known_tools().any(|tool| tool == other);
            prop_assert!(known || matcher.matches(&other) == names.contains(&other));
        }
    }
}
