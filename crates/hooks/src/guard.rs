//! Hooks that must be awake: which of them are not armed, and why. What follows from that is the caller's work.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use crate::diagnostic::{Diagnostic, Place, Severity, SourceText};
use crate::event::EventKind;
use crate::hook::{Duty, Hook, Source};
use crate::jsonc::{kind_of, last};
use crate::near::is_near;
use crate::ready::NotReady;
use crate::registry::{HookState, Registry};

/// A hook that must be there: an entry of `hooksConfig.required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    /// Its name.
    pub name: String,
    /// Whose settings say so.
    pub by: Source,
    /// Where they do.
    pub place: Place,
}

/// Something that was written as a guard and is none, because its declaration is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its name, as far as that can be told.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub problem: String,
}

/// A guard that would not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unarmed {
    /// Its name.
    pub name: String,
    /// The file that it stands in, or stood in.
    pub file: Option<PathBuf>,
    /// The line.
    pub line: Option<usize>,
    /// Why it would not.
    pub why: WhyUnarmed,
}

/// Why a guard is not armed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyUnarmed {
    /// It would fail to start.
    #[error("{0}")]
    Inert(NotReady),
    /// It waits for the user's trust.
    #[error("{0}")]
    Held(String),
    /// Its own layer's settings switch it off.
    #[error("the {0} settings switch it off")]
    Disabled(Source),
    /// It is for tools, or for an occasion, that there are not.
    #[error("its matcher `{0}` matches nothing that is known")]
    NeverMatches(String),
    /// Its declaration is wrong.
    #[error("its declaration is broken: {0}")]
    Broken(String),
    /// A layer requires it and no layer has it.
    #[error("the {0} settings require it, and there is no such hook")]
    Missing(Source),
    /// The file that held it when it was last read can't be read now. Known to whoever reads files.
    #[error("the settings that held it can't be read")]
    FileBroken,
    /// It belongs to an extension that the command line leaves out. Known to whoever reads the command line.
    #[error("the command line leaves its extension {0} out")]
    LeftOut(String),
    /// It belongs to an extension that was active here and is not any more. Known to whoever reads files.
    #[error("its extension {0} was active here and is not any more")]
    ExtensionInactive(String),
    /// It stands in a folder that is not trusted. Known to whoever knows of trust.
    #[error("this folder is not trusted")]
    FolderUntrusted,
}

impl WhyUnarmed {
    /// A word for it, for machines.
    pub fn as_str(&self) -> &'static str {
        match self {
            WhyUnarmed::Inert(_) => "inert",
            WhyUnarmed::Held(_) => "held",
            WhyUnarmed::Disabled(_) => "disabled",
            WhyUnarmed::NeverMatches(_) => "never_matches",
            WhyUnarmed::Broken(_) => "broken",
            WhyUnarmed::Missing(_) => "missing",
            WhyUnarmed::FileBroken => "file_broken",
            WhyUnarmed::LeftOut(_) => "left_out",
            WhyUnarmed::ExtensionInactive(_) => "extension_inactive",
            WhyUnarmed::FolderUntrusted => "folder_untrusted",
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            WhyUnarmed::Inert(problem) => problem.advice(),
            WhyUnarmed::Held(_) => "look at it, then run: hookwright hooks trust NAME".to_owned(),
            WhyUnarmed::Disabled(_) => "run: hookwright hooks enable NAME; or take it out of the settings".to_owned(),
            WhyUnarmed::NeverMatches(_) => "correct its matcher; hookwright hooks validate says more".to_owned(),
            WhyUnarmed::Broken(_) => "correct its declaration; hookwright hooks validate says more".to_owned(),
            WhyUnarmed::Missing(_) => "add the hook, or take its name out of `hooksConfig.required`".to_owned(),
            WhyUnarmed::FileBroken => "correct the file; hookwright hooks validate says where it is wrong".to_owned(),
            WhyUnarmed::LeftOut(extension) => {
                format!("let -e name {extension} too, or list it in `extensions.disabled` of your settings")
            }
            WhyUnarmed::ExtensionInactive(extension) => {
                let disable = format!("hookwright extensions disable {extension} --consent");
                format!("enable {extension} again, or go on without its guards: {disable}")
            }
            WhyUnarmed::FolderUntrusted => {
                "trust the folder (hookwright hooks trust --folder), or for once give --skip-trust".to_owned()
            }
        }
    }
}

