//! Terminals for commands, as far as tools know of them: somebody shows what is drawn there and types. What it looks like
//! and which keys do what is the front end's business; where nobody shows anything, commands have no terminal.

use hookwright_process::{OutputCallback, PseudoTerminal, TerminalSize};
use std::fmt;
use std::sync::Arc;

/// Who shows what commands draw.
pub trait ConsoleHost: fmt::Debug + Send + Sync {
    /// How large a command's terminal is.
    fn size(&self) -> TerminalSize;

    /// A call's command begins on this terminal; what it draws is to be given to what comes back. It goes when that is
    /// dropped.
    fn open(&self, call_id: &str, terminal: &PseudoTerminal) -> OutputCallback;
}

/// A call's way to a terminal.
#[derive(Clone, Debug)]
pub struct CallConsole {
    /// Who shows it.
    pub host: Arc<dyn ConsoleHost>,
    /// Under this name.
    pub call_id: String,
}
