//! Finds the guards that are not armed, and why. The caller decides what follows from that.

pub(crate) mod fingerprint_fields;
pub(crate) mod trust_gate;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use crate::diagnostic::{Diagnostic, FileLocation, Severity, SourceText};
use crate::event::EventKind;
use crate::hook::{Hook, HookRole, Source};
use crate::jsonc::{last_property, value_kind};
use crate::registry::{HookState, Registry};
use crate::running::readiness::ReadinessError;
use crate::suggestion::is_within_typos;

/// A hook that must be present: an entry of `hooksConfig.required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredHook {
    /// The name of the hook.
    pub name: String,
    /// The source of the settings that require it.
    pub required_by: Source,
    /// The location of the entry.
    pub location: FileLocation,
}

impl RequiredHook {
    /// Whether the entry is `*`, which requires every hook of its own layer that the event waits for.
    pub fn is_wildcard(&self) -> bool {
        self.name == "*"
    }
}

/// A hook that was declared as a guard, or required, and could not be loaded because its declaration is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostGuard {
    /// The name, or a substitute if it cannot be determined.
    pub name: String,
    /// The location of the declaration.
    pub location: FileLocation,
    /// The problem with the declaration.
    pub problem: String,
}

/// A guard that would not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnarmedGuard {
    /// The name of the guard.
    pub name: String,
    /// The file in which it is declared, or was declared.
    pub file: Option<PathBuf>,
    /// The line of its declaration.
    pub line: Option<usize>,
    /// The reason why it is not armed.
    pub reason: UnarmedReason,
}

/// The reason why a guard is not armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnarmedReason {
    /// The guard would fail to start.
    #[error("{0}")]
    Inert(ReadinessError),
    /// The user has not trusted the guard yet; the text says what changed.
    #[error("{0}")]
    Untrusted(String),
    /// The settings of this source disable the guard.
    #[error("the {0} settings switch it off")]
    Disabled(Source),
    /// The guard is in shadow: it decides nothing.
    #[error("it is in shadow, so that it decides nothing")]
    Shadow,
    /// The matcher matches no known tool or value.
    #[error("its matcher `{0}` matches nothing that is known")]
    NeverMatches(String),
    /// The declaration is wrong.
    #[error("its declaration is broken: {0}")]
    Broken(String),
    /// The settings of this source require the guard, and no layer declares it.
    #[error("the {0} settings require it, and there is no such hook")]
    Missing(Source),
    /// The file that declared the guard when it was last read cannot be read. Reported by the caller, which reads the
    /// files.
    #[error("the settings that held it can't be read")]
    FileBroken,
    /// The guard belongs to an extension that the command line excludes. Reported by the caller.
    #[error("its extension {0} is left out on the command line")]
    ExtensionExcluded(String),
    /// The guard belongs to an extension that was active here before and is not any more. Reported by the caller.
    #[error("its extension {0} was active here and no longer is")]
    ExtensionInactive(String),
    /// The guard is declared in a folder that is not trusted. Reported by the caller.
    #[error("this folder is not trusted")]
    FolderUntrusted,
}

