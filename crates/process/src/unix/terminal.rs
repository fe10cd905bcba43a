//! A pseudo-terminal for one program: the path that the program opens, and the master side to read and write.

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

/// The most input bytes that may wait for the program to read them.
const MAX_PENDING_INPUT_BYTES: usize = 1 << 20;

/// How long to wait before a full terminal is tried again.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A pseudo-terminal. Clones are cheap and share it. The program sees a hang-up when the last clone is dropped.
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
    /// Opens a pseudo-terminal of this size.
    ///
    /// # Errors
    /// Returns the system's error if no pseudo-terminal can be opened.
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

    /// Changes the size; the system tells the program by SIGWINCH.
    pub fn resize(&self, size: TerminalSize) {
        // After a failure the program goes on with the old size.
        let _ = tcsetwinsize(&self.0.master, winsize(size));
    }

    /// Queues input for the program, and returns whether it fitted. The limit holds for a program that does not read.
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

    /// Returns how the program reads its input at this moment.
    pub fn input_mode(&self) -> TerminalInputMode {
        match tcgetattr(&self.0.master).map(|modes| modes.local_modes) {
            Ok(modes) if !modes.contains(LocalModes::ICANON) => TerminalInputMode::Keys,
            Ok(modes) if !modes.contains(LocalModes::ECHO) => TerminalInputMode::HiddenLines,
            _ => TerminalInputMode::Lines,
        }
    }

    /// Records whether the user sits at the terminal.
    pub fn set_attended(&self, attended: bool) {
        self.0.attended.store(attended, Ordering::Relaxed);
    }

    /// Returns whether the user sits at the terminal; then silence is no sign of a problem.
    pub fn is_attended(&self) -> bool {
        self.0.attended.load(Ordering::Relaxed)
    }

    pub(crate) fn path(&self) -> &CString {
        &self.0.path
    }

    /// Returns a reader of the program's output.
    pub(crate) fn output_reader(&self) -> io::Result<Receiver> {
        Receiver::from_owned_fd_unchecked(self.0.master.try_clone()?)
    }

    /// Returns the writer that forwards the queued input.
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

/// Forwards the queued input to the program, which may not read it.
pub(crate) struct TerminalInputWriter {
    writer: Option<Sender>,
    terminal: PseudoTerminal,
}

impl TerminalInputWriter {
    pub(crate) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Waits for input and writes as much as fits. Closes when the terminal has hung up. Safe to drop.
    pub(crate) async fn forward_input(&mut self) {
        consume_budget().await;
        let Some(to) = &self.writer else { return };
        while self.terminal.lock_pending_input().is_empty() {
            self.terminal.0.input_ready.notified().await;
        }
        // The reactor never clears a hang-up: a full terminal would be "writable" for ever and refuse every write.
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
            // A full terminal may also return 0, and then still counts as ready.
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
