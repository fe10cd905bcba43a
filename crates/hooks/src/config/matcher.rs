//! Compiles a definition's matcher once, and reports words in it that are no tool and no value of the event.
//! `matching.rs` tests it against events.

use jsonc_parser::ast::{Object, ObjectProp};

use super::{FileKind, LayerParser};
use crate::dialect::claude;
use crate::event::{EventKind, MatcherSubject};
use crate::jsonc::{last_property, lowercase_first};
use crate::matching::tool_names::{is_foreign_tool, known_tools, tool_help};
use crate::matching::{Matcher, is_word_list, matches_everything, split_word_list};
use crate::suggestion::nearest_name;

impl LayerParser<'_, '_> {
    pub(super) fn compile_matcher(&mut self, kind: EventKind, object: &Object<'_>, text: Option<&str>) -> Matcher {
        let Some((text, property)) = text.zip(last_property(object, "matcher")) else { return Matcher::All };
        let subject = kind.info().subject;
        if let Some(known) = self.matchers.get(&(kind, text.to_owned())) {
            return known.clone();
        }
        if self.layer.kind == FileKind::Claude && !matches!(subject, MatcherSubject::ToolName) {
            return self.compile_claude_matcher(kind, text, property);
        }
        let (matcher, problem) = Matcher::compile(subject, Some(text));
        let trimmed = text.trim();
        match subject {
            MatcherSubject::Nothing if !matches_everything(trimmed) => {
                let wrong =
                    self.reader.warning(&property.value, format!("{kind} has no matcher; these hooks run every time"));
                self.reader.report(wrong.help("remove `matcher`"));
            }
            MatcherSubject::Field { name, values } if !matches!(matcher, Matcher::All) => {
                self.check_field_matcher(property, trimmed, name, values);
            }
            MatcherSubject::ToolName => self.check_tool_matcher(property, trimmed, &matcher, problem),
            _ => {}
        }
        self.matchers.insert((kind, text.to_owned()), matcher.clone());
        matcher
    }

    /// Compiles a Claude Code matcher on a subject other than tools. Where Claude Code ignores the matcher, so does
    /// this.
    fn compile_claude_matcher(&mut self, kind: EventKind, text: &str, property: &ObjectProp<'_>) -> Matcher {
        let MatcherSubject::Field { name, values } = kind.info().subject else { return Matcher::All };
        let meant: Vec<&str> = split_word_list(text).flat_map(|word| claude::matcher_values(kind, word)).collect();
        let is_word = |word: &&str| word.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        if !meant.iter().all(is_word) {
            return Matcher::All;
        }
        if !meant.is_empty() && !meant.iter().any(|word| values.contains(word)) {
            let wrong =
                self.reader.warning(&property.value, format!("there is no such {name} here; these hooks never run"));
            self.reader.report(wrong.help(format!("one of {}", values.join(", "))));
        }
        Matcher::compile(kind.info().subject, Some(&meant.join("|"))).0
    }

    fn check_field_matcher(&mut self, property: &ObjectProp<'_>, text: &str, name: &str, values: &[&str]) {
        let some_are_known = split_word_list(text).any(|word| values.contains(&word));
        // `compact`, which another agent has, is accepted next to known values.
        let is_fine = |word: &str| values.contains(&word) || some_are_known && word == "compact";
        let Some(unknown) = split_word_list(text).find(|word| !is_fine(word)) else { return };
        let wrong = if some_are_known {
            format!("`{unknown}` is no {name}")
        } else {
            format!("this matcher matches no {name}; these hooks never run")
        };
        let near = nearest_name(unknown, values.iter().copied());
        let help =
            near.map_or_else(|| format!("one of {}", values.join(", ")), |near| format!("did you mean `{near}`?"));
        let wrong = self.reader.warning(&property.value, wrong);
        self.reader.report(wrong.help(help));
    }

    fn check_tool_matcher(
        &mut self,
        property: &ObjectProp<'_>,
        text: &str,
        matcher: &Matcher,
        problem: Option<String>,
    ) {
        if let Some(problem) = problem {
            let problem = lowercase_first(problem.trim_end_matches('.'));
            let wrong = self
                .reader
                .error(&property.value, format!("this matcher is not a valid regular expression: {problem}"));
            self.reader
                .report(wrong.expected("compared as literal text").help("escape special characters with `\\\\`"));
            return;
        }
        if matcher.is_over_budget() {
            let wrong = self.reader.warning(&property.value, "this matcher can take too long");
            let help = "avoid look-around, back-references and nested repetition";
            self.reader.report(wrong.expected("if it takes too long, these hooks run").help(help));
            return;
        }
        // The tools of MCP servers and extensions are not known here.
        if matches!(matcher, Matcher::All) || text.contains("mcp") || known_tools().any(|tool| matcher.matches(tool)) {
            return self.check_tool_words(property, text);
        }
        let first = text.split('|').next().unwrap_or(text);
        let wrong = self.reader.warning(&property.value, "this matcher matches no known tool");
        self.reader.report(wrong.help(tool_help(first)));
    }

    /// Reports words of a list that are no tool, next to words that are: the author expects the hook to run for them
    /// too.
    fn check_tool_words(&mut self, property: &ObjectProp<'_>, text: &str) {
        if !is_word_list(text) {
            return;
        }
        // A plain word such as `bash` next to `shell` is a guess at parts of names; only whole names are checked.
        let is_name = |word: &&str| word.contains(|char: char| char == '_' || char.is_ascii_uppercase());
        let unclear = |word: &&str| is_name(word) && !word.contains("mcp") && !is_foreign_tool(word);
        for word in split_word_list(text).filter(unclear) {
            let (matcher, _) = Matcher::compile(MatcherSubject::ToolName, Some(word));
            if !known_tools().any(|tool| matcher.matches(tool)) {
                let wrong = self.reader.warning(&property.value, format!("`{word}` is not a known tool"));
                self.reader.report(wrong.help(tool_help(word)));
            }
        }
    }
}
