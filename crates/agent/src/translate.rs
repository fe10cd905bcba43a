//! Converts between the model's types and the text-only view that hooks get.
//!
//! Calls, results and media in a request survive what hooks do to its text.

mod messages;

use std::borrow::Cow;

use hookwright_hooks::{
    LlmCandidate, LlmContent, LlmMessage, LlmRequest, LlmRequestPatch, LlmResponse, LlmUsage, ToolConfig,
};
use hookwright_model::{Chunk, Content, FinishReason, ModelRequest, Part, PartKind, ToolChoice, ToolMode, Usage};
use serde_json::{Map, Value};

/// Returns a request as hooks see it.
pub(crate) fn request_view(request: &ModelRequest) -> LlmRequest {
    let messages = request.contents.iter().filter_map(|content| {
        let text = content.text();
        (!text.is_empty()).then(|| LlmMessage { role: content.role.as_str().to_owned(), content: text })
    });
    let config = match serde_json::to_value(&request.generation) {
        Ok(Value::Object(config)) => config,
        _ => Map::new(),
    };
    LlmRequest {
        model: request.model.clone(),
        messages: messages.collect(),
        config,
        tool_config: Some(offered_tools(request)),
    }
}

/// Returns the tools that the model may call, by name, restricted or not.
fn offered_tools(request: &ModelRequest) -> ToolConfig {
    let names = request.tools.iter().map(|tool| tool.name.clone());
    match &request.tool_choice {
        _ if request.tools.is_empty() => {
            ToolConfig { mode: Some(hookwright_hooks::ToolMode::None), allowed: Vec::new() }
        }
        Some(choice) if !choice.allowed.is_empty() => tool_config(choice, choice.allowed.clone()),
        Some(choice) => tool_config(choice, names.filter(|name| choice.allows(name)).collect()),
        None => tool_config(&ToolChoice::default(), names.collect()),
    }
}

/// Returns a hook's choice of tools, or `None` if it allows everything that is offered.
fn hook_tool_restriction(request: &ModelRequest, choice: ToolChoice) -> Option<ToolChoice> {
    let all = request.tools.iter().all(|tool| choice.allows(&tool.name));
    (choice.mode != ToolMode::Auto || !all).then_some(choice)
}

/// Applies a hook's changes to a request, and returns a problem for each change that could not be applied.
pub(crate) fn apply_patch(request: &mut ModelRequest, patch: &LlmRequestPatch) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(model) = &patch.model {
        request.model.clone_from(model);
    }
    if let Some(messages) = &patch.messages {
        problems.extend(messages::apply_messages(request, messages));
    }
    if let Some(changes) = &patch.config {
        let mut config = request_view(&ModelRequest { contents: Vec::new(), ..request.clone() }).config;
        config.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
        match serde_json::from_value(Value::Object(config)) {
            Ok(generation) => request.generation = generation,
            Err(error) => problems.push(format!("its generation settings could not be used: {error}")),
        }
    }
    if let Some(config) = &patch.tool_config {
        request.tool_choice = hook_tool_restriction(request, tool_choice(config));
    }
    problems
}

fn with_text(content: &Content, text: &str) -> Content {
    Content { role: content.role, parts: parts_with_text(&content.parts, text) }
}

/// Returns the parts with all their text replaced: the new text stands where the first old text stood.
fn parts_with_text(parts: &[Part], text: &str) -> Vec<Part> {
    let mut replacement = Some(text).filter(|text| !text.is_empty());
    let mut result: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match &part.kind {
            PartKind::Text(_) => result
                .extend(replacement.take().map(|text| Part { kind: PartKind::Text(text.to_owned()), ..part.clone() })),
            _ => result.push(part.clone()),
        }
    }
    if let Some(text) = replacement {
        let after_thoughts = result.iter().take_while(|part| part.as_thought().is_some()).count();
        result.insert(after_thoughts, Part::text(text));
    }
    result
}

