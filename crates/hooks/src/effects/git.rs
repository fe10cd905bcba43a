//! What git does with its words: which of its commands change files, which talk to others, which only look.
//!
//! What git keeps for itself in `.git` is not listed. A repository whose own settings or hooks run programs may do anything.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::options::take;
use super::walk::{Input, Walk};
use super::{Aspect, Depth, remote};
use crate::shell::{Field, GIT_VALUES, State};

/// Commands that change no file outside of `.git` and talk to nobody.
const LOOKS: [&str; 43] = [
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "branch",
    "tag",
    "describe",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "cat-file",
    "shortlog",
    "reflog",
    "grep",
    "name-rev",
    "merge-base",
    "for-each-ref",
    "show-ref",
    "show-branch",
    "symbolic-ref",
    "version",
    "help",
    "whatchanged",
    "count-objects",
    "fsck",
    "check-ignore",
    "check-attr",
    "diff-tree",
    "diff-index",
    "diff-files",
    "cherry",
    "range-diff",
    "verify-commit",
    "verify-tag",
    "var",
    "add",
    "stage",
    "commit",
    "update-index",
    "notes",
];
/// Commands that change files as the history says.
const CHANGES: [&str; 8] = ["merge", "rebase", "cherry-pick", "revert", "pull", "checkout", "switch", "reset"];

pub(super) fn judge(walk: &mut Walk<'_, '_>, words: &[Field], _: &Input, state: &State<'_>) {
    let mut state = state.clone();
    let Some(at) = past_own_options(walk, words, &mut state) else { return };
    let Some(command) = words[at].clone() else { return walk.doubt_all() };
    if runs_programs(state.cwd.as_deref()) {
        walk.doubt_all();
    }
    let rest = &words[at + 1..];
    if rest.contains(&None) && !LOOKS.contains(&command.as_str()) {
        // Which of its ways it goes may depend on it.
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
    match command.as_str() {
        "push" | "fetch" | "ls-remote" => talks(walk, rest),
        "remote" => {
            if rest.iter().flatten().any(|word| matches!(word.as_str(), "update" | "show" | "prune")) {
                talks(walk, &rest[1..]);
            }
        }
        "clone" => clones(walk, rest, &state),
        "init" => walk.touch_to(Aspect::Writes, &folder(rest), Depth::All, &state),
        "rm" => {
            let taken = take(rest, &["--pathspec-from-file"]);
            if !taken.has(&["--cached", "-n", "--dry-run"]) || taken.unknown {
                each(walk, Aspect::Deletes, &taken.operands, &state);
            }
            odd_paths(walk, taken.has(&["--pathspec-from-file"]));
        }
        "mv" => {
            let taken = take(rest, &[]);
            if let Some((target, sources)) = taken.operands.split_last() {
                each(walk, Aspect::Deletes, sources, &state);
                each(walk, Aspect::Writes, std::slice::from_ref(target), &state);
            }
        }
        "restore" => restores(walk, rest, &state),
        "checkout" | "switch" => checks_out(walk, rest, &state),
        "reset" => {
            if rest.iter().any(|word| word.as_deref().is_none_or(is_reset_of_files)) {
                everything(walk, &state);
            }
        }
        "stash" => match rest.first().map(Option::as_deref) {
            Some(Some("list" | "show" | "drop" | "clear" | "create" | "store")) => {}
            _ => everything(walk, &state),
        },
        "clean" => {
            let taken = take(rest, &["-e", "--exclude"]);
            if !taken.has(&["-n", "--dry-run"]) || taken.unknown {
                let here = [Some(".".to_owned())];
                let paths = if taken.operands.is_empty() { &here[..] } else { &taken.operands };
                each(walk, Aspect::Deletes, paths, &state);
            }
        }
        "config" => configures(walk, rest, &state),
        "apply" | "am" => {
            if !rest.iter().flatten().any(|word| matches!(word.as_str(), "--check" | "--stat" | "--cached")) {
                everything(walk, &state);
                walk.doubt(Aspect::Writes);
                walk.doubt(Aspect::Deletes);
            }
        }
        other if CHANGES.contains(&other) => {
            if other == "pull" {
                talks(walk, rest);
            }
            everything(walk, &state);
        }
        other if LOOKS.contains(&other) => {}
        _ => walk.doubt_all(),
    }
}

/// The place of git's command; its own options say where it runs.
fn past_own_options(walk: &mut Walk<'_, '_>, words: &[Field], state: &mut State<'_>) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(word) = word.as_deref() else {
            walk.doubt_all();
            return None;
        };
        if !word.starts_with('-') {
            return Some(at);
        }
        match word {
            "-C" => state.go(&[words.get(at + 1).cloned().flatten()]),
            "--version" | "--help" | "--html-path" | "--man-path" | "--info-path" => return None,
            word if word.starts_with("--git-dir") || word.starts_with("--work-tree") => walk.doubt_all(),
            _ => {}
        }
        at += 1 + usize::from(GIT_VALUES.contains(&word));
    }
    None
}

