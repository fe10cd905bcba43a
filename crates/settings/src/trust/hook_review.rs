//! Hook trust: which hooks of a project or an extension are new or have changed since the user saw them, and how.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use hookwright_hooks::{Diagnostic, FingerprintField as Field, Hook, Registry, Source};
use serde::Serialize;
use similar::{Algorithm, ChangeTag};

use super::fingerprint::{FINGERPRINT_VERSION, Fingerprint, Fingerprinter, ScriptDigest};
pub(crate) use super::hook_record::TrustScope;
use super::hook_record::{self, HookTrustRecord, SeenHook, SeenScript, TrustEntry};
use super::ledger;
use crate::edit::EditError;
use crate::paths::ConfigPaths;
use crate::process_env::ProcessEnv;
use crate::settings::HookReviewMode;

/// Result of the review of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFinding {
    /// The user has not seen the hook.
    New,
    /// The hook has changed since the user saw it.
    Changed {
        /// Descriptions of the differences.
        what: Vec<String>,
    },
    /// The hook belongs to another layer, and the project's settings disable it.
    SwitchOff,
}

impl std::fmt::Display for HookFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HookFinding::New => f.write_str("new"),
            HookFinding::Changed { what } => write!(f, "changed: {}", what.join("; ")),
            HookFinding::SwitchOff => f.write_str("switched off by this project's settings"),
        }
    }
}

/// A hook that the user has not seen in its present form.
#[derive(Clone, Debug)]
pub struct HookTrustReview {
    pub hook: Arc<Hook>,
    pub finding: HookFinding,
    /// Whether the hook, or the project's setting that disables it, waits for the user's trust.
    pub held: bool,
    /// Whether all files that it runs are known; if not, all likely files are included.
    pub certain: bool,
    scope: TrustScope,
    fingerprint: Fingerprint,
    /// Fingerprint of the hook when the user saw it.
    replaces: Option<String>,
}

/// Reviews hooks, layer by layer. The record is read at the first hook that needs it.
pub(crate) struct HookReviewer<'a> {
    paths: &'a ConfigPaths,
    project: &'a Path,
    process_env: &'a ProcessEnv,
    record: Option<HookTrustRecord>,
    reviews: Vec<HookTrustReview>,
}

impl<'a> HookReviewer<'a> {
    pub(crate) fn new(paths: &'a ConfigPaths, project: &'a Path, world: &'a ProcessEnv) -> Self {
        HookReviewer { paths, project, process_env: world, record: None, reviews: Vec::new() }
    }

    /// Reviews the hooks of one project or extension.
    pub(crate) fn review_hooks(
        &mut self,
        scope: &TrustScope,
        root: &Path,
        hooks: &[Hook],
        review: HookReviewMode,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if hooks.is_empty() {
            return;
        }
        let record = self.record.get_or_insert_with(|| HookTrustRecord::read(&self.paths.trusted_hooks, diagnostics));
        let seen = record.seen_hooks(scope);
        let held = match scope {
            _ if review != HookReviewMode::Announce => true,
            TrustScope::Project(_) => false,
            // The hooks of an extension that is seen for the first time are announced; hooks that are added later
            // always wait.
            TrustScope::Extension(_) => seen.is_some(),
        };
        let fingerprinter = Fingerprinter::new(root, self.project, self.process_env);
        let taken = hooks.iter().filter_map(|hook| {
            let fingerprint = fingerprinter.fingerprint(hook)?;
            Some((hook, fingerprint.digest(), fingerprint))
        });
        let taken: Vec<_> = taken.collect();
        let mut known =
            SeenHookIndex::new(seen.unwrap_or_default(), taken.iter().map(|(_, digest, _)| digest.as_str()));
        for (hook, digest, fingerprint) in &taken {
            if !known.is_new(digest) {
                continue;
            }
            let old = known.previous_version(fingerprint);
            let finding = old
                .map_or(HookFinding::New, |old| HookFinding::Changed { what: describe_differences(old, fingerprint) });
            self.reviews.push(HookTrustReview {
                hook: Arc::new((*hook).clone()),
                finding,
                held,
                certain: fingerprint.certain,
                scope: scope.clone(),
                fingerprint: fingerprint.clone(),
                replaces: old.map(|old| old.fingerprint.clone()),
            });
        }
    }

    /// Reads the record, so that its problems can be reported.
    pub(crate) fn read_record(&mut self, diagnostics: &mut Vec<Diagnostic>) {
        self.record.get_or_insert_with(|| HookTrustRecord::read(&self.paths.trusted_hooks, diagnostics));
    }

