//! Processes on Windows: `taskkill /T` ends a process and its children. Pipes are the runtime's own.

use std::collections::HashSet;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Program, Waited};
use crate::answer::Captured;
use crate::input::HookInput;

/// A running process.
pub(crate) struct Process {
    child: tokio::process::Child,
    id: u32,
    stdout: Arc<Mutex<Capture>>,
    stderr: Arc<Mutex<Capture>>,
    groups: Arc<Groups>,
    reaped: bool,
}

impl Process {
    /// Starts a program; input and output move on tasks of their own.
    pub(crate) fn spawn(
        program: &mut Program<'_>,
        input: &HookInput,
        bound: usize,
        groups: &Arc<Groups>,
    ) -> io::Result<Process> {
        let mut child = tokio::process::Command::new(program.path)
            .args(program.args)
            .current_dir(program.cwd)
            .env_clear()
            .envs(&mut *program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let id = child.id().ok_or(io::ErrorKind::NotFound)?;
        groups.lock().insert(id);
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.clone();
            tokio::spawn(async move {
                for piece in input.pieces() {
                    if stdin.write_all(piece).await.is_err() {
                        return;
                    }
                }
            });
        }
        let stdout = Capture::start(child.stdout.take(), bound);
        let stderr = Capture::start(child.stderr.take(), bound);
        Ok(Process { child, id, stdout, stderr, groups: groups.clone(), reaped: false })
    }

    /// Waits until the process itself has ended.
    pub(crate) async fn wait(&mut self) -> Waited {
        let status = self.child.wait().await;
        self.reaped = true;
        // The readers run beside us: let them take what the process left in its pipes.
        tokio::time::sleep(Duration::from_millis(10)).await;
        status.map_or_else(Waited::Lost, Waited::Exited)
    }

    /// Ends the process and its children.
    pub(crate) async fn end(&mut self, grace: Duration) {
        if !self.reaped {
            self.groups.kill(self.id);
            let _ = tokio::time::timeout(grace, self.wait()).await;
        }
    }

    /// What it printed.
    pub(crate) fn finish(self) -> (Captured, Captured, bool) {
        let take = |capture: &Mutex<Capture>| {
            let capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            Captured::decode(&capture.kept, capture.bytes)
        };
        self.groups.lock().remove(&self.id);
        (take(&self.stdout), take(&self.stderr), false)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            self.groups.kill(self.id);
        }
    }
}

/// The processes that may still run.
#[derive(Debug, Default)]
pub(crate) struct Groups(Mutex<HashSet<u32>>);

impl Groups {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self, id: u32) {
        let _ = std::process::Command::new("taskkill")
            .args(["/pid", &id.to_string(), "/t", "/f"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        self.lock().remove(&id);
    }

    /// Ends every process.
    pub(crate) async fn end_all(&self, _grace: Duration) {
        self.kill_all();
    }

    /// Ends every process.
    pub(crate) fn kill_all(&self) {
        let ids: Vec<u32> = self.lock().iter().copied().collect();
        ids.into_iter().for_each(|id| self.kill(id));
    }
}

#[derive(Default)]
struct Capture {
    kept: Vec<u8>,
    bytes: u64,
}

impl Capture {
    fn start(pipe: Option<impl tokio::io::AsyncRead + Unpin + Send + 'static>, bound: usize) -> Arc<Mutex<Capture>> {
        let capture = Arc::new(Mutex::new(Capture::default()));
        if let Some(mut pipe) = pipe {
            let target = capture.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 64 << 10];
                while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
                    let mut target = target.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = (bound - target.kept.len()).min(read);
                    target.kept.extend_from_slice(&buffer[..room]);
                    target.bytes += read as u64;
                }
            });
        }
        capture
    }
}
