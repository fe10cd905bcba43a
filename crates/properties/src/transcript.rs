//! The `transcript` property: any bytes as a session's transcript. Complete entries are loaded, every call has its
//! result, a file cut anywhere loads the entries before the cut and can be continued, and loaded entries can be saved
//! and loaded again.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use hookwright_agent::transcript::{LoadedTranscript, Transcript, TranscriptEntry, TranscriptHeader, copy, list, load};
use hookwright_model::{Content, Role};
use jiff::Timestamp;
use tempfile::TempDir;

thread_local! {
    /// One folder for all inputs: creating one takes longer than all the rest.
    static TEMP_FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Checks the bytes as a transcript, once as they are and once after a header.
#[expect(clippy::disallowed_methods, reason = "a file that it has just made")]
pub fn transcript(input: &[u8]) {
    TEMP_FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| tempfile::tempdir().expect("a temporary folder")).path();
        check_transcript(folder, input);
        let _ = fs::remove_file(folder.join("headed.jsonl"));
        let headed = Transcript::create(&folder.join("headed.jsonl"), &sample_header()).expect("a transcript");
        let mut bytes = fs::read(headed.path()).expect("its header");
        drop(headed);
        bytes.extend_from_slice(input);
        check_transcript(folder, &bytes);
    });
}

fn sample_header() -> TranscriptHeader {
    TranscriptHeader {
        branch: None,
        session_id: "s".to_owned(),
        project: "/p".into(),
        model: "m".to_owned(),
        version: "0".to_owned(),
        started: Timestamp::UNIX_EPOCH,
    }
}

fn check_transcript(folder: &Path, bytes: &[u8]) {
    let path = folder.join("given.jsonl");
    fs::write(&path, bytes).expect("a file");
    let loaded = load(&path);
    list(folder).expect("a folder can be listed, whatever is in it");
    let Ok(loaded) = loaded else { return };
    assert!(loaded.damaged_entries <= loaded.entries_count);
    check_calls_answered(&loaded);
    check_save_and_reload(folder, &loaded);
    check_truncated(folder, bytes, &loaded);
    check_continued(&path, &loaded);
    let id = copy(&path, &folder.join("copies")).expect("what loads can be copied");
    assert!(!id.is_empty());
    let _ = fs::remove_dir_all(folder.join("copies"));
}

/// Checks that every call has a result, without which providers refuse a history.
fn check_calls_answered(loaded: &LoadedTranscript) {
    let parts = || loaded.history.iter().flat_map(|content| content.parts.iter().map(|part| (content.role, part)));
    let calls = parts().filter(|(_, part)| part.as_function_call().is_some()).count();
    let results = parts().filter(|(role, part)| *role == Role::User && part.as_function_response().is_some()).count();
    assert_eq!(calls, results);
}

/// Checks saving and loading, message by message and as one compressed entry.
fn check_save_and_reload(folder: &Path, loaded: &LoadedTranscript) {
    let path = folder.join("saved.jsonl");
    let entries: [Vec<TranscriptEntry>; 2] = [
        loaded.history.iter().cloned().map(TranscriptEntry::message).collect(),
        vec![TranscriptEntry::compressed(&loaded.history)],
    ];
    for entries in entries {
        let _ = fs::remove_file(&path);
        let mut saved = Transcript::create(&path, &loaded.header).expect("a transcript");
        entries.iter().for_each(|entry| saved.append(entry).expect("a line"));
        drop(saved);
        let again = load(&path).expect("what was saved can be loaded");
        assert_eq!(again.damaged_entries, 0, "a line that was just written cannot be read");
        assert_eq!(again.header, loaded.header);
        assert_same_history(&again.history, &loaded.history);
    }
}

/// Checks files that end where a killed process might have left them.
fn check_truncated(folder: &Path, bytes: &[u8], loaded: &LoadedTranscript) {
    let path = folder.join("cut.jsonl");
    let places = crate::cut_positions(bytes);
    for at in places.iter().copied().step_by(places.len() / 8 + 1) {
        fs::write(&path, &bytes[..at]).expect("a file");
        let Ok(part) = load(&path) else { continue };
        assert!(part.entries_count <= loaded.entries_count + 1 && part.damaged_entries <= loaded.damaged_entries + 1);
        assert_eq!(part.header, loaded.header);
        check_calls_answered(&part);
    }
}

/// Checks that the next process repairs the end and appends to it.
fn check_continued(path: &Path, loaded: &LoadedTranscript) {
    let Ok(mut open) = Transcript::open(path) else { return };
    open.append(&TranscriptEntry::message(Content::user_text("go on"))).expect("a line");
    drop(open);
    let after = load(path).expect("what was gone on with can be loaded");
    assert_eq!(after.last_prompt.as_deref(), Some("go on"));
    // An unterminated last line that is JSON, but not a transcript entry, was not counted before.
    let uncounted = after.damaged_entries - loaded.damaged_entries;
    assert!(uncounted <= 1, "going on with it did damage");
    assert_eq!(after.entries_count, loaded.entries_count + 1 + uncounted);
    let (last, before) = after.history.split_last().expect("a message");
    assert_eq!(**last, Content::user_text("go on"));
    assert_eq!(before, loaded.history);
}

/// Compares two histories. Of a number with seventeen digits, parsing may lose the last one.
fn assert_same_history(again: &[Arc<Content>], before: &[Arc<Content>]) {
    if again != before {
        let words = |history: &[Arc<Content>]| {
            let texts = history.iter().map(|content| serde_json::json!(**content).to_string());
            texts.collect::<String>().replace(|char: char| "0123456789.e+-".contains(char), "")
        };
        assert_eq!(words(again), words(before), "more than a number changed");
    }
}
