//! The output format for people and pipes: the answer on stdout, messages about it on stderr.

use std::io::{self, Write};

use hookwright_agent::session::SessionStatistics;
use hookwright_agent::{
    AgentEvent, AgentNotice, HookEvent, ModelEvent, SessionEvent, ToolEvent, TurnEnd, TurnEndSeverity, TurnEvent,
};
use hookwright_hooks::about_hook;

use super::{EventPrinter, failure_line};
use crate::output::{self, BAD, DIM, WARN, paint};

pub(crate) struct TextPrinter {
    debug: bool,
    /// Whether the answer's last line still lacks its line feed.
    has_open_line: bool,
}

impl TextPrinter {
    pub(crate) fn new(debug: bool) -> Self {
        TextPrinter { debug, has_open_line: false }
    }

    /// Prints a line to stderr.
    ///
    /// The answer's line is ended first, so that the two do not share a line on a screen.
    fn print_stderr_line(&mut self, line: &str) -> io::Result<()> {
        self.close_line()?;
        output::stderr_line(line)
    }

    /// Prints a warning as in the rest of the program; `[WARNING]` is kept for messages that scripts for Gemini CLI
    /// look for.
    fn print_warning(&mut self, text: &str) -> io::Result<()> {
        self.print_stderr_line(&format!("{} {text}", paint(WARN, "warning:")))
    }

    fn print_note(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        self.print_stderr_line(&paint(DIM, text))
    }

    fn print_model_event(&mut self, event: &ModelEvent) -> io::Result<()> {
        match event {
            ModelEvent::Text(text) => {
                self.has_open_line = !text.ends_with('\n');
                let mut stdout = output::stdout();
                write!(stdout, "{text}")?;
                stdout.flush()
            }
            ModelEvent::Retried(text) => self.print_note(text),
            ModelEvent::AnswerDropped { .. } => self.close_line(),
            ModelEvent::Thought(text) if self.debug => self.print_note(text),
            _ => Ok(()),
        }
    }

    fn print_hook_event(&mut self, event: &HookEvent) -> io::Result<()> {
        match event {
            HookEvent::Message { text, .. } => self.print_stderr_line(&format!("Hook system message: {text}")),
            HookEvent::Warning { event, hook, source, text } => {
                self.print_warning(&about_hook(format_args!("{hook} ({source}, {event})"), text))
            }
            HookEvent::Finished { report, .. } if self.debug => {
                let (status, ms) = (report.status.as_str(), report.duration.as_secs_f64() * 1e3);
                self.print_note(format!(
                    "hook {} ({}, {}) {status} in {ms:.1} ms",
                    report.hook, report.source, report.event
                ))
            }
            _ => Ok(()),
        }
    }

    fn close_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_open_line) {
            writeln!(output::stdout())?;
        }
        Ok(())
    }
}

impl EventPrinter for TextPrinter {
    fn print_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        let (agent, event) = event.unwrap_subagent();
        let indent = if agent.is_some() { "  " } else { "" };
        let who = agent.map(|agent| format!("{}: ", agent.name)).unwrap_or_default();
        match event {
            AgentEvent::Tool(ToolEvent::Started(start)) => {
                let rewritten = match start.rewritten_args.as_slice() {
                    [] => String::new(),
                    keys => format!(" (hooks changed {})", keys.join(", ")),
                };
                let line = format!("{indent}{who}{} {}{rewritten}", start.name, start.description);
                self.print_stderr_line(&paint(DIM, line))
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => match failure_line(end) {
                Some(line) => self.print_stderr_line(&format!("{indent}{who}{line}")),
                None => Ok(()),
            },
            AgentEvent::Turn(TurnEvent::Retried { reason, attempt }) => {
                self.print_stderr_line(&format!(
                    "{} {who}Agent execution blocked: {reason}",
                    paint(WARN, "[WARNING]")
                ))?;
                match agent {
                    Some(_) => Ok(()),
                    None => self.print_note(format!("the request is sent to the model again (retry {attempt})")),
                }
            }
            AgentEvent::Notice(AgentNotice::Warning(text)) => self.print_warning(&format!("{who}{text}")),
            _ if agent.is_some() => Ok(()),
            AgentEvent::Notice(AgentNotice::Note(text)) => self.print_note(text),
            AgentEvent::Model(event) => self.print_model_event(event),
            AgentEvent::Hook(event) => self.print_hook_event(event),
            AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
                self.print_note(format!("Chat history compressed from {before} to {after} tokens."))
            }
            _ => Ok(()),
        }
    }

    fn print_answer(&mut self, text: &str) -> io::Result<()> {
        writeln!(output::stdout(), "{text}")
    }

    fn finish(&mut self, end: Option<&TurnEnd>, _: &SessionStatistics) -> io::Result<()> {
        self.close_line()?;
        let Some((end, words)) = end.and_then(|end| Some((end, end.message()?))) else { return Ok(()) };
        match (end, end.severity()) {
            (TurnEnd::Blocked(_), _) => self.print_stderr_line(&format!("[WARNING] {words}"))?,
            (TurnEnd::Stopped(_), _) => self.print_stderr_line(&format!("Agent execution stopped: {words}"))?,
            (_, TurnEndSeverity::Error) => self.print_stderr_line(&format!("{} {words}", paint(BAD, "error:")))?,
            _ => self.print_stderr_line(&words)?,
        }
        end.hint().map_or(Ok(()), output::hint)
    }
}
