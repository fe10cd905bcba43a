//! A regular expression in JavaScript's syntax, evaluated within a budget of steps.
//!
//! The backtracking engine is quick to build and exact, so it is used where the steps are certain to be few. Otherwise
//! a linear engine is used, if the pattern means the same there. The remaining patterns (look-around, back-references)
//! have a budget, and a tool name pattern that could exceed it counts as matching.

mod ast;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex_automata::meta;
use regex_automata::util::syntax;

use crate::matching::tool_names::{alternative_names, mcp_spelling};
use ast::RegexAst;

/// A regular expression in JavaScript's syntax, or a plain word, that is searched for in tool names.
#[derive(Debug)]
pub struct ToolNamePattern {
    /// The pattern as written.
    pub text: String,
    /// The names of a tool on which the pattern is tried.
    name_scope: NameScope,
    /// The compiled expression; `None` for a plain word.
    engine: Option<RegexEngine>,
}

#[derive(Clone, Copy, Debug)]
enum NameScope {
    /// Only the current name, for patterns with a negation, which an older name would always match.
    CurrentName,
    /// The current name, in both spellings of an MCP tool.
    McpSpellings,
    /// The current name and the older and foreign names.
    AllNames,
}

#[derive(Debug)]
struct RegexEngine {
    backtracking: regress::Regex,
    /// This and the next field are computed on first use: of thousands of patterns, a session tries few.
    ast: OnceLock<Option<RegexAst>>,
    linear: OnceLock<Option<Box<meta::Regex>>>,
}

/// Up to this number of steps, backtracking costs less than building the linear engine.
const CHEAP_BACKTRACKING_STEPS: f64 = 1e4;

/// The maximum number of steps of a pattern on one text: some milliseconds.
const MAX_BACKTRACKING_STEPS: f64 = 1e6;

impl ToolNamePattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// If the expression is invalid, with the reason.
    pub(crate) fn new(text: &str) -> Result<ToolNamePattern, String> {
        let engine = RegexEngine::new(text)?;
        let negative = text.contains("(?!") || text.contains("(?<!") || text.contains("[^");
        let tried = if negative { NameScope::CurrentName } else { NameScope::AllNames };
        Ok(ToolNamePattern { text: text.to_owned(), name_scope: tried, engine: Some(engine) })
    }

    /// A word that matches anywhere in a name.
    pub(crate) fn from_word(text: &str) -> ToolNamePattern {
        ToolNamePattern { text: text.to_owned(), name_scope: NameScope::McpSpellings, engine: None }
    }

    /// Whether the pattern matches any of the tool's names.
    pub(crate) fn matches(&self, subject: &str) -> bool {
        self.candidate_names(subject).any(|name| match &self.engine {
            None => name.contains(&self.text),
            Some(engine) => engine.matches(&self.text, &name),
        })
    }

    /// Whether the pattern matches the tool's name at its MCP server, or equals it.
    ///
    /// A pattern with a negation is tried only on the name that hooks receive.
    pub(crate) fn matches_original(&self, name: &str) -> bool {
        let is_tried = !matches!(self.name_scope, NameScope::CurrentName);
        name == self.text
            || match &self.engine {
                None => name.contains(&self.text),
                Some(engine) => is_tried && engine.matches(&self.text, name),
            }
    }

    /// Whether the pattern could exceed the budget on a name of plausible length.
    pub(crate) fn is_over_budget(&self) -> bool {
        const LONG_NAME_BYTES: usize = 64;
        self.engine.as_ref().is_some_and(|engine| {
            engine.max_steps(&self.text, LONG_NAME_BYTES) > MAX_BACKTRACKING_STEPS
                && engine.linear_regex(&self.text).is_none()
        })
    }

    /// The names on which the pattern is tried.
    fn candidate_names<'a>(&self, subject: &'a str) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let (spelling, older) = match self.name_scope {
            NameScope::CurrentName => (None, None),
            NameScope::McpSpellings => (mcp_spelling(subject).map(Cow::Owned), None),
            NameScope::AllNames => (None, Some(alternative_names(subject))),
        };
        std::iter::once(Cow::Borrowed(subject)).chain(spelling).chain(older.into_iter().flatten())
    }
}

