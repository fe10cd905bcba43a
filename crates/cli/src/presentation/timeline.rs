//! A session's timeline as text: the events that fired, what each hook did, and how long it took.

use hookwright_agent::{
    AgentEvent, AgentNotice, HookEvent, Question, QuestionEvent, QuestionSubject, SessionEvent, ToolEvent, TurnEnd,
    TurnEvent,
};
use hookwright_hooks::{Decision, EventKind, RunReport};

use crate::output::{self, BAD, BOLD, DIM, GOOD, NOTE, WARN, paint};

/// Returns what a hook did, in a few words.
pub(crate) fn summary(report: &RunReport) -> String {
    let answer = &report.answer;
    if let Some(error) = report.error.as_ref().filter(|_| !report.succeeded()) {
        return format!("failed: {}", output::one_line(error));
    }
    let reason = |word: &str| match answer.reason.as_deref() {
        Some(reason) => format!("{word}: {}", output::one_line(reason)),
        None => word.to_owned(),
    };
    let mut actions = Vec::new();
    match answer.decision {
        _ if answer.stop => {
            actions.push(format!("stopped the agent: {}", answer.stop_reason.as_deref().unwrap_or("no reason given")))
        }
        Some(Decision::Deny) if report.event == EventKind::AfterAgent => actions.push(reason("demanded a retry")),
        Some(Decision::Deny) => actions.push(reason("denied")),
        Some(Decision::Ask) => actions.push(reason("wants the user to decide")),
        Some(Decision::Confine) => actions.push(reason("has it run confined")),
        Some(Decision::Allow) | None => {}
    }
    if let Some(input) = &answer.tool_input {
        let keys: Vec<&str> = input.keys().map(String::as_str).collect();
        actions.push(format!("rewrote {}", keys.join(", ")));
    }
    if answer.llm_request.is_some() {
        actions.push("changed the request".to_owned());
    }
    if let Some(response) = &answer.llm_response {
        let verb =
            if report.event == EventKind::BeforeModel { "answered for the model" } else { "replaced the text by" };
        actions.push(format!("{verb} \"{}\"", output::truncate_columns(&response.text(), 40)));
    }
    if let Some(config) = &answer.tool_config {
        let names = if config.allowed.is_empty() { String::new() } else { format!(" {}", config.allowed.join(", ")) };
        actions.push(format!("limited the tools to{names}"));
    }
    actions.extend(answer.tail_call.as_ref().map(|call| format!("ran {} next", call.name)));
    actions.extend(
        answer
            .additional_context
            .as_ref()
            .map(|text| format!("told the model \"{}\"", output::truncate_columns(text, 40))),
    );
    actions
        .extend(answer.system_message.as_ref().map(|text| format!("said \"{}\"", output::truncate_columns(text, 50))));
    if answer.clear_context {
        actions.push("emptied the model's memory".to_owned());
    }
    if actions.is_empty() { "no objection".to_owned() } else { actions.join("; ") }
}

/// Returns the lines for an event, or none for events that are printed elsewhere.
pub(crate) fn event_lines(event: &AgentEvent) -> Vec<String> {
    match event {
        AgentEvent::Turn(TurnEvent::Received { prompt, .. }) => {
            let shown = prompt.lines().map(|line| format!("  {}", output::truncate_columns(line, 90)));
            std::iter::once(format!("\n{}", paint(BOLD, "prompt"))).chain(shown).collect()
        }
        AgentEvent::Hook(HookEvent::Finished { report, .. }) => vec![hook_line(report)],
        AgentEvent::Tool(ToolEvent::Started(start)) => {
            vec![format!("  {} {}", paint(NOTE, &start.name), output::truncate_columns(&start.description, 70))]
        }
        AgentEvent::Tool(ToolEvent::Finished(end)) => match &end.error {
            Some(error) => vec![format!(
                "  {} {}",
                paint(BAD, format!("{} did not run:", end.name)),
                output::truncate_columns(&error.message, 80)
            )],
            None if end.display.summary().is_empty() => Vec::new(),
            None => {
                vec![format!("  {}", paint(DIM, format!("→ {}", output::truncate_columns(&end.display.summary(), 80))))]
            }
        },
        AgentEvent::Turn(TurnEvent::Retried { attempt, .. }) => {
            vec![format!("  {} retry {attempt}", paint(WARN, "again:"))]
        }
        AgentEvent::Session(SessionEvent::Compressed { before, after, .. }) => {
            vec![format!("  {} {before} → {after} tokens", paint(NOTE, "history compressed"))]
        }
        AgentEvent::Question(QuestionEvent::Asked(Question {
            subject: QuestionSubject::Approval(request), ..
        })) => {
            vec![format!("  {} {}", paint(NOTE, "asked the user:"), output::truncate_columns(&request.description, 70))]
        }
        AgentEvent::Notice(AgentNotice::Warning(text)) => vec![format!("  {} {text}", paint(WARN, "warning:"))],
        AgentEvent::SubAgent { agent, event, .. } => match &**event {
            AgentEvent::Turn(TurnEvent::Received { prompt, .. }) => {
                let begins = paint(BOLD, format!("agent {}", agent.name));
                vec![format!("  {begins} {}", output::truncate_columns(prompt, 70))]
            }
            event => event_lines(event).into_iter().map(|line| format!("  {line}")).collect(),
        },
        AgentEvent::Turn(TurnEvent::Finished(end)) => end_line(end).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn hook_line(report: &RunReport) -> String {
    let summary_text = summary(report);
    let style = match report.decision() {
        _ if !report.succeeded() => WARN,
        _ if report.answer.stop => BAD,
        Some(Decision::Deny) => BAD,
        Some(Decision::Ask | Decision::Confine) => WARN,
        _ if summary_text == "no objection" => DIM,
        _ => GOOD,
    };
    let time = paint(DIM, format!("{:>6.1} ms", report.duration.as_secs_f64() * 1e3));
    let within = if report.context.agent.is_some() { "  " } else { "" };
    format!(
        "{within}  {} {time}  {:<16} {}",
        paint(NOTE, format!("{:<19}", report.event)),
        output::truncate_columns(&report.hook, 16),
        paint(style, output::truncate_columns(&summary_text, 100))
    )
}

fn end_line(end: &TurnEnd) -> Option<String> {
    let style = if *end == TurnEnd::Cancelled { WARN } else { BAD };
    let (kind, words) = (end.kind()?, end.message()?);
    Some(match end {
        TurnEnd::Blocked(reason) | TurnEnd::Stopped(reason) => {
            format!("  {} {reason}", paint(style, format!("{kind}:")))
        }
        _ => format!("  {}", paint(style, words)),
    })
}
