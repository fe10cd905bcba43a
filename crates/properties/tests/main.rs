//! What must hold, and does: see `suite/mod.rs`.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod suite;
