//! The prompt of a headless run: from the arguments, with piped input ahead of it.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::args::SessionArgs;

/// The most that is read from a pipe, which is more than a model reads.
const MAX_PIPED_PROMPT_BYTES: u64 = 8 << 20;

/// The prompt of a headless run.
pub(crate) struct HeadlessPrompt {
    /// The text from the command line, which may be empty.
    pub(crate) typed: String,
    /// The text from stdin, which the user may not have written.
    pub(crate) piped: Option<String>,
}

/// Reads the whole prompt, or returns none if it is blank.
pub(crate) fn read_prompt(args: &SessionArgs) -> anyhow::Result<Option<HeadlessPrompt>> {
    let spoken = args.prompt.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    let piped = if io::stdin().is_terminal() { None } else { read_piped(spoken.is_some())? };
    let prompt = HeadlessPrompt { typed: spoken.unwrap_or_default(), piped };
    let is_blank = prompt.typed.trim().is_empty() && prompt.piped.is_none();
    Ok((!is_blank).then_some(prompt))
}

/// Reads piped input.
///
/// If there is a prompt already, a pipe that stays silent is not waited for.
fn read_piped(has_prompt: bool) -> anyhow::Result<Option<String>> {
    let read = if stdin_never_blocks() { Some(read_stdin(|| {})) } else { read_on_thread(has_prompt)? };
    let Some(bytes) = read.transpose().context("can't read stdin")? else { return Ok(None) };
    ensure!(
        bytes.len() as u64 <= MAX_PIPED_PROMPT_BYTES,
        "the piped input is larger than {} MiB",
        MAX_PIPED_PROMPT_BYTES >> 20
    );
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// Reads stdin on a thread of its own, which is abandoned if nothing arrives.
fn read_on_thread(has_prompt: bool) -> anyhow::Result<Option<io::Result<Vec<u8>>>> {
    const FIRST_BYTE_TIMEOUT: Duration = Duration::from_millis(500);
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let read = read_stdin(|| drop(sender.send(None)));
        let _ = sender.send(Some(read));
    };
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(read)
        .context("this machine has no resources left to start")?;
    if has_prompt && receiver.recv_timeout(FIRST_BYTE_TIMEOUT).is_err() {
        return Ok(None);
    }
    Ok(receiver.into_iter().flatten().next())
}

/// Reads to the end, or to more than the limit; calls `begun` when the first byte or the end has arrived.
fn read_stdin(begun: impl FnOnce()) -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut bytes = vec![0];
    let first = stdin.read(&mut bytes)?;
    begun();
    bytes.truncate(first);
    if first > 0 {
        stdin.take(MAX_PIPED_PROMPT_BYTES + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns whether stdin is a regular file or `/dev/null`: reading neither of them can block.
#[cfg(unix)]
fn stdin_never_blocks() -> bool {
    use rustix::fs::{FileType, fstat};
    let Ok(found) = fstat(rustix::stdio::stdin()) else { return false };
    let is_nothing = || rustix::fs::stat("/dev/null").is_ok_and(|nothing| nothing.st_rdev == found.st_rdev);
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => true,
        FileType::CharacterDevice => is_nothing(),
        _ => false,
    }
}

/// Returns whether reading stdin cannot block, which is not known on this platform.
#[cfg(not(unix))]
fn stdin_never_blocks() -> bool {
    false
}
