//! Reads `when` and `only` from their JSON objects. A `when` that is invalid matches every call, so that the calls that
//! its author meant are among them. A rule whose `only` is invalid does not load, so that it approves nothing.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::node_reader::NodeReader;
use crate::answers::Decision;
use crate::event::{EventKind, MatcherSubject};
use crate::jsonc::{last_property, value_kind};
use crate::matching::effect_filter::{
    CommandPattern, EffectBounds, EffectFilter, EffectFilterSpec, FlowPattern, PathGlob, StarPattern,
};
use crate::suggestion::nearest_name;

const WHEN_KEYS: [&str; 11] = [
    "writes",
    "reads",
    "deletes",
    "commands",
    "network",
    "repository",
    "services",
    "processes",
    "privileged",
    "flows",
    "certain",
];
const MATCHES_EVERY_CALL_NOTE: &str = "it counts as matching every call";

/// The key that holds lists of effects, and what follows if it is invalid.
struct FilterKey {
    name: &'static str,
    consequence: &'static str,
    keys: &'static [&'static str],
}

const WHEN: FilterKey = FilterKey { name: "when", consequence: MATCHES_EVERY_CALL_NOTE, keys: &WHEN_KEYS };
const ONLY: FilterKey = FilterKey {
    name: "only",
    consequence: "this rule does not load",
    // Calls that are uncertain are never within the `only` of a rule that allows.
    keys: WHEN_KEYS.split_at(WHEN_KEYS.len() - 1).0,
};

/// Like [`ONLY`], of a rule that confines: the kernel keeps calls that are uncertain.
const ONLY_OF_CONFINEMENT: FilterKey = FilterKey { keys: &WHEN_KEYS, ..ONLY };

/// Reads the `only` of a rule that allows or confines. `None`: it is missing or invalid, which is reported.
pub(super) fn read_only(read: &mut NodeReader<'_>, owner: &Object<'_>, decision: Decision) -> Option<EffectBounds> {
    const EXPECTED: &str = r#"expected "only": { "reads": ["**"], … }"#;
    let object = match last_property(owner, "only").map(|property| &property.value) {
        Some(Value::Object(object)) => object,
        Some(Value::NullKeyword(_)) | None => {
            let wrong = read.error_at(owner.range, "a rule that allows needs `only`; this rule does not load");
            read.report(wrong.expected(EXPECTED).help("`only` lists the effects that a call may have"));
            return None;
        }
        Some(other) => {
            let text = format!("`only` should be an object, not {}; {}", value_kind(other), ONLY.consequence);
            let wrong = read.error(other, text);
            read.report(wrong.expected(EXPECTED));
            return None;
        }
    };
    let text = compact_json(&Value::Object(object.clone()));
    let mut lists = EffectFilterSpec { text, ..EffectFilterSpec::default() };
    let key = if decision == Decision::Confine { &ONLY_OF_CONFINEMENT } else { &ONLY };
    read_lists(read, object, key, &mut lists);
    read_certain(read, object, key, &mut lists);
    for property in &object.properties {
        let Value::Array(array) = &property.value else { continue };
        let is_exception = |one: &Value<'_>| one.as_string_lit().is_some_and(|text| text.value.trim().starts_with('!'));
        if !array.elements.is_empty() && array.elements.iter().all(is_exception) {
            let text =
                format!("`{}` has only exceptions, which allow nothing; {}", property.name.as_str(), ONLY.consequence);
            let wrong = read.error(&property.value, text);
            read.report(wrong.help("name what is allowed too, as in [\"**\", \"!**/.env\"]"));
            lists.matches_all = true;
        }
    }
    (!lists.matches_all).then(|| EffectBounds::new(lists))
}

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
    read_lists(read, object, &WHEN, &mut inner);
    read_certain(read, object, &WHEN, &mut inner);
    if object.properties.is_empty() {
        let wrong = read.warning_at(object.range, format!("an empty `when` says nothing; {MATCHES_EVERY_CALL_NOTE}"));
        read.report(wrong.help(format!("it knows {}", WHEN_KEYS.join(", "))));
        inner.matches_all = true;
    }
    Some(EffectFilter::new(inner))
}

/// `"certain": false`.
fn read_certain(read: &mut NodeReader<'_>, object: &Object<'_>, key: &FilterKey, inner: &mut EffectFilterSpec) {
    match last_property(object, "certain").map(|property| &property.value) {
        None | Some(Value::NullKeyword(_)) => {}
        Some(Value::BooleanLit(certain)) if !certain.value => inner.uncertain = true,
        Some(other) => {
            let text = format!("`certain` can only be false in `{}`; {}", key.name, key.consequence);
            let wrong = read.error(other, text);
            let help = "\"certain\": false is about calls whose effects are not all known";
            read.report(wrong.expected("expected false").help(help));
            inner.matches_all = true;
        }
    }
}

