//! A conversation: its history, its transcript, and the hooks around each turn (BeforeAgent, AfterAgent).
//!
//! Its start and end are in `agent/lifecycle.rs`; the inside of a turn is in `turn.rs`.

mod draft;
mod lifecycle;

use std::borrow::Cow;
use std::sync::Arc;

use hookwright_hooks::{AfterAgent, AfterAgentVerdict, BeforeAgent, BeforeAgentVerdict};
use hookwright_model::{Content, Part, Role};
use hookwright_settings::commands::CustomCommand;
use hookwright_tools::DELEGATE_TO_AGENT;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::checkpoint::{ConversationMark, TurnStart};
use crate::commands::CommandInvocation;
use crate::compress::{self, CompressionTrigger};
use crate::context::PromptMentions;
use crate::event::{AgentNotice, TurnEnd, TurnEvent};
use crate::scope::TurnScope;
use crate::services::{DeclarationCache, Services};
use crate::transcript::{Transcript, TranscriptEntry, TranscriptError};
use crate::translate::{escape_hook_marker, hook_context, is_hook_context};
use draft::{PromptDraft, turn_end_from_error};
pub use lifecycle::{EndReason, StartSource};

/// A conversation with a model.
pub struct Agent {
    pub(crate) services: Arc<Services>,
    pub(crate) history: Vec<Arc<Content>>,
    pub(crate) tool_declarations: DeclarationCache,
    pub(crate) model: String,
    pub(crate) system: String,
    /// The number of tool calls in this session.
    pub(crate) tool_call_count: u64,
    /// The tokens of the history, as the model last counted them.
    pub(crate) context_tokens: u64,
    /// The number of messages that `context_tokens` covers; later messages are not counted yet.
    pub(crate) counted_messages: usize,
    /// The number of tokens above which a failed compression is tried again.
    pub(crate) compression_retry_tokens: u64,
    transcript: Transcript,
    /// The context from SessionStart hooks, until it is added to the first prompt.
    start_context: Option<String>,
    /// Whether the agent has already waited for MCP servers.
    pub(crate) servers_awaited: bool,
    prompt_count: u64,
}

impl Agent {
    /// Creates a conversation with the given history, which is empty for a new one.
    pub fn new(
        services: Services,
        model: String,
        system: String,
        transcript: Transcript,
        history: Vec<Arc<Content>>,
    ) -> Agent {
        let mut agent = Agent {
            services: Arc::new(services),
            history,
            tool_declarations: DeclarationCache::default(),
            model,
            system,
            tool_call_count: 0,
            context_tokens: 0,
            counted_messages: 0,
            compression_retry_tokens: 0,
            transcript,
            start_context: None,
            servers_awaited: false,
            prompt_count: 0,
        };
        agent.strip_turn_context();
        agent
    }

    /// Returns the services that the agent uses.
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Returns the conversation so far, as the model sees it.
    pub fn history(&self) -> &[Arc<Content>] {
        &self.history
    }

