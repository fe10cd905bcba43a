//! Doors for `crates/properties`: how a command is started, without starting it. No part of the interface.

use std::ffi::OsString;

use crate::run::words::Invocation;

/// How a command would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The text that a shell gets, or would get.
    pub shell: String,
    /// The program and its arguments, if no shell is needed; `$NAME` for each variable in them.
    pub words: Option<Vec<OsString>>,
}

/// Decides how a command with these placeholders is started.
pub fn start(command: &str, placeholders: &[(String, String)]) -> Start {
    let invocation = Invocation::analyse(command, placeholders);
    let named = |name: &str| Some(OsString::from(format!("${name}")));
    let words = match &invocation {
        Invocation::Direct { words, .. } => Some(words.iter().map(|word| word.resolve(named)).collect()),
        Invocation::Shell(_) | Invocation::Program { .. } => None,
    };
    Start { shell: invocation.shell_text().to_owned(), words }
}
