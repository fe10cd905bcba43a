//! The gateway to the model.
//!
//! Every request of the agent passes through it, for an answer to the user as well as for a summary or a search:
//! BeforeModel and BeforeToolSelection hooks run before the request, AfterModel hooks on its answer.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hookwright_hooks::{
    BeforeModel, BeforeModelVerdict, BeforeToolSelection, EventKind, LlmResponse, Purpose, SharedJson,
};
use hookwright_journal::{Entry, RequestEntry, millis};
use hookwright_model::{AnyModel, Chunk, Model, ModelError, ModelRequest, Part, PartKind, Provider, ToolChoice};
use hookwright_settings::Secrets;
use hookwright_tools::{ToolSet, canonical_name};

use crate::event::{AgentNotice, ModelEvent};
use crate::loop_detector::LoopDetector;
use crate::scope::TurnScope;
use crate::services::Services;
use crate::stream;
use crate::translate;

/// Holds the model; only this module can send requests to it.
pub struct ModelGateway {
    model: RwLock<Arc<AnyModel>>,
    /// The model name that the session uses in its requests.
    name: RwLock<String>,
    /// The secrets that are removed from the model's errors.
    secrets: Arc<Secrets>,
}

impl ModelGateway {
    /// Creates a gateway to a model.
    pub fn new(model: AnyModel, secrets: Arc<Secrets>) -> Self {
        let name = RwLock::new(model.name().to_owned());
        ModelGateway { model: RwLock::new(Arc::new(model)), name, secrets }
    }

    /// Replaces the model; requests under way finish with the model that they began with.
    pub(crate) fn replace_model(&self, model: AnyModel) {
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(model);
    }

