//! The front ends of a session (the screen, plain lines, headless formats, the demo) and the modules that they share.

pub(crate) mod acp;
pub(crate) mod approval_text;
pub(crate) mod demo;
pub(crate) mod headless;
pub(crate) mod opening_text;
pub(crate) mod plain;
pub(crate) mod prompt_images;
pub(crate) mod reply_text;
pub(crate) mod resumed_history;
pub(crate) mod session_messages;
pub(crate) mod session_options;
pub(crate) mod session_stats;
pub(crate) mod timeline;
pub(crate) mod tui;
