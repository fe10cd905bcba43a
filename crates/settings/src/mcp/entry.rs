//! One server's entry: what it may hold, the server that it means, and what is said where it is wrong.
//!
//! A field without which another server would be started than was meant takes the whole entry along; any other that is
//! wrong is left out alone. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use super::{DEFAULT_TIMEOUT, McpOAuth, McpServer, Transport};
use crate::json::{kind_of, last, plain, unfilled};

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

struct Field {
    name: &'static str,
    kind: Kind,
    weight: Weight,
}

const fn field(name: &'static str, kind: Kind, weight: Weight) -> Field {
    Field { name, kind, weight }
}

/// THE table of an entry's fields.
const FIELDS: &[Field] = {
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
const NARROWING: &[(&str, &str)] = &[
    ("include_tools", "includeTools"),
    ("enabledTools", "includeTools"),
    ("enabled_tools", "includeTools"),
    ("exclude_tools", "excludeTools"),
    ("disabledTools", "excludeTools"),
    ("disabled_tools", "excludeTools"),
];

/// Something that is wrong with an entry.
struct Problem {
    /// The way to it inside of the entry; the entry itself if empty.
    at: Vec<String>,
    /// Whether the field's name is meant rather than its value.
    on_name: bool,
    severity: Severity,
    text: String,
    expected: Option<String>,
    help: Option<String>,
    /// Whether the entry does not count for it.
    decides: bool,
}

impl Problem {
    fn new(at: &[&str], severity: Severity, text: String) -> Self {
        let at = at.iter().map(|step| (*step).to_owned()).collect();
        Problem { at, on_name: false, severity, text, expected: None, help: None, decides: false }
    }

    fn error(at: &[&str], text: String) -> Self {
        Problem { decides: true, ..Problem::new(at, Severity::Error, text) }
    }

    fn warning(at: &[&str], text: String) -> Self {
        Problem::new(at, Severity::Warning, text)
    }

    fn help(self, help: impl Into<String>) -> Self {
        Problem { help: Some(help.into()), ..self }
    }

    fn expected(self, expected: impl Into<String>) -> Self {
        Problem { expected: Some(expected.into()), ..self }
    }
}

/// Whether a server can have that name: one that can be shown and asked for.
pub fn is_fine_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

/// Whether the entry itself switches the server off, as other programs have it.
pub(super) fn says_disabled(entry: &Value) -> bool {
    entry.get("disabled") == Some(&Value::Bool(true))
}

/// The server that an entry means, or what is wrong with it.
pub(super) fn server(name: &str, entry: &Value, origin: &Source, root: &Path) -> Result<McpServer, String> {
    let mut problems = Vec::new();
    let server = read(name, entry, origin, root, &mut problems);
    match problems.into_iter().find(|problem| problem.decides) {
        Some(problem) => Err(problem.text),
        None => server.ok_or_else(|| "its entry is not understood".to_owned()),
    }
}

/// What is wrong with the entries of a file, each with its place. The values are the nodes', with variables filled in.
pub(crate) fn diagnose(node: &Node<'_>, values: &Value, origin: &Source, source: &SourceText<'_>) -> Vec<Diagnostic> {
    let object = match node {
        Node::Object(object) => object,
        Node::NullKeyword(_) => return Vec::new(),
        other => return vec![not_an_object(other, source)],
    };
    let counts: HashMap<&str, usize> =
        object.properties.iter().map(|one| (one.name.as_str(), one.range.start)).collect();
    let mut found = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if counts.get(name) != Some(&property.range.start) {
            let range = property.name.range();
            let text = format!("`{name}` stands twice in mcpServers; only the last one counts");
            found.push(source.diagnose(Severity::Error, range.start, range.end, text).help("merge the two"));
            continue;
        }
        let mut problems = Vec::new();
        read(name, values.get(name).unwrap_or(&Value::Null), origin, Path::new(""), &mut problems);
        for problem in problems {
            let range = if problem.at.is_empty() && problem.on_name {
                property.name.range()
            } else {
                place(&property.value, &problem)
            };
            let fate = if problem.decides { "; the server is left out" } else { "" };
            let text = format!("MCP server `{}`: {}{fate}", name.escape_debug(), problem.text);
            let mut wrong = source.diagnose(problem.severity, range.start, range.end, text);
            (wrong.expected, wrong.help) = (problem.expected, problem.help);
            found.push(wrong);
        }
    }
    found
}

/// The list that some write, with what they mean.
fn not_an_object(node: &Node<'_>, source: &SourceText<'_>) -> Diagnostic {
    let range = node.range();
    let text = format!("`mcpServers` should be an object, not {}; it is ignored", kind_of(node));
    let wrong = source.diagnose(Severity::Error, range.start, range.end, text);
    let wrong = wrong.expected("expected servers by name: { \"NAME\": { \"command\": … } }");
    let Node::Array(list) = node else { return wrong };
    let named: Vec<String> = list.elements.iter().filter_map(Node::as_object).filter_map(meant).take(3).collect();
    if named.is_empty() {
        return wrong;
    }
    let more = if list.elements.len() > named.len() { ", …" } else { "" };
    wrong.help(format!("write \"mcpServers\": {{ {}{more} }}", named.join(", ")))
}

