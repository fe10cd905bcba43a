//! A question that a command has for the user: one of several things, or some words. Every front end asks it in its own way;
//! what the answer is for is the asker's business. Whether a tool may run is not asked here (`approval_prompt.rs`).

use tokio::sync::oneshot;

use crate::event::AgentEvent;
use crate::services::Services;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserQuestion {
    /// What is asked.
    pub title: String,
    /// What to know before answering, a line each.
    pub details: Vec<String>,
    /// What kind of answer there is.
    pub kind: QuestionKind,
}

/// What kind of answer there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// One of these.
    Choice {
        /// What there is to choose from; at least one.
        choices: Vec<QuestionChoice>,
        /// The one that is chosen by who just agrees.
        selected: usize,
    },
    /// Words.
    Text {
        /// What stands there until something is written.
        placeholder: String,
        /// What is there to begin with.
        first: String,
        /// Who may see them.
        seen: InputVisibility,
    },
}

/// Who may see words as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputVisibility {
    /// Whoever looks.
    Visible,
    /// Nobody: they are neither shown nor kept.
    Hidden,
}

/// Something to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionChoice {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
}

impl QuestionChoice {
    pub(crate) fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        QuestionChoice { name: name.into(), description: about.into() }
    }
}

/// The user's answer.
#[derive(Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// The number of a choice, from 0.
    Choice(usize),
    /// Words.
    Text(String),
}

/// Words may be a secret.
impl std::fmt::Debug for QuestionAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QuestionAnswer::Choice(at) => write!(f, "Chosen({at})"),
            QuestionAnswer::Text(_) => f.write_str("Words"),
        }
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

    /// With something to know before answering.
    #[must_use]
    pub(crate) fn with_details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }

    /// With another choice for who just agrees.
    #[must_use]
    pub(crate) fn with_selected(mut self, at: usize) -> Self {
        if let QuestionKind::Choice { selected, .. } = &mut self.kind {
            *selected = at;
        }
        self
    }

    /// With words to begin with.
    #[must_use]
    pub(crate) fn with_initial_text(mut self, words: impl Into<String>) -> Self {
        if let QuestionKind::Text { first, .. } = &mut self.kind {
            *first = words.into();
        }
        self
    }

    async fn ask(self, services: &Services) -> Option<QuestionAnswer> {
        let _turn_to_ask = services.approval_lock.lock().await;
        let (sender, receiver) = oneshot::channel();
        services.events.send(AgentEvent::UserQuestion(Box::new(self), sender));
        receiver.await.ok()
    }

    /// The number of the choice; none if the user left it at that.
    pub(crate) async fn ask_choice(self, services: &Services) -> Option<usize> {
        match self.ask(services).await? {
            QuestionAnswer::Choice(at) => Some(at),
            QuestionAnswer::Text(_) => None,
        }
    }

    /// The words, without blanks around them; none if the user left it at that.
    pub(crate) async fn ask_text(self, services: &Services) -> Option<String> {
        match self.ask(services).await? {
            QuestionAnswer::Text(words) => Some(words.trim().to_owned()),
            QuestionAnswer::Choice(_) => None,
        }
    }
}
