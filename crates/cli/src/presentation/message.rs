//! Messages and replies as values that every front end and sub-command shows in its own way.

use std::io::{self, Write};

use hookwright_agent::session::{Detail, Reply, Tone};
use hookwright_hooks::Diagnostic;
use hookwright_settings::Notice;
use hookwright_settings::administration::ActionError;
use hookwright_settings::skills::{Skill, SkillState};

use super::administration;
use super::reply_text::list_lines;
use super::styled_text::StyledLine;
use crate::output;

/// How commands are named in texts: as typed in a shell or in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandStyle {
    Shell,
    Slash,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// A part of a reply.
pub(crate) enum ReplyPart {
    /// A message; a plain one is the answer itself.
    Message(Message),
    /// Names with their descriptions.
    Rows(Vec<(String, String)>),
    /// A unified diff.
    Diff(String),
    /// The lines of a list.
    Lines(Vec<StyledLine>),
    /// A problem in the configuration.
    Diagnostic(Box<Diagnostic>),
    /// A notice about the configuration.
    Notice(Notice),
}

impl CommandStyle {
    /// Returns a command as the user types it.
    pub(crate) fn command(self, words: &str) -> String {
        match self {
            CommandStyle::Shell => format!("`hookwright {words}`"),
            CommandStyle::Slash => format!("/{words}"),
        }
    }

    /// Returns the command that trusts the folder.
    pub(super) fn folder_trust_command(self) -> String {
        match self {
            CommandStyle::Shell => self.command("hooks trust --folder"),
            CommandStyle::Slash => self.command("trust"),
        }
    }
}

impl Message {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Message { tone: Tone::Plain, text: text.into() }
    }

    pub(crate) fn aside(text: impl Into<String>) -> Self {
        Message { tone: Tone::Aside, text: text.into() }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Message { tone: Tone::Warning, text: text.into() }
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Message { tone: Tone::Error, text: text.into() }
    }

    /// Prints the message to stderr, as sub-commands do.
    pub(crate) fn print(&self) -> io::Result<()> {
        match self.tone {
            Tone::Plain | Tone::News => output::note(&self.text),
            Tone::Aside => output::hint(&self.text),
            Tone::Warning => output::warn(&self.text),
            Tone::Error => output::error(&self.text),
        }
    }
}

/// Prints messages to stderr, as sub-commands do.
pub(crate) fn print_messages(messages: &[Message]) -> io::Result<()> {
    messages.iter().try_for_each(Message::print)
}

/// Returns messages as the error that a sub-command ends with: asides are its hint.
pub(crate) fn as_error(messages: Vec<Message>) -> ActionError {
    let (hints, texts): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.tone == Tone::Aside);
    let join = |all: Vec<Message>| all.into_iter().map(|message| message.text).collect::<Vec<_>>().join("; ");
    ActionError { message: join(texts), hint: Some(join(hints)).filter(|hint| !hint.is_empty()), diagnostic: None }
}

/// Prints messages as the answer of a sub-command: plain ones are data for stdout.
pub(crate) fn print_answer(messages: &[Message]) -> io::Result<()> {
    messages.iter().try_for_each(|message| match message.tone {
        Tone::Plain => writeln!(output::stdout(), "{}", message.text),
        _ => message.print(),
    })
}

/// Returns what a reply says, part by part.
pub(crate) fn reply_parts(reply: &Reply) -> Vec<ReplyPart> {
    let style = CommandStyle::Slash;
    let messages = match reply {
        Reply::Text(tone, text) => vec![Message { tone: *tone, text: text.clone() }],
        Reply::Rows(rows) => return vec![ReplyPart::Rows(rows.clone())],
        Reply::Failed(error) => administration::error_messages(error),
        Reply::Unknown(unknown) => vec![Message::error(administration::unknown_name_text(unknown, style))],
        Reply::HookSwitch(outcome) => administration::hook_switch_messages(outcome, style),
        Reply::PendingTrust(pending) => administration::pending_trust_messages(pending, style),
        Reply::HookTrust(outcome) => administration::hook_trust_messages(outcome, style),
        Reply::ExtensionSwitch(outcome) => administration::extension_switch_messages(outcome, style),
        Reply::ExtensionUpdate(report) => administration::extension_update_messages(report, style),
        Reply::SkillSwitch(outcome) => administration::skill_switch_messages(outcome, style),
        Reply::McpAccount(report) => administration::mcp_account_messages(report, style),
        Reply::Restored(report, scope) => administration::restore_messages(report, *scope, style),
        Reply::Skills(skills, _) if skills.is_empty() => {
            vec![Message::aside("there are no skills; write one as .gemini/skills/NAME/SKILL.md")]
        }
        Reply::Skills(skills, detail) => return vec![ReplyPart::Rows(skill_rows(skills, *detail))],
        Reply::Diagnostic(diagnostic) => return vec![ReplyPart::Diagnostic(diagnostic.clone())],
        Reply::Notice(notice) => return vec![ReplyPart::Notice(notice.clone())],
        Reply::Diff(text) => return vec![ReplyPart::Diff(text.trim_end().to_owned())],
        Reply::Statistics(_) | Reply::Hooks(_) | Reply::Sessions(_) | Reply::Checkpoints(_) | Reply::Plan(_) => {
            return list_lines(reply).map(ReplyPart::Lines).into_iter().collect();
        }
    };
    messages.into_iter().map(ReplyPart::Message).collect()
}

fn skill_rows(skills: &[Skill], detail: Detail) -> Vec<(String, String)> {
    let row = |skill: &Skill| {
        let description = if detail == Detail::Full { format!("{} ", skill.description) } else { String::new() };
        let state = match &skill.state {
            SkillState::Offered => String::new(),
            state => format!(", {}", administration::skill_state_text(&skill.name, state)),
        };
        (skill.name.clone(), format!("{description}({}{state})", skill.source))
    };
    skills.iter().map(row).collect()
}
