//! `hookwright demo`: the newcomer's first command.

use super::*;

#[test]
fn it_fires_every_event_and_leaves_nothing_behind() {
    let sandbox = crate::sandbox();
    let temporary = sandbox.sibling_path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let sandbox = sandbox.env("TMPDIR", temporary.to_str().unwrap());
    let run = sandbox.run(&["demo"]).expect_exit_code(0);
    for event in EVENT_NAMES {
        assert_contains(&run.stdout, event);
    }
    assert_contains(
        &run.stdout,
        "11 of 11 events fired: 1 call blocked, 1 rewritten, 1 piece redacted, 1 answer retried",
    );
    assert_contains(&run.stdout, "Each prompt below is its script");
    assert_contains(&run.stdout, "answer: Done. Questions go to [redacted].");
    assert_contains(&run.stdout, "key-keeper, which stays for the session, ");
    assert!(!run.stdout.contains("hookSpecificOutput"), "every answer is understood: {}", run.stdout);
    for folder in [temporary, sandbox.home(), sandbox.project()] {
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }
}

#[test]
fn it_is_the_same_whatever_keys_are_set() {
    let sandbox = crate::sandbox().env("GEMINI_API_KEY", "x").env("OPENAI_BASE_URL", "http://127.0.0.1:1");
    sandbox.run(&["demo"]).expect_exit_code(0);
}

#[test]
fn the_ecosystem_is_used_and_guarded() {
    let run = crate::sandbox().run(&["demo", "ecosystem"]).expect_exit_code(0);
    assert_contains(&run.stdout, "denied: secrets stay out of the workshop");
    assert_contains(&run.stdout, "denied: an inspector only looks");
    let used = "1 call of an MCP server, 1 skill, 1 sub-agent, all of one extension; its guard blocked 2 calls";
    assert_contains(&run.stdout, used);
}
