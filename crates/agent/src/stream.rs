//! The model's answer, as it comes in: AfterModel for every piece (or for what its hooks want held together: `hold.rs`), and
//! only then the screen.
//!
//! Nothing of a piece is shown, kept or counted before AfterModel hooks have seen it, so what they redact is nowhere.
//! The request, and who may make one, is `door.rs`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use hookwright_hooks::{AfterModel, AfterModelVerdict, EventKind, GrowingText, Purpose, SharedJson};
use hookwright_model::{Chunk, ChunkStream, FinishReason, ModelError, Part, Request};

use crate::door::ModelAnswer;
use crate::event::AgentEvent;
use crate::hold::Holder;
use crate::loop_guard::LoopGuard;
use crate::scope::Scope;
use crate::services::Services;
use crate::translate;

/// Takes the answer in, piece by piece.
pub(crate) async fn receive(
    services: &Services,
    mut stream: ChunkStream,
    request: &Request,
    view: Option<SharedJson>,
    guard: &mut LoopGuard,
    scope: &Scope,
) -> ModelAnswer {
    let watcher = view.map(|llm_request| Watcher::new(services, llm_request, Purpose::Answer));
    let (holder, gathered) = (Holder::default(), Gathered::default());
    let mut intake = Intake { services, scope, guard, watcher, holder, gathered, content: ReceivedContent::default() };
    let mut failure = None;
    while let Some(piece) = stream.next().await {
        // A front end that does not read holds up the model, not our memory.
        services.events.room(&scope.cancel).await;
        let taken = match piece {
            Ok(chunk) => intake.take(chunk).await,
            // What is held no hook has seen.
            Err(error) if error.is_cancelled() => return ModelAnswer::Cancelled(intake.gathered.whole),
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        if let ControlFlow::Break(answer) = taken {
            return answer;
        }
    }
    // Nothing more comes, so that what is held is all there will be of it.
    if let Some(rest) = intake.holder.rest()
        && let ControlFlow::Break(answer) = intake.pass(rest).await
    {
        return answer;
    }
    let whole = intake.gathered.whole;
    let failure = failure.or_else(|| intake.content.missing_answer(request));
    match failure {
        Some(error) => ModelAnswer::Failed(error, whole),
        None => ModelAnswer::Complete(whole, request.tool_choice.clone()),
    }
}

/// What the model sent, before hooks changed any of it: an answer that a hook emptied was an answer.
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

    /// The error of an answer that is none. Nothing needs to be said after the result of a tool.
    fn missing_answer(self, request: &Request) -> Option<ModelError> {
        use FinishReason::{MalformedFunctionCall, UnexpectedToolCall};
        let is_broken = matches!(self.finish_reason, Some(MalformedFunctionCall | UnexpectedToolCall));
        let last = request.contents.last();
        let follows_tool =
            last.is_some_and(|content| content.parts.iter().any(|part| part.as_function_response().is_some()));
        let is_missing = !self.has_calls && (is_broken || !self.has_output && !follows_tool);
        is_missing.then_some(ModelError::NoAnswer { reason: self.finish_reason })
    }
}

/// An answer on its way in.
struct Intake<'a> {
    services: &'a Services,
    scope: &'a Scope,
    guard: &'a mut LoopGuard,
    watcher: Option<Watcher<'a>>,
    holder: Holder,
    gathered: Gathered,
    content: ReceivedContent,
}

impl Intake<'_> {
    /// Takes a piece in, and passes on what hooks need not wait for any longer; breaks where the answer is over.
    async fn take(&mut self, chunk: Chunk) -> ControlFlow<ModelAnswer> {
        if !self.gathered.has_room_for(chunk.weight().saturating_add(self.holder.weight())) {
            return ControlFlow::Break(too_large());
        }
        self.content.add(&chunk);
        let grain = self.watcher.as_ref().and_then(|_| self.services.hooks.grain());
        match self.holder.take_in(chunk, grain) {
            Some(unit) => self.pass(unit).await,
            None => ControlFlow::Continue(()),
        }
    }

    /// Past the hooks, and only then onto the screen.
    async fn pass(&mut self, mut chunk: Chunk) -> ControlFlow<ModelAnswer> {
        let services = self.services;
        if let Some(watcher) = self.watcher.as_mut().filter(|_| services.hooks.wants(EventKind::AfterModel)) {
            let so_far = &mut self.gathered.whole;
            match watcher.see(&mut chunk, self.scope).await {
                Seen::Fine => {}
                Seen::Denied(reason) => return ControlFlow::Break(ModelAnswer::Denied(reason)),
                Seen::Stopped(reason) => {
                    return ControlFlow::Break(ModelAnswer::Stopped(reason, std::mem::take(so_far)));
                }
            }
            // Hooks that were ended by a cancel have redacted nothing.
            if self.scope.is_cancelled() {
                return ControlFlow::Break(ModelAnswer::Cancelled(std::mem::take(so_far)));
            }
            // What they put in its place counts too.
            if !self.gathered.has_room_for(chunk.weight()) {
                return ControlFlow::Break(too_large());
            }
        }
        // Only now: what hooks took out of it is on no record.
        tracing::trace!(text = chunk.text(), "a piece of the answer");
        show(services, &chunk);
        let repeated = services.loop_detection.then(|| self.guard.saw_text(&chunk.text())).flatten();
        self.gathered.add(chunk);
        match repeated {
            Some(reason) => ControlFlow::Break(ModelAnswer::Loop(reason, std::mem::take(&mut self.gathered.whole))),
            None => ControlFlow::Continue(()),
        }
    }
}

