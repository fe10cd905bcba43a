//! Receives the model's answer. AfterModel hooks run for every piece, or for larger units
//! if they ask for them (`chunk_buffer.rs`).
//!
//! No piece is shown, kept or counted before AfterModel hooks have seen it, so that text they redact is recorded
//! nowhere. The request itself is made in `model_gateway.rs`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use hookwright_hooks::{AfterModel, AfterModelVerdict, EventKind, GrowingText, Purpose, SharedJson};
use hookwright_model::{Chunk, ChunkStream, FinishReason, ModelError, ModelRequest, Part};

use crate::chunk_buffer::ChunkBuffer;
use crate::event::ModelEvent;
use crate::loop_detector::LoopDetector;
use crate::model_gateway::ModelAnswer;
use crate::scope::TurnScope;
use crate::services::Services;
use crate::translate;

/// Receives a streamed answer, piece by piece.
pub(crate) async fn receive_stream(
    services: &Services,
    mut stream: ChunkStream,
    request: &ModelRequest,
    view: Option<SharedJson>,
    guard: &mut LoopDetector,
    scope: &TurnScope,
) -> ModelAnswer {
    let watcher = view.map(|llm_request| AfterModelRunner::new(services, llm_request, Purpose::Answer));
    let (holder, gathered) = (ChunkBuffer::default(), AccumulatedAnswer::default());
    let mut intake = AnswerReceiver {
        services,
        scope,
        loop_detector: guard,
        after_model: watcher,
        chunk_buffer: holder,
        answer: gathered,
        content: ReceivedContent::default(),
    };
    let mut failure = None;
    while let Some(piece) = stream.next().await {
        // A front end that does not read holds up the model instead of growing the queue.
        services.events.wait_for_capacity(&scope.cancel).await;
        let taken = match piece {
            Ok(chunk) => intake.push_chunk(chunk).await,
            // No hook has seen the buffered text, so it is dropped.
            Err(error) if error.is_cancelled() => return ModelAnswer::Cancelled(intake.answer.chunk),
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        if let ControlFlow::Break(answer) = taken {
            return answer;
        }
    }
    // The stream has ended, so the buffer holds all that is left.
    if let Some(rest) = intake.chunk_buffer.flush()
        && let ControlFlow::Break(answer) = intake.deliver(rest).await
    {
        return answer;
    }
    let whole = intake.answer.chunk;
    let failure = failure.or_else(|| intake.content.missing_answer(request));
    match failure {
        Some(error) => ModelAnswer::Failed(error, whole),
        None => ModelAnswer::Complete(whole, request.tool_choice.clone()),
    }
}

/// A summary of what the model sent before hooks changed it: an answer that a hook emptied was still an answer.
#[derive(Default)]
struct ReceivedContent {
    has_calls: bool,
    has_output: bool,
    finish_reason: Option<FinishReason>,
}

impl ReceivedContent {
    fn add(&mut self, chunk: &Chunk) {
        self.has_calls |= chunk.function_calls().next().is_some();
        let is_output = |part: &Part| part.as_thought().is_none() && part.as_text().is_none_or(|text| !text.is_empty());
        self.has_output |= chunk.parts.iter().any(is_output);
        self.finish_reason = chunk.finish_reason.clone().or(self.finish_reason.take());
    }

    /// Returns the error for a missing answer. An empty answer after a tool result is allowed.
    fn missing_answer(self, request: &ModelRequest) -> Option<ModelError> {
        use FinishReason::{MalformedFunctionCall, UnexpectedToolCall};
        let is_broken = matches!(self.finish_reason, Some(MalformedFunctionCall | UnexpectedToolCall));
        let last = request.contents.last();
        let follows_tool =
            last.is_some_and(|content| content.parts.iter().any(|part| part.as_function_response().is_some()));
        let is_missing = !self.has_calls && (is_broken || !self.has_output && !follows_tool);
        is_missing.then_some(ModelError::NoAnswer { reason: self.finish_reason })
    }
}

/// The state of an answer that is being received.
struct AnswerReceiver<'a> {
    services: &'a Services,
    scope: &'a TurnScope,
    loop_detector: &'a mut LoopDetector,
    after_model: Option<AfterModelRunner<'a>>,
    chunk_buffer: ChunkBuffer,
    answer: AccumulatedAnswer,
    content: ReceivedContent,
}

