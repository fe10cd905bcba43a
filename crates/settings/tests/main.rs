//! Integration tests of the crate: whole directories in, a loaded configuration out.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod command_spellings;
    mod commands;
    mod edit;
    mod extensions;
    mod fixture;
    mod load;
    mod mcp;
    mod processes;
    mod review_cost;
    mod trust;
}
