//! Headless runs: starts a session, sends it one prompt, and prints its events in the format that the user chose.

mod input;
mod json;
mod stream_json;
mod text;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use hookwright_agent::session::{
    BrokenSettingsPolicy, FrontEndAction, HooksAction, InputLine, PreparedSession, SessionCommand, SessionError,
    SessionHandle, SessionStatistics, Shutdown, broken_settings_file, unarmed_json,
};
use hookwright_agent::{
    AgentEvent, EndReason, EventStream, HookEvent, Interaction, ModelEvent, SessionEvent, ToolEnd, ToolEvent, TurnEnd,
    TurnEvent,
};
use hookwright_settings::ProcessEnv;
use hookwright_settings::edit::Switch;
use tokio::sync::oneshot::error::TryRecvError;

use crate::args::{OutputFormat, SessionArgs};
use crate::presentation::reply_parts;
use crate::presentation::session_messages::ExitSummary;
use crate::signals::Signals;
use crate::{exit, frontend::session_options, log, output, output::diagnostics, presentation::reply_text, runtime};
use input::HeadlessPrompt;

const PRINTER_LOST_MESSAGE: &str = "the output thread ended early";
/// How long a reader that does not read is waited for after a signal.
const READER_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Prints a session's events in one output format.
trait EventPrinter {
    fn print_event(&mut self, event: &AgentEvent) -> io::Result<()>;
    /// Records a problem with the configuration or a command, which is already on stderr for people.
    fn record_warning(&mut self, _text: String) -> io::Result<()> {
        Ok(())
    }
    /// Prints the answer to a command that replaces the prompt.
    fn print_answer(&mut self, text: &str) -> io::Result<()>;
    /// Prints the end of the session; `end` is none if a command ran instead of a prompt.
    fn finish(&mut self, end: Option<&TurnEnd>, stats: &SessionStatistics) -> io::Result<()>;
}

/// Reports that `-i` needs a terminal, and returns the exit code.
pub(crate) fn refuse_interactive_prompt() -> u8 {
    // This is Gemini CLI's message, which scripts look for.
    let _ = output::error("--prompt-interactive flag cannot be used when input is piped").and_then(|()| {
        output::hint("an interactive session needs a terminal for input and output; `-p TEXT` needs none")
    });
    exit::BAD_INPUT
}

/// Runs one prompt and prints the answer.
pub(crate) fn run(args: &SessionArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let Some(prompt) = input::read_prompt(args)? else {
        output::error("there is no prompt")?;
        output::hint("give one with `hookwright -p TEXT`, or pipe it in")?;
        return Ok(exit::BAD_INPUT);
    };
    let options = session_options::from_args(args, Interaction::Headless, world);
    let loaded = options.load(world)?;
    log::add_secrets(&loaded);
    if let Some(log) = log::path().filter(|_| args.debug) {
        output::note(format!("the log is {}", log.display()))?;
    }
    if broken_settings_file(&loaded).is_some() && options.broken_settings == BrokenSettingsPolicy::Refuse {
        // The session would print these diagnostics, but it may not start.
        diagnostics::print(loaded.registry.diagnostics())?;
    }
    let session_id = options.session_id.clone();
    let opened = match PreparedSession::new(options, world.clone(), loaded) {
        Err(error) if error.is_unguarded() => {
            report_unguarded(args.output_format, &error)?;
            return Err(error.into());
        }
        Err(SessionError::AuthType(error)) => {
            let session_id = session_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            let report = serde_json::json!({"type": "Error", "message": error.to_string(), "code": exit::WRONG_AUTH});
            report_refused_start(args.output_format, serde_json::json!({"session_id": session_id, "error": report}))?;
            return Err(SessionError::AuthType(error).into());
        }
        opened => opened?,
    };
    let order = match parse_prompt(&prompt, &opened) {
        Ok(PromptAction::Command(order)) => order,
        Ok(PromptAction::Help) => {
            for group in opened.view().help() {
                let rows = reply_text::rows_text(&group.rows);
                writeln!(output::stdout(), "{}\n{rows}\n", group.title)?;
            }
            return Ok(exit::OK);
        }
        Err(problem) => {
            output::error(problem)?;
            return Ok(exit::BAD_INPUT);
        }
    };
    let runtime = crate::runtime::start_headless()?;
    let code = runtime.block_on(run_session(args, opened, order));
    // The session is over and the program ends. Dropping the runtime would wait for a hook or a tool that blocks a
    // thread, and would wake the other threads.
    std::mem::forget(runtime);
    code
}

/// Reports in the output format that the session does not start because guards could be missing.
///
/// In text format this is reported on stderr.
fn report_unguarded(format: OutputFormat, error: &SessionError) -> io::Result<()> {
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
    report_refused_start(format, serde_json::json!({"error": error}))
}

/// Reports in the output format that the session does not start.
fn report_refused_start(format: OutputFormat, mut report: serde_json::Value) -> io::Result<()> {
    match format {
        OutputFormat::Text => Ok(()),
        OutputFormat::Json => output::print_json(&report),
        OutputFormat::StreamJson => stream_json::print_refused_start(report["error"].take()),
    }
}

