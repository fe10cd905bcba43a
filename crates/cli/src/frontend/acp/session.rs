//! A session of an editor: it is opened (its user may have to decide something first), and takes one prompt at a time.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::schema::{
    NoticeSeverity, PromptRequest, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest, SessionId,
    SessionMode, SessionModeState, SessionNotification, SessionUpdate, StopReason,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use hookwright_agent::session::{
    FrontEndAction, InputLine, NO_HOOKS, OpeningQuestion, OpeningStep, SessionCommand, SessionHandle, SessionOpening,
    Shutdown, Snapshot, panel_text,
};
use hookwright_agent::{ApprovalMode, EndReason, TurnEnd, TurnEndSeverity};
use tokio::task::JoinHandle;

use super::event_pump::EventPump;
use super::prompt::{PromptText, prompt_text};
use super::questions::opening_question;
use super::updates::{UpdateTranslator, chunk, history_updates};
use crate::args::SessionArgs;
use crate::frontend::prompt_images::ImageFolder;
use crate::frontend::session_options;
use crate::presentation::resumed_history;

/// A session of the editor.
pub(super) struct AcpSession {
    id: SessionId,
    connection: ConnectionTo<Client>,
    args: SessionArgs,
    shows_notices: bool,
    replay: Option<HistoryReplay>,
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
    ended: JoinHandle<Vec<String>>,
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
pub(super) enum PromptState {
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
        replay: Option<HistoryReplay>,
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

    pub(super) fn id(&self) -> &SessionId {
        &self.id
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
        if self.replay == Some(HistoryReplay::Send) {
            for update in history_updates(resumed_history::items_of(&prepared.history())) {
                self.send_update(update);
            }
        }
        let (handle, events, ended) = prepared.start(session_options::observers(&self.args));
        let pump = EventPump::new(self.clone(), handle.clone(), self.shows_notices);
        let events = tokio::spawn(pump.run(events));
        self.set_state(SessionState::Running(RunningSession { handle, ended, events }));
        Ok(())
    }

    pub(super) fn send_update(&self, update: SessionUpdate) {
        // Without a connection there is no editor, and the session is about to end.
        let _ = self.connection.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    pub(super) fn send_notice(&self, severity: NoticeSeverity, text: &str) {
        let translator = UpdateTranslator::new(self.shows_notices);
        translator.notice(severity, text, "").into_iter().for_each(|update| self.send_update(update));
    }

    fn send_text(&self, text: &str) {
        self.send_update(SessionUpdate::AgentMessageChunk(chunk(text)));
    }

    /// Sends the last messages of the conversation, for an editor that shows the session again.
    pub(super) fn send_history(&self) {
        let Some(handle) = self.handle() else { return };
        let Snapshot { progress, .. } = handle.view().snapshot();
        history_updates(resumed_history::items_of(&progress.history)).into_iter().for_each(|one| self.send_update(one));
    }

    /// Returns the approval modes as the editor's modes.
    pub(super) fn modes(&self) -> SessionModeState {
        let (current, modes) = match self.handle().map(|handle| handle.view().snapshot()) {
            Some(Snapshot { mode, modes, .. }) => (mode, modes),
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
    pub(super) async fn request_permission(
        &self,
        request: RequestPermissionRequest,
    ) -> Option<RequestPermissionOutcome> {
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
        for problem in running.ended.await.unwrap_or_default() {
            tracing::warn!("{problem}");
        }
        let _ = running.events.await;
    }

    /// Notes that the session has begun with the prompt.
    pub(super) fn mark_started(&self) {
        let mut prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = prompt.as_mut().filter(|pending| pending.state == PromptState::Queued) {
            pending.state = PromptState::Started;
        }
    }

    pub(super) fn note_end(&self, end: &TurnEnd) {
        if let Some(pending) = &mut *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) {
            pending.end = Some(end.clone());
        }
    }

    /// Responds to the prompt if it is in this state.
    pub(super) fn finish_prompt(&self, state: PromptState) {
        let mut prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = prompt.take_if(|pending| pending.state == state) {
            drop(prompt);
            self.respond(pending.responder, pending.end);
        }
    }

    /// Responds to the prompt as cancelled, whether the session has begun with it or not.
    pub(super) fn abandon_prompt(&self) {
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
