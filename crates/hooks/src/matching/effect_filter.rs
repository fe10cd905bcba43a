//! `when`: a filter on what a call does, compiled as the settings are read. No process is started to answer it.
//!
//! **Any** of its lists that matches makes the hook run, not all of them together: whoever adds a line to a guard wants it to
//! run more often, and a hook that runs once too often costs less than one that does not run. For a guard, a list that may
//! not be complete counts as matching, and so does a `when` that is not understood, for everybody.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use crate::effects::{Aspect, Command, Effects, Place, Touched};
use crate::shell::{self, Field, Fit};

/// A compiled `when`. Cheap to clone.
#[derive(Clone)]
pub struct EffectFilter(Arc<EffectFilterSpec>);

/// What it is made of.
#[derive(Default)]
pub(crate) struct EffectFilterSpec {
    /// As it is written, for people and for trust.
    pub(crate) text: String,
    pub(crate) reads: Option<Vec<PathGlob>>,
    pub(crate) writes: Option<Vec<PathGlob>>,
    pub(crate) deletes: Option<Vec<PathGlob>>,
    pub(crate) network: Option<Vec<HostPattern>>,
    pub(crate) commands: Option<Vec<CommandPattern>>,
    /// `"certain": false`.
    pub(crate) uncertain: bool,
    /// Whether it counts as matching everything, because it is not understood.
    pub(crate) matches_all: bool,
}

/// Why a hook with a `when` runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchReason {
    /// Of what the call does.
    Effect {
        /// Which kind of thing.
        aspect: Aspect,
        /// What it is.
        what: String,
    },
    /// Of what the call may do, for all that anybody knows.
    Uncertain {
        /// Why the call was not looked at to its end, if it was not.
        reason: Option<&'static str>,
    },
    /// It would run in any case.
    Always,
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

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether it asks for calls of which not everything can be told.
    pub(crate) fn matches_uncertain(&self) -> bool {
        self.0.uncertain
    }

    /// Why the hook runs on a call with these effects, if it does; a guard's reading is the stricter one.
    pub(crate) fn match_effects(&self, effects: &Effects, place: &Place<'_>, is_guard: bool) -> Option<MatchReason> {
        let EffectFilterSpec { reads, writes, deletes, network, commands, uncertain, matches_all: always, text: _ } =
            &*self.0;
        if *always {
            return Some(MatchReason::Always);
        }
        let files = [
            (Aspect::Writes, writes, &effects.writes),
            (Aspect::Deletes, deletes, &effects.deletes),
            (Aspect::Reads, reads, &effects.reads),
        ];
        for (aspect, globs, touched) in files {
            let found = globs.as_ref().and_then(|globs| touched.iter().find(|one| globs_match(globs, one, place)));
            if let Some(found) = found {
                return Some(MatchReason::Effect { aspect, what: found.shown.clone() });
            }
        }
        let mut may = false;
        for command in commands.iter().flat_map(|patterns| effects.commands.iter().map(move |one| (patterns, one))) {
            match match_command(command.0, command.1) {
                Fit::Yes => {
                    return Some(MatchReason::Effect { aspect: Aspect::Commands, what: command.1.shown.join(" ") });
                }
                Fit::Maybe => may = true,
                Fit::No => {}
            }
        }
        let peer = network.as_ref().and_then(|names| effects.network.iter().find(|peer| hosts_match(names, peer)));
        if let Some(peer) = peer {
            return Some(MatchReason::Effect { aspect: Aspect::Network, what: peer.clone() });
        }
        let unsure = MatchReason::Uncertain { reason: effects.reason() };
        if *uncertain && !effects.is_certain() {
            return Some(unsure);
        }
        let asked = [
            (Aspect::Reads, reads.is_some()),
            (Aspect::Writes, writes.is_some()),
            (Aspect::Deletes, deletes.is_some()),
            (Aspect::Network, network.is_some()),
            (Aspect::Commands, commands.is_some()),
        ];
        may |= asked.iter().any(|(aspect, is_asked)| *is_asked && effects.may_hold_more(*aspect));
        (is_guard && may).then_some(unsure)
    }
}

/// One glob on paths, or, spelt `!glob`, an exception.
pub(crate) struct PathGlob {
    is_exception: bool,
    base: GlobBase,
    full_matcher: GlobMatcher,
    /// Of `folder/**`: the folder.
    dir_matcher: Option<GlobMatcher>,
    /// Name by name; nothing for `**`, and for whatever can't be taken apart.
    segment_matchers: Vec<Option<GlobMatcher>>,
}

/// Where a glob's paths begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GlobBase {
    Project,
    Home,
    Root,
}

