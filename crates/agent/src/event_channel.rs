//! The channel that carries events from the agent to the front end.
//!
//! Its size is limited for a slow front end: text is joined, live output keeps only its end, and producers of
//! many events wait for capacity with [`EventSender::wait_for_capacity`]. [`EventSender::send`] itself never
//! waits. The events are defined in `event.rs`.

mod observers;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_hooks::SubAgent;
use hookwright_model::Part;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::event::{AgentEvent, HookEvent, ModelEvent, QuestionEvent, ToolEvent};
use crate::question::{Answer, Question, QuestionId, QuestionSubject};
use crate::session::{SessionStatistics, SessionView};
use observers::ObserverSet;
pub use observers::SessionObserver;

/// From this number of unread events on, producers that wait for capacity are held up.
const MAX_UNREAD_EVENTS: usize = 1024;
const MAX_UNREAD_BYTES: usize = 4 << 20;
/// From this number of unread bytes on, coalesced events wake the reader too.
const MAX_COALESCED_BYTES: usize = MAX_UNREAD_BYTES / 4;
/// From this number of unread events on, adjacent pieces of text are joined, as the reader is behind anyway.
const TEXT_JOIN_THRESHOLD_EVENTS: usize = 64;
/// The maximum of unread live output per call; newer output replaces the oldest.
const MAX_LIVE_OUTPUT_BYTES: usize = 32 << 10;

/// How long a reader thread that has read text waits for more, so that it prints both together.
const COALESCE_INTERVAL: Duration = Duration::from_millis(2);

/// The sending half of the event channel, cheap to clone.
#[derive(Clone, Debug)]
pub struct EventSender {
    closer: Arc<EventQueueCloser>,
    /// The sub-agent that sends the events, and the identifier of its delegating call.
    subagent: Option<(Arc<SubAgent>, Arc<str>)>,
}

/// The receiving half of the event channel.
#[derive(Debug)]
pub struct EventStream {
    queue: Arc<EventQueue>,
    /// Whether text was read since the reader thread last waited for more of it.
    has_read_text: bool,
}

#[derive(Debug)]
struct EventQueueCloser(Arc<EventQueue>);

#[derive(Debug, Default)]
struct EventQueue {
    /// Locked before `state`, and during both, so that observers see events in the order of the queue.
    observers: Mutex<ObserverSet>,
    state: Mutex<EventQueueState>,
    arrived: Notify,
    /// The equivalent of `arrived` for a reader thread.
    thread_wakeup: Condvar,
    space_freed: Notify,
}

/// The reason why the queue has no event.
enum Empty {
    /// More events may arrive.
    ForNow,
    /// The channel is closed.
    Closed,
}

#[derive(Debug, Default)]
struct EventQueueState {
    events: VecDeque<QueuedEvent>,
    /// The sum of the events' bytes.
    bytes: usize,
    /// Whether the channel was closed by its senders.
    is_closed: bool,
    /// Whether the reader was dropped.
    reader_gone: bool,
    /// The predicate of events that do not wake the reader.
    is_coalesced: Option<fn(&AgentEvent) -> bool>,
    reader_thread: ReaderThread,
    last_question: u64,
    /// The questions that wait for an answer. They are dismissed when the channel closes or its reader is dropped.
    open_questions: BTreeMap<QuestionId, (QuestionSubject, oneshot::Sender<Answer>)>,
}

/// An event with its estimated size in memory.
#[derive(Debug)]
struct QueuedEvent {
    event: AgentEvent,
    bytes: usize,
}

/// A question that waits for its answer; dropping it withdraws the question.
struct OpenQuestion {
    id: QuestionId,
    answer: oneshot::Receiver<Answer>,
    queue: Arc<EventQueue>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.queue.lock().open_questions.remove(&self.id);
        self.queue.publish(QuestionEvent::Closed(self.id).into());
    }
}

/// The state of a thread that reads with [`EventStream::recv_blocking`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReaderThread {
    /// The thread does something else, or there is none.
    #[default]
    Busy,
    /// The thread waits for any event.
    Waiting,
    /// The thread waits for any event but text, for [`COALESCE_INTERVAL`].
    Coalescing,
}