/// Reads the lists of effects. `matches_all` says afterwards whether something in them is invalid.
fn read_lists(read: &mut NodeReader<'_>, object: &Object<'_>, key: &FilterKey, inner: &mut EffectFilterSpec) {
    let mut broken = report_unknown_keys(read, object, key);
    let star = |text: &str| Ok(StarPattern::new(text));
    inner.writes = read_patterns(read, object, ("writes", key), &mut broken, PathGlob::new);
    inner.reads = read_patterns(read, object, ("reads", key), &mut broken, PathGlob::new);
    inner.deletes = read_patterns(read, object, ("deletes", key), &mut broken, PathGlob::new);
    inner.network = read_patterns(read, object, ("network", key), &mut broken, star);
    inner.repository = read_patterns(read, object, ("repository", key), &mut broken, repository_pattern);
    inner.services = read_patterns(read, object, ("services", key), &mut broken, service_pattern);
    inner.processes = read_patterns(read, object, ("processes", key), &mut broken, star);
    inner.privileged = read_privileged(read, object, key, &mut broken);
    inner.flows = read_flows(read, object, key, &mut broken);
    inner.commands = read_patterns(read, object, ("commands", key), &mut broken, |text| Ok(CommandPattern::new(text)));
    inner.matches_all |= broken;
}

/// A kind of change to a repository, perhaps with what it is about: `discard`, `discard: branch *`.
fn repository_pattern(text: &str) -> Result<StarPattern, String> {
    const CHANGES: [&str; 5] = ["index", "commit", "refs", "config", "discard"];
    let (mark, rest) = split_exception(text);
    let (kind, what) = rest.split_once(':').map_or((rest, None), |(kind, what)| (kind, Some(what.trim())));
    let kind = kind.trim();
    if !kind.contains('*') && !CHANGES.contains(&kind) {
        return Err(format!("there is no change `{kind}`; there are {}", CHANGES.join(", ")));
    }
    Ok(StarPattern::new(&match what {
        Some(what) => format!("{mark}{kind}: {what}"),
        None => format!("{mark}{kind}"),
    }))
}

/// `SERVICE:VERB`, with `*` in both; a service alone means every verb.
fn service_pattern(text: &str) -> Result<StarPattern, String> {
    const VERBS: [&str; 4] = ["read", "write", "delete", "run"];
    let (mark, rest) = split_exception(text);
    let (service, verb) = rest.split_once(':').unwrap_or((rest, "*"));
    let (service, verb) = (service.trim(), verb.trim());
    if !verb.contains('*') && !VERBS.contains(&verb) {
        return Err(format!("there is no verb `{verb}`; there are {}", VERBS.join(", ")));
    }
    let names = || hookwright_analysis::programs::services().iter().map(|service| service.name);
    if !service.contains('*') && !names().any(|name| name == service) {
        let near = nearest_name(service, names()).map(|near| format!(" (did you mean `{near}`?)"));
        return Err(format!("there is no service `{service}`{}", near.unwrap_or_default()));
    }
    Ok(StarPattern::new(&format!("{mark}{service}:{verb}")))
}

/// The `!` of an exception, and the pattern behind it.
fn split_exception(text: &str) -> (&'static str, &str) {
    text.strip_prefix('!').map_or(("", text), |rest| ("!", rest))
}

/// `"privileged": true`.
fn read_privileged(read: &mut NodeReader<'_>, object: &Object<'_>, key: &FilterKey, broken: &mut bool) -> bool {
    match last_property(object, "privileged").map(|property| &property.value) {
        None | Some(Value::NullKeyword(_)) => false,
        Some(Value::BooleanLit(privileged)) if privileged.value => true,
        Some(other) => {
            let text = format!("`privileged` can only be true in `{}`; {}", key.name, key.consequence);
            let wrong = read.error(other, text);
            read.report(wrong.expected("expected true"));
            *broken = true;
            false
        }
    }
}

/// `"flows": [{ "from": ["~/.ssh/**", "env"], "to": "network" }]`.
fn read_flows(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    key: &FilterKey,
    broken: &mut bool,
) -> Option<Vec<FlowPattern>> {
    const EXPECTED: &str = r#"expected [{ "from": ["~/.ssh/**", "env"], "to": "network" }]"#;
    let property = last_property(object, "flows")?;
    let array = match &property.value {
        Value::Array(array) => array,
        Value::NullKeyword(_) => return None,
        other => {
            let kind = value_kind(other);
            let wrong = read.error(other, format!("`flows` should be an array, not {kind}; {}", key.consequence));
            read.report(wrong.expected(EXPECTED));
            *broken = true;
            return None;
        }
    };
    let mut flows = Vec::new();
    for element in &array.elements {
        let known = |name: &str| matches!(name, "from" | "to");
        match element.as_object().filter(|one| one.properties.iter().all(|property| known(property.name.as_str()))) {
            Some(one) => flows.push(read_flow(read, one, key, broken)),
            None => {
                let wrong = read.error(element, format!("a flow has `from` and `to`; {}", key.consequence));
                read.report(wrong.expected(EXPECTED));
                *broken = true;
            }
        }
    }
    Some(flows)
}

