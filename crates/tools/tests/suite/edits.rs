//! Tests `write_file` and `replace`.

use super::support::{ToolTestProject, result_text};
use hookwright_testkit::fs;
use hookwright_tools::{ToolDisplay, ToolErrorKind};
use serde_json::{Value, json};

fn edit(old: &str, new: &str) -> Value {
    json!({ "file_path": "a.txt", "old_string": old, "new_string": new, "instruction": "change it" })
}

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() {
    let project = ToolTestProject::new();
    let args = json!({ "file_path": "deep/er/a.txt", "content": "one\ntwo\n" });
    let result = project.call("write_file", args).await;
    let path = project.root.join("deep/er/a.txt");
    assert_eq!(result_text(&result), format!("Successfully created and wrote to new file: {}.", path.display()));
    assert_eq!(project.text("deep/er/a.txt"), "one\ntwo\n");
    let shown = &result.to_json()["returnDisplay"];
    assert_eq!(shown["fileName"], "a.txt");
    assert_eq!(shown["filePath"], path.display().to_string());
    assert_eq!(shown["isNewFile"], true);
    assert_eq!(shown["newContent"], "one\ntwo\n");
    assert_eq!(shown["diffStat"]["model_added_lines"], 2);
}

#[tokio::test]
async fn overwriting_shows_what_changes_before_and_after() {
    let project = ToolTestProject::with(&[("a.txt", "one\ntwo\n")]);
    let args = json!({ "file_path": "a.txt", "content": "one\nTWO\n" });
    let preview = project.preview("write_file", args.clone()).await;
    assert_eq!(project.text("a.txt"), "one\ntwo\n", "a preview writes nothing");
    let result = project.call("write_file", args).await;
    assert_eq!(Some(&result.return_display), preview.as_ref());
    let ToolDisplay::Diff(diff) = &result.return_display else { panic!("{result:?}") };
    assert!(diff.unified.ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"), "{}", diff.unified);
    assert_eq!(diff.original.as_deref(), Some("one\ntwo\n"));
    assert!(result_text(&result).starts_with("Successfully overwrote file: "));
    assert!(result_text(&result).ends_with("Here is the updated code:\none\nTWO"));
    assert_eq!(result.return_display.summary(), "1 added, 1 removed");
}

#[tokio::test]
async fn encoding_and_line_endings_stay() {
    let project = ToolTestProject::new();
    project.write("a.txt", b"\xEF\xBB\xBFone\r\ntwo\r\n");
    project.call_text("write_file", json!({ "file_path": "a.txt", "content": "1\n2\n3\n" })).await;
    assert_eq!(project.bytes("a.txt"), b"\xEF\xBB\xBF1\r\n2\r\n3\r\n");
    project.call_text("replace", edit("1\n2", "x\ny")).await;
    assert_eq!(project.bytes("a.txt"), b"\xEF\xBB\xBFx\r\ny\r\n3\r\n");

    project.write("a.txt", b"\xFF\xFEa\0\n\0b\0");
    project.call_text("replace", edit("b", "\u{e9}")).await;
    assert_eq!(project.bytes("a.txt"), b"\xFF\xFEa\0\n\0\xE9\0");

    project.write("a.txt", "lf\ncrlf\r\nlf\nlast");
    project.call_text("replace", edit("crlf\nlf", "changed\nlf")).await;
    assert_eq!(project.text("a.txt"), "lf\nchanged\nlf\nlast", "lines that are not touched keep their endings");
}

#[tokio::test]
async fn exactly_one_match_is_replaced_by_default() {
    let project = ToolTestProject::with(&[("a.txt", "x\ny\nx\n")]);
    let (kind, text) = project.call_failure("replace", edit("x", "z")).await;
    assert_eq!(kind, ToolErrorKind::EditExpectedOccurrenceMismatch);
    assert!(text.contains("Expected 1 occurrence but found 2") && text.contains("at lines 1, 3."), "{text}");
    assert_eq!(project.text("a.txt"), "x\ny\nx\n");

    let mut args = edit("x", "z");
    args["expected_replacements"] = json!(3);
    assert!(project.call_failure("replace", args.clone()).await.1.contains("Expected 3 occurrences but found 2"));
    args["expected_replacements"] = json!(2);
    let text = project.call_text("replace", args).await;
    assert!(text.contains("(2 replacements)"), "{text}");
    let mut args = edit("z", "$1 \\n");
    args["allow_multiple"] = json!(true);
    project.call_text("replace", args).await;
    assert_eq!(project.text("a.txt"), "$1 \\n\ny\n$1 \\n\n", "new text is literal");
}

#[tokio::test]
async fn a_miss_shows_the_nearest_text() {
    let project = ToolTestProject::with(&[("a.txt", "fn main() {\n\tlet a = 1;\n}\n")]);
    let (kind, text) = project.call_failure("replace", edit("    let a = 1;", "    let a = 2;")).await;
    assert_eq!(kind, ToolErrorKind::EditNoOccurrenceFound);
    assert!(text.starts_with("Could not find an exact match for 'old_string' in '"), "{text}");
    assert!(text.contains("Lines 2-2 differ from it only in white space:\n     2| \tlet a = 1;"), "{text}");
    let (_, text) = project.call_failure("replace", edit("let a = 100;", "x")).await;
    assert!(text.contains("The closest text is at lines 2-2:"), "{text}");
    assert!(project.preview("replace", edit("nope", "x")).await.is_none());
}

#[tokio::test]
async fn an_empty_old_text_creates_a_file() {
    let project = ToolTestProject::new();
    let text = project.call_text("replace", edit("", "new")).await;
    assert!(text.starts_with("Created new file: "), "{text}");
    assert_eq!(project.text("a.txt"), "new");
    let (kind, _) = project.call_failure("replace", edit("", "newer")).await;
    assert_eq!(kind, ToolErrorKind::AttemptToCreateExistingFile);
    let (kind, _) = project.call_failure("replace", edit("new", "new")).await;
    assert_eq!(kind, ToolErrorKind::EditNoChange);
    let missing = json!({ "file_path": "b.txt", "old_string": "a", "new_string": "b" });
    assert_eq!(project.call_failure("replace", missing).await.0, ToolErrorKind::FileNotFound);
}

#[tokio::test]
async fn impossible_edits_are_refused() {
    let project = ToolTestProject::with(&[("dir/x", ""), ("file", "")]);
    fs::write(project.outside.join("o.txt"), "o").unwrap();
    let write = |path: &str| json!({ "file_path": path, "content": "x" });
    for (path, kind) in [
        ("dir", ToolErrorKind::TargetIsDirectory),
        ("new/", ToolErrorKind::TargetIsDirectory),
        ("file/x", ToolErrorKind::ReadContentFailure),
        ("../outside/o.txt", ToolErrorKind::PathNotInWorkspace),
        ("../outside/new.txt", ToolErrorKind::PathNotInWorkspace),
        ("/tmp/hookwright-should-not-exist", ToolErrorKind::PathNotInWorkspace),
    ] {
        assert_eq!(project.call_failure("write_file", write(path)).await.0, kind, "{path}");
        assert!(project.preview("write_file", write(path)).await.is_none(), "{path}");
    }
    assert_eq!(fs::read_to_string(project.outside.join("o.txt")).unwrap(), "o");
    assert_eq!(fs::read_dir(&project.outside).unwrap().count(), 1);

    project.write("a.txt", b"caf\xE9 x");
    let (kind, text) = project.call_failure("replace", edit("x", "y")).await;
    assert_eq!(kind, ToolErrorKind::EditPreparationFailure);
    assert!(text.contains("would damage it"), "{text}");
    assert_eq!(project.bytes("a.txt"), b"caf\xE9 x");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_followed_and_modes_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = ToolTestProject::with(&[("real.sh", "old")]);
    fs::set_permissions(project.root.join("real.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real.sh", project.root.join("a.txt")).unwrap();
    symlink(project.outside.join("new.txt"), project.root.join("dangling")).unwrap();
    project.call_text("replace", edit("old", "new")).await;
    assert_eq!(project.text("real.sh"), "new");
    assert!(fs::symlink_metadata(project.root.join("a.txt")).unwrap().is_symlink());
    assert_eq!(fs::metadata(project.root.join("real.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    let (kind, _) = project.call_failure("write_file", json!({ "file_path": "dangling", "content": "x" })).await;
    assert_eq!(kind, ToolErrorKind::PathNotInWorkspace);
    assert!(!project.outside.join("new.txt").exists());
}

#[tokio::test]
async fn calls_are_described_in_a_line() {
    let project = ToolTestProject::new();
    let describe = |tool: &str, args: Value| project.registry.get(tool).unwrap().describe(&args);
    assert_eq!(describe("write_file", json!({ "file_path": "a", "content": "" })), "Writing to a");
    assert_eq!(describe("replace", edit("old\ntext", "new")), "a.txt: old => new");
    assert_eq!(describe("replace", edit("", "new")), "Create a.txt");
    assert_eq!(describe("run_shell_command", json!({ "command": "ls -l\n| wc" })), "ls -l | wc");
    assert_eq!(describe("web_fetch", json!({ "prompt": "read https://a.com/x." })), "Fetching https://a.com/x");
    assert_eq!(describe("glob", json!({ "bad": 1 })), "{\"bad\":1}");
}

/// Another thread swaps a directory for a link that leads out of the workspace, and back, between check and use.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_swapped_directory_lets_no_access_out() {
    use rustix::fs::{CWD, RenameFlags};
    use std::sync::atomic::{AtomicBool, Ordering};
    struct StopOnDrop<'o>(&'o AtomicBool);
    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let project = ToolTestProject::with(&[("sub/f.txt", "own")]);
    fs::write(project.outside.join("f.txt"), "secret").unwrap();
    let (root, outside, over) = (project.root.clone(), project.outside.clone(), AtomicBool::new(false));
    std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
    let before = fs::read_dir(&outside).unwrap().count();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let (sub, link) = (root.join("sub"), root.join("link"));
                rustix::fs::renameat_with(CWD, &sub, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // The thread must stop even if an assertion fails.
        let _over = StopOnDrop(&over);
        let calls = async {
            for at in 0..300 {
                let read = project.call("read_file", json!({ "file_path": "sub/f.txt" })).await;
                assert!(!read.to_json().to_string().contains("secret"), "{at}");
                let args = json!({ "file_path": format!("sub/new{at}.txt"), "content": "x" });
                project.call("write_file", args).await;
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), before);
    assert_eq!(fs::read_to_string(outside.join("f.txt")).unwrap(), "secret");
}
