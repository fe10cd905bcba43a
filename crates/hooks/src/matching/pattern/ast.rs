//! The syntax tree of a JavaScript pattern. It is used to translate the pattern for a linear engine where it means the
//! same there, and to bound the steps of the backtracking engine. The parser does not validate: the text has already
//! compiled.

use std::iter::Peekable;
use std::str::Chars;

/// A node of a pattern's syntax tree.
#[derive(Debug)]
pub(super) enum RegexAst {
    /// One step, with its text for the linear engine if that means the same for ASCII text.
    Atom(Option<String>),
    /// Look-around: once it has matched, the engine does not backtrack into it.
    LookAround(Box<RegexAst>),
    /// Nodes that match one after another.
    Sequence(Vec<RegexAst>),
    /// Nodes of which one matches.
    Alternation(Vec<RegexAst>),
    /// A node that matches repeatedly.
    Repetition {
        /// The repeated node.
        of: Box<RegexAst>,
        /// The minimum number of repetitions.
        least: u32,
        /// The maximum number of repetitions.
        most: Option<u32>,
    },
}

/// The cost of a node for a backtracking engine.
struct BacktrackingCost {
    /// The number of ways in which the node can match at one position.
    ways: f64,
    /// The number of steps to try them all.
    steps: f64,
}

impl RegexAst {
    /// Parses a pattern; `None` if it is nested too deeply.
    pub(super) fn parse(pattern: &str) -> Option<RegexAst> {
        RegexParser { chars: pattern.chars().peekable(), depth: 0 }.parse_alternation()
    }

    /// The pattern for a linear engine that reads bytes; `None` where it could mean something else.
    pub(super) fn to_linear_regex(&self) -> Option<String> {
        match self {
            RegexAst::Atom(text) => text.clone(),
            RegexAst::LookAround(_) => None,
            RegexAst::Sequence(shapes) => shapes.iter().map(RegexAst::to_linear_regex).collect(),
            RegexAst::Alternation(shapes) => {
                let branches: Option<Vec<_>> = shapes.iter().map(RegexAst::to_linear_regex).collect();
                Some(format!("(?:{})", branches?.join("|")))
            }
            RegexAst::Repetition { of, least, most } => {
                let most = most.map_or(String::new(), |most| most.to_string());
                Some(format!("(?:{}){{{least},{most}}}", of.to_linear_regex()?))
            }
        }
    }

    /// An upper bound of the steps that a backtracking engine takes on a text of this length.
    pub(super) fn max_steps(&self, length: usize) -> f64 {
        let length = length as f64 + 1.0;
        let starts = if self.is_anchored() { 1.0 } else { length };
        starts * self.backtracking_cost(length).steps + length
    }

    fn is_anchored(&self) -> bool {
        match self {
            RegexAst::Atom(text) => text.as_deref() == Some(TEXT_START_ANCHOR),
            RegexAst::Sequence(shapes) => shapes.first().is_some_and(RegexAst::is_anchored),
            RegexAst::Alternation(shapes) => shapes.iter().all(RegexAst::is_anchored),
            RegexAst::LookAround(_) | RegexAst::Repetition { .. } => false,
        }
    }

    fn backtracking_cost(&self, length: f64) -> BacktrackingCost {
        match self {
            RegexAst::Atom(_) => BacktrackingCost { ways: 1.0, steps: 1.0 },
            RegexAst::LookAround(shape) => BacktrackingCost { ways: 1.0, steps: shape.backtracking_cost(length).steps },
            RegexAst::Sequence(shapes) => {
                shapes.iter().fold(BacktrackingCost { ways: 1.0, steps: 0.0 }, |before, shape| {
                    let next = shape.backtracking_cost(length);
                    BacktrackingCost { ways: before.ways * next.ways, steps: before.steps + before.ways * next.steps }
                })
            }
            RegexAst::Alternation(shapes) => {
                shapes.iter().fold(BacktrackingCost { ways: 0.0, steps: 0.0 }, |before, shape| {
                    let next = shape.backtracking_cost(length);
                    BacktrackingCost { ways: before.ways + next.ways, steps: before.steps + next.steps }
                })
            }
            RegexAst::Repetition { of, least, most } => {
                let once = of.backtracking_cost(length);
                // A repetition beyond the minimum may not be empty.
                let most = most.map_or(f64::INFINITY, f64::from).min(f64::from(*least) + length);
                let rounds = most - f64::from(*least) + 1.0;
                let each = once.ways.powf(most);
                BacktrackingCost { ways: rounds * each, steps: (most + 1.0) * each * once.steps }
            }
        }
    }
}

const TEXT_START_ANCHOR: &str = r"\A";

struct RegexParser<'t> {
    chars: Peekable<Chars<'t>>,
    depth: usize,
}

