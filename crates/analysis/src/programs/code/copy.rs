//! `cp`, `mv`, `install`, `ln` and `dd`: files that are put elsewhere.

use std::path::PathBuf;

use crate::disk::FileKind;
use crate::paths;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth};
use crate::value::Argument;

/// What a call copies, and where to.
struct Transfer {
    sources: Vec<Argument>,
    /// The paths that are written, as words.
    written: Vec<Argument>,
}

fn transfer(call: &mut Call<'_, '_>) -> Option<Transfer> {
    let mut sources = call.parsed.operands.clone();
    let into = call.parsed.values("-t").chain(call.parsed.values("--target-directory")).next_back().cloned();
    let no_directory = call.parsed.has("-T") || call.parsed.has("--no-target-directory");
    let is_into = into.is_some();
    let target = match into {
        Some(target) => target,
        None if sources.len() > 1 => sources.pop()?,
        None if call.name.ends_with("ln") || call.name == "link" => Argument::known("."),
        // Without a target it only complains.
        None => return None,
    };
    let Some(text) = target.text().map(str::to_owned) else {
        call.interpreter.unsure_all(format!("{} is only known when it runs", target.shown));
        return None;
    };
    let there = call.state.path(&text);
    let is_directory = |path: &PathBuf| paths::is_directory(call.interpreter.environment.disk, path);
    let directory = there.as_ref().is_some_and(is_directory) && !no_directory;
    let surely =
        is_into || sources.len() > 1 || text.ends_with('/') || text == "." || text == ".." || text.ends_with("/.");
    let inside: Option<Vec<Argument>> = sources
        .iter()
        .map(|source| {
            let name = source
                .text()?
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .filter(|name| !matches!(*name, "" | "." | ".."))?;
            Some(Argument::known(format!("{}/{name}", text.trim_end_matches('/'))))
        })
        .collect();
    let written = match inside {
        // A word that stands for everything in a tree has any name.
        _ if call.interpreter.tree_depth => vec![target.clone()],
        // What is in a directory named `.` or `..` goes into the target.
        None => {
            call.interpreter.unsure(Aspect::Writes, "the names of what is written are not known");
            vec![target.clone()]
        }
        // The target stands for what is found in it.
        Some(inside) if call.interpreter.tree_depth => [vec![target.clone()], inside].concat(),
        Some(inside) if surely || (directory && !call.interpreter.changed) => inside,
        // Whether it is a directory by then, something before it may decide.
        Some(inside) if call.interpreter.changed => [vec![target.clone()], inside].concat(),
        Some(_) => vec![target.clone()],
    };
    Some(Transfer { sources, written })
}

pub(super) fn run(call: &mut Call<'_, '_>) {
    let name = call.name.trim_start_matches('g').to_owned();
    let has = |call: &Call<'_, '_>, names: &[&str]| names.iter().any(|name| call.parsed.has(name));
    if name == "install" && has(call, &["-d", "--directory"]) {
        let operands = call.parsed.operands.clone();
        return operands.iter().for_each(|file| call.touch(Access::Write, file, Depth::Itself));
    }
    // Backups are written under names that are told elsewhere; `--parents` writes whole paths.
    if has(call, &["-b", "--backup", "-S", "--suffix", "--strip-program", "--parents"]) {
        call.interpreter.unsure(Aspect::Writes, "backups or directories are written beside the target");
    }
    if name == "ln" || name == "link" {
        return link(call);
    }
    let deep = name == "cp" && has(call, &["-r", "-R", "-a", "--recursive", "--archive"]);
    let keeps_links =
        has(call, &["-a", "--archive", "-d", "-P", "--no-dereference", "-R", "-r", "--recursive"]) || name == "mv";
    let Some(Transfer { sources, written }) = transfer(call) else { return };
    let depth = if deep { Depth::Tree } else { Depth::Itself };
    let moves_tree = name == "mv" && sources.iter().any(|source| moved_depth(call, source) == Depth::Tree);
    let may_be_links = sources.iter().any(|source| may_be_link(call, source));
    let unlinks = name == "install" || has(call, &["--remove-destination"]);
    for source in &sources {
        if name == "mv" {
            let depth = if moves_tree { Depth::Tree } else { Depth::Itself };
            call.touch(Access::Read, source, depth);
            call.touch(Access::Delete, source, depth);
        } else {
            call.touch(Access::Read, source, depth);
            if deep && has(call, &["-L", "--dereference", "-H"]) {
                call.interpreter.unsure(Aspect::Reads, "links in a tree are followed");
            }
        }
    }
    let depth = if moves_tree { Depth::Tree } else { depth };
    for file in &written {
        call.touch(Access::Write, file, depth);
        if name == "install" && has(call, &["-C", "--compare"]) {
            call.touch(Access::Read, file, depth);
        }
        let Some(path) = file.text().and_then(|text| call.state.path(text)) else { continue };
        if deep && call.interpreter.may_hold_links(&path) {
            call.interpreter.unsure(Aspect::Writes, "links in the target are followed");
        }
        // What was a link is removed first. If the source is read through it, nothing takes its place.
        let replaces_link = unlinks && call.interpreter.may_be_link(&path);
        if replaces_link {
            call.touch(Access::Delete, file, Depth::Itself);
        }
        if keeps_links && may_be_links {
            call.interpreter.link(&path);
        }
    }
    // `cp -l` and `cp -s` make links: what is written through them is the source.
    if name == "cp" && has(call, &["-l", "--link", "-s", "--symbolic-link"]) {
        sources.iter().for_each(|file| call.touch(Access::Write, file, Depth::Tree));
        written
            .iter()
            .filter_map(|file| call.state.path(file.text()?))
            .collect::<Vec<_>>()
            .iter()
            .for_each(|path| call.interpreter.link(path));
    }
}

