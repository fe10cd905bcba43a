//! A question that a command has for the user: one of several things, or some words. Every front end asks it in its own way;
//! what the answer is for is the asker's business. Whether a tool may run is not asked here (`ask.rs`).

use tokio::sync::oneshot;

use crate::event::AgentEvent;
use crate::services::Services;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// What is asked.
    pub title: String,
    /// What to know before answering, a line each.
    pub about: Vec<String>,
    /// What kind of answer there is.
    pub wanted: Wanted,
}

/// What kind of answer there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One of these.
    OneOf {
        /// What there is to choose from; at least one.
        choices: Vec<Choosable>,
        /// The one that is chosen by who just agrees.
        selected: usize,
    },
    /// Words.
    Words {
        /// What stands there until something is written.
        placeholder: String,
        /// What is there to begin with.
        first: String,
        /// Who may see them.
        seen: Seen,
    },
}

/// Who may see words as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Whoever looks.
    Shown,
    /// Nobody: they are neither shown nor kept.
    Hidden,
}

/// Something to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choosable {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
}

impl Choosable {
    pub(crate) fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Choosable { name: name.into(), about: about.into() }
    }
}

/// The user's answer.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// The number of a choice, from 0.
    Chosen(usize),
    /// Words.
    Words(String),
}

/// Words may be a secret.
impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Chosen(at) => write!(f, "Chosen({at})"),
            Answer::Words(_) => f.write_str("Words"),
        }
    }
}

impl Inquiry {
    pub(crate) fn one_of(title: impl Into<String>, choices: Vec<Choosable>) -> Self {
        Inquiry { title: title.into(), about: Vec::new(), wanted: Wanted::OneOf { choices, selected: 0 } }
    }

    pub(crate) fn words(title: impl Into<String>, placeholder: impl Into<String>, seen: Seen) -> Self {
        let wanted = Wanted::Words { placeholder: placeholder.into(), first: String::new(), seen };
        Inquiry { title: title.into(), about: Vec::new(), wanted }
    }

    /// With something to know before answering.
    #[must_use]
    pub(crate) fn about(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.about.extend(lines);
        self
    }

    /// With another choice for who just agrees.
    #[must_use]
    pub(crate) fn selected(mut self, at: usize) -> Self {
        if let Wanted::OneOf { selected, .. } = &mut self.wanted {
            *selected = at;
        }
        self
    }

    /// With words to begin with.
    #[must_use]
    pub(crate) fn begun(mut self, words: impl Into<String>) -> Self {
        if let Wanted::Words { first, .. } = &mut self.wanted {
            *first = words.into();
        }
        self
    }

    async fn put(self, services: &Services) -> Option<Answer> {
        let _turn_to_ask = services.asking.lock().await;
        let (sender, receiver) = oneshot::channel();
        services.events.send(AgentEvent::Inquiry(Box::new(self), sender));
        receiver.await.ok()
    }

    /// The number of the choice; none if the user left it at that.
    pub(crate) async fn choose(self, services: &Services) -> Option<usize> {
        match self.put(services).await? {
            Answer::Chosen(at) => Some(at),
            Answer::Words(_) => None,
        }
    }

    /// The words, without blanks around them; none if the user left it at that.
    pub(crate) async fn write(self, services: &Services) -> Option<String> {
        match self.put(services).await? {
            Answer::Words(words) => Some(words.trim().to_owned()),
            Answer::Chosen(_) => None,
        }
    }
}
