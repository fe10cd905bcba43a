//! Tests `read_file`, `read_many_files` and `list_directory`.

use super::support::{ToolTestProject, result_text};
use hookwright_testkit::deadline::*;
use hookwright_tools::{ResultContent, ResultPart, ToolDisplay, ToolErrorKind};
use serde_json::json;
use std::fs;

const PNG_BYTES: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[tokio::test]
async fn a_text_file_comes_back_as_it_is() {
    let project = ToolTestProject::with(&[("src/a.rs", "fn a() {}\n\nfn b() {}\n")]);
    let result = project.call("read_file", json!({ "file_path": "src/a.rs" })).await;
    assert_eq!(result.to_json(), json!({ "llmContent": "fn a() {}\n\nfn b() {}\n", "returnDisplay": "" }));
    let absolute = project.root.join("src/a.rs").display().to_string();
    assert_eq!(project.call_text("ReadFileTool", json!({ "file_path": absolute })).await, result_text(&result));
}

#[tokio::test]
async fn line_ranges_say_what_they_leave_out() {
    let text: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    let project = ToolTestProject::with(&[("a.txt", &text)]);
    let args = json!({ "file_path": "a.txt", "start_line": 4, "end_line": 5 });
    let result = project.call("read_file", args).await;
    assert_eq!(
        result_text(&result),
        "[Lines 4-5 of 11 are shown. For more, call read_file again with start_line: 6.]\n\
         --- FILE CONTENT (truncated) ---\nline 4\nline 5"
    );
    assert_eq!(result.return_display, ToolDisplay::Text("Read lines 4-5 of 11 from a.txt".into()));
    let older = json!({ "file_path": "a.txt", "offset": 3, "limit": 2 });
    assert_eq!(result_text(&project.call("read_file", older).await), result_text(&result));
    let beyond = json!({ "file_path": "a.txt", "start_line": 50 });
    assert!(project.call_text("read_file", beyond).await.starts_with("a.txt has only 11 lines"));
}

#[tokio::test]
async fn encodings_are_read() {
    let project = ToolTestProject::new();
    project.write("bom.txt", b"\xEF\xBB\xBFhi");
    project.write("le.txt", b"\xFF\xFEh\0i\0");
    project.write("be.txt", b"\xFE\xFF\0h\0i");
    for file in ["bom.txt", "le.txt", "be.txt"] {
        assert_eq!(project.call_text("read_file", json!({ "file_path": file })).await, "hi", "{file}");
    }
    project.write("latin.txt", b"caf\xE9");
    assert_eq!(project.call_text("read_file", json!({ "file_path": "latin.txt" })).await, "caf\u{FFFD}");
    project.write("empty.txt", b"");
    assert_eq!(project.call_text("read_file", json!({ "file_path": "empty.txt" })).await, "");
}

#[tokio::test]
async fn media_come_as_data_and_binaries_do_not() {
    let project = ToolTestProject::new();
    project.write("p.png", PNG_BYTES);
    project.write("d.pdf", b"%PDF-1.7\n");
    project.write("s.svg", "<svg/>");
    project.write("x.bin", b"\x7FELF\0\0");
    let image = project.call("read_file", json!({ "file_path": "p.png" })).await;
    assert_eq!(image.to_json()["llmContent"]["inlineData"]["mimeType"], "image/png");
    assert_eq!(image.return_display, ToolDisplay::Text("Read image file: p.png".into()));
    let document = project.call("read_file", json!({ "file_path": "d.pdf" })).await;
    assert_eq!(document.to_json()["llmContent"]["inlineData"]["mimeType"], "application/pdf");
    assert_eq!(project.call_text("read_file", json!({ "file_path": "s.svg" })).await, "<svg/>");
    let binary = project.call_text("read_file", json!({ "file_path": "x.bin" })).await;
    assert_eq!(binary, "Cannot display content of binary file: x.bin");
}

