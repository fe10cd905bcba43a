//! The bound on the work and the memory of one analysis.

use std::cell::Cell;
use std::rc::Rc;

/// The reason that is given where an analysis has spent its budget.
pub const OVER_BUDGET: &str = "the command takes too much work to analyse";

/// The units that the analysis of one command may spend.
const ANALYSIS_UNITS: usize = 8 << 20;

/// What one analysis may still cost, in units of about one byte that is read or copied. Clones share it.
///
/// Nested loops, substitutions and variables let a short text ask for exponential work. Every step of the parser and
/// the interpreter pays before it works or copies. Once a payment fails, all later ones fail: the analysis ends soon,
/// and its result is unsure.
#[derive(Clone, Debug)]
pub struct Budget(Rc<Cell<Option<usize>>>);

impl Default for Budget {
    fn default() -> Self {
        Budget(Rc::new(Cell::new(Some(ANALYSIS_UNITS))))
    }
}

impl Budget {
    /// Takes so many units; whether there were enough, this time and every time before.
    pub fn spend(&self, units: usize) -> bool {
        let left = self.0.get().and_then(|left| left.checked_sub(units));
        self.0.set(left);
        left.is_some()
    }

    /// Whether a payment has failed.
    pub fn is_spent(&self) -> bool {
        self.0.get().is_none()
    }
}
