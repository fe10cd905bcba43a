//! Reads typed values from a commented-JSON tree, and reports a diagnostic for each value of the wrong type.

use std::collections::HashSet;
use std::num::NonZeroU32;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};

use crate::diagnostic::{Diagnostic, Severity, SourceText};
use crate::jsonc::{last_property, value_kind};

/// Collects diagnostics while values are read.
pub(super) struct NodeReader<'a> {
    pub(super) source: &'a SourceText<'a>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The number of diagnostics beyond the limit, which are not kept.
    pub(super) unlisted_count: usize,
}

/// The maximum number of diagnostics of a file.
///
/// Each can take kilobytes, and a hostile file could have one for every value.
const MAX_DIAGNOSTICS: usize = 2_000;

impl NodeReader<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else {
            self.unlisted_count += 1;
        }
    }

    /// Reports the number of problems that are not listed.
    pub(super) fn report_unlisted(&mut self) {
        if self.unlisted_count > 0 {
            let text = format!("{} more problems in this file are not listed", self.unlisted_count);
            self.diagnostics.push(self.source.diagnose(Severity::Error, 0, 1, text));
        }
    }

    pub(super) fn error(&self, value: &Value<'_>, message: impl Into<String>) -> Diagnostic {
        self.error_at(value.range(), message)
    }

    pub(super) fn error_at(&self, range: Range, message: impl Into<String>) -> Diagnostic {
        self.source.diagnose(Severity::Error, range.start, range.end, message)
    }

    pub(super) fn warning(&self, value: &Value<'_>, message: impl Into<String>) -> Diagnostic {
        self.warning_at(value.range(), message)
    }

    pub(super) fn warning_at(&self, range: Range, message: impl Into<String>) -> Diagnostic {
        self.source.diagnose(Severity::Warning, range.start, range.end, message)
    }

    /// Reads an object at the top level of the file.
    pub(super) fn read_section<'o, 't>(&mut self, root: &'o Object<'t>, name: &str) -> Option<&'o Object<'t>> {
        match &last_property(root, name)?.value {
            Value::Object(object) => Some(object),
            Value::NullKeyword(_) => None,
            other => {
                let wrong = self.error(other, format!("`{name}` should be an object, not {}", value_kind(other)));
                self.report(wrong.expected("expected { … }"));
                None
            }
        }
    }

    pub(super) fn read_array<'o, 't>(
        &mut self,
        value: &'o Value<'t>,
        what: &str,
        expected: &str,
    ) -> Option<&'o Array<'t>> {
        if let Value::Array(array) = value {
            return Some(array);
        }
        let wrong = self.error(value, format!("{what}, not {}", value_kind(value)));
        self.report(wrong.expected(format!("expected {expected}")));
        None
    }

    pub(super) fn read_string(&mut self, object: &Object<'_>, name: &str) -> Option<String> {
        match &last_property(object, name)?.value {
            Value::StringLit(text) => Some(text.value.clone().into_owned()),
            Value::NullKeyword(_) => None,
            other => {
                self.report_wrong_type(name, other, "a string");
                None
            }
        }
    }

    pub(super) fn read_boolean(&mut self, object: &Object<'_>, name: &str) -> Option<bool> {
        match &last_property(object, name)?.value {
            Value::BooleanLit(boolean) => Some(boolean.value),
            Value::NullKeyword(_) => None,
            other => {
                self.report_wrong_type(name, other, "true or false");
                None
            }
        }
    }

    pub(super) fn read_count(&mut self, object: &Object<'_>, name: &str) -> Option<u32> {
        let value = &last_property(object, name)?.value;
        let count = value.as_number_lit().and_then(|number| number.value.parse().ok());
        if count.is_none() {
            self.report_wrong_type(name, value, "a whole number, 0 or more");
        }
        count
    }

    pub(super) fn read_positive(&mut self, object: &Object<'_>, name: &str) -> Option<NonZeroU32> {
        let value = &last_property(object, name)?.value;
        let count = value.as_number_lit().and_then(|number| number.value.parse().ok());
        if count.is_none() {
            self.report_wrong_type(name, value, "a whole number, 1 or more");
        }
        count
    }

    pub(super) fn read_strings(&mut self, object: &Object<'_>, name: &str) -> Vec<String> {
        let Some(property) = last_property(object, name) else { return Vec::new() };
        let Some(array) = self.read_array(&property.value, &format!("`{name}` should be an array of names"), "[\"…\"]")
        else {
            return Vec::new();
        };
        let mut strings = Vec::new();
        for element in &array.elements {
            match element {
                Value::StringLit(text) => strings.push(text.value.clone().into_owned()),
                other => self.report_wrong_type(name, other, "a list of strings"),
            }
        }
        strings
    }

    pub(super) fn report_wrong_type(&mut self, name: &str, value: &Value<'_>, expected: &str) {
        let wrong = self.error(value, format!("`{name}` should be {expected}, not {}", value_kind(value)));
        self.report(wrong.expected(format!("expected {expected}")));
    }

    /// Reports unknown keys: one that is similar to a known key is a mistake, any other may belong to another program.
    pub(super) fn report_unknown_keys(&mut self, object: &Object<'_>, known: &[&str], owner: &str) {
        self.report_duplicate_keys(object, owner);
        for property in &object.properties {
            let name = property.name.as_str();
            // `windows` overrides the command on Windows only.
            let is_elsewhere = name == "windows" && !cfg!(windows);
            if known.contains(&name) || name == "$schema" || is_elsewhere {
                continue;
            }
            let wrong = self.warning_at(property.name.range(), format!("{owner} has no `{name}`; it is ignored"));
            let near = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), *known)).min();
            self.report(match near {
                Some((distance, near)) if distance <= 2 => wrong.help(format!("did you mean `{near}`?")),
                _ => wrong.help(format!("it knows {}", known.join(", "))),
            });
        }
    }

    pub(super) fn report_duplicate_keys(&mut self, object: &Object<'_>, owner: &str) {
        let mut later = HashSet::new();
        let is_earlier = |property: &&ObjectProp<'_>| !later.insert(property.name.as_str().to_owned());
        let earlier: Vec<_> = object.properties.iter().rev().filter(is_earlier).collect();
        for property in earlier.into_iter().rev() {
            let text = format!("`{}` appears twice in {owner}; only the last one counts", property.name.as_str());
            let wrong = self.error_at(property.name.range(), text);
            self.report(wrong.help("merge the two"));
        }
    }

    pub(super) fn is_last_of_key(&self, object: &Object<'_>, property: &ObjectProp<'_>) -> bool {
        last_property(object, property.name.as_str()).is_some_and(|last| last.range == property.range)
    }
}