impl EventSender {
    /// Creates a channel and returns both halves.
    pub fn channel() -> (EventSender, EventStream) {
        let queue = Arc::new(EventQueue::default());
        (
            EventSender { closer: Arc::new(EventQueueCloser(queue.clone())), subagent: None },
            EventStream { queue, has_read_text: false },
        )
    }

    /// Returns a sender into the same channel that marks its events as those of a sub-agent.
    pub(crate) fn for_subagent(&self, agent: &Arc<SubAgent>, call_id: &str) -> EventSender {
        EventSender { closer: self.closer.clone(), subagent: Some((agent.clone(), call_id.into())) }
    }

    /// Sends an event to the front end; without a reader the event is dropped.
    ///
    /// It never waits: callers that produce many events use [`EventSender::wait_for_capacity`].
    pub fn send(&self, event: impl Into<AgentEvent>) {
        if let Some(event) = self.tag_subagent(event.into()) {
            self.closer.0.publish(event);
        }
    }

    /// Adds the observers of the session, which see every later event, and returns their warnings.
    pub(crate) fn add_observers(&self, observers: Vec<Box<dyn SessionObserver>>, view: &SessionView) -> Vec<String> {
        let mut set = self.closer.0.lock_observers();
        set.observers.extend(observers);
        set.on_configuration(view);
        set.observers.iter_mut().flat_map(|observer| observer.begin(view)).collect()
    }

    /// Tells the observers that the configuration or the connection has changed.
    pub(crate) fn update_observers(&self, view: &SessionView) {
        self.closer.0.lock_observers().on_configuration(view);
    }

    /// Ends the observers, and returns their warnings. A second call has no effect.
    pub(crate) fn finish_observers(&self) -> Vec<String> {
        let observers = std::mem::take(&mut self.closer.0.lock_observers().observers);
        observers.into_iter().flat_map(|mut observer| observer.finish()).collect()
    }

    /// Returns the session's statistics.
    pub(crate) fn statistics(&self) -> SessionStatistics {
        self.closer.0.lock_observers().statistics.clone()
    }

    /// Wraps the event of a sub-agent's sender in [`AgentEvent::SubAgent`].
    ///
    /// Questions and hook events stay as they are. Live output of a sub-agent's
    /// commands is dropped, as no front end shows it.
    fn tag_subagent(&self, event: AgentEvent) -> Option<AgentEvent> {
        let Some((agent, call_id)) = &self.subagent else { return Some(event) };
        match event {
            AgentEvent::Tool(ToolEvent::Output { .. }) => None,
            AgentEvent::Question(_) | AgentEvent::Hook(_) => Some(event),
            event => {
                let (agent, call_id) = (agent.clone(), call_id.clone());
                Some(AgentEvent::SubAgent { agent, call_id, event: Box::new(event) })
            }
        }
    }

    /// Asks the user, and waits for the answer. Dropping the future withdraws the question.
    ///
    /// Without a reader, the question counts as dismissed.
    pub(crate) async fn ask(&self, subject: QuestionSubject) -> Answer {
        let Some(mut question) = self.open_question(subject) else { return Answer::Dismissed };
        (&mut question.answer).await.unwrap_or(Answer::Dismissed)
    }

    fn open_question(&self, subject: QuestionSubject) -> Option<OpenQuestion> {
        let queue = &self.closer.0;
        let mut state = queue.lock();
        if state.reader_gone || state.is_closed {
            return None;
        }
        state.last_question += 1;
        let id = QuestionId(state.last_question);
        let (reply, answer) = oneshot::channel();
        state.open_questions.insert(id, (subject.clone(), reply));
        drop(state);
        queue.publish(QuestionEvent::Asked(Question { id, subject }).into());
        Some(OpenQuestion { id, answer, queue: queue.clone() })
    }

