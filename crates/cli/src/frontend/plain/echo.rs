//! A line that the terminal does not echo. The terminal is as it was as soon as the line is there, or the session ends,
//! however it ends.

#[cfg(unix)]
mod system {
    use std::io::stdin;
    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// How the terminal was, while it is not.
    static SAVED_TERMIOS: Mutex<Option<Termios>> = Mutex::new(None);

    /// Nothing that is typed is shown until this is dropped.
    pub(crate) struct EchoOff(());

    impl EchoOff {
        /// None where the terminal can't do that.
        pub(crate) fn new() -> Option<EchoOff> {
            let before = tcgetattr(stdin()).ok()?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            // The line's end is seen, so that what comes next has a line of its own.
            quiet.local_modes.insert(LocalModes::ECHONL);
            *SAVED_TERMIOS.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            let hidden = EchoOff(());
            // What was typed before the question was asked is no answer to it.
            tcsetattr(stdin(), OptionalActions::Flush, &quiet).ok()?;
            Some(hidden)
        }
    }

    impl Drop for EchoOff {
        fn drop(&mut self) {
            restore();
        }
    }

    /// The terminal as it was.
    pub(crate) fn restore() {
        if let Some(before) = SAVED_TERMIOS.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It may be gone.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }
}

#[cfg(not(unix))]
mod system {
    /// There is no such line here.
    pub(crate) struct EchoOff(());

    impl EchoOff {
        pub(crate) fn new() -> Option<EchoOff> {
            None
        }
    }

    pub(crate) fn restore() {}
}

pub(super) use system::{EchoOff, restore};
