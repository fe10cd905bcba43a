//! What must hold, and does: see `suite/mod.rs`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod suite;