impl UnarmedReason {
    /// A stable identifier of the reason, for machine-readable output.
    pub fn as_str(&self) -> &'static str {
        match self {
            UnarmedReason::Inert(_) => "inert",
            UnarmedReason::Untrusted(_) => "held",
            UnarmedReason::Disabled(_) => "disabled",
            UnarmedReason::Shadow => "shadow",
            UnarmedReason::NeverMatches(_) => "never_matches",
            UnarmedReason::Broken(_) => "broken",
            UnarmedReason::Missing(_) => "missing",
            UnarmedReason::FileBroken => "file_broken",
            UnarmedReason::ExtensionExcluded(_) => "left_out",
            UnarmedReason::ExtensionInactive(_) => "extension_inactive",
            UnarmedReason::FolderUntrusted => "folder_untrusted",
        }
    }

    /// What the user can do to arm the guard.
    pub fn advice(&self) -> String {
        match self {
            UnarmedReason::Inert(problem) => problem.hint(),
            UnarmedReason::Untrusted(_) => "look at it, then run: hookwright hooks trust NAME".to_owned(),
            UnarmedReason::Disabled(_) => {
                "run: hookwright hooks enable NAME; or take it out of the settings".to_owned()
            }
            UnarmedReason::Shadow => "run: hookwright hooks arm NAME".to_owned(),
            UnarmedReason::NeverMatches(_) => "correct its matcher; hookwright hooks validate says more".to_owned(),
            UnarmedReason::Broken(_) => "correct its declaration; hookwright hooks validate says more".to_owned(),
            UnarmedReason::Missing(_) => "add the hook, or take its name out of `hooksConfig.required`".to_owned(),
            UnarmedReason::FileBroken => {
                "correct the file; hookwright hooks validate says where it is wrong".to_owned()
            }
            UnarmedReason::ExtensionExcluded(extension) => {
                format!("add {extension} to -e, or to `extensions.disabled` in your settings")
            }
            UnarmedReason::ExtensionInactive(extension) => {
                let disable = format!("hookwright extensions disable {extension} --consent");
                format!("enable {extension} again, or go on without its guards: {disable}")
            }
            UnarmedReason::FolderUntrusted => {
                "trust the folder (hookwright hooks trust --folder), or pass --skip-trust for one run".to_owned()
            }
        }
    }
}

/// Formats `guard NAME (FILE:LINE) is not armed: WHY`.
impl std::fmt::Display for UnarmedGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "guard `{}`", self.name)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({}:{line})", file.display())?,
            (Some(file), None) => write!(f, " ({})", file.display())?,
            (None, _) => {}
        }
        write!(f, " is not armed: {}", self.reason)
    }
}

impl UnarmedGuard {
    /// A guard that is not armed, with the location of its declaration.
    pub fn new(name: &str, place: Option<&FileLocation>, why: UnarmedReason) -> Self {
        let file = place.map(|place| place.file.to_path_buf());
        UnarmedGuard { name: name.to_owned(), file, line: place.map(|place| place.line), reason: why }
    }

    /// What the user can do to arm the guard.
    pub fn advice(&self) -> String {
        self.reason.advice().replace("NAME", &self.name)
    }
}

/// A guard that is not armed, with its declaration if that is known.
#[derive(Clone, Debug)]
pub struct SleepingGuard {
    /// The guard, and why it is not armed.
    pub guard: UnarmedGuard,
    /// The hook as it is declared.
    pub declaration: Option<Arc<Hook>>,
}

impl SleepingGuard {
    /// Whether the guard should be asked about an event. Without its declaration that is every tool call.
    pub(crate) fn is_for(&self, kind: EventKind, subject: Option<&str>) -> bool {
        match &self.declaration {
            Some(hook) => hook.event == kind && subject.is_none_or(|subject| hook.matcher.matches(subject)),
            None => kind == EventKind::BeforeTool,
        }
    }
}

impl Registry {
    /// Whether any hook is declared as a guard or required, including those that could not be loaded. This is a cheap
    /// check.
    pub fn has_guards(&self) -> bool {
        self.guards().next().is_some() || self.required().next().is_some() || !self.lost_guards().is_empty()
    }

    /// Whether `*` in the hook's own layer makes it a guard.
    pub(crate) fn is_required_by_wildcard(&self, hook: &Hook) -> bool {
        let mut wildcards = self.required().filter(|one| one.is_wildcard());
        hook.role != HookRole::Background && wildcards.any(|one| one.required_by == hook.source)
    }

    /// The hooks that are guards.
    pub fn guards(&self) -> impl Iterator<Item = &Hook> {
        self.hooks().iter().map(AsRef::as_ref).filter(|hook: &&Hook| hook.is_guard())
    }

