//! Cursor: flat answers in snake case, generic and granular events for one call, and an explicit allow where nobody objects,
//! because an entry that fails closed takes silence for a failure.

use hookwright_hooks::{EventKind, Power};
use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, Heard, Loss, Misheard, Ruling, Verdict, Written};
use crate::hearing::{self, event_name};
use crate::host::{Host, HostEvent};
use crate::payload::{arguments, needed, text};

/// Cursor.
pub(crate) struct Cursor;

impl Dialect for Cursor {
    fn hear(&self, host: Host, payload: Map<String, Value>, told: Option<&str>) -> Result<Heard, Misheard> {
        let event = event_name(text(&payload, &["hook_event_name"]), told)?;
        let row = host.event(&event);
        let mut heard = hearing::frame(host, &event, row, &payload);
        match row.and_then(|row| row.ours) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let (name, input) = call(&event, &payload)?;
                let result = (kind == EventKind::AfterTool).then(|| result(&payload));
                hearing::call(&mut heard, kind, name, input, result)?;
            }
            Some(kind) => {
                let fields = fields(kind, &payload)?;
                heard.views.push(hearing::view(kind, fields)?);
            }
            None if row.is_none() => hearing::unknown(&mut heard, &payload),
            None => {}
        }
        Ok(heard)
    }

    fn write(&self, heard: &Heard, verdict: &Verdict) -> Written {
        match heard.row {
            Some(row) => answer(row, verdict),
            None => Written { stdout: "{}".to_owned(), lost: verdict.lost.clone(), ..Written::default() },
        }
    }

    fn refuse(&self, _: Host, event: Option<&HostEvent>, words: &str) -> Written {
        match event {
            Some(row) if row.is_gate() => answer(row, &Verdict::deny(words)),
            Some(_) => Written { stdout: "{}".to_owned(), stderr: words.to_owned(), ..Written::default() },
            None => Written { stderr: words.to_owned(), exit: 2, ..Written::default() },
        }
    }
}

/// The call that an event is about, in the words of the generic event.
fn call(event: &str, payload: &Map<String, Value>) -> Result<(String, Map<String, Value>), Misheard> {
    let take = |keys: &[&str]| -> Map<String, Value> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), payload.get(*key)?.clone()))).collect()
    };
    Ok(match event {
        "beforeShellExecution" | "afterShellExecution" => {
            needed(payload, &["command"])?;
            let mut input = take(&["command", "cwd"]);
            input.retain(|key, value| key != "cwd" || value.as_str().is_some_and(|cwd| !cwd.is_empty()));
            ("Shell".to_owned(), input)
        }
        "beforeReadFile" | "beforeTabFileRead" => {
            needed(payload, &["file_path"])?;
            ("Read".to_owned(), take(&["file_path"]))
        }
        "afterFileEdit" | "afterTabFileEdit" => {
            needed(payload, &["file_path"])?;
            ("MultiEdit".to_owned(), take(&["file_path", "edits"]))
        }
        "subagentStart" => ("Task".to_owned(), take(&["prompt", "task", "subagent_type"])),
        "beforeMCPExecution" | "afterMCPExecution" => {
            let name = needed(payload, &["tool_name"])?;
            let name = if name.starts_with("MCP:") || name.starts_with("mcp__") { name } else { format!("MCP:{name}") };
            (name, arguments(payload, &["tool_input"])?)
        }
        _ => (needed(payload, &["tool_name"])?, arguments(payload, &["tool_input"])?),
    })
}

fn result(payload: &Map<String, Value>) -> Value {
    // A JSON text, as the host has it.
    let output = ["tool_output", "result_json", "output"].iter().find_map(|name| payload.get(*name)).cloned();
    let output = output.map(|output| match output.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(inner)) => inner,
        _ => output,
    });
    hearing::response(output.as_ref(), text(payload, &["error_message", "error"]))
}

fn fields(kind: EventKind, payload: &Map<String, Value>) -> Result<Value, Misheard> {
    let text_or = |names: &[&str], other: &str| text(payload, names).unwrap_or(other).to_owned();
    Ok(match kind {
        EventKind::BeforeAgent => json!({"prompt": needed(payload, &["prompt"])?}),
        EventKind::AfterAgent => json!({
            "prompt": "",
            "prompt_response": text_or(&["text", "summary"], ""),
            "stop_hook_active": payload.get("loop_count").and_then(Value::as_u64).unwrap_or(0) > 0,
        }),
        EventKind::SessionStart => json!({"source": text_or(&["source"], "startup")}),
        EventKind::SessionEnd => json!({"reason": text_or(&["reason"], "other")}),
        _ => json!({"trigger": text_or(&["trigger"], "auto")}),
    })
}

fn answer(row: &HostEvent, verdict: &Verdict) -> Written {
    let mut lost = verdict.lost.clone();
    let mut lose = |wanted, became| lost.push(Loss { wanted, became });
    let mut answer = match row.ours {
        Some(EventKind::BeforeTool) => permission(row, verdict, &mut lose),
        Some(EventKind::BeforeAgent) if verdict.ruling >= Ruling::Deny => {
            json!({"continue": false, "user_message": verdict.why()})
        }
        Some(EventKind::BeforeAgent) => json!({"continue": true}),
        Some(EventKind::AfterAgent) if verdict.ruling == Ruling::Deny => json!({"followup_message": verdict.why()}),
        Some(EventKind::AfterTool) if verdict.ruling >= Ruling::Deny => {
            lose("hide the result", "context");
            match row.can(Power::Context) {
                true => json!({"additional_context": verdict.why()}),
                false => json!({}),
            }
        }
        _ => json!({}),
    };
    if let (Some(context), Some(answer)) = (&verdict.context, answer.as_object_mut()) {
        match row.can(Power::Context) && !answer.contains_key("additional_context") {
            true => drop(answer.insert("additional_context".to_owned(), context.as_str().into())),
            false => lose("context", "nothing"),
        }
    }
    if verdict.message.is_some() {
        lose("message", "a line in the trace");
    }
    Written { stdout: answer.to_string(), lost, ..Written::default() }
}

fn permission(row: &HostEvent, verdict: &Verdict, lose: &mut impl FnMut(&'static str, &'static str)) -> Value {
    let deny = |reason: &str| json!({"permission": "deny", "user_message": reason, "agent_message": reason});
    match (verdict.ruling, &verdict.input) {
        (Ruling::Pass, None) => json!({"permission": "allow"}),
        (Ruling::Pass, Some(input)) if row.can(Power::RewriteInput) => {
            json!({"permission": "allow", "updated_input": input})
        }
        (Ruling::Pass, Some(_)) => {
            lose("rewrite", "deny");
            deny("a hook changes this call's arguments, and Cursor does not take changes here")
        }
        (Ruling::Ask, _) => {
            lose("ask", "deny");
            deny(&format!("{} (you would be asked, which Cursor does not do for a hook)", verdict.why()))
        }
        (Ruling::Deny, _) => deny(verdict.why()),
        (Ruling::Stop, _) => {
            lose("stop", "deny");
            deny(verdict.why())
        }
    }
}
