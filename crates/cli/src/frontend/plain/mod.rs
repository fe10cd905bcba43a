//! The session for screen readers and dumb terminals: lines in, lines out, nothing is ever drawn over.

mod echo;
mod inquiry;
mod printer;
mod questions;

use std::io::{self, BufRead, IsTerminal};
use std::time::{Duration, Instant};

use hookwright_agent::session::{
    FrontEndAction, InputLine, NO_HOOKS, PreparedSession, SessionCommand, SessionHandle, SessionView, Shutdown,
    panel_text,
};
use hookwright_agent::{AgentEvent, CallError, EndReason, EventStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::args::SessionArgs;
use crate::frontend::session_messages::ExitSummary;
use crate::frontend::session_messages::{NO_MODEL_HINT, NO_MODEL_NOTICE, STARTUP_TIPS};
use crate::frontend::session_stats::{self, SessionStats};
use crate::frontend::tui::card::{LiveCard, short_args};
use crate::frontend::tui::card_store::{CardContent, CardStore};
use crate::frontend::tui::hook_log::HookLog;
use crate::frontend::tui::screen_commands::no_card_text;
use crate::frontend::tui::view::{EXIT_CONFIRM_TEXT, PLACEHOLDER};
use crate::signals::Signals;
use crate::telemetry::TelemetryRecorder;
use crate::{exit, frontend::session_options, output};
use printer::{print_event, print_lines};
use questions::{PendingQuestion, print_approval_question, print_guard_question};

/// Runs a session in lines.
pub(crate) async fn run_session(args: &SessionArgs, opened: PreparedSession) -> anyhow::Result<u8> {
    let view = opened.view();
    let (telemetry, problems) =
        TelemetryRecorder::start(&view.loaded.settings.telemetry, &session_options::telemetry_facts(&view, args));
    problems.iter().try_for_each(output::warn)?;
    print_greeting(&view)?;
    let mut signals = Signals::listen()?;
    let (session, mut events, ended) = opened.start();
    signals.set_exit_action({
        let session = session.clone();
        move || {
            echo::restore();
            session.kill_all_processes();
        }
    });
    if let Some(prompt) = crate::frontend::tui::first_prompt(args) {
        session.send(SessionCommand::Prompt(prompt));
    }
    let mut lines = spawn_line_reader()?;
    let mut front = PlainSession::new(session, telemetry);
    let begun = Instant::now();
    let left = front.run(&mut events, &mut lines, &mut signals).await;
    signals.defer(true);
    let farewell = ExitSummary::for_session(&front.session.view());
    front.session.end(Shutdown::Now, front.end_reason);
    front.question = None;
    let mut told = Ok(());
    while let Some(event) = events.recv().await {
        // What can't be printed stops nothing else: the session is seen to its end.
        told = told.and(front.handle_event(event));
    }
    ended.await?;
    if matches!(left, Ok(exit::OK)) {
        told = told.and_then(|()| print_lines(crate::frontend::tui::FAREWELL_MESSAGE));
    }
    let last_words = farewell.lines(&front.stats, begun.elapsed());
    front.telemetry.shutdown().iter().try_for_each(output::warn)?;
    told?;
    // A terminal that is gone takes no farewell.
    let _ = last_words.iter().try_for_each(|line| print_lines(line));
    // Somebody may have lost patience with the end.
    Ok(signals.try_next().unwrap_or(left?))
}

/// What is said before the first prompt.
fn print_greeting(view: &SessionView) -> io::Result<()> {
    let ui = &view.loaded.settings.ui;
    if !ui.hide_banner {
        let tips = if ui.hide_tips { String::new() } else { format!(". {STARTUP_TIPS}.") };
        print_lines(&format!("Hookwright {}{tips}", env!("CARGO_PKG_VERSION")))?;
    }
    match view.model.as_str() {
        "offline" => print_lines(&format!("{NO_MODEL_NOTICE}: {NO_MODEL_HINT}")),
        _ => Ok(()),
    }
}

/// So soon after the first, a second Ctrl-C leaves.
const EXIT_CONFIRM_TIMEOUT: Duration = Duration::from_secs(3);
const SHELL_MODE_NOTICE: &str = "every line is a shell command now; ! alone goes back to the agent";

/// Whether the session goes on after a line.
#[derive(PartialEq, Eq)]
enum LineOutcome {
    Continue,
    Exit,
}

/// What a session in lines keeps in mind.
struct PlainSession {
    session: SessionHandle,
    telemetry: TelemetryRecorder,
    stats: SessionStats,
    log: HookLog,
    /// What the next line answers.
    question: Option<PendingQuestion>,
    is_working: bool,
    /// What runs, and what can be shown whole.
    running: Vec<LiveCard>,
    cards: CardStore,
    thought: String,
    /// The session ends because the user wants it to.
    is_left_by_user: bool,
    /// Why the session ends, as SessionEnd hooks are told.
    end_reason: EndReason,
    /// Whether every line is a command of the user's.
    shell_mode: bool,
    /// Until when another Ctrl-C leaves.
    exit_deadline: Option<Instant>,
}

impl PlainSession {
    fn new(session: SessionHandle, telemetry: TelemetryRecorder) -> Self {
        let (stats, log) = (SessionStats::default(), HookLog::default());
        let (running, cards, thought) = (Vec::new(), CardStore::default(), String::new());
        PlainSession {
            session,
            telemetry,
            stats,
            log,
            question: None,
            is_working: true,
            running,
            cards,
            thought,
            is_left_by_user: false,
            end_reason: EndReason::Exit,
            shell_mode: false,
            exit_deadline: None,
        }
    }

    /// Listens to the session and to the user, until one of them ends it; the exit code.
    async fn run(
        &mut self,
        events: &mut EventStream,
        lines: &mut UnboundedReceiver<String>,
        signals: &mut Signals,
    ) -> io::Result<u8> {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.handle_event(event)?,
                    None if self.is_left_by_user => return Ok(exit::OK),
                    // Lost in a panic, which has been said.
                    None => return Ok(exit::ERROR),
                },
                line = lines.recv() => match line {
                    Some(line) if self.handle_line(&line)? == LineOutcome::Continue => {}
                    // A terminal that is gone is none any more.
                    None if !io::stdin().is_terminal() => return Ok(exit::HUNG_UP),
                    None => {
                        self.end_reason = EndReason::PromptInputExit;
                        return Ok(exit::OK);
                    }
                    Some(_) => return Ok(exit::OK),
                },
                code = signals.next() => match code {
                    exit::INTERRUPTED if self.handle_interrupt()? == LineOutcome::Continue => {}
                    exit::INTERRUPTED => return Ok(exit::OK),
                    code => return Ok(code),
                }
            }
            if !self.is_working {
                signals.mark_answered();
            }
        }
    }

    /// Ctrl-C: gives up what is asked for, else cancels the turn (a second one before that is done ends the program), else says
    /// that the next one leaves.
    fn handle_interrupt(&mut self) -> io::Result<LineOutcome> {
        let now = Instant::now();
        if let Some(PendingQuestion::Inquiry(_)) = &self.question {
            self.question = None;
            print_lines("left as it is")?;
            return self.print_prompt().map(|()| LineOutcome::Continue);
        }
        if self.is_working {
            self.session.send(SessionCommand::Cancel);
            return Ok(LineOutcome::Continue);
        }
        if self.exit_deadline.is_some_and(|until| until >= now) {
            return Ok(LineOutcome::Exit);
        }
        self.exit_deadline = Some(now + EXIT_CONFIRM_TIMEOUT);
        print_lines(EXIT_CONFIRM_TEXT).map(|()| LineOutcome::Continue)
    }

    /// Says that it is the user's turn.
    fn print_prompt(&self) -> io::Result<()> {
        if self.is_working { Ok(()) } else { print_lines(&format!("{PLACEHOLDER}:")) }
    }

    /// The session tells of something.
    fn handle_event(&mut self, event: AgentEvent) -> io::Result<()> {
        self.telemetry.record(&event);
        self.stats.count(&event);
        self.log.record_event(&event, Instant::now());
        self.record_event(&event)?;
        if let AgentEvent::ApprovalRequested(..) | AgentEvent::GuardsChanged(..) = &event {
            let loaded = self.session.view().loaded.clone();
            output::notify(loaded.settings.ui.notifications, &loaded.process_env, "a question waits for you")?;
        }
        match event {
            AgentEvent::ApprovalRequested(request, reply) => {
                let asked = print_approval_question(&request);
                self.question = Some(PendingQuestion::Call(reply, request));
                asked
            }
            AgentEvent::GuardsChanged(changes, reply) => {
                self.question = Some(PendingQuestion::Guards(reply));
                print_guard_question(&changes)
            }
            AgentEvent::UserQuestion(inquiry, reply) => {
                self.question = inquiry::PendingInquiry::new(inquiry, reply)?.map(PendingQuestion::Inquiry);
                Ok(())
            }
            AgentEvent::LoggedOut => {
                self.is_left_by_user = true;
                Ok(())
            }
            AgentEvent::Busy(_) => {
                self.is_working = true;
                Ok(())
            }
            AgentEvent::Idle { .. } => {
                self.is_working = false;
                self.print_prompt()
            }
            AgentEvent::ConfigurationChanged => {
                let loaded = self.session.view().loaded.clone();
                crate::log::add_secrets(&loaded);
                self.stats.set_prices(&loaded.settings.model.prices);
                Ok(())
            }
            event => print_event(&event),
        }
    }

    /// Keeps what can be shown whole; what a call printed before it was cancelled is said.
    fn record_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        /// So many lines of it.
        const MAX_CANCELLED_OUTPUT_LINES: usize = 12;
        match event {
            AgentEvent::Thought(text) => self.thought.push_str(text),
            AgentEvent::ToolStarted(start) => {
                self.running.push(LiveCard::new(start.clone(), Instant::now()));
            }
            AgentEvent::ToolOutput { call_id, text } => {
                self.running.iter_mut().filter(|card| card.call_id == *call_id).for_each(|card| card.push_output(text));
            }
            AgentEvent::ToolFinished(end) => {
                let at = self.running.iter().position(|card| card.call_id == end.call_id);
                let card = at.map(|at| self.running.remove(at));
                let title = || format!("{} {}", end.name, short_args(&end.args));
                let (title, live) =
                    card.as_ref().map_or_else(|| (title(), ""), |card| (card.title(), card.output_so_far()));
                self.cards.push(title, CardContent::from_tool_end(end, live), Some(&end.call_id));
                if end.error.as_ref().is_some_and(CallError::is_cancelled) {
                    let lines: Vec<&str> = live.lines().collect();
                    lines[lines.len().saturating_sub(MAX_CANCELLED_OUTPUT_LINES)..]
                        .iter()
                        .try_for_each(|line| print_lines(line))?;
                }
            }
            AgentEvent::Text(_) | AgentEvent::TurnFinished(_) if !self.thought.is_empty() => {
                self.cards.push("thought", CardContent::Text(std::mem::take(&mut self.thought)), None);
            }
            _ => {}
        }
        Ok(())
    }

    /// The user wrote a line: the answer to a question, or something to do.
    fn handle_line(&mut self, line: &str) -> io::Result<LineOutcome> {
        self.exit_deadline = None;
        if let Some(question) = self.question.take() {
            let (again, heard) = question.answer(line.trim())?;
            self.question = again;
            if heard {
                return Ok(LineOutcome::Continue);
            }
        }
        let command = self.shell_mode.then(|| format!("!{}", line.trim())).filter(|_| line.trim() != "!");
        match self.session.view().parse_line(command.as_deref().unwrap_or(line)) {
            InputLine::Blank => {}
            InputLine::Command(SessionCommand::Theme(_)) => {
                print_lines("/theme is for the screen; lines have no colours")?
            }
            InputLine::Command(SessionCommand::Vim) => {
                print_lines("/vim is for the screen's composer; here your terminal edits the line")?
            }
            InputLine::FrontEnd(FrontEndAction::ShellMode) if command.is_some() => {}
            InputLine::FrontEnd(FrontEndAction::ShellMode) => {
                self.shell_mode = !self.shell_mode;
                print_lines(if self.shell_mode { SHELL_MODE_NOTICE } else { "lines go to the agent again" })?;
            }
            InputLine::Command(order) => self.session.send(order),
            InputLine::FrontEnd(FrontEndAction::Quit) => return Ok(LineOutcome::Exit),
            InputLine::FrontEnd(view) => self.show_view(view)?,
            InputLine::InvalidUsage(words) => print_lines(&words)?,
            InputLine::UnknownCommand(command) => print_lines(&command.to_string())?,
        }
        Ok(LineOutcome::Continue)
    }

    fn show_view(&self, view: FrontEndAction) -> io::Result<()> {
        match view {
            FrontEndAction::Help => {
                print_lines(
                    "!command runs a shell command, ! alone makes every line one; other words go to the model. Commands:",
                )?;
                self.session.view().help().iter().try_for_each(|(name, about)| print_lines(&format!("{name}: {about}")))
            }
            FrontEndAction::HooksPanel => match self.session.view().hooks().as_slice() {
                [] => print_lines(NO_HOOKS),
                hooks => panel_text(hooks).lines().try_for_each(print_lines),
            },
            FrontEndAction::HooksTrace => {
                self.log.timeline().iter().try_for_each(|line| print_lines(&output::strip_styles(line)))
            }
            FrontEndAction::Stats => session_stats::summary_rows(&self.stats)
                .iter()
                .try_for_each(|(name, text)| print_lines(&format!("{name}: {text}"))),
            FrontEndAction::Expand(back) => match self.cards.nth_from_end(back) {
                Some(card) => {
                    print_lines(&card.title)?;
                    card.content.lines().iter().try_for_each(|line| print_lines(&line.plain()))
                }
                None => print_lines(&no_card_text(back)),
            },
            FrontEndAction::Copy => print_lines("there is nothing to copy with here; the answer stands above"),
            FrontEndAction::Quit | FrontEndAction::ShellMode => Ok(()),
        }
    }
}

/// The user's lines, read on a thread of their own.
fn spawn_line_reader() -> io::Result<UnboundedReceiver<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        // Ends when nobody listens any more.
        let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
    })?;
    Ok(receiver)
}