    /// The name and line of each guard that a file declares or requires, including those that could not be loaded.
    ///
    /// The caller remembers them for later runs, in which the file may be unreadable.
    pub fn guards_in_file(&self, file: &Path) -> Vec<(String, usize)> {
        let here = |place: &&FileLocation| *place.file == *file;
        let is_declared = |hook: &&Arc<Hook>| hook.role == HookRole::Guard || self.is_required_by_wildcard(hook);
        let declared = self.hooks().iter().filter(is_declared);
        let declared = declared.filter_map(|hook| Some((hook.id(), hook.location.as_ref().filter(here)?.line)));
        let required = self.required().filter(|one| !one.is_wildcard() && here(&&one.location));
        let required = required.map(|one| (one.name.as_str(), one.location.line));
        let lost = self
            .lost_guards()
            .iter()
            .filter(|one| here(&&one.location))
            .map(|one| (one.name.as_str(), one.location.line));
        let mut guards: Vec<_> =
            declared.chain(required).chain(lost).map(|(name, line)| (name.to_owned(), line)).collect();
        guards.sort();
        guards.dedup();
        guards
    }

    /// The guards that would not work; `check` tells whether a hook could start.
    pub(crate) fn unarmed_guards(&self, check: impl Fn(&Hook) -> Result<(), ReadinessError>) -> Vec<UnarmedGuard> {
        let guards = self.entries().filter(|(hook, _)| hook.is_guard());
        let mut found: Vec<UnarmedGuard> = guards
            .filter_map(|(hook, state)| {
                let why = unarmed_reason(hook, state).or_else(|| check(hook).err().map(UnarmedReason::Inert))?;
                Some(UnarmedGuard::new(hook.id(), hook.location.as_ref(), why))
            })
            .collect();
        let broken = |lost: &LostGuard| {
            UnarmedGuard::new(&lost.name, Some(&lost.location), UnarmedReason::Broken(lost.problem.clone()))
        };
        found.extend(self.lost_guards().iter().map(broken));
        let is_missing = |required: &&RequiredHook| {
            !required.is_wildcard() && self.hooks().iter().all(|hook| hook.id() != required.name)
        };
        for required in self.required().filter(is_missing) {
            let why = UnarmedReason::Missing(required.required_by.clone());
            found.push(UnarmedGuard::new(&required.name, Some(&required.location), why));
        }
        found
    }
}

/// Why a guard in this state does not run, whatever its command.
fn unarmed_reason(hook: &Hook, state: &HookState) -> Option<UnarmedReason> {
    match state {
        HookState::Untrusted { why } => Some(UnarmedReason::Untrusted(why.clone())),
        HookState::Disabled { .. } => Some(UnarmedReason::Disabled(hook.source.clone())),
        HookState::SwitchedOff { by } => Some(UnarmedReason::Disabled(by.clone())),
        HookState::Enabled if hook.is_shadow() => Some(UnarmedReason::Shadow),
        HookState::Enabled if !hook.can_match() => {
            Some(UnarmedReason::NeverMatches(hook.matcher_text.clone().unwrap_or_default()))
        }
        HookState::Enabled => None,
    }
}

