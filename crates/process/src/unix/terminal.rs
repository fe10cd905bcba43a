//! A pseudo-terminal for one program: its path for the program, our end for whoever shows it and types on it. What is
//! drawn there is somebody else's to understand.

use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tokio::io::Interest;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;

use crate::{TerminalInputMode, TerminalSize};

/// So much may have been typed that the program has not read.
const MAX_PENDING_INPUT_BYTES: usize = 1 << 20;

/// How long it takes until a full terminal is looked at again.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A terminal. Cheap to clone; clones are the same one. It is gone for the program when the last of them is.
#[derive(Clone, Debug)]
pub struct PseudoTerminal(Arc<PseudoTerminalInner>);

#[derive(Debug)]
struct PseudoTerminalInner {
    master: OwnedFd,
    path: CString,
    pending_input: Mutex<VecDeque<u8>>,
    input_ready: Notify,
    attended: AtomicBool,
}

impl PseudoTerminal {
    /// Makes one.
    ///
    /// # Errors
    /// The system's own, if there is none to be had.
    pub fn open(size: TerminalSize) -> io::Result<PseudoTerminal> {
        if !cfg!(any(target_os = "linux", target_vendor = "apple")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | close_on_exec())?;
        rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let path = ptsname(&ours, Vec::new())?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let (typed, arrived, attended) = (Mutex::default(), Notify::new(), AtomicBool::new(false));
        let terminal = PseudoTerminal(Arc::new(PseudoTerminalInner {
            master: ours,
            path,
            pending_input: typed,
            input_ready: arrived,
            attended,
        }));
        tcsetwinsize(&terminal.0.master, winsize(size))?;
        Ok(terminal)
    }

    /// It has another size from now on; the program is told.
    pub fn resize(&self, size: TerminalSize) {
        // One that cannot be told goes on with the old size.
        let _ = tcsetwinsize(&self.0.master, winsize(size));
    }

    /// Types something. Whether there was room for it: a program that does not read is not typed to for ever.
    pub fn write_input(&self, bytes: &[u8]) -> bool {
        let mut typed = self.lock_pending_input();
        if typed.len() + bytes.len() > MAX_PENDING_INPUT_BYTES {
            return false;
        }
        typed.extend(bytes);
        drop(typed);
        self.0.input_ready.notify_one();
        true
    }

    /// How the program wants to be typed to, at this moment.
    pub fn input_mode(&self) -> TerminalInputMode {
        match tcgetattr(&self.0.master).map(|modes| modes.local_modes) {
            Ok(modes) if !modes.contains(LocalModes::ICANON) => TerminalInputMode::Keys,
            Ok(modes) if !modes.contains(LocalModes::ECHO) => TerminalInputMode::HiddenLines,
            _ => TerminalInputMode::Lines,
        }
    }

    /// Says whether somebody sits at it.
    pub fn set_attended(&self, attended: bool) {
        self.0.attended.store(attended, Ordering::Relaxed);
    }

    /// Whether somebody sits at it: then silence is no sign of trouble.
    pub fn is_attended(&self) -> bool {
        self.0.attended.load(Ordering::Relaxed)
    }

    pub(crate) fn path(&self) -> &CString {
        &self.0.path
    }

    /// Where what the program draws comes out.
    pub(crate) fn output_reader(&self) -> io::Result<Receiver> {
        Receiver::from_owned_fd_unchecked(self.0.master.try_clone()?)
    }

    /// What carries over what is typed.
    pub(crate) fn input_writer(&self) -> io::Result<TerminalInputWriter> {
        Ok(TerminalInputWriter {
            writer: Some(Sender::from_owned_fd_unchecked(self.0.master.try_clone()?)?),
            terminal: self.clone(),
        })
    }

    fn lock_pending_input(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.pending_input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is typed, on its way to a program that may not read it.
pub(crate) struct TerminalInputWriter {
    writer: Option<Sender>,
    terminal: PseudoTerminal,
}

impl TerminalInputWriter {
    pub(crate) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Waits for something to be typed, and writes what fits into the terminal. Closes when the terminal has hung up. Safe
    /// to drop.
    pub(crate) async fn forward_input(&mut self) {
        consume_budget().await;
        let Some(to) = &self.writer else { return };
        while self.terminal.lock_pending_input().is_empty() {
            self.terminal.0.input_ready.notified().await;
        }
        // The reactor never takes a hang-up back: a full terminal would be "writable" for ever and refuse every write.
        if !to.ready(Interest::WRITABLE).await.is_ok_and(|ready| !ready.is_write_closed()) {
            self.writer = None;
            return;
        }
        let written = {
            let mut typed = self.terminal.lock_pending_input();
            let written = to.try_write(typed.as_slices().0);
            typed.drain(..*written.as_ref().unwrap_or(&0));
            written
        };
        match written {
            // A terminal that is full may say so in this way too, and is no less ready for it.
            Ok(0) => tokio::time::sleep(FULL_RETRY_INTERVAL).await,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.writer = None,
        }
    }
}

fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::empty()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::sync::mpsc;

    use super::*;

    /// A loop that never yields cannot be ended by a timer of its own runtime, so this one runs on another thread.
    #[test]
    fn full_terminal_closes_on_hangup() {
        let (sender, closed) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let terminal = PseudoTerminal::open(TerminalSize { columns: 80, rows: 24 }).unwrap();
                let path = std::path::Path::new(std::ffi::OsStr::from_bytes(terminal.path().as_bytes()));
                let program = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
                let mut modes = tcgetattr(&program).unwrap();
                modes.make_raw();
                rustix::termios::tcsetattr(&program, rustix::termios::OptionalActions::Now, &modes).unwrap();
                let mut keys = terminal.input_writer().unwrap();
                assert!(terminal.write_input(&[b'x'; 512 << 10]));
                let fill = async {
                    loop {
                        keys.forward_input().await;
                    }
                };
                assert!(tokio::time::timeout(Duration::from_millis(200), fill).await.is_err());
                assert!(!terminal.lock_pending_input().is_empty(), "the terminal is full");
                drop(program);
                while keys.is_open() {
                    keys.forward_input().await;
                }
            });
            let _ = sender.send(());
        });
        closed.recv_timeout(Duration::from_secs(10)).expect("the terminal closes");
    }
}
