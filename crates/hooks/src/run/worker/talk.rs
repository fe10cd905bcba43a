//! One worker process from its start to its end: what was asked of it and is not answered yet. When one is started, and
//! what its end means for the next, is `mod.rs`.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hookwright_process::{Hearing, Pipes, Speaking};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::Patience;
use super::ear::{Ear, Heard, QUICK, Waited, Wakefulness};
use super::line::{self, Word};
use super::listen::Listening;
use super::log::{self, SharedLog};
use super::loss::Loss;
use super::refs::Refs;
use crate::input::HookInput;

/// How often its memory is looked at, and whether it is idle.
pub(super) const GLANCE: Duration = Duration::from_millis(250);
/// Before so much is sent, it is waited whether the greeting is answered: it would be sent twice otherwise.
const LARGE: usize = 256 << 10;
/// For so long: who knows greetings has started by then and answers at once, who does not will never answer.
const GREETED: Duration = Duration::from_millis(300);
/// So many lines in a row that nobody waits for are a flood.
const MOST_STRAYS: u32 = 1000;

/// No request has a lower number.
const FIRST_ID: u64 = 1 << 20;
/// The largest step from one request's number to the next. Numbers are drawn, so that only a process that has read a request
/// can answer it; they stay below 2^53 for half a billion requests.
const MAX_ID_STEP: u64 = 1 << 24;

/// The number of a request behind that one.
fn id_after(last: u64) -> u64 {
    last + 1 + RandomState::new().hash_one(last) % MAX_ID_STEP
}

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

/// A process that is spoken to.
pub(super) struct Talk {
    pid: u32,
    speech: tokio::sync::Mutex<Speech>,
    book: Mutex<Book>,
    ear: Mutex<Ear>,
    /// The greeting is answered.
    greeted: Notify,
    log: SharedLog,
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
    /// The highest number that was asked under.
    last_asked: u64,
    /// Why nothing more can be asked.
    closed: Option<Closed>,
    /// What was wrong with what it said.
    spoilt: Option<Loss>,
    /// Lines of any kind.
    heard: u64,
    answered: u64,
    /// Lines in a row that nobody waited for.
    strays: u32,
    dropped: u64,
    greeting: Greeting,
    wakefulness: Wakefulness,
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
    pub(super) fn with(pipes: Pipes, log: SharedLog, bounds: Bounds, greets: bool) -> Arc<Self> {
        let Pipes { process, to, from } = pipes;
        let speech = Speech {
            pipe: Some(to),
            next_id: id_after(FIRST_ID),
            said: 0,
            last: u64::MAX,
            greets,
            refs: Refs::default(),
        };
        let talk = Arc::new(Talk {
            pid: process.pid(),
            speech: tokio::sync::Mutex::new(speech),
            book: Mutex::default(),
            ear: Mutex::new(Ear::new(from, bounds.answer)),
            greeted: Notify::new(),
            log,
            stop: CancellationToken::new(),
            finish: CancellationToken::new(),
            over: CancellationToken::new(),
        });
        let listening = Listening { talk: talk.clone(), process, bounds };
        tokio::spawn(listening.until_it_is_gone());
        talk
    }

    /// Asks it something and waits for the answer, however long that takes. Safe to drop: the answer is then dropped too.
    pub(super) async fn ask(&self, input: &HookInput, patience: Patience) -> Result<Reply, Closed> {
        let mut speech = self.speech.lock().await;
        let id = speech.next_id;
        let (sender, mut answer) = oneshot::channel();
        let _asked = self.enter(id, sender)?;
        speech.next_id = id_after(id);
        self.say(&mut speech, id, input).await;
        drop(speech);
        let said = Instant::now();
        let awake = patience == Patience::Awake && self.book().wakefulness.is_awake();
        let at_once = if awake { self.await_awake(&mut answer, said) } else { None };
        let waited = match (awake, &at_once) {
            (true, Some(_)) => Waited::Awake,
            (true, None) => Waited::InVain,
            (false, _) => Waited::Asleep,
        };
        let answer = match at_once {
            Some(reply) => reply,
            // Whoever ends it tells everybody who waits.
            None => answer.await.unwrap_or_else(|_| Reply::Lost(Loss::unknown())),
        };
        self.book().wakefulness.learn(said.elapsed(), waited);
        Ok(answer)
    }

