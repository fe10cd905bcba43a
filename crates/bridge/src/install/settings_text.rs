//! Finds, adds and removes entries in the text of a host's settings file. These functions read and write no files.

use std::path::Path;

use hookwright_hooks::BridgeCall;
use hookwright_settings::edit::EditError;
use hookwright_settings::edit::json_splice::{self, JsonTree};
use serde_json::{Map, Value, json};

use super::entry::{EntryProgram, entry_json, wired_events};
use super::plugin;
use super::requirements;
use super::target::InstallTarget;
use crate::host::{Host, HostEventInfo};

/// The JSON structure of a host's hook file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFileLayout {
    /// The structure `{"hooks": {event: [{"hooks": [entry]}]}}`.
    Groups,
    /// The structure `{event: [{"hooks": [entry]}]}`.
    Bare,
    /// The structure `{"version": 1, "hooks": {event: [entry]}}`.
    Flat,
    /// The structure `{name: {event: [{"matcher", "hooks": [entry]}]}}` for tools, `[entry]` for the rest.
    Named,
    /// A JavaScript plugin, generated as a whole.
    Plugin,
    /// Codex's `requirements.toml`, with the entries in a block of their own.
    Requirements,
}

impl HookFileLayout {
    /// Returns the key of the object that holds the events.
    fn section(self) -> Option<&'static str> {
        match self {
            HookFileLayout::Groups | HookFileLayout::Flat => Some("hooks"),
            HookFileLayout::Named => Some("hookwright"),
            HookFileLayout::Bare | HookFileLayout::Plugin | HookFileLayout::Requirements => None,
        }
    }

    /// Returns whether the file is JSON.
    pub fn is_json(self) -> bool {
        !matches!(self, HookFileLayout::Plugin | HookFileLayout::Requirements)
    }
}

/// An entry that calls the bridge.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeEntry {
    /// The event that the entry is listed under.
    pub event: String,
    /// The parsed command line of the entry.
    pub call: BridgeCall,
    /// The `matcher` that limits the entry to some calls.
    pub matcher: Option<String>,
    /// The path of the JSON node to remove: the entry, or its group if the group holds nothing else.
    removal_path: Vec<usize>,
    /// The path of the entry's JSON node.
    entry_path: Vec<usize>,
    entry: Value,
}

impl BridgeEntry {
    /// Creates an entry of a file that is generated as a whole.
    pub(super) fn for_whole_file(event: &str, call: BridgeCall) -> BridgeEntry {
        let (at, entry_at) = (Vec::new(), Vec::new());
        BridgeEntry {
            event: event.to_owned(),
            call,
            matcher: None,
            removal_path: at,
            entry_path: entry_at,
            entry: Value::Null,
        }
    }

    /// Returns the index of the group under its event, and of the entry in its group.
    pub(super) fn group_and_index(&self) -> Option<(usize, usize)> {
        // The path ends with: event, group, `hooks`, entry.
        let [.., group, _, index] = self.entry_path.as_slice() else { return None };
        Some((*group, *index))
    }

    /// Returns the entry's JSON.
    pub(super) fn entry_value(&self) -> &Value {
        &self.entry
    }
}

/// The state of a file's bridge entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostWiring {
    /// The entries that call the bridge for this host, installed or written by hand.
    pub entries: Vec<BridgeEntry>,
    /// Events that should have an entry and have none.
    pub missing: Vec<&'static str>,
    /// Events whose installed entry differs from what this version writes.
    pub outdated: Vec<String>,
}

impl HostWiring {
    /// Returns whether every event has its entry, as this version writes it.
    pub fn is_complete(&self) -> bool {
        !self.entries.is_empty() && self.missing.is_empty() && self.outdated.is_empty()
    }

    /// Returns whether the file has any bridge entry.
    pub fn has_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Returns the program that the entries call.
    pub fn program(&self) -> Option<&str> {
        let installed = self.entries.iter().find(|found| found.call.installed);
        installed.or(self.entries.first()).map(|found| found.call.program.as_str())
    }

    /// Returns the entries that `agents install` did not write.
    pub fn handwritten(&self) -> impl Iterator<Item = &BridgeEntry> {
        self.entries.iter().filter(|found| !found.call.installed)
    }
}

