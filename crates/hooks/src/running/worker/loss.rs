//! Why a worker process is gone, and what its end means for each request. `mod.rs` decides what follows.

/// An id that no request has: the hello uses it.
const NO_REQUEST_ID: u64 = 0;

/// Why a worker process is gone.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLoss {
    /// The reason as text, in which the process is "it".
    pub(super) text: String,
    /// The line that exceeded the maximum length, if there was one.
    pub(super) truncated_line: Option<TruncatedLine>,
    /// The exit code, if the process ended by itself.
    pub(super) exit_code: Option<i32>,
}

impl ConnectionLoss {
    pub(super) fn new(text: impl Into<String>) -> Self {
        ConnectionLoss { text: text.into(), truncated_line: None, exit_code: None }
    }

    /// The same loss for one request: of a truncated line, only a deny of this request counts.
    pub(super) fn for_request(&self, id: u64) -> ConnectionLoss {
        let mut own = self.clone();
        if let Some(cut_off) = &mut own.truncated_line {
            cut_off.deny.take_if(|(request_id, _)| *request_id != id);
        }
        own
    }

    /// The same loss for later requests, which have received no answer.
    pub(super) fn for_later_requests(&self) -> ConnectionLoss {
        self.for_request(NO_REQUEST_ID)
    }

    /// A loss without a known reason.
    pub(super) fn unknown() -> Self {
        ConnectionLoss::new("it is gone")
    }

    /// Whether the process ended with exit code 2, which is a deny as for a command.
    pub(super) fn is_deny(&self) -> bool {
        self.exit_code == Some(2)
    }
}

/// A line that exceeded the maximum length.
#[derive(Clone, Debug)]
pub(super) struct TruncatedLine {
    /// The number of bytes of the line that were read.
    pub(super) bytes: u64,
    /// The deny at the start of the line, and the id of the request that it answers. An allow might have been followed
    /// by something else, and does not count.
    pub(super) deny: Option<(u64, String)>,
}
