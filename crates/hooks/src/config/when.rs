//! Reads `when` from its JSON object. One that is invalid matches every call, so that the calls that its author meant
//! are among them.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::node_reader::NodeReader;
use crate::event::{EventKind, MatcherSubject};
use crate::jsonc::{last_property, value_kind};
use crate::matching::effect_filter::{CommandPattern, EffectFilter, EffectFilterSpec, HostPattern, PathGlob};
use crate::suggestion::nearest_name;

const WHEN_KEYS: [&str; 6] = ["writes", "reads", "deletes", "commands", "network", "certain"];
const MATCHES_EVERY_CALL_NOTE: &str = "it counts as matching every call";

/// Reads the effect filter of a definition or a hook, if it has one.
pub(super) fn read(read: &mut NodeReader<'_>, kind: EventKind, owner: &Object<'_>) -> Option<EffectFilter> {
    let property = last_property(owner, "when")?;
    let object = match &property.value {
        Value::Object(object) => object,
        Value::NullKeyword(_) => return None,
        other => {
            let wrong = read.error(
                other,
                format!("`when` should be an object, not {}; {MATCHES_EVERY_CALL_NOTE}", value_kind(other)),
            );
            read.report(wrong.expected(r#"expected { "writes": ["…"], … }"#));
            return Some(EffectFilter::new(EffectFilterSpec {
                matches_all: true,
                text: compact_json(other),
                ..EffectFilterSpec::default()
            }));
        }
    };
    if kind.info().subject != MatcherSubject::ToolName {
        let text = format!("{kind} has no tool call, so `when` has no effect here; these hooks run every time");
        let wrong = read.error_at(property.name.range(), text);
        read.report(wrong.help("`when` works on BeforeTool and AfterTool"));
        return None;
    }
    let mut inner = EffectFilterSpec { text: compact_json(&property.value), ..EffectFilterSpec::default() };
    inner.matches_all |= report_unknown_keys(read, object);
    inner.writes = read_patterns(read, object, "writes", &mut inner.matches_all, PathGlob::new);
    inner.reads = read_patterns(read, object, "reads", &mut inner.matches_all, PathGlob::new);
    inner.deletes = read_patterns(read, object, "deletes", &mut inner.matches_all, PathGlob::new);
    inner.network = read_patterns(read, object, "network", &mut inner.matches_all, |text| Ok(HostPattern::new(text)));
    inner.commands =
        read_patterns(read, object, "commands", &mut inner.matches_all, |text| Ok(CommandPattern::new(text)));
    match last_property(object, "certain").map(|property| &property.value) {
        None | Some(Value::NullKeyword(_)) => {}
        Some(Value::BooleanLit(certain)) if !certain.value => inner.uncertain = true,
        Some(other) => {
            let wrong =
                read.error(other, format!("`certain` can only be false in a `when`; {MATCHES_EVERY_CALL_NOTE}"));
            let help = "\"certain\": false runs the hook on calls whose effects are not all known";
            read.report(wrong.expected("expected false").help(help));
            inner.matches_all = true;
        }
    }
    if object.properties.is_empty() {
        let wrong = read.warning_at(object.range, format!("an empty `when` says nothing; {MATCHES_EVERY_CALL_NOTE}"));
        read.report(wrong.help(format!("it knows {}", WHEN_KEYS.join(", "))));
        inner.matches_all = true;
    }
    Some(EffectFilter::new(inner))
}

/// Reports unknown keys and returns whether there are any: each may have been another condition to run.
fn report_unknown_keys(read: &mut NodeReader<'_>, object: &Object<'_>) -> bool {
    read.report_duplicate_keys(object, "`when`");
    let mut unknown =
        object.properties.iter().filter(|property| !WHEN_KEYS.contains(&property.name.as_str())).peekable();
    let found = unknown.peek().is_some();
    for property in unknown {
        let name = property.name.as_str();
        let wrong = read.error_at(property.name.range(), format!("`when` has no `{name}`; {MATCHES_EVERY_CALL_NOTE}"));
        let help = nearest_name(name, WHEN_KEYS.into_iter()).map(|near| format!("did you mean `{near}`?"));
        read.report(wrong.help(help.unwrap_or_else(|| format!("it knows {}", WHEN_KEYS.join(", ")))));
    }
    found
}

/// Reads a list of patterns; an invalid pattern makes the whole `when` invalid.
fn read_patterns<T>(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    name: &str,
    broken: &mut bool,
    compile: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let property = last_property(object, name)?;
    let Value::Array(array) = &property.value else {
        if !matches!(property.value, Value::NullKeyword(_)) {
            let kind = value_kind(&property.value);
            let wrong = read.error(
                &property.value,
                format!("`{name}` should be an array of patterns, not {kind}; {MATCHES_EVERY_CALL_NOTE}"),
            );
            read.report(wrong.expected(r#"expected ["…"]"#));
            *broken = true;
        }
        return None;
    };
    if array.elements.is_empty() {
        let wrong = read.warning(&property.value, format!("an empty list of `{name}` matches nothing"));
        read.report(wrong.help(format!("[\"*\"] matches everything; without `{name}`, it is not checked")));
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
                let wrong = read
                    .error(element, format!("`{text}` is not a valid pattern: {problem}; {MATCHES_EVERY_CALL_NOTE}"));
                read.report(
                    wrong.help("patterns are globs such as `src/**`, `**/*.lock`, `~/.ssh/**`, `!src/generated/**`"),
                );
            }
            None => {
                *broken = true;
                let kind = value_kind(element);
                let wrong = read
                    .error(element, format!("`{name}` should hold patterns, not {kind}; {MATCHES_EVERY_CALL_NOTE}"));
                read.report(wrong.expected("expected a string that is not empty"));
            }
        }
    }
    Some(patterns)
}

/// The JSON text of a value without comments and line breaks.
fn compact_json(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(text) => serde_json::Value::from(text.value.as_ref()).to_string(),
        Value::NumberLit(number) => number.value.to_owned(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        Value::NullKeyword(_) => "null".to_owned(),
        Value::Array(array) => format!("[{}]", array.elements.iter().map(compact_json).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let one = |property: &jsonc_parser::ast::ObjectProp<'_>| {
                format!("{}:{}", serde_json::Value::from(property.name.as_str()), compact_json(&property.value))
            };
            format!("{{{}}}", object.properties.iter().map(one).collect::<Vec<_>>().join(","))
        }
    }
}
