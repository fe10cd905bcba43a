//! Applies a change to a settings text. No file is read or written here, and the rest of the text stays byte for
//! byte.

use std::collections::HashSet;
use std::path::Path;

use hookwright_hooks::{Severity, SourceText};
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::{EditError, HookDefinitionEntry, SettingsChange, Switch, insert, remove};
use crate::json::{PARSE_OPTIONS, parse_object, syntax_diagnostic};

/// Returns the text after a change; the same text if there is nothing to do.
///
/// # Errors
/// If the text does not parse, or holds another type of value where the change belongs.
pub fn edited_text(file: &Path, text: &str, change: &SettingsChange) -> Result<String, EditError> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let editor = SettingsEditor { file, text: body };
    let edited = match change {
        SettingsChange::Switch(list, Switch::Enable, names) => editor.enable(list.key_paths(), names),
        SettingsChange::Switch(list, Switch::Disable, names) => editor.disable(list.key_paths(), names),
        SettingsChange::AddHooks(entries) => editor.add_hooks(entries),
        SettingsChange::Set(path, value) => editor.set(path, value),
        SettingsChange::Remove(path) => editor.remove(path),
    }?;
    Ok(edited.map_or_else(|| text.to_owned(), |edited| format!("{mark}{edited}")))
}

struct SettingsEditor<'a> {
    file: &'a Path,
    text: &'a str,
}

/// The changed text, or `None` if it stays the same.
type EditResult = Result<Option<String>, EditError>;

impl SettingsEditor<'_> {
    fn root(&self) -> Result<(CstRootNode, CstObject), EditError> {
        let source = SourceText::new(self.file, self.text);
        // Reports also a file that holds something else than an object.
        parse_object(self.text, &source).map_err(EditError::Broken)?;
        let root = CstRootNode::parse(self.text, &PARSE_OPTIONS)
            .map_err(|error| EditError::Broken(Box::new(syntax_diagnostic(&source, &error))))?;
        let object = root.object_value_or_set();
        Ok((root, object))
    }

    fn disable(&self, places: &[[&str; 2]], names: &[String]) -> EditResult {
        let (root, object) = self.root()?;
        let mut lists = Vec::new();
        for [section, key] in places {
            if let Some(section) = self.child_object(&object, section)? {
                lists.extend(self.child_array(&section, key)?);
            }
        }
        let listed: HashSet<String> =
            lists.iter().flat_map(CstArray::elements).filter_map(|node| string_value(&node)).collect();
        let mut missing: Vec<&String> = names.iter().filter(|name| !listed.contains(*name)).collect();
        missing.dedup();
        if missing.is_empty() {
            return Ok(None);
        }
        let list = match lists.into_iter().next() {
            Some(list) => list,
            None => {
                let Some([section, key]) = places.first() else { return Ok(None) };
                let section = self.ensure_object(&object, section)?;
                append_property(&section, key, CstInputValue::Array(Vec::new())).array_value_or_set()
            }
        };
        // The tree editor appends the first name in the list's style; the others are inserted as text after it.
        let (first, others) = (missing[0], &missing[1..]);
        list.append(CstInputValue::String(first.clone()));
        let text = finished_text(&root, self.text);
        if others.is_empty() {
            return Ok(Some(text));
        }
        if let Some(text) = insert::insert_after(&text, places, first, others) {
            return Ok(Some(text));
        }
        others.iter().for_each(|name| drop(list.append(CstInputValue::String((*name).clone()))));
        Ok(Some(finished_text(&root, self.text)))
    }

    fn enable(&self, places: &[[&str; 2]], names: &[String]) -> EditResult {
        // Parsed first, so that a broken file is rejected.
        self.root()?;
        Ok(remove::remove_from_lists(self.text, places, names))
    }

    fn add_hooks(&self, entries: &[HookDefinitionEntry]) -> EditResult {
        let (root, object) = self.root()?;
        let mut changed = false;
        for entry in entries {
            let present = match self.child_object(&object, "hooks")? {
                Some(hooks) => self.child_array(&hooks, entry.event.name())?,
                None => None,
            };
            let existing: Vec<Value> =
                present.iter().flat_map(CstArray::elements).filter_map(|node| plain_value(&node)).collect();
            let Some(definition) = without_existing_hooks(&entry.definition, &existing) else { continue };
            let list = match present {
                Some(list) => list,
                None => {
                    let hooks = self.ensure_object(&object, "hooks")?;
                    append_property(&hooks, entry.event.name(), CstInputValue::Array(Vec::new())).array_value_or_set()
                }
            };
            list.ensure_multiline();
            list.append(cst_input(&Value::Object(definition)));
            changed = true;
        }
        Ok(changed.then(|| finished_text(&root, self.text)))
    }

    fn set(&self, path: &[String], value: &Value) -> EditResult {
        let Some((name, sections)) = path.split_last() else { return Ok(None) };
        let (root, mut object) = self.root()?;
        for section in sections {
            object = self.ensure_object(&object, section)?;
        }
        match property(&object, name) {
            Some(property) if property.value().and_then(|node| plain_value(&node)).as_ref() == Some(value) => {
                return Ok(None);
            }
            Some(property) => property.set_value(cst_input(value)),
            None => {
                append_property(&object, name, cst_input(value));
            }
        }
        Ok(Some(finished_text(&root, self.text)))
    }

    fn remove(&self, path: &[String]) -> EditResult {
        let Some((name, sections)) = path.split_last() else { return Ok(None) };
        let (root, mut object) = self.root()?;
        for section in sections {
            let Some(inner) = self.child_object(&object, section)? else { return Ok(None) };
            object = inner;
        }
        let Some(found) = property(&object, name) else { return Ok(None) };
        found.remove();
        Ok(Some(finished_text(&root, self.text)))
    }

    /// Returns the object under a key, and creates it if it is missing.
    fn ensure_object(&self, object: &CstObject, name: &str) -> Result<CstObject, EditError> {
        match self.child_object(object, name)? {
            Some(inner) => Ok(inner),
            None => Ok(match property(object, name) {
                // An explicit null counts as missing.
                Some(property) => property.object_value_or_set(),
                None => append_property(object, name, CstInputValue::Object(Vec::new())).object_value_or_set(),
            }),
        }
    }

    fn child_object(&self, object: &CstObject, name: &str) -> Result<Option<CstObject>, EditError> {
        self.child(object, name, "an object", |node| node.as_object())
    }

    fn child_array(&self, object: &CstObject, name: &str) -> Result<Option<CstArray>, EditError> {
        self.child(object, name, "an array", |node| node.as_array())
    }

    fn child<T>(
        &self,
        object: &CstObject,
        name: &str,
        expected: &str,
        take: impl Fn(&CstNode) -> Option<T>,
    ) -> Result<Option<T>, EditError> {
        let Some(node) = property(object, name).and_then(|property| property.value()) else { return Ok(None) };
        if node.as_null_keyword().is_some() {
            return Ok(None);
        }
        take(&node).map(Some).ok_or_else(|| {
            let at = node_offset(&node);
            let source = SourceText::new(self.file, self.text);
            let wrong = source.diagnose(
                Severity::Error,
                at,
                at + node.to_string().len(),
                format!("`{name}` is not {expected}"),
            );
            EditError::Broken(Box::new(wrong.expected(format!("expected {expected}"))))
        })
    }
}

