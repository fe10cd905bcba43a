//! `when` out of its JSON object. One that is not understood counts as matching every call: whoever writes one has something
//! in mind that is to be watched.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::node::NodeReader;
use crate::event::{EventKind, Subject};
use crate::jsonc::{kind_of, last};
use crate::near::nearest;
use crate::when::{CommandPattern, Glob, Inner, Name, When};

const KEYS: [&str; 6] = ["writes", "reads", "deletes", "commands", "network", "certain"];
const COUNTS: &str = "it counts as matching every call";

/// The filter of a definition or a hook, if it has one.
pub(super) fn read(read: &mut NodeReader<'_>, kind: EventKind, owner: &Object<'_>) -> Option<When> {
    let property = last(owner, "when")?;
    let object = match &property.value {
        Value::Object(object) => object,
        Value::NullKeyword(_) => return None,
        other => {
            let wrong = read.error(other, format!("`when` should be an object, not {}; {COUNTS}", kind_of(other)));
            read.report(wrong.expected(r#"expected { "writes": ["…"], … }"#));
            return Some(When::new(Inner { always: true, text: shown(other), ..Inner::default() }));
        }
    };
    if kind.info().subject != Subject::ToolName {
        let text = format!("{kind} is about no tool call, so `when` has no effect here; these hooks run every time");
        let wrong = read.error_at(property.name.range(), text);
        read.report(wrong.help("`when` works on BeforeTool and AfterTool"));
        return None;
    }
    let mut inner = Inner { text: shown(&property.value), ..Inner::default() };
    inner.always |= unknown_keys(read, object);
    inner.writes = list(read, object, "writes", &mut inner.always, Glob::new);
    inner.reads = list(read, object, "reads", &mut inner.always, Glob::new);
    inner.deletes = list(read, object, "deletes", &mut inner.always, Glob::new);
    inner.network = list(read, object, "network", &mut inner.always, |text| Ok(Name::new(text)));
    inner.commands = list(read, object, "commands", &mut inner.always, |text| Ok(CommandPattern::new(text)));
    match last(object, "certain").map(|property| &property.value) {
        None | Some(Value::NullKeyword(_)) => {}
        Some(Value::BooleanLit(certain)) if !certain.value => inner.uncertain = true,
        Some(other) => {
            let wrong = read.error(other, format!("`certain` can only be false in a `when`; {COUNTS}"));
            let help = "\"certain\": false runs the hook on calls of which not everything can be told";
            read.report(wrong.expected("expected false").help(help));
            inner.always = true;
        }
    }
    if object.properties.is_empty() {
        let wrong = read.warning_at(object.range, format!("an empty `when` says nothing; {COUNTS}"));
        read.report(wrong.help(format!("it knows {}", KEYS.join(", "))));
        inner.always = true;
    }
    Some(When::new(inner))
}

/// Whether there are keys that nobody knows: each may have been one more reason to run.
fn unknown_keys(read: &mut NodeReader<'_>, object: &Object<'_>) -> bool {
    read.duplicate_keys(object, "`when`");
    let mut unknown = object.properties.iter().filter(|property| !KEYS.contains(&property.name.as_str())).peekable();
    let found = unknown.peek().is_some();
    for property in unknown {
        let name = property.name.as_str();
        let wrong = read.error_at(property.name.range(), format!("`when` has no `{name}`; {COUNTS}"));
        let help = nearest(name, KEYS.into_iter()).map(|near| format!("did you mean `{near}`?"));
        read.report(wrong.help(help.unwrap_or_else(|| format!("it knows {}", KEYS.join(", ")))));
    }
    found
}

/// A list of patterns; whatever is none makes the whole `when` one that is not understood.
fn list<T>(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    name: &str,
    broken: &mut bool,
    compile: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let property = last(object, name)?;
    let Value::Array(array) = &property.value else {
        if !matches!(property.value, Value::NullKeyword(_)) {
            let kind = kind_of(&property.value);
            let wrong =
                read.error(&property.value, format!("`{name}` should be an array of patterns, not {kind}; {COUNTS}"));
            read.report(wrong.expected(r#"expected ["…"]"#));
            *broken = true;
        }
        return None;
    };
    if array.elements.is_empty() {
        let wrong = read.warning(&property.value, format!("an empty list of `{name}` matches nothing"));
        read.report(wrong.help(format!("[\"*\"] matches everything; without `{name}` it is not asked")));
    }
    let mut patterns = Vec::new();
    for element in &array.elements {
        let text =
            element.as_string_lit().map(|text| text.value.trim()).filter(|text| !text.is_empty() && *text != "!");
        let compiled = text.map(&compile);
        match compiled {
            Some(Ok(pattern)) => patterns.push(pattern),
            Some(Err(problem)) => {
                *broken = true;
                let text = text.unwrap_or_default();
                let wrong = read.error(element, format!("`{text}` is no pattern: {problem}; {COUNTS}"));
                read.report(
                    wrong.help("patterns are globs such as `src/**`, `**/*.lock`, `~/.ssh/**`, `!src/generated/**`"),
                );
            }
            None => {
                *broken = true;
                let kind = kind_of(element);
                let wrong = read.error(element, format!("`{name}` should hold patterns, not {kind}; {COUNTS}"));
                read.report(wrong.expected("expected a string that is not empty"));
            }
        }
    }
    Some(patterns)
}

/// A value without comments and line breaks.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) => serde_json::Value::from(text.value.as_ref()).to_string(),
        Value::NumberLit(number) => number.value.to_owned(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        Value::NullKeyword(_) => "null".to_owned(),
        Value::Array(array) => format!("[{}]", array.elements.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let one = |property: &jsonc_parser::ast::ObjectProp<'_>| {
                format!("{}:{}", serde_json::Value::from(property.name.as_str()), shown(&property.value))
            };
            format!("{{{}}}", object.properties.iter().map(one).collect::<Vec<_>>().join(","))
        }
    }
}