/// An element of such a list as it should stand; the values of variables and headers need not be repeated.
fn meant(entry: &Object<'_>) -> Option<String> {
    let name = last(entry, "name")?.value.as_string_lit()?;
    let fields = entry.properties.iter().filter(|one| one.name.as_str() != "name").map(|one| {
        let value = match &one.value {
            Node::Object(_) => "{ … }".to_owned(),
            other => plain(other, &|text| Cow::Borrowed(text)).to_string(),
        };
        format!("{}: {value}", Value::from(one.name.as_str()))
    });
    Some(format!("{}: {{ {} }}", Value::from(name.value.as_ref()), fields.collect::<Vec<_>>().join(", ")))
}

/// Where a problem is.
fn place(entry: &Node<'_>, problem: &Problem) -> Range {
    let mut node = entry;
    for (depth, step) in problem.at.iter().enumerate() {
        let next = match node {
            Node::Object(object) => last(object, step).map(|property| (&property.value, property.name.range())),
            Node::Array(array) => {
                step.parse::<usize>().ok().and_then(|at| array.elements.get(at)).map(|one| (one, one.range()))
            }
            _ => None,
        };
        let Some((value, name)) = next else { break };
        if problem.on_name && depth + 1 == problem.at.len() {
            return name;
        }
        node = value;
    }
    node.range()
}

fn read(name: &str, entry: &Value, origin: &Source, root: &Path, problems: &mut Vec<Problem>) -> Option<McpServer> {
    if !is_fine_name(name) {
        let text = "a server's name can't be empty, longer than 200 bytes, or have control characters".to_owned();
        problems.push(Problem { on_name: true, ..Problem::error(&[], text) });
        return None;
    }
    let Value::Object(entry) = entry else {
        let text = format!("it should be an object, not {}", kind_of_value(entry));
        problems.push(Problem::error(&[], text).expected("expected { \"command\": … } or { \"url\": … }"));
        return None;
    };
    let entry = &narrowed(entry, problems);
    check(entry, &[], FIELDS, problems);
    let get = Entry(entry);
    let transport = transport(&get, root, problems)?;
    Some(McpServer {
        name: name.to_owned(),
        origin: origin.clone(),
        unset: unset(&transport),
        transport,
        timeout: get.time("timeout").unwrap_or(DEFAULT_TIMEOUT),
        trust: trust(&get, origin, problems),
        description: get.text("description"),
        include_tools: get.texts("includeTools"),
        exclude_tools: get.texts("excludeTools").unwrap_or_default(),
        oauth: entry.get("oauth").and_then(Value::as_object).map(|oauth| oauth_of(&Entry(oauth))),
    })
}

/// The entry with what takes tools away under the names that it has here.
fn narrowed<'e>(entry: &'e Map<String, Value>, problems: &mut Vec<Problem>) -> Cow<'e, Map<String, Value>> {
    let mut all = Cow::Borrowed(entry);
    for (theirs, ours) in NARROWING.iter().filter(|(theirs, _)| entry.contains_key(*theirs)) {
        let text = format!("`{theirs}` is read as `{ours}`, which is its name");
        problems.push(Problem { on_name: true, ..Problem::warning(&[theirs], text) }.help(format!("write `{ours}`")));
        let all = all.to_mut();
        let Some(value) = all.remove(*theirs) else { continue };
        match (all.get_mut(*ours), value) {
            // Tools that are left out are left out by each of two lists; those that are there must be in both.
            (Some(Value::Array(known)), Value::Array(more)) if *ours == "includeTools" => {
                known.retain(|tool| more.contains(tool));
            }
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => drop(all.insert((*ours).to_owned(), value)),
        }
    }
    all
}

/// Which servers' tools run unasked is the user's to say.
fn trust(get: &Entry<'_>, origin: &Source, problems: &mut Vec<Problem>) -> bool {
    if get.0.get("trust") != Some(&Value::Bool(true)) {
        return false;
    }
    let whose = match origin {
        Source::Project => "a project",
        Source::Extension(_) => "an extension",
        Source::User | Source::System | Source::Runtime => return true,
    };
    let problem = Problem::warning(&["trust"], format!("{whose} can't set `trust`; it is ignored"));
    problems.push(problem.help("say it in your own settings, or answer `always` when asked"));
    false
}

fn oauth_of(get: &Entry<'_>) -> McpOAuth {
    McpOAuth {
        enabled: get.0.get("enabled").and_then(Value::as_bool).unwrap_or(false),
        client_id: get.text("clientId"),
        client_secret: get.text("clientSecret"),
        authorization_url: get.text("authorizationUrl"),
        token_url: get.text("tokenUrl"),
        registration_url: get.text("registrationUrl"),
        issuer: get.text("issuer"),
        redirect_uri: get.text("redirectUri"),
        scopes: get.texts("scopes").unwrap_or_default(),
        audiences: get.texts("audiences").unwrap_or_default(),
    }
}