/// Finds the guards in the `hooks` of a file that were not loaded as guards: a hook without a command, one under an
/// unknown event, a misspelt `guard` key, a `guard` key on a definition. A guard with a repeated key is among them.
pub(crate) fn find_lost_guards(
    root: &Object<'_>,
    hooks: &[Hook],
    source: &SourceText<'_>,
    wrong: &[Diagnostic],
) -> Vec<LostGuard> {
    let mut written = Vec::new();
    for property in root.properties.iter().filter(|property| may_contain_hooks(property.name.as_str())) {
        find_candidates_in_property(property, &mut vec![property.value.range().start], None, &mut written);
    }
    let guards = hooks.iter().filter(|hook| hook.is_guard()).filter_map(|hook| hook.location.as_ref());
    let armed: HashSet<(usize, usize)> = guards.map(|place| (place.line, place.column)).collect();
    let lost = written.into_iter().filter_map(|guard| {
        let object = guard.object;
        let place = source.location(object.range.start);
        let is_armed = armed.contains(&(place.line, place.column));
        if is_armed && guard.repeated_key.is_none() {
            return None;
        }
        let lines = place.line..=source.location(object.range.end).line;
        let above: Vec<FileLocation> = guard.ancestor_offsets.iter().map(|offset| source.location(*offset)).collect();
        let about_it = |one: &&Diagnostic| {
            one.span.as_ref().is_some_and(|span| {
                let leads_there = above.iter().any(|place| (place.line, place.column) == (span.line, span.column));
                lines.contains(&span.line) || leads_there
            })
        };
        let worst = wrong.iter().filter(about_it).max_by_key(|one| one.severity == Severity::Error);
        let repeated = guard.repeated_key.filter(|_| is_armed).map(|key| format!("`{key}` appears twice in it"));
        let problem = repeated.or_else(|| worst.map(|one| one.message.clone()));
        let text = |name: &str| object.get_string(name).map(|text| text.value.clone().into_owned());
        Some(LostGuard {
            name: text("name").or_else(|| text("command")).unwrap_or_else(|| "without a name".to_owned()),
            location: place,
            problem: problem.unwrap_or_else(|| format!("`{}` has no effect where it is written", guard.key)),
        })
    });
    lost.collect()
}

/// Finds the requirements that have no effect: a `required` that is not an array, an entry that is not a name, a
/// misspelt key, one that a later key replaces.
pub(crate) fn find_lost_requirements(root: &Object<'_>, source: &SourceText<'_>) -> Vec<LostGuard> {
    let mut lost = Vec::new();
    let is_last = |object: &Object<'_>, property: &ObjectProp<'_>| {
        last_property(object, property.name.as_str()).is_some_and(|last| last.range == property.range)
    };
    let at_the_top = root.properties.iter().filter(|property| is_required_key(property.name.as_str()));
    at_the_top.for_each(|property| check_requirement(property, RequirementPosition::Ineffective, source, &mut lost));
    for section in root.properties.iter().filter(|property| may_contain_required(property.name.as_str())) {
        let Value::Object(object) = &section.value else { continue };
        let counts = matches!(section.name.as_str(), "hooks" | "hooksConfig") && is_last(root, section);
        for property in object.properties.iter().filter(|property| is_required_key(property.name.as_str())) {
            let counts = counts && property.name.as_str() == "required" && is_last(object, property);
            let standing = if counts { RequirementPosition::Effective } else { RequirementPosition::Ineffective };
            check_requirement(property, standing, source, &mut lost);
        }
    }
    lost
}

/// Whether a list of required names stands where it has an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequirementPosition {
    Effective,
    Ineffective,
}

fn check_requirement(
    property: &ObjectProp<'_>,
    standing: RequirementPosition,
    source: &SourceText<'_>,
    lost: &mut Vec<LostGuard>,
) {
    let no_effect = format!("`{}` has no effect; the key is `required` in `hooksConfig`", property.name.as_str());
    let mut lose = |value: &Value<'_>, wrong: &str| {
        let name = value.as_string_lit().map(|text| text.value.trim()).filter(|name| !name.is_empty());
        lost.push(LostGuard {
            name: name.unwrap_or("without a name").to_owned(),
            location: source.location(value.range().start),
            problem: match standing {
                RequirementPosition::Effective => format!("`required` should {wrong}, not {}", value_kind(value)),
                RequirementPosition::Ineffective => no_effect.clone(),
            },
        });
    };
    match &property.value {
        Value::NullKeyword(_) => {}
        Value::BooleanLit(no) if !no.value => {}
        Value::Array(array) => {
            let is_name = |value: &Value<'_>| value.as_string_lit().is_some_and(|text| !text.value.trim().is_empty());
            let elements = array.elements.iter();
            let wrong = elements.filter(|element| standing == RequirementPosition::Ineffective || !is_name(element));
            wrong.for_each(|element| lose(element, "hold names"));
        }
        other => lose(other, "be an array of names"),
    }
}

