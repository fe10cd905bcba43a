//! `hooks fire EVENT --as AGENT`: builds the event in that agent's dialect, runs the hooks as the bridge would, and
//! prints the answer that the agent would read.

use std::io::Write;

use anyhow::{Context, ensure};
use hookwright_bridge::sample_payload::build_host_payload;
use hookwright_bridge::{Host, HostEvent, HostResponse, HostVerdict, Ruling};
use hookwright_hooks::{HookMessage, MergedAnswer, Outcome};
use serde_json::{Map, Value, json};

use super::caveats::find_caveats;
use super::{LoadedProject, fire_once, print_timeline, run_json};
use crate::args::HookFireArgs;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

pub(super) fn run(
    toolbox: &LoadedProject,
    fire: &HookFireArgs,
    host: Host,
    fields: Map<String, Value>,
) -> anyhow::Result<u8> {
    let payload = match fire.input {
        // The input is the payload that the agent itself would send.
        Some(_) => fields,
        None => build_host_payload(host, fire.event, &fields, &toolbox.loaded.project.root)?,
    };
    if fire.print_input {
        output::print_json(&Value::Object(payload))?;
        return Ok(exit::OK);
    }
    let host_event = host
        .dialect()
        .parse_event(host, payload.clone(), None)
        .with_context(|| format!("this is not an event of {}", host.title()))?;
    ensure!(
        host_event.kind() == Some(fire.event),
        "this is the event {} of {}, which does not correspond to {}",
        host_event.name,
        host.title(),
        fire.event
    );
    toolbox.print_problems()?;
    let mut outcomes = Vec::new();
    // A hook that would not run under that agent does not run here.
    let mut toolbox = toolbox.clone();
    toolbox.config.loaded.registry.retain(|hook| host_event.should_run_hook(hook));
    for view in &host_event.views {
        let fired = fire_once(&toolbox, &view.event, view.event.subject(), &host_event.session.id)?;
        let is_over = fired.outcome.merged.answer.ends_plan();
        outcomes.push(fired.outcome);
        if let Some(code) = fired.signal_exit_code {
            return Ok(code);
        }
        if is_over {
            break;
        }
    }
    let merged: Vec<MergedAnswer> = outcomes.iter().map(|outcome| outcome.merged.clone()).collect();
    let verdict = HostVerdict::from_merged(&host_event, &merged);
    let written = host.dialect().write_response(&host_event, &verdict);
    let asked = outcomes.iter().flat_map(|outcome| &outcome.runs).any(|run| !run.in_background);
    let caveats = find_caveats(&toolbox, fire.event, None, asked);
    if fire.json {
        output::print_json(&exchange_json(&host_event, &payload, &outcomes, &verdict, &written, &caveats))?;
    } else {
        print_exchange(&host_event, &payload, &outcomes, &written, &caveats)?;
    }
    Ok(exit_code(&verdict, &written, &caveats))
}

fn exit_code(verdict: &HostVerdict, written: &HostResponse, caveats: &[String]) -> u8 {
    let lowered = written.downgrades.iter().any(|loss| loss.applied == "deny");
    match verdict.ruling {
        Ruling::Deny | Ruling::Stop => exit::DENIED,
        _ if lowered => exit::DENIED,
        Ruling::Ask => exit::ASK,
        Ruling::Pass if !caveats.is_empty() => exit::ERROR,
        Ruling::Pass => exit::OK,
    }
}

fn exchange_json(
    host_event: &HostEvent,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    verdict: &HostVerdict,
    written: &HostResponse,
    caveats: &[String],
) -> Value {
    let words = |note: &HookMessage| json!({"hook": note.hook, "source": note.source.to_string(), "text": note.text});
    let lost = written.downgrades.iter().map(|loss| json!({"wanted": loss.requested, "became": loss.applied}));
    json!({
        "host": host_event.host.name(),
        "event": host_event.name,
        "payload": payload,
        "verdict": verdict.ruling.as_str(),
        "reason": verdict.reason,
        "answer": {"stdout": written.stdout, "stderr": written.stderr, "exit": written.exit_code},
        "lost": lost.collect::<Vec<_>>(),
        "doubts": caveats,
        "warnings": outcomes.iter().flat_map(|outcome| &outcome.warnings).map(words).collect::<Vec<_>>(),
        "runs": outcomes.iter().flat_map(|outcome| &outcome.runs).map(run_json).collect::<Vec<_>>(),
    })
}

fn print_exchange(
    host_event: &HostEvent,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    written: &HostResponse,
    caveats: &[String],
) -> anyhow::Result<()> {
    let title = host_event.host.title();
    writeln!(output::stdout(), "{} of {title}", paint(BOLD, &host_event.name))?;
    let sent = output::truncate_columns(&Value::Object(payload.clone()).to_string(), 400);
    writeln!(output::stdout(), "  {}", paint(DIM, sent))?;
    for (view, outcome) in host_event.views.iter().zip(outcomes) {
        let how = match outcome.runs.len() {
            0 => "no hook matches".to_owned(),
            1 => "1 hook".to_owned(),
            many => format!("{many} hooks"),
        };
        print_timeline(view.event.kind(), view.event.subject(), &how, outcome, caveats)?;
    }
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", paint(BOLD, format!("answer to {title}")))?;
    let printed = if written.stdout.is_empty() { "(nothing: no objection)" } else { &written.stdout };
    let style = if written.exit_code == 0 { GOOD } else { BAD };
    writeln!(stdout, "  {printed} {}", paint(style, format!("exit {}", written.exit_code)))?;
    if !written.stderr.is_empty() {
        writeln!(stdout, "  stderr: {}", written.stderr.trim_end().replace('\n', "\n    "))?;
    }
    for loss in &written.downgrades {
        writeln!(stdout, "  {} {} became {}", paint(WARN, "lost:"), loss.requested, loss.applied)?;
    }
    Ok(())
}
