//! The bridge's own refusals of tool calls that it does not understand, for events and for the replay of recorded ones.

use std::sync::Arc;

use hookwright_bridge::{HostEvent, ToolRecognition};
use hookwright_hooks::{AnyEvent, EventKind, Hook, HookEngine, HookState, OnUnknown, Registry};
use hookwright_journal::BridgeRefusal;

/// A tool call of another agent, as far as its understanding goes.
pub(crate) struct ForeignCall<'a> {
    /// The agent's title.
    pub(crate) agent: &'a str,
    /// The tool's name there.
    pub(crate) tool: &'a str,
    pub(crate) recognition: ToolRecognition,
    /// What is not understood about the call.
    pub(crate) uncertainty: Option<&'a str>,
    /// The events that hooks would receive.
    pub(crate) events: Vec<&'a AnyEvent>,
}

impl<'a> ForeignCall<'a> {
    /// Returns the tool call of an event, if it is about one.
    pub(super) fn from_event(host_event: &'a HostEvent) -> Option<ForeignCall<'a>> {
        let tool = host_event.tool.as_ref()?;
        Some(ForeignCall {
            agent: host_event.host.title(),
            tool: &tool.name,
            recognition: tool.recognition,
            uncertainty: tool.uncertainty.as_deref(),
            events: host_event.views.iter().map(|view| &view.event).collect(),
        })
    }
}

/// Returns the refusal of a tool call that is not understood.
///
/// A guard that does not match an unknown tool may miss it, and any guard may miss unknown arguments.
pub(crate) fn unknown_call_refusal(call: &ForeignCall<'_>, engine: &HookEngine) -> Option<(BridgeRefusal, String)> {
    let registry = engine.registry();
    if registry.on_unknown() == OnUnknown::Allow {
        return None;
    }
    let about_servers = match call.recognition {
        ToolRecognition::Known | ToolRecognition::Harmless => return None,
        ToolRecognition::UnknownArguments => return unknown_arguments_refusal(call, &registry),
        ToolRecognition::UnknownServer => true,
        ToolRecognition::Unknown => false,
    };
    let plans = call.events.iter().filter_map(|event| engine.plan(event.kind(), event.subject()));
    let asked: Vec<Arc<Hook>> = plans.flat_map(|plan| plan.hooks.clone()).collect();
    let is_blind = |hook: &Hook, state: &HookState| {
        hook.is_guard()
            && hook.event == EventKind::BeforeTool
            && *state == HookState::Enabled
            && (!about_servers || hook.matcher_text.as_ref().is_some_and(|text| text.to_lowercase().contains("mcp")))
            && !asked.iter().any(|one| one.id() == hook.id())
    };
    let blind = registry.entries().find(|(hook, state)| is_blind(hook, state)).map(|(hook, _)| hook.id().to_owned())?;
    let words = format!(
        "guard `{blind}` does not know the tool `{}` of {}, so the call is refused; give the guard a matcher for that tool, or set `hooksConfig.onUnknown` in your own settings",
        call.tool, call.agent
    );
    Some((BridgeRefusal::UnknownTool, words))
}

/// Returns the refusal of a known tool's call whose arguments are not understood.
fn unknown_arguments_refusal(call: &ForeignCall<'_>, registry: &Registry) -> Option<(BridgeRefusal, String)> {
    let is_awake = |(hook, state): &(&Arc<Hook>, &HookState)| {
        hook.is_guard() && hook.event == EventKind::BeforeTool && **state == HookState::Enabled
    };
    let (guard, _) = registry.entries().find(is_awake)?;
    let words = format!(
        "guard `{}` can't judge this call of `{}` of {}, so the call is refused: {}; `hooksConfig.onUnknown` in your own settings can let it pass",
        guard.id(),
        call.tool,
        call.agent,
        call.uncertainty.unwrap_or("its arguments are not known")
    );
    Some((BridgeRefusal::UnknownArguments, words))
}
