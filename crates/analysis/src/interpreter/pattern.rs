//! Patterns and braces: what they come to.

use std::path::Path;

use crate::budget::Budget;
use crate::disk::Disk;
use crate::syntax::{Dialect, Piece};

/// A character, and whether quotes protect it.
pub(super) type Marked = (char, bool);

/// The units that a name in a directory costs.
const UNITS_PER_NAME: usize = 128;
const MAX_NAMES: usize = 20_000;

/// Whether `*`, `?` or `[…]` stand in it without quotes.
pub(super) fn is_pattern(chars: &[Marked]) -> bool {
    let has = |wanted: char| chars.contains(&(wanted, false));
    has('*') || has('?') || (has('[') && chars.iter().any(|(char, _)| *char == ']'))
}

/// Whether every shell of a dialect reads a pattern alike: `[^a]` is `[!a]` to bash alone.
pub(super) fn is_portable(chars: &[Marked], dialect: Dialect) -> bool {
    dialect == Dialect::Bash || !chars.windows(2).any(|pair| pair == [('[', false), ('^', false)])
}

/// The paths that a pattern names, the pattern itself where there are none; nothing if that can't be told.
pub(super) fn glob(
    pattern: &[Marked],
    cwd: Option<&Path>,
    disk: &dyn Disk,
    budget: &Budget,
    max: usize,
) -> Option<Vec<String>> {
    // What stands in brackets is not modelled, apart from plain characters and ranges of ASCII.
    let mut found = vec![String::new()];
    let parts: Vec<&[Marked]> = pattern.split(|(char, _)| *char == '/').collect();
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let mut next = Vec::new();
        if !is_pattern(part) {
            let name: String = part.iter().map(|(char, _)| *char).collect();
            next = found.into_iter().map(|base| format!("{base}{name}")).collect();
        } else {
            let tokens = tokens(part)?;
            let hidden = part.first().is_some_and(|(char, _)| *char == '.');
            for base in found {
                let directory = match (base.is_empty(), base.starts_with('/')) {
                    (true, _) => cwd?.to_owned(),
                    (false, true) => base.clone().into(),
                    (false, false) => cwd?.join(&base),
                };
                let Some(names) = disk.names(&directory, MAX_NAMES) else {
                    match crate::paths::is_directory(disk, &directory) {
                        true => return None,
                        false => continue,
                    }
                };
                if !budget.spend(UNITS_PER_NAME * (1 + names.len())) {
                    return None;
                }
                // How many characters a name outside of ASCII has depends on the locale.
                let counts = tokens.iter().any(|token| matches!(token, Token::One | Token::Set { .. }));
                if counts && names.iter().any(|name| !name.is_ascii()) {
                    return None;
                }
                let fits = |name: &&String| (hidden || !name.starts_with('.')) && matches(&tokens, name);
                next.extend(names.iter().filter(fits).map(|name| format!("{base}{name}")));
                if next.len() > max {
                    return None;
                }
            }
        }
        if !last {
            next.iter_mut().for_each(|path| path.push('/'));
        }
        found = next;
    }
    let exists = |path: &String| {
        let whole = if path.starts_with('/') { path.into() } else { cwd.unwrap_or(Path::new("")).join(path) };
        disk.kind(&whole).is_some()
    };
    found.retain(|path| exists(path));
    found.sort();
    match found.is_empty() {
        true => Some(vec![pattern.iter().map(|(char, _)| *char).collect()]),
        false => Some(found),
    }
}

/// A part of a pattern.
enum Token {
    Char(char),
    One,
    Any,
    Set { negated: bool, ranges: Vec<(char, char)> },
}

fn tokens(pattern: &[Marked]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some((char, quoted)) = pattern.get(at).copied() {
        at += 1;
        match (char, quoted) {
            ('*', false) => tokens.push(Token::Any),
            ('?', false) => tokens.push(Token::One),
            // It comes from a variable and may protect what follows.
            ('\\', false) => return None,
            ('[', false) => {
                let end = at + 1 + pattern.get(at + 1..)?.iter().position(|(char, _)| *char == ']')?;
                let inside = pattern.get(at..end)?;
                // A quoted bracket ends nothing.
                if pattern.get(end) != Some(&(']', false)) {
                    return None;
                }
                // Classes, quotes and characters outside of ASCII depend on the locale or on details.
                let odd = |(char, quoted): &Marked| {
                    *quoted || matches!(char, '[' | ':' | '.' | '=' | '\\') || !char.is_ascii()
                };
                let (negated, inside) = match inside.first() {
                    Some(('!' | '^', false)) => (true, &inside[1..]),
                    _ => (false, inside),
                };
                if inside.is_empty() || inside.iter().any(odd) {
                    return None;
                }
                let chars: Vec<char> = inside.iter().map(|(char, _)| *char).collect();
                let mut ranges = Vec::new();
                let mut from = 0;
                while let Some(&first) = chars.get(from) {
                    match (chars.get(from + 1), chars.get(from + 2)) {
                        // Ranges of letters follow the locale.
                        (Some('-'), Some(&last)) if first.is_ascii_digit() && last.is_ascii_digit() => {
                            ranges.push((first, last));
                            from += 3;
                        }
                        (Some('-'), Some(_)) => return None,
                        _ => {
                            ranges.push((first, first));
                            from += 1;
                        }
                    }
                }
                tokens.push(Token::Set { negated, ranges });
                at = end + 1;
            }
            (char, _) => tokens.push(Token::Char(char)),
        }
    }
    Some(tokens)
}