fn each(walk: &mut Walk<'_, '_>, aspect: Aspect, paths: &[Field], state: &State<'_>) {
    // `:(top)x` and its kin are paths of another kind.
    odd_paths(walk, paths.iter().flatten().any(|path| path.starts_with(':') || path.contains(['*', '?', '['])));
    paths.iter().for_each(|path| walk.touch_to(aspect, path, Depth::All, state));
}

fn odd_paths(walk: &mut Walk<'_, '_>, are_odd: bool) {
    if are_odd {
        walk.doubt(Aspect::Writes);
        walk.doubt(Aspect::Deletes);
    }
}

/// Any file of the repository may change or go.
fn everything(walk: &mut Walk<'_, '_>, state: &State<'_>) {
    let top = state.cwd.as_deref().map(|cwd| repository(cwd).unwrap_or(cwd).to_string_lossy().into_owned());
    walk.touch_to(Aspect::Writes, &top, Depth::All, state);
    walk.touch_to(Aspect::Deletes, &top, Depth::All, state);
}

fn is_reset_of_files(word: &str) -> bool {
    word.len() > 3 && ["--hard", "--merge", "--keep"].iter().any(|option| option.starts_with(word)) || word == "-p"
}

fn restores(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) {
    let taken = take(words, &["-s", "--source", "--pathspec-from-file"]);
    let staged = taken.has(&["-S", "--staged"]) && !taken.has(&["-W", "--worktree"]) && !taken.unknown;
    odd_paths(walk, taken.has(&["--pathspec-from-file"]));
    if !staged {
        each(walk, Aspect::Writes, &taken.operands, state);
        each(walk, Aspect::Deletes, &taken.operands, state);
    }
}

/// `checkout -b new` changes nothing, `checkout x -- paths` those paths, and anything else what it will.
fn checks_out(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) {
    let values =
        ["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan", "--conflict", "--pathspec-from-file"];
    if let Some(at) = words.iter().position(|word| word.as_deref() == Some("--")) {
        each(walk, Aspect::Writes, &words[at + 1..], state);
        return each(walk, Aspect::Deletes, &words[at + 1..], state);
    }
    let taken = take(words, &values);
    let makes = taken.has(&["-b", "-c", "--create"]) && taken.operands.is_empty() && !taken.unknown;
    if !makes || taken.has(&["-f", "--force", "--discard-changes", "-m", "--merge"]) {
        everything(walk, state);
    }
}

/// Whom it talks to: the remote as it is called, or the host of its address.
fn talks(walk: &mut Walk<'_, '_>, words: &[Field]) {
    let taken = take(words, &["-o", "--push-option", "--repo", "--depth", "-j", "--jobs", "--refmap", "--upload-pack"]);
    let told: Vec<Field> = taken.values(&["--repo"]).chain(taken.operands.first()).cloned().collect();
    if told.is_empty() {
        walk.finder.talk("origin".to_owned());
    }
    for peer in told {
        match peer {
            Some(peer) => walk.finder.talk(remote::host_of_copy(&peer).unwrap_or(peer)),
            None => walk.doubt(Aspect::Network),
        }
    }
}

