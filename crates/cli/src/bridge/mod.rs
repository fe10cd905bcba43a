//! `hookwright bridge AGENT`: the command that another agent calls for each of its events. It reads the agent's payload
//! from stdin, runs the same hooks under the same rules as in a session, and prints the answer in the agent's dialect.
//!
//! Whatever goes wrong, an event that can be refused is refused, with a reason, wherever a guard is or could be
//! concerned. The evaluation has its own thread; the thread that started it keeps the deadline, and refuses where the
//! evaluation has not ended by then. `hookwright-bridge` has the dialects; the steps here are `stdin` → `delegation` →
//! `project_root` → `evaluation` → the answer, and a line of the journal (`record`).

mod confinement;
mod delegation;
mod evaluation;
mod own_refusals;
mod project_root;
mod proxied_event;
pub(crate) mod record;
mod stdin;
mod trial;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hookwright_bridge::{Host, HostEvent, HostEventInfo, HostResponse, PayloadError, Ruling, ToolRecognition, payload};
use hookwright_journal::BridgeRefusal;
use hookwright_settings::ProcessEnv;

use crate::args::BridgeArgs;
use crate::{exit, output, runtime};
pub(crate) use confinement::split_confined_command;
pub(crate) use own_refusals::{ForeignCall, unknown_call_refusal};
pub(crate) use proxied_event::{ProxiedAgent, ProxiedEvent, judge};
use record::BridgeRecord;
use trial::TrialMode;

/// One call of the bridge.
pub(crate) struct BridgeRequest<'a> {
    pub(crate) host: Host,
    /// The name of the agent on record.
    agent_name: &'a str,
    /// The event that the agent's entry is for, if the entry names one.
    pub(crate) entry_event: Option<&'a str>,
    pub(crate) world: &'a ProcessEnv,
    pub(crate) started: Instant,
    /// How long the agent waits, if the entry says.
    pub(crate) host_timeout: Option<Duration>,
    progress: &'a EvaluationProgress,
    /// The live trial that this call is a part of.
    pub(crate) trial: Option<&'a TrialMode>,
}

/// Progress of the evaluation, for the thread that keeps the deadline.
#[derive(Default)]
struct EvaluationProgress {
    /// The table row of the event, once the payload has been parsed.
    row: OnceLock<&'static HostEventInfo>,
    /// Whether one of the two threads has claimed the answer.
    is_claimed: AtomicBool,
}

impl EvaluationProgress {
    /// Claims the answer for the calling thread; returns whether no other thread had claimed it.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::SeqCst)
    }
}

impl BridgeRequest<'_> {
    /// Returns the table row of the event that the entry is for.
    fn entry_event_row(&self) -> Option<&'static HostEventInfo> {
        self.entry_event.and_then(|name| self.host.event(name))
    }

    /// Returns the time by which hooks must have ended.
    fn deadline(&self, row: Option<&HostEventInfo>) -> Instant {
        self.started + Host::bridge_deadline(self.host_timeout.unwrap_or_else(|| self.host.timeout(row)))
    }
}

/// The answer to the agent, and what goes on record.
pub(crate) struct BridgeReply {
    pub(crate) response: HostResponse,
    pub(crate) record: BridgeRecord,
}

/// How long writing to the journal may take after the answer.
const RECORD_TIMEOUT: Duration = Duration::from_millis(100);

/// Answers one event; returns the exit code.
///
/// Everything that may take long, reading the environment included, runs on another thread, so that the agent gets
/// its answer in time.
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
        let words = "hookwright can't judge this: the machine can't start another thread";
        return refuse_unfinished(args, progress, started, (BridgeRefusal::Failure, words.to_owned()));
    }
    let row = args.event.as_deref().and_then(|name| args.agent.event(name));
    let limit = started + Host::answer_deadline(args.deadline.unwrap_or_else(|| args.agent.timeout(row)));
    let left = || limit.saturating_duration_since(Instant::now());
    match answers.recv_timeout(left()) {
        Ok(code) => {
            // The other thread is writing to the journal.
            let _ = answers.recv_timeout(left().max(RECORD_TIMEOUT));
            code
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) if progress.claim() => {
            let title = args.agent.title();
            let words = format!("hookwright did not finish before {title} stops waiting for it");
            refuse_unfinished(args, progress, started, (BridgeRefusal::OutOfTime, words))
        }
        // The other thread is printing the answer, or failed to.
        Err(_) => answers.recv_timeout(RECORD_TIMEOUT).unwrap_or(exit::DENIED),
    }
}

/// Evaluates an event, prints the answer unless the deadline's thread has given one, and sends the exit code.
fn answer_event(
    args: &BridgeArgs,
    world: &ProcessEnv,
    started: Instant,
    progress: &EvaluationProgress,
    answered: &Sender<u8>,
) {
    let trial = match args.trial.as_deref().map(TrialMode::read).transpose() {
        Ok(trial) => trial,
        // Without its file, a trial would not be told from a real call.
        Err(_) if !progress.claim() => return,
        Err(error) => {
            let written = args.agent.dialect().write_refusal(args.agent, None, &format!("{error:#}"));
            let _ = answered.send(print_response(&written));
            return;
        }
    };
    let call = BridgeRequest {
        host: args.agent,
        agent_name: args.agent.name(),
        entry_event: args.event.as_deref(),
        world,
        started,
        host_timeout: args.deadline,
        progress,
        trial: trial.as_ref(),
    };
    let reply = catch_unwind(AssertUnwindSafe(|| answer_call(&call))).unwrap_or_else(|_| {
        let words = "hookwright had an internal error; no hook could judge this".to_owned();
        refusal(&call, call.entry_event_row(), (BridgeRefusal::Failure, words))
    });
    let reply = match call.trial {
        Some(trial) => trial.record_and_refuse(&call, reply),
        None => reply,
    };
    if !progress.claim() {
        return;
    }
    let _ = answered.send(print_response(&reply.response));
    if call.trial.is_none() {
        record::write(&call, reply);
    }
}

