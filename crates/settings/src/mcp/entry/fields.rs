//! THE table of an entry's fields: what each holds, what is wrong with one that holds something else, and what was meant by
//! one that nobody knows.

use serde_json::{Map, Value};

use super::problem::Problem;
use super::time;

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    /// Names and their texts.
    Pairs,
    Flag,
    /// Milliseconds.
    Time,
    Transport,
    OAuth,
    /// It is understood and changes nothing, because of this.
    Unused(&'static str),
}

/// Whether an entry counts in which this field is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// It would be another server, or one with more tools.
    Decides,
    Minor,
}

pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    weight: Weight,
}

const fn field(name: &'static str, kind: Kind, weight: Weight) -> Field {
    Field { name, kind, weight }
}

/// THE table of an entry's fields.
pub(super) const FIELDS: &[Field] = {
    use Weight::{Decides, Minor};
    &[
        field("command", Kind::Text, Decides),
        field("args", Kind::Texts, Decides),
        field("env", Kind::Pairs, Decides),
        field("cwd", Kind::Text, Decides),
        field("url", Kind::Text, Decides),
        field("httpUrl", Kind::Text, Decides),
        field("type", Kind::Transport, Decides),
        field("headers", Kind::Pairs, Decides),
        field("includeTools", Kind::Texts, Decides),
        field("excludeTools", Kind::Texts, Decides),
        field("disabled", Kind::Flag, Decides),
        field("timeout", Kind::Time, Minor),
        field("trust", Kind::Flag, Minor),
        field("description", Kind::Text, Minor),
        field("oauth", Kind::OAuth, Minor),
        field(
            "authProviderType",
            Kind::Unused("only `dynamic_discovery` is done, and that wherever a server asks"),
            Minor,
        ),
        field("targetAudience", Kind::Unused("Google's credentials are not used for servers"), Minor),
        field("targetServiceAccount", Kind::Unused("Google's credentials are not used for servers"), Minor),
        field("alwaysAllow", Kind::Unused(UNASKED), Minor),
        field("autoApprove", Kind::Unused(UNASKED), Minor),
        field("tcp", Kind::Unused("servers are programs, or reached over HTTP"), Minor),
    ]
};

const OAUTH_FIELDS: &[Field] = {
    use Weight::Minor;
    &[
        field("enabled", Kind::Flag, Minor),
        field("clientId", Kind::Text, Minor),
        field("clientSecret", Kind::Text, Minor),
        field("authorizationUrl", Kind::Text, Minor),
        field("tokenUrl", Kind::Text, Minor),
        field("registrationUrl", Kind::Text, Minor),
        field("issuer", Kind::Text, Minor),
        field("redirectUri", Kind::Text, Minor),
        field("scopes", Kind::Texts, Minor),
        field("audiences", Kind::Texts, Minor),
        field("tokenParamName", Kind::Unused("a token in an address ends up in logs; it goes into a header"), Minor),
    ]
};

const UNASKED: &str = "which tools run unasked is said in `tools.allowed` of your own settings";

