//! The side that hears what a worker's process says, holds it to its bounds, and sees to its end. Who waits for what is
//! `talk.rs`.

use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{Exit, Process, Until, hear_now};
use tokio::time::{Instant, sleep_until};

use super::ear::Heard;
use super::loss::Loss;
use super::talk::{Bounds, GLANCE, Talk};
use crate::answer::named;

/// Who is about to end has ended by then.
const MOMENT: Duration = Duration::from_millis(50);

/// The side that hears what the process says, and sees to its end.
pub(super) struct Listening {
    pub(super) talk: Arc<Talk>,
    pub(super) process: Process,
    pub(super) bounds: Bounds,
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
                let wrong = loop {
                    match self.talk.listen(hear_now) {
                        Ok(Heard::Something) => {}
                        Ok(Heard::Nothing | Heard::End) => break None,
                        Err(loss) => break Some(loss),
                    }
                };
                let half = if self.talk.ear().is_halfway() { ", in the middle of a line" } else { "" };
                let code = code_of(&exit);
                let loss = wrong.unwrap_or_else(|| Loss::new(format!("it {}{half}", ended(exit))));
                self.talk.lose_from(Loss { code, ..loss }, self.talk.read());
            }
            Over::Stopped => {
                if let Some(loss) = self.talk.spoilt() {
                    // Who says something and then ends with a no has said no.
                    let exit = tokio::time::timeout(MOMENT, self.process.wait()).await;
                    let code = exit.ok().as_ref().and_then(code_of);
                    self.talk.lose(Loss { code, ..loss });
                }
                self.process.end(self.bounds.grace, Until::GroupGone).await;
            }
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
        let from = self.talk.ear().from.clone();
        let (stop, finish) = (self.talk.stop.clone(), self.talk.finish.clone());
        let mut glance = Instant::now() + GLANCE;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Over::Stopped,
                _ = from.readable() => match self.talk.listen(|from, buffer| from.try_read(buffer)) {
                    // One that never stops talking is not all that there is to do.
                    Ok(Heard::Something | Heard::Nothing) => tokio::task::coop::consume_budget().await,
                    // It may be about to end, which says more.
                    Ok(Heard::End) => return self.silent().await,
                    Err(loss) => {
                        self.talk.spoil(loss);
                        return Over::Stopped;
                    }
                },
                exit = self.process.wait() => return Over::Exited(exit),
                () = finish.cancelled() => return Over::Finished,
                () = sleep_until(glance), if self.bounds.memory.is_some() || self.bounds.idle.is_some() => {
                    glance = Instant::now() + GLANCE;
                    self.look();
                }
            }
        }
    }

    /// It has closed its output: nobody will ever hear from it again.
    async fn silent(&mut self) -> Over {
        match tokio::time::timeout(GLANCE, self.process.wait()).await {
            Ok(exit) => Over::Exited(exit),
            Err(_) => {
                self.talk.lose(Loss::new("it closed its output"));
                Over::Stopped
            }
        }
    }

    /// Whether it is grown too large, or has nothing to do.
    fn look(&self) {
        let is_idle = self.talk.is_idle();
        let most = self.bounds.memory.filter(|most| self.process.memory().is_some_and(|taken| taken > *most));
        match most {
            Some(_) if is_idle => self.talk.retire(),
            Some(most) => self.talk.break_off(format!("it took more than {} MB of memory", most >> 20)),
            None => {}
        }
        let quiet = self.talk.ear().quiet_since.elapsed();
        if is_idle && self.bounds.idle.is_some_and(|longest| quiet >= longest) {
            tracing::debug!(pid = self.talk.pid(), "a worker has nothing to do");
            self.talk.retire();
        }
    }
}

fn code_of(exit: &std::io::Result<Exit>) -> Option<i32> {
    match exit {
        Ok(Exit::Code(code)) => Some(*code),
        Ok(Exit::Signal(_)) | Err(_) => None,
    }
}

fn ended(exit: std::io::Result<Exit>) -> String {
    match exit {
        Ok(Exit::Code(code)) => format!("ended with code {code}"),
        Ok(Exit::Signal(number)) => format!("was ended by {}", named(number)),
        Err(error) => format!("ended, which could not be seen: {error}"),
    }
}
