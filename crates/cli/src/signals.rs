//! The signals that end the program.
//!
//! The first signal goes to the front end, which ends the turn or the session. A second one that comes before the front
//! end has answered the first ends the program at once, whatever is stuck. So does a first one that the front end does
//! not acknowledge in time: a thread that never yields can't be ended from its own runtime.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The error of a command that runs until it is stopped, when a signal has stopped it; holds the exit code.
#[derive(Debug)]
pub(crate) struct EndedBySignal(pub(crate) u8);

impl std::fmt::Display for EndedBySignal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ended by a signal")
    }
}

impl std::error::Error for EndedBySignal {}

type ExitAction = Arc<Mutex<Box<dyn Fn() + Send>>>;

/// How long the front end may take to acknowledge a signal. Its reaction may take longer.
const SIGNAL_ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the front end has acknowledged the last signal, or may leave it unacknowledged.
#[derive(Default)]
struct SignalAck {
    is_acknowledged: Mutex<bool>,
    changed: Condvar,
    /// Whether signals may wait, because another program has the terminal or the session is ending already.
    is_deferred: AtomicBool,
}

impl SignalAck {
    fn set(&self, is_done: bool) {
        *self.is_acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = is_done;
        self.changed.notify_all();
    }

    /// Waits for the acknowledgement; returns whether it is missing at the end of `timeout` and was not deferred.
    fn is_overdue(&self, timeout: Duration) -> bool {
        let is_done = self.is_acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_done, timeout, |is_done| !*is_done);
        let (is_done, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*is_done && !self.is_deferred.load(Ordering::SeqCst)
    }
}

/// A receiver of the signals that end the program.
///
/// A run has one listener: a second one would receive the same signals.
pub(crate) struct Signals {
    exit_codes: UnboundedReceiver<u8>,
    is_unanswered: Arc<AtomicBool>,
    exit_action: ExitAction,
    ack: Arc<SignalAck>,
}

impl Signals {
    /// Starts the listener on its own thread, so that neither a blocked write nor a busy runtime delays a signal.
    ///
    /// From here on no signal ends the process by its default action. Call this before the terminal is changed
    /// or a child starts.
    pub(crate) fn listen() -> io::Result<Signals> {
        let (sender, exit_codes) = unbounded_channel();
        let is_unanswered = Arc::new(AtomicBool::new(false));
        let exit_action: ExitAction = Arc::new(Mutex::new(Box::new(|| {})));
        // Registered here and not on the thread: a signal that comes before the thread runs is queued for it.
        let source = SignalSource::new()?;
        let ack = Arc::new(SignalAck::default());
        let (unanswered, action, shared_ack) = (is_unanswered.clone(), exit_action.clone(), ack.clone());
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || forward_signals(source, &sender, &unanswered, &action, &shared_ack))?;
        Ok(Signals { exit_codes, is_unanswered, exit_action, ack })
    }

    /// Sets the action that runs before a signal ends the program at once; it must not block.
    pub(crate) fn set_exit_action(&self, action: impl Fn() + Send + 'static) {
        *self.exit_action.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(action);
    }

    /// Waits for the next signal and returns its exit code.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.exit_codes.recv().await {
            Some(code) => {
                self.ack.set(true);
                code
            }
            None => std::future::pending().await,
        }
    }

    /// Sets whether signals may stay unacknowledged: while another program has the terminal, and once
    /// the session is ending.
    pub(crate) fn defer(&self, is_deferred: bool) {
        self.ack.is_deferred.store(is_deferred, Ordering::SeqCst);
    }

    /// Returns the exit code of a signal that has arrived since the last call.
    pub(crate) fn try_next(&mut self) -> Option<u8> {
        self.exit_codes.try_recv().ok()
    }

    /// Marks the last signal as answered: the program goes on, and the next signal counts as a first one.
    pub(crate) fn mark_answered(&self) {
        self.is_unanswered.store(false, Ordering::SeqCst);
    }
}

/// Sends each signal to the front end; ends the program when the previous signal is still unanswered.
fn forward_signals(
    mut source: SignalSource,
    sender: &UnboundedSender<u8>,
    unanswered: &AtomicBool,
    exit_action: &ExitAction,
    ack: &Arc<SignalAck>,
) {
    while let Some(code) = source.next() {
        // Nothing that could block comes first: the log may be on a disk that does not answer.
        ack.set(false);
        if unanswered.swap(true, Ordering::SeqCst) || sender.send(code).is_err() {
            end_program(code, exit_action);
        }
        let (ack, exit_action) = (ack.clone(), exit_action.clone());
        let watch = move || {
            if ack.is_overdue(SIGNAL_ACK_TIMEOUT) {
                let words = "hookwright: the session did not react to the signal within 5 seconds, so it was killed\n";
                hookwright_process::write_final_output(&[], words);
                end_program(code, &exit_action);
            }
        };
        // Where no thread can be started, a second signal still ends the program.
        let _ = std::thread::Builder::new().name("signal-deadline".to_owned()).spawn(watch);
        tracing::warn!(code, "a signal");
    }
}

/// Ends the program and all of its descendants.
fn end_program(code: u8, exit_action: &ExitAction) {
    exit_action.lock().unwrap_or_else(PoisonError::into_inner)();
    hookwright_process::kill_descendants();
    std::process::exit(i32::from(code));
}

/// Waits for a signal; waits for ever where no listener is installed.
#[cfg(unix)]
pub(crate) async fn wait_for(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The source of signals, which it returns as exit codes.
#[cfg(unix)]
struct SignalSource(signal_hook::iterator::Signals);

#[cfg(unix)]
impl SignalSource {
    fn new() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        // A SIGHUP that `nohup` ignores stays ignored.
        let hangup = (!hookwright_process::is_hangup_ignored()).then_some(SIGHUP);
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGQUIT].into_iter().chain(hangup)).map(SignalSource)
    }

    /// Waits for the next signal; `None` when there can be no more.
    fn next(&mut self) -> Option<u8> {
        use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
        self.0.forever().next().map(|signal| match signal {
            SIGTERM => 143,
            SIGHUP => crate::exit::HUNG_UP,
            SIGQUIT => 131,
            _ => crate::exit::INTERRUPTED,
        })
    }
}

#[cfg(not(unix))]
struct SignalSource(tokio::runtime::Runtime);

#[cfg(not(unix))]
impl SignalSource {
    fn new() -> io::Result<Self> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(SignalSource)
    }

    /// Waits for the next Ctrl-C; `None` where the console can't report it.
    fn next(&mut self) -> Option<u8> {
        self.0.block_on(tokio::signal::ctrl_c()).ok().map(|()| crate::exit::INTERRUPTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT_TIMEOUT: Duration = Duration::from_millis(20);
    const LONG_TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn an_unacknowledged_signal_is_overdue() {
        let ack = SignalAck::default();
        assert!(ack.is_overdue(SHORT_TIMEOUT));
        ack.set(true);
        assert!(!ack.is_overdue(LONG_TIMEOUT));
        ack.set(false);
        assert!(ack.is_overdue(SHORT_TIMEOUT));
        ack.is_deferred.store(true, Ordering::SeqCst);
        assert!(!ack.is_overdue(SHORT_TIMEOUT));
    }

    #[test]
    fn a_signal_that_is_acknowledged_meanwhile_is_not_overdue() {
        let ack = Arc::new(SignalAck::default());
        let front_end = ack.clone();
        let taken = std::thread::spawn(move || front_end.set(true));
        assert!(!ack.is_overdue(LONG_TIMEOUT));
        hookwright_testkit::deadline::JoinDeadline::join_in_time(taken).unwrap();
    }
}
