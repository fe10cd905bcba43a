//! What a session tells, in lines.

use std::io::{self, Write};

use hookwright_agent::AgentEvent;

use crate::past::{self, Past, PastCall};
use crate::tui::card::short_args;
use crate::tui::hooklog;
use crate::tui::text::clean;
use crate::{out, replies, report, trace};

/// Something happened.
pub(super) fn tell(event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Text(text) => {
            let mut stdout = out::stdout();
            for (at, line) in text.split('\n').enumerate() {
                write!(stdout, "{}{}", if at == 0 { "" } else { "\n" }, clean(line))?;
            }
            stdout.flush()
        }
        AgentEvent::ToolStarted(start) => {
            let rewritten = if start.rewritten.is_empty() {
                String::new()
            } else {
                format!(" (hooks changed {})", start.rewritten.join(", "))
            };
            say(&format!("runs {} {}{rewritten}", start.name, start.description))
        }
        AgentEvent::ToolFinished(end) => match &end.error {
            Some(error) if error.is_cancelled() => say(&format!("{}: Cancelled", end.name)),
            Some(error) => say(&format!("{} failed: {}", end.name, error.message)),
            None => {
                let how = end.failed_command().map_or_else(|| "done".to_owned(), |why| format!("failed, {why}"));
                say(&format!("{} {how}: {}", end.name, end.display.summary()))
            }
        },
        AgentEvent::HookFinished { report, .. } => match hooklog::line(report) {
            Some(_) => {
                say(&format!("hook {} ({}, {}) {}", report.hook, report.source, report.event, trace::deed(report)))
            }
            None => Ok(()),
        },
        AgentEvent::HookMessage { hook, text, .. } => say(&format!("hook {hook} says: {text}")),
        AgentEvent::HookWarning { hook, text, .. } => say(&format!("warning: hook {hook} {text}")),
        AgentEvent::Warning(text) => say(&format!("warning: {text}")),
        AgentEvent::Note(text) | AgentEvent::ModelRetry(text) => say(text),
        AgentEvent::Compressed { before, after, .. } => {
            say(&format!("Chat history compressed from {before} to {after} tokens."))
        }
        AgentEvent::Reply(reply) => reply_lines(reply),
        AgentEvent::History(messages) => tell_past(messages),
        AgentEvent::Cleared => say("the conversation is cleared"),
        AgentEvent::Rewound(prompt) => say(&format!("the conversation goes on from before: {prompt}")),
        AgentEvent::Waiting(prompts) if !prompts.is_empty() => say(&format!("{} wait their turn", prompts.len())),
        AgentEvent::GivenBack(prompts) => say(&format!("not begun: {}", prompts.join("; "))),
        AgentEvent::Within { agent, event, .. } => tell_of_agent(&agent.name, event),
        AgentEvent::TurnFinished(end) => {
            say(&end.words().map(|words| format!("\n{words}")).unwrap_or_default())?;
            end.hint().map_or(Ok(()), |hint| say(&format!("hint: {hint}")))
        }
        _ => Ok(()),
    }
}

/// The end of an earlier conversation.
fn tell_past(messages: &[std::sync::Arc<hookwright_model::Content>]) -> io::Result<()> {
    for past in past::of(messages) {
        match past {
            Past::User(text) => say(&format!("you said: {}", out::shorten(&text, 200)))?,
            Past::Model(text) => say(&text)?,
            Past::Call(PastCall { name, args, result }) => {
                let came = match &result {
                    Some(Ok(text)) => format!("done: {}", out::shorten(text.trim(), 80)),
                    Some(Err(text)) => format!("failed: {}", out::shorten(text.trim(), 80)),
                    None => "did not end".to_owned(),
                };
                say(&format!("{name} {} {came}", short_args(&args)))?;
            }
        }
    }
    Ok(())
}

/// What a sub-agent does, in short.
fn tell_of_agent(name: &str, event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::PromptStarted { .. } => say(&format!("agent {name} begins")),
        AgentEvent::ToolStarted(start) => say(&format!("agent {name} runs {} {}", start.name, start.description)),
        AgentEvent::ToolFinished(end) => match &end.error {
            Some(error) => say(&format!("agent {name}: {} failed: {}", end.name, error.message)),
            None => {
                end.failed_command().map_or(Ok(()), |why| say(&format!("agent {name}: {} failed, {why}", end.name)))
            }
        },
        AgentEvent::Warning(text) => say(&format!("warning: agent {name}: {text}")),
        AgentEvent::TurnFinished(_) => say(&format!("agent {name} is done")),
        _ => Ok(()),
    }
}

fn reply_lines(reply: &hookwright_agent::session::Reply) -> io::Result<()> {
    use hookwright_agent::session::{Reply, Tone};
    match (replies::answer(reply), reply) {
        (Some(text), _) => say(&text),
        (None, Reply::Text(Tone::Warning, text)) => say(&format!("warning: {text}")),
        (None, Reply::Text(Tone::Error, text)) => say(&format!("error: {text}")),
        (None, Reply::Text(_, text)) => say(text),
        (None, Reply::Notice(notice)) => say(&notice.to_string()),
        (None, Reply::Diagnostic(diagnostic)) => say(&out::unpainted(&report::draw(diagnostic))),
        (None, _) => Ok(()),
    }
}

/// Says it, line by line.
pub(super) fn say(text: &str) -> io::Result<()> {
    let mut stdout = out::stdout();
    text.split('\n').try_for_each(|line| writeln!(stdout, "{}", clean(line)))
}