/// Whether a file is a link or a tree that holds some, as far as that is known.
fn may_be_link(call: &mut Call<'_, '_>, file: &Argument) -> bool {
    let Some(path) = file.text().and_then(|text| call.state.path(text)).filter(|_| !call.interpreter.changed) else {
        return true;
    };
    match call.interpreter.environment.disk.kind(&path) {
        Some(FileKind::File) => false,
        Some(FileKind::Directory) => call.interpreter.may_hold_links(&path),
        _ => true,
    }
}

/// A directory is moved with everything in it.
fn moved_depth(call: &Call<'_, '_>, file: &Argument) -> Depth {
    let path = file.text().and_then(|text| call.state.path(text));
    match path.and_then(|path| call.interpreter.environment.disk.kind(&path)) {
        Some(FileKind::File | FileKind::Link | FileKind::Other) if !call.interpreter.changed => Depth::Itself,
        _ => Depth::Tree,
    }
}

/// A link is a further name under which what it leads to is read and written, so both count.
fn link(call: &mut Call<'_, '_>) {
    let symbolic = call.parsed.has("-s") || call.parsed.has("--symbolic");
    let target = call.parsed.operands.last().cloned();
    let Some(Transfer { sources, mut written }) = transfer(call) else { return };
    // With these a link to a directory is replaced, and not followed.
    if ["-n", "--no-dereference", "-h"].iter().any(|name| call.parsed.has(name)) && sources.len() == 1 {
        written.extend(target);
    }
    for file in &written {
        call.touch(Access::Write, file, Depth::Itself);
        let path = file.text().and_then(|text| call.state.path(text));
        if symbolic {
            // What it says counts from where it stands.
            let mut from = call.state.clone();
            from.cwd = path.as_ref().and_then(|path| path.parent()).map(Into::into);
            for source in &sources {
                call.interpreter.touch(Access::Write, source, Depth::Tree, &from);
                call.interpreter.touch(Access::Read, source, Depth::Tree, &from);
            }
        }
        if let Some(path) = path {
            call.interpreter.link(&path);
        }
    }
    for source in &sources {
        call.touch(Access::Write, source, Depth::Tree);
        call.touch(Access::Read, source, Depth::Tree);
    }
}

pub(super) fn dd(call: &mut Call<'_, '_>) {
    const TEXT: [&str; 12] =
        ["bs", "ibs", "obs", "cbs", "count", "skip", "seek", "iseek", "oseek", "conv", "iflag", "oflag"];
    let operands = call.parsed.operands.clone();
    for word in &operands {
        match word.text().map(|text| text.split_once('=')) {
            Some(Some(("if", file))) => call.touch(Access::Read, &Argument::known(file), Depth::Itself),
            Some(Some(("of", file))) => call.touch(Access::Write, &Argument::known(file), Depth::Itself),
            Some(Some((key, _))) if TEXT.contains(&key) || key == "status" => {}
            Some(None) if matches!(word.text(), Some("--help" | "--version")) => return,
            _ => call.interpreter.unsure_all(format!("what dd does with {} is not known", word.shown)),
        }
    }
}
