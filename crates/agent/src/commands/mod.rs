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
use hookwright_settings::commands::{Command, Commands};
use hookwright_tools::Workspace;

use crate::context::reader::{self, Hooked, Reader};
use crate::event::{AgentEvent, TurnEnd};
use crate::scope::Scope;
use crate::services::Services;
use crate::translate::{defuse, join_safely};
pub use error::CommandError;
pub use escape::shell_escape;
use file::NotRead;
use shell::Block;
use template::{ARGS, Segment};

/// The command that a text invokes, and what stands behind its name; nothing if the text is something else.
pub fn parse_invocation<'t, 'c>(text: &'t str, commands: &'c Commands) -> Option<(&'c Command, &'t str)> {
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
pub fn check(command: &Command) -> Result<(), CommandError> {
    let segments = segments(command)?;
    shell::resolve(command, &segments, "args").map(drop)
}

/// The program that reads a command's `{{args}}` as code, such as `eval` or `sh -c`: what is typed there is run.
pub(crate) fn evaluator(command: &Command) -> Option<String> {
    segments(command).ok()?.iter().find_map(|segment| match segment {
        Segment::Shell { command, .. } => escape::evaluator(command),
        _ => None,
    })
}

/// A command with the user's arguments, well-formed and ready to be filled in; nothing is read or run yet.
pub(crate) struct Invoked<'a> {
    command: &'a Command,
    /// The whole text that the user typed.
    typed: &'a str,
    /// What stands behind the name in it.
    args: &'a str,
    segments: Vec<Segment<'a>>,
    blocks: Vec<Block>,
}

impl<'a> Invoked<'a> {
    /// Reads the command's prompt.
    ///
    /// # Errors
    /// If it is not well-formed.
    pub(crate) fn new(command: &'a Command, typed: &'a str, args: &'a str) -> Result<Self, CommandError> {
        let segments = segments(command)?;
        let blocks = shell::resolve(command, &segments, args)?;
        Ok(Invoked { command, typed, args, segments, blocks })
    }

    /// The prompt with its arguments and without what its places stand for: those are shown as they would be read and run.
    pub(crate) fn text(&self) -> String {
        let file = |segment: &Segment<'_>| match segment {
            Segment::File { written, .. } => Some(vec![Part::text(written.replace(ARGS, self.args))]),
            _ => None,
        };
        let files = self.segments.iter().filter_map(file).collect();
        let outputs = self.blocks.iter().map(|block| format!("!{{{}}}", block.shell)).collect();
        Content::user(self.assemble(files, outputs)).text()
    }

    /// The shell commands that it would run.
    pub(crate) fn shells(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().map(|block| block.shell.as_str())
    }

    /// The files that it would read.
    pub(crate) fn attachments(&self, workspace: &Workspace) -> Vec<Attachment> {
        let file = |segment: &Segment<'_>| match segment {
            Segment::File { path, .. } => file::find(path, workspace).ok(),
            _ => None,
        };
        self.segments.iter().filter_map(file).map(|path| reader::attachment(&path)).collect()
    }

    /// The prompt that it stands for: files read, shell commands judged and run, arguments filled in. What files and shell
    /// commands say is never read as a template again. Files that cannot be read are warnings, as [`AgentEvent::Warning`].
    ///
    /// # Errors
    /// If a shell command may not run or cannot be started, or somebody ended it all.
    pub(crate) async fn fill(self, services: &Arc<Services>, scope: &Scope) -> Result<Vec<Part>, CommandError> {
        let reader = Hooked::new(services, RequestedBy::Command, scope);
        let mut files = Vec::new();
        for segment in &self.segments {
            if let Segment::File { written, path } = segment {
                files.push(self.inject(services, &reader, written, path).await?);
            }
        }
        let blocks = self.blocks.iter().map(Block::clone).collect();
        let outputs = shell::run_all(services, &self.command.name, blocks, scope).await?;
        Ok(self.assemble(files, outputs))
    }

    /// What stands in the place of `@{path}`. A path that leads nowhere stays as it is written, and the user is told.
    async fn inject(
        &self,
        services: &Services,
        reader: &Hooked<'_>,
        written: &str,
        path: &str,
    ) -> Result<Vec<Part>, CommandError> {
        let (parts, remark) = match file::read(path, reader).await {
            Ok(file::Read { parts, remark }) => (parts, remark),
            Err(NotRead::End(TurnEnd::Stopped(reason))) => return Err(CommandError::Stopped(reason)),
            Err(NotRead::End(_)) => return Err(CommandError::Cancelled),
            Err(NotRead::Because(reason)) => {
                (vec![Part::text(defuse(&written.replace(ARGS, self.args)))], Some(format!("not read: {reason}")))
            }
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
    fn assemble(&self, files: Vec<Vec<Part>>, outputs: Vec<String>) -> Vec<Part> {
        let (mut files, mut outputs) = (files.into_iter(), outputs.into_iter());
        let mut prompt = Prompt::default();
        for segment in &self.segments {
            match segment {
                Segment::Text(text) => prompt.text(&defuse(text)),
                Segment::Args => prompt.text(&defuse(self.args)),
                Segment::File { .. } => files.next().into_iter().flatten().for_each(|part| prompt.part(part)),
                Segment::Shell { .. } => prompt.text(&outputs.next().unwrap_or_default()),
            }
        }
        if !self.command.prompt.contains(ARGS) && !self.args.is_empty() {
            prompt.text(&defuse(&format!("\n\n{}", self.typed.trim())));
        }
        prompt.0
    }
}

fn segments(command: &Command) -> Result<Vec<Segment<'_>>, CommandError> {
    template::parse(&command.prompt).map_err(|template::Unclosed { at, opener }| CommandError::Unclosed {
        place: error::place(command, at),
        opener,
    })
}

/// A prompt that grows; text beside text is one part.
#[derive(Default)]
struct Prompt(Vec<Part>);

impl Prompt {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part { kind: PartKind::Text(last), .. }) => join_safely(last, text),
            _ if text.is_empty() => {}
            _ => self.0.push(Part::text(text)),
        }
    }

    fn part(&mut self, part: Part) {
        match part.as_text() {
            Some(text) => self.text(text),
            None => self.0.push(part),
        }
    }
}
