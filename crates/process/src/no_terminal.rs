//! Terminals where the system has none that a program could be started on: there are none to be had.

use std::convert::Infallible;
use std::io;

use crate::{TerminalInputMode, TerminalSize};

/// A terminal that there is not.
#[derive(Clone, Debug)]
pub struct PseudoTerminal(Infallible);

impl PseudoTerminal {
    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: TerminalSize) -> io::Result<PseudoTerminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// See there.
    pub fn resize(&self, _: TerminalSize) {
        match self.0 {}
    }

    /// See there.
    pub fn write_input(&self, _: &[u8]) -> bool {
        match self.0 {}
    }

    /// See there.
    pub fn input_mode(&self) -> TerminalInputMode {
        match self.0 {}
    }

    /// See there.
    pub fn set_attended(&self, _: bool) {
        match self.0 {}
    }

    /// See there.
    pub fn is_attended(&self) -> bool {
        match self.0 {}
    }
}
