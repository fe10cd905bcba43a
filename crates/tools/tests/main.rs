//! Tests the tools as an agent calls them: through the registry, with JSON arguments, in a temporary project.
#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod console;
    mod edits;
    mod mcp;
    mod reading;
    mod searching;
    mod shell;
    mod small_tools;
    mod support;
    mod web;
}
