//! Fires one hook alone, on an input that asks for nothing, to see whether it is awake.

use std::sync::Arc;

use hookwright_hooks::{AnyEvent, EventKind, Hook, HookEngine, Matcher, Registry};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::conduct::Conductor;
use super::reply::Reply;
use crate::services::HookEvents;

impl Conductor {
    pub(super) fn canary(&mut self, hook: &Hook) {
        let event = match AnyEvent::from_fields(hook.event, harmless(hook)) {
            Ok(event) => event,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let view = self.shared.view();
        let mut alone = Registry::default();
        alone.add(Hook { matcher: Matcher::All, ..hook.clone() });
        let engine = HookEngine::builder(alone)
            .session((*view.services.hooks.session()).clone())
            .environment(view.loaded.hook_environment())
            .observer(Arc::new(HookEvents(view.services.events.clone())))
            .build();
        self.reply(Reply::warning(format!("canary: {} was fired alone on a harmless {}", hook.id(), hook.event)));
        tokio::spawn(async move {
            engine.fire_any(&event, &CancellationToken::new()).await;
            engine.shutdown().await;
        });
    }
}

/// The fields of an event that asks for nothing.
fn harmless(hook: &Hook) -> Map<String, Value> {
    let subject = hook.matcher_text.as_deref().unwrap_or_default();
    let first = subject
        .split('|')
        .next()
        .filter(|name| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_'));
    let request = json!({"model": "canary", "messages": [{"role": "user", "content": "canary"}]});
    let fields = match hook.event {
        EventKind::BeforeTool => json!({"tool_name": first.unwrap_or("read_file"), "tool_input": {}}),
        EventKind::AfterTool => {
            json!({"tool_name": first.unwrap_or("read_file"), "tool_input": {}, "tool_response": {"llmContent": "canary", "returnDisplay": "canary"}})
        }
        EventKind::BeforeAgent => json!({"prompt": "canary"}),
        EventKind::AfterAgent => json!({"prompt": "canary", "prompt_response": "canary", "stop_hook_active": false}),
        EventKind::SessionStart => json!({"source": first.unwrap_or("startup")}),
        EventKind::SessionEnd => json!({"reason": first.unwrap_or("exit")}),
        EventKind::PreCompress => json!({"trigger": first.unwrap_or("manual")}),
        EventKind::Notification => json!({"notification_type": "ToolPermission", "message": "canary", "details": {}}),
        EventKind::BeforeModel | EventKind::BeforeToolSelection => json!({"llm_request": request}),
        EventKind::AfterModel => {
            json!({"llm_request": request, "llm_response": {"text": "canary", "candidates": []}, "content": "canary", "full_content": "canary"})
        }
    };
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