/// Returns the state of a host's bridge entries in a file's text.
///
/// # Errors
/// If the text does not parse.
pub fn read_wiring(target: &InstallTarget, text: &str) -> Result<HostWiring, EditError> {
    if target.layout == HookFileLayout::Plugin {
        return Ok(plugin::read_wiring(text));
    }
    if target.layout == HookFileLayout::Requirements {
        return Ok(requirements::read_wiring(target.host, text));
    }
    let (_, body) = split_bom(text);
    if body.trim().is_empty() {
        return Ok(HostWiring {
            missing: wired_events(target.host).map(|event| event.name).collect(),
            ..HostWiring::default()
        });
    }
    let found = entries(target, &json_splice::parse_tree(&target.file, body)?);
    let caller =
        found.iter().find(|found| found.call.installed).map(|found| EntryProgram::from_command(&found.call.program));
    let missing = |event: &&HostEventInfo| !found.iter().any(|found| found.event == event.name);
    let missing = wired_events(target.host).filter(missing).map(|event| event.name).collect();
    let mut outdated: Vec<String> = Vec::new();
    if let Some(caller) = caller {
        let stale = found.iter().filter(|one| one.call.installed && !is_current(target.host, one, &found, &caller));
        outdated.extend(stale.map(|found| found.event.clone()));
        outdated.dedup();
    }
    Ok(HostWiring { entries: found, missing, outdated })
}

/// Returns the text with an entry for every event; the same text if they are all there.
///
/// # Errors
/// If the text does not parse, or holds something else where the entries belong.
pub fn with_entries(target: &InstallTarget, old: &str, caller: &EntryProgram) -> Result<String, EditError> {
    if target.layout == HookFileLayout::Plugin {
        return plugin::with_entries(&target.file, old, caller);
    }
    if target.layout == HookFileLayout::Requirements {
        return requirements::with_entries(target, old, caller);
    }
    let (mark, body) = split_bom(old);
    if body.trim().is_empty() {
        return Ok(json_splice::render_document(&new_file_json(target, caller)));
    }
    let mut text = body.to_owned();
    while let Some(stale) = first_stale_entry(target, &json_splice::parse_tree(&target.file, &text)?, caller) {
        let fresh = match stale {
            StaleEntry::Remove(at) => json_splice::cut(&text, &at),
            StaleEntry::Replace(at, entry) => json_splice::replace(&text, &at, &entry),
        };
        text = fresh.ok_or_else(|| edit_failed(&target.file))?;
        if text.is_empty() {
            return Ok(json_splice::render_document(&new_file_json(target, caller)));
        }
    }
    let text = add_missing_entries(target, text, caller)?;
    Ok(format!("{mark}{text}"))
}

/// Returns the text without installed entries, or `None` if nothing else is in it. Entries written by hand stay.
///
/// # Errors
/// If the text does not parse.
pub fn without_entries(target: &InstallTarget, old: &str) -> Result<Option<String>, EditError> {
    if target.layout == HookFileLayout::Plugin {
        return plugin::without_entries(&target.file, old);
    }
    if target.layout == HookFileLayout::Requirements {
        return Ok(requirements::without_entries(old));
    }
    let (mark, body) = split_bom(old);
    if body.trim().is_empty() {
        return Ok(Some(old.to_owned()));
    }
    if is_generated_file(target, body)? {
        return Ok(None);
    }
    let mut text = body.to_owned();
    loop {
        let found = entries(target, &json_splice::parse_tree(&target.file, &text)?);
        let Some(last) = found.iter().rev().find(|found| found.call.installed) else { break };
        text = json_splice::cut(&text, &last.removal_path).ok_or_else(|| edit_failed(&target.file))?;
        if text.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(format!("{mark}{text}")))
}

/// Returns whether a file is as `agents install` created it, without entries of others.
fn is_generated_file(target: &InstallTarget, text: &str) -> Result<bool, EditError> {
    let tree = json_splice::parse_tree(&target.file, text)?;
    let names = |value: &Value| value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>();
    let made = new_file_json(target, &EntryProgram::OnPath);
    let same_names = names(&made) == tree.items().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let as_written =
        target.layout == HookFileLayout::Flat && same_names && json_splice::render_document(&tree.to_value()) == text;
    let Some(section) = target.layout.section().filter(|_| as_written) else { return Ok(false) };
    let events = tree.get(section).map_or(&[][..], |(_, section)| section.items());
    let count: usize = events.iter().flat_map(|(_, groups)| groups.elements()).map(|one| handlers(one).len()).sum();
    let ours = entries(target, &tree).iter().filter(|found| found.call.installed).count();
    let rest_is_ours =
        tree.items().iter().all(|(name, value)| name == section || made.get(name) == Some(&value.to_value()));
    Ok(count == ours && rest_is_ours)
}