/// Whether a text fits a pattern, in time proportional to both.
fn matches(tokens: &[Token], text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < chars.len() {
        let fits = match tokens.get(token) {
            Some(Token::Any) => {
                retry = Some((token, at));
                token += 1;
                continue;
            }
            Some(Token::One) => true,
            Some(Token::Char(char)) => *char == chars[at],
            Some(Token::Set { negated, ranges }) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&chars[at])) != *negated
            }
            None => false,
        };
        match (fits, retry) {
            (true, _) => {
                token += 1;
                at += 1;
            }
            (false, Some((any, from))) => {
                token = any + 1;
                at = from + 1;
                retry = Some((any, from + 1));
            }
            (false, None) => return false,
        }
    }
    tokens[token..].iter().all(|token| matches!(token, Token::Any))
}

/// The text without the part at its beginning or end that fits a pattern.
pub(super) fn remove(text: &str, pattern: &[Marked], longest: bool, suffix: bool) -> Option<String> {
    let tokens = tokens(pattern)?;
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // The shortest suffix begins last, the shortest prefix ends first.
    if longest != suffix {
        cuts.reverse();
    }
    for cut in cuts {
        let (head, tail) = text.split_at(cut);
        match suffix {
            true if matches(&tokens, tail) => return Some(head.to_owned()),
            false if matches(&tokens, head) => return Some(tail.to_owned()),
            _ => {}
        }
    }
    Some(text.to_owned())
}

/// What a word with braces comes to; nothing if there are too many, or it can't be told.
pub(super) fn braces(pieces: &[Piece], max: usize) -> Option<Vec<Vec<Piece>>> {
    let units = flatten(pieces);
    let expanded = expand(&units, max)?;
    Some(expanded.into_iter().map(unflatten).collect())
}

/// A character outside of quotes, or anything else.
#[derive(Clone)]
enum Unit {
    Plain(char),
    Other(Piece),
}

fn flatten(pieces: &[Piece]) -> Vec<Unit> {
    let mut units = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => units.extend(text.chars().map(Unit::Plain)),
            other => units.push(Unit::Other(other.clone())),
        }
    }
    units
}

fn unflatten(units: Vec<Unit>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for unit in units {
        match (unit, pieces.last_mut()) {
            (Unit::Plain(char), Some(Piece::Literal(text))) => text.push(char),
            (Unit::Plain(char), _) => pieces.push(Piece::Literal(char.to_string())),
            (Unit::Other(piece), _) => pieces.push(piece),
        }
    }
    pieces
}

fn expand(units: &[Unit], max: usize) -> Option<Vec<Vec<Unit>>> {
    let is = |unit: &Unit, wanted: char| matches!(unit, Unit::Plain(char) if *char == wanted);
    let Some(open) = units.iter().position(|unit| is(unit, '{')) else { return Some(vec![units.to_vec()]) };
    // The brace that closes it, and the commas between.
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut close = None;
    for (at, unit) in units.iter().enumerate().skip(open) {
        if is(unit, '{') {
            depth += 1;
        } else if is(unit, '}') {
            depth -= 1;
            if depth == 0 {
                close = Some(at);
                break;
            }
        } else if is(unit, ',') && depth == 1 {
            commas.push(at);
        }
    }
    let Some(close) = close else {
        // Unbalanced braces mean themselves, unless there are others that do not.
        return if units[open + 1..].iter().any(|unit| is(unit, '{')) { None } else { Some(vec![units.to_vec()]) };
    };
    let inside = &units[open + 1..close];
    let parts: Vec<Vec<Unit>> = if commas.is_empty() {
        let text: Option<String> =
            inside.iter().map(|unit| if let Unit::Plain(char) = unit { Some(*char) } else { None }).collect();
        match text.as_deref().map(sequence) {
            Some(Sequence::Words(words)) => {
                words.into_iter().map(|word| word.chars().map(Unit::Plain).collect()).collect()
            }
            Some(Sequence::Unknown) => return None,
            // `{}` and `{x}` mean themselves.
            Some(Sequence::No) => {
                let mut kept = vec![units[..=close].to_vec()];
                let rest = expand(&units[close + 1..], max)?;
                kept = product(&kept, &rest, max)?;
                return Some(kept);
            }
            None => return if inside.is_empty() { Some(vec![units.to_vec()]) } else { None },
        }
    } else {
        let mut edges = vec![open];
        edges.extend(commas);
        edges.push(close);
        edges.windows(2).map(|edge| units[edge[0] + 1..edge[1]].to_vec()).collect()
    };
    let mut middle = Vec::new();
    for part in parts {
        middle.extend(expand(&part, max)?);
        if middle.len() > max {
            return None;
        }
    }
    let head = vec![units[..open].to_vec()];
    let tail = expand(&units[close + 1..], max)?;
    product(&product(&head, &middle, max)?, &tail, max)
}

fn product(left: &[Vec<Unit>], right: &[Vec<Unit>], max: usize) -> Option<Vec<Vec<Unit>>> {
    if left.len() * right.len() > max {
        return None;
    }
    Some(left.iter().flat_map(|left| right.iter().map(|right| [left.as_slice(), right].concat())).collect())
}

enum Sequence {
    Words(Vec<String>),
    /// It is no sequence.
    No,
    Unknown,
}

/// `1..3`.
fn sequence(text: &str) -> Sequence {
    let Some((first, last)) = text.split_once("..") else { return Sequence::No };
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text == "0" || !text.starts_with('0'));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last && last - first <= 512 => {
            Sequence::Words((first..=last).map(|number| number.to_string()).collect())
        }
        _ => Sequence::Unknown,
    }
}
