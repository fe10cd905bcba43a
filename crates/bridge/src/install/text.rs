//! A host's file as text: the entries in it, the text with them, the text without. Pure.

use std::path::Path;

use hookwright_hooks::BridgeCall;
use hookwright_settings::edit::EditError;
use hookwright_settings::edit::seam::{self, Tree};
use serde_json::{Map, Value, json};

use super::entry::{Caller, handler, wired};
use super::place::Target;
use super::plugin;
use crate::host::{Host, HostEvent};

/// How a host's file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{"hooks": {event: [{"hooks": [entry]}]}}`.
    Groups,
    /// `{event: [{"hooks": [entry]}]}`.
    Bare,
    /// `{"version": 1, "hooks": {event: [entry]}}`.
    Flat,
    /// `{name: {event: [{"matcher", "hooks": [entry]}]}}` for tools, `[entry]` for the rest.
    Named,
    /// A program, generated whole.
    Plugin,
}

impl Shape {
    /// What the events stand in.
    fn section(self) -> Option<&'static str> {
        match self {
            Shape::Groups | Shape::Flat => Some("hooks"),
            Shape::Named => Some("hookwright"),
            Shape::Bare | Shape::Plugin => None,
        }
    }
}

/// An entry that calls the bridge.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The event that it stands at.
    pub event: String,
    /// What it says.
    pub call: BridgeCall,
    /// The `matcher` that keeps it from some calls.
    pub narrowed: Option<String>,
    /// Where it is; the whole group if nothing else is in that.
    at: Vec<usize>,
    /// Where the entry itself is.
    entry_at: Vec<usize>,
    entry: Value,
}

impl Found {
    /// One of a file that is ours whole.
    pub(super) fn whole_file(event: &str, call: BridgeCall) -> Found {
        let (at, entry_at) = (Vec::new(), Vec::new());
        Found { event: event.to_owned(), call, narrowed: None, at, entry_at, entry: Value::Null }
    }

    /// Its numbers among the groups of its event and in its group.
    pub(super) fn numbers(&self) -> Option<(usize, usize)> {
        // …, event, group, `hooks`, entry.
        let [.., group, _, index] = self.entry_at.as_slice() else { return None };
        Some((*group, *index))
    }

    /// The entry as it stands there.
    pub(super) fn entry_value(&self) -> &Value {
        &self.entry
    }
}

/// How a file stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wiring {
    /// The entries in it, of whoever wrote them, for this host.
    pub found: Vec<Found>,
    /// Events that should have one and don't.
    pub missing: Vec<&'static str>,
    /// Events whose entry is not as it is written now.
    pub outdated: Vec<String>,
}

impl Wiring {
    /// Whether every event has its entry, as it is written now.
    pub fn is_whole(&self) -> bool {
        !self.found.is_empty() && self.missing.is_empty() && self.outdated.is_empty()
    }

    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        !self.found.is_empty()
    }

    /// The program that the entries call.
    pub fn program(&self) -> Option<&str> {
        let installed = self.found.iter().find(|found| found.call.installed);
        installed.or(self.found.first()).map(|found| found.call.program.as_str())
    }

    /// Entries that somebody wrote by hand.
    pub fn by_hand(&self) -> impl Iterator<Item = &Found> {
        self.found.iter().filter(|found| !found.call.installed)
    }
}

/// How a file stands for a host: what is in it, what is missing.
///
/// # Errors
/// If it does not parse.
pub fn survey(target: &Target, text: &str) -> Result<Wiring, EditError> {
    if target.shape == Shape::Plugin {
        return Ok(plugin::survey(text));
    }
    let (_, body) = without_mark(text);
    if body.trim().is_empty() {
        return Ok(Wiring { missing: wired(target.host).map(|event| event.name).collect(), ..Wiring::default() });
    }
    let found = entries(target, &seam::read(&target.file, body)?);
    let caller = found.iter().find(|found| found.call.installed).map(|found| Caller::of(&found.call.program));
    let missing = |event: &&HostEvent| !found.iter().any(|found| found.event == event.name);
    let missing = wired(target.host).filter(missing).map(|event| event.name).collect();
    let mut outdated: Vec<String> = Vec::new();
    if let Some(caller) = caller {
        let stale = found.iter().filter(|one| one.call.installed && !is_current(target.host, one, &found, &caller));
        outdated.extend(stale.map(|found| found.event.clone()));
        outdated.dedup();
    }
    Ok(Wiring { found, missing, outdated })
}

