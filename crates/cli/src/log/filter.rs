//! Log filters, such as `debug` or `hooks=trace,model=debug,info`.

use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The crates that a filter can name.
const FILTERABLE_CRATES: [&str; 7] = ["process", "hooks", "settings", "model", "tools", "agent", "cli"];

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// The log level of each target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogFilter {
    /// The level of targets that `target_levels` does not name.
    default_level: LevelFilter,
    /// Levels by crate, or by module, such as `hooks::running`.
    target_levels: Vec<(String, LevelFilter)>,
}

impl LogFilter {
    /// Returns a filter with the same level for all targets.
    pub(super) fn uniform(level: LevelFilter) -> Self {
        LogFilter { default_level: level, target_levels: Vec::new() }
    }

    /// Returns the most verbose level of the filter.
    pub(super) fn max_level(&self) -> LevelFilter {
        self.target_levels.iter().map(|(_, level)| *level).fold(self.default_level, Ord::max)
    }

    /// Returns whether a line of this target and level is logged.
    ///
    /// The longest matching name decides.
    pub(super) fn allows(&self, place: &str, level: Level) -> bool {
        let fits = |name: &str| place.strip_prefix(name).is_some_and(|more| more.is_empty() || more.starts_with("::"));
        let fitting = self.target_levels.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        level <= fitting.map_or(self.default_level, |(_, at_most)| *at_most)
    }
}

/// Returns a target as filters and log lines name it, or none for crates outside the workspace.
pub(super) fn log_target(target: &str) -> Option<String> {
    match target.strip_prefix("hookwright")? {
        "" => Some("cli".to_owned()),
        rest => match rest.strip_prefix('_') {
            Some(part) => Some(part.to_owned()),
            None => rest.starts_with("::").then(|| format!("cli{rest}")),
        },
    }
}

/// Parses a filter, and returns it with the problems found.
///
/// Invalid directives are left out; if no valid one is left, there is no filter.
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

/// Parses one directive: `level`, `target=level`, or `target` for all of its lines.
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
        return Err(format!("`{name}` is not a part of the program ({})", FILTERABLE_CRATES.join(", ")));
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
    format!("`{text}` is not a level ({})", LEVELS.map(|(name, _)| name).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_apply_to_all_targets_or_to_one() {
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
    fn invalid_directives_are_reported_and_the_rest_applies() {
        let (filter, wrong) = parse("hooks=loud,hoks=debug,verbose,info,");
        assert_eq!(filter, Some(LogFilter::uniform(LevelFilter::INFO)));
        let [level, part, word] = wrong.as_slice() else { panic!("{wrong:?}") };
        assert!(level.contains("`loud` is not a level (off, error, warn"), "{level}");
        assert!(part.contains("`hoks` is not a part of the program (process, hooks,"), "{part}");
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
