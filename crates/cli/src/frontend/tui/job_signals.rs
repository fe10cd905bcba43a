//! Job control: the signals that suspend and resume the program.
//!
//! `terminal.rs` restores and sets up the terminal meanwhile.

/// A job-control signal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JobSignal {
    /// The program should stop.
    Suspend,
    /// The program continues after it was stopped, with or without a prior [`Suspend`](Self::Suspend).
    Resumed,
}

/// The job-control signals that arrive.
pub(crate) struct JobSignals(#[cfg(unix)] [Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl JobSignals {
    /// Starts to listen for the signals.
    pub(crate) fn listen() -> JobSignals {
        use tokio::signal::unix::{SignalKind, signal};
        let listen_for = |number| signal(SignalKind::from_raw(number)).ok();
        JobSignals([hookwright_process::STOP_SIGNAL, hookwright_process::CONTINUE_SIGNAL].map(listen_for))
    }

    /// Waits for the next signal.
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
    /// Listens for nothing: there is no job control on this platform.
    pub(crate) fn listen() -> JobSignals {
        JobSignals()
    }

    /// Never returns, since no signal arrives on this platform.
    pub(crate) async fn next(&mut self) -> JobSignal {
        std::future::pending().await
    }
}
