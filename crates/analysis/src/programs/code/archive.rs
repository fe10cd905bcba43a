//! Archives: `tar`, `zip`, `gzip`.
//!
//! `tar` reads and writes by its mode. Old-style options stand without a dash, with their values behind them.

use crate::observer::Aspects;
use crate::paths;
use crate::programs::arguments;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth, Role};
use crate::value::Argument;

pub(super) fn tar(call: &mut Call<'_, '_>) {
    if call.words.get(1).and_then(Argument::text).is_some_and(|word| !word.starts_with('-')) && !old_style(call) {
        return call.interpreter.unsure_all("tar's old options are not understood");
    }
    // An archive of another machine is reached by a program.
    let files: Vec<Argument> = call.parsed.values("-f").cloned().collect();
    if files.iter().any(|file| file.text().is_none_or(|text| text.contains(':'))) {
        return call.interpreter.unsure_all("the archive may be on another machine");
    }
    if files.len() > 1 {
        call.interpreter.unsure_all("tar with several archives");
    }
    let directories: Vec<Argument> = call.parsed.values("-C").cloned().collect();
    let archive = files.into_iter().find(|file| file.text() != Some("-"));
    let base = call.state.clone();
    if let [directory] = directories.as_slice() {
        call.state.cwd = directory.text().and_then(|text| base.path(text)).map(Into::into);
    } else if !directories.is_empty() {
        call.interpreter.unsure_all("tar goes through several directories");
    }
    let operands = call.parsed.operands.clone();
    // -C counts for the operands behind it.
    if !directories.is_empty() && operands.first().is_some_and(|first| stands_before_directory(call.words, first)) {
        call.interpreter.unsure_all("tar changes the directory between its operands");
    }
    let modes: Vec<&str> = ["create", "append", "list", "extract", "compare", "delete"]
        .into_iter()
        .filter(|mode| call.parsed.is_set(mode))
        .collect();
    if call.parsed.has("-h") {
        call.interpreter.unsure(Aspects::of(&[Aspect::Reads, Aspect::Writes, Aspect::Deletes]), "tar follows links");
    }
    match modes.as_slice() {
        ["create" | "append"] => {
            archive.iter().for_each(|file| call.interpreter.touch(Access::Write, file, Depth::Itself, &base));
            operands.iter().for_each(|file| call.touch(Access::Read, file, Depth::Tree));
            if call.parsed.is_set("remove") {
                operands.iter().for_each(|file| call.touch(Access::Delete, file, Depth::Tree));
            }
        }
        ["list"] => archive.iter().for_each(|file| call.interpreter.touch(Access::Read, file, Depth::Itself, &base)),
        ["compare"] => {
            archive.iter().for_each(|file| call.interpreter.touch(Access::Read, file, Depth::Itself, &base));
            call.touch(Access::Read, &Argument::known("."), Depth::Tree);
        }
        ["delete"] => archive.iter().for_each(|file| call.interpreter.touch(Access::Write, file, Depth::Itself, &base)),
        ["extract"] => {
            archive.iter().for_each(|file| call.interpreter.touch(Access::Read, file, Depth::Itself, &base));
            if !call.parsed.is_set("stdout") {
                call.touch(Access::Write, &Argument::known("."), Depth::Tree);
                if let Some(path) = call.state.cwd.clone() {
                    call.interpreter.link(&path);
                }
            }
        }
        _ => call.interpreter.unsure_all("what tar does is not clear"),
    }
}

/// Whether an operand may stand before the last option that names a directory.
fn stands_before_directory(words: &[Argument], operand: &Argument) -> bool {
    let is_directory = |word: &Argument| {
        word.text().is_some_and(|text| {
            text.starts_with("--d")
                || text.starts_with("--cd")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('C'))
        })
    };
    let operand = words.iter().rposition(|word| word == operand);
    let directory = words.iter().rposition(is_directory);
    operand.is_none_or(|operand| directory.is_some_and(|directory| operand < directory))
}

/// `tar xfC a.tar dir`: the values of the letters follow in their order.
fn old_style(call: &mut Call<'_, '_>) -> bool {
    let Some(letters) = call.words.get(1).and_then(Argument::text).map(str::to_owned) else { return false };
    let mut rest = call.words[2..].to_vec();
    let mut words = Vec::new();
    for letter in letters.chars() {
        words.push(Argument::known(format!("-{letter}")));
        let takes = call
            .program
            .body
            .options
            .iter()
            .any(|spec| spec.names.contains(&format!("-{letter}")) && !spec.values.is_empty() && !spec.attached);
        if takes {
            if rest.is_empty() {
                return false;
            }
            words.push(rest.remove(0));
        }
    }
    words.extend(rest);
    call.parsed = arguments::parse(call.program, &[&call.program.body], call.name, &words);
    call.before_code();
    true
}

