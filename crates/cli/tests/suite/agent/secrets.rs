//! What is nobody else's business: files that only their owner reads, keys that are in no error and no record, and an
//! environment of tools without them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hookwright_testkit::finish;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Everything below a folder, with the folders on the way.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    let below: Vec<PathBuf> = entries.iter().filter(|path| path.is_dir()).flat_map(|path| everything(path)).collect();
    entries.into_iter().chain(below).collect()
}

#[test]
fn what_the_program_keeps_is_its_owners_alone_whatever_the_mask() {
    for (mask, of_tools) in [("000", 0o666), ("022", 0o644), ("077", 0o600), ("777", 0)] {
        let sandbox = project(&[("BeforeTool", "*", "exit 0")]);
        let record = sandbox.beside("new/recorded").to_str().unwrap().to_owned();
        fs::create_dir(sandbox.beside("new")).unwrap();
        let sandbox = sandbox.env("HOOKWRIGHT_LOG", "debug");
        let replay = Replay::new()
            .calls("save_memory", json!({"fact": "it rains"}))
            .calls("write_file", json!({"file_path": "a.txt", "content": "x"}))
            .says("done");
        let file = sandbox.replay(&replay);
        let args = ["-p", "go", "--fake-responses", &file, "--approval-mode=yolo", "--record-responses", &record];
        let run = finish(sandbox.limited(&format!("umask {mask}"), &args).spawn().unwrap()).exits(0);
        assert_eq!(run.stdout.trim(), "done", "{run:#?}");
        let kept = everything(&sandbox.home());
        for name in [".jsonl", "GEMINI.md", "trusted_hooks.json", "hookwright.log"] {
            assert!(kept.iter().any(|path| path.to_str().unwrap().ends_with(name)), "no {name}: {kept:?}");
        }
        for path in kept.iter().chain([&PathBuf::from(&record), &sandbox.beside("telemetry.log")]) {
            assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "umask {mask}: {path:?}");
        }
        // What tools write is the user's, and so is the mask.
        assert_eq!(mode(&sandbox.project().join("a.txt")), of_tools);
    }
}

#[test]
fn laxer_modes_are_tightened_where_the_file_is_the_programs_own() {
    let sandbox = project(&[("BeforeTool", "*", "exit 0")]).env("HOOKWRIGHT_LOG", "debug");
    let record = sandbox.beside("recorded").to_str().unwrap().to_owned();
    let go = |more: &[&str]| {
        let file = sandbox.replay(&Replay::new().says("done"));
        let args = ["-p", "go", "--fake-responses", &file, "--record-responses", &record];
        sandbox.run(&[&args, more].concat()).exits(0);
    };
    go(&[]);
    sandbox.write(".gemini/hooks/hook1.sh", "#!/bin/sh\ntrue\n");
    let own: Vec<PathBuf> = everything(&sandbox.home()).into_iter().filter(|path| path.is_file()).collect();
    let users = [PathBuf::from(&record), sandbox.beside("telemetry.log")];
    for path in own.iter().chain(&users) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    go(&["--resume", "latest"]);
    let lax: Vec<&PathBuf> = own.iter().filter(|path| path.exists() && mode(path) != 0o600).collect();
    // This one was not written: nothing in it has changed.
    assert!(lax.iter().all(|path| path.ends_with("known_guards.json")), "{lax:?}");
    // Whose files the user names, the user may have let others read.
    users.iter().for_each(|path| assert_eq!(mode(path), 0o644, "{path:?}"));
}
