//! Custom commands: what the user typed after a slash → the prompt that goes to the model.
//! `template` reads the prompt, `file` and `escape` and `shell` fill its places; finding the commands is the settings'.

mod error;
mod escape;
mod file;
mod shell;
mod template;
#[cfg(test)]
mod tests;

use hookwright_model::{Part, PartKind};
use hookwright_settings::commands::{Command, Commands};
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::scope::Scope;
use crate::services::Services;
pub use error::CommandError;
pub use escape::shell_escape;
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

/// The prompt that a command stands for: files read, shell commands approved and run, arguments filled in.
///
/// `invocation` is the whole text that the user typed, `args` what stands behind the name in it. What files and shell
/// commands say is never read as a template again. Files that cannot be read are warnings, as [`AgentEvent::Warning`].
///
/// # Errors
/// If the prompt is not well-formed, a shell command may not run or cannot be started, or `cancel` was.
pub async fn expand(
    services: &Services,
    command: &Command,
    invocation: &str,
    args: &str,
    cancel: &CancellationToken,
) -> Result<Vec<Part>, CommandError> {
    let segments = segments(command)?;
    let blocks = shell::resolve(command, &segments, args)?;
    let mut files = Vec::new();
    for segment in &segments {
        if let Segment::File { written, path } = segment {
            files.push(inject(services, command, written, path, args, cancel).await?);
        }
    }
    let outputs = shell::run_all(services, &command.name, blocks, &Scope::outside(cancel)).await?;
    let mut prompt = assemble(&segments, files, outputs, args);
    if !command.prompt.contains(ARGS) && !args.is_empty() {
        prompt.text(&format!("\n\n{}", invocation.trim()));
    }
    Ok(prompt.0)
}

fn segments(command: &Command) -> Result<Vec<Segment<'_>>, CommandError> {
    template::parse(&command.prompt).map_err(|template::Unclosed { at, opener }| CommandError::Unclosed {
        place: error::place(command, at),
        opener,
    })
}

/// What stands in the place of `@{path}`. A path that leads nowhere stays as it is written, and the user is told.
async fn inject(
    services: &Services,
    command: &Command,
    written: &str,
    path: &str,
    args: &str,
    cancel: &CancellationToken,
) -> Result<Vec<Part>, CommandError> {
    let mut context = services.context();
    context.cancel = cancel.clone();
    let read = file::read(path, &context).await;
    if cancel.is_cancelled() {
        return Err(CommandError::Cancelled);
    }
    let (parts, remark) = match read {
        Ok(file::Read { parts, remark }) => (parts, remark),
        Err(reason) => (vec![Part::text(written.replace(ARGS, args))], Some(format!("not read: {reason}"))),
    };
    if let Some(remark) = remark {
        services.events.send(AgentEvent::Warning(format!("/{}: @{{{path}}}: {remark}", command.name)));
    }
    Ok(parts)
}

/// Puts all pieces in their order. `files` and `outputs` are those of the segments of their kind.
fn assemble(segments: &[Segment<'_>], files: Vec<Vec<Part>>, outputs: Vec<String>, args: &str) -> Prompt {
    let (mut files, mut outputs) = (files.into_iter(), outputs.into_iter());
    let mut prompt = Prompt::default();
    for segment in segments {
        match segment {
            Segment::Text(text) => prompt.text(text),
            Segment::Args => prompt.text(args),
            Segment::File { .. } => files.next().into_iter().flatten().for_each(|part| prompt.part(part)),
            Segment::Shell { .. } => prompt.text(&outputs.next().unwrap_or_default()),
        }
    }
    prompt
}

/// A prompt that grows; text beside text is one part.
#[derive(Default)]
struct Prompt(Vec<Part>);

impl Prompt {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part { kind: PartKind::Text(last), .. }) => last.push_str(text),
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
