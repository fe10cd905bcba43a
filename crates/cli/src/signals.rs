//! The signals that end the program. The first is for the front end, which ends what runs; one that comes before the front
//! end has dealt with the first ends the program at once, whatever is stuck.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Signals, one at a time.
pub(crate) struct Signals {
    codes: UnboundedReceiver<u8>,
    open: Arc<AtomicBool>,
}

impl Signals {
    /// Listens on a thread of its own: neither a blocked write nor a busy runtime can keep a signal from counting.
    /// `last_act` runs before the program ends by a second signal; it must not block.
    pub(crate) fn listen(last_act: impl Fn() + Send + 'static) -> Signals {
        let (sender, codes) = unbounded_channel();
        let open = Arc::new(AtomicBool::new(false));
        let unanswered = open.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let mut ended = Ended::new();
                loop {
                    let code = ended.next().await;
                    tracing::warn!(code, "a signal");
                    if unanswered.swap(true, Ordering::SeqCst) || sender.send(code).is_err() {
                        last_act();
                        std::process::exit(i32::from(code));
                    }
                }
            });
        });
        Signals { codes, open }
    }

    /// Waits until somebody wants the program to end; the exit code that says so.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.codes.recv().await {
            Some(code) => code,
            None => std::future::pending().await,
        }
    }

    /// What the signal asked for is done, and the program goes on: the next one is a first one again.
    pub(crate) fn answered(&self) {
        self.open.store(false, Ordering::SeqCst);
    }
}

/// The signals themselves, with the exit codes that say so.
#[cfg(unix)]
struct Ended([Option<tokio::signal::unix::Signal>; 4]);

#[cfg(unix)]
impl Ended {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
        Ended(kinds.map(|kind| signal(kind).ok()))
    }

    async fn next(&mut self) -> u8 {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        let [interrupt, terminate, hangup, quit] = &mut self.0;
        tokio::select! {
            () = one(interrupt) => crate::exit::INTERRUPTED,
            () = one(terminate) => 143,
            () = one(hangup) => 129,
            () = one(quit) => 131,
        }
    }
}

#[cfg(not(unix))]
struct Ended;

#[cfg(not(unix))]
impl Ended {
    fn new() -> Self {
        Ended
    }

    async fn next(&mut self) -> u8 {
        // A console that can't tell of Ctrl-C never ends the program this way.
        match tokio::signal::ctrl_c().await {
            Ok(()) => crate::exit::INTERRUPTED,
            Err(_) => std::future::pending().await,
        }
    }
}
