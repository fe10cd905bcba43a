//! The words that a session begins with, on the screen and in lines.

/// What to know at first.
pub(crate) const STARTUP_TIPS: &str = "/help for help, /hooks panel for the hooks, Ctrl+D to leave";
/// Nobody answers but a model that has no understanding.
pub(crate) const NO_MODEL_NOTICE: &str = "no model is connected";
/// What to do about it.
pub(crate) const NO_MODEL_HINT: &str = "/auth connects one. Until then the offline model answers, which only does what it is \
                                       told (say TEXT, call TOOL {json}).";
