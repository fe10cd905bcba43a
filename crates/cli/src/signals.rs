//! The signals that end the program. The first is for the front end, which ends what runs; one that comes before the front
//! end has dealt with the first ends the program at once, whatever is stuck.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Signals, one at a time. There is one listener for the whole run: a second one would hear the same signals.
pub(crate) struct Signals {
    codes: UnboundedReceiver<u8>,
    open: Arc<AtomicBool>,
    last_act: LastAct,
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
        let (unanswered, act) = (open.clone(), last_act.clone());
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || hear(ending, &sender, &unanswered, &act))?;
        Ok(Signals { codes, open, last_act })
    }

    /// What is done before the program ends by a second signal; it must not block.
    pub(crate) fn at_last(&self, act: impl Fn() + Send + 'static) {
        *self.last_act.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(act);
    }

    /// Waits until somebody wants the program to end; the exit code that says so.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.codes.recv().await {
            Some(code) => code,
            None => std::future::pending().await,
        }
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
fn hear(mut ending: Ending, sender: &UnboundedSender<u8>, unanswered: &AtomicBool, last_act: &LastAct) {
    while let Some(code) = ending.next() {
        tracing::warn!(code, "a signal");
        if unanswered.swap(true, Ordering::SeqCst) || sender.send(code).is_err() {
            last_act.lock().unwrap_or_else(PoisonError::into_inner)();
            hookwright_process::end_descendants();
            std::process::exit(i32::from(code));
        }
    }
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
