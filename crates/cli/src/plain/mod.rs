//! The session for screen readers and dumb terminals: lines in, lines out, nothing is ever drawn over.

mod ask;
mod hidden;
mod inquiry;
mod tell;

use std::io::{self, BufRead, IsTerminal};
use std::time::{Duration, Instant};

use hookwright_agent::session::{NO_HOOKS, Opened, Order, SessionHandle, SessionView, Typed, View, When, panel_text};
use hookwright_agent::{AgentEvent, CallError, EndReason, EventStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::args::AgentArgs;
use crate::farewell::Farewell;
use crate::greeting::{NO_MODEL, NO_MODEL_HOW, TIPS};
use crate::signals::Signals;
use crate::stats::{self, Stats};
use crate::telemetry::Telemetry;
use crate::tui::card::{LiveCard, short_args};
use crate::tui::cards::{Cards, Whole};
use crate::tui::commands::nothing_to_open;
use crate::tui::hooklog::HookLog;
use crate::tui::view::{LEAVING, PLACEHOLDER};
use crate::{exit, out, session};
use ask::{Question, ask, ask_about_guards};
use tell::{say, tell};

/// Runs a session in lines.
pub(crate) async fn converse(args: &AgentArgs, opened: Opened) -> anyhow::Result<u8> {
    let view = opened.view();
    let (telemetry, problems) = Telemetry::start(&view.loaded.settings.telemetry, &session::facts(&view, args));
    problems.iter().try_for_each(out::warn)?;
    greet(&view)?;
    let mut signals = Signals::listen()?;
    let (session, mut events, ended) = opened.start();
    signals.at_last({
        let session = session.clone();
        move || {
            hidden::restore();
            session.kill_everything();
        }
    });
    if let Some(prompt) = crate::tui::first_prompt(args) {
        session.order(Order::Prompt(prompt));
    }
    let mut lines = lines()?;
    let mut front = Front::new(session, telemetry);
    let begun = Instant::now();
    let left = front.converse(&mut events, &mut lines, &mut signals).await;
    signals.defer(true);
    let farewell = Farewell::of(&front.session.view());
    front.session.end(When::Now, front.reason);
    front.question = None;
    let mut told = Ok(());
    while let Some(event) = events.recv().await {
        // What can't be printed stops nothing else: the session is seen to its end.
        told = told.and(front.hear(event));
    }
    ended.await?;
    if matches!(left, Ok(exit::OK)) {
        told = told.and_then(|()| say(crate::tui::FAREWELL));
    }
    let last_words = farewell.lines(&front.stats, begun.elapsed());
    front.telemetry.shutdown().iter().try_for_each(out::warn)?;
    told?;
    // A terminal that is gone takes no farewell.
    let _ = last_words.iter().try_for_each(|line| say(line));
    // Somebody may have lost patience with the end.
    Ok(signals.heard().unwrap_or(left?))
}

/// What is said before the first prompt.
fn greet(view: &SessionView) -> io::Result<()> {
    let ui = &view.loaded.settings.ui;
    if !ui.hide_banner {
        let tips = if ui.hide_tips { String::new() } else { format!(". {TIPS}.") };
        say(&format!("Hookwright {}{tips}", env!("CARGO_PKG_VERSION")))?;
    }
    match view.model.as_str() {
        "offline" => say(&format!("{NO_MODEL}: {NO_MODEL_HOW}")),
        _ => Ok(()),
    }
}

/// So soon after the first, a second Ctrl-C leaves.
const PATIENCE: Duration = Duration::from_secs(3);
const SHELL_MODE: &str = "every line is a shell command now; ! alone goes back to the agent";

/// Whether the session goes on after a line.
#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    Leave,
}

/// What a session in lines keeps in mind.
struct Front {
    session: SessionHandle,
    telemetry: Telemetry,
    stats: Stats,
    log: HookLog,
    /// What the next line answers.
    question: Option<Question>,
    working: bool,
    /// What runs, and what can be shown whole.
    running: Vec<LiveCard>,
    cards: Cards,
    thought: String,
    /// The session ends because the user wants it to.
    left: bool,
    /// Why the session ends, as SessionEnd hooks are told.
    reason: EndReason,
    /// Whether every line is a command of the user's.
    shell_mode: bool,
    /// Until when another Ctrl-C leaves.
    leaving: Option<Instant>,
}

