//! Why a worker's process is not there any more, and what of its end counts for whom. What follows from that is `mod.rs`.

/// A number that no request has: it is the greeting's.
const NOBODY: u64 = 0;

/// Why a process is not there any more.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// In words, in which the process is "it".
    pub(super) text: String,
    /// It said a line that was too long.
    pub(super) cut_off: Option<CutOff>,
    /// The code that it ended with by itself.
    pub(super) code: Option<i32>,
}

impl Loss {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Loss { text: text.into(), cut_off: None, code: None }
    }

    /// The same for who asked under this number: of what was cut off, a no to them is all that counts.
    pub(super) fn of(&self, id: u64) -> Loss {
        let mut own = self.clone();
        if let Some(cut_off) = &mut own.cut_off {
            cut_off.no.take_if(|(whose, _)| *whose != id);
        }
        own
    }

    /// The same for whoever comes later: they were answered nothing.
    pub(super) fn of_nobody(&self) -> Loss {
        self.of(NOBODY)
    }

    /// Nobody knows why.
    pub(super) fn unknown() -> Self {
        Loss::new("it went away")
    }

    /// Whether its end was an answer: what is a no from a command is none the less one from the same script as a worker.
    pub(super) fn is_no(&self) -> bool {
        self.code == Some(2)
    }
}

/// A line that was too long.
#[derive(Clone, Debug)]
pub(super) struct CutOff {
    /// How much had come of it by then.
    pub(super) bytes: u64,
    /// The no that it begins with, and the number of the request that this answers. A yes may have had another end.
    pub(super) no: Option<(u64, String)>,
}
