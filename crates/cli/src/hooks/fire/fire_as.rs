//! `hooks fire EVENT --as AGENT`: the event in that agent's words, the hooks as they would hear it through the bridge, and the
//! answer that the agent would read.

use std::io::Write;

use anyhow::{Context, ensure};
use hookwright_bridge::speak::speak;
use hookwright_bridge::{Heard, Host, Ruling, Verdict, Written};
use hookwright_hooks::{Merged, Outcome, Said};
use serde_json::{Map, Value, json};

use super::doubts::doubts;
use super::{Toolbox, fire_once, run_json, timeline};
use crate::args::Fire;
use crate::exit;
use crate::out::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

pub(super) fn run(toolbox: &Toolbox, fire: &Fire, host: Host, fields: Map<String, Value>) -> anyhow::Result<u8> {
    let payload = match fire.input {
        // What the agent itself would send.
        Some(_) => fields,
        None => speak(host, fire.event, &fields, &toolbox.loaded.project.root)?,
    };
    if fire.print_input {
        out::json(&Value::Object(payload))?;
        return Ok(exit::OK);
    }
    let heard = host
        .dialect()
        .hear(host, payload.clone(), None)
        .with_context(|| format!("this is no event of {}", host.title()))?;
    ensure!(
        heard.kind() == Some(fire.event),
        "this is {} of {}, which is not {} here",
        heard.event,
        host.title(),
        fire.event
    );
    toolbox.say_what_is_wrong()?;
    let mut outcomes = Vec::new();
    // Whoever would not be asked there is not asked here.
    let mut loaded = toolbox.loaded.clone();
    loaded.registry.keep(|hook| heard.asks(hook));
    let toolbox = &Toolbox { loaded };
    for view in &heard.views {
        let fired = fire_once(toolbox, &view.event, view.event.subject(), &heard.session.id)?;
        let is_over = fired.outcome.merged.answer.ends_plan();
        outcomes.push(fired.outcome);
        if let Some(code) = fired.ended {
            return Ok(code);
        }
        if is_over {
            break;
        }
    }
    let merged: Vec<Merged> = outcomes.iter().map(|outcome| outcome.merged.clone()).collect();
    let verdict = Verdict::of(&heard, &merged);
    let written = host.dialect().write(&heard, &verdict);
    let asked = outcomes.iter().flat_map(|outcome| &outcome.runs).any(|run| !run.beside);
    let doubts = doubts(toolbox, fire.event, None, asked);
    if fire.json {
        out::json(&as_json(&heard, &payload, &outcomes, &verdict, &written, &doubts))?;
    } else {
        show(&heard, &payload, &outcomes, &written, &doubts)?;
    }
    Ok(exit_code(&verdict, &written, &doubts))
}

fn exit_code(verdict: &Verdict, written: &Written, doubts: &[String]) -> u8 {
    let lowered = written.lost.iter().any(|loss| loss.became == "deny");
    match verdict.ruling {
        Ruling::Deny | Ruling::Stop => exit::DENIED,
        _ if lowered => exit::DENIED,
        Ruling::Ask => exit::ASK,
        Ruling::Pass if !doubts.is_empty() => exit::ERROR,
        Ruling::Pass => exit::OK,
    }
}

fn as_json(
    heard: &Heard,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    verdict: &Verdict,
    written: &Written,
    doubts: &[String],
) -> Value {
    let words = |said: &Said| json!({"hook": said.hook, "source": said.source.to_string(), "text": said.text});
    let lost = written.lost.iter().map(|loss| json!({"wanted": loss.wanted, "became": loss.became}));
    json!({
        "host": heard.host.name(),
        "event": heard.event,
        "payload": payload,
        "verdict": verdict.ruling.as_str(),
        "reason": verdict.reason,
        "answer": {"stdout": written.stdout, "stderr": written.stderr, "exit": written.exit},
        "lost": lost.collect::<Vec<_>>(),
        "doubts": doubts,
        "warnings": outcomes.iter().flat_map(|outcome| &outcome.warnings).map(words).collect::<Vec<_>>(),
        "runs": outcomes.iter().flat_map(|outcome| &outcome.runs).map(run_json).collect::<Vec<_>>(),
    })
}

fn show(
    heard: &Heard,
    payload: &Map<String, Value>,
    outcomes: &[Outcome<()>],
    written: &Written,
    doubts: &[String],
) -> anyhow::Result<()> {
    let title = heard.host.title();
    writeln!(out::stdout(), "{} of {title}", paint(BOLD, &heard.event))?;
    let sent = out::shorten(&Value::Object(payload.clone()).to_string(), 400);
    writeln!(out::stdout(), "  {}", paint(DIM, sent))?;
    for (view, outcome) in heard.views.iter().zip(outcomes) {
        let how = match outcome.runs.len() {
            0 => "no hook matches".to_owned(),
            1 => "1 hook".to_owned(),
            many => format!("{many} hooks"),
        };
        timeline(view.event.kind(), view.event.subject(), &how, outcome, doubts)?;
    }
    let mut stdout = out::stdout();
    writeln!(stdout, "{}", paint(BOLD, format!("{title} is told")))?;
    let said = if written.stdout.is_empty() { "(nothing: no objection)" } else { &written.stdout };
    let style = if written.exit == 0 { GOOD } else { BAD };
    writeln!(stdout, "  {said} {}", paint(style, format!("exit {}", written.exit)))?;
    if !written.stderr.is_empty() {
        writeln!(stdout, "  stderr: {}", written.stderr.trim_end().replace('\n', "\n    "))?;
    }
    for loss in &written.lost {
        writeln!(stdout, "  {} {} became {}", paint(WARN, "lost:"), loss.wanted, loss.became)?;
    }
    Ok(())
}