    /// Waits for an answer for a moment, without falling asleep.
    fn await_awake(&self, answer: &mut oneshot::Receiver<Reply>, said: Instant) -> Option<Reply> {
        while said.elapsed() < QUICK && self.is_open() {
            // Its end is seen elsewhere, too.
            if let Err(loss) = self.listen(hookwright_process::hear_now) {
                self.spoil(loss);
                return None;
            }
            match answer.try_recv() {
                Ok(reply) => return Some(reply),
                Err(TryRecvError::Closed) => return Some(Reply::Lost(Loss::unknown())),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        None
    }

    /// Hears what is there, and tells those who wait for it; why that can't go on, if it can't.
    pub(super) fn listen(&self, read: impl Fn(&Hearing, &mut [u8]) -> std::io::Result<usize>) -> Result<Heard, Loss> {
        self.ear().hear(read, |line| self.hear(line))
    }

    pub(super) fn ear(&self) -> MutexGuard<'_, Ear> {
        self.ear.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, id: u64, sender: oneshot::Sender<Reply>) -> Result<Asked<'_>, Closed> {
        let mut book = self.book();
        if let Some(closed) = &book.closed {
            return Err(closed.clone());
        }
        book.last_asked = id;
        book.waiting.insert(id, Waiting { sender, from: u64::MAX });
        Ok(Asked { talk: self, id })
    }

    async fn say(&self, speech: &mut Speech, id: u64, input: &HookInput) {
        if speech.greets && input.layout().is_some() && input.len() > LARGE {
            self.greet_first(speech).await;
        }
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
                self.break_off("it does not listen any more");
                return;
            }
        }
        halfway.done = true;
    }

    /// Says the greeting ahead of what is large, and waits for the answer for a moment.
    async fn greet_first(&self, speech: &mut Speech) {
        let Speech { pipe: Some(pipe), said, greets, .. } = speech else { return };
        let answered = self.greeted.notified();
        let mut halfway = Halfway { talk: self, done: false };
        let written = pipe.write_all(line::HELLO).await;
        halfway.done = true;
        if written.is_err() {
            // What follows will fail as well, and says so.
            return;
        }
        *greets = false;
        *said += line::HELLO.len() as u64;
        self.book().greeting = Greeting::Said;
        tokio::select! {
            () = answered => {}
            // Whoever waits for it has been told.
            () = self.over.cancelled() => speech.pipe = None,
            () = tokio::time::sleep(GREETED) => {}
        }
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

    /// How much it has logged so far, in bytes.
    pub(super) fn logged(&self) -> u64 {
        log::length(&self.log)
    }

    /// What it has logged since then, as far as that is kept.
    pub(super) fn log_since(&self, then: u64) -> String {
        log::since(&self.log, then)
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

    /// It said what is no answer: nothing more is asked of it, and it is ended. Whoever waits is told when it is known whether
    /// it was about to end by itself, which says more.
    pub(super) fn spoil(&self, loss: Loss) {
        if loss.cut_off.is_some() {
            self.lose(loss);
        } else {
            let mut book = self.book();
            book.closed.get_or_insert_with(|| Closed::Lost(loss.clone()));
            book.spoilt.get_or_insert(loss);
        }
        self.stop.cancel();
    }

    /// What was wrong with what it said, if that was why it was ended.
    pub(super) fn spoilt(&self) -> Option<Loss> {
        self.book().spoilt.clone()
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
            // Whoever comes later was answered nothing.
            book.closed = Some(Closed::Lost(loss.of_nobody()));
        }
        for (id, Waiting { sender, from }) in book.waiting.drain() {
            let reply = if from >= read { Reply::Unread } else { Reply::Lost };
            let _ = sender.send(reply(loss.of(id)));
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
    fn hear(&self, line: &[u8]) -> Result<(), Loss> {
        let Some(word) = line::read(line) else { return self.stray() };
        self.book().heard += 1;
        let (id, reply) = match word {
            Word::Answer(id, text) => (id, Reply::Answer(text)),
            Word::Failure(id, text) => (id, Reply::Failure(text)),
            Word::Features { refs } => {
                // Once; whoever goes on about it floods like anybody else.
                if std::mem::replace(&mut self.book().greeting, Greeting::Answered { refs }) != Greeting::Said {
                    return self.stray();
                }
                self.greeted.notify_waiters();
                return Ok(());
            }
            Word::Garbage(text) => return Err(Loss::new(text)),
        };
        let mut book = self.book();
        if id > book.last_asked {
            return Err(Loss::new(format!("it answered request {id}, which was not sent")));
        }
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