/// An object with a `guard` key.
struct GuardCandidate<'v, 't> {
    object: &'v Object<'t>,
    key: &'v str,
    /// The offsets of all enclosing keys and values.
    ancestor_offsets: Vec<usize>,
    /// A key that occurs twice in the object or in its definition: other parsers may read another guard.
    repeated_key: Option<&'v str>,
}

fn find_candidates_in_property<'v, 't>(
    property: &'v ObjectProp<'t>,
    above: &mut Vec<usize>,
    repeated: Option<&'v str>,
    found: &mut Vec<GuardCandidate<'v, 't>>,
) {
    above.extend([property.name.range().start, property.value.range().start]);
    find_guard_candidates(&property.value, above, repeated, found);
    above.truncate(above.len() - 2);
}

/// Collects the objects below a value that have a `guard` key in any spelling, without the values that a hook passes to
/// its program.
fn find_guard_candidates<'v, 't>(
    value: &'v Value<'t>,
    above: &mut Vec<usize>,
    repeated: Option<&'v str>,
    found: &mut Vec<GuardCandidate<'v, 't>>,
) {
    match value {
        Value::Array(array) => {
            array.elements.iter().for_each(|element| find_guard_candidates(element, above, repeated, found));
        }
        Value::Object(object) => {
            let says_no = |value: &Value<'_>| match value {
                Value::BooleanLit(boolean) => !boolean.value,
                value => matches!(value, Value::NullKeyword(_)),
            };
            let is_hook = object.properties.iter().any(|property| matches!(property.name.as_str(), "command" | "type"));
            let is_definition = !is_hook && last_property(object, "hooks").is_some();
            let mut keys = object.properties.iter().filter(|property| !says_no(&property.value));
            if let Some(key) = keys.find(|property| is_guard_key(property.name.as_str())) {
                let repeated = repeated.or_else(|| repeated_key(object));
                found.push(GuardCandidate {
                    object,
                    key: key.name.as_str(),
                    ancestor_offsets: above.clone(),
                    repeated_key: repeated,
                });
            }
            let repeated = repeated.or_else(|| definition_repeated_key(object).filter(|_| is_definition));
            if !is_hook {
                object
                    .properties
                    .iter()
                    .for_each(|property| find_candidates_in_property(property, above, repeated, found));
            }
        }
        _ => {}
    }
}

/// A key that occurs twice in a definition or in its `when`.
fn definition_repeated_key<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    own_repeated_key(object).or_else(|| repeated_key(last_property(object, "when")?.value.as_object()?))
}

/// The first key that occurs twice in an object, at any depth.
fn repeated_key<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    let below = || object.properties.iter().find_map(|property| repeated_key(property.value.as_object()?));
    own_repeated_key(object).or_else(below)
}

fn own_repeated_key<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    let mut seen = HashSet::new();
    object.properties.iter().map(|property| property.name.as_str()).find(|key| !seen.insert(*key))
}

/// Whether a top-level key may contain hooks: `hooks` in any spelling, or an event.
fn may_contain_hooks(name: &str) -> bool {
    is_within_typos(&name.to_lowercase(), "hooks", 1)
        || EventKind::from_name(name).is_some()
        || EventKind::from_foreign_name(name).is_some()
}

/// Whether a top-level key may contain `required`: `hooksConfig` or `hooks` in any spelling.
fn may_contain_required(name: &str) -> bool {
    let name = name.to_lowercase();
    is_within_typos(&name, "hooks", 1) || is_within_typos(&name, "hooksconfig", 2)
}

fn is_required_key(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.rsplit('.').next().unwrap_or(&name);
    name.starts_with("requir") || is_within_typos(name, "required", 2)
}

fn is_guard_key(name: &str) -> bool {
    is_within_typos(&name.to_lowercase(), "guard", 1)
}