fn split_bom(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}

fn edit_failed(file: &Path) -> EditError {
    json_splice::refusal(file, "this file can't be edited here", "edit it by hand, and report this")
}

/// Returns the handlers of a group, or the group itself if it is a handler; each with its path.
fn handlers(group: &JsonTree) -> Vec<(Vec<usize>, &JsonTree)> {
    match group.get("hooks") {
        Some((at, list)) => list.elements().iter().enumerate().map(|(index, one)| (vec![at, index], one)).collect(),
        None => vec![(Vec::new(), group)],
    }
}

/// Returns every entry that calls the bridge for this host, in the file's order; from both places if a key occurs
/// twice.
fn entries(target: &InstallTarget, tree: &JsonTree) -> Vec<BridgeEntry> {
    let mut found = Vec::new();
    let sections: Vec<(Vec<usize>, &JsonTree)> = match target.layout {
        HookFileLayout::Bare => vec![(Vec::new(), tree)],
        // The section's name is free, and a user may have changed it.
        HookFileLayout::Named => {
            tree.items().iter().enumerate().map(|(at, (_, section))| (vec![at], section)).collect()
        }
        _ => {
            let named =
                tree.items().iter().enumerate().filter(|(_, (name, _))| Some(name.as_str()) == target.layout.section());
            named.map(|(at, (_, section))| (vec![at], section)).collect()
        }
    };
    for (above, section) in sections {
        for (at, (event, groups)) in section.items().iter().enumerate() {
            for (index, group) in groups.elements().iter().enumerate() {
                let group_at: Vec<usize> = above.iter().copied().chain([at, index]).collect();
                let handlers = handlers(group);
                let alone = handlers.len() == 1;
                for (way, entry) in &handlers {
                    let Some(call) =
                        bridge_call_of(entry).filter(|call| Host::from_name(&call.host) == Some(target.host))
                    else {
                        continue;
                    };
                    let entry_at: Vec<usize> = group_at.iter().chain(way).copied().collect();
                    found.push(BridgeEntry {
                        event: event.clone(),
                        call,
                        matcher: restricting_matcher(group),
                        removal_path: if alone { group_at.clone() } else { entry_at.clone() },
                        entry_path: entry_at,
                        entry: entry.to_value(),
                    });
                }
            }
        }
    }
    found
}

fn bridge_call_of(entry: &JsonTree) -> Option<BridgeCall> {
    let command = entry.get("command").or_else(|| entry.get("bash"))?.1;
    match command {
        JsonTree::Scalar(Value::String(command)) => BridgeCall::parse(command),
        _ => None,
    }
}

/// Returns the matcher of a group, or of an entry outside groups, if it excludes any call.
fn restricting_matcher(group: &JsonTree) -> Option<String> {
    match group.get("matcher")?.1 {
        JsonTree::Scalar(Value::String(matcher)) if matches!(matcher.trim(), "" | "*" | ".*") => None,
        matcher => Some(match matcher.to_value() {
            Value::String(text) => text,
            other => other.to_string(),
        }),
    }
}

/// Returns whether an entry is the only installed one of its event and as this version writes it.
fn is_current(host: Host, found: &BridgeEntry, all: &[BridgeEntry], caller: &EntryProgram) -> bool {
    let same = all.iter().filter(|other| other.call.installed && other.event == found.event).count();
    let event = wired_events(host).find(|event| event.name == found.event);
    same == 1 && found.matcher.is_none() && event.is_some_and(|event| found.entry == entry_json(host, event, caller))
}

enum StaleEntry {
    Remove(Vec<usize>),
    Replace(Vec<usize>, Value),
}

