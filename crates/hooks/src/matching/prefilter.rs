//! Selects the patterns that could match a name, by literals that every match must contain.
//!
//! Trying ten thousand regular expressions on every tool call would take milliseconds. Nearly all of them contain some
//! literal text, and need not be tried on a name without that text. The pattern itself decides in the end, so the
//! filter must only never miss one.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::matching::pattern::InlineFlags;

/// An index of patterns by their literals.
#[derive(Debug, Default)]
pub(crate) struct Prefilter {
    /// The patterns without a literal.
    without_literal: Vec<usize>,
    /// The patterns that need each literal.
    by_literal: HashMap<Box<[u8]>, Vec<usize>>,
    /// The lengths of the literals that start with these two bytes.
    literal_lengths: HashMap<[u8; 2], Vec<usize>>,
}

impl Prefilter {
    /// Indexes patterns; each is identified by its position in the iterator.
    pub(crate) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let required: Vec<_> = patterns.map(required_literals).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        required.iter().flatten().flatten().flatten().for_each(|text| *uses.entry(text).or_default() += 1);
        let mut filter = Prefilter::default();
        for (at, branches) in required.iter().enumerate() {
            match branches {
                None => filter.without_literal.push(at),
                // Of several literals, the one that the fewest patterns share selects best.
                Some(branches) => branches
                    .iter()
                    .filter_map(|texts| texts.iter().min_by_key(|text| (uses[text.as_str()], Reverse(text.len()))))
                    .for_each(|text| filter.add(text.as_bytes(), at)),
            }
        }
        filter
    }

    fn add(&mut self, text: &[u8], pattern: usize) {
        let [first, second, ..] = text else { return self.without_literal.push(pattern) };
        let lengths = self.literal_lengths.entry([*first, *second]).or_default();
        if !lengths.contains(&text.len()) {
            lengths.push(text.len());
        }
        self.by_literal.entry(text.into()).or_default().push(pattern);
    }

    /// Adds the patterns that could match a name, some of them more than once.
    pub(crate) fn candidates(&self, name: &str, found: &mut Vec<usize>) {
        let bytes = name.as_bytes();
        found.extend(&self.without_literal);
        for (at, start) in bytes.windows(2).enumerate() {
            let lengths = self.literal_lengths.get(start).into_iter().flatten();
            let texts = lengths.filter_map(|length| bytes.get(at..at + length));
            found.extend(texts.filter_map(|text| self.by_literal.get(text)).flatten());
        }
    }
}

/// The literals that a match of each alternative of a JavaScript pattern must contain; `None` where an alternative has
/// none, or where the pattern is too complex to tell.
fn required_literals(pattern: &str) -> Option<Vec<Vec<String>>> {
    if InlineFlags::split(pattern).0.is_any_set() {
        return None;
    }
    let mut branches = vec![Vec::new()];
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        let mut ends = true;
        match char {
            '(' => skip_group(&mut chars)?,
            '[' => skip_class(&mut chars)?,
            '{' => {
                chars.find(|char| *char == '}')?;
                text.pop();
            }
            // The preceding character may be missing.
            '*' | '?' => drop(text.pop()),
            '^' | '$' | '.' | '+' | '|' => {}
            '\\' => match chars.next()? {
                'b' | 'B' | 'd' | 'D' | 's' | 'S' | 'w' | 'W' => {}
                // A back-reference, a code point or a property.
                escaped if escaped.is_alphanumeric() => return None,
                escaped => {
                    text.push(escaped);
                    ends = false;
                }
            },
            plain => {
                text.push(plain);
                ends = false;
            }
        }
        if ends {
            end_literal(&mut text, &mut branches);
        }
        if char == '|' {
            branches.push(Vec::new());
        }
    }
    end_literal(&mut text, &mut branches);
    branches.iter().all(|texts| !texts.is_empty()).then_some(branches)
}

/// Ends a literal; those shorter than two bytes are dropped, since they select too little.
fn end_literal(text: &mut String, branches: &mut [Vec<String>]) {
    let text = std::mem::take(text);
    if text.len() >= 2
        && let Some(branch) = branches.last_mut()
    {
        branch.push(text);
    }
}

fn skip_group(chars: &mut std::str::Chars<'_>) -> Option<()> {
    let mut depth = 1;
    while depth > 0 {
        match chars.next()? {
            '(' => depth += 1,
            ')' => depth -= 1,
            '[' => skip_class(chars)?,
            '\\' => drop(chars.next()?),
            _ => {}
        }
    }
    Some(())
}

fn skip_class(chars: &mut std::str::Chars<'_>) -> Option<()> {
    loop {
        match chars.next()? {
            ']' => return Some(()),
            '\\' => drop(chars.next()?),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literals(pattern: &str) -> Option<String> {
        Some(required_literals(pattern)?.iter().map(|texts| texts.join(" ")).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn a_pattern_that_ignores_case_is_always_tried() {
        let filter = Prefilter::new(["(?i)shell", "shell"].into_iter());
        let mut found = Vec::new();
        filter.candidates("RUN_SHELL", &mut found);
        assert_eq!(found, [0]);
    }

    #[test]
    fn literals_outside_groups_are_required() {
        assert_eq!(literals("^mcp__git__.*").unwrap(), "mcp__git__");
        assert_eq!(literals("(read|write)_7_[a-z]+_file$").unwrap(), "_7_ _file");
        assert_eq!(literals("abc*d?ef+gh{2}ij").unwrap(), "ab ef ij");
        assert_eq!(literals(r"a\.b\w+cd\d").unwrap(), "a.b cd");
        assert_eq!(literals("one.two|three").unwrap(), "one two|three");
        assert_eq!(literals("^(?!run_shell).*_file$").unwrap(), "_file");
        assert_eq!(literals("[^]x(a[)]b)yz").unwrap(), "yz");
    }

    #[test]
    fn uncertain_patterns_require_no_literal() {
        for pattern in [".*", "a", "abc|.", "ab|", "", r"(a)\1bcd", r"\x41bcd", r"\u0041bcd", "ab{", "(ab", "(?:abc)?"]
        {
            assert_eq!(literals(pattern), None, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_that_matches_is_always_a_candidate(
            patterns in prop::collection::vec(r"([a-c_]{1,3}|\(ab\|c\)|\[ab\]|\.|\\w|\\_|\^|\$)([*+?]|\{1,2\})?(([a-c_]{1,3}|\(\?:b\|c_\)|\.|\|)[*+?]?){0,4}", 1..6),
            names in prop::collection::vec("[a-c_]{0,12}", 1..6),
        ) {
            let compiled: Vec<_> = patterns.iter().map(|pattern| regress::Regex::new(pattern)).collect();
            let filter = Prefilter::new(patterns.iter().map(String::as_str));
            for name in &names {
                let mut found = Vec::new();
                filter.candidates(name, &mut found);
                for (at, pattern) in compiled.iter().enumerate() {
                    let matches = pattern.as_ref().is_ok_and(|pattern| pattern.find(name).is_some());
                    prop_assert!(!matches || found.contains(&at), "{} on {}", patterns[at], name);
                }
            }
        }
    }
}
