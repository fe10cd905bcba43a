//! One worker process from its start to its end: what was asked of it and is not answered yet. When one is started, and
//! what its end means for the next, is `mod.rs`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hookwright_process::{Pipes, Speaking};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::line::{self, Word};
use super::listen::Listening;
use super::refs::Refs;
use crate::input::HookInput;

/// How much of its log is kept for those who ask why it failed.
const LOG: usize = 8 << 10;
/// How often its memory is looked at, and whether it is idle.
pub(super) const GLANCE: Duration = Duration::from_millis(250);
/// Of a worker that answers within this, the next answer is waited for awake, for as long at most: to fall asleep and to be
/// woken takes a thread longer than such a worker takes for its answer.
const QUICK: Duration = Duration::from_micros(150);
/// So many lines in a row that nobody waits for are a flood.
const MOST_STRAYS: u32 = 1000;

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
    pub(super) fn new(text: impl Into<String>) -> Self {
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
    pub(super) stop: CancellationToken,
    /// It is to finish what it does, and go.
    pub(super) finish: CancellationToken,
    /// It is gone.
    pub(super) over: CancellationToken,
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
    /// How long the last answer took.
    pace: Duration,
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
            book: Mutex::new(Book { pace: Duration::MAX, ..Book::default() }),
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
        let said = Instant::now();
        let answer = self.awaited(answer, said).await;
        self.book().pace = said.elapsed();
        // Whoever ends it tells everybody who waits.
        Ok(answer.unwrap_or_else(|_| Reply::Lost(Loss::new("its worker went away"))))
    }

    /// Waits for an answer; awake for a moment, if the one before came at once.
    async fn awaited(
        &self,
        mut answer: oneshot::Receiver<Reply>,
        said: Instant,
    ) -> Result<Reply, oneshot::error::RecvError> {
        let was_quick = self.book().pace < QUICK;
        while was_quick && said.elapsed() < QUICK {
            tokio::select! {
                biased;
                reply = &mut answer => return reply,
                () = tokio::task::yield_now() => {}
            }
        }
        answer.await
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

    /// Whether nobody waits for anything.
    pub(super) fn is_idle(&self) -> bool {
        self.book().waiting.is_empty()
    }

    /// Says no more: the process reads the end of its input.
    pub(super) async fn close(&self) {
        self.speech.lock().await.pipe = None;
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

    pub(super) fn lose(&self, loss: Loss) {
        self.lose_from(loss, u64::MAX);
    }

    /// Tells everybody who waits; whose request begins behind what was read can ask another.
    pub(super) fn lose_from(&self, loss: Loss, read: u64) {
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
    pub(super) fn read(&self) -> u64 {
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
    pub(super) fn hear(&self, line: &[u8]) -> Result<(), Loss> {
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
