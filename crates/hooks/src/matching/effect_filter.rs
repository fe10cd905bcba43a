//! `when`: a filter on the effects of a call, compiled when the settings are read. It is evaluated without starting a
//! process.
//!
//! The hook runs if **any** of the lists matches, not only if all of them do: an author who adds a line to a guard
//! wants it to run more often, and running once too often costs less than not running. For a guard, a list of effects
//! that may be incomplete counts as matching. A `when` that is invalid matches for every hook.

mod bounds;
mod path_matcher;
mod prohibition;

pub use bounds::EffectBounds;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use self::path_matcher::PathMatcher;
use crate::effects::{Aspect, CallPlace, Command, Effects, Flow, RepositoryEffect, Touched};
use hookwright_analysis::command_parts::{Fit, begins};
use hookwright_analysis::star_pattern::matches_star;

/// A compiled `when`. It is cheap to clone.
#[derive(Clone)]
pub struct EffectFilter(Arc<EffectFilterSpec>);

/// The parts of a `when`.
#[derive(Default)]
pub(crate) struct EffectFilterSpec {
    /// The text as written, for display and for fingerprints.
    pub(crate) text: String,
    pub(crate) reads: Option<Vec<PathGlob>>,
    pub(crate) writes: Option<Vec<PathGlob>>,
    pub(crate) deletes: Option<Vec<PathGlob>>,
    pub(crate) network: Option<Vec<StarPattern>>,
    pub(crate) repository: Option<Vec<StarPattern>>,
    pub(crate) services: Option<Vec<StarPattern>>,
    pub(crate) processes: Option<Vec<StarPattern>>,
    /// Whether calls that run something as another user match: `"privileged": true`.
    pub(crate) privileged: bool,
    pub(crate) flows: Option<Vec<FlowPattern>>,
    pub(crate) commands: Option<Vec<CommandPattern>>,
    /// Whether calls with uncertain effects match: `"certain": false`.
    pub(crate) uncertain: bool,
    /// Whether the filter matches every call because it is invalid.
    pub(crate) matches_all: bool,
}

/// The reason why a hook with a `when` runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchReason {
    /// The call has an effect that matches.
    Effect {
        /// The aspect to which the effect belongs.
        aspect: Aspect,
        /// The path, command or host that matches.
        what: String,
    },
    /// The call may have an effect that matches.
    Uncertain {
        /// The reason why the call could not be analysed completely, if that is so.
        reason: Option<String>,
    },
    /// The hook runs for every call.
    Always,
}

/// How it counts that a call touches a folder as a whole, in which a file that a filter is about may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeFolders {
    /// The call touches the file.
    Known,
    /// The call may touch the file.
    Doubtful,
}

impl fmt::Debug for EffectFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl EffectFilter {
    pub(crate) fn new(inner: EffectFilterSpec) -> Self {
        EffectFilter(Arc::new(inner))
    }

    /// The text of the filter as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the filter matches calls with uncertain effects.
    pub(crate) fn matches_uncertain(&self) -> bool {
        self.0.uncertain
    }

    /// Whether the filter matches every call because it is invalid.
    pub(crate) fn is_invalid(&self) -> bool {
        self.0.matches_all
    }

