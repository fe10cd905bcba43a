//! The words of a query: `event=BeforeTool verdict=deny agent=codex since=7d`.

use std::ops::RangeInclusive;

use jiff::{SignedDuration, Timestamp};

use crate::entry::Verdict;
use crate::index::{Index, Row};

/// Why a query was not understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A word is not of the form `key=value`.
    #[error("`{0}` is not of the form key=value; keys are {KEYS}")]
    NoTerm(String),
    /// The key is not known.
    #[error("`{0}` is not a key of a query; keys are {KEYS}")]
    UnknownKey(String),
    /// The verdict is not known.
    #[error("`{0}` is not a verdict; verdicts are pass, allow, confine, ask, deny and stop")]
    UnknownVerdict(String),
    /// The time is not understood.
    #[error(
        "`{0}` is not a time: write 30m, 12h, 7d, 2w, a date such as 2026-11-18, or a time such as 2026-11-18T09:00:00Z"
    )]
    BadTime(String),
}

const KEYS: &str = "agent, event, tool, verdict, hook, session, turn, project, kind, lost, text, since and until";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Agent,
    Event,
    Tool,
    Session,
    Turn,
    Project,
    Kind,
    Hook,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// One of these words; `*` at the end of a word stands for any rest.
    Words {
        field: Field,
        words: Vec<String>,
        negated: bool,
    },
    Verdicts {
        verdicts: Vec<Verdict>,
        negated: bool,
    },
    Lost,
}

/// Which lines are wanted. All terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    terms: Vec<Term>,
    since: Option<i64>,
    until: Option<i64>,
    /// Only lines after this number.
    pub(crate) after_line: u64,
    /// Only lines up to this number.
    until_line: Option<u64>,
    /// Texts that the line must contain, which only the line itself tells.
    pub(crate) texts: Vec<String>,
}

impl Query {
    /// Parses the words of a query; a word may hold several terms separated by spaces.
    ///
    /// # Errors
    /// If a term is not understood; the message says which.
    pub fn parse<'w>(words: impl IntoIterator<Item = &'w str>, now: Timestamp) -> Result<Query, QueryError> {
        let mut query = Query::default();
        for term in words.into_iter().flat_map(str::split_whitespace) {
            query.add(term, now)?;
        }
        Ok(query)
    }

    /// Adds a term.
    ///
    /// # Errors
    /// If it is not understood.
    pub fn add(&mut self, term: &str, now: Timestamp) -> Result<(), QueryError> {
        let (key, value) = term.split_once('=').ok_or_else(|| QueryError::NoTerm(term.to_owned()))?;
        let (key, negated) = key.strip_suffix('!').map_or((key, false), |key| (key, true));
        let words = || value.split(',').map(str::to_owned).collect();
        let field = match key {
            "agent" | "host" => Field::Agent,
            "event" => Field::Event,
            "tool" => Field::Tool,
            "session" => Field::Session,
            "turn" => Field::Turn,
            "project" => Field::Project,
            "kind" => Field::Kind,
            "hook" => Field::Hook,
            "verdict" => {
                let word =
                    |word: &str| Verdict::from_word(word).ok_or_else(|| QueryError::UnknownVerdict(word.to_owned()));
                let verdicts = value.split(',').map(word).collect::<Result<_, _>>()?;
                self.terms.push(Term::Verdicts { verdicts, negated });
                return Ok(());
            }
            "lost" => {
                self.terms.push(Term::Lost);
                return Ok(());
            }
            "text" => {
                self.texts.push(value.to_owned());
                return Ok(());
            }
            "since" => {
                self.since = Some(parse_time(value, now)?.as_millisecond());
                return Ok(());
            }
            "until" => {
                self.until = Some(parse_time(value, now)?.as_millisecond());
                return Ok(());
            }
            _ => return Err(QueryError::UnknownKey(key.to_owned())),
        };
        self.terms.push(Term::Words { field, words: words(), negated });
        Ok(())
    }

    /// Selects only lines after this number.
    pub fn after_line(&mut self, line: u64) {
        self.after_line = line;
    }

    /// Selects only lines up to this number.
    pub fn until_line(&mut self, line: u64) {
        self.until_line = Some(line);
    }

    /// Prepares the query for one index, whose words are numbers.
    pub(crate) fn compile(&self, index: &Index) -> RowFilter {
        let numbers = |words: &[String]| {
            let is_meant = |known: &str| words.iter().any(|word| matches_word(word, known));
            let known = index.words.iter().enumerate().skip(1).filter(|(_, known)| is_meant(known));
            known.filter_map(|(number, _)| u32::try_from(number).ok()).collect()
        };
        let terms = self.terms.iter().map(|term| match term {
            Term::Words { field, words, negated } => {
                RowTerm::Words { field: *field, numbers: numbers(words), negated: *negated }
            }
            Term::Verdicts { verdicts, negated } => RowTerm::Verdicts {
                verdicts: verdicts.iter().map(|verdict| *verdict as u8).collect(),
                negated: *negated,
            },
            Term::Lost => RowTerm::Lost,
        });
        RowFilter {
            terms: terms.collect(),
            since: self.since.unwrap_or(i64::MIN),
            until: self.until.unwrap_or(i64::MAX),
            lines: self.after_line + 1..=self.until_line.unwrap_or(u64::MAX),
        }
    }

    /// Whether a line has the texts that the query asks for.
    pub(crate) fn matches_text(&self, line: &str) -> bool {
        self.texts.iter().all(|text| line.contains(text.as_str()))
    }
}

