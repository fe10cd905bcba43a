//! The properties, checked with stored inputs: see `suite/mod.rs`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod suite;
