//! Fires one hook alone, on an input that asks for nothing, to see whether it is awake.

use std::sync::Arc;

use hookwright_hooks::{AnyEvent, Hook, HookEngine, Matcher, Registry, Subject};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::conduct::Conductor;
use super::reply::Reply;
use crate::services::HookEvents;

impl Conductor {
    pub(super) fn canary(&mut self, hook: &Arc<Hook>) {
        // Alone or not, what an agent changed does not run.
        if let Err(why) = self.services().hooks.trusts(hook) {
            return self.reply(Reply::warning(format!("canary: {} was not fired: {why}", hook.id())));
        }
        let event = match AnyEvent::from_fields(hook.event, harmless(hook)) {
            Ok(event) => event,
            Err(error) => return self.reply(Reply::error(error)),
        };
        let view = self.shared.view();
        let mut alone = Registry::default();
        alone.add(Hook { matcher: Matcher::All, when: Vec::new(), ..Hook::clone(hook) });
        let engine = HookEngine::builder(alone)
            .session((*view.services.hooks.session()).clone())
            .places(view.loaded.hook_places())
            .observer(Arc::new(HookEvents(view.services.events.clone())))
            .build();
        self.reply(Reply::warning(format!("canary: {} was fired alone on a harmless {}", hook.id(), hook.event)));
        tokio::spawn(async move {
            engine.fire_any(&event, &CancellationToken::new()).await;
            engine.shutdown().await;
        });
    }
}

/// The fields of an event that asks for nothing. Those that are not its own are ignored.
fn harmless(hook: &Hook) -> Map<String, Value> {
    let subject = hook.matcher_text.as_deref().unwrap_or_default();
    let first = subject
        .split('|')
        .next()
        .filter(|name| !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_'));
    let fields = json!({
        "tool_name": first.unwrap_or("read_file"),
        "tool_input": {},
        "tool_response": {"llmContent": "canary", "returnDisplay": "canary"},
        "prompt": "canary",
        "prompt_response": "canary",
        "stop_hook_active": false,
        "message": "canary",
        "details": {},
        "llm_request": {"model": "canary", "messages": [{"role": "user", "content": "canary"}]},
        "llm_response": {"text": "canary", "candidates": []},
        "content": "canary",
        "full_content": "canary",
    });
    let mut fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
    if let Subject::Field { name, values } = hook.event.info().subject {
        let value = first.or(values.first().copied()).unwrap_or_default();
        fields.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_hooks::EventKind;

    #[test]
    fn every_event_has_a_harmless_one() {
        for kind in EventKind::all() {
            let hook = Hook::in_code(kind, "h", |_| async { Err(String::new()) });
            let event = AnyEvent::from_fields(kind, harmless(&hook));
            assert!(event.is_ok(), "{kind}: {:?}", event.err());
        }
    }
}
