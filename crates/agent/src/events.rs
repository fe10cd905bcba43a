//! The way of events from agent to front end, bounded whatever the front end does: text is joined, live output keeps only
//! its end, and whoever makes many events waits until there is room. What the events are is `event.rs`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_hooks::SubAgent;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;

/// With this much unread, whoever makes more events waits.
const MOST_EVENTS: usize = 1024;
const MOST_BYTES: usize = 4 << 20;
/// With this much unread, pieces of text are joined: nobody sees them come one by one any more.
const MANY: usize = 64;
/// So much of a running tool's output waits to be read; what comes faster pushes out what came before.
const LIVE_OUTPUT: usize = 32 << 10;

/// Where events go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    sender: Arc<Sender>,
    /// The sub-agent that tells of things, and the call that it works for.
    within: Option<(Arc<SubAgent>, Arc<str>)>,
}

/// Where events come out.
#[derive(Debug)]
pub struct EventStream(Arc<Queue>);

#[derive(Debug)]
struct Sender(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    arrived: Notify,
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
}

impl Events {
    /// A pair: where events go, and where they come out.
    pub fn channel() -> (Events, EventStream) {
        let queue = Arc::new(Queue::default());
        (Events { sender: Arc::new(Sender(queue.clone())), within: None }, EventStream(queue))
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
        let waits = state.can_wait.is_some_and(|can_wait| can_wait(&event));
        state.push(event);
        let wakes = !waits || state.events.len() >= MANY || state.bytes >= LIVE_OUTPUT;
        drop(state);
        if wakes {
            queue.arrived.notify_one();
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
        self.sender.0.lock().ended = true;
        self.sender.0.arrived.notify_one();
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
        self.0.lock().ended = true;
        self.0.arrived.notify_one();
    }
}

impl EventStream {
    /// Leaves such events where they are until another one comes, or many have: for who does nothing with them but count.
    /// Waking a reader takes longer than most of what is told of.
    pub fn let_wait(&mut self, can_wait: fn(&AgentEvent) -> bool) {
        self.0.lock().can_wait = Some(can_wait);
    }

    /// The next event; none when there can be no more. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        let queue = self.0.clone();
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
        let mut state = self.0.lock();
        let nothing = if state.ended { Nothing::Ever } else { Nothing::Yet };
        let event = state.pop().ok_or(nothing)?;
        drop(state);
        self.0.left.notify_waiters();
        Ok(event)
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *state = State { unread: true, ..State::default() };
        drop(state);
        self.0.left.notify_waiters();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.unread || self.events.len() < MOST_EVENTS && self.bytes < MOST_BYTES
    }

