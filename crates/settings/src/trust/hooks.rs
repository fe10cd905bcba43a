//! Hook trust: which hooks of a project or an extension are new or have changed since the user saw them, and how.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use hookwright_hooks::{Diagnostic, Hook, Registry, Source};
use similar::{Algorithm, ChangeTag};

use super::fingerprint::{Fingerprint, Script, Taker};
pub(crate) use super::record::Scope;
use super::record::{self, Entry, Record, Seen, SeenScript};
use crate::edit::EditError;
use crate::paths::Paths;
use crate::settings::HookReview;
use crate::world::World;

/// What is to be said about a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The user has not seen it.
    New,
    /// It is not what the user saw.
    Changed {
        /// What is different, in words.
        what: Vec<String>,
    },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Finding::New => f.write_str("new"),
            Finding::Changed { what } => write!(f, "changed: {}", what.join("; ")),
        }
    }
}

/// A hook that the user has not seen as it is now.
#[derive(Clone, Debug)]
pub struct Review {
    /// The hook.
    pub hook: Arc<Hook>,
    /// What is to be said about it.
    pub finding: Finding,
    /// Whether it waits for the user's trust.
    pub held: bool,
    /// Whether all files that it runs are known; if not, all that are likely to count.
    pub certain: bool,
    scope: Scope,
    fingerprint: Fingerprint,
    /// The command that it had when the user saw it.
    replaces: Option<String>,
}

/// Looks at hooks, layer by layer. The record is read at the first hook that needs it.
pub(crate) struct Reviewer<'a> {
    paths: &'a Paths,
    project: &'a Path,
    world: &'a World,
    record: Option<Record>,
    reviews: Vec<Review>,
}

impl<'a> Reviewer<'a> {
    pub(crate) fn new(paths: &'a Paths, project: &'a Path, world: &'a World) -> Self {
        Reviewer { paths, project, world, record: None, reviews: Vec::new() }
    }

    /// Looks at the hooks of one project or extension.
    pub(crate) fn look_at(
        &mut self,
        scope: &Scope,
        root: &Path,
        hooks: &[Hook],
        review: HookReview,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if hooks.is_empty() {
            return;
        }
        let record = self.record.get_or_insert_with(|| Record::read(&self.paths.trusted_hooks, diagnostics));
        let seen = record.seen(scope);
        let held = match scope {
            Scope::Project(_) => review != HookReview::Announce,
            // Installing an extension was the user's consent to the hooks it had then; what came later was not.
            Scope::Extension(_) => seen.is_some(),
        };
        let known = Known::new(seen.unwrap_or_default(), hooks);
        let taker = Taker::new(root, self.project, self.world);
        let mut looked_at = HashSet::new();
        for hook in hooks {
            let Some(fingerprint) = taker.take(hook) else { continue };
            let digest = fingerprint.digest();
            if !looked_at.insert(digest.clone()) || known.is_unchanged(&digest) {
                continue;
            }
            let old = known.before(&fingerprint);
            let finding = old.map_or(Finding::New, |old| Finding::Changed { what: differences(old, &fingerprint) });
            let replaces = old.map(|old| old.command.clone());
            self.reviews.push(Review {
                hook: Arc::new(hook.clone()),
                finding,
                held,
                certain: fingerprint.certain,
                scope: scope.clone(),
                fingerprint,
                replaces,
            });
        }
    }

    pub(crate) fn finish(self) -> Vec<Review> {
        self.reviews
    }
}

/// What the user has seen, ready for look-up.
struct Known<'s> {
    seen: &'s [Seen],
    digests: HashSet<&'s str>,
    declared: HashSet<&'s str>,
}

impl<'s> Known<'s> {
    fn new(seen: &'s [Seen], hooks: &'s [Hook]) -> Self {
        let digests = seen.iter().map(|seen| seen.fingerprint.as_str()).collect();
        Known { seen, digests, declared: hooks.iter().filter_map(Hook::command).collect() }
    }

    fn is_unchanged(&self, digest: &str) -> bool {
        self.digests.contains(digest)
    }

    /// What this hook was: the same name and command, else the same name with a command that no hook has any more.
    fn before(&self, hook: &Fingerprint) -> Option<&'s Seen> {
        let same_name = || self.seen.iter().filter(|seen| seen.name == hook.name);
        let renamed = || same_name().find(|seen| seen.name.is_some() && !self.declared.contains(seen.command.as_str()));
        same_name().find(|seen| seen.command == hook.command).or_else(renamed)
    }
}

/// What is different, in words.
fn differences(old: &Seen, new: &Fingerprint) -> Vec<String> {
    let mut what = Vec::new();
    if old.command != new.command {
        what.push(format!("its command was `{}`", old.command));
    }
    if old.env != new.env {
        what.push("its environment variables".to_owned());
    }
    for (path, script) in &new.scripts {
        match old.scripts.get(path) {
            Some(before) if before.sha256 == script.sha256 => {}
            Some(before) => what.push(format!("{path} changed{}", line_counts(before, script))),
            None if old.command == new.command => what.push(format!("{path} is new")),
            None => {}
        }
    }
    for path in old.scripts.keys().filter(|path| !new.scripts.contains_key(*path)) {
        if old.command == new.command {
            what.push(format!("{path} is gone"));
        }
    }
    what
}

/// ` (+3 -1 lines)`, where the old lines are known.
fn line_counts(old: &SeenScript, new: &Script) -> String {
    let before = old.lines();
    if before.is_empty() || new.lines.is_empty() {
        return String::new();
    }
    let operations = similar::capture_diff_slices(Algorithm::Myers, &before, &new.lines);
    let changes = operations.iter().flat_map(|operation| operation.iter_changes(&before, &new.lines));
    let (mut added, mut removed) = (0, 0);
    for change in changes {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    format!(" (+{added} -{removed} lines)")
}

/// Records these hooks as seen and trusted. What was reviewed is what is trusted, even if a script changes meanwhile.
///
/// # Errors
/// If the record does not parse, or cannot be read or written; it is as it was then.
pub fn trust_hooks<'r>(paths: &Paths, reviews: impl IntoIterator<Item = &'r Review>) -> Result<(), EditError> {
    let entries: Vec<_> = reviews
        .into_iter()
        .map(|review| Entry {
            scope: &review.scope,
            fingerprint: &review.fingerprint,
            replaces: review.replaces.as_deref(),
        })
        .collect();
    if entries.is_empty() { Ok(()) } else { record::add(&paths.trusted_hooks, &entries) }
}

/// Holds back the hooks that wait for trust, and lets go of all others.
pub fn hold(registry: &mut Registry, reviews: &[Review]) {
    type Key<'k> = (&'k Source, Option<&'k str>, &'k str);
    fn key(hook: &Hook) -> Option<Key<'_>> {
        Some((&hook.source, hook.name.as_deref(), hook.command()?))
    }
    let waiting: HashMap<Key<'_>, &Finding> = reviews
        .iter()
        .filter(|review| review.held)
        .filter_map(|review| Some((key(&review.hook)?, &review.finding)))
        .collect();
    registry.hold(|hook| {
        let finding = waiting.get(&key(hook)?)?;
        Some(format!("{finding}; not trusted yet"))
    });
}
