//! `hooks fire EVENT`: runs the matching hooks exactly as a session would, and shows what came of it.

mod fire_as;

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use hookwright_hooks::{
    AnyEvent, Decision, EventKind, Layer, Outcome, Plan, RunReport, Severity, Subject, WhyUnarmed, declare,
    is_possible_tool, tool_help,
};
use hookwright_settings::{FileState, SettingsFile, read_settings_file};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Toolbox;
use crate::args::Fire;
use crate::out::{self, BAD, BOLD, DIM, GOOD, WARN, paint};
use crate::signals::Signals;
use crate::{exit, session};

pub(crate) fn run(toolbox: &Toolbox, fire: &Fire) -> anyhow::Result<u8> {
    let fields = fields(fire)?;
    if let Some(host) = fire.host {
        return fire_as::run(toolbox, fire, host, fields);
    }
    let id = fields.get("session_id").and_then(Value::as_str).unwrap_or("hooks-fire").to_owned();
    let subject = subject(fire.event, &fields);
    let event = AnyEvent::from_fields(fire.event, fields).with_context(|| needs(fire.event))?;
    toolbox.say_what_is_wrong()?;
    let doubts = doubts(toolbox, fire.event, subject.as_deref());
    let Fired { outcome, plan, ended } = fire_once(toolbox, &event, subject.as_deref(), &id)?;
    let code = match exit_code(&outcome) {
        exit::OK if !doubts.is_empty() => exit::ERROR,
        code => code,
    };
    if fire.json {
        out::json(&as_json(fire.event, &outcome, &doubts))?;
    } else {
        let how = match plan.as_ref().map(|plan| (plan.hooks.len(), plan.sequential)) {
            None => "no hook matches".to_owned(),
            Some((1, _)) => "1 hook".to_owned(),
            Some((many, true)) => format!("{many} hooks, one after another"),
            Some((many, false)) => format!("{many} hooks, all at once"),
        };
        timeline(fire.event, subject.as_deref(), &how, &outcome, &doubts)?;
    }
    Ok(ended.unwrap_or(code))
}

/// Why nobody's objection here is no yes in a session: hooks that were not asked, or a call that cannot come.
fn doubts(toolbox: &Toolbox, event: EventKind, subject: Option<&str>) -> Vec<String> {
    let mut doubts = Vec::new();
    for file in &toolbox.loaded.files {
        let path = file.path.display();
        match file.state {
            FileState::Broken => doubts.push(format!("{path} can't be read, so a session does not start unattended")),
            FileState::Untrusted if declares(file, event) => {
                doubts.push(format!("{path} has hooks for {event} that did not run: this folder is not trusted"));
            }
            FileState::Untrusted | FileState::Loaded | FileState::Missing => {}
        }
    }
    let unarmed = toolbox.unarmed().into_iter().filter(|guard| !matches!(guard.why, WhyUnarmed::FolderUntrusted));
    doubts.extend(unarmed.map(|guard| format!("{guard}; a session does not start unattended")));
    let tool = subject.filter(|_| event.info().subject == Subject::ToolName);
    if let Some(tool) = tool.filter(|tool| !is_possible_tool(tool)) {
        doubts.push(format!("there is no tool `{}`; {}", out::one_line(tool), tool_help(tool)));
    }
    doubts
}

/// Whether a file that is not loaded has hooks for an event. One that can't be understood may have.
fn declares(file: &SettingsFile, event: EventKind) -> bool {
    let text = match read_settings_file(&file.path) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => return true,
    };
    let declared = declare(&Layer::new(file.source.clone(), &file.path, &text));
    let has = declared.hooks.iter().any(|hook| hook.event == event) || !declared.config.required.is_empty();
    has || declared.diagnostics.iter().any(|one| one.severity == Severity::Error)
}

/// What came of firing an event.
pub(crate) struct Fired {
    pub(crate) outcome: Outcome<()>,
    pub(crate) plan: Option<Arc<Plan>>,
    /// The exit code of the signal that ended it.
    pub(crate) ended: Option<u8>,
}

