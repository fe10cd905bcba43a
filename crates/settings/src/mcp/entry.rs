//! Parses one server's entry. `entry/fields.rs` has the table of fields, `entry/problem.rs` reports problems.
//!
//! A wrong field that could change which server is started, or add tools to it, invalidates the whole entry; any
//! other wrong field is ignored by itself.

mod fields;
mod problem;

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use hookwright_hooks::{Severity, Source};
use serde_json::{Map, Value};

use super::{DEFAULT_REQUEST_TIMEOUT, McpOAuth, McpServer, McpTransport, UnresolvedEntry};
use crate::json::unfilled_names;
use fields::{ENTRY_FIELDS, FOREIGN_TOOL_LIST_NAMES, check_fields, kind_of_value};
use problem::EntryProblem;
pub(crate) use problem::diagnose_entries;

/// Whether a text can be a server's name.
pub fn is_valid_server_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

/// Whether the entry itself disables the server, as other programs write it.
pub(super) fn is_disabled_entry(entry: &Value) -> bool {
    entry.get("disabled") == Some(&Value::Bool(true))
}

/// Returns the server that an entry defines, or what is wrong with it.
pub(super) fn server_from_entry(name: &str, entry: &Value, origin: &Source, root: &Path) -> Result<McpServer, String> {
    let mut problems = Vec::new();
    let server = read_entry(name, entry, origin, root, &mut problems);
    match problems.into_iter().find(|problem| problem.is_fatal) {
        Some(problem) => Err(problem.text),
        None => server.ok_or_else(|| "its entry is not valid".to_owned()),
    }
}

/// Returns all problems of an entry.
pub(crate) fn entry_problems(name: &str, entry: &Value, origin: &Source) -> Vec<EntryProblem> {
    let mut problems = Vec::new();
    read_entry(name, entry, origin, Path::new(""), &mut problems);
    problems
}

fn read_entry(
    name: &str,
    entry: &Value,
    origin: &Source,
    root: &Path,
    problems: &mut Vec<EntryProblem>,
) -> Option<McpServer> {
    if !is_valid_server_name(name) {
        let text = "a server's name can't be empty, longer than 200 bytes, or have control characters".to_owned();
        problems.push(EntryProblem { on_name: true, ..EntryProblem::error(&[], text) });
        return None;
    }
    let Value::Object(entry) = entry else {
        let text = format!("it should be an object, not {}", kind_of_value(entry));
        problems.push(EntryProblem::error(&[], text).expected("expected { \"command\": … } or { \"url\": … }"));
        return None;
    };
    let entry = &with_canonical_tool_lists(entry, problems);
    check_fields(entry, &[], ENTRY_FIELDS, problems);
    let get = EntryFields(entry);
    let transport = read_transport(&get, root, problems)?;
    Some(McpServer {
        name: name.to_owned(),
        origin: origin.clone(),
        unset_variables: unset_variables(&transport),
        transport,
        timeout: get.duration("timeout").unwrap_or(DEFAULT_REQUEST_TIMEOUT),
        trust: read_trust(&get, origin, problems),
        description: get.text("description"),
        include_tools: get.strings("includeTools"),
        exclude_tools: get.strings("excludeTools").unwrap_or_default(),
        unresolved: unresolved_fields(entry),
        oauth: entry.get("oauth").and_then(Value::as_object).map(|oauth| read_oauth(&EntryFields(oauth))),
    })
}

/// Renames other programs' keys for tool restrictions in an entry to the names used here.
fn with_canonical_tool_lists<'e>(
    entry: &'e Map<String, Value>,
    problems: &mut Vec<EntryProblem>,
) -> Cow<'e, Map<String, Value>> {
    let mut all = Cow::Borrowed(entry);
    for (theirs, ours) in FOREIGN_TOOL_LIST_NAMES.iter().filter(|(theirs, _)| entry.contains_key(*theirs)) {
        let text = format!("`{theirs}` is read as `{ours}`, the correct name");
        problems.push(
            EntryProblem { on_name: true, ..EntryProblem::warning(&[theirs], text) }.help(format!("write `{ours}`")),
        );
        let all = all.to_mut();
        let Some(value) = all.remove(*theirs) else { continue };
        match (all.get_mut(*ours), value) {
            // A tool is excluded if either list has it, and included only if both have it.
            (Some(Value::Array(known)), Value::Array(more)) if *ours == "includeTools" => {
                known.retain(|tool| more.contains(tool));
            }
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => drop(all.insert((*ours).to_owned(), value)),
        }
    }
    all
}

/// Returns the parts of an entry that may be shown, before variables are filled in.
pub(crate) fn unresolved_entry(entry: &Value) -> UnresolvedEntry {
    entry.as_object().map(unresolved_fields).unwrap_or_default()
}

fn unresolved_fields(entry: &Map<String, Value>) -> UnresolvedEntry {
    let text = |key| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(scalar_text);
    UnresolvedEntry { args: args.collect(), url: text("httpUrl").or_else(|| text("url")) }
}

/// Reads `trust`, by which tools run without asking; only the user and the system may set it.
fn read_trust(get: &EntryFields<'_>, origin: &Source, problems: &mut Vec<EntryProblem>) -> bool {
    if get.0.get("trust") != Some(&Value::Bool(true)) {
        return false;
    }
    let owner = match origin {
        Source::Project => "a project",
        Source::Extension(_) => "an extension",
        Source::User | Source::System | Source::Runtime => return true,
    };
    let problem = EntryProblem::warning(&["trust"], format!("{owner} can't set `trust`; it is ignored"));
    problems.push(problem.help("set it in your own settings, or answer `always` when you are asked"));
    false
}