#[tokio::test]
async fn unreadable_files_are_reported() {
    let project = ToolTestProject::with(&[(".geminiignore", "secret.txt\n"), ("secret.txt", "s"), ("dir/x", "")]);
    fs::write(project.outside.join("o.txt"), "o").unwrap();
    fs::File::create(project.root.join("giant")).unwrap().set_len(1 << 40).unwrap();
    let cases = [
        ("missing.txt", ToolErrorKind::FileNotFound, "File not found: "),
        ("dir", ToolErrorKind::TargetIsDirectory, "Path is a directory, not a file: "),
        ("dir/x/y", ToolErrorKind::ReadContentFailure, "Error reading "),
        ("../outside/o.txt", ToolErrorKind::PathNotInWorkspace, "Path not in workspace: "),
        ("/etc/passwd", ToolErrorKind::PathNotInWorkspace, "Path not in workspace: "),
        ("secret.txt", ToolErrorKind::InvalidToolParams, "File path '"),
        ("giant", ToolErrorKind::FileTooLarge, "File size exceeds the 20MB limit: "),
        ("", ToolErrorKind::InvalidToolParams, "the path must not be empty"),
    ];
    for (path, kind, words) in cases {
        let (found, text) = project.call_failure("read_file", json!({ "file_path": path })).await;
        assert_eq!(found, kind, "{path}");
        assert!(text.starts_with(words), "{path}: {text}");
    }
    let (kind, text) = project.call_failure("read_file", json!({ "file_path": 7, "start_line": 0 })).await;
    assert_eq!(kind, ToolErrorKind::InvalidToolParams);
    assert_eq!(text, "params/file_path must be string, params/start_line must be >= 1");
}

