//! The table of the fields of an entry: the type of each, the problem if a value has another type, and suggestions
//! for unknown names.

use serde_json::{Map, Value};

use super::parse_timeout;
use super::problem::EntryProblem;

/// Type of a field's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryFieldKind {
    Text,
    Texts,
    /// Texts by name.
    Pairs,
    Flag,
    /// A duration in milliseconds.
    Time,
    Transport,
    OAuth,
    /// The field is known but has no effect, for this reason.
    Unused(&'static str),
}

/// Whether an entry with this field wrong can still be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldImportance {
    /// The entry is unusable: it would start another server, or one with more tools.
    Critical,
    Minor,
}

pub(super) struct EntryField {
    name: &'static str,
    kind: EntryFieldKind,
    importance: FieldImportance,
}

const fn field(name: &'static str, kind: EntryFieldKind, weight: FieldImportance) -> EntryField {
    EntryField { name, kind, importance: weight }
}

/// The fields of an entry.
pub(super) const ENTRY_FIELDS: &[EntryField] = {
    use FieldImportance::{Critical, Minor};
    &[
        field("command", EntryFieldKind::Text, Critical),
        field("args", EntryFieldKind::Texts, Critical),
        field("env", EntryFieldKind::Pairs, Critical),
        field("cwd", EntryFieldKind::Text, Critical),
        field("url", EntryFieldKind::Text, Critical),
        field("httpUrl", EntryFieldKind::Text, Critical),
        field("type", EntryFieldKind::Transport, Critical),
        field("headers", EntryFieldKind::Pairs, Critical),
        field("includeTools", EntryFieldKind::Texts, Critical),
        field("excludeTools", EntryFieldKind::Texts, Critical),
        field("disabled", EntryFieldKind::Flag, Critical),
        field("timeout", EntryFieldKind::Time, Minor),
        field("trust", EntryFieldKind::Flag, Minor),
        field("description", EntryFieldKind::Text, Minor),
        field("oauth", EntryFieldKind::OAuth, Minor),
        field(
            "authProviderType",
            EntryFieldKind::Unused(
                "only `dynamic_discovery` is supported, and it is used for every server that requires it",
            ),
            Minor,
        ),
        field("targetAudience", EntryFieldKind::Unused("Google's credentials are not used for servers"), Minor),
        field("targetServiceAccount", EntryFieldKind::Unused("Google's credentials are not used for servers"), Minor),
        field("alwaysAllow", EntryFieldKind::Unused(UNASKED_TOOLS_HINT), Minor),
        field("autoApprove", EntryFieldKind::Unused(UNASKED_TOOLS_HINT), Minor),
        field("tcp", EntryFieldKind::Unused("servers are programs, or reached over HTTP"), Minor),
    ]
};

const OAUTH_FIELDS: &[EntryField] = {
    use FieldImportance::Minor;
    &[
        field("enabled", EntryFieldKind::Flag, Minor),
        field("clientId", EntryFieldKind::Text, Minor),
        field("clientSecret", EntryFieldKind::Text, Minor),
        field("authorizationUrl", EntryFieldKind::Text, Minor),
        field("tokenUrl", EntryFieldKind::Text, Minor),
        field("registrationUrl", EntryFieldKind::Text, Minor),
        field("issuer", EntryFieldKind::Text, Minor),
        field("redirectUri", EntryFieldKind::Text, Minor),
        field("scopes", EntryFieldKind::Texts, Minor),
        field("audiences", EntryFieldKind::Texts, Minor),
        field(
            "tokenParamName",
            EntryFieldKind::Unused("a token in an address ends up in logs; it is sent in a header instead"),
            Minor,
        ),
    ]
};

const UNASKED_TOOLS_HINT: &str = "`tools.allowed` in your own settings lists the tools that run unasked";

/// Names that other programs use for a field, with the names used here.
const FOREIGN_FIELD_NAMES: &[(&str, &str)] = &[
    ("transport", "type"),
    ("transportType", "type"),
    ("serverUrl", "url"),
    ("http_url", "httpUrl"),
    ("environment", "env"),
    ("envs", "env"),
    ("arguments", "args"),
    ("workingDirectory", "cwd"),
    ("cmd", "command"),
];

/// Names that other programs use for tool restrictions, with the names used here. They are honoured, so that no
/// restriction is lost.
pub(super) const FOREIGN_TOOL_LIST_NAMES: &[(&str, &str)] = &[
    ("include_tools", "includeTools"),
    ("enabledTools", "includeTools"),
    ("enabled_tools", "includeTools"),
    ("exclude_tools", "excludeTools"),
    ("disabledTools", "excludeTools"),
    ("disabled_tools", "excludeTools"),
];

/// Checks every field of an object.
pub(super) fn check_fields(
    entry: &Map<String, Value>,
    above: &[&str],
    fields: &[EntryField],
    problems: &mut Vec<EntryProblem>,
) {
    for (name, value) in entry {
        let at: Vec<&str> = above.iter().copied().chain([name.as_str()]).collect();
        match fields.iter().find(|field| field.name == name) {
            Some(field) if !value.is_null() => check_field(field, value, &at, problems),
            Some(_) => {}
            None => problems.extend(misspelled_field(name, &at, fields)),
        }
    }
}

