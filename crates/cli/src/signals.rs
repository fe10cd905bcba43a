//! The signals that end the program. The first is for the front end, which ends what runs; one that comes before the front
//! end has dealt with the first ends the program at once, whatever is stuck. So does the first one where the front end does
//! not take it up in time: a thread that never yields can't be ended from its own runtime.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Somebody wanted the program to end while it was about something that has no end of its own; the exit code.
#[derive(Debug)]
pub(crate) struct EndedBySignal(pub(crate) u8);

impl std::fmt::Display for EndedBySignal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ended by a signal")
    }
}

impl std::error::Error for EndedBySignal {}

type ExitAction = Arc<Mutex<Box<dyn Fn() + Send>>>;

/// How long the front end may take to take a signal up. What it then does may take longer.
const SIGNAL_ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the front end has taken up the last signal, or has a reason not to.
#[derive(Default)]
struct SignalAck {
    is_acknowledged: Mutex<bool>,
    changed: Condvar,
    /// Whether signals wait, because another program has the terminal or the session ends already.
    is_deferred: AtomicBool,
}

impl SignalAck {
    fn set(&self, is_done: bool) {
        *self.is_acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = is_done;
        self.changed.notify_all();
    }

    /// Waits for so long; whether nothing took the signal up, though it could have.
    fn is_overdue(&self, timeout: Duration) -> bool {
        let is_done = self.is_acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_done, timeout, |is_done| !*is_done);
        let (is_done, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*is_done && !self.is_deferred.load(Ordering::SeqCst)
    }
}

/// Signals, one at a time. There is one listener for the whole run: a second one would hear the same signals.
pub(crate) struct Signals {
    exit_codes: UnboundedReceiver<u8>,
    is_unanswered: Arc<AtomicBool>,
    exit_action: ExitAction,
    ack: Arc<SignalAck>,
}

impl Signals {
    /// Listens on a thread of its own: neither a blocked write nor a busy runtime can keep a signal from counting. From
    /// here on no signal ends the program behind our back; listen before there is anything to give back or to end.
    pub(crate) fn listen() -> io::Result<Signals> {
        let (sender, codes) = unbounded_channel();
        let open = Arc::new(AtomicBool::new(false));
        let last_act: ExitAction = Arc::new(Mutex::new(Box::new(|| {})));
        // Here and not on the thread, which nobody waits for so: what comes before that has started is kept for it.
        let ending = SignalSource::new()?;
        let take_up = Arc::new(SignalAck::default());
        let (unanswered, act, taken) = (open.clone(), last_act.clone(), take_up.clone());
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || forward_signals(ending, &sender, &unanswered, &act, &taken))?;
        Ok(Signals { exit_codes: codes, is_unanswered: open, exit_action: last_act, ack: take_up })
    }

    /// What is done before the program ends by a second signal; it must not block.
    pub(crate) fn set_exit_action(&self, act: impl Fn() + Send + 'static) {
        *self.exit_action.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(act);
    }

    /// Waits until somebody wants the program to end; the exit code that says so.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.exit_codes.recv().await {
            Some(code) => {
                self.ack.set(true);
                code
            }
            None => std::future::pending().await,
        }
    }

    /// Lets signals wait without a bound, or no longer: while another program has the terminal, and once the session ends.
    pub(crate) fn defer(&self, is_deferred: bool) {
        self.ack.is_deferred.store(is_deferred, Ordering::SeqCst);
    }

    /// Whether somebody has wanted that since the last time anybody asked.
    pub(crate) fn try_next(&mut self) -> Option<u8> {
        self.exit_codes.try_recv().ok()
    }

    /// What the signal asked for is done, and the program goes on: the next one is a first one again.
    pub(crate) fn mark_answered(&self) {
        self.is_unanswered.store(false, Ordering::SeqCst);
    }
}

/// Passes signals on; one that nobody has dealt with when the next one comes ends the program.
fn forward_signals(
    mut ending: SignalSource,
    sender: &UnboundedSender<u8>,
    unanswered: &AtomicBool,
    last_act: &ExitAction,
    take_up: &Arc<SignalAck>,
) {
    while let Some(code) = ending.next() {
        // Nothing that could wait comes first: the log may stand on a disk that does not answer.
        take_up.set(false);
        if unanswered.swap(true, Ordering::SeqCst) || sender.send(code).is_err() {
            end_program(code, last_act);
        }
        let (take_up, last_act) = (take_up.clone(), last_act.clone());
        let watch = move || {
            if take_up.is_overdue(SIGNAL_ACK_TIMEOUT) {
                let words = "hookwright: the session did not take up the signal within 5 seconds, so it is ended\n";
                hookwright_process::write_final_output(&[], words);
                end_program(code, &last_act);
            }
        };
        // Where there is no room for a thread, a second signal ends the program as before.
        let _ = std::thread::Builder::new().name("signal-deadline".to_owned()).spawn(watch);
        tracing::warn!(code, "a signal");
    }
}

/// Ends the program and everything that it runs.
fn end_program(code: u8, last_act: &ExitAction) {
    last_act.lock().unwrap_or_else(PoisonError::into_inner)();
    hookwright_process::kill_descendants();
    std::process::exit(i32::from(code));
}

/// Waits for a signal, for ever where nobody listens to it.
#[cfg(unix)]
pub(crate) async fn wait_for(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The signals themselves, with the exit codes that say so.
#[cfg(unix)]
struct SignalSource(signal_hook::iterator::Signals);

#[cfg(unix)]
impl SignalSource {
    fn new() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        // `nohup` stays in force.
        let hangup = (!hookwright_process::is_hangup_ignored()).then_some(SIGHUP);
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGQUIT].into_iter().chain(hangup)).map(SignalSource)
    }

    /// Waits for the next one; none when there can be no more.
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

    /// Waits for the next one; none where the console can't tell of Ctrl-C.
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
        let take_up = SignalAck::default();
        assert!(take_up.is_overdue(SHORT_TIMEOUT));
        take_up.set(true);
        assert!(!take_up.is_overdue(LONG_TIMEOUT));
        take_up.set(false);
        assert!(take_up.is_overdue(SHORT_TIMEOUT));
        take_up.is_deferred.store(true, Ordering::SeqCst);
        assert!(!take_up.is_overdue(SHORT_TIMEOUT));
    }

    #[test]
    fn a_signal_that_is_acknowledged_meanwhile_is_not_overdue() {
        let take_up = Arc::new(SignalAck::default());
        let front_end = take_up.clone();
        let taken = std::thread::spawn(move || front_end.set(true));
        assert!(!take_up.is_overdue(LONG_TIMEOUT));
        hookwright_testkit::deadline::JoinDeadline::join_in_time(taken).unwrap();
    }
}
