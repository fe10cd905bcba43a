//! Reads an HTTP hook from its JSON object: the URL, and the headers sent with the input.

use std::net::{Ipv4Addr, Ipv6Addr};

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::node_reader::NodeReader;
use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect::Dialect;
use crate::hook::{HeaderPiece, HttpAction};
use crate::jsonc::last_property;

/// The keys that only HTTP hooks have.
pub(super) const HTTP_KEYS: [&str; 3] = ["url", "headers", "allowedEnvVars"];

/// Headers that control how the request is sent or how the response may be encoded; a hook cannot set them.
const RESERVED_HEADERS: [&str; 14] = [
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
    "connection",
    "keep-alive",
    "proxy-connection",
    "upgrade",
    "expect",
    "te",
    "trailer",
    "range",
];

/// Words that mark the names of headers with secret values.
const SECRET_HEADER_WORDS: [&str; 6] = ["auth", "token", "secret", "key", "cookie", "password"];

pub(super) fn read(read: &mut NodeReader<'_>, object: &Object<'_>, dialect: Dialect) -> Option<HttpAction> {
    let url = read_url(read, object)?;
    let allowed = read.read_strings(object, "allowedEnvVars");
    let headers = read_headers(read, object, &allowed)?;
    Some(HttpAction { url, headers, dialect })
}

fn read_url(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<String> {
    let Some(property) = last_property(object, "url") else {
        let wrong = read.error_at(object.range, "a hook of type \"http\" needs `url`; this one never runs");
        read.report(wrong.expected("expected \"url\": \"https://…\""));
        return None;
    };
    let Value::StringLit(url) = &property.value else {
        read.report_wrong_type("url", &property.value, "a string");
        return None;
    };
    let url = url.value.trim().to_owned();
    if let Some(variable) = parse_header_value(&url).iter().find_map(HeaderPiece::variable) {
        let wrong = read.warning(&property.value, format!("`${variable}` is not replaced in an address"));
        read.report(wrong.help(
            "variables are replaced only in `headers`, so that the address that you trust is the one that is used",
        ));
    }
    match url_problem(&url) {
        Some(UrlProblem::Invalid(text)) => {
            let wrong = read.error(&property.value, format!("`url` {text}; this hook never runs"));
            read.report(wrong.expected("expected an address such as \"https://policy.example.com/hook\""));
            None
        }
        Some(UrlProblem::Unencrypted) => {
            let text = "over http, anyone on the way to the other machine can read the input and forge the answer";
            let wrong = read.warning(&property.value, text);
            read.report(wrong.help("use https"));
            Some(url)
        }
        None => Some(url),
    }
}

/// A problem with a URL.
enum UrlProblem {
    /// The text is not a valid URL.
    Invalid(&'static str),
    /// The connection would not be encrypted.
    Unencrypted,
}

/// The problem with a URL, if there is one.
///
/// The check is stricter than HTTP requires: a user who is asked to trust a URL must read the host that is contacted,
/// so only spellings of a host that every URL parser reads alike are accepted.
fn url_problem(url: &str) -> Option<UrlProblem> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        _ => return Some(UrlProblem::Invalid("is not an http or https address")),
    };
    if url.contains(|char: char| char.is_whitespace() || char.is_control() || char == '\\') {
        return Some(UrlProblem::Invalid("has characters that are not allowed in an address"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some(UrlProblem::Invalid("has a user name or a password in it; send them in `headers`"));
    }
    let (host, port) = match authority.strip_prefix('[').map(|six| six.split_once(']')) {
        Some(Some((six, port))) => (six, port),
        Some(None) => return Some(UrlProblem::Invalid("has no valid host")),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return Some(UrlProblem::Invalid("has no valid port"));
    }
    let is_own = if authority.starts_with('[') {
        match host.parse::<Ipv6Addr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => return Some(UrlProblem::Invalid("has no valid host")),
        }
    } else {
        match (host.parse::<Ipv4Addr>(), is_host_name(host)) {
            (Ok(address), _) => address.is_loopback(),
            (Err(_), true) => host.eq_ignore_ascii_case("localhost"),
            (Err(_), false) => return Some(UrlProblem::Invalid("has no valid host")),
        }
    };
    (scheme == "http" && !is_own).then_some(UrlProblem::Unencrypted)
}

/// Whether a host is a name. A name whose last label starts with a digit could be parsed as an IP address, and is
/// rejected.
fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    host.split('.').all(is_label) && !last.starts_with(|first: char| first.is_ascii_digit())
}