/// Fires an event once, as a session would; new hooks are announced first.
pub(crate) fn fire_once(toolbox: &Toolbox, event: &AnyEvent, subject: Option<&str>, id: &str) -> anyhow::Result<Fired> {
    session::announce(&toolbox.loaded)?;
    let transcript = tempfile::Builder::new().prefix("transcript-").suffix(".jsonl").tempfile()?;
    let engine = toolbox.engine(toolbox.session(id, transcript.path().to_owned()));
    let plan = engine.plan(event.kind(), subject);
    let runtime = crate::runtime::start(2)?;
    let mut signals = Signals::listen()?;
    let (outcome, ended) = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        signals.at_last({
            let engine = engine.clone();
            move || engine.kill_now()
        });
        let watcher = tokio::spawn(async move {
            let code = signals.next().await;
            stop.cancel();
            code
        });
        let outcome = engine.fire_any(event, &cancel).await;
        let ended = if cancel.is_cancelled() { watcher.await.ok() } else { None };
        engine.shutdown().await;
        (outcome, ended)
    });
    Ok(Fired { outcome, plan, ended })
}

pub(crate) fn exit_code(outcome: &Outcome<()>) -> u8 {
    match outcome.merged.answer.decision {
        _ if outcome.merged.answer.stop => exit::DENIED,
        Some(Decision::Deny) => exit::DENIED,
        Some(Decision::Ask) => exit::ASK,
        Some(Decision::Allow) | None => exit::OK,
    }
}

/// The event's own fields, from whichever option gave them.
fn fields(fire: &Fire) -> anyhow::Result<Map<String, Value>> {
    let mut fields = match &fire.input {
        Some(path) => read_fields(path)?,
        None => Map::new(),
    };
    if let Some(tool) = &fire.tool {
        if fire.event.info().subject != Subject::ToolName {
            bail!("--tool is for BeforeTool and AfterTool, not for {}", fire.event);
        }
        let args = fire.args.as_deref().unwrap_or("{}");
        let args: Map<String, Value> = serde_json::from_str(args).context("--args is no JSON object")?;
        let name = hookwright_hooks::canonical_tool_name(tool);
        fields.insert("tool_name".to_owned(), Value::String(name.to_owned()));
        fields.insert("tool_input".to_owned(), Value::Object(args));
    }
    if let Some(prompt) = &fire.prompt {
        if !matches!(fire.event, EventKind::BeforeAgent | EventKind::AfterAgent) {
            bail!("--prompt is for BeforeAgent and AfterAgent, not for {}", fire.event);
        }
        fields.insert("prompt".to_owned(), Value::String(prompt.clone()));
        fields.entry("prompt_response").or_insert_with(|| Value::String(String::new()));
    }
    Ok(fields)
}

/// The most that is read of an event.
const LARGEST: u64 = 64 << 20;

fn read_fields(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().take(LARGEST + 1).read_to_string(&mut text).context("can't read stdin")?;
        ensure!(text.len() as u64 <= LARGEST, "what is piped in is larger than {} MiB", LARGEST >> 20);
    } else {
        text = hookwright_disk::read_text(path, LARGEST).with_context(|| format!("can't read {}", path.display()))?;
    }
    serde_json::from_str(text.trim_start_matches('\u{feff}')).with_context(|| {
        let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
        format!("{name} holds no JSON object")
    })
}

/// What the event's matcher will be tested against.
fn subject(event: EventKind, fields: &Map<String, Value>) -> Option<String> {
    let name = match event.info().subject {
        Subject::ToolName => "tool_name",
        Subject::Field { name, .. } => name,
        Subject::Nothing => return None,
    };
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn needs(event: EventKind) -> String {
    let hint = match event.info().subject {
        Subject::ToolName => "; give --tool NAME --args JSON, or --input FILE",
        _ if matches!(event, EventKind::BeforeAgent | EventKind::AfterAgent) => "; give --prompt TEXT, or --input FILE",
        _ => "; give --input FILE",
    };
    format!("this is no input for {event}{hint}")
}

/// One object: the merged answer in a hook's own words, and how each hook ran.
fn as_json(event: EventKind, outcome: &Outcome<()>, doubts: &[String]) -> Value {
    let mut object = outcome.merged.to_json(event);
    if !doubts.is_empty() && exit_code(outcome) == exit::OK {
        object.insert("decision".to_owned(), Value::Null);
    }
    object.insert("doubts".to_owned(), json!(doubts));
    let words = |said: &hookwright_hooks::Said| json!({"hook": said.hook, "source": said.source.to_string(), "text": said.text});
    object.insert("warnings".to_owned(), outcome.warnings.iter().map(words).collect());
    object.insert("runs".to_owned(), outcome.runs.iter().map(run_json).collect());
    Value::Object(object)
}

fn run_json(run: &RunReport) -> Value {
    json!({
        "name": run.hook,
        "run_id": run.id.to_string(),
        "source": run.source.to_string(),
        "status": run.status,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "duration_ms": (run.duration.as_secs_f64() * 1e6).round() / 1e3,
        "decision": decision_word(run),
        "error": run.error,
        "stdout": run.stdout.text,
        "stderr": run.stderr.text,
        "truncated": run.truncated(),
        "left_behind": run.left_behind,
    })
}

fn decision_word(run: &RunReport) -> Option<&'static str> {
    match run.decision() {
        _ if run.answer.stop => Some("stop"),
        Some(Decision::Deny) => Some("deny"),
        Some(Decision::Ask) => Some("ask"),
        Some(Decision::Allow) => Some("allow"),
        None => None,
    }
}

