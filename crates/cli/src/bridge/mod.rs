//! `hookwright bridge AGENT`: what another agent calls for each of its events. Its dialect in on stdin, the same hooks under
//! the same rules as in a session, its dialect out.
//!
//! Whatever goes wrong on the way, an event that can be refused ends in the agent's form of no, with words, wherever a guard
//! is or could be concerned. `hookwright-bridge` knows the dialects; this is the way through: `stdin` → `stand_down` →
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
use std::time::{Duration, Instant};

use hookwright_bridge::{Heard, Host, HostEvent, Misheard, Ruling, Standing, Written, payload};
use hookwright_settings::{Paths, World};

use crate::args::BridgeArgs;
use crate::out;
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

/// Answers one event; the exit code.
pub(crate) fn run(args: &BridgeArgs, world: &World) -> u8 {
    let started = Instant::now();
    let call = Call { host: args.agent, told: args.event.as_deref(), world, started, patience: args.deadline };
    let reply = catch_unwind(AssertUnwindSafe(|| answer(&call))).unwrap_or_else(|_| {
        refusal(&call, call.told_row(), "hookwright failed inside; no hook could judge this".to_owned())
    });
    let code = print(&reply.written);
    trace::keep(&Paths::new(world), &call, reply);
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
        Err(_) => crate::exit::DENIED,
    }
}