fn read_flow(read: &mut NodeReader<'_>, object: &Object<'_>, key: &FilterKey, broken: &mut bool) -> FlowPattern {
    let mut flow = FlowPattern { files: Vec::new(), names: Vec::new(), to: Vec::new() };
    for (name, text, place) in flow_texts(read, object, key, broken) {
        match name {
            "from" if FlowPattern::is_source_name(&text) => flow.names.push(StarPattern::new(&text)),
            "from" => match PathGlob::new(&text) {
                Ok(glob) => flow.files.push(glob),
                Err(problem) => {
                    let text = format!("`{text}` is not a valid pattern: {problem}; {}", key.consequence);
                    let wrong = read.error_at(place, text);
                    read.report(wrong);
                    *broken = true;
                }
            },
            _ => flow.to.push(StarPattern::new(&text)),
        }
    }
    flow
}

/// The texts of a flow's `from` and `to`, each of which is a string or a list of them.
fn flow_texts(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    key: &FilterKey,
    broken: &mut bool,
) -> Vec<(&'static str, String, jsonc_parser::common::Range)> {
    let mut texts = Vec::new();
    for name in ["from", "to"] {
        let Some(property) = last_property(object, name) else { continue };
        let values: Vec<&Value<'_>> = match &property.value {
            Value::Array(array) => array.elements.iter().collect(),
            other => vec![other],
        };
        for value in values {
            match value.as_string_lit().map(|text| text.value.trim()).filter(|text| !text.is_empty()) {
                Some(text) => texts.push((name, text.to_owned(), value.range())),
                None => {
                    let kind = value_kind(value);
                    let text = format!("`{name}` should hold patterns, not {kind}; {}", key.consequence);
                    let wrong = read.error(value, text);
                    read.report(wrong.expected("expected a string that is not empty"));
                    *broken = true;
                }
            }
        }
    }
    texts
}

/// Reports unknown keys and returns whether there are any: each may have been another condition to run.
fn report_unknown_keys(read: &mut NodeReader<'_>, object: &Object<'_>, key: &FilterKey) -> bool {
    read.report_duplicate_keys(object, &format!("`{}`", key.name));
    let mut unknown =
        object.properties.iter().filter(|property| !key.keys.contains(&property.name.as_str())).peekable();
    let found = unknown.peek().is_some();
    for property in unknown {
        let name = property.name.as_str();
        let text = format!("`{}` has no `{name}`; {}", key.name, key.consequence);
        let wrong = read.error_at(property.name.range(), text);
        let help = nearest_name(name, key.keys.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        read.report(wrong.help(help.unwrap_or_else(|| format!("it knows {}", key.keys.join(", ")))));
    }
    found
}

/// Reads a list of patterns; an invalid pattern makes the whole object invalid.
fn read_patterns<T>(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    (name, key): (&str, &FilterKey),
    broken: &mut bool,
    compile: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let property = last_property(object, name)?;
    let Value::Array(array) = &property.value else {
        if !matches!(property.value, Value::NullKeyword(_)) {
            let kind = value_kind(&property.value);
            let wrong = read.error(
                &property.value,
                format!("`{name}` should be an array of patterns, not {kind}; {}", key.consequence),
            );
            read.report(wrong.expected(r#"expected ["…"]"#));
            *broken = true;
        }
        return None;
    };
    if array.elements.is_empty() && key.name == WHEN.name {
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
                let wrong =
                    read.error(element, format!("`{text}` is not a valid pattern: {problem}; {}", key.consequence));
                let help = match name {
                    "repository" => "such as `discard`, `discard: branch *`, `!index`",
                    "services" => "such as `kubernetes:delete`, `*:write`, `!docker:read`",
                    _ => "patterns are globs such as `src/**`, `**/*.lock`, `~/.ssh/**`, `!src/generated/**`",
                };
                read.report(wrong.help(help));
            }
            None => {
                *broken = true;
                let kind = value_kind(element);
                let wrong =
                    read.error(element, format!("`{name}` should hold patterns, not {kind}; {}", key.consequence));
                read.report(wrong.expected("expected a string that is not empty"));
            }
        }
    }
    Some(patterns)
}

/// The JSON text of a value without comments and line breaks.
pub(super) fn compact_json(value: &Value<'_>) -> String {
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