    /// Answers a question, and returns whether it was still open.
    pub fn answer(&self, id: QuestionId, answer: Answer) -> bool {
        let reply = self.closer.0.lock().open_questions.remove(&id);
        reply.is_some_and(|(_, reply)| reply.send(answer).is_ok())
    }

    /// Returns the questions that wait for an answer, in the order in which they were asked.
    pub(crate) fn open_questions(&self) -> Vec<Question> {
        let state = self.closer.0.lock();
        let question =
            |(id, (subject, _)): (&QuestionId, &(QuestionSubject, _))| Question { id: *id, subject: subject.clone() };
        state.open_questions.iter().map(question).collect()
    }

    /// Returns whether a front end shows live output of commands; it does not for a sub-agent.
    pub(crate) fn has_live_viewer(&self) -> bool {
        self.subagent.is_none()
    }

    /// Closes the channel: events that are sent later are dropped.
    pub fn close(&self) {
        self.closer.0.close();
    }

    /// Waits until the front end has caught up, or the token is cancelled.
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
    /// Lets events that match the predicate wait until another event arrives or many are queued.
    ///
    /// It is meant for a front end that only counts such events: waking a reader takes longer than most of them.
    pub fn set_coalesced(&mut self, can_wait: fn(&AgentEvent) -> bool) {
        self.queue.lock().is_coalesced = Some(can_wait);
    }

    /// Returns the session's statistics, which count the queued events too.
    pub fn statistics(&self) -> SessionStatistics {
        self.queue.lock_observers().statistics.clone()
    }

    /// Receives the next event, `None` when the channel is closed and empty.
    ///
    /// It is cancel-safe: dropping the future loses no event.
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

    /// Returns the next event if one is queued.
    pub fn try_recv(&mut self) -> Option<AgentEvent> {
        self.poll_queue().ok()
    }

    /// Takes the next event, or says why there is none.
    ///
    /// Both are read under one lock: between two locks, all of a session could pass unseen.
    fn poll_queue(&mut self) -> Result<AgentEvent, Empty> {
        let mut state = self.queue.lock();
        let nothing = if state.is_closed { Empty::Closed } else { Empty::ForNow };
        let event = state.pop().ok_or(nothing)?;
        drop(state);
        self.queue.space_freed.notify_waiters();
        Ok(event)
    }

