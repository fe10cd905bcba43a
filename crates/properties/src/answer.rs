//! Any way a hook can end, with anything on stdout and stderr, on every event: reading it must not crash, must not give
//! a decision that the event does not have, and a deny must survive any merge and being written down.

use std::time::Duration;

use hookwright_hooks::merge::merge;
use hookwright_hooks::{Answer, Captured, Decision, End, EventKind, Power, read};
use serde_json::Value;

/// Three bytes say how the hook ended; a record separator stands between stdout and stderr.
pub fn answer(input: &[u8]) {
    let [how, code, dropped, text @ ..] = input else { return };
    let end = match how % 6 {
        0 | 1 => End::Exited(0),
        2 => End::Exited(2),
        3 => End::Exited(i32::from(*code)),
        4 => End::TimedOut(Duration::from_millis(u64::from(*code))),
        _ => End::Signaled(i32::from(*code)),
    };
    let streams: [&[u8]; 2] = crate::fields(text);
    let [stdout, stderr] =
        streams.map(|bytes| Captured::decode(bytes, bytes.len() as u64 + u64::from(dropped % 4 == 3)));
    let mut answers = Vec::new();
    for kind in EventKind::all() {
        let reading = read(kind, &end, &stdout, &stderr);
        powers(kind, &reading.answer);
        if matches!(end, End::Exited(2)) {
            assert_eq!(reading.answer.decision == Some(Decision::Deny), kind.can(Power::Deny));
        }
        if matches!(end, End::Signaled(_)) {
            assert!(reading.answer.decision.is_none() && !reading.answer.stop && !reading.troubles.is_empty());
        }
        written_down(kind, &reading.answer);
        answers.push(reading.answer);
    }
    merged(&answers);
}

fn powers(kind: EventKind, answer: &Answer) {
    assert!(answer.decision != Some(Decision::Deny) || kind.can(Power::Deny));
    assert!(answer.decision != Some(Decision::Ask) || kind.can(Power::Ask));
    assert!(!answer.stop || kind.can(Power::Stop));
}

/// What a hook answered, printed by another hook, is the same answer.
fn written_down(kind: EventKind, answer: &Answer) {
    let text = Value::Object(answer.to_json(kind)).to_string();
    let stdout = Captured::decode(text.as_bytes(), text.len() as u64);
    let again = read(kind, &End::Exited(0), &stdout, &Captured::default()).answer;
    assert_eq!(again.stop, answer.stop, "{kind} {text}");
    if !answer.stop {
        assert_eq!(again.decision, answer.decision, "{kind} {text}");
    }
    assert_eq!(again.tool_input, answer.tool_input, "{kind} {text}");
}

fn merged(answers: &[Answer]) {
    let (merged, _) = merge(answers.iter().map(|answer| ("hook", answer)));
    assert_eq!(merged.answer.decision, answers.iter().filter_map(|answer| answer.decision).max());
    assert_eq!(merged.answer.stop, answers.iter().any(|answer| answer.stop));
    assert!(!merged.reason_text().is_empty() && !merged.stop_text().is_empty());
    for kind in EventKind::all() {
        merged.to_json(kind);
    }
}