/// What other programs call a field.
const ELSEWHERE: &[(&str, &str)] = &[
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

/// What other programs call a field that takes tools away. It counts under any name: nothing that was shut is open here.
pub(super) const NARROWING: &[(&str, &str)] = &[
    ("include_tools", "includeTools"),
    ("enabledTools", "includeTools"),
    ("enabled_tools", "includeTools"),
    ("exclude_tools", "excludeTools"),
    ("disabledTools", "excludeTools"),
    ("disabled_tools", "excludeTools"),
];

/// Looks at every field of an object.
pub(super) fn check(entry: &Map<String, Value>, above: &[&str], fields: &[Field], problems: &mut Vec<Problem>) {
    for (name, value) in entry {
        let at: Vec<&str> = above.iter().copied().chain([name.as_str()]).collect();
        match fields.iter().find(|field| field.name == name) {
            Some(field) if !value.is_null() => check_field(field, value, &at, problems),
            Some(_) => {}
            None => problems.extend(misspelt(name, &at, fields)),
        }
    }
}

fn check_field(field: &Field, value: &Value, at: &[&str], problems: &mut Vec<Problem>) {
    let name = at.join(".");
    let wrong = |expected: &str, found: String| {
        let fate = if field.weight == Weight::Decides { "" } else { "; it is ignored" };
        let problem = Problem::error(at, format!("`{name}` should be {expected}, not {found}{fate}"));
        Problem { decides: field.weight == Weight::Decides, ..problem }.expected(format!("expected {expected}"))
    };
    let found = || kind_of_value(value).to_owned();
    match field.kind {
        Kind::Text if !value.is_string() => problems.push(wrong("a string", found())),
        Kind::Text => {}
        Kind::Flag if !value.is_boolean() => problems.push(wrong("true or false", found())),
        Kind::Flag => {}
        Kind::Texts | Kind::Pairs => check_all(field, value, at, problems, wrong),
        Kind::Time if time(value).is_none() => {
            let found = if value.is_number() { value.to_string() } else { found() };
            problems.push(wrong("a number of milliseconds above 0", found));
        }
        Kind::Time => {}
        Kind::Transport => {
            let known = value.as_str().is_some_and(|kind| KINDS.contains(&kind.to_ascii_lowercase().as_str()));
            if !known {
                let found = if value.is_string() { value.to_string() } else { found() };
                problems.push(wrong("\"stdio\", \"http\" or \"sse\"", found));
            }
        }
        Kind::OAuth => match value {
            Value::Object(oauth) => check(oauth, at, OAUTH_FIELDS, problems),
            _ => problems.push(wrong("an object", found())),
        },
        Kind::Unused(_) if value.as_str() == Some("dynamic_discovery") => {}
        Kind::Unused(because) => {
            problems.push(Problem::warning(at, format!("`{name}` has no effect here: {because}")));
        }
    }
}

const KINDS: [&str; 4] = ["stdio", "http", "sse", "streamable-http"];

/// Of lists and tables every text; numbers and the like are read as the text that stands there.
fn check_all(
    field: &Field,
    value: &Value,
    at: &[&str],
    problems: &mut Vec<Problem>,
    wrong: impl Fn(&str, String) -> Problem,
) {
    let parts: Vec<(String, &Value)> = match (field.kind, value) {
        (Kind::Texts, Value::Array(items)) => items.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect(),
        (Kind::Pairs, Value::Object(pairs)) => pairs.iter().map(|(name, one)| (name.clone(), one)).collect(),
        (Kind::Texts, _) => return problems.push(wrong("a list of strings", kind_of_value(value).to_owned())),
        _ => return problems.push(wrong("an object of strings", kind_of_value(value).to_owned())),
    };
    for (step, part) in parts {
        let at: Vec<&str> = at.iter().copied().chain([step.as_str()]).collect();
        let name = at.join(".").escape_debug().to_string();
        match part {
            Value::String(text) if text.contains('\0') => {
                problems.push(Problem::error(&at, format!("`{name}` has a zero byte")));
            }
            Value::String(_) => {}
            Value::Number(_) | Value::Bool(_) => {
                let text =
                    format!("`{name}` should be a string, not {}; it is read as \"{part}\"", kind_of_value(part));
                problems.push(Problem::warning(&at, text).help(format!("write \"{part}\"")));
            }
            _ => {
                let problem = Problem::error(&at, format!("`{name}` should be a string, not {}", kind_of_value(part)));
                problems.push(Problem { decides: field.weight == Weight::Decides, ..problem });
            }
        }
    }
}

/// A name that nobody knows may be another program's; one that is near to a known one is a mistake.
fn misspelt(name: &str, at: &[&str], fields: &[Field]) -> Option<Problem> {
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, known)| *known);
    let near = fields.iter().map(|field| field.name).find(|known| {
        name.eq_ignore_ascii_case(known) || (known.len() >= 4 && hookwright_hooks::is_near(name, known, 1))
    });
    let meant = near.or(elsewhere.filter(|known| fields.iter().any(|field| field.name == *known)))?;
    let problem = Problem::warning(at, format!("`{}` is not known here; it is ignored", name.escape_debug()));
    Some(Problem { on_name: true, ..problem }.help(format!("did you mean `{meant}`?")))
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
