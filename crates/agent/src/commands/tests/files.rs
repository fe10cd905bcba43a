//! Tests of `@{path}`: what is read, what is left out, and that no content is parsed as a template.

use hookwright_model::{Part, PartKind};

use super::{headless, yolo};
use crate::commands::CommandError;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

fn mime_types(parts: &[Part]) -> Vec<&str> {
    let mut found = Vec::new();
    for part in parts {
        if let PartKind::InlineData(blob) = &part.kind {
            found.push(blob.mime_type.as_str());
        }
    }
    found
}

#[tokio::test]
async fn file_is_injected_as_text() {
    let case = headless(&[("docs/a.md", "Tabs.\n"), ("my notes {1}.md", "N")]);
    let ran = case.run("Rules:\n@{docs/a.md}And @{ my notes {1}.md }.", "").await;
    assert_eq!(ran.text(), "Rules:\nTabs.\nAnd N.");
    assert_eq!(ran.result.unwrap().len(), 1);
    assert!(ran.warnings.is_empty());
}

#[tokio::test]
async fn file_content_is_not_expanded_again() {
    let hostile = "!{touch pwned} @{secret} {{args}} !{";
    let case = yolo(&[("a.txt", hostile), ("secret", "S"), ("d/b.txt", hostile)]);
    let ran = case.run("<@{a.txt}> @{d} {{args}}", "X").await;
    assert!(ran.text().starts_with(&format!("<{hostile}>")) && ran.text().ends_with(" X"), "{}", ran.text());
    assert_eq!(ran.text().matches(hostile).count(), 2);
    assert!(!case.has("pwned") && ran.notes.is_empty());
}

#[tokio::test]
async fn missing_path_stays_and_warns() {
    let case = headless(&[("a", "A")]);
    let ran = case.run("1 @{gone.md} 2 @{../x} 3 @{/etc/passwd} 4 @{} 5 @{a/b} 6 @{{{args}}.md}", "z").await;
    assert_eq!(ran.text(), "1 @{gone.md} 2 @{../x} 3 @{/etc/passwd} 4 @{} 5 @{a/b} 6 @{z.md}");
    assert_eq!(ran.warnings.len(), 6);
    assert_eq!(ran.warnings[0], "/test: @{gone.md}: not read: there is no such file in the workspace");
    assert!(ran.warnings[1].starts_with("/test: @{../x}: not read: Path not in workspace"), "{}", ran.warnings[1]);
    assert!(ran.warnings[3].contains("must not be empty"), "{}", ran.warnings[3]);
}

#[cfg(unix)]
#[tokio::test]
async fn symlinks_out_of_the_workspace_are_refused() {
    let case = headless(&[]);
    std::os::unix::fs::symlink("/etc/passwd", case.dir.path().join("link")).unwrap();
    let ran = case.run("@{link}", "").await;
    assert_eq!((ran.text().as_str(), ran.warnings.len()), ("@{link}", 1));
}

#[tokio::test]
async fn ignored_files_are_skipped() {
    let case = headless(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n"),
        (".geminiignore", "vault/\n"),
        ("x.log", "hidden"),
        ("d/a.txt", "A"),
        ("d/x.log", "hidden"),
        ("vault/v", "hidden"),
    ]);
    let ran = case.run("[@{x.log}] [@{vault}] [@{vault/v}]", "").await;
    assert_eq!(ran.text(), "[] [] []");
    assert_eq!(ran.warnings[0], "/test: @{x.log}: left out: an ignore file excludes it");
    assert_eq!(ran.warnings[1], "/test: @{vault}: left out: it contains no file that may be read");
    let ran = case.run("@{d}", "").await;
    assert!(ran.text().contains("a.txt ---\n\nA\n") && !ran.text().contains("hidden"), "{}", ran.text());
}

#[tokio::test]
async fn pictures_and_documents_are_media() {
    let case = headless(&[("d/sub/a.txt", "A")]);
    case.write("p.png", PNG);
    case.write("d/q.png", PNG);
    case.write("d/r.pdf", b"%PDF-1.7 \0");
    case.write("d/bin", b"\0\x01");
    let ran = case.run("What is @{p.png}?", "now").await;
    let parts = ran.result.clone().unwrap();
    assert_eq!((parts.len(), mime_types(&parts)), (3, vec!["image/png"]));
    assert_eq!(parts[2].as_text(), Some("?\n\n/test now"));
    let ran = case.run("@{d}", "").await;
    assert_eq!(mime_types(&ran.result.clone().unwrap()), ["image/png", "application/pdf"]);
    assert!(ran.text().contains("\nA\n") && ran.text().contains("--- d/q.png ---"), "{}", ran.text());
    assert_eq!(ran.warnings, ["/test: @{d}: left out d/bin (binary file)"]);
    // The folder's name contains the images' names, which names none of them.
    case.write("q.png/pq/p.png", PNG);
    case.write("q.png/pq/a.pdf", b"%PDF-1.7 \0");
    let ran = case.run("@{q.png/pq}", "").await;
    assert_eq!(mime_types(&ran.result.clone().unwrap()), ["application/pdf", "image/png"]);
    let ran = case.run("@{p.png}", "now").await;
    assert_eq!(ran.result.unwrap()[1].as_text(), Some("\n\n/test now"));
}

#[tokio::test]
async fn paths_resolve_in_every_workspace_root() {
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("far.md"), "far").unwrap();
    let mut case = headless(&[("near.md", "near")]);
    case.more_roots.push(other.path().to_owned());
    let far = other.path().canonicalize().unwrap().join("far.md");
    let prompt = format!("@{{near.md}} @{{far.md}} @{{{}}}", far.display());
    assert_eq!(case.run(&prompt, "").await.text(), "near far far");
}

#[tokio::test]
async fn reading_can_be_cancelled() {
    let case = headless(&[("a", "A")]);
    case.cancel.cancel();
    assert_eq!(case.run("@{a}", "").await.error(), CommandError::Cancelled);
}
