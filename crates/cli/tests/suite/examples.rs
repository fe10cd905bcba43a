//! The example hooks pass their own tests, and their settings are valid.

use crate::sandbox;
use std::path::Path;

#[test]
fn every_example_passes_its_tests() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks");
    let run = sandbox().run(&["hooks", "test", examples.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    for line in run.stdout.lines().filter(|line| line.starts_with("skip")) {
        eprintln!("{line}");
    }
    let mut checked = 0;
    for entry in std::fs::read_dir(&examples).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let settings = folder.join("settings.json");
        let run = sandbox().run(&["hooks", "validate", settings.to_str().unwrap()]).expect_exit_code(0);
        assert!(run.stdout.contains("no problems"), "{}: {}", settings.display(), run.stderr);
        checked += 1;
    }
    assert!(checked >= 8, "there should be at least eight examples, not {checked}");
}

#[test]
fn pack_essentials_passes_its_tests() {
    expect_pack_passes("essentials");
}

#[test]
fn pack_strict_passes_its_tests() {
    expect_pack_passes("strict");
}

#[test]
fn pack_quiet_passes_its_tests() {
    expect_pack_passes("quiet");
}

fn expect_pack_passes(pack: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/packs").join(pack);
    let run = sandbox().run(&["hooks", "test", folder.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    let settings = folder.join("hooks.json");
    // A file of its own counts as the project's, which may not approve.
    let expected = if pack == "quiet" { 1 } else { 0 };
    sandbox().run(&["hooks", "validate", settings.to_str().unwrap()]).expect_exit_code(expected);
}
