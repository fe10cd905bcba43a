//! opencode, which has no command hooks: a generated plugin calls the bridge and does what it answers. Both ends are ours, so
//! the answer is plain: `{decision: "allow" | "deny", reason?, args?, output?, context?, message?}`, always with a decision;
//! the plugin takes anything else for a no.

use hookwright_hooks::{EventKind, Power};
use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, Heard, Loss, Misheard, Ruling, Verdict, Written};
use crate::hearing::{self, event_name};
use crate::host::{Host, HostEvent};
use crate::payload::{arguments, needed, text};

/// opencode's generated plugin.
pub(crate) struct Opencode;

impl Dialect for Opencode {
    fn hear(&self, host: Host, payload: Map<String, Value>, told: Option<&str>) -> Result<Heard, Misheard> {
        let event = event_name(text(&payload, &["hook_event_name"]), told)?;
        let row = host.event(&event);
        let mut heard = hearing::frame(host, &event, row, &payload);
        let fields = match row.and_then(|row| row.ours) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let (name, input) = (needed(&payload, &["tool_name"])?, arguments(&payload, &["tool_input"])?);
                let result = (kind == EventKind::AfterTool)
                    .then(|| hearing::response(payload.get("tool_response"), text(&payload, &["error"])));
                hearing::call(&mut heard, kind, name, input, result)?;
                return Ok(heard);
            }
            Some(EventKind::BeforeAgent) => json!({"prompt": needed(&payload, &["prompt"])?}),
            Some(EventKind::AfterAgent) => json!({
                "prompt": "",
                "prompt_response": text(&payload, &["prompt_response"]).unwrap_or_default(),
            }),
            Some(EventKind::SessionStart) => json!({"source": "startup"}),
            Some(EventKind::PreCompress) => json!({"trigger": "auto"}),
            _ => {
                if row.is_none() {
                    hearing::unknown(&mut heard, &payload);
                }
                return Ok(heard);
            }
        };
        if let Some(kind) = row.and_then(|row| row.ours) {
            heard.views.push(hearing::view(kind, fields)?);
        }
        Ok(heard)
    }

    fn write(&self, heard: &Heard, verdict: &Verdict) -> Written {
        let mut lost = verdict.lost.clone();
        let mut lose = |wanted, became| lost.push(Loss { wanted, became });
        let can = |power| heard.row.is_some_and(|row| row.can(power));
        let mut answer = Map::new();
        let is_no = match verdict.ruling {
            Ruling::Pass => false,
            Ruling::Ask => {
                lose("ask", "deny");
                true
            }
            Ruling::Deny | Ruling::Stop => true,
        };
        if verdict.ruling == Ruling::Stop && !can(Power::Stop) {
            lose("stop", "deny");
        }
        if is_no && !can(Power::Deny) {
            lose(verdict.ruling.as_str(), "nothing");
        }
        answer.insert("decision".to_owned(), if is_no { "deny" } else { "allow" }.into());
        if is_no {
            answer.insert("reason".to_owned(), verdict.why().into());
            if verdict.ruling == Ruling::Stop && can(Power::Stop) {
                answer.insert("stop".to_owned(), true.into());
            }
        } else if let Some(input) = &verdict.input {
            answer.insert("args".to_owned(), input.clone().into());
        }
        if let Some(context) = &verdict.context {
            match can(Power::Context) {
                true => drop(answer.insert("context".to_owned(), context.clone().into())),
                false => lose("context", "nothing"),
            }
        }
        answer.extend(verdict.message.clone().map(|message| ("message".to_owned(), message.into())));
        Written { stdout: Value::Object(answer).to_string(), lost, ..Written::default() }
    }

    fn refuse(&self, _: Host, _: Option<&HostEvent>, words: &str) -> Written {
        Written { stdout: json!({"decision": "deny", "reason": words}).to_string(), ..Written::default() }
    }
}
