//! What was changed, removed, reordered or cut off is found and named.

use std::fs;

use hookwright_journal::{ForgetSelection, SealError, check_seal, forget, sign_head};
use hookwright_testkit::fs::read_to_string;
use ssh_key::private::Ed25519Keypair;
use ssh_key::{LineEnding, PrivateKey};

use super::fixture::JournalFixture;

/// Rewrites the lines of the open segment.
fn rewrite(fixture: &JournalFixture, change: impl Fn(&mut Vec<String>)) {
    let path = fixture.segments().pop().unwrap();
    let mut lines: Vec<String> = read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
}

fn findings(fixture: &JournalFixture) -> Vec<String> {
    fixture.verify().findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_journal_that_nobody_touched_verifies() {
    let fixture = JournalFixture::with_small_segments();
    fixture.fill(100);
    let report = fixture.verify();
    assert_eq!(report.findings, []);
    assert!(report.segments > 5, "{report:?}");
    assert!(report.lines > 100 && report.last_line == report.lines, "{report:?}");
    let compressed = fixture.segments().iter().filter(|path| path.to_string_lossy().ends_with(".zst")).count();
    assert_eq!(compressed as u64, report.segments - 1);
}

#[test]
fn every_kind_of_damage_is_named() {
    type Change = fn(&mut Vec<String>);
    let cases: [(&str, Change, &str); 8] = [
        ("changed", |lines| lines[4] = lines[4].replace("\"pass\"", "\"deny\""), "line 5 (segment 1): it was changed"),
        (
            "content",
            |lines| lines[4] = lines[4].replace("echo 3", "echo 9"),
            "line 5 (segment 1): its content was changed",
        ),
        ("missing", |lines| drop(lines.remove(4)), "lines 5 to 5 before it are missing"),
        ("reordered", |lines| lines.swap(4, 5), "out of order"),
        ("truncated", |lines| lines.truncate(6), "lines 7 to 11 at the end are missing"),
        (
            "last line",
            |lines| lines[10] = lines[10].replace("\"pass\"", "\"deny\""),
            "line 11 (segment 1): it was changed",
        ),
        ("garbage", |lines| lines.insert(3, "hello".to_owned()), "after line 3: this is no line of a journal"),
        (
            "stripped",
            |lines| {
                let end = lines[4].find(",\"content\":").unwrap();
                lines[4].replace_range(end.., "}");
            },
            "line 5 (segment 1): its content is gone",
        ),
    ];
    for (name, change, expected) in cases {
        let fixture = JournalFixture::new();
        fixture.fill(10);
        rewrite(&fixture, change);
        let found = findings(&fixture);
        assert!(found.iter().any(|one| one.contains(expected)), "{name}: {found:?}");
    }
}

#[test]
fn a_closed_segment_that_is_replaced_or_removed_is_found() {
    let fixture = JournalFixture::with_small_segments();
    fixture.fill(60);
    let segments = fixture.segments();
    fs::copy(&segments[1], &segments[2]).unwrap();
    assert!(!findings(&fixture).is_empty());
    let fixture = JournalFixture::with_small_segments();
    fixture.fill(60);
    fs::remove_file(&fixture.segments()[2]).unwrap();
    assert!(
        findings(&fixture).iter().any(|one| one.contains("segments 3 to 3 are missing")),
        "{:?}",
        findings(&fixture)
    );
    let fixture = JournalFixture::with_small_segments();
    fixture.fill(60);
    fs::remove_file(&fixture.segments()[0]).unwrap();
    assert!(
        findings(&fixture).iter().any(|one| one.contains("not removed by age or size")),
        "{:?}",
        findings(&fixture)
    );
}

#[test]
fn a_writer_puts_on_record_what_it_finds_missing() {
    let fixture = JournalFixture::new();
    drop(fixture.fill(5));
    rewrite(&fixture, |lines| lines.truncate(3));
    fixture.fill(1);
    let found = findings(&fixture);
    assert!(found.iter().any(|one| one.contains("shorter than the head says")), "{found:?}");
    let fixture = JournalFixture::new();
    drop(fixture.fill(5));
    fs::remove_file(fixture.path().join("head")).unwrap();
    assert!(findings(&fixture).iter().any(|one| one.contains("the head file is missing")));
    fixture.fill(1);
    assert!(findings(&fixture).iter().any(|one| one.contains("the head file was missing")));
}

#[test]
fn half_a_line_is_cut_off_and_a_whole_one_is_adopted() {
    let fixture = JournalFixture::new();
    drop(fixture.fill(5));
    let head = fixture.path().join("head");
    let before = hookwright_testkit::fs::read(&head).unwrap();
    drop(fixture.fill(1));
    // A process that is killed between the line and the head leaves the old head.
    fs::write(&head, &before).unwrap();
    assert_eq!(findings(&fixture), [] as [String; 0]);
    drop(fixture.fill(1));
    let report = fixture.verify();
    assert_eq!((report.findings.len(), report.last_line), (0, 8), "{report:?}");
    let path = fixture.segments().pop().unwrap();
    let text = read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"seq\":9,\"prev\":\"ab")).unwrap();
    fixture.fill(1);
    let found = findings(&fixture);
    assert!(found.iter().any(|one| one.contains("bytes that are no line")), "{found:?}");
}

