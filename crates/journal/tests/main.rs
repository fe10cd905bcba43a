//! Integration tests of the journal: whole directories, several processes, and damage.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite {
    mod content;
    mod damage;
    mod fixture;
    mod processes;
    mod queries;
}
