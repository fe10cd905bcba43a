//! One model request, from BeforeModel to the last AfterModel: what comes out has passed every hook.
//!
//! Nothing of a piece is shown, kept or counted before AfterModel hooks have seen it, so what they redact is nowhere.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use hookwright_hooks::{
    AfterModel, AfterModelVerdict, BeforeModel, BeforeModelVerdict, BeforeToolSelection, EventKind, GrowingText,
    SharedJson,
};
use hookwright_model::{Chunk, ChunkStream, Model, ModelError, Part, Request, ToolChoice};

use crate::event::AgentEvent;
use crate::loop_guard::LoopGuard;
use crate::scope::Scope;
use crate::services::Services;
use crate::translate;

/// What came of a request.
pub(crate) enum ModelAnswer {
    /// A whole answer, and the tools that it was allowed to call.
    Complete(Chunk, Option<ToolChoice>),
    /// A hook refused it; nothing of it counts.
    Denied(String),
    /// A hook ended the agent's loop; what came before it counts.
    Stopped(String, Chunk),
    /// The user ended it; what came before counts.
    Cancelled(Chunk),
    /// The model repeats itself.
    Loop(String, Chunk),
    /// It failed; what came before counts.
    Failed(ModelError, Chunk),
}

impl ModelAnswer {
    fn log(&self, took: Duration) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let (end, chunk, why) = match self {
            ModelAnswer::Complete(chunk, _) => ("complete", Some(chunk), None),
            ModelAnswer::Denied(reason) => ("denied", None, Some(reason.clone())),
            ModelAnswer::Stopped(reason, chunk) => ("stopped", Some(chunk), Some(reason.clone())),
            ModelAnswer::Cancelled(chunk) => ("cancelled", Some(chunk), None),
            ModelAnswer::Loop(reason, chunk) => ("loop", Some(chunk), Some(reason.clone())),
            ModelAnswer::Failed(error, chunk) => ("failed", Some(chunk), Some(error.to_string())),
        };
        let usage = chunk.and_then(|chunk| chunk.usage).unwrap_or_default();
        let (tokens_in, tokens_out) = (usage.prompt, usage.candidates);
        let calls = chunk.map_or(0, |chunk| chunk.function_calls().count());
        tracing::debug!(end, why, ms = took.as_millis(), tokens_in, tokens_out, calls, "the answer is over");
    }
}

/// Sends a request and sees its answer through.
pub(crate) async fn ask(
    services: &Services,
    mut request: Request,
    guard: &mut LoopGuard,
    scope: &Scope,
) -> ModelAnswer {
    if let Some(answer) = before_model(services, &mut request, scope).await {
        return answer;
    }
    let view = before_tool_selection(services, &mut request, scope).await;
    if scope.is_cancelled() {
        return ModelAnswer::Cancelled(Chunk::default());
    }
    let started = Instant::now();
    tracing::debug!(
        provider = %services.model.provider(),
        model = request.model,
        messages = request.contents.len(),
        tools = request.tools.len(),
        "asks the model"
    );
    let prompt_id = scope.prompt_id();
    services.events.send(AgentEvent::ModelRequest { request: Box::new(request.clone()), prompt_id: prompt_id.clone() });
    let answer = match services.model.stream(&request, &scope.cancel).await {
        Ok(stream) => receive(services, stream, &request, view, guard, scope).await,
        Err(error) if error.is_cancelled() => ModelAnswer::Cancelled(Chunk::default()),
        Err(error) => ModelAnswer::Failed(error, Chunk::default()),
    };
    let (model, duration) = (request.model.clone(), started.elapsed());
    answer.log(duration);
    services.events.send(match &answer {
        ModelAnswer::Failed(error, _) => {
            AgentEvent::ModelFailed { model, error: error.to_string(), duration, prompt_id }
        }
        ModelAnswer::Denied(reason) => AgentEvent::ModelFailed { model, error: reason.clone(), duration, prompt_id },
        ModelAnswer::Complete(chunk, _)
        | ModelAnswer::Stopped(_, chunk)
        | ModelAnswer::Cancelled(chunk)
        | ModelAnswer::Loop(_, chunk) => AgentEvent::ModelResponse {
            model,
            usage: chunk.usage,
            response: Box::new(chunk.clone()),
            duration,
            prompt_id,
        },
    });
    answer
}

/// BeforeModel: changes the request, or is the answer.
async fn before_model(services: &Services, request: &mut Request, scope: &Scope) -> Option<ModelAnswer> {
    if !services.hooks.wants(EventKind::BeforeModel) {
        return None;
    }
    let event = BeforeModel { llm_request: SharedJson::of(&translate::request_view(request)) };
    match services.fire(&event, scope).await.verdict {
        BeforeModelVerdict::Proceed { changes: None } => None,
        BeforeModelVerdict::Proceed { changes: Some(patch) } => {
            for trouble in translate::apply_patch(request, &patch) {
                services
                    .events
                    .send(AgentEvent::Warning(format!("a BeforeModel hook was heard only in part: {trouble}")));
            }
            None
        }
        BeforeModelVerdict::Answer { response } => {
            let chunk = translate::chunk_of(&response);
            show(services, &chunk);
            Some(ModelAnswer::Complete(chunk, request.tool_choice.clone()))
        }
        BeforeModelVerdict::Deny { reason } => Some(ModelAnswer::Denied(reason)),
        BeforeModelVerdict::Stop { reason } => Some(ModelAnswer::Stopped(reason, Chunk::default())),
    }
}

