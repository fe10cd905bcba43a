//! Programs that put files elsewhere: copies, moves, links, and what overwrites.

use super::options::{Taken, take};
use super::walk::{Input, Walk};
use super::{Aspect, Depth};
use crate::shell::{Field, State};

/// The sources and the target of `cp`, `mv`, `install` and `ln`; nothing for a target that nobody knows.
struct Transfer {
    sources: Vec<Field>,
    /// What is written: the target itself, or what is put into it.
    written: Vec<Field>,
    taken: Taken,
}

const TRANSFER_VALUES: [&str; 14] = [
    "-t",
    "--target-directory",
    "-S",
    "--suffix",
    "-m",
    "--mode",
    "-o",
    "--owner",
    "-g",
    "--group",
    "--strip-program",
    "-Z",
    "--context",
    "--no-preserve",
];

fn transfer(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) -> Transfer {
    let taken = take(&words[1..], &TRANSFER_VALUES);
    // Backups are written beside what is replaced, under names that are told elsewhere.
    if taken.unknown || taken.has(&["-b", "--backup", "-S", "--suffix", "--strip-program", "--parents"]) {
        walk.doubt(Aspect::Writes);
    }
    let mut sources = taken.operands.clone();
    let told: Option<Field> = taken.values(&["-t", "--target-directory"]).last().cloned();
    let into = told.is_some();
    let target = told.unwrap_or_else(|| if sources.len() > 1 { sources.pop().flatten() } else { None });
    let Some(target) = target else { return Transfer { sources, written: vec![None], taken } };
    let there = state.path(&target);
    let is_directory = into
        || sources.len() > 1
        || target.ends_with('/')
        || (there.as_ref().is_some_and(|path| path.is_dir()) && !taken.has(&["-T", "--no-target-directory"]));
    let name = |source: &Field| {
        let source = source.as_deref()?.trim_end_matches('/');
        let name = source.rsplit('/').next().filter(|name| !matches!(*name, "" | "." | ".."))?;
        Some(format!("{}/{name}", target.trim_end_matches('/')))
    };
    let inside = || sources.iter().map(|source| name(source).unwrap_or_else(|| target.clone()));
    let written = match there.is_some_and(|path| path.exists()) {
        _ if is_directory => inside().map(Some).collect(),
        // Whether it is a directory by then, something before it may decide.
        false if walk.has_changed_something() => std::iter::once(target.clone()).chain(inside()).map(Some).collect(),
        _ => vec![Some(target.clone())],
    };
    Transfer { sources, written, taken }
}

pub(super) fn copies(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let install = words[0].as_deref().is_some_and(|name| name.ends_with("install"));
    if install && take(&words[1..], &TRANSFER_VALUES).has(&["-d", "--directory"]) {
        let taken = take(&words[1..], &TRANSFER_VALUES);
        return taken.operands.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
    }
    let Transfer { sources, written, taken } = transfer(walk, words, state);
    let deep = taken.has(&["-r", "-R", "-a", "--recursive", "--archive", "-d"]);
    let depth = if deep { Depth::All } else { Depth::Itself };
    sources.iter().for_each(|file| walk.touch_to(Aspect::Reads, file, depth, state));
    written.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, depth, state));
    // `cp -l` and `cp -s` make links.
    if !install && taken.has(&["-l", "-s", "--link", "--symbolic-link"]) {
        sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    }
    // What is copied may be links, and is written through by whatever comes after.
    if deep {
        written.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
    }
}

pub(super) fn moves(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let Transfer { sources, written, .. } = transfer(walk, words, state);
    let depth = |file: &Field| match file.as_deref().and_then(|file| state.path(file)) {
        Some(path) if path.symlink_metadata().is_ok_and(|found| !found.is_dir()) => Depth::Itself,
        _ => Depth::All,
    };
    let deepest = if sources.iter().all(|file| depth(file) == Depth::Itself) { Depth::Itself } else { Depth::All };
    sources.iter().for_each(|file| walk.touch_to(Aspect::Deletes, file, depth(file), state));
    written.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, deepest, state));
    written.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
}

/// A link is a further name under which what it leads to is written: both count.
pub(super) fn links(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let alone = take(&words[1..], &TRANSFER_VALUES).operands;
    let here = [words, &[Some("./".to_owned())]].concat();
    let Transfer { sources, written, taken } =
        transfer(walk, if alone.len() == 1 { here.as_slice() } else { words }, state);
    for link in &written {
        walk.touch_to(Aspect::Writes, link, Depth::Itself, state);
        let path = link.as_deref().and_then(|link| state.path(link));
        if taken.has(&["-s", "--symbolic"]) {
            // What it says counts from where it stands.
            let mut from = state.clone();
            from.cwd = path.as_deref().and_then(|path| path.parent()).map(ToOwned::to_owned);
            sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, &from));
        }
        path.into_iter().for_each(|path| walk.link(path));
    }
    sources.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
}

pub(super) fn dd(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    for word in &words[1..] {
        match word.as_deref().and_then(|word| word.split_once('=')) {
            Some(("of", file)) => walk.touch(Aspect::Writes, &Some(file.to_owned()), state),
            Some(("if", file)) => walk.touch(Aspect::Reads, &Some(file.to_owned()), state),
            None if word.is_none() => walk.doubt(Aspect::Writes),
            _ => {}
        }
    }
}

pub(super) fn shreds(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-n", "-s", "--iterations", "--size", "--random-source"]);
    let removes = taken.unknown || taken.has(&["-u", "--remove"]);
    for file in &taken.operands {
        walk.touch(Aspect::Writes, file, state);
        if removes {
            walk.touch(Aspect::Deletes, file, state);
        }
    }
}