/// Returns the action that the prompt asks for.
///
/// Piped text is always a prompt, never a command. Typed text can show information, run custom commands (which need
/// approval like the model's calls) and enable hooks. It can neither disable hooks nor run a shell command.
fn parse_prompt(prompt: &HeadlessPrompt, opened: &PreparedSession) -> Result<PromptAction, String> {
    let text = &prompt.typed;
    if let Some(piped) = &prompt.piped {
        return Ok(PromptAction::Command(SessionCommand::PipedPrompt { piped: piped.clone(), typed: text.clone() }));
    }
    let order = match opened.view().parse_line(text) {
        InputLine::FrontEnd(FrontEndAction::Help) => return Ok(PromptAction::Help),
        InputLine::Command(
            order @ (SessionCommand::CustomCommand { .. }
            | SessionCommand::UseSkill { .. }
            | SessionCommand::Init
            | SessionCommand::Prompt(_)),
        ) => Ok(order),
        InputLine::UnknownCommand(command) if command.untrusted => Err(command.to_string()),
        // MCP servers have not been started yet, so their prompts are not known.
        InputLine::UnknownCommand(_) if !opened.view().loaded.mcp_servers().servers.is_empty() => {
            Ok(SessionCommand::MaybeServerPrompt(text.clone()))
        }
        // A mistyped command is no prompt; other text after a slash may be meant for the model.
        InputLine::UnknownCommand(command) if command.suggestion.is_some() => Err(command.to_string()),
        InputLine::Command(SessionCommand::UserShell(_)) | InputLine::UnknownCommand(_) | InputLine::Blank => {
            Ok(SessionCommand::Prompt(text.clone()))
        }
        InputLine::FrontEnd(FrontEndAction::HooksPanel) => Ok(SessionCommand::Hooks(HooksAction::Panel)),
        InputLine::Command(SessionCommand::Hooks(HooksAction::Switch(request))) if request.switch == Switch::Enable => {
            Ok(SessionCommand::Hooks(HooksAction::Switch(request)))
        }
        InputLine::Command(order) if order.is_read_only() => Ok(order),
        // A script's prompt may contain text from an untrusted source.
        InputLine::Command(SessionCommand::Hooks(_)) => {
            let command = text.trim().trim_start_matches('/');
            Err(format!("{text} could remove guards, which a prompt must not do; run `hookwright {command}`"))
        }
        InputLine::Command(_) => Err(format!("{text} changes something, which only an interactive session does")),
        InputLine::FrontEnd(_) => Err(format!("{text} is for interactive sessions")),
        InputLine::InvalidUsage(usage) => Err(usage),
    };
    order.map(PromptAction::Command)
}

/// The action that a prompt asks for: a session command, or the help text.
enum PromptAction {
    Command(SessionCommand),
    Help,
}

async fn run_session(args: &SessionArgs, opened: PreparedSession, order: SessionCommand) -> anyhow::Result<u8> {
    let view = opened.view();
    let printer: Box<dyn EventPrinter + Send> = match args.output_format {
        OutputFormat::Text => Box::new(text::TextPrinter::new(args.debug)),
        OutputFormat::Json => Box::new(json::JsonPrinter::new(&view.session_id())),
        OutputFormat::StreamJson => Box::new(stream_json::StreamJsonPrinter::new(&view.session_id(), &view.model)?),
    };
    let farewell = (args.output_format == OutputFormat::Text && output::stderr_is_terminal())
        .then(|| ExitSummary::for_session(&view));
    // The view holds the session's services; unless it is dropped, the event stream never ends.
    drop(view);
    let mut signals = Signals::listen().context(runtime::NO_RESOURCES_MESSAGE)?;
    let (give, mut screen) =
        spawn_printer(PrinterTask { printer, exit_summary: farewell }).context(runtime::NO_RESOURCES_MESSAGE)?;
    let (session, mut events, ended) = opened.start(session_options::observers(args));
    if args.output_format == OutputFormat::Text && !args.debug {
        events.set_coalesced(is_silent);
    }
    signals.set_exit_action({
        let session = session.clone();
        move || session.kill_all_processes()
    });
    // The printer thread waits only for this.
    let _ = give.send(events);
    session.send(order);
    session.end(Shutdown::Done, EndReason::Exit);
    let (warnings, signalled) = wait_for_end(&session, ended, &mut signals).await?;
    let printed = match signalled {
        Some(code) => Err(code),
        None if let Some(end) = poll_print_completion(&mut screen) => Ok(end.context(PRINTER_LOST_MESSAGE)?),
        None => tokio::select! {
            end = &mut screen => Ok(end.context(PRINTER_LOST_MESSAGE)?),
            code = signals.next() => Err(code),
        },
    };
    let code = match printed {
        Ok(end) => end.map(|end| exit_code(end.as_ref())),
        Err(code) => {
            // A reader that has not read until now will not; what can still be printed is printed.
            let _ = tokio::time::timeout(READER_GRACE_PERIOD, screen).await;
            Ok(code)
        }
    };
    warnings.iter().try_for_each(output::warn)?;
    Ok(code?)
}