fn check_field(field: &EntryField, value: &Value, at: &[&str], problems: &mut Vec<EntryProblem>) {
    let name = at.join(".");
    let wrong = |expected: &str, found: String| {
        let fate = if field.importance == FieldImportance::Critical { "" } else { "; it is ignored" };
        let problem = EntryProblem::error(at, format!("`{name}` should be {expected}, not {found}{fate}"));
        EntryProblem { is_fatal: field.importance == FieldImportance::Critical, ..problem }
            .expected(format!("expected {expected}"))
    };
    let found = || kind_of_value(value).to_owned();
    match field.kind {
        EntryFieldKind::Text if !value.is_string() => problems.push(wrong("a string", found())),
        EntryFieldKind::Text => {}
        EntryFieldKind::Flag if !value.is_boolean() => problems.push(wrong("true or false", found())),
        EntryFieldKind::Flag => {}
        EntryFieldKind::Texts | EntryFieldKind::Pairs => check_elements(field, value, at, problems, wrong),
        EntryFieldKind::Time if parse_timeout(value).is_none() => {
            let found = if value.is_number() { value.to_string() } else { found() };
            problems.push(wrong("a number of milliseconds above 0", found));
        }
        EntryFieldKind::Time => {}
        EntryFieldKind::Transport => {
            let known =
                value.as_str().is_some_and(|kind| TRANSPORT_KINDS.contains(&kind.to_ascii_lowercase().as_str()));
            if !known {
                let found = if value.is_string() { value.to_string() } else { found() };
                problems.push(wrong("\"stdio\", \"http\" or \"sse\"", found));
            }
        }
        EntryFieldKind::OAuth => match value {
            Value::Object(oauth) => check_fields(oauth, at, OAUTH_FIELDS, problems),
            _ => problems.push(wrong("an object", found())),
        },
        EntryFieldKind::Unused(_) if value.as_str() == Some("dynamic_discovery") => {}
        EntryFieldKind::Unused(because) => {
            problems.push(EntryProblem::warning(at, format!("`{name}` has no effect here: {because}")));
        }
    }
}

const TRANSPORT_KINDS: [&str; 4] = ["stdio", "http", "sse", "streamable-http"];

/// Checks that the elements of a list or table are texts; numbers and booleans are read as texts.
fn check_elements(
    field: &EntryField,
    value: &Value,
    at: &[&str],
    problems: &mut Vec<EntryProblem>,
    wrong: impl Fn(&str, String) -> EntryProblem,
) {
    let parts: Vec<(String, &Value)> = match (field.kind, value) {
        (EntryFieldKind::Texts, Value::Array(items)) => {
            items.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect()
        }
        (EntryFieldKind::Pairs, Value::Object(pairs)) => pairs.iter().map(|(name, one)| (name.clone(), one)).collect(),
        (EntryFieldKind::Texts, _) => {
            return problems.push(wrong("a list of strings", kind_of_value(value).to_owned()));
        }
        _ => return problems.push(wrong("an object of strings", kind_of_value(value).to_owned())),
    };
    for (step, part) in parts {
        let at: Vec<&str> = at.iter().copied().chain([step.as_str()]).collect();
        let name = at.join(".").escape_debug().to_string();
        match part {
            Value::String(text) if text.contains('\0') => {
                problems.push(EntryProblem::error(&at, format!("`{name}` has a zero byte")));
            }
            Value::String(_) => {}
            Value::Number(_) | Value::Bool(_) => {
                let text =
                    format!("`{name}` should be a string, not {}; it is read as \"{part}\"", kind_of_value(part));
                problems.push(EntryProblem::warning(&at, text).help(format!("write \"{part}\"")));
            }
            _ => {
                let problem =
                    EntryProblem::error(&at, format!("`{name}` should be a string, not {}", kind_of_value(part)));
                problems.push(EntryProblem { is_fatal: field.importance == FieldImportance::Critical, ..problem });
            }
        }
    }
}

/// Returns a warning for an unknown name that is close to a known one; any other may belong to another program.
fn misspelled_field(name: &str, at: &[&str], fields: &[EntryField]) -> Option<EntryProblem> {
    let elsewhere = FOREIGN_FIELD_NAMES.iter().find(|(other, _)| *other == name).map(|(_, known)| *known);
    let near = fields.iter().map(|field| field.name).find(|known| {
        name.eq_ignore_ascii_case(known) || (known.len() >= 4 && hookwright_hooks::is_within_typos(name, known, 1))
    });
    let meant = near.or(elsewhere.filter(|known| fields.iter().any(|field| field.name == *known)))?;
    let problem = EntryProblem::warning(at, format!("`{}` is not known here; it is ignored", name.escape_debug()));
    Some(EntryProblem { on_name: true, ..problem }.help(format!("did you mean `{meant}`?")))
}

pub(super) fn kind_of_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