/// `guard NAME (FILE:LINE) is not armed: WHY`.
impl std::fmt::Display for Unarmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "guard {}", self.name)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " ({}:{line})", file.display())?,
            (Some(file), None) => write!(f, " ({})", file.display())?,
            (None, _) => {}
        }
        write!(f, " is not armed: {}", self.why)
    }
}

impl Unarmed {
    /// A guard at a place.
    pub fn new(name: &str, place: Option<&Place>, why: WhyUnarmed) -> Self {
        let file = place.map(|place| place.file.to_path_buf());
        Unarmed { name: name.to_owned(), file, line: place.map(|place| place.line), why }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        self.why.advice().replace("NAME", &self.name)
    }
}

impl Registry {
    /// Whether any hook must be awake, there or not. Costs nothing to speak of.
    pub fn has_guards(&self) -> bool {
        self.guards().next().is_some() || self.required().next().is_some() || !self.lost().is_empty()
    }

    /// The hooks that must be awake.
    pub fn guards(&self) -> impl Iterator<Item = &Hook> {
        self.hooks().iter().map(AsRef::as_ref).filter(|hook: &&Hook| hook.is_guard())
    }

    /// What a file declares as guards or requires, rightly or wrongly, with the lines: for whoever remembers it.
    pub fn guards_of(&self, file: &Path) -> Vec<(String, usize)> {
        let here = |place: &&Place| *place.file == *file;
        let declared = self.hooks().iter().filter(|hook| hook.duty == Duty::Guard);
        let declared = declared.filter_map(|hook| Some((hook.id(), hook.place.as_ref().filter(here)?.line)));
        let required = self.required().filter(|one| here(&&one.place)).map(|one| (one.name.as_str(), one.place.line));
        let lost = self.lost().iter().filter(|one| here(&&one.place)).map(|one| (one.name.as_str(), one.place.line));
        let mut guards: Vec<_> =
            declared.chain(required).chain(lost).map(|(name, line)| (name.to_owned(), line)).collect();
        guards.sort();
        guards.dedup();
        guards
    }

    /// The guards that would not do their work; `check` says whether a hook could start.
    pub(crate) fn unarmed(&self, check: impl Fn(&Hook) -> Result<(), NotReady>) -> Vec<Unarmed> {
        let guards = self.entries().filter(|(hook, _)| hook.is_guard());
        let mut found: Vec<Unarmed> = guards
            .filter_map(|(hook, state)| {
                let why = why_unarmed(hook, state).or_else(|| check(hook).err().map(WhyUnarmed::Inert))?;
                Some(Unarmed::new(hook.id(), hook.place.as_ref(), why))
            })
            .collect();
        let broken =
            |lost: &Lost| Unarmed::new(&lost.name, Some(&lost.place), WhyUnarmed::Broken(lost.problem.clone()));
        found.extend(self.lost().iter().map(broken));
        for required in self.required().filter(|required| self.hooks().iter().all(|hook| hook.id() != required.name)) {
            let why = WhyUnarmed::Missing(required.by.clone());
            found.push(Unarmed::new(&required.name, Some(&required.place), why));
        }
        found
    }
}

/// Why a guard in this state does not run, whatever its program is.
fn why_unarmed(hook: &Hook, state: &HookState) -> Option<WhyUnarmed> {
    match state {
        HookState::Held { why } => Some(WhyUnarmed::Held(why.clone())),
        HookState::Disabled { .. } => Some(WhyUnarmed::Disabled(hook.source.clone())),
        HookState::SwitchedOff { by } => Some(WhyUnarmed::Disabled(by.clone())),
        HookState::Enabled if !hook.can_match() => {
            Some(WhyUnarmed::NeverMatches(hook.matcher_text.clone().unwrap_or_default()))
        }
        HookState::Enabled => None,
    }
}