/// A regular expression in JavaScript's syntax that is searched for in texts of any length, within a budget of steps.
///
/// ```
/// use hookwright_hooks::{BoundedRegex, RegexMatch};
///
/// let regex = BoundedRegex::new(r"rm\s+-rf").unwrap();
/// assert_eq!(regex.find("sudo rm -rf /"), RegexMatch::At(5));
/// assert_eq!(regex.find("ls"), RegexMatch::NotFound);
/// ```
#[derive(Debug)]
pub struct BoundedRegex {
    text: String,
    engine: RegexEngine,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexMatch {
    /// The expression was found at this offset.
    ///
    /// The offset counts bytes; where the linear engine searched a text that is not ASCII, it counts UTF-16 code units.
    At(usize),
    /// The expression was not found.
    NotFound,
    /// The search could exceed the budget, and was not made.
    OverBudget,
}

impl RegexMatch {
    fn from_start(start: Option<usize>) -> RegexMatch {
        start.map_or(RegexMatch::NotFound, RegexMatch::At)
    }
}

impl BoundedRegex {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// If the expression is invalid, with the reason.
    pub fn new(text: &str) -> Result<BoundedRegex, String> {
        Ok(BoundedRegex { text: text.to_owned(), engine: RegexEngine::new(text)? })
    }

    /// Searches a text.
    pub fn find(&self, subject: &str) -> RegexMatch {
        self.engine.find(&self.text, subject)
    }

    /// Whether a search in a text of a few pages may exceed the budget.
    pub fn may_exceed_budget(&self) -> bool {
        const LONG_TEXT_BYTES: usize = 8 * 1024;
        self.engine.max_steps(&self.text, LONG_TEXT_BYTES) > MAX_BACKTRACKING_STEPS
            && self.engine.linear_regex(&self.text).is_none()
    }
}

/// The text for the linear engine, which reads bytes: one byte for each UTF-16 code unit of JavaScript, so that both
/// engines agree on what a character is.
///
/// Patterns for that engine are ASCII, so other characters matter only as spaces and line ends.
fn to_byte_units(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let unit = |unit: u16| match unit {
        0..=0x7f => unit as u8,
        0x2028 | 0x2029 => b'\n',
        0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 | 0xfeff => b'\x0b',
        _ => 0xff,
    };
    Cow::Owned(text.encode_utf16().map(unit).collect())
}

/// Flags before a pattern: `(?i)rm -rf`. JavaScript has none there; other engines do, and settings are written for
/// those too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InlineFlags {
    ignore_case: bool,
    dot_all: bool,
}

impl InlineFlags {
    /// Splits the flags from the pattern after them. Flags other than `i` and `s` stay part of the pattern, which then
    /// does not compile.
    pub(crate) fn split(text: &str) -> (InlineFlags, &str) {
        let mut flags = InlineFlags::default();
        let group = text.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
        match group {
            Some((letters, rest)) if !letters.is_empty() && letters.bytes().all(|letter| b"is".contains(&letter)) => {
                flags.ignore_case = letters.contains('i');
                flags.dot_all = letters.contains('s');
                (flags, rest)
            }
            _ => (flags, text),
        }
    }

    /// Whether any flag is set.
    pub(crate) fn is_any_set(self) -> bool {
        self != InlineFlags::default()
    }
}

impl RegexEngine {
    fn new(text: &str) -> Result<RegexEngine, String> {
        let (inline, text) = InlineFlags::split(text);
        // Names are short: optimising a pattern for them costs more than it saves.
        let InlineFlags { ignore_case: icase, dot_all } = inline;
        let flags = regress::Flags { no_opt: true, icase, dot_all, ..regress::Flags::default() };
        let backtracking = regress::Regex::with_flags(text, flags).map_err(|error| error.to_string())?;
        Ok(RegexEngine { backtracking, ast: OnceLock::new(), linear: OnceLock::new() })
    }