fn matches_word(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => pattern == word,
    }
}

#[derive(Debug)]
enum RowTerm {
    Words { field: Field, numbers: Vec<u32>, negated: bool },
    Verdicts { verdicts: Vec<u8>, negated: bool },
    Lost,
}

/// A query on the rows of one index.
#[derive(Debug)]
pub(crate) struct RowFilter {
    terms: Vec<RowTerm>,
    since: i64,
    until: i64,
    lines: RangeInclusive<u64>,
}

impl RowFilter {
    pub(crate) fn matches(&self, index: &Index, row: &Row) -> bool {
        row.time >= self.since
            && row.time <= self.until
            && self.lines.contains(&row.seq)
            && self.terms.iter().all(|term| term.matches(index, row))
    }
}

impl RowTerm {
    fn matches(&self, index: &Index, row: &Row) -> bool {
        match self {
            RowTerm::Lost => row.has_loss != 0,
            RowTerm::Verdicts { verdicts, negated } => verdicts.contains(&row.verdict) != *negated,
            RowTerm::Words { field: Field::Hook, numbers, negated } => {
                index.runs_of(row).iter().any(|run| numbers.contains(&run.hook)) != *negated
            }
            RowTerm::Words { field, numbers, negated } => {
                let word = match field {
                    Field::Agent => row.agent,
                    Field::Event => row.event,
                    Field::Tool => row.tool,
                    Field::Session => row.session,
                    Field::Turn => row.turn,
                    Field::Project => row.project,
                    Field::Kind | Field::Hook => row.kind,
                };
                numbers.contains(&word) != *negated
            }
        }
    }
}

/// Parses a point in time: `7d` ago, a date, or a date with a time.
///
/// # Errors
/// If it is neither.
pub fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, QueryError> {
    let bad = || QueryError::BadTime(text.to_owned());
    if let Some(unit) = text.chars().last()
        && let Ok(count) = text[..text.len() - unit.len_utf8()].parse::<u32>()
    {
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 60 * 60,
            'd' => 24 * 60 * 60,
            'w' => 7 * 24 * 60 * 60,
            _ => return Err(bad()),
        };
        let ago = SignedDuration::from_secs(i64::from(count) * seconds);
        return now.checked_sub(ago).map_err(|_| bad());
    }
    let midnight = || format!("{text}T00:00:00Z");
    text.parse().or_else(|_| midnight().parse()).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexBuilder;

    fn now() -> Timestamp {
        "2026-11-18T12:00:00Z".parse().unwrap()
    }

    fn index() -> Index {
        let mut builder = IndexBuilder::default();
        for (seq, agent, verdict, hook, time) in [
            (1, "codex", "deny", "guard", "2026-11-18T11:00:00Z"),
            (2, "claude", "pass", "guard", "2026-11-10T11:00:00Z"),
            (3, "codex", "pass", "format", "2026-11-17T11:00:00Z"),
        ] {
            builder.add(0, &format!(r#"{{"seq":{seq},"prev":"","time":"{time}","kind":"event","agent":"{agent}","event":"BeforeTool","verdict":"{verdict}","hooks":[{{"hook":"{hook}"}}]}}"#));
        }
        builder.finish()
    }

    fn matching(query: &str) -> Vec<u64> {
        let (index, query) = (index(), Query::parse([query], now()).unwrap());
        let filter = query.compile(&index);
        index.rows.iter().filter(|row| filter.matches(&index, row)).map(|row| row.seq).collect()
    }

    #[test]
    fn all_terms_must_hold() {
        assert_eq!(matching("agent=codex"), [1, 3]);
        assert_eq!(matching("agent=codex verdict=deny"), [1]);
        assert_eq!(matching("agent!=codex"), [2]);
        assert_eq!(matching("hook=guard"), [1, 2]);
        assert_eq!(matching("hook=gu*,format verdict=pass"), [2, 3]);
        assert_eq!(matching("since=7d"), [1, 3]);
        assert_eq!(matching("until=2026-11-12"), [2]);
        assert_eq!(matching("agent=nobody"), [] as [u64; 0]);
        assert_eq!(matching("event=BeforeTool"), [1, 2, 3]);
    }

    #[test]
    fn periods_and_dates_are_read() {
        let hours_ago = |hours: i64| now().checked_sub(SignedDuration::from_hours(hours)).unwrap();
        for (text, time) in [("12h", 12), ("7d", 7 * 24), ("2w", 14 * 24), ("120m", 2), ("7200s", 2)] {
            assert_eq!(parse_time(text, now()), Ok(hours_ago(time)), "{text}");
        }
        let day = "2026-11-18T00:00:00Z".parse().unwrap();
        assert_eq!((parse_time("2026-11-18", now()), parse_time("2026-11-18T00:00:00Z", now())), (Ok(day), Ok(day)));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let error = |query: &str| Query::parse([query], now()).unwrap_err().to_string();
        assert!(error("deny").contains("key=value"));
        assert!(error("colour=red").contains("colour"));
        assert!(error("verdict=maybe").contains("maybe"));
        for time in
            ["yesterday", "", "d", "7", "-7d", "7 d", "7ä", "7x", "99999999999d", "4294967295w", "2026-13-01", "é"]
        {
            assert!(parse_time(time, now()).is_err(), "{time}");
        }
    }
}