/// An archive of zip's programs, which add an ending to a name that has none.
pub(super) fn zip(call: &mut Call<'_, '_>, word: &Argument, access: Access) {
    let Some(text) = word.text().map(str::to_owned) else { return call.touch(access, word, Depth::Itself) };
    if text == "-" {
        return;
    }
    // An archive that is there is read before it changes.
    let mut old = vec![text.clone(), format!("{text}.zip")];
    old.retain(|name| access == Access::Write && may_be_there(call, name));
    call.touch(access, word, Depth::Itself);
    if access == Access::Read && text.contains(['*', '?', '[']) {
        call.interpreter.unsure(access, format!("{text} may stand for several archives"));
    }
    let has_ending = text.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let endings: &[&str] = match access {
        Access::Read if !text.ends_with(".zip") && !is_there(call, &text) => &[".zip", ".ZIP"],
        Access::Read => &[],
        _ if has_ending => &[],
        _ => &[".zip"],
    };
    endings.iter().for_each(|ending| call.touch(access, &Argument::known(format!("{text}{ending}")), Depth::Itself));
    old.iter().for_each(|name| call.touch(Access::Read, &Argument::known(name.as_str()), Depth::Itself));
}

/// A file of gzip's programs, which try endings where a name that they unpack is missing.
pub(super) fn gzip(call: &mut Call<'_, '_>, word: &Argument, access: Access) {
    const ENDINGS: [&str; 6] = [".gz", "-gz", ".z", "-z", "_z", ".Z"];
    let Some(text) = word.text().map(str::to_owned) else { return call.touch(access, word, Depth::Itself) };
    if text == "-" {
        return;
    }
    call.touch(access, word, Depth::Itself);
    let unpacks = !call.name.ends_with("gzip") || ["-d", "-l", "-t"].iter().any(|option| call.parsed.has(option));
    let is_other = ["bz", "xz", "lz", "zst"].iter().any(|part| call.name.contains(part));
    let is_whole = ENDINGS.iter().chain(&[".tgz", ".taz"]).any(|ending| text.ends_with(ending));
    if unpacks && !is_other && !is_whole && !is_there(call, &text) {
        ENDINGS
            .iter()
            .for_each(|ending| call.touch(access, &Argument::known(format!("{text}{ending}")), Depth::Itself));
    }
}

/// A tree that is read with what its links lead to.
pub(super) fn followed_tree(call: &mut Call<'_, '_>, word: &Argument) {
    if word.text() == Some("-") {
        return call.read_dash(Depth::Tree);
    }
    call.touch(Access::Read, word, Depth::Tree);
    let stays = ["--no-dereference", "--symlinks", "--no-follow-symlinks"].iter().any(|name| call.parsed.has(name));
    if let Some(path) = word.text().and_then(|text| call.state.path(text)).filter(|_| !stays) {
        call.follow_links(&path);
    }
}

/// A tree that is deleted with what its links lead to.
pub(super) fn followed_delete(call: &mut Call<'_, '_>, word: &Argument) {
    if word.text() == Some("-") {
        return;
    }
    call.touch(Access::Delete, word, Depth::Tree);
    let path = word.text().and_then(|text| call.state.path(text));
    let Some(path) = path.filter(|_| !call.parsed.has("--symlinks")) else { return };
    if call.interpreter.may_hold_links(&path) {
        call.interpreter.unsure(Access::Delete, format!("{} deletes what links lead to", call.name));
    }
    let target = paths::physical(call.interpreter.environment.disk, &path);
    if target != paths::normalized(&path) {
        call.interpreter.touch_path(Access::Delete, &target, Depth::Tree);
    }
}

/// An operand of `diff`, which compares the files in a directory.
pub(super) fn compared(call: &mut Call<'_, '_>, word: &Argument) {
    let path = word.text().and_then(|text| call.state.path(text));
    match path.is_some_and(|path| paths::is_directory(call.interpreter.environment.disk, &path)) {
        true => followed_tree(call, word),
        false => call.role(&Role::Path(Access::Read, Depth::Itself), std::slice::from_ref(word)),
    }
}

/// Whether a file is there, now or when the call runs.
fn may_be_there(call: &Call<'_, '_>, text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    call.interpreter.may_have_made(name)
        || call.state.path(text).is_none_or(|path| call.interpreter.environment.disk.kind(&path).is_some())
}

/// Whether a file is there, now and when the call runs.
fn is_there(call: &Call<'_, '_>, text: &str) -> bool {
    let disk = call.interpreter.environment.disk;
    !call.interpreter.changed && call.state.path(text).is_some_and(|path| disk.kind(&path).is_some())
}
