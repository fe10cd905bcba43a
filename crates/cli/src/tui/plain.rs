//! The session for screen readers and dumb terminals: lines in, lines out, nothing is ever drawn over.

use std::io::{self, BufRead, Write};

use hookwright_agent::commands::parse_invocation;
use hookwright_agent::{AgentEvent, ApprovalReply, ApprovalRequest, StartSource, TurnEnd};
use hookwright_settings::Loaded;
use hookwright_settings::commands::discover;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::text::clean;
use super::view::PLACEHOLDER;
use super::worker::{self, Task};
use crate::args::AgentArgs;
use crate::session::{self, Ready};
use crate::telemetry::Telemetry;
use crate::{exit, out, report, signals};

/// Runs a session in lines.
pub(crate) async fn converse(
    args: &AgentArgs,
    ready: Ready,
    mut receiver: UnboundedReceiver<AgentEvent>,
) -> anyhow::Result<u8> {
    let Ready { agent, loaded, resumed, session_id, warnings } = ready;
    report::print(loaded.registry.diagnostics())?;
    session::announce(&loaded)?;
    let (mut telemetry, problems) =
        Telemetry::start(&loaded.settings.telemetry, &session::facts(&agent, &loaded, &session_id, args));
    warnings.iter().chain(&problems).try_for_each(out::warn)?;
    let mut lines = lines();
    let (tasks, todo) = unbounded_channel();
    let (sender, mut done) = unbounded_channel();
    let mut cancel = CancellationToken::new();
    let source = if resumed { StartSource::Resume } else { StartSource::Startup };
    let worker = tokio::spawn(worker::work(agent, source, cancel.clone(), todo, sender));
    let mut ended = std::pin::pin!(signals::ended());
    let mut waiting: Option<oneshot::Sender<ApprovalReply>> = None;
    let mut first = super::first_prompt(args);
    let mut working = true;
    let code = loop {
        let line = tokio::select! {
            Some(event) = receiver.recv() => {
                telemetry.record(&event);
                match event {
                    AgentEvent::Approval(request, reply) => {
                        ask(&request)?;
                        waiting = Some(reply);
                    }
                    event => tell(&event)?,
                }
                continue;
            }
            Some(_) = done.recv() => {
                while let Ok(event) = receiver.try_recv() {
                    telemetry.record(&event);
                    tell(&event)?;
                }
                working = false;
                match first.take() {
                    Some(prompt) => prompt,
                    None => {
                        say(&format!("{PLACEHOLDER}:"))?;
                        continue;
                    }
                }
            }
            line = lines.recv() => match line {
                Some(line) => line.trim().to_owned(),
                None => break exit::OK,
            },
            code = &mut ended => {
                // The first Ctrl-C only cancels the turn.
                if code != exit::INTERRUPTED || !working {
                    break code;
                }
                cancel.cancel();
                ended.set(signals::ended());
                continue;
            }
        };
        if let Some(reply) = waiting.take().filter(|reply| !reply.is_closed()) {
            // Nobody waits where the turn is over.
            let _ = reply.send(reply_of(&line));
            continue;
        }
        match line.as_str() {
            "" => {}
            "/quit" | "/exit" => break exit::OK,
            "/help" => say(
                "/clear, /compress, /quit and custom commands; !command runs a shell command; other words go to the model.",
            )?,
            line => {
                if !working {
                    cancel = CancellationToken::new();
                }
                working = true;
                // An agent that is gone has said why.
                let _ = tasks.send(task(line, &loaded, cancel.clone()));
            }
        }
    };
    cancel.cancel();
    drop((tasks, waiting));
    let mut worker = std::pin::pin!(worker);
    loop {
        tokio::select! {
            Some(event) = receiver.recv() => {
                telemetry.record(&event);
                tell(&event)?;
            }
            ended = &mut worker => break ended?,
        }
    }
    while let Ok(event) = receiver.try_recv() {
        telemetry.record(&event);
        tell(&event)?;
    }
    telemetry.shutdown().iter().try_for_each(out::warn)?;
    Ok(code)
}

