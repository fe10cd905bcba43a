//! Reads keys on a thread of its own, and can be told to leave them to somebody else for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long it takes at most until the thread notices that it should pause.
const PATIENCE: Duration = Duration::from_millis(50);

/// The keys, as they come.
pub(crate) struct Input {
    pub(crate) events: UnboundedReceiver<Event>,
    paused: Arc<AtomicBool>,
}

impl Input {
    /// Starts to read.
    pub(crate) fn start() -> std::io::Result<Input> {
        let (sender, events) = unbounded_channel();
        let paused = Arc::new(AtomicBool::new(false));
        let flag = paused.clone();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || read(&sender, &flag))?;
        Ok(Input { events, paused })
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
