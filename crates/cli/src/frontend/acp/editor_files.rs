//! The files of the editor: tools read unsaved text from it, and write through it.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{FileSystemCapabilities, ReadTextFileRequest, SessionId, WriteTextFileRequest};
use agent_client_protocol::{Client, Error};
use hookwright_tools::OpenFiles;
use tokio::runtime::Handle;

/// How long the editor may take to read or write a file.
const EDITOR_TIMEOUT: Duration = Duration::from_secs(10);

/// The files of a session's editor.
pub(super) struct EditorFiles {
    connection: ConnectionTo<Client>,
    session: SessionId,
    offered: FileSystemCapabilities,
    runtime: Handle,
    /// Whether the editor has let a request time out; it is not asked again.
    is_silent: AtomicBool,
}

impl EditorFiles {
    /// Must be called in the runtime of the connection.
    pub(super) fn new(connection: ConnectionTo<Client>, session: SessionId, offered: FileSystemCapabilities) -> Self {
        EditorFiles { connection, session, offered, runtime: Handle::current(), is_silent: AtomicBool::new(false) }
    }

    /// Waits for the editor's answer.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
        match self.runtime.block_on(async { tokio::time::timeout(EDITOR_TIMEOUT, answer).await }) {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => {
                self.is_silent.store(true, Ordering::Relaxed);
                Err(format!("it did not answer within {} seconds", EDITOR_TIMEOUT.as_secs()))
            }
        }
    }

    fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }
}

impl OpenFiles for EditorFiles {
    fn read(&self, path: &Path) -> Option<String> {
        if !self.offered.read_text_file || self.is_silent() {
            return None;
        }
        let request = ReadTextFileRequest::new(self.session.clone(), path);
        match self.wait(self.connection.send_request(request).block_task()) {
            Ok(response) => Some(response.content),
            Err(why) => {
                tracing::warn!(path = %path.display(), why, "the editor did not read a file; the one on disk counts");
                None
            }
        }
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        if !self.offered.write_text_file || self.is_silent() {
            return None;
        }
        let request = WriteTextFileRequest::new(self.session.clone(), path, text);
        Some(self.wait(self.connection.send_request(request).block_task()).map(drop))
    }
}

impl fmt::Debug for EditorFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EditorFiles")
    }
}