/// Reads the headers.
///
/// A header that refers to a variable outside `allowedEnvVars` would be sent without its value, so such a hook is not
/// loaded.
fn read_headers(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    allowed: &[String],
) -> Option<Vec<(String, Vec<HeaderPiece>)>> {
    let Some(property) =
        last_property(object, "headers").filter(|property| !matches!(property.value, Value::NullKeyword(_)))
    else {
        return Some(Vec::new());
    };
    let Value::Object(given) = &property.value else {
        read.report_wrong_type("headers", &property.value, "an object of strings");
        return None;
    };
    read.report_duplicate_keys(given, "headers");
    // Every header is read, so that all problems are reported at once.
    let each: Vec<_> = given.properties.iter().map(|property| read_header(read, property, allowed)).collect();
    let mut headers: Vec<(String, Vec<HeaderPiece>)> = Vec::new();
    for (name, pieces) in each.into_iter().collect::<Option<Vec<_>>>()? {
        // The last of repeated names counts, as with any key.
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        headers.push((name, pieces));
    }
    Some(headers)
}

fn read_header(
    read: &mut NodeReader<'_>,
    header: &ObjectProp<'_>,
    allowed: &[String],
) -> Option<(String, Vec<HeaderPiece>)> {
    let name = header.name.as_str();
    let Value::StringLit(value) = &header.value else {
        read.report_wrong_type(&format!("headers.{name}"), &header.value, "a string");
        return None;
    };
    let lower = name.to_ascii_lowercase();
    let is_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
    let is_sendable = |char: char| char == ' ' || char == '\t' || char.is_ascii_graphic();
    let is_reserved = RESERVED_HEADERS.contains(&lower.as_str());
    if name.is_empty() || !name.chars().all(is_token) || is_reserved || !value.value.chars().all(is_sendable) {
        let text = format!("`{name}` can't be sent as a header; this hook never runs");
        let wrong = read.error_at(header.name.range(), text);
        read.report(if is_reserved { wrong.help("remove it: Hookwright sets it itself") } else { wrong });
        return None;
    }
    let pieces = parse_header_value(&value.value);
    let variables = || pieces.iter().filter_map(HeaderPiece::variable);
    if let Some(variable) = variables().find(|name| !allowed.iter().any(|known| known == name)) {
        let text = format!("`${variable}` is not in `allowedEnvVars`, so it is not sent; this hook never runs");
        let wrong = read.error(&header.value, text);
        read.report(wrong.help(match allowed {
            [] => format!("add \"allowedEnvVars\": [\"{variable}\"]"),
            _ => format!("add \"{variable}\" to `allowedEnvVars`"),
        }));
        return None;
    }
    if variables().next().is_none() && SECRET_HEADER_WORDS.iter().any(|word| lower.contains(word)) {
        let text = format!("anyone who can read this file can read the value of `{name}`");
        // The diagnostic does not show the line, which contains the secret.
        let place = read.source.location(header.name.range().start);
        let wrong = Diagnostic::about_location(Severity::Warning, &place, text);
        read.report(wrong.help("put it into a variable: \"Bearer $TOKEN\" with \"allowedEnvVars\": [\"TOKEN\"]"));
    }
    Some((name.to_owned(), pieces))
}