impl AnswerReceiver<'_> {
    /// Adds a chunk and delivers the text that need not be buffered any longer; breaks when the answer ends early.
    async fn push_chunk(&mut self, chunk: Chunk) -> ControlFlow<ModelAnswer> {
        if !self.answer.has_room_for(chunk.memory_bytes().saturating_add(self.chunk_buffer.buffered_bytes())) {
            return ControlFlow::Break(answer_too_large());
        }
        self.content.add(&chunk);
        let grain = self.after_model.as_ref().and_then(|_| self.services.hooks.chunk_granularity());
        match self.chunk_buffer.push(chunk, grain) {
            Some(unit) => self.deliver(unit).await,
            None => ControlFlow::Continue(()),
        }
    }

    /// Runs AfterModel hooks on a chunk, and then sends it to the front end.
    async fn deliver(&mut self, mut chunk: Chunk) -> ControlFlow<ModelAnswer> {
        let services = self.services;
        if let Some(watcher) = self.after_model.as_mut().filter(|_| services.hooks.has_hooks_for(EventKind::AfterModel))
        {
            let so_far = &mut self.answer.chunk;
            match watcher.run_hooks(&mut chunk, self.scope).await {
                AfterModelResult::Accepted => {}
                AfterModelResult::Denied(reason) => return ControlFlow::Break(ModelAnswer::Denied(reason)),
                AfterModelResult::Stopped(reason) => {
                    return ControlFlow::Break(ModelAnswer::Stopped(reason, std::mem::take(so_far)));
                }
            }
            // Hooks that were cancelled have redacted nothing.
            if self.scope.is_cancelled() {
                return ControlFlow::Break(ModelAnswer::Cancelled(std::mem::take(so_far)));
            }
            // The text that hooks put in its place counts against the limit too.
            if !self.answer.has_room_for(chunk.memory_bytes()) {
                return ControlFlow::Break(answer_too_large());
            }
        }
        // Logged after the hooks, so that redacted text is in no log.
        tracing::trace!(text = chunk.text(), "a piece of the answer");
        send_chunk_events(services, &chunk);
        let repeated = services.loop_detection.then(|| self.loop_detector.record_text(&chunk.text())).flatten();
        self.answer.add(chunk);
        match repeated {
            Some(reason) => ControlFlow::Break(ModelAnswer::Loop(reason, std::mem::take(&mut self.answer.chunk))),
            None => ControlFlow::Continue(()),
        }
    }
}

/// The maximum size of an answer, from the model or from a hook.
///
/// It is many times what a model writes on purpose, and small enough to be kept, sent on and recorded.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The part of an answer that has been received.
#[derive(Default)]
struct AccumulatedAnswer {
    chunk: Chunk,
    size_bytes: usize,
}

impl AccumulatedAnswer {
    /// Returns whether this many more bytes fit into the limit.
    fn has_room_for(&self, weight: usize) -> bool {
        self.size_bytes.saturating_add(weight) <= MAX_ANSWER_BYTES
    }

    fn add(&mut self, chunk: Chunk) {
        self.size_bytes = self.size_bytes.saturating_add(chunk.memory_bytes());
        self.chunk.merge(chunk);
    }
}

/// Returns the failure of an answer that is too large.
///
/// No part of such an answer is kept: where it is cut would decide what it says.
fn answer_too_large() -> ModelAnswer {
    ModelAnswer::Failed(ModelError::TooLarge { largest: MAX_ANSWER_BYTES }, Chunk::default())
}

/// Returns an answer that is already whole, or a failure if it is too large.
pub(crate) fn complete_answer(chunk: Chunk, request: &ModelRequest) -> ModelAnswer {
    match AccumulatedAnswer::default().has_room_for(chunk.memory_bytes()) {
        true => ModelAnswer::Complete(chunk, request.tool_choice.clone()),
        false => answer_too_large(),
    }
}

