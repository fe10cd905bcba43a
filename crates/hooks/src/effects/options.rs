//! The arguments of a program as options and operands. Reads as GNU programs do: options anywhere, in clusters, shortened.

use crate::shell::Field;

/// Arguments, taken apart.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Options as they are written, each with its value, if it takes one.
    pub(super) given: Vec<(String, Option<Field>)>,
    /// The rest.
    pub(super) operands: Vec<Field>,
    /// Whether a word that nobody knows may be an option.
    pub(super) unknown: bool,
}

/// Takes the words behind a program apart; `values` are the options that take a value.
pub(super) fn take(words: &[Field], values: &[&str]) -> Taken {
    let mut taken = Taken::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_deref() {
            None => {
                taken.unknown = true;
                taken.operands.push(None);
            }
            Some("--") => {
                taken.operands.extend(words.by_ref().cloned());
            }
            Some(long) if long.starts_with("--") => {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let value = match value {
                    Some(value) => Some(Some(value.to_owned())),
                    None if values.contains(&name) || is_short_for(name, values) => {
                        Some(words.next().cloned().flatten())
                    }
                    None => None,
                };
                taken.given.push((name.to_owned(), value));
            }
            Some(short) if short.starts_with('-') && short.len() > 1 => {
                let mut letters = short[1..].char_indices();
                while let Some((at, letter)) = letters.next() {
                    let name = format!("-{letter}");
                    if !values.contains(&name.as_str()) {
                        taken.given.push((name, None));
                        continue;
                    }
                    let attached = &short[1 + at + letter.len_utf8()..];
                    let value =
                        if attached.is_empty() { words.next().cloned().flatten() } else { Some(attached.to_owned()) };
                    taken.given.push((name, Some(value)));
                    letters = "".char_indices();
                }
            }
            Some(_) => taken.operands.push(word.clone()),
        }
    }
    taken
}

fn is_short_for(name: &str, options: &[&str]) -> bool {
    name.len() > 3 && options.iter().any(|option| option.starts_with(name))
}

/// Whether an option is one of these, perhaps shortened.
fn is_one_of(name: &str, options: &[&str]) -> bool {
    options.contains(&name) || (name.starts_with("--") && is_short_for(name, options))
}

impl Taken {
    /// Whether one of these is given.
    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| is_one_of(name, options))
    }

    /// The values of these.
    pub(super) fn values(&self, options: &[&str]) -> impl Iterator<Item = &Field> {
        let given = self.given.iter().filter(|(name, _)| is_one_of(name, options));
        given.filter_map(|(_, value)| value.as_ref())
    }
}
