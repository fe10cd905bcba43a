//! Tests of patches as models write them, and of texts that only look like patches.

use super::*;

use proptest::prelude::*;

/// `+path` for added files, `~path` for changed ones (`>path` where they are moved), `-path` for deleted ones.
fn summarize(text: &str) -> String {
    match parse(text) {
        Ok(changes) => changes.iter().map(summarize_change).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    }
}

fn summarize_change(change: &FileChange) -> String {
    match change {
        FileChange::Add { path, content } => format!("+{path}({})", content.lines().count()),
        FileChange::Update { path, moved_to: Some(to), hunks } => format!("~{path}>{to}({})", hunks.len()),
        FileChange::Update { path, moved_to: None, hunks } => format!("~{path}({})", hunks.len()),
        FileChange::Delete { path } => format!("-{path}"),
    }
}

const COMPLETE_PATCH: &str = "*** Begin Patch
*** Add File: a/new file.txt
+one
+
+*** End Patch
*** Update File: src/x.rs
*** Move to: src/y.rs
@@ fn main() {
 kept
-gone
+come

@@
@@ impl X
-a
+b
*** End of File
*** Delete File: old.txt
*** End Patch";

#[test]
fn every_changed_file_is_listed() {
    assert_eq!(summarize(COMPLETE_PATCH), "+a/new file.txt(3) ~src/x.rs>src/y.rs(2) -old.txt");
    let changes = parse(COMPLETE_PATCH).unwrap_or_default();
    let [FileChange::Add { content, .. }, FileChange::Update { hunks, .. }, _] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(content, "one\n\n*** End Patch\n");
    assert_eq!(hunks[0].headers, ["fn main() {"]);
    assert_eq!((hunks[0].old_text(), hunks[0].new_text()), ("kept\ngone\n\n".to_owned(), "kept\ncome\n\n".to_owned()));
    assert_eq!((hunks[1].headers.as_slice(), hunks[1].at_end_of_file), (&["impl X".to_owned()][..], true));
}

#[test]
fn patches_that_agents_apply_are_parsed() {
    let cases = [
        // Blanks around the patch, Windows line ends, a here-document around it, blanks after markers.
        ("\n *** Begin Patch\r\n*** Delete File:  a b \r\n*** End Patch \r\n\n", "-a b"),
        ("<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n", "-a"),
        ("<<EOF\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF", "-a"),
        ("*** Begin Patch\n  *** Delete File: a\n*** End Patch", "-a"),
        // A file without lines, a move without changes, a first hunk without `@@`.
        ("*** Begin Patch\n*** Add File: a\n*** End Patch", "+a(0)"),
        ("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch", "~a>b(0)"),
        ("*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch", "~a(1)"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-*** Delete File: b\n*** End Patch", "~a(1)"),
        ("*** Begin Patch\n*** Add File:a\n+x\n\n*** Delete File: b\n*** End Patch", "+a(1) -b"),
    ];
    for (text, expected) in cases {
        assert_eq!(summarize(text), expected, "{text}");
        assert!(is_patch(text), "{text}");
    }
}

#[test]
fn unsupported_input_is_reported() {
    let file = "expected `*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`";
    let hunk = "expected a line of a hunk (`@@`, ` `, `-` or `+`)";
    let cases = [
        ("", "line 1: expected `*** Begin Patch`".to_owned()),
        ("diff --git a b", "line 1: expected `*** Begin Patch`".to_owned()),
        ("*** Begin Patch", "the patch does not end with `*** End Patch`".to_owned()),
        ("*** Begin Patch\n*** Add File: a\n+x", "the patch does not end with `*** End Patch`".to_owned()),
        ("*** Begin Patch\n*** End Patch", "the patch changes no file".to_owned()),
        ("*** Begin Patch\n*** Delete File: \n*** End Patch", "line 2: a path is missing".to_owned()),
        ("*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch", "line 3: a path is missing".to_owned()),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "line 2: the hunk has no lines".to_owned()),
        ("*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", format!("line 4: {hunk}, found `*** End Patch`")),
        ("*** Begin Patch\n*** Remove File: a\n*** End Patch", format!("line 2: {file}, found `*** Remove File: a`")),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", format!("line 3: {file}, found `x`")),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\nrm\n*** End Patch", format!("line 5: {hunk}, found `rm`")),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Delete File: b",
            "line 4: expected nothing after the end of the patch, found `*** Delete File: b`".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(summarize(text), expected, "{text}");
    }
    assert_eq!(parse(&" ".repeat(MAX_PATCH_BYTES + 1)), Err(PatchError::TooLong));
}

#[test]
fn a_long_patch_is_parsed_quickly() {
    let many: String = (0..100_000).map(|number| format!("*** Delete File: {number}\n")).collect();
    assert_eq!(parse(&format!("{BEGIN_MARKER}\n{many}{END_MARKER}")).map(|changes| changes.len()), Ok(100_000));
}

const SAMPLE_LINES: &[&str] = &[
    BEGIN_MARKER,
    END_MARKER,
    "*** Add File: a",
    "*** Update File: b",
    "*** Delete File: c",
    "*** Move to: d",
    "@@",
    "@@ x",
    " y",
    "+ä",
    "-z",
    "",
    "*** End of File",
    "***",
    "+",
    "<<EOF",
    "EOF",
    "\u{a0}",
];

proptest! {
    #[test]
    fn arbitrary_text_never_panics(lines in prop::collection::vec(prop::sample::select(SAMPLE_LINES), 0..20), end in "[\r\n]{1,2}") {
        let text = lines.join(&end);
        if let Ok(changes) = parse(&text) {
            prop_assert!(is_patch(&text) && !changes.is_empty());
            prop_assert!(changes.iter().all(|change| !change.path().is_empty()));
        }
    }
}
