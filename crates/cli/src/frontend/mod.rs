//! The front ends of a session (the screen, plain lines, headless formats, the demo) and what they
//! share. What people read is made in `presentation`.

pub(crate) mod acp;
pub(crate) mod demo;
pub(crate) mod headless;
pub(crate) mod plain;
pub(crate) mod prompt_images;
pub(crate) mod session_options;
pub(crate) mod tui;
