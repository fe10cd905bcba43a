//! The session leader on a terminal: a small shell that starts the program, reports how it ended, and holds the
//! terminal until it is released. If the program itself were the leader, its end would hang up the terminal for its
//! children.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::UnixStream as Pair;
use std::path::Path;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::{Exit, ProgramSpec};

const SHELL_PATH: &str = "/bin/sh";

/// The script of the holder.
///
/// It traps signals, which are meant for the program; traps, unlike ignored signals, are not inherited. It discards the
/// shell's own messages about the program's end; the parentheses are for shells that would print them on the program's
/// stderr. It closes the terminal before it reports, so that the reader sees the end of the output.
const HOLDER_SCRIPT: &str = "exec 4>&2 2>/dev/null; trap : HUP INT QUIT TERM; (exec \"$@\" 2>&4 3>&- 4>&-); code=$?; \
                      exec </dev/null >/dev/null 4>&-; echo $code >&3; read -r _ <&3";

/// The socket to the holder shell.
#[derive(Debug)]
pub(super) struct TerminalHolder {
    socket: UnixStream,
    read_buffer: Vec<u8>,
    has_exited: bool,
}

impl TerminalHolder {
    /// Creates the socket and its other end, which is for the shell.
    pub(super) fn new() -> io::Result<(TerminalHolder, Pair)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        Ok((TerminalHolder { socket: UnixStream::from_std(ours)?, read_buffer: Vec::new(), has_exited: false }, theirs))
    }

    /// Returns whether the program has ended, so that only the shell and processes that the program left may remain.
    pub(super) fn has_exited(&self) -> bool {
        self.has_exited
    }

    /// Waits for the report of how the program ended; for ever if the shell is gone. Safe to drop and call again.
    pub(super) async fn wait_for_exit(&mut self) -> Exit {
        loop {
            if let Some(code) = self.parse_exit_code() {
                self.has_exited = true;
                return Exit::Code(code);
            }
            let mut buffer = [0; 16];
            match self.socket.read(&mut buffer).await {
                Ok(count @ 1..) => self.read_buffer.extend_from_slice(&buffer[..count]),
                // The shell itself has ended, which the task that waits for it will notice.
                _ => std::future::pending().await,
            }
        }
    }

    fn parse_exit_code(&self) -> Option<i32> {
        std::str::from_utf8(self.read_buffer.strip_suffix(b"\n")?).ok()?.parse().ok()
    }
}

/// Calls `start` with the holder shell in place of the program.
pub(super) fn with_holder_shell<T>(program: &mut ProgramSpec<'_>, start: impl FnOnce(&mut ProgramSpec<'_>) -> T) -> T {
    let path = program.cwd.join(program.path).into_os_string();
    let fixed = ["-c", HOLDER_SCRIPT, "sh"].map(OsString::from);
    let args: Vec<OsString> = fixed.into_iter().chain([path]).chain(program.args.iter().cloned()).collect();
    // Reborrows the same variables for the shorter lifetime.
    let mut env = std::iter::from_fn(|| program.env.next());
    start(&mut ProgramSpec {
        path: Path::new(SHELL_PATH),
        name: OsStr::new("sh"),
        args: &args,
        cwd: program.cwd,
        cwd_handle: program.cwd_handle,
        env: &mut env,
    })
}