    /// Why the hook runs on a call with these effects, if it does. For a guard, effects that are merely possible match
    /// too.
    pub(crate) fn match_effects(
        &self,
        effects: &Effects,
        place: &CallPlace<'_>,
        is_guard: bool,
        whole_folders: WholeFolders,
    ) -> Option<MatchReason> {
        let EffectFilterSpec { reads, writes, deletes, network, repository, services, processes, .. } = &*self.0;
        let EffectFilterSpec { privileged, flows, commands, uncertain, matches_all: always, .. } = &*self.0;
        if *always {
            return Some(MatchReason::Always);
        }
        let files = [
            (Aspect::Writes, writes, &effects.writes),
            (Aspect::Deletes, deletes, &effects.deletes),
            (Aspect::Reads, reads, &effects.reads),
        ];
        let mut may = false;
        for (aspect, globs, touched) in files {
            let Some(globs) = globs else { continue };
            let is_doubtful = |one: &Touched| {
                let is_whole = whole_folders == WholeFolders::Doubtful && one.deep;
                is_whole && !globs_match(globs, &Touched { deep: false, ..one.clone() }, place)
            };
            for one in touched.iter().filter(|one| globs_match(globs, one, place)) {
                if !is_doubtful(one) {
                    return Some(MatchReason::Effect { aspect, what: one.shown.clone() });
                }
                may = true;
            }
        }
        for command in commands.iter().flat_map(|patterns| effects.commands.iter().map(move |one| (patterns, one))) {
            match match_command(command.0, command.1) {
                Fit::Yes => {
                    return Some(MatchReason::Effect { aspect: Aspect::Commands, what: command.1.shown.join(" ") });
                }
                Fit::Maybe => may = true,
                Fit::No => {}
            }
        }
        let texts = [
            (Aspect::Network, network, &effects.network),
            (Aspect::Services, services, &effects.services),
            (Aspect::Processes, processes, &effects.processes),
        ];
        for (aspect, patterns, list) in texts {
            let found = patterns.as_ref().and_then(|patterns| list.iter().find(|one| texts_match(patterns, &[one])));
            if let Some(found) = found {
                return Some(MatchReason::Effect { aspect, what: found.clone() });
            }
        }
        let changes = |patterns: &Vec<StarPattern>| {
            let fits = |one: &&RepositoryEffect| repository_matches(patterns, one);
            effects.repository.iter().find(fits).map(RepositoryEffect::shown)
        };
        if let Some(what) = repository.as_ref().and_then(changes) {
            return Some(MatchReason::Effect { aspect: Aspect::Repository, what });
        }
        if let Some(what) = effects.privileged.first().filter(|_| *privileged) {
            return Some(MatchReason::Effect { aspect: Aspect::Privileged, what: what.clone() });
        }
        let flow_patterns = flows.as_deref().unwrap_or_default();
        let find_flow = |reads: &[Touched]| {
            let is_meant = |flow: &&Flow| flow_patterns.iter().any(|pattern| pattern.matches(flow, reads, place));
            effects.flows.iter().find(is_meant)
        };
        // Without the folders that are read as a whole, a source is only what is named.
        let known_folders = if whole_folders == WholeFolders::Known { &*effects.reads } else { &[] };
        if let Some(flow) = find_flow(known_folders) {
            let what = format!("{} to {}", flow.from, flow.to);
            return Some(MatchReason::Effect { aspect: Aspect::Flows, what });
        }
        may |= find_flow(&effects.reads).is_some();
        let unsure = MatchReason::Uncertain { reason: effects.reasons().first().cloned() };
        if *uncertain && !effects.is_certain() {
            return Some(unsure);
        }
        let asked = [
            (Aspect::Reads, reads.is_some()),
            (Aspect::Writes, writes.is_some()),
            (Aspect::Deletes, deletes.is_some()),
            (Aspect::Network, network.is_some()),
            (Aspect::Commands, commands.is_some()),
            (Aspect::Repository, repository.is_some()),
            (Aspect::Services, services.is_some()),
            (Aspect::Processes, processes.is_some()),
            (Aspect::Privileged, *privileged),
            (Aspect::Flows, flows.is_some()),
        ];
        may |= asked.iter().any(|(aspect, is_asked)| *is_asked && effects.may_hold_more(*aspect));
        (is_guard && may).then_some(unsure)
    }
}

/// A glob on paths, or an exception if written as `!glob`.
pub(crate) struct PathGlob {
    is_exception: bool,
    /// The glob as written, without the sign of an exception.
    text: String,
    base: GlobBase,
    full_matcher: PathMatcher,
    /// For `folder/**`: the glob of the folder.
    dir_matcher: Option<PathMatcher>,
    /// A glob for each path segment; `None` for `**`, and for globs that cannot be split.
    segment_matchers: Vec<Option<PathMatcher>>,
}

