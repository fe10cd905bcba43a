//! Any way a hook can end, with anything on stdout and stderr, on every event: reading it must not crash, must not give
//! a decision that the event does not have, and a deny must survive any merge.

#![no_main]

use std::time::Duration;

use hookwright_hooks::{Captured, Decision, End, EventKind, Power, merge::merge, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [kind, code, dropped, text @ ..] = input else { return };
    let end = match kind % 6 {
        0 | 1 => End::Exited(0),
        2 => End::Exited(2),
        3 => End::Exited(i32::from(*code)),
        4 => End::TimedOut(Duration::from_millis(u64::from(*code))),
        _ => End::Signaled(i32::from(*code)),
    };
    // A record separator stands between stdout and stderr.
    let mut streams = text.splitn(2, |byte| *byte == 0x1e);
    let mut captured = || {
        let bytes = streams.next().unwrap_or_default();
        Captured::decode(bytes, bytes.len() as u64 + u64::from(dropped % 4 == 3))
    };
    let (stdout, stderr) = (captured(), captured());
    let mut answers = Vec::new();
    for kind in EventKind::all() {
        let reading = read(kind, &end, &stdout, &stderr);
        let answer = &reading.answer;
        assert!(answer.decision != Some(Decision::Deny) || kind.can(Power::Deny));
        assert!(answer.decision != Some(Decision::Ask) || kind.can(Power::Ask));
        assert!(!answer.stop || kind.can(Power::Stop));
        if matches!(end, End::Exited(2)) {
            assert_eq!(answer.decision == Some(Decision::Deny), kind.can(Power::Deny));
        }
        if matches!(end, End::Signaled(_)) {
            assert!(answer.decision.is_none() && !answer.stop && !reading.troubles.is_empty());
        }
        answers.push(reading.answer);
    }
    let (merged, _) = merge(answers.iter().map(|answer| ("hook", answer)));
    assert_eq!(merged.decision, answers.iter().filter_map(|answer| answer.decision).max());
    assert_eq!(merged.stop, answers.iter().any(|answer| answer.stop));
    assert!(!merged.reason_text().is_empty() && !merged.stop_text().is_empty());
    for kind in EventKind::all() {
        merged.to_json(kind);
    }
});
