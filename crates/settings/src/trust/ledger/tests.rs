//! Locks that others hold, and sessions that were killed: neither holds anybody up nor leaves a question without cause.

use super::*;
use crate::world::World;

/// An agent's command could take the lock and never let it go.
#[test]
fn whoever_holds_the_lock_of_a_session_holds_up_nobody() {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::new(&World { home: Some(home.path().to_owned()), cwd: "/".into(), ..World::default() });
    let mut ledger = Ledger::new(&paths, Path::new("/project"), "s");
    ledger.open().unwrap();
    ledger.begin(Vec::new()).unwrap();
    assert!(state(&ledger.sheet) == State::Idle);
    for busy in [true, false, true] {
        let other = File::open(&ledger.lock).unwrap();
        let _ = if busy { other.try_lock_shared() } else { other.try_lock() };
        ledger.set_busy(busy);
        assert!(state(&ledger.sheet) == if busy { State::Busy } else { State::Idle });
    }
}

/// A session that was killed before anything ran in it leaves nothing to ask about: what changed is the user's work, or
/// its own.
#[test]
fn a_session_in_which_nothing_ran_has_changed_nothing() {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::new(&World { home: Some(home.path().to_owned()), cwd: "/".into(), ..World::default() });
    let project = Path::new("/project");
    let file = GuardFile { path: home.path().join("settings.json"), kind: GuardKind::Settings };
    let before = LedgerEntry {
        path: file.path.to_string_lossy().into_owned(),
        before: "other".to_owned(),
        changed: false,
        diff: None,
    };
    for (runs, waiting) in [(false, 0), (true, 1)] {
        let mut ledger = Ledger::new(&paths, project, if runs { "one" } else { "other" });
        ledger.open().unwrap();
        ledger.begin(vec![before.clone()]).unwrap();
        if runs {
            assert!(ledger.rouse() && !ledger.rouse());
            ledger.write(vec![before.clone()]).unwrap();
        }
        // Killed.
        drop(ledger);
        assert_eq!(pending(&paths, project, std::slice::from_ref(&file)).len(), waiting);
    }
}
