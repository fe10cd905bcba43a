//! End-to-end tests: the built binary, real hook scripts, and a home and a project of its own for every test.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;

use hookwright_testkit::Sandbox;

/// Returns a sandbox for the binary under test.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hookwright"))
}