/// The runs, then the outcome.
fn timeline(
    event: EventKind,
    subject: Option<&str>,
    how: &str,
    outcome: &Outcome<()>,
    doubts: &[String],
) -> anyhow::Result<()> {
    let mut stdout = out::stdout();
    let subject = subject.map(|subject| format!(" {}", out::one_line(subject))).unwrap_or_default();
    writeln!(stdout, "{}{subject}: {how}", paint(BOLD, event))?;
    for run in &outcome.runs {
        let word = decision_word(run).unwrap_or(if run.succeeded() { "no objection" } else { run.status.as_str() });
        let style = match word {
            "deny" | "stop" => BAD,
            "ask" => WARN,
            "allow" | "no objection" => GOOD,
            _ => WARN,
        };
        let end = match (run.exit_code, run.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => run.status.as_str().to_owned(),
        };
        let facts = paint(DIM, format!("({}, {:.1} ms, {end})", run.source, run.duration.as_secs_f64() * 1e3));
        writeln!(stdout, "  {} {} {facts}", out::shorten(&run.hook, 60), paint(style, word))?;
        if let Some(error) = &run.error {
            writeln!(stdout, "    {} {}", paint(WARN, "warning:"), error.trim_end().replace('\n', "\n    "))?;
        }
    }
    writeln!(stdout, "{}", paint(BOLD, "outcome"))?;
    for (label, text) in summary(event, outcome, doubts) {
        writeln!(stdout, "  {label}: {}", text.trim_end().replace('\n', "\n    "))?;
    }
    Ok(())
}

fn summary(event: EventKind, outcome: &Outcome<()>, doubts: &[String]) -> Vec<(&'static str, String)> {
    let merged = &outcome.merged;
    let decision = match merged.answer.decision {
        _ if merged.answer.stop => "stopped",
        Some(Decision::Deny) => "denied",
        Some(Decision::Ask) => "ask the user",
        Some(Decision::Allow) | None if !doubts.is_empty() => "nobody objects, but that is no yes",
        Some(Decision::Allow) | None => "allowed",
    };
    let mut lines = vec![("decision", decision.to_owned())];
    lines.extend(doubts.iter().map(|doubt| ("warning", doubt.clone())));
    if merged.answer.stop {
        lines.push(("reason", merged.stop_text()));
    } else if merged.answer.decision >= Some(Decision::Ask) {
        lines.push(("reason", merged.reason_text()));
    }
    lines.extend(merged.answer.system_message.clone().map(|text| ("message", text)));
    lines.extend(merged.answer.additional_context.clone().map(|text| ("context", text)));
    if let Some(Value::Object(specific)) = merged.to_json(event).remove("hookSpecificOutput") {
        let shown = ["hookEventName", "additionalContext"];
        let rest: Map<String, Value> = specific.into_iter().filter(|(key, _)| !shown.contains(&key.as_str())).collect();
        if !rest.is_empty() {
            lines.push(("changes", format!("{:#}", Value::Object(rest))));
        }
    }
    let first_errors: Vec<_> = outcome.runs.iter().filter_map(|run| run.error.as_deref()).collect();
    let more = outcome.warnings.iter().filter(|said| !first_errors.contains(&said.text.as_str()));
    lines.extend(more.map(|said| ("warning", format!("{} {}", said.hook, said.text))));
    lines
}