/// The directory that a glob is relative to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GlobBase {
    Project,
    Home,
    Root,
}

impl PathGlob {
    /// Compiles a glob: relative to the project, relative to the home directory (`~/`), or absolute.
    ///
    /// # Errors
    /// If the glob is invalid, with the reason.
    pub(crate) fn new(text: &str) -> Result<PathGlob, String> {
        let (is_exception, written) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        let (from, text) = match written.strip_prefix("~/") {
            Some(rest) => (GlobBase::Home, rest),
            None if written.starts_with('/') => (GlobBase::Root, written.trim_start_matches('/')),
            None => (GlobBase::Project, written.strip_prefix("./").unwrap_or(written)),
        };
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() || text.split('/').any(|part| part == "..") {
            return Err(
                if text.is_empty() { "it is empty" } else { "`..` leads out of the folder where it begins" }.to_owned()
            );
        }
        let whole = PathMatcher::compile(text)?;
        let folder = text.strip_suffix("/**").and_then(|folder| PathMatcher::compile(folder).ok());
        // Braces may contain slashes, so the glob is not split.
        let parts = match text.contains('{') {
            true => vec![None],
            false => {
                text.split('/').map(|part| if part == "**" { None } else { PathMatcher::compile(part).ok() }).collect()
            }
        };
        Ok(PathGlob {
            is_exception,
            text: written.to_owned(),
            base: from,
            full_matcher: whole,
            dir_matcher: folder,
            segment_matchers: parts,
        })
    }

    /// The path relative to the glob's base; `None` if it lies elsewhere.
    fn relative<'t>(&self, touched: &'t Touched, place: &CallPlace<'_>) -> Option<&'t Path> {
        touched.path.strip_prefix(self.base_dir(place)?).ok()
    }

    fn base_dir<'p>(&self, place: &CallPlace<'p>) -> Option<&'p Path> {
        match self.base {
            GlobBase::Project => Some(place.project),
            GlobBase::Home => place.home,
            GlobBase::Root => Some(Path::new("/")),
        }
    }

    /// Whether the glob matches the path or one of the folders that contain it.
    fn covers(&self, touched: &Touched, place: &CallPlace<'_>) -> bool {
        let Some(path) = self.relative(touched, place) else { return false };
        path.ancestors().any(|path| self.full_matcher.is_match(path))
    }

    /// Whether the glob is no exception and matches the path, or something in it if it is touched as a whole.
    fn wants(&self, touched: &Touched, place: &CallPlace<'_>) -> bool {
        let is_whole = touched.deep && !touched.names_only;
        let matches = || self.covers(touched, place) || (is_whole && self.may_match_inside(touched, place));
        !self.is_exception && matches()
    }

    /// Whether the glob is an exception that the whole path falls under.
    fn excepts(&self, touched: &Touched, place: &CallPlace<'_>) -> bool {
        let folder = || Some(self.dir_matcher.as_ref()?.is_match(self.relative(touched, place)?));
        self.is_exception && (self.covers(touched, place) || folder() == Some(true))
    }

    /// Whether the glob may match something inside the path.
    fn may_match_inside(&self, touched: &Touched, place: &CallPlace<'_>) -> bool {
        if let Some(path) = self.relative(touched, place) {
            let mut parts = self.segment_matchers.iter();
            return path.components().all(|name| match parts.clone().next() {
                Some(None) => true,
                Some(Some(glob)) => {
                    parts.next();
                    glob.is_match(Path::new(name.as_os_str()))
                }
                None => false,
            }) && parts.next().is_some();
        }
        self.base_dir(place).is_some_and(|beginning| beginning.starts_with(&touched.path))
    }
}

