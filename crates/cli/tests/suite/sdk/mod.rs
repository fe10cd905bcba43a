//! The libraries that hooks are written with (`sdk/`, `crates/sdk`): types that are not stale, and real programs over real pipes.

mod agents;
mod language;
mod own;
mod pipes;
mod plugins;
mod python;
mod rust;
mod shapes;
mod typescript;

use std::path::PathBuf;

const NOTE: &str = "Generated from schemas/ (UPDATE_SCHEMAS=1 cargo test -p hookwright schemas): do not edit.";

/// Run with UPDATE_SCHEMAS=1 to write them anew.
#[test]
fn schemas_made_the_types_of_the_libraries() {
    let shapes = shapes::shapes();
    check("sdk/node/types.d.ts", &typescript::types(&shapes, NOTE));
    check_part("sdk/node/index.js", "// End of what is generated.\n", &typescript::table(&shapes));
    check("sdk/python/hookwright_hook/_events.py", &python::table(&shapes, NOTE));
    check("sdk/python/hookwright_hook/_types.py", &python::types(&shapes, NOTE));
    check("crates/sdk/src/events.rs", &rust::types(&shapes, NOTE));
}

/// A file that is generated as a whole.
#[track_caller]
fn check(file: &str, text: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{file} is stale: run UPDATE_SCHEMAS=1 cargo test -p hookwright schemas");
}

/// A file with a generated part, between the note and an end.
#[track_caller]
fn check_part(file: &str, end: &str, text: &str) {
    let stored = std::fs::read_to_string(root().join(file)).unwrap();
    let (head, rest) = stored.split_once(&format!("// {NOTE}\n")).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    check(file, &format!("{head}// {NOTE}\n{text}{end}{tail}"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
