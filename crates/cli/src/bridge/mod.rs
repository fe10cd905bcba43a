//! `hookwright bridge AGENT`: what another agent calls for each of its events. Its dialect in on stdin, the same hooks under
//! the same rules as in a session, its dialect out.
//!
//! Whatever goes wrong on the way, an event that can be refused ends in the agent's form of no, with words, wherever a guard
//! is or could be concerned. The judgement has a thread of its own; the one that started it keeps the deadline, and says no
//! where the judgement has not ended by then. `hookwright-bridge` knows the dialects; this is the way through: `stdin` → `stand_down` →
//! `place` → `judge` → the answer, and a line of the `trace`.

mod delegation;
mod evaluation;
mod project_root;
mod stdin;
mod trace;
mod twice;

pub(crate) use evaluation::untrusted_hook_note;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hookwright_bridge::{Host, HostEvent, HostEventInfo, HostResponse, PayloadError, Ruling, ToolRecognition, payload};
use hookwright_settings::{ConfigPaths, ProcessEnv};

use crate::args::BridgeArgs;
use crate::{exit, output, runtime};
use trace::BridgeTraceLine;

/// One call of the bridge.
pub(crate) struct BridgeRequest<'a> {
    pub(crate) host: Host,
    /// The event that the entry is for, if it says.
    pub(crate) entry_event: Option<&'a str>,
    pub(crate) world: &'a ProcessEnv,
    pub(crate) started: Instant,
    /// How long the agent waits, if the entry says.
    pub(crate) host_timeout: Option<Duration>,
    progress: &'a EvaluationProgress,
}

/// How far the judgement is, for the thread that keeps the deadline.
#[derive(Default)]
struct EvaluationProgress {
    /// What the event is, once that is known.
    row: OnceLock<&'static HostEventInfo>,
    /// Whether one of the two threads gives the answer already.
    is_claimed: AtomicBool,
}

impl EvaluationProgress {
    /// Takes the answer upon the calling thread; whether that is its to give.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::SeqCst)
    }
}

impl BridgeRequest<'_> {
    /// The row of the event that the entry is for.
    fn entry_event_row(&self) -> Option<&'static HostEventInfo> {
        self.entry_event.and_then(|name| self.host.event(name))
    }

    /// When the answer must be there.
    fn deadline(&self, row: Option<&HostEventInfo>) -> Instant {
        self.started + Host::bridge_deadline(self.host_timeout.unwrap_or_else(|| self.host.timeout(row)))
    }
}

/// What is said to the agent, and what is kept of it.
pub(crate) struct BridgeReply {
    pub(crate) response: HostResponse,
    pub(crate) trace_line: BridgeTraceLine,
}

/// How long a line of the trace may take once the answer has been given.
const TRACE_TIMEOUT: Duration = Duration::from_millis(100);

/// Answers one event; the exit code. Everything that may take long, the world itself included, is left to another thread:
/// whatever becomes of that, the agent gets its answer in time.
pub(crate) fn run(args: &BridgeArgs, world: fn() -> ProcessEnv) -> u8 {
    let started = Instant::now();
    let args = Arc::new(args.clone());
    let progress = Arc::new(EvaluationProgress::default());
    let (answered, answers) = channel();
    let judge = {
        let (args, progress) = (args.clone(), progress.clone());
        move || answer_event(&args, &world(), started, &progress, &answered)
    };
    if thread::Builder::new().name("judge".to_owned()).stack_size(runtime::STACK_BYTES).spawn(judge).is_err() {
        let words = "hookwright can't judge this: this machine has no room for one more thread";
        return refuse_unfinished(args, progress, started, words.to_owned());
    }
    let told = args.event.as_deref().and_then(|name| args.agent.event(name));
    let limit = started + Host::answer_deadline(args.deadline.unwrap_or_else(|| args.agent.timeout(told)));
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
            refuse_unfinished(args, progress, started, words)
        }
        // The answer is being printed, or was lost on the way.
        Err(_) => answers.recv_timeout(TRACE_TIMEOUT).unwrap_or(exit::DENIED),
    }
}

/// Judges an event, gives the answer unless that was given meanwhile, and says so with the exit code.
fn answer_event(
    args: &BridgeArgs,
    world: &ProcessEnv,
    started: Instant,
    progress: &EvaluationProgress,
    answered: &Sender<u8>,
) {
    let call = BridgeRequest {
        host: args.agent,
        entry_event: args.event.as_deref(),
        world,
        started,
        host_timeout: args.deadline,
        progress,
    };
    let reply = catch_unwind(AssertUnwindSafe(|| answer_call(&call))).unwrap_or_else(|_| {
        refusal(&call, call.entry_event_row(), "hookwright failed inside; no hook could judge this".to_owned())
    });
    if !progress.claim() {
        return;
    }
    let _ = answered.send(print_response(&reply.response));
    trace::append_line(&ConfigPaths::new(world), &call, reply);
}

