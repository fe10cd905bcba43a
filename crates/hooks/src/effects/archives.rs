//! Archives and temporary files: `tar`, `zip`, `gzip` and their kin, `mktemp`, `split`.

use super::options::take;
use super::programs::{RECURSIVE, or_here};
use super::walk::{Input, Walk};
use super::{Aspect, Depth};
use crate::shell::{Field, State};

pub(super) fn tar(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let bundle = words.get(1).and_then(Option::as_deref).filter(|word| !word.starts_with('-'));
    let mut rest = words[1..].to_vec();
    if let (Some(bundle), Some(first)) = (bundle, rest.first_mut()) {
        *first = Some(format!("-{bundle}"));
    }
    let values = [
        "-f",
        "-C",
        "-T",
        "-X",
        "-b",
        "-H",
        "-K",
        "-N",
        "-V",
        "-g",
        "--file",
        "--directory",
        "--files-from",
        "--exclude-from",
        "--exclude",
        "--transform",
        "--xform",
        "--strip-components",
        "--owner",
        "--group",
        "--mode",
        "--mtime",
    ];
    let taken = take(&rest, &values);
    let extracts = taken.has(&["-x", "--extract", "--get"]);
    let odd = [
        "-P",
        "--absolute-names",
        "--transform",
        "--xform",
        "--remove-files",
        "--unlink-first",
        "-U",
        "--recursive-unlink",
        "-s",
        "--listed-incremental",
        "-g",
    ];
    const KNOWN: [&str; 16] = [
        "--extract",
        "--get",
        "--create",
        "--list",
        "--append",
        "--update",
        "--diff",
        "--compare",
        "--gzip",
        "--bzip2",
        "--xz",
        "--zstd",
        "--verbose",
        "--to-stdout",
        "--auto-compress",
        "--exclude-vcs",
    ];
    let is_strange = |name: &str| name.starts_with("--") && !KNOWN.contains(&name) && !values.contains(&name);
    if taken.given.iter().any(|(name, _)| is_strange(name)) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    // An archive of another machine is reached by a program.
    if taken.values(&["-f", "--file"]).flatten().any(|file| file.contains(':')) {
        walk.doubt_all();
    }
    if taken.unknown || taken.has(&odd) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    let archives: Vec<Field> =
        taken.values(&["-f", "--file"]).filter(|file| file.as_deref() != Some("-")).cloned().collect();
    let directories: Vec<Field> = taken.values(&["-C", "--directory"]).cloned().collect();
    if extracts {
        archives.iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
        let to_stdout = taken.has(&["-O", "--to-stdout"]);
        let here = or_here(&directories).to_vec();
        here.iter().filter(|_| !to_stdout).for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
        here.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
    } else if taken.has(&["-t", "--list", "-d", "--diff", "--compare"]) {
        archives.iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
    } else if taken.has(&[
        "-c",
        "-r",
        "-u",
        "-A",
        "--create",
        "--append",
        "--update",
        "--catenate",
        "--concatenate",
        "--delete",
    ]) {
        archives.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
        taken.operands.iter().for_each(|file| walk.touch_to(Aspect::Reads, file, Depth::All, state));
    } else {
        walk.doubt_all();
    }
}

pub(super) fn unzips(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-d", "-x", "-P"]);
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Reads, file, state));
    if !taken.unknown && taken.has(&["-l", "-t", "-p", "-v", "-Z", "-c"]) {
        return;
    }
    if taken.unknown || taken.has(&["-:"]) {
        walk.doubt(Aspect::Writes);
    }
    let directories: Vec<Field> = taken.values(&["-d"]).cloned().collect();
    let here = or_here(&directories).to_vec();
    here.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    here.iter().flatten().filter_map(|file| state.path(file)).for_each(|path| walk.link(path));
}

pub(super) fn zips(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-x", "-i", "-b", "-O", "-n", "-t", "-tt", "--out"]);
    if taken.unknown || taken.has(&["-m", "--move", "-O", "--out"]) {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    let mut operands = taken.operands.iter();
    if let Some(archive) = operands.next() {
        walk.touch(Aspect::Writes, archive, state);
        let with_ending = archive.as_ref().map(|archive| format!("{archive}.zip"));
        walk.touch(Aspect::Writes, &with_ending, state);
    }
    operands.for_each(|file| walk.touch_to(Aspect::Reads, file, Depth::All, state));
}

/// `gzip` and its kin: a file becomes another beside it, and goes.
pub(super) fn packs(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    const ENDINGS: [&str; 6] = [".gz", ".bz2", ".xz", ".zst", ".Z", ".lzma"];
    let taken = take(
        &words[1..],
        &["-S", "--suffix", "-o", "-T", "-B", "--threads", "--output-dir-flat", "--output-dir-mirror"],
    );
    let only_reads = taken.has(&["-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"]) && !taken.unknown;
    if taken.unknown || taken.has(&["-S", "--suffix", "--output-dir-flat", "--output-dir-mirror"]) {
        walk.doubt(Aspect::Writes);
    }
    taken.values(&["-o"]).for_each(|file| walk.touch(Aspect::Writes, file, state));
    let depth = if taken.has(&RECURSIVE) { Depth::All } else { Depth::Itself };
    for file in &taken.operands {
        walk.touch_to(Aspect::Reads, file, depth, state);
        if only_reads {
            continue;
        }
        let name = file.as_deref();
        let unpacked = name.and_then(|name| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)));
        walk.touch_to(Aspect::Writes, &unpacked.or(name).map(str::to_owned), depth, state);
        for ending in ENDINGS {
            walk.touch_to(Aspect::Writes, &name.map(|name| format!("{name}{ending}")), depth, state);
        }
        walk.touch_to(Aspect::Deletes, file, depth, state);
    }
}

/// `mktemp`: a new file where nobody else's are, unless it is told where.
pub(super) fn makes_temporary(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(&words[1..], &["-p", "--tmpdir", "--suffix", "-t"]);
    let directories: Vec<Field> = taken.values(&["-p", "--tmpdir"]).cloned().collect();
    if taken.unknown || (!directories.is_empty() && !taken.operands.is_empty()) {
        walk.doubt(Aspect::Writes);
    }
    directories.iter().for_each(|file| walk.touch_to(Aspect::Writes, file, Depth::All, state));
    taken.operands.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
}

pub(super) fn splits(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(
        &words[1..],
        &["-a", "-b", "-C", "-l", "-n", "-t", "-f", "-k", "--filter", "--bytes", "--lines", "--number", "--prefix"],
    );
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Reads, file, state));
    walk.doubt(Aspect::Writes);
}
