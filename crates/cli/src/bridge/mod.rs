//! `hookwright bridge AGENT`: what another agent calls for each of its events. Its dialect in on stdin, the same hooks under
//! the same rules as in a session, its dialect out.
//!
//! Whatever goes wrong on the way, an event that can be refused ends in the agent's form of no, with words, wherever a guard
//! is or could be concerned. The judgement has a thread of its own; the one that started it keeps the deadline, and says no
//! where the judgement has not ended by then. `hookwright-bridge` knows the dialects; this is the way through: `stdin` → `stand_down` →
//! `place` → `judge` → the answer, and a line of the `trace`.

mod judge;
mod place;
mod stand_down;
mod stdin;
mod trace;
mod twice;

pub(crate) use judge::left_out_words;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hookwright_bridge::{Heard, Host, HostEvent, Misheard, Ruling, Standing, Written, payload};
use hookwright_settings::{Paths, World};

use crate::args::BridgeArgs;
use crate::{exit, out, runtime};
use trace::Line;

/// One call of the bridge.
pub(crate) struct Call<'a> {
    pub(crate) host: Host,
    /// The event that the entry is for, if it says.
    pub(crate) told: Option<&'a str>,
    pub(crate) world: &'a World,
    pub(crate) started: Instant,
    /// How long the agent waits, if the entry says.
    pub(crate) patience: Option<Duration>,
    progress: &'a Progress,
}

/// How far the judgement is, for the thread that keeps the deadline.
#[derive(Default)]
struct Progress {
    /// What the event is, once that is known.
    row: OnceLock<&'static HostEvent>,
    /// Whether one of the two threads gives the answer already.
    is_claimed: AtomicBool,
}

impl Progress {
    /// Takes the answer upon the calling thread; whether that is its to give.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::SeqCst)
    }
}

impl Call<'_> {
    /// The row of the event that the entry is for.
    fn told_row(&self) -> Option<&'static HostEvent> {
        self.told.and_then(|name| self.host.event(name))
    }

    /// When the answer must be there.
    fn deadline(&self, row: Option<&HostEvent>) -> Instant {
        self.started + Host::deadline(self.patience.unwrap_or_else(|| self.host.timeout(row)))
    }
}

/// What is said to the agent, and what is kept of it.
pub(crate) struct Reply {
    pub(crate) written: Written,
    pub(crate) line: Line,
}

/// How long a line of the trace may take once the answer has been given.
const TRACE_TIMEOUT: Duration = Duration::from_millis(100);

/// Answers one event; the exit code. Everything that may take long, the world itself included, is left to another thread:
/// whatever becomes of that, the agent gets its answer in time.
pub(crate) fn run(args: &BridgeArgs, world: fn() -> World) -> u8 {
    let started = Instant::now();
    let args = Arc::new(args.clone());
    let progress = Arc::new(Progress::default());
    let (answered, answers) = channel();
    let judge = {
        let (args, progress) = (args.clone(), progress.clone());
        move || judge_event(&args, &world(), started, &progress, &answered)
    };
    if thread::Builder::new().name("judge".to_owned()).stack_size(runtime::STACK).spawn(judge).is_err() {
        let words = "hookwright can't judge this: this machine has no room for one more thread";
        return refuse_unjudged(args, progress, started, words.to_owned());
    }
    let told = args.event.as_deref().and_then(|name| args.agent.event(name));
    let limit = started + Host::last_moment(args.deadline.unwrap_or_else(|| args.agent.timeout(told)));
    let left = || limit.saturating_duration_since(Instant::now());
    match answers.recv_timeout(left()) {
        Ok(code) => {
            // Its line of the trace is being written.
            let _ = answers.recv_timeout(left().max(TRACE_TIMEOUT));
            code
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) if progress.claim() => {
            let title = args.agent.title();
            let words = format!("hookwright did not finish judging this before {title} stops waiting for it");
            refuse_unjudged(args, progress, started, words)
        }
        // The answer is being printed, or was lost on the way.
        Err(_) => answers.recv_timeout(TRACE_TIMEOUT).unwrap_or(exit::DENIED),
    }
}

/// Judges an event, gives the answer unless that was given meanwhile, and says so with the exit code.
fn judge_event(args: &BridgeArgs, world: &World, started: Instant, progress: &Progress, answered: &Sender<u8>) {
    let call =
        Call { host: args.agent, told: args.event.as_deref(), world, started, patience: args.deadline, progress };
    let reply = catch_unwind(AssertUnwindSafe(|| answer(&call))).unwrap_or_else(|_| {
        refusal(&call, call.told_row(), "hookwright failed inside; no hook could judge this".to_owned())
    });
    if !progress.claim() {
        return;
    }
    let _ = answered.send(print(&reply.written));
    trace::keep(&Paths::new(world), &call, reply);
}

