//! Passes a session's events on to the editor: as updates, as ends of prompts, and as questions to the user.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CurrentModeUpdate, NoticeSeverity, SessionUpdate,
    UnstructuredCommandInput,
};
use hookwright_agent::session::{FrontEndAction, InputLine, SessionCommand, SessionHandle};
use hookwright_agent::{AgentEvent, Answer, EventStream, Question, QuestionEvent, QuestionId, SessionEvent, TurnEvent};
use tokio::task::AbortHandle;

use super::questions::permission_question;
use super::session::{AcpSession, PromptState};
use super::updates::UpdateTranslator;

/// Passes a session's events on to the editor.
pub(super) struct EventPump {
    session: Arc<AcpSession>,
    handle: SessionHandle,
    translator: UpdateTranslator,
    /// The open questions with the tasks that ask them.
    questions: HashMap<QuestionId, AbortHandle>,
}

impl EventPump {
    pub(super) fn new(session: Arc<AcpSession>, handle: SessionHandle, shows_notices: bool) -> Self {
        let translator = UpdateTranslator::new(shows_notices);
        EventPump { session, handle, translator, questions: HashMap::new() }
    }

    pub(super) async fn run(mut self, mut events: EventStream) {
        self.send_commands();
        while let Some(event) = events.recv().await {
            for update in self.translator.updates(&event) {
                self.session.send_update(update);
            }
            self.handle_event(event);
        }
        self.session.abandon_prompt();
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
            AgentEvent::Session(SessionEvent::ConfigurationChanged) => self.send_commands(),
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
        let Some(asked) = permission_question(self.session.id(), id.0, &subject) else {
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