/// Whether globs match a path that is touched. A list of exceptions alone matches everything else.
fn globs_match(globs: &[PathGlob], touched: &Touched, place: &CallPlace<'_>) -> bool {
    let is_wanted = globs.iter().all(|glob| glob.is_exception) || globs.iter().any(|glob| glob.wants(touched, place));
    !globs.is_empty() && is_wanted && !globs.iter().any(|glob| glob.excepts(touched, place))
}

/// A text with `*` in it, or an exception if written as `!text`. Letter case does not count.
pub(crate) struct StarPattern {
    is_exception: bool,
    text: String,
}

impl StarPattern {
    pub(crate) fn new(text: &str) -> StarPattern {
        let (is_exception, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        StarPattern { is_exception, text: text.trim().to_ascii_lowercase() }
    }

    fn matches(&self, text: &str) -> bool {
        matches_star(&self.text, &text.to_ascii_lowercase())
    }
}

/// Whether patterns match a thing that goes by one or more texts.
fn texts_match(patterns: &[StarPattern], texts: &[&str]) -> bool {
    let means = |pattern: &StarPattern| texts.iter().any(|text| pattern.matches(text));
    let mut wanted = patterns.iter().filter(|pattern| !pattern.is_exception).peekable();
    let is_wanted = wanted.peek().is_none() || wanted.any(means);
    !patterns.is_empty() && is_wanted && !patterns.iter().filter(|pattern| pattern.is_exception).any(means)
}

/// Whether patterns match a change of a repository, by its kind alone (`discard`) or with what it is about. A change of
/// several things (`discard: branch a b`) falls under an exception only if each of them does.
fn repository_matches(patterns: &[StarPattern], effect: &RepositoryEffect) -> bool {
    let kind = effect.change.name();
    let mut words = effect.what.split_whitespace();
    let sort = words.next().unwrap_or_default();
    let mut texts: Vec<String> = words.map(|word| format!("{kind}: {sort} {word}")).collect();
    if texts.is_empty() {
        texts.push(effect.shown());
    }
    texts.iter().any(|text| texts_match(patterns, &[kind, text]))
}

/// Where data comes from and where it goes: `{ "from": ["~/.ssh/**", "env"], "to": "network" }`.
pub(crate) struct FlowPattern {
    /// Files that the data comes from; other sources are told by name.
    pub(crate) files: Vec<PathGlob>,
    pub(crate) names: Vec<StarPattern>,
    /// Empty: anywhere.
    pub(crate) to: Vec<StarPattern>,
}

impl FlowPattern {
    /// Whether a source goes by its name, rather than by a path: `env`, `env:TOKEN`, `clipboard`, `network:*`.
    pub(crate) fn is_source_name(text: &str) -> bool {
        let text = text.trim_start_matches('!');
        matches!(text, "env" | "clipboard" | "network" | "*")
            || text.starts_with("env:")
            || text.starts_with("network:")
    }

    /// Whether a flow is meant. What is read as a whole tree may hold everything that a glob in it matches.
    fn matches(&self, flow: &Flow, reads: &[Touched], place: &CallPlace<'_>) -> bool {
        let to = [flow.to.as_str(), flow_kind(&flow.to)];
        self.matches_source(flow, reads, place) && (self.to.is_empty() || texts_match(&self.to, &to))
    }

