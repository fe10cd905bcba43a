//! The process's surroundings as a value: environment, home and working directory, read once and passed on.
//!
//! Nothing else in the program asks the operating system for them, so a test is a `ProcessEnv` built by hand.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Environment, home and working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnv {
    /// The environment variables.
    pub env: Vec<(OsString, OsString)>,
    /// The user's home directory, if there is one.
    pub home: Option<PathBuf>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl ProcessEnv {
    /// A world with that environment, whose home is the one the environment names.
    pub fn new(env: Vec<(OsString, OsString)>, cwd: PathBuf) -> Self {
        let mut world = ProcessEnv { env, home: None, cwd };
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        world.home = world.var_os(name).filter(|home| !home.is_empty()).map(PathBuf::from);
        world
    }

    /// The world of this process.
    pub fn from_process() -> Self {
        // A deleted working directory is no reason to stop; what needs it will say what is missing.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut world = ProcessEnv::new(std::env::vars_os().collect(), cwd);
        world.home = world.home.or_else(std::env::home_dir);
        world
    }

    /// A variable's value, if it is set and valid Unicode.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// A variable's value, if it is set.
    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        let same = |key: &OsStr| if cfg!(windows) { key.eq_ignore_ascii_case(name) } else { key == name };
        self.env.iter().find(|(key, _)| same(key)).map(|(_, value)| value.as_os_str())
    }

    /// A variable that holds something.
    pub(crate) fn non_empty_var(&self, name: &str) -> Option<&str> {
        self.var(name).filter(|value| !value.is_empty())
    }

    /// Adds a variable, unless it is there already: files never override what the user's shell says.
    pub(crate) fn add_missing(&mut self, name: &str, value: &str) {
        if self.var_os(name).is_none() {
            self.env.push((name.into(), value.into()));
        }
    }
}
