//! Terminals where the system has none that a program could be started on: there are none to be had.

use std::convert::Infallible;
use std::io;

use crate::{Manner, Size};

/// A terminal that there is not.
#[derive(Clone, Debug)]
pub struct Terminal(Infallible);

impl Terminal {
    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: Size) -> io::Result<Terminal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// See there.
    pub fn resize(&self, _: Size) {
        match self.0 {}
    }

    /// See there.
    pub fn type_in(&self, _: &[u8]) -> bool {
        match self.0 {}
    }

    /// See there.
    pub fn manner(&self) -> Manner {
        match self.0 {}
    }

    /// See there.
    pub fn attend(&self, _: bool) {
        match self.0 {}
    }

    /// See there.
    pub fn is_attended(&self) -> bool {
        match self.0 {}
    }
}
