//! Access for the fuzz tests of `crates/properties`: how a command would be started. This is not part of the public
//! API.

use std::ffi::OsString;

use crate::running::invocation::Invocation;

/// How a command would be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPreview {
    /// The text that a shell receives, or would receive.
    pub shell_text: String,
    /// The program and its arguments, if no shell is needed; `$NAME` stands for each variable in them.
    pub argv: Option<Vec<OsString>>,
}

/// Determines how a command with these placeholders would be started.
pub fn preview_launch(command: &str, placeholders: &[(String, String)]) -> LaunchPreview {
    let invocation = Invocation::analyse(command, placeholders);
    let named = |name: &str| Some(OsString::from(format!("${name}")));
    let words = match &invocation {
        Invocation::Direct { words, .. } => Some(words.iter().map(|word| word.resolve(named)).collect()),
        Invocation::Shell(_) | Invocation::Program { .. } => None,
    };
    LaunchPreview { shell_text: invocation.shell_text().to_owned(), argv: words }
}
