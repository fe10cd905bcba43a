//! A service that answers in a hook's place, out of its JSON object: where it is, and what it is sent beside the input.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::node::NodeReader;
use crate::dialect::Dialect;
use crate::hook::{HeaderPiece, HttpAction};
use crate::jsonc::last;

/// The keys that only a hook of this type has.
pub(super) const KEYS: [&str; 3] = ["url", "headers", "allowedEnvVars"];

/// Headers that say how the message itself is sent.
const RESERVED: [&str; 6] = ["host", "content-length", "transfer-encoding", "connection", "content-type", "upgrade"];

pub(super) fn read(read: &mut NodeReader<'_>, object: &Object<'_>, dialect: Dialect) -> Option<HttpAction> {
    let url = url(read, object)?;
    let allowed = read.strings(object, "allowedEnvVars");
    let headers = headers(read, object, &allowed)?;
    Some(HttpAction { url, headers, dialect })
}

fn url(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<String> {
    let Some(property) = last(object, "url") else {
        let wrong = read.error_at(object.range, "a hook of type \"http\" needs `url`; this one never runs");
        read.report(wrong.expected("expected \"url\": \"https://…\""));
        return None;
    };
    let Value::StringLit(url) = &property.value else {
        read.wrong_type("url", &property.value, "a string");
        return None;
    };
    let url = url.value.trim().to_owned();
    match trouble_with(&url) {
        Some(Trouble::None(text)) => {
            let wrong = read.error(&property.value, format!("`url` {text}; this hook never runs"));
            read.report(wrong.expected("expected an address such as \"https://policy.example.com/hook\""));
            None
        }
        Some(Trouble::Open) => {
            let text = "what goes to another machine over http can be read and answered by anybody on the way";
            let wrong = read.warning(&property.value, text);
            read.report(wrong.help("use https"));
            Some(url)
        }
        None => Some(url),
    }
}

/// What is wrong with an address.
enum Trouble {
    /// It is none.
    None(&'static str),
    /// Nothing keeps others from listening.
    Open,
}

fn trouble_with(url: &str) -> Option<Trouble> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        _ => return Some(Trouble::None("is no http or https address")),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || url.contains(|char: char| char.is_whitespace() || char.is_control()) {
        return Some(Trouble::None("names no machine"));
    }
    if authority.contains('@') {
        return Some(Trouble::None("holds a name or a password; send them in `headers`"));
    }
    let host = match authority.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return Some(Trouble::None("names no machine"));
    }
    let is_own = host == "localhost" || host == "::1" || host.starts_with("127.");
    (scheme == "http" && !is_own).then_some(Trouble::Open)
}

/// The headers. One that names a variable which it may not have would be sent without what it is for: then there is no hook.
fn headers(
    read: &mut NodeReader<'_>,
    object: &Object<'_>,
    allowed: &[String],
) -> Option<Vec<(String, Vec<HeaderPiece>)>> {
    let Some(property) = last(object, "headers").filter(|property| !matches!(property.value, Value::NullKeyword(_)))
    else {
        return Some(Vec::new());
    };
    let Value::Object(given) = &property.value else {
        read.wrong_type("headers", &property.value, "an object of strings");
        return None;
    };
    let mut headers = Vec::new();
    for header in &given.properties {
        let name = header.name.as_str();
        let Value::StringLit(value) = &header.value else {
            read.wrong_type(&format!("headers.{name}"), &header.value, "a string");
            return None;
        };
        let is_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        let is_reserved = RESERVED.contains(&name.to_ascii_lowercase().as_str());
        if name.is_empty() || !name.chars().all(is_token) || is_reserved || value.value.contains(['\r', '\n', '\0']) {
            let wrong =
                read.error_at(header.name.range(), format!("`{name}` can't be sent as a header; this hook never runs"));
            read.report(wrong);
            return None;
        }
        let pieces = pieces(&value.value);
        let unknown = pieces.iter().find_map(|piece| match piece {
            HeaderPiece::Variable(name) if !allowed.contains(name) => Some(name),
            _ => None,
        });
        if let Some(variable) = unknown {
            let text =
                format!("`${variable}` is not among `allowedEnvVars`, so that it is not sent; this hook never runs");
            let wrong = read.error(&header.value, text);
            read.report(wrong.help(format!("add \"allowedEnvVars\": [\"{variable}\"]")));
            return None;
        }
        headers.push((name.to_owned(), pieces));
    }
    Some(headers)
}

/// A value with its `$NAME`s and `${NAME}`s.
fn pieces(value: &str) -> Vec<HeaderPiece> {
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
    fn addresses_are_told_from_what_is_none() {
        for good in [
            "https://p.example/hook",
            "https://p.example:8443",
            "http://localhost:1/x",
            "http://127.0.0.1",
            "http://[::1]:8/",
        ] {
            assert!(trouble_with(good).is_none(), "{good}");
        }
        for open in ["http://p.example/hook", "http://10.0.0.1:80/", "http://localhost.example/", "http://[fe80::1]/"] {
            assert!(matches!(trouble_with(open), Some(Trouble::Open)), "{open}");
        }
        for none in [
            "",
            "p.example",
            "ftp://p.example",
            "file:///etc",
            "https://",
            "https:///x",
            "https://:80/",
            "https://a b/",
            "https://u:p@h/",
        ] {
            assert!(matches!(trouble_with(none), Some(Trouble::None(_))), "{none}");
        }
    }

    #[test]
    fn variables_are_found_in_values() {
        let text = |text: &str| HeaderPiece::Text(text.into());
        let variable = |name: &str| HeaderPiece::Variable(name.into());
        assert_eq!(pieces("Bearer $TOKEN"), [text("Bearer "), variable("TOKEN")]);
        assert_eq!(pieces("${A}-$B_2.x"), [variable("A"), text("-"), variable("B_2"), text(".x")]);
        assert_eq!(pieces("5$ and $1 and ${} and ${a b} $"), [text("5$ and $1 and ${} and ${a b} $")]);
        assert_eq!(pieces(""), []);
    }
}