/// An address goes before a command, as with Gemini CLI; `type` decides where it is there.
fn transport(get: &Entry<'_>, root: &Path, problems: &mut Vec<Problem>) -> Option<Transport> {
    let (command, url, http_url) = (get.text("command"), get.text("url"), get.text("httpUrl"));
    let kind = get.0.get("type").and_then(Value::as_str).map(str::to_ascii_lowercase);
    let kind = kind.as_deref();
    let wants_command = kind == Some("stdio") || (url.is_none() && http_url.is_none());
    match (command, wants_command) {
        (Some(command), true) => Some(Transport::Stdio {
            command,
            args: get.texts("args").unwrap_or_default(),
            env: get.pairs("env"),
            cwd: get.text("cwd").map(|cwd| root.join(cwd)),
        }),
        (None, true) => {
            let missing = if kind == Some("stdio") { "`command`" } else { "`command` nor `url`" };
            let neither = if kind == Some("stdio") { "no" } else { "neither" };
            let problem = Problem::error(&[], format!("it has {neither} {missing}"));
            problems.push(problem.expected("expected { \"command\": … } or { \"url\": … }"));
            None
        }
        (command, false) => {
            if command.is_some() {
                let text = "it has both a command and an address; the address counts".to_owned();
                problems
                    .push(Problem::warning(&["command"], text).help("remove one of them, or say which with `type`"));
            }
            if url.is_some() && http_url.is_some() {
                let text = "it has both `url` and `httpUrl`; `httpUrl` counts".to_owned();
                problems.push(Problem::warning(&["url"], text).help("remove one of them"));
            }
            let (key, is_http) = if http_url.is_some() { ("httpUrl", true) } else { ("url", false) };
            let url = http_url.or(url)?;
            if let Some(name) = unfilled(&url).first().filter(|_| !is_address(&url)) {
                let text = format!("`{key}` is \"{}\", and nothing sets {name}", url.escape_debug());
                let help = format!("set {name}: in the environment, or among its extension's settings");
                problems.push(Problem { severity: Severity::Warning, ..Problem::error(&[key], text) }.help(help));
                return None;
            }
            if !is_address(&url) {
                let text = format!("`{key}` should be an http or https address, not \"{}\"", url.escape_debug());
                problems.push(Problem::error(&[key], text).expected("expected \"https://…\""));
                return None;
            }
            let headers = get.pairs("headers");
            Some(match kind {
                _ if is_http => Transport::Http { url, headers },
                Some("sse") => Transport::Sse { url, headers },
                Some(_) => Transport::Http { url, headers },
                None => Transport::HttpOrSse { url, headers },
            })
        }
    }
}

fn is_address(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    is_http && !host.is_empty() && !url.chars().any(|char| char.is_control() || char.is_whitespace())
}

/// References to variables that are still there after filling.
fn unset(transport: &Transport) -> Vec<String> {
    // What is given to a program may be a script of its own; only `${NAME}` is surely meant for us.
    let in_braces = |text: &&str, name: &str| text.contains(&format!("${{{name}}}"));
    let words: Vec<&str> = match transport {
        Transport::Stdio { command, args, .. } => args.iter().chain([command]).map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let given = words.iter().flat_map(|text| unfilled(text).into_iter().filter(move |name| in_braces(text, name)));
    let (pairs, url) = match transport {
        Transport::Stdio { env, .. } => (env, ""),
        Transport::Http { url, headers } | Transport::Sse { url, headers } | Transport::HttpOrSse { url, headers } => {
            (headers, url.as_str())
        }
    };
    let mut names: Vec<String> = pairs
        .iter()
        .map(|(_, value)| value.as_str())
        .chain([url])
        .flat_map(unfilled)
        .chain(given)
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Looks at every field of an object.
fn check(entry: &Map<String, Value>, above: &[&str], fields: &[Field], problems: &mut Vec<Problem>) {
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
        let close = known.len() >= 4 && known.len().abs_diff(name.len()) <= 2;
        name.eq_ignore_ascii_case(known) || (close && strsim::damerau_levenshtein(name, known) == 1)
    });
    let meant = near.or(elsewhere.filter(|known| fields.iter().any(|field| field.name == *known)))?;
    let problem = Problem::warning(at, format!("`{}` is not known here; it is ignored", name.escape_debug()));
    Some(Problem { on_name: true, ..problem }.help(format!("did you mean `{meant}`?")))
}

fn time(value: &Value) -> Option<Duration> {
    const LONGEST: f64 = 7.0 * 24.0 * 3600.0;
    let seconds = value.as_f64()? / 1000.0;
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(LONGEST)))
}

fn kind_of_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Reads fields whose kinds have been checked.
struct Entry<'e>(&'e Map<String, Value>);

impl Entry<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn texts(&self, name: &str) -> Option<Vec<String>> {
        Some(self.0.get(name)?.as_array()?.iter().filter_map(as_text).collect())
    }

    fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let pairs = self.0.get(name).and_then(Value::as_object);
        pairs.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), as_text(value)?))).collect()
    }

    fn time(&self, name: &str) -> Option<Duration> {
        time(self.0.get(name)?)
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
