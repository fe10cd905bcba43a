//! One prompt without a screen: start a session, give it the prompt, print what happens as the user asked for it.

mod input;
mod json;
mod stream_json;
mod text;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use hookwright_agent::session::{
    BrokenSettings, HooksOrder, Opened, Order, Reply, SessionError, SessionHandle, Typed, View, When, broken_settings,
    unarmed_json,
};
use hookwright_agent::{AgentEvent, EndReason, EventStream, Interaction, ToolEnd, TurnEnd};
use hookwright_settings::World;
use tokio::sync::oneshot::error::TryRecvError;

use crate::args::{AgentArgs, OutputFormat};
use crate::farewell::Farewell;
use crate::signals::Signals;
use crate::stats::Stats;
use crate::telemetry::Telemetry;
use crate::{exit, log, out, replies, report, runtime, session};
use input::Prompt;

/// How long a reader that does not read is waited for after a signal.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints a session's events.
trait Printer {
    /// Something happened.
    fn event(&mut self, event: &AgentEvent) -> io::Result<()>;
    /// Something is wrong with the configuration or a command; people have read it on stderr.
    fn warned(&mut self, _text: String) -> io::Result<()> {
        Ok(())
    }
    /// The answer to a command instead of a prompt.
    fn answer(&mut self, text: &str) -> io::Result<()>;
    /// The session is over; a command's has no end of a turn.
    fn finish(&mut self, end: Option<&TurnEnd>, stats: &Stats) -> io::Result<()>;
}

/// Says that `-i` needs a terminal, whatever else is on the command line.
pub(crate) fn refuse_interactive_prompt() -> u8 {
    // Gemini CLI's words, which scripts look for.
    let _ = out::error("--prompt-interactive flag cannot be used when input is piped")
        .and_then(|()| out::hint("an interactive session needs a terminal for input and output; `-p TEXT` needs none"));
    exit::BAD_INPUT
}

/// Runs one prompt and prints the answer.
pub(crate) fn run(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let Some(prompt) = input::prompt(args)? else {
        out::error("there is no prompt")?;
        out::hint("give one with `hookwright -p TEXT`, or pipe it in")?;
        return Ok(exit::BAD_INPUT);
    };
    let options = session::options(args, Interaction::Headless);
    let loaded = options.load(world)?;
    log::learn_secrets(&loaded);
    if let Some(log) = log::path().filter(|_| args.debug) {
        out::note(format!("the log is {}", log.display()))?;
    }
    if broken_settings(&loaded).is_some() && options.broken == BrokenSettings::Refuse {
        // The session, which would say it, may not start.
        report::print(loaded.registry.diagnostics())?;
    }
    let session_id = options.session_id.clone();
    let opened = match Opened::new(options, world.clone(), loaded) {
        Err(error) if error.is_unguarded() => {
            unguarded(args.output_format, &error)?;
            return Err(error.into());
        }
        Err(SessionError::AuthType(error)) => {
            let session_id = session_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            let told = serde_json::json!({"type": "Error", "message": error.to_string(), "code": exit::WRONG_AUTH});
            refused(args.output_format, serde_json::json!({"session_id": session_id, "error": told}))?;
            return Err(SessionError::AuthType(error).into());
        }
        opened => opened?,
    };
    let order = match order(&prompt, &opened) {
        Ok(Wanted::Order(order)) => order,
        Ok(Wanted::Help) => {
            let rows = replies::answer(&Reply::Rows(opened.view().help())).unwrap_or_default();
            writeln!(out::stdout(), "{rows}")?;
            return Ok(exit::OK);
        }
        Err(problem) => {
            out::error(problem)?;
            return Ok(exit::BAD_INPUT);
        }
    };
    let runtime = crate::runtime::start_here()?;
    let code = runtime.block_on(converse(args, opened, order));
    // The session is over and the program ends. A hook or a tool that blocks a thread must not hold that up, nor need the
    // others be woken only to be told.
    std::mem::forget(runtime);
    code
}

/// Tells machines of a session that does not start because guards could be missing; people read it on stderr.
fn unguarded(format: OutputFormat, error: &SessionError) -> io::Result<()> {
    let guards: Vec<_> = match error {
        SessionError::Unguarded(unarmed) => unarmed.iter().map(unarmed_json).collect(),
        _ => Vec::new(),
    };
    let error = serde_json::json!({
        "type": "unguarded",
        "message": error.to_string(),
        "code": exit::UNGUARDED,
        "hint": error.hint(),
        "guards": guards,
    });
    refused(format, serde_json::json!({"error": error}))
}

/// Tells machines of a session that does not start.
fn refused(format: OutputFormat, mut told: serde_json::Value) -> io::Result<()> {
    match format {
        OutputFormat::Text => Ok(()),
        OutputFormat::Json => out::json(&told),
        OutputFormat::StreamJson => stream_json::refused(told["error"].take()),
    }
}

