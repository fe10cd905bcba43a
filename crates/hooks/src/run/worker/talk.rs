//! One worker process from its start to its end: what was asked of it and is not answered yet. When one is started, and
//! what its end means for the next, is `mod.rs`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_process::{Exit, Hearing, Pipes, Process, Speaking, Until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::line::{self, Word};
use super::refs::Refs;
use crate::answer::named;
use crate::input::HookInput;

/// How much of its log is kept for those who ask why it failed.
const LOG: usize = 8 << 10;
/// How often its memory is looked at, and whether it is idle.
const GLANCE: Duration = Duration::from_millis(250);
/// So many lines in a row that nobody waits for are a flood.
const MOST_STRAYS: u32 = 1000;
/// What stands around an answer in its line.
const FRAME: usize = 4 << 10;

/// What one process is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The longest answer, in bytes.
    pub(super) answer: usize,
    /// The most memory, in bytes.
    pub(super) memory: Option<u64>,
    /// How long it may have nothing to do.
    pub(super) idle: Option<Duration>,
    /// How long it may take to finish, and then to obey.
    pub(super) grace: Duration,
}

/// What came of a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// What a command would have printed.
    Answer(String),
    /// The worker says that it failed.
    Failure(String),
    /// The process was gone, or had to go, before it answered.
    Lost(Loss),
    /// The process was gone before it had read the request: it can be asked of another.
    Unread(Loss),
}

/// Why a process is not there any more.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// In words.
    pub(super) text: String,
    /// The beginning of an answer that was too long, and how much had come of it by then.
    pub(super) cut_off: Option<(String, u64)>,
}

impl Loss {
    fn new(text: impl Into<String>) -> Self {
        Loss { text: text.into(), cut_off: None }
    }
}

/// A process that is spoken to.
pub(super) struct Talk {
    pid: u32,
    speech: tokio::sync::Mutex<Speech>,
    book: Mutex<Book>,
    log: Arc<Mutex<VecDeque<u8>>>,
    /// It is to go at once; why is in the book.
    stop: CancellationToken,
    /// It is to finish what it does, and go.
    finish: CancellationToken,
    /// It is gone.
    over: CancellationToken,
}

/// What is said to it, one after the other.
struct Speech {
    pipe: Option<Speaking>,
    next_id: u64,
    /// How many bytes have been said, and where the last request begins in them.
    said: u64,
    last: u64,
    /// Whether it is to be greeted before it is sent anything large.
    greets: bool,
    refs: Refs,
}

/// Who waits for what.
#[derive(Default)]
struct Book {
    waiting: HashMap<u64, Waiting>,
    /// Why nothing more can be asked.
    closed: Option<Closed>,
    /// Lines of any kind.
    heard: u64,
    answered: u64,
    /// Lines in a row that nobody waited for.
    strays: u32,
    dropped: u64,
    greeting: Greeting,
}

/// Somebody who waits for an answer.
struct Waiting {
    sender: oneshot::Sender<Reply>,
    /// Where the request begins in all that was said; nowhere until it is.
    from: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Greeting {
    #[default]
    None,
    Said,
    Answered {
        refs: bool,
    },
}

/// Why nothing more can be asked of a process.
#[derive(Clone, Debug)]
pub(super) enum Closed {
    /// Nobody needs it any more.
    Retired,
    /// It failed.
    Lost(Loss),
}

impl Talk {
    /// Goes on with a process that has just been started.
    pub(super) fn with(pipes: Pipes, log: Arc<Mutex<VecDeque<u8>>>, bounds: Bounds, greets: bool) -> Arc<Self> {
        let Pipes { process, to, from } = pipes;
        let speech = Speech { pipe: Some(to), next_id: 1, said: 0, last: u64::MAX, greets, refs: Refs::default() };
        let talk = Arc::new(Talk {
            pid: process.pid(),
            speech: tokio::sync::Mutex::new(speech),
            book: Mutex::default(),
            log,
            stop: CancellationToken::new(),
            finish: CancellationToken::new(),
            over: CancellationToken::new(),
        });
        let listening = Listening { talk: talk.clone(), process, from, heard: Vec::new(), bounds };
        tokio::spawn(listening.until_it_is_gone());
        talk
    }

