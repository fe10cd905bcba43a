//! Both HTTP models against a real server on the loopback interface, faults included.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;
mod support;
