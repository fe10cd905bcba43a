//! The files of commands that the interpreter understands, and of spellings that hide what is loaded.

use std::ffi::OsString;
use std::path::Path;

use super::{Follower, Naming, Whereabouts, followed_files, named_files};
use crate::disk::{Disk, RealDisk};

/// A directory with scripts; `d/x.sh` is the one that commands run.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    for (name, text) in [
        ("d/x.sh", "echo\n"),
        ("d/y.sh", "echo\n"),
        ("lib.sh", "go() { \"$HERE/d/x.sh\"; }\nHERE=$PWD\n"),
        (
            "here.sh",
            "HERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" >/dev/null 2>&1 && pwd -P)\"\n\"$HERE/d/x.sh\"\n",
        ),
        ("own.sh", "\"${0%/*}/d/x.sh\"\n"),
        ("circle.sh", ". ./circle.sh\n./d/x.sh\n"),
        ("justfile", "go:\n  ./d/x.sh\n"),
        ("returns.sh", "[ -n \"$CI\" ] && return\n./d/x.sh\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn variable(name: &str) -> Option<OsString> {
    (name == "PATH").then(|| OsString::from("/usr/bin:/bin"))
}

/// The files in the folder that a command runs or sources in the end, and `?` if there may be more.
fn followed(command: &str) -> String {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap();
    let read = |path: &Path| RealDisk.head(path, Follower::LONGEST + 1);
    let follower = Follower::new(vec![root.clone()], &read);
    let place = Whereabouts { cwd: &root, variable: &variable };
    let found = followed_files(command, &[], &place, &follower);
    let loads = found.files.iter().filter(|file| matches!(file.how, Naming::Runs | Naming::Sources));
    let mut names: Vec<String> =
        loads.filter_map(|file| file.path.strip_prefix(&root).ok()).map(|path| path.display().to_string()).collect();
    names.sort();
    names.extend((!found.certain).then(|| "?".to_owned()));
    names.join(" ")
}

#[test]
fn scripts_are_interpreted_with_their_state() {
    for (command, expected) in [
        ("bash here.sh", "d/x.sh here.sh"),
        ("cd d; bash ../here.sh", "d/../here.sh d/x.sh"),
        ("bash ./own.sh", "d/x.sh own.sh"),
        ("bash -euo pipefail d/x.sh", "d/x.sh"),
        ("bash +O extglob d/x.sh", "d/x.sh"),
        ("bash -c -o pipefail 'sh d/x.sh'", "d/x.sh"),
        ("mksh d/x.sh", "d/x.sh"),
        ("fish -c 'sh d/x.sh'", "d/x.sh"),
        (". ./lib.sh; go", "d/x.sh lib.sh"),
        (". ./returns.sh", "d/x.sh returns.sh"),
        ("f() { sh \"$1/x.sh\"; }; f d", "d/x.sh"),
        ("set -- d/x.sh d/y.sh; for f; do sh \"$f\"; done", "d/x.sh d/y.sh"),
        ("while IFS= read -r line; do sh d/x.sh \"$line\"; done", "d/x.sh"),
        ("CDPATH= cd -- d && sh x.sh", "d/x.sh"),
        ("for f in d/*.sh; do sh \"$f\"; done 2>>log", "d/x.sh d/y.sh"),
    ] {
        assert_eq!(followed(command), expected, "{command}");
    }
}

#[test]
fn files_of_a_project_that_a_runner_obeys_belong_to_it() {
    for (command, expected) in [
        ("just go", "justfile ?"),
        ("go-task x", "?"),
        ("pdm run x", "?"),
        ("watchexec ls", "?"),
        ("awk 1", ""),
        ("awk 'BEGIN{system(\"x\")}'", "?"),
        ("seq 1", ""),
    ] {
        assert_eq!(followed(command).trim(), expected, "{command}");
    }
}

#[test]
fn what_can_not_run_now_counts_too() {
    for command in [
        "false && sh d/x.sh",
        "true || sh d/x.sh",
        "cd d || sh d/x.sh",
        "if true; then :; else sh d/x.sh; fi",
        "while false; do sh d/x.sh; done",
        "while :; do :; done; sh d/x.sh",
        "exit; sh d/x.sh",
        "f() { sh d/x.sh; }",
        "f() { return; sh d/x.sh; }; f",
        "trap 'sh d/x.sh' EXIT",
        "[[ -f d/x.sh ]] && sh d/x.sh",
    ] {
        assert!(followed(command).contains("d/x.sh"), "{command}: {}", followed(command));
    }
}

#[test]
fn what_is_only_known_when_it_runs_is_unsure() {
    for command in [
        "eval \"$(<d/x.sh)\"",
        "bash -c \"$(<d/x.sh)\"",
        ". <(cat d/x.sh)",
        "bash < <(cat d/x.sh)",
        "node -r <(cat d/x.sh) y.js",
        "X=<(cat d/x.sh); . $X",
        "sh ./circle.sh",
        "hash -p ./d/x.sh foo; foo",
        "alias foo=./d/x.sh; foo",
        "X=(./d/x.sh); \"${X[0]}\"",
        "X=$(test -f y && echo a || echo d); sh \"$X/x.sh\"",
        "[ -d d ] && cd d; ./x.sh",
        "cd nowhere; sh d/x.sh",
        "IFS=/; sh d/x.sh",
        "BASH_ENV=d/x.sh bash -c :",
        "read BASH_ENV; export BASH_ENV; bash -c :",
        "shopt -s expand_aliases; sh d/x.sh",
    ] {
        assert!(followed(command).ends_with('?'), "{command}: {}", followed(command));
    }
}

#[test]
fn a_file_counts_in_every_directory_that_a_command_may_be_in() {
    let folder = folder();
    let place = Whereabouts { cwd: folder.path(), variable: &variable };
    let found = named_files("[ -d d ] && cd d; ./x.sh", &place);
    let runs = |name: &str| found.files.iter().any(|file| file.how == Naming::Runs && file.path.ends_with(name));
    assert!(runs("d/x.sh") && found.files.iter().any(|file| file.path == folder.path().join("x.sh")));
}
