//! The state of the full-screen session: events and keys change it, and it returns effects for the driver to carry out.
//!
//! Drawing and session commands are left to the driver, so the state can be tested by calling its methods.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agent::session::{ArmedState, RestoreAction, SessionCommand};
use hookwright_agent::{
    AgentEvent, AgentNotice, ApprovalMode, EndReason, HookEvent, ModelEvent, QuestionEvent, SessionEvent, ToolEvent,
    TurnEnd, TurnEvent,
};

use super::block::ScrollbackBlock;
use super::card;
use super::completion::{Completion, CompletionNames};
use super::composer::Composer;
use super::console::ScreenConsoles;
use super::history::PromptHistory;
use super::markdown::MarkdownStream;
use super::overlay::OverlayStack;
use super::question_queue::QuestionQueue;
use super::reply_blocks;
use super::sent_prompts::SentPrompts;
use super::subagent;
use super::vim::Vim;
use crate::presentation::call_text::{LiveCard, short_args};
use crate::presentation::card_store::{CardContent, CardStore};
use crate::presentation::hook_log::{self, HookLog};
use crate::presentation::styled_text::{BAD, BOLD, DIM, NOTE, PLAIN, StyledLine, WARN, styled_lines};

/// An effect that the driver carries out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AppEffect {
    /// Handle the text that the user has submitted.
    Submit(String),
    /// Send a command to the session.
    Command(SessionCommand),
    /// Open the text in the user's editor.
    Editor,
    /// Open the story of the call with this identifier.
    WhyCall(String),
    /// Open the story of the last event that the hook with this name was asked about.
    WhyHook(String),
    /// Copy a text through the terminal.
    Copy(String),
    /// Look for an image in the clipboard.
    Clipboard,
    /// Open the pager on the newest card or the open dialog.
    Expand,
    /// Redraw the whole screen.
    Redraw,
    /// Leave the session for this reason.
    Quit(EndReason),
}

/// The content of the status line at the bottom.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatusLine {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    pub(crate) mode: ApprovalMode,
    /// The modes that Shift+Tab cycles through.
    pub(crate) modes: Vec<ApprovalMode>,
    pub(crate) tokens: u64,
    pub(crate) window: u64,
    pub(crate) hooks: usize,
    pub(crate) guards: usize,
    /// The number of guards that would not work.
    pub(crate) unarmed: usize,
    pub(crate) is_hidden: bool,
}

impl StatusLine {
    /// Counts the session's hooks anew.
    pub(crate) fn set_hooks(&mut self, view: &hookwright_agent::session::SessionView) {
        // Only armed hooks count: a hook that cannot run protects nothing.
        let armed: Vec<_> = view.hooks().into_iter().filter(|entry| matches!(entry.state, ArmedState::Armed)).collect();
        self.hooks = armed.len();
        self.guards = armed.iter().filter(|entry| entry.hook.is_guard()).count();
        self.unarmed = view.unarmed_guards().len();
    }

    /// Sets the model and the size of its context window.
    pub(crate) fn set_model(&mut self, model: String) {
        self.window = hookwright_model::context_window(&model);
        self.model = model;
    }
}

/// An activity that is under way.
#[derive(Clone, Debug)]
pub(crate) struct BusyState {
    pub(crate) since: Instant,
    pub(crate) label: &'static str,
}

