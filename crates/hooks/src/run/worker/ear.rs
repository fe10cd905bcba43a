//! What a worker's process says, as lines, whoever reads them: the side that listens, or somebody who has just asked and
//! waits awake. Who waits for which line is `talk.rs`.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_process::Hearing;

use super::line;
use super::loss::{CutOff, Loss};

/// What stands around an answer in its line.
const FRAME: usize = 4 << 10;
/// Of a worker that answers within this, the next answer is waited for awake, for as long at most: to fall asleep and to be
/// woken takes a thread longer than such a worker takes for its answer.
pub(super) const QUICK: Duration = Duration::from_micros(150);
/// So many answers are waited for asleep after one was waited for awake in vain: the worker may want the very processor that
/// this takes from it. After each more in a row, twice as many.
const FIRST_NAP: u32 = 8;
const LONGEST_NAP: u32 = 512;

/// The side of a process that is heard.
pub(super) struct Ear {
    pub(super) from: Arc<Hearing>,
    /// The beginning of a line.
    begun: Vec<u8>,
    buffer: Vec<u8>,
    /// The longest answer, in bytes.
    longest: usize,
    pub(super) quiet_since: Instant,
}

/// What one look brought.
pub(super) enum Heard {
    Something,
    Nothing,
    /// Nobody will ever hear from it again.
    End,
}

impl Ear {
    pub(super) fn new(from: Hearing, longest: usize) -> Self {
        let quiet_since = Instant::now();
        Ear { from: Arc::new(from), begun: Vec::new(), buffer: vec![0; 64 << 10], longest, quiet_since }
    }

    /// Whether it has said half a line.
    pub(super) fn is_halfway(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Hears what is there, without waiting for it; why that can't go on, if it can't.
    pub(super) fn hear(
        &mut self,
        read: impl Fn(&Hearing, &mut [u8]) -> io::Result<usize>,
        line: impl Fn(&[u8]) -> Result<(), Loss>,
    ) -> Result<Heard, Loss> {
        let count = match read(&self.from, &mut self.buffer) {
            Ok(0) => return Ok(Heard::End),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(Heard::Nothing);
            }
            Err(_) => return Ok(Heard::End),
        };
        self.quiet_since = Instant::now();
        let Ear { begun, buffer, longest, .. } = self;
        let most = *longest + FRAME;
        let mut said = &buffer[..count];
        while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            let (rest, after) = (&said[..end], &said[end + 1..]);
            if begun.len() + rest.len() > most {
                begun.extend_from_slice(rest);
                return Err(too_long(begun, *longest));
            }
            if begun.is_empty() {
                line(rest)?;
            } else {
                begun.extend_from_slice(rest);
                line(begun)?;
                begun.clear();
            }
            said = after;
        }
        begun.extend_from_slice(said);
        if begun.len() > most { Err(too_long(begun, *longest)) } else { Ok(Heard::Something) }
    }
}

fn too_long(line: &[u8], longest: usize) -> Loss {
    let text = format!("it said a line of more than {longest} bytes");
    let kept = String::from_utf8_lossy(&line[..line.len().min(longest)]);
    let is_answer = kept.trim_start().starts_with('{');
    let no = line::no_in(&kept).map(|(id, answer)| (id, answer.to_owned()));
    let cut_off = is_answer.then_some(CutOff { bytes: line.len() as u64, no });
    Loss { cut_off, ..Loss::new(text) }
}

/// Whether the next answer is worth waiting for awake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wakefulness {
    is_quick: bool,
    /// How many are waited for asleep before that is tried again, and how many there were last time.
    nap: u32,
    last_nap: u32,
}

impl Wakefulness {
    /// Whether to wait awake now.
    pub(super) fn is_awake(&mut self) -> bool {
        let rested = self.nap == 0;
        self.nap = self.nap.saturating_sub(1);
        rested && self.is_quick
    }

    /// An answer came after so long.
    pub(super) fn learn(&mut self, took: Duration, waited: Waited) {
        self.is_quick = took < QUICK;
        match waited {
            Waited::Awake => self.last_nap = 0,
            // That it came soon to who slept says nothing: it may be that it came because of that.
            Waited::Asleep => {}
            Waited::InVain => {
                self.last_nap = (self.last_nap * 2).clamp(FIRST_NAP, LONGEST_NAP);
                self.nap = self.last_nap;
            }
        }
    }
}

/// How an answer was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Awake,
    Asleep,
    /// Awake for a moment, and asleep when it did not come.
    InVain,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(20);
    const LONG: Duration = Duration::from_millis(1);

    #[test]
    fn only_quick_workers_are_waited_for_awake() {
        let mut wakefulness = Wakefulness::default();
        assert!(!wakefulness.is_awake(), "nobody knows it yet");
        wakefulness.learn(SHORT, Waited::Asleep);
        assert!(wakefulness.is_awake());
        wakefulness.learn(SHORT, Waited::Awake);
        assert!(wakefulness.is_awake());
        wakefulness.learn(LONG, Waited::InVain);
        assert!(!wakefulness.is_awake());
    }

    #[test]
    fn waiting_in_vain_makes_sleepy_and_more_so_every_time() {
        let mut wakefulness = Wakefulness::default();
        wakefulness.learn(SHORT, Waited::Asleep);
        let mut naps = Vec::new();
        for _ in 0..8 {
            assert!(wakefulness.is_awake());
            wakefulness.learn(LONG, Waited::InVain);
            let mut asleep = 0;
            // Who sleeps leaves it the processor, and so it answers soon.
            while !wakefulness.is_awake() {
                asleep += 1;
                wakefulness.learn(SHORT, Waited::Asleep);
            }
            naps.push(asleep);
            wakefulness.nap = 0;
        }
        assert_eq!(naps, [8, 16, 32, 64, 128, 256, 512, 512]);
        assert!(wakefulness.is_awake());
        wakefulness.learn(SHORT, Waited::Awake);
        assert!(wakefulness.is_awake());
        wakefulness.learn(LONG, Waited::InVain);
        assert_eq!(wakefulness.nap, FIRST_NAP, "a success wipes the slate");
    }
}
