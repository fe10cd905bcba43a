//! Who leads the session on a terminal: a small shell that starts the program, tells how it ended, and stays for as long as
//! we want. Were the program itself the leader, its end would take the terminal away from all that it left running.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::UnixStream as Pair;
use std::path::Path;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::{Exit, ProgramSpec};

const SHELL_PATH: &str = "/bin/sh";

/// Signals are meant for the program. Traps, unlike what is ignored, are not handed on. Its own words about the program's end
/// are nobody's business (some shells say them where the program's would go, unless it is in parentheses); and it lets go of the terminal before it tells, so that the end of the output can be seen.
const HOLDER_SCRIPT: &str = "exec 4>&2 2>/dev/null; trap : HUP INT QUIT TERM; (exec \"$@\" 2>&4 3>&- 4>&-); code=$?; \
                      exec </dev/null >/dev/null 4>&-; echo $code >&3; read -r _ <&3";

/// The way to that shell.
#[derive(Debug)]
pub(super) struct TerminalHolder {
    socket: UnixStream,
    read_buffer: Vec<u8>,
    has_exited: bool,
}

impl TerminalHolder {
    /// The way, and its other end.
    pub(super) fn new() -> io::Result<(TerminalHolder, Pair)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        Ok((TerminalHolder { socket: UnixStream::from_std(ours)?, read_buffer: Vec::new(), has_exited: false }, theirs))
    }

    /// Whether the program has ended and only the shell is left of it, perhaps with others that it left running.
    pub(super) fn has_exited(&self) -> bool {
        self.has_exited
    }

    /// Waits to be told how the program ended; for ever if nobody tells. Safe to drop and call again.
    pub(super) async fn wait_for_exit(&mut self) -> Exit {
        loop {
            if let Some(code) = self.parse_exit_code() {
                self.has_exited = true;
                return Exit::Code(code);
            }
            let mut buffer = [0; 16];
            match self.socket.read(&mut buffer).await {
                Ok(count @ 1..) => self.read_buffer.extend_from_slice(&buffer[..count]),
                // The shell itself was ended, which whoever waits for it will notice.
                _ => std::future::pending().await,
            }
        }
    }

    fn parse_exit_code(&self) -> Option<i32> {
        std::str::from_utf8(self.read_buffer.strip_suffix(b"\n")?).ok()?.parse().ok()
    }
}

/// Starts the shell that holds the terminal for a program, in the program's place.
pub(super) fn with_holder_shell<T>(program: &mut ProgramSpec<'_>, start: impl FnOnce(&mut ProgramSpec<'_>) -> T) -> T {
    let path = program.cwd.join(program.path).into_os_string();
    let fixed = ["-c", HOLDER_SCRIPT, "sh"].map(OsString::from);
    let args: Vec<OsString> = fixed.into_iter().chain([path]).chain(program.args.iter().cloned()).collect();
    // The same variables, for a shorter time.
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