    /// Finds the hooks of other layers that the project disables without the user's trust.
    pub(crate) fn review_switch_offs(&mut self, scope: &TrustScope, registry: &Registry) {
        let trusted = self.record.as_ref().and_then(|record| record.seen_hooks(scope)).unwrap_or_default();
        let trusted: HashSet<&str> = trusted.iter().map(|seen| seen.fingerprint.as_str()).collect();
        let mut seen = HashSet::new();
        for (hook, _) in registry.switched_off_by_project() {
            let fingerprint = Fingerprint::of_switch_off(hook);
            let digest = fingerprint.digest();
            if trusted.contains(digest.as_str()) || !seen.insert(digest) {
                continue;
            }
            self.reviews.push(HookTrustReview {
                hook: hook.clone(),
                finding: HookFinding::SwitchOff,
                held: true,
                certain: true,
                scope: scope.clone(),
                fingerprint,
                replaces: None,
            });
        }
    }

    pub(crate) fn into_reviews(self) -> Vec<HookTrustReview> {
        self.reviews
    }
}

/// The seen hooks, indexed for lookup.
struct SeenHookIndex<'s> {
    digests: HashSet<&'s str>,
    checked: HashSet<String>,
    /// Seen hooks that no longer exist; each can be the previous version of at most one hook.
    removed: Vec<&'s SeenHook>,
    by_name: HashMap<&'s str, Vec<usize>>,
    by_command: HashMap<&'s str, Vec<usize>>,
    matched: HashSet<usize>,
}

impl<'s> SeenHookIndex<'s> {
    fn new<'d>(seen: &'s [SeenHook], now: impl Iterator<Item = &'d str>) -> Self {
        let now: HashSet<&str> = now.collect();
        let is_form = |seen: &&SeenHook| seen.form == FINGERPRINT_VERSION;
        let gone: Vec<_> =
            seen.iter().filter(|seen| !seen.is_switch_off() && !now.contains(seen.fingerprint.as_str())).collect();
        let (mut by_name, mut by_command) = (HashMap::<_, Vec<_>>::new(), HashMap::<_, Vec<_>>::new());
        for (at, seen) in gone.iter().enumerate() {
            seen.name.iter().for_each(|name| by_name.entry(name.as_str()).or_default().push(at));
            by_command.entry(seen.command.as_str()).or_default().push(at);
        }
        let digests = seen.iter().filter(is_form).map(|seen| seen.fingerprint.as_str()).collect();
        SeenHookIndex { digests, checked: HashSet::new(), removed: gone, by_name, by_command, matched: HashSet::new() }
    }

    /// Whether the user has not seen this digest, and it was not checked before.
    fn is_new(&mut self, digest: &str) -> bool {
        !self.digests.contains(digest) && self.checked.insert(digest.to_owned())
    }

    /// Returns the previous version of a hook: the most similar one of those with its name or command.
    fn previous_version(&mut self, hook: &Fingerprint) -> Option<&'s SeenHook> {
        let likeness = |seen: &SeenHook| {
            let same = |key: &str| seen.declared(key) == hook.declared.get(key).map(String::as_str);
            let name = seen.name.as_deref() == hook.name();
            (name, seen.command == hook.command(), same("event"), same("matcher"))
        };
        let named = hook.name().and_then(|name| self.by_name.get(name));
        let alike = named.into_iter().chain(self.by_command.get(hook.command())).flatten().copied();
        let free = alike.filter(|at| !self.matched.contains(at));
        // Of equally similar ones, the first seen.
        let at = free.max_by_key(|at| (likeness(self.removed[*at]), std::cmp::Reverse(*at)))?;
        self.matched.insert(at);
        Some(self.removed[at])
    }
}

/// Describes the differences between a seen hook and its present form.
fn describe_differences(old: &SeenHook, new: &Fingerprint) -> Vec<String> {
    let mut what = Vec::new();
    let comparable = old.form == FINGERPRINT_VERSION;
    if comparable {
        describe_declaration_differences(old, new, &mut what);
    } else {
        what.push("it was trusted with an older version, which checked less of it".to_owned());
        if old.command != new.command() {
            what.push(format!("its `command` was `{}`", old.command));
        }
    }
    let same_command = old.command == new.command();
    for (path, script) in &new.scripts {
        match old.scripts.get(path) {
            Some(before) if before.sha256 == script.sha256 => {}
            Some(before) => what.push(format!("{path} changed{}", line_counts(before, script))),
            None if same_command && comparable => what.push(format!("{path} is a new file")),
            None => {}
        }
    }
    for path in old.scripts.keys().filter(|path| !new.scripts.contains_key(*path)) {
        if same_command {
            what.push(format!("{path} is gone"));
        }
    }
    if comparable && old.certain != new.certain {
        let word = if new.certain { "now known" } else { "no longer known" };
        what.push(format!("the files that it runs are {word}"));
    }
    if what.len() > MAX_LISTED_DIFFERENCES {
        let more = what.len() - MAX_LISTED_DIFFERENCES;
        what.truncate(MAX_LISTED_DIFFERENCES);
        what.push(format!("and {more} more"));
    }
    what
}