    /// Returns the tokens of the conversation, as far as they are known.
    pub fn context_tokens(&self) -> u64 {
        self.context_tokens
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Switches to another model for later requests.
    pub fn set_model(&mut self, model: String) {
        self.services.model.set_name(&model);
        self.model = model;
    }

    /// Replaces the system prompt for later requests.
    pub fn set_system(&mut self, system: String) {
        self.system = system;
    }

    /// Empties the conversation, as `/clear` does; the caller fires SessionEnd and SessionStart around it.
    pub fn clear(&mut self, transcript: Transcript) {
        self.reset_history();
        self.transcript = transcript;
    }

    /// Compresses the history on the user's request.
    ///
    /// # Errors
    /// The [`TurnEnd`] that says how the compression failed.
    pub async fn compress(&mut self, cancel: &CancellationToken) -> Result<(), TurnEnd> {
        compress::compress(self, CompressionTrigger::Manual, &TurnScope::outside_turn(cancel)).await
    }

    /// Answers a prompt, including the retries that AfterAgent hooks demand.
    /// Files that the prompt mentions are attached.
    pub async fn prompt(&mut self, prompt: &str, cancel: &CancellationToken) -> TurnEnd {
        let mentioned = self.find_mentions(prompt, cancel).await;
        self.start_turn(prompt, PromptDraft::Typed(mentioned), cancel).await
    }

    /// Answers piped text together with the text that the user typed. Only mentions in the typed text are resolved.
    pub async fn prompt_piped(&mut self, piped: &str, typed: &str, cancel: &CancellationToken) -> TurnEnd {
        let mentioned = self.find_mentions(typed, cancel).await;
        let prompt = if typed.is_empty() { piped.to_owned() } else { format!("{piped}\n\n{typed}") };
        self.start_turn(&prompt, PromptDraft::Typed(mentioned), cancel).await
    }

    /// Finds the files, agents and MCP resources that a text mentions; waits for the MCP servers if it mentions one.
    async fn find_mentions(&mut self, text: &str, cancel: &CancellationToken) -> PromptMentions {
        let servers = self.services.servers.clone();
        if servers.views().iter().any(|view| text.contains(&format!("@{}:", view.server.name))) {
            self.wait_for_servers(&TurnScope::outside_turn(cancel)).await;
        }
        let agents = self.services.subagents.current();
        let can_delegate = self.services.tools.current().get(DELEGATE_TO_AGENT).is_some();
        let is_agent = |name: &str| can_delegate && agents.get(name).is_some();
        PromptMentions::find(text, &self.services.call_context().workspace, &servers, is_agent)
    }

    /// Answers a prompt that an MCP server provides. Mentions in its text are not resolved.
    pub async fn prompt_from_server(
        &mut self,
        server: &str,
        name: &str,
        args: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        match self.services.servers.clone().get_prompt(server, name, args, cancel).await {
            Ok(prompt) => self.start_turn(&prompt, PromptDraft::Typed(PromptMentions::default()), cancel).await,
            Err(error) => {
                let end = TurnEnd::failed(format!("MCP server {server} did not return the prompt {name}: {error}"));
                self.services.events.send(TurnEvent::Finished(end.clone()));
                end
            }
        }
    }

    /// Runs a custom command: `typed` is the whole line, `args` the text behind the command's name.
    pub async fn run_command(
        &mut self,
        command: &CustomCommand,
        typed: &str,
        args: &str,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        match CommandInvocation::new(command, typed, args) {
            Ok(invoked) => self.start_turn(&invoked.preview_text(), PromptDraft::Command(invoked), cancel).await,
            Err(error) => {
                let end = turn_end_from_error(error);
                self.services.events.send(TurnEvent::Finished(end.clone()));
                end
            }
        }
    }

    /// Adds a user message that the model reads with the next prompt.
    pub fn push_user_text(&mut self, text: String) {
        self.push_message(Content::user_text(text));
    }

    /// Runs a turn: hooks see `prompt` before anything is read or run for it.
    async fn start_turn(&mut self, prompt: &str, draft: PromptDraft<'_>, cancel: &CancellationToken) -> TurnEnd {
        self.prompt_count += 1;
        self.services.budget.reset();
        let turn_id = format!("{}########{}", self.services.hooks.session().id, self.prompt_count);
        self.run_turn_in_scope(
            prompt,
            draft,
            &TurnScope { turn_id: Some(turn_id.into()), ..TurnScope::outside_turn(cancel) },
        )
        .await
    }

    /// Runs a sub-agent's objective within the delegating turn. Mentions in the objective are not resolved.
    pub(crate) async fn run_objective(&mut self, objective: &str, scope: &TurnScope) -> TurnEnd {
        self.run_turn_in_scope(objective, PromptDraft::Typed(PromptMentions::default()), scope).await
    }

    /// Returns the last text of the model that is not blank.
    pub(crate) fn last_model_text(&self) -> String {
        let answers = self.history.iter().rev().filter(|content| content.role == Role::Model);
        answers.map(|content| content.text()).find(|text| !text.trim().is_empty()).unwrap_or_default()
    }

    async fn run_turn_in_scope(&mut self, prompt: &str, draft: PromptDraft<'_>, scope: &TurnScope) -> TurnEnd {
        let prompt_id = scope.prompt_id();
        self.services.events.send(TurnEvent::Received { prompt: prompt.to_owned(), prompt_id });
        let span = tracing::info_span!("turn", id = scope.turn_id.as_deref());
        let end = self.answer_with_retries(prompt, draft, scope).instrument(span.clone()).await;
        self.strip_turn_context();
        self.services.tamper_watch.end_turn().await;
        if scope.agent.is_none() {
            self.services.checkpoints.end_turn();
        }
        span.in_scope(|| {
            tracing::debug!(end = end.kind().unwrap_or("answered"), why = end.message(), "the turn is over")
        });
        self.services.events.send(TurnEvent::Finished(end.clone()));
        end
    }

    async fn answer_with_retries(&mut self, prompt: &str, draft: PromptDraft<'_>, scope: &TurnScope) -> TurnEnd {
        let limit = self.services.hooks.max_agent_retries();
        let mut current = prompt.to_owned();
        let mut draft = draft;
        let mut answers = String::new();
        let mut attempt = 0;
        loop {
            let round = if attempt == 0 { AttemptKind::First } else { AttemptKind::Retry };
            if let Err(end) = self.begin_turn(&current, draft, round, scope).await {
                return end;
            }
            let (text, end) = self.run_turn(scope).await;
            if end != TurnEnd::Answered {
                return end;
            }
            answers.push_str(if answers.is_empty() { "" } else { "\n" });
            answers.push_str(&text);
            match self.after_agent(prompt, &answers, attempt > 0, scope).await {
                AnswerDisposition::End(end) => return end,
                AnswerDisposition::Retry(_) if attempt >= limit => {
                    let times = attempt + 1;
                    let text = format!("hooks rejected the answer {times} times in a row; the last answer is kept");
                    self.services.events.send(AgentNotice::Warning(text));
                    return TurnEnd::Answered;
                }
                AnswerDisposition::Retry(reason) => {
                    attempt += 1;
                    self.services.events.send(TurnEvent::Retried { reason: reason.clone(), attempt });
                    // The hook's reason is used as it is: mentions in it are not resolved.
                    draft = PromptDraft::Typed(PromptMentions::default());
                    current = reason;
                }
            }
        }
    }

    /// Runs BeforeAgent hooks, expands the draft and adds the prompt to the history, or returns how the turn ends.
    async fn begin_turn(
        &mut self,
        prompt: &str,
        draft: PromptDraft<'_>,
        round: AttemptKind,
        scope: &TurnScope,
    ) -> Result<(), TurnEnd> {
        let attachments = draft.attachments(&self.services);
        let event = BeforeAgent { prompt: Cow::Borrowed(prompt), attachments };
        let (context, stopped) = match self.services.fire(&event, scope).await.verdict {
            BeforeAgentVerdict::Proceed { context } => (context, None),
            BeforeAgentVerdict::Deny { reason } => return Err(TurnEnd::Blocked(reason)),
            BeforeAgentVerdict::Stop { reason } => (None, Some(TurnEnd::Stopped(reason))),
        };
        if scope.is_cancelled() {
            return Err(TurnEnd::Cancelled);
        }
        if round == AttemptKind::First {
            let (prompt, prompt_id) = (prompt.to_owned(), scope.prompt_id());
            self.services.events.send(TurnEvent::Started { prompt, prompt_id });
        }
        if round == AttemptKind::First && scope.agent.is_none() {
            self.begin_checkpoint(prompt);
        }
        let mut parts = match &stopped {
            // A hook stopped the turn: nothing is read or run for it.
            Some(_) => vec![Part::text(escape_hook_marker(prompt))],
            None => draft.expand(prompt, &self.services, scope).await?,
        };
        if let Some(context) = self.start_context.take() {
            parts.insert(0, Part::text(hook_context(&context)));
        }
        parts.extend(context.map(|context| Part::text(hook_context(&context))));
        self.push_message(Content::user(parts));
        stopped.map_or(Ok(()), Err)
    }

    /// Begins a checkpoint, so that the changes of this turn can be restored.
    fn begin_checkpoint(&self, prompt: &str) {
        let conversation = self.transcript.end_offset().map(|end| (self.transcript.path(), end));
        let session = self.services.hooks.session().id.clone();
        let problem = self.services.checkpoints.begin_turn(&TurnStart { session, prompt, conversation });
        problem.into_iter().for_each(|problem| self.services.events.send(AgentNotice::Warning(problem)));
    }

    /// Returns the current position in the transcript, if there is one.
    pub(crate) fn conversation_mark(&self) -> Option<ConversationMark> {
        Some(ConversationMark { transcript: self.transcript.path().to_owned(), at: self.transcript.end_offset()? })
    }

    /// Continues from an earlier point of the conversation.
    pub(crate) fn rewind(&mut self, history: Vec<Arc<Content>>) {
        self.reset_history();
        self.append_entry(&TranscriptEntry::Rewound { history: history.clone() });
        self.history = history;
        self.strip_turn_context();
    }

    async fn after_agent(&mut self, prompt: &str, answer: &str, retried: bool, scope: &TurnScope) -> AnswerDisposition {
        let event = AfterAgent {
            prompt: Cow::Borrowed(prompt),
            prompt_response: Cow::Borrowed(if answer.is_empty() { "[no response text]" } else { answer }),
            stop_hook_active: retried,
        };
        let (next, clear) = match self.services.fire(&event, scope).await.verdict {
            AfterAgentVerdict::Accept { clear_context } => (AnswerDisposition::End(TurnEnd::Answered), clear_context),
            AfterAgentVerdict::Retry { reason, clear_context } => (AnswerDisposition::Retry(reason), clear_context),
            AfterAgentVerdict::Stop { reason, clear_context } => {
                (AnswerDisposition::End(TurnEnd::Stopped(reason)), clear_context)
            }
        };
        if clear {
            self.reset_history();
            self.append_entry(&TranscriptEntry::ClearContext);
            self.services.events.send(AgentNotice::Note("a hook emptied the model's memory".to_owned()));
        }
        if scope.is_cancelled() { AnswerDisposition::End(TurnEnd::Cancelled) } else { next }
    }

    /// Removes the context that BeforeAgent hooks added for their turn, unless the settings keep it.
    ///
    /// The transcript keeps it in any case.
    fn strip_turn_context(&mut self) {
        if !self.services.hooks.keep_context() {
            self.history.iter_mut().for_each(remove_turn_context);
        }
    }

    fn reset_history(&mut self) {
        self.history.clear();
        self.context_tokens = 0;
        self.counted_messages = 0;
        self.compression_retry_tokens = 0;
    }

    /// Adds a message to the history and to the transcript.
    pub(crate) fn push_message(&mut self, content: Content) {
        self.append_entry(&TranscriptEntry::message(content.clone()));
        self.history.push(Arc::new(content));
    }

    /// Replaces the last entry of the transcript with the present last message.
    pub(crate) fn rewrite_last_entry(&mut self) {
        if let Some(last) = self.history.last().cloned() {
            let written = self.transcript.replace_last(&TranscriptEntry::message(last));
            self.warn_if_unwritten(written);
        }
    }

    /// Appends an entry to the transcript. A failed write is reported as a warning and does not end the conversation.
    pub(crate) fn append_entry(&mut self, entry: &TranscriptEntry) {
        let written = self.transcript.append(entry);
        self.warn_if_unwritten(written);
    }

    fn warn_if_unwritten(&self, written: Result<(), TranscriptError>) {
        if let Err(error) = written {
            tracing::warn!("the transcript could not be written: {error}");
            self.services.events.send(AgentNotice::Warning(format!("the transcript could not be written: {error}")));
        }
    }
}

/// Removes the context that BeforeAgent hooks added to a prompt. Context in first
/// place comes from SessionStart and stays.
fn remove_turn_context(content: &mut Arc<Content>) {
    let is_for_its_turn = |at: usize, part: &Part| at > 0 && is_hook_context(part);
    if content.role == Role::User && content.parts.iter().enumerate().any(|(at, part)| is_for_its_turn(at, part)) {
        let parts = content.parts.iter().enumerate().filter(|(at, part)| !is_for_its_turn(*at, part));
        *content = Arc::new(Content::user(parts.map(|(_, part)| part.clone()).collect()));
    }
}

/// The origin of a prompt within a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttemptKind {
    /// The user's prompt, or a sub-agent's objective.
    First,
    /// The reason of an AfterAgent hook that rejected the answer.
    Retry,
}

/// What follows an answer.
enum AnswerDisposition {
    End(TurnEnd),
    Retry(String),
}
