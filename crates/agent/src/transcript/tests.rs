//! Tests of transcripts: writing, truncation at any byte, reading, listing, finding and deleting.

use super::*;
use hookwright_model::Part;
use hookwright_testkit::fs;
use serde_json::json;

fn header(id: &str, started: &str) -> TranscriptHeader {
    TranscriptHeader {
        branch: None,
        session_id: id.to_owned(),
        project: PathBuf::from("/projects/p"),
        model: "m".to_owned(),
        version: "0.1.0".to_owned(),
        started: started.parse().unwrap(),
    }
}

fn default_header() -> TranscriptHeader {
    header("1a2b3c4d-rest", "2020-01-31T23:59:07.250Z")
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn call(id: Option<&str>, name: &str) -> Part {
    Part::function_call(id.map(str::to_owned), name, args(json!({ "x": "é\n" })))
}

fn response(id: Option<&str>, name: &str) -> Part {
    Part::function_response(id.map(str::to_owned), name, args(json!({ "output": "ok" })))
}

fn texts(history: &[Arc<Content>]) -> Vec<String> {
    history.iter().map(|content| content.text()).collect()
}

/// Writes a transcript with these messages.
fn write_transcript(dir: &Path, messages: &[Content]) -> PathBuf {
    let mut transcript = Transcript::create_in(dir, &default_header()).unwrap();
    for message in messages {
        transcript.append(&TranscriptEntry::message(message.clone())).unwrap();
    }
    transcript.path().to_owned()
}

#[test]
fn last_line_can_be_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::create_in(dir.path(), &default_header()).unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("one"))).unwrap();
    transcript.append(&TranscriptEntry::message(Content::model_text("hunter2 and a long story"))).unwrap();
    transcript.replace_last(&TranscriptEntry::message(Content::model_text("[gone]"))).unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("three"))).unwrap();
    let text = fs::read_to_string(transcript.path()).unwrap();
    assert!(!text.contains("hunter2") && text.ends_with('\n'), "{text}");
    assert_eq!(texts(&load(transcript.path()).unwrap().history), ["one", "[gone]", "three"]);
}

fn history_of(messages: &[Content]) -> Vec<Content> {
    let dir = tempfile::tempdir().unwrap();
    let loaded = load(&write_transcript(dir.path(), messages)).unwrap();
    loaded.history.iter().map(|content| content.as_ref().clone()).collect()
}

#[test]
fn transcript_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::create_in(&dir.path().join("a/chats"), &default_header()).unwrap();
    assert_eq!(transcript.path(), dir.path().join("a/chats/session-2020-01-31T23-59-1a2b3c4d.jsonl"));
    let prompt =
        Content::user(vec![Part::text("<hook_context>h</hook_context>"), Part::text("do it"), Part::text("file")]);
    let mut thought = Part::thought("hm");
    thought.thought_signature = Some("sig".to_owned());
    let messages = [
        prompt,
        Content::model(vec![thought, Part::text("yes"), call(Some("1"), "t")]),
        Content::user(vec![response(Some("1"), "t"), Part::inline_data("image/png", "AAAA")]),
        Content::model_text("done"),
    ];
    for message in &messages {
        transcript.append(&TranscriptEntry::message(message.clone())).unwrap();
    }
    let note = TranscriptEntry::Note { kind: "hook".to_owned(), data: args(json!({ "decision": "deny" })) };
    transcript.append(&note).unwrap();
    let shown = TranscriptEntry::Message {
        content: Arc::new(Content::user_text("expanded")),
        display: Some("/cmd x".to_owned()),
    };
    transcript.append(&shown).unwrap();

    let loaded = load(transcript.path()).unwrap();
    assert_eq!(loaded.header, default_header());
    assert_eq!(loaded.history[..4], messages.map(Arc::new));
    assert_eq!((loaded.history.len(), loaded.entries_count, loaded.damaged_entries), (5, 6, 0));
    assert_eq!(loaded.first_prompt.as_deref(), Some("do it"));
    assert_eq!(loaded.last_prompt.as_deref(), Some("/cmd x"));
    assert!(loaded.updated > loaded.header.started);
}

