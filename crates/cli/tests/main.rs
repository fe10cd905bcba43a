//! End to end: the built binary, real hook scripts, a home and a project of their own for every test.

#![expect(clippy::unwrap_used, reason = "tests")]

mod suite;

use hookwright_testkit::Sandbox;

/// A box around the binary under test.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hookwright"))
}