/// Returns the last installed entry that is not current, and whether to replace or to remove it.
fn first_stale_entry(target: &InstallTarget, tree: &JsonTree, caller: &EntryProgram) -> Option<StaleEntry> {
    let all = entries(target, tree);
    let stale = |found: &&BridgeEntry| found.call.installed && !is_current(target.host, found, &all, caller);
    let found = all.iter().rev().find(stale)?;
    let alone = all.iter().filter(|other| other.call.installed && other.event == found.event).count() == 1;
    match wired_events(target.host).find(|event| event.name == found.event) {
        Some(event) if alone && found.matcher.is_none() => {
            Some(StaleEntry::Replace(found.entry_path.clone(), entry_json(target.host, event, caller)))
        }
        _ => Some(StaleEntry::Remove(found.removal_path.clone())),
    }
}

/// Returns the element of an event's list that holds one entry.
fn entry_group(target: &InstallTarget, event: &HostEventInfo, caller: &EntryProgram) -> Value {
    let entry = entry_json(target.host, event, caller);
    let about_tools =
        matches!(event.kind, Some(kind) if kind.info().subject == hookwright_hooks::MatcherSubject::ToolName);
    match target.layout {
        HookFileLayout::Named if about_tools => json!({"matcher": "*", "hooks": [entry]}),
        HookFileLayout::Flat | HookFileLayout::Named => entry,
        HookFileLayout::Groups | HookFileLayout::Bare | HookFileLayout::Plugin | HookFileLayout::Requirements => {
            json!({"hooks": [entry]})
        }
    }
}

fn new_file_json(target: &InstallTarget, caller: &EntryProgram) -> Value {
    let events: Map<String, Value> = wired_events(target.host)
        .map(|event| (event.name.to_owned(), json!([entry_group(target, event, caller)])))
        .collect();
    match target.layout.section() {
        // The reverse of the usual order marks the file as created by `agents install`, so that uninstalling can remove
        // it.
        Some(section) if target.layout == HookFileLayout::Flat => json!({section: events, "version": 1}),
        Some(section) => json!({section: events}),
        None => Value::Object(events),
    }
}

/// Returns the text with entries for the events that have none.
fn add_missing_entries(target: &InstallTarget, mut text: String, caller: &EntryProgram) -> Result<String, EditError> {
    let file = &target.file;
    let tree = json_splice::parse_tree(file, &text)?;
    let present = entries(target, &tree);
    let missing: Vec<&HostEventInfo> = wired_events(target.host)
        .filter(|event| !present.iter().any(|found| found.call.installed && found.event == event.name))
        .collect();
    if missing.is_empty() {
        return Ok(text);
    }
    let (mut above, mut section) = (Vec::new(), &tree);
    if let Some(name) = target.layout.section() {
        match get_unique(file, &tree, name)? {
            Some((at, found)) => (above, section) = (vec![at], expect_object(file, name, found)?),
            None => {
                let events: Map<String, Value> = missing
                    .iter()
                    .map(|event| (event.name.to_owned(), json!([entry_group(target, event, caller)])))
                    .collect();
                return json_splice::append(&text, &[], Some(name), &Value::Object(events))
                    .ok_or_else(|| edit_failed(file));
            }
        }
    }
    // The paths of `tree` stay valid: members are only appended.
    for event in missing {
        let group = entry_group(target, event, caller);
        let added = match get_unique(file, section, event.name)? {
            Some((at, JsonTree::List(_))) => {
                let at: Vec<usize> = above.iter().copied().chain([at]).collect();
                json_splice::append(&text, &at, None, &group)
            }
            Some(_) => {
                return Err(json_splice::refusal(file, format!("`{}` is not a list", event.name), "make it one first"));
            }
            None => json_splice::append(&text, &above, Some(event.name), &json!([group])),
        };
        text = added.ok_or_else(|| edit_failed(file))?;
    }
    Ok(text)
}

/// Returns the member of that name, which must not occur twice because programs differ about which one counts.
fn get_unique<'t>(file: &Path, tree: &'t JsonTree, name: &str) -> Result<Option<(usize, &'t JsonTree)>, EditError> {
    let count = tree.items().iter().filter(|(known, _)| known == name).count();
    if count > 1 {
        let what = format!("`{name}` stands {count} times in this file, and programs differ about which one counts");
        return Err(json_splice::refusal(file, what, "make them one first"));
    }
    Ok(tree.get(name))
}

fn expect_object<'t>(file: &Path, name: &str, tree: &'t JsonTree) -> Result<&'t JsonTree, EditError> {
    match tree {
        JsonTree::Object(_) => Ok(tree),
        _ => Err(json_splice::refusal(file, format!("`{name}` is not an object"), "make it one first")),
    }
}
