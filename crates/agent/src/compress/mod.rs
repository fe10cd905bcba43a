//! Compresses a long history: old tool results are shortened, the model
//! summarises the older part, the newer part stays.
//!
//! The transcript keeps everything.

mod trim;

use std::borrow::Cow;
use std::sync::Arc;

use hookwright_hooks::{PreCompress, Purpose};
use hookwright_model::{Content, ModelRequest, Role, context_window, estimate_content_tokens};

use crate::agent::Agent;
use crate::event::{AgentNotice, SessionEvent, TurnEnd};
use crate::model_gateway::{self, AnswerDelivery, ModelAnswer};
use crate::scope::TurnScope;
use crate::transcript::TranscriptEntry;

/// The trigger of a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionTrigger {
    Auto,
    Manual,
}

impl CompressionTrigger {
    fn as_str(self) -> &'static str {
        match self {
            CompressionTrigger::Auto => "auto",
            CompressionTrigger::Manual => "manual",
        }
    }
}

/// The share of the history that is kept verbatim.
const KEPT_HISTORY_SHARE: f64 = 0.3;

/// The number of tokens below which a single turn is not compressed.
const MIN_SINGLE_TURN_TOKENS: u64 = 1000;

const SUMMARY_INSTRUCTION: &str = "<compress_history>\nSum up the conversation so far for yourself: it is about to be replaced \
by your summary. Keep the user's goals and wishes, decisions and their reasons, facts learned about the project, files \
read or changed and how, what is done, what is open, and the exact next step. Leave out pleasantries. Answer with the \
summary only.\n</compress_history>";

/// Returns whether the history exceeds its share of the model's context window.
pub(crate) fn is_due(agent: &Agent) -> bool {
    let most = token_limit(agent).max(agent.compression_retry_tokens);
    agent.services.compression_threshold > 0.0 && current_tokens(agent) > most && find_cut(agent).is_some()
}

/// Returns whether the history exceeds its limit and consists of a single finished turn.
pub(crate) fn is_single_turn_due(agent: &Agent) -> bool {
    cut_at_message(&agent.history).is_none() && is_due(agent)
}

/// Returns where the kept part of the history begins.
///
/// A single finished turn is compressed as a whole, if it has enough tokens to be worth a request.
fn find_cut(agent: &Agent) -> Option<HistoryCut> {
    let is_over = |content: &Arc<Content>| {
        content.role == Role::Model && content.parts.iter().all(|part| part.as_function_call().is_none())
    };
    let is_single_turn = agent.history.len() > 1 && agent.history.last().is_some_and(is_over);
    let whole = HistoryCut { kept_start: agent.history.len(), prompt_index: None };
    cut_at_message(&agent.history)
        .or_else(|| (is_single_turn && current_tokens(agent) >= MIN_SINGLE_TURN_TOKENS).then_some(whole))
}

/// Returns the number of tokens that the history may have.
fn token_limit(agent: &Agent) -> u64 {
    let share = (context_window(&agent.model) as f64 * agent.services.compression_threshold) as u64;
    agent.services.compression_target.map_or(share, |target| share.min(target.into()))
}

/// Returns the tokens that the model last counted plus an estimate for later messages.
///
/// A single tool result can be larger than everything before it.
fn current_tokens(agent: &Agent) -> u64 {
    let fresh = agent.history.get(agent.counted_messages..).unwrap_or_default();
    agent.context_tokens + estimate_tokens(fresh)
}

fn estimate_tokens(history: &[Arc<Content>]) -> u64 {
    history.iter().map(|content| estimate_content_tokens(content)).sum()
}

/// Compresses the history, with PreCompress hooks in the background.
///
/// Old tool results are shortened first, which needs no request. The model summarises only if that
/// is not enough, or on the user's request.
pub(crate) async fn compress(agent: &mut Agent, trigger: CompressionTrigger, scope: &TurnScope) -> Result<(), TurnEnd> {
    let Some(cut) = find_cut(agent) else {
        agent.services.events.send(AgentNotice::Note("Nothing to compress.".to_owned()));
        return Ok(());
    };
    let before = current_tokens(agent);
    tracing::debug!(trigger = trigger.as_str(), tokens = before, "compresses the history");
    let event = PreCompress { trigger: Cow::Borrowed(trigger.as_str()) };
    let trimmed = trim::trim_old_results(&agent.history, cut.kept_start);
    let enough = trigger == CompressionTrigger::Auto && estimate_tokens(&trimmed) <= token_limit(agent) / 2;
    if enough && estimate_tokens(&trimmed) < estimate_tokens(&agent.history) {
        agent.services.fire_detached(event, scope);
        replace_history(agent, trimmed, trigger, before);
        return Ok(());
    }
    let request = summary_request(agent, &trimmed[..cut.kept_start]);
    let asking = AnswerDelivery::Silent(Purpose::Compress);
    agent.services.fire_detached(event, scope);
    let summary = match summary_text(model_gateway::ask_model(&agent.services, request, asking, &mut None, scope).await)
    {
        Ok(summary) => summary,
        Err(SummaryError::TurnEnded(end)) => return Err(end),
        Err(SummaryError::Failed(why)) => {
            // It is better to continue with the long history than to end the turn or to retry at every step.
            agent.compression_retry_tokens = before + before / 4;
            tracing::warn!("{why}");
            agent.services.events.send(AgentNotice::Warning(why));
            return Ok(());
        }
    };
    let mut history = vec![
        Arc::new(Content::user_text(format!("What happened so far, summed up:\n\n{summary}"))),
        Arc::new(Content::model_text("Understood; I go on from there.")),
    ];
    history.extend(cut.prompt_index.map(|at| agent.history[at].clone()));
    history.extend(trim::trim_large_results(&agent.history[cut.kept_start..], token_limit(agent) / 2));
    replace_history(agent, history, trigger, before);
    Ok(())
}

