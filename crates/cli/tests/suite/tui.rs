//! The interactive session in a real pseudo-terminal: tests type keys and read the screen.

mod adjusting;
mod agents;
mod appearance;
mod approvals;
mod auth;
#[cfg(target_os = "linux")]
mod background;
mod basics;
mod dialogs;
mod exit;
mod extensions;
mod guards;
mod hooks;
mod images;
mod interactive;
mod mcp;
mod pager;
mod permissions;
mod restore;
#[cfg(unix)]
mod rewrap;
mod screens;
mod sessions;
mod skills;
mod terminal;
mod terminal_hangup;
mod words;

use hookwright_testkit::Sandbox;
pub(crate) use terminal::TestTerminal;

pub(crate) const COMPOSER: &str = "Type your message or @path/to/file";

pub(crate) fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_hookwright"))
}