#[test]
fn lines_match_gemini_cli_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_transcript(dir.path(), &[Content::user_text("hi"), Content::model_text("ho")]);
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["sessionId"], "1a2b3c4d-rest");
    assert_eq!(lines[0]["startTime"], "2020-01-31T23:59:07.250Z");
    assert_eq!(lines[0]["kind"], "main");
    assert_eq!(lines[0]["projectHash"].as_str().unwrap().len(), 64);
    assert_eq!(lines[1]["type"], "user");
    assert_eq!(lines[1]["content"], json!([{ "text": "hi" }]));
    assert_eq!(lines[2]["type"], "gemini");
    assert!(lines[1]["id"].is_string() && lines[1]["id"] != lines[2]["id"]);
    assert!(lines[1]["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn history_can_be_cleared_and_compressed() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::create_in(dir.path(), &default_header()).unwrap();
    let mut say = |text: &str| transcript.append(&TranscriptEntry::message(Content::user_text(text))).unwrap();
    say("one");
    say("two");
    transcript
        .append(&TranscriptEntry::compressed(&[
            Arc::new(Content::user_text("sum")),
            Arc::new(Content::user_text("two")),
        ]))
        .unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("three"))).unwrap();
    let loaded = load(transcript.path()).unwrap();
    assert_eq!(texts(&loaded.history), ["sum", "two", "three"]);
    assert_eq!(loaded.first_prompt.as_deref(), Some("one"));
    assert!(fs::read_to_string(transcript.path()).unwrap().contains("\"one\""));
    transcript.append(&TranscriptEntry::ClearContext).unwrap();
    assert!(load(transcript.path()).unwrap().history.is_empty());
    transcript.append(&TranscriptEntry::message(Content::user_text("four"))).unwrap();
    assert_eq!(texts(&load(transcript.path()).unwrap().history), ["four"]);
}

#[test]
fn truncation_loses_at_most_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let messages = ["é\n\"}", "{\"type\":\"user\"}", ""].map(Content::user_text);
    let whole = fs::read(write_transcript(dir.path(), &messages)).unwrap();
    let header_end = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let path = dir.path().join("cut.jsonl");
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        if length < header_end {
            // A killed process never leaves this, as a transcript appears together with its header.
            assert!(matches!(load(&path), Err(TranscriptError::NotATranscript { .. })), "{length}");
            assert!(Transcript::open(&path).is_err());
            continue;
        }
        // A line without a newline is complete if its JSON is.
        let next_is_end = whole.get(length) == Some(&b'\n');
        let lines = whole[header_end..length].iter().filter(|byte| **byte == b'\n').count() + usize::from(next_is_end);
        let expected = lines.saturating_sub(1);
        let before = load(&path).unwrap();
        assert_eq!(before.history, messages[..expected].iter().cloned().map(Arc::new).collect::<Vec<_>>(), "{length}");
        assert_eq!(before.damaged_entries, 0);

        // A child of another test may hold the lock between fork and exec.
        let mut transcript =
            hookwright_testkit::deadline::wait_for("the transcript is free", || Transcript::open(&path).ok());
        transcript.append(&TranscriptEntry::message(Content::user_text("after"))).unwrap();
        drop(transcript);
        let after = load(&path).unwrap();
        assert_eq!((after.history.len(), after.damaged_entries), (expected + 1, 0), "{length}");
        assert!(fs::read_to_string(&path).unwrap().lines().all(|line| wire::is_complete_line(line.as_bytes())));
    }
}

#[test]
fn long_torn_line_is_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_transcript(dir.path(), &[Content::user_text("a"), Content::user_text("x".repeat(300_000))]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    drop(Transcript::open(&path).unwrap());
    assert_eq!(texts(&load(&path).unwrap().history), ["a"]);
    assert!(fs::metadata(&path).unwrap().len() < 1_000);
}

#[test]
fn damaged_lines_are_skipped_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_transcript(dir.path(), &[Content::user_text("a"), Content::user_text("b")]);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let odd = "{\"$set\":{}}\n{\"type\":\"of the future\",\"content\":7}\n\n{\"type\":\"info\"}\n\0\0\0";
    fs::write(&path, format!("{}\n{}\n{odd}\n{}\n", lines[0], lines[1], lines[2])).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!(texts(&loaded.history), ["a", "b"]);
    assert_eq!((loaded.entries_count, loaded.damaged_entries), (6, 3));
}

#[test]
fn calls_without_a_result_get_one() {
    let ask = Content::user_text("go");
    let calls = Content::model(vec![call(Some("1"), "a"), call(None, "b")]);
    let history = history_of(&[ask.clone(), calls.clone()]);
    assert_eq!(history.len(), 3);
    let made_up: Vec<_> = history[2].parts.iter().filter_map(Part::as_function_response).collect();
    assert_eq!(
        made_up.iter().map(|made| (made.id.as_deref(), made.name.as_str())).collect::<Vec<_>>(),
        [(Some("1"), "a"), (None, "b")]
    );
    assert!(made_up[0].response["error"].as_str().unwrap().contains("interrupted"));

    // One of two calls has its result, and the user went on.
    let half = Content::user(vec![response(None, "b")]);
    let history = history_of(&[ask.clone(), calls.clone(), half, Content::user_text("next")]);
    assert_eq!(history.len(), 4);
    assert_eq!(history[2].parts.len(), 2);
    assert_eq!(history[3], Content::user_text("next"));

    // No call has a result, and the user went on.
    let history = history_of(&[ask, calls, Content::user_text("next")]);
    assert_eq!((history.len(), history[2].parts.len()), (4, 2));
}

