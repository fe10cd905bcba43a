//! Real processes: one binary, one file per subject.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod ending;
    mod lines;
    mod piping;
    mod starting;
    mod support;
    mod terminal;
}
