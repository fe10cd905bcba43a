//! Tests that the examples of `docs/commands.md` load, are well-formed, and do what the text says.

use std::path::{Path, PathBuf};

use hookwright_model::Content;
use hookwright_settings::commands::{CustomCommands, discover};
use hookwright_settings::{ConfigPaths, FolderTrust, ProcessEnv, ProjectFolder};
use hookwright_testkit::fs;
use tokio_util::sync::CancellationToken;

use super::{CommandCase, check_command, expand, parse_invocation, yolo};

/// Returns the example files: each begins with a comment that names it.
fn examples() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let text = fs::read_to_string(docs).unwrap();
    let blocks = text.split("\n```toml\n").skip(1).map(|rest| rest.split_once("\n```\n").unwrap().0.to_owned());
    let name = |block: &String| block.lines().next().unwrap().strip_prefix("# .gemini/commands/").unwrap().to_owned();
    blocks.map(|block| (name(&block), block)).collect()
}

/// Creates a home directory with all examples.
fn home(case: &CommandCase) -> CustomCommands {
    for (name, text) in examples() {
        case.write(&format!(".gemini/commands/{name}"), text.as_bytes());
    }
    let home = PathBuf::from(case.dir.path());
    let world = ProcessEnv { env: Vec::new(), home: Some(home), cwd: "/nowhere".into() };
    discover(
        &ConfigPaths::new(&world),
        &ProjectFolder { root: "/nowhere".into(), trust: FolderTrust::Unknown },
        &[],
        &|_| false,
    )
}

#[test]
fn every_example_loads_and_is_well_formed() {
    let case = yolo(&[]);
    let commands = home(&case);
    assert!(commands.diagnostics.is_empty(), "{:?}", commands.diagnostics);
    assert!(examples().len() >= 5);
    assert_eq!(commands.list.len(), examples().len());
    for command in &commands.list {
        check_command(command).unwrap();
        assert!(command.description.is_some(), "{}", command.name);
    }
}

#[tokio::test]
async fn examples_expand_as_documented() {
    let case = yolo(&[("docs/style.md", "Tabs, not blanks."), ("src/a.rs", "// it's complicated\n")]);
    let commands = home(&case);
    for (typed, expected) in [
        ("/explain the parser", "\n\n/explain the parser"),
        ("/review src/a.rs", "Tabs, not blanks."),
        ("/review src/a.rs", "Review src/a.rs"),
        ("/find it's complicated", "src/a.rs:1:// it's complicated"),
        ("/find nothing like this", "[Shell command exited with code 1]"),
    ] {
        let (command, args) = parse_invocation(typed, &commands).unwrap();
        let parts = expand(case.services().0, command, typed, args, &CancellationToken::new()).await.unwrap();
        let text = Content::user(parts).text();
        assert!(text.contains(expected), "{typed}: {text}");
    }
}
