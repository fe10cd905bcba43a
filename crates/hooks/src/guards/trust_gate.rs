//! The check, right before each hook runs, that the user's trust in it is still valid. An engine without a gate runs
//! every hook.

use std::sync::Arc;

use crate::hook::Hook;

/// Decides whether a hook may still run.
pub trait TrustGate: Send + Sync {
    /// Checks whether the user's trust in this hook is still valid.
    ///
    /// A hook that is not trusted does not run; if its event can be denied, it is denied with the error as the reason.
    ///
    /// # Errors
    /// If the hook is not trusted, with the reason.
    fn check(&self, hook: &Arc<Hook>) -> Result<(), String>;
}
