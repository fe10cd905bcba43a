//! Fuzzy matching: ranks texts by prefix, then substring, then subsequence.
//!
//! It is used for commands, paths, earlier prompts, sessions and turns; the caller limits the number of results.

/// The characters of a text, and of a pattern, up to which subsequences are searched.
const MAX_SEARCHED_CHARS: usize = 1_000;
const MAX_PATTERN_CHARS: usize = 64;
/// The score of a matching character, and bonuses: at the start of a path part or a word, at a capital, or right after
/// the previous match.
const MATCH_SCORE: i32 = 16;
const PART_START_BONUS: i32 = 10;
const WORD_START_BONUS: i32 = 8;
const CAPITAL_BONUS: i32 = 7;
const CONSECUTIVE_BONUS: i32 = 5;
/// Penalties for a gap between matches: for its first character, and for each further one.
const GAP_START_PENALTY: i32 = 3;
const GAP_EXTENSION_PENALTY: i32 = 1;
/// A score below that of any match.
const NO_MATCH_SCORE: i32 = i32::MIN / 2;

/// How well a text matches; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchRank {
    /// The text begins with the pattern.
    Prefix,
    /// The last path component begins with the pattern.
    NamePrefix,
    /// The text contains the pattern.
    Substring,
    /// The text has the pattern's characters in order; the value is the negated score.
    Subsequence(i32),
}

/// Ranks texts by how well they match a pattern.
pub(crate) struct FuzzyMatcher {
    pattern: String,
    pattern_chars: Vec<char>,
    text_chars: Vec<char>,
    bonuses: Vec<i32>,
    rows: [Vec<i32>; 2],
}

impl FuzzyMatcher {
    pub(crate) fn new(typed: &str) -> Self {
        let wanted = typed.to_lowercase();
        let letters = wanted.chars().filter(|char| !char.is_whitespace()).collect();
        FuzzyMatcher {
            pattern: wanted,
            pattern_chars: letters,
            text_chars: Vec::new(),
            bonuses: Vec::new(),
            rows: [Vec::new(), Vec::new()],
        }
    }

    /// Returns the rank of a text, or none if it does not match or its matching characters lie too far apart.
    pub(crate) fn rank(&mut self, text: &str) -> Option<MatchRank> {
        let lower = text.to_lowercase();
        let name = lower.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if lower.starts_with(&self.pattern) {
            return Some(MatchRank::Prefix);
        }
        if name.starts_with(&self.pattern) {
            return Some(MatchRank::NamePrefix);
        }
        if lower.contains(&self.pattern) {
            return Some(MatchRank::Substring);
        }
        let enough = i32::try_from(self.pattern_chars.len()).ok()? * MATCH_SCORE;
        let worth = self.subsequence_score(text).filter(|worth| *worth >= enough)?;
        Some(MatchRank::Subsequence(-worth))
    }

    /// Returns the best score of the pattern as a subsequence of the text, or none if it is not one.
    fn subsequence_score(&mut self, text: &str) -> Option<i32> {
        if !(2..=MAX_PATTERN_CHARS).contains(&self.pattern_chars.len()) {
            return None;
        }
        let looked_at = || text.chars().take(MAX_SEARCHED_CHARS);
        let mut wanted = self.pattern_chars.iter().peekable();
        for char in looked_at().flat_map(char::to_lowercase) {
            wanted.next_if(|wanted| **wanted == char);
        }
        if wanted.peek().is_some() {
            return None;
        }
        self.text_chars.clear();
        self.bonuses.clear();
        let mut before = '/';
        for char in looked_at() {
            self.text_chars.push(char.to_lowercase().next().unwrap_or(char));
            self.bonuses.push(boundary_bonus(before, char));
            before = char;
        }
        let count = self.text_chars.len();
        let [last, next] = &mut self.rows;
        for (at, letter) in self.pattern_chars.iter().enumerate() {
            next.clear();
            next.resize(count, NO_MATCH_SCORE);
            // The best score of the previous characters, if there is a gap before this one.
            let mut apart = if at == 0 { 0 } else { NO_MATCH_SCORE };
            // The score of the previous characters, if they end right before this place.
            let mut ended = NO_MATCH_SCORE;
            for (place, worth) in next.iter_mut().enumerate() {
                if self.text_chars[place] == *letter {
                    let joined = ended + self.bonuses[place].max(CONSECUTIVE_BONUS);
                    *worth = MATCH_SCORE + joined.max(apart + self.bonuses[place]);
                }
                if at > 0 {
                    apart = (apart - GAP_EXTENSION_PENALTY).max(ended - GAP_START_PENALTY);
                    ended = last[place];
                }
            }
            std::mem::swap(last, next);
        }
        last.iter().copied().max().filter(|worth| *worth > 0)
    }
}

/// Returns the bonus of a character after `before`.
fn boundary_bonus(before: char, char: char) -> i32 {
    match before {
        '/' | '\\' | ' ' => PART_START_BONUS,
        before if !before.is_alphanumeric() => WORD_START_BONUS,
        before if char.is_uppercase() && !before.is_uppercase() => CAPITAL_BONUS,
        before if char.is_numeric() && !before.is_numeric() => CAPITAL_BONUS,
        _ => 0,
    }
}

/// Returns the texts that match, best and then shortest first, at most `most` of them.
pub(crate) fn best_matches<'t>(texts: impl IntoIterator<Item = &'t str>, typed: &str, most: usize) -> Vec<&'t str> {
    let mut fitting = FuzzyMatcher::new(typed);
    let mut found: Vec<(MatchRank, usize, &str)> =
        texts.into_iter().filter_map(|text| Some((fitting.rank(text)?, text.len(), text))).collect();
    // Only the best need sorting.
    if found.len() > most {
        found.select_nth_unstable(most);
        found.truncate(most);
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_a_text_fits_the_earlier_it_comes() {
        let files =
            ["src/", "src/main.rs", "src/new_module.py", "docs/src.md", "tests/newer/mode.rs", "renewmodel.txt"];
        assert_eq!(best_matches(files, "newmod", 9), ["renewmodel.txt", "src/new_module.py", "tests/newer/mode.rs"]);
        assert_eq!(best_matches(files, "src", 9), ["src/", "src/main.rs", "src/new_module.py", "docs/src.md"]);
        assert_eq!(best_matches(files, "MAIN", 9), ["src/main.rs"]);
        assert_eq!(best_matches(files, "src", 2), ["src/", "src/main.rs"]);
        assert!(best_matches(files, "zzz", 9).is_empty());
        assert_eq!(best_matches(files, "", 9).len(), 6);
    }

    #[test]
    fn letters_that_lie_far_apart_do_not_fit() {
        assert!(best_matches(["a/very/long/path/without/any/likeness.txt"], "alice", 9).is_empty());
        assert_eq!(best_matches(["größe/übersicht.md"], "grsicht", 9), ["größe/übersicht.md"]);
    }

    #[test]
    fn unusual_texts_are_ranked_without_a_panic() {
        let long = "é".repeat(100_000);
        for typed in ["", " ", "\\", "!^$'", "é", "日本", "\u{0}", &long] {
            let _ = best_matches(["", "a b", "日本語.txt", &long, "\u{1b}[2J"], typed, 3);
        }
    }

    #[test]
    fn a_hundred_thousand_paths_are_searched() {
        let paths: Vec<String> =
            (0..100_000).map(|number| format!("packages/p{}/src/module_{number}.ts", number % 97)).collect();
        let found = best_matches(paths.iter().map(String::as_str), "pkgmod99999", 50);
        assert_eq!(found.first(), Some(&"packages/p89/src/module_99999.ts"));
    }
}
