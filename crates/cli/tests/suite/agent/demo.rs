//! `hookwright demo`: the newcomer's first command.

use super::*;

#[test]
fn it_fires_every_event_and_leaves_nothing_behind() {
    let sandbox = crate::sandbox();
    let temporary = sandbox.beside("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let sandbox = sandbox.env("TMPDIR", temporary.to_str().unwrap());
    let run = sandbox.run(&["demo"]).exits(0);
    for event in EVENTS {
        has(&run.stdout, event);
    }
    has(&run.stdout, "11 of 11 events fired: 1 call blocked, 1 rewritten, 1 piece redacted, 1 answer retried");
    has(&run.stdout, "answer: Done. Questions go to [redacted].");
    for folder in [temporary, sandbox.home(), sandbox.project()] {
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }
}

#[test]
fn it_is_the_same_whatever_keys_are_set() {
    let sandbox = crate::sandbox().env("GEMINI_API_KEY", "x").env("OPENAI_BASE_URL", "http://127.0.0.1:1");
    sandbox.run(&["demo"]).exits(0);
}
