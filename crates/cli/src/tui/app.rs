//! The session's state and what changes it: events come in, effects go out. Nothing here touches the terminal, the disk or
//! the agent, so all of it can be tested by calling it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agent::session::{Armed, Order, RestoreOrder};
use hookwright_agent::{AgentEvent, ApprovalMode, EndReason, TurnEnd};

use super::block::Block;
use super::card;
use super::cards::{Cards, Whole};
use super::complete::{Completion, Names};
use super::composer::Composer;
use super::console::Consoles;
use super::dialog::{Asking, Dialog};
use super::dialog_input::DialogInput;
use super::focus::Focus;
use super::guards::GuardDialog;
use super::history::History;
use super::hooklog::{self, HookLog};
use super::inquiry::InquiryDialog;
use super::markdown::Stream;
use super::replies;
use super::sent::Sent;
use super::subagent;
use super::text::{BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN, lines_of};
use super::vim::Vim;
use crate::stats::Stats;

/// What is to be done in the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Do what the user has written.
    Submit(String),
    /// Something of the session.
    Order(Order),
    /// Let the user write in an editor.
    Editor,
    /// Look for a picture in the clipboard.
    Clipboard,
    /// Open something whole.
    Expand,
    /// Draw everything again.
    Redraw,
    /// Leave, because of this.
    Quit(EndReason),
}

/// What the line at the foot says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    pub(crate) mode: ApprovalMode,
    /// The modes that Shift+Tab steps through.
    pub(crate) modes: Vec<ApprovalMode>,
    pub(crate) tokens: u64,
    pub(crate) window: u64,
    pub(crate) hooks: usize,
    pub(crate) guards: usize,
    /// How many guards would not do their work.
    pub(crate) unarmed: usize,
    pub(crate) hidden: bool,
}

impl Status {
    /// Other hooks.
    pub(crate) fn set_hooks(&mut self, view: &hookwright_agent::session::SessionView) {
        // One that can't run watches over nothing.
        let armed: Vec<_> = view.hooks().into_iter().filter(|entry| matches!(entry.state, Armed::Yes)).collect();
        self.hooks = armed.len();
        self.guards = armed.iter().filter(|entry| entry.hook.is_guard()).count();
        self.unarmed = view.unarmed().len();
    }

    /// Another model, with another window.
    pub(crate) fn set_model(&mut self, model: String) {
        self.window = hookwright_model::context_window(&model);
        self.model = model;
    }
}

/// Something under way.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub(crate) since: Instant,
    pub(crate) what: &'static str,
}

/// A search through earlier prompts.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) text: String,
    pub(crate) skip: usize,
    pub(crate) before: String,
}

/// The session.
pub(crate) struct App {
    pub(crate) composer: Composer,
    pub(crate) history: History,
    pub(crate) status: Status,
    pub(crate) busy: Option<Busy>,
    /// Prompts that wait.
    pub(crate) queue: Vec<String>,
    pub(crate) dialogs: VecDeque<Asking>,
    pub(crate) search: Option<Search>,
    pub(crate) completion: Option<Completion>,
    pub(crate) names: Names,
    pub(crate) log: HookLog,
    pub(crate) stats: Stats,
    pub(crate) running: Vec<card::LiveCard>,
    /// The terminals of commands that run, and which of them has the keyboard.
    pub(crate) consoles: Arc<Consoles>,
    pub(crate) focus: Focus,
    /// Whether every line is a command of the user's.
    pub(crate) shell_mode: bool,
    pub(crate) stream: Stream,
    pub(crate) thought: String,
    /// Whether running hooks are shown.
    pub(crate) notifications: bool,
    /// What the model is waited for, while it is busy with others.
    pub(crate) retry: Option<String>,
    /// Whether the session is being left: nothing can be typed any more.
    pub(crate) parting: bool,
    /// Until when a second Ctrl-C leaves.
    pub(crate) leaving: Option<Instant>,
    /// Until when a second Esc goes back to an earlier turn.
    pub(crate) going_back: Option<Instant>,
    /// vi's keys, if the user wants them.
    pub(crate) vim: Option<Vim>,
    /// When the user last wrote something and did not send it.
    pub(crate) writing: Option<Instant>,
    /// Which keys may answer a dialog.
    pub(crate) dialog_input: DialogInput,
    /// The last answer, for `/copy`.
    pub(crate) answer: String,
    /// What can be opened whole.
    pub(crate) cards: Cards,
    pub(crate) sent: Sent,
    /// Finished pieces that are not on the screen yet.
    out: Vec<Block>,
    answering: bool,
}