    /// Returns the secrets that are removed from the model's errors and from records.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    fn model(&self) -> Arc<AnyModel> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the model name for requests that name no other.
    pub fn name(&self) -> String {
        self.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the model name for later requests.
    pub(crate) fn set_name(&self, name: &str) {
        name.clone_into(&mut self.name.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the provider of the model.
    pub fn provider(&self) -> Provider {
        self.model().provider()
    }
}

/// The way in which an answer is delivered.
pub(crate) enum AnswerDelivery<'g> {
    /// The answer is shown piece by piece, and a model that repeats itself is stopped.
    Streamed(&'g mut LoopDetector),
    /// The answer is for the agent's own use and is not shown.
    Silent(Purpose),
}

impl AnswerDelivery<'_> {
    fn purpose(&self) -> Purpose {
        match self {
            AnswerDelivery::Streamed(_) => Purpose::Answer,
            AnswerDelivery::Silent(purpose) => *purpose,
        }
    }
}

/// The outcome of a request.
pub(crate) enum ModelAnswer {
    /// A whole answer, with the tool choice of its request.
    Complete(Chunk, Option<ToolChoice>),
    /// A hook denied it; no part of it counts.
    Denied(String),
    /// A hook stopped the agent; the part before that counts.
    Stopped(String, Chunk),
    /// The user cancelled it; the part before that counts.
    Cancelled(Chunk),
    /// The model repeated itself; the part up to then counts.
    Loop(String, Chunk),
    /// The request failed; the part before that counts.
    Failed(ModelError, Chunk),
}

impl ModelAnswer {
    fn log_outcome(&self, took: Duration) {
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

/// Returns the answer as it may be recorded.
///
/// The calls of a truncated answer are left out: they are not run, so no hook judges them.
fn recordable_answer(services: &Services, answer: &ModelAnswer, chunk: &Chunk) -> Chunk {
    let mut recorded = Chunk { finish_message: None, ..chunk.clone() };
    if !matches!(answer, ModelAnswer::Complete(..)) {
        recorded.parts.retain(|part| part.as_function_call().is_none());
    }
    let tools = services.tools.current();
    recorded.parts.iter_mut().for_each(|part| strip_hidden_from_hooks(&tools, part));
    recorded
}

/// Returns the request as it may be recorded.
fn recordable_request(services: &Services, request: &ModelRequest) -> ModelRequest {
    let mut recorded = request.clone();
    let tools = services.tools.current();
    for content in &mut recorded.contents {
        if content.parts.iter().any(|part| is_hidden_from_hooks(&tools, part)) {
            Arc::make_mut(content).parts.iter_mut().for_each(|part| strip_hidden_from_hooks(&tools, part));
        }
    }
    recorded
}

/// The recorded name for tools that do not exist: no hook judges such calls, and their names are text of the model.
const UNKNOWN_TOOL_NAME: &str = "unknown_tool";

/// Returns whether a part holds content that no hook is shown: media, and calls of unknown tools.
fn is_hidden_from_hooks(tools: &ToolSet, part: &Part) -> bool {
    let is_unknown = |name: &str| tools.get(canonical_name(name)).is_none();
    match &part.kind {
        PartKind::InlineData(_) | PartKind::FileData(_) => true,
        PartKind::FunctionCall(call) => is_unknown(&call.name),
        PartKind::FunctionResponse(response) => is_unknown(&response.name) || !response.parts.is_empty(),
        _ => false,
    }
}

/// Removes content that no hook is shown from a part that will be recorded, because no hook could have redacted it.
fn strip_hidden_from_hooks(tools: &ToolSet, part: &mut Part) {
    if !is_hidden_from_hooks(tools, part) {
        return;
    }
    match &mut part.kind {
        PartKind::InlineData(blob) => {
            let text = format!("[{} bytes of {} are not recorded]", blob.data.len(), blob.mime_type);
            *part = Part::text(text);
        }
        PartKind::FileData(_) => *part = Part::text("[the address of a file is not recorded]"),
        PartKind::FunctionCall(call) => {
            call.name = UNKNOWN_TOOL_NAME.to_owned();
            call.args.clear();
        }
        PartKind::FunctionResponse(response) => {
            if tools.get(canonical_name(&response.name)).is_none() {
                response.name = UNKNOWN_TOOL_NAME.to_owned();
                response.response.clear();
            }
            response.parts.clear();
        }
        _ => {}
    }
}

/// Sends a request and returns its outcome, with all hooks of the request and of the answer run.
///
/// The response event of an answer with calls is put into `held`: the caller sends it after BeforeTool hooks have judged
/// the calls, as they may redact the arguments.
pub(crate) async fn ask_model(
    services: &Services,
    mut request: ModelRequest,
    delivery: AnswerDelivery<'_>,
    held: &mut Option<ModelEvent>,
    scope: &TurnScope,
) -> ModelAnswer {
    let purpose = delivery.purpose();
    if let Some(answer) = before_model(services, &mut request, purpose, scope).await {
        return answer;
    }
    let view = before_tool_selection(services, &mut request, purpose, scope).await;
    if scope.is_cancelled() {
        return ModelAnswer::Cancelled(Chunk::default());
    }
    let started = Instant::now();
    tracing::debug!(
        provider = %services.model.provider(),
        model = request.model,
        purpose = purpose.as_str(),
        messages = request.contents.len(),
        tools = request.tools.len(),
        "asks the model"
    );
    let prompt_id = scope.prompt_id();
    let recorded = Box::new(recordable_request(services, &request));
    services.events.send(ModelEvent::Requested { request: recorded, prompt_id: prompt_id.clone() });
    let answer = send_request(services, &request, view, delivery, scope).await.unwrap_or_else(|error| match error {
        error if error.is_cancelled() => ModelAnswer::Cancelled(Chunk::default()),
        error => ModelAnswer::Failed(error, Chunk::default()),
    });
    let answer = match answer {
        // Some providers repeat the rejected API key in their error.
        ModelAnswer::Failed(error, chunk) => {
            ModelAnswer::Failed(error.map_text(&|text| services.model.secrets.hide(text)), chunk)
        }
        answer => answer,
    };
    let (model, duration) = (request.model.clone(), started.elapsed());
    answer.log_outcome(duration);
    record_request(services, scope, &answer, &request.model, duration);
    let event = match &answer {
        ModelAnswer::Failed(error, _) => ModelEvent::Failed { model, error: error.to_string(), duration, prompt_id },
        ModelAnswer::Denied(reason) => ModelEvent::Failed { model, error: reason.clone(), duration, prompt_id },
        ModelAnswer::Complete(chunk, _)
        | ModelAnswer::Stopped(_, chunk)
        | ModelAnswer::Cancelled(chunk)
        | ModelAnswer::Loop(_, chunk) => ModelEvent::Answered {
            model,
            usage: chunk.usage,
            response: Box::new(recordable_answer(services, &answer, chunk)),
            duration,
            prompt_id,
        },
    };
    match &answer {
        ModelAnswer::Complete(chunk, _) if chunk.function_calls().next().is_some() => *held = Some(event),
        _ => services.events.send(event),
    }
    answer
}

/// Puts a request on record, in a session of which an event is on record.
fn record_request(services: &Services, scope: &TurnScope, answer: &ModelAnswer, model: &str, duration: Duration) {
    let Some(journal) = services.journal.as_ref().filter(|journal| journal.has_lines()) else { return };
    let usage = match answer {
        ModelAnswer::Complete(chunk, _)
        | ModelAnswer::Stopped(_, chunk)
        | ModelAnswer::Cancelled(chunk)
        | ModelAnswer::Loop(_, chunk) => chunk.usage,
        ModelAnswer::Failed(..) | ModelAnswer::Denied(_) => None,
    };
    let entry = RequestEntry {
        agent: journal.source().agent.clone(),
        session: services.hooks.session().id.clone(),
        turn: scope.turn_id.as_deref().map(str::to_owned),
        model: model.to_owned(),
        ms: millis(duration),
        tokens_in: usage.map(|usage| usage.prompt),
        tokens_out: usage.map(|usage| usage.candidates),
        failed: matches!(answer, ModelAnswer::Failed(..) | ModelAnswer::Denied(_)),
    };
    journal.record(Entry::Request(entry), None);
}

/// Sends the request to the model. No other function calls the model.
async fn send_request(
    services: &Services,
    request: &ModelRequest,
    view: Option<SharedJson>,
    delivery: AnswerDelivery<'_>,
    scope: &TurnScope,
) -> Result<ModelAnswer, ModelError> {
    let model = services.model.model();
    match delivery {
        AnswerDelivery::Streamed(guard) => {
            let answer = model.stream(request, &scope.cancel).await?;
            Ok(stream::receive_stream(services, answer, request, view, guard, scope).await)
        }
        AnswerDelivery::Silent(purpose) => {
            let answer = model.generate(request, &scope.cancel).await?;
            Ok(stream::receive_complete(services, answer, request, view, purpose, scope).await)
        }
    }
}

/// Runs BeforeModel hooks, which may change the request or answer in the model's place.
async fn before_model(
    services: &Services,
    request: &mut ModelRequest,
    purpose: Purpose,
    scope: &TurnScope,
) -> Option<ModelAnswer> {
    if !services.hooks.has_hooks_for(EventKind::BeforeModel) {
        return None;
    }
    let event = BeforeModel { llm_request: SharedJson::from_request(&translate::request_view(request)), purpose };
    match services.fire(&event, scope).await.verdict {
        BeforeModelVerdict::Proceed { changes: None } => None,
        BeforeModelVerdict::Proceed { changes: Some(patch) } => {
            for problem in translate::apply_patch(request, &patch) {
                services.events.send(AgentNotice::Warning(format!(
                    "a part of a BeforeModel hook's answer was ignored: {problem}"
                )));
            }
            None
        }
        BeforeModelVerdict::Answer { response } => Some(answer_from_hook(services, request, &response, purpose)),
        BeforeModelVerdict::Deny { reason } => Some(ModelAnswer::Denied(reason)),
        BeforeModelVerdict::Stop { reason, response: None } => Some(ModelAnswer::Stopped(reason, Chunk::default())),
        BeforeModelVerdict::Stop { reason, response: Some(response) } => {
            Some(match answer_from_hook(services, request, &response, purpose) {
                ModelAnswer::Complete(chunk, _) => ModelAnswer::Stopped(reason, chunk),
                failed => failed,
            })
        }
    }
}

/// Turns a hook's response into the answer, and shows it if the request was for an answer to the user.
fn answer_from_hook(
    services: &Services,
    request: &ModelRequest,
    response: &LlmResponse,
    purpose: Purpose,
) -> ModelAnswer {
    let answer = stream::complete_answer(translate::chunk_from_response(response), request);
    if let (Purpose::Answer, ModelAnswer::Complete(chunk, _)) = (purpose, &answer) {
        stream::send_chunk_events(services, chunk);
    }
    answer
}

/// Runs BeforeToolSelection hooks, which choose the offered tools.
///
/// Returns the request as AfterModel hooks will see it, if there are any.
async fn before_tool_selection(
    services: &Services,
    request: &mut ModelRequest,
    purpose: Purpose,
    scope: &TurnScope,
) -> Option<SharedJson> {
    let hooks = &services.hooks;
    let selects = hooks.has_hooks_for(EventKind::BeforeToolSelection) && !request.tools.is_empty();
    let watches = hooks.has_hooks_for(EventKind::AfterModel);
    if !selects && !watches {
        return None;
    }
    let view = SharedJson::from_request(&translate::request_view(request));
    if !selects {
        return Some(view);
    }
    let on_offer = request.tools.iter().map(|tool| tool.name.clone()).collect();
    let outcome = services
        .fire(&BeforeToolSelection { llm_request: view.clone(), purpose, offered_tools: on_offer }, scope)
        .await;
    match outcome.verdict.config {
        Some(config) => {
            request.tool_choice = Some(translate::tool_choice(&config));
            watches.then(|| SharedJson::from_request(&translate::request_view(request)))
        }
        None => Some(view),
    }
}