    fn push(&mut self, event: AgentEvent) {
        let weight = weight(&event);
        let many = self.events.len() >= MANY;
        match (event, self.events.back_mut().filter(|_| many)) {
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
mod tests {
    use super::*;

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text(text.to_owned())
    }

    fn output(call: &str, text: &str) -> AgentEvent {
        AgentEvent::ToolOutput { call_id: call.to_owned(), text: text.to_owned() }
    }

    /// However the reader and the end fall together.
    #[test]
    fn nothing_is_lost_to_a_reader_who_comes_late() {
        const ROUNDS: usize = 20_000;
        let (give, given) = std::sync::mpsc::sync_channel::<Events>(0);
        let writer = std::thread::spawn(move || {
            for events in given {
                events.send(text("a"));
                events.close();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for round in 0..ROUNDS {
            let (events, mut stream) = Events::channel();
            give.send(events).unwrap();
            (0..round % 64).for_each(|_| std::hint::spin_loop());
            let read = runtime.block_on(stream.recv());
            assert!(matches!(read, Some(AgentEvent::Text(_))), "{round}: {read:?}");
        }
        drop(give);
        writer.join().unwrap();
    }

    #[tokio::test]
    async fn what_can_wait_is_read_with_the_next_that_can_not_or_when_there_is_much_of_it() {
        let asleep = |stream: &mut EventStream| {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let arrived = stream.0.arrived.notified();
            std::pin::pin!(arrived).poll(&mut context).is_pending()
        };
        let (events, mut stream) = Events::channel();
        stream.let_wait(|event| matches!(event, AgentEvent::Note(_)));
        events.send(AgentEvent::Note("a".into()));
        assert!(asleep(&mut stream));
        events.send(text("b"));
        assert!(!asleep(&mut stream));
        assert!(matches!(stream.recv().await, Some(AgentEvent::Note(_))), "order is kept");
        assert!(matches!(stream.recv().await, Some(AgentEvent::Text(_))));
        (1..MANY).for_each(|_| events.send(AgentEvent::Note("more".into())));
        assert!(asleep(&mut stream));
        events.send(AgentEvent::Note("enough".into()));
        assert!(!asleep(&mut stream));
        (0..MANY).for_each(|_| drop(stream.try_recv()));
        events.send(AgentEvent::Note("last".into()));
        assert!(asleep(&mut stream));
        drop(events);
        assert!(!asleep(&mut stream), "the end wakes");
        assert!(matches!(stream.recv().await, Some(AgentEvent::Note(_))) && stream.recv().await.is_none());
    }

    #[tokio::test]
    async fn text_is_joined_where_much_waits_and_order_is_kept() {
        let (events, mut stream) = Events::channel();
        let pieces = || [text("a"), text("b"), AgentEvent::Note("n".into()), text("c")];
        pieces().into_iter().for_each(|event| events.send(event));
        (0..MANY).for_each(|_| events.send(AgentEvent::Note("more".into())));
        pieces().into_iter().for_each(|event| events.send(event));
        drop(events);
        let mut seen = Vec::new();
        while let Some(event) = stream.recv().await {
            seen.push(format!("{event:?}"));
        }
        assert_eq!(seen[..4], [r#"Text("a")"#, r#"Text("b")"#, r#"Note("n")"#, r#"Text("c")"#]);
        assert_eq!(seen[4 + MANY..], [r#"Text("ab")"#, r#"Note("n")"#, r#"Text("c")"#]);
    }

    #[tokio::test]
    async fn a_flood_of_output_keeps_its_end_for_every_call() {
        let (events, mut stream) = Events::channel();
        for at in 0..100_000 {
            events.send(output(if at % 2 == 0 { "even" } else { "odd" }, &format!("line {at} é\n")));
        }
        events.send(AgentEvent::Note("later".into()));
        let mut kept = Vec::new();
        while let Some(AgentEvent::ToolOutput { call_id, text }) = stream.try_recv() {
            assert!(text.len() <= LIVE_OUTPUT);
            kept.push((call_id, text));
        }
        assert_eq!(kept.len(), 2);
        assert!(kept[0].1.ends_with("line 99998 é\n") && kept[1].1.ends_with("line 99999 é\n"));
        assert_eq!(stream.0.lock().bytes, 0);
    }

    #[tokio::test]
    async fn who_makes_many_events_waits_for_the_reader() {
        let (events, mut stream) = Events::channel();
        let cancel = CancellationToken::new();
        events.send(text(&"x".repeat(MOST_BYTES)));
        let sender = tokio::spawn({
            let cancel = cancel.clone();
            async move {
                events.room(&cancel).await;
                events.send(AgentEvent::Note("there was room".into()));
            }
        });
        tokio::task::yield_now().await;
        assert!(!sender.is_finished());
        assert!(matches!(stream.recv().await, Some(AgentEvent::Text(_))));
        assert!(matches!(stream.recv().await, Some(AgentEvent::Note(_))));
        assert!(stream.recv().await.is_none());
    }

    #[tokio::test]
    async fn neither_a_cancel_nor_a_reader_that_is_gone_leaves_anybody_waiting() {
        let (events, stream) = Events::channel();
        let cancel = CancellationToken::new();
        (0..MOST_EVENTS).for_each(|at| events.send(AgentEvent::Note(at.to_string())));
        cancel.cancel();
        events.room(&cancel).await;
        drop(stream);
        events.room(&CancellationToken::new()).await;
        events.send(text("unread"));
        assert!(events.sender.0.lock().events.is_empty());
    }
}