/// The text with an entry for every event; the same text if they are all there.
///
/// # Errors
/// If the text does not parse, or holds something else where the entries belong.
pub fn installed(target: &Target, old: &str, caller: &Caller) -> Result<String, EditError> {
    if target.shape == Shape::Plugin {
        return plugin::installed(&target.file, old, caller);
    }
    let (mark, body) = without_mark(old);
    if body.trim().is_empty() {
        return Ok(seam::whole(&new_file(target, caller)));
    }
    let mut text = body.to_owned();
    while let Some(stale) = first_stale(target, &seam::read(&target.file, &text)?, caller) {
        let fresh = match stale {
            Stale::Gone(at) => seam::cut(&text, &at),
            Stale::Changed(at, entry) => seam::replace(&text, &at, &entry),
        };
        text = fresh.ok_or_else(|| lost(&target.file))?;
        if text.is_empty() {
            return Ok(seam::whole(&new_file(target, caller)));
        }
    }
    let text = with_missing(target, text, caller)?;
    Ok(format!("{mark}{text}"))
}

/// The text without our entries, and nothing if there was nothing else; by whom they were written by hand, they stay.
///
/// # Errors
/// If the text does not parse.
pub fn uninstalled(target: &Target, old: &str) -> Result<Option<String>, EditError> {
    if target.shape == Shape::Plugin {
        return plugin::uninstalled(&target.file, old);
    }
    let (mark, body) = without_mark(old);
    if body.trim().is_empty() {
        return Ok(Some(old.to_owned()));
    }
    if is_all_ours(target, body)? {
        return Ok(None);
    }
    let mut text = body.to_owned();
    loop {
        let found = entries(target, &seam::read(&target.file, &text)?);
        let Some(last) = found.iter().rev().find(|found| found.call.installed) else { break };
        text = seam::cut(&text, &last.at).ok_or_else(|| lost(&target.file))?;
        if text.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(format!("{mark}{text}")))
}

/// Whether a file is as it was made by us, with nothing of anybody else.
fn is_all_ours(target: &Target, text: &str) -> Result<bool, EditError> {
    let tree = seam::read(&target.file, text)?;
    let names = |value: &Value| value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>();
    let made = new_file(target, &Caller::OnPath);
    let same_names = names(&made) == tree.items().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let as_written = target.shape == Shape::Flat && same_names && seam::whole(&tree.value()) == text;
    let Some(section) = target.shape.section().filter(|_| as_written) else { return Ok(false) };
    let events = tree.get(section).map_or(&[][..], |(_, section)| section.items());
    let count: usize = events.iter().flat_map(|(_, groups)| groups.list()).map(|one| handlers(one).len()).sum();
    let ours = entries(target, &tree).iter().filter(|found| found.call.installed).count();
    let rest_is_ours =
        tree.items().iter().all(|(name, value)| name == section || made.get(name) == Some(&value.value()));
    Ok(count == ours && rest_is_ours)
}

fn without_mark(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}

fn lost(file: &Path) -> EditError {
    seam::refused(file, "this file can't be edited here", "edit it by hand, and report this")
}

/// What stands where an entry could: the entries of a group, or the one that stands for itself; each with the way to it.
fn handlers(group: &Tree) -> Vec<(Vec<usize>, &Tree)> {
    match group.get("hooks") {
        Some((at, list)) => list.list().iter().enumerate().map(|(index, one)| (vec![at, index], one)).collect(),
        None => vec![(Vec::new(), group)],
    }
}

/// Every entry that calls the bridge for this host, in the order of the file; where a name stands twice, in both places.
fn entries(target: &Target, tree: &Tree) -> Vec<Found> {
    let mut found = Vec::new();
    let sections: Vec<(Vec<usize>, &Tree)> = match target.shape {
        Shape::Bare => vec![(Vec::new(), tree)],
        // Under any name: somebody may have given it another.
        Shape::Named => tree.items().iter().enumerate().map(|(at, (_, section))| (vec![at], section)).collect(),
        _ => {
            let named =
                tree.items().iter().enumerate().filter(|(_, (name, _))| Some(name.as_str()) == target.shape.section());
            named.map(|(at, (_, section))| (vec![at], section)).collect()
        }
    };
    for (above, section) in sections {
        for (at, (event, groups)) in section.items().iter().enumerate() {
            for (index, group) in groups.list().iter().enumerate() {
                let group_at: Vec<usize> = above.iter().copied().chain([at, index]).collect();
                let handlers = handlers(group);
                let alone = handlers.len() == 1;
                for (way, entry) in &handlers {
                    let Some(call) = call_of(entry).filter(|call| Host::from_name(&call.host) == Some(target.host))
                    else {
                        continue;
                    };
                    let entry_at: Vec<usize> = group_at.iter().chain(way).copied().collect();
                    found.push(Found {
                        event: event.clone(),
                        call,
                        narrowed: narrowed(group),
                        at: if alone { group_at.clone() } else { entry_at.clone() },
                        entry_at,
                        entry: entry.value(),
                    });
                }
            }
        }
    }
    found
}

fn call_of(entry: &Tree) -> Option<BridgeCall> {
    let command = entry.get("command").or_else(|| entry.get("bash"))?.1;
    match command {
        Tree::Plain(Value::String(command)) => BridgeCall::read(command),
        _ => None,
    }
}

