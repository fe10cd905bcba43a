//! `only`: the bounds within which a rule approves calls.
//!
//! `when` asks whether an effect *may* match, because running a guard once too often costs little. `only` asks the
//! opposite question: whether *every* effect is known and matches. Whatever is merely possible is out of bounds, so the
//! matching here is strict where that of `when` is generous: a folder that is touched as a whole is within bounds only
//! if no exception may match anything in it.

use std::fmt;
use std::sync::Arc;

use super::{CommandPattern, EffectFilterSpec, FlowPattern, PathGlob, StarPattern, WholeFolders, flow_kind};
use crate::effects::{CallPlace, Command, Effects, Flow, RepositoryEffect, Touched};
use hookwright_analysis::command_parts::Fit;

/// A compiled `only`. It is cheap to clone.
#[derive(Clone)]
pub struct EffectBounds(Arc<EffectFilterSpec>);

impl fmt::Debug for EffectBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl PartialEq for EffectBounds {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for EffectBounds {}

impl EffectBounds {
    pub(crate) fn new(lists: EffectFilterSpec) -> Self {
        EffectBounds(Arc::new(lists))
    }

    /// The text of the bounds as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the effects are certain and every one of them is listed. A list that is not named counts as empty;
    /// `commands` alone does not restrict unless it is named, because the other lists say what commands do.
    pub(crate) fn contain(&self, effects: &Effects, place: &CallPlace<'_>) -> bool {
        !self.0.matches_all && effects.is_certain() && self.contain_known(effects, place, WholeFolders::Known)
    }

    /// Whether a call is one of those that a rule confines in the user's place.
    ///
    /// The confinement keeps what is not known, and what may lie in a folder that is touched as a whole.
    pub(crate) fn contain_confined(&self, effects: &Effects, place: &CallPlace<'_>) -> bool {
        if self.0.matches_all || self.has_only_commands() {
            return self.contain_commands(effects);
        }
        let is_doubt_listed = self.0.uncertain || effects.is_certain();
        is_doubt_listed && self.contain_known(effects, place, WholeFolders::Doubtful)
    }

    fn contain_known(&self, effects: &Effects, place: &CallPlace<'_>, whole: WholeFolders) -> bool {
        let EffectFilterSpec { reads, writes, deletes, network, repository, services, processes, .. } = &*self.0;
        let EffectFilterSpec { privileged, flows, commands, .. } = &*self.0;
        // A folder may be listed by a glob of its contents, but not changed or removed itself.
        let paths = [
            (reads, &effects.reads, FolderItself::Included, whole),
            (writes, &effects.writes, FolderItself::Excluded, whole),
            (deletes, &effects.deletes, FolderItself::Excluded, WholeFolders::Known),
        ];
        let paths = paths.into_iter().all(|(globs, touched, folder, whole)| {
            touched.iter().all(|one| contains_path(globs.as_deref().unwrap_or_default(), one, place, (folder, whole)))
        });
        let texts = [(network, &effects.network), (services, &effects.services), (processes, &effects.processes)];
        let texts = texts.into_iter().all(|(patterns, list)| {
            list.iter().all(|one| contains_text(patterns.as_deref().unwrap_or_default(), &[one]))
        });
        let changes = repository.as_deref().unwrap_or_default();
        let flow_patterns = flows.as_deref().unwrap_or_default();
        paths
            && texts
            && effects.repository.iter().all(|one| contains_change(changes, one))
            && (*privileged || effects.privileged.is_empty())
            && effects
                .flows
                .iter()
                .all(|one| flow_patterns.iter().any(|pattern| contains_flow(pattern, one, &effects.reads, place)))
            && commands
                .as_ref()
                .is_none_or(|patterns| effects.commands.iter().all(|one| contains_command(patterns, one)))
    }

    /// Whether `commands` is the only list.
    fn has_only_commands(&self) -> bool {
        let EffectFilterSpec { reads, writes, deletes, network, repository, services, processes, .. } = &*self.0;
        let EffectFilterSpec { privileged, flows, commands, uncertain, .. } = &*self.0;
        let paths = [reads, writes, deletes].iter().all(|list| list.is_none());
        let texts = [network, repository, services, processes].iter().all(|list| list.is_none());
        paths && texts && flows.is_none() && !privileged && !uncertain && commands.is_some()
    }

