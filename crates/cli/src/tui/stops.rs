//! The program is stopped and goes on, as jobs of a shell are. What becomes of the terminal meanwhile is `terminal.rs`'s
//! business.

/// What somebody wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The program should stop.
    Wanted,
    /// It goes on after having been stopped, whether it had been asked or not.
    Over,
}

/// Such wishes, as they come.
pub(crate) struct Stops(#[cfg(unix)] [Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl Stops {
    /// Begins to listen.
    pub(crate) fn listen() -> Stops {
        use tokio::signal::unix::{SignalKind, signal};
        let heard = |number| signal(SignalKind::from_raw(number)).ok();
        Stops([hookwright_process::STOP, hookwright_process::GO_ON].map(heard))
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Stop {
        let [stop, go_on] = &mut self.0;
        tokio::select! {
            () = crate::signals::one(stop) => Stop::Wanted,
            () = crate::signals::one(go_on) => Stop::Over,
        }
    }
}

#[cfg(not(unix))]
impl Stops {
    /// There is nothing to listen to.
    pub(crate) fn listen() -> Stops {
        Stops()
    }

    /// Waits for ever.
    pub(crate) async fn next(&mut self) -> Stop {
        std::future::pending().await
    }
}
