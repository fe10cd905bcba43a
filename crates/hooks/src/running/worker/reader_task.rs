//! The task that reads a worker's output, enforces its limits, and ends it. `connection.rs` has the pending requests.

use std::sync::Arc;
use std::time::Duration;

use hookwright_process::{Exit, Process, TerminationWait, read_nonblocking};
use tokio::time::{Instant, sleep_until};

use super::connection::{LIMIT_CHECK_INTERVAL, WorkerConnection, WorkerLimits};
use super::line_reader::ReadProgress;
use super::loss::ConnectionLoss;
use crate::answers::describe_signal;

/// The time in which a process that is about to end is expected to have ended.
const EXIT_GRACE_PERIOD: Duration = Duration::from_millis(50);

/// Reads the output of a worker process, and waits for its end.
pub(super) struct ReaderTask {
    pub(super) connection: Arc<WorkerConnection>,
    pub(super) process: Process,
    pub(super) limits: WorkerLimits,
}

/// Why the reader stops.
enum ReaderStop {
    Exited(std::io::Result<Exit>),
    Stopped,
    Finished,
}

impl ReaderTask {
    pub(super) async fn run(mut self) {
        let over = self.read_until_stop().await;
        match over {
            ReaderStop::Exited(exit) => {
                // The last output may be an answer.
                let wrong = loop {
                    match self.connection.read_available(read_nonblocking) {
                        Ok(ReadProgress::Data) => {}
                        Ok(ReadProgress::Empty | ReadProgress::Closed) => break None,
                        Err(loss) => break Some(loss),
                    }
                };
                let half =
                    if self.connection.lock_reader().has_partial_line() { ", in the middle of a line" } else { "" };
                let code = exit_code(&exit);
                let loss = wrong.unwrap_or_else(|| ConnectionLoss::new(format!("it {}{half}", describe_exit(exit))));
                self.connection
                    .fail_pending(ConnectionLoss { exit_code: code, ..loss }, self.connection.consumed_bytes());
            }
            ReaderStop::Stopped => {
                if let Some(loss) = self.connection.protocol_error() {
                    // A process that exits with code 2 after invalid output has denied.
                    let exit = tokio::time::timeout(EXIT_GRACE_PERIOD, self.process.wait()).await;
                    let code = exit.ok().as_ref().and_then(exit_code);
                    self.connection.fail_all(ConnectionLoss { exit_code: code, ..loss });
                }
                self.process.terminate(self.limits.kill_grace_period, TerminationWait::Group).await;
            }
            ReaderStop::Finished => {
                self.connection.close_input().await;
                let _ = tokio::time::timeout(self.limits.kill_grace_period, self.process.wait()).await;
                self.process.terminate(self.limits.kill_grace_period, TerminationWait::Group).await;
            }
        }
        tracing::debug!(pid = self.connection.pid(), "a worker is gone");
        drop(self.process.finish());
        self.connection.ended.cancel();
    }

    async fn read_until_stop(&mut self) -> ReaderStop {
        let from = self.connection.lock_reader().pipe.clone();
        let (stop, finish) = (self.connection.stop.clone(), self.connection.finish.clone());
        let mut next_check = Instant::now() + LIMIT_CHECK_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return ReaderStop::Stopped,
                _ = from.readable() => match self.connection.read_available(|from, buffer| from.try_read(buffer)) {
                    // The task yields, so that a worker that never stops writing does not starve other tasks.
                    Ok(ReadProgress::Data | ReadProgress::Empty) => tokio::task::coop::consume_budget().await,
                    // If the process is about to end, its exit status is the better explanation.
                    Ok(ReadProgress::Closed) => return self.wait_after_eof().await,
                    Err(loss) => {
                        self.connection.fail_protocol(loss);
                        return ReaderStop::Stopped;
                    }
                },
                exit = self.process.wait() => return ReaderStop::Exited(exit),
                () = finish.cancelled() => return ReaderStop::Finished,
                () = sleep_until(next_check), if self.limits.max_memory_bytes.is_some() || self.limits.idle_timeout.is_some() => {
                    next_check = Instant::now() + LIMIT_CHECK_INTERVAL;
                    self.check_limits();
                }
            }
        }
    }

    /// Waits a moment for the end of a process that has closed its output, and ends it otherwise.
    async fn wait_after_eof(&mut self) -> ReaderStop {
        match tokio::time::timeout(LIMIT_CHECK_INTERVAL, self.process.wait()).await {
            Ok(exit) => ReaderStop::Exited(exit),
            Err(_) => {
                self.connection.fail_all(ConnectionLoss::new("it closed its output"));
                ReaderStop::Stopped
            }
        }
    }

    /// Checks the memory limit and the idle timeout.
    fn check_limits(&self) {
        let is_idle = self.connection.is_idle();
        let most =
            self.limits.max_memory_bytes.filter(|most| self.process.memory_bytes().is_some_and(|taken| taken > *most));
        match most {
            Some(_) if is_idle => self.connection.retire(),
            Some(most) => self.connection.abort(format!("it took more than {} MB of memory", most >> 20)),
            None => {}
        }
        let quiet = self.connection.lock_reader().last_read.elapsed();
        if is_idle && self.limits.idle_timeout.is_some_and(|longest| quiet >= longest) {
            tracing::debug!(pid = self.connection.pid(), "a worker has nothing to do");
            self.connection.retire();
        }
    }
}

fn exit_code(exit: &std::io::Result<Exit>) -> Option<i32> {
    match exit {
        Ok(Exit::Code(code)) => Some(*code),
        Ok(Exit::Signal(_)) | Err(_) => None,
    }
}

fn describe_exit(exit: std::io::Result<Exit>) -> String {
    match exit {
        Ok(Exit::Code(code)) => format!("ended with code {code}"),
        Ok(Exit::Signal(number)) => format!("was ended by {}", describe_signal(number)),
        Err(error) => format!("ended, and its exit status could not be read: {error}"),
    }
}
