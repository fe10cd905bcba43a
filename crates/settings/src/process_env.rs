//! The process's environment variables, home and working directory as a value, read once and passed on.
//!
//! This crate reads them from the operating system only here, so a test can build a `ProcessEnv` by hand.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Environment variables, home and working directory of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnv {
    pub env: Vec<(OsString, OsString)>,
    /// The user's home directory, if there is one.
    pub home: Option<PathBuf>,
    pub cwd: PathBuf,
}

impl ProcessEnv {
    /// Creates a value with this environment, whose home is the one that the environment names.
    pub fn new(env: Vec<(OsString, OsString)>, cwd: PathBuf) -> Self {
        let mut world = ProcessEnv { env, home: None, cwd };
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        world.home = world.var_os(name).filter(|home| !home.is_empty()).map(PathBuf::from);
        world
    }

    /// Reads the environment of this process.
    pub fn from_process() -> Self {
        // A deleted working directory is no error here; code that needs it will report it.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut world = ProcessEnv::new(std::env::vars_os().collect(), cwd);
        world.home = world.home.or_else(std::env::home_dir);
        world
    }

    /// Returns a variable's value, if it is set and valid Unicode.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// Returns a variable's value, if it is set.
    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        let same = |key: &OsStr| if cfg!(windows) { key.eq_ignore_ascii_case(name) } else { key == name };
        self.env.iter().find(|(key, _)| same(key)).map(|(_, value)| value.as_os_str())
    }

    /// Returns a variable's value, if it is not empty.
    pub(crate) fn non_empty_var(&self, name: &str) -> Option<&str> {
        self.var(name).filter(|value| !value.is_empty())
    }

    /// Adds a variable unless it is set, so that files never override the user's shell.
    pub(crate) fn add_missing(&mut self, name: &str, value: &str) {
        if self.var_os(name).is_none() {
            self.env.push((name.into(), value.into()));
        }
    }
}