impl App {
    pub(crate) fn new(history: History, status: Status) -> Self {
        App {
            composer: Composer::default(),
            history,
            status,
            busy: None,
            queue: Vec::new(),
            dialogs: VecDeque::new(),
            search: None,
            completion: None,
            names: Names::default(),
            log: HookLog::default(),
            stats: Stats::default(),
            running: Vec::new(),
            consoles: Consoles::new(),
            focus: Focus::default(),
            shell_mode: false,
            stream: Stream::default(),
            thought: String::new(),
            notifications: true,
            retry: None,
            parting: false,
            leaving: None,
            going_back: None,
            vim: None,
            writing: None,
            dialog_input: DialogInput::default(),
            answer: String::new(),
            cards: Cards::default(),
            sent: Sent::default(),
            out: Vec::new(),
            answering: false,
        }
    }

    /// Adds a finished piece.
    pub(crate) fn say(&mut self, block: Block) {
        self.out.push(block);
    }

    /// Adds a line.
    pub(crate) fn tell(&mut self, style: anstyle::Style, text: impl AsRef<str>) {
        self.out.push(Block::Lines(text.as_ref().lines().map(|line| Line::of(style, line).hanging(2)).collect()));
    }

    /// The finished pieces that are not on the screen yet.
    pub(crate) fn take_out(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.out)
    }

    /// Whether something on the screen moves by itself.
    pub(crate) fn is_moving(&self) -> bool {
        self.busy.is_some()
            || self.leaving.is_some()
            || self.going_back.is_some()
            || self.dialog_input.is_holding()
            || self.log.any_running()
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.leaving.is_some_and(|until| until < now) {
            self.leaving = None;
        }
        if self.going_back.is_some_and(|until| until < now) {
            self.going_back = None;
        }
        self.dialogs.retain(|dialog| !dialog.is_stale());
        self.release_held_key(now);
    }

    /// Something is under way from now on.
    pub(crate) fn begin(&mut self, what: &'static str, now: Instant) {
        self.busy = Some(Busy { since: now, what });
    }

    /// What the user typed, now that it is begun.
    pub(crate) fn echo(&mut self, text: &str) {
        let short = self.sent.in_short(text);
        if short.is_some() {
            self.cards.keep("your prompt", Whole::Text(text.trim().to_owned()), None);
        }
        self.say(Block::Gap);
        let mut lines = lines_of(BOLD, short.as_deref().unwrap_or(text.trim()));
        for (at, line) in lines.iter_mut().enumerate() {
            let mark = super::text::Span { style: NOTE, text: if at == 0 { "> " } else { "  " }.to_owned() };
            line.spans.insert(0, mark);
            line.indent = 2;
        }
        self.say(Block::Lines(lines));
        self.say(Block::Gap);
    }

    /// Prompts that will not be begun are the user's again.
    fn take_back(&mut self, mut texts: Vec<String>) {
        if !self.composer.is_empty() {
            texts.push(self.composer.whole());
        }
        self.composer.put(texts.join("\n"));
    }

    /// The agent tells of something.
    pub(crate) fn agent(&mut self, event: AgentEvent, now: Instant) {
        self.stats.count(&event);
        self.log.note(&event, now);
        if closes_answer(&event) {
            self.close_answer();
        }
        if ends_wait(&event) {
            self.retry = None;
        }
        match event {
            AgentEvent::Text(text) => self.text(&text),
            AgentEvent::Thought(text) => self.thought.push_str(&text),
            AgentEvent::AnswerDropped { reason } => {
                self.stream = Stream::default();
                self.answering = false;
                self.answer.clear();
                self.tell(WARN, format!("the answer was withdrawn: {reason}"));
            }
            AgentEvent::ToolStarted(start) => self.running.push(card::LiveCard::new(start, now)),
            AgentEvent::ToolOutput { call_id, text } => {
                if let Some(card) = self.running.iter_mut().find(|card| card.call_id == call_id) {
                    card.output(&text);
                    card.draws_on(&self.consoles);
                }
            }
            AgentEvent::ToolFinished(end) => {
                let at = self.running.iter().position(|card| card.call_id == end.call_id);
                let card = at.map(|at| self.running.remove(at));
                let title = || format!("{} {}", end.name, card::short_args(&end.args));
                let (title, live) = card.as_ref().map_or_else(|| (title(), ""), |card| (card.title(), card.so_far()));
                self.cards.keep(title, Whole::of(&end, live), Some(&end.call_id));
                let over = || card::finished(&end, "", &[], "");
                let block = card.map_or_else(over, |card| card.finish(&end, &self.consoles));
                self.say(block);
            }
            AgentEvent::HookFinished { report, .. } => {
                if let Some(line) = hooklog::line(&report) {
                    self.say(Block::line(line));
                }
            }
            AgentEvent::HookMessage { event, hook, source, text } => {
                let line = Line::of(NOTE, "• ").with(BOLD, &hook).with(DIM, format!(" ({source}, {event}) says: "));
                self.say(words(line, PLAIN, &text));
            }
            AgentEvent::HookWarning { event, hook, source, text } => {
                let line = Line::of(WARN, "! hook ").with(BOLD, &hook).with(DIM, format!(" ({source}, {event}) "));
                self.say(words(line, WARN, &text));
            }
            AgentEvent::Approval(request, reply) => {
                self.dialogs.push_back(Asking::Call(Dialog::new(request, reply)));
            }
            AgentEvent::GuardsChanged(changes, reply) => {
                self.dialogs.push_back(Asking::Guards(GuardDialog::new(changes, reply)));
            }
            AgentEvent::Inquiry(inquiry, reply) => {
                self.dialogs.push_back(Asking::Inquiry(InquiryDialog::new(inquiry, reply)));
            }
            // One line for all tries: each takes the place of the one before.
            AgentEvent::ModelRetry(text) => self.retry = Some(text),
            AgentEvent::Note(text) => self.tell(DIM, text),
            AgentEvent::Warning(text) => self.say(words(Line::of(WARN, "! "), WARN, &text)),
            AgentEvent::AgentRetry { reason, attempt } => {
                self.say(words(
                    Line::of(WARN, format!("! hooks rejected the answer (retry {attempt}): ")),
                    PLAIN,
                    &reason,
                ));
            }
            AgentEvent::Compressed { before, after, .. } => {
                self.status.tokens = after;
                self.tell(DIM, format!("Chat history compressed from {before} to {after} tokens."));
            }
            AgentEvent::ModelResponse { usage: Some(usage), .. } => self.status.tokens = usage.total,
            AgentEvent::TurnFinished(end) => self.turn_finished(&end),
            AgentEvent::Within { agent, call_id, event } => self.sub_agent(&agent, &call_id, *event),
            AgentEvent::Busy(activity) => self.begin(activity.as_str(), now),
            AgentEvent::Idle { model, tokens } => self.idle(model, tokens),
            AgentEvent::Begun(typed) => self.echo(&typed),
            AgentEvent::Waiting(prompts) => self.queue = prompts,
            AgentEvent::GivenBack(prompts) => self.take_back(prompts),
            AgentEvent::Reply(reply) => replies::say(self, reply),
            AgentEvent::History(messages) => replies::show_history(self, &messages),
            AgentEvent::Rewound(prompt) => self.rewound(prompt),
            AgentEvent::ModeChanged(mode) => self.status.mode = mode,
            AgentEvent::ModelChanged(model) => self.status.set_model(model),
            AgentEvent::Cleared => {
                self.status.tokens = 0;
                self.tell(DIM, "the conversation is cleared");
            }
            AgentEvent::PromptReceived { .. }
            | AgentEvent::PromptStarted { .. }
            | AgentEvent::ToolRequested { .. }
            | AgentEvent::HookStarted { .. }
            | AgentEvent::ModelRequest { .. }
            | AgentEvent::ModelResponse { .. }
            | AgentEvent::ModelFailed { .. }
            | AgentEvent::LoggedOut
            | AgentEvent::Configured => {}
        }
    }

    /// The agent has nothing more to do.
    fn idle(&mut self, model: String, tokens: u64) {
        self.busy = None;
        self.close_answer();
        self.status.set_model(model);
        self.status.tokens = if tokens > 0 { tokens } else { self.status.tokens };
    }

    fn text(&mut self, text: &str) {
        if !self.answering {
            self.answering = true;
            self.answer.clear();
            self.close_thought();
        }
        self.answer.push_str(text);
        let done = self.stream.push(text);
        self.out.extend(done);
    }

    /// What was streamed so far is final: something else comes below it.
    fn close_answer(&mut self) {
        self.close_thought();
        if std::mem::take(&mut self.answering) {
            let done = self.stream.finish();
            self.out.extend(done);
            self.say(Block::Gap);
        }
    }

    /// A thought leaves one dim line.
    fn close_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if let Some(first) = thought.lines().map(str::trim).find(|line| !line.is_empty()) {
            self.say(Block::line(Line::of(DIM.italic(), crate::out::shorten(first.trim_matches('*'), 100))));
            self.cards.keep("thought", Whole::Text(thought.trim().to_owned()), None);
        }
    }

    fn turn_finished(&mut self, end: &TurnEnd) {
        for card in std::mem::take(&mut self.running) {
            self.cards.keep(card.title(), Whole::Text(card.so_far().to_owned()), Some(&card.call_id));
            self.say(card.cut_off());
        }
        self.dialogs.retain(|dialog| !dialog.is_of_turn());
        if let Some(text) = end.words() {
            match end {
                TurnEnd::Cancelled => self.tell(WARN, text),
                // The reason may be long; what happened stands out.
                TurnEnd::Blocked(reason) | TurnEnd::Stopped(reason) => {
                    let heading = text.strip_suffix(reason.as_str()).unwrap_or_default();
                    self.say(words(Line::of(BAD, heading), PLAIN, reason));
                }
                _ => self.say(words(Line::of(BAD, "error: "), PLAIN, &text)),
            }
        }
        if let Some(hint) = end.hint() {
            self.say(words(Line::of(NOTE, "hint: "), PLAIN, hint));
        }
        self.say(Block::Gap);
    }

    /// The conversation goes on from an earlier place; the prompt that stood there can be written anew.
    fn rewound(&mut self, prompt: String) {
        self.status.tokens = 0;
        self.tell(DIM, "the conversation goes on from here:");
        if self.composer.is_empty() {
            self.composer.set(prompt);
        }
    }

    /// A second Esc soon after the first goes back to an earlier turn.
    pub(crate) fn go_back(&mut self, now: Instant) -> Vec<Effect> {
        const PATIENCE: Duration = Duration::from_secs(2);
        if self.going_back.take().is_some_and(|until| until >= now) {
            return vec![Effect::Order(Order::Restore(RestoreOrder::List))];
        }
        self.going_back = Some(now + PATIENCE);
        Vec::new()
    }

    /// A second Ctrl-C soon after the first leaves.
    pub(crate) fn interrupt(&mut self, now: Instant) -> Vec<Effect> {
        const PATIENCE: Duration = Duration::from_secs(3);
        if self.leaving.is_some_and(|until| until >= now) {
            return vec![Effect::Quit(EndReason::Exit)];
        }
        self.leaving = Some(now + PATIENCE);
        if self.busy.is_some() {
            return vec![Effect::Order(Order::Cancel)];
        }
        // The draft is gone from sight; undo brings it back.
        if !self.composer.is_empty() {
            self.composer.set("");
        }
        self.completion = None;
        Vec::new()
    }
}

