//! Reads an edit that is described by its file and a diff in git's format, as Copilot's permission requests do.
//!
//! The diff is read as strictly as possible: it must be about the file that the call names, and about no other but the
//! one from which that file is moved.

use hookwright_hooks::patch::{FileChange, Hunk, HunkLine};
use serde_json::{Map, Value};

/// The name of a missing side. Paths follow `a/` and `b/` without their first slash.
const MISSING_SIDE: &str = "dev/null";

/// Returns the change that the arguments `file_path` and `diff` of one call describe.
pub(super) fn parse_arguments(calls: &[Map<String, Value>]) -> Result<FileChange, &'static str> {
    let [arguments] = calls else { return Err("it is one of several") };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    match (text("file_path"), text("diff")) {
        (Some(file_path), Some(diff)) if arguments.len() == 2 => parse(file_path, diff),
        _ => Err("there are other arguments than a file and a diff"),
    }
}

fn parse(file_path: &str, diff: &str) -> Result<FileChange, &'static str> {
    let (header, body) = diff.split_once("\n@@ ").ok_or("it has no hunk")?;
    let (old, new) = (header_path(header, "--- a/")?, header_path(header, "+++ b/")?);
    let root = if file_path.starts_with('/') { "/" } else { "" };
    let [old_path, new_path] = [old, new].map(|side| format!("{root}{side}"));
    let hunks = parse_hunks(body)?;
    match (old, new) {
        (_, MISSING_SIDE) if old_path == file_path => Ok(FileChange::Delete { path: old_path }),
        _ if new_path != file_path => Err("it is about another file than the call"),
        (MISSING_SIDE, _) => {
            Ok(FileChange::Add { path: new_path, content: hunks.iter().map(Hunk::new_text).collect() })
        }
        _ => {
            let moved_to = (new_path != old_path).then_some(new_path);
            Ok(FileChange::Update { path: old_path, moved_to, hunks })
        }
    }
}

/// Returns the path of the only header line with that prefix.
fn header_path<'t>(header: &'t str, prefix: &str) -> Result<&'t str, &'static str> {
    let mut paths = header.split('\n').filter_map(|line| line.strip_prefix(prefix));
    match (paths.next(), paths.next()) {
        (Some(path), None) if !path.is_empty() => Ok(path),
        _ => Err("its header does not name one file"),
    }
}

/// Parses hunks whose first `@@ ` is already read.
fn parse_hunks(body: &str) -> Result<Vec<Hunk>, &'static str> {
    let mut hunks = vec![Hunk::default()];
    for line in body.split('\n').skip(1) {
        let line = match line.split_at_checked(1) {
            Some(("+", text)) => HunkLine::Added(text.to_owned()),
            Some(("-", text)) => HunkLine::Removed(text.to_owned()),
            Some((" ", text)) => HunkLine::Context(text.to_owned()),
            Some(("@", _)) if line.starts_with("@@ ") => {
                hunks.push(Hunk::default());
                continue;
            }
            // What git says about the end of the file, and Copilot's own empty lines.
            Some(("\\", _)) | None if line != "\\" => continue,
            _ => return Err("a line is neither kept, added nor removed"),
        };
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line);
        }
    }
    Ok(hunks)
}
