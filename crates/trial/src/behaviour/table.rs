//! The table of behaviours.

use std::time::Duration;

use hookwright_hooks::EventKind;

use super::HookIntent::{AddContext, Allow, Confine, Deny, Rewrite};
use super::ScriptDialect::{Claude, Gemini};
use super::TrialHook::{Missing, NotExecutable, Rule, Script};
use super::{Behaviour, HookIntent, ScriptDialect, TrialCallKind, TrialHook, TrialSetup};

const fn behaviour(
    name: &'static str,
    what: &'static str,
    means: HookIntent,
    words: ScriptDialect,
    hooks: &'static [TrialHook],
) -> Behaviour {
    Behaviour {
        name,
        description: what,
        intent: means,
        dialect: words,
        event: EventKind::BeforeTool,
        call_kind: TrialCallKind::Command,
        hooks,
        timeout: None,
        setup: TrialSetup::Normal,
        in_live_trial: false,
    }
}

const fn in_live_trial(row: Behaviour) -> Behaviour {
    Behaviour { in_live_trial: true, ..row }
}

const fn with_timeout(milliseconds: u64, row: Behaviour) -> Behaviour {
    Behaviour { timeout: Some(Duration::from_millis(milliseconds)), ..row }
}

const fn at_event(event: EventKind, row: Behaviour) -> Behaviour {
    Behaviour { event, ..row }
}

const fn with_call_kind(wants: TrialCallKind, row: Behaviour) -> Behaviour {
    Behaviour { call_kind: wants, ..row }
}

const fn confined(
    name: &'static str,
    what: &'static str,
    call: TrialCallKind,
    hooks: &'static [TrialHook],
) -> Behaviour {
    with_call_kind(call, behaviour(name, what, Confine, Gemini, hooks))
}

const fn with_setup(place: TrialSetup, row: Behaviour) -> Behaviour {
    Behaviour { setup: place, ..row }
}

/// A correct deny in the format of Claude Code.
const DENY_SCRIPT: &str = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#;

