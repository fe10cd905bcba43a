//! The loop of one prompt: request, answer, tool calls and next request, until an answer has no calls.
//!
//! BeforeAgent and AfterAgent are fired in `agent.rs`; one request is in `stream.rs`, one call in `call.rs`.

use std::sync::Arc;
use std::time::Duration;

use hookwright_model::{Chunk, Content, FunctionCall, ModelRequest, Part, PartKind, ToolChoice};
use hookwright_process::ProcessBudget;
use hookwright_tools::{DELEGATE_TO_AGENT, ToolKind, canonical_name};
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::agent::Agent;
use crate::call::{self, CallResult, PlannedCall, TurnControl};
use crate::compress::{self, CompressionTrigger};
use crate::event::{AgentNotice, CallNumber, ModelEvent, TurnEnd};
use crate::loop_detector::LoopDetector;
use crate::model_gateway::{self, AnswerDelivery, ModelAnswer};
use crate::scope::TurnScope;

/// The delay before each retry when the model gave no answer.
const NO_ANSWER_RETRY_DELAYS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_millis(1000)];

impl Agent {
    /// Runs a turn whose prompt is already in the history, and returns the answer's text and how the turn ended.
    pub(crate) async fn run_turn(&mut self, scope: &TurnScope) -> (String, TurnEnd) {
        let mut guard = LoopDetector::default();
        let mut text = String::new();
        loop {
            if let Err(end) = self.services.budget.try_spend() {
                return (text, end);
            }
            if compress::is_due(self)
                && let Err(end) = compress::compress(self, CompressionTrigger::Auto, scope).await
            {
                return (text, end);
            }
            self.wait_for_servers(scope).await;
            let mut held = None;
            let answer = self.ask_with_retries(&mut guard, &mut held, scope).await;
            let (chunk, choice) = match self.accept_answer(answer) {
                Ok(complete) => complete,
                Err((partial, end)) => return (text + &partial, end),
            };
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&chunk.text());
            let plan = |call: &FunctionCall| PlannedCall::new(&self.services, call.clone());
            let calls: Vec<PlannedCall> = chunk.function_calls().map(plan).collect();
            if !calls.iter().any(|call| call.is_judged) {
                held.take().into_iter().for_each(|event| self.services.events.send(event));
            }
            self.warn_of_truncation(&chunk);
            self.push_message(chunk.into_content());
            if calls.is_empty() {
                self.compress_to_token_target(scope).await;
                return (text, TurnEnd::Answered);
            }
            if let Some(end) = self.answer_calls(&calls, choice.as_ref(), held, &mut guard, scope).await {
                return (text, end);
            }
        }
    }

    /// Asks the model, and retries when it gives no answer at all.
    async fn ask_with_retries(
        &mut self,
        guard: &mut LoopDetector,
        held: &mut Option<ModelEvent>,
        scope: &TurnScope,
    ) -> ModelAnswer {
        for delay in NO_ANSWER_RETRY_DELAYS {
            let request = self.build_request();
            let answer =
                model_gateway::ask_model(&self.services, request, AnswerDelivery::Streamed(guard), held, scope).await;
            match &answer {
                ModelAnswer::Failed(error, _) if error.is_transient_no_answer() && !scope.is_cancelled() => {
                    self.services.events.send(ModelEvent::Retried(format!("{error}: asking again")));
                }
                _ => return answer,
            }
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = scope.cancel.cancelled() => return ModelAnswer::Cancelled(Chunk::default()),
            }
        }
        let request = self.build_request();
        model_gateway::ask_model(&self.services, request, AnswerDelivery::Streamed(guard), held, scope).await
    }

    /// Compresses the history after a turn that exceeds the user's limit (`contextCompression.targetTokenCount`).
    ///
    /// A single turn could not be compressed before it ended. The limit that follows from the model's
    /// context window can wait for the next request.
    async fn compress_to_token_target(&mut self, scope: &TurnScope) {
        if self.services.compression_target.is_some() && compress::is_single_turn_due(self) {
            // The turn has its answer, whether or not the compression succeeds.
            let _ = compress::compress(self, CompressionTrigger::Auto, scope).await;
        }
    }

    fn build_request(&mut self) -> ModelRequest {
        ModelRequest {
            system: self.current_system_prompt(),
            tools: self.tool_declarations.declarations_for(self.services.tools.current()),
            generation: self.services.generation.clone(),
            ..ModelRequest::new(self.model.clone(), self.history.clone())
        }
    }

    /// Returns a complete answer, or how the turn ends without one. The text of
    /// a partial answer is added to the history.
    fn accept_answer(&mut self, answer: ModelAnswer) -> Result<(Chunk, Option<ToolChoice>), (String, TurnEnd)> {
        let (partial, end) = match answer {
            ModelAnswer::Complete(chunk, choice) => {
                if let Some(usage) = chunk.usage {
                    // The count includes the answer, which is the next message.
                    (self.context_tokens, self.counted_messages) = (usage.total, self.history.len() + 1);
                }
                return Ok((chunk, choice));
            }
            ModelAnswer::Denied(reason) => {
                self.services.events.send(ModelEvent::AnswerDropped { reason: reason.clone() });
                return Err((String::new(), TurnEnd::Blocked(reason)));
            }
            ModelAnswer::Stopped(reason, partial) => (partial, TurnEnd::Stopped(reason)),
            ModelAnswer::Cancelled(partial) => (partial, TurnEnd::Cancelled),
            ModelAnswer::Loop(reason, partial) => (partial, TurnEnd::Loop(reason)),
            ModelAnswer::Failed(error, partial) => {
                (partial, TurnEnd::Failed { message: error.to_string(), hint: error.hint() })
            }
        };
        let text = partial.text();
        // Calls of a truncated answer are never run.
        let parts: Vec<Part> = partial.parts.into_iter().filter(|part| part.as_function_call().is_none()).collect();
        if !parts.is_empty() {
            self.push_message(Content::model(parts));
        }
        Err((text, end))
    }

    /// Warns the user that the answer is incomplete, where the provider gives a reason.
    fn warn_of_truncation(&self, chunk: &Chunk) {
        if let Some(complaint) = chunk.finish_reason.as_ref().and_then(|reason| reason.user_message()) {
            self.services.events.send(AgentNotice::Warning(complaint.to_owned()));
        }
    }

    /// Runs the calls of an answer and adds their results to the history; returns how the turn ends, if it does.
    async fn answer_calls(
        &mut self,
        calls: &[PlannedCall],
        choice: Option<&ToolChoice>,
        held: Option<ModelEvent>,
        guard: &mut LoopDetector,
        scope: &TurnScope,
    ) -> Option<TurnEnd> {
        let repeated = calls.iter().find_map(|PlannedCall { call, .. }| guard.record_call(&call.name, &call.args));
        let repeated = repeated.filter(|_| self.services.loop_detection);
        let mut room = ResultBudget(MAX_RESULTS_BYTES);
        let mut parts = Vec::new();
        let mut redacted = Vec::new();
        let mut end = repeated.map(TurnEnd::Loop);
        let mut number = CallNumber { ordinal: 1, total: calls.len() };
        for batch in self.split_into_batches(calls) {
            if end.is_some() {
                // Every call needs a response, or the provider rejects the history.
                parts.extend(batch.iter().map(|planned| skipped_call_part(&planned.call)));
                // Arguments that BeforeTool hooks would have judged, but never saw, are not kept.
                let redact = |PlannedCall { call, is_judged }: &PlannedCall| {
                    is_judged.then(|| call::redact_values(call.args.clone()))
                };
                redacted.extend(batch.iter().map(redact));
                continue;
            }
            let results = self.run_batch(batch, number, choice, &mut room, scope).await;
            number.ordinal += batch.len();
            for result in results {
                parts.extend(result.parts);
                redacted.push(result.redacted_args);
                end = match result.control {
                    TurnControl::Continue => end,
                    TurnControl::Stop(reason) => Some(TurnEnd::Stopped(reason)),
                    TurnControl::Cancel => end.or(Some(TurnEnd::Cancelled)),
                };
            }
        }
        self.apply_redactions(&redacted, held);
        self.push_message(Content::user(parts));
        end
    }

    /// Replaces the arguments in history and transcript with the redacted ones, and sends the event that was held back.
    fn apply_redactions(&mut self, redacted: &[Option<Map<String, Value>>], mut held: Option<ModelEvent>) {
        if redacted.iter().any(Option::is_some) {
            if let Some(last) = self.history.last_mut() {
                redact_calls(&mut Arc::make_mut(last).parts, redacted);
            }
            self.rewrite_last_entry();
            if let Some(ModelEvent::Answered { response, .. }) = &mut held {
                redact_calls(&mut response.parts, redacted);
            }
        }
        if let Some(event) = held {
            self.services.events.send(event);
        }
    }

    /// Splits calls into batches: adjacent harmless calls run in parallel, all others alone and in order.
    fn split_into_batches<'c>(&self, calls: &'c [PlannedCall]) -> Vec<&'c [PlannedCall]> {
        let tools = self.services.tools.current();
        let harmless = |PlannedCall { call, .. }: &PlannedCall| {
            tools.get(&call.name).is_some_and(|tool| tool.kind().is_harmless() && tool.kind() != ToolKind::Think)
        };
        calls.chunk_by(|one, next| harmless(one) && harmless(next)).collect()
    }

    async fn run_batch(
        &mut self,
        batch: &[PlannedCall],
        first: CallNumber,
        choice: Option<&ToolChoice>,
        room: &mut ResultBudget,
        scope: &TurnScope,
    ) -> Vec<CallResult> {
        let mut ids = Vec::new();
        for PlannedCall { call, is_judged } in batch {
            self.tool_call_count += 1;
            // The name of an unknown tool is text of the model and does not go into a call identifier.
            let known = self.services.tools.current().get(canonical_name(&call.name)).is_some();
            let name = if known { call.name.as_str() } else { "call" };
            let call_id = call.id.clone().unwrap_or_else(|| format!("{name}-{}", self.tool_call_count));
            // Each model numbers its own calls; the agent's identifier keeps the numbers of several agents apart.
            let call_id = scope.agent.as_ref().map_or(call_id.clone(), |agent| format!("{}/{call_id}", agent.id));
            // Arguments that BeforeTool hooks may redact are announced after those hooks have run.
            if !is_judged {
                call::announce_request(&self.services, &call_id, &call.name, call.args.clone());
            }
            ids.push(call_id);
        }
        if let ([call], [id]) = (batch, ids.as_slice()) {
            return vec![room.limit_result(call::run_model_call(&self.services, call, id, first, choice, scope).await)];
        }
        // The limit applies to each batch by itself, so that a call that makes calls never waits for its own permit.
        let most = ProcessBudget::global().jobs.capacity();
        let side_by_side = scope.child();
        let mut keep = |(at, result): (usize, CallResult)| {
            // A call that ends the turn cancels its sibling sub-agents, which may run for long.
            if !matches!(result.control, TurnControl::Continue) {
                side_by_side.cancel.cancel();
            }
            (at, room.limit_result(result))
        };
        let (mut tasks, mut results) = (tokio::task::JoinSet::new(), Vec::with_capacity(batch.len()));
        for (at, (call, id)) in batch.iter().zip(ids).enumerate() {
            if tasks.len() >= most {
                results.extend(unwrap_join(tasks.join_next().await).map(&mut keep));
            }
            let (services, call, choice) = (Arc::clone(&self.services), call.clone(), choice.cloned());
            let delegates = canonical_name(&call.call.name) == DELEGATE_TO_AGENT;
            let scope = if delegates { side_by_side.clone() } else { scope.clone() };
            let number = CallNumber { ordinal: first.ordinal + at, total: first.total };
            let run =
                async move { (at, call::run_model_call(&services, &call, &id, number, choice.as_ref(), &scope).await) };
            tasks.spawn(run.in_current_span());
        }
        while let Some(result) = tasks.join_next().await {
            results.extend(unwrap_join(Some(result)).map(&mut keep));
        }
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// The maximum size of all results of one answer's calls: more than any model reads.
const MAX_RESULTS_BYTES: usize = 16 << 20;

/// The bytes that are left for results.
struct ResultBudget(usize);

impl ResultBudget {
    /// Returns the result if it fits into the budget, and otherwise one that says that the result is left out.
    fn limit_result(&mut self, mut result: CallResult) -> CallResult {
        let weight = result.parts.iter().map(Part::memory_bytes).sum();
        match self.0.checked_sub(weight) {
            Some(left) => self.0 = left,
            None => result.parts.retain_mut(omit_result),
        }
        result
    }
}

/// Replaces the result in a part with a notice; returns false for parts that are not a function response.
fn omit_result(part: &mut Part) -> bool {
    let PartKind::FunctionResponse(result) = &mut part.kind else { return false };
    let why = "the call is over, but its result is left out: the other results of this answer fill 16 MiB already";
    result.response = Map::from_iter([("error".to_owned(), why.into())]);
    result.parts.clear();
    true
}

/// Returns a task's result and resumes its panic.
fn unwrap_join<T>(joined: Option<Result<T, tokio::task::JoinError>>) -> Option<T> {
    match joined? {
        Ok(result) => Some(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
    }
}

/// Replaces the arguments of calls, in order, where redacted ones are given.
fn redact_calls(parts: &mut [Part], redacted: &[Option<Map<String, Value>>]) {
    let calls = parts.iter_mut().filter_map(|part| match &mut part.kind {
        PartKind::FunctionCall(call) => Some(call),
        _ => None,
    });
    for (call, args) in calls.zip(redacted) {
        if let Some(args) = args {
            call.args.clone_from(args);
        }
    }
}

fn skipped_call_part(call: &FunctionCall) -> Part {
    let response = Map::from_iter([("error".to_owned(), "this call was not run".into())]);
    Part::function_response(call.id.clone(), call.name.clone(), response)
}
