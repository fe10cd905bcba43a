//! The way of events from agent to front end, bounded whatever the front end does: text is joined, live output keeps only
//! its end, and whoever makes many events waits until there is room. What the events are is `event.rs`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_hooks::SubAgent;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;

/// With this much unread, whoever makes more events waits.
const MAX_UNREAD_EVENTS: usize = 1024;
const MAX_UNREAD_BYTES: usize = 4 << 20;
/// With this much unread, nothing waits until somebody reads it anyway.
const MAX_COALESCED_BYTES: usize = MAX_UNREAD_BYTES / 4;
/// With this much unread, pieces of text are joined: nobody sees them come one by one any more.
const TEXT_JOIN_THRESHOLD_EVENTS: usize = 64;
/// So much of a running tool's output waits to be read; what comes faster pushes out what came before.
const MAX_LIVE_OUTPUT_BYTES: usize = 32 << 10;

/// How long a thread that has printed some text waits for more of it, to print that together.
const COALESCE_INTERVAL: Duration = Duration::from_millis(2);

/// Where events go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventSender {
    closer: Arc<EventQueueCloser>,
    /// The sub-agent that tells of things, and the call that it works for.
    subagent: Option<(Arc<SubAgent>, Arc<str>)>,
}

/// Where events come out.
#[derive(Debug)]
pub struct EventStream {
    queue: Arc<EventQueue>,
    /// Whether text was read since the last rest.
    has_read_text: bool,
}

#[derive(Debug)]
struct EventQueueCloser(Arc<EventQueue>);

#[derive(Debug, Default)]
struct EventQueue {
    state: Mutex<EventQueueState>,
    arrived: Notify,
    /// The same for a thread.
    thread_wakeup: Condvar,
    space_freed: Notify,
}

/// Why there is no event.
enum Empty {
    /// Others may come.
    ForNow,
    /// There can be no more.
    Closed,
}

#[derive(Debug, Default)]
struct EventQueueState {
    events: VecDeque<AgentEvent>,
    bytes: usize,
    /// There will be no more.
    is_closed: bool,
    /// The reader is gone.
    reader_gone: bool,
    /// What the reader need not be woken for.
    is_coalesced: Option<fn(&AgentEvent) -> bool>,
    reader_thread: ReaderThread,
}

/// What a thread does that reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReaderThread {
    /// Something else, if there is one at all.
    #[default]
    Busy,
    /// It waits for any event.
    Waiting,
    /// It waits for any event but text, for a moment.
    Coalescing,
}

impl EventSender {
    /// A pair: where events go, and where they come out.
    pub fn channel() -> (EventSender, EventStream) {
        let queue = Arc::new(EventQueue::default());
        (
            EventSender { closer: Arc::new(EventQueueCloser(queue.clone())), subagent: None },
            EventStream { queue, has_read_text: false },
        )
    }

    /// The same way, for what a sub-agent tells of.
    pub(crate) fn for_subagent(&self, agent: &Arc<SubAgent>, call_id: &str) -> EventSender {
        EventSender { closer: self.closer.clone(), subagent: Some((agent.clone(), call_id.into())) }
    }

    /// Tells the front end; nobody listening is fine. Never waits: that is what [`EventSender::wait_for_capacity`] is for.
    pub fn send(&self, event: AgentEvent) {
        let Some(event) = self.tag_subagent(event) else { return };
        let queue = &self.closer.0;
        let mut state = queue.lock();
        if state.reader_gone || state.is_closed {
            return;
        }
        let waits = state.is_coalesced.is_some_and(|can_wait| can_wait(&event)) || state.is_coalescing_text(&event);
        state.push(event);
        if !waits || state.events.len() >= TEXT_JOIN_THRESHOLD_EVENTS || state.bytes >= MAX_COALESCED_BYTES {
            queue.wake_reader(state);
        }
    }