#[test]
fn content_is_forgotten_and_the_chain_holds() {
    let fixture = JournalFixture::with_small_segments();
    let mut journal = fixture.fill(50);
    let count = forget(&mut journal, &ForgetSelection::Session("codex-session".to_owned())).unwrap();
    assert_eq!(count, 50);
    let report = fixture.verify();
    assert_eq!((report.findings.len(), report.forgotten), (0, 50), "{report:?}");
    let line = fixture.reader().line(5).unwrap().unwrap();
    assert!(line.content.is_none() && line.content_digest.is_some() && line.event().is_some());
    assert_eq!(forget(&mut journal, &ForgetSelection::Session("codex-session".to_owned())).unwrap(), 0);
}

#[test]
fn old_segments_are_dropped_and_that_is_on_record() {
    let mut fixture = JournalFixture::with_small_segments();
    fixture.options.max_bytes = 3000;
    fixture.fill(200);
    let report = fixture.verify();
    assert_eq!(report.findings, [], "{report:?}");
    assert!(report.first_line.is_some_and(|first| first > 20), "{report:?}");
}

/// Returns a private key and its public key, as OpenSSH writes them.
fn key_pair(seed: u8) -> (String, String) {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
    (key.to_openssh(LineEnding::LF).unwrap().to_string(), key.public_key().to_openssh().unwrap())
}

#[test]
fn a_seal_tells_a_rewritten_journal() {
    let fixture = JournalFixture::new();
    fixture.fill(5);
    let ((private_key, public_key), (_, other_public_key)) = (key_pair(1), key_pair(2));
    let seal = sign_head(&fixture.path(), Some(&private_key)).unwrap();
    fixture.fill(5);
    let (line, signer) = check_seal(&fixture.path(), &seal, Some(&public_key)).unwrap();
    assert_eq!(line, 6);
    assert!(signer.unwrap().starts_with("SHA256:"));
    assert!(matches!(check_seal(&fixture.path(), &seal, Some(&other_public_key)), Err(SealError::OtherKey(_))));
    let forged = seal.replace("line 6", "line 5");
    assert!(matches!(check_seal(&fixture.path(), &forged, None), Err(SealError::Signature(_))));
    for bad in ["", "hello", "hookwright journal head\n", "hookwright journal head\nline x\n"] {
        assert!(matches!(check_seal(&fixture.path(), bad, None), Err(SealError::Format(_))), "{bad}");
    }
    // Another journal with as many lines is consistent in itself.
    let rewritten = JournalFixture::new();
    rewritten.fill(10);
    assert!(matches!(check_seal(&rewritten.path(), &seal, None), Err(SealError::Rewritten { line: 6 })));
    let shorter = JournalFixture::new();
    shorter.fill(2);
    assert!(matches!(check_seal(&shorter.path(), &seal, None), Err(SealError::Missing { line: 6 })));
    assert!(sign_head(&JournalFixture::new().path(), Some(&private_key)).is_err());
    assert!(sign_head(&fixture.path(), Some("no key")).is_err());
}
