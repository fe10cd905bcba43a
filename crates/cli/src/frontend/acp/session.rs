//! A session of an editor: it is opened (its user may have to decide something first), takes one prompt at a time, and
//! its events become updates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CurrentModeUpdate, NoticeSeverity, PromptRequest,
    PromptResponse, RequestPermissionOutcome, RequestPermissionRequest, SessionId, SessionMode, SessionModeState,
    SessionNotification, SessionUpdate, StopReason, UnstructuredCommandInput,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use hookwright_agent::session::{
    FrontEndAction, InputLine, NO_HOOKS, OpeningQuestion, OpeningStep, SessionCommand, SessionHandle, SessionOpening,
    Shutdown, panel_text,
};
use hookwright_agent::{
    AgentEvent, Answer, ApprovalMode, EndReason, EventStream, Question, QuestionEvent, QuestionId, SessionEvent,
    TurnEnd, TurnEndSeverity, TurnEvent,
};
use tokio::task::{AbortHandle, JoinHandle};

use super::prompt::{PromptText, prompt_text};
use super::questions::{opening_question, permission_question};
use super::updates::{UpdateTranslator, chunk, history_updates};
use crate::args::SessionArgs;
use crate::frontend::prompt_images::ImageFolder;
use crate::frontend::session_options;
use crate::presentation::resumed_history;
use crate::telemetry::TelemetryRecorder;

/// A session of the editor.
pub(super) struct AcpSession {
    id: SessionId,
    connection: ConnectionTo<Client>,
    args: SessionArgs,
    shows_notices: bool,
    replay: HistoryReplay,
    state: Mutex<SessionState>,
    prompt: Mutex<Option<PendingPrompt>>,
}

enum SessionState {
    /// The user must decide something before the session starts.
    Opening(Box<(SessionOpening, OpeningQuestion)>),
    Running(RunningSession),
    /// It could not be started.
    Failed(Error),
    /// Another task opens or ends it.
    Busy,
}

struct RunningSession {
    handle: SessionHandle,
    ended: JoinHandle<()>,
    events: JoinHandle<()>,
}

/// A prompt that the editor waits for.
struct PendingPrompt {
    responder: Responder<PromptResponse>,
    state: PromptState,
    end: Option<TurnEnd>,
}

/// What a prompt waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PromptState {
    /// The session begins with it when its earlier work is done.
    Queued,
    /// Its turn is running.
    Started,
    /// A command that starts no turn is being carried out.
    Command,
}

/// Why a session was not started.
pub(super) enum OpeningEnd {
    /// The user does not want it, or did not decide.
    Left,
    Failed(Error),
}

impl From<Error> for OpeningEnd {
    fn from(error: Error) -> Self {
        OpeningEnd::Failed(error)
    }
}

/// Whether the messages of a resumed session are sent to the editor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryReplay {
    Send,
    Omit,
}

impl AcpSession {
    /// Opens a session, and starts it unless the user must decide something first.
    pub(super) fn open(
        id: SessionId,
        connection: ConnectionTo<Client>,
        args: SessionArgs,
        shows_notices: bool,
        mut opening: SessionOpening,
        replay: HistoryReplay,
    ) -> Result<Arc<Self>, Error> {
        let question = opening.next_question().map_err(Error::into_internal_error)?;
        let session = Arc::new(AcpSession {
            id,
            connection,
            args,
            shows_notices,
            replay,
            state: Mutex::new(SessionState::Busy),
            prompt: Mutex::default(),
        });
        match question {
            Some(question) => session.set_state(SessionState::Opening(Box::new((opening, question)))),
            None => session.start(opening)?,
        }
        Ok(session)
    }