/// The state of the session on the screen.
pub(crate) struct App {
    pub(crate) composer: Composer,
    pub(crate) history: PromptHistory,
    pub(crate) status: StatusLine,
    pub(crate) busy: Option<BusyState>,
    /// Prompts that wait for the current turn to end.
    pub(crate) queue: Vec<String>,
    /// What is open over the prompt.
    pub(crate) overlays: OverlayStack,
    pub(crate) names: CompletionNames,
    pub(crate) log: HookLog,
    pub(crate) running: Vec<LiveCard>,
    /// The terminals of running commands.
    pub(crate) consoles: Arc<ScreenConsoles>,
    /// Whether every line is a shell command of the user's.
    pub(crate) shell_mode: bool,
    pub(crate) stream: MarkdownStream,
    pub(crate) thought: String,
    /// Whether running hooks are shown.
    pub(crate) shows_hooks: bool,
    /// Why the model request is being retried, until the model answers.
    pub(crate) retry_notice: Option<String>,
    /// Whether the session is being left; keys are ignored then.
    pub(crate) is_leaving: bool,
    /// The time until which a second Ctrl-C exits.
    pub(crate) exit_deadline: Option<Instant>,
    /// The time until which a second Esc opens the list of earlier turns.
    pub(crate) rewind_deadline: Option<Instant>,
    /// The state of the vi keys, if vi mode is on.
    pub(crate) vim: Option<Vim>,
    /// When the user last typed text that has not been sent.
    pub(crate) last_typed: Option<Instant>,
    /// The last answer, for `/copy`.
    pub(crate) last_answer: String,
    /// Outputs, diffs and texts that can be opened at full length.
    pub(crate) cards: CardStore,
    pub(crate) sent_prompts: SentPrompts,
    /// Finished blocks that are not on the screen yet.
    finished: Vec<ScrollbackBlock>,
    is_answering: bool,
}

impl App {
    pub(crate) fn new(history: PromptHistory, status: StatusLine) -> Self {
        App {
            composer: Composer::default(),
            history,
            status,
            busy: None,
            queue: Vec::new(),
            overlays: OverlayStack::default(),
            names: CompletionNames::default(),
            log: HookLog::default(),
            running: Vec::new(),
            consoles: ScreenConsoles::new(),
            shell_mode: false,
            stream: MarkdownStream::default(),
            thought: String::new(),
            shows_hooks: true,
            retry_notice: None,
            is_leaving: false,
            exit_deadline: None,
            rewind_deadline: None,
            vim: None,
            last_typed: None,
            last_answer: String::new(),
            cards: CardStore::default(),
            sent_prompts: SentPrompts::default(),
            finished: Vec::new(),
            is_answering: false,
        }
    }

    /// Adds a finished block.
    pub(crate) fn push_block(&mut self, block: ScrollbackBlock) {
        self.finished.push(block);
    }

    /// Adds text in one style.
    pub(crate) fn push_text(&mut self, style: anstyle::Style, text: impl AsRef<str>) {
        self.finished.push(ScrollbackBlock::Lines(
            text.as_ref().lines().map(|line| StyledLine::styled(style, line).with_hanging_indent(2)).collect(),
        ));
    }

    /// Returns the finished blocks that are not on the screen yet.
    pub(crate) fn take_finished(&mut self) -> Vec<ScrollbackBlock> {
        std::mem::take(&mut self.finished)
    }

    /// Returns whether something on the screen changes with time.
    pub(crate) fn is_animating(&self) -> bool {
        self.busy.is_some()
            || self.exit_deadline.is_some()
            || self.rewind_deadline.is_some()
            || self.overlays.get::<QuestionQueue>().is_some_and(QuestionQueue::is_holding)
            || self.log.has_running()
    }

