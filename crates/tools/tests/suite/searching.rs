//! Tests `glob` and `search_file_content`.

use super::support::{ToolTestProject, result_text};
use hookwright_tools::{ToolErrorKind, Workspace};
use serde_json::json;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn age(project: &ToolTestProject, path: &str, hours: u64) {
    let time = SystemTime::now() - Duration::from_secs(hours * 3600);
    fs::File::options().write(true).open(project.root.join(path)).unwrap().set_modified(time).unwrap();
}

#[tokio::test]
async fn recent_files_come_first_then_names() {
    let project =
        ToolTestProject::with(&[("b.rs", ""), ("a.rs", ""), ("old/z.rs", ""), ("old/y.rs", ""), ("c.txt", "")]);
    age(&project, "b.rs", 1);
    age(&project, "a.rs", 2);
    age(&project, "old/z.rs", 100);
    age(&project, "old/y.rs", 200);
    let result = project.call("glob", json!({ "pattern": "**/*.RS" })).await;
    let at = |path: &str| project.root.join(path).display().to_string();
    let expected = format!(
        "Found 4 file(s) matching \"**/*.RS\" within {}, sorted by modification time (newest first):\n{}\n{}\n{}\n{}",
        project.root.display(),
        at("b.rs"),
        at("a.rs"),
        at("old/y.rs"),
        at("old/z.rs"),
    );
    assert_eq!(result_text(&result), expected);
    assert_eq!(result.to_json()["returnDisplay"], "Found 4 matching file(s)");
    let sensitive = json!({ "pattern": "**/*.RS", "case_sensitive": true });
    assert!(
        project.call_text("glob", sensitive).await.starts_with("No files found matching pattern \"**/*.RS\" within ")
    );
    let below = project.call_text("glob", json!({ "pattern": "*.rs", "dir_path": "old" })).await;
    assert!(below.starts_with("Found 2 file(s)"));
}

#[tokio::test]
async fn globs_respect_ignore_files_and_several_roots() {
    let mut project =
        ToolTestProject::with(&[(".git/HEAD", ""), (".gitignore", "out/\n"), ("a.js", ""), ("out/b.js", "")]);
    fs::write(project.outside.join("c.js"), "").unwrap();
    let found = project.call_text("glob", json!({ "pattern": "**/*.js" })).await;
    assert!(found.starts_with("Found 1 file(s)"), "{found}");
    let all = project.call_text("glob", json!({ "pattern": "**/*.js", "respect_git_ignore": false })).await;
    assert!(all.starts_with("Found 2 file(s)"), "{all}");
    project.ctx.workspace = Arc::new(Workspace::new(&project.root, [project.outside.clone()]).unwrap());
    let both = project.call_text("glob", json!({ "pattern": "**/*.js" })).await;
    assert!(both.contains("across 2 workspace directories") && both.contains("c.js"), "{both}");
}

#[tokio::test]
async fn invalid_globs_are_refused() {
    let project = ToolTestProject::with(&[("a", "")]);
    for (args, kind) in [
        (json!({ "pattern": " " }), ToolErrorKind::InvalidToolParams),
        (json!({ "pattern": "{a" }), ToolErrorKind::GlobExecutionError),
        (json!({ "pattern": "*", "dir_path": "a" }), ToolErrorKind::PathIsNotADirectory),
        (json!({ "pattern": "*", "dir_path": "b" }), ToolErrorKind::FileNotFound),
        (json!({ "pattern": "*", "dir_path": "/" }), ToolErrorKind::PathNotInWorkspace),
    ] {
        assert_eq!(project.call_failure("glob", args.clone()).await.0, kind, "{args}");
    }
}