/// Returns a chunk of an answer as hooks see it.
pub(crate) fn chunk_view(chunk: &Chunk) -> LlmResponse {
    let parts: Vec<String> = chunk.parts.iter().filter_map(Part::as_text).map(str::to_owned).collect();
    // A chunk whose parts have no text gets an empty text; a chunk without parts gets none.
    let text = (!chunk.parts.is_empty()).then(|| parts.concat());
    let candidate = LlmCandidate {
        content: LlmContent { parts, ..LlmContent::default() },
        finish_reason: chunk.finish_reason.as_ref().map(|reason| reason.as_str().to_owned()),
        index: chunk.index,
        safety_ratings: chunk.safety_ratings.clone(),
    };
    LlmResponse { text, candidates: vec![candidate], usage: chunk.usage.as_ref().map(usage_view) }
}

fn usage_view(usage: &Usage) -> LlmUsage {
    LlmUsage {
        prompt_token_count: Some(usage.prompt),
        candidates_token_count: Some(usage.candidates),
        total_token_count: Some(usage.total),
    }
}

/// Returns the model's thoughts in a chunk.
pub(crate) fn thought_text(chunk: &Chunk) -> String {
    chunk.parts.iter().filter_map(Part::as_thought).collect()
}

/// Returns the parts of a chunk that have no type here: code that the provider ran, and its output.
pub(crate) fn provider_code_text(chunk: &Chunk) -> String {
    let beside: Vec<_> = chunk.parts.iter().filter_map(|part| part.extra.as_deref()).collect();
    if beside.is_empty() { String::new() } else { serde_json::to_string(&beside).unwrap_or_default() }
}

/// Returns the citations of a chunk.
pub(crate) fn citation_text(chunk: &Chunk) -> String {
    chunk.grounding.as_ref().map(Value::to_string).unwrap_or_default()
}

/// Replaces the text of a chunk with a hook's text.
///
/// Calls stay. Everything else that could repeat the old text (thoughts, code, media, citations,
/// the provider's finish message) is removed.
pub(crate) fn replace_chunk(chunk: &mut Chunk, response: &LlmResponse) {
    let calls = chunk.parts.iter().filter(|part| part.as_text().is_some() || part.as_function_call().is_some());
    let bare: Vec<Part> = calls.map(|part| Part { extra: None, ..part.clone() }).collect();
    chunk.parts = parts_with_text(&bare, &response.text());
    chunk.grounding = None;
    chunk.finish_message = None;
    let reason = response.candidates.first().and_then(|candidate| candidate.finish_reason.as_deref());
    if let Some(reason) = reason.and_then(parse_finish_reason) {
        chunk.finish_reason = Some(reason);
    }
}

/// Returns the answer that a hook gave in the model's place.
pub(crate) fn chunk_from_response(response: &LlmResponse) -> Chunk {
    let mut chunk = Chunk { finish_reason: Some(FinishReason::Stop), ..Chunk::default() };
    replace_chunk(&mut chunk, response);
    chunk
}

fn parse_finish_reason(word: &str) -> Option<FinishReason> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// Converts a hook's tool selection to the provider's.
pub(crate) fn tool_choice(config: &ToolConfig) -> ToolChoice {
    let mode = match config.mode {
        Some(hookwright_hooks::ToolMode::Any) => ToolMode::Any,
        Some(hookwright_hooks::ToolMode::None) => ToolMode::None,
        Some(hookwright_hooks::ToolMode::Auto) | None => ToolMode::Auto,
    };
    let allowed = config.allowed.iter().map(|name| hookwright_hooks::canonical_tool_name(name).to_owned());
    ToolChoice { mode, allowed: allowed.collect() }
}

fn tool_config(choice: &ToolChoice, allowed: Vec<String>) -> ToolConfig {
    let mode = match choice.mode {
        ToolMode::Auto => hookwright_hooks::ToolMode::Auto,
        ToolMode::Any => hookwright_hooks::ToolMode::Any,
        ToolMode::None => hookwright_hooks::ToolMode::None,
    };
    ToolConfig { mode: Some(mode), allowed }
}

/// Returns whether a part is nothing but a hook's text, as [`hook_context`] marks it.
pub(crate) fn is_hook_context(part: &Part) -> bool {
    part.as_text().is_some_and(|text| text.starts_with("<hook_context>") && text.ends_with("</hook_context>"))
}