    /// Asks it something and waits for the answer, however long that takes. Safe to drop: the answer is then dropped too.
    pub(super) async fn ask(&self, input: &HookInput) -> Result<Reply, Closed> {
        let mut speech = self.speech.lock().await;
        let id = speech.next_id;
        let (sender, answer) = oneshot::channel();
        let _asked = self.enter(id, sender)?;
        speech.next_id += 1;
        self.say(&mut speech, id, input).await;
        drop(speech);
        // Whoever ends it tells everybody who waits.
        Ok(answer.await.unwrap_or_else(|_| Reply::Lost(Loss::new("its worker went away"))))
    }

    fn enter(&self, id: u64, sender: oneshot::Sender<Reply>) -> Result<Asked<'_>, Closed> {
        let mut book = self.book();
        if let Some(closed) = &book.closed {
            return Err(closed.clone());
        }
        book.waiting.insert(id, Waiting { sender, from: u64::MAX });
        Ok(Asked { talk: self, id })
    }

    async fn say(&self, speech: &mut Speech, id: u64, input: &HookInput) {
        let Speech { pipe, said, last, greets, refs, .. } = speech;
        let Some(pipe) = pipe else { return };
        // A line that is given up halfway leaves a process that nobody can speak to.
        let mut halfway = Halfway { talk: self, done: false };
        let mut pieces = Vec::new();
        if *greets && input.layout().is_some() {
            *greets = false;
            self.book().greeting = Greeting::Said;
            pieces.push(bytes::Bytes::from_static(line::HELLO));
        }
        let takes_refs = self.book().greeting == Greeting::Answered { refs: true };
        let greeted: usize = pieces.iter().map(bytes::Bytes::len).sum();
        pieces.extend(line::request(id, input, takes_refs.then_some(refs)));
        *last = *said + greeted as u64;
        if let Some(waiting) = self.book().waiting.get_mut(&id) {
            waiting.from = *last;
        }
        *said += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        for piece in pieces {
            if let Err(error) = pipe.write_all(&piece).await {
                // One that has ended says why by its end, which is seen elsewhere.
                tracing::debug!(pid = self.pid, %error, "a worker does not read what it is sent");
                if let Some(waiting) = self.book().waiting.get_mut(&id) {
                    waiting.from = u64::MAX;
                }
                halfway.done = true;
                tokio::time::sleep(GLANCE).await;
                self.break_off("its worker does not listen any more");
                return;
            }
        }
        halfway.done = true;
    }

    /// Whether it can be asked something.
    pub(super) fn is_open(&self) -> bool {
        self.book().closed.is_none()
    }

    /// Why it failed, if it did.
    pub(super) fn loss(&self) -> Option<Loss> {
        match &self.book().closed {
            Some(Closed::Lost(loss)) => Some(loss.clone()),
            _ => None,
        }
    }

    /// How many lines it has said: one that says none while somebody waits is deaf.
    pub(super) fn heard(&self) -> u64 {
        self.book().heard
    }

    /// How many answers it has given to those who waited, and how many to nobody.
    pub(super) fn counts(&self) -> (u64, u64) {
        let book = self.book();
        (book.answered, book.dropped)
    }

