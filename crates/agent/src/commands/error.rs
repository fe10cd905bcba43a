//! Why a custom command has no prompt, and where in its file the cause stands.

use std::path::Path;

use hookwright_hooks::SourceText;
use hookwright_settings::commands::CustomCommand;
use serde::Deserialize;

use super::escape::shell_escape;
use crate::approval::prefix_allows;

/// Why a custom command has no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The braces of a block are not balanced.
    #[error("{place}: {opener} is never closed")]
    Unclosed {
        /// File, line and column.
        place: String,
        /// `@{` or `!{`.
        opener: &'static str,
    },
    /// `{{args}}` stands in a shell command where no quoting makes it safe.
    #[error("{place}: {{{{args}}}} {why} can't be made safe for the shell")]
    Unescapable {
        /// File, line and column.
        place: String,
        /// Where in the shell command it stands.
        why: &'static str,
    },
    /// The rules forbid a shell command.
    #[error("/{name} may not run `{shell}`: {reason}")]
    Refused {
        /// The custom command.
        name: String,
        /// The shell command.
        shell: String,
        /// Why.
        reason: String,
    },
    /// A shell command needs approval, and nobody is there to give it.
    #[error("/{name} wants to run `{shell}`, which needs approval{}, and nobody is there to give it", rule.as_ref().map(|rule| format!(" because of {rule}")).unwrap_or_default())]
    ApprovalUnavailable {
        /// The custom command.
        name: String,
        /// The shell command.
        shell: String,
        /// The rule that wants the user asked, if it is not the mode that does.
        rule: Option<String>,
    },
    /// The user did not allow a shell command.
    #[error("/{name} was not allowed to run `{shell}`{}", word.as_ref().map(|word| format!(": {word}")).unwrap_or_default())]
    Denied {
        /// The custom command.
        name: String,
        /// The shell command.
        shell: String,
        /// What the user said.
        word: Option<String>,
    },
    /// A shell command could not be started.
    #[error("/{name} could not run `{shell}`: {reason}")]
    NotStarted {
        /// The custom command.
        name: String,
        /// The shell command.
        shell: String,
        /// Why.
        reason: String,
    },
    /// A hook stopped the agent.
    #[error("stopped by a hook: {0}")]
    Stopped(String),
    /// The user does not want it any more.
    #[error("cancelled")]
    Cancelled,
}

impl CommandError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            CommandError::Unclosed { .. } => {
                Some("braces inside a block must be balanced; put a command that can't be into a script".to_owned())
            }
            CommandError::Unescapable { .. } => {
                Some("use {{args}} as a word of its own or between plain quotes, or give it to a script".to_owned())
            }
            // No flag stands above a rule.
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

/// A byte of a command's prompt as a place in the command's file; where the file says it differently (with escapes, or
/// it has changed since), as a place in the prompt.
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
