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
const MOST_EVENTS: usize = 1024;
const MOST_BYTES: usize = 4 << 20;
/// With this much unread, nothing waits until somebody reads it anyway.
const MUCH: usize = MOST_BYTES / 4;
/// With this much unread, pieces of text are joined: nobody sees them come one by one any more.
const MANY: usize = 64;
/// So much of a running tool's output waits to be read; what comes faster pushes out what came before.
const LIVE_OUTPUT: usize = 32 << 10;

/// How long a thread that has printed some text waits for more of it, to print that together.
const REST: Duration = Duration::from_millis(2);

/// Where events go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    sender: Arc<Sender>,
    /// The sub-agent that tells of things, and the call that it works for.
    within: Option<(Arc<SubAgent>, Arc<str>)>,
}

/// Where events come out.
#[derive(Debug)]
pub struct EventStream {
    queue: Arc<Queue>,
    /// Whether text was read since the last rest.
    has_text: bool,
}

#[derive(Debug)]
struct Sender(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    arrived: Notify,
    /// The same for a thread.
    came: Condvar,
    left: Notify,
}

/// Why there is no event.
enum Nothing {
    /// Others may come.
    Yet,
    /// There can be no more.
    Ever,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<AgentEvent>,
    bytes: usize,
    /// There will be no more.
    ended: bool,
    /// The reader is gone.
    unread: bool,
    /// What the reader need not be woken for.
    can_wait: Option<fn(&AgentEvent) -> bool>,
    thread: Thread,
}

/// What a thread does that reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    /// Something else, if there is one at all.
    #[default]
    Busy,
    /// It waits for any event.
    Waits,
    /// It waits for any event but text, for a moment.
    Rests,
}

impl Events {
    /// A pair: where events go, and where they come out.
    pub fn channel() -> (Events, EventStream) {
        let queue = Arc::new(Queue::default());
        (Events { sender: Arc::new(Sender(queue.clone())), within: None }, EventStream { queue, has_text: false })
    }

    /// The same way, for what a sub-agent tells of.
    pub(crate) fn within(&self, agent: &Arc<SubAgent>, call_id: &str) -> Events {
        Events { sender: self.sender.clone(), within: Some((agent.clone(), call_id.into())) }
    }

    /// Tells the front end; nobody listening is fine. Never waits: that is what [`Events::room`] is for.
    pub fn send(&self, event: AgentEvent) {
        let Some(event) = self.marked(event) else { return };
        let queue = &self.sender.0;
        let mut state = queue.lock();
        if state.unread || state.ended {
            return;
        }
        let waits = state.can_wait.is_some_and(|can_wait| can_wait(&event)) || state.is_awaited_text(&event);
        state.push(event);
        if !waits || state.events.len() >= MANY || state.bytes >= MUCH {
            queue.wake(state);
        }
    }

    /// Says at whose work it happened. Questions and hooks are everybody's; what a sub-agent's command prints while it runs
    /// nobody follows.
    fn marked(&self, event: AgentEvent) -> Option<AgentEvent> {
        let Some((agent, call_id)) = &self.within else { return Some(event) };
        match event {
            AgentEvent::ToolOutput { .. } => None,
            AgentEvent::Approval(..)
            | AgentEvent::GuardsChanged(..)
            | AgentEvent::Inquiry(..)
            | AgentEvent::HookStarted { .. }
            | AgentEvent::HookFinished { .. }
            | AgentEvent::HookMessage { .. }
            | AgentEvent::HookWarning { .. } => Some(event),
            event => {
                let (agent, call_id) = (agent.clone(), call_id.clone());
                Some(AgentEvent::Within { agent, call_id, event: Box::new(event) })
            }
        }
    }

    /// Whether a front end shows what a command prints while it runs; a sub-agent's it does not.
    pub(crate) fn are_followed(&self) -> bool {
        self.within.is_none()
    }

    /// There are no more events: what is sent from now on is dropped.
    pub fn close(&self) {
        self.sender.0.end();
    }

