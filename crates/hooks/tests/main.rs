//! The engine against real processes and real hook scripts: one binary, one file per subject.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;