fn describe_declaration_differences(old: &SeenHook, new: &Fingerprint, what: &mut Vec<String>) {
    let keys: BTreeSet<&str> = old.declared_keys().chain(new.declared.keys().map(String::as_str)).collect();
    for key in keys.into_iter().filter(|key| old.declared(key) != new.declared.get(*key).map(String::as_str)) {
        what.push(match old.declared(key) {
            Some(before) => format!("its `{key}` was `{before}`"),
            None => format!("it had no `{key}`"),
        });
    }
    let names: BTreeSet<_> = old.variables.keys().chain(new.variables.keys()).collect();
    for name in names.into_iter().filter(|name| old.variables.get(*name) != new.variables.get(*name)) {
        let word = match (old.variables.contains_key(name), new.variables.contains_key(name)) {
            (true, true) => "changed",
            (true, false) => "is gone",
            (false, _) => "is new",
        };
        let kind = if name.starts_with("header ") { "" } else { "variable " };
        what.push(format!("its {kind}{name} {word}"));
    }
}

/// Most differences that are listed; more are only counted.
const MAX_LISTED_DIFFERENCES: usize = 12;

/// Formats the number of changed lines, ` (+3 -1 lines)`, if the old lines are known.
fn line_counts(old: &SeenScript, new: &ScriptDigest) -> String {
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

/// Records these hooks as seen and trusted, as they were when they were reviewed, even if a script has changed
/// meanwhile.
///
/// # Errors
/// If the record does not parse, or cannot be read or written; it is unchanged then.
pub fn trust_hooks<'r>(
    paths: &ConfigPaths,
    reviews: impl IntoIterator<Item = &'r HookTrustReview>,
) -> Result<(), EditError> {
    record_as_seen(paths, reviews, |review| review.replaces.as_deref())
}

/// Like [`trust_hooks`], but the previous versions stay trusted: they are the same hooks with other setting values,
/// which may be in use in another project.
///
/// # Errors
/// Like [`trust_hooks`].
pub fn trust_hooks_keeping_previous<'r>(
    paths: &ConfigPaths,
    reviews: impl IntoIterator<Item = &'r HookTrustReview>,
) -> Result<(), EditError> {
    record_as_seen(paths, reviews, |_| None)
}

/// Records that the user disables these hooks in the project's settings, so that no further trust is needed.
pub(crate) fn trust_switch_offs(paths: &ConfigPaths, project: &Path, hooks: &[&Hook]) -> Result<(), EditError> {
    let scope = TrustScope::from_project_path(&std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()));
    let fingerprints: Vec<_> = hooks.iter().map(|hook| Fingerprint::of_switch_off(hook)).collect();
    let entry = |fingerprint| TrustEntry { scope: &scope, fingerprint, replaces: None };
    let entries: Vec<_> = fingerprints.iter().map(entry).collect();
    ledger::change_trust_record(paths, &paths.trusted_hooks, || {
        hook_record::add_entries(&paths.trusted_hooks, &entries)
    })
}

fn record_as_seen<'r>(
    paths: &ConfigPaths,
    reviews: impl IntoIterator<Item = &'r HookTrustReview>,
    replaces: impl Fn(&'r HookTrustReview) -> Option<&'r str>,
) -> Result<(), EditError> {
    let entry = |review: &'r HookTrustReview| TrustEntry {
        scope: &review.scope,
        fingerprint: &review.fingerprint,
        replaces: replaces(review),
    };
    let entries: Vec<_> = reviews.into_iter().map(entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    ledger::change_trust_record(paths, &paths.trusted_hooks, || {
        hook_record::add_entries(&paths.trusted_hooks, &entries)
    })
}

/// Holds back the hooks and the disabling settings that wait for trust, and releases all others.
pub fn hold_untrusted(registry: &mut Registry, reviews: &[HookTrustReview]) {
    // Variables may have been filled in since the review; hooks that differ in nothing else are held together.
    type HeldHookKey<'k> = (&'k Source, Vec<Field>);
    fn hook_key(hook: &Hook) -> HeldHookKey<'_> {
        (&hook.source, hook.fingerprint_fields())
    }
    let held = reviews.iter().filter(|review| review.held);
    let (switch_offs, held): (Vec<_>, Vec<_>) = held.partition(|review| review.finding == HookFinding::SwitchOff);
    let held = held.into_iter();
    let waiting: HashMap<HeldHookKey<'_>, &HookFinding> =
        held.map(|review| (hook_key(&review.hook), &review.finding)).collect();
    registry.mark_untrusted(|hook| {
        let finding = if waiting.is_empty() { None } else { waiting.get(&hook_key(hook)) }?;
        Some(format!("{finding}; not trusted yet"))
    });
    let switched = switch_offs.iter().map(|review| (review.hook.source.clone(), review.hook.id().to_owned()));
    registry.set_untrusted_switch_offs(switched.collect());
}