    /// Updates everything that depends on the time.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<AppEffect> {
        if self.exit_deadline.is_some_and(|until| until < now) {
            self.exit_deadline = None;
        }
        if self.rewind_deadline.is_some_and(|until| until < now) {
            self.rewind_deadline = None;
        }
        self.release_held_key(now)
    }

    /// Sets the activity that is under way.
    pub(crate) fn set_busy(&mut self, what: &'static str, now: Instant) {
        self.busy = Some(BusyState { since: now, label: what });
    }

    /// Shows a prompt in the scrollback when its turn begins.
    pub(crate) fn echo_prompt(&mut self, text: &str) {
        let short = self.sent_prompts.abbreviated(text);
        if short.is_some() {
            self.cards.push("your prompt", CardContent::Text(text.trim().to_owned()), None);
        }
        self.push_block(ScrollbackBlock::Gap);
        let mut lines = styled_lines(BOLD, short.as_deref().unwrap_or(text.trim()));
        for (at, line) in lines.iter_mut().enumerate() {
            let mark = crate::presentation::styled_text::StyledSpan {
                style: NOTE,
                text: if at == 0 { "> " } else { "  " }.to_owned(),
            };
            line.spans.insert(0, mark);
            line.indent = 2;
        }
        self.push_block(ScrollbackBlock::Lines(lines));
        self.push_block(ScrollbackBlock::Gap);
    }

    /// Puts prompts that will not run back into the composer.
    fn return_prompts(&mut self, mut texts: Vec<String>) {
        if !self.composer.is_empty() {
            texts.push(self.composer.expanded_text());
        }
        self.composer.set_prompt(texts.join("\n"));
    }

    /// Handles an event of the agent.
    pub(crate) fn handle_event(&mut self, event: AgentEvent, now: Instant) {
        self.log.record_event(&event, now);
        if closes_answer(&event) {
            self.close_answer();
        }
        if ends_retry_wait(&event) {
            self.retry_notice = None;
        }
        match event {
            AgentEvent::Turn(event) => self.handle_turn_event(event),
            AgentEvent::Model(event) => self.handle_model_event(event),
            AgentEvent::Tool(event) => self.handle_tool_event(event, now),
            AgentEvent::Hook(event) => self.handle_hook_event(event),
            AgentEvent::Question(QuestionEvent::Asked(question)) => self.ask(question),
            AgentEvent::Question(QuestionEvent::Closed(id)) => self.with_questions(|queue| queue.withdraw(id)),
            AgentEvent::Session(event) => self.handle_session_event(event, now),
            AgentEvent::Notice(AgentNotice::Note(text)) => self.push_text(DIM, text),
            AgentEvent::Notice(AgentNotice::Warning(text)) => {
                self.push_block(text_block(StyledLine::styled(WARN, "! "), WARN, &text));
            }
            AgentEvent::SubAgent { agent, call_id, event } => self.handle_subagent_event(&agent, &call_id, *event),
        }
    }

    fn handle_turn_event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Retried { reason, attempt } => {
                self.push_block(text_block(
                    StyledLine::styled(WARN, format!("! hooks rejected the answer (retry {attempt}): ")),
                    PLAIN,
                    &reason,
                ));
            }
            TurnEvent::Finished(end) => self.finish_turn(&end),
            TurnEvent::Received { .. } | TurnEvent::Started { .. } => {}
        }
    }

    fn handle_model_event(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(text) => self.push_answer_text(&text),
            ModelEvent::Thought(text) => self.thought.push_str(&text),
            ModelEvent::AnswerDropped { reason } => {
                self.stream = MarkdownStream::default();
                self.is_answering = false;
                self.last_answer.clear();
                self.push_text(WARN, format!("the answer was withdrawn: {reason}"));
            }
            // All attempts share one line: each message replaces the one before.
            ModelEvent::Retried(text) => self.retry_notice = Some(text),
            ModelEvent::Answered { usage: Some(usage), .. } => self.status.tokens = usage.total,
            ModelEvent::Requested { .. } | ModelEvent::Answered { .. } | ModelEvent::Failed { .. } => {}
        }
    }

    fn handle_tool_event(&mut self, event: ToolEvent, now: Instant) {
        match event {
            ToolEvent::Started(start) => self.running.push(LiveCard::new(start, now)),
            ToolEvent::Output { call_id, text } => {
                if let Some(card) = self.running.iter_mut().find(|card| card.call_id == call_id) {
                    card.push_output(&text);
                }
            }
            ToolEvent::Finished(end) => {
                let at = self.running.iter().position(|card| card.call_id == end.call_id);
                let card = at.map(|at| self.running.remove(at));
                let title = || format!("{} {}", end.name, short_args(end.screen_args()));
                let (title, live) =
                    card.as_ref().map_or_else(|| (title(), ""), |card| (card.title(), card.output_so_far()));
                self.cards.push(title, CardContent::from_tool_end(&end, live), Some(&end.call_id));
                let over = || card::finished_card(&end, "", &[], "");
                let block = card.map_or_else(over, |card| card.finish(&end, &self.consoles));
                self.push_block(block);
            }
            ToolEvent::Requested { .. } => {}
        }
    }

    fn handle_hook_event(&mut self, event: HookEvent) {
        match event {
            HookEvent::Finished { report, .. } => {
                if let Some(line) = hook_log::finished_line(&report) {
                    self.push_block(ScrollbackBlock::line(line));
                }
            }
            HookEvent::Message { event, hook, source, text } => {
                let line = StyledLine::styled(NOTE, "• ")
                    .with_text(BOLD, &hook)
                    .with_text(DIM, format!(" ({source}, {event}) says: "));
                self.push_block(text_block(line, PLAIN, &text));
            }
            HookEvent::Warning { event, hook, source, text } => {
                let line = StyledLine::styled(WARN, "! hook ")
                    .with_text(BOLD, &hook)
                    .with_text(DIM, format!(" ({source}, {event}): "));
                self.push_block(text_block(line, WARN, &text));
            }
            HookEvent::Started { .. } | HookEvent::Decided(_) => {}
        }
    }

    fn handle_session_event(&mut self, event: SessionEvent, now: Instant) {
        match event {
            SessionEvent::Busy(activity) => self.set_busy(activity.as_str(), now),
            SessionEvent::Idle { model, tokens } => self.set_idle(model, tokens),
            SessionEvent::InputStarted(typed) => self.echo_prompt(&typed),
            SessionEvent::PromptsQueued(prompts) => self.queue = prompts,
            SessionEvent::PromptsReturned(prompts) => self.return_prompts(prompts),
            SessionEvent::Reply(reply) => {
                reply_blocks::reply_blocks(&reply).into_iter().for_each(|block| self.push_block(block));
            }
            SessionEvent::Compressed { before, after, .. } => {
                self.status.tokens = after;
                self.push_text(DIM, format!("Chat history compressed from {before} to {after} tokens."));
            }
            SessionEvent::History(messages) => reply_blocks::show_history(self, &messages),
            SessionEvent::Rewound(prompt) => self.handle_rewind(prompt),
            SessionEvent::ModeChanged(mode) => self.status.mode = mode,
            SessionEvent::ModelChanged(model) => self.status.set_model(model),
            SessionEvent::Cleared => {
                self.status.tokens = 0;
                self.push_text(DIM, "the conversation is cleared");
            }
            SessionEvent::LoggedOut
            | SessionEvent::ConfigurationChanged
            | SessionEvent::Snapshot(_)
            | SessionEvent::Synced => {}
        }
    }

    /// Handles the end of the agent's work.
    fn set_idle(&mut self, model: String, tokens: u64) {
        self.busy = None;
        self.close_answer();
        self.status.set_model(model);
        self.status.tokens = if tokens > 0 { tokens } else { self.status.tokens };
    }

    fn push_answer_text(&mut self, text: &str) {
        if !self.is_answering {
            self.is_answering = true;
            self.last_answer.clear();
            self.close_thought();
        }
        self.last_answer.push_str(text);
        let done = self.stream.push(text);
        self.finished.extend(done);
    }

    /// Completes the streamed answer, because something else comes below it.
    fn close_answer(&mut self) {
        self.close_thought();
        if std::mem::take(&mut self.is_answering) {
            let done = self.stream.finish();
            self.finished.extend(done);
            self.push_block(ScrollbackBlock::Gap);
        }
    }

    /// Leaves one dim line of a thought, and keeps the whole as a card.
    fn close_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if let Some(first) = thought.lines().map(str::trim).find(|line| !line.is_empty()) {
            self.push_block(ScrollbackBlock::line(StyledLine::styled(
                DIM.italic(),
                crate::output::truncate_columns(first.trim_matches('*'), 100),
            )));
            self.cards.push("thought", CardContent::Text(thought.trim().to_owned()), None);
        }
    }

    fn finish_turn(&mut self, end: &TurnEnd) {
        for card in std::mem::take(&mut self.running) {
            self.cards.push(card.title(), CardContent::Text(card.output_so_far().to_owned()), Some(&card.call_id));
            self.push_block(card.interrupted());
        }
        if let Some(text) = end.message() {
            match end {
                TurnEnd::Cancelled => self.push_text(WARN, text),
                // The reason may be long, so only the heading is highlighted.
                TurnEnd::Blocked(reason) | TurnEnd::Stopped(reason) => {
                    let heading = text.strip_suffix(reason.as_str()).unwrap_or_default();
                    self.push_block(text_block(StyledLine::styled(BAD, heading), PLAIN, reason));
                }
                _ => self.push_block(text_block(StyledLine::styled(BAD, "error: "), PLAIN, &text)),
            }
        }
        if let Some(hint) = end.hint() {
            self.push_block(text_block(StyledLine::styled(NOTE, "hint: "), PLAIN, hint));
        }
        self.push_block(ScrollbackBlock::Gap);
    }

    /// Handles a rewind: the conversation continues from an earlier turn, whose prompt can be edited.
    fn handle_rewind(&mut self, prompt: String) {
        self.status.tokens = 0;
        self.push_text(DIM, "the conversation goes on from here:");
        if self.composer.is_empty() {
            self.composer.set(prompt);
        }
    }

    /// Handles Esc: a second one soon after the first opens the list of earlier turns.
    pub(crate) fn handle_rewind_key(&mut self, now: Instant) -> Vec<AppEffect> {
        const REWIND_CONFIRM_TIMEOUT: Duration = Duration::from_secs(2);
        if self.rewind_deadline.take().is_some_and(|until| until >= now) {
            return vec![AppEffect::Command(SessionCommand::Restore(RestoreAction::List))];
        }
        self.rewind_deadline = Some(now + REWIND_CONFIRM_TIMEOUT);
        Vec::new()
    }

    /// Handles Ctrl-C: a second one soon after the first exits.
    pub(crate) fn handle_interrupt(&mut self, now: Instant) -> Vec<AppEffect> {
        const EXIT_CONFIRM_TIMEOUT: Duration = Duration::from_secs(3);
        if self.exit_deadline.is_some_and(|until| until >= now) {
            return vec![AppEffect::Quit(EndReason::Exit)];
        }
        self.exit_deadline = Some(now + EXIT_CONFIRM_TIMEOUT);
        if self.busy.is_some() {
            return vec![AppEffect::Command(SessionCommand::Cancel)];
        }
        // The draft is cleared; undo brings it back.
        if !self.composer.is_empty() {
            self.composer.set("");
        }
        self.overlays.close::<Completion>();
        Vec::new()
    }
}

