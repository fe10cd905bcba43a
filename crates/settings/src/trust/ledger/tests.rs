//! Locks that other processes hold, and killed sessions: neither blocks a session or causes a needless question.

use super::*;
use crate::process_env::ProcessEnv;

/// An agent's command could take the lock and never release it.
#[test]
fn foreign_lock_holder_does_not_block_the_session() {
    let home = tempfile::tempdir().unwrap();
    let paths =
        ConfigPaths::new(&ProcessEnv { home: Some(home.path().to_owned()), cwd: "/".into(), ..ProcessEnv::default() });
    let mut ledger = Ledger::new(&paths, Path::new("/project"), "s");
    ledger.open().unwrap();
    ledger.write_baseline(Vec::new()).unwrap();
    assert!(session_state(&ledger.file) == LedgerSessionState::Idle);
    for busy in [true, false, true] {
        let other = File::open(&ledger.lock_file).unwrap();
        let _ = if busy { other.try_lock_shared() } else { other.try_lock() };
        ledger.set_busy(busy);
        assert!(session_state(&ledger.file) == if busy { LedgerSessionState::Busy } else { LedgerSessionState::Idle });
    }
}

/// A session that was killed before any program ran in it leaves nothing to ask about.
#[test]
fn a_session_in_which_nothing_ran_has_changed_nothing() {
    let home = tempfile::tempdir().unwrap();
    let paths =
        ConfigPaths::new(&ProcessEnv { home: Some(home.path().to_owned()), cwd: "/".into(), ..ProcessEnv::default() });
    let project = Path::new("/project");
    let file = GuardFile { path: home.path().join("settings.json"), kind: GuardFileKind::Settings };
    let before = LedgerEntry {
        path: file.path.to_string_lossy().into_owned(),
        before: "other".to_owned(),
        changed: false,
        diff: None,
    };
    for (runs, waiting) in [(false, 0), (true, 1)] {
        let mut ledger = Ledger::new(&paths, project, if runs { "one" } else { "other" });
        ledger.open().unwrap();
        ledger.write_baseline(vec![before.clone()]).unwrap();
        if runs {
            assert!(ledger.mark_active() && !ledger.mark_active());
            ledger.write(vec![before.clone()]).unwrap();
        }
        // Simulates a killed session.
        drop(ledger);
        assert_eq!(pending_changes(&paths, project, std::slice::from_ref(&file)).len(), waiting);
    }
}

/// Folders whose names differ only in bytes that are not UTF-8 are distinct, in the ledger and in the trust record.
#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_are_told_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = tempfile::tempdir().unwrap();
    let paths =
        ConfigPaths::new(&ProcessEnv { home: Some(home.path().to_owned()), cwd: "/".into(), ..ProcessEnv::default() });
    let [one, other] = [b"p\xfe", b"p\xff"].map(|name| home.path().join(OsStr::from_bytes(name)));
    let settings = |project: &Path| GuardFile { path: project.join("settings.json"), kind: GuardFileKind::Settings };
    let mut ledger = Ledger::new(&paths, &one, "s");
    ledger.open().unwrap();
    ledger.mark_active();
    let path = exact_name(settings(&one).path.as_os_str()).into_owned();
    ledger.write(vec![LedgerEntry { path, before: "other".to_owned(), changed: true, diff: None }]).unwrap();
    assert_eq!(pending_changes(&paths, &one, &[settings(&one)]).len(), 1);
    assert_eq!(all_pending_changes(&paths, &one, Vec::new()).len(), 1);
    assert_eq!(pending_changes(&paths, &other, &[settings(&other)]).len(), 0);
    assert_eq!(all_pending_changes(&paths, &other, Vec::new()).len(), 0);
    assert_eq!(exact_path(&exact_name(one.as_os_str())), Some(one.clone()));

    let trust = GuardFile { path: home.path().join("trusted_hooks.json"), kind: GuardFileKind::Trust };
    let look = |known: &Path, project: &Path| {
        let projects = serde_json::json!({ &*exact_name(known.as_os_str()): [] });
        let record = serde_json::json!({"hookwright": {"projects": projects}});
        std::fs::write(&trust.path, record.to_string()).unwrap();
        trust.snapshot(project).digest
    };
    assert_ne!(look(&one, &one), look(&other, &one), "what is trusted in one is part of its record");
    assert_eq!(look(&one, &other), look(&home.path().join("unrelated"), &other));
}