    /// Whether it ended with the greeting unanswered, and before it had answered anything.
    pub(super) fn ended_at_greeting(&self) -> bool {
        let book = self.book();
        book.greeting == Greeting::Said && book.answered == 0 && matches!(book.closed, Some(Closed::Lost(_)))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The end of its log.
    pub(super) fn log(&self) -> String {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(log.make_contiguous()).into_owned()
    }

    /// Lets it finish what it was asked, and then go.
    pub(super) fn retire(&self) {
        let mut book = self.book();
        book.closed.get_or_insert(Closed::Retired);
        if book.waiting.is_empty() {
            self.finish.cancel();
        }
    }

    /// Ends it; whoever waits is told why.
    pub(super) fn break_off(&self, why: impl Into<String>) {
        self.lose(Loss::new(why));
        self.stop.cancel();
    }

    /// Waits until it is gone.
    pub(super) async fn gone(&self) {
        self.over.cancelled().await;
    }

    fn lose(&self, loss: Loss) {
        self.lose_from(loss, u64::MAX);
    }

    /// Tells everybody who waits; whose request begins behind what was read can ask another.
    fn lose_from(&self, loss: Loss, read: u64) {
        let mut book = self.book();
        if !matches!(book.closed, Some(Closed::Lost(_))) {
            book.closed = Some(Closed::Lost(loss.clone()));
        }
        for (_, Waiting { sender, from }) in book.waiting.drain() {
            let reply = if from >= read { Reply::Unread } else { Reply::Lost };
            let _ = sender.send(reply(loss.clone()));
        }
    }

    /// How much of what was said to it the process has read, now that it is gone; all of it, if that can't be told.
    fn read(&self) -> u64 {
        // Whoever is in the middle of saying something hears that nobody listens.
        let Ok(speech) = self.speech.try_lock() else { return u64::MAX };
        // What is unread is the end of it: the last request was not read as a whole.
        let unread = speech.pipe.as_ref().is_some_and(hookwright_process::left_unread);
        if unread { speech.last } else { u64::MAX }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It said something to nobody; too much of that is a flood.
    fn stray(&self) -> Result<(), Loss> {
        let mut book = self.book();
        book.strays += 1;
        if book.strays > MOST_STRAYS { Err(Loss::new("it floods with lines that nobody asked for")) } else { Ok(()) }
    }

    /// What it said, for whoever waits for it; why that can't go on, if it can't.
    fn hear(&self, line: &[u8]) -> Result<(), Loss> {
        let Some(word) = line::read(line) else { return self.stray() };
        self.book().heard += 1;
        let (id, reply) = match word {
            Word::Answer(id, text) => (id, Reply::Answer(text)),
            Word::Failure(id, text) => (id, Reply::Failure(text)),
            Word::Features { refs } => {
                self.book().greeting = Greeting::Answered { refs };
                return Ok(());
            }
            Word::Garbage(text) => return Err(Loss::new(text)),
        };
        let mut book = self.book();
        let Some(waiting) = book.waiting.remove(&id) else {
            book.dropped += 1;
            tracing::debug!(pid = self.pid, id, "an answer that nobody waits for");
            drop(book);
            return self.stray();
        };
        book.answered += 1;
        book.strays = 0;
        let _ = waiting.sender.send(reply);
        if book.closed.is_some() && book.waiting.is_empty() {
            self.finish.cancel();
        }
        Ok(())
    }
}

/// Somebody's place in the book, until they go.
struct Asked<'a> {
    talk: &'a Talk,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut book = self.talk.book();
        let gave_up = book.waiting.remove(&self.id).is_some();
        if gave_up && book.closed.is_some() && book.waiting.is_empty() {
            self.talk.finish.cancel();
        }
    }
}

/// A line that is being said.
struct Halfway<'a> {
    talk: &'a Talk,
    done: bool,
}

impl Drop for Halfway<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.talk.break_off("it did not read what it was sent");
        }
    }
}

/// The side that hears what the process says, and sees to its end.
struct Listening {
    talk: Arc<Talk>,
    process: Process,
    from: Hearing,
    heard: Vec<u8>,
    bounds: Bounds,
}

/// Why the listening ends.
enum Over {
    Exited(std::io::Result<Exit>),
    Stopped,
    Finished,
}

impl Listening {
    async fn until_it_is_gone(mut self) {
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
                self.talk.speech.lock().await.pipe = None;
                let _ = tokio::time::timeout(self.bounds.grace, self.process.wait()).await;
                self.process.end(self.bounds.grace, Until::GroupGone).await;
            }
        }
        tracing::debug!(pid = self.talk.pid, "a worker is gone");
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
        let is_idle = self.talk.book().waiting.is_empty();
        let most = self.bounds.memory.filter(|most| self.process.memory().is_some_and(|taken| taken > *most));
        match most {
            Some(_) if is_idle => self.talk.retire(),
            Some(most) => self.talk.break_off(format!("its worker took more than {} MB of memory", most >> 20)),
            None => {}
        }
        if is_idle && self.bounds.idle.is_some_and(|longest| quiet_since.elapsed() >= longest) {
            tracing::debug!(pid = self.talk.pid, "a worker has nothing to do");
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

/// Where a process's log goes: to ours, and of its end some is kept.
pub(super) fn logging() -> (Arc<Mutex<VecDeque<u8>>>, hookwright_process::Live) {
    let log: Arc<Mutex<VecDeque<u8>>> = Arc::default();
    let kept = log.clone();
    let live = move |piece: &[u8]| {
        tracing::debug!(text = %String::from_utf8_lossy(piece).trim_end(), "a worker's log");
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&piece[piece.len().saturating_sub(LOG)..]);
        let over = kept.len().saturating_sub(LOG);
        kept.drain(..over);
    };
    (log, Box::new(live))
}