    fn matches(&self, text: &str, name: &str) -> bool {
        self.find(text, name) != RegexMatch::NotFound
    }

    fn find(&self, text: &str, subject: &str) -> RegexMatch {
        let steps = self.max_steps(text, subject.len());
        let backtracking = || RegexMatch::from_start(self.backtracking.find(subject).map(|found| found.start()));
        if steps <= CHEAP_BACKTRACKING_STEPS {
            return backtracking();
        }
        match self.linear_regex(text) {
            Some(linear) => RegexMatch::from_start(linear.find(&*to_byte_units(subject)).map(|found| found.start())),
            None if steps > MAX_BACKTRACKING_STEPS => RegexMatch::OverBudget,
            None => backtracking(),
        }
    }

    fn max_steps(&self, text: &str, length: usize) -> f64 {
        self.ast(text).map_or(f64::INFINITY, |shape| shape.max_steps(length))
    }

    fn ast(&self, text: &str) -> Option<&RegexAst> {
        self.ast.get_or_init(|| RegexAst::parse(InlineFlags::split(text).1)).as_ref()
    }

    fn linear_regex(&self, text: &str) -> Option<&meta::Regex> {
        let made = self.linear.get_or_init(|| {
            let inline = InlineFlags::split(text).0;
            // The translated `.` excludes line ends, which `s` includes.
            if inline.dot_all {
                return None;
            }
            let bytes = syntax::Config::new().unicode(false).utf8(false).case_insensitive(inline.ignore_case);
            meta::Builder::new().syntax(bytes).build(&self.ast(text)?.to_linear_regex()?).ok().map(Box::new)
        });
        made.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn uses_linear_engine(text: &str) -> bool {
        ToolNamePattern::new(text).unwrap().engine.unwrap().linear_regex(text).is_some()
    }

    #[test]
    fn equivalent_patterns_use_the_linear_engine() {
        for text in [
            "read_.*",
            r"^(\w+\s?)+!$",
            "a{2,3}?b+?",
            r"(?<name>x|y)\.z\b",
            "[^a-c_-]",
            r"[\w.-]",
            "(a|b|)*$",
            "",
            r"[-+/#&~]\/",
        ] {
            assert!(uses_linear_engine(text), "{text}");
        }
        for text in ["(?=a)b", "(?<!a)b", r"(a)\1", "[]", "[^]", "a{", "a]", "é", r"\u0041", r"[\w-z]", r"[\b]", r"\cA"]
        {
            assert!(!uses_linear_engine(text), "{text}");
        }
    }

    #[test]
    fn a_catastrophic_pattern_counts_as_matching_at_once() {
        let long = format!("{}?", "a".repeat(60));
        let started = Instant::now();
        assert!(!ToolNamePattern::new(r"^(\w+\s?)+!$").unwrap().matches(&long));
        for text in [r"^(?=a)(\w+\s?)+!$", r"^(a|a)*(?!x)!$", r"(?=.)(.*)*!", r"(a*)*\1!", r"^(?!b)(a|aa)+!$"] {
            let pattern = ToolNamePattern::new(text).unwrap();
            assert!(pattern.matches(&long) && pattern.is_over_budget(), "{text}");
        }
        assert!(ToolNamePattern::new(&format!("{}a{}", "(".repeat(99), ")".repeat(99))).unwrap().is_over_budget());
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn usual_look_around_is_well_within_the_budget() {
        for text in
            ["^(?!run_shell).*$", "^(?!.*(shell|write)).*$", "^(?:(?!file).)*$", r"(?<=mcp__)\w+(?=__)", "a(?!b)"]
        {
            let pattern = ToolNamePattern::new(text).unwrap();
            assert!(!pattern.is_over_budget(), "{text}");
        }
        assert!(!ToolNamePattern::new("^(?:(?!file).)*$").unwrap().matches("read_file"));
    }

    #[test]
    fn long_texts_are_searched_in_linear_time_or_not_at_all() {
        let long = format!("{} größer als ein Name !", "aä ".repeat(50_000));
        let found = |pattern: &str, text: &str| BoundedRegex::new(pattern).unwrap().find(text);
        assert!(matches!(found("als.*Name", &long), RegexMatch::At(_)));
        assert_eq!(found("als.*Nase", &long), RegexMatch::NotFound);
        assert_eq!(found(r"^(\w+\s?)+!$", &long), RegexMatch::NotFound);
        assert_eq!(found(r"^(a|a)*(?!x)!$", &long), RegexMatch::OverBudget);
        assert_eq!(found("(?=rm )rm", "rm x"), RegexMatch::At(0));
        assert!(BoundedRegex::new(r"(a*)*\1").unwrap().may_exceed_budget());
        assert!(!BoundedRegex::new(r"(rm|mv)\s+-rf?").unwrap().may_exceed_budget());
        // Both engines count characters alike.
        let many = "ä".repeat(20_000);
        for pattern in ["^.{20000}$", r"^\W+$", r"^[^a]*$", r"^\S*$"] {
            assert_eq!(found(pattern, &many), RegexMatch::At(0), "{pattern}");
        }
        assert_eq!(found("^.{20001}$", &many), RegexMatch::NotFound);
    }

    #[test]
    fn flags_before_a_pattern_count() {
        let found = |pattern: &str, text: &str| BoundedRegex::new(pattern).unwrap().find(text);
        for (pattern, text) in [
            ("(?i)drop table", "x DROP Table y"),
            ("(?s)a.b", "a\nb"),
            ("(?si)A.b", "a\nB"),
            ("(?is)^[a-c]+.x$", "ABC\nX"),
        ] {
            assert!(matches!(found(pattern, text), RegexMatch::At(_)), "{pattern}");
        }
        assert_eq!(found("(?i)drop", "dr0p"), RegexMatch::NotFound);
        assert_eq!(found("a.b", "a\nb"), RegexMatch::NotFound);
        // The flags apply in the linear engine too.
        let long = format!("{}DROP everything", "a ".repeat(50_000));
        assert!(matches!(found(r"(?i)^(\w+\s?)+drop .*THING$", &long), RegexMatch::At(_)));
        // Unsupported flags are an error.
        for pattern in ["(?m)^a", "(?ix)a", "a(?i)b", "(?)a"] {
            assert!(BoundedRegex::new(pattern).is_err(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn both_engines_find_the_same_without_case(
            text in r"(([a-cA-C_.-]|\(a\|B\)|\[[a-cA-C_]{1,2}\]|\[\^a-]|\\w|\\W|\\s|\^|\$|\|)([*+?]|\{1,2\})?){0,6}",
            names in prop::collection::vec("[a-cA-C_. 1é\n-]{0,8}", 1..8),
        ) {
            let text = format!("(?i){text}");
            let Ok(pattern) = ToolNamePattern::new(&text) else { return Ok(()) };
            let engine = pattern.engine.unwrap();
            let Some(linear) = engine.linear_regex(&text) else { return Ok(()) };
            for name in names {
                let found = linear.is_match(&*to_byte_units(&name));
                prop_assert_eq!(found, engine.backtracking.find(&name).is_some(), "{} on {:?}", text, name);
            }
        }

        #[test]
        fn both_engines_find_the_same(
            text in r"(([a-c_.-]|\(a\|b\)|\(\?:c\||\)|\[[a-c_]{1,2}\]|\[\^a-]|\\w|\\W|\\s|\\d|\\b|\\B|\\\.|\^|\$|\|)([*+?]|\{1,2\}|\{2\}|\{0,\})?\??){0,6}",
            names in prop::collection::vec("[a-c_. 1\n-]{0,8}", 1..8),
        ) {
            let Ok(pattern) = ToolNamePattern::new(&text) else { return Ok(()) };
            let engine = pattern.engine.unwrap();
            let Some(linear) = engine.linear_regex(&text) else { return Ok(()) };
            for name in names {
                prop_assert_eq!(linear.is_match(&name), engine.backtracking.find(&name).is_some(), "{} on {:?}", text, name);
            }
        }
    }
}
