//! The `answer` property: any way in which a hook can end, with any stdout and stderr, on every event. Parsing must not
//! panic and must not give a decision that the event does not have; a deny must survive every merge, and an answer a
//! round trip through JSON.

use std::time::Duration;

use hookwright_hooks::merge::merge;
use hookwright_hooks::{Answer, CapturedStream, Decision, EventKind, HookCapability, HookExit, parse_answer};
use serde_json::Value;

/// Checks one input: three bytes say how the hook ended, then stdout and stderr follow, with a record separator between
/// them.
pub fn answer(input: &[u8]) {
    let [how, code, dropped, text @ ..] = input else { return };
    let end = match how % 6 {
        0 | 1 => HookExit::Exited(0),
        2 => HookExit::Exited(2),
        3 => HookExit::Exited(i32::from(*code)),
        4 => HookExit::TimedOut(Duration::from_millis(u64::from(*code))),
        _ => HookExit::Signaled(i32::from(*code)),
    };
    let streams: [&[u8]; 2] = crate::split_fields(text);
    let [stdout, stderr] =
        streams.map(|bytes| CapturedStream::decode(bytes, bytes.len() as u64 + u64::from(dropped % 4 == 3)));
    let mut answers = Vec::new();
    for kind in EventKind::all() {
        let reading = parse_answer(kind, &end, &stdout, &stderr);
        check_powers(kind, &reading.answer);
        if matches!(end, HookExit::Exited(2)) {
            assert_eq!(reading.answer.decision == Some(Decision::Deny), kind.can(HookCapability::Deny));
        }
        if matches!(end, HookExit::Signaled(_)) {
            assert!(reading.answer.decision.is_none() && !reading.answer.stop && !reading.problems.is_empty());
        }
        check_json_round_trip(kind, &reading.answer);
        answers.push(reading.answer);
    }
    check_merge(&answers);
}

fn check_powers(kind: EventKind, answer: &Answer) {
    assert!(answer.decision != Some(Decision::Deny) || kind.can(HookCapability::Deny));
    assert!(answer.decision != Some(Decision::Ask) || kind.can(HookCapability::Ask));
    assert!(!answer.stop || kind.can(HookCapability::Stop));
}

/// Checks that an answer, printed by another hook, parses to the same answer.
fn check_json_round_trip(kind: EventKind, answer: &Answer) {
    let text = Value::Object(answer.to_json(kind)).to_string();
    let stdout = CapturedStream::decode(text.as_bytes(), text.len() as u64);
    let again = parse_answer(kind, &HookExit::Exited(0), &stdout, &CapturedStream::default()).answer;
    assert_eq!(again.stop, answer.stop, "{kind} {text}");
    if !answer.stop {
        assert_eq!(again.decision, answer.decision, "{kind} {text}");
    }
    assert_eq!(again.tool_input, answer.tool_input, "{kind} {text}");
}

fn check_merge(answers: &[Answer]) {
    let (merged, _) = merge(answers.iter().map(|answer| ("hook", answer)));
    assert_eq!(merged.answer.decision, answers.iter().filter_map(|answer| answer.decision).max());
    assert_eq!(merged.answer.stop, answers.iter().any(|answer| answer.stop));
    assert!(!merged.reason_text().is_empty() && !merged.stop_text().is_empty());
    for kind in EventKind::all() {
        merged.to_json(kind);
    }
}
