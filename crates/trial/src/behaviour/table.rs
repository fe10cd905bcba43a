//! THE table of behaviours.

use std::time::Duration;

use hookwright_hooks::EventKind;

use super::Hook::{Missing, NotExecutable, Script};
use super::Meaning::{No, Nothing, Otherwise, Tell};
use super::Words::{Claude, Gemini};
use super::{Behaviour, Hook, Meaning, Place, Wanted, Words};

const fn row(
    name: &'static str,
    what: &'static str,
    means: Meaning,
    words: Words,
    hooks: &'static [Hook],
) -> Behaviour {
    Behaviour {
        name,
        what,
        means,
        words,
        event: EventKind::BeforeTool,
        wants: Wanted::Command,
        hooks,
        patience: None,
        place: Place::Usual,
        short: false,
    }
}

const fn short(row: Behaviour) -> Behaviour {
    Behaviour { short: true, ..row }
}

const fn within(milliseconds: u64, row: Behaviour) -> Behaviour {
    Behaviour { patience: Some(Duration::from_millis(milliseconds)), ..row }
}

const fn at(event: EventKind, row: Behaviour) -> Behaviour {
    Behaviour { event, ..row }
}

const fn wants(wants: Wanted, row: Behaviour) -> Behaviour {
    Behaviour { wants, ..row }
}

const fn place(place: Place, row: Behaviour) -> Behaviour {
    Behaviour { place, ..row }
}

/// A deny in Claude Code's words, as it should be.
const DENY: &str = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#;

const NOTHING: Hook = Script("exit 0");

