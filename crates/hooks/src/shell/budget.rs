//! The bound on the work and the memory of one analysis.

use std::cell::Cell;
use std::rc::Rc;

/// What the analysis of one command may cost.
const ANALYSIS_UNITS: usize = 8 << 20;

/// What one analysis may still cost, in units of about one byte that is read or copied. Clones share it.
///
/// Nested loops, substitutions and variables let a short text ask for exponential work. Every step of the parser, the
/// expander and the walks pays before it works or copies. Once a payment fails, all later ones fail: the analysis ends
/// soon, and its result is unsure.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Rc<Cell<Option<usize>>>);

impl Budget {
    pub(crate) fn new() -> Self {
        Budget(Rc::new(Cell::new(Some(ANALYSIS_UNITS))))
    }

    /// Takes so many units; whether there were enough, this time and every time before.
    pub(crate) fn spend(&self, units: usize) -> bool {
        let left = self.0.get().and_then(|left| left.checked_sub(units));
        self.0.set(left);
        left.is_some()
    }

    /// Whether a payment has failed.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.get().is_none()
    }
}

#[cfg(test)]
mod tests;
