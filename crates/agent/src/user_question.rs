//! Questions that a command asks the user: a choice or a text.
//!
//! Each front end presents them in its own way. Approval of tool calls is asked in `approval_prompt.rs`.

use tokio::sync::oneshot;

use crate::event::AgentEvent;
use crate::services::Services;

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserQuestion {
    /// The text of the question.
    pub title: String,
    /// The lines to read before answering.
    pub details: Vec<String>,
    /// The kind of answer that is expected.
    pub kind: QuestionKind,
}

/// The kind of answer that a question expects.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputVisibility {
    /// The text is shown as it is typed.
    Visible,
    /// The text is neither shown nor kept.
    Hidden,
}

/// An entry of a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// The user's answer to a question.
#[derive(Clone, PartialEq, Eq)]
pub enum QuestionAnswer {
    /// The index of the chosen entry, from 0.
    Choice(usize),
    /// The text that the user typed.
    Text(String),
}

/// Hides the text, which may be a secret.
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

    async fn ask(self, services: &Services) -> Option<QuestionAnswer> {
        let _turn_to_ask = services.approval_lock.lock().await;
        let (sender, receiver) = oneshot::channel();
        services.events.send(AgentEvent::UserQuestion(Box::new(self), sender));
        receiver.await.ok()
    }

    /// Asks the question and returns the index of the chosen entry, `None` if the user dismissed it.
    pub(crate) async fn ask_choice(self, services: &Services) -> Option<usize> {
        match self.ask(services).await? {
            QuestionAnswer::Choice(at) => Some(at),
            QuestionAnswer::Text(_) => None,
        }
    }

    /// Asks the question and returns the trimmed text, `None` if the user dismissed it.
    pub(crate) async fn ask_text(self, services: &Services) -> Option<String> {
        match self.ask(services).await? {
            QuestionAnswer::Text(words) => Some(words.trim().to_owned()),
            QuestionAnswer::Choice(_) => None,
        }
    }
}
