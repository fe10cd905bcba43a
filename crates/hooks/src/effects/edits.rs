//! Programs that change files by a text: `sed`, `awk`, `patch` and `apply_patch`.

use super::Aspect;
use super::options::take;
use super::walk::{Input, Walk};
use crate::shell::{self, Field, State};

/// `sed`: its files are written with `-i`; its script may write and run on its own.
pub(super) fn edits(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    if shell::sed_acts(words) {
        walk.doubt_all();
    }
    let taken = take(&words[1..], &["-e", "-f", "-l", "--expression", "--file", "--line-length"]);
    let in_place = |name: &str| name.starts_with("--i") || name == "-i" || name == "-I";
    // Behind an `i` in a cluster stands the ending of backups.
    let cluster = words[1..]
        .iter()
        .flatten()
        .find(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(['i', 'I']));
    let suffix = cluster.and_then(|word| word.split_once(['i', 'I'])).map(|(_, suffix)| suffix);
    let suffix = suffix.map(str::to_owned).or_else(|| {
        taken.given.iter().find(|(name, _)| name.starts_with("--i")).and_then(|(_, value)| value.clone().flatten())
    });
    let told = taken.has(&["-e", "-f", "--expression", "--file"]);
    let files = taken.operands.get(usize::from(!told)..).unwrap_or_default();
    if taken.unknown || taken.given.iter().any(|(name, _)| in_place(name)) || cluster.is_some() {
        // On some systems the ending stands in a word of its own, which may be empty.
        let files: Vec<&Field> = files.iter().filter(|word| word.as_deref() != Some("")).collect();
        files.iter().for_each(|file| walk.touch(Aspect::Writes, file, state));
        if suffix.as_deref().is_none_or(str::is_empty) {
            return;
        }
        if suffix.as_deref().is_some_and(|suffix| suffix.contains(['/', '*'])) {
            walk.doubt(Aspect::Writes);
        } else {
            let with = |file: &&Field| Some(format!("{}{}", file.as_deref()?, suffix.as_deref().unwrap_or_default()));
            files.iter().map(with).for_each(|file| walk.touch(Aspect::Writes, &file, state));
        }
    } else {
        files
            .iter()
            .filter(|file| file.as_deref() != Some("-"))
            .for_each(|file| walk.touch(Aspect::Reads, file, state));
    }
    taken.values(&["-f", "--file"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
}

/// `awk`: a language that writes with `>` and runs with `|` and `system`.
pub(super) fn awk(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken =
        take(&words[1..], &["-F", "-v", "-f", "-i", "-l", "-E", "-e", "--file", "--assign", "--field-separator"]);
    let foreign = taken.unknown || taken.given.iter().any(|(name, _)| !matches!(name.as_str(), "-F" | "-v"));
    let Some(Some(code)) = taken.operands.first().filter(|_| !foreign) else { return walk.doubt_all() };
    if ["|", "system", "getline", "@", "\\"].iter().any(|sign| code.contains(sign)) {
        return walk.doubt_all();
    }
    if code.contains('>') {
        walk.doubt(Aspect::Writes);
    }
    taken.operands[1..].iter().for_each(|file| walk.touch(Aspect::Reads, file, state));
}

/// `patch`: changes what its input says, unless it is told the one file.
pub(super) fn patches(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let taken = take(
        &words[1..],
        &[
            "-p",
            "-d",
            "-i",
            "-o",
            "-r",
            "-B",
            "-Y",
            "-z",
            "-D",
            "-F",
            "-g",
            "-V",
            "--strip",
            "--directory",
            "--input",
            "--output",
            "--reject-file",
        ],
    );
    if taken.has(&["--dry-run", "-C", "--check"]) && !taken.unknown {
        return;
    }
    walk.doubt(Aspect::Writes);
    walk.doubt(Aspect::Deletes);
    taken.values(&["-i", "--input"]).for_each(|file| walk.touch(Aspect::Reads, file, state));
    taken.values(&["-o", "--output", "-r", "--reject-file"]).for_each(|file| walk.touch(Aspect::Writes, file, state));
    taken.operands.iter().take(1).for_each(|file| walk.touch(Aspect::Writes, file, state));
}

/// `apply_patch`, with the patch as its argument or its input.
pub(super) fn applies(walk: &mut Walk<'_, '_>, words: &[Field], input: &Input, state: &State<'_>) {
    let text = match (words.get(1), input) {
        (Some(text), _) => text.clone(),
        (None, Input::Text(text)) => text.clone(),
        (None, Input::Any) => None,
    };
    match text {
        Some(text) => walk.finder.patch(&text, state.cwd.as_deref()),
        None => {
            walk.doubt(Aspect::Writes);
            walk.doubt(Aspect::Deletes);
        }
    }
}
