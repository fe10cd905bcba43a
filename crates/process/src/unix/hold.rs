//! Who leads the session on a terminal: a small shell that starts the program, tells how it ended, and stays for as long as
//! we want. Were the program itself the leader, its end would take the terminal away from all that it left running.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::UnixStream as Pair;
use std::path::Path;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::{Exit, Program};

const SHELL: &str = "/bin/sh";

/// Signals are meant for the program. Traps, unlike what is ignored, are not handed on. Its own words about the program's end
/// are nobody's business (some shells say them where the program's would go, unless it is in parentheses); and it lets go of the terminal before it tells, so that the end of the output can be seen.
const SCRIPT: &str = "exec 4>&2 2>/dev/null; trap : HUP INT QUIT TERM; (exec \"$@\" 2>&4 3>&- 4>&-); code=$?; \
                      exec </dev/null >/dev/null 4>&-; echo $code >&3; read -r _ <&3";

/// The way to that shell.
#[derive(Debug)]
pub(super) struct Hold {
    line: UnixStream,
    heard: Vec<u8>,
    is_over: bool,
}

impl Hold {
    /// The way, and its other end.
    pub(super) fn new() -> io::Result<(Hold, Pair)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        Ok((Hold { line: UnixStream::from_std(ours)?, heard: Vec::new(), is_over: false }, theirs))
    }

    /// Whether the program has ended and only the shell is left of it, perhaps with others that it left running.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Waits to be told how the program ended; for ever if nobody tells. Safe to drop and call again.
    pub(super) async fn told(&mut self) -> Exit {
        loop {
            if let Some(code) = self.code() {
                self.is_over = true;
                return Exit::Code(code);
            }
            let mut buffer = [0; 16];
            match self.line.read(&mut buffer).await {
                Ok(count @ 1..) => self.heard.extend_from_slice(&buffer[..count]),
                // The shell itself was ended, which whoever waits for it will notice.
                _ => std::future::pending().await,
            }
        }
    }

    fn code(&self) -> Option<i32> {
        std::str::from_utf8(self.heard.strip_suffix(b"\n")?).ok()?.parse().ok()
    }
}

/// Starts the shell that holds the terminal for a program, in the program's place.
pub(super) fn held<T>(program: &mut Program<'_>, start: impl FnOnce(&mut Program<'_>) -> T) -> T {
    let path = program.cwd.join(program.path).into_os_string();
    let fixed = ["-c", SCRIPT, "sh"].map(OsString::from);
    let args: Vec<OsString> = fixed.into_iter().chain([path]).chain(program.args.iter().cloned()).collect();
    // The same variables, for a shorter time.
    let mut env = std::iter::from_fn(|| program.env.next());
    start(&mut Program {
        path: Path::new(SHELL),
        name: OsStr::new("sh"),
        args: &args,
        cwd: program.cwd,
        directory: program.directory,
        env: &mut env,
    })
}