/// Guards of confined calls, and what the calls try: `RW` says that the call ran, `RAN` that it did what it may not.
const WRITE_GUARD: &[TrialHook] = &[Rule(r#"{"writes": ["RAN"]}"#)];
const WRITE_ATTEMPT: &str = "touch RW; touch RAN";
const READ_GUARD: &[TrialHook] = &[Rule(r#"{"reads": ["secret.txt"]}"#)];
const READ_ATTEMPT: &str = "touch RW; grep -q . secret.txt && touch RAN";
const NETWORK_GUARD: &[TrialHook] = &[Rule(r#"{"network": ["*"]}"#)];
const NETWORK_ATTEMPT: &str = "touch RW; bash -c ': > /dev/tcp/127.0.0.1/PORT' && touch RAN";

const SILENT_HOOK: TrialHook = Script("exit 0");

/// All behaviours, in the order in which they are shown.
pub const BEHAVIOURS: &[Behaviour] = &[
    in_live_trial(behaviour("silence", "says nothing", Allow, Claude, &[SILENT_HOOK])),
    in_live_trial(behaviour("claude-deny", "deny in Claude's words", Deny, Claude, &[Script(DENY_SCRIPT)])),
    in_live_trial(behaviour(
        "gemini-deny",
        r#"deny in Gemini's words: `{"decision":"deny"}`"#,
        Deny,
        Gemini,
        &[Script(r#"echo '{"decision":"deny","reason":"TRIAL-REASON"}'"#)],
    )),
    behaviour(
        "block",
        r#"the old `{"decision":"block"}`"#,
        Deny,
        Claude,
        &[Script(r#"echo '{"decision":"block","reason":"TRIAL-REASON"}'"#)],
    ),
    in_live_trial(behaviour(
        "ask",
        "`ask`, with nobody there",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    )),
    behaviour(
        "unknown-field",
        "deny, and one unknown field",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"rule":7,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "suppress-output",
        "deny, and `suppressOutput`",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"suppressOutput":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "no-reason",
        "deny without a reason",
        Deny,
        Claude,
        &[Script(r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}'"#)],
    ),
    behaviour(
        "no-event-name",
        "deny without `hookEventName`",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "other-event-name",
        "deny with another event's name",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "wrong-casing",
        "deny in the wrong casing: `Deny`",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"Deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "stop",
        "`continue: false` alone",
        Deny,
        Claude,
        &[Script(r#"echo '{"continue":false,"stopReason":"TRIAL-REASON"}'"#)],
    ),
    behaviour(
        "stop-and-deny",
        "`continue: false` and deny",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"continue":false,"stopReason":"TRIAL-REASON","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour("exit-2", "exit 2 with words", Deny, Claude, &[Script("echo TRIAL-REASON >&2; exit 2")]),
    in_live_trial(behaviour("exit-2-silent", "exit 2 in silence", Deny, Claude, &[Script("exit 2")])),
    behaviour(
        "exit-2-allow",
        "exit 2, and JSON that allows",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; echo TRIAL-REASON >&2; exit 2"#,
        )],
    ),
    in_live_trial(behaviour("exit-1", "exit 1", Deny, Claude, &[Script("echo TRIAL-REASON >&2; exit 1")])),
    behaviour("signal", "killed by a signal", Deny, Claude, &[Script("kill -9 $$")]),
    in_live_trial(with_timeout(
        1_000,
        behaviour("timeout", "runs into its time-out", Deny, Claude, &[Script("sleep 60")]),
    )),
    behaviour("missing", "the script is missing", Deny, Claude, &[Missing]),
    behaviour("not-executable", "the script is not executable", Deny, Claude, &[NotExecutable(DENY_SCRIPT)]),
    in_live_trial(behaviour(
        "cut-off",
        "its JSON is cut off",
        Deny,
        Claude,
        &[Script(r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permi'"#)],
    )),
    in_live_trial(behaviour(
        "log-before",
        "a log line before the deny",
        Deny,
        Claude,
        &[Script(
            r#"echo 'guard: checking'; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    )),
    behaviour(
        "log-after",
        "a log line after the deny",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'; echo 'guard: done'"#,
        )],
    ),
    behaviour(
        "log-before-gemini",
        "a log line before the deny, in Gemini's words",
        Deny,
        Gemini,
        &[Script(r#"echo 'guard: checking'; echo '{"decision":"deny","reason":"TRIAL-REASON"}'"#)],
    ),
    behaviour(
        "wrong-type",
        "a field of the wrong type",
        Deny,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":["deny"],"permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "flood",
        "floods stdout with 8 MB, then denies",
        Deny,
        Claude,
        &[Script(
            r#"head -c 8000000 /dev/zero | tr '\0' x; echo; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "daemon",
        "leaves a process behind that holds its pipes, and denies",
        Deny,
        Claude,
        &[Script(
            r#"sleep 20 & echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "slow",
        "slow, but in time",
        Deny,
        Claude,
        &[Script(
            r#"sleep 2; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    behaviour(
        "allow-then-deny",
        "the first hook says nothing, the second denies",
        Deny,
        Claude,
        &[SILENT_HOOK, Script(DENY_SCRIPT)],
    ),
    behaviour(
        "approve-then-deny",
        "the first hook allows, the second denies",
        Deny,
        Claude,
        &[
            Script(r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#),
            Script(DENY_SCRIPT),
        ],
    ),
    in_live_trial(behaviour(
        "rewrite",
        "allows, and rewrites the command",
        Rewrite,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch RW"}}}'"#,
        )],
    )),
    behaviour(
        "rewrite-only",
        "rewrites without a decision",
        Rewrite,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"touch RW"}}}'"#,
        )],
    ),
    behaviour(
        "rewrite-gemini",
        "rewrites in Gemini's words",
        Rewrite,
        Gemini,
        &[Script(r#"echo '{"hookSpecificOutput":{"tool_input":{"command":"touch RW"}}}'"#)],
    ),
    with_call_kind(
        TrialCallKind::Edit,
        behaviour("edit", "a guard on edits; the model uses the tool for that", Deny, Claude, &[Script(DENY_SCRIPT)]),
    ),
    with_call_kind(
        TrialCallKind::EditByCommand,
        behaviour(
            "edit-by-command",
            "a guard on edits; the model writes the file by a command",
            Deny,
            Claude,
            &[Script(DENY_SCRIPT)],
        ),
    ),
    at_event(
        EventKind::BeforeAgent,
        behaviour(
            "prompt",
            "the prompt is denied",
            Deny,
            Claude,
            &[Script(r#"echo '{"decision":"block","reason":"TRIAL-REASON"}'"#)],
        ),
    ),
    at_event(
        EventKind::AfterTool,
        behaviour(
            "context",
            "tells the model something after the call",
            AddContext,
            Claude,
            &[Script(
                r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"TRIAL-CONTEXT"}}'"#,
            )],
        ),
    ),
    with_setup(
        TrialSetup::Untrusted,
        behaviour("untrusted", "denies, but the agent was not told to trust it", Deny, Claude, &[Script(DENY_SCRIPT)]),
    ),
    with_setup(
        TrialSetup::ProgramMissing,
        behaviour("gone", "denies, but the program that the agent calls is gone", Deny, Claude, &[Script(DENY_SCRIPT)]),
    ),
    confined(
        "doubt-write",
        "a guard on a file; an unknown script writes it",
        TrialCallKind::UnknownScript(WRITE_ATTEMPT),
        WRITE_GUARD,
    ),
    confined(
        "doubt-read",
        "a guard on a secret; an unknown script reads it",
        TrialCallKind::UnknownScript(READ_ATTEMPT),
        READ_GUARD,
    ),
    confined(
        "doubt-network",
        "a guard on the network; an unknown script uses it",
        TrialCallKind::UnknownScript(NETWORK_ATTEMPT),
        NETWORK_GUARD,
    ),
    confined(
        "disguise-write",
        "`enforce: always`, a guard on a file; a disguised program writes it",
        TrialCallKind::DisguisedProgram(WRITE_ATTEMPT),
        WRITE_GUARD,
    ),
    confined(
        "disguise-read",
        "`enforce: always`, a guard on a secret; a disguised program reads it",
        TrialCallKind::DisguisedProgram(READ_ATTEMPT),
        READ_GUARD,
    ),
    confined(
        "disguise-network",
        "`enforce: always`, a guard on the network; a disguised program uses it",
        TrialCallKind::DisguisedProgram(NETWORK_ATTEMPT),
        NETWORK_GUARD,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_has_a_unique_name() {
        let mut names: Vec<_> = BEHAVIOURS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BEHAVIOURS.len());
        assert!(names.len() >= 30, "{}", names.len());
        assert_eq!(Behaviour::live_trials().count(), 10);
    }

    /// Without a confinement each attempt succeeds, so that a row of confined calls can fail.
    #[cfg(unix)]
    #[test]
    fn unconfined_attempts_succeed() {
        use hookwright_testkit::deadline::*;

        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port().to_string();
        for row in BEHAVIOURS.iter().filter(|row| row.intent == Confine) {
            let (TrialCallKind::UnknownScript(text) | TrialCallKind::DisguisedProgram(text)) = row.call_kind else {
                panic!("{}", row.name);
            };
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(super::super::SECRET_FILE), "a secret").unwrap();
            let script = text.replace(super::super::PORT_PLACEHOLDER, &port);
            let run =
                std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output_in_time();
            assert!(folder.path().join(super::super::RAN_FILE).exists(), "{}: {run:?}", row.name);
            assert!(folder.path().join(super::super::REWRITTEN_FILE).exists(), "{}: {run:?}", row.name);
        }
    }

    #[test]
    fn scripts_print_the_expected_markers() {
        assert!(DENY_SCRIPT.contains(super::super::REASON_MARKER));
        for row in BEHAVIOURS.iter().filter(|row| row.intent == AddContext) {
            assert!(
                row.hooks
                    .iter()
                    .all(|hook| matches!(hook, Script(text) if text.contains(super::super::CONTEXT_MARKER)))
            );
        }
    }
}