/// What stands in the `hooks` of a file as a guard and did not become one: a hook without a command, one under an event
/// that there is not, a misspelt `guard`, a definition that calls itself one.
pub(crate) fn lost(root: &Object<'_>, hooks: &[Hook], source: &SourceText<'_>, wrong: &[Diagnostic]) -> Vec<Lost> {
    let mut written = Vec::new();
    for property in root.properties.iter().filter(|property| may_hold_hooks(property.name.as_str())) {
        find_written(property, &mut vec![property.value.range().start], None, &mut written);
    }
    let guards = hooks.iter().filter(|hook| hook.is_guard()).filter_map(|hook| hook.place.as_ref());
    let armed: HashSet<(usize, usize)> = guards.map(|place| (place.line, place.column)).collect();
    let lost = written.into_iter().filter_map(|guard| {
        let object = guard.object;
        let place = source.place(object.range.start);
        let is_armed = armed.contains(&(place.line, place.column));
        if is_armed && guard.repeated.is_none() {
            return None;
        }
        let lines = place.line..=source.place(object.range.end).line;
        let above: Vec<Place> = guard.above.iter().map(|offset| source.place(*offset)).collect();
        let about_it = |one: &&Diagnostic| {
            one.span.as_ref().is_some_and(|span| {
                let leads_there = above.iter().any(|place| (place.line, place.column) == (span.line, span.column));
                lines.contains(&span.line) || leads_there
            })
        };
        let worst = wrong.iter().filter(about_it).max_by_key(|one| one.severity == Severity::Error);
        let repeated = guard.repeated.filter(|_| is_armed).map(|key| format!("`{key}` stands twice in it"));
        let problem = repeated.or_else(|| worst.map(|one| one.message.clone()));
        let text = |name: &str| object.get_string(name).map(|text| text.value.clone().into_owned());
        Some(Lost {
            name: text("name").or_else(|| text("command")).unwrap_or_else(|| "without a name".to_owned()),
            place,
            problem: problem.unwrap_or_else(|| format!("`{}` stands where it has no effect", guard.key)),
        })
    });
    lost.collect()
}

/// What is written as required and does not count: a list that is none, an entry that is no name, a misspelt key, one that
/// a later one replaces.
pub(crate) fn lost_required(root: &Object<'_>, source: &SourceText<'_>) -> Vec<Lost> {
    let mut lost = Vec::new();
    let is_last = |object: &Object<'_>, property: &ObjectProp<'_>| {
        last(object, property.name.as_str()).is_some_and(|last| last.range == property.range)
    };
    let at_the_top = root.properties.iter().filter(|property| is_required_key(property.name.as_str()));
    at_the_top.for_each(|property| required_but_lost(property, Standing::Elsewhere, source, &mut lost));
    for section in root.properties.iter().filter(|property| may_require(property.name.as_str())) {
        let Value::Object(object) = &section.value else { continue };
        let counts = matches!(section.name.as_str(), "hooks" | "hooksConfig") && is_last(root, section);
        for property in object.properties.iter().filter(|property| is_required_key(property.name.as_str())) {
            let counts = counts && property.name.as_str() == "required" && is_last(object, property);
            let standing = if counts { Standing::Counts } else { Standing::Elsewhere };
            required_but_lost(property, standing, source, &mut lost);
        }
    }
    lost
}

/// Whether a list of names stands where it counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Counts,
    Elsewhere,
}

