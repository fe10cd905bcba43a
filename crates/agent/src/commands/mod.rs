//! Custom commands: turns a slash command with its arguments into the prompt for the model.
//!
//! `template.rs` parses the prompt; `file.rs`, `escape.rs` and `shell.rs` fill its
//! placeholders. The settings crate finds the commands.

mod error;
mod escape;
mod file;
mod shell;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hookwright_hooks::{Attachment, RequestedBy};
use hookwright_model::{Content, Part, PartKind};
use hookwright_settings::commands::{CustomCommand, CustomCommands};
use hookwright_tools::Workspace;

use crate::context::prompt_reader::{self, HookedReader, PromptReader};
use crate::event::{AgentNotice, TurnEnd};
use crate::scope::TurnScope;
use crate::services::Services;
use crate::translate::{append_escaped, escape_hook_marker};
pub use error::CommandError;
pub use escape::shell_escape;
use file::FileReadError;
use shell::ShellBlock;
use template::{ARGS_PLACEHOLDER, TemplateSegment};

/// Returns the command that a text invokes and its arguments; `None` if the text is no invocation.
pub fn parse_invocation<'t, 'c>(text: &'t str, commands: &'c CustomCommands) -> Option<(&'c CustomCommand, &'t str)> {
    let typed = text.trim().strip_prefix('/')?;
    let end = typed.find(char::is_whitespace).unwrap_or(typed.len());
    let (name, args) = typed.split_at(end);
    // Names have no whitespace, so the whole word is the name: `/git:commit` is never `/git`.
    let command = commands.list.iter().find(|command| command.name == name)?;
    Some((command, args.trim()))
}

/// Checks whether a command can be expanded: its braces are balanced, and
/// `{{args}}` stands only where it can be made safe.
///
/// # Errors
/// [`CommandError::Unclosed`] and [`CommandError::Unescapable`], with their places.
pub fn check_command(command: &CustomCommand) -> Result<(), CommandError> {
    let segments = parse_segments(command)?;
    shell::resolve_blocks(command, &segments, "args").map(drop)
}

/// Returns the program that evaluates a command's `{{args}}` as code, such as `eval` or `sh -c`.
pub(crate) fn find_evaluator(command: &CustomCommand) -> Option<String> {
    parse_segments(command).ok()?.iter().find_map(|segment| match segment {
        TemplateSegment::Shell { command, .. } => escape::args_evaluator(command),
        _ => None,
    })
}

/// A well-formed command with the user's arguments; nothing is read or run yet.
pub(crate) struct CommandInvocation<'a> {
    command: &'a CustomCommand,
    /// The whole text that the user typed.
    typed: &'a str,
    /// The text after the command's name.
    args: &'a str,
    segments: Vec<TemplateSegment<'a>>,
    shell_blocks: Vec<ShellBlock>,
}

impl<'a> CommandInvocation<'a> {
    /// Parses the command's prompt.
    ///
    /// # Errors
    /// If it is malformed.
    pub(crate) fn new(command: &'a CustomCommand, typed: &'a str, args: &'a str) -> Result<Self, CommandError> {
        let segments = parse_segments(command)?;
        let blocks = shell::resolve_blocks(command, &segments, args)?;
        Ok(CommandInvocation { command, typed, args, segments, shell_blocks: blocks })
    }