    /// Waits until the front end has caught up, or the turn is cancelled.
    pub async fn room(&self, cancel: &CancellationToken) {
        let queue = &self.sender.0;
        loop {
            let left = queue.left.notified();
            if queue.lock().has_room() {
                return;
            }
            tokio::select! {
                () = left => {}
                () = cancel.cancelled() => return,
            }
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl EventStream {
    /// Leaves such events where they are until another one comes, or many have: for who does nothing with them but count.
    /// Waking a reader takes longer than most of what is told of.
    pub fn let_wait(&mut self, can_wait: fn(&AgentEvent) -> bool) {
        self.queue.lock().can_wait = Some(can_wait);
    }

    /// The next event; none when there can be no more. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        let queue = self.queue.clone();
        loop {
            let arrived = queue.arrived.notified();
            match self.look() {
                Ok(event) => return Some(event),
                Err(Nothing::Ever) => return None,
                Err(Nothing::Yet) => arrived.await,
            }
        }
    }

    /// The next event, if it is there already.
    pub fn try_recv(&mut self) -> Option<AgentEvent> {
        self.look().ok()
    }

    /// One look says both what is there and whether more can come: between two, all of a session could go by unseen.
    fn look(&mut self) -> Result<AgentEvent, Nothing> {
        let mut state = self.queue.lock();
        let nothing = if state.ended { Nothing::Ever } else { Nothing::Yet };
        let event = state.pop().ok_or(nothing)?;
        drop(state);
        self.queue.left.notify_waiters();
        Ok(event)
    }

    /// The next event, for a thread that does nothing else; none when there can be no more. Text that comes fast is handed
    /// over a few times in a hundredth of a second, and not piece by piece: nobody reads faster, and waking a thread for each
    /// takes longer than the pieces do.
    pub fn wait(&mut self) -> Option<AgentEvent> {
        let mut state = self.queue.lock();
        if state.events.is_empty() && std::mem::take(&mut self.has_text) {
            state = self.queue.sleep(state, Thread::Rests);
        }
        let event = loop {
            match state.pop() {
                None if !state.ended => state = self.queue.sleep(state, Thread::Waits),
                next => break next,
            }
        };
        drop(state);
        self.queue.left.notify_waiters();
        self.has_text |= matches!(event, Some(AgentEvent::Text(_)));
        event
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        *state = State { unread: true, ..State::default() };
        drop(state);
        self.queue.left.notify_waiters();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something to read.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let slept = std::mem::take(&mut state.thread) != Thread::Busy;
        drop(state);
        self.arrived.notify_one();
        if slept {
            self.came.notify_one();
        }
    }

    fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        self.wake(state);
    }

    /// Puts the thread to sleep until it is woken; a rest ends by itself, too.
    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>, how: Thread) -> MutexGuard<'a, State> {
        if state.ended {
            return state;
        }
        state.thread = how;
        let sleeps = |state: &mut State| state.thread != Thread::Busy;
        if how == Thread::Waits {
            #[expect(clippy::disallowed_methods, reason = "a session may be silent for as long as its user is")]
            return self.came.wait_while(state, sleeps).unwrap_or_else(PoisonError::into_inner);
        }
        let mut state = self.came.wait_timeout_while(state, REST, sleeps).unwrap_or_else(PoisonError::into_inner).0;
        state.thread = Thread::Busy;
        state
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.unread || self.events.len() < MOST_EVENTS && self.bytes < MOST_BYTES
    }

    /// Whether it is more of the text that a thread gathers.
    fn is_awaited_text(&self, event: &AgentEvent) -> bool {
        self.thread == Thread::Rests && matches!(event, AgentEvent::Text(_))
    }

    fn push(&mut self, event: AgentEvent) {
        let weight = weight(&event);
        let can_wait = self.can_wait;
        // The hooks of a piece stand between it and the piece before.
        let is_between = |event: &AgentEvent| {
            let is_hooks = matches!(event, AgentEvent::HookStarted { .. } | AgentEvent::HookFinished { .. });
            is_hooks && can_wait.is_some_and(|can_wait| can_wait(event))
        };
        let last = match self.is_awaited_text(&event) {
            true => self.events.iter_mut().rev().find(|event| !is_between(event)),
            false if self.events.len() >= MANY => self.events.back_mut(),
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
                keep_end(text, more);
                self.bytes = self.bytes + text.len() - before;
            }
            None => {
                let mut text = String::new();
                keep_end(&mut text, more);
                self.bytes += text.len();
                self.events.push_back(AgentEvent::ToolOutput { call_id, text });
            }
        }
    }

    fn pop(&mut self) -> Option<AgentEvent> {
        let event = self.events.pop_front()?;
        self.bytes = self.bytes.saturating_sub(weight(&event));
        Some(event)
    }
}

/// Adds to a text of which only the end is of interest.
fn keep_end(text: &mut String, more: &str) {
    text.push_str(more);
    let mut cut = text.len().saturating_sub(LIVE_OUTPUT);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}

/// What an event holds on to, roughly: only what can be large counts.
fn weight(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text(text) | AgentEvent::Thought(text) | AgentEvent::ToolOutput { text, .. } => text.len(),
        AgentEvent::HookFinished { report, input } => report.stdout.text.len() + report.stderr.text.len() + input.len(),
        AgentEvent::ToolFinished(end) => end.content.len(),
        AgentEvent::Within { event, .. } => weight(event),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
