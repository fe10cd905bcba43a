//! The program is stopped and goes on, as jobs of a shell are. What becomes of the terminal meanwhile is `terminal.rs`'s
//! business.

/// What somebody wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobSignal {
    /// The program should stop.
    Suspend,
    /// It goes on after having been stopped, whether it had been asked or not.
    Resumed,
}

/// Such wishes, as they come.
pub(crate) struct JobSignals(#[cfg(unix)] [Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl JobSignals {
    /// Begins to listen.
    pub(crate) fn listen() -> JobSignals {
        use tokio::signal::unix::{SignalKind, signal};
        let heard = |number| signal(SignalKind::from_raw(number)).ok();
        JobSignals([hookwright_process::STOP_SIGNAL, hookwright_process::CONTINUE_SIGNAL].map(heard))
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> JobSignal {
        let [stop, go_on] = &mut self.0;
        tokio::select! {
            () = crate::signals::wait_for(stop) => JobSignal::Suspend,
            () = crate::signals::wait_for(go_on) => JobSignal::Resumed,
        }
    }
}

#[cfg(not(unix))]
impl JobSignals {
    /// There is nothing to listen to.
    pub(crate) fn listen() -> JobSignals {
        JobSignals()
    }

    /// Waits for ever.
    pub(crate) async fn next(&mut self) -> JobSignal {
        std::future::pending().await
    }
}
