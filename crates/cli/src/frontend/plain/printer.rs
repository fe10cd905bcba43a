//! Prints a session's events in plain lines.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_agent::session::{Reply, Tone};
use hookwright_agent::{AgentEvent, AgentNotice, HookEvent, ModelEvent, SessionEvent, ToolEvent, TurnEvent};
use hookwright_hooks::about_hook;

use crate::presentation::call_text::short_args;
use crate::presentation::hook_log;
use crate::presentation::resumed_history::{self, ResumedCall, ResumedItem};
use crate::presentation::styled_text::single_line;
use crate::presentation::{Message, ReplyPart, reply_parts};
use crate::{output, output::diagnostics, presentation::reply_text, presentation::timeline};

pub(super) fn print_event(event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Model(ModelEvent::Text(text)) => {
            let mut stdout = output::stdout();
            for (at, line) in text.split('\n').enumerate() {
                write!(stdout, "{}{}", if at == 0 { "" } else { "\n" }, single_line(line))?;
            }
            IS_IN_LINE.store(!text.ends_with('\n'), Ordering::Relaxed);
            stdout.flush()
        }
        AgentEvent::Tool(ToolEvent::Started(start)) => {
            let rewritten = if start.rewritten_args.is_empty() {
                String::new()
            } else {
                format!(" (hooks changed {})", start.rewritten_args.join(", "))
            };
            print_lines(&format!("runs {} {}{rewritten}", start.name, start.description))
        }
        AgentEvent::Tool(ToolEvent::Finished(end)) => match &end.error {
            Some(error) if error.is_cancelled() => print_lines(&format!("{}: Cancelled", end.name)),
            Some(error) => print_lines(&format!("{} failed: {}", end.name, error.message)),
            None => {
                let how = end.failed_command().map_or_else(|| "done".to_owned(), |why| format!("failed, {why}"));
                print_lines(&format!("{} {how}: {}", end.name, end.display.summary()))
            }
        },
        AgentEvent::Hook(HookEvent::Finished { report, .. }) => match hook_log::finished_line(report) {
            Some(_) => print_lines(&format!(
                "hook {} ({}, {}) {}",
                report.hook,
                report.source,
                report.event,
                timeline::summary(report)
            )),
            None => Ok(()),
        },
        AgentEvent::Hook(HookEvent::Message { hook, text, .. }) => print_lines(&format!("hook {hook} says: {text}")),
        AgentEvent::Hook(HookEvent::Warning { hook, text, .. }) => {
            print_lines(&format!("warning: {}", about_hook(hook, text)))
        }
        AgentEvent::Notice(AgentNotice::Warning(text)) => print_lines(&format!("warning: {text}")),
        AgentEvent::Notice(AgentNotice::Note(text)) | AgentEvent::Model(ModelEvent::Retried(text)) => print_lines(text),
        AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
            print_lines(&format!("Chat history compressed from {before} to {after} tokens."))
        }
        AgentEvent::Session(SessionEvent::Reply(reply)) => print_reply(reply),
        AgentEvent::Session(SessionEvent::History(messages)) => print_history(messages),
        AgentEvent::Session(SessionEvent::Cleared) => print_lines("the conversation is cleared"),
        AgentEvent::Session(SessionEvent::Rewound(prompt)) => {
            print_lines(&format!("the conversation goes on from before: {prompt}"))
        }
        AgentEvent::Session(SessionEvent::PromptsQueued(prompts)) if !prompts.is_empty() => {
            print_lines(&format!("{} wait their turn", prompts.len()))
        }
        AgentEvent::Session(SessionEvent::PromptsReturned(prompts)) => {
            print_lines(&format!("not begun: {}", prompts.join("; ")))
        }
        AgentEvent::SubAgent { agent, event, .. } => print_subagent_event(&agent.name, event),
        AgentEvent::Turn(TurnEvent::Finished(end)) => {
            print_lines(&end.message().map(|words| format!("\n{words}")).unwrap_or_default())?;
            end.hint().map_or(Ok(()), |hint| print_lines(&format!("hint: {hint}")))
        }
        _ => Ok(()),
    }
}

/// Prints the end of an earlier conversation.
fn print_history(messages: &[std::sync::Arc<hookwright_model::Content>]) -> io::Result<()> {
    for past in resumed_history::items_of(messages) {
        match past {
            ResumedItem::User(text) => print_lines(&format!("you said: {}", output::truncate_columns(&text, 200)))?,
            ResumedItem::Model(text) => print_lines(&text)?,
            ResumedItem::Call(ResumedCall { name, args, result }) => {
                let came = match &result {
                    Some(Ok(text)) => format!("done: {}", output::truncate_columns(text.trim(), 80)),
                    Some(Err(text)) => format!("failed: {}", output::truncate_columns(text.trim(), 80)),
                    None => "did not end".to_owned(),
                };
                print_lines(&format!("{name} {} {came}", short_args(&args)))?;
            }
        }
    }
    Ok(())
}

/// Prints an event of a sub-agent in short.
fn print_subagent_event(name: &str, event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Turn(TurnEvent::Started { .. }) => print_lines(&format!("agent {name} begins")),
        AgentEvent::Tool(ToolEvent::Started(start)) => {
            print_lines(&format!("agent {name} runs {} {}", start.name, start.description))
        }
        AgentEvent::Tool(ToolEvent::Finished(end)) => match &end.error {
            Some(error) => print_lines(&format!("agent {name}: {} failed: {}", end.name, error.message)),
            None => end
                .failed_command()
                .map_or(Ok(()), |why| print_lines(&format!("agent {name}: {} failed, {why}", end.name))),
        },
        AgentEvent::Notice(AgentNotice::Warning(text)) => print_lines(&format!("warning: agent {name}: {text}")),
        AgentEvent::Turn(TurnEvent::Finished(_)) => print_lines(&format!("agent {name} is done")),
        _ => Ok(()),
    }
}

fn print_reply(reply: &Reply) -> io::Result<()> {
    reply_parts(reply).into_iter().try_for_each(|part| match part {
        ReplyPart::Message(Message { tone: Tone::Warning, text }) => print_lines(&format!("warning: {text}")),
        ReplyPart::Message(Message { tone: Tone::Error, text }) => print_lines(&format!("error: {text}")),
        ReplyPart::Message(message) => print_lines(&message.text),
        part @ (ReplyPart::Diff(_) | ReplyPart::Lines(_) | ReplyPart::Rows(_)) => {
            reply_text::stdout_text(part).map_or(Ok(()), |text| print_lines(&text))
        }
        ReplyPart::Notice(notice) => print_lines(&notice.to_string()),
        ReplyPart::Diagnostic(diagnostic) => print_lines(&output::strip_styles(&diagnostics::render(&diagnostic))),
    })
}

/// Whether the last thing printed is an unfinished line of the model's answer.
static IS_IN_LINE: AtomicBool = AtomicBool::new(false);

/// Prints a text line by line, with control characters removed. It begins on a line of its own.
pub(super) fn print_lines(text: &str) -> io::Result<()> {
    let mut stdout = output::stdout();
    if IS_IN_LINE.swap(false, Ordering::Relaxed) && !text.is_empty() && !text.starts_with('\n') {
        writeln!(stdout)?;
    }
    text.split('\n').try_for_each(|line| writeln!(stdout, "{}", single_line(line)))
}