/// The most that an answer may weigh, all its pieces together and whoever sends it: many times what any model says on
/// purpose, and little enough to be kept, sent on and written down.
const LARGEST_ANSWER: usize = 16 << 20;

/// An answer as far as it has come.
#[derive(Default)]
struct Gathered {
    whole: Chunk,
    weight: usize,
}

impl Gathered {
    /// Whether so much still fits.
    fn has_room_for(&self, weight: usize) -> bool {
        self.weight.saturating_add(weight) <= LARGEST_ANSWER
    }

    fn add(&mut self, chunk: Chunk) {
        self.weight = self.weight.saturating_add(chunk.weight());
        self.whole.merge(chunk);
    }
}

/// Nothing of an answer counts that is too large: a part of it would be somebody else's choice.
fn too_large() -> ModelAnswer {
    ModelAnswer::Failed(ModelError::TooLarge { largest: LARGEST_ANSWER }, Chunk::default())
}

/// An answer that is whole already, if it is not too large.
pub(crate) fn whole(chunk: Chunk, request: &Request) -> ModelAnswer {
    match Gathered::default().has_room_for(chunk.weight()) {
        true => ModelAnswer::Complete(chunk, request.tool_choice.clone()),
        false => too_large(),
    }
}

pub(crate) fn show(services: &Services, chunk: &Chunk) {
    for part in &chunk.parts {
        if let Some(text) = part.as_text().filter(|text| !text.is_empty()) {
            services.events.send(AgentEvent::Text(text.to_owned()));
        } else if let Some(thought) = Part::as_thought(part) {
            services.events.send(AgentEvent::Thought(thought.to_owned()));
        }
    }
}

/// An answer that nobody follows, in one piece.
pub(crate) async fn receive_whole(
    services: &Services,
    mut chunk: Chunk,
    request: &Request,
    view: Option<SharedJson>,
    purpose: Purpose,
    scope: &Scope,
) -> ModelAnswer {
    if let Some(llm_request) = view.filter(|_| services.hooks.wants(EventKind::AfterModel)) {
        match Watcher::new(services, llm_request, purpose).see(&mut chunk, scope).await {
            Seen::Fine => {}
            Seen::Denied(reason) => return ModelAnswer::Denied(reason),
            Seen::Stopped(reason) => return ModelAnswer::Stopped(reason, Chunk::default()),
        }
        if scope.is_cancelled() {
            return ModelAnswer::Cancelled(Chunk::default());
        }
    }
    whole(chunk, request)
}

/// AfterModel, for every piece of one answer.
struct Watcher<'a> {
    services: &'a Services,
    llm_request: SharedJson,
    purpose: Purpose,
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

impl<'a> Watcher<'a> {
    fn new(services: &'a Services, llm_request: SharedJson, purpose: Purpose) -> Self {
        Watcher { services, llm_request, purpose, text: GrowingText::default(), said: HashSet::new() }
    }

    async fn see(&mut self, chunk: &mut Chunk, scope: &Scope) -> Seen {
        let response = translate::chunk_view(chunk);
        let content = response.text.clone().unwrap_or_default();
        let mut full_content = self.text.clone();
        full_content.push(&content);
        let event = AfterModel {
            llm_request: self.llm_request.clone(),
            llm_response: Cow::Owned(response),
            thoughts: Cow::Owned(translate::thoughts(chunk)),
            code: Cow::Owned(translate::code(chunk)),
            citations: Cow::Owned(translate::citations(chunk)),
            purpose: self.purpose,
            content: Cow::Owned(content),
            full_content: full_content.clone(),
        };
        let belongs = self.services.belongs(scope);
        let outcome = self.services.hooks.fire_in(&event, &belongs, &scope.cancel).await;
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