fn read_oauth(get: &EntryFields<'_>) -> McpOAuth {
    McpOAuth {
        enabled: get.0.get("enabled").and_then(Value::as_bool).unwrap_or(false),
        client_id: get.text("clientId"),
        client_secret: get.text("clientSecret"),
        authorization_url: get.text("authorizationUrl"),
        token_url: get.text("tokenUrl"),
        registration_url: get.text("registrationUrl"),
        issuer: get.text("issuer"),
        redirect_uri: get.text("redirectUri"),
        scopes: get.strings("scopes").unwrap_or_default(),
        audiences: get.strings("audiences").unwrap_or_default(),
    }
}

/// Reads the transport. As in Gemini CLI an address has precedence over a command, unless `type` is set.
fn read_transport(get: &EntryFields<'_>, root: &Path, problems: &mut Vec<EntryProblem>) -> Option<McpTransport> {
    let (command, url, http_url) = (get.text("command"), get.text("url"), get.text("httpUrl"));
    let kind = get.0.get("type").and_then(Value::as_str).map(str::to_ascii_lowercase);
    let kind = kind.as_deref();
    let wants_command = kind == Some("stdio") || (url.is_none() && http_url.is_none());
    match (command, wants_command) {
        (Some(command), true) => Some(McpTransport::Stdio {
            command,
            args: get.strings("args").unwrap_or_default(),
            env: get.pairs("env"),
            cwd: get.text("cwd").map(|cwd| root.join(cwd)),
        }),
        (None, true) => {
            let missing = if kind == Some("stdio") { "`command`" } else { "`command` nor `url`" };
            let neither = if kind == Some("stdio") { "no" } else { "neither" };
            let problem = EntryProblem::error(&[], format!("it has {neither} {missing}"));
            problems.push(problem.expected("expected { \"command\": … } or { \"url\": … }"));
            None
        }
        (command, false) => {
            if command.is_some() {
                let text = "it has both a command and an address; the address is used".to_owned();
                problems.push(
                    EntryProblem::warning(&["command"], text).help("remove one of them, or say which with `type`"),
                );
            }
            if url.is_some() && http_url.is_some() {
                let text = "it has both `url` and `httpUrl`; `httpUrl` is used".to_owned();
                problems.push(EntryProblem::warning(&["url"], text).help("remove one of them"));
            }
            let (key, is_http) = if http_url.is_some() { ("httpUrl", true) } else { ("url", false) };
            let url = http_url.or(url)?;
            if let Some(name) = unfilled_names(&url).first().filter(|_| !is_http_url(&url)) {
                let text = format!("`{key}` is \"{}\", but {name} is not set", url.escape_debug());
                let help = format!("set {name} in the environment or in the settings of its extension");
                problems
                    .push(EntryProblem { severity: Severity::Warning, ..EntryProblem::error(&[key], text) }.help(help));
                return None;
            }
            if !is_http_url(&url) {
                let text = format!("`{key}` should be an http or https address, not \"{}\"", url.escape_debug());
                problems.push(EntryProblem::error(&[key], text).expected("expected \"https://…\""));
                return None;
            }
            let headers = get.pairs("headers");
            Some(match kind {
                _ if is_http => McpTransport::Http { url, headers },
                Some("sse") => McpTransport::Sse { url, headers },
                Some(_) => McpTransport::Http { url, headers },
                None => McpTransport::HttpOrSse { url, headers },
            })
        }
    }
}

/// Whether a text is an http or https address with a valid host.
pub(super) fn is_http_url(url: &str) -> bool {
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

/// Returns variables that are still in the transport after filling.
fn unset_variables(transport: &McpTransport) -> Vec<String> {
    // An argument may be a script with variables of its own; only `${NAME}` is certainly meant for us.
    let in_braces = |text: &&str, name: &str| text.contains(&format!("${{{name}}}"));
    let words: Vec<&str> = match transport {
        McpTransport::Stdio { command, args, .. } => args.iter().chain([command]).map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let given =
        words.iter().flat_map(|text| unfilled_names(text).into_iter().filter(move |name| in_braces(text, name)));
    let (pairs, url) = match transport {
        McpTransport::Stdio { env, .. } => (env, ""),
        McpTransport::Http { url, headers }
        | McpTransport::Sse { url, headers }
        | McpTransport::HttpOrSse { url, headers } => (headers, url.as_str()),
    };
    let mut names: Vec<String> = pairs
        .iter()
        .map(|(_, value)| value.as_str())
        .chain([url])
        .flat_map(unfilled_names)
        .chain(given)
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn parse_timeout(value: &Value) -> Option<Duration> {
    const MAX_TIMEOUT_SECONDS: f64 = 7.0 * 24.0 * 3600.0;
    let seconds = value.as_f64()? / 1000.0;
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_TIMEOUT_SECONDS)))
}

/// Accessor for fields whose types have been checked.
struct EntryFields<'e>(&'e Map<String, Value>);

impl EntryFields<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn strings(&self, name: &str) -> Option<Vec<String>> {
        Some(self.0.get(name)?.as_array()?.iter().filter_map(scalar_text).collect())
    }

    fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let pairs = self.0.get(name).and_then(Value::as_object);
        pairs.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), scalar_text(value)?))).collect()
    }

    fn duration(&self, name: &str) -> Option<Duration> {
        parse_timeout(self.0.get(name)?)
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
