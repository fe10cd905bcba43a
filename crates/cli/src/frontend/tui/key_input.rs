//! Reads keys on a thread of its own, which can be paused while another program reads them.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Interval, MissedTickBehavior};

/// How long the thread waits for a key before it checks whether it should pause.
const KEY_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the thread may take to pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often it is checked whether the terminal is gone.
const TERMINAL_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long Ctrl-C may wait for the driver before it is raised as a signal.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(2);

/// The stream of keys and other terminal events.
pub(crate) struct KeyInput {
    events: UnboundedReceiver<Event>,
    /// The number of events that the driver has taken.
    taken_count: Arc<AtomicUsize>,
    pause: Arc<KeyReaderPause>,
    terminal_checks: Interval,
}

impl KeyInput {
    /// Starts the thread that reads keys.
    pub(crate) fn start() -> io::Result<KeyInput> {
        KeyInput::start_with(|| Ok(if event::poll(KEY_POLL_INTERVAL)? { Some(event::read()?) } else { None }))
    }

    /// Starts to read from `poll`, which waits for a limited time.
    fn start_with(poll: impl FnMut() -> io::Result<Option<Event>> + Send + 'static) -> io::Result<KeyInput> {
        let (sender, events) = unbounded_channel();
        let pause = Arc::new(KeyReaderPause::default());
        let taken = Arc::new(AtomicUsize::new(0));
        let (shared, shared_count) = (pause.clone(), taken.clone());
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            read_keys(&sender, &shared, &shared_count, poll);
            shared.set(KeyReaderState::Ended);
        })?;
        let mut looks = tokio::time::interval(TERMINAL_CHECK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Ok(KeyInput { events, taken_count: taken, pause, terminal_checks: looks })
    }

    /// Returns the next event, or none if the terminal is gone.
    ///
    /// Reading from such a terminal blocks for ever, so the terminal is checked at intervals.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            tokio::select! {
                event = self.events.recv() => {
                    self.taken_count.fetch_add(1, Ordering::SeqCst);
                    return event;
                }
                _ = self.terminal_checks.tick() => {
                    if !std::io::stdin().is_terminal() {
                        return None;
                    }
                }
            }
        }
    }

    /// Runs `user` while the thread does not read keys, so that another program can.
    ///
    /// # Errors
    /// If the thread does not stop within [`PAUSE_TIMEOUT`]: `user` has not run then, since both would read the same
    /// keys.
    pub(crate) fn lend<T>(&mut self, user: impl FnOnce() -> T) -> io::Result<T> {
        let paused = self.pause.request()?;
        let result = user();
        drop(paused);
        Ok(result)
    }
}

/// The state of the key-reading thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KeyReaderState {
    #[default]
    Reading,
    PauseRequested,
    Paused,
    Ended,
}

/// The handshake between the key-reading thread and the one that pauses it.
#[derive(Default)]
struct KeyReaderPause {
    reader: Mutex<KeyReaderState>,
    changed: Condvar,
}

/// Keeps the thread paused until it is dropped.
struct PausedKeyReader<'a>(&'a KeyReaderPause);

impl Drop for PausedKeyReader<'_> {
    fn drop(&mut self) {
        self.0.set(KeyReaderState::Reading);
    }
}

impl KeyReaderPause {
    fn lock(&self) -> MutexGuard<'_, KeyReaderState> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state; a thread that has ended stays ended.
    fn set(&self, state: KeyReaderState) {
        let mut reader = self.lock();
        if *reader != KeyReaderState::Ended {
            *reader = state;
        }
        self.changed.notify_all();
    }