/// What the prompt asks for. Piped text is read, never obeyed. Other text can show things and run the user's own commands,
/// which are asked about like the model's, and switch hooks on; it can't switch hooks off or run a shell command.
fn order(prompt: &Prompt, opened: &Opened) -> Result<Wanted, String> {
    let text = &prompt.typed;
    if let Some(piped) = &prompt.piped {
        return Ok(Wanted::Order(Order::Piped { piped: piped.clone(), typed: text.clone() }));
    }
    let order = match opened.view().read(text) {
        Typed::View(View::Help) => return Ok(Wanted::Help),
        Typed::Order(order @ (Order::Custom { .. } | Order::UseSkill { .. } | Order::Init | Order::Prompt(_))) => {
            Ok(order)
        }
        Typed::Unknown(command) if command.untrusted => Err(command.to_string()),
        // No server has been started yet.
        Typed::Unknown(_) if !opened.view().loaded.mcp_servers().servers.is_empty() => Ok(Order::Late(text.clone())),
        // A slip is no prompt; other words behind a slash may be meant for the model.
        Typed::Unknown(command) if command.near.is_some() => Err(command.to_string()),
        Typed::Order(Order::Shell(_)) | Typed::Unknown(_) | Typed::Blank => Ok(Order::Prompt(text.clone())),
        Typed::View(View::HooksPanel) => Ok(Order::Hooks(HooksOrder::Panel)),
        Typed::Order(order @ Order::Hooks(HooksOrder::Enable(_) | HooksOrder::EnableAll)) => Ok(order),
        Typed::Order(order) if order.only_shows() => Ok(order),
        // A script's prompt may hold a stranger's words.
        Typed::Order(Order::Hooks(_)) => {
            let command = text.trim().trim_start_matches('/');
            Err(format!("{text} could take guards away, which a prompt can't; run `hookwright {command}`"))
        }
        Typed::Order(_) => Err(format!("{text} changes something, which only an interactive session does")),
        Typed::View(_) => Err(format!("{text} is for interactive sessions")),
        Typed::Misspelt(usage) => Err(usage),
    };
    order.map(Wanted::Order)
}

/// What a prompt asks for: something of a session, or only what could be asked for.
enum Wanted {
    Order(Order),
    Help,
}

async fn converse(args: &AgentArgs, opened: Opened, order: Order) -> anyhow::Result<u8> {
    let view = opened.view();
    let printer: Box<dyn Printer + Send> = match args.output_format {
        OutputFormat::Text => Box::new(text::Text::new(args.debug)),
        OutputFormat::Json => Box::new(json::Json::new(&view.session_id())),
        OutputFormat::StreamJson => Box::new(stream_json::StreamJson::new(&view.session_id(), &view.model)?),
    };
    let (telemetry, troubles) = Telemetry::start(&view.loaded.settings.telemetry, &session::facts(&view, args));
    troubles.iter().try_for_each(out::warn)?;
    let farewell = (args.output_format == OutputFormat::Text && out::stderr_is_terminal()).then(|| Farewell::of(&view));
    let mut stats = Stats::default();
    stats.set_prices(&view.loaded.settings.model.prices);
    // The front end must be the last to hold on to the services, or events would never end.
    drop(view);
    let records = telemetry.is_on();
    let mut signals = Signals::listen().context(runtime::NO_ROOM)?;
    let (give, mut screen) =
        start_screen(Listener { printer, telemetry, stats, farewell }).context(runtime::NO_ROOM)?;
    let (session, mut events, ended) = opened.start();
    if args.output_format == OutputFormat::Text && !args.debug && !records {
        events.let_wait(says_nothing);
    }
    signals.at_last({
        let session = session.clone();
        move || session.kill_everything()
    });
    // Its thread waits for nothing else.
    let _ = give.send(events);
    session.order(order);
    session.end(When::Done, EndReason::Exit);
    let signalled = see_out(&session, ended, &mut signals).await?;
    let code = match signalled {
        Some(code) => code,
        None if let Some(end) = printed_soon(&mut screen) => {
            return Ok(exit_code(end.context("nobody prints any more")??.as_ref()));
        }
        None => tokio::select! {
            end = &mut screen => return Ok(exit_code(end.context("nobody prints any more")??.as_ref())),
            code = signals.next() => code,
        },
    };
    // Whoever does not read now never will; what can be printed is.
    let _ = tokio::time::timeout(PATIENCE, screen).await;
    Ok(code)
}

type Printed = tokio::sync::oneshot::Receiver<io::Result<Option<TurnEnd>>>;

/// What came of the printing, if it is done in a moment, as it nearly always is: to fall asleep until then, and to be woken,
/// would take longer.
fn printed_soon(screen: &mut Printed) -> Option<Result<io::Result<Option<TurnEnd>>, TryRecvError>> {
    const SOON: Duration = Duration::from_micros(200);
    let since = Instant::now();
    loop {
        match screen.try_recv() {
            Err(TryRecvError::Empty) if since.elapsed() < SOON => std::hint::spin_loop(),
            Err(TryRecvError::Empty) => return None,
            end => return Some(end),
        }
    }
}