#[cfg(unix)]
#[tokio::test]
async fn special_files_and_links_neither_hang_nor_lead_out() {
    use std::os::unix::ffi::OsStrExt;
    let project = ToolTestProject::with(&[("a.txt", "a")]);
    fs::write(project.outside.join("o.txt"), "o").unwrap();
    std::os::unix::fs::symlink(project.outside.join("o.txt"), project.root.join("link")).unwrap();
    std::os::unix::fs::symlink("a.txt", project.root.join("inner")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", project.root.join("zero")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(project.root.join("fifo")).status_in_time().unwrap();
    assert!(made.success());
    fs::write(project.root.join(std::ffi::OsStr::from_bytes(b"bad\xFFname")), "x").unwrap();

    let (kind, _) = project.call_failure("read_file", json!({ "file_path": "link" })).await;
    assert_eq!(kind, ToolErrorKind::PathNotInWorkspace);
    let (kind, _) = project.call_failure("read_file", json!({ "file_path": "zero" })).await;
    assert_eq!(kind, ToolErrorKind::PathNotInWorkspace);
    let (kind, text) = project.call_failure("read_file", json!({ "file_path": "fifo" })).await;
    assert_eq!(kind, ToolErrorKind::ReadContentFailure);
    assert!(text.contains("Not a regular file"), "{text}");
    assert_eq!(project.call_text("read_file", json!({ "file_path": "inner" })).await, "a");

    let all = project.call_text("read_many_files", json!({ "include": ["**"] })).await;
    assert!(all.contains("bad\u{FFFD}name ---\n\nx") && !all.contains("--- o"), "{all}");
    assert!(project.call_text("search_file_content", json!({ "pattern": "x" })).await.contains("bad\u{FFFD}name"));
    assert!(project.call_text("list_directory", json!({ "dir_path": "." })).await.contains("bad\u{FFFD}name"));
}

#[tokio::test]
async fn many_files_at_once() {
    let project = ToolTestProject::with(&[
        ("README.md", "read me"),
        ("src/a.rs", "a"),
        ("src/deep/b.rs", "b"),
        ("src/c.txt", "c"),
        ("node_modules/x.rs", "x"),
        (".env", "SECRET=1"),
    ]);
    project.write("src/p.png", PNG_BYTES);
    project.write("src/x.dat", b"\0\0");
    let result = project.call("read_many_files", json!({ "include": ["src/**/*.rs", "README.md"] })).await;
    let text = result_text(&result);
    let at = |path: &str| format!("--- {} ---\n\n", project.root.join(path).display());
    let expected = format!(
        "{}read me\n\n{}a\n\n{}b\n\n\n--- End of content ---",
        at("README.md"),
        at("src/a.rs"),
        at("src/deep/b.rs")
    );
    assert_eq!(text, expected);
    assert_eq!(result.to_json()["returnDisplay"]["files"], json!(["README.md", "src/a.rs", "src/deep/b.rs"]));

    let result = project.call("read_many_files", json!({ "include": ["**/*"], "exclude": ["**/*.rs"] })).await;
    let shown = result.to_json()["returnDisplay"].clone();
    assert_eq!(shown["files"], json!(["README.md", "src/c.txt"]));
    assert_eq!(shown["skipped"].as_array().map(Vec::len), Some(2));

    let image = project.call("read_many_files", json!({ "include": ["src/*.{png,gif}"] })).await;
    assert!(
        matches!(&image.llm_content, ResultContent::Parts(parts) if matches!(parts[0], ResultPart::InlineData { .. }))
    );
    let directory = project.call_text("read_many_files", json!({ "include": ["src/deep/"] })).await;
    assert!(directory.contains("b.rs ---\n\nb"));
    let flat = project.call_text("read_many_files", json!({ "include": ["**/*.rs"], "recursive": false })).await;
    assert_eq!(flat, "No files matching the criteria were found or all were skipped.");
    let (kind, _) = project.call_failure("read_many_files", json!({ "include": ["{a"] })).await;
    assert_eq!(kind, ToolErrorKind::ReadManyFilesSearchError);
    let (_, text) = project.call_failure("read_many_files", json!({ "include": [] })).await;
    assert_eq!(text, "params/include must NOT have fewer than 1 items");
}

#[tokio::test]
async fn a_directory_is_listed() {
    let project = ToolTestProject::with(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n"),
        ("Beta.txt", "12345"),
        ("alpha.txt", "1"),
        ("z/x", ""),
        ("noise.log", ""),
        ("skip.me", ""),
    ]);
    let result = project.call("list_directory", json!({ "dir_path": ".", "ignore": ["*.me"] })).await;
    assert_eq!(
        result_text(&result),
        format!(
            "Directory listing for {}:\n[DIR] z\n.gitignore (6 bytes)\nalpha.txt (1 bytes)\nBeta.txt (5 bytes)\n\n\
             (2 ignored)",
            project.root.display()
        )
    );
    assert_eq!(result.to_json()["returnDisplay"]["summary"], "Found 4 item(s). (2 ignored)");
    let all = json!({ "dir_path": ".", "file_filtering_options": { "respect_git_ignore": false } });
    assert!(project.call_text("list_directory", all).await.contains("noise.log"));

    fs::create_dir(project.root.join("void")).unwrap();
    let empty = project.call_text("list_directory", json!({ "dir_path": "void" })).await;
    assert!(empty.ends_with("void is empty."));
    for (path, kind) in [
        ("alpha.txt", ToolErrorKind::PathIsNotADirectory),
        ("nowhere", ToolErrorKind::FileNotFound),
        ("..", ToolErrorKind::PathNotInWorkspace),
    ] {
        assert_eq!(project.call_failure("list_directory", json!({ "dir_path": path })).await.0, kind, "{path}");
    }
    let (kind, _) = project.call_failure("list_directory", json!({ "dir_path": ".", "ignore": ["{"] })).await;
    assert_eq!(kind, ToolErrorKind::InvalidToolParams);
}

#[cfg(unix)]
#[tokio::test]
async fn links_that_stay_inside_are_read_and_searched() {
    use std::os::unix::fs::symlink;
    let project = ToolTestProject::with(&[("real.txt", "needle")]);
    symlink("real.txt", project.root.join("link.txt")).unwrap();
    symlink(project.outside.join("secret"), project.root.join("out.txt")).unwrap();
    fs::write(project.outside.join("secret"), "needle outside").unwrap();
    let read = project.call_text("read_many_files", json!({ "include": ["*.txt"] })).await;
    assert_eq!(read.matches("needle").count(), 2, "{read}");
    let found = project.call_text("search_file_content", json!({ "pattern": "needle" })).await;
    assert!(found.contains("link.txt") && found.contains("real.txt") && !found.contains("out.txt"), "{found}");
}
