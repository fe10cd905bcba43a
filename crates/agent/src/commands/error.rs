//! The errors of expanding a custom command, with the place in its file.

use std::path::Path;

use hookwright_hooks::SourceText;
use hookwright_settings::commands::CustomCommand;
use serde::Deserialize;

use super::escape::shell_escape;
use crate::approval::prefix_allows;

/// An error of expanding a custom command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The braces of a block are not balanced.
    #[error("{place}: {opener} is never closed")]
    Unclosed {
        /// The file, line and column.
        place: String,
        /// The opener, `@{` or `!{`.
        opener: &'static str,
    },
    /// `{{args}}` stands in a shell command where no quoting makes it safe.
    #[error("{place}: {{{{args}}}} {why} can't be made safe for the shell")]
    Unescapable {
        /// The file, line and column.
        place: String,
        /// The position of `{{args}}` in the shell command, in words.
        why: &'static str,
    },
    /// Hooks or approval rules refuse a shell command.
    #[error("/{name} may not run `{shell}`: {reason}")]
    Refused {
        /// The name of the custom command.
        name: String,
        /// The shell command that was refused.
        shell: String,
        /// The reason of the refusal.
        reason: String,
    },
    /// A shell command needs approval in a headless session.
    #[error("/{name} wants to run `{shell}`, which needs approval{}, and no user is present to give it", rule.as_ref().map(|rule| format!(" because of {rule}")).unwrap_or_default())]
    ApprovalUnavailable {
        /// The name of the custom command.
        name: String,
        /// The shell command that needs approval.
        shell: String,
        /// The rule that demands approval, if it is not the approval mode.
        rule: Option<String>,
    },
    /// The user denied a shell command.
    #[error("/{name} was not allowed to run `{shell}`{}", word.as_ref().map(|word| format!(": {word}")).unwrap_or_default())]
    Denied {
        /// The name of the custom command.
        name: String,
        /// The shell command that was denied.
        shell: String,
        /// The user's message, if there is one.
        word: Option<String>,
    },
    /// A shell command could not be started.
    #[error("/{name} could not run `{shell}`: {reason}")]
    NotStarted {
        /// The name of the custom command.
        name: String,
        /// The shell command that was not started.
        shell: String,
        /// The reason why it was not started.
        reason: String,
    },
    /// A hook stopped the agent; the text is its reason.
    #[error("stopped by a hook: {0}")]
    Stopped(String),
    /// The user cancelled the command.
    #[error("cancelled")]
    Cancelled,
}

impl CommandError {
    /// Returns the advice to the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            CommandError::Unclosed { .. } => {
                Some("braces inside a block must be balanced; move any other command to a script".to_owned())
            }
            CommandError::Unescapable { .. } => {
                Some("use {{args}} as a word of its own or between plain quotes, or give it to a script".to_owned())
            }
            // No flag overrides a rule.
            CommandError::ApprovalUnavailable { rule: Some(_), .. } => None,
            CommandError::ApprovalUnavailable { shell, .. } => {
                let program = shell.split_whitespace().next().unwrap_or_default();
                let plain = prefix_allows(program, shell) && shell_escape(program) == program;
                let tool =
                    if plain { format!("'run_shell_command({program})'") } else { "run_shell_command".to_owned() };
                Some(format!("allow it with --allowed-tools {tool} or --approval-mode=yolo"))
            }
            _ => None,
        }
    }
}

/// Returns the location of a prompt's byte in the command's file.
///
/// If the file has another text there, with escapes or after a change, it is the location within the prompt.
pub(super) fn source_location(command: &CustomCommand, offset: usize) -> String {
    location_in_file(command, offset).unwrap_or_else(|| {
        let place = SourceText::new(Path::new(""), &command.prompt).location(offset);
        format!("{}: line {}, column {} of the prompt", command.path.display(), place.line, place.column)
    })
}

fn location_in_file(command: &CustomCommand, offset: usize) -> Option<String> {
    #[derive(Deserialize)]
    struct CommandPromptFile {
        prompt: toml::Spanned<String>,
    }
    let text = hookwright_disk::read_text(&command.path, 1 << 20).ok()?;
    let text = text.trim_start_matches('\u{feff}');
    let span = toml::from_str::<CommandPromptFile>(text).ok()?.prompt.span();
    let start = span.start + text.get(span)?.find(&command.prompt)?;
    Some(SourceText::new(&command.path, text).location(start + offset).to_string())
}