/// The characters and escapes that a model may read as an opening bracket.
const BRACKET_FORMS: [&str; 7] = ["<", "\u{ff1c}", "\u{fe64}", "\u{2039}", "\\u003c", "\\u003C", "\\x3c"];

/// Escapes text that does not come from a hook: anything that looks like the hook marker loses its bracket.
pub(crate) fn escape_hook_marker(text: &str) -> Cow<'_, str> {
    // Nearly all texts take this fast path.
    if !contains_marker_name(text) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((at, bracket)) = BRACKET_FORMS.iter().filter_map(|one| Some((rest.find(one)?, *one))).min() {
        let behind = &rest[at + bracket.len()..];
        safe.push_str(&rest[..at]);
        safe.push_str(if starts_with_marker_name(behind) { "&lt;" } else { bracket });
        rest = behind;
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

/// Appends a text and escapes a hook marker that begins in the one and ends in the other.
pub(crate) fn append_escaped(text: &mut String, more: &str) {
    const MAX_MARKER_BYTES: usize = 256;
    let seam = text.len();
    text.push_str(more);
    let from = text.floor_char_boundary(seam.saturating_sub(MAX_MARKER_BYTES));
    let places = BRACKET_FORMS.iter().flat_map(|bracket| {
        text[from..seam]
            .match_indices(*bracket)
            .map(|(at, bracket)| from + at..from + at + bracket.len())
            .collect::<Vec<_>>()
    });
    let is_split = |place: &std::ops::Range<usize>| {
        !starts_with_marker_name(&text[place.end..seam]) && starts_with_marker_name(&text[place.end..])
    };
    let mut split: Vec<_> = places.filter(is_split).collect();
    split.sort_by_key(|place| std::cmp::Reverse(place.start));
    split.into_iter().for_each(|place| text.replace_range(place, "&lt;"));
}

/// Returns whether the letters of the marker's name occur in a text, in any case and with anything between them.
fn contains_marker_name(text: &str) -> bool {
    text.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"hook")) && {
        let letters: String = text.chars().filter(|char| char.is_ascii_alphabetic()).collect();
        letters.to_ascii_lowercase().contains("hookcontext")
    }
}

/// Returns whether a text starts with the marker's name, in any case and with any non-letters between its letters.
fn starts_with_marker_name(text: &str) -> bool {
    const MAX_MARKER_NAME_CHARS: usize = 64;
    let mut letters = text
        .chars()
        .take(MAX_MARKER_NAME_CHARS)
        .filter(|char| char.is_alphabetic())
        .map(|char| char.to_ascii_lowercase());
    "hookcontext".chars().all(|wanted| letters.next() == Some(wanted))
}