type PrintCompletion = tokio::sync::oneshot::Receiver<io::Result<Option<TurnEnd>>>;

/// Returns the printer's result if it arrives within a moment, as it nearly always does.
///
/// Spinning that long is faster than sleeping and being woken.
fn poll_print_completion(screen: &mut PrintCompletion) -> Option<Result<io::Result<Option<TurnEnd>>, TryRecvError>> {
    const SPIN_TIMEOUT: Duration = Duration::from_micros(200);
    let since = Instant::now();
    loop {
        match screen.try_recv() {
            Err(TryRecvError::Empty) if since.elapsed() < SPIN_TIMEOUT => std::hint::spin_loop(),
            Err(TryRecvError::Empty) => return None,
            end => return Some(end),
        }
    }
}

/// Prints on a thread of its own, so that a reader that does not read blocks nothing else.
///
/// The thread starts before the session, which could not be ended properly if it failed to start.
fn spawn_printer(listener: PrinterTask) -> io::Result<(std::sync::mpsc::Sender<EventStream>, PrintCompletion)> {
    let (give, events) = std::sync::mpsc::channel();
    let (done, printed) = tokio::sync::oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "the sender is given away or dropped before the session begins")]
    std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
        if let Ok(events) = events.recv() {
            let _ = done.send(listener.run(events));
        }
    })?;
    Ok((give, printed))
}

/// Waits for the session's end, and returns its last warnings, and the exit code of a signal that ended it.
async fn wait_for_end(
    session: &SessionHandle,
    ended: tokio::task::JoinHandle<Vec<String>>,
    signals: &mut Signals,
) -> anyhow::Result<(Vec<String>, Option<u8>)> {
    let mut ended = std::pin::pin!(ended);
    tokio::select! {
        done = &mut ended => Ok((done?, None)),
        code = signals.next() => {
            session.end(Shutdown::Now, EndReason::Exit);
            Ok((ended.await?, Some(code)))
        }
    }
}

/// Prints a session's events.
struct PrinterTask {
    printer: Box<dyn EventPrinter + Send>,
    exit_summary: Option<ExitSummary>,
}

impl PrinterTask {
    /// Handles events until there are no more, and returns how the turn ended.
    fn run(mut self, mut events: EventStream) -> io::Result<Option<TurnEnd>> {
        let begun = Instant::now();
        let mut end = None;
        let mut unread = None;
        while let Some(event) = events.recv_blocking() {
            // A failed write stops only the printing: the session is followed to its end.
            if unread.is_none() {
                unread = print_or_reply(&mut *self.printer, &event).err();
            }
            if let AgentEvent::Turn(TurnEvent::Finished(how)) = event {
                end = Some(how);
            }
        }
        let stats = events.statistics();
        let finished = unread.map_or_else(|| self.printer.finish(end.as_ref(), &stats), Err);
        let last_words = self.exit_summary.map(|farewell| farewell.lines(&stats, begun.elapsed())).unwrap_or_default();
        last_words.iter().try_for_each(|line| output::stderr_line(&output::paint(output::DIM, line)))?;
        finished.map(|()| end)
    }
}

fn print_or_reply(printer: &mut dyn EventPrinter, event: &AgentEvent) -> io::Result<()> {
    match event {
        AgentEvent::Session(SessionEvent::Reply(reply)) => {
            reply_parts(reply).into_iter().try_for_each(|part| match reply_text::stdout_text(part) {
                Ok(text) => printer.print_answer(&text),
                Err(part) => reply_text::print_stderr(part)?.map_or(Ok(()), |text| printer.record_warning(text)),
            })
        }
        event => printer.print_event(event),
    }
}

/// Returns whether the text printer prints nothing for an event.
fn is_silent(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Hook(event) => !matches!(event, HookEvent::Message { .. } | HookEvent::Warning { .. }),
        AgentEvent::Model(event) => matches!(event, ModelEvent::Requested { .. } | ModelEvent::Answered { .. }),
        AgentEvent::Turn(event) => !matches!(event, TurnEvent::Retried { .. }),
        AgentEvent::Session(event) => matches!(
            event,
            SessionEvent::Busy(_)
                | SessionEvent::Idle { .. }
                | SessionEvent::InputStarted(_)
                | SessionEvent::ConfigurationChanged
        ),
        AgentEvent::Tool(ToolEvent::Requested { .. }) => true,
        AgentEvent::Tool(ToolEvent::Finished(end)) => failure_line(end).is_none(),
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

/// Returns a line for a call that failed, or whose command failed; the command itself was printed before.
fn failure_line(end: &ToolEnd) -> Option<String> {
    match &end.error {
        Some(error) => Some(format!("Error executing tool {}: {}", end.name, error.message)),
        None => end.failed_command().map(|why| format!("{} failed: {why}", end.name)),
    }
}

/// Returns the kind and the message of a turn's error, for machine-readable output.
fn turn_error(end: &TurnEnd) -> Option<(&'static str, String)> {
    let hint = end.hint().filter(|_| matches!(end, TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_)));
    let words = end.message().map(|words| hint.map_or_else(|| words.clone(), |hint| format!("{words}; {hint}")));
    end.kind().zip(words)
}
