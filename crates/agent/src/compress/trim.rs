//! Shortens tool results that the model has already read and answered.

use std::sync::Arc;

use hookwright_model::{Content, FunctionResponse, Part, PartKind, estimate_content_tokens};
use serde_json::{Map, Value};

/// The length up to which a result is never shortened.
const MIN_TRIMMED_CHARS: usize = 400;

/// Shortens the tool results before `until` to their beginning and end.
pub(super) fn trim_old_results(history: &[Arc<Content>], until: usize) -> Vec<Arc<Content>> {
    let short = |content: &Arc<Content>| map_results(content, |text| truncate_middle(text, MIN_TRIMMED_CHARS));
    history.iter().enumerate().map(|(at, content)| if at < until { short(content) } else { content.clone() }).collect()
}

/// Shortens tool results so that each takes at most its share of the token budget.
pub(super) fn trim_large_results(history: &[Arc<Content>], budget: u64) -> Vec<Arc<Content>> {
    let total: u64 = history.iter().map(|content| estimate_content_tokens(content)).sum();
    if total <= budget {
        return history.to_vec();
    }
    let results =
        history.iter().flat_map(|content| &content.parts).filter(|part| part.as_function_response().is_some());
    // A token has about four bytes.
    let share = usize::try_from(budget).unwrap_or(usize::MAX).saturating_mul(4) / results.count().max(1);
    history
        .iter()
        .map(|content| map_results(content, |text| truncate_middle(text, share.max(MIN_TRIMMED_CHARS))))
        .collect()
}

/// Returns a message with the texts of its tool results mapped.
fn map_results(content: &Arc<Content>, change: impl Fn(&str) -> Option<String>) -> Arc<Content> {
    if !content.parts.iter().any(|part| part.as_function_response().is_some()) {
        return content.clone();
    }
    let parts = content.parts.iter().map(|part| match &part.kind {
        PartKind::FunctionResponse(result) => {
            let response = map_response_texts(&result.response, &change);
            Part { kind: PartKind::FunctionResponse(FunctionResponse { response, ..result.clone() }), ..part.clone() }
        }
        _ => part.clone(),
    });
    Arc::new(Content { parts: parts.collect(), ..(**content).clone() })
}

fn map_response_texts(response: &Map<String, Value>, change: &impl Fn(&str) -> Option<String>) -> Map<String, Value> {
    let short = |value: &Value| match value {
        Value::String(text) => change(text).map_or_else(|| value.clone(), Value::String),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        other => change(&other.to_string()).map_or_else(|| other.clone(), Value::String),
    };
    response.iter().map(|(key, value)| (key.clone(), short(value))).collect()
}

/// Returns the beginning and the end of a text that is too long, with the number of omitted bytes between them.
fn truncate_middle(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let (mut head, mut tail) = (most / 2, text.len() - most / 2);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    Some(format!("{}\n[... {} bytes left out to save room ...]\n{}", &text[..head], tail - head, &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_keeps_both_ends_and_whole_characters() {
        assert_eq!(truncate_middle("short", 5), None);
        let long = format!("begin{}end", "é".repeat(1000));
        let short = truncate_middle(&long, 100).unwrap();
        assert!(short.starts_with("begin") && short.ends_with("end") && short.len() < 160, "{short}");
        for most in 0..long.len() {
            truncate_middle(&long, most);
        }
    }
}