impl PathGlob {
    /// Compiles one: from the project on, from `~/` on, or a whole path.
    ///
    /// # Errors
    /// If it is none, with the reason.
    pub(crate) fn new(text: &str) -> Result<PathGlob, String> {
        let (is_exception, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        let (from, text) = match text.strip_prefix("~/") {
            Some(rest) => (GlobBase::Home, rest),
            None if text.starts_with('/') => (GlobBase::Root, text.trim_start_matches('/')),
            None => (GlobBase::Project, text.strip_prefix("./").unwrap_or(text)),
        };
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() || text.split('/').any(|part| part == "..") {
            return Err(if text.is_empty() { "it is empty" } else { "`..` leads out of where it begins" }.to_owned());
        }
        let whole = compile_glob(text)?;
        let folder = text.strip_suffix("/**").and_then(|folder| compile_glob(folder).ok());
        // Braces may hold slashes; what they hold is not taken apart.
        let parts = match text.contains('{') {
            true => vec![None],
            false => text.split('/').map(|part| compile_glob(part).ok().filter(|_| part != "**")).collect(),
        };
        Ok(PathGlob { is_exception, base: from, full_matcher: whole, dir_matcher: folder, segment_matchers: parts })
    }

    /// The path as this glob counts it; nothing if it is elsewhere.
    fn relative<'t>(&self, touched: &'t Touched, place: &Place<'_>) -> Option<&'t Path> {
        touched.path.strip_prefix(self.base_dir(place)?).ok()
    }

    fn base_dir<'p>(&self, place: &Place<'p>) -> Option<&'p Path> {
        match self.base {
            GlobBase::Project => Some(place.project),
            GlobBase::Home => place.home,
            GlobBase::Root => Some(Path::new("/")),
        }
    }

    /// Whether it means the path, or a folder that it is in.
    fn covers(&self, touched: &Touched, place: &Place<'_>) -> bool {
        let Some(path) = self.relative(touched, place) else { return false };
        path.ancestors().any(|path| self.full_matcher.is_match(path))
    }

    /// Whether it may mean something in the path.
    fn may_match_inside(&self, touched: &Touched, place: &Place<'_>) -> bool {
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

fn compile_glob(text: &str) -> Result<GlobMatcher, String> {
    let folded = cfg!(any(target_os = "macos", windows));
    let glob = GlobBuilder::new(text).literal_separator(true).case_insensitive(folded).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

/// Whether some globs mean what is touched. A list of exceptions alone means everything else.
fn globs_match(globs: &[PathGlob], touched: &Touched, place: &Place<'_>) -> bool {
    let mut wanted = globs.iter().filter(|glob| !glob.is_exception).peekable();
    let is_wanted = wanted.peek().is_none()
        || wanted.any(|glob| glob.covers(touched, place) || (touched.deep && glob.may_match_inside(touched, place)));
    let is_excepted = |glob: &PathGlob| {
        let folder = || Some(glob.dir_matcher.as_ref()?.is_match(glob.relative(touched, place)?));
        glob.is_exception && (glob.covers(touched, place) || folder() == Some(true))
    };
    !globs.is_empty() && is_wanted && !globs.iter().any(is_excepted)
}

/// A name with `*` in it, or, spelt `!name`, an exception.
pub(crate) struct HostPattern {
    is_exception: bool,
    text: String,
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> HostPattern {
        let (is_exception, text) = text.strip_prefix('!').map_or((false, text), |text| (true, text));
        HostPattern { is_exception, text: text.trim().to_ascii_lowercase() }
    }
}

fn hosts_match(names: &[HostPattern], peer: &str) -> bool {
    let means = |name: &&HostPattern| matches_star_pattern(&name.text, &peer.to_ascii_lowercase());
    let mut wanted = names.iter().filter(|name| !name.is_exception).peekable();
    let is_wanted = wanted.peek().is_none() || wanted.any(|name| means(&name));
    !names.is_empty() && is_wanted && !names.iter().filter(|name| name.is_exception).any(|name| means(&name))
}

/// The beginning of a command, with `*` in its words, or, behind a `!`, an exception. Words that begin with a sign
/// (`-f`, `--force`, `+*`) may stand anywhere behind the others.
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

    fn match_words(&self, words: &[Field]) -> Fit {
        let leading: Vec<&str> = self.leading_words.iter().map(String::as_str).collect();
        let begins = shell::begins(words, &leading, &matches_star_pattern);
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
        // What is surely an exception is none of this; what may be one may be none.
        (_, Some(Fit::Yes)) | (None, None) => Fit::No,
        (None, _) => Fit::Yes,
        (Some(fit), _) => fit,
    }
}

/// Whether an option, or another word with a sign, is among the words: `-rf` in `-f -r`, `--force` in `--forc`.
fn match_flag(sign: &str, words: &[Field]) -> Fit {
    let letters = sign.strip_prefix('-').filter(|letters| !letters.starts_with('-') && !letters.contains('*'));
    let cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let found = match letters {
        Some(letters) => letters.chars().all(|letter| {
            words.iter().flatten().any(|word| word == sign || (cluster(word) && word[1..].contains(letter)))
        }),
        None => words.iter().flatten().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            let shortened = name.len() > 3 && name.starts_with("--") && sign.trim_end_matches('*').starts_with(name);
            shortened || matches_star_pattern(sign, word) || matches_star_pattern(sign, name)
        }),
    };
    match found {
        true => Fit::Yes,
        false if words.contains(&None) => Fit::Maybe,
        false => Fit::No,
    }
}

/// Whether a text is what a pattern with `*` says.
fn matches_star_pattern(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests;
