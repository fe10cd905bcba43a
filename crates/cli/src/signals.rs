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
pub(crate) struct Ended(pub(crate) u8);

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ended by a signal")
    }
}

impl std::error::Error for Ended {}

type LastAct = Arc<Mutex<Box<dyn Fn() + Send>>>;

/// How long the front end may take to take a signal up. What it then does may take longer.
const TAKE_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the front end has taken up the last signal, or has a reason not to.
#[derive(Default)]
struct TakeUp {
    is_done: Mutex<bool>,
    changed: Condvar,
    /// Whether signals wait, because another program has the terminal or the session ends already.
    is_deferred: AtomicBool,
}

impl TakeUp {
    fn set(&self, is_done: bool) {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner) = is_done;
        self.changed.notify_all();
    }

    /// Waits for so long; whether nothing took the signal up, though it could have.
    fn is_overdue(&self, timeout: Duration) -> bool {
        let is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_done, timeout, |is_done| !*is_done);
        let (is_done, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*is_done && !self.is_deferred.load(Ordering::SeqCst)
    }
}

/// Signals, one at a time. There is one listener for the whole run: a second one would hear the same signals.
pub(crate) struct Signals {
    codes: UnboundedReceiver<u8>,
    open: Arc<AtomicBool>,
    last_act: LastAct,
    take_up: Arc<TakeUp>,
}

impl Signals {
    /// Listens on a thread of its own: neither a blocked write nor a busy runtime can keep a signal from counting. From
    /// here on no signal ends the program behind our back; listen before there is anything to give back or to end.
    pub(crate) fn listen() -> io::Result<Signals> {
        let (sender, codes) = unbounded_channel();
        let open = Arc::new(AtomicBool::new(false));
        let last_act: LastAct = Arc::new(Mutex::new(Box::new(|| {})));
        // Here and not on the thread, which nobody waits for so: what comes before that has started is kept for it.
        let ending = Ending::new()?;
        let take_up = Arc::new(TakeUp::default());
        let (unanswered, act, taken) = (open.clone(), last_act.clone(), take_up.clone());
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || hear(ending, &sender, &unanswered, &act, &taken))?;
        Ok(Signals { codes, open, last_act, take_up })
    }

    /// What is done before the program ends by a second signal; it must not block.
    pub(crate) fn at_last(&self, act: impl Fn() + Send + 'static) {
        *self.last_act.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(act);
    }

    /// Waits until somebody wants the program to end; the exit code that says so.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.codes.recv().await {
            Some(code) => {
                self.take_up.set(true);
                code
            }
            None => std::future::pending().await,
        }
    }

    /// Lets signals wait without a bound, or no longer: while another program has the terminal, and once the session ends.
    pub(crate) fn defer(&self, is_deferred: bool) {
        self.take_up.is_deferred.store(is_deferred, Ordering::SeqCst);
    }

    /// Whether somebody has wanted that since the last time anybody asked.
    pub(crate) fn heard(&mut self) -> Option<u8> {
        self.codes.try_recv().ok()
    }

    /// What the signal asked for is done, and the program goes on: the next one is a first one again.
    pub(crate) fn answered(&self) {
        self.open.store(false, Ordering::SeqCst);
    }
}

/// Passes signals on; one that nobody has dealt with when the next one comes ends the program.
fn hear(
    mut ending: Ending,
    sender: &UnboundedSender<u8>,
    unanswered: &AtomicBool,
    last_act: &LastAct,
    take_up: &Arc<TakeUp>,
) {
    while let Some(code) = ending.next() {
        // Nothing that could wait comes first: the log may stand on a disk that does not answer.
        take_up.set(false);
        if unanswered.swap(true, Ordering::SeqCst) || sender.send(code).is_err() {
            end_program(code, last_act);
        }
        let (take_up, last_act) = (take_up.clone(), last_act.clone());
        let watch = move || {
            if take_up.is_overdue(TAKE_UP_TIMEOUT) {
                let words = "hookwright: the session did not take up the signal within 5 seconds, so it is ended\n";
                hookwright_process::last_words(&[], words);
                end_program(code, &last_act);
            }
        };
        // Where there is no room for a thread, a second signal ends the program as before.
        let _ = std::thread::Builder::new().name("signal-deadline".to_owned()).spawn(watch);
        tracing::warn!(code, "a signal");
    }
}

/// Ends the program and everything that it runs.
fn end_program(code: u8, last_act: &LastAct) {
    last_act.lock().unwrap_or_else(PoisonError::into_inner)();
    hookwright_process::end_descendants();
    std::process::exit(i32::from(code));
}

/// Waits for a signal, for ever where nobody listens to it.
#[cfg(unix)]
pub(crate) async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The signals themselves, with the exit codes that say so.
#[cfg(unix)]
struct Ending(signal_hook::iterator::Signals);

#[cfg(unix)]
impl Ending {
    fn new() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        // `nohup` stays in force.
        let hangup = (!hookwright_process::is_hangup_ignored()).then_some(SIGHUP);
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGQUIT].into_iter().chain(hangup)).map(Ending)
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
struct Ending(tokio::runtime::Runtime);

#[cfg(not(unix))]
impl Ending {
    fn new() -> io::Result<Self> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(Ending)
    }

    /// Waits for the next one; none where the console can't tell of Ctrl-C.
    fn next(&mut self) -> Option<u8> {
        self.0.block_on(tokio::signal::ctrl_c()).ok().map(|()| crate::exit::INTERRUPTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const AMPLE: Duration = Duration::from_secs(60);

    #[test]
    fn a_signal_that_is_not_taken_up_is_overdue() {
        let take_up = TakeUp::default();
        assert!(take_up.is_overdue(SOON));
        take_up.set(true);
        assert!(!take_up.is_overdue(AMPLE));
        take_up.set(false);
        assert!(take_up.is_overdue(SOON));
        take_up.is_deferred.store(true, Ordering::SeqCst);
        assert!(!take_up.is_overdue(SOON));
    }

    #[test]
    fn a_signal_that_is_taken_up_meanwhile_is_not_overdue() {
        let take_up = Arc::new(TakeUp::default());
        let front_end = take_up.clone();
        let taken = std::thread::spawn(move || front_end.set(true));
        assert!(!take_up.is_overdue(AMPLE));
        hookwright_testkit::deadline::JoinDeadline::join_in_time(taken).unwrap();
    }
}