    /// Whether every command that is known to run is listed. A confinement is what keeps the others.
    fn contain_commands(&self, effects: &Effects) -> bool {
        let listed = |one: &Command| self.0.commands.as_ref().is_some_and(|patterns| contains_command(patterns, one));
        !self.0.matches_all && !effects.commands.is_empty() && effects.commands.iter().all(listed)
    }
}

/// Whether `folder/**` contains the folder itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderItself {
    Included,
    Excluded,
}

fn contains_path(
    globs: &[PathGlob],
    touched: &Touched,
    place: &CallPlace<'_>,
    (folder, whole): (FolderItself, WholeFolders),
) -> bool {
    let is_listed = |glob: &PathGlob| {
        let itself = || Some(glob.dir_matcher.as_ref()?.is_match(glob.relative(touched, place)?));
        glob.covers(touched, place) || (folder == FolderItself::Included && itself() == Some(true))
    };
    globs.iter().any(|glob| !glob.is_exception && is_listed(glob)) && !may_be_excepted(globs, touched, place, whole)
}

/// Whether an exception matches the path, or may match something in it.
fn may_be_excepted(globs: &[PathGlob], touched: &Touched, place: &CallPlace<'_>, whole: WholeFolders) -> bool {
    let mut exceptions = globs.iter().filter(|glob| glob.is_exception);
    let reads_contents = whole == WholeFolders::Known && touched.deep && !touched.names_only;
    exceptions.any(|glob| glob.excepts(touched, place) || (reads_contents && glob.may_match_inside(touched, place)))
}

fn contains_text(patterns: &[StarPattern], texts: &[&str]) -> bool {
    let means = |pattern: &StarPattern| texts.iter().any(|text| pattern.matches(text));
    let (exceptions, listed): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| pattern.is_exception);
    listed.into_iter().any(means) && !exceptions.into_iter().any(means)
}

/// Whether each thing that a change of a repository is about is listed.
fn contains_change(patterns: &[StarPattern], effect: &RepositoryEffect) -> bool {
    let kind = effect.change.name();
    let whole = effect.shown();
    let mut words = effect.what.split_whitespace();
    let sort = words.next().unwrap_or_default();
    let mut each = words.map(|word| format!("{kind}: {sort} {word}")).peekable();
    if each.peek().is_none() {
        return contains_text(patterns, &[kind, &whole]);
    }
    each.all(|text| contains_text(patterns, &[kind, &text]))
}

fn contains_command(patterns: &[CommandPattern], command: &Command) -> bool {
    let best = |is_exception: bool, fits: &[Fit]| {
        let of = patterns.iter().filter(|one| one.is_exception == is_exception);
        of.map(|one| one.match_words(&command.words)).any(|fit| fits.contains(&fit))
    };
    best(false, &[Fit::Yes]) && !best(true, &[Fit::Yes, Fit::Maybe])
}

fn contains_flow(pattern: &FlowPattern, flow: &Flow, reads: &[Touched], place: &CallPlace<'_>) -> bool {
    let to = [flow.to.as_str(), flow_kind(&flow.to)];
    contains_source(pattern, flow, reads, place) && (pattern.to.is_empty() || contains_text(&pattern.to, &to))
}

fn contains_source(pattern: &FlowPattern, flow: &Flow, reads: &[Touched], place: &CallPlace<'_>) -> bool {
    if pattern.files.is_empty() && pattern.names.is_empty() {
        return true;
    }
    let Some(path) = &flow.path else {
        return contains_text(&pattern.names, &[flow.from.as_str(), flow_kind(&flow.from)]);
    };
    let deep = reads.iter().any(|one| one.deep && one.path == *path);
    let touched = Touched { shown: flow.from.clone(), path: path.clone(), deep, names_only: false };
    let means_all = |is_exception| pattern.names.iter().any(|one| one.is_exception == is_exception && one.text == "*");
    match means_all(false) {
        true => !means_all(true) && !may_be_excepted(&pattern.files, &touched, place, WholeFolders::Known),
        false => {
            !means_all(true)
                && contains_path(&pattern.files, &touched, place, (FolderItself::Included, WholeFolders::Known))
        }
    }
}

#[cfg(test)]
mod tests;
