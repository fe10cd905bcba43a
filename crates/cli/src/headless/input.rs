//! The prompt: from the arguments, with piped input ahead of it.

use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::args::AgentArgs;

/// The most that is read from a pipe: more than any model reads.
const LARGEST: u64 = 8 << 20;

/// What the model is to answer.
pub(crate) struct Prompt {
    /// What the user said; empty if nothing.
    pub(crate) typed: String,
    /// What was piped in, which may be anybody's words.
    pub(crate) piped: Option<String>,
}

/// The whole prompt; nothing if there is none.
pub(crate) fn prompt(args: &AgentArgs) -> anyhow::Result<Option<Prompt>> {
    let spoken = args.prompt.clone().or_else(|| (!args.query.is_empty()).then(|| args.query.join(" ")));
    let piped = if std::io::stdin().is_terminal() { None } else { piped(spoken.is_some())? };
    let prompt = Prompt { typed: spoken.unwrap_or_default(), piped };
    let is_blank = prompt.typed.trim().is_empty() && prompt.piped.is_none();
    Ok((!is_blank).then_some(prompt))
}

/// What is piped in. Where a prompt is there already, a pipe that nobody writes to is not waited for.
fn piped(has_prompt: bool) -> anyhow::Result<Option<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut first = [0];
            let mut stdin = std::io::stdin().lock();
            let mut bytes = Vec::new();
            let read = stdin.read(&mut first).and_then(|read| {
                let _ = sender.send(None);
                bytes.extend_from_slice(&first[..read]);
                if read == 0 { Ok(0) } else { stdin.take(LARGEST + 1).read_to_end(&mut bytes) }
            });
            let _ = sender.send(Some(read.map(|_| bytes)));
        })
        .context("this machine has no room to start")?;
    const PATIENCE: Duration = Duration::from_millis(500);
    if has_prompt && receiver.recv_timeout(PATIENCE).is_err() {
        return Ok(None);
    }
    let bytes = receiver.into_iter().flatten().next().transpose().context("can't read stdin")?.unwrap_or_default();
    ensure!(bytes.len() as u64 <= LARGEST, "what is piped in is larger than {} MiB", LARGEST >> 20);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}