impl Front {
    fn new(session: SessionHandle, telemetry: Telemetry) -> Self {
        let (stats, log) = (Stats::default(), HookLog::default());
        let (running, cards, thought) = (Vec::new(), Cards::default(), String::new());
        Front {
            session,
            telemetry,
            stats,
            log,
            question: None,
            working: true,
            running,
            cards,
            thought,
            left: false,
            reason: EndReason::Exit,
            shell_mode: false,
            leaving: None,
        }
    }

    /// Listens to the session and to the user, until one of them ends it; the exit code.
    async fn converse(
        &mut self,
        events: &mut EventStream,
        lines: &mut UnboundedReceiver<String>,
        signals: &mut Signals,
    ) -> io::Result<u8> {
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.hear(event)?,
                    None if self.left => return Ok(exit::OK),
                    // Lost in a panic, which has been said.
                    None => return Ok(exit::ERROR),
                },
                line = lines.recv() => match line {
                    Some(line) if self.read(&line)? == Then::GoOn => {}
                    // A terminal that is gone is none any more.
                    None if !io::stdin().is_terminal() => return Ok(exit::HUNG_UP),
                    None => {
                        self.reason = EndReason::PromptInputExit;
                        return Ok(exit::OK);
                    }
                    Some(_) => return Ok(exit::OK),
                },
                code = signals.next() => match code {
                    exit::INTERRUPTED if self.interrupted()? == Then::GoOn => {}
                    exit::INTERRUPTED => return Ok(exit::OK),
                    code => return Ok(code),
                }
            }
            if !self.working {
                signals.answered();
            }
        }
    }

    /// Ctrl-C: gives up what is asked for, else cancels the turn (a second one before that is done ends the program), else says
    /// that the next one leaves.
    fn interrupted(&mut self) -> io::Result<Then> {
        let now = Instant::now();
        if let Some(Question::Inquiry(_)) = &self.question {
            self.question = None;
            say("left as it is")?;
            return self.invite().map(|()| Then::GoOn);
        }
        if self.working {
            self.session.order(Order::Cancel);
            return Ok(Then::GoOn);
        }
        if self.leaving.is_some_and(|until| until >= now) {
            return Ok(Then::Leave);
        }
        self.leaving = Some(now + PATIENCE);
        say(LEAVING).map(|()| Then::GoOn)
    }

    /// Says that it is the user's turn.
    fn invite(&self) -> io::Result<()> {
        if self.working { Ok(()) } else { say(&format!("{PLACEHOLDER}:")) }
    }

    /// The session tells of something.
    fn hear(&mut self, event: AgentEvent) -> io::Result<()> {
        self.telemetry.record(&event);
        self.stats.count(&event);
        self.log.note(&event, Instant::now());
        self.keep(&event)?;
        if let AgentEvent::Approval(..) | AgentEvent::GuardsChanged(..) = &event {
            let loaded = self.session.view().loaded.clone();
            out::notify(loaded.settings.ui.notifications, &loaded.world, "a question waits for you")?;
        }
        match event {
            AgentEvent::Approval(request, reply) => {
                let asked = ask(&request);
                self.question = Some(Question::Call(reply, request));
                asked
            }
            AgentEvent::GuardsChanged(changes, reply) => {
                self.question = Some(Question::Guards(reply));
                ask_about_guards(&changes)
            }
            AgentEvent::Inquiry(inquiry, reply) => {
                self.question = inquiry::Asked::new(inquiry, reply)?.map(Question::Inquiry);
                Ok(())
            }
            AgentEvent::LoggedOut => {
                self.left = true;
                Ok(())
            }
            AgentEvent::Busy(_) => {
                self.working = true;
                Ok(())
            }
            AgentEvent::Idle { .. } => {
                self.working = false;
                self.invite()
            }
            AgentEvent::Configured => {
                let loaded = self.session.view().loaded.clone();
                crate::log::learn_secrets(&loaded);
                self.stats.set_prices(&loaded.settings.model.prices);
                Ok(())
            }
            event => tell(&event),
        }
    }

    /// Keeps what can be shown whole; what a call printed before it was cancelled is said.
    fn keep(&mut self, event: &AgentEvent) -> io::Result<()> {
        /// So many lines of it.
        const MOST: usize = 12;
        match event {
            AgentEvent::Thought(text) => self.thought.push_str(text),
            AgentEvent::ToolStarted(start) => {
                self.running.push(LiveCard::new(start.clone(), Instant::now()));
            }
            AgentEvent::ToolOutput { call_id, text } => {
                self.running.iter_mut().filter(|card| card.call_id == *call_id).for_each(|card| card.output(text));
            }
            AgentEvent::ToolFinished(end) => {
                let at = self.running.iter().position(|card| card.call_id == end.call_id);
                let card = at.map(|at| self.running.remove(at));
                let title = || format!("{} {}", end.name, short_args(&end.args));
                let (title, live) = card.as_ref().map_or_else(|| (title(), ""), |card| (card.title(), card.so_far()));
                self.cards.keep(title, Whole::of(end, live), Some(&end.call_id));
                if end.error.as_ref().is_some_and(CallError::is_cancelled) {
                    let lines: Vec<&str> = live.lines().collect();
                    lines[lines.len().saturating_sub(MOST)..].iter().try_for_each(|line| say(line))?;
                }
            }
            AgentEvent::Text(_) | AgentEvent::TurnFinished(_) if !self.thought.is_empty() => {
                self.cards.keep("thought", Whole::Text(std::mem::take(&mut self.thought)), None);
            }
            _ => {}
        }
        Ok(())
    }

    /// The user wrote a line: the answer to a question, or something to do.
    fn read(&mut self, line: &str) -> io::Result<Then> {
        self.leaving = None;
        if let Some(question) = self.question.take() {
            let (again, heard) = question.answer(line.trim())?;
            self.question = again;
            if heard {
                return Ok(Then::GoOn);
            }
        }
        let command = self.shell_mode.then(|| format!("!{}", line.trim())).filter(|_| line.trim() != "!");
        match self.session.view().read(command.as_deref().unwrap_or(line)) {
            Typed::Blank => {}
            Typed::Order(Order::Theme(_)) => say("/theme is for the screen; lines have no colours")?,
            Typed::Order(Order::Vim) => say("/vim is for the screen's composer; here your terminal edits the line")?,
            Typed::View(View::ShellMode) if command.is_some() => {}
            Typed::View(View::ShellMode) => {
                self.shell_mode = !self.shell_mode;
                say(if self.shell_mode { SHELL_MODE } else { "lines go to the agent again" })?;
            }
            Typed::Order(order) => self.session.order(order),
            Typed::View(View::Quit) => return Ok(Then::Leave),
            Typed::View(view) => self.view(view)?,
            Typed::Misspelt(words) => say(&words)?,
            Typed::Unknown(command) => say(&command.to_string())?,
        }
        Ok(Then::GoOn)
    }

    fn view(&self, view: View) -> io::Result<()> {
        match view {
            View::Help => {
                say(
                    "!command runs a shell command, ! alone makes every line one; other words go to the model. Commands:",
                )?;
                self.session.view().help().iter().try_for_each(|(name, about)| say(&format!("{name}: {about}")))
            }
            View::HooksPanel => match self.session.view().hooks().as_slice() {
                [] => say(NO_HOOKS),
                hooks => panel_text(hooks).lines().try_for_each(say),
            },
            View::HooksTrace => self.log.timeline().iter().try_for_each(|line| say(&out::unpainted(line))),
            View::Stats => {
                stats::lines(&self.stats).iter().try_for_each(|(name, text)| say(&format!("{name}: {text}")))
            }
            View::Expand(back) => match self.cards.back(back) {
                Some(card) => {
                    say(&card.title)?;
                    card.whole.lines().iter().try_for_each(|line| say(&line.plain()))
                }
                None => say(&nothing_to_open(back)),
            },
            View::Copy => say("there is nothing to copy with here; the answer stands above"),
            View::Quit | View::ShellMode => Ok(()),
        }
    }
}

/// The user's lines, read on a thread of their own.
fn lines() -> io::Result<UnboundedReceiver<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
        let lines = io::stdin().lock().lines().map_while(Result::ok);
        // Ends when nobody listens any more.
        let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
    })?;
    Ok(receiver)
}
