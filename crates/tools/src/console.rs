//! Terminals for commands, as tools see them: a front end shows a command's output and forwards the user's keys.
//! Without such a front end commands have no terminal.

use hookwright_process::{OutputCallback, PseudoTerminal, TerminalSize};
use std::fmt;
use std::sync::Arc;

/// A front end that shows the terminals of commands.
pub trait ConsoleHost: fmt::Debug + Send + Sync {
    /// Returns the size of a command's terminal.
    fn size(&self) -> TerminalSize;

    /// Starts to show the terminal of a call's command, and returns the callback for its output.
    ///
    /// The front end closes the terminal when the callback is dropped.
    fn open(&self, call_id: &str, terminal: &PseudoTerminal) -> OutputCallback;
}

/// A call's access to a terminal.
#[derive(Clone, Debug)]
pub struct CallConsole {
    pub host: Arc<dyn ConsoleHost>,
    pub call_id: String,
}