#[test]
fn results_come_in_one_message_or_several() {
    let calls = Content::model(vec![call(None, "t"), call(None, "t")]);
    let one = Content::user(vec![response(Some("t-1"), "t")]);
    let both = [calls, one.clone(), one];
    assert_eq!(history_of(&both), both);
}

#[test]
fn orphan_results_are_dropped() {
    let stray = Content::user(vec![response(Some("9"), "t")]);
    let mixed = Content::user(vec![response(Some("9"), "t"), Part::text("words")]);
    let calls = Content::model(vec![call(Some("1"), "t")]);
    let history = history_of(&[stray, calls, mixed]);
    assert_eq!(history.len(), 3);
    assert_eq!(history[1].parts[0].as_function_response().unwrap().id.as_deref(), Some("1"));
    assert_eq!(history[2], Content::user_text("words"));
}

#[test]
fn transcript_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let transcript = Transcript::create_in(dir.path(), &default_header()).unwrap();
    let path = transcript.path().to_owned();
    assert!(matches!(Transcript::open(&path), Err(TranscriptError::InUse { .. })));
    assert!(matches!(Transcript::create(&path, &default_header()), Err(TranscriptError::Exists { .. })));
    drop(transcript);
    assert!(Transcript::open(&path).is_ok());
}

#[test]
fn file_names_are_safe_and_unique() {
    let dir = tempfile::tempdir().unwrap();
    let odd = header("../../é/x", "2020-01-01T00:00:00Z");
    let first = Transcript::create_in(dir.path(), &odd).unwrap();
    let second = Transcript::create_in(dir.path(), &odd).unwrap();
    assert_eq!(first.path(), dir.path().join("session-2020-01-01T00-00-________.jsonl"));
    assert_eq!(second.path(), dir.path().join("session-2020-01-01T00-00-________-2.jsonl"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn transcript_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let transcript = Transcript::create_in(&dir.path().join("chats"), &default_header()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(transcript.path()), 0o600);
    assert_eq!(mode(&dir.path().join("chats")), 0o700);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let file = Some(File::options().append(true).open("/dev/full").unwrap());
    let mut transcript = Transcript {
        path: PathBuf::from("/dev/full"),
        file,
        last_offset: 1,
        end_offset: 1,
        has_torn_line: false,
        has_message: true,
    };
    let error = transcript.append(&TranscriptEntry::ClearContext).unwrap_err();
    assert!(matches!(error, TranscriptError::Append { .. }));
    assert!(transcript.has_torn_line && transcript.append(&TranscriptEntry::ClearContext).is_err());
}

#[test]
fn partial_line_does_not_corrupt_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::create_in(dir.path(), &default_header()).unwrap();
    transcript.file.as_mut().unwrap().write_all(b"{\"type\":\"us").unwrap();
    transcript.has_torn_line = true;
    transcript.append(&TranscriptEntry::message(Content::user_text("a"))).unwrap();
    let loaded = load(transcript.path()).unwrap();
    assert_eq!((texts(&loaded.history), loaded.damaged_entries), (vec!["a".to_owned()], 0));
}

#[test]
fn deleted_empty_transcript_is_recreated() {
    let dir = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::create_in(dir.path(), &default_header()).unwrap();
    let path = transcript.path().to_owned();
    transcript.append(&TranscriptEntry::Note { kind: "hook".to_owned(), data: Map::new() }).unwrap();
    fs::remove_file(&path).unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("a"))).unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("b"))).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!((texts(&loaded.history), loaded.entries_count), (vec!["a".to_owned(), "b".to_owned()], 3));
    assert!(matches!(Transcript::open(&path), Err(TranscriptError::InUse { .. })));
    fs::remove_file(&path).unwrap();
    transcript.append(&TranscriptEntry::message(Content::user_text("c"))).unwrap();
    assert!(!path.exists());
}

mod listing {
    use super::*;

