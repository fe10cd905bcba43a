//! `hooks fire EVENT`: runs the matching hooks exactly as a session would, and prints the outcome.

mod background;
mod caveats;
mod fire_as;
mod input;

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use background::BackgroundObserver;
use caveats::find_caveats;
use hookwright_hooks::{Answer, AnyEvent, Decision, EventKind, HookConfinement, Outcome, Plan, RunReport};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::LoadedProject;
use crate::args::HookFireArgs;
use crate::output::{self, BAD, BOLD, DIM, GOOD, WARN, paint};
use crate::signals::Signals;
use crate::{exit, frontend::session_options};

pub(crate) fn run(toolbox: &LoadedProject, fire: &HookFireArgs) -> anyhow::Result<u8> {
    let fields = input::event_fields(toolbox, fire)?;
    if let Some(host) = fire.host {
        return fire_as::run(toolbox, fire, host, fields);
    }
    if fire.print_input {
        output::print_json(&Value::Object(fields))?;
        return Ok(exit::OK);
    }
    let id = fields.get("session_id").and_then(Value::as_str).unwrap_or("hooks-fire").to_owned();
    let subject = input::matcher_subject(fire.event, &fields);
    let event = AnyEvent::from_fields(fire.event, fields).with_context(|| input::invalid_input_text(fire.event))?;
    toolbox.print_problems()?;
    let FireResult { outcome, plan, signal_exit_code: ended } = fire_once(toolbox, &event, subject.as_deref(), &id)?;
    let asked = outcome.runs.iter().any(|run| !run.in_background);
    let caveats = find_caveats(toolbox, fire.event, subject.as_deref(), asked);
    let code = match exit_code(&outcome) {
        exit::OK if !caveats.is_empty() => exit::ERROR,
        code => code,
    };
    if fire.json {
        output::print_json(&outcome_json(fire.event, &outcome, &caveats))?;
    } else {
        let how = match plan.as_ref().map(|plan| (plan.hooks.len(), plan.sequential)) {
            None if caveats.is_empty() => "no hook matches".to_owned(),
            None => "no hook ran".to_owned(),
            Some((1, _)) => "1 hook".to_owned(),
            Some((many, true)) => format!("{many} hooks, one after another"),
            Some((many, false)) => format!("{many} hooks, in parallel"),
        };
        print_timeline(fire.event, subject.as_deref(), &how, &outcome, &caveats)?;
    }
    Ok(ended.unwrap_or(code))
}

/// The outcome of a fired event.
pub(crate) struct FireResult {
    pub(crate) outcome: Outcome<()>,
    pub(crate) plan: Option<Arc<Plan>>,
    /// The exit code of the signal that interrupted it.
    pub(crate) signal_exit_code: Option<u8>,
}

/// Fires an event once, as a session would; new hooks are announced first.
pub(crate) fn fire_once(
    toolbox: &LoadedProject,
    event: &AnyEvent,
    subject: Option<&str>,
    id: &str,
) -> anyhow::Result<FireResult> {
    session_options::announce_hooks(&toolbox.loaded)?;
    let transcript = tempfile::Builder::new().prefix("transcript-").suffix(".jsonl").tempfile()?;
    let background = BackgroundObserver::new_shared();
    let session = toolbox.engine_session(id, transcript.path().to_owned());
    let engine = toolbox.engine_builder(session).observer(background.clone()).build();
    let plan = engine.plan(event.kind(), subject);
    let runtime = crate::runtime::start(2)?;
    let mut signals = Signals::listen()?;
    let (outcome, ended) = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        signals.set_exit_action({
            let engine = engine.clone();
            move || engine.kill_now()
        });
        let watcher = tokio::spawn(async move {
            let code = signals.next().await;
            stop.cancel();
            code
        });
        let mut outcome = engine.fire_any(event, &cancel).await;
        tokio::select! {
            () = engine.wait_for_background_hooks() => {}
            () = cancel.cancelled() => {}
        }
        background.merge_into(&mut outcome);
        let ended = if cancel.is_cancelled() { watcher.await.ok() } else { None };
        engine.shutdown().await;
        (outcome, ended)
    });
    Ok(FireResult { outcome, plan, signal_exit_code: ended })
}

pub(crate) fn exit_code(outcome: &Outcome<()>) -> u8 {
    match outcome.merged.answer.decision {
        _ if outcome.merged.answer.stop => exit::DENIED,
        Some(Decision::Deny) => exit::DENIED,
        Some(Decision::Ask) => exit::ASK,
        // It runs.
        Some(Decision::Confine | Decision::Allow) | None => exit::OK,
    }
}

/// Formats the merged answer as a hook would write it, and how each hook ran.
fn outcome_json(event: EventKind, outcome: &Outcome<()>, caveats: &[String]) -> Value {
    let mut object = outcome.merged.to_json(event);
    if !caveats.is_empty() && exit_code(outcome) == exit::OK {
        object.insert("decision".to_owned(), Value::Null);
    }
    object.insert("doubts".to_owned(), json!(caveats));
    let words = |note: &hookwright_hooks::HookMessage| json!({"hook": note.hook, "source": note.source.to_string(), "text": note.text});
    object.insert("warnings".to_owned(), outcome.warnings.iter().map(words).collect());
    let later = background_runs(outcome)
        .map(|run| json!({"hook": run.hook, "source": run.source.to_string(), "text": run.answer.system_message}));
    object.insert("later".to_owned(), later.collect());
    object.insert("runs".to_owned(), outcome.runs.iter().map(run_json).collect());
    Value::Object(object)
}