/// Prints on a thread of its own: a reader that does not read must not hold up anything else. It is there before the
/// session is, which could not be ended properly without one.
fn start_screen(listener: Listener) -> io::Result<(std::sync::mpsc::Sender<EventStream>, Printed)> {
    let (give, events) = std::sync::mpsc::channel();
    let (done, printed) = tokio::sync::oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "the sender is given away or dropped before the session begins")]
    std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        if let Ok(events) = events.recv() {
            let _ = done.send(listener.listen(events));
        }
    })?;
    Ok((give, printed))
}

/// Waits for the session's end; a signal ends the turn, and its exit code is the program's.
async fn see_out(
    session: &SessionHandle,
    ended: tokio::task::JoinHandle<()>,
    signals: &mut Signals,
) -> anyhow::Result<Option<u8>> {
    let mut ended = std::pin::pin!(ended);
    tokio::select! {
        done = &mut ended => done.map(|()| None).map_err(Into::into),
        code = signals.next() => {
            session.end(When::Now, EndReason::Exit);
            ended.await?;
            Ok(Some(code))
        }
    }
}

/// Prints and records what a session tells.
struct Listener {
    printer: Box<dyn Printer + Send>,
    telemetry: Telemetry,
    stats: Stats,
    farewell: Option<Farewell>,
}

impl Listener {
    /// Until there are no more events; how the turn ended.
    fn listen(mut self, mut events: EventStream) -> io::Result<Option<TurnEnd>> {
        let begun = Instant::now();
        let mut end = None;
        let mut unread = None;
        while let Some(event) = events.wait() {
            self.stats.count(&event);
            self.telemetry.record(&event);
            // What can't be printed stops nothing else: what happens is still recorded.
            if unread.is_none() {
                unread = print(&mut *self.printer, &event).err();
            }
            if let AgentEvent::TurnFinished(how) = event {
                end = Some(how);
            }
        }
        let finished = unread.map_or_else(|| self.printer.finish(end.as_ref(), &self.stats), Err);
        let last_words = self.farewell.map(|farewell| farewell.lines(&self.stats, begun.elapsed())).unwrap_or_default();
        last_words.iter().try_for_each(|line| out::stderr_line(&out::paint(out::DIM, line)))?;
        // It may wait a second for a collector, so it comes after everything that the user waits for.
        self.telemetry.shutdown().iter().try_for_each(out::warn)?;
        finished.map(|()| end)
    }
}

fn print(printer: &mut dyn Printer, event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Reply(reply) => match replies::answer(reply) {
            Some(text) => printer.answer(&text),
            None => {
                replies::aside(reply)?;
                replies::warning(reply).map_or(Ok(()), |text| printer.warned(text))
            }
        },
        event => printer.event(event),
    }
}

/// Whether nothing is printed of an event when it comes.
fn says_nothing(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::HookStarted { .. }
        | AgentEvent::HookFinished { .. }
        | AgentEvent::ModelRequest { .. }
        | AgentEvent::ModelResponse { .. }
        | AgentEvent::PromptReceived { .. }
        | AgentEvent::PromptStarted { .. }
        | AgentEvent::ToolRequested { .. }
        | AgentEvent::TurnFinished(_)
        | AgentEvent::Busy(_)
        | AgentEvent::Idle { .. }
        | AgentEvent::Begun(_)
        | AgentEvent::Configured => true,
        AgentEvent::ToolFinished(end) => end.error.is_none() && failed_command(end).is_none(),
        _ => false,
    }
}

fn exit_code(end: Option<&TurnEnd>) -> u8 {
    match end {
        None | Some(TurnEnd::Answered | TurnEnd::Blocked(_) | TurnEnd::Stopped(_)) => exit::OK,
        Some(TurnEnd::Cancelled) => exit::INTERRUPTED,
        Some(TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_) | TurnEnd::AgentLimit(_)) => exit::TURN_LIMIT,
        Some(TurnEnd::Loop(_) | TurnEnd::Failed { .. }) => exit::ERROR,
    }
}

/// A call whose command failed, in a line: which command it was has been said.
fn failed_command(end: &ToolEnd) -> Option<String> {
    end.failed_command().map(|why| format!("{} failed: {why}", end.name))
}

/// What went wrong with a turn, for machines: a word, and the words.
fn error_of(end: &TurnEnd) -> Option<(&'static str, String)> {
    let hint = end.hint().filter(|_| matches!(end, TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_)));
    let words = end.words().map(|words| hint.map_or_else(|| words.clone(), |hint| format!("{words}; {hint}")));
    end.kind().zip(words)
}