    /// Receives the next event on a dedicated thread, `None` when the channel is closed and empty.
    ///
    /// Text that arrives fast is delivered a few times in ten milliseconds and not piece by piece, because waking the
    /// thread for each piece takes longer than to handle it.
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
        self.has_read_text |= matches!(event, Some(AgentEvent::Model(ModelEvent::Text(_))));
        event
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        *state = EventQueueState { reader_gone: true, is_closed: state.is_closed, ..EventQueueState::default() };
        drop(state);
        self.queue.space_freed.notify_waiters();
    }
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, EventQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_observers(&self) -> MutexGuard<'_, ObserverSet> {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows an event to the observers, and queues it for the reader, if there is one.
    fn publish(&self, event: AgentEvent) {
        let mut observers = self.lock_observers();
        if self.lock().is_closed {
            return;
        }
        observers.on_event(&event);
        let mut state = self.lock();
        drop(observers);
        if state.reader_gone || state.is_closed {
            return;
        }
        let waits = state.is_coalesced.is_some_and(|can_wait| can_wait(&event)) || state.is_coalescing_text(&event);
        state.push(event);
        if !waits || state.events.len() >= TEXT_JOIN_THRESHOLD_EVENTS || state.bytes >= MAX_COALESCED_BYTES {
            self.wake_reader(state);
        }
    }

    /// Wakes the reader, in whichever way it waits.
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
        state.open_questions.clear();
        self.wake_reader(state);
    }

    /// Puts the reader thread to sleep until it is woken, or in
    /// [`ReaderThread::Coalescing`] until the interval is over.
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

    /// Returns whether the event is more of the text that the reader thread waits to coalesce.
    fn is_coalescing_text(&self, event: &AgentEvent) -> bool {
        self.reader_thread == ReaderThread::Coalescing && matches!(event, AgentEvent::Model(ModelEvent::Text(_)))
    }

    fn push(&mut self, event: AgentEvent) {
        let can_wait = self.is_coalesced;
        // The hook events of a piece of text stand between it and the piece before.
        let is_between = |event: &AgentEvent| {
            let is_silent_hook = matches!(
                event,
                AgentEvent::Hook(HookEvent::Started { .. } | HookEvent::Finished { .. } | HookEvent::Decided(_))
            );
            is_silent_hook && can_wait.is_some_and(|can_wait| can_wait(event))
        };
        let last = match self.is_coalescing_text(&event) {
            true => self.events.iter_mut().rev().find(|queued| !is_between(&queued.event)),
            false if self.events.len() >= TEXT_JOIN_THRESHOLD_EVENTS => self.events.back_mut(),
            false => None,
        };
        match (event, last) {
            (
                AgentEvent::Model(ModelEvent::Text(more)),
                Some(QueuedEvent { event: AgentEvent::Model(ModelEvent::Text(text)), bytes }),
            )
            | (
                AgentEvent::Model(ModelEvent::Thought(more)),
                Some(QueuedEvent { event: AgentEvent::Model(ModelEvent::Thought(text)), bytes }),
            ) => {
                text.push_str(&more);
                *bytes += more.len();
                self.bytes += more.len();
            }
            (AgentEvent::Tool(ToolEvent::Output { call_id, text }), _) => self.push_output(call_id, &text),
            (event, _) => {
                let bytes = event_bytes(&event);
                self.bytes += bytes;
                self.events.push_back(QueuedEvent { event, bytes });
            }
        }
    }

    /// Adds live output to the queued event of its call, so that each call has at most one.
    fn push_output(&mut self, call_id: String, more: &str) {
        let waiting = self.events.iter_mut().rev().find_map(|queued| match &mut queued.event {
            AgentEvent::Tool(ToolEvent::Output { call_id: id, text }) if *id == call_id => {
                Some((text, &mut queued.bytes))
            }
            _ => None,
        });
        match waiting {
            Some((text, bytes)) => {
                append_keeping_end(text, more);
                self.bytes = self.bytes - *bytes + text.len();
                *bytes = text.len();
            }
            None => {
                let mut text = String::new();
                append_keeping_end(&mut text, more);
                let bytes = text.len();
                self.bytes += bytes;
                let event = ToolEvent::Output { call_id, text }.into();
                self.events.push_back(QueuedEvent { event, bytes });
            }
        }
    }

    fn pop(&mut self) -> Option<AgentEvent> {
        let queued = self.events.pop_front()?;
        self.bytes -= queued.bytes;
        Some(queued.event)
    }
}

/// Appends to a text and keeps only its last [`MAX_LIVE_OUTPUT_BYTES`].
fn append_keeping_end(text: &mut String, more: &str) {
    text.push_str(more);
    let mut cut = text.len().saturating_sub(MAX_LIVE_OUTPUT_BYTES);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}

/// Estimates the memory of an event. Most events are small, and count with the length of their JSON.
fn event_bytes(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Model(ModelEvent::Text(text) | ModelEvent::Thought(text)) => text.len(),
        AgentEvent::Model(ModelEvent::Requested { request, .. }) => {
            request.contents.iter().flat_map(|content| &content.parts).map(Part::memory_bytes).sum()
        }
        AgentEvent::Model(ModelEvent::Answered { response, .. }) => response.memory_bytes(),
        AgentEvent::Hook(HookEvent::Started { hook, .. }) => hook.len(),
        AgentEvent::Hook(HookEvent::Finished { report, input }) => {
            report.stdout.text.len() + report.stderr.text.len() + input.len()
        }
        AgentEvent::SubAgent { event, .. } => event_bytes(event),
        event => {
            let mut length = ByteCounter(0);
            // What cannot be serialised counts as far as it was.
            let _ = serde_json::to_writer(&mut length, event);
            length.0
        }
    }
}

/// Counts the bytes that are written to it.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
