//! Tests both HTTP models against a real server on the loopback interface, faults included.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;
mod support;
