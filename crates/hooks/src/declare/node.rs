//! Reading typed values out of a commented-JSON tree, with a diagnostic for each that is not what it should be.

use std::collections::HashSet;
use std::num::NonZeroU32;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};

use crate::diagnostic::{Diagnostic, Severity, SourceText};
use crate::jsonc::{kind_of, last};

/// Gathers diagnostics while values are read.
pub(super) struct NodeReader<'a> {
    pub(super) source: &'a SourceText<'a>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How many more there are than are kept.
    pub(super) unlisted: usize,
}

/// A person mends a few problems at a time; each takes kilobytes, and a hostile file could have one for every value.
const MAX_DIAGNOSTICS: usize = 2_000;

impl NodeReader<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else {
            self.unlisted += 1;
        }
    }

    /// Says how many problems are not among the diagnostics.
    pub(super) fn report_unlisted(&mut self) {
        if self.unlisted > 0 {
            let text = format!("{} more problems in this file are not listed", self.unlisted);
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

    /// An object at the top of the file.
    pub(super) fn section<'o, 't>(&mut self, root: &'o Object<'t>, name: &str) -> Option<&'o Object<'t>> {
        match &last(root, name)?.value {
            Value::Object(object) => Some(object),
            Value::NullKeyword(_) => None,
            other => {
                let wrong = self.error(other, format!("`{name}` should be an object, not {}", kind_of(other)));
                self.report(wrong.expected("expected { … }"));
                None
            }
        }
    }

    pub(super) fn array<'o, 't>(&mut self, value: &'o Value<'t>, what: &str, expected: &str) -> Option<&'o Array<'t>> {
        if let Value::Array(array) = value {
            return Some(array);
        }
        let wrong = self.error(value, format!("{what}, not {}", kind_of(value)));
        self.report(wrong.expected(format!("expected {expected}")));
        None
    }

    pub(super) fn string(&mut self, object: &Object<'_>, name: &str) -> Option<String> {
        match &last(object, name)?.value {
            Value::StringLit(text) => Some(text.value.clone().into_owned()),
            Value::NullKeyword(_) => None,
            other => {
                self.wrong_type(name, other, "a string");
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, object: &Object<'_>, name: &str) -> Option<bool> {
        match &last(object, name)?.value {
            Value::BooleanLit(boolean) => Some(boolean.value),
            Value::NullKeyword(_) => None,
            other => {
                self.wrong_type(name, other, "true or false");
                None
            }
        }
    }

    pub(super) fn count(&mut self, object: &Object<'_>, name: &str) -> Option<u32> {
        let value = &last(object, name)?.value;
        let count = value.as_number_lit().and_then(|number| number.value.parse().ok());
        if count.is_none() {
            self.wrong_type(name, value, "a whole number, 0 or more");
        }
        count
    }

    pub(super) fn positive(&mut self, object: &Object<'_>, name: &str) -> Option<NonZeroU32> {
        let value = &last(object, name)?.value;
        let count = value.as_number_lit().and_then(|number| number.value.parse().ok());
        if count.is_none() {
            self.wrong_type(name, value, "a whole number, 1 or more");
        }
        count
    }

    pub(super) fn strings(&mut self, object: &Object<'_>, name: &str) -> Vec<String> {
        let Some(property) = last(object, name) else { return Vec::new() };
        let Some(array) = self.array(&property.value, &format!("`{name}` should be an array of names"), "[\"…\"]")
        else {
            return Vec::new();
        };
        let mut strings = Vec::new();
        for element in &array.elements {
            match element {
                Value::StringLit(text) => strings.push(text.value.clone().into_owned()),
                other => self.wrong_type(name, other, "a list of strings"),
            }
        }
        strings
    }

    pub(super) fn wrong_type(&mut self, name: &str, value: &Value<'_>, expected: &str) {
        let wrong = self.error(value, format!("`{name}` should be {expected}, not {}", kind_of(value)));
        self.report(wrong.expected(format!("expected {expected}")));
    }

    /// Misspelt keys; one near a known key is surely a mistake, any other may belong to another program.
    pub(super) fn unknown_keys(&mut self, object: &Object<'_>, known: &[&str], owner: &str) {
        self.duplicate_keys(object, owner);
        for property in &object.properties {
            let name = property.name.as_str();
            // What is to run on Windows instead is nothing to this system.
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

    pub(super) fn duplicate_keys(&mut self, object: &Object<'_>, owner: &str) {
        let mut later = HashSet::new();
        let is_earlier = |property: &&ObjectProp<'_>| !later.insert(property.name.as_str().to_owned());
        let earlier: Vec<_> = object.properties.iter().rev().filter(is_earlier).collect();
        for property in earlier.into_iter().rev() {
            let text = format!("`{}` stands twice in {owner}; only the last one counts", property.name.as_str());
            let wrong = self.error_at(property.name.range(), text);
            self.report(wrong.help("merge the two"));
        }
    }

    pub(super) fn is_last(&self, object: &Object<'_>, property: &ObjectProp<'_>) -> bool {
        last(object, property.name.as_str()).is_some_and(|last| last.range == property.range)
    }
}