fn clones(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) {
    let taken = take(
        words,
        &[
            "-b",
            "--branch",
            "--depth",
            "-o",
            "--origin",
            "-j",
            "--jobs",
            "--reference",
            "--separate-git-dir",
            "--filter",
            "--shallow-since",
            "--template",
            "-c",
            "--config",
            "-u",
        ],
    );
    let source = taken.operands.first().cloned().flatten();
    let named = source.as_deref().map(|source| {
        let name = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(source);
        name.trim_end_matches(".git").to_owned()
    });
    match source.as_deref() {
        Some(source) => match remote::host_of_copy(source) {
            Some(host) => walk.finder.talk(host),
            None => walk.touch_to(Aspect::Reads, &Some(source.to_owned()), Depth::All, state),
        },
        None => walk.doubt(Aspect::Network),
    }
    if taken.has(&["--separate-git-dir", "--template", "-c", "--config", "--recurse-submodules", "--recursive", "-u"]) {
        walk.doubt_all();
    }
    walk.touch_to(Aspect::Writes, &taken.operands.get(1).cloned().unwrap_or(named), Depth::All, state);
}

fn folder(words: &[Field]) -> Field {
    let taken = take(words, &["-b", "--initial-branch", "--template", "--separate-git-dir", "--object-format"]);
    taken.operands.first().cloned().unwrap_or_else(|| Some(".git".to_owned()))
}

/// `git config`: reading is looking; whatever is set may make git run programs.
fn configures(walk: &mut Walk<'_, '_>, words: &[Field], state: &State<'_>) {
    let looks = ["--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"];
    if words.iter().flatten().any(|word| looks.contains(&word.as_str())) && !words.contains(&None) {
        return;
    }
    let git =
        state.cwd.as_deref().and_then(repository).map(|top| top.join(".git/config").to_string_lossy().into_owned());
    walk.touch_to(Aspect::Writes, &git, Depth::Itself, state);
    walk.doubt(Aspect::Writes);
}

/// The top of the repository that a directory is in.
fn repository(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|directory| directory.join(".git").symlink_metadata().is_ok())
}

/// Whether the repository's own settings or hooks run programs, as far as they can be read.
fn runs_programs(cwd: Option<&Path>) -> bool {
    const STEERS: [&str; 14] = [
        "alias",
        "pager",
        "editor",
        "command",
        "hookspath",
        "helper",
        "textconv",
        "driver",
        "filter",
        "fsmonitor",
        "proxy",
        "include",
        "program",
        "external",
    ];
    let Some(top) = cwd.and_then(repository) else { return cwd.is_none() };
    let mut git: PathBuf = top.join(".git");
    // A worktree's and a submodule's are elsewhere.
    if let Some(text) = text_of(&git) {
        git = top.join(text.trim().strip_prefix("gitdir:").unwrap_or_default().trim());
        if let Some(shared) = text_of(&git.join("commondir")) {
            git = git.join(shared.trim());
        }
    }
    let steers = ["config", "config.worktree"].iter().filter_map(|name| text_of(&git.join(name))).any(|text| {
        let text = text.to_ascii_lowercase();
        STEERS.iter().any(|word| text.contains(word))
    });
    let is_hook = |entry: std::fs::DirEntry| !entry.file_name().to_string_lossy().ends_with(".sample");
    let hooks = std::fs::read_dir(git.join("hooks")).is_ok_and(|entries| entries.flatten().any(is_hook));
    steers || hooks
}

/// What stands in a file that is one.
fn text_of(file: &Path) -> Option<String> {
    const LONGEST: u64 = 256 * 1024;
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if found.len() > LONGEST {
        // Nobody writes so much into it without including something.
        return Some("include".to_owned());
    }
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}
