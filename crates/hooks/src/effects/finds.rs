//! `find`: what it looks at, removes and writes, and what it runs on all that.

use super::programs::or_here;
use super::walk::{Input, Walk};
use super::{Aspect, Depth};
use crate::shell::{Field, State};

/// `find`: where it looks, what it runs on what it finds, what it removes and writes by itself.
pub(super) fn finds(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let begins = |word: &Field| word.as_deref().is_some_and(|word| word.starts_with(['-', '(', '!', ')']));
    let after_options =
        words[1..].iter().take_while(|word| matches!(word.as_deref(), Some("-L" | "-P" | "-H"))).count() + 1;
    let end = words[after_options..].iter().position(begins).map_or(words.len(), |at| after_options + at);
    let roots = or_here(&words[after_options..end]).to_vec();
    if words.contains(&None) {
        walk.doubt_all();
    }
    roots.iter().for_each(|root| walk.touch_to(Aspect::Reads, root, Depth::All, state));
    let mut at = end;
    while at < words.len() {
        let word = words[at].as_deref();
        at += 1;
        match word {
            None => {}
            Some("-delete") => roots.iter().for_each(|root| walk.touch_to(Aspect::Deletes, root, Depth::All, state)),
            Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                walk.touch(Aspect::Writes, &words.get(at).cloned().flatten(), state);
            }
            Some("-files0-from") => walk.doubt_all(),
            Some(option @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let rest = &words[at..];
                let length =
                    rest.iter().position(|word| matches!(word.as_deref(), Some(";" | "+"))).unwrap_or(rest.len());
                let mut inner = state.clone();
                inner.cwd.take_if(|_| option.ends_with("dir"));
                run_on(walk, &rest[..length], &roots, &mut inner);
                at += length;
            }
            Some(_) => {}
        }
    }
}

/// Runs a command on whatever is in some directories.
fn run_on(walk: &mut Walk<'_, '_>, command: &[Field], roots: &[Field], state: &mut State<'_>) {
    for root in roots {
        let put = |word: &Field| match word.as_deref() {
            Some("{}") => root.clone(),
            Some(word) if word.contains("{}") => None,
            _ => word.clone(),
        };
        let words: Vec<Field> = command.iter().map(put).collect();
        let shown: Vec<String> = command.iter().map(|word| word.clone().unwrap_or_else(|| "…".to_owned())).collect();
        let depth = std::mem::replace(&mut walk.depth, Depth::All);
        walk.nested_run(&words, &shown, state);
        walk.depth = depth;
    }
}