    fn set_state(&self, state: SessionState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn take_state(&self) -> SessionState {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), SessionState::Busy)
    }

    pub(super) fn handle(&self) -> Option<SessionHandle> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            SessionState::Running(running) => Some(running.handle.clone()),
            SessionState::Opening(_) | SessionState::Failed(_) | SessionState::Busy => None,
        }
    }

    fn start(self: &Arc<Self>, opening: SessionOpening) -> Result<(), Error> {
        let prepared = opening.prepare().map_err(|error| {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            Error::internal_error().data(serde_json::json!(format!("{error}{hint}")))
        })?;
        let view = prepared.view();
        crate::log::add_secrets(&view.loaded);
        if self.replay == HistoryReplay::Send {
            for update in history_updates(resumed_history::items_of(&prepared.history())) {
                self.send_update(update);
            }
        }
        let facts = session_options::telemetry_facts(&view, &self.args);
        let (telemetry, problems) = TelemetryRecorder::start(&view.loaded.settings.telemetry, &facts);
        drop(view);
        let (handle, events, ended) = prepared.start();
        let pump = EventPump {
            session: self.clone(),
            handle: handle.clone(),
            telemetry,
            translator: UpdateTranslator::new(self.shows_notices),
            questions: HashMap::new(),
        };
        problems.iter().for_each(|problem| self.send_notice(NoticeSeverity::Warning, problem));
        let events = tokio::spawn(pump.run(events));
        self.set_state(SessionState::Running(RunningSession { handle, ended, events }));
        Ok(())
    }

    fn send_update(&self, update: SessionUpdate) {
        // Without a connection there is no editor, and the session is about to end.
        let _ = self.connection.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    fn send_notice(&self, severity: NoticeSeverity, text: &str) {
        let translator = UpdateTranslator::new(self.shows_notices);
        translator.notice(severity, text, "").into_iter().for_each(|update| self.send_update(update));
    }

    fn send_text(&self, text: &str) {
        self.send_update(SessionUpdate::AgentMessageChunk(chunk(text)));
    }

    /// Returns the approval modes as the editor's modes.
    pub(super) fn modes(&self) -> SessionModeState {
        let (current, modes) = match self.handle() {
            Some(handle) => (handle.view().services.approvals.mode(), handle.view().modes()),
            None => (ApprovalMode::Default, ApprovalMode::ALL.to_vec()),
        };
        let mode = |mode| {
            SessionMode::new(ApprovalMode::as_str(mode), mode_name(mode)).description(mode_description(mode).to_owned())
        };
        SessionModeState::new(current.as_str(), modes.into_iter().map(mode).collect())
    }

    /// Changes the approval mode.
    pub(super) fn set_mode(&self, id: &str) -> Result<(), Error> {
        let refused = |why: String| Error::invalid_params().data(serde_json::json!(why));
        let handle =
            self.handle().ok_or_else(|| refused("the session has not started yet; send a prompt first".into()))?;
        let offered = handle.view().modes();
        let mode = offered.iter().find(|mode| mode.as_str() == id);
        let mode = *mode.ok_or_else(|| refused(format!("the mode {id} cannot be used now")))?;
        handle.send(SessionCommand::SetApprovalMode(mode));
        Ok(())
    }

    /// Answers a prompt; the response is sent when its turn is over.
    pub(super) async fn answer_prompt(
        self: Arc<Self>,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        if self.prompt.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            let why = "a prompt is being answered in this session; cancel it or wait for its end";
            return responder.respond_with_error(Error::invalid_request().data(serde_json::json!(why)));
        }
        let handle = match self.ensure_running().await {
            Ok(handle) => handle,
            Err(OpeningEnd::Left) => {
                self.send_text("The session was not started. Send a prompt to be asked again.");
                return responder.respond(PromptResponse::new(StopReason::EndTurn));
            }
            Err(OpeningEnd::Failed(error)) => return responder.respond_with_error(error),
        };
        let images = ImageFolder::of_view(&handle.view());
        let prompt = match prompt_text(&request.prompt, &images) {
            Ok(prompt) => prompt,
            Err(why) => return responder.respond_with_error(Error::invalid_params().data(serde_json::json!(why))),
        };
        match self.command_for(&handle, prompt) {
            Ok(command) => {
                let state = if command.is_queued() { PromptState::Queued } else { PromptState::Command };
                let pending = PendingPrompt { responder, state, end: None };
                *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) = Some(pending);
                handle.send(command);
                if state == PromptState::Command {
                    handle.send(SessionCommand::Sync);
                }
                Ok(())
            }
            Err(text) => {
                self.send_text(&text);
                responder.respond(PromptResponse::new(StopReason::EndTurn))
            }
        }
    }

    /// Returns the command of a prompt, or the text that answers it without one.
    fn command_for(&self, handle: &SessionHandle, prompt: PromptText) -> Result<SessionCommand, String> {
        let PromptText { typed, embedded } = prompt;
        if !embedded.is_empty() {
            return Ok(SessionCommand::PipedPrompt { piped: embedded, typed });
        }
        let view = handle.view();
        match view.parse_line(&typed) {
            InputLine::Command(command) => Ok(command),
            InputLine::Blank => Err("The prompt is empty.".to_owned()),
            InputLine::InvalidUsage(usage) => Err(usage),
            InputLine::UnknownCommand(command) if command.untrusted || command.suggestion.is_some() => {
                Err(command.to_string())
            }
            InputLine::UnknownCommand(_) => Ok(SessionCommand::Prompt(typed)),
            InputLine::FrontEnd(FrontEndAction::Help) => {
                let row = |(name, about): (String, String)| format!("- `{name}`: {about}\n");
                Err(view.help().into_iter().flat_map(|group| group.rows).map(row).collect())
            }
            InputLine::FrontEnd(FrontEndAction::HooksPanel) => Err(match view.hooks().as_slice() {
                [] => NO_HOOKS.to_owned(),
                hooks => format!("```\n{}\n```", panel_text(hooks)),
            }),
            InputLine::FrontEnd(_) => Err("This command belongs to a terminal; the editor has its own way.".to_owned()),
        }
    }

    /// Starts the session if its user still has to decide something.
    async fn ensure_running(self: &Arc<Self>) -> Result<SessionHandle, OpeningEnd> {
        if let Some(handle) = self.handle() {
            return Ok(handle);
        }
        let started = match self.take_state() {
            SessionState::Opening(waiting) => self.ask_and_start(*waiting).await,
            SessionState::Failed(error) => Err(error.into()),
            state => {
                self.set_state(state);
                let why = "the session is being started or ended";
                return Err(Error::invalid_request().data(serde_json::json!(why)).into());
            }
        };
        if let Err(OpeningEnd::Failed(error)) = &started {
            self.set_state(SessionState::Failed(error.clone()));
        }
        started?;
        self.handle().ok_or_else(|| OpeningEnd::Failed(Error::internal_error()))
    }

    /// Asks what the user must decide, and starts the session.
    async fn ask_and_start(
        self: &Arc<Self>,
        (mut opening, mut question): (SessionOpening, OpeningQuestion),
    ) -> Result<(), OpeningEnd> {
        loop {
            let asked = opening_question(&self.id, &question, opening.loaded());
            let outcome = self.request_permission(asked.request.clone()).await;
            let step = match outcome.as_ref().and_then(|outcome| asked.answer(outcome)) {
                Some(choice) => opening.answer(&question, choice).map_err(Error::into_internal_error)?,
                None => OpeningStep::Leave,
            };
            for warning in opening.take_warnings() {
                self.send_notice(NoticeSeverity::Warning, &warning);
            }
            if step == OpeningStep::Leave {
                self.set_state(SessionState::Opening(Box::new((opening, question))));
                return Err(OpeningEnd::Left);
            }
            match opening.next_question().map_err(Error::into_internal_error)? {
                Some(next) => question = next,
                None => break,
            }
        }
        Ok(self.start(opening)?)
    }

    /// Asks the editor's user, and returns the outcome; none if the editor is gone or does not ask.
    async fn request_permission(&self, request: RequestPermissionRequest) -> Option<RequestPermissionOutcome> {
        match self.connection.send_request(request).block_task().await {
            Ok(response) => Some(response.outcome),
            Err(error) => {
                tracing::warn!(%error, "the editor did not answer a question");
                None
            }
        }
    }

    /// Cancels the running prompt.
    pub(super) fn cancel(&self) {
        if let Some(handle) = self.handle() {
            handle.send(SessionCommand::Cancel);
        }
    }

    /// Ends the session, and waits until its hooks have been told.
    pub(super) async fn end(&self) {
        let SessionState::Running(running) = self.take_state() else { return };
        running.handle.end(Shutdown::Now, EndReason::Exit);
        let _ = running.ended.await;
        let _ = running.events.await;
    }

    /// Notes that the session has begun with the prompt.
    fn mark_started(&self) {
        let mut prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = prompt.as_mut().filter(|pending| pending.state == PromptState::Queued) {
            pending.state = PromptState::Started;
        }
    }

    fn note_end(&self, end: &TurnEnd) {
        if let Some(pending) = &mut *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) {
            pending.end = Some(end.clone());
        }
    }

    /// Responds to the prompt if it is in this state.
    fn finish_prompt(&self, state: PromptState) {
        let mut prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = prompt.take_if(|pending| pending.state == state) {
            drop(prompt);
            self.respond(pending.responder, pending.end);
        }
    }

    /// Responds to the prompt as cancelled, whether the session has begun with it or not.
    fn abandon_prompt(&self) {
        let pending = self.prompt.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pending) = pending {
            let _ = pending.responder.respond(PromptResponse::new(StopReason::Cancelled));
        }
    }

    fn respond(&self, responder: Responder<PromptResponse>, end: Option<TurnEnd>) {
        let reason = match &end {
            None | Some(TurnEnd::Answered | TurnEnd::Blocked(_) | TurnEnd::Stopped(_) | TurnEnd::Loop(_)) => {
                StopReason::EndTurn
            }
            Some(TurnEnd::Cancelled) => StopReason::Cancelled,
            Some(TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_) | TurnEnd::AgentLimit(_)) => {
                StopReason::MaxTurnRequests
            }
            Some(TurnEnd::Failed { message, hint }) => {
                let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                let error = Error::internal_error().data(serde_json::json!(format!("{message}{hint}")));
                let _ = responder.respond_with_error(error);
                return;
            }
        };
        // What ended the turn is said: the editor shows no more than the reason.
        if let Some(end) = end.filter(|end| *end != TurnEnd::Cancelled)
            && let Some(message) = end.message()
        {
            let severity = match end.severity() {
                TurnEndSeverity::Error => NoticeSeverity::Error,
                TurnEndSeverity::Normal | TurnEndSeverity::Warning => NoticeSeverity::Warning,
            };
            self.send_notice(severity, &message);
        }
        let _ = responder.respond(PromptResponse::new(reason));
    }
}