fn required_but_lost(property: &ObjectProp<'_>, standing: Standing, source: &SourceText<'_>, lost: &mut Vec<Lost>) {
    let no_effect = format!("`{}` has no effect; the key is `required` in `hooksConfig`", property.name.as_str());
    let mut lose = |value: &Value<'_>, wrong: &str| {
        let name = value.as_string_lit().map(|text| text.value.trim()).filter(|name| !name.is_empty());
        lost.push(Lost {
            name: name.unwrap_or("without a name").to_owned(),
            place: source.place(value.range().start),
            problem: match standing {
                Standing::Counts => format!("`required` should {wrong}, not {}", kind_of(value)),
                Standing::Elsewhere => no_effect.clone(),
            },
        });
    };
    match &property.value {
        Value::NullKeyword(_) => {}
        Value::BooleanLit(no) if !no.value => {}
        Value::Array(array) => {
            let is_name = |value: &Value<'_>| value.as_string_lit().is_some_and(|text| !text.value.trim().is_empty());
            let elements = array.elements.iter();
            let wrong = elements.filter(|element| standing == Standing::Elsewhere || !is_name(element));
            wrong.for_each(|element| lose(element, "hold names"));
        }
        other => lose(other, "be an array of names"),
    }
}

/// Something that is written as a guard.
struct Written<'v, 't> {
    object: &'v Object<'t>,
    key: &'v str,
    /// Where everything stands that it is in.
    above: Vec<usize>,
    /// A key that stands twice in it or in its definition: other readers may see another guard.
    repeated: Option<&'v str>,
}

fn find_written<'v, 't>(
    property: &'v ObjectProp<'t>,
    above: &mut Vec<usize>,
    repeated: Option<&'v str>,
    found: &mut Vec<Written<'v, 't>>,
) {
    above.extend([property.name.range().start, property.value.range().start]);
    written_guards(&property.value, above, repeated, found);
    above.truncate(above.len() - 2);
}

/// The objects below a value that have a `guard`, however spelt; not what a hook gives to its program.
fn written_guards<'v, 't>(
    value: &'v Value<'t>,
    above: &mut Vec<usize>,
    repeated: Option<&'v str>,
    found: &mut Vec<Written<'v, 't>>,
) {
    match value {
        Value::Array(array) => {
            array.elements.iter().for_each(|element| written_guards(element, above, repeated, found));
        }
        Value::Object(object) => {
            let says_no = |value: &Value<'_>| match value {
                Value::BooleanLit(boolean) => !boolean.value,
                value => matches!(value, Value::NullKeyword(_)),
            };
            let is_hook = object.properties.iter().any(|property| matches!(property.name.as_str(), "command" | "type"));
            let is_definition = !is_hook && last(object, "hooks").is_some();
            let mut keys = object.properties.iter().filter(|property| !says_no(&property.value));
            if let Some(key) = keys.find(|property| is_guard_key(property.name.as_str())) {
                let repeated = repeated.or_else(|| repeated_key(object));
                found.push(Written { object, key: key.name.as_str(), above: above.clone(), repeated });
            }
            let repeated = repeated.or_else(|| definition_repeats(object).filter(|_| is_definition));
            if !is_hook {
                object.properties.iter().for_each(|property| find_written(property, above, repeated, found));
            }
        }
        _ => {}
    }
}

/// A key of a definition that stands twice, or one in its `when`.
fn definition_repeats<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    own_repeated_key(object).or_else(|| repeated_key(last(object, "when")?.value.as_object()?))
}

/// The first key that stands twice in an object, at any depth.
fn repeated_key<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    let below = || object.properties.iter().find_map(|property| repeated_key(property.value.as_object()?));
    own_repeated_key(object).or_else(below)
}

fn own_repeated_key<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    let mut seen = HashSet::new();
    object.properties.iter().map(|property| property.name.as_str()).find(|key| !seen.insert(*key))
}

/// `hooks`, however spelt, and events that stand outside of it.
fn may_hold_hooks(name: &str) -> bool {
    is_near(&name.to_lowercase(), "hooks", 1)
        || EventKind::from_name(name).is_some()
        || EventKind::from_foreign_name(name).is_some()
}

/// `hooksConfig` and `hooks`, however spelt.
fn may_require(name: &str) -> bool {
    let name = name.to_lowercase();
    is_near(&name, "hooks", 1) || is_near(&name, "hooksconfig", 2)
}

fn is_required_key(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.rsplit('.').next().unwrap_or(&name);
    name.starts_with("requir") || is_near(name, "required", 2)
}

fn is_guard_key(name: &str) -> bool {
    is_near(&name.to_lowercase(), "guard", 1)
}
