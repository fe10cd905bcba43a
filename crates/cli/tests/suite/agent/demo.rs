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
    has(&run.stdout, "key-keeper, which stays for the session, ");
    assert!(!run.stdout.contains("hookSpecificOutput"), "every answer is understood: {}", run.stdout);
    for folder in [temporary, sandbox.home(), sandbox.project()] {
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }
}

#[test]
fn it_is_the_same_whatever_keys_are_set() {
    let sandbox = crate::sandbox().env("GEMINI_API_KEY", "x").env("OPENAI_BASE_URL", "http://127.0.0.1:1");
    sandbox.run(&["demo"]).exits(0);
}

#[test]
fn the_ecosystem_is_used_and_guarded() {
    let run = crate::sandbox().run(&["demo", "ecosystem"]).exits(0);
    has(&run.stdout, "denied: secrets stay out of the workshop");
    has(&run.stdout, "denied: an inspector only looks");
    let used = "1 call of an MCP server, 1 skill, 1 sub-agent, all of one extension; its guard blocked 2 calls";
    has(&run.stdout, used);
}
