//! Which lines are wanted: `debug`, or `hooks=trace,model=debug,info`. Where they go is not its business.

use tracing::Level;
use tracing::level_filters::LevelFilter;

/// What can be named in a filter: the crates.
const PARTS: [&str; 7] = ["process", "hooks", "settings", "model", "tools", "agent", "cli"];

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// Levels by part of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// What is not named below.
    rest: LevelFilter,
    /// Parts, or modules of them, such as `hooks::run`.
    named: Vec<(String, LevelFilter)>,
}

impl Filter {
    /// The same level everywhere.
    pub(super) fn all(level: LevelFilter) -> Self {
        Filter { rest: level, named: Vec::new() }
    }

    /// The most talkative level in it.
    pub(super) fn most(&self) -> LevelFilter {
        self.named.iter().map(|(_, level)| *level).fold(self.rest, Ord::max)
    }

    /// Whether a line of this place and level is wanted. The longest name that fits the place counts.
    pub(super) fn wants(&self, place: &str, level: Level) -> bool {
        let fits = |name: &str| place.strip_prefix(name).is_some_and(|more| more.is_empty() || more.starts_with("::"));
        let fitting = self.named.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        level <= fitting.map_or(self.rest, |(_, at_most)| *at_most)
    }
}

/// Where in the program a line comes from, as filters and lines name it; none for what is not ours.
pub(super) fn place(target: &str) -> Option<String> {
    match target.strip_prefix("hookwright")? {
        "" => Some("cli".to_owned()),
        rest => match rest.strip_prefix('_') {
            Some(part) => Some(part.to_owned()),
            None => rest.starts_with("::").then(|| format!("cli{rest}")),
        },
    }
}

/// Reads a filter. What is wrong with it is left out, and said; with nothing left there is no filter.
pub(super) fn read(text: &str) -> (Option<Filter>, Vec<String>) {
    let mut filter = Filter::all(LevelFilter::OFF);
    let (mut good, mut wrong) = (0, Vec::new());
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match read_word(word) {
            Ok((None, level)) => filter.rest = level,
            Ok((Some(name), level)) => filter.named.push((name.to_owned(), level)),
            Err(problem) => {
                wrong.push(format!("{}: `{word}` is left out: {problem}", super::VARIABLE));
                continue;
            }
        }
        good += 1;
    }
    ((good > 0).then_some(filter), wrong)
}

/// `level`, `part=level`, or `part` for everything of it.
fn read_word(word: &str) -> Result<(Option<&str>, LevelFilter), String> {
    if let Some(level) = level(word) {
        return Ok((None, level));
    }
    let (name, named) = match word.split_once('=') {
        Some((name, text)) => (name.trim(), level(text.trim()).ok_or_else(|| no_level(text.trim()))?),
        None if is_ours(word) => (word, LevelFilter::TRACE),
        None => return Err(no_level(word)),
    };
    if !is_ours(name) {
        return Err(format!("`{name}` is no part of the program ({})", PARTS.join(", ")));
    }
    Ok((Some(name), named))
}

fn is_ours(name: &str) -> bool {
    PARTS.contains(&name.split("::").next().unwrap_or(name))
}

fn level(text: &str) -> Option<LevelFilter> {
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| *level)
}

fn no_level(text: &str) -> String {
    format!("`{text}` is no level ({})", LEVELS.map(|(name, _)| name).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_alone_or_belong_to_a_part() {
        let (filter, wrong) = read("hooks=trace, model=off,INFO,hooks::run=warn,tools");
        let filter = filter.unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(filter.most(), LevelFilter::TRACE);
        for (place, level, wanted) in [
            ("hooks::firing", Level::TRACE, true),
            ("hooks::run", Level::WARN, true),
            ("hooks::run::command", Level::INFO, false),
            ("hooks::running", Level::TRACE, true),
            ("model::http", Level::ERROR, false),
            ("tools::http", Level::TRACE, true),
            ("agent::turn", Level::INFO, true),
            ("agent::turn", Level::DEBUG, false),
        ] {
            assert_eq!(filter.wants(place, level), wanted, "{place} {level}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_counts() {
        let (filter, wrong) = read("hooks=loud,hoks=debug,verbose,info,");
        assert_eq!(filter, Some(Filter::all(LevelFilter::INFO)));
        let [level, part, word] = wrong.as_slice() else { panic!("{wrong:?}") };
        assert!(level.contains("`loud` is no level (off, error, warn"), "{level}");
        assert!(part.contains("`hoks` is no part of the program (process, hooks,"), "{part}");
        assert!(word.contains("HOOKWRIGHT_LOG: `verbose` is left out"), "{word}");
        assert_eq!(read("1").0, None);
        assert_eq!(read("off").0.unwrap().most(), LevelFilter::OFF);
    }

    #[test]
    fn places_are_ours() {
        assert_eq!(place("hookwright_hooks::firing").unwrap(), "hooks::firing");
        assert_eq!(place("hookwright::signals").unwrap(), "cli::signals");
        assert_eq!(place("hookwright").unwrap(), "cli");
        assert_eq!((place("hyper_util::client"), place("hookwrightish::x")), (None, None));
    }
}