fn mode_name(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Default => "Default",
        ApprovalMode::AutoEdit => "Auto edit",
        ApprovalMode::Yolo => "Yolo",
        ApprovalMode::Plan => "Plan",
    }
}

fn mode_description(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Default => "Calls that only read run unasked; you are asked about the others",
        ApprovalMode::AutoEdit => "Edits run unasked too",
        ApprovalMode::Yolo => "Every call runs unasked, unless a hook or a policy objects",
        ApprovalMode::Plan => "Only calls that read run",
    }
}

/// Passes a session's events on to the editor.
struct EventPump {
    session: Arc<AcpSession>,
    handle: SessionHandle,
    telemetry: TelemetryRecorder,
    translator: UpdateTranslator,
    /// The open questions with the tasks that ask them.
    questions: HashMap<QuestionId, AbortHandle>,
}

impl EventPump {
    async fn run(mut self, mut events: EventStream) {
        self.send_commands();
        while let Some(event) = events.recv().await {
            self.telemetry.record(&event);
            for update in self.translator.updates(&event) {
                self.session.send_update(update);
            }
            self.handle_event(event);
        }
        self.session.abandon_prompt();
        for problem in self.telemetry.shutdown() {
            tracing::warn!("{problem}");
        }
    }

    fn handle_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Session(SessionEvent::InputStarted(_)) => self.session.mark_started(),
            AgentEvent::Turn(TurnEvent::Finished(end)) => self.session.note_end(&end),
            AgentEvent::Session(SessionEvent::Idle { .. }) => self.session.finish_prompt(PromptState::Started),
            AgentEvent::Session(SessionEvent::Synced) => self.session.finish_prompt(PromptState::Command),
            AgentEvent::Session(SessionEvent::PromptsReturned(_) | SessionEvent::LoggedOut) => {
                self.session.abandon_prompt()
            }
            AgentEvent::Question(QuestionEvent::Asked(question)) => self.ask(question),
            AgentEvent::Question(QuestionEvent::Closed(id)) => {
                if let Some(asking) = self.questions.remove(&id) {
                    // Dropping the request takes the question back in the editor.
                    asking.abort();
                }
            }
            AgentEvent::Session(SessionEvent::ModeChanged(mode)) => {
                self.session.send_update(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.as_str())));
            }
            AgentEvent::Session(SessionEvent::ConfigurationChanged) => {
                crate::log::add_secrets(&self.handle.view().loaded);
                self.send_commands();
            }
            _ => {}
        }
    }

    /// Sends the slash commands that the editor offers.
    fn send_commands(&self) {
        let view = self.handle.view();
        let rows = view.help().into_iter().flat_map(|group| group.rows);
        let command = |(usage, about): (String, String)| {
            let usage = usage.trim_start_matches('/');
            let (name, hint) = usage.split_once(' ').unwrap_or((usage, ""));
            let input = (!hint.is_empty())
                .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.to_owned())));
            AvailableCommand::new(name.to_owned(), about).input(input)
        };
        let belongs_to_editor = |command: &AvailableCommand| match view.parse_line(&format!("/{}", command.name)) {
            InputLine::FrontEnd(action) => matches!(action, FrontEndAction::Help | FrontEndAction::HooksPanel),
            InputLine::Command(SessionCommand::Theme(_) | SessionCommand::Vim | SessionCommand::Auth) => false,
            _ => true,
        };
        let mut commands: Vec<AvailableCommand> = rows.map(command).filter(belongs_to_editor).collect();
        commands.dedup_by(|one, other| one.name == other.name);
        self.session.send_update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands)));
    }

    fn ask(&mut self, Question { id, subject }: Question) {
        let Some(asked) = permission_question(&self.session.id, id.0, &subject) else {
            self.session.send_notice(
                NoticeSeverity::Warning,
                "this command asks for typed text, which an editor can't give; run it in a terminal",
            );
            return self.handle.send(SessionCommand::Answer { id, answer: Answer::Dismissed });
        };
        let (session, handle) = (self.session.clone(), self.handle.clone());
        let asking = tokio::spawn(async move {
            let outcome = session.request_permission(asked.request.clone()).await;
            let answer = outcome.as_ref().and_then(|outcome| asked.answer(outcome)).unwrap_or(Answer::Dismissed);
            handle.send(SessionCommand::Answer { id, answer });
        });
        self.questions.insert(id, asking.abort_handle());
    }
}
