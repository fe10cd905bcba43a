//! The output format for people and pipes: the answer on stdout, messages about it on stderr.

use std::io::{self, Write};

use hookwright_agent::{
    AgentEvent, AgentNotice, HookEvent, ModelEvent, SessionEvent, ToolEvent, TurnEnd, TurnEndSeverity, TurnEvent,
};
use hookwright_hooks::about_hook;

use super::EventPrinter;
use crate::output::{self, BAD, DIM, WARN, paint};
use crate::presentation::session_stats::SessionStats;

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

    fn close_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_open_line) {
            writeln!(output::stdout())?;
        }
        Ok(())
    }
}

impl EventPrinter for TextPrinter {
    fn print_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Model(ModelEvent::Text(text)) => {
                self.has_open_line = !text.ends_with('\n');
                let mut stdout = output::stdout();
                write!(stdout, "{text}")?;
                stdout.flush()
            }
            AgentEvent::Hook(HookEvent::Message { text, .. }) => {
                self.print_stderr_line(&format!("Hook system message: {text}"))
            }
            AgentEvent::Hook(HookEvent::Warning { event, hook, source, text }) => {
                self.print_warning(&about_hook(format_args!("{hook} ({source}, {event})"), text))
            }
            AgentEvent::Tool(ToolEvent::Started(start)) => {
                let rewritten = match start.rewritten_args.as_slice() {
                    [] => String::new(),
                    keys => format!(" (hooks changed {})", keys.join(", ")),
                };
                self.print_stderr_line(&paint(DIM, format!("{} {}{rewritten}", start.name, start.description)))
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => match &end.error {
                Some(error) => self.print_stderr_line(&format!("Error executing tool {}: {}", end.name, error.message)),
                None => super::command_failure(end).map_or(Ok(()), |line| self.print_stderr_line(&line)),
            },
            AgentEvent::Turn(TurnEvent::Retried { reason, attempt }) => {
                self.print_stderr_line(&format!("{} Agent execution blocked: {reason}", paint(WARN, "[WARNING]")))?;
                self.print_stderr_line(&paint(DIM, format!("the request is sent to the model again (retry {attempt})")))
            }
            AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
                self.print_stderr_line(&paint(DIM, format!("Chat history compressed from {before} to {after} tokens.")))
            }
            AgentEvent::Model(ModelEvent::Retried(text)) | AgentEvent::Notice(AgentNotice::Note(text)) => {
                self.print_stderr_line(&paint(DIM, text))
            }
            AgentEvent::Notice(AgentNotice::Warning(text)) => self.print_warning(text),
            AgentEvent::Model(ModelEvent::AnswerDropped { .. }) => self.close_line(),
            AgentEvent::Hook(HookEvent::Finished { report, .. }) if self.debug => self.print_stderr_line(&paint(
                DIM,
                format!(
                    "hook {} ({}, {}) {} in {:.1} ms",
                    report.hook,
                    report.source,
                    report.event,
                    report.status.as_str(),
                    report.duration.as_secs_f64() * 1e3
                ),
            )),
            AgentEvent::SubAgent { agent, event, .. } => match &**event {
                AgentEvent::Tool(ToolEvent::Started(start)) => self
                    .print_stderr_line(&paint(DIM, format!("  {}: {} {}", agent.name, start.name, start.description))),
                AgentEvent::Tool(ToolEvent::Finished(end)) => match &end.error {
                    Some(error) => self.print_stderr_line(&format!(
                        "  {}: Error executing tool {}: {}",
                        agent.name, end.name, error.message
                    )),
                    None => super::command_failure(end)
                        .map_or(Ok(()), |line| self.print_stderr_line(&format!("  {}: {line}", agent.name))),
                },
                AgentEvent::Notice(AgentNotice::Warning(text)) => {
                    self.print_warning(&format!("{}: {text}", agent.name))
                }
                AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => {
                    let warning = paint(WARN, "[WARNING]");
                    self.print_stderr_line(&format!("{warning} {}: Agent execution blocked: {reason}", agent.name))
                }
                _ => Ok(()),
            },
            AgentEvent::Model(ModelEvent::Thought(text)) if self.debug => self.print_stderr_line(&paint(DIM, text)),
            _ => Ok(()),
        }
    }

    fn print_answer(&mut self, text: &str) -> io::Result<()> {
        writeln!(output::stdout(), "{text}")
    }

    fn finish(&mut self, end: Option<&TurnEnd>, _: &SessionStats) -> io::Result<()> {
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