/// Returns the effective property: the last of several with one name.
fn property(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rev().find(|property| property.decoded_name().as_deref() == Some(name))
}

/// Returns the byte offset of a node: the length of everything before it, at every level.
fn node_offset(node: &CstNode) -> usize {
    let before = |node: &CstNode| node.previous_siblings().map(|sibling| sibling.to_string().len()).sum::<usize>();
    before(node) + node.ancestors().map(|parent| before(&CstNode::Container(parent))).sum::<usize>()
}

/// Adds a property; an empty object is spread over several lines.
fn append_property(object: &CstObject, name: &str, value: CstInputValue) -> CstObjectProp {
    if object.properties().is_empty() {
        object.ensure_multiline();
    }
    object.append(name, value)
}

/// Returns the text of an edited tree; a new file ends with a newline, an old one as before.
fn finished_text(root: &CstRootNode, old: &str) -> String {
    let mut text = root.to_string();
    if old.trim().is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns a definition without the hooks that already stand under the same matcher, or `None` if no hook is left.
fn without_existing_hooks(definition: &Map<String, Value>, existing: &[Value]) -> Option<Map<String, Value>> {
    let matcher = |definition: &Value| definition.get("matcher").and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = definition.get("matcher").and_then(Value::as_str).unwrap_or_default();
    let same =
        |one: &Value, other: &Value| one.get("name") == other.get("name") && one.get("command") == other.get("command");
    let known: Vec<&Value> = existing
        .iter()
        .filter(|existing| matcher(existing) == wanted)
        .filter_map(|existing| existing.get("hooks").and_then(Value::as_array))
        .flatten()
        .collect();
    let mut new: Vec<Value> = Vec::new();
    for hook in definition.get("hooks").and_then(Value::as_array).into_iter().flatten() {
        if !known.iter().any(|known| same(known, hook)) && !new.iter().any(|new| same(new, hook)) {
            new.push(hook.clone());
        }
    }
    (!new.is_empty()).then(|| {
        let mut definition = definition.clone();
        definition.insert("hooks".to_owned(), Value::Array(new));
        definition
    })
}

fn string_value(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

/// Converts a node to a JSON value.
fn plain_value(node: &CstNode) -> Option<Value> {
    let text = node.to_string();
    let parsed = jsonc_parser::parse_to_ast(&text, &jsonc_parser::CollectOptions::default(), &PARSE_OPTIONS).ok()?;
    Some(crate::json::to_value(&parsed.value?, &|text| text.into()))
}

fn cst_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(cst_input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(name, value)| (name.clone(), cst_input(value))).collect())
        }
    }
}