pub(crate) fn send_chunk_events(services: &Services, chunk: &Chunk) {
    for part in &chunk.parts {
        if let Some(text) = part.as_text().filter(|text| !text.is_empty()) {
            services.events.send(ModelEvent::Text(text.to_owned()));
        } else if let Some(thought) = Part::as_thought(part) {
            services.events.send(ModelEvent::Thought(thought.to_owned()));
        }
    }
}

/// Receives an answer that is not streamed, with AfterModel hooks run on the whole of it.
pub(crate) async fn receive_complete(
    services: &Services,
    mut chunk: Chunk,
    request: &ModelRequest,
    view: Option<SharedJson>,
    purpose: Purpose,
    scope: &TurnScope,
) -> ModelAnswer {
    if let Some(llm_request) = view.filter(|_| services.hooks.has_hooks_for(EventKind::AfterModel)) {
        match AfterModelRunner::new(services, llm_request, purpose).run_hooks(&mut chunk, scope).await {
            AfterModelResult::Accepted => {}
            AfterModelResult::Denied(reason) => return ModelAnswer::Denied(reason),
            AfterModelResult::Stopped(reason) => return ModelAnswer::Stopped(reason, Chunk::default()),
        }
        if scope.is_cancelled() {
            return ModelAnswer::Cancelled(Chunk::default());
        }
    }
    complete_answer(chunk, request)
}

/// Runs AfterModel hooks for every piece of one answer.
struct AfterModelRunner<'a> {
    services: &'a Services,
    llm_request: SharedJson,
    purpose: Purpose,
    /// The text of the answer so far, as hooks left it.
    answer_text: GrowingText,
    /// The warnings that were already reported: a hook that fails does so on every piece.
    reported_warnings: HashSet<(String, String)>,
}

enum AfterModelResult {
    Accepted,
    Denied(String),
    Stopped(String),
}

impl<'a> AfterModelRunner<'a> {
    fn new(services: &'a Services, llm_request: SharedJson, purpose: Purpose) -> Self {
        AfterModelRunner {
            services,
            llm_request,
            purpose,
            answer_text: GrowingText::default(),
            reported_warnings: HashSet::new(),
        }
    }

    async fn run_hooks(&mut self, chunk: &mut Chunk, scope: &TurnScope) -> AfterModelResult {
        let response = translate::chunk_view(chunk);
        let content = response.text.clone().unwrap_or_default();
        let mut full_content = self.answer_text.clone();
        full_content.push_str(&content);
        let event = AfterModel {
            llm_request: self.llm_request.clone(),
            llm_response: Cow::Owned(response),
            thoughts: Cow::Owned(translate::thought_text(chunk)),
            code: Cow::Owned(translate::provider_code_text(chunk)),
            citations: Cow::Owned(translate::citation_text(chunk)),
            purpose: self.purpose,
            content: Cow::Owned(content),
            full_content: full_content.clone(),
        };
        let context = self.services.run_context(scope);
        let outcome = self.services.hooks.fire_in_context(&event, &context, &scope.cancel).await;
        let fresh = outcome
            .warnings
            .iter()
            .filter(|warning| self.reported_warnings.insert((warning.hook.clone(), warning.text.clone())));
        let warnings: Vec<_> = fresh.cloned().collect();
        self.services.forward_messages::<AfterModel<'_>>(&outcome.messages, &warnings);
        match outcome.verdict {
            AfterModelVerdict::Keep => {
                self.answer_text = full_content;
                AfterModelResult::Accepted
            }
            AfterModelVerdict::Replace { response } => {
                translate::replace_chunk(chunk, &response);
                self.answer_text.push_str(&chunk.text());
                AfterModelResult::Accepted
            }
            AfterModelVerdict::Deny { reason } => AfterModelResult::Denied(reason),
            AfterModelVerdict::Stop { reason } => AfterModelResult::Stopped(reason),
        }
    }
}