    /// Says at whose work it happened. Questions and hooks are everybody's; what a sub-agent's command prints while it runs
    /// nobody follows.
    fn tag_subagent(&self, event: AgentEvent) -> Option<AgentEvent> {
        let Some((agent, call_id)) = &self.subagent else { return Some(event) };
        match event {
            AgentEvent::ToolOutput { .. } => None,
            AgentEvent::ApprovalRequested(..)
            | AgentEvent::GuardsChanged(..)
            | AgentEvent::UserQuestion(..)
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookFinished { .. }
            | AgentEvent::HookMessage { .. }
            | AgentEvent::HookWarning { .. } => Some(event),
            event => {
                let (agent, call_id) = (agent.clone(), call_id.clone());
                Some(AgentEvent::SubAgent { agent, call_id, event: Box::new(event) })
            }
        }
    }

    /// Whether a front end shows what a command prints while it runs; a sub-agent's it does not.
    pub(crate) fn has_live_viewer(&self) -> bool {
        self.subagent.is_none()
    }

    /// There are no more events: what is sent from now on is dropped.
    pub fn close(&self) {
        self.closer.0.close();
    }

    /// Waits until the front end has caught up, or the turn is cancelled.
    pub async fn wait_for_capacity(&self, cancel: &CancellationToken) {
        let queue = &self.closer.0;
        loop {
            let left = queue.space_freed.notified();
            if queue.lock().has_capacity() {
                return;
            }
            tokio::select! {
                () = left => {}
                () = cancel.cancelled() => return,
            }
        }
    }
}

impl Drop for EventQueueCloser {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl EventStream {
    /// Leaves such events where they are until another one comes, or many have: for who does nothing with them but count.
    /// Waking a reader takes longer than most of what is told of.
    pub fn set_coalesced(&mut self, can_wait: fn(&AgentEvent) -> bool) {
        self.queue.lock().is_coalesced = Some(can_wait);
    }

    /// The next event; none when there can be no more. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        let queue = self.queue.clone();
        loop {
            let arrived = queue.arrived.notified();
            match self.poll_queue() {
                Ok(event) => return Some(event),
                Err(Empty::Closed) => return None,
                Err(Empty::ForNow) => arrived.await,
            }
        }
    }

    /// The next event, if it is there already.
    pub fn try_recv(&mut self) -> Option<AgentEvent> {
        self.poll_queue().ok()
    }

    /// One look says both what is there and whether more can come: between two, all of a session could go by unseen.
    fn poll_queue(&mut self) -> Result<AgentEvent, Empty> {
        let mut state = self.queue.lock();
        let nothing = if state.is_closed { Empty::Closed } else { Empty::ForNow };
        let event = state.pop().ok_or(nothing)?;
        drop(state);
        self.queue.space_freed.notify_waiters();
        Ok(event)
    }

    /// The next event, for a thread that does nothing else; none when there can be no more. Text that comes fast is handed
    /// over a few times in a hundredth of a second, and not piece by piece: nobody reads faster, and waking a thread for each
    /// takes longer than the pieces do.
    pub fn recv_blocking(&mut self) -> Option<AgentEvent> {
        let mut state = self.queue.lock();
        if state.events.is_empty() && std::mem::take(&mut self.has_read_text) {
            state = self.queue.wait_for_wakeup(state, ReaderThread::Coalescing);
        }
        let event = loop {
            match state.pop() {
                None if !state.is_closed => state = self.queue.wait_for_wakeup(state, ReaderThread::Waiting),
                next => break next,
            }
        };
        drop(state);
        self.queue.space_freed.notify_waiters();
        self.has_read_text |= matches!(event, Some(AgentEvent::Text(_)));
        event
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        *state = EventQueueState { reader_gone: true, ..EventQueueState::default() };
        drop(state);
        self.queue.space_freed.notify_waiters();
    }
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, EventQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something to read.
    fn wake_reader(&self, mut state: MutexGuard<'_, EventQueueState>) {
        let slept = std::mem::take(&mut state.reader_thread) != ReaderThread::Busy;
        drop(state);
        self.arrived.notify_one();
        if slept {
            self.thread_wakeup.notify_one();
        }
    }

    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.wake_reader(state);
    }

    /// Puts the thread to sleep until it is woken; a rest ends by itself, too.
    fn wait_for_wakeup<'a>(
        &self,
        mut state: MutexGuard<'a, EventQueueState>,
        how: ReaderThread,
    ) -> MutexGuard<'a, EventQueueState> {
        if state.is_closed {
            return state;
        }
        state.reader_thread = how;
        let sleeps = |state: &mut EventQueueState| state.reader_thread != ReaderThread::Busy;
        if how == ReaderThread::Waiting {
            #[expect(clippy::disallowed_methods, reason = "a session may be silent for as long as its user is")]
            return self.thread_wakeup.wait_while(state, sleeps).unwrap_or_else(PoisonError::into_inner);
        }
        let mut state = self
            .thread_wakeup
            .wait_timeout_while(state, COALESCE_INTERVAL, sleeps)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        state.reader_thread = ReaderThread::Busy;
        state
    }
}

