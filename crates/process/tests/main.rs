//! Tests with real processes, one file per subject.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod ending;
    mod lines;
    mod piping;
    mod starting;
    mod support;
    mod terminal;
}
