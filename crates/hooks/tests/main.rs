//! Tests of the engine with real processes and real hook scripts: one binary, one file per subject.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;
