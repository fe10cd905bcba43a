//! The side that hears what a worker's process says, holds it to its bounds, and sees to its end. Who waits for what is
//! `talk.rs`.

use std::sync::Arc;

use hookwright_process::{Exit, Hearing, Process, Until};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep_until};

use super::talk::{Bounds, GLANCE, Loss, Talk};
use crate::answer::named;

/// What stands around an answer in its line.
const FRAME: usize = 4 << 10;

/// The side that hears what the process says, and sees to its end.
pub(super) struct Listening {
    pub(super) talk: Arc<Talk>,
    pub(super) process: Process,
    pub(super) from: Hearing,
    pub(super) bounds: Bounds,
    /// The beginning of a line.
    pub(super) heard: Vec<u8>,
}

/// Why the listening ends.
enum Over {
    Exited(std::io::Result<Exit>),
    Stopped,
    Finished,
}

impl Listening {
    pub(super) async fn until_it_is_gone(mut self) {
        let over = self.listen().await;
        match over {
            Over::Exited(exit) => {
                // What it said last may be an answer.
                let mut buffer = [0; 8 << 10];
                while let Ok(count @ 1..) = self.from.try_read(&mut buffer) {
                    if let Err(loss) = self.take(&buffer[..count]) {
                        self.talk.lose(loss);
                    }
                }
                let half = if self.heard.is_empty() { "" } else { ", in the middle of a line" };
                let loss = Loss::new(format!("its worker {}{half}", ended(exit)));
                self.talk.lose_from(loss, self.talk.read());
            }
            Over::Stopped => self.process.end(self.bounds.grace, Until::GroupGone).await,
            Over::Finished => {
                self.talk.close().await;
                let _ = tokio::time::timeout(self.bounds.grace, self.process.wait()).await;
                self.process.end(self.bounds.grace, Until::GroupGone).await;
            }
        }
        tracing::debug!(pid = self.talk.pid(), "a worker is gone");
        drop(self.process.finish());
        self.talk.over.cancel();
    }

    async fn listen(&mut self) -> Over {
        let mut buffer = vec![0; 64 << 10];
        let mut quiet_since = Instant::now();
        let (stop, finish) = (self.talk.stop.clone(), self.talk.finish.clone());
        let mut glance = Instant::now() + GLANCE;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Over::Stopped,
                count = self.from.read(&mut buffer) => {
                    quiet_since = Instant::now();
                    let heard = match count {
                        // It may be about to end, which says more.
                        Ok(0) | Err(_) => return self.silent().await,
                        Ok(count) => self.take(&buffer[..count]),
                    };
                    if let Err(loss) = heard {
                        self.talk.lose(loss);
                        return Over::Stopped;
                    }
                }
                exit = self.process.wait() => return Over::Exited(exit),
                () = finish.cancelled() => return Over::Finished,
                () = sleep_until(glance), if self.bounds.memory.is_some() || self.bounds.idle.is_some() => {
                    glance = Instant::now() + GLANCE;
                    self.look(quiet_since);
                }
            }
        }
    }

    /// It has closed its output: nobody will ever hear from it again.
    async fn silent(&mut self) -> Over {
        match tokio::time::timeout(GLANCE, self.process.wait()).await {
            Ok(exit) => Over::Exited(exit),
            Err(_) => {
                self.talk.lose(Loss::new("its worker closed its output"));
                Over::Stopped
            }
        }
    }

    /// Takes what it said apart into lines.
    fn take(&mut self, mut said: &[u8]) -> Result<(), Loss> {
        while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            self.heard.extend_from_slice(&said[..end]);
            said = &said[end + 1..];
            let line = std::mem::take(&mut self.heard);
            if line.len() > self.bounds.answer + FRAME {
                return Err(self.too_long(&line));
            }
            self.talk.hear(&line)?;
            // Nothing is allocated for the next one.
            self.heard = line;
            self.heard.clear();
        }
        self.heard.extend_from_slice(said);
        if self.heard.len() > self.bounds.answer + FRAME {
            return Err(self.too_long(&self.heard));
        }
        Ok(())
    }

    fn too_long(&self, line: &[u8]) -> Loss {
        let text = format!("its worker said a line of more than {} bytes", self.bounds.answer);
        let start = line.trim_ascii_start();
        let kept = &start[..start.len().min(self.bounds.answer)];
        let cut_off = kept.starts_with(b"{").then(|| (String::from_utf8_lossy(kept).into_owned(), line.len() as u64));
        Loss { text, cut_off }
    }

    /// Whether it is grown too large, or has nothing to do.
    fn look(&self, quiet_since: Instant) {
        let is_idle = self.talk.is_idle();
        let most = self.bounds.memory.filter(|most| self.process.memory().is_some_and(|taken| taken > *most));
        match most {
            Some(_) if is_idle => self.talk.retire(),
            Some(most) => self.talk.break_off(format!("its worker took more than {} MB of memory", most >> 20)),
            None => {}
        }
        if is_idle && self.bounds.idle.is_some_and(|longest| quiet_since.elapsed() >= longest) {
            tracing::debug!(pid = self.talk.pid(), "a worker has nothing to do");
            self.talk.retire();
        }
    }
}

fn ended(exit: std::io::Result<Exit>) -> String {
    match exit {
        Ok(Exit::Code(code)) => format!("ended with code {code}"),
        Ok(Exit::Signal(number)) => format!("was ended by {}", named(number)),
        Err(error) => format!("ended, which could not be seen: {error}"),
    }
}
