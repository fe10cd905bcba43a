//! The session's state and what changes it: events come in, effects go out. Nothing here touches the terminal, the disk or
//! the agent, so all of it can be tested by calling it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use hookwright_agent::{AgentEvent, ApprovalMode, TurnEnd};

use super::block::Block;
use super::card;
use super::complete::{Completion, Names};
use super::composer::Composer;
use super::dialog::Dialog;
use super::history::History;
use super::hooklog::{self, HookLog};
use super::markdown::Stream;
use super::text::{BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN, lines_of};
use crate::stats::Stats;

/// What is to be done in the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Ask the model.
    Prompt(String),
    /// Run a shell command of the user's.
    Shell(String),
    /// Run a slash command, given without its slash.
    Slash(String),
    /// End what runs now.
    Cancel,
    /// Another approval mode.
    Mode(ApprovalMode),
    /// Let the user write in an editor.
    Editor,
    /// Draw everything again.
    Redraw,
    /// Leave.
    Quit,
}

/// What the line at the foot says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    pub(crate) mode: ApprovalMode,
    pub(crate) tokens: u64,
    pub(crate) window: u64,
    pub(crate) hooks: usize,
    pub(crate) hidden: bool,
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
    pub(crate) queue: VecDeque<String>,
    pub(crate) dialogs: VecDeque<Dialog>,
    pub(crate) search: Option<Search>,
    pub(crate) completion: Option<Completion>,
    pub(crate) names: Names,
    pub(crate) log: HookLog,
    pub(crate) stats: Stats,
    pub(crate) running: Vec<card::Running>,
    pub(crate) stream: Stream,
    pub(crate) thought: String,
    /// Whether running hooks are shown.
    pub(crate) notifications: bool,
    /// Until when a second Ctrl-C leaves.
    pub(crate) leaving: Option<Instant>,
    /// When the user last wrote something and did not send it.
    pub(crate) writing: Option<Instant>,
    /// The last answer, for `/copy`.
    pub(crate) answer: String,
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
            queue: VecDeque::new(),
            dialogs: VecDeque::new(),
            search: None,
            completion: None,
            names: Names::default(),
            log: HookLog::default(),
            stats: Stats::default(),
            running: Vec::new(),
            stream: Stream::default(),
            thought: String::new(),
            notifications: true,
            leaving: None,
            writing: None,
            answer: String::new(),
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
        self.busy.is_some() || self.leaving.is_some() || self.log.any_running()
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.leaving.is_some_and(|until| until < now) {
            self.leaving = None;
        }
        self.dialogs.retain(|dialog| !dialog.is_stale());
    }

    /// The agent has nothing more to do.
    pub(crate) fn idle(&mut self, now: Instant) -> Vec<Effect> {
        self.busy = None;
        self.close_answer();
        match self.queue.pop_front() {
            Some(next) => self.submit(next, now),
            None => Vec::new(),
        }
    }

    /// What the user has written is to be done.
    pub(crate) fn submit(&mut self, text: String, now: Instant) -> Vec<Effect> {
        let bare = text.trim();
        if bare.is_empty() {
            return Vec::new();
        }
        // `/usr/bin` is a path, `// …` a comment; neither is a command.
        let is_command = |rest: &&str| !rest.split_whitespace().next().is_none_or(|word| word.contains(['/', '*']));
        if let Some(command) = bare.strip_prefix('/').filter(is_command) {
            self.echo(bare);
            return vec![Effect::Slash(command.to_owned())];
        }
        if self.busy.is_some() {
            self.queue.push_back(text);
            return Vec::new();
        }
        self.echo(bare);
        if let Some(command) = bare.strip_prefix('!').filter(|command| !command.trim().is_empty()) {
            self.begin("Running", now);
            return vec![Effect::Shell(command.trim().to_owned())];
        }
        self.begin("Working", now);
        vec![Effect::Prompt(text.trim_end().to_owned())]
    }

    /// Something is under way from now on.
    pub(crate) fn begin(&mut self, what: &'static str, now: Instant) {
        self.busy = Some(Busy { since: now, what });
    }

    fn echo(&mut self, text: &str) {
        self.say(Block::Gap);
        let mut lines = lines_of(BOLD, text);
        for (at, line) in lines.iter_mut().enumerate() {
            let mark = super::text::Span { style: NOTE, text: if at == 0 { "> " } else { "  " }.to_owned() };
            line.spans.insert(0, mark);
            line.indent = 2;
        }
        self.say(Block::Lines(lines));
        self.say(Block::Gap);
    }

    /// Takes the turn's queued prompts back into the composer.
    pub(crate) fn take_back_queue(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let mut texts: Vec<String> = self.queue.drain(..).collect();
        if !self.composer.is_empty() {
            texts.push(self.composer.text().to_owned());
        }
        self.composer.set(texts.join("\n"));
    }

    /// The agent tells of something.
    pub(crate) fn agent(&mut self, event: AgentEvent, now: Instant) {
        self.stats.count(&event);
        self.log.note(&event, now);
        if closes_answer(&event) {
            self.close_answer();
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
            AgentEvent::ToolStarted(start) => self.running.push(card::Running::new(start, now)),
            AgentEvent::ToolOutput { call_id, text } => {
                if let Some(card) = self.running.iter_mut().find(|card| card.call_id == call_id) {
                    card.output(&text);
                }
            }
            AgentEvent::ToolFinished(end) => {
                let card = self.running.iter().position(|card| card.call_id == end.call_id);
                let block = match card {
                    Some(at) => self.running.remove(at).finish(&end),
                    None => card::finished(&end, "", &[]),
                };
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
            AgentEvent::Approval(request, reply) => self.dialogs.push_back(Dialog::new(request, reply)),
            AgentEvent::ModelRetry(text) | AgentEvent::Note(text) => self.tell(DIM, text),
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
                self.tell(DIM, format!("history compressed from {before} to {after} tokens"));
            }
            AgentEvent::ModelResponse { usage: Some(usage), .. } => self.status.tokens = usage.total,
            AgentEvent::TurnFinished(end) => self.turn_finished(&end),
            _ => {}
        }
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
        }
    }

    fn turn_finished(&mut self, end: &TurnEnd) {
        self.running.clear();
        self.dialogs.clear();
        match end {
            TurnEnd::Answered => {}
            TurnEnd::Blocked(reason) => self.say(words(Line::of(BAD, "Agent execution blocked: "), PLAIN, reason)),
            TurnEnd::Stopped(reason) => {
                self.say(words(Line::of(BAD, "Agent execution stopped by hook: "), PLAIN, reason))
            }
            TurnEnd::Cancelled => {
                self.tell(WARN, "Cancelled");
                self.take_back_queue();
            }
            TurnEnd::TurnLimit(limit) => self.tell(
                BAD,
                format!("the session has made its {limit} model requests; raise `model.maxSessionTurns` for more"),
            ),
            TurnEnd::Loop(reason) => self.say(words(Line::of(BAD, "the model repeats itself: "), PLAIN, reason)),
            TurnEnd::Failed { message, hint } => {
                self.say(words(Line::of(BAD, "error: "), PLAIN, message));
                if let Some(hint) = hint {
                    self.say(words(Line::of(NOTE, "hint: "), PLAIN, hint));
                }
            }
        }
        self.say(Block::Gap);
    }

    /// A second Ctrl-C soon after the first leaves.
    pub(crate) fn interrupt(&mut self, now: Instant) -> Vec<Effect> {
        const PATIENCE: Duration = Duration::from_secs(3);
        if self.leaving.is_some_and(|until| until >= now) {
            return vec![Effect::Quit];
        }
        self.leaving = Some(now + PATIENCE);
        if self.busy.is_some() {
            return vec![Effect::Cancel];
        }
        self.composer.take();
        self.completion = None;
        Vec::new()
    }
}

/// Events that leave something on the screen.
fn closes_answer(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::HookFinished { report, .. } => hooklog::line(report).is_some(),
        AgentEvent::Text(_) | AgentEvent::HookStarted { .. } | AgentEvent::ToolOutput { .. } => false,
        AgentEvent::Thought(_) | AgentEvent::AnswerDropped { .. } => false,
        AgentEvent::ModelRequest { .. } | AgentEvent::ModelResponse { .. } => false,
        _ => true,
    }
}

/// Somebody's words behind a heading; more lines go below it.
fn words(heading: Line, style: anstyle::Style, text: &str) -> Block {
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