/// Refuses an event whose judgement has not ended; the exit code.
fn refuse_unfinished(args: Arc<BridgeArgs>, progress: Arc<EvaluationProgress>, started: Instant, words: String) -> u8 {
    let row = progress.row.get().copied().or_else(|| args.event.as_deref().and_then(|name| args.agent.event(name)));
    let written = args.agent.dialect().write_refusal(args.agent, row, &words);
    let code = print_response(&written);
    let (kept, is_kept) = channel::<()>();
    // The disk may be what the judgement waits for.
    let keep = move || {
        let world = ProcessEnv::from_process();
        let (host, told, patience) = (args.agent, args.event.as_deref(), args.deadline);
        let call = BridgeRequest {
            host,
            entry_event: told,
            world: &world,
            started,
            host_timeout: patience,
            progress: &progress,
        };
        trace::append_line(
            &ConfigPaths::new(&world),
            &call,
            BridgeReply { response: written, trace_line: BridgeTraceLine::new(Ruling::Deny, words) },
        );
        drop(kept);
    };
    if thread::Builder::new().stack_size(runtime::STACK_BYTES).spawn(keep).is_ok() {
        let _ = is_kept.recv_timeout(TRACE_TIMEOUT);
    }
    code
}

fn answer_call(call: &BridgeRequest<'_>) -> BridgeReply {
    let payload = match stdin::read(call.deadline(call.entry_event_row())).and_then(|bytes| payload::read(&bytes)) {
        Ok(payload) => payload,
        Err(error) => return answer_unreadable(call, &error),
    };
    if let Some(other) = delegation::delegate_host(call, &payload) {
        return BridgeReply { response: HostResponse::default(), trace_line: BridgeTraceLine::delegated(other) };
    }
    match call.host.dialect().parse_event(call.host, payload, call.entry_event) {
        Ok(heard) => {
            if let Some(row) = heard.info {
                let _ = call.progress.row.set(row);
            }
            let heard = with_host_details(call, heard);
            evaluation::evaluate_event(call, &heard)
        }
        Err(error) => answer_unreadable(call, &error),
    }
}

/// What else is known of the agent: its version, and whose a tool of that name is.
fn with_host_details(call: &BridgeRequest<'_>, mut heard: HostEvent) -> HostEvent {
    let var = |name: &str| call.world.var(name).map(str::to_owned);
    heard.version = heard.version.or_else(|| call.host.version(var));
    if let Some(tool) = &mut heard.tool {
        // This version does not have that tool any more, so it is another one of that name.
        let is_another = heard.version.is_some() && hookwright_bridge::tools::is_retired(call.host, &tool.name);
        if is_another || project_root::project_defines_tool(call.host, &heard.session, call.world, &tool.name) {
            tool.recognition = ToolRecognition::Unknown;
        }
    }
    heard
}

/// A payload that nobody can read says nothing of what it is about, so it could be about anything that a guard forbids: a no,
/// unless it is certain that there is no guard at all.
fn answer_unreadable(call: &BridgeRequest<'_>, error: &PayloadError) -> BridgeReply {
    let row = call.entry_event_row();
    let words = format!("hookwright can't read this event of {}: {error}", call.host.title());
    match evaluation::may_be_guarded(call, row) {
        true => refusal(call, row, words),
        false => {
            let written = call
                .host
                .dialect()
                .write_response(&unknown_host_event(call, row), &hookwright_bridge::HostVerdict::default());
            let written = HostResponse { stderr: words.clone(), ..written };
            BridgeReply { response: written, trace_line: BridgeTraceLine::new(Ruling::Pass, words) }
        }
    }
}

/// An event of which nothing is known but, perhaps, its name.
fn unknown_host_event(call: &BridgeRequest<'_>, row: Option<&'static HostEventInfo>) -> HostEvent {
    HostEvent {
        host: call.host,
        version: None,
        name: call.entry_event.unwrap_or_default().to_owned(),
        info: row,
        tool: None,
        session: Default::default(),
        correlation_ids: Vec::new(),
        views: Vec::new(),
    }
}

pub(crate) fn refusal(call: &BridgeRequest<'_>, row: Option<&HostEventInfo>, words: String) -> BridgeReply {
    let written = call.host.dialect().write_refusal(call.host, row, &words);
    BridgeReply { response: written, trace_line: BridgeTraceLine::new(Ruling::Deny, words) }
}

/// Prints an answer. One that can't be printed is a no, as far as an exit code can say it.
fn print_response(written: &HostResponse) -> u8 {
    if !written.stderr.is_empty() {
        let _ = output::stderr_line(&written.stderr);
    }
    if written.stdout.is_empty() {
        return written.exit_code;
    }
    let mut stdout = output::stdout();
    match writeln!(stdout, "{}", written.stdout).and_then(|()| stdout.flush()) {
        Ok(()) => written.exit_code,
        Err(_) => exit::DENIED,
    }
}
