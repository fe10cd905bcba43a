//! Every kind of mistake, what is said about it, and what still loads beside it.

use super::*;
use crate::registry::FailureAction;
use std::time::Duration;

fn declare_text(text: &str) -> Declared {
    declare(&Layer::new(Source::Project, Path::new("settings.json"), text))
}