/// Every behaviour, in the order in which it is shown.
pub const BEHAVIOURS: &[Behaviour] = &[
    short(row("silence", "says nothing", Nothing, Claude, &[NOTHING])),
    short(row("claude-deny", "deny in Claude's words", No, Claude, &[Script(DENY)])),
    short(row(
        "gemini-deny",
        r#"deny in Gemini's words: `{"decision":"deny"}`"#,
        No,
        Gemini,
        &[Script(r#"echo '{"decision":"deny","reason":"TRIAL-REASON"}'"#)],
    )),
    row(
        "block",
        r#"the old `{"decision":"block"}`"#,
        No,
        Claude,
        &[Script(r#"echo '{"decision":"block","reason":"TRIAL-REASON"}'"#)],
    ),
    short(row(
        "ask",
        "`ask`, with nobody there",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    )),
    row(
        "unknown-field",
        "deny, and one unknown field",
        No,
        Claude,
        &[Script(
            r#"echo '{"rule":7,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "suppress-output",
        "deny, and `suppressOutput`",
        No,
        Claude,
        &[Script(
            r#"echo '{"suppressOutput":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "no-reason",
        "deny without a reason",
        No,
        Claude,
        &[Script(r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}'"#)],
    ),
    row(
        "no-event-name",
        "deny without `hookEventName`",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "other-event-name",
        "deny with another event's name",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "wrong-casing",
        "deny in the wrong casing: `Deny`",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"Deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "stop",
        "`continue: false` alone",
        No,
        Claude,
        &[Script(r#"echo '{"continue":false,"stopReason":"TRIAL-REASON"}'"#)],
    ),
    row(
        "stop-and-deny",
        "`continue: false` and deny",
        No,
        Claude,
        &[Script(
            r#"echo '{"continue":false,"stopReason":"TRIAL-REASON","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row("exit-2", "exit 2 with words", No, Claude, &[Script("echo TRIAL-REASON >&2; exit 2")]),
    short(row("exit-2-silent", "exit 2 in silence", No, Claude, &[Script("exit 2")])),
    row(
        "exit-2-allow",
        "exit 2, and JSON that allows",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; echo TRIAL-REASON >&2; exit 2"#,
        )],
    ),
    short(row("exit-1", "exit 1", No, Claude, &[Script("echo TRIAL-REASON >&2; exit 1")])),
    row("signal", "killed by a signal", No, Claude, &[Script("kill -9 $$")]),
    short(within(1_000, row("timeout", "runs into its time-out", No, Claude, &[Script("sleep 60")]))),
    row("missing", "the script is missing", No, Claude, &[Missing]),
    row("not-executable", "the script is not executable", No, Claude, &[NotExecutable(DENY)]),
    short(row(
        "cut-off",
        "its JSON is cut off",
        No,
        Claude,
        &[Script(r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permi'"#)],
    )),
    short(row(
        "log-before",
        "a log line before the deny",
        No,
        Claude,
        &[Script(
            r#"echo 'guard: checking'; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    )),
    row(
        "log-after",
        "a log line after the deny",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'; echo 'guard: done'"#,
        )],
    ),
    row(
        "log-before-gemini",
        "a log line before the deny, in Gemini's words",
        No,
        Gemini,
        &[Script(r#"echo 'guard: checking'; echo '{"decision":"deny","reason":"TRIAL-REASON"}'"#)],
    ),
    row(
        "wrong-type",
        "a field of the wrong type",
        No,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":["deny"],"permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "flood",
        "floods stdout with 8 MB, then denies",
        No,
        Claude,
        &[Script(
            r#"head -c 8000000 /dev/zero | tr '\0' x; echo; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "daemon",
        "leaves a process behind that holds its pipes, and denies",
        No,
        Claude,
        &[Script(
            r#"sleep 20 & echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row(
        "slow",
        "slow, but in time",
        No,
        Claude,
        &[Script(
            r#"sleep 2; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"TRIAL-REASON"}}'"#,
        )],
    ),
    row("allow-then-deny", "the first hook says nothing, the second denies", No, Claude, &[NOTHING, Script(DENY)]),
    row(
        "approve-then-deny",
        "the first hook allows, the second denies",
        No,
        Claude,
        &[
            Script(r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#),
            Script(DENY),
        ],
    ),
    short(row(
        "rewrite",
        "allows, and rewrites the command",
        Otherwise,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch RW"}}}'"#,
        )],
    )),
    row(
        "rewrite-only",
        "rewrites without a decision",
        Otherwise,
        Claude,
        &[Script(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"touch RW"}}}'"#,
        )],
    ),
    row(
        "rewrite-gemini",
        "rewrites in Gemini's words",
        Otherwise,
        Gemini,
        &[Script(r#"echo '{"hookSpecificOutput":{"tool_input":{"command":"touch RW"}}}'"#)],
    ),
    wants(Wanted::Edit, row("edit", "a guard on edits; the model uses the tool for that", No, Claude, &[Script(DENY)])),
    wants(
        Wanted::EditByCommand,
        row("edit-by-command", "a guard on edits; the model writes the file by a command", No, Claude, &[Script(DENY)]),
    ),
    at(
        EventKind::BeforeAgent,
        row(
            "prompt",
            "the prompt is denied",
            No,
            Claude,
            &[Script(r#"echo '{"decision":"block","reason":"TRIAL-REASON"}'"#)],
        ),
    ),
    at(
        EventKind::AfterTool,
        row(
            "context",
            "tells the model something after the call",
            Tell,
            Claude,
            &[Script(
                r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"TRIAL-CONTEXT"}}'"#,
            )],
        ),
    ),
    place(
        Place::Untrusted,
        row("untrusted", "denies, but the agent was not told to trust it", No, Claude, &[Script(DENY)]),
    ),
    place(
        Place::ProgramGone,
        row("gone", "denies, but the program that the agent calls is gone", No, Claude, &[Script(DENY)]),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_has_a_name_of_its_own_and_says_whether_it_is_short() {
        let mut names: Vec<_> = BEHAVIOURS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BEHAVIOURS.len());
        assert!(names.len() >= 30, "{}", names.len());
        assert_eq!(Behaviour::short().count(), 10);
    }

    #[test]
    fn scripts_say_what_is_looked_for() {
        assert!(DENY.contains(super::super::REASON));
        for row in BEHAVIOURS.iter().filter(|row| row.means == Tell) {
            assert!(row.hooks.iter().all(|hook| matches!(hook, Script(text) if text.contains(super::super::CONTEXT))));
        }
    }
}
