use super::{Dialect, Script};
use crate::budget::Budget;

pub(super) fn parse(_text: &str, _dialect: Dialect, _budget: &Budget) -> Script {
    Script::default()
}