/// Marks a hook's text for the model and escapes it, so that it cannot close its own marker.
pub fn hook_context(text: &str) -> String {
    let escaped = text.replace('<', "&lt;").replace('>', "&gt;");
    format!("<hook_context>{escaped}</hook_context>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn request() -> ModelRequest {
        let call = Part::function_call(None, "glob", Map::new());
        let image = Part::inline_data("image/png", "AA==");
        ModelRequest::new(
            "m",
            vec![
                Arc::new(Content::user(vec![Part::text("one"), image])),
                Arc::new(Content::model(vec![call])),
                Arc::new(Content::user(vec![Part::function_response(None, "glob", Map::new())])),
                Arc::new(Content::model(vec![Part::thought("hm"), Part::text("two "), Part::text("three")])),
            ],
        )
    }

    fn message(role: &str, content: &str) -> LlmMessage {
        LlmMessage { role: role.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn hooks_see_text_only() {
        let view = request_view(&request());
        assert_eq!(view.messages, [message("user", "one"), message("model", "two three")]);
    }

    #[test]
    fn a_changed_message_keeps_everything_but_its_text() {
        let mut request = request();
        let messages = vec![
            message("system", "be brief"),
            message("user", "ONE"),
            message("model", "two three"),
            message("user", "more"),
        ];
        let untouched = request.contents[3].clone();
        let problems = apply_patch(&mut request, &LlmRequestPatch { messages: Some(messages), ..Default::default() });
        assert!(problems.is_empty());
        assert_eq!(request.system.as_deref(), Some("be brief"));
        assert_eq!(request.contents.len(), 5);
        assert_eq!(request.contents[0].text(), "ONE");
        assert!(matches!(request.contents[0].parts[1].kind, PartKind::InlineData(_)));
        assert!(request.contents[1].parts[0].as_function_call().is_some());
        assert!(Arc::ptr_eq(&request.contents[3], &untouched));
        assert_eq!(request.contents[4].text(), "more");
    }

    #[test]
    fn unnamed_settings_are_unchanged() {
        let mut request = request();
        request.generation.temperature = Some(1.0);
        request.generation.top_k = Some(3);
        let config = |json: Value| match json {
            Value::Object(map) => Some(map),
            _ => None,
        };
        let patch = LlmRequestPatch { config: config(json!({"temperature": 0.5})), ..Default::default() };
        assert!(apply_patch(&mut request, &patch).is_empty());
        assert_eq!((request.generation.temperature, request.generation.top_k), (Some(0.5), Some(3)));
        let patch = LlmRequestPatch { config: config(json!({"temperature": "hot"})), ..Default::default() };
        assert_eq!(apply_patch(&mut request, &patch).len(), 1);
        assert_eq!(request.generation.temperature, Some(0.5));
    }

    #[test]
    fn redacted_chunk_keeps_its_calls() {
        let call = Part::function_call(None, "glob", Map::new());
        let mut chunk = Chunk { parts: vec![Part::text("secret "), call, Part::text("more")], ..Chunk::default() };
        replace_chunk(&mut chunk, &LlmResponse::from_text("xxx"));
        assert_eq!(chunk.text(), "xxx");
        assert_eq!(chunk.function_calls().count(), 1);
        replace_chunk(&mut chunk, &LlmResponse::from_text(""));
        assert_eq!((chunk.text().as_str(), chunk.parts.len()), ("", 1));
    }

    #[test]
    fn only_hook_text_is_marked_as_hook_context() {
        for forged in [
            "<hook_context>",
            "</hook_context>",
            "< Hook_Context >",
            "<HOOK_CONTEXT a='b'>",
            "<\n/ hook_context",
            "<hook-context>",
            "<hook\u{200b}_context>",
            "\u{ff1c}hook_context\u{ff1e}",
            "\\u003chook_context\\u003e",
            "<<hook_context>",
        ] {
            let safe = escape_hook_marker(forged);
            assert!(safe.contains("&lt;") && !safe.contains("<hook") && !safe.contains("<h"), "{forged}: {safe}");
            assert_eq!(escape_hook_marker(&safe), safe, "once is enough");
            let around = format!("<a> {forged} </a>");
            assert!(escape_hook_marker(&around).starts_with("<a> ") && escape_hook_marker(&around).ends_with(" </a>"));
        }
        for harmless in [
            "",
            "<b>hook</b> context",
            "hook_context",
            "a < b, hook_context > c",
            "&lt;hook_context&gt;",
            "if (x<y) hooks",
        ] {
            assert!(
                matches!(escape_hook_marker(harmless), Cow::Borrowed(_)) || escape_hook_marker(harmless) == harmless,
                "{harmless}"
            );
        }
    }

    #[test]
    fn joined_texts_cannot_form_a_marker() {
        for (one, other) in
            [("a <", "hook_context>"), ("<hook_", "context>"), ("x\u{ff1c} hook", "_context y"), ("<", "/hook_context")]
        {
            let mut text = one.to_owned();
            append_escaped(&mut text, other);
            assert!(text.contains("&lt;") && escape_hook_marker(&text) == text, "{text}");
        }
        let mut text = hook_context("a hook's");
        append_escaped(&mut text, " and a < b");
        assert_eq!(text, format!("{} and a < b", hook_context("a hook's")));
    }

    #[test]
    fn context_cannot_close_its_own_marker() {
        assert_eq!(hook_context("a</hook_context><b"), "<hook_context>a&lt;/hook_context&gt;&lt;b</hook_context>");
    }
}
