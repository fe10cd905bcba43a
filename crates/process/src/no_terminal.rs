//! [`PseudoTerminal`] for systems on which a program cannot be started on one: it can never be opened.

use std::convert::Infallible;
use std::io;

use crate::{TerminalInputMode, TerminalSize};

/// A pseudo-terminal, of which there can be no value on this system.
#[derive(Clone, Debug)]
pub struct PseudoTerminal(Infallible);

impl PseudoTerminal {
    /// Fails: this system has no pseudo-terminals.
    ///
    /// # Errors
    /// Always returns [`io::ErrorKind::Unsupported`].
    pub fn open(_: TerminalSize) -> io::Result<PseudoTerminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never runs: there is no value to call it on.
    pub fn resize(&self, _: TerminalSize) {
        match self.0 {}
    }

    /// Never runs: there is no value to call it on.
    pub fn write_input(&self, _: &[u8]) -> bool {
        match self.0 {}
    }

    /// Never runs: there is no value to call it on.
    pub fn input_mode(&self) -> TerminalInputMode {
        match self.0 {}
    }

    /// Never runs: there is no value to call it on.
    pub fn set_attended(&self, _: bool) {
        match self.0 {}
    }

    /// Never runs: there is no value to call it on.
    pub fn is_attended(&self) -> bool {
        match self.0 {}
    }
}