/// Whether the model has answered, or will not.
fn ends_wait(event: &AgentEvent) -> bool {
    use AgentEvent::{Idle, ModelFailed, ModelResponse, Text, Thought, ToolRequested, TurnFinished};
    matches!(
        event,
        Text(_)
            | Thought(_)
            | ToolRequested { .. }
            | ModelResponse { .. }
            | ModelFailed { .. }
            | TurnFinished(_)
            | Idle { .. }
    )
}

/// Events that leave something on the screen.
fn closes_answer(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::HookFinished { report, .. } => hooklog::line(report).is_some(),
        AgentEvent::Text(_) | AgentEvent::HookStarted { .. } | AgentEvent::ToolOutput { .. } => false,
        AgentEvent::Thought(_) | AgentEvent::AnswerDropped { .. } => false,
        AgentEvent::ModelRequest { .. } | AgentEvent::ModelResponse { .. } => false,
        AgentEvent::Waiting(_) | AgentEvent::Configured | AgentEvent::ModeChanged(_) => false,
        AgentEvent::Within { event, .. } => subagent::leaves_lines(event),
        _ => true,
    }
}

/// Somebody's words behind a heading; more lines go below it.
pub(super) fn words(heading: Line, style: anstyle::Style, text: &str) -> Block {
    const MOST: usize = 800;
    let shown: String = text.trim_end().chars().take(MOST).collect();
    let more = if shown.len() < text.trim_end().len() { "…" } else { "" };
    let shown = format!("{shown}{more}");
    let mut rest = shown.lines();
    let first = heading.with(style, rest.next().unwrap_or_default()).hanging(4);
    let rest = rest.map(|line| Line::of(style, format!("    {line}")).hanging(4));
    Block::Lines(std::iter::once(first).chain(rest).collect())
}

#[cfg(test)]
mod tests;
