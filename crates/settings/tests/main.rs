//! The crate from outside: whole directories in, a loaded configuration out.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod commands;
    mod cost;
    mod edit;
    mod extensions;
    mod load;
    mod mcp;
    mod place;
    mod processes;
    mod spellings;
    mod trust;
}