impl RegexParser<'_> {
    fn parse_alternation(&mut self) -> Option<RegexAst> {
        const MAX_NESTING_DEPTH: usize = 64;
        self.depth += 1;
        if self.depth > MAX_NESTING_DEPTH {
            return None;
        }
        let mut branches = vec![self.parse_sequence()?];
        while self.chars.next_if_eq(&'|').is_some() {
            branches.push(self.parse_sequence()?);
        }
        self.depth -= 1;
        Some(if branches.len() == 1 { branches.remove(0) } else { RegexAst::Alternation(branches) })
    }

    fn parse_sequence(&mut self) -> Option<RegexAst> {
        let mut row = Vec::new();
        while let Some(char) = self.chars.next_if(|char| !matches!(char, '|' | ')')) {
            let shape = match char {
                '(' => self.parse_group()?,
                '[' => RegexAst::Atom(self.parse_class()),
                '\\' => RegexAst::Atom(self.chars.next().and_then(translate_escape)),
                '^' => RegexAst::Atom(Some(TEXT_START_ANCHOR.to_owned())),
                '$' => RegexAst::Atom(Some(r"\z".to_owned())),
                '.' => RegexAst::Atom(Some(r"[^\n\r]".to_owned())),
                // JavaScript takes these characters literally; other engines may not.
                '{' | '}' | ']' => RegexAst::Atom(None),
                char => RegexAst::Atom(escape_literal(char)),
            };
            row.push(self.parse_quantifier(shape));
        }
        Some(RegexAst::Sequence(row))
    }

    fn parse_group(&mut self) -> Option<RegexAst> {
        let mut looks = false;
        let mut known = true;
        if self.chars.next_if_eq(&'?').is_some() {
            match self.chars.next() {
                Some(':') => {}
                Some('=' | '!') => looks = true,
                Some('<') if self.chars.next_if(|char| matches!(char, '=' | '!')).is_some() => looks = true,
                Some('<') => drop(self.chars.by_ref().find(|char| *char == '>')),
                // The group has flags.
                _ => {
                    known = false;
                    self.chars.by_ref().find(|char| *char == ':');
                }
            }
        }
        let inner = self.parse_alternation()?;
        self.chars.next();
        Some(match (looks, known) {
            (true, _) => RegexAst::LookAround(Box::new(inner)),
            (false, true) => RegexAst::Alternation(vec![inner]),
            (false, false) => RegexAst::Sequence(vec![RegexAst::Atom(None), inner]),
        })
    }

    /// Parses the quantifier after a node, if there is one.
    fn parse_quantifier(&mut self, shape: RegexAst) -> RegexAst {
        let (least, most) = match self.chars.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match parse_repeat_counts(self.chars.clone()) {
                Some(counts) => {
                    self.chars.by_ref().find(|char| *char == '}');
                    self.chars.next_if_eq(&'?');
                    return RegexAst::Repetition { of: Box::new(shape), least: counts.0, most: counts.1 };
                }
                None => return shape,
            },
            _ => return shape,
        };
        self.chars.next();
        // Greediness changes which match is found, not whether there is one.
        self.chars.next_if_eq(&'?');
        RegexAst::Repetition { of: Box::new(shape), least, most }
    }

    /// Parses the rest of a character class.
    fn parse_class(&mut self) -> Option<String> {
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut items: Option<String> = Some(String::new());
        let mut after_set = false;
        loop {
            let (item, is_set) = match self.chars.next()? {
                ']' => break,
                // Next to a set, a hyphen is not a range in JavaScript; such classes are left to the backtracking
                // engine.
                '-' if after_set && self.chars.peek() != Some(&']') => (None, false),
                '-' => (Some("-".to_owned()), false),
                '\\' => {
                    let escaped = self.chars.next()?;
                    let is_set = "dDwWsS".contains(escaped);
                    (if escaped.eq_ignore_ascii_case(&'b') { None } else { translate_escape(escaped) }, is_set)
                }
                char => (escape_literal(char), false),
            };
            // A hyphen before a set, as in `[+-\w]`.
            let range_to_set = is_set && items.as_deref().is_some_and(|items| items.len() > 1 && items.ends_with('-'));
            items = items.zip(item.filter(|_| !range_to_set)).map(|(items, item)| items + &item);
            after_set = is_set;
        }
        // `[]` matches nothing and `[^]` everything, but only in JavaScript.
        let items = items.filter(|items| !items.is_empty())?;
        Some(format!("[{}{items}]", if negated { "^" } else { "" }))
    }
}

/// Parses `{2}`, `{2,}` or `{2,5}`; anything else is literal text.
fn parse_repeat_counts(chars: Peekable<Chars<'_>>) -> Option<(u32, Option<u32>)> {
    let inner: String = chars.skip(1).take_while(|char| *char != '}').collect();
    let (least, most) = match inner.split_once(',') {
        None => (inner.as_str(), Some(inner.as_str())),
        Some((least, "")) => (least, None),
        Some((least, most)) => (least, Some(most)),
    };
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap_or(u32::MAX));
    if least.is_empty() {
        return None;
    }
    Some((number(least)?, most.map(number).map_or(Some(None), |most| most.map(Some))?))
}

fn escape_literal(char: char) -> Option<String> {
    match char {
        char if !char.is_ascii() => None,
        // `\<` is the start of a word in the linear engine.
        char if char.is_ascii_alphanumeric() || "_ <>".contains(char) => Some(char.to_string()),
        char if char.is_ascii_punctuation() => Some(format!("\\{char}")),
        _ => None,
    }
}

fn translate_escape(char: char) -> Option<String> {
    let text = match char {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'b' | 'B' | 'n' | 'r' | 't' | 'v' | 'f' => format!("\\{char}"),
        char if char.is_ascii_punctuation() => return escape_literal(char),
        _ => return None,
    };
    Some(text)
}