    /// Asks the thread to pause, and waits until it has.
    fn request(&self) -> io::Result<PausedKeyReader<'_>> {
        self.set(KeyReaderState::PauseRequested);
        let paused = PausedKeyReader(self);
        let waiting = self
            .changed
            .wait_timeout_while(self.lock(), PAUSE_TIMEOUT, |reader| *reader == KeyReaderState::PauseRequested);
        let (reader, waited) = waiting.unwrap_or_else(PoisonError::into_inner);
        drop(reader);
        if waited.timed_out() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the keyboard is still being read"));
        }
        Ok(paused)
    }

    /// Pauses if that is requested, until the thread may read again.
    fn wait_if_requested(&self) {
        let mut reader = self.lock();
        if *reader == KeyReaderState::PauseRequested {
            *reader = KeyReaderState::Paused;
            self.changed.notify_all();
        }
        #[expect(clippy::disallowed_methods, reason = "an editor may run for as long as the user wants")]
        let resumed = self.changed.wait_while(reader, |reader| *reader == KeyReaderState::Paused);
        drop(resumed.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Reads keys until the receiver is dropped or the terminal is gone.
fn read_keys(
    sender: &UnboundedSender<Event>,
    pause: &KeyReaderPause,
    taken: &AtomicUsize,
    mut poll: impl FnMut() -> io::Result<Option<Event>>,
) {
    let mut interrupts = PendingInterrupts::default();
    while !sender.is_closed() {
        if interrupts.is_overdue(taken.load(Ordering::SeqCst), Instant::now()) {
            raise_interrupt();
        }
        pause.wait_if_requested();
        match poll() {
            Ok(None) => {}
            Ok(Some(event)) => {
                interrupts.record(&event, Instant::now());
                if sender.send(event).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Presses of Ctrl-C that the driver has not taken.
///
/// A press that waits too long is raised as a signal: the driver is stuck, and the second signal ends the program.
#[derive(Default)]
struct PendingInterrupts {
    /// The number of events so far.
    events: usize,
    /// The numbers of the events that were Ctrl-C, and their times.
    pressed: VecDeque<(usize, Instant)>,
}

impl PendingInterrupts {
    /// Records an event that is passed on.
    fn record(&mut self, event: &Event, now: Instant) {
        self.events += 1;
        let is_interrupt = matches!(event, Event::Key(key) if key.code == KeyCode::Char('c')
            && key.modifiers == KeyModifiers::CONTROL
            && key.kind == KeyEventKind::Press);
        if is_interrupt {
            self.pressed.push_back((self.events, now));
        }
    }

    /// Returns whether the first press that was not taken has waited too long; each press counts once.
    fn is_overdue(&mut self, taken: usize, now: Instant) -> bool {
        while self.pressed.pop_front_if(|(event, _)| *event <= taken).is_some() {}
        self.pressed.pop_front_if(|(_, since)| now.duration_since(*since) >= INTERRUPT_TIMEOUT).is_some()
    }
}

#[cfg(unix)]
fn raise_interrupt() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
}

/// Does nothing: this platform has no such signal.
#[cfg(not(unix))]
fn raise_interrupt() {}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;
    use std::sync::mpsc;

    #[tokio::test]
    async fn the_keys_are_lent_only_after_the_thread_has_stopped_reading() {
        let polls = Arc::new(AtomicUsize::new(0));
        let (reading, is_reading) = mpsc::channel();
        let within = polls.clone();
        let mut input = KeyInput::start_with(move || {
            within.fetch_add(1, Ordering::SeqCst);
            let _ = reading.send(());
            // This is longer than a fixed pause would wait.
            std::thread::sleep(Duration::from_millis(300));
            within.fetch_sub(1, Ordering::SeqCst);
            Ok(None)
        })
        .unwrap();
        is_reading.recv_timeout(Duration::from_secs(10)).unwrap();
        for _ in 0..2 {
            let polling = input.lend(|| polls.load(Ordering::SeqCst)).unwrap();
            assert_eq!(polling, 0);
            while is_reading.try_recv().is_ok() {}
            // The thread reads again.
            is_reading.recv_timeout(Duration::from_secs(10)).unwrap();
        }
    }

    #[tokio::test]
    async fn keys_that_are_still_read_are_not_lent() {
        let (hold, held) = mpsc::channel::<()>();
        let (reading, is_reading) = mpsc::channel();
        let mut input = KeyInput::start_with(move || {
            let _ = reading.send(());
            let _ = held.recv_timeout(Duration::from_secs(20));
            Ok(None)
        })
        .unwrap();
        is_reading.recv_timeout(Duration::from_secs(10)).unwrap();
        let since = Instant::now();
        let lent = input.lend(|| panic!("both would read"));
        assert_eq!(lent.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(since.elapsed() < PAUSE_TIMEOUT * 3);
        drop(hold);
        assert!(input.lend(|| ()).is_ok());
    }

    #[tokio::test]
    async fn keys_that_nothing_reads_are_lent_at_once() {
        let mut input = KeyInput::start_with(|| Err(io::ErrorKind::UnexpectedEof.into())).unwrap();
        assert!(input.lend(|| ()).is_ok());
        assert!(input.lend(|| ()).is_ok());
    }

    #[test]
    fn ctrl_c_that_the_driver_does_not_take_becomes_a_signal() {
        let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let (key, ctrl_c) =
            (press(KeyCode::Char('x'), KeyModifiers::NONE), press(KeyCode::Char('c'), KeyModifiers::CONTROL));
        let start = Instant::now();
        let mut interrupts = PendingInterrupts::default();
        interrupts.record(&key, start);
        assert!(!interrupts.is_overdue(0, start + INTERRUPT_TIMEOUT));
        interrupts.record(&ctrl_c, start);
        interrupts.record(&ctrl_c, start);
        assert!(!interrupts.is_overdue(1, start + INTERRUPT_TIMEOUT / 2));
        assert!(interrupts.is_overdue(1, start + INTERRUPT_TIMEOUT));
        // The second press raises a signal of its own, unless it has been taken meanwhile.
        let mut taken = PendingInterrupts { events: interrupts.events, pressed: interrupts.pressed.clone() };
        assert!(interrupts.is_overdue(2, start + INTERRUPT_TIMEOUT));
        assert!(!interrupts.is_overdue(2, start + INTERRUPT_TIMEOUT));
        assert!(!taken.is_overdue(3, start + INTERRUPT_TIMEOUT));
    }
}
