//! `std::fs` for tests: its two functions that would wait for ever on a pipe or a device refuse those.

use std::io::{Error, Result};
use std::path::Path;

pub use std::fs::*;

/// Reads a regular file, as `std::fs::read` does.
#[expect(clippy::disallowed_methods, reason = "pipes and devices are refused")]
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    refuse_pipes_and_devices(path.as_ref())?;
    std::fs::read(path)
}

/// Reads a regular file, as `std::fs::read_to_string` does.
#[expect(clippy::disallowed_methods, reason = "pipes and devices are refused")]
pub fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    refuse_pipes_and_devices(path.as_ref())?;
    std::fs::read_to_string(path)
}

fn refuse_pipes_and_devices(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => Err(Error::other("reading a pipe or a device may not end")),
        _ => Ok(()),
    }
}