#[tokio::test]
async fn matches_come_with_files_lines_and_context() {
    let project = ToolTestProject::with(&[("src/a.rs", "one\nTwo needle\nthree\n"), ("src/b.txt", "nothing\n")]);
    let result = project.call("grep_search", json!({ "pattern": "NEEDLE" })).await;
    assert_eq!(
        result_text(&result),
        "Found 1 match for pattern \"NEEDLE\" in path \".\":\n---\nFile: src/a.rs\nL1- one\nL2: Two needle\nL3- three\n---"
    );
    let shown = &result.to_json()["returnDisplay"];
    assert_eq!(shown["summary"], "Found 1 match");
    assert_eq!(shown["matches"][0]["lineNumber"], 2);
    assert_eq!(shown["matches"][0]["absolutePath"], project.root.join("src/a.rs").display().to_string());

    let plain = json!({ "pattern": "needle", "context": 0, "include_pattern": "*.rs" });
    assert_eq!(
        project.call_text("search_file_content", plain).await,
        "Found 1 match for pattern \"needle\" in path \".\" (filter: \"*.rs\"):\n---\nFile: src/a.rs\nL2: Two needle\n---"
    );
    let names = json!({ "pattern": "n", "names_only": true });
    assert_eq!(
        project.call_text("search_file_content", names).await,
        "Found 2 files with matches for pattern \"n\" in path \".\":\nsrc/a.rs\nsrc/b.txt"
    );
    let file = json!({ "pattern": "needle", "dir_path": "src/a.rs", "after": 1 });
    assert!(
        project.call_text("search_file_content", file).await.contains("File: a.rs\nL2: Two needle\nL3- three\n---")
    );
    let none = json!({ "pattern": "needle", "case_sensitive": true, "include_pattern": "*.txt" });
    assert_eq!(
        project.call_text("search_file_content", none).await,
        "No matches found for pattern \"needle\" in path \".\" (filter: \"*.txt\")."
    );
}

#[tokio::test]
async fn results_are_bounded() {
    let project = ToolTestProject::with(&[("a.txt", &"hit\n".repeat(500)), ("b.txt", &"hit\n".repeat(500))]);
    let text = project.call_text("search_file_content", json!({ "pattern": "hit" })).await;
    assert!(text.starts_with("Found 100 matches") && text.contains("limited to 100"), "{text}");
    let few = json!({ "pattern": "hit", "max_matches_per_file": 2, "total_max_matches": 10 });
    let text = project.call_text("search_file_content", few).await;
    assert!(text.starts_with("Found 4 matches") && text.contains("File: b.txt"), "{text}");
    project.write("c.txt", format!("needle {}\n", "x".repeat(100_000)));
    let text = project.call_text("search_file_content", json!({ "pattern": "needle", "context": 0 })).await;
    assert!(text.len() < 3000 && text.contains("[truncated]"));
}

#[tokio::test]
async fn patterns_are_taken_as_asked() {
    let project = ToolTestProject::with(&[("a.txt", "f(x)\nfoo\nfoo bar\n")]);
    let search = |args| project.call_text("search_file_content", args);
    assert!(search(json!({ "pattern": "f(x)", "fixed_strings": true })).await.contains("L1: f(x)"));
    let without = search(json!({ "pattern": "foo", "exclude_pattern": "BAR", "context": 0 })).await;
    assert!(without.contains("L2: foo") && !without.contains("L3:"), "{without}");
    for pattern in ["(", "(?=x)", "a\\nb"] {
        let (kind, text) = project.call_failure("search_file_content", json!({ "pattern": pattern })).await;
        assert_eq!(kind, ToolErrorKind::InvalidToolParams);
        assert!(text.contains("Invalid regular expression"), "{text}");
    }
    let (kind, _) = project.call_failure("search_file_content", json!({ "pattern": "a", "dir_path": "no" })).await;
    assert_eq!(kind, ToolErrorKind::FileNotFound);
}

#[tokio::test]
async fn hidden_and_binary_files_are_not_searched() {
    let project = ToolTestProject::with(&[
        (".git/HEAD", "needle"),
        (".gitignore", "g.txt\n"),
        (".geminiignore", "vault/\n"),
        ("g.txt", "needle"),
        ("vault/v.txt", "needle"),
        ("node_modules/n.js", "needle"),
    ]);
    project.write("b.bin", b"\0\0\0needle\n");
    project.write("utf16.txt", b"\xFF\xFEn\0e\0e\0d\0l\0e\0");
    let search = |args| project.call_text("search_file_content", args);
    let text = search(json!({ "pattern": "needle", "names_only": true })).await;
    assert!(text.ends_with(":\nutf16.txt"), "{text}");
    let text = search(json!({ "pattern": "needle", "names_only": true, "no_ignore": true })).await;
    assert!(text.contains("g.txt") && !text.contains("vault"), "{text}");
    let text = search(json!({ "pattern": "needle", "dir_path": "vault", "no_ignore": true })).await;
    assert!(text.ends_with("The path is hidden by an ignore file."), "{text}");
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let project = ToolTestProject::with(&[("a.txt", "a")]);
    project.ctx.cancel.cancel();
    for (tool, args) in [
        ("search_file_content", json!({ "pattern": "a" })),
        ("glob", json!({ "pattern": "**" })),
        ("run_shell_command", json!({ "command": "touch made" })),
    ] {
        assert_eq!(project.call_failure(tool, args).await.0, ToolErrorKind::Cancelled, "{tool}");
    }
    assert!(!project.root.join("made").exists());
}