/// The reason why there is no summary.
enum SummaryError {
    /// The turn ends.
    TurnEnded(TurnEnd),
    /// The history stays as it is, and the user gets this warning.
    Failed(String),
}

fn summary_text(answer: ModelAnswer) -> Result<String, SummaryError> {
    let why = match answer {
        ModelAnswer::Complete(chunk, _) if !chunk.text().trim().is_empty() => return Ok(chunk.text()),
        ModelAnswer::Complete(..) => "the model returned an empty summary; the history is kept".to_owned(),
        ModelAnswer::Denied(reason) => format!("the history is not compressed, because a hook refused it: {reason}"),
        ModelAnswer::Stopped(reason, _) => return Err(SummaryError::TurnEnded(TurnEnd::Stopped(reason))),
        ModelAnswer::Cancelled(_) => return Err(SummaryError::TurnEnded(TurnEnd::Cancelled)),
        ModelAnswer::Loop(reason, _) => format!("the history could not be compressed: {reason}"),
        ModelAnswer::Failed(error, _) => format!("the history could not be compressed: {error}"),
    };
    Err(SummaryError::Failed(why))
}

/// Builds the request for a summary of a history that may itself be too long to send.
fn summary_request(agent: &Agent, history: &[Arc<Content>]) -> ModelRequest {
    let mut contents = trim::trim_large_results(history, context_window(&agent.model) / 2);
    contents.push(Arc::new(Content::user_text(SUMMARY_INSTRUCTION)));
    ModelRequest::new(agent.model.clone(), contents)
}

fn replace_history(agent: &mut Agent, history: Vec<Arc<Content>>, trigger: CompressionTrigger, before: u64) {
    agent.append_entry(&TranscriptEntry::compressed(&history));
    agent.context_tokens = estimate_tokens(&history);
    agent.counted_messages = history.len();
    agent.compression_retry_tokens = 0;
    agent.history = history;
    let after = agent.context_tokens;
    tracing::debug!(before, after, "the history is compressed");
    agent.services.events.send(SessionEvent::Compressed { trigger: trigger.as_str(), before, after });
}

/// The position at which the kept part of the history begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HistoryCut {
    /// The index of the first message that is kept.
    kept_start: usize,
    /// The index of the prompt that this message belongs to, if it is another: the user's prompt is kept verbatim.
    prompt_index: Option<usize>,
}

/// Finds where the kept part begins: at a prompt of the user, or within a turn at a message of the model,
/// so that calls and results stay together.
fn cut_at_message(history: &[Arc<Content>]) -> Option<HistoryCut> {
    let is_prompt = |at: &usize| {
        let content = &history[*at];
        content.role == Role::User && content.parts.iter().all(|part| part.as_function_response().is_none())
    };
    let from = kept_share_start(history).max(1);
    if let Some(at) = (from..history.len()).find(is_prompt) {
        return Some(HistoryCut { kept_start: at, prompt_index: None });
    }
    // In a single long turn, the last steps are kept, and always the last one, which the model has not read yet.
    let prompt = (0..history.len()).rev().find(is_prompt)?;
    let steps = |range: std::ops::Range<usize>| range.into_iter().filter(|at| history[*at].role == Role::Model);
    let step = steps(from..history.len()).next().or_else(|| steps(1..history.len()).next_back());
    match step.filter(|at| *at > prompt + 1) {
        Some(at) => Some(HistoryCut { kept_start: at, prompt_index: Some(prompt) }),
        None => (prompt > 0).then_some(HistoryCut { kept_start: prompt, prompt_index: None }),
    }
}

/// Returns the index at which the verbatim share of the history begins.
fn kept_share_start(history: &[Arc<Content>]) -> usize {
    let budget = (estimate_tokens(history) as f64 * KEPT_HISTORY_SHARE) as u64;
    let mut kept = 0;
    let fits = |content: &&Arc<Content>| {
        kept += estimate_content_tokens(content);
        kept <= budget
    };
    history.len() - history.iter().rev().take_while(fits).count()
}

#[cfg(test)]
mod tests;
