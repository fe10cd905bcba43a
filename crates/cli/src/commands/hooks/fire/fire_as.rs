//! `hooks fire EVENT --as AGENT`: the event in that agent's words, the hooks as they would hear it through the bridge, and the
//! answer that the agent would read.

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
        // What the agent itself would send.
        Some(_) => fields,
        None => build_host_payload(host, fire.event, &fields, &toolbox.loaded.project.root)?,
    };
    if fire.print_input {
        output::print_json(&Value::Object(payload))?;
        return Ok(exit::OK);
    }
    let heard = host
        .dialect()
        .parse_event(host, payload.clone(), None)
        .with_context(|| format!("this is no event of {}", host.title()))?;
    ensure!(
        heard.kind() == Some(fire.event),
        "this is {} of {}, which is not {} here",
        heard.name,
        host.title(),
        fire.event
    );
    toolbox.print_problems()?;
    let mut outcomes = Vec::new();
    // Whoever would not be asked there is not asked here.
    let mut loaded = toolbox.loaded.clone();
    loaded.registry.retain(|hook| heard.should_run_hook(hook));
    let toolbox = &LoadedProject { loaded };
    for view in &heard.views {
        let fired = fire_once(toolbox, &view.event, view.event.subject(), &heard.session.id)?;
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
    let verdict = HostVerdict::from_merged(&heard, &merged);
    let written = host.dialect().write_response(&heard, &verdict);
    let asked = outcomes.iter().flat_map(|outcome| &outcome.runs).any(|run| !run.in_background);
    let doubts = find_caveats(toolbox, fire.event, None, asked);
    if fire.json {
        output::print_json(&exchange_json(&heard, &payload, &outcomes, &verdict, &written, &doubts))?;
    } else {
        print_exchange(&heard, &payload, &outcomes, &written, &doubts)?;
    }
    Ok(exit_code(&verdict, &written, &doubts))
}

fn exit_code(verdict: &HostVerdict, written: &HostResponse, doubts: &[String]) -> u8 {
    let lowered = written.downgrades.iter().any(|loss| loss.applied == "deny");
    match verdict.ruling {
        Ruling::Deny | Ruling::Stop => exit::DENIED,
        _ if lowered => exit::DENIED,
        Ruling::Ask => exit::ASK,
        Ruling::Pass if !doubts.is_empty() => exit::ERROR,
        Ruling::Pass => exit::OK,
    }
}

fn exchange_json(
    heard: &HostEvent,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    verdict: &HostVerdict,
    written: &HostResponse,
    doubts: &[String],
) -> Value {
    let words = |said: &HookMessage| json!({"hook": said.hook, "source": said.source.to_string(), "text": said.text});
    let lost = written.downgrades.iter().map(|loss| json!({"wanted": loss.requested, "became": loss.applied}));
    json!({
        "host": heard.host.name(),
        "event": heard.name,
        "payload": payload,
        "verdict": verdict.ruling.as_str(),
        "reason": verdict.reason,
        "answer": {"stdout": written.stdout, "stderr": written.stderr, "exit": written.exit_code},
        "lost": lost.collect::<Vec<_>>(),
        "doubts": doubts,
        "warnings": outcomes.iter().flat_map(|outcome| &outcome.warnings).map(words).collect::<Vec<_>>(),
        "runs": outcomes.iter().flat_map(|outcome| &outcome.runs).map(run_json).collect::<Vec<_>>(),
    })
}

fn print_exchange(
    heard: &HostEvent,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    written: &HostResponse,
    doubts: &[String],
) -> anyhow::Result<()> {
    let title = heard.host.title();
    writeln!(output::stdout(), "{} of {title}", paint(BOLD, &heard.name))?;
    let sent = output::truncate_columns(&Value::Object(payload.clone()).to_string(), 400);
    writeln!(output::stdout(), "  {}", paint(DIM, sent))?;
    for (view, outcome) in heard.views.iter().zip(outcomes) {
        let how = match outcome.runs.len() {
            0 => "no hook matches".to_owned(),
            1 => "1 hook".to_owned(),
            many => format!("{many} hooks"),
        };
        print_timeline(view.event.kind(), view.event.subject(), &how, outcome, doubts)?;
    }
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", paint(BOLD, format!("{title} is told")))?;
    let said = if written.stdout.is_empty() { "(nothing: no objection)" } else { &written.stdout };
    let style = if written.exit_code == 0 { GOOD } else { BAD };
    writeln!(stdout, "  {said} {}", paint(style, format!("exit {}", written.exit_code)))?;
    if !written.stderr.is_empty() {
        writeln!(stdout, "  stderr: {}", written.stderr.trim_end().replace('\n', "\n    "))?;
    }
    for loss in &written.downgrades {
        writeln!(stdout, "  {} {} became {}", paint(WARN, "lost:"), loss.requested, loss.applied)?;
    }
    Ok(())
}