    /// Returns the prompt with its arguments; files and shell commands are shown as they would be read and run.
    pub(crate) fn preview_text(&self) -> String {
        let file = |segment: &TemplateSegment<'_>| match segment {
            TemplateSegment::File { written, .. } => {
                Some(vec![Part::text(written.replace(ARGS_PLACEHOLDER, self.args))])
            }
            _ => None,
        };
        let files = self.segments.iter().filter_map(file).collect();
        let outputs = self.shell_blocks.iter().map(|block| format!("!{{{}}}", block.command)).collect();
        Content::user(self.assemble_parts(files, outputs)).text()
    }

    /// Returns the shell commands that the prompt would run.
    pub(crate) fn shell_commands(&self) -> impl Iterator<Item = &str> {
        self.shell_blocks.iter().map(|block| block.command.as_str())
    }

    /// Returns the files that the prompt would read.
    pub(crate) fn attachments(&self, workspace: &Workspace) -> Vec<Attachment> {
        let file = |segment: &TemplateSegment<'_>| match segment {
            TemplateSegment::File { path, .. } => file::resolve_path(path, workspace).ok(),
            _ => None,
        };
        self.segments.iter().filter_map(file).map(|path| prompt_reader::attachment_for(&path)).collect()
    }

    /// Expands the prompt: reads files, judges and runs shell commands, fills in arguments.
    ///
    /// The content of files and the output of commands are never parsed as a template again. Files that cannot be read
    /// are reported as [`AgentNotice::Warning`].
    ///
    /// # Errors
    /// If a shell command may not run or cannot be started, a hook stops the agent, or the user cancels.
    pub(crate) async fn expand(self, services: &Arc<Services>, scope: &TurnScope) -> Result<Vec<Part>, CommandError> {
        let reader = HookedReader::new(services, RequestedBy::Command, scope);
        let mut files = Vec::new();
        for segment in &self.segments {
            if let TemplateSegment::File { written, path } = segment {
                files.push(self.read_file_segment(services, &reader, written, path).await?);
            }
        }
        let blocks = self.shell_blocks.iter().map(ShellBlock::clone).collect();
        let outputs = shell::run_all(services, &self.command.name, blocks, scope).await?;
        Ok(self.assemble_parts(files, outputs))
    }

    /// Returns the content that replaces `@{path}`. A path that cannot be read stays as it is written, with a warning.
    async fn read_file_segment(
        &self,
        services: &Services,
        reader: &HookedReader<'_>,
        written: &str,
        path: &str,
    ) -> Result<Vec<Part>, CommandError> {
        let (parts, remark) = match file::read_path(path, reader).await {
            Ok(file::InjectedFile { parts, warning: remark }) => (parts, remark),
            Err(FileReadError::TurnEnded(TurnEnd::Stopped(reason))) => return Err(CommandError::Stopped(reason)),
            Err(FileReadError::TurnEnded(_)) => return Err(CommandError::Cancelled),
            Err(FileReadError::Unreadable(reason)) => (
                vec![Part::text(escape_hook_marker(&written.replace(ARGS_PLACEHOLDER, self.args)))],
                Some(format!("not read: {reason}")),
            ),
        };
        if reader.context().cancel.is_cancelled() {
            return Err(CommandError::Cancelled);
        }
        if let Some(remark) = remark {
            services.events.send(AgentNotice::Warning(format!("/{}: @{{{path}}}: {remark}", self.command.name)));
        }
        Ok(parts)
    }

    /// Assembles all segments in order. `files` and `outputs` are those of the segments of their kind.
    fn assemble_parts(&self, files: Vec<Vec<Part>>, outputs: Vec<String>) -> Vec<Part> {
        let (mut files, mut outputs) = (files.into_iter(), outputs.into_iter());
        let mut prompt = PromptBuilder::default();
        for segment in &self.segments {
            match segment {
                TemplateSegment::Text(text) => prompt.push_text(&escape_hook_marker(text)),
                TemplateSegment::Args => prompt.push_text(&escape_hook_marker(self.args)),
                TemplateSegment::File { .. } => {
                    files.next().into_iter().flatten().for_each(|part| prompt.push_part(part))
                }
                TemplateSegment::Shell { .. } => prompt.push_text(&outputs.next().unwrap_or_default()),
            }
        }
        if !self.command.prompt.contains(ARGS_PLACEHOLDER) && !self.args.is_empty() {
            prompt.push_text(&escape_hook_marker(&format!("\n\n{}", self.typed.trim())));
        }
        prompt.0
    }
}

fn parse_segments(command: &CustomCommand) -> Result<Vec<TemplateSegment<'_>>, CommandError> {
    template::parse(&command.prompt).map_err(|template::UnclosedBrace { at, opener }| CommandError::Unclosed {
        place: error::source_location(command, at),
        opener,
    })
}

/// Builds a prompt and merges adjacent texts into one part.
#[derive(Default)]
struct PromptBuilder(Vec<Part>);

impl PromptBuilder {
    fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part { kind: PartKind::Text(last), .. }) => append_escaped(last, text),
            _ if text.is_empty() => {}
            _ => self.0.push(Part::text(text)),
        }
    }

    fn push_part(&mut self, part: Part) {
        match part.as_text() {
            Some(text) => self.push_text(text),
            None => self.0.push(part),
        }
    }
}
