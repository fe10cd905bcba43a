//! Claude Code's dialect and its relatives: one codec with switches for Claude Code, Codex, Copilot (under PascalCase names),
//! Qwen, Droid and Grok. What each of them can be told is the table's (`host.rs`); how it is said is here.

use std::borrow::Cow;

use hookwright_hooks::{EventKind, Power};
use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, Heard, Loss, Misheard, Ruling, Verdict, Written};
use crate::hearing::{self, event_name};
use crate::host::{COPILOT_NAMES, Host, HostEvent};
use crate::payload::{arguments, needed, text};

/// The Claude family.
pub(crate) struct Family;

impl Dialect for Family {
    fn hear(&self, host: Host, payload: Map<String, Value>, told: Option<&str>) -> Result<Heard, Misheard> {
        let said = text(&payload, &["hook_event_name", "hookEventName", "hookName"]).map(pascal);
        let told = told.map(pascal);
        let event = event_name(said.as_deref(), told.as_deref())?;
        let row = host.event(&event);
        let mut heard = hearing::frame(host, &event, row, &payload);
        let Some(kind) = row.and_then(|row| row.ours) else {
            if row.is_none() {
                hearing::unknown(&mut heard, &payload);
            }
            return Ok(heard);
        };
        views(&mut heard, kind, &payload)?;
        Ok(heard)
    }

    fn write(&self, heard: &Heard, verdict: &Verdict) -> Written {
        let Some(row) = heard.row else { return Written { lost: verdict.lost.clone(), ..Written::default() } };
        answer(heard.host, row, verdict)
    }

    fn refuse(&self, host: Host, event: Option<&HostEvent>, words: &str) -> Written {
        match event {
            Some(row) if row.can(Power::Deny) && row.ours != Some(EventKind::AfterAgent) => {
                answer(host, row, &Verdict::deny(words))
            }
            Some(_) => Written { stderr: words.to_owned(), ..Written::default() },
            None => blocked(words),
        }
    }
}

/// An event's name as Claude Code writes it: `preToolUse` and `pre_tool_use` are `PreToolUse`.
fn pascal(name: &str) -> Cow<'_, str> {
    if let Some((_, pascal)) = COPILOT_NAMES.iter().find(|(camel, _)| *camel == name) {
        return Cow::Borrowed(pascal);
    }
    if !name.starts_with(|char: char| char.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    Cow::Owned(name.split('_').filter(|word| word.is_ascii() && !word.is_empty()).map(capital).collect())
}

const TOOL_NAME: &[&str] = &["tool_name", "toolName"];
const TOOL_INPUT: &[&str] = &["tool_input", "toolInput", "toolArgs"];
const CUT_OFF: [&str; 2] = ["toolInputTruncated", "tool_input_truncated"];
const RESULT: [&str; 4] = ["tool_response", "tool_result", "toolResult", "toolResponse"];

