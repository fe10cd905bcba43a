//! The questions that a session asks its user, and the answers to them.
//!
//! A front end presents a [`Question`] in its own way, and answers it by its id with
//! [`SessionCommand::Answer`](crate::session::SessionCommand::Answer).

use serde::{Deserialize, Serialize};

use crate::event::{ApprovalReply, ApprovalRequest, GuardTrustReply};
use crate::protect::GuardChange;
use crate::services::{Interaction, Services};

/// The identifier of a question, unique in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QuestionId(pub u64);

/// A question that waits for the user's answer.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The identifier that the answer names.
    pub id: QuestionId,
    /// What is asked.
    pub subject: QuestionSubject,
}

/// The subject of a question.
#[derive(Clone, Debug, Serialize)]
pub enum QuestionSubject {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// Whether the agent's changes to files that guards depend on are trusted.
    GuardTrust(Vec<GuardChange>),
    /// The input that a command needs.
    Input(Box<UserQuestion>),
}

/// The user's answer to a question.
///
/// An answer that does not fit the subject counts as [`Answer::Dismissed`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The reply to [`QuestionSubject::Approval`].
    Approval(ApprovalReply),
    /// The reply to [`QuestionSubject::GuardTrust`].
    GuardTrust(GuardTrustReply),
    /// The index of the chosen entry, from 0.
    Choice(usize),
    /// The text that the user typed.
    Text(String),
    /// The user does not answer: a call does not run, a change stays untrusted, a command goes no further.
    Dismissed,
}

/// Hides the text, which may be a secret.
impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Approval(reply) => f.debug_tuple("Approval").field(reply).finish(),
            Answer::GuardTrust(reply) => f.debug_tuple("GuardTrust").field(reply).finish(),
            Answer::Choice(at) => f.debug_tuple("Choice").field(at).finish(),
            Answer::Text(_) => f.write_str("Text"),
            Answer::Dismissed => f.write_str("Dismissed"),
        }
    }
}

/// A command's question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserQuestion {
    /// The text of the question.
    pub title: String,
    /// The lines to read before answering.
    pub details: Vec<String>,
    /// The kind of answer that is expected.
    pub kind: QuestionKind,
}

/// The kind of answer that a question expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum QuestionKind {
    /// The user chooses one of several entries.
    Choice {
        /// The entries to choose from; at least one.
        choices: Vec<QuestionChoice>,
        /// The index of the preselected entry.
        selected: usize,
    },
    /// The user types a text.
    Text {
        /// The placeholder that an empty input field shows.
        placeholder: String,
        /// The initial text of the input field.
        first: String,
        /// Whether the typed text is shown.
        seen: InputVisibility,
    },
}

/// Whether text is shown while the user types it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum InputVisibility {
    /// The text is shown as it is typed.
    Visible,
    /// The text is neither shown nor kept.
    Hidden,
}

/// An entry of a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuestionChoice {
    /// The name of the entry.
    pub name: String,
    /// The description of the entry.
    pub description: String,
}

impl QuestionChoice {
    pub(crate) fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        QuestionChoice { name: name.into(), description: about.into() }
    }
}

impl UserQuestion {
    pub(crate) fn choice(title: impl Into<String>, choices: Vec<QuestionChoice>) -> Self {
        UserQuestion { title: title.into(), details: Vec::new(), kind: QuestionKind::Choice { choices, selected: 0 } }
    }

    pub(crate) fn text(title: impl Into<String>, placeholder: impl Into<String>, seen: InputVisibility) -> Self {
        let wanted = QuestionKind::Text { placeholder: placeholder.into(), first: String::new(), seen };
        UserQuestion { title: title.into(), details: Vec::new(), kind: wanted }
    }

    /// Adds lines to read before answering.
    #[must_use]
    pub(crate) fn with_details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }

    /// Sets the preselected entry.
    #[must_use]
    pub(crate) fn with_selected(mut self, at: usize) -> Self {
        if let QuestionKind::Choice { selected, .. } = &mut self.kind {
            *selected = at;
        }
        self
    }

    /// Sets the initial text of the input field.
    #[must_use]
    pub(crate) fn with_initial_text(mut self, words: impl Into<String>) -> Self {
        if let QuestionKind::Text { first, .. } = &mut self.kind {
            *first = words.into();
        }
        self
    }

    async fn ask(self, services: &Services) -> Answer {
        if services.interaction == Interaction::Headless {
            return Answer::Dismissed;
        }
        let _turn_to_ask = services.question_lock.lock().await;
        services.events.ask(QuestionSubject::Input(Box::new(self))).await
    }

    /// Asks the question and returns the index of the chosen entry, `None` if the user dismissed it.
    pub(crate) async fn ask_choice(self, services: &Services) -> Option<usize> {
        let QuestionKind::Choice { choices, .. } = &self.kind else { return None };
        let count = choices.len();
        match self.ask(services).await {
            Answer::Choice(at) if at < count => Some(at),
            _ => None,
        }
    }

    /// Asks the question and returns the trimmed text, `None` if the user dismissed it.
    pub(crate) async fn ask_text(self, services: &Services) -> Option<String> {
        match self.ask(services).await {
            Answer::Text(text) => Some(text.trim().to_owned()),
            _ => None,
        }
    }
}
