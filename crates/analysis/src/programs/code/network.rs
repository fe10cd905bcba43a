//! Addresses and hosts.

use std::net::Ipv6Addr;

use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth};
use crate::value::Argument;

/// The host of an address with a scheme.
pub(crate) fn host_of_url(word: &str) -> Option<String> {
    let word = word.trim_matches(|char| matches!(char, '<' | '>' | '(' | ')' | '"' | '\'' | ',' | '.'));
    let (_, rest) = word.split_once("://")?;
    // What stands before a backslash is read differently by different programs.
    if rest.split(['/', '?', '#']).next().unwrap_or_default().contains('\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    bare_host(authority)
}

/// The host of `user@host:port`.
pub(crate) fn bare_host(authority: &str) -> Option<String> {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None if host.parse::<Ipv6Addr>().is_ok() => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Some(address.to_canonical().to_string());
    }
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_' | ':');
    let host = host.to_ascii_lowercase();
    (!host.is_empty() && host.chars().all(plain)).then(|| plain_address(&host).unwrap_or(host))
}

/// An address of IPv4 with four decimal numbers, whatever it is written with: `127.1`, `0x7f000001`, `2130706433`.
fn plain_address(host: &str) -> Option<String> {
    let number = |text: &str| match (text.strip_prefix("0x"), text.strip_prefix('0')) {
        (Some(""), _) => Some(0),
        (Some(hexadecimal), _) => u32::from_str_radix(hexadecimal, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    };
    let numbers: Option<Vec<u32>> = host.split('.').map(number).collect();
    let numbers = numbers.filter(|numbers| numbers.len() <= 4)?;
    let (last, bytes) = numbers.split_last()?;
    let mut address = *last;
    for (at, byte) in bytes.iter().enumerate() {
        address = address.checked_add(byte.checked_shl(24 - 8 * at as u32).filter(|_| *byte < 256)?)?;
    }
    let fits = bytes.is_empty() || u64::from(*last) < 1 << (8 * (4 - bytes.len()));
    fits.then(|| std::net::Ipv4Addr::from(address).to_string())
}

/// The host of `user@host:path`, or of an address.
pub(crate) fn host_of_copy(word: &str) -> Option<String> {
    if word.contains("://") {
        return host_of_url(word);
    }
    let (host, _) = word.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty())?;
    bare_host(host)
}

/// An address that is contacted; `file:` addresses are read.
pub(crate) fn url(call: &mut Call<'_, '_>, word: &Argument) {
    let Some(text) = word.text() else {
        // The host may be known although the rest is not.
        let known = host_of_url(&word.prefix)
            .filter(|_| word.prefix.split("://").nth(1).is_some_and(|rest| rest.contains('/')));
        return match known.filter(|_| !word.prefix.contains('@')) {
            Some(host) => call.interpreter.contact(&host),
            None => call.interpreter.unsure(Aspect::Network, format!("{} is only known when it runs", word.shown)),
        };
    };
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if text.contains(['{', '}', '[', ']', '\\', '%']) || text.contains(char::is_whitespace) {
        // Globs and escapes make several hosts of one word.
        let simple = host_of_url(text).filter(|_| {
            !text
                .split("://")
                .nth(1)
                .unwrap_or(text)
                .split('/')
                .next()
                .unwrap_or_default()
                .contains(['{', '[', '%', '\\'])
        });
        return match simple.filter(|_| scheme.as_deref() != Some("file")) {
            Some(host) => call.interpreter.contact(&host),
            None => call.interpreter.unsure_all(format!("the address {text} may be read in several ways")),
        };
    }
    match scheme.as_deref() {
        Some("file") if text.contains(['?', '#']) => {
            call.interpreter.unsure(Aspect::Reads, format!("where the path of {text} ends is not clear"));
        }
        Some("ipfs" | "ipns") => call.interpreter.unsure(Aspect::Network, "a gateway is asked that settings name"),
        Some("file") => {
            let rest = text.split_once("://").map_or("", |(_, rest)| rest);
            let path = rest.find('/').map_or(rest, |at| &rest[at..]).to_owned();
            call.interpreter.touch_text(Access::Read, &path, Depth::Itself, &call.state);
        }
        None if text.to_ascii_lowercase().starts_with("file:") => {
            let path = text["file:".len()..].to_owned();
            call.interpreter.touch_text(Access::Read, &path, Depth::Itself, &call.state);
        }
        Some(_) => match host_of_url(text) {
            Some(host) => call.interpreter.contact(&host),
            None => call.interpreter.unsure(Aspect::Network, format!("the host of {text} is not clear")),
        },
        None => host(call, word),
    }
}

/// A host that is contacted.
pub(crate) fn host(call: &mut Call<'_, '_>, word: &Argument) {
    let found = word.text().and_then(|text| match text.contains("://") {
        true => host_of_url(text),
        false => bare_host(text.split(['/', '?', '#']).next().unwrap_or_default()),
    });
    match found {
        Some(host) => call.interpreter.contact(&host),
        None => call.interpreter.unsure(Aspect::Network, format!("the host of {} is not clear", word.shown)),
    }
}

/// `host:path`, or a path of this machine.
pub(crate) fn remote(call: &mut Call<'_, '_>, word: &Argument, access: Access) {
    match word.text() {
        Some("-") => call.read_dash(Depth::Itself),
        Some(text) if text.contains(':') => match host_of_copy(text) {
            Some(host) => call.interpreter.contact(&host),
            None => call.touch(access, word, Depth::Tree),
        },
        Some(text) => {
            let path = call.state.path(text);
            call.touch(access, word, Depth::Tree);
            // scp follows links.
            if call.name == "scp" && path.is_none_or(|path| call.interpreter.may_hold_links(&path)) {
                call.interpreter.unsure(access, "links in a tree are followed");
            }
        }
        None => call.interpreter.unsure_all(format!("{} is only known when it runs", word.shown)),
    }
}

/// An address, or a file or directory of this machine; `-` is the input.
pub(crate) fn remote_or_file(call: &mut Call<'_, '_>, word: &Argument) {
    match word.text() {
        Some("-") => call.read_dash(Depth::Itself),
        Some(text) if text.contains("://") => url(call, word),
        _ => call.touch(Access::Read, word, Depth::Tree),
    }
}
