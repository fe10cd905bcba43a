//! The session for screen readers and dumb terminals: it reads and prints lines, and never redraws.

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
use hookwright_agent::{
    AgentEvent, Answer, CallError, EndReason, EventStream, ModelEvent, Question, QuestionEvent, QuestionId,
    QuestionSubject, SessionEvent, ToolEvent, TurnEvent,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::args::SessionArgs;
use crate::presentation::call_text::{LiveCard, short_args};
use crate::presentation::card_store::{CardContent, CardStore, no_card_text};
use crate::presentation::hook_log::HookLog;
use crate::presentation::session_messages::{
    EXIT_CONFIRM_TEXT, ExitSummary, FAREWELL_MESSAGE, NO_MODEL_HINT, NO_MODEL_NOTICE, PLACEHOLDER, STARTUP_TIPS,
    is_model_offline,
};
use crate::signals::Signals;
use crate::{exit, frontend::session_options, output};
use printer::{print_event, print_lines};
use questions::PendingQuestion;

/// Runs a session in plain lines.
pub(crate) async fn run_session(args: &SessionArgs, opened: PreparedSession) -> anyhow::Result<u8> {
    let view = opened.view();
    print_greeting(&view)?;
    let mut signals = Signals::listen()?;
    let (session, mut events, ended) = opened.start(session_options::observers(args));
    signals.set_exit_action({
        let session = session.clone();
        move || {
            echo::restore();
            session.kill_all_processes();
        }
    });
    if let Some(prompt) = session_options::first_prompt(args) {
        session.send(SessionCommand::Prompt(prompt));
    }
    let mut lines = spawn_line_reader()?;
    let mut front = PlainSession::new(session);
    let begun = Instant::now();
    let left = front.run(&mut events, &mut lines, &mut signals).await;
    signals.defer(true);
    let farewell = ExitSummary::for_session(&front.session.view());
    front.session.end(Shutdown::Now, front.end_reason);
    front.question = None;
    let mut printed = Ok(());
    while let Some(event) = events.recv().await {
        // A failed write stops only the printing: the session is followed to its end.
        printed = printed.and(front.handle_event(event));
    }
    let warnings = ended.await?;
    if matches!(left, Ok(exit::OK)) {
        printed = printed.and_then(|()| print_lines(FAREWELL_MESSAGE));
    }
    let last_words = farewell.lines(&events.statistics(), begun.elapsed());
    warnings.iter().try_for_each(output::warn)?;
    printed?;
    // The terminal may be gone by now.
    let _ = last_words.iter().try_for_each(|line| print_lines(line));
    // A signal may have arrived while the session was ending.
    Ok(signals.try_next().unwrap_or(left?))
}

/// Prints the greeting before the first prompt.
fn print_greeting(view: &SessionView) -> io::Result<()> {
    let ui = &view.loaded.settings.ui;
    if !ui.hide_banner {
        let tips = if ui.hide_tips { String::new() } else { format!(". {STARTUP_TIPS}.") };
        print_lines(&format!("Hookwright {}{tips}", env!("CARGO_PKG_VERSION")))?;
    }
    if is_model_offline(view) { print_lines(&format!("{NO_MODEL_NOTICE}: {NO_MODEL_HINT}")) } else { Ok(()) }
}

/// How soon after the first Ctrl-C a second one exits.
const EXIT_CONFIRM_TIMEOUT: Duration = Duration::from_secs(3);
const SHELL_MODE_NOTICE: &str = "every line is a shell command now; ! alone goes back to the agent";

/// Whether the session goes on after a line.
#[derive(PartialEq, Eq)]
enum LineOutcome {
    Continue,
    Exit,
}

/// The state of a session in plain lines.
struct PlainSession {
    session: SessionHandle,
    log: HookLog,
    /// The question that the next line answers.
    question: Option<(QuestionId, PendingQuestion)>,
    is_working: bool,
    /// The calls that are running.
    running: Vec<LiveCard>,
    cards: CardStore,
    thought: String,
    /// Whether the user ended the session.
    is_left_by_user: bool,
    /// The reason that SessionEnd hooks get.
    end_reason: EndReason,
    /// Whether every line is a shell command of the user's.
    shell_mode: bool,
    /// The time until which another Ctrl-C exits.
    exit_deadline: Option<Instant>,
}

impl PlainSession {
    fn new(session: SessionHandle) -> Self {
        let (running, cards, thought) = (Vec::new(), CardStore::default(), String::new());
        PlainSession {
            session,
            log: HookLog::default(),
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

    /// Handles the session's events, the user's lines and signals until one of them ends the session, and returns the
    /// exit code.
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
                    // The session ended in a panic, which has been reported.
                    None => return Ok(exit::ERROR),
                },
                line = lines.recv() => match line {
                    Some(line) if self.handle_line(&line)? == LineOutcome::Continue => {}
                    // Stdin is no longer a terminal after a hang-up.
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

    /// Handles Ctrl-C while the session reads lines.
    ///
    /// It closes an open question; otherwise it cancels the turn (a second one before the turn ends stops the program);
    /// otherwise it announces that the next one exits.
    fn handle_interrupt(&mut self) -> io::Result<LineOutcome> {
        let now = Instant::now();
        if let Some((id, PendingQuestion::Inquiry(_))) = self.question {
            self.answer_question(id, Answer::Dismissed);
            print_lines(inquiry::LEFT_AS_IT_IS)?;
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

    /// Prints the prompt if the session waits for the user.
    fn print_prompt(&self) -> io::Result<()> {
        if self.is_working { Ok(()) } else { print_lines(&format!("{PLACEHOLDER}:")) }
    }

    /// Handles an event of the session.
    fn handle_event(&mut self, event: AgentEvent) -> io::Result<()> {
        self.log.record_event(&event, Instant::now());
        self.record_event(&event)?;
        if let AgentEvent::Question(QuestionEvent::Asked(Question { subject, .. })) = &event
            && !matches!(subject, QuestionSubject::Input(_))
        {
            let loaded = self.session.view().loaded.clone();
            output::notify(loaded.settings.ui.notifications, &loaded.process_env, "a question waits for you")?;
        }
        match event {
            AgentEvent::Question(QuestionEvent::Asked(Question { id, subject })) => {
                match PendingQuestion::print(subject)? {
                    Some(question) => self.question = Some((id, question)),
                    None => self.answer_question(id, Answer::Dismissed),
                }
                Ok(())
            }
            AgentEvent::Question(QuestionEvent::Closed(id)) => {
                self.question.take_if(|(open, _)| *open == id);
                Ok(())
            }
            AgentEvent::Session(SessionEvent::LoggedOut) => {
                self.is_left_by_user = true;
                Ok(())
            }
            AgentEvent::Session(SessionEvent::Busy(_)) => {
                self.is_working = true;
                Ok(())
            }
            AgentEvent::Session(SessionEvent::Idle { .. }) => {
                self.is_working = false;
                self.print_prompt()
            }
            event => print_event(&event),
        }
    }

    /// Records an event for later display, and prints the output of a call that was cancelled.
    fn record_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        /// The number of lines printed of a cancelled call's output.
        const MAX_CANCELLED_OUTPUT_LINES: usize = 12;
        match event {
            AgentEvent::Model(ModelEvent::Thought(text)) => self.thought.push_str(text),
            AgentEvent::Tool(ToolEvent::Started(start)) => {
                self.running.push(LiveCard::new(start.clone(), Instant::now()));
            }
            AgentEvent::Tool(ToolEvent::Output { call_id, text }) => {
                self.running.iter_mut().filter(|card| card.call_id == *call_id).for_each(|card| card.push_output(text));
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
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
            AgentEvent::Model(ModelEvent::Text(_)) | AgentEvent::Turn(TurnEvent::Finished(_))
                if !self.thought.is_empty() =>
            {
                self.cards.push("thought", CardContent::Text(std::mem::take(&mut self.thought)), None);
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a line of the user's: the answer to a question, a command or a prompt.
    fn handle_line(&mut self, line: &str) -> io::Result<LineOutcome> {
        self.exit_deadline = None;
        if let Some((id, question)) = &self.question {
            if let Some(answer) = question.answer(line.trim())? {
                self.answer_question(*id, answer);
            }
            return Ok(LineOutcome::Continue);
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

    fn answer_question(&mut self, id: QuestionId, answer: Answer) {
        self.question = None;
        self.session.send(SessionCommand::Answer { id, answer });
    }

    fn show_view(&self, view: FrontEndAction) -> io::Result<()> {
        match view {
            FrontEndAction::Help => {
                print_lines(
                    "!command runs a shell command, ! alone makes every line one; other words go to the model. Commands:",
                )?;
                self.session.view().help().iter().try_for_each(|group| {
                    print_lines(&format!("{}:", group.title))?;
                    group.rows.iter().try_for_each(|(name, about)| print_lines(&format!("{name}: {about}")))
                })
            }
            FrontEndAction::HooksPanel => match self.session.view().hooks().as_slice() {
                [] => print_lines(NO_HOOKS),
                hooks => panel_text(hooks).lines().try_for_each(print_lines),
            },
            FrontEndAction::HooksTrace => {
                self.log.timeline().iter().try_for_each(|line| print_lines(&output::strip_styles(line)))
            }
            FrontEndAction::Expand(back) => match self.cards.nth_from_end(back) {
                Some(card) => {
                    print_lines(&card.title)?;
                    card.content.lines().iter().try_for_each(|line| print_lines(&line.plain()))
                }
                None => print_lines(&no_card_text(back)),
            },
            FrontEndAction::Copy => print_lines("copying is not possible here; the answer is above"),
            FrontEndAction::Quit | FrontEndAction::ShellMode => Ok(()),
        }
    }
}

/// Reads the user's lines on a thread of its own.
fn spawn_line_reader() -> io::Result<UnboundedReceiver<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        // The thread ends when the receiver is dropped.
        let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
    })?;
    Ok(receiver)
}
