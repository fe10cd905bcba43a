//! Reads keys on a thread of its own, and can be told to leave them to somebody else for a while.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Interval, MissedTickBehavior};

/// How long it takes at most until the thread notices that it should pause.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long it takes at most until somebody notices that the terminal is gone.
const LOOKS: Duration = Duration::from_millis(250);

/// The keys, as they come.
pub(crate) struct Input {
    events: UnboundedReceiver<Event>,
    paused: Arc<AtomicBool>,
    looks: Interval,
}

impl Input {
    /// Starts to read.
    pub(crate) fn start() -> std::io::Result<Input> {
        let (sender, events) = unbounded_channel();
        let paused = Arc::new(AtomicBool::new(false));
        let flag = paused.clone();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || read(&sender, &flag))?;
        let mut looks = tokio::time::interval(LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Ok(Input { events, paused, looks })
    }

    /// The next one; none if the terminal is gone. Whoever reads from such a terminal waits for ever, so it is looked at.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            tokio::select! {
                event = self.events.recv() => return event,
                _ = self.looks.tick() => {
                    if !std::io::stdin().is_terminal() {
                        return None;
                    }
                }
            }
        }
    }

    /// Leaves the keys to somebody else while `user` runs.
    pub(crate) fn lend<T>(&mut self, user: impl FnOnce() -> T) -> T {
        self.paused.store(true, Ordering::SeqCst);
        std::thread::sleep(PATIENCE * 2);
        let result = user();
        self.paused.store(false, Ordering::SeqCst);
        result
    }
}

/// Ends when nobody listens any more, or the terminal is gone.
fn read(sender: &UnboundedSender<Event>, paused: &AtomicBool) {
    while !sender.is_closed() {
        if paused.load(Ordering::SeqCst) {
            std::thread::sleep(PATIENCE);
            continue;
        }
        match event::poll(PATIENCE) {
            Ok(false) => {}
            Ok(true) => {
                let Ok(event) = event::read() else { return };
                if sender.send(event).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
