//! Why a worker's process is not there any more, and what of its end counts for whom. What follows from that is `mod.rs`.

/// A number that no request has: it is the greeting's.
const NO_REQUEST_ID: u64 = 0;

/// Why a process is not there any more.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLoss {
    /// In words, in which the process is "it".
    pub(super) text: String,
    /// It said a line that was too long.
    pub(super) truncated_line: Option<TruncatedLine>,
    /// The code that it ended with by itself.
    pub(super) exit_code: Option<i32>,
}

impl ConnectionLoss {
    pub(super) fn new(text: impl Into<String>) -> Self {
        ConnectionLoss { text: text.into(), truncated_line: None, exit_code: None }
    }

    /// The same for who asked under this number: of what was cut off, a no to them is all that counts.
    pub(super) fn for_request(&self, id: u64) -> ConnectionLoss {
        let mut own = self.clone();
        if let Some(cut_off) = &mut own.truncated_line {
            cut_off.deny.take_if(|(whose, _)| *whose != id);
        }
        own
    }

    /// The same for whoever comes later: they were answered nothing.
    pub(super) fn for_later_requests(&self) -> ConnectionLoss {
        self.for_request(NO_REQUEST_ID)
    }

    /// Nobody knows why.
    pub(super) fn unknown() -> Self {
        ConnectionLoss::new("it went away")
    }

    /// Whether its end was an answer: what is a no from a command is none the less one from the same script as a worker.
    pub(super) fn is_deny(&self) -> bool {
        self.exit_code == Some(2)
    }
}

/// A line that was too long.
#[derive(Clone, Debug)]
pub(super) struct TruncatedLine {
    /// How much had come of it by then.
    pub(super) bytes: u64,
    /// The no that it begins with, and the number of the request that this answers. A yes may have had another end.
    pub(super) deny: Option<(u64, String)>,
}