/// Refuses an event whose evaluation has not ended; returns the exit code.
fn refuse_unfinished(
    args: Arc<BridgeArgs>,
    progress: Arc<EvaluationProgress>,
    started: Instant,
    (cause, words): (BridgeRefusal, String),
) -> u8 {
    let row = progress.row.get().copied().or_else(|| args.event.as_deref().and_then(|name| args.agent.event(name)));
    let written = args.agent.dialect().write_refusal(args.agent, row, &words);
    let code = print_response(&written);
    let (kept, is_kept) = channel::<()>();
    // The disk may be what the evaluation waits for, so the line is written on a thread too.
    let keep = move || {
        let world = ProcessEnv::from_process();
        let call = BridgeRequest {
            host: args.agent,
            agent_name: args.agent.name(),
            entry_event: args.event.as_deref(),
            world: &world,
            started,
            host_timeout: args.deadline,
            progress: &progress,
            trial: None,
        };
        record::write(&call, BridgeReply { response: written, record: BridgeRecord::refused(cause, words) });
        drop(kept);
    };
    if thread::Builder::new().stack_size(runtime::STACK_BYTES).spawn(keep).is_ok() {
        let _ = is_kept.recv_timeout(RECORD_TIMEOUT);
    }
    code
}

fn answer_call(call: &BridgeRequest<'_>) -> BridgeReply {
    let bytes = stdin::read(call.deadline(call.entry_event_row()));
    let bytes = bytes.map(|bytes| call.trial.map_or_else(|| bytes.clone(), |trial| trial.translate_paths(&bytes)));
    let mut payload = match bytes.and_then(|bytes| payload::read(&bytes)) {
        Ok(payload) => payload,
        Err(error) => return answer_unreadable(call, &error),
    };
    confinement::unwrap_commands(&mut payload, call.world);
    if let Some(other) = delegation::delegate_host(call, &payload) {
        return BridgeReply { response: HostResponse::default(), record: BridgeRecord::delegated(other) };
    }
    match call.host.dialect().parse_event(call.host, payload, call.entry_event) {
        Ok(host_event) => {
            if let Some(row) = host_event.info {
                let _ = call.progress.row.set(row);
            }
            let host_event = with_host_details(call, host_event);
            if call.trial.is_some() && !trial::is_tried(&host_event) {
                return trial::pass_untried(call, &host_event);
            }
            evaluation::evaluate_event(call, &host_event)
        }
        Err(error) => answer_unreadable(call, &error),
    }
}

/// Adds the agent's version, and marks a tool as unknown where the name is not the agent's own tool.
fn with_host_details(call: &BridgeRequest<'_>, mut host_event: HostEvent) -> HostEvent {
    let var = |name: &str| call.world.var(name).map(str::to_owned);
    host_event.version = host_event.version.or_else(|| call.host.version(var));
    if let Some(tool) = &mut host_event.tool {
        // This version no longer has that tool, so the name belongs to another one.
        let is_another = host_event.version.is_some() && hookwright_bridge::tools::is_retired(call.host, &tool.name);
        if is_another || project_root::project_defines_tool(call.host, &host_event.session, call.world, &tool.name) {
            tool.recognition = ToolRecognition::Unknown;
        }
    }
    host_event
}

/// Answers a payload that can't be read.
///
/// It could be about anything that a guard forbids, so it is refused unless it is certain that there is
/// no guard at all.
fn answer_unreadable(call: &BridgeRequest<'_>, error: &PayloadError) -> BridgeReply {
    let row = call.entry_event_row();
    let words = format!("hookwright can't read this event of {}: {error}", call.host.title());
    match evaluation::may_be_guarded(call, row) {
        true => refusal(call, row, (BridgeRefusal::UnreadablePayload, words)),
        false => {
            let written = call
                .host
                .dialect()
                .write_response(&unknown_host_event(call, row), &hookwright_bridge::HostVerdict::default());
            let written = HostResponse { stderr: words.clone(), ..written };
            BridgeReply { response: written, record: BridgeRecord::new(Ruling::Pass, words) }
        }
    }
}

/// Builds an event of which at most the name is known.
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

/// Refuses an event without the answer of a hook.
fn refusal(
    call: &BridgeRequest<'_>,
    row: Option<&HostEventInfo>,
    (cause, words): (BridgeRefusal, String),
) -> BridgeReply {
    let written = call.host.dialect().write_refusal(call.host, row, &words);
    BridgeReply { response: written, record: BridgeRecord::refused(cause, words) }
}

/// Prints an answer. If that fails, the exit code refuses, as far as an exit code can.
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
