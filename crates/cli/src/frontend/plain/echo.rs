//! Turns the terminal's echo off while the user types a secret.
//!
//! The terminal is restored as soon as the line is read or the session ends.

#[cfg(unix)]
mod system {
    use std::io::stdin;
    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// The terminal's settings from before the echo was turned off.
    static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

    /// Keeps the echo off until it is dropped.
    pub(crate) struct EchoOff(());

    impl EchoOff {
        /// Turns the echo off, or returns none if the terminal cannot do that.
        pub(crate) fn new() -> Option<EchoOff> {
            let before = tcgetattr(stdin()).ok()?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            // The line feed is echoed, so that the next output begins on its own line.
            quiet.local_modes.insert(LocalModes::ECHONL);
            *SAVED_TERMIOS.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            let hidden = EchoOff(());
            // Input that was typed before the question is discarded, because it does not answer it.
            tcsetattr(stdin(), OptionalActions::Flush, &quiet).ok()?;
            Some(hidden)
        }
    }

    impl Drop for EchoOff {
        fn drop(&mut self) {
            restore();
        }
    }

    /// Restores the terminal's settings.
    pub(crate) fn restore() {
        if let Some(before) = SAVED_TERMIOS.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The terminal may be gone.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }
}

#[cfg(not(unix))]
mod system {
    /// The echo cannot be turned off on this platform.
    pub(crate) struct EchoOff(());

    impl EchoOff {
        pub(crate) fn new() -> Option<EchoOff> {
            None
        }
    }

    pub(crate) fn restore() {}
}

pub(super) use system::{EchoOff, restore};
