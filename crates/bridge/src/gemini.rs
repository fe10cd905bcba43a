//! Gemini CLI: the same eleven events and nearly our own words, as its 0.61 obeys them.

use hookwright_hooks::{AnyEvent, EventKind, Power};
use serde_json::{Map, Value};

use crate::dialect::{Back, Dialect, Heard, Loss, Misheard, Ruling, Verdict, View, Written};
use crate::hearing::{self, event_name};
use crate::host::{Host, HostEvent};
use crate::payload::{arguments, needed, text};

/// Gemini CLI.
pub(crate) struct Gemini;

impl Dialect for Gemini {
    fn hear(&self, host: Host, payload: Map<String, Value>, told: Option<&str>) -> Result<Heard, Misheard> {
        let event = event_name(text(&payload, &["hook_event_name"]), told)?;
        let row = host.event(&event);
        let mut heard = hearing::frame(host, &event, row, &payload);
        let Some(kind) = row.and_then(|row| row.ours) else {
            hearing::unknown(&mut heard, &payload);
            return Ok(heard);
        };
        if matches!(kind, EventKind::BeforeTool | EventKind::AfterTool) {
            let (name, input) = (needed(&payload, &["tool_name"])?, arguments(&payload, &["tool_input"])?);
            let result =
                (kind == EventKind::AfterTool).then(|| payload.get("tool_response").cloned().unwrap_or_default());
            hearing::call(&mut heard, kind, name, input, result)?;
            return Ok(heard);
        }
        let event = AnyEvent::from_fields(kind, payload)
            .map_err(|error| Misheard::Incomplete { event, problem: error.to_string() })?;
        heard.views.push(View { event, back: Back::View(0), again: false });
        Ok(heard)
    }

    fn write(&self, heard: &Heard, verdict: &Verdict) -> Written {
        let Some(row) = heard.row else { return Written::default() };
        let mut lost = verdict.lost.clone();
        let mut answer = verdict.ours.clone();
        for silent in ["decision", "reason", "continue", "suppressOutput"] {
            answer.shift_remove(silent);
        }
        // What a hook wants changed of something that does not happen is of no use.
        if verdict.ruling != Ruling::Pass && row.is_gate() {
            answer.shift_remove("hookSpecificOutput");
        }
        match verdict.ruling {
            Ruling::Pass => {}
            // With nobody there it would wait for ever.
            Ruling::Ask => {
                lost.push(Loss { wanted: "ask", became: "deny" });
                say_no(&mut answer, &format!("{} (you would be asked, and nobody may be there)", verdict.why()));
            }
            Ruling::Deny => say_no(&mut answer, verdict.why()),
            Ruling::Stop => {
                answer.insert("continue".to_owned(), false.into());
                answer.insert("stopReason".to_owned(), verdict.why().into());
                if row.is_gate() {
                    say_no(&mut answer, verdict.why());
                }
            }
        }
        let stdout = if answer.is_empty() { String::new() } else { Value::Object(answer).to_string() };
        Written { stdout, lost, ..Written::default() }
    }

    fn refuse(&self, _: Host, event: Option<&HostEvent>, words: &str) -> Written {
        match event {
            Some(row) if row.can(Power::Deny) && row.ours != Some(EventKind::AfterAgent) => {
                let mut answer = Map::new();
                say_no(&mut answer, words);
                Written { stdout: Value::Object(answer).to_string(), ..Written::default() }
            }
            Some(_) => Written { stderr: words.to_owned(), ..Written::default() },
            None => Written { stderr: words.to_owned(), exit: 2, ..Written::default() },
        }
    }
}

fn say_no(answer: &mut Map<String, Value>, reason: &str) {
    answer.insert("decision".to_owned(), "deny".into());
    answer.insert("reason".to_owned(), reason.into());
}