/// Refuses an event whose judgement has not ended; the exit code.
fn refuse_unjudged(args: Arc<BridgeArgs>, progress: Arc<Progress>, started: Instant, words: String) -> u8 {
    let row = progress.row.get().copied().or_else(|| args.event.as_deref().and_then(|name| args.agent.event(name)));
    let written = args.agent.dialect().refuse(args.agent, row, &words);
    let code = print(&written);
    let (kept, is_kept) = channel::<()>();
    // The disk may be what the judgement waits for.
    let keep = move || {
        let world = World::from_process();
        let (host, told, patience) = (args.agent, args.event.as_deref(), args.deadline);
        let call = Call { host, told, world: &world, started, patience, progress: &progress };
        trace::keep(&Paths::new(&world), &call, Reply { written, line: Line::new(Ruling::Deny, words) });
        drop(kept);
    };
    if thread::Builder::new().stack_size(runtime::STACK).spawn(keep).is_ok() {
        let _ = is_kept.recv_timeout(TRACE_TIMEOUT);
    }
    code
}

fn answer(call: &Call<'_>) -> Reply {
    let payload = match stdin::read(call.deadline(call.told_row())).and_then(|bytes| payload::read(&bytes)) {
        Ok(payload) => payload,
        Err(error) => return not_heard(call, &error),
    };
    if let Some(other) = stand_down::for_whom(call, &payload) {
        return Reply { written: Written::default(), line: Line::stood_down(other) };
    }
    match call.host.dialect().hear(call.host, payload, call.told) {
        Ok(heard) => {
            if let Some(row) = heard.row {
                let _ = call.progress.row.set(row);
            }
            let heard = with_surroundings(call, heard);
            judge::judge(call, &heard)
        }
        Err(error) => not_heard(call, &error),
    }
}

/// What else is known of the agent: its version, and whose a tool of that name is.
fn with_surroundings(call: &Call<'_>, mut heard: Heard) -> Heard {
    let var = |name: &str| call.world.var(name).map(str::to_owned);
    heard.version = heard.version.or_else(|| call.host.version(var));
    if let Some(tool) = &mut heard.tool {
        // This version does not have that tool any more, so it is another one of that name.
        let is_another = heard.version.is_some() && hookwright_bridge::tools::is_retired(call.host, &tool.name);
        if is_another || place::brings_tool(call.host, &heard.session, call.world, &tool.name) {
            tool.standing = Standing::Unknown;
        }
    }
    heard
}

/// A payload that nobody can read says nothing of what it is about, so it could be about anything that a guard forbids: a no,
/// unless it is certain that there is no guard at all.
fn not_heard(call: &Call<'_>, error: &Misheard) -> Reply {
    let row = call.told_row();
    let words = format!("hookwright can't read this event of {}: {error}", call.host.title());
    match judge::could_guard(call, row) {
        true => refusal(call, row, words),
        false => {
            let written = call.host.dialect().write(&unheard(call, row), &hookwright_bridge::Verdict::default());
            let written = Written { stderr: words.clone(), ..written };
            Reply { written, line: Line::new(Ruling::Pass, words) }
        }
    }
}

/// An event of which nothing is known but, perhaps, its name.
fn unheard(call: &Call<'_>, row: Option<&'static HostEvent>) -> Heard {
    Heard {
        host: call.host,
        version: None,
        event: call.told.unwrap_or_default().to_owned(),
        row,
        tool: None,
        session: Default::default(),
        keys: Vec::new(),
        views: Vec::new(),
    }
}

pub(crate) fn refusal(call: &Call<'_>, row: Option<&HostEvent>, words: String) -> Reply {
    let written = call.host.dialect().refuse(call.host, row, &words);
    Reply { written, line: Line::new(Ruling::Deny, words) }
}

/// Prints an answer. One that can't be printed is a no, as far as an exit code can say it.
fn print(written: &Written) -> u8 {
    if !written.stderr.is_empty() {
        let _ = out::stderr_line(&written.stderr);
    }
    if written.stdout.is_empty() {
        return written.exit;
    }
    let mut stdout = out::stdout();
    match writeln!(stdout, "{}", written.stdout).and_then(|()| stdout.flush()) {
        Ok(()) => written.exit,
        Err(_) => exit::DENIED,
    }
}
