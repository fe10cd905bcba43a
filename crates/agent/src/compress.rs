//! Makes a long history short: the model sums up the older part, the newer part stays. The transcript keeps everything.

use std::borrow::Cow;
use std::sync::Arc;

use hookwright_hooks::PreCompress;
use hookwright_model::{Content, Model, Request, Role, context_window, estimate_content_tokens};

use crate::agent::Agent;
use crate::event::{AgentEvent, TurnEnd};
use crate::scope::Scope;
use crate::transcript::Entry;

/// Why history is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Auto,
    Manual,
}

impl Trigger {
    fn as_str(self) -> &'static str {
        match self {
            Trigger::Auto => "auto",
            Trigger::Manual => "manual",
        }
    }
}

/// The share of the history that is kept word for word.
const KEPT_SHARE: f64 = 0.3;

const INSTRUCTION: &str = "<compress_history>\nSum up the conversation so far for yourself: it is about to be replaced \
by your summary. Keep the user's goals and wishes, decisions and their reasons, facts learned about the project, files \
read or changed and how, what is done, what is open, and the exact next step. Leave out pleasantries. Answer with the \
summary only.\n</compress_history>";

/// Whether the history has outgrown its share of the model's context window.
pub(crate) fn is_due(agent: &Agent) -> bool {
    let window = context_window(&agent.model);
    let limit = window as f64 * agent.services.compression_threshold;
    agent.services.compression_threshold > 0.0 && tokens(agent) as f64 > limit && split(&agent.history).is_some()
}

fn tokens(agent: &Agent) -> u64 {
    let estimated = || agent.history.iter().map(|content| estimate_content_tokens(content)).sum();
    if agent.context_tokens > 0 { agent.context_tokens } else { estimated() }
}

/// Compresses; PreCompress hooks run beside it.
pub(crate) async fn compress(agent: &mut Agent, trigger: Trigger, scope: &Scope) -> Result<(), TurnEnd> {
    let Some(at) = split(&agent.history) else {
        agent.services.events.send(AgentEvent::Note("there is nothing to compress yet".to_owned()));
        return Ok(());
    };
    let before = tokens(agent);
    tracing::debug!(trigger = trigger.as_str(), tokens = before, "compresses the history");
    let mut contents = agent.history[..at].to_vec();
    contents.push(Arc::new(Content::user_text(INSTRUCTION)));
    let request = Request::new(agent.model.clone(), contents);
    let event = PreCompress { trigger: Cow::Borrowed(trigger.as_str()) };
    let (_, summary) =
        tokio::join!(agent.services.fire(&event, scope), agent.services.model.generate(&request, &scope.cancel));
    let summary = match summary {
        Ok(chunk) => chunk.text(),
        Err(error) if error.is_cancelled() => return Err(TurnEnd::Cancelled),
        Err(error) => {
            // Going on with the long history is better than ending the turn.
            tracing::warn!("the history could not be compressed: {error}");
            agent.services.events.send(AgentEvent::Warning(format!("the history could not be compressed: {error}")));
            return Ok(());
        }
    };
    if summary.trim().is_empty() {
        agent
            .services
            .events
            .send(AgentEvent::Warning("the model gave an empty summary; the history stays".to_owned()));
        return Ok(());
    }
    let mut history = vec![
        Arc::new(Content::user_text(format!("What happened so far, summed up:\n\n{summary}"))),
        Arc::new(Content::model_text("Understood; I go on from there.")),
    ];
    history.extend(agent.history[at..].iter().cloned());
    agent.record(&Entry::compressed(&history));
    agent.history = history;
    agent.context_tokens = agent.history.iter().map(|content| estimate_content_tokens(content)).sum();
    let after = agent.context_tokens;
    tracing::debug!(before, after, "the history is compressed");
    agent.services.events.send(AgentEvent::Compressed { trigger: trigger.as_str(), before, after });
    Ok(())
}

/// Where the kept part begins: at a prompt of the user, so that no call is parted from its result.
fn split(history: &[Arc<Content>]) -> Option<usize> {
    let sizes: Vec<u64> = history.iter().map(|content| estimate_content_tokens(content)).collect();
    let budget = (sizes.iter().sum::<u64>() as f64 * KEPT_SHARE) as u64;
    let mut kept = 0;
    let mut from = history.len();
    while from > 0 && kept + sizes[from - 1] <= budget {
        kept += sizes[from - 1];
        from -= 1;
    }
    let is_prompt = |content: &Content| {
        content.role == Role::User && content.parts.iter().all(|part| part.as_function_response().is_none())
    };
    let prompts = |range: std::ops::Range<usize>| range.into_iter().find(|at| is_prompt(&history[*at]));
    // The prompt being answered must stay, whatever its size.
    prompts(from.max(1)..history.len()).or_else(|| (1..history.len()).rev().find(|at| is_prompt(&history[*at])))
}