impl EventQueueState {
    fn has_capacity(&self) -> bool {
        self.reader_gone || self.events.len() < MAX_UNREAD_EVENTS && self.bytes < MAX_UNREAD_BYTES
    }

    /// Whether it is more of the text that a thread gathers.
    fn is_coalescing_text(&self, event: &AgentEvent) -> bool {
        self.reader_thread == ReaderThread::Coalescing && matches!(event, AgentEvent::Text(_))
    }

    fn push(&mut self, event: AgentEvent) {
        let weight = event_bytes(&event);
        let can_wait = self.is_coalesced;
        // The hooks of a piece stand between it and the piece before.
        let is_between = |event: &AgentEvent| {
            let is_hooks = matches!(event, AgentEvent::HookStarted { .. } | AgentEvent::HookFinished { .. });
            is_hooks && can_wait.is_some_and(|can_wait| can_wait(event))
        };
        let last = match self.is_coalescing_text(&event) {
            true => self.events.iter_mut().rev().find(|event| !is_between(event)),
            false if self.events.len() >= TEXT_JOIN_THRESHOLD_EVENTS => self.events.back_mut(),
            false => None,
        };
        match (event, last) {
            (AgentEvent::Text(more), Some(AgentEvent::Text(text)))
            | (AgentEvent::Thought(more), Some(AgentEvent::Thought(text))) => text.push_str(&more),
            (AgentEvent::ToolOutput { call_id, text }, _) => return self.push_output(call_id, &text),
            (event, _) => self.events.push_back(event),
        }
        self.bytes += weight;
    }

    /// Live output waits in one place per call, however much there is of it.
    fn push_output(&mut self, call_id: String, more: &str) {
        let waiting = self.events.iter_mut().rev().find_map(|event| match event {
            AgentEvent::ToolOutput { call_id: id, text } if *id == call_id => Some(text),
            _ => None,
        });
        match waiting {
            Some(text) => {
                let before = text.len();
                append_keeping_end(text, more);
                self.bytes = self.bytes + text.len() - before;
            }
            None => {
                let mut text = String::new();
                append_keeping_end(&mut text, more);
                self.bytes += text.len();
                self.events.push_back(AgentEvent::ToolOutput { call_id, text });
            }
        }
    }

    fn pop(&mut self) -> Option<AgentEvent> {
        let event = self.events.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event_bytes(&event));
        Some(event)
    }
}

/// Adds to a text of which only the end is of interest.
fn append_keeping_end(text: &mut String, more: &str) {
    text.push_str(more);
    let mut cut = text.len().saturating_sub(MAX_LIVE_OUTPUT_BYTES);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}

/// What an event holds on to, roughly: only what can be large counts.
fn event_bytes(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text(text) | AgentEvent::Thought(text) | AgentEvent::ToolOutput { text, .. } => text.len(),
        AgentEvent::HookFinished { report, input } => report.stdout.text.len() + report.stderr.text.len() + input.len(),
        AgentEvent::ToolFinished(end) => end.content.len(),
        AgentEvent::SubAgent { event, .. } => event_bytes(event),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
