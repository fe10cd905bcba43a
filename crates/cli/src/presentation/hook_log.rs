//! A log of hook runs in this session: counts and times for the hooks panel, and the last turn's timeline for `/hooks
//! trace`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hookwright_agent::{AgentEvent, HookEvent, TurnEvent};
use hookwright_hooks::{EventKind, HookInput, RunId, RunReport, Source};

use super::humanize::format_elapsed;
use super::styled_text::{BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};
use crate::presentation::timeline;

/// The number of durations kept for the median, and the length at which a timeline takes no more events.
const MAX_DURATIONS: usize = 512;
const MAX_TIMELINE_LINES: usize = 2000;
/// How much of a hook's input and output is kept for the panel.
const MAX_HOOK_TEXT_BYTES: usize = 64 * 1024;

/// The runs of one hook.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookRunRecord {
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    durations: Vec<Duration>,
    pub(crate) last_input: String,
    pub(crate) last_output: String,
    pub(crate) last_end: String,
}

impl HookRunRecord {
    pub(crate) fn last_duration(&self) -> Option<Duration> {
        self.durations.last().copied()
    }

    pub(crate) fn median(&self) -> Option<Duration> {
        let mut times = self.durations.clone();
        times.sort();
        times.get(times.len() / 2).copied()
    }
}

/// A hook that is running.
#[derive(Clone, Debug)]
pub(crate) struct LiveRun {
    id: RunId,
    event: EventKind,
    hook: String,
    source: Source,
    total: usize,
    started: Instant,
}

/// The hook runs of a session.
#[derive(Debug, Default)]
pub(crate) struct HookLog {
    records: HashMap<(EventKind, String), HookRunRecord>,
    running: Vec<LiveRun>,
    timeline: Vec<String>,
}

impl HookLog {
    pub(crate) fn record(&self, event: EventKind, hook: &str) -> Option<&HookRunRecord> {
        self.records.get(&(event, hook.to_owned()))
    }

    /// Returns the last turn's timeline, line by line.
    pub(crate) fn timeline(&self) -> &[String] {
        &self.timeline
    }

    pub(crate) fn record_event(&mut self, event: &AgentEvent, now: Instant) {
        if matches!(event, AgentEvent::Turn(TurnEvent::Received { .. })) {
            self.timeline.clear();
        }
        if self.timeline.len() < MAX_TIMELINE_LINES {
            self.timeline.extend(timeline::event_lines(event));
        }
        match event {
            AgentEvent::Hook(HookEvent::Started { id, event, hook, source, total }) => {
                let (hook, source) = (hook.clone(), source.clone());
                self.running.push(LiveRun { id: *id, event: *event, hook, source, total: *total, started: now });
            }
            AgentEvent::Hook(HookEvent::Finished { report, input }) => {
                // A canary's engine has its own run numbers, so the number alone does not identify a run.
                let this = |run: &LiveRun| run.id == report.id && run.hook == report.hook && run.event == report.event;
                if let Some(at) = self.running.iter().position(this) {
                    self.running.remove(at);
                }
                self.record_run(report, input);
            }
            AgentEvent::Turn(TurnEvent::Finished(_)) => self.running.clear(),
            _ => {}
        }
    }

    fn record_run(&mut self, report: &RunReport, input: &HookInput) {
        let record = self.records.entry((report.event, report.hook.clone())).or_default();
        record.runs += 1;
        record.failures += u64::from(!report.succeeded());
        if record.durations.len() >= MAX_DURATIONS {
            record.durations.remove(0);
        }
        record.durations.push(report.duration);
        record.last_end = timeline::summary(report);
        // Output that a hook suppresses is kept out of the panel too.
        if report.answer.suppress_output {
            (record.last_input, record.last_output) = (String::new(), String::new());
            return;
        }
        record.last_input = input.text_prefix(MAX_HOOK_TEXT_BYTES);
        if input.len() > MAX_HOOK_TEXT_BYTES {
            record.last_input.push('…');
        }
        let stderr = if report.stderr.text.trim().is_empty() {
            String::new()
        } else {
            format!("\nstderr: {}", report.stderr.text)
        };
        record.last_output = truncate_text(format!("{}{stderr}", report.stdout.text).trim().to_owned());
    }

    /// Returns the lines for hooks that have been running for a while.
    pub(crate) fn live_lines(&self, now: Instant) -> Vec<StyledLine> {
        const DETAILS_DELAY: Duration = Duration::from_millis(300);
        // Lines for quick hooks would only make the screen flicker.
        const DISPLAY_DELAY: Duration = Duration::from_millis(80);
        let draw = |run: &LiveRun| {
            let time = now.saturating_duration_since(run.started);
            let mut line = StyledLine::styled(NOTE, "hook ")
                .with_text(BOLD, &run.hook)
                .with_text(PLAIN, format!(" ({}/{}) …", run.id.position, run.total));
            if time >= DETAILS_DELAY {
                line.push(DIM, &format!(" {}  {}, {}", format_elapsed(time), run.event, run.source));
            }
            line
        };
        let lasts = |run: &&LiveRun| now.saturating_duration_since(run.started) >= DISPLAY_DELAY;
        self.running.iter().filter(lasts).map(draw).collect()
    }

    pub(crate) fn has_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub(crate) fn running_names(&self) -> String {
        self.running.iter().map(|run| run.hook.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn truncate_text(mut text: String) -> String {
    if text.len() > MAX_HOOK_TEXT_BYTES {
        let mut cut = MAX_HOOK_TEXT_BYTES;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// Returns the line that a finished hook leaves, or none if it neither decided nor changed anything.
///
/// Messages and failures of hooks have events of their own.
pub(crate) fn finished_line(report: &RunReport) -> Option<StyledLine> {
    use hookwright_hooks::Decision;
    let answer = &report.answer;
    let decided = answer.stop || answer.decision > Some(Decision::Allow);
    let changed = answer.tool_input.is_some()
        || answer.llm_request.is_some()
        || answer.llm_response.is_some()
        || answer.tool_config.is_some()
        || answer.tail_call.is_some()
        || answer.additional_context.is_some()
        || answer.clear_context;
    if !report.succeeded() || !(decided || changed) {
        return None;
    }
    let style = match answer.decision {
        _ if answer.stop => BAD,
        Some(Decision::Deny) => BAD,
        Some(Decision::Ask | Decision::Confine) => WARN,
        _ => GOOD,
    };
    let line = StyledLine::styled(style, "• hook ")
        .with_text(BOLD, &report.hook)
        .with_text(DIM, format!(" ({}, {}) ", report.source, report.event));
    Some(line.with_text(PLAIN, timeline::summary(report)).with_hanging_indent(4))
}