fn views(heard: &mut Heard, kind: EventKind, payload: &Map<String, Value>) -> Result<(), Misheard> {
    let text_or = |names: &[&str], other: &str| text(payload, names).unwrap_or(other).to_owned();
    let is_retry =
        ["stop_hook_active", "stopHookActive"].iter().any(|key| payload.get(*key) == Some(&Value::Bool(true)));
    let one = match kind {
        // What a guard can't see it can't judge.
        EventKind::BeforeTool if CUT_OFF.iter().any(|key| payload.get(*key) == Some(&Value::Bool(true))) => {
            return Err(Misheard::CutOff);
        }
        EventKind::BeforeTool | EventKind::AfterTool => {
            let (name, input) = (needed(payload, TOOL_NAME)?, arguments(payload, TOOL_INPUT)?);
            let response = (kind == EventKind::AfterTool).then(|| {
                let error =
                    payload.get("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
                hearing::response(RESULT.iter().find_map(|name| payload.get(*name)), error.as_deref())
            });
            return hearing::call(heard, kind, name, input, response);
        }
        EventKind::BeforeAgent => json!({"prompt": needed(payload, &["prompt"])?}),
        EventKind::AfterAgent => json!({
            "prompt": text_or(&["prompt"], ""),
            "prompt_response": text_or(&["last_assistant_message", "lastAssistantMessage", "response"], ""),
            "stop_hook_active": is_retry,
        }),
        EventKind::SessionStart => json!({"source": match text_or(&["source"], "startup").as_str() {
            "new" => "startup",
            other => other,
        }}),
        EventKind::SessionEnd => json!({"reason": text_or(&["reason"], "other")}),
        EventKind::PreCompress => json!({"trigger": text_or(&["trigger"], "auto")}),
        EventKind::Notification => return notification(heard, payload),
        EventKind::BeforeModel | EventKind::BeforeToolSelection | EventKind::AfterModel => return Ok(()),
    };
    heard.views.push(hearing::view(kind, one)?);
    Ok(())
}

/// A question for permission, or other news.
fn notification(heard: &mut Heard, payload: &Map<String, Value>) -> Result<(), Misheard> {
    let kind = match text(payload, &["notification_type", "notificationType"]) {
        Some("permission_prompt") => "ToolPermission",
        Some(other) => other,
        None => "ToolPermission",
    };
    let message = text(payload, &["message", "title"]).unwrap_or_default();
    let mut details = json!({"type": "info", "title": text(payload, &["title"]).unwrap_or(message), "prompt": message});
    if let Some(name) = text(payload, TOOL_NAME) {
        let input = arguments(payload, TOOL_INPUT)?;
        hearing::call(heard, EventKind::BeforeTool, name.to_owned(), input.clone(), None)?;
        match heard.row.is_some_and(|row| row.can(Power::Deny)) {
            true => heard.views.iter_mut().for_each(|view| view.again = true),
            false => heard.views.clear(),
        }
        details = json!({"type": "info", "title": name, "prompt": message, "tool_name": name, "tool_input": input});
    }
    let fields = json!({"notification_type": kind, "message": message, "details": details});
    heard.views.push(hearing::view(EventKind::Notification, fields)?);
    Ok(())
}

/// An answer under construction.
#[derive(Default)]
struct Answer {
    top: Map<String, Value>,
    specific: Map<String, Value>,
    lost: Vec<Loss>,
    exit: u8,
    stderr: String,
}

impl Answer {
    fn say(&mut self, key: &str, value: impl Into<Value>) {
        self.top.insert(key.to_owned(), value.into());
    }

    fn specify(&mut self, key: &str, value: impl Into<Value>) {
        self.specific.insert(key.to_owned(), value.into());
    }

    fn lose(&mut self, wanted: &'static str, became: &'static str) {
        self.lost.push(Loss { wanted, became });
    }

    /// Words for the model. Copilot looks for them beside the event's own part, and others who read its files within.
    fn tell(&mut self, host: Host, context: &str) {
        self.specify("additionalContext", context);
        if host == Host::Copilot {
            self.say("additionalContext", context);
        }
    }

    fn block(&mut self, reason: &str) {
        self.say("decision", "block");
        self.say("reason", reason);
    }

    fn end(&mut self, reason: &str) {
        self.say("continue", false);
        self.say("stopReason", reason);
    }

    fn written(self, row: &HostEvent) -> Written {
        let Answer { mut top, specific, lost, exit, stderr } = self;
        if !specific.is_empty() {
            let mut whole = Map::from_iter([("hookEventName".to_owned(), Value::from(row.name))]);
            whole.extend(specific);
            top.insert("hookSpecificOutput".to_owned(), whole.into());
        }
        let stdout = if top.is_empty() { String::new() } else { Value::Object(top).to_string() };
        Written { stdout, stderr, exit, lost }
    }
}

/// Exit 2 with words: what every relative takes for a no, whatever the event.
fn blocked(words: &str) -> Written {
    Written { stderr: words.to_owned(), exit: 2, ..Written::default() }
}

fn answer(host: Host, row: &HostEvent, verdict: &Verdict) -> Written {
    let mut answer = Answer { lost: verdict.lost.clone(), ..Answer::default() };
    match row.ours {
        Some(EventKind::BeforeTool) => before_tool(host, row, verdict, &mut answer),
        Some(EventKind::Notification) => permission(host, row, verdict, &mut answer),
        Some(EventKind::AfterAgent) => after_agent(host, row, verdict, &mut answer),
        Some(EventKind::AfterTool) => after_tool(host, row, verdict, &mut answer),
        Some(EventKind::BeforeAgent) => before_agent(host, row, verdict, &mut answer),
        _ => {}
    }
    if let Some(context) = &verdict.context {
        match row.can(Power::Context) {
            // An answer that blocks has no room for more in Codex.
            true if host != Host::Codex || answer.top.is_empty() => answer.tell(host, context),
            _ => answer.lose("context", "nothing"),
        }
    }
    if let Some(message) = &verdict.message {
        match host {
            Host::ClaudeCode | Host::Qwen | Host::Droid | Host::Copilot => {
                answer.say("systemMessage", message.as_str())
            }
            _ => answer.lose("message", "a line in the trace"),
        }
    }
    answer.written(row)
}

fn before_tool(host: Host, row: &HostEvent, verdict: &Verdict, answer: &mut Answer) {
    let ruling = match verdict.ruling {
        Ruling::Pass if verdict.input.is_some() && !row.can(Power::RewriteInput) => {
            answer.lose("rewrite", "deny");
            let title = host.title();
            let reason = format!("a hook changes this call's arguments, and {title} does not take changes here");
            return deny(host, &reason, answer);
        }
        // The changed call is what the user would be asked about.
        Ruling::Ask if verdict.input.is_some() && !row.can(Power::RewriteInput) => {
            answer.lose("rewrite", "deny");
            Ruling::Deny
        }
        ruling => ruling,
    };
    match ruling {
        Ruling::Pass => {
            if let Some(input) = &verdict.input {
                // Codex takes changes only with an allow; elsewhere that would be more than was said.
                if host == Host::Codex {
                    answer.specify("permissionDecision", "allow");
                }
                answer.specify("updatedInput", input.clone());
            }
        }
        Ruling::Ask if row.can(Power::Ask) => {
            answer.specify("permissionDecision", "ask");
            answer.specify("permissionDecisionReason", verdict.why());
            if let Some(input) = &verdict.input {
                answer.specify("updatedInput", input.clone());
            }
        }
        Ruling::Ask => {
            answer.lose("ask", "deny");
            let reason = format!("{} (you would be asked, which {} can't do for a hook)", verdict.why(), host.title());
            deny(host, &reason, answer);
        }
        Ruling::Deny => deny(host, verdict.why(), answer),
        Ruling::Stop => {
            deny(host, verdict.why(), answer);
            match row.can(Power::Stop) {
                true => answer.end(verdict.why()),
                false => answer.lose("stop", "deny"),
            }
        }
    }
}

fn deny(host: Host, reason: &str, answer: &mut Answer) {
    match host {
        Host::Grok => {
            answer.say("decision", "deny");
            answer.say("reason", reason);
            answer.exit = 2;
            answer.stderr = reason.to_owned();
        }
        _ => {
            answer.specify("permissionDecision", "deny");
            answer.specify("permissionDecisionReason", reason);
        }
    }
    // Under its own event names Copilot reads these; they are the same no.
    if host == Host::Copilot {
        answer.say("permissionDecision", "deny");
        answer.say("permissionDecisionReason", reason);
    }
}

fn permission(host: Host, row: &HostEvent, verdict: &Verdict, answer: &mut Answer) {
    if verdict.ruling == Ruling::Pass {
        return;
    }
    if !row.can(Power::Deny) {
        return answer.lose(verdict.ruling.as_str(), "nothing");
    }
    answer.specify("decision", json!({"behavior": "deny", "message": verdict.why()}));
    if host == Host::Copilot {
        answer.say("behavior", "deny");
        answer.say("message", verdict.why());
    }
}

fn after_tool(host: Host, row: &HostEvent, verdict: &Verdict, answer: &mut Answer) {
    match verdict.ruling {
        Ruling::Pass | Ruling::Ask => {}
        Ruling::Stop if row.can(Power::Stop) => answer.end(verdict.why()),
        ruling => {
            if ruling == Ruling::Stop {
                answer.lose("stop", "deny");
            }
            match row.can(Power::Deny) {
                true => {
                    answer.block(verdict.why());
                    if host == Host::ClaudeCode {
                        answer.specify("updatedToolOutput", verdict.why());
                    }
                }
                // The result can't be hidden; that it should be is said.
                false => {
                    answer.lose("hide the result", "context");
                    if row.can(Power::Context) && verdict.context.is_none() {
                        answer.tell(host, verdict.why());
                    }
                }
            }
        }
    }
}

fn before_agent(host: Host, row: &HostEvent, verdict: &Verdict, answer: &mut Answer) {
    if verdict.ruling < Ruling::Deny {
        return;
    }
    if !row.can(Power::Deny) {
        answer.lose(verdict.ruling.as_str(), "nothing");
    }
    answer.block(verdict.why());
    match verdict.ruling {
        Ruling::Stop if row.can(Power::Stop) => answer.end(verdict.why()),
        Ruling::Stop => answer.lose("stop", "deny"),
        _ => {}
    }
    by_exit_code(host, verdict, answer);
}

fn after_agent(host: Host, row: &HostEvent, verdict: &Verdict, answer: &mut Answer) {
    match verdict.ruling {
        Ruling::Pass | Ruling::Ask => {}
        Ruling::Deny if row.can(Power::Deny) => {
            answer.block(verdict.why());
            by_exit_code(host, verdict, answer);
        }
        Ruling::Deny => answer.lose("another try", "nothing"),
        // Where it can't be said, it is what happens anyway.
        Ruling::Stop if row.can(Power::Stop) => answer.end(verdict.why()),
        Ruling::Stop => {}
    }
}

/// Where a block in JSON is known to be overlooked, the exit code says it too.
fn by_exit_code(host: Host, verdict: &Verdict, answer: &mut Answer) {
    if matches!(host, Host::Droid | Host::Grok) {
        answer.exit = 2;
        answer.stderr = verdict.why().to_owned();
    }
}