/// BeforeToolSelection: which tools go along. Gives back the request as later hooks see it, if any will.
async fn before_tool_selection(services: &Services, request: &mut Request, scope: &Scope) -> Option<SharedJson> {
    let hooks = &services.hooks;
    let (selects, watches) = (hooks.wants(EventKind::BeforeToolSelection), hooks.wants(EventKind::AfterModel));
    if !selects && !watches {
        return None;
    }
    let view = SharedJson::of(&translate::request_view(request));
    if !selects {
        return Some(view);
    }
    let on_offer = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let outcome = services.fire(&BeforeToolSelection { llm_request: view.clone(), on_offer }, scope).await;
    match outcome.verdict.config {
        Some(config) => {
            request.tool_choice = Some(translate::tool_choice(&config));
            watches.then(|| SharedJson::of(&translate::request_view(request)))
        }
        None => Some(view),
    }
}

/// Takes the answer in, piece by piece.
async fn receive(
    services: &Services,
    mut stream: ChunkStream,
    request: &Request,
    view: Option<SharedJson>,
    guard: &mut LoopGuard,
    scope: &Scope,
) -> ModelAnswer {
    let mut whole = Chunk::default();
    let mut watcher =
        view.map(|llm_request| Watcher { services, llm_request, text: GrowingText::default(), said: HashSet::new() });
    while let Some(piece) = stream.next().await {
        // A front end that does not read holds up the model, not our memory.
        services.events.room(&scope.cancel).await;
        let mut chunk = match piece {
            Ok(chunk) => chunk,
            Err(error) if error.is_cancelled() => return ModelAnswer::Cancelled(whole),
            Err(error) => return ModelAnswer::Failed(error, whole),
        };
        if let Some(watcher) = watcher.as_mut().filter(|_| services.hooks.wants(EventKind::AfterModel)) {
            match watcher.see(&mut chunk, scope).await {
                Seen::Fine => {}
                Seen::Denied(reason) => return ModelAnswer::Denied(reason),
                Seen::Stopped(reason) => return ModelAnswer::Stopped(reason, whole),
            }
            // Hooks that were ended by a cancel have redacted nothing.
            if scope.is_cancelled() {
                return ModelAnswer::Cancelled(whole);
            }
        }
        // Only now: what hooks took out of it is on no record.
        tracing::trace!(text = chunk.text(), "a piece of the answer");
        show(services, &chunk);
        let repeated = guard.saw_text(&chunk.text()).filter(|_| services.loop_detection);
        whole.merge(chunk);
        if let Some(reason) = repeated {
            return ModelAnswer::Loop(reason, whole);
        }
    }
    ModelAnswer::Complete(whole, request.tool_choice.clone())
}

fn show(services: &Services, chunk: &Chunk) {
    for part in &chunk.parts {
        if let Some(text) = part.as_text().filter(|text| !text.is_empty()) {
            services.events.send(AgentEvent::Text(text.to_owned()));
        } else if let Some(thought) = Part::as_thought(part) {
            services.events.send(AgentEvent::Thought(thought.to_owned()));
        }
    }
}

/// AfterModel, for every piece of one answer.
struct Watcher<'a> {
    services: &'a Services,
    llm_request: SharedJson,
    /// The answer's text so far, as hooks left it.
    text: GrowingText,
    /// Warnings already passed on: a hook that fails fails on every piece.
    said: HashSet<(String, String)>,
}

enum Seen {
    Fine,
    Denied(String),
    Stopped(String),
}

impl Watcher<'_> {
    async fn see(&mut self, chunk: &mut Chunk, scope: &Scope) -> Seen {
        let response = translate::chunk_view(chunk);
        let content = response.text.clone().unwrap_or_default();
        let mut full_content = self.text.clone();
        full_content.push(&content);
        let event = AfterModel {
            llm_request: self.llm_request.clone(),
            llm_response: Cow::Owned(response),
            content: Cow::Owned(content),
            full_content: full_content.clone(),
        };
        let hooks = &self.services.hooks;
        let outcome = hooks.fire_in(&event, scope.turn_id.as_ref(), &scope.cancel).await;
        let fresh = outcome.warnings.iter().filter(|said| self.said.insert((said.hook.clone(), said.text.clone())));
        let warnings: Vec<_> = fresh.cloned().collect();
        self.services.pass_on::<AfterModel<'_>>(&outcome.messages, &warnings);
        match outcome.verdict {
            AfterModelVerdict::Keep => {
                self.text = full_content;
                Seen::Fine
            }
            AfterModelVerdict::Replace { response } => {
                translate::replace_chunk(chunk, &response);
                self.text.push(&chunk.text());
                Seen::Fine
            }
            AfterModelVerdict::Deny { reason } => Seen::Denied(reason),
            AfterModelVerdict::Stop { reason } => Seen::Stopped(reason),
        }
    }
}