/// Returns the background runs that had a message; a session shows it when the hook ends.
fn background_runs(outcome: &Outcome<()>) -> impl Iterator<Item = &RunReport> {
    outcome.runs.iter().filter(|run| run.in_background && run.answer.system_message.is_some())
}

fn run_json(run: &RunReport) -> Value {
    json!({
        "name": run.hook,
        "run_id": run.id.to_string(),
        "source": run.source.to_string(),
        "async": run.in_background,
        "status": run.status,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "duration_ms": (run.duration.as_secs_f64() * 1e6).round() / 1e3,
        "decision": decision_name(run),
        "mode": run.shadow_answer.as_ref().map(|_| "shadow"),
        "shadow_decision": run.shadow_answer.as_deref().and_then(answer_word),
        "error": run.error,
        "stdout": run.stdout.text,
        "stderr": run.stderr.text,
        "truncated": run.is_truncated(),
        "left_behind": run.has_survivors,
    })
}

fn decision_name(run: &RunReport) -> Option<&'static str> {
    match run.decision() {
        _ if run.answer.stop => Some("stop"),
        decision => decision.map(Decision::as_str),
    }
}

/// Returns the decision of an answer as a word.
fn answer_word(answer: &Answer) -> Option<&'static str> {
    if answer.stop { Some("stop") } else { answer.decision.map(Decision::as_str) }
}

/// Prints the runs, then the outcome.
fn print_timeline(
    event: EventKind,
    subject: Option<&str>,
    how: &str,
    outcome: &Outcome<()>,
    caveats: &[String],
) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    let subject = subject.map(|subject| format!(" {}", output::one_line(subject))).unwrap_or_default();
    writeln!(stdout, "{}{subject}: {how}", paint(BOLD, event))?;
    for run in &outcome.runs {
        let would = run.shadow_answer.as_deref().and_then(answer_word).filter(|word| *word != "allow");
        let shadow = would.map(|word| format!("in shadow, would {word}"));
        let word = match decision_name(run) {
            Some(word) => word,
            None if let Some(shadow) = &shadow => shadow,
            None if run.shadow_answer.is_some() => "in shadow, no objection",
            None if !run.succeeded() => run.status.as_str(),
            None if run.in_background => "decides nothing",
            None => "no objection",
        };
        let style = match word {
            "deny" | "stop" => BAD,
            "ask" => WARN,
            "allow" | "no objection" => GOOD,
            "decides nothing" => DIM,
            _ => WARN,
        };
        let end = match (run.exit_code, run.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => run.status.as_str().to_owned(),
        };
        let async_note = if run.in_background { ", async" } else { "" };
        let time = run.duration.as_secs_f64() * 1e3;
        let facts = paint(DIM, format!("({}{async_note}, {time:.1} ms, {end})", run.source));
        writeln!(stdout, "  {} {} {facts}", output::truncate_columns(&run.hook, 60), paint(style, word))?;
        if let Some(error) = &run.error {
            writeln!(stdout, "    {} {}", paint(WARN, "warning:"), error.trim_end().replace('\n', "\n    "))?;
        }
    }
    writeln!(stdout, "{}", paint(BOLD, "outcome"))?;
    for (label, text) in summary_rows(event, outcome, caveats) {
        writeln!(stdout, "  {label}: {}", text.trim_end().replace('\n', "\n    "))?;
    }
    Ok(())
}

fn summary_rows(event: EventKind, outcome: &Outcome<()>, caveats: &[String]) -> Vec<(&'static str, String)> {
    let merged = &outcome.merged;
    let decision = match merged.answer.decision {
        _ if merged.answer.stop => "stopped",
        Some(Decision::Deny) => "denied",
        Some(Decision::Ask) => "ask the user",
        Some(Decision::Confine) => "run it confined",
        Some(Decision::Allow) | None if !caveats.is_empty() => {
            "undecided: no hook objects, but a session could decide otherwise"
        }
        Some(Decision::Allow) | None => "allowed",
    };
    let mut lines = vec![("decision", decision.to_owned())];
    lines.extend(caveats.iter().map(|caveat| ("warning", caveat.clone())));
    if merged.answer.stop {
        lines.push(("reason", merged.stop_text()));
    } else if merged.answer.decision >= Some(Decision::Confine) {
        lines.push(("reason", merged.reason_text()));
    }
    let is_required = |one: &&HookConfinement| merged.confinements.iter().any(|other| other.hook == one.hook);
    for one in merged.confinements.iter().chain(merged.enforced.iter().filter(|one| !is_required(one))) {
        lines.push(("confined", format!("{} (hook {})", one.profile.limits().join("; "), one.hook)));
    }
    lines.extend(merged.answer.system_message.clone().map(|text| ("message", text)));
    let later = background_runs(outcome).filter_map(|run| run.answer.system_message.clone());
    lines.extend(later.map(|text| ("message, later", text)));
    lines.extend(merged.answer.additional_context.clone().map(|text| ("context", text)));
    if let Some(Value::Object(specific)) = merged.to_json(event).remove("hookSpecificOutput") {
        let shown = ["hookEventName", "additionalContext"];
        let rest: Map<String, Value> = specific.into_iter().filter(|(key, _)| !shown.contains(&key.as_str())).collect();
        if !rest.is_empty() {
            lines.push(("changes", format!("{:#}", Value::Object(rest))));
        }
    }
    let first_errors: Vec<_> = outcome.runs.iter().filter_map(|run| run.error.as_deref()).collect();
    let more = outcome.warnings.iter().filter(|warning| !first_errors.contains(&warning.text.as_str()));
    lines.extend(more.map(|warning| ("warning", warning.to_string())));
    lines
}