/// Splits a header value into text and `$NAME` or `${NAME}` variables.
fn parse_header_value(value: &str) -> Vec<HeaderPiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        let behind = &rest[at + 1..];
        let (name, length) = match behind.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, _)) => (name, name.len() + 3),
            None => {
                let end =
                    behind.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(behind.len());
                (&behind[..end], end + 1)
            }
        };
        let is_name = name.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        text.push_str(&rest[..at]);
        if is_name {
            pieces.push(HeaderPiece::Text(std::mem::take(&mut text)));
            pieces.push(HeaderPiece::Variable(name.to_owned()));
            rest = &rest[at + length..];
        } else {
            text.push('$');
            rest = behind;
        }
    }
    text.push_str(rest);
    pieces.push(HeaderPiece::Text(text));
    pieces.retain(|piece| !matches!(piece, HeaderPiece::Text(text) if text.is_empty()));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_unencrypted_and_invalid_urls_are_told_apart() {
        for good in [
            "https://p.example/hook",
            "https://p.example:8443?team=a#b",
            "https://xn--bcher-kva.example./x",
            "https://policy_1/@x",
            "http://localhost:1/x",
            "http://127.0.0.1",
            "http://[::1]:8/",
            "https://[2001:db8::1]/",
            "https://10.0.0.1:65535",
        ] {
            assert!(url_problem(good).is_none(), "{good}");
        }
        for open in [
            "http://p.example/hook",
            "http://10.0.0.1:80/",
            "http://localhost.example/",
            "http://127.0.0.1.example/",
            "http://127.example/",
            "http://[fe80::1]/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(matches!(url_problem(open), Some(UrlProblem::Unencrypted)), "{open}");
        }
        for none in [
            "",
            "p.example",
            "ftp://p.example",
            "file:///etc",
            "HTTPS://p.example",
            "https:/p.example",
            "https://",
            "https:///x",
            "https://:80/",
            "https://a b/",
            "https://u:p@h/",
            "https://u@h/",
            "https://good.example\\@evil.example/",
            "https://good.example\\.evil.example/",
            "https://a..b/",
            "https://bücher.example/",
            "https://a%2eb/",
            "https://h:/",
            "https://h:0/",
            "https://h:65536/",
            "https://h:+80/",
            "https://h:80:90/",
            "https://[::1/",
            "https://[::1]x/",
            "https://[::1%25eth0]/",
            "https://[v1.x]/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://127.0.0.01/",
            "http://1.2.3.4.5/",
            "https://h\u{0}/",
            "https://h/a\nb",
        ] {
            assert!(matches!(url_problem(none), Some(UrlProblem::Invalid(_))), "{none}");
        }
    }

    /// A URL that is accepted is sent to the host that the check has read.
    #[cfg(feature = "http")]
    #[test]
    fn urls_are_read_as_they_are_sent() {
        for (url, host, port) in [
            ("https://P.example/hook", "p.example", 443),
            ("http://127.0.0.1:81/@h", "127.0.0.1", 81),
            ("https://[2001:DB8::1]:9?a@b", "[2001:db8::1]", 9),
            ("https://xn--bcher-kva.example./x", "xn--bcher-kva.example.", 443),
        ] {
            assert!(url_problem(url).is_none(), "{url}");
            let sent = reqwest::Url::parse(url).unwrap();
            assert_eq!((sent.host_str(), sent.port_or_known_default()), (Some(host), Some(port)), "{url}");
            assert_eq!(sent.username(), "", "{url}");
        }
    }

    #[test]
    fn variables_are_found_in_values() {
        let text = |text: &str| HeaderPiece::Text(text.into());
        let variable = |name: &str| HeaderPiece::Variable(name.into());
        assert_eq!(parse_header_value("Bearer $TOKEN"), [text("Bearer "), variable("TOKEN")]);
        assert_eq!(parse_header_value("${A}-$B_2.x"), [variable("A"), text("-"), variable("B_2"), text(".x")]);
        assert_eq!(parse_header_value("5$ and $1 and ${} and ${a b} $"), [text("5$ and $1 and ${} and ${a b} $")]);
        assert_eq!(parse_header_value(""), []);
    }
}
