//! Which lines are wanted: `debug`, or `hooks=trace,model=debug,info`. Where they go is not its business.

use tracing::Level;
use tracing::level_filters::LevelFilter;

/// What can be named in a filter: the crates.
const FILTERABLE_CRATES: [&str; 7] = ["process", "hooks", "settings", "model", "tools", "agent", "cli"];

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
pub(super) struct LogFilter {
    /// What is not named below.
    default_level: LevelFilter,
    /// Parts, or modules of them, such as `hooks::running`.
    target_levels: Vec<(String, LevelFilter)>,
}

impl LogFilter {
    /// The same level everywhere.
    pub(super) fn uniform(level: LevelFilter) -> Self {
        LogFilter { default_level: level, target_levels: Vec::new() }
    }

    /// The most talkative level in it.
    pub(super) fn max_level(&self) -> LevelFilter {
        self.target_levels.iter().map(|(_, level)| *level).fold(self.default_level, Ord::max)
    }

    /// Whether a line of this place and level is wanted. The longest name that fits the place counts.
    pub(super) fn allows(&self, place: &str, level: Level) -> bool {
        let fits = |name: &str| place.strip_prefix(name).is_some_and(|more| more.is_empty() || more.starts_with("::"));
        let fitting = self.target_levels.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        level <= fitting.map_or(self.default_level, |(_, at_most)| *at_most)
    }
}

/// Where in the program a line comes from, as filters and lines name it; none for what is not ours.
pub(super) fn log_target(target: &str) -> Option<String> {
    match target.strip_prefix("hookwright")? {
        "" => Some("cli".to_owned()),
        rest => match rest.strip_prefix('_') {
            Some(part) => Some(part.to_owned()),
            None => rest.starts_with("::").then(|| format!("cli{rest}")),
        },
    }
}

/// Reads a filter. What is wrong with it is left out, and said; with nothing left there is no filter.
pub(super) fn parse(text: &str) -> (Option<LogFilter>, Vec<String>) {
    let mut filter = LogFilter::uniform(LevelFilter::OFF);
    let (mut good, mut wrong) = (0, Vec::new());
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match parse_directive(word) {
            Ok((None, level)) => filter.default_level = level,
            Ok((Some(name), level)) => filter.target_levels.push((name.to_owned(), level)),
            Err(problem) => {
                wrong.push(format!("{}: `{word}` is left out: {problem}", super::LOG_VARIABLE));
                continue;
            }
        }
        good += 1;
    }
    ((good > 0).then_some(filter), wrong)
}

/// `level`, `part=level`, or `part` for everything of it.
fn parse_directive(word: &str) -> Result<(Option<&str>, LevelFilter), String> {
    if let Some(level) = parse_level(word) {
        return Ok((None, level));
    }
    let (name, named) = match word.split_once('=') {
        Some((name, text)) => (name.trim(), parse_level(text.trim()).ok_or_else(|| unknown_level_text(text.trim()))?),
        None if is_known_target(word) => (word, LevelFilter::TRACE),
        None => return Err(unknown_level_text(word)),
    };
    if !is_known_target(name) {
        return Err(format!("`{name}` is no part of the program ({})", FILTERABLE_CRATES.join(", ")));
    }
    Ok((Some(name), named))
}

fn is_known_target(name: &str) -> bool {
    FILTERABLE_CRATES.contains(&name.split("::").next().unwrap_or(name))
}

fn parse_level(text: &str) -> Option<LevelFilter> {
    LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| *level)
}

fn unknown_level_text(text: &str) -> String {
    format!("`{text}` is no level ({})", LEVELS.map(|(name, _)| name).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_alone_or_belong_to_a_part() {
        let (filter, wrong) = parse("hooks=trace, model=off,INFO,hooks::run=warn,tools");
        let filter = filter.unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(filter.max_level(), LevelFilter::TRACE);
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
            assert_eq!(filter.allows(place, level), wanted, "{place} {level}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_counts() {
        let (filter, wrong) = parse("hooks=loud,hoks=debug,verbose,info,");
        assert_eq!(filter, Some(LogFilter::uniform(LevelFilter::INFO)));
        let [level, part, word] = wrong.as_slice() else { panic!("{wrong:?}") };
        assert!(level.contains("`loud` is no level (off, error, warn"), "{level}");
        assert!(part.contains("`hoks` is no part of the program (process, hooks,"), "{part}");
        assert!(word.contains("HOOKWRIGHT_LOG: `verbose` is left out"), "{word}");
        assert_eq!(parse("1").0, None);
        assert_eq!(parse("off").0.unwrap().max_level(), LevelFilter::OFF);
    }

    #[test]
    fn targets_are_known() {
        assert_eq!(log_target("hookwright_hooks::firing").unwrap(), "hooks::firing");
        assert_eq!(log_target("hookwright::signals").unwrap(), "cli::signals");
        assert_eq!(log_target("hookwright").unwrap(), "cli");
        assert_eq!((log_target("hyper_util::client"), log_target("hookwrightish::x")), (None, None));
    }
}