/// What a line asks the agent to do.
fn task(line: &str, loaded: &Loaded, cancel: CancellationToken) -> Task {
    let commands = discover(&loaded.paths, &loaded.project, &loaded.extensions);
    match line {
        "/clear" => Task::Clear(loaded.paths.chats_dir(&loaded.project.root), cancel),
        "/compress" => Task::Compress(cancel),
        _ => match (line.strip_prefix('!'), parse_invocation(line, &commands)) {
            (Some(command), _) => Task::Shell(command.to_owned(), cancel),
            (None, Some((command, args))) => {
                Task::Custom(Box::new(command.clone()), line.to_owned(), args.to_owned(), cancel)
            }
            (None, None) => Task::Prompt(line.to_owned(), cancel),
        },
    }
}

/// The user's lines, read on a thread of their own.
fn lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        // Ends when nobody listens any more.
        let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
    });
    receiver
}

fn ask(request: &ApprovalRequest) -> io::Result<()> {
    say(&format!("Allow {}? {}", request.title, request.description))?;
    if let Some(asked) = &request.asked_by {
        say(&format!("hook {} wants you to decide: {}", asked.hooks.join(", "), asked.reason))?;
    }
    if !request.rewritten.is_empty() {
        say(&format!(
            "hooks changed {}; it will run with {}",
            request.rewritten.join(", "),
            serde_json::Value::Object(request.args.clone())
        ))?;
    }
    say(
        "1 or y: allow once. 2: allow for this session. 3 or n, with a word to the model if you like: deny. 4: cancel the turn.",
    )
}

fn reply_of(line: &str) -> ApprovalReply {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word {
        "1" | "y" | "yes" => ApprovalReply::Once,
        "2" => ApprovalReply::Session,
        "3" | "n" | "no" => ApprovalReply::Deny(Some(rest.trim().to_owned()).filter(|word| !word.is_empty())),
        _ => ApprovalReply::Cancel,
    }
}

fn tell(event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Text(text) => {
            let mut stdout = io::stdout().lock();
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
            Some(error) if error.message.to_lowercase().contains("cancelled") => {
                say(&format!("{}: Cancelled", end.name))
            }
            Some(error) => say(&format!("{} failed: {}", end.name, error.message)),
            None => say(&format!("{} done: {}", end.name, end.display.summary())),
        },
        AgentEvent::HookFinished { report, .. } => match super::hooklog::line(report) {
            Some(_) => say(&format!(
                "hook {} ({}, {}) {}",
                report.hook,
                report.source,
                report.event,
                crate::trace::deed(report)
            )),
            None => Ok(()),
        },
        AgentEvent::HookMessage { hook, text, .. } => say(&format!("hook {hook} says: {text}")),
        AgentEvent::HookWarning { hook, text, .. } => say(&format!("warning: hook {hook} {text}")),
        AgentEvent::Warning(text) => say(&format!("warning: {text}")),
        AgentEvent::Note(text) | AgentEvent::ModelRetry(text) => say(text),
        AgentEvent::TurnFinished(end) => match end {
            TurnEnd::Answered => say(""),
            TurnEnd::Blocked(reason) => say(&format!("\nAgent execution blocked: {reason}")),
            TurnEnd::Stopped(reason) => say(&format!("\nAgent execution stopped by hook: {reason}")),
            TurnEnd::Cancelled => say("\nCancelled"),
            TurnEnd::TurnLimit(limit) => say(&format!("\nthe session has made its {limit} requests")),
            TurnEnd::Loop(reason) => say(&format!("\n{reason}")),
            TurnEnd::Failed { message, .. } => say(&format!("\nerror: {message}")),
        },
        _ => Ok(()),
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    text.split('\n').try_for_each(|line| writeln!(stdout, "{}", clean(line)))
}
