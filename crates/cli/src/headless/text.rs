//! For people and pipes: the answer on stdout, everything about it on stderr.

use std::io::{self, Write};

use hookwright_agent::{AgentEvent, Gravity, TurnEnd};

use super::Printer;
use crate::out::{self, BAD, DIM, WARN, paint};
use crate::stats::Stats;

pub(crate) struct Text {
    debug: bool,
    /// Whether the answer's last line is still open.
    line_open: bool,
}

impl Text {
    pub(crate) fn new(debug: bool) -> Self {
        Text { debug, line_open: false }
    }

    /// A line on stderr; the answer's line is closed first, so that the two do not run into each other on a screen.
    fn aside(&mut self, line: &str) -> io::Result<()> {
        self.close_line()?;
        out::stderr_line(line)
    }

    /// A warning, as everywhere in the program; `[WARNING]` is kept for what scripts made for Gemini CLI look for.
    fn warn(&mut self, text: &str) -> io::Result<()> {
        self.aside(&format!("{} {text}", paint(WARN, "warning:")))
    }

    fn close_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.line_open) {
            writeln!(out::stdout())?;
        }
        Ok(())
    }
}

impl Printer for Text {
    fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Text(text) => {
                self.line_open = !text.ends_with('\n');
                let mut stdout = out::stdout();
                write!(stdout, "{text}")?;
                stdout.flush()
            }
            AgentEvent::HookMessage { text, .. } => self.aside(&format!("Hook system message: {text}")),
            AgentEvent::HookWarning { event, hook, source, text } => {
                self.warn(&format!("hook {hook} ({source}, {event}) {text}"))
            }
            AgentEvent::ToolStarted(start) => {
                let rewritten = match start.rewritten.as_slice() {
                    [] => String::new(),
                    keys => format!(" (hooks changed {})", keys.join(", ")),
                };
                self.aside(&paint(DIM, format!("{} {}{rewritten}", start.name, start.description)))
            }
            AgentEvent::ToolFinished(end) => match &end.error {
                Some(error) => self.aside(&format!("Error executing tool {}: {}", end.name, error.message)),
                None => super::failed_command(end).map_or(Ok(()), |line| self.aside(&line)),
            },
            AgentEvent::AgentRetry { reason, attempt } => {
                self.aside(&format!("{} Agent execution blocked: {reason}", paint(WARN, "[WARNING]")))?;
                self.aside(&paint(DIM, format!("the model is asked again (retry {attempt})")))
            }
            AgentEvent::Compressed { before, after, .. } => {
                self.aside(&paint(DIM, format!("Chat history compressed from {before} to {after} tokens.")))
            }
            AgentEvent::ModelRetry(text) | AgentEvent::Note(text) => self.aside(&paint(DIM, text)),
            AgentEvent::Warning(text) => self.warn(text),
            AgentEvent::AnswerDropped { .. } => self.close_line(),
            AgentEvent::HookFinished { report, .. } if self.debug => self.aside(&paint(
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
            AgentEvent::Within { agent, event, .. } => match &**event {
                AgentEvent::ToolStarted(start) => {
                    self.aside(&paint(DIM, format!("  {}: {} {}", agent.name, start.name, start.description)))
                }
                AgentEvent::ToolFinished(end) => match &end.error {
                    Some(error) => {
                        self.aside(&format!("  {}: Error executing tool {}: {}", agent.name, end.name, error.message))
                    }
                    None => super::failed_command(end)
                        .map_or(Ok(()), |line| self.aside(&format!("  {}: {line}", agent.name))),
                },
                AgentEvent::Warning(text) => self.warn(&format!("{}: {text}", agent.name)),
                AgentEvent::AgentRetry { reason, .. } => {
                    let warning = paint(WARN, "[WARNING]");
                    self.aside(&format!("{warning} {}: Agent execution blocked: {reason}", agent.name))
                }
                _ => Ok(()),
            },
            AgentEvent::Thought(text) if self.debug => self.aside(&paint(DIM, text)),
            _ => Ok(()),
        }
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        writeln!(out::stdout(), "{text}")
    }

    fn finish(&mut self, end: Option<&TurnEnd>, _: &Stats) -> io::Result<()> {
        self.close_line()?;
        let Some((end, words)) = end.and_then(|end| Some((end, end.words()?))) else { return Ok(()) };
        match (end, end.gravity()) {
            (TurnEnd::Blocked(_), _) => self.aside(&format!("[WARNING] {words}"))?,
            (TurnEnd::Stopped(_), _) => self.aside(&format!("Agent execution stopped: {words}"))?,
            (_, Gravity::Error) => self.aside(&format!("{} {words}", paint(BAD, "error:")))?,
            _ => self.aside(&words)?,
        }
        end.hint().map_or(Ok(()), out::hint)
    }
}