    /// Creates sessions with these ids, each with a prompt.
    fn sessions(dir: &Path, ids: &[&str]) -> Vec<SessionInfo> {
        for id in ids {
            let mut transcript = Transcript::create_in(dir, &header(id, "2020-01-01T00:00:00Z")).unwrap();
            transcript.append(&TranscriptEntry::message(Content::user_text(format!("prompt of {id}")))).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3));
        }
        list(dir).unwrap()
    }

    #[test]
    fn sessions_are_sorted_by_last_use() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list(&dir.path().join("none")).unwrap(), []);
        let found = sessions(dir.path(), &["b-one", "a-two", "c-three"]);
        let ids = |found: &[SessionInfo]| found.iter().map(|info| info.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&found), ["b-one", "a-two", "c-three"]);
        assert_eq!((found[1].index, found[1].messages), (2, 1));
        assert_eq!(found[1].first_prompt.as_deref(), Some("prompt of a-two"));
        Transcript::open(&found[0].path)
            .unwrap()
            .append(&TranscriptEntry::message(Content::model_text("more")))
            .unwrap();
        let found = list(dir.path()).unwrap();
        assert_eq!(ids(&found), ["a-two", "c-three", "b-one"]);
        assert_eq!(found[2].messages, 2);
        assert_eq!(found[2].updated, load(&found[2].path).unwrap().updated);
    }

    #[test]
    fn other_files_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        sessions(dir.path(), &["mine"]);
        Transcript::create_in(dir.path(), &header("empty", "2020-01-01T00:00:00Z")).unwrap();
        fs::write(dir.path().join("session-2020-01-01T00-00-aaaaaaaa.json"), "{}").unwrap();
        let gemini = "{\"sessionId\":\"x\",\"projectHash\":\"y\",\"startTime\":\"2020-01-01T00:00:00Z\",\
                      \"lastUpdated\":\"2020-01-01T00:00:00Z\",\"kind\":\"main\"}\n";
        fs::write(dir.path().join("session-2020-01-01T00-00-bbbbbbbb.jsonl"), gemini).unwrap();
        fs::write(dir.path().join("session-x.jsonl"), [0xFF; 100]).unwrap();
        fs::write(dir.path().join("empty.jsonl"), "").unwrap();
        fs::create_dir(dir.path().join("dir.jsonl")).unwrap();
        let found = list(dir.path()).unwrap();
        assert_eq!(found.iter().map(|info| info.id.as_str()).collect::<Vec<_>>(), ["mine"]);
    }

    #[test]
    fn complete_lines_of_any_length_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let long = "x\n".repeat(100_000);
        let mut transcript = Transcript::create_in(dir.path(), &header("long", "2020-01-01T00:00:00Z")).unwrap();
        for text in ["first", &long, "last"] {
            transcript.append(&TranscriptEntry::message(Content::user_text(text))).unwrap();
        }
        let (path, whole) = (transcript.path().to_owned(), fs::read(transcript.path()).unwrap());
        drop(transcript);
        let listed = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let found = list(dir.path()).unwrap().remove(0);
            assert_eq!((found.first_prompt.as_deref(), found.bytes), (Some("first"), bytes.len() as u64));
            (found.messages, found.updated == load(&path).unwrap().updated)
        };
        assert_eq!(listed(&whole), (3, true));
        assert_eq!(listed(whole.trim_ascii_end()), (3, true), "only its newline is missing");
        assert_eq!(listed(&whole[..whole.len() - 5]), (2, true));
        let in_the_long_one = whole.len() - 50_000;
        assert_eq!(listed(&whole[..in_the_long_one]), (1, true));
        assert_eq!(list_outlines(dir.path()).unwrap()[0].first_prompt, None);
    }

    #[test]
    fn sessions_are_found_by_number_id_or_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let found = sessions(dir.path(), &["abc-1", "abd-2", "99"]);
        let id = |asked: &str| find(&found, asked).map(|info| info.id.as_str());
        assert_eq!(id("latest"), Ok("99"));
        assert_eq!(id("1"), Ok("abc-1"));
        assert_eq!(id("99"), Ok("99"));
        assert_eq!(id("abd"), Ok("abd-2"));
        assert_eq!(id("9"), Ok("99"));
        assert_eq!(id("7"), Err(SessionFindError::NoSuchNumber { number: 7, count: 3 }));
        assert_eq!(id("zz"), Err(SessionFindError::NoSuchId { asked: "zz".into(), near: None }));
        assert_eq!(id("adb-2").unwrap_err().hint(), "did you mean abd-2? --list-sessions shows them all");
        assert_eq!(id("acb-").unwrap_err().hint(), "did you mean abc-? --list-sessions shows them all");
        let error = id("ab").unwrap_err();
        assert_eq!(error.to_string(), "several sessions' ids begin with \"ab\": abc-1, abd-2");
        assert_eq!(find(&[], "latest"), Err(SessionFindError::NoSessions));
    }

    #[test]
    fn running_session_is_not_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let found = sessions(dir.path(), &["one", "two"]);
        let running = Transcript::open(&found[0].path).unwrap();
        assert!(matches!(delete(&found[0]), Err(TranscriptError::InUse { .. })));
        drop(running);
        let agents = subagents_dir(&found[0].path);
        fs::create_dir(&agents).unwrap();
        fs::write(agents.join("scout-1.jsonl"), "what was said").unwrap();
        delete(&found[0]).unwrap();
        assert!(!agents.exists(), "what its sub-agents said goes with it");
        assert!(matches!(delete(&found[0]), Err(TranscriptError::Delete { .. })));
        assert_eq!(list(dir.path()).unwrap().len(), 1);
    }
}