/// The matcher of a group, or of an entry that stands for itself, if it keeps anything out.
fn narrowed(group: &Tree) -> Option<String> {
    match group.get("matcher")?.1 {
        Tree::Plain(Value::String(matcher)) if matches!(matcher.trim(), "" | "*" | ".*") => None,
        matcher => Some(match matcher.value() {
            Value::String(text) => text,
            other => other.to_string(),
        }),
    }
}

/// Whether an entry is the only one of its event, and as it is written now.
fn is_current(host: Host, found: &Found, all: &[Found], caller: &Caller) -> bool {
    let same = all.iter().filter(|other| other.call.installed && other.event == found.event).count();
    let event = wired(host).find(|event| event.name == found.event);
    same == 1 && found.narrowed.is_none() && event.is_some_and(|event| found.entry == handler(host, event, caller))
}

enum Stale {
    Gone(Vec<usize>),
    Changed(Vec<usize>, Value),
}

/// The next entry of ours that is not as it should be, and what is to become of it.
fn first_stale(target: &Target, tree: &Tree, caller: &Caller) -> Option<Stale> {
    let all = entries(target, tree);
    let stale = |found: &&Found| found.call.installed && !is_current(target.host, found, &all, caller);
    let found = all.iter().rev().find(stale)?;
    let alone = all.iter().filter(|other| other.call.installed && other.event == found.event).count() == 1;
    match wired(target.host).find(|event| event.name == found.event) {
        Some(event) if alone && found.narrowed.is_none() => {
            Some(Stale::Changed(found.entry_at.clone(), handler(target.host, event, caller)))
        }
        _ => Some(Stale::Gone(found.at.clone())),
    }
}

/// What stands in an event's list for one entry.
fn group(target: &Target, event: &HostEvent, caller: &Caller) -> Value {
    let entry = handler(target.host, event, caller);
    let about_tools = matches!(event.ours, Some(kind) if kind.info().subject == hookwright_hooks::Subject::ToolName);
    match target.shape {
        Shape::Named if about_tools => json!({"matcher": "*", "hooks": [entry]}),
        Shape::Flat | Shape::Named => entry,
        Shape::Groups | Shape::Bare | Shape::Plugin => json!({"hooks": [entry]}),
    }
}

fn new_file(target: &Target, caller: &Caller) -> Value {
    let events: Map<String, Value> =
        wired(target.host).map(|event| (event.name.to_owned(), json!([group(target, event, caller)]))).collect();
    match target.shape.section() {
        // The other way round than people write it: whoever takes the entries out sees that the file was made for them.
        Some(section) if target.shape == Shape::Flat => json!({section: events, "version": 1}),
        Some(section) => json!({section: events}),
        None => Value::Object(events),
    }
}

/// The text with entries for the events that have none.
fn with_missing(target: &Target, mut text: String, caller: &Caller) -> Result<String, EditError> {
    let file = &target.file;
    let tree = seam::read(file, &text)?;
    let present = entries(target, &tree);
    let missing: Vec<&HostEvent> = wired(target.host)
        .filter(|event| !present.iter().any(|found| found.call.installed && found.event == event.name))
        .collect();
    if missing.is_empty() {
        return Ok(text);
    }
    let (mut above, mut section) = (Vec::new(), &tree);
    if let Some(name) = target.shape.section() {
        match once(file, &tree, name)? {
            Some((at, found)) => (above, section) = (vec![at], object(file, name, found)?),
            None => {
                let events: Map<String, Value> = missing
                    .iter()
                    .map(|event| (event.name.to_owned(), json!([group(target, event, caller)])))
                    .collect();
                return seam::append(&text, &[], Some(name), &Value::Object(events)).ok_or_else(|| lost(file));
            }
        }
    }
    // Lists that are there first: the places of the others move as they are added.
    for event in missing {
        let group = group(target, event, caller);
        let added = match once(file, section, event.name)? {
            Some((at, Tree::List(_))) => {
                let at: Vec<usize> = above.iter().copied().chain([at]).collect();
                seam::append(&text, &at, None, &group)
            }
            Some(_) => return Err(seam::refused(file, format!("`{}` is not a list", event.name), "make it one first")),
            None => seam::append(&text, &above, Some(event.name), &json!([group])),
        };
        text = added.ok_or_else(|| lost(file))?;
    }
    Ok(text)
}

/// What stands under a name, which must not stand there twice: programs differ about which of them counts.
fn once<'t>(file: &Path, tree: &'t Tree, name: &str) -> Result<Option<(usize, &'t Tree)>, EditError> {
    let count = tree.items().iter().filter(|(known, _)| known == name).count();
    if count > 1 {
        let what = format!("`{name}` stands {count} times in this file, and programs differ about which one counts");
        return Err(seam::refused(file, what, "make them one first"));
    }
    Ok(tree.get(name))
}

fn object<'t>(file: &Path, name: &str, tree: &'t Tree) -> Result<&'t Tree, EditError> {
    match tree {
        Tree::Object(_) => Ok(tree),
        _ => Err(seam::refused(file, format!("`{name}` is not an object"), "make it one first")),
    }
}
