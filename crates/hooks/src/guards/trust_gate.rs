//! Asked right before each hook runs: is it still what the user trusts? An engine without one runs every hook.

use std::sync::Arc;

use crate::hook::Hook;

/// Knows whether a hook may still run.
pub trait TrustGate: Send + Sync {
    /// Whether this hook is still what the user trusts. One that is not does not run: where its event can be denied, it is,
    /// with these words.
    ///
    /// # Errors
    /// If it is not, and why.
    fn check(&self, hook: &Arc<Hook>) -> Result<(), String>;
}
