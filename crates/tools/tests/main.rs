//! The tools as an agent calls them: through the registry, with JSON arguments, in a project of their own.
#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod console;
    mod edits;
    mod mcp;
    mod other;
    mod reading;
    mod searching;
    mod shell;
    mod support;
    mod web;
}
