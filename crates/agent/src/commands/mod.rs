//! Custom commands: what the user typed after a slash → the prompt that goes to the model.
//! `template` reads the prompt, `file` and `escape` and `shell` fill its places; finding the commands is the settings'.

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
use crate::event::{AgentEvent, TurnEnd};
use crate::scope::TurnScope;
use crate::services::Services;
use crate::translate::{append_escaped, escape_hook_marker};
pub use error::CommandError;
pub use escape::shell_escape;
use file::FileReadError;
use shell::ShellBlock;
use template::{ARGS_PLACEHOLDER, TemplateSegment};

/// The command that a text invokes, and what stands behind its name; nothing if the text is something else.
pub fn parse_invocation<'t, 'c>(text: &'t str, commands: &'c CustomCommands) -> Option<(&'c CustomCommand, &'t str)> {
    let typed = text.trim().strip_prefix('/')?;
    let end = typed.find(char::is_whitespace).unwrap_or(typed.len());
    let (name, args) = typed.split_at(end);
    // No name has a blank in it, so the whole word is the name: `/git:commit` is never `/git`.
    let command = commands.list.iter().find(|command| command.name == name)?;
    Some((command, args.trim()))
}

/// Whether a command can be expanded at all, for those who list commands: its braces are balanced, and `{{args}}` stands
/// only where it can be made safe.
///
/// # Errors
/// [`CommandError::Unclosed`] and [`CommandError::Unescapable`], with their places.
pub fn check_command(command: &CustomCommand) -> Result<(), CommandError> {
    let segments = parse_segments(command)?;
    shell::resolve_blocks(command, &segments, "args").map(drop)
}

/// The program that reads a command's `{{args}}` as code, such as `eval` or `sh -c`: what is typed there is run.
pub(crate) fn find_evaluator(command: &CustomCommand) -> Option<String> {
    parse_segments(command).ok()?.iter().find_map(|segment| match segment {
        TemplateSegment::Shell { command, .. } => escape::args_evaluator(command),
        _ => None,
    })
}

/// A command with the user's arguments, well-formed and ready to be filled in; nothing is read or run yet.
pub(crate) struct CommandInvocation<'a> {
    command: &'a CustomCommand,
    /// The whole text that the user typed.
    typed: &'a str,
    /// What stands behind the name in it.
    args: &'a str,
    segments: Vec<TemplateSegment<'a>>,
    shell_blocks: Vec<ShellBlock>,
}

impl<'a> CommandInvocation<'a> {
    /// Reads the command's prompt.
    ///
    /// # Errors
    /// If it is not well-formed.
    pub(crate) fn new(command: &'a CustomCommand, typed: &'a str, args: &'a str) -> Result<Self, CommandError> {
        let segments = parse_segments(command)?;
        let blocks = shell::resolve_blocks(command, &segments, args)?;
        Ok(CommandInvocation { command, typed, args, segments, shell_blocks: blocks })
    }

    /// The prompt with its arguments and without what its places stand for: those are shown as they would be read and run.
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

    /// The shell commands that it would run.
    pub(crate) fn shell_commands(&self) -> impl Iterator<Item = &str> {
        self.shell_blocks.iter().map(|block| block.command.as_str())
    }

    /// The files that it would read.
    pub(crate) fn attachments(&self, workspace: &Workspace) -> Vec<Attachment> {
        let file = |segment: &TemplateSegment<'_>| match segment {
            TemplateSegment::File { path, .. } => file::resolve_path(path, workspace).ok(),
            _ => None,
        };
        self.segments.iter().filter_map(file).map(|path| prompt_reader::attachment_for(&path)).collect()
    }

    /// The prompt that it stands for: files read, shell commands judged and run, arguments filled in. What files and shell
    /// commands say is never read as a template again. Files that cannot be read are warnings, as [`AgentEvent::Warning`].
    ///
    /// # Errors
    /// If a shell command may not run or cannot be started, or somebody ended it all.
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

    /// What stands in the place of `@{path}`. A path that leads nowhere stays as it is written, and the user is told.
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
            services.events.send(AgentEvent::Warning(format!("/{}: @{{{path}}}: {remark}", self.command.name)));
        }
        Ok(parts)
    }

    /// Puts all pieces in their order. `files` and `outputs` are those of the segments of their kind.
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

/// A prompt that grows; text beside text is one part.
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