/// Returns whether an event ends the wait for a retried request.
fn ends_retry_wait(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Model(event) => {
            !matches!(event, ModelEvent::Requested { .. } | ModelEvent::Retried(_) | ModelEvent::AnswerDropped { .. })
        }
        AgentEvent::Tool(event) => matches!(event, ToolEvent::Requested { .. }),
        AgentEvent::Turn(event) => matches!(event, TurnEvent::Finished(_)),
        AgentEvent::Session(event) => matches!(event, SessionEvent::Idle { .. }),
        _ => false,
    }
}

/// Returns whether an event leaves something on the screen, which ends the answer above it.
fn closes_answer(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Hook(HookEvent::Finished { report, .. }) => hook_log::finished_line(report).is_some(),
        AgentEvent::Hook(event) => matches!(event, HookEvent::Message { .. } | HookEvent::Warning { .. }),
        AgentEvent::Model(event) => matches!(event, ModelEvent::Failed { .. } | ModelEvent::Retried(_)),
        AgentEvent::Tool(event) => !matches!(event, ToolEvent::Output { .. }),
        AgentEvent::Session(event) => !matches!(
            event,
            SessionEvent::PromptsQueued(_) | SessionEvent::ConfigurationChanged | SessionEvent::ModeChanged(_)
        ),
        AgentEvent::SubAgent { event, .. } => subagent::leaves_block(event),
        AgentEvent::Turn(_) | AgentEvent::Question(_) | AgentEvent::Notice(_) => true,
    }
}

/// Returns a block with text after a heading; further lines go below it.
pub(super) fn text_block(heading: StyledLine, style: anstyle::Style, text: &str) -> ScrollbackBlock {
    const MAX_TEXT_BLOCK_CHARS: usize = 800;
    let shown: String = text.trim_end().chars().take(MAX_TEXT_BLOCK_CHARS).collect();
    let more = if shown.len() < text.trim_end().len() { "…" } else { "" };
    let shown = format!("{shown}{more}");
    let mut rest = shown.lines();
    let first = heading.with_text(style, rest.next().unwrap_or_default()).with_hanging_indent(4);
    let rest = rest.map(|line| StyledLine::styled(style, format!("    {line}")).with_hanging_indent(4));
    ScrollbackBlock::Lines(std::iter::once(first).chain(rest).collect())
}

#[cfg(test)]
mod tests;