    fn matches_source(&self, flow: &Flow, reads: &[Touched], place: &CallPlace<'_>) -> bool {
        let is_wanted_at_all =
            self.files.iter().any(|glob| !glob.is_exception) || self.names.iter().any(|name| !name.is_exception);
        let Some(path) = &flow.path else {
            let from = [flow.from.as_str(), flow_kind(&flow.from)];
            let means = |name: &&StarPattern| from.iter().any(|text| name.matches(text));
            let (exceptions, wanted): (Vec<_>, Vec<_>) = self.names.iter().partition(|name| name.is_exception);
            return (!is_wanted_at_all || wanted.iter().any(means)) && !exceptions.iter().any(means);
        };
        let deep = reads.iter().any(|one| one.deep && one.path == *path);
        let touched = Touched { shown: flow.from.clone(), path: path.clone(), deep, names_only: false };
        let means_all = |is_exception| self.names.iter().any(|one| one.is_exception == is_exception && one.text == "*");
        let is_wanted =
            !is_wanted_at_all || means_all(false) || self.files.iter().any(|glob| glob.wants(&touched, place));
        is_wanted && !means_all(true) && !self.files.iter().any(|glob| glob.excepts(&touched, place))
    }
}

/// `network` of `network:HOST`.
fn flow_kind(text: &str) -> &str {
    text.split(':').next().unwrap_or(text)
}

/// The first words of a command, with `*` in them, or an exception if it starts with `!`. Words that start with a sign
/// (`-f`, `--force`, `+*`) may stand anywhere after the others.
pub(crate) struct CommandPattern {
    is_exception: bool,
    leading_words: Vec<String>,
    flags: Vec<String>,
}

impl CommandPattern {
    pub(crate) fn new(text: &str) -> CommandPattern {
        let (is_exception, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let is_sign = |word: &String| word.len() > 1 && word.starts_with(['-', '+', ':']);
        let (anywhere, mut leading): (Vec<_>, Vec<_>) = words.into_iter().partition(is_sign);
        // More words may always follow.
        leading.pop_if(|word| word == "*");
        CommandPattern { is_exception, leading_words: leading, flags: anywhere }
    }

    fn match_words(&self, words: &[Option<String>]) -> Fit {
        let leading: Vec<&str> = self.leading_words.iter().map(String::as_str).collect();
        let begins = begins(words, &leading, &matches_star);
        let rest = words.get(1..).unwrap_or_default();
        self.flags.iter().map(|sign| match_flag(sign, rest)).fold(begins, |sum, next| match (sum, next) {
            (Fit::No, _) | (_, Fit::No) => Fit::No,
            (Fit::Yes, Fit::Yes) => Fit::Yes,
            _ => Fit::Maybe,
        })
    }
}

fn match_command(patterns: &[CommandPattern], command: &Command) -> Fit {
    let best = |is_exception: bool| {
        let fits =
            patterns.iter().filter(|one| one.is_exception == is_exception).map(|one| one.match_words(&command.words));
        fits.fold(None, |best, next| match (best, next) {
            (Some(Fit::Yes), _) | (_, Fit::Yes) => Some(Fit::Yes),
            (Some(Fit::Maybe), _) | (_, Fit::Maybe) => Some(Fit::Maybe),
            _ => Some(Fit::No),
        })
    };
    match (best(false), best(true)) {
        // A certain exception excludes the command; an uncertain one does not.
        (_, Some(Fit::Yes)) | (None, None) => Fit::No,
        (None, _) => Fit::Yes,
        (Some(fit), _) => fit,
    }
}

/// Whether an option or another word with a sign is among the words: `-rf` in `-f -r`, `--force` in `--forc`.
fn match_flag(sign: &str, words: &[Option<String>]) -> Fit {
    let letters = sign.strip_prefix('-').filter(|letters| !letters.starts_with('-') && !letters.contains('*'));
    let cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let found = match letters {
        Some(letters) => letters.chars().all(|letter| {
            words.iter().flatten().any(|word| word == sign || (cluster(word) && word[1..].contains(letter)))
        }),
        None => words.iter().flatten().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            let shortened = name.len() > 3 && name.starts_with("--") && sign.trim_end_matches('*').starts_with(name);
            shortened || matches_star(sign, word) || matches_star(sign, name)
        }),
    };
    match found {
        true => Fit::Yes,
        false if words.contains(&None) => Fit::Maybe,
        false => Fit::No,
    }
}

#[cfg(test)]
mod tests;
