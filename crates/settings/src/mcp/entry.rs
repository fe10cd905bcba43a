//! One server's entry, and the server that it means. What it may hold is `entry/fields.rs`, what is said where it is wrong
//! `entry/problem.rs`.
//!
//! A field without which another server would be started than was meant takes the whole entry along; any other that is
//! wrong is left out alone. Pure.

mod fields;
mod problem;

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use hookwright_hooks::{Severity, Source};
use serde_json::{Map, Value};

use super::{DEFAULT_TIMEOUT, McpOAuth, McpServer, Transport, Written};
use crate::json::unfilled;
use fields::{FIELDS, NARROWING, check, kind_of_value};
use problem::Problem;
pub(crate) use problem::diagnose;

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

/// All that is wrong with an entry.
pub(crate) fn problems(name: &str, entry: &Value, origin: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    read(name, entry, origin, Path::new(""), &mut problems);
    problems
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
        written: as_written(entry),
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

/// What others may be told of an entry, as it stands there.
pub(crate) fn written(entry: &Value) -> Written {
    entry.as_object().map(as_written).unwrap_or_default()
}

fn as_written(entry: &Map<String, Value>) -> Written {
    let text = |key| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(as_text);
    Written { args: args.collect(), url: text("httpUrl").or_else(|| text("url")) }
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

/// Whether it is an http or https address with a host that there can be.
pub(super) fn is_address(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').or(port.is_empty().then_some("80"))),
        None => place.split_once(':').map_or((place, Some("80")), |(host, port)| (host, Some(port))),
    };
    let is_odd = |char: char| char.is_control() || char.is_whitespace() || "<>\"\\^`{|}%$".contains(char);
    is_http
        && !host.is_empty()
        && !host.contains(is_odd)
        && port.is_some_and(|port| port.parse::<u16>().is_ok())
        && !url.chars().any(|char| char.is_control() || char.is_whitespace())
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

fn time(value: &Value) -> Option<Duration> {
    const LONGEST: f64 = 7.0 * 24.0 * 3600.0;
    let seconds = value.as_f64()? / 1000.0;
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(LONGEST)))
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
